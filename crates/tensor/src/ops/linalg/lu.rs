//! Elimination: `A = P L U`, what it is solved by, and its factors in one matrix.

use allotrope_dtype::{DType, Error, Problem, Set};
use allotrope_op::Shape;
use allotrope_op::structured::linalg::{LU, LU_FACTOR, LU_FACTOR_EX, LU_SOLVE, LU_UNPACK};
use allotrope_op::task::{Factorization, Task};
use smallvec::smallvec;

use super::super::operands::adjoint;
use super::batch::{Batch, Begun, Out, begin, misfit, order, sizes};
use super::factor_gradient::remember_triangles;
use super::solve::solve_triangular;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::{common_backend, perform_one};
use crate::transfer::gathered;

/// `A = P L U`: a permutation, a lower triangle with a diagonal of ones, and an upper triangle.
/// Without `pivot` there is no permutation, and small pivots make large errors.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[0.0, 2.0], [3.0, 4.0]])?;
/// let (p, l, u) = linalg::lu(&a, true)?;
/// assert_eq!(p.matmul(&l)?.matmul(&u)?, a);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions, a memory error.
pub fn lu(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor), Error> {
    let (rows, columns) = sizes(LU.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&LU, [a])?;
    let batch = Batch::new(LU.name, made, &[(&a, 2)])?;
    let inner = rows.min(columns);
    let own = [[rows, rows], [rows, inner], [inner, columns]];
    let outputs = own.each_ref().map(|own| Out::Number(own));
    let input = batch.prepare(&a, 2)?;
    let factors = batch.run(Factorization::Lu { pivot }, &[&input], outputs)?;
    let [order, lower, upper] = remember_triangles(factors, LU.name, &a)?;
    Ok((order.to(result)?, lower.to(result)?, upper.to(result)?))
}

/// Both triangles of `A = P L U` in one matrix, the diagonal of ones left out, and the row that each
/// row was exchanged with in turn, counted from one as LAPACK does.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (factors, pivots) = linalg::lu_factor(&Tensor::new([[0.0, 2.0], [3.0, 4.0]])?, true)?;
/// assert_eq!((factors.shape().to_vec(), pivots.to_vec::<i32>()?), (vec![2, 2], vec![2, 2]));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`lu`].
pub fn lu_factor(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor), Error> {
    let (rows, columns) = sizes(LU_FACTOR.name, a)?;
    let Call { result, .. } = Call::begin(&LU_FACTOR, &[a])?;
    let (factors, pivots) = factor(LU_FACTOR.name, result, a, pivot)?;
    if is_recorded(&[a]) {
        let (_, l, u) = lu(a, pivot).map_err(|error| error.in_op(LU_FACTOR.name))?;
        let rank = a.rank();
        let lower = l.tril(-1)?.placed_along(rank - 1, 0, columns)?;
        return Ok((lower.add(&u.placed_along(rank - 2, 0, rows)?)?, pivots));
    }
    Ok((factors, pivots))
}

/// Both triangles in one matrix and the rows exchanged, without a history.
fn factor(
    op: &'static str,
    result: DType,
    a: &Tensor,
    pivot: bool,
) -> Result<(Tensor, Tensor), Error> {
    let (rows, columns) = sizes(op, a)?;
    let batch = Batch::new(op, result, &[(a, 2)])?;
    let (own, steps) = ([rows, columns], [rows.min(columns)]);
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &steps)];
    let input = batch.prepare(a, 2)?;
    let [factors, pivots] = batch.run(Factorization::LuFactor { pivot }, &[&input], outputs)?;
    Ok((factors, pivots))
}

/// The `X` of `A X = B` from what [`lu_factor`] gives of `A`; of `X A = B` unless `left`, and with
/// `Aᴴ` for `A` if `adjoint_of`.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[0.0, 2.0], [4.0, 4.0]])?;
/// let (factors, pivots) = linalg::lu_factor(&a, true)?;
/// let x = linalg::lu_solve(&factors, &pivots, &Tensor::new([[2.0], [8.0]])?, true, false)?;
/// assert_eq!(x, Tensor::new([[1.0], [1.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
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
    if let Some((factors, pivots, b)) = gathered((factors, pivots, b))? {
        return lu_solve(&factors, &pivots, &b, left, adjoint_of);
    }
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
        let identity = factors.new_eye(order, order, factors.dtype())?;
        let permute = |x: &Tensor| lu_solve(&identity, pivots, x, true, adjoint_of);
        let (l, u) = (factors.tril(-1)?.add(&identity)?, factors.triu(0)?);
        if adjoint_of {
            let y = solve_triangular(&adjoint(&u)?, b, false, true, false)?;
            return permute(&solve_triangular(&adjoint(&l)?, &y, true, true, true)?);
        }
        let y = solve_triangular(&l, &permute(b)?, false, true, true)?;
        return solve_triangular(&u, &y, true, true, false);
    }
    let Call { result, .. } = Call::begin(&LU_SOLVE, &[factors, b])?;
    let batch = Batch::new(op, result, &[(factors, 2), (pivots, 1), (b, 2)])?;
    let inputs = [
        &batch.prepare(factors, 2)?,
        &batch.prepare(pivots, 1)?,
        &batch.prepare(b, 2)?,
    ];
    let task = Factorization::LuSolve {
        adjoint: adjoint_of,
    };
    let x = batch.run_one(task, &inputs, Out::Number(&[order, width]))?;
    let saved = [factors.clone(), pivots.clone()];
    x.with_rule(op, &[b], move |pass| {
        let gradient = lu_solve(&saved[0], &saved[1], &pass.gradient()?, true, !adjoint_of)?;
        Ok(smallvec![Some(gradient)])
    })
}

