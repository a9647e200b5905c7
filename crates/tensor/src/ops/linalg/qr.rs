//! Orthonormal bases.

use allotrope_dtype::Error;
use allotrope_op::structured::linalg::{HOUSEHOLDER_PRODUCT, QR};
use allotrope_op::task::Factorization;
pub use allotrope_op::task::factorization::QrMode;

use super::super::operands::adjoint;
use super::batch::{Batch, Begun, Out, begin, misfit, sizes};
use super::factor_gradient::remember_basis;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::ops::unvarying;
use crate::transfer::gathered;

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
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&QR, [a])?;
    // The gradient of R is a product with Q.
    let taken = match mode {
        QrMode::R if is_recorded(&[&a]) => QrMode::Reduced,
        mode => mode,
    };
    let batch = Batch::new(QR.name, made, &[(&a, 2)])?;
    let [basis, kept] = taken.sizes(rows, columns);
    let own = [[rows, basis], [kept, columns]];
    let outputs = own.each_ref().map(|own| Out::Number(own));
    let task = Factorization::Qr { mode: taken };
    let [q, r] = batch.run(task, &[&batch.prepare(&a, 2)?], outputs)?;
    let (q, r) = match taken {
        QrMode::R => (q, r),
        _ => remember_basis(q, r, QR.name, &a)?,
    };
    let q = match mode {
        QrMode::R => r.new_zeros(&[0], result)?,
        _ => q.to(result)?,
    };
    Ok((q, r.to(result)?))
}

/// The first columns of the product of reflections `I - τ v vᴴ`, whose vectors are below the diagonal
/// of `a`, as LAPACK's geqrf gives them.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let (a, tau) = (Tensor::eye(2, 2, DType::F64)?, Tensor::zeros(2, DType::F64)?);
/// assert_eq!(linalg::householder_product(&a, &tau)?, a);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for matrices with more columns than rows or fewer than `tau` has elements, a dtype
/// error where promotion refuses, a memory error.
pub fn householder_product(a: &Tensor, tau: &Tensor) -> Result<Tensor, Error> {
    if let Some((a, tau)) = gathered((a, tau))? {
        return householder_product(&a, &tau);
    }
    let op = HOUSEHOLDER_PRODUCT.name;
    let (rows, columns) = sizes(op, a)?;
    let count = tau.shape().last().copied().unwrap_or(usize::MAX);
    if columns > rows || count > columns {
        return Err(misfit(op, a, tau));
    }
    let Call { result, .. } = Call::begin(&HOUSEHOLDER_PRODUCT, &[a, tau])?;
    let batch = Batch::new(op, result, &[(a, 2), (tau, 1)])?;
    if is_recorded(&[a, tau]) {
        let (a, tau) = (a.to(batch.working)?, tau.to(batch.working)?);
        let mut product = a.new_eye(rows, columns, batch.working)?;
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
    let task = Factorization::HouseholderProduct;
    batch.run_one(task, &inputs, Out::Number(&[rows, columns]))
}
