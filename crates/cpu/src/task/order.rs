//! Tasks of `allotrope_op::task::order`.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::task::order::{Beside, QuantileInterpolation};
use allotrope_op::task::{Made, Order, Output, Results};

use super::Call;
use crate::backend::rounded;
use crate::kernel::sort::{self, Neighbours, Quantile};
use crate::{Buffer, Storage};

pub(super) fn perform(call: &Call<'_>, task: &Order) -> Result<Option<Results>, Error> {
    match *task {
        Order::Sort {
            descending,
            values: has_values,
            indices: has_indices,
        } => {
            let lines = Lines::of(call)?;
            let mut values = match has_values {
                true => call.room(0)?,
                false => Buffer::empty(),
            };
            let mut indices = match has_indices {
                true => call.room(usize::from(has_values))?,
                false => Buffer::empty(),
            };
            let to = indices.elements_mut();
            sort::sort(
                lines.dtype,
                lines.bytes,
                lines.length,
                descending,
                &mut values,
                to,
            )?;
            let wanted = [(has_values, values), (has_indices, indices)];
            let wanted = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted);
            Ok(call.done(wanted.map(|(_, buffer)| buffer)))
        }
        Order::Topk { k, largest, sorted } => choose(call, |lines, values, indices| {
            let Lines {
                dtype,
                bytes,
                length,
            } = lines;
            sort::topk(dtype, bytes, length, k, largest, sorted, values, indices)
        }),
        Order::Nth(rank) => choose(call, |lines, values, indices| {
            sort::nth(
                lines.dtype,
                lines.bytes,
                lines.length,
                rank,
                values,
                indices,
            )
        }),
        Order::Mode => choose(call, |lines, values, indices| {
            sort::mode(lines.dtype, lines.bytes, lines.length, values, indices)
        }),
        Order::Cummax { greatest } => choose(call, |lines, values, indices| {
            let Lines {
                dtype,
                bytes,
                length,
            } = lines;
            sort::cummax(dtype, bytes, length, greatest, values, indices)
        }),
        Order::Extreme { greatest } => {
            let (lines, mut indices) = (Lines::of(call)?, call.room(0)?);
            // For the keys of bytes a table is made first.
            let is_byte = lines.dtype.itemsize() == 1;
            if is_byte || lines.length == 0 || lines.bytes.len() > MOST_SEARCHED {
                return Ok(None);
            }
            let to = indices.elements_mut();
            sort::extreme(lines.dtype, lines.bytes, lines.length, greatest, to);
            Ok(call.done([indices]))
        }
        Order::Unique { sorted, beside } => unique(call, sorted, beside),
        Order::UniqueRows { sorted } => unique_rows(call, sorted),
        Order::Quantile {
            skips_nan,
            interpolation,
            neighbours,
        } => quantile(call, skips_nan, interpolation, neighbours),
        _ => Ok(None),
    }
}

/// Bytes from which extremes are found by threads, in two passes.
const MOST_SEARCHED: usize = 32 << 10;

/// The lines of the first input.
struct Lines<'a> {
    dtype: DType,
    bytes: &'a [u8],
    length: usize,
}

impl<'a> Lines<'a> {
    fn of(call: &Call<'a>) -> Result<Self, Error> {
        let shape = call.inputs[0].view.layout.shape();
        Ok(Self {
            dtype: call.dtype(0),
            bytes: call.elements(0)?,
            length: shape.last().copied().unwrap_or(1),
        })
    }
}

