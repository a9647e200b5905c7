//! Tasks of `allotrope_op::task::indexing`.

use std::ops::Deref;

use allotrope_dtype::{DType, Error, Kind, Problem};
use allotrope_op::Program;
use allotrope_op::task::indexing::Negative;
use allotrope_op::task::{Indexing, Results};

use super::Call;
use crate::kernel::indexing::{self, BagRows, Bins};
use crate::{Buffer, kernel, run};

/// Elements up to which a table is converted before its rows are read.
const CONVERTED_UP_TO: usize = 256 << 10;

pub(super) fn perform(call: &Call<'_>, task: &Indexing) -> Result<Option<Results>, Error> {
    match *task {
        Indexing::CheckIndices {
            dim,
            size,
            negative,
        } => check_indices(call, dim, size, negative),
        Indexing::Search { right } => {
            let shape = call.inputs[0].view.layout.shape();
            let length = shape.last().copied().unwrap_or(1);
            let rows: usize = shape[..shape.rank().max(1) - 1].iter().product();
            let mut places = call.room(0)?;
            if call.outputs[0].count > 0 {
                let Keys {
                    dtype,
                    first: sorted,
                    second: values,
                } = keys(call)?;
                let per_row = call.outputs[0].count / rows.max(1);
                let to = places.elements_mut();
                indexing::search(dtype, &sorted, length, &values, per_row, right, to);
            }
            Ok(call.done([places]))
        }
        Indexing::FindBins => {
            let (keys, mut bins) = (keys(call)?, call.room(0)?);
            indexing::find_bins(keys.dtype, &keys.first, &keys.second, bins.elements_mut());
            Ok(call.done([bins]))
        }
        Indexing::IsIn { invert } => is_in(call, invert),
        Indexing::CountIndices => {
            let mut counts = zeroed(call, 0)?;
            let indices = bytemuck::cast_slice(call.elements(0)?);
            indexing::count_indices(indices, counts.elements_mut());
            Ok(call.done([counts]))
        }
        Indexing::CountBins { low, high } => {
            let dtype = match call.dtype(0).fits_in(DType::F32) {
                true => DType::F32,
                false => DType::F64,
            };
            let (values, mut counts) = (ordered(call, 0, dtype)?, zeroed(call, 0)?);
            indexing::count_bins(dtype, &values, Bins { low, high }, counts.elements_mut());
            Ok(call.done([counts]))
        }
        Indexing::EmbeddingBag => embedding_bag(call),
        _ => Ok(None),
    }
}

/// Elements in row-major order: where they are, or converted.
pub(super) enum Ordered<'a> {
    InPlace(&'a [u8]),
    Converted(Buffer),
}

impl Deref for Ordered<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Converted(buffer) => buffer,
        }
    }
}

/// The elements of an input in a dtype that they have a way to, in memory that nobody else writes to.
pub(super) fn ordered<'a>(
    call: &Call<'a>,
    index: usize,
    dtype: DType,
) -> Result<Ordered<'a>, Error> {
    let view = call.inputs[index].view;
    if call.dtype(index) == dtype && view.layout.is_contiguous() && !view.memory.is_foreign() {
        return call.elements(index).map(Ordered::InPlace);
    }
    let count = view.layout.shape().count();
    let mut buffer = Buffer::for_elements(call.op, dtype, count)?;
    convert(call, index, dtype, &mut buffer)?;
    Ok(Ordered::Converted(buffer))
}

/// Writes the elements of an input in row-major order in a dtype.
fn convert(call: &Call<'_>, index: usize, dtype: DType, to: &mut [u8]) -> Result<(), Error> {
    let (from, input) = (call.dtype(index), call.input(index)?);
    if from == dtype {
        kernel::copy(dtype, input.bytes, input.layout, to);
        return Ok(());
    }
    let mut program = Program::new(&[from]);
    let result = program.convert(0, dtype);
    program.output(result);
    run(&program, input.layout.shape(), &[input], &mut [to])
}

/// An output of zeros.
fn zeroed(call: &Call<'_>, index: usize) -> Result<Buffer, Error> {
    let output = call.outputs[index];
    let bytes = output.dtype.bytes_for(output.count);
    let problem = Problem::OutOfMemory { bytes: usize::MAX };
    Buffer::zeroed(call.op, bytes.ok_or_else(|| Error::new(call.op, problem))?)
}

