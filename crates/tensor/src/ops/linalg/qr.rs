//! Orthonormal bases.

use allotrope_cpu::kernel::linalg::{HouseholderProduct, Qr};
use allotrope_dtype::Error;
use allotrope_op::structured::linalg::{HOUSEHOLDER_PRODUCT, QR};

use super::super::operands::adjoint;
use super::batch::{Batch, Out, misfit, sizes};
use super::factor_gradient::remember_basis;
use super::gradient::narrow_result;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::ops::unvarying;

/// How much of `Q` and `R` is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QrMode {
    /// As many columns of `Q` as `A` has rows or columns, whichever is less.
    #[default]
    Reduced,
    /// A square `Q`.
    Complete,
    /// `R` alone, as in the reduced mode; `Q` is empty.
    R,
}

impl QrMode {
    /// The mode of a name.
    ///
    /// # Errors
    /// A value error for an unknown name.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "reduced" => Ok(Self::Reduced),
            "complete" => Ok(Self::Complete),
            "r" => Ok(Self::R),
            _ => {
                let accepted = ["reduced", "complete", "r"];
                Err(Error::unknown_option(op, "mode", name, &accepted))
            }
        }
    }
}

/// `A = Q R`: orthonormal columns and an upper triangle.
///
/// There is a gradient unless the complete mode adds columns to `Q`: those are no function of `A`.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::ones(&[5, 3, 2], DType::BF16)?;
/// let (q, r) = linalg::qr(&a, linalg::QrMode::Complete)?;
/// assert_eq!(q.shape().to_string(), "[5, 3, 3]");
/// assert_eq!(r.shape().to_string(), "[5, 3, 2]");
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions, a memory error.
pub fn qr(a: &Tensor, mode: QrMode) -> Result<(Tensor, Tensor), Error> {
    let (rows, columns) = sizes(QR.name, a)?;
    if let Some(narrow) = narrow_result(&QR, &[a])? {
        let (q, r) = qr(&a.to(narrow.compute())?, mode)?;
        return Ok((q.to(narrow)?, r.to(narrow)?));
    }
    if mode == QrMode::R && is_recorded(&[a]) {
        // The gradient of R is a product with Q.
        let r = qr(a, QrMode::Reduced)?.1;
        return Ok((Tensor::zeros(&[0], r.dtype())?, r));
    }
    let batch = Batch::new(&QR, &[(a, 2)])?;
    let inner = rows.min(columns);
    let (basis, kept) = match mode {
        QrMode::Reduced => (inner, inner),
        QrMode::Complete => (rows, rows),
        QrMode::R => (0, inner),
    };
    let work = Qr {
        rows,
        columns,
        basis,
        kept,
    };
    let own = [[rows, basis], [kept, columns]];
    let outputs = [Out::Number(&own[0]), Out::Number(&own[1])];
    let (q, r) = batch.run_two(&work, &[&batch.prepare(&a.detach(), 2)?], outputs)?;
    if mode == QrMode::R {
        return Ok((Tensor::zeros(&[0], r.dtype())?, r));
    }
    remember_basis(q, r, QR.name, a)
}

/// The first columns of the product of reflections `I - τ v vᴴ`, whose vectors are below the diagonal
/// of `a`, as LAPACK's geqrf gives them.
///
/// # Errors
/// A value error for matrices with more columns than rows or fewer than `tau` has elements, a dtype
/// error where promotion refuses, a memory error.
pub fn householder_product(a: &Tensor, tau: &Tensor) -> Result<Tensor, Error> {
    let op = HOUSEHOLDER_PRODUCT.name;
    let (rows, columns) = sizes(op, a)?;
    let count = tau.shape().last().copied().unwrap_or(usize::MAX);
    if columns > rows || count > columns {
        return Err(misfit(op, a, tau));
    }
    let batch = Batch::new(&HOUSEHOLDER_PRODUCT, &[(a, 2), (tau, 1)])?;
    if is_recorded(&[a, tau]) {
        let (a, tau) = (a.to(batch.working)?, tau.to(batch.working)?);
        let mut product = Tensor::eye(rows, columns, batch.working)?;
        if count == 0 {
            let identity = product.expand(a.shape())?.contiguous()?;
            return unvarying(identity.to(batch.result)?, op, &[&a, &tau]);
        }
        let vectors = a.tril(-1)?.add(&product)?;
        for place in (0..count).rev() {
            let vector = vectors.narrow(-1, place as isize, 1)?;
            let scale = tau.narrow(-1, place as isize, 1)?.unsqueeze(-1)?;
            let along = adjoint(&vector)?.matmul(&product)?;
            product = product.sub(&vector.mul(&scale)?.matmul(&along)?)?;
        }
        return product.to(batch.result);
    }
    let inputs = [&batch.prepare(a, 2)?, &batch.prepare(tau, 1)?];
    let work = HouseholderProduct { rows, columns };
    batch.run_one(&work, &inputs, Out::Number(&[rows, columns]))
}
