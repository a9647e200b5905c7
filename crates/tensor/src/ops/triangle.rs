//! Triangles of matrices: `tril`, `triu` and the indices of both.

use std::ops::Range;

use allotrope_dtype::{CastOptions, DType, Error, Overflow, Problem, Set};
use allotrope_op::structured::Structured;
use allotrope_op::structured::movement::{TRIL, TRIU};
use allotrope_op::{Band, Shape};
use smallvec::smallvec;

use super::repeat::stretches;
use crate::call::Call;
use crate::create::arange_on;
use crate::transfer::upload;
use crate::view::out_of_memory;
use crate::{Device, Options, Tensor};

impl Tensor {
    /// Matrices with zero above a diagonal, which is `diagonal` columns right of the main one.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::ones(&[2, 3], DType::U8)?;
    /// assert_eq!(x.tril(0)?.to_vec::<u8>()?, [1, 0, 0, 1, 1, 0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer than two dimensions, a memory error.
    pub fn tril(&self, diagonal: isize) -> Result<Self, Error> {
        keep(&TRIL, Band::Lower, self, diagonal)
    }

    /// Matrices with zero below a diagonal, which is `diagonal` columns right of the main one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]])?;
    /// assert_eq!(x.triu(0)?, Tensor::new([[1, 2], [0, 4]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`tril`](Self::tril).
    pub fn triu(&self, diagonal: isize) -> Result<Self, Error> {
        keep(&TRIU, Band::Upper, self, diagonal)
    }

    /// The rows and columns of what [`tril`](Self::tril) keeps of a matrix, in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let places = Tensor::tril_indices(2, 2, 0, DType::I64)?;
    /// assert_eq!(places, Tensor::new([[0_i64, 1, 1], [0, 0, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the dtype is one of integers, an overflow error for an index that it does
    /// not hold, a memory error.
    pub fn tril_indices(
        rows: usize,
        columns: usize,
        offset: isize,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let (op, options) = ("tril_indices", options.into());
        indices(op, Band::Lower, [rows, columns], offset, options)
    }

    /// The rows and columns of what [`triu`](Self::triu) keeps of a matrix, in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let places = Tensor::triu_indices(2, 2, 0, DType::I64)?;
    /// assert_eq!(places, Tensor::new([[0_i64, 0, 1], [0, 1, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`tril_indices`](Self::tril_indices).
    pub fn triu_indices(
        rows: usize,
        columns: usize,
        offset: isize,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let (op, options) = ("triu_indices", options.into());
        indices(op, Band::Upper, [rows, columns], offset, options)
    }
}

fn keep(row: &Structured, band: Band, x: &Tensor, diagonal: isize) -> Result<Tensor, Error> {
    let dtype = Call::begin(row, &[x])?.result;
    let [.., _, _] = x.shape()[..] else {
        let (given, least) = (x.rank(), 2);
        return Err(Error::new(
            row.name,
            Problem::TooFewDimensions { given, least },
        ));
    };
    let backend = x.backend();
    let memory = backend.keep_band(row.name, dtype, band, diagonal, x.view_of())?;
    let kept = Tensor::from_memory_of(memory, x.shape().clone(), dtype);
    kept.with_rule(row.name, &[x], move |pass| {
        let gradient = pass.gradient()?;
        Ok(smallvec![Some(match band {
            Band::Lower => gradient.tril(diagonal)?,
            Band::Upper => gradient.triu(diagonal)?,
        })])
    })
}

fn indices(
    op: &'static str,
    band: Band,
    [rows, columns]: [usize; 2],
    offset: isize,
    options: Options,
) -> Result<Tensor, Error> {
    let Options { dtype, device, .. } = options.check(op)?;
    if !dtype.is_integer() {
        return Err(Error::not_in_set(op, dtype, Set::Integer, None));
    }
    // Rows that keep nothing may be many: those of the lower triangle come first.
    let kept = |row: usize| band.kept(row, columns, offset);
    let empty = offset.min(0).unsigned_abs().min(rows);
    let used = match band {
        Band::Lower => empty..rows,
        Band::Upper => 0..rows.min((columns as isize).saturating_sub(offset).max(0) as usize),
    };
    let used = if columns == 0 { 0..0 } else { used };
    // Each of these rows keeps an element at least: too many are refused before they are counted.
    let mut places: Vec<i64> = Vec::new();
    reserve(op, &mut places, used.len())?;
    let mut counts = used.clone().map(|row| kept(row).len());
    let count = counts.try_fold(0_usize, |sum, n| sum.checked_add(n));
    let count = count.ok_or_else(|| out_of_memory(op))?;
    let raise = CastOptions::overflow(Overflow::Raise);
    let finish = |places: Tensor| {
        let places = places.to_with(dtype, raise);
        Ok(options.finish(places.map_err(|error| error.in_op(op))?))
    };
    if device != Device::cpu() {
        return finish(indices_on(device, op, band, columns, offset, used, count)?);
    }
    reserve(op, &mut places, count)?;
    for row in used.clone() {
        places.extend(std::iter::repeat_n(row as i64, kept(row).len()));
    }
    for row in used {
        places.extend(kept(row).map(|column| column as i64));
    }
    let shape = Shape::new(op, &[2, count])?;
    let memory = upload(
        device.backend(),
        op,
        DType::I64,
        bytemuck::cast_slice(&places),
    )?;
    finish(Tensor::from_memory_of(memory, shape, DType::I64))
}

/// The rows and columns of so many elements in rows of a band, worked out by a device.
fn indices_on(
    device: Device,
    op: &'static str,
    band: Band,
    columns: usize,
    offset: isize,
    used: Range<usize>,
    count: usize,
) -> Result<Tensor, Error> {
    let (first_row, columns) = (used.start as i64, columns as i64);
    let counted =
        |end: i64| arange_on(device.backend(), 0.into(), end.into(), 1.into(), DType::I64);
    let rows = counted(used.len() as i64)?;
    // Beyond the edges there is nothing else.
    let offset = (offset as i64).clamp(-(used.end as i64), columns);
    let places = rows.add(first_row + offset)?;
    let (firsts, lengths) = match band {
        Band::Lower => (rows.zeros_like()?, places.add(1)?.clamp(0, columns)?),
        Band::Upper => {
            let firsts = places.clamp(0, columns)?;
            let lengths = firsts.neg()?.add(columns)?;
            (firsts, lengths)
        }
    };
    let starts = lengths.cumsum(0, None)?.sub(&lengths)?;
    let rows = stretches(op, &starts, count)?;
    let away = firsts.sub(&starts)?.select_known(op, 0, &rows)?;
    let columns = counted(count as i64)?.add(&away)?;
    Tensor::stack(&[&rows.add(first_row)?, &columns], 0)
}

/// Room for so many rows and columns.
fn reserve(op: &'static str, places: &mut Vec<i64>, count: usize) -> Result<(), Error> {
    let room = count.checked_mul(2).ok_or_else(|| out_of_memory(op))?;
    places
        .try_reserve_exact(room)
        .map_err(|_| out_of_memory(op))
}