/// As [`lu_factor`], with the number of the first pivot that is zero: 0 where there is none, counted
/// from 1.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (_, _, info) = linalg::lu_factor_ex(&Tensor::new([[1.0, 2.0], [2.0, 4.0]])?, true)?;
/// assert_eq!(info.to_scalar::<i32>()?, 2);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`lu_factor`].
pub fn lu_factor_ex(a: &Tensor, pivot: bool) -> Result<(Tensor, Tensor, Tensor), Error> {
    let op = LU_FACTOR_EX.name;
    Call::begin(&LU_FACTOR_EX, &[a])?;
    let (factors, pivots) = lu_factor(a, pivot).map_err(|error| error.in_op(op))?;
    let diagonal = factors.detach().diagonal(0, -2, -1)?;
    let count = diagonal.shape()[diagonal.rank() - 1];
    let outer = &diagonal.shape()[..diagonal.rank() - 1];
    if count == 0 {
        let info = factors.new_zeros(outer, DType::I32)?;
        return Ok((factors, pivots, info));
    }
    // Of places counted from the end the greatest is the first.
    let is_zero = diagonal.eq(0)?.to(DType::I64)?;
    let order = factors.new_arange(count as i64, 0, -1, DType::I64)?;
    let first = is_zero.mul(&order)?.amax(Some(&[-1]), false)?;
    let found = first.gt(0)?.to(DType::I64)?;
    let info = first.neg()?.add(count as i64 + 1)?.mul(&found)?;
    Ok((factors, pivots, info.to(DType::I32)?))
}

/// The permutation and both triangles of `A = P L U` from what [`lu_factor`] gives.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[0.0, 2.0], [3.0, 4.0]])?;
/// let (factors, pivots) = linalg::lu_factor(&a, true)?;
/// let (p, l, u) = linalg::lu_unpack(&factors, &pivots)?;
/// assert_eq!(p.matmul(&l)?.matmul(&u)?, a);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions or pivots that do not fit, a dtype error for pivots
/// that are not integers, a memory error.
pub fn lu_unpack(factors: &Tensor, pivots: &Tensor) -> Result<(Tensor, Tensor, Tensor), Error> {
    if let Some((factors, pivots)) = gathered((factors, pivots))? {
        return lu_unpack(&factors, &pivots);
    }
    let op = LU_UNPACK.name;
    let dtype = Call::begin(&LU_UNPACK, &[factors])?.result;
    common_backend(op, &[factors, pivots])?;
    let [.., rows, columns] = factors.shape()[..] else {
        let (given, least) = (factors.rank(), 2);
        return Err(Error::new(op, Problem::TooFewDimensions { given, least }));
    };
    if !pivots.dtype().is_integer() {
        return Err(Error::not_in_set(op, pivots.dtype(), Set::Integer, None));
    }
    let inner = rows.min(columns);
    let mut expected = factors.shape()[..factors.rank() - 2].to_vec();
    expected.push(inner);
    if pivots.shape()[..] != expected {
        let problem = Problem::WrongShape {
            what: "pivots",
            given: pivots.shape().to_vec(),
            accepted: format!("{expected:?}"),
        };
        return Err(Error::new(op, problem));
    }
    let factors = factors.to(dtype)?;
    let ones = factors.new_eye(rows, inner, dtype)?;
    let lower = factors.narrow(-1, 0, inner)?.tril(-1)?.add(&ones)?;
    let upper = factors.narrow(-2, 0, inner)?.triu(0)?;
    Ok((permutations(pivots, rows, dtype)?, lower, upper))
}

/// The matrices of rows exchanged in turn, counted from one.
fn permutations(pivots: &Tensor, rows: usize, dtype: DType) -> Result<Tensor, Error> {
    let op = LU_UNPACK.name;
    let pivots = pivots.to(DType::I64)?.contiguous()?;
    let mut sizes = pivots.shape()[..pivots.rank() - 1].to_vec();
    sizes.extend([1, rows]);
    // Column `i` has its one where row `i` came from.
    let task = Task::Factorization(Factorization::RowOrder { rows });
    let shape = Shape::new(op, &sizes)?;
    let places = perform_one(op, &task, &[&pivots], DType::I64, &shape)?;
    sizes[pivots.rank() - 1] = rows;
    let ones = pivots.new_ones(&[], dtype)?.expand(places.shape())?;
    pivots.new_zeros(&sizes, dtype)?.scatter(-2, &places, &ones)
}
