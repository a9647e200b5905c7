//! Gradients of solutions, inverses, determinants, exponentials.

use allotrope_dtype::{DType, Error};
use smallvec::{SmallVec, smallvec};

use super::super::operands::{adjoint, conjugate, is_any};
use super::eig_svd::svd;
use super::lstsq::{Tolerance, pinv};
use super::power::matrix_exp;
use super::solve::{inv, solve_ex, solve_triangular};
use crate::Tensor;
use crate::autograd::{is_recorded, with_rule_of};

/// A number for each matrix, as factor of its elements.
pub(super) fn per_matrix(x: &Tensor) -> Result<Tensor, Error> {
    x.unsqueeze(-1)?.unsqueeze(-1)
}

/// The truth on the diagonals of square matrices, beside a tensor.
pub(super) fn on_diagonal(order: usize, like: &Tensor) -> Result<Tensor, Error> {
    like.new_eye(order, order, DType::Bool)
}

/// `X` of `A X = B`: `G_B = A⁻ᴴ G`, `G_A = -G_B Xᴴ`.
pub(super) fn remember_solution(
    x: Tensor,
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a, b]) {
        return Ok(x.inherit(&[a, b]));
    }
    let (saved, matrix) = (x.detach(), a.clone());
    x.with_rule(op, &[a, b], move |pass| {
        let for_b = solve_ex(&adjoint(&matrix)?, &pass.gradient()?, true)?.0;
        let for_a = pass.give(0, || {
            let x = pass.output(&saved, 0);
            for_b.matmul(&adjoint(&x)?)?.neg()
        })?;
        Ok(smallvec![for_a, Some(for_b)])
    })
}

/// `X` of `A X = B` for a triangular `A`: as [`remember_solution`], within the triangle.
pub(super) fn remember_triangular(
    x: Tensor,
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    upper: bool,
    unit: bool,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a, b]) {
        return Ok(x.inherit(&[a, b]));
    }
    let (saved, matrix) = (x.detach(), a.clone());
    x.with_rule(op, &[a, b], move |pass| {
        let gradient = pass.gradient()?;
        let for_b = solve_triangular(&adjoint(&matrix)?, &gradient, !upper, true, unit)?;
        let for_a = pass.give(0, || {
            let x = pass.output(&saved, 0);
            let whole = for_b.matmul(&adjoint(&x)?)?.neg()?;
            if upper {
                whole.triu(isize::from(unit))
            } else {
                whole.tril(-isize::from(unit))
            }
        })?;
        Ok(smallvec![for_a, Some(for_b)])
    })
}

/// `Y = A⁻¹`: `G_A = -Yᴴ G Yᴴ`.
pub(super) fn remember_inverse(y: Tensor, op: &'static str, a: &Tensor) -> Result<Tensor, Error> {
    let saved = y.detach();
    y.with_rule(op, &[a], move |pass| {
        let turned = adjoint(&pass.output(&saved, 0))?;
        let gradient = turned.matmul(&pass.gradient()?)?.matmul(&turned)?;
        Ok(smallvec![Some(gradient.neg()?)])
    })
}

/// `d = det A`: `G_A = g d̄ A⁻ᴴ`, which is the matrix of cofactors also where there is no inverse.
pub(super) fn remember_determinant(
    d: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a]) {
        return Ok(d.inherit(&[a]));
    }
    let (saved, matrix) = (d.detach(), a.clone());
    d.with_rule(op, &[a], move |pass| {
        let gradient = per_matrix(&pass.gradient()?)?;
        if is_any(&saved.eq(0)?)? {
            return Ok(smallvec![Some(cofactors(&matrix)?.mul(&gradient)?)]);
        }
        let d = per_matrix(&pass.output(&saved, 0))?;
        let factor = gradient.mul(&conjugate(&d)?)?;
        Ok(smallvec![Some(adjoint(&inv(&matrix)?)?.mul(&factor)?)])
    })
}

/// The conjugate cofactors of `U S Vᴴ`: those of `S`, which are products of all singular values but
/// one, turned by `U` and `Vᴴ`.
fn cofactors(a: &Tensor) -> Result<Tensor, Error> {
    let (u, s, vh) = svd(a, false)?;
    let order = s.shape().last().copied().unwrap_or(0);
    let others = s
        .unsqueeze(-2)?
        .masked_fill(&on_diagonal(order, &s)?, true)?;
    let others = others.prod(Some(&[-1]), false, None)?.unsqueeze(-2)?;
    let turn = super::det(&u)?.mul(&super::det(&vh)?)?;
    let turn = per_matrix(&conjugate(&turn)?)?;
    u.mul(&others)?.matmul(&vh)?.mul(&turn)
}

