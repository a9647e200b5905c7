//! Solutions, inverses, determinants, elimination.

use allotrope_cpu::kernel::linalg::{Determinant, Lu, LuParts, LuSolve, Solve, SolveTriangular};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::Structured;
use allotrope_op::structured::linalg::{
    DET, INV, INV_EX, LU, LU_FACTOR, LU_SOLVE, SLOGDET, SOLVE, SOLVE_EX, SOLVE_TRIANGULAR,
};
use smallvec::smallvec;

use super::super::operands::adjoint;
use super::batch::{Batch, Out, misfit, order, sizes};
use super::factor_gradient::remember_triangles;
use super::gradient::{
    narrow_result, remember_determinant, remember_inverse, remember_logarithm, remember_solution,
    remember_triangular,
};
use crate::Tensor;
use crate::autograd::is_recorded;

/// Whether the right side is a vector for each matrix, as torch decides it.
fn is_vector(a: &Tensor, b: &Tensor) -> bool {
    b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape()[..] == a.shape()[..a.rank() - 1])
}

/// The `X` of `A X = B`, or of `X A = B` unless `left`. `B` may be a vector for each matrix.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::from_slice(&[2.0_f64, 0.0, 0.0, 4.0], &[2, 2])?;
/// let b = Tensor::from_slice(&[1.0_f64, 1.0], &[2])?;
/// assert_eq!(linalg::solve(&a, &b, true)?.to_vec::<f64>()?, [0.5, 0.25]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error unless the matrices are square and the sizes fit, an error of linear algebra for a
/// matrix without an inverse, a dtype error where promotion refuses, a memory error.
pub fn solve(a: &Tensor, b: &Tensor, left: bool) -> Result<Tensor, Error> {
    Ok(solve_with(&SOLVE, a, b, left, false)?.0)
}

/// As [`solve`], with the number of the first pivot that is zero instead of an error: 0 where there
/// is none, counted from 1.
///
/// # Errors
/// As [`solve`], but for matrices without an inverse.
pub fn solve_ex(a: &Tensor, b: &Tensor, left: bool) -> Result<(Tensor, Tensor), Error> {
    solve_with(&SOLVE_EX, a, b, left, true)
}

fn solve_with(
    row: &Structured,
    a: &Tensor,
    b: &Tensor,
    left: bool,
    reports: bool,
) -> Result<(Tensor, Tensor), Error> {
    let op = row.name;
    let order = order(op, a)?;
    if let Some(narrow) = narrow_result(row, &[a, b])? {
        let wide = narrow.compute();
        let (x, info) = solve_with(row, &a.to(wide)?, &b.to(wide)?, left, reports)?;
        return Ok((x.to(narrow)?, info));
    }
    let vector = is_vector(a, b);
    if vector && !left {
        return Err(misfit(op, a, b).hint("x.unsqueeze(-2)"));
    }
    let right = if vector { b.unsqueeze(-1)? } else { b.clone() };
    let (a, right) = if left {
        (a.clone(), right)
    } else {
        (a.transpose(-2, -1)?, turned(op, &right)?)
    };
    let (rows, width) = sizes(op, &right)?;
    if rows != order {
        return Err(misfit(op, &a, b));
    }
    let batch = Batch::new(row, &[(&a, 2), (&right, 2)])?;
    let inputs = [
        &batch.prepare(&a.detach(), 2)?,
        &batch.prepare(&right.detach(), 2)?,
    ];
    let work = Solve {
        order,
        width,
        reports,
    };
    let own = [order, width];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let (x, info) = batch.run_two(&work, &inputs, outputs)?;
    let x = remember_solution(x, op, &a, &right)?;
    let x = match (vector, left) {
        (true, _) => x.squeeze(Some(&[-1]))?,
        (false, true) => x,
        (false, false) => x.transpose(-2, -1)?,
    };
    Ok((x, info))
}

fn turned(op: &'static str, x: &Tensor) -> Result<Tensor, Error> {
    sizes(op, x)?;
    x.transpose(-2, -1)
}

/// The inverse of square matrices.
///
/// # Errors
/// A value error unless they are square, an error of linear algebra for one without an inverse, a
/// memory error.
pub fn inv(a: &Tensor) -> Result<Tensor, Error> {
    Ok(invert(&INV, a, false)?.0)
}

/// As [`inv`], with the number of the first pivot that is zero instead of an error: 0 where there is
/// none, counted from 1.
///
/// # Errors
/// As [`inv`], but for matrices without an inverse.
pub fn inv_ex(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    invert(&INV_EX, a, true)
}

