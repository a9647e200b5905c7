//! `searchsorted`, `bucketize`, `isin`: numbers looked up among others. Comparisons are exact
//! whatever the dtypes; NaN is greater than any number, and equal to none.

use allotrope_dtype::{DType, Error, Policy, Problem, Set, promotion};
use allotrope_op::structured::Structured;
use allotrope_op::structured::indexing::{BUCKETIZE, ISIN, SEARCHSORTED};
use allotrope_op::task::{Indexing, Task};

use super::wrong_shape;
use crate::Tensor;
use crate::call::{self, Call};
use crate::device::perform_one;
use crate::transfer::gathered;

/// The options of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Behind numbers that are equal instead of before them.
    pub right: bool,
    /// Gives int32 instead of int64.
    pub out_int32: bool,
}

impl Tensor {
    /// The places where values enter sorted sequences: before the first number that is not less, or
    /// with `right` before the first that is greater. Sequences are the last dimension of this
    /// tensor; one sequence serves all values, several as many rows of values.
    ///
    /// The sorter, if there is one, gives the order in which the sequence is sorted.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Search, Tensor};
    /// let sorted = Tensor::from_slice(&[1_i64, 3, 3, 7], &[4])?;
    /// let values = Tensor::from_slice(&[3.0_f32, 3.5], &[2])?;
    /// let left = sorted.searchsorted(&values, None, Search::default())?;
    /// assert_eq!(left.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, or different dtypes under strict promotion; a value error
    /// for shapes that do not fit, an index error for a sorter out of range, an overflow error if
    /// int32 does not hold the places, a memory error.
    pub fn searchsorted(
        &self,
        values: &Self,
        sorter: Option<&Self>,
        options: Search,
    ) -> Result<Self, Error> {
        if let Some((x, values, sorter)) = gathered((self, values, sorter))? {
            return x.searchsorted(&values, sorter.as_ref(), options);
        }
        let op = SEARCHSORTED.name;
        check_policy(op, self, values)?;
        match sorter {
            None => self.searched(&SEARCHSORTED, values, options),
            Some(sorter) if sorter.shape() != self.shape() => {
                let accepted = format!("that of the sequence, {}", self.shape());
                Err(wrong_shape(op, "sorter", sorter.shape(), accepted))
            }
            Some(sorter) if !sorter.dtype().is_integer() => {
                Err(Error::not_in_set(op, sorter.dtype(), Set::Integer, None))
            }
            Some(sorter) => self
                .gather(-1, sorter)
                .map_err(|error| error.in_op(op))?
                .searched(&SEARCHSORTED, values, options),
        }
    }

    /// The number of the bucket that each element falls into, between the sorted boundaries of a
    /// vector: above one and not above the next, or with `right` from one to below the next.
    ///
    /// ```
    /// use allotrope_tensor::{Search, Tensor};
    /// let x = Tensor::new([0.5, 2.5])?;
    /// let places = x.bucketize(&Tensor::new([1.0, 2.0, 3.0])?, Search::default())?;
    /// assert_eq!(places, Tensor::new([0_i64, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`searchsorted`](Self::searchsorted); a value error unless boundaries are a vector.
    pub fn bucketize(&self, boundaries: &Self, options: Search) -> Result<Self, Error> {
        if let Some((x, boundaries)) = gathered((self, boundaries))? {
            return x.bucketize(&boundaries, options);
        }
        if boundaries.rank() != 1 {
            let accepted = "a vector";
            let shape = boundaries.shape();
            return Err(wrong_shape(BUCKETIZE.name, "boundaries", shape, accepted));
        }
        check_policy(BUCKETIZE.name, boundaries, self)?;
        boundaries.searched(&BUCKETIZE, self, options)
    }

    /// The places of values in this tensor, whatever the policy.
    pub(super) fn searched(
        &self,
        row: &Structured,
        values: &Self,
        options: Search,
    ) -> Result<Self, Error> {
        let op = row.name;
        // Both are accepted by themselves: they do not meet.
        call::expected_dtype(row, self.dtype())?;
        Call::begin(row, &[values])?;
        let Some((length, rows)) = self.shape().split_last() else {
            let accepted = "one of at least one dimension";
            return Err(wrong_shape(op, "sequence", self.shape(), accepted));
        };
        let fits = rows.is_empty()
            || values.rank() == self.rank() && values.shape()[..rows.len()] == *rows;
        if !fits {
            let accepted = format!("one with the leading sizes {rows:?}");
            return Err(wrong_shape(op, "values", values.shape(), accepted));
        }
        if options.out_int32 && i32::try_from(*length).is_err() {
            let problem = Problem::ScalarOverflow {
                value: length.to_string(),
                dtype: DType::I32,
            };
            return Err(Error::new(op, problem));
        }
        let right = options.right;
        let task = Task::Indexing(Indexing::Search { right });
        let result = perform_one(op, &task, &[self, values], DType::I64, values.shape())?;
        if options.out_int32 {
            result.to(DType::I32)
        } else {
            Ok(result)
        }
    }

    /// The bin between neighbours of this vector that each value falls into, whatever the policy; the
    /// number of bins for those outside.
    pub(super) fn bins_of(&self, op: &'static str, values: &Self) -> Result<Self, Error> {
        let task = Task::Indexing(Indexing::FindBins);
        perform_one(op, &task, &[self, values], DType::I64, values.shape())
    }

    /// Whether each element is one of others, or with `invert` whether it is none of them.
    ///
    /// ```
    /// use allotrope_dtype::{Bool8, DType};
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::U8)?;
    /// let others = Tensor::from_slice(&[2.0_f64, 0.5], &[2])?;
    /// let [no, yes] = [false, true].map(Bool8::from);
    /// assert_eq!(x.isin(&others, false)?.to_vec::<Bool8>()?, [no, no, yes]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for different dtypes under strict promotion, a memory error.
    pub fn isin(&self, others: &Self, invert: bool) -> Result<Self, Error> {
        if let Some((x, others)) = gathered((self, others))? {
            return x.isin(&others, invert);
        }
        let op = ISIN.name;
        Call::begin(&ISIN, &[self])?;
        check_policy(op, self, others)?;
        let task = Task::Indexing(Indexing::IsIn { invert });
        perform_one(op, &task, &[self, others], DType::Bool, self.shape())
    }
}

/// Refuses different dtypes under strict promotion; other policies have no say in comparisons.
fn check_policy(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(), Error> {
    if promotion() == Policy::Strict {
        Policy::Strict.promote_types(op, a.dtype(), b.dtype())?;
    }
    Ok(())
}