/// The sign `s` and the logarithm `l` of the magnitude of `det A`: `G_A = (g_l - i Im(ḡ_s s)) A⁻ᴴ`.
pub(super) fn remember_logarithm(
    sign: Tensor,
    logarithm: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<(Tensor, Tensor), Error> {
    if !is_recorded(&[a]) {
        return Ok((sign, logarithm));
    }
    let (saved, matrix) = (sign.detach(), a.clone());
    let outputs = SmallVec::from_iter([sign, logarithm]);
    let outputs = with_rule_of(op, &[a], outputs, move |pass| {
        let mut factor = pass.gradient_of(1)?;
        if saved.dtype().is_complex() {
            let turned = pass.gradient_of(0)?.conj()?.mul(&pass.output(&saved, 0))?;
            // Half of z - z̄ is i Im z.
            factor = factor.sub(&turned.sub(&turned.conj()?)?.mul(0.5)?)?;
        }
        let inverse = adjoint(&inv(&matrix)?)?;
        Ok(smallvec![Some(inverse.mul(&per_matrix(&factor)?)?)])
    })?;
    let [sign, logarithm] = [outputs[0].clone(), outputs[1].clone()];
    Ok((sign, logarithm))
}

/// `A = L Lᴴ`: with `Φ` the lower triangle and half of the diagonal, the Hermitian part of
/// `L⁻ᴴ Φ(Lᴴ G) L⁻¹`.
pub(super) fn remember_root(root: Tensor, op: &'static str, a: &Tensor) -> Result<Tensor, Error> {
    let saved = root.detach();
    root.with_rule(op, &[a], move |pass| {
        let root = pass.output(&saved, 0);
        let turned = adjoint(&root)?;
        let product = turned.matmul(&pass.gradient()?)?;
        let half = product.tril(0)?.add(&product.tril(-1)?)?.mul(0.5)?;
        let left = solve_triangular(&turned, &half, true, true, false)?;
        let both = solve_triangular(&root, &left, false, false, false)?;
        Ok(smallvec![Some(both.add(&adjoint(&both)?)?.mul(0.5)?)])
    })
}

/// `P = A⁺`, by Golub and Pereyra.
pub(super) fn remember_pseudo_inverse(
    p: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a]) {
        return Ok(p.inherit(&[a]));
    }
    let (saved, matrix) = (p.detach(), a.clone());
    p.with_rule(op, &[a], move |pass| {
        let p = pass.output(&saved, 0);
        let gradient = of_pseudo_inverse(&matrix, &p, &pass.gradient()?)?;
        Ok(smallvec![Some(gradient)])
    })
}

/// `-Pᴴ G Pᴴ + (I - A P) Gᴴ P Pᴴ + Pᴴ P Gᴴ (I - P A)`.
fn of_pseudo_inverse(a: &Tensor, p: &Tensor, gradient: &Tensor) -> Result<Tensor, Error> {
    let (turned, back) = (adjoint(p)?, adjoint(gradient)?);
    let inner = turned.matmul(gradient)?.matmul(&turned)?;
    let rows = back.matmul(p)?.matmul(&turned)?;
    let rows = rows.sub(&a.matmul(&p.matmul(&rows)?)?)?;
    let columns = turned.matmul(p)?.matmul(&back)?;
    let columns = columns.sub(&columns.matmul(p)?.matmul(a)?)?;
    rows.add(&columns)?.sub(&inner)
}

/// The `X` for which `A X - B` is least, which is `A⁺ B`.
pub(super) fn remember_least_squares(
    x: Tensor,
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    tolerance: Tolerance,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a, b]) {
        return Ok(x.inherit(&[a, b]));
    }
    let (matrix, right) = (a.clone(), b.clone());
    x.with_rule(op, &[a, b], move |pass| {
        let gradient = pass.gradient()?;
        let p = pinv(&matrix, &tolerance, false)?;
        let for_a = pass.give(0, || {
            let of_inverse = gradient.matmul(&adjoint(&right)?)?;
            of_pseudo_inverse(&matrix, &p, &of_inverse)
        })?;
        let for_b = pass.give(1, || adjoint(&p)?.matmul(&gradient))?;
        Ok(smallvec![for_a, for_b])
    })
}

/// `exp A`: the upper right block of the exponential of `Aᴴ G` over `0 Aᴴ`.
pub(super) fn remember_exponential(
    exponential: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(&[a]) {
        return Ok(exponential.inherit(&[a]));
    }
    let matrix = a.clone();
    exponential.with_rule(op, &[a], move |pass| {
        let gradient = pass.gradient()?;
        let order = gradient.shape().last().copied().unwrap_or(0);
        let turned = adjoint(&matrix)?;
        let upper = Tensor::cat(&[&turned, &gradient], -1)?;
        let lower = Tensor::cat(&[&turned.zeros_like()?, &turned], -1)?;
        let whole = matrix_exp(&Tensor::cat(&[&upper, &lower], -2)?)?;
        let right = whole.narrow(-1, order as isize, order)?;
        Ok(smallvec![Some(right.narrow(-2, 0, order)?)])
    })
}