/// Values and indices that a kernel writes.
fn choose(
    call: &Call<'_>,
    kernel: impl FnOnce(Lines<'_>, &mut [u8], &mut [i64]) -> Result<(), Error>,
) -> Result<Option<Results>, Error> {
    let (mut values, mut indices) = (call.room(0)?, call.room(1)?);
    kernel(Lines::of(call)?, &mut values, indices.elements_mut())?;
    Ok(call.done([values, indices]))
}

/// Outputs that have as many elements as were found.
fn found(call: &Call<'_>, buffers: impl IntoIterator<Item = Buffer>) -> Option<Results> {
    let made = buffers.into_iter().zip(call.outputs);
    let made = made.map(|(buffer, output)| Made {
        count: output.dtype.count_in(buffer.len()),
        memory: Storage::Owned(buffer).share(),
    });
    Some(made.collect())
}

fn unique(call: &Call<'_>, sorted: bool, beside: Beside) -> Result<Option<Results>, Error> {
    let lines = Lines::of(call)?;
    let unique = sort::unique(call.op, lines.dtype, lines.bytes, sorted, beside)?;
    Ok(found(call, [unique.values, unique.inverse, unique.counts]))
}

fn unique_rows(call: &Call<'_>, sorted: bool) -> Result<Option<Results>, Error> {
    let lines = Lines::of(call)?;
    let rows = call.inputs[0].view.layout.shape()[0];
    let parts = if lines.dtype.is_complex() { 2 } else { 1 };
    let (dtype, width) = (lines.dtype.to_real(), lines.length * parts);
    let groups = sort::unique_rows(call.op, dtype, lines.bytes, width, rows, sorted)?;
    let kinds = groups.starts.len();
    let mut firsts = Buffer::for_elements(call.op, DType::I64, kinds)?;
    let mut counts = Buffer::for_elements(call.op, DType::I64, kinds)?;
    let mut inverse = Buffer::for_elements(call.op, DType::I64, rows)?;
    let ends = groups.starts.iter().skip(1).chain([&rows]);
    let lists = firsts.elements_mut::<i64>().iter_mut();
    let lists = lists.zip(counts.elements_mut::<i64>());
    let kind_of: &mut [i64] = inverse.elements_mut();
    for (kind, ((start, end), (first, count))) in
        groups.starts.iter().zip(ends).zip(lists).enumerate()
    {
        let members = &groups.order[*start..*end];
        for row in members {
            kind_of[*row as usize] = kind as i64;
        }
        (*first, *count) = (members[0], members.len() as i64);
    }
    Ok(found(call, [firsts, inverse, counts]))
}

fn quantile(
    call: &Call<'_>,
    skips_nan: bool,
    interpolation: QuantileInterpolation,
    neighbours: bool,
) -> Result<Option<Results>, Error> {
    let Lines {
        dtype,
        bytes,
        length,
    } = Lines::of(call)?;
    if length == 0 {
        let shape = call.inputs[0].view.layout.shape().to_vec();
        return Err(Error::new(call.op, Problem::NothingToReduce { shape }));
    }
    let fractions = super::indexing::ordered(call, 1, DType::F64)?;
    let quantile = Quantile {
        op: call.op,
        dtype,
        src: bytes,
        length,
        fractions: bytemuck::cast_slice(&fractions),
        skips_nan,
        interpolation,
    };
    let wide = |output: &Output| Buffer::for_elements(call.op, DType::F64, output.count);
    let mut values = wide(&call.outputs[0])?;
    if !neighbours {
        quantile.run(values.elements_mut(), None)?;
        let values = rounded(call.op, values, DType::F64, call.outputs[0].dtype)?;
        return Ok(call.done([values]));
    }
    let (mut low, mut high) = (call.room(1)?, call.room(2)?);
    let (mut shares, mut steps) = (wide(&call.outputs[3])?, wide(&call.outputs[4])?);
    let found = Neighbours {
        low: low.elements_mut(),
        high: high.elements_mut(),
        shares: shares.elements_mut(),
        steps: steps.elements_mut(),
    };
    quantile.run(values.elements_mut(), Some(found))?;
    let in_dtype =
        |buffer: Buffer, output: &Output| rounded(call.op, buffer, DType::F64, output.dtype);
    let values = in_dtype(values, &call.outputs[0])?;
    let shares = in_dtype(shares, &call.outputs[3])?;
    let steps = in_dtype(steps, &call.outputs[4])?;
    Ok(call.done([values, low, high, shares, steps]))
}