fn invert(row: &Structured, a: &Tensor, reports: bool) -> Result<(Tensor, Tensor), Error> {
    let order = order(row.name, a)?;
    if let Some(narrow) = narrow_result(row, &[a])? {
        let (inverse, info) = invert(row, &a.to(narrow.compute())?, reports)?;
        return Ok((inverse.to(narrow)?, info));
    }
    let batch = Batch::new(row, &[(a, 2)])?;
    let work = Solve {
        order,
        width: order,
        reports,
    };
    let own = [order, order];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let (inverse, info) = batch.run_two(&work, &[&batch.prepare(&a.detach(), 2)?], outputs)?;
    Ok((remember_inverse(inverse, row.name, a)?, info))
}

/// The determinant of square matrices; 1 for those without elements.
///
/// # Errors
/// A value error unless they are square, a memory error.
pub fn det(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(DET.name, a)?;
    if let Some(narrow) = narrow_result(&DET, &[a])? {
        return det(&a.to(narrow.compute())?)?.to(narrow);
    }
    let batch = Batch::new(&DET, &[(a, 2)])?;
    let work = Determinant {
        order,
        logarithm: false,
    };
    let input = batch.prepare(&a.detach(), 2)?;
    let determinant = batch.run_one(&work, &[&input], Out::Number(&[]))?;
    remember_determinant(determinant, DET.name, a)
}

/// The sign of the determinant of square matrices, of magnitude one or zero, and the logarithm of
/// its magnitude, which cannot overflow.
///
/// # Errors
/// As [`det`].
pub fn slogdet(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let order = order(SLOGDET.name, a)?;
    if let Some(narrow) = narrow_result(&SLOGDET, &[a])? {
        let (sign, logarithm) = slogdet(&a.to(narrow.compute())?)?;
        return Ok((sign.to(narrow)?, logarithm.to(narrow)?));
    }
    let batch = Batch::new(&SLOGDET, &[(a, 2)])?;
    let work = Determinant {
        order,
        logarithm: true,
    };
    let outputs = [Out::Number(&[]), Out::Real(&[])];
    let input = batch.prepare(&a.detach(), 2)?;
    let (sign, logarithm) = batch.run_two(&work, &[&input], outputs)?;
    remember_logarithm(sign, logarithm, SLOGDET.name, a)
}

/// `A = P L U`: a permutation, a lower triangle with a diagonal of ones, and an upper triangle.
/// Without `pivot` there is no permutation, and small pivots make large errors.
///
/// # Errors
/// A value error for less than two dimensions, a memory error.
pub fn lu(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor), Error> {
    let (rows, columns) = sizes(LU.name, a)?;
    if let Some(narrow) = narrow_result(&LU, &[a])? {
        let (p, l, u) = lu(&a.to(narrow.compute())?, pivot)?;
        return Ok((p.to(narrow)?, l.to(narrow)?, u.to(narrow)?));
    }
    let batch = Batch::new(&LU, &[(a, 2)])?;
    let inner = rows.min(columns);
    let work = LuParts {
        rows,
        columns,
        pivot,
    };
    let own = [[rows, rows], [rows, inner], [inner, columns]];
    let outputs = [&own[0], &own[1], &own[2]].map(|own| Out::Number(own));
    let mut results = batch.run(&work, &[&batch.prepare(&a.detach(), 2)?], &outputs)?;
    let (upper, lower) = (results.swap_remove(2), results.swap_remove(1));
    let all = [results.swap_remove(0), lower, upper];
    let [order, lower, upper] = remember_triangles(all, LU.name, a)?;
    Ok((order, lower, upper))
}

/// Both triangles of `A = P L U` in one matrix, the diagonal of ones left out, and the row that each
/// row was exchanged with in turn, counted from one as LAPACK does.
///
/// # Errors
/// As [`lu`].
pub fn lu_factor(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor), Error> {
    let (rows, columns) = sizes(LU_FACTOR.name, a)?;
    if is_recorded(&[a]) {
        let pivots = lu_factor(&a.detach(), pivot)?.1;
        let (_, l, u) = lu(a, pivot).map_err(|error| error.in_op(LU_FACTOR.name))?;
        let rank = a.rank();
        let lower = l.tril(-1)?.placed_along(rank - 1, 0, columns)?;
        return Ok((lower.add(&u.placed_along(rank - 2, 0, rows)?)?, pivots));
    }
    let batch = Batch::new(&LU_FACTOR, &[(a, 2)])?;
    let work = Lu {
        rows,
        columns,
        pivot,
    };
    let (own, steps) = ([rows, columns], [rows.min(columns)]);
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &steps)];
    batch.run_two(&work, &[&batch.prepare(a, 2)?], outputs)
}

