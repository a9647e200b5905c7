//! Different elements, and the different parts along a dimension.

use crate::host::Buffer;
use allotrope_cpu::kernel::sort::{unique, unique_rows};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{UNIQUE, UNIQUE_CONSECUTIVE};
use allotrope_op::{Shape, normalize_axis};

pub use allotrope_cpu::kernel::sort::Beside;

use crate::autograd::is_recorded;
use crate::call;
use crate::elementwise::room;
use crate::{Index, Tensor};

/// Different elements, or parts along a dimension.
#[derive(Clone, Debug)]
pub struct Unique {
    /// One of each.
    pub values: Tensor,
    /// For each element, or part, of the tensor its place among the values.
    pub inverse: Tensor,
    /// How often each value occurs.
    pub counts: Tensor,
}

impl Tensor {
    /// The different elements in order, or along `dim` the different parts, ordered by their first
    /// elements, then their second ones and so on. Complex numbers are ordered by their real parts,
    /// then by their imaginary ones. A NaN is unlike any other, -0 and 0 are equal.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let unique = Tensor::from_slice(&[3_i8, 1, 3], &[3])?.unique(None)?;
    /// assert_eq!(unique.values.to_vec::<i8>()?, [1, 3]);
    /// assert_eq!(unique.inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(unique.counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a memory error.
    pub fn unique(&self, dim: Option<isize>) -> Result<Unique, Error> {
        let [inverse, counts] = [true; 2];
        self.grouped(&UNIQUE, dim, true, Beside { inverse, counts })
    }

    /// [`unique`](Self::unique) with what is asked for beside the values; the rest is empty. Without the
    /// places of the elements no element has to be followed.
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_with(&self, dim: Option<isize>, beside: Beside) -> Result<Unique, Error> {
        self.grouped(&UNIQUE, dim, true, beside)
    }

    /// The elements, or along `dim` the parts, without those that equal the one before, with what is
    /// asked for beside them; the rest is empty.
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_consecutive(&self, dim: Option<isize>, beside: Beside) -> Result<Unique, Error> {
        self.grouped(&UNIQUE_CONSECUTIVE, dim, false, beside)
    }

    fn grouped(
        &self,
        row: &Structured,
        dim: Option<isize>,
        sorted: bool,
        beside: Beside,
    ) -> Result<Unique, Error> {
        let dtype = call::result_dtype(row, self.dtype())?;
        let dim = dim.map(|dim| normalize_axis(row.name, dim, self.rank()));
        let dim = dim.transpose()?.map(|dim| dim as isize);
        let rows = match dim {
            None => self.ravel()?,
            Some(dim) => self.movedim(&[dim], &[0])?,
        };
        let rows = rows.settled()?;
        let count = rows.shape()[0];
        let places = match dim {
            None => self.shape().clone(),
            Some(_) => Shape::new(row.name, &[count])?,
        };
        // A gradient goes to the element that stands for the others, which is then looked for.
        if dtype.is_complex() || rows.rank() != 1 || is_recorded(&[self]) {
            return group_parts(row.name, &rows, dim, &places, sorted);
        }
        let bytes = rows.ordered_bytes(row.name)?;
        let found = unique(row.name, dtype, bytes, sorted, beside)?;
        let list = |buffer: Buffer, dtype: DType| {
            let shape = Shape::new(row.name, &[buffer.len() / dtype.itemsize()])?;
            Ok::<_, Error>(Self::from_buffer(buffer, shape, dtype))
        };
        Ok(Unique {
            values: list(found.values, dtype)?,
            inverse: match beside.inverse {
                true => Self::from_buffer(found.inverse, places, DType::I64),
                false => list(found.inverse, DType::I64)?,
            },
            counts: list(found.counts, DType::I64)?,
        })
    }
}

/// The different parts along the first dimension, which goes back to `dim`; `places` is the shape of
/// the inverse.
fn group_parts(
    op: &'static str,
    rows: &Tensor,
    dim: Option<isize>,
    places: &Shape,
    sorted: bool,
) -> Result<Unique, Error> {
    let (dtype, count) = (rows.dtype(), rows.shape()[0]);
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let width = rows.shape()[1..].iter().product::<usize>() * parts;
    let bytes = rows.ordered_bytes(op)?;
    let groups = unique_rows(op, dtype.to_real(), bytes, width, count, sorted)?;
    let found = Shape::new(op, &[groups.starts.len()])?;
    let mut firsts = room(op, &found, DType::I64)?;
    let mut counts = room(op, &found, DType::I64)?;
    let mut inverse = room(op, places, DType::I64)?;
    let ends = groups.starts.iter().skip(1).chain([&count]);
    let lists = firsts.elements_mut::<i64>().iter_mut();
    let lists = lists.zip(counts.elements_mut::<i64>());
    let to = inverse.elements_mut::<i64>();
    for (group, ((start, end), (first, number))) in
        groups.starts.iter().zip(ends).zip(lists).enumerate()
    {
        let members = &groups.order[*start..*end];
        for place in members {
            to[*place as usize] = group as i64;
        }
        (*first, *number) = (members[0], members.len() as i64);
    }
    let firsts = Tensor::from_buffer(firsts, found.clone(), DType::I64);
    let mut values = rows.index(&[Index::Array(firsts)])?;
    if let Some(dim) = dim {
        values = values.movedim(&[0], &[dim])?.contiguous()?;
    }
    Ok(Unique {
        values,
        inverse: Tensor::from_buffer(inverse, places.clone(), DType::I64),
        counts: Tensor::from_buffer(counts, found, DType::I64),
    })
}
