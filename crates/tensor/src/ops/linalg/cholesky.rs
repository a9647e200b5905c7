//! Triangular roots of positive definite matrices.

use allotrope_cpu::kernel::linalg::{Cholesky, CholeskySolve};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::Structured;
use allotrope_op::structured::linalg::{CHOLESKY, CHOLESKY_EX, CHOLESKY_INVERSE, CHOLESKY_SOLVE};

use super::super::operands::adjoint;
use super::batch::{Batch, Out, misfit, order, sizes};
use super::gradient::{narrow_result, remember_root};
use super::solve::solve_triangular;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;

/// The lower triangle `L` with `A = L Lᴴ`, or the upper one with `A = Uᴴ U`. Only that triangle of
/// `A` is read.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::from_slice(&[4.0_f32, 2.0, 2.0, 5.0], &[2, 2])?;
/// assert_eq!(linalg::cholesky(&a, false)?.to_vec::<f32>()?, [2.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error unless the matrices are square, an error of linear algebra for one that is not
/// positive definite, a memory error.
pub fn cholesky(a: &Tensor, upper: bool) -> Result<Tensor, Error> {
    Ok(root(&CHOLESKY, a, upper, false)?.0)
}

/// As [`cholesky`], with the number of the first row without a root instead of an error: 0 where
/// there is none, counted from 1.
///
/// # Errors
/// As [`cholesky`], but for matrices that are not positive definite.
pub fn cholesky_ex(a: &Tensor, upper: bool) -> Result<(Tensor, Tensor), Error> {
    root(&CHOLESKY_EX, a, upper, true)
}

fn root(
    row: &Structured,
    a: &Tensor,
    upper: bool,
    reports: bool,
) -> Result<(Tensor, Tensor), Error> {
    let order = order(row.name, a)?;
    if let Some(narrow) = narrow_result(row, &[a])? {
        let (found, info) = root(row, &a.to(narrow.compute())?, upper, reports)?;
        return Ok((found.to(narrow)?, info));
    }
    let batch = Batch::new(row, &[(a, 2)])?;
    let lower = if upper { adjoint(a)? } else { a.clone() };
    let own = [order, order];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let work = Cholesky { order, reports };
    let input = batch.prepare(&lower.detach(), 2)?;
    let (root, info) = batch.run_two(&work, &[&input], outputs)?;
    let root = remember_root(root, row.name, &lower)?;
    Ok((if upper { adjoint(&root)? } else { root }, info))
}

/// The `X` of `A X = B` from the triangular root of `A`.
///
/// # Errors
/// A value error unless the root is square and the sizes fit, a dtype error where promotion refuses,
/// a memory error.
pub fn cholesky_solve(b: &Tensor, root: &Tensor, upper: bool) -> Result<Tensor, Error> {
    let op = CHOLESKY_SOLVE.name;
    let order = order(op, root)?;
    let (rows, width) = sizes(op, b)?;
    if rows != order {
        return Err(misfit(op, root, b));
    }
    let batch = Batch::new(&CHOLESKY_SOLVE, &[(root, 2), (b, 2)])?;
    let lower = if upper { adjoint(root)? } else { root.clone() };
    if is_recorded(&[b, root]) {
        let wide = |x: &Tensor| x.to(batch.working);
        let lower = wide(&lower)?;
        let y = solve_triangular(&lower, &wide(b)?, false, true, false)?;
        let x = solve_triangular(&adjoint(&lower)?, &y, true, true, false)?;
        return x.to(batch.result);
    }
    let inputs = [&batch.prepare(&lower, 2)?, &batch.prepare(b, 2)?];
    let work = CholeskySolve { order, width };
    batch.run_one(&work, &inputs, Out::Number(&[order, width]))
}

/// The inverse of `A` from its triangular root.
///
/// # Errors
/// As [`cholesky_solve`].
pub fn cholesky_inverse(root: &Tensor, upper: bool) -> Result<Tensor, Error> {
    let op = CHOLESKY_INVERSE.name;
    let order = order(op, root)?;
    let dtype = call::result_dtype(&CHOLESKY_INVERSE, root.dtype())?;
    let identity = Tensor::eye(order, order, dtype)?;
    cholesky_solve(&identity, &root.to(dtype)?, upper).map_err(|error| error.in_op(op))
}