/// The `X` of `A X = B` from what [`lu_factor`] gives of `A`; of `X A = B` unless `left`, and with
/// `Aᴴ` for `A` if `adjoint_of`.
///
/// # Errors
/// A value error unless the matrices are square and the sizes fit, a dtype error where promotion
/// refuses or the pivots are not integers, a memory error.
pub fn lu_solve(
    factors: &Tensor,
    pivots: &Tensor,
    b: &Tensor,
    left: bool,
    adjoint_of: bool,
) -> Result<Tensor, Error> {
    let op = LU_SOLVE.name;
    let order = order(op, factors)?;
    if !pivots.dtype().is_integer() {
        let set = allotrope_dtype::Set::Integer;
        return Err(Error::not_in_set(op, pivots.dtype(), set, None));
    }
    if pivots.shape().last() != Some(&order) {
        return Err(misfit(op, factors, pivots));
    }
    if !left {
        // X A = B is Aᴴ Xᴴ = Bᴴ.
        sizes(op, b)?;
        let x = lu_solve(factors, pivots, &adjoint(b)?, true, !adjoint_of)?;
        return adjoint(&x);
    }
    let (rows, width) = sizes(op, b)?;
    if rows != order {
        return Err(misfit(op, factors, b));
    }
    if is_recorded(&[factors]) {
        // The permutation alone is what remains of the identity.
        let identity = Tensor::eye(order, order, factors.dtype())?;
        let permute = |x: &Tensor| lu_solve(&identity, pivots, x, true, adjoint_of);
        let (l, u) = (factors.tril(-1)?.add(&identity)?, factors.triu(0)?);
        if adjoint_of {
            let y = solve_triangular(&adjoint(&u)?, b, false, true, false)?;
            return permute(&solve_triangular(&adjoint(&l)?, &y, true, true, true)?);
        }
        let y = solve_triangular(&l, &permute(b)?, false, true, true)?;
        return solve_triangular(&u, &y, true, true, false);
    }
    let batch = Batch::new(&LU_SOLVE, &[(factors, 2), (b, 2)])?;
    let operands = [(factors, 2), (pivots, 1), (b, 2)];
    let batch = Batch::with_result(op, batch.result, &operands)?;
    let inputs = [
        &batch.prepare(factors, 2)?,
        &batch.prepare(pivots, 1)?,
        &batch.prepare(&b.detach(), 2)?,
    ];
    let work = LuSolve {
        order,
        width,
        adjoint: adjoint_of,
    };
    let x = batch.run_one(&work, &inputs, Out::Number(&[order, width]))?;
    let saved = [factors.clone(), pivots.clone()];
    x.with_rule(op, &[b], move |pass| {
        let gradient = lu_solve(&saved[0], &saved[1], &pass.gradient()?, true, !adjoint_of)?;
        Ok(smallvec![Some(gradient)])
    })
}

/// The `X` of `A X = B` for a triangular `A`, whose other triangle is not read; of `X A = B` unless
/// `left`. If `unitriangular` the diagonal counts as ones. A zero on the diagonal gives infinities.
///
/// # Errors
/// A value error unless the matrices are square and the sizes fit, a dtype error where promotion
/// refuses, a memory error.
pub fn solve_triangular(
    a: &Tensor,
    b: &Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Result<Tensor, Error> {
    let op = SOLVE_TRIANGULAR.name;
    let order = order(op, a)?;
    if let Some(narrow) = narrow_result(&SOLVE_TRIANGULAR, &[a, b])? {
        let (a, b) = (a.to(narrow.compute())?, b.to(narrow.compute())?);
        return solve_triangular(&a, &b, upper, left, unitriangular)?.to(narrow);
    }
    if !left {
        let (a, b) = (a.transpose(-2, -1)?, turned(op, b)?);
        let x = solve_triangular(&a, &b, !upper, true, unitriangular)?;
        return x.transpose(-2, -1);
    }
    let (rows, width) = sizes(op, b)?;
    if rows != order {
        return Err(misfit(op, a, b));
    }
    let batch = Batch::new(&SOLVE_TRIANGULAR, &[(a, 2), (b, 2)])?;
    let work = SolveTriangular {
        order,
        width,
        upper,
        unit: unitriangular,
    };
    let inputs = [
        &batch.prepare(&a.detach(), 2)?,
        &batch.prepare(&b.detach(), 2)?,
    ];
    let x = batch.run_one(&work, &inputs, Out::Number(&[order, width]))?;
    remember_triangular(x, op, a, b, upper, unitriangular)
}
