//! Elements several times: `repeat`, `tile`, `repeat_interleave`.

use crate::host::memory::try_with_capacity;
use allotrope_dtype::{CastOptions, DType, Error, Overflow, Problem, Set};
use allotrope_op::structured::movement::{REPEAT, REPEAT_INTERLEAVE, TILE};
use allotrope_op::{Dims, Layout, Shape, compute_dtype, normalize_axis};
use smallvec::smallvec;

use super::indexing::sum_slices;
use super::scan::scan_lines;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::reduce::reading;
use crate::transfer::{Chooser, gathered};

/// Repetitions up to which whole tensors are added, which is faster than sums along a short dimension.
const ADDED_UP_TO: usize = 8;

impl Tensor {
    /// The tensor so many times along each dimension; more counts than dimensions are for new leading
    /// ones.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 2, 1, DType::U8)?;
    /// assert_eq!(x.repeat(&[2, 2])?.to_vec::<u8>()?, [0, 1, 0, 1, 0, 1, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer counts than dimensions, a memory error.
    pub fn repeat(&self, counts: &[usize]) -> Result<Self, Error> {
        Call::begin(&REPEAT, &[self])?;
        if counts.len() < self.rank() {
            let problem = Problem::WrongAxisCount {
                given: counts.len(),
                rank: self.rank(),
            };
            return Err(Error::new(REPEAT.name, problem).hint("tile"));
        }
        repeated(REPEAT.name, self, counts)
    }

    /// The tensor so many times along the last dimensions; more counts than dimensions are for new
    /// leading ones.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1, 2])?.tile(&[2])?, Tensor::new([1, 2, 1, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn tile(&self, counts: &[usize]) -> Result<Self, Error> {
        Call::begin(&TILE, &[self])?;
        let missing = self.rank().saturating_sub(counts.len());
        let counts: Dims<usize> = std::iter::repeat_n(&1, missing)
            .chain(counts)
            .copied()
            .collect();
        repeated(TILE.name, self, &counts)
    }

    /// Each index of a dimension so many times; without a dimension each element, in row-major order.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 2, 1, DType::U8)?;
    /// assert_eq!(x.repeat_interleave(3, None)?.to_vec::<u8>()?, [0, 0, 0, 1, 1, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a memory error.
    pub fn repeat_interleave(&self, count: usize, axis: Option<isize>) -> Result<Self, Error> {
        let op = REPEAT_INTERLEAVE.name;
        Call::begin(&REPEAT_INTERLEAVE, &[self])?;
        let (x, dim) = along(op, self, axis)?;
        let sizes: Dims<usize> = x.shape().iter().copied().collect();
        let mut result = sizes.clone();
        result[dim] = sizes[dim].saturating_mul(count);
        let result = Shape::new(op, &result)?;
        let mut sizes = sizes;
        sizes.insert(dim + 1, count);
        let mut strides: Dims<isize> = x.layout().strides().iter().copied().collect();
        strides.insert(dim + 1, 0);
        let shape = Shape::new(op, &sizes)?;
        let layout = Layout::from_parts(shape, strides, x.layout().offset());
        let copy = x.with_layout(layout).copied();
        let copy = copy.map_err(|error| error.in_op(op))?;
        let copy = copy.with_layout(Layout::contiguous(result));
        remember_sum(copy, op, &x, &sizes, &[dim as isize + 1])
    }

    /// Each index of a dimension as often as the integer at its place says; without a dimension each
    /// element, in row-major order. A single count is for all. `total` is the size that the
    /// dimension is to have, if it is known.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(4, 7, 1, DType::U8)?;
    /// let counts = Tensor::from_slice(&[2_u16, 0, 1], &[3])?;
    /// assert_eq!(x.repeat_interleave_each(&counts, None, None)?.to_vec::<u8>()?, [4, 4, 6]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the counts are integers, a value error for negative ones, for another
    /// number of them than indices, and for another total; an index error for an axis out of range, a
    /// memory error.
    pub fn repeat_interleave_each(
        &self,
        counts: &Self,
        axis: Option<isize>,
        total: Option<usize>,
    ) -> Result<Self, Error> {
        if let Some((x, counts)) = gathered((self, Chooser(counts)))? {
            return x.repeat_interleave_each(&counts, axis, total);
        }
        let op = REPEAT_INTERLEAVE.name;
        Call::begin(&REPEAT_INTERLEAVE, &[self])?;
        let (x, dim) = along(op, self, axis)?;
        let counts = read_counts(counts)?;
        let size = x.shape()[dim];
        if let ([count], true) = (&counts[..], size != 1) {
            check_total(count.saturating_mul(size), total)?;
            return self.repeat_interleave(*count, axis);
        }
        if counts.len() != size {
            let (from, to) = (counts.len(), size);
            return Err(Error::new(op, Problem::LengthMismatch { from, to }));
        }
        let sum = counts
            .iter()
            .fold(0_usize, |sum, count| sum.saturating_add(*count));
        check_total(sum, total)?;
        let mut sizes: Dims<usize> = x.shape().iter().copied().collect();
        sizes[dim] = sum;
        // Refused by its size, before the memory for it is.
        Shape::new(op, &sizes)?;
        let mut rows = try_with_capacity(op, sum)?;
        for (row, count) in counts.iter().enumerate() {
            rows.extend(std::iter::repeat_n(row as i64, *count));
        }
        x.select_known(op, dim, &x.new_from_slice(&rows, &[sum])?)
    }
}

