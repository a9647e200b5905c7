//! Gradients of factors: `P L U` and `Q R`.

use allotrope_dtype::{Error, GradientProblem};
use smallvec::{SmallVec, smallvec};

use super::super::operands::adjoint;
use super::solve::solve_triangular;
use crate::Tensor;
use crate::autograd::{is_recorded, with_rule_of};

/// `A = P L U`. Of the square part, `G = P L⁻ᴴ (tril(Lᴴ G_L, -1) + triu(G_U Uᴴ)) U⁻ᴴ`; what is beyond
/// it is a product with the other factor.
pub(super) fn remember_triangles(
    [p, l, u]: [Tensor; 3],
    op: &'static str,
    a: &Tensor,
) -> Result<[Tensor; 3], Error> {
    if !is_recorded(&[a]) {
        return Ok([p, l, u]);
    }
    let (order, saved) = (p.clone(), [l.detach(), u.detach()]);
    let outputs = with_rule_of(op, &[a], SmallVec::from_iter([l, u]), move |pass| {
        let [l, u] = [pass.output(&saved[0], 0), pass.output(&saved[1], 1)];
        let [for_l, for_u] = [pass.gradient_of(0)?, pass.gradient_of(1)?];
        let [.., rows, inner] = l.shape()[..] else {
            return Ok(smallvec![None]);
        };
        let columns = u.shape().last().copied().unwrap_or(inner);
        let rest =
            |x: &Tensor, dim: isize, size: usize| x.narrow(dim, inner as isize, size - inner);
        let (l1, u1) = (l.narrow(-2, 0, inner)?, u.narrow(-1, 0, inner)?);
        let turned = [adjoint(&l1)?, adjoint(&u1)?];
        let mut lower = turned[0].matmul(&for_l.narrow(-2, 0, inner)?)?;
        let mut upper = for_u.narrow(-1, 0, inner)?.matmul(&turned[1])?;
        if columns > inner {
            let (u2, for_u2) = (rest(&u, -1, columns)?, rest(&for_u, -1, columns)?);
            lower = lower.sub(&for_u2.matmul(&adjoint(&u2)?)?)?;
        }
        if rows > inner {
            let (l2, for_l2) = (rest(&l, -2, rows)?, rest(&for_l, -2, rows)?);
            upper = upper.sub(&adjoint(&l2)?.matmul(&for_l2)?)?;
        }
        let square = lower.tril(-1)?.add(&upper.triu(0)?)?;
        let from_left = |x: &Tensor| solve_triangular(&turned[0], x, true, true, true);
        let from_right = |x: &Tensor| solve_triangular(&turned[1], x, false, false, false);
        let mut whole = from_right(&from_left(&square)?)?;
        if columns > inner {
            let beyond = from_left(&rest(&for_u, -1, columns)?)?;
            whole = Tensor::cat(&[&whole, &beyond], -1)?;
        }
        if rows > inner {
            let below = from_right(&rest(&for_l, -2, rows)?)?;
            whole = Tensor::cat(&[&whole, &below], -2)?;
        }
        Ok(smallvec![Some(order.matmul(&whole)?)])
    })?;
    Ok([p, outputs[0].clone(), outputs[1].clone()])
}

/// `A = Q R` of the reduced kind, or a square `Q`. A wide `A` is a square one, and `R₂ = Qᴴ A₂`.
pub(super) fn remember_basis(
    q: Tensor,
    r: Tensor,
    op: &'static str,
    a: &Tensor,
) -> Result<(Tensor, Tensor), Error> {
    if !is_recorded(&[a]) {
        return Ok((q, r));
    }
    let saved = [q.detach(), r.detach()];
    let matrix = a.clone();
    let outputs = with_rule_of(op, &[a], SmallVec::from_iter([q, r]), move |pass| {
        let [q, r] = [pass.output(&saved[0], 0), pass.output(&saved[1], 1)];
        let [mut for_q, for_r] = [pass.gradient_of(0)?, pass.gradient_of(1)?];
        let basis = q.shape().last().copied().unwrap_or(0);
        let [.., rows, columns] = matrix.shape()[..] else {
            return Ok(smallvec![None]);
        };
        if basis > columns {
            // What completes the basis is no function of the matrix.
            let problem = GradientProblem::NotRecorded { through: Some(op) };
            return Err(Error::new(op, problem.into()).hint("mode='reduced'"));
        }
        let beyond = columns.saturating_sub(rows);
        let first = columns - beyond;
        let mut rest = None;
        if beyond > 0 {
            let part = |x: &Tensor| x.narrow(-1, first as isize, beyond);
            let for_rest = part(&for_r)?;
            for_q = for_q.add(&part(&matrix)?.matmul(&adjoint(&for_rest)?)?)?;
            rest = Some(q.matmul(&for_rest)?);
        }
        let (r, for_r) = (r.narrow(-1, 0, first)?, for_r.narrow(-1, 0, first)?);
        let upper = for_r.matmul(&adjoint(&r)?)?;
        let upper = upper.sub(&adjoint(&q)?.matmul(&for_q)?)?;
        // The Hermitian matrix of this upper triangle.
        let half = upper.triu(0)?.add(&upper.triu(1)?)?.mul(0.5)?;
        let hermitian = half.add(&adjoint(&half)?)?;
        let square = for_q.add(&q.matmul(&hermitian)?)?;
        let square = solve_triangular(&adjoint(&r)?, &square, false, false, false)?;
        Ok(smallvec![Some(match rest {
            Some(rest) => Tensor::cat(&[&square, &rest], -1)?,
            None => square,
        })])
    })?;
    Ok((outputs[0].clone(), outputs[1].clone()))
}
