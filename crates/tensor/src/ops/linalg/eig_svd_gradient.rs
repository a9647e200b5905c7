//! Gradients of eigenvalues and singular values, and of what belongs to them. The vectors are only
//! determined up to a sign or phase each, and those of equal values not at all: what is made of them
//! must not depend on that.

use allotrope_dtype::Error;
use smallvec::{SmallVec, smallvec};

use super::super::operands::adjoint;
use super::eig_svd::{Triangle, eigh, svd};
use super::gradient::on_diagonal;
use super::solve::solve;
use crate::Tensor;
use crate::autograd::{is_recorded, with_rule_of};

/// `xⱼ - xᵢ` in row `i` and column `j`.
fn distances(x: &Tensor) -> Result<Tensor, Error> {
    x.unsqueeze(-2)?.sub(&x.unsqueeze(-1)?)
}

/// Square matrices over others, with zero on the diagonal.
fn over(x: &Tensor, distances: &Tensor) -> Result<Tensor, Error> {
    let mask = on_diagonal(x.shape().last().copied().unwrap_or(0), x)?;
    x.div(&distances.masked_fill(&mask, true)?)?
        .masked_fill(&mask, false)
}

/// Numbers as diagonal matrices.
fn diagonal(x: &Tensor) -> Result<Tensor, Error> {
    x.diag_embed(0, -2, -1)
}

/// `A V = V diag(λ)` with orthonormal `V`: `G = V (diag(g_λ) + skew(Vᴴ G_V) / (λⱼ - λᵢ)) Vᴴ`, which is
/// Hermitian as the matrix is.
pub(super) fn remember_hermitian(
    values: Tensor,
    vectors: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<(Tensor, Tensor), Error> {
    if !is_recorded(&[a]) {
        return Ok((values, vectors));
    }
    let saved = [values.detach(), vectors.detach()];
    let outputs = SmallVec::from_iter([values, vectors]);
    let outputs = with_rule_of(op, &[a], outputs, move |pass| {
        let vectors = pass.output(&saved[1], 1);
        let turned = adjoint(&vectors)?;
        let for_values = pass.gradient_of(0)?;
        if !matches!(pass.gradients.get(1), Some(Some(_))) {
            let gradient = vectors.mul(&for_values.unsqueeze(-2)?)?.matmul(&turned)?;
            return Ok(smallvec![Some(gradient)]);
        }
        let inner = turned.matmul(&pass.gradient_of(1)?)?;
        let inner = inner.sub(&adjoint(&inner)?)?.mul(0.5)?;
        let inner = over(&inner, &distances(&pass.output(&saved[0], 0))?)?;
        let inner = inner.add(&diagonal(&for_values)?)?;
        let gradient = vectors.matmul(&inner)?.matmul(&turned)?;
        Ok(smallvec![Some(gradient)])
    })?;
    Ok((outputs[0].clone(), outputs[1].clone()))
}

/// The eigenvalues of a Hermitian matrix; the vectors are computed when a gradient comes.
pub(super) fn remember_hermitian_values(
    values: Tensor,
    op: &'static str,
    a: &Tensor,
    triangle: Triangle,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a]) {
        return Ok(values.inherit(&[a]));
    }
    let matrix = a.clone();
    values.with_rule(op, &[a], move |pass| {
        let vectors = eigh(&matrix, triangle)?.1;
        let scaled = vectors.mul(&pass.gradient()?.unsqueeze(-2)?)?;
        Ok(smallvec![Some(scaled.matmul(&adjoint(&vectors)?)?)])
    })
}