/// A tensor of which each element is there several times: its gradient, seen in sizes that keep them
/// apart, is summed along dimensions.
fn remember_sum(
    repeated: Tensor,
    op: &'static str,
    x: &Tensor,
    sizes: &[usize],
    summed: &[isize],
) -> Result<Tensor, Error> {
    if !is_recorded(&[x]) {
        return Ok(repeated.inherit(&[x]));
    }
    let sizes: Dims<isize> = sizes.iter().map(|size| *size as isize).collect();
    let summed: Dims<isize> = summed.into();
    repeated.with_rule(op, &[x], move |pass| {
        let mut sums = pass.gradient()?.reshape(&sizes)?;
        let wide = compute_dtype(sums.dtype());
        for dim in summed.iter().rev() {
            let count = sums.shape()[*dim as usize];
            sums = if (1..=ADDED_UP_TO).contains(&count) {
                let mut total = sums.select(*dim, 0)?.to(wide)?;
                for place in 1..count {
                    total = total.add(&sums.select(*dim, place as isize)?)?;
                }
                total
            } else {
                sums.sum(Some(&[*dim]), false, Some(wide))?
            };
        }
        Ok(smallvec![Some(sums)])
    })
}

/// Which of several stretches, that begin in order at starts of int64, each of so many places is in: what a
/// device works out without anyone reading the starts, of which the first is 0.
pub(super) fn stretches(op: &'static str, starts: &Tensor, count: usize) -> Result<Tensor, Error> {
    // What begins at the end has no place.
    let room = Shape::new(op, &[count.saturating_add(1)])?;
    let ones = starts.new_ones(&[1], DType::I64)?.expand(starts.shape())?;
    let begun = sum_slices(op, &room, 0, starts, &ones)?;
    let begun = begun.narrow(0, 0, count)?;
    let program = reading(DType::I64, DType::I64, DType::I64);
    let places = scan_lines(op, &program, &[&begun], 0, DType::I64)?.sub(1)?;
    // In range whatever the starts are: who refuses them does not wait.
    places.maximum(0)
}

/// A tensor and the dimension that is meant, or its elements in a row.
fn along(op: &'static str, x: &Tensor, axis: Option<isize>) -> Result<(Tensor, usize), Error> {
    match axis {
        Some(axis) => Ok((x.atleast_1d()?, normalize_axis(op, axis, x.rank().max(1))?)),
        None => Ok((x.ravel()?, 0)),
    }
}

/// Counts of at most one dimension.
fn read_counts(counts: &Tensor) -> Result<Vec<usize>, Error> {
    let op = REPEAT_INTERLEAVE.name;
    if !counts.dtype().is_integer() {
        return Err(Error::not_in_set(op, counts.dtype(), Set::Integer, None));
    }
    if counts.rank() > 1 {
        let (given, most) = (counts.rank(), 1);
        return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
    }
    // Saturating, so that no unsigned count becomes a negative one.
    let counts = counts.to_with(DType::I64, CastOptions::overflow(Overflow::Saturate))?;
    let counts = counts.to_vec::<i64>()?.into_iter().enumerate();
    let counts = counts.map(|(index, count)| {
        usize::try_from(count).map_err(|_| {
            let problem = Problem::OutOfRange {
                what: "count",
                index: Some(index),
                value: count.to_string(),
                accepted: "0 and above",
            };
            Error::new(op, problem)
        })
    });
    counts.collect()
}

fn check_total(sum: usize, total: Option<usize>) -> Result<(), Error> {
    match total {
        Some(to) if to != sum => {
            let problem = Problem::LengthMismatch { from: sum, to };
            Err(Error::new(REPEAT_INTERLEAVE.name, problem))
        }
        _ => Ok(()),
    }
}

/// The tensor so many times along each dimension, of which there are no fewer counts.
fn repeated(op: &'static str, x: &Tensor, counts: &[usize]) -> Result<Tensor, Error> {
    let missing = counts.len() - x.rank();
    let own = x.shape().iter().zip(x.layout().strides());
    let own = std::iter::repeat_n((&1, &0), missing).chain(own);
    let (mut sizes, mut split, mut strides) = (Dims::new(), Dims::new(), Dims::new());
    for (count, (size, stride)) in counts.iter().zip(own) {
        sizes.push(size.saturating_mul(*count));
        split.extend([*count, *size]);
        strides.extend([0, *stride]);
    }
    let shape = Shape::new(op, &sizes)?;
    let layout = Layout::from_parts(Shape::new(op, &split)?, strides, x.layout().offset());
    let copy = x.with_layout(layout).copied();
    let copy = copy.map_err(|error| error.in_op(op))?;
    let copy = copy.with_layout(Layout::contiguous(shape));
    let counted: Dims<isize> = (0..counts.len() as isize).map(|dim| 2 * dim).collect();
    // Leading dimensions of size one that the tensor does not have are summed by the engine.
    remember_sum(copy, op, x, &split, &counted)
}
