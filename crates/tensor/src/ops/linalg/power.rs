//! Powers and exponentials of matrices.

use allotrope_cpu::kernel::linalg::{Exponential, Power};
use allotrope_dtype::{DType, Error, Set, default_dtype};
use allotrope_op::structured::linalg::{MATRIX_EXP, MATRIX_POWER};

use super::batch::{Batch, Out, order};
use super::gradient::{narrow_result, remember_exponential};
use super::solve::inv;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::ops::unvarying;

/// Square matrices times themselves so many times: the identity for 0, the inverse for -1. Integers
/// stay what they are, and wrap, unless an inverse is asked for, which is of the default float.
///
/// # Errors
/// A value error unless the matrices are square, an error of linear algebra for a negative power of
/// a matrix without an inverse, a memory error.
pub fn matrix_power(a: &Tensor, n: i64) -> Result<Tensor, Error> {
    let order = order(MATRIX_POWER.name, a)?;
    if !Set::Inexact.contains(a.dtype()) {
        if n >= 0 {
            return power_by_products(a, n);
        }
        let float = default_dtype();
        return matrix_power(&a.to(float.compute())?, n)?.to(float);
    }
    let batch = Batch::new(&MATRIX_POWER, &[(a, 2)])?;
    if is_recorded(&[a]) {
        return power_by_products(&a.to(batch.working)?, n)?.to(batch.result);
    }
    let work = Power { order, exponent: n };
    batch.run_one(
        &work,
        &[&batch.prepare(a, 2)?],
        Out::Number(&[order, order]),
    )
}

/// A power as products of squares, each of which is recorded.
fn power_by_products(a: &Tensor, n: i64) -> Result<Tensor, Error> {
    if n == 0 {
        let size = a.shape()[a.rank() - 1];
        let identity = Tensor::eye(size, size, a.dtype())?;
        let identity = identity.expand_as(a)?.contiguous()?;
        return unvarying(identity, MATRIX_POWER.name, &[a]);
    }
    let mut square = if n < 0 {
        inv(a).map_err(|error| error.in_op(MATRIX_POWER.name))?
    } else {
        a.clone()
    };
    let mut left = n.unsigned_abs();
    let mut power: Option<Tensor> = None;
    loop {
        if left & 1 == 1 {
            power = Some(match power {
                Some(power) => power.matmul(&square)?,
                None => square.clone(),
            });
        }
        left >>= 1;
        match power {
            Some(power) if left == 0 => return Ok(power),
            _ => square = square.matmul(&square)?,
        }
    }
}

/// The exponential of square matrices, `Σ Aᵏ / k!`.
///
/// # Errors
/// A value error unless the matrices are square, a memory error.
pub fn matrix_exp(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(MATRIX_EXP.name, a)?;
    if let Some(narrow) = narrow_result(&MATRIX_EXP, &[a])? {
        return matrix_exp(&a.to(narrow.compute())?)?.to(narrow);
    }
    let batch = Batch::new(&MATRIX_EXP, &[(a, 2)])?;
    let wide = if batch.working.is_complex() {
        DType::C128
    } else {
        DType::F64
    };
    let own = [order, order];
    let input = batch.prepare(&a.detach(), 2)?;
    let work = Exponential { order };
    let exponential = batch.run_one(&work, &[&input], Out::Rounded(wide, &own))?;
    remember_exponential(exponential, MATRIX_EXP.name, a)
}
