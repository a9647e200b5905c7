//! Tasks of `allotrope_op::task::values`.

use allotrope_dtype::{CastOptions, DType, Error, Overflow, Rounding, Scalar, cast_bytes};
use allotrope_op::task::values::Refusal;
use allotrope_op::task::{Results, Values};

use super::Call;
use super::indexing::ordered;
use crate::kernel::check::first_refused;
use crate::parallel::{self, CHUNK};

pub(super) fn perform(call: &Call<'_>, task: &Values) -> Result<Option<Results>, Error> {
    match *task {
        Values::Cast(options) => cast(call, options),
        Values::CheckIntegers(refused) => {
            let dtype = call.dtype(0);
            let integers = ordered(call, 0, dtype)?;
            match first_refused(dtype, refused, &integers) {
                Some(place) => {
                    let rank = call.inputs[0].view.layout.rank();
                    let index = (rank > 0).then_some(place);
                    Err(Error::new(call.op, refused.fault(index)))
                }
                None => Ok(Some(Results::new())),
            }
        }
        Values::Refuse(refusal) => refuse(call, refusal),
        _ => Ok(None),
    }
}

fn refuse(call: &Call<'_>, refusal: Refusal) -> Result<Option<Results>, Error> {
    let mask = ordered(call, 0, DType::Bool)?;
    let Some(place) = mask.iter().position(|byte| *byte != 0) else {
        return Ok(Some(Results::new()));
    };
    let number = match refusal.value {
        Some(_) => None,
        None => {
            let (dtype, numbers) = (call.dtype(1), call.ordered(1)?);
            let bytes = numbers.chunks_exact(dtype.itemsize()).nth(place);
            bytes
                .map(|bytes| Scalar::from_bytes(dtype, bytes))
                .transpose()?
        }
    };
    Err(Error::new(call.op, refusal.fault(place, number)))
}

fn cast(call: &Call<'_>, options: CastOptions) -> Result<Option<Results>, Error> {
    let (from, to) = (call.dtype(0), call.outputs[0].dtype);
    let source = ordered(call, 0, from)?;
    let mut buffer = call.room(0)?;
    // An error names the first index of all.
    let is_apart = from.is_floating_point() && options.overflow != Some(Overflow::Raise);
    match options.rounding {
        Rounding::Stochastic { seed, offset } if is_apart => {
            // Every element draws a word of its own, so that chunks are the same in any order.
            let [size, to_size] = [from, to].map(|dtype| dtype.itemsize());
            parallel::try_for_each_part(&mut buffer, CHUNK * to_size, |index, part| {
                let (first, count) = (index * CHUNK, part.len() / to_size);
                let offset = offset.wrapping_add(first as u64);
                let rounding = Rounding::Stochastic { seed, offset };
                let options = CastOptions {
                    rounding,
                    ..options
                };
                let source = &source[first * size..(first + count) * size];
                cast_bytes(from, source, to, part, options)
            })?;
        }
        _ => cast_bytes(from, &source, to, &mut buffer, options)?,
    }
    Ok(call.done([buffer]))
}
