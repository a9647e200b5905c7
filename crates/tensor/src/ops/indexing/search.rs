//! `searchsorted`, `bucketize`, `isin`: numbers looked up among others. Comparisons are exact
//! whatever the dtypes; NaN is greater than any number, and equal to none.

use allotrope_cpu::kernel::indexing::{
    find_bins, pairs, search, sort_keys, which_belong, which_equal,
};
use allotrope_dtype::{DType, Error, Kind, Policy, Problem, Set, promotion};
use allotrope_op::structured::Structured;
use allotrope_op::structured::indexing::{BUCKETIZE, ISIN, SEARCHSORTED};

use super::wrong_shape;
use crate::Tensor;
use crate::call;
use crate::elementwise::room;

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
    /// # Errors
    /// As [`searchsorted`](Self::searchsorted); a value error unless boundaries are a vector.
    pub fn bucketize(&self, boundaries: &Self, options: Search) -> Result<Self, Error> {
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
        call::result_dtype(row, self.dtype())?;
        call::result_dtype(row, values.dtype())?;
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
        let (sorted, values_) = keys(op, self, values)?;
        let mut buffer = room(op, values.shape(), DType::I64)?;
        let per_row = match rows {
            [] => values.count(),
            _ => values.shape().last().copied().unwrap_or(1),
        };
        if values.count() > 0 {
            search(
                sorted.dtype(),
                sorted.ordered_bytes(op)?,
                *length,
                values_.ordered_bytes(op)?,
                per_row,
                options.right,
                buffer.elements_mut(),
            );
        }
        let result = Self::from_buffer(buffer, values.shape().clone(), DType::I64);
        if options.out_int32 {
            result.to(DType::I32)
        } else {
            Ok(result)
        }
    }

    /// The bin between neighbours of this vector that each value falls into, whatever the policy; the
    /// number of bins for those outside.
    pub(super) fn bins_of(&self, op: &'static str, values: &Self) -> Result<Self, Error> {
        let (edges, values_) = keys(op, self, values)?;
        let mut buffer = room(op, values.shape(), DType::I64)?;
        find_bins(
            edges.dtype(),
            edges.ordered_bytes(op)?,
            values_.ordered_bytes(op)?,
            buffer.elements_mut(),
        );
        Ok(Self::from_buffer(
            buffer,
            values.shape().clone(),
            DType::I64,
        ))
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
        let op = ISIN.name;
        call::result_dtype(&ISIN, self.dtype())?;
        check_policy(op, self, others)?;
        let mut buffer = room(op, self.shape(), DType::Bool)?;
        if let Some((few, values)) = equal_as_bits(self, others)? {
            let (few, bytes) = (few.ordered_bytes(op)?, values.ordered_bytes(op)?);
            if which_equal(values.dtype(), few, bytes, invert, &mut buffer) {
                return Ok(Self::from_buffer(buffer, self.shape().clone(), DType::Bool));
            }
        }
        let (mut sorted, values) = keys(op, &others.ravel()?, self)?;
        let key = sorted.dtype();
        sorted.rewrite(op, key, |target| {
            sort_keys(key, target.on_host(op, key)?);
            Ok(())
        })?;
        which_belong(
            op,
            key,
            sorted.ordered_bytes(op)?,
            values.ordered_bytes(op)?,
            invert,
            &mut buffer,
        )?;
        Ok(Self::from_buffer(buffer, self.shape().clone(), DType::Bool))
    }
}

/// Refuses different dtypes under strict promotion; other policies have no say in comparisons.
fn check_policy(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(), Error> {
    if promotion() == Policy::Strict {
        Policy::Strict.promote_types(op, a.dtype(), b.dtype())?;
    }
    Ok(())
}

/// Others and values in row-major order as integers of one dtype, if that is what they are.
fn equal_as_bits(values: &Tensor, others: &Tensor) -> Result<Option<(Tensor, Tensor)>, Error> {
    // Truth values have many patterns.
    let dtype = match values.dtype() {
        DType::Bool => DType::U8,
        dtype => dtype,
    };
    if values.dtype() != others.dtype() || !dtype.is_integer() {
        return Ok(None);
    }
    let ordered = |x: &Tensor| x.to(dtype)?.settled();
    Ok(Some((ordered(others)?, ordered(values)?)))
}

/// Two tensors in row-major order as keys of one dtype, which keeps every value.
fn keys(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let holds = |key: &DType| a.dtype().fits_in(*key) && b.dtype().fits_in(*key);
    let plain = [DType::I64, DType::U64, DType::F32, DType::F64];
    let key = plain.into_iter().find(holds).unwrap_or(DType::C128);
    Ok((key_of(op, a, key)?, key_of(op, b, key)?))
}

fn key_of(op: &'static str, x: &Tensor, key: DType) -> Result<Tensor, Error> {
    let is_wide = matches!(x.dtype().kind(), Kind::Signed | Kind::Unsigned);
    if key != DType::C128 || !is_wide {
        return x.to(key)?.settled();
    }
    let wide = match x.dtype() {
        DType::U64 => x.settled()?,
        _ => x.to(DType::I64)?.settled()?,
    };
    let mut buffer = room(op, x.shape(), key)?;
    pairs(wide.dtype(), wide.ordered_bytes(op)?, &mut buffer);
    Ok(Tensor::from_buffer(buffer, x.shape().clone(), key))
}
