//! Powers and exponentials of matrices.

use allotrope_cpu::kernel::linalg::{Exponential, Power};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::linalg::{MATRIX_EXP, MATRIX_POWER};

use super::batch::{Batch, Out, order};
use crate::Tensor;

/// Square matrices times themselves so many times: the identity for 0, the inverse for -1.
///
/// # Errors
/// A value error unless the matrices are square, an error of linear algebra for a negative power of
/// a matrix without an inverse, a memory error.
pub fn matrix_power(a: &Tensor, n: i64) -> Result<Tensor, Error> {
    let order = order(MATRIX_POWER.name, a)?;
    let batch = Batch::new(&MATRIX_POWER, &[(a, 2)])?;
    let work = Power { order, exponent: n };
    batch.run_one(
        &work,
        &[&batch.prepare(a, 2)?],
        Out::Number(&[order, order]),
    )
}

/// The exponential of square matrices, `Σ Aᵏ / k!`.
///
/// # Errors
/// A value error unless the matrices are square, a memory error.
pub fn matrix_exp(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(MATRIX_EXP.name, a)?;
    let batch = Batch::new(&MATRIX_EXP, &[(a, 2)])?;
    let wide = if batch.working.is_complex() {
        DType::C128
    } else {
        DType::F64
    };
    let own = [order, order];
    let input = batch.prepare(a, 2)?;
    batch.run_one(&Exponential { order }, &[&input], Out::Rounded(wide, &own))
}