fn check_indices(
    call: &Call<'_>,
    dim: usize,
    size: usize,
    negative: Negative,
) -> Result<Option<Results>, Error> {
    let (dtype, layout) = (call.dtype(0), call.inputs[0].view.layout);
    let least = match negative {
        Negative::FromEnd if dtype != DType::U64 => -(size as i64),
        _ => 0,
    };
    // The least index, if all are in range.
    let check = |indices: &[i64]| match indexing::index_range(indices) {
        None => Ok(0),
        Some((low, high)) if low >= least && high < size as i64 => Ok(low),
        Some((low, _)) => {
            let is_wrong = |index: &&i64| !(least..size as i64).contains(*index);
            let first = indices.iter().find(is_wrong).copied().unwrap_or(low);
            let problem = negative.fault(dtype, first, low, dim, size);
            Err(Error::new(call.op, problem))
        }
    };
    if matches!(dtype, DType::I64 | DType::U64) && layout.is_contiguous() {
        let indices: &[i64] = bytemuck::cast_slice(call.elements(0)?);
        if check(indices)? >= 0 {
            return Ok(Some(Results::new()));
        }
        let mut wrapped = call.room(0)?;
        indexing::wrap_negative(indices, size as i64, wrapped.elements_mut());
        return Ok(call.done([wrapped]));
    }
    let mut indices = call.room(0)?;
    // The bits of an unsigned integer beyond int64 are those of a negative one.
    let wide = match dtype {
        DType::U64 => DType::U64,
        _ => DType::I64,
    };
    convert(call, 0, wide, &mut indices)?;
    if check(indices.elements())? < 0 {
        indexing::wrap_in_place(indices.elements_mut(), size as i64);
    }
    Ok(call.done([indices]))
}

/// Two inputs as keys of one dtype, which keeps every value.
struct Keys<'a> {
    dtype: DType,
    first: Ordered<'a>,
    second: Ordered<'a>,
}

fn keys<'a>(call: &Call<'a>) -> Result<Keys<'a>, Error> {
    let holds = |key: &DType| call.dtype(0).fits_in(*key) && call.dtype(1).fits_in(*key);
    let plain = [DType::I64, DType::U64, DType::F32, DType::F64];
    let dtype = plain.into_iter().find(holds).unwrap_or(DType::C128);
    let (first, second) = (key_of(call, 0, dtype)?, key_of(call, 1, dtype)?);
    Ok(Keys {
        dtype,
        first,
        second,
    })
}

fn key_of<'a>(call: &Call<'a>, index: usize, key: DType) -> Result<Ordered<'a>, Error> {
    let is_wide = matches!(call.dtype(index).kind(), Kind::Signed | Kind::Unsigned);
    if key != DType::C128 || !is_wide {
        return ordered(call, index, key);
    }
    let wide = match call.dtype(index) {
        DType::U64 => DType::U64,
        _ => DType::I64,
    };
    let integers = ordered(call, index, wide)?;
    let count = wide.count_in(integers.len());
    let mut pairs = Buffer::for_elements(call.op, key, count)?;
    indexing::pairs(wide, &integers, &mut pairs);
    Ok(Ordered::Converted(pairs))
}

fn is_in(call: &Call<'_>, invert: bool) -> Result<Option<Results>, Error> {
    let mut belongs = call.room(0)?;
    // Truth values have many patterns.
    let dtype = match call.dtype(0) {
        DType::Bool => DType::U8,
        dtype => dtype,
    };
    if call.dtype(0) == call.dtype(1) && dtype.is_integer() {
        let (values, few) = (ordered(call, 0, dtype)?, ordered(call, 1, dtype)?);
        if indexing::which_equal(dtype, &few, &values, invert, &mut belongs) {
            return Ok(call.done([belongs]));
        }
    }
    let Keys {
        dtype,
        first: values,
        second: others,
    } = keys(call)?;
    let mut sorted = match others {
        Ordered::Converted(sorted) => sorted,
        Ordered::InPlace(others) => {
            let mut sorted = Buffer::for_overwrite(call.op, others.len())?;
            sorted.copy_from_slice(others);
            sorted
        }
    };
    indexing::sort_keys(dtype, &mut sorted);
    indexing::which_belong(call.op, dtype, &sorted, &values, invert, &mut belongs)?;
    Ok(call.done([belongs]))
}

fn embedding_bag(call: &Call<'_>) -> Result<Option<Results>, Error> {
    let shape = call.inputs[0].view.layout.shape();
    let (rows, columns) = (shape[0], shape[1]);
    let indices: &[i64] = bytemuck::cast_slice(call.elements(1)?);
    let bags: &[i64] = bytemuck::cast_slice(call.elements(2)?);
    let mut counts = zeroed(call, 1)?;
    let numbers: &mut [i64] = counts.elements_mut();
    for bag in bags {
        numbers[*bag as usize] += 1;
    }
    let mut ends = Buffer::for_elements(call.op, DType::I64, numbers.len())?;
    let mut total = 0;
    for (end, count) in ends.elements_mut::<i64>().iter_mut().zip(&*numbers) {
        total += *count;
        *end = total;
    }
    let sum = call.outputs[0].dtype;
    // A small table is better converted once than whenever a row of it is read.
    let is_read_often = rows * columns <= CONVERTED_UP_TO && rows <= indices.len();
    let dtype = match is_read_often {
        true => sum,
        false => call.dtype(0),
    };
    let (table, mut sums) = (ordered(call, 0, dtype)?, zeroed(call, 0)?);
    let rows = BagRows {
        dtype,
        table: &table,
        columns,
        places: indices,
        ends: ends.elements(),
    };
    indexing::add_bags(rows, sum, &mut sums)?;
    Ok(call.done([sums, counts]))
}
