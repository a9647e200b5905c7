//! Triangular roots of positive definite matrices.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::Structured;
use allotrope_op::structured::linalg::{CHOLESKY, CHOLESKY_EX, CHOLESKY_INVERSE, CHOLESKY_SOLVE};
use allotrope_op::task::Factorization;

use super::super::operands::adjoint;
use super::batch::{Batch, Begun, Out, begin, misfit, order, sizes};
use super::gradient::remember_root;
use super::solve::solve_triangular;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::transfer::gathered;

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
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (root, info) = linalg::cholesky_ex(&Tensor::new([[4.0]])?, false)?;
/// assert_eq!((root, info.to_scalar::<i32>()?), (Tensor::new([[2.0]])?, 0));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
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
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(row, [a])?;
    let batch = Batch::new(row.name, made, &[(&a, 2)])?;
    let lower = if upper { adjoint(&a)? } else { a };
    let own = [order, order];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let input = batch.prepare(&lower, 2)?;
    let [root, info] = batch.run(Factorization::Cholesky { reports }, &[&input], outputs)?;
    let root = remember_root(root, row.name, &lower)?;
    let root = if upper { adjoint(&root)? } else { root };
    Ok((root.to(result)?, info))
}

/// The `X` of `A X = B` from the triangular root of `A`.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = linalg::cholesky_solve(&Tensor::new([[8.0]])?, &Tensor::new([[2.0]])?, false)?;
/// assert_eq!(x, Tensor::new([[2.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless the root is square and the sizes fit, a dtype error where promotion refuses,
/// a memory error.
pub fn cholesky_solve(b: &Tensor, root: &Tensor, upper: bool) -> Result<Tensor, Error> {
    if let Some((b, root)) = gathered((b, root))? {
        return cholesky_solve(&b, &root, upper);
    }
    let op = CHOLESKY_SOLVE.name;
    let order = order(op, root)?;
    let (rows, _) = sizes(op, b)?;
    if rows != order {
        return Err(misfit(op, root, b));
    }
    let Call { result, .. } = Call::begin(&CHOLESKY_SOLVE, &[root, b])?;
    solve_by_root(op, result, b, root, upper)
}

/// The `X` of `A X = B` from the triangular root of `A`, for an operation.
fn solve_by_root(
    op: &'static str,
    result: DType,
    b: &Tensor,
    root: &Tensor,
    upper: bool,
) -> Result<Tensor, Error> {
    let batch = Batch::new(op, result, &[(root, 2), (b, 2)])?;
    let lower = if upper { adjoint(root)? } else { root.clone() };
    if is_recorded(&[b, root]) {
        let wide = |x: &Tensor| x.to(batch.working);
        let lower = wide(&lower)?;
        let y = solve_triangular(&lower, &wide(b)?, false, true, false)?;
        let x = solve_triangular(&adjoint(&lower)?, &y, true, true, false)?;
        return x.to(batch.result);
    }
    let inputs = [&batch.prepare(&lower, 2)?, &batch.prepare(b, 2)?];
    let own = [order(op, root)?, sizes(op, b)?.1];
    batch.run_one(Factorization::CholeskySolve, &inputs, Out::Number(&own))
}

/// The inverse of `A` from its triangular root.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = linalg::cholesky_inverse(&Tensor::new([[2.0]])?, false)?;
/// assert_eq!(x, Tensor::new([[0.25]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`cholesky_solve`].
pub fn cholesky_inverse(root: &Tensor, upper: bool) -> Result<Tensor, Error> {
    let op = CHOLESKY_INVERSE.name;
    let order = order(op, root)?;
    let dtype = Call::begin(&CHOLESKY_INVERSE, &[root])?.result;
    let identity = root.new_eye(order, order, dtype)?;
    solve_by_root(op, dtype, &identity, &root.to(dtype)?, upper)
}
