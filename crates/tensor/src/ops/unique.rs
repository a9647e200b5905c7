//! Different elements, and the different parts along a dimension.

use allotrope_cpu::kernel::sort::group_rows;
use allotrope_dtype::Error;
use allotrope_op::normalize_axis;
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{UNIQUE, UNIQUE_CONSECUTIVE};

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
        self.grouped(&UNIQUE, dim, true)
    }

    /// The elements, or along `dim` the parts, without those that equal the one before.
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_consecutive(&self, dim: Option<isize>) -> Result<Unique, Error> {
        self.grouped(&UNIQUE_CONSECUTIVE, dim, false)
    }

    fn grouped(&self, row: &Structured, dim: Option<isize>, sorted: bool) -> Result<Unique, Error> {
        let dtype = row.result(self.dtype())?;
        let dim = dim.map(|dim| normalize_axis(row.name, dim, self.rank()));
        let dim = dim.transpose()?.map(|dim| dim as isize);
        let rows = match dim {
            None => self.ravel()?,
            Some(dim) => self.movedim(&[dim], &[0])?,
        };
        let rows = rows.contiguous()?;
        let count = rows.shape()[0];
        let parts = if dtype.is_complex() { 2 } else { 1 };
        let width = rows.shape()[1..].iter().product::<usize>() * parts;
        let bytes = rows.ordered_bytes(row.name)?;
        let groups = group_rows(dtype.to_real(), bytes, width, count, sorted)?;
        let firsts: Vec<i64> = groups.starts.iter().map(|at| groups.order[*at]).collect();
        let firsts = Self::from_slice(&firsts, &[firsts.len()])?;
        let mut values = rows.index(&[Index::Array(firsts)])?;
        if let Some(dim) = dim {
            values = values.movedim(&[0], &[dim])?.contiguous()?;
        }
        let mut inverse = vec![0_i64; count];
        let mut counts = Vec::with_capacity(groups.starts.len());
        for (group, start) in groups.starts.iter().enumerate() {
            let end = groups.starts.get(group + 1).copied().unwrap_or(count);
            for place in &groups.order[*start..end] {
                inverse[*place as usize] = group as i64;
            }
            counts.push((end - start) as i64);
        }
        let inverse = match dim {
            None => Self::from_slice(&inverse, self.shape())?,
            Some(_) => Self::from_slice(&inverse, &[count])?,
        };
        Ok(Unique {
            values,
            inverse,
            counts: Self::from_slice(&counts, &[counts.len()])?,
        })
    }
}