/// `A V = V diag(λ)` with columns of norm one:
/// `G = V⁻ᴴ (diag(g_λ) + (Vᴴ G_V - Vᴴ V Re diag(Vᴴ G_V)) / conj(λⱼ - λᵢ)) Vᴴ`.
pub(super) fn remember_eigen(
    values: Tensor,
    vectors: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<(Tensor, Tensor), Error> {
    if !is_recorded(&[a]) {
        return Ok((values, vectors));
    }
    let saved = [values.detach(), vectors.detach()];
    let outputs = SmallVec::from_iter([values, vectors]);
    let outputs = with_rule_of(op, &[a], outputs, move |pass| {
        let vectors = pass.output(&saved[1], 1);
        let turned = adjoint(&vectors)?;
        let mut inner = diagonal(&pass.gradient_of(0)?)?;
        if matches!(pass.gradients.get(1), Some(Some(_))) {
            let product = turned.matmul(&pass.gradient_of(1)?)?;
            // The norm of a column does not change.
            let along = product.diagonal(0, -2, -1)?.real()?.unsqueeze(-2)?;
            let across = product.sub(&turned.matmul(&vectors)?.mul(&along)?)?;
            let between = distances(&pass.output(&saved[0], 0))?.conj()?;
            inner = inner.add(&over(&across, &between)?)?;
        }
        let gradient = solve(&turned, &inner.matmul(&turned)?, true)?;
        Ok(smallvec![Some(gradient)])
    })?;
    Ok((outputs[0].clone(), outputs[1].clone()))
}

/// Singular values; the vectors are computed when a gradient comes.
pub(super) fn remember_singular_values(
    values: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a]) {
        return Ok(values.inherit(&[a]));
    }
    let matrix = a.clone();
    values.with_rule(op, &[a], move |pass| {
        let (u, _, vh) = svd(&matrix.to(matrix.dtype().compute())?, false)?;
        let scaled = u.mul(&pass.gradient()?.unsqueeze(-2)?)?;
        Ok(smallvec![Some(scaled.matmul(&vh)?)])
    })
}

/// `A = U diag(s) Vᴴ`, with what singular vectors beyond the singular values get left out.
pub(super) fn remember_singular(
    [u, s, vh]: [Tensor; 3],
    op: &'static str,
    a: &Tensor,
) -> Result<[Tensor; 3], Error> {
    if !is_recorded(&[a]) {
        return Ok([u, s, vh]);
    }
    let saved = [u.detach(), s.detach(), vh.detach()];
    let outputs = SmallVec::from_iter([u, s, vh]);
    let outputs = with_rule_of(op, &[a], outputs, move |pass| {
        let inner = saved[1].shape().last().copied().unwrap_or(0);
        let s = pass.output(&saved[1], 1);
        let u = pass.output(&saved[0], 0).narrow(-1, 0, inner)?;
        let vh = pass.output(&saved[2], 2).narrow(-2, 0, inner)?;
        let came = |output: usize| matches!(pass.gradients.get(output), Some(Some(_)));
        let for_s = pass.gradient_of(1)?;
        if !came(0) && !came(2) {
            let gradient = u.mul(&for_s.unsqueeze(-2)?)?.matmul(&vh)?;
            return Ok(smallvec![Some(gradient)]);
        }
        let for_u = pass.gradient_of(0)?.narrow(-1, 0, inner)?;
        let for_vh = pass.gradient_of(2)?.narrow(-2, 0, inner)?;
        Ok(smallvec![Some(of_singular(
            [&u, &s, &vh],
            [&for_u, &for_s, &for_vh]
        )?)])
    })?;
    Ok([0, 1, 2].map(|output: usize| outputs[output].clone()))
}

fn of_singular(
    [u, s, vh]: [&Tensor; 3],
    [for_u, for_s, for_vh]: [&Tensor; 3],
) -> Result<Tensor, Error> {
    let skew = |x: &Tensor| x.sub(&adjoint(x)?);
    let (turned, v) = (adjoint(u)?, adjoint(vh)?);
    let (rows, columns) = (s.unsqueeze(-1)?, s.unsqueeze(-2)?);
    // sⱼ² - sᵢ² without what squares lose.
    let squares = distances(s)?.mul(&rows.add(&columns)?)?;
    let left = skew(&turned.matmul(for_u)?)?;
    let right = skew(&vh.matmul(&adjoint(for_vh)?)?)?;
    let mut middle = diagonal(for_s)?;
    middle = middle.add(&over(&left, &squares)?.mul(&columns)?)?;
    middle = middle.add(&over(&right, &squares)?.mul(&rows)?)?;
    if u.dtype().is_complex() {
        let phases = left.diagonal(0, -2, -1)?.div(&s.mul(2.0)?)?;
        middle = middle.add(&diagonal(&phases)?)?;
    }
    let mut gradient = u.matmul(&middle)?.matmul(vh)?;
    let inner = s.shape().last().copied().unwrap_or(0);
    if u.shape()[u.rank() - 2] > inner {
        let scaled = for_u.div(&columns)?;
        let beside = scaled.sub(&u.matmul(&turned.matmul(&scaled)?)?)?;
        gradient = gradient.add(&beside.matmul(vh)?)?;
    }
    if vh.shape()[vh.rank() - 1] > inner {
        let scaled = for_vh.div(&rows)?;
        let beside = scaled.sub(&scaled.matmul(&v)?.matmul(vh)?)?;
        gradient = gradient.add(&u.matmul(&beside)?)?;
    }
    Ok(gradient)
}
