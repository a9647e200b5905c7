//! What `lu_factor` gives, taken apart or looked through: `lu_unpack`, `lu_factor_ex`.

use crate::host::memory::{try_collect, try_with_capacity};
use allotrope_dtype::{DType, Error, Problem, Set};
use allotrope_op::structured::linalg::{LU_FACTOR_EX, LU_UNPACK};

use super::solve::lu_factor;
use crate::Tensor;
use crate::call;

/// As [`lu_factor`], with the number of the first pivot that is zero: 0 where there is none, counted
/// from 1.
///
/// # Errors
/// As [`lu_factor`].
pub fn lu_factor_ex(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor), Error> {
    let op = LU_FACTOR_EX.name;
    call::result_dtype(&LU_FACTOR_EX, a.dtype())?;
    let (factors, pivots) = lu_factor(a, pivot).map_err(|error| error.in_op(op))?;
    let diagonal = factors.detach().diagonal(0, -2, -1)?;
    let count = diagonal.shape()[diagonal.rank() - 1];
    let outer = &diagonal.shape()[..diagonal.rank() - 1];
    if count == 0 {
        let info = Tensor::zeros(outer, DType::I32)?;
        return Ok((factors, pivots, info));
    }
    // Of places counted from the end the greatest is the first.
    let is_zero = diagonal.eq(0)?.to(DType::I64)?;
    let order = Tensor::arange(count as i64, 0, -1, DType::I64)?;
    let first = is_zero.mul(&order)?.amax(Some(&[-1]), false)?;
    let found = first.gt(0)?.to(DType::I64)?;
    let info = first.neg()?.add(count as i64 + 1)?.mul(&found)?;
    Ok((factors, pivots, info.to(DType::I32)?))
}

/// The permutation and both triangles of `A = P L U` from what [`lu_factor`] gives.
///
/// # Errors
/// A value error for less than two dimensions or pivots that do not fit, a dtype error for pivots
/// that are not integers, a memory error.
pub fn lu_unpack(factors: &Tensor, pivots: &Tensor) -> Result<(Tensor, Tensor, Tensor), Error> {
    let op = LU_UNPACK.name;
    let dtype = call::result_dtype(&LU_UNPACK, factors.dtype())?;
    let [.., rows, columns] = factors.shape()[..] else {
        let (given, least) = (factors.rank(), 2);
        return Err(Error::new(op, Problem::TooFewDimensions { given, least }));
    };
    if !pivots.dtype().is_integer() {
        return Err(Error::not_in_set(op, pivots.dtype(), Set::Integer, None));
    }
    let inner = rows.min(columns);
    let mut expected = factors.shape()[..factors.rank() - 2].to_vec();
    expected.push(inner);
    if pivots.shape()[..] != expected {
        let problem = Problem::WrongShape {
            what: "pivots",
            given: pivots.shape().to_vec(),
            accepted: format!("{expected:?}"),
        };
        return Err(Error::new(op, problem));
    }
    let factors = factors.to(dtype)?;
    let ones = Tensor::eye(rows, inner, dtype)?;
    let lower = factors.narrow(-1, 0, inner)?.tril(-1)?.add(&ones)?;
    let upper = factors.narrow(-2, 0, inner)?.triu(0)?;
    Ok((permutations(pivots, rows, inner, dtype)?, lower, upper))
}

/// The matrices of rows exchanged in turn, counted from one.
fn permutations(pivots: &Tensor, rows: usize, inner: usize, dtype: DType) -> Result<Tensor, Error> {
    let op = LU_UNPACK.name;
    let given = pivots.to(DType::I64)?.contiguous()?.to_vec::<i64>()?;
    let outer = &pivots.shape()[..pivots.rank() - 1];
    let count: usize = outer.iter().product();
    let mut places = try_with_capacity(op, count.saturating_mul(rows))?;
    for item in 0..count {
        let mut order: Vec<i64> = try_collect(op, 0..rows as i64)?;
        for (row, pivot) in given[item * inner..(item + 1) * inner].iter().enumerate() {
            match usize::try_from(pivot - 1) {
                Ok(other) if other < rows => order.swap(row, other),
                _ => {
                    let problem = Problem::IndexOutOfRange {
                        index: *pivot as isize,
                        dim: pivots.rank() - 1,
                        size: rows,
                    };
                    return Err(Error::new(op, problem));
                }
            }
        }
        places.extend(order);
    }
    let mut sizes = outer.to_vec();
    sizes.extend([1, rows]);
    // Column `i` has its one where row `i` came from.
    let places = Tensor::from_slice(&places, &sizes)?;
    sizes[outer.len()] = rows;
    let one = Tensor::ones(&[], dtype)?;
    let ones = one.expand(places.shape())?;
    Tensor::zeros(&sizes, dtype)?.scatter(-2, &places, &ones)
}
