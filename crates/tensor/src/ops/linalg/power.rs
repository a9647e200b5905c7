//! Powers and exponentials of matrices.

use allotrope_dtype::{Error, Set};
use allotrope_op::float_of;
use allotrope_op::structured::linalg::{MATRIX_EXP, MATRIX_POWER};
use allotrope_op::task::Factorization;

use super::batch::{Batch, Begun, Out, begin, order};
use super::gradient::remember_exponential;
use super::solve::inv;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::ops::unvarying;

/// Square matrices times themselves so many times: the identity for 0, the inverse for -1. Integers
/// stay what they are, and wrap, unless an inverse is asked for, which is of the default float.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[1.0, 1.0], [0.0, 1.0]])?;
/// assert_eq!(linalg::matrix_power(&a, 3)?, Tensor::new([[1.0, 3.0], [0.0, 1.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
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
        let float = float_of(MATRIX_POWER.name, a.dtype())?;
        return matrix_power(&a.to(float.compute())?, n)?.to(float);
    }
    let Call { result, .. } = Call::begin(&MATRIX_POWER, &[a])?;
    let batch = Batch::new(MATRIX_POWER.name, result, &[(a, 2)])?;
    if is_recorded(&[a]) {
        return power_by_products(&a.to(batch.working)?, n)?.to(batch.result);
    }
    let (task, input) = (
        Factorization::MatrixPower { exponent: n },
        batch.prepare(a, 2)?,
    );
    batch.run_one(task, &[&input], Out::Number(&[order, order]))
}

/// A power as products of squares, each of which is recorded.
fn power_by_products(a: &Tensor, n: i64) -> Result<Tensor, Error> {
    if n == 0 {
        let size = a.shape()[a.rank() - 1];
        let identity = a.new_eye(size, size, a.dtype())?;
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
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let a = Tensor::zeros((2, 2), DType::F64)?;
/// assert_eq!(linalg::matrix_exp(&a)?, Tensor::eye(2, 2, DType::F64)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless the matrices are square, a memory error.
pub fn matrix_exp(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(MATRIX_EXP.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&MATRIX_EXP, [a])?;
    let batch = Batch::new(MATRIX_EXP.name, made, &[(&a, 2)])?;
    let (own, input) = ([order, order], batch.prepare(&a, 2)?);
    let exponential = batch.run_one(Factorization::MatrixExp, &[&input], Out::Number(&own))?;
    remember_exponential(exponential, MATRIX_EXP.name, &a)?.to(result)
}
