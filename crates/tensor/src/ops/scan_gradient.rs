//! Gradients of running totals.

use allotrope_dtype::{DType, Error};
use allotrope_op::{Scan, compute_dtype};
use smallvec::smallvec;

use super::operands::{conjugate, is_any};
use crate::Tensor;
use crate::autograd::is_recorded;

/// Running totals along a dimension of a tensor that was read in a dtype, with their rule.
pub(super) fn remember_scan(
    scanned: Tensor,
    op: &'static str,
    kind: Scan,
    x: &Tensor,
    through: DType,
    dim: usize,
) -> Result<Tensor, Error> {
    if !is_recorded(&[x]) {
        return Ok(scanned.inherit(&[x]));
    }
    let saved = (kind != Scan::Sum).then(|| x.clone());
    let axis = dim as isize;
    scanned.with_rule(op, &[x], move |pass| {
        let gradient = pass.gradient()?;
        let gradient = gradient.to(compute_dtype(gradient.dtype()))?;
        let Some(x) = saved.as_ref().filter(|x| x.count() > 0) else {
            let sums = gradient.flip(&[axis])?.cumsum(axis, None)?;
            return Ok(smallvec![Some(sums.flip(&[axis])?)]);
        };
        let x = x.to(through)?.to(gradient.dtype())?;
        Ok(smallvec![Some(match kind {
            Scan::LogSumExp => of_logarithms(&gradient, &x, dim)?,
            _ => of_products(&gradient, &x, dim)?,
        })])
    })
}

/// `∂/∂xₖ Σᵢ gᵢ Pᵢ = Σᵢ gᵢ Pᵢ / xₖ` from `k` on, or `Pₖ₋₁ sₖ` with `sₖ = gₖ + xₖ₊₁ sₖ₊₁`, which takes
/// longer but does not divide by zeros.
fn of_products(gradient: &Tensor, x: &Tensor, dim: usize) -> Result<Tensor, Error> {
    let (axis, size) = (dim as isize, x.shape()[dim]);
    let products = x.cumprod(axis, None)?;
    // Whether there are zeros is not worth waiting for a device.
    if x.host_address().is_some() && !is_any(&products.eq(0)?)? {
        let sums = gradient.mul(&conjugate(&products)?)?.flip(&[axis])?;
        let sums = sums.cumsum(axis, None)?.flip(&[axis])?;
        return sums.div(&conjugate(x)?);
    }
    let one = x.narrow(axis, 0, 1)?.ones_like()?;
    let before = Tensor::cat(&[&one, &products.narrow(axis, 0, size - 1)?], axis)?;
    let next = x.narrow(axis, 1, size - 1)?.placed_along(dim, 0, size)?;
    let sums = recur(&conjugate(&next)?, gradient, dim)?;
    conjugate(&before)?.mul(&sums)
}

/// `∂/∂xₖ Σᵢ gᵢ yᵢ = exp(xₖ - yₖ) sₖ` with `sₖ = gₖ + exp(yₖ - yₖ₊₁) sₖ₊₁`: no exponent of real numbers
/// is positive. Slopes of complex numbers are conjugated.
fn of_logarithms(gradient: &Tensor, x: &Tensor, dim: usize) -> Result<Tensor, Error> {
    let (axis, size) = (dim as isize, x.shape()[dim]);
    let sums = x.logcumsumexp(axis)?;
    // Equal infinities have no distance.
    let ratio = |a: &Tensor, b: &Tensor| {
        let away = a.sub(b)?.masked_fill(&a.eq(b)?, false)?;
        conjugate(&away.exp()?)
    };
    let (now, next) = (
        sums.narrow(axis, 0, size - 1)?,
        sums.narrow(axis, 1, size - 1)?,
    );
    let shares = ratio(&now, &next)?.placed_along(dim, 0, size)?;
    ratio(x, &sums)?.mul(&recur(&shares, gradient, dim)?)
}

/// The `sₖ = bₖ + aₖ sₖ₊₁` along a dimension, from the end, in as many steps as its size has digits.
fn recur(a: &Tensor, b: &Tensor, dim: usize) -> Result<Tensor, Error> {
    let (axis, size) = (dim as isize, b.shape()[dim]);
    let (mut a, mut b) = (a.clone(), b.clone());
    let mut step = 1;
    while step < size {
        let ahead = |x: &Tensor| {
            let later = x.narrow(axis, step as isize, size - step)?;
            later.placed_along(dim, 0, size)
        };
        b = b.add(&a.mul(&ahead(&b)?)?)?;
        a = a.mul(&ahead(&a)?)?;
        step *= 2;
    }
    Ok(b)
}
