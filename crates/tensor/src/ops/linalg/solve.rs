//! Solutions, inverses, determinants.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::Structured;
use allotrope_op::structured::linalg::{
    DET, INV, INV_EX, SLOGDET, SOLVE, SOLVE_EX, SOLVE_TRIANGULAR,
};
use allotrope_op::task::Factorization;

use super::batch::{Batch, Begun, Out, begin, misfit, order, sizes};
use super::gradient::{
    remember_determinant, remember_inverse, remember_logarithm, remember_solution,
    remember_triangular,
};
use crate::Tensor;
use crate::transfer::gathered;

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
    if let Some((a, b)) = gathered((a, b))? {
        return solve(&a, &b, left);
    }
    Ok(solve_with(&SOLVE, a, b, left, false)?.0)
}

/// As [`solve`], with the number of the first pivot that is zero instead of an error: 0 where there
/// is none, counted from 1.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (x, info) = linalg::solve_ex(&Tensor::new([[2.0]])?, &Tensor::new([[4.0]])?, true)?;
/// assert_eq!((x, info.to_scalar::<i32>()?), (Tensor::new([[2.0]])?, 0));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`solve`], but for matrices without an inverse.
pub fn solve_ex(a: &Tensor, b: &Tensor, left: bool) -> Result<(Tensor, Tensor), Error> {
    if let Some((a, b)) = gathered((a, b))? {
        return solve_ex(&a, &b, left);
    }
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
    let Begun {
        operands: [a, right],
        made,
        result,
    } = begin(row, [&a, &right])?;
    let batch = Batch::new(op, made, &[(&a, 2), (&right, 2)])?;
    let inputs = [&batch.prepare(&a, 2)?, &batch.prepare(&right, 2)?];
    let own = [order, width];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let [x, info] = batch.run(Factorization::Solve { reports }, &inputs, outputs)?;
    let x = remember_solution(x, op, &a, &right)?;
    let x = match (vector, left) {
        (true, _) => x.squeeze(Some(&[-1]))?,
        (false, true) => x,
        (false, false) => x.transpose(-2, -1)?,
    };
    Ok((x.to(result)?, info))
}

fn turned(op: &'static str, x: &Tensor) -> Result<Tensor, Error> {
    sizes(op, x)?;
    x.transpose(-2, -1)
}

/// The inverse of square matrices.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let a = Tensor::new([[2.0, 0.0], [0.0, 4.0]])?;
/// assert_eq!(linalg::inv(&a)?, Tensor::new([[0.5, 0.0], [0.0, 0.25]])?);
/// assert!(linalg::inv(&Tensor::zeros((2, 2), DType::F64)?).is_err());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
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
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let (_, info) = linalg::inv_ex(&Tensor::zeros((2, 2), DType::F64)?)?;
/// assert_eq!(info.to_scalar::<i32>()?, 1);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`inv`], but for matrices without an inverse.
pub fn inv_ex(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    invert(&INV_EX, a, true)
}

fn invert(row: &Structured, a: &Tensor, reports: bool) -> Result<(Tensor, Tensor), Error> {
    let order = order(row.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(row, [a])?;
    let batch = Batch::new(row.name, made, &[(&a, 2)])?;
    let own = [order, order];
    let outputs = [Out::Number(&own), Out::Exact(DType::I32, &[])];
    let input = batch.prepare(&a, 2)?;
    let [inverse, info] = batch.run(Factorization::Inv { reports }, &[&input], outputs)?;
    let inverse = remember_inverse(inverse, row.name, &a)?;
    Ok((inverse.to(result)?, info))
}

/// The determinant of square matrices; 1 for those without elements.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// assert_eq!(linalg::det(&Tensor::new([[2.0, 0.0], [0.0, 4.0]])?)?.to_scalar::<f64>()?, 8.0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless they are square, a memory error.
pub fn det(a: &Tensor) -> Result<Tensor, Error> {
    order(DET.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&DET, [a])?;
    let batch = Batch::new(DET.name, made, &[(&a, 2)])?;
    let input = batch.prepare(&a, 2)?;
    let determinant = batch.run_one(Factorization::Det, &[&input], Out::Number(&[]))?;
    remember_determinant(determinant, DET.name, &a)?.to(result)
}

/// The sign of the determinant of square matrices, of magnitude one or zero, and the logarithm of
/// its magnitude, which cannot overflow.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (sign, log) = linalg::slogdet(&Tensor::new([[-1.0]])?)?;
/// assert_eq!((sign.to_scalar::<f64>()?, log.to_scalar::<f64>()?), (-1.0, 0.0));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`det`].
pub fn slogdet(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    order(SLOGDET.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&SLOGDET, [a])?;
    let batch = Batch::new(SLOGDET.name, made, &[(&a, 2)])?;
    let input = batch.prepare(&a, 2)?;
    let outputs = [Out::Number(&[]), Out::Real(&[])];
    let [sign, logarithm] = batch.run(Factorization::Slogdet, &[&input], outputs)?;
    let (sign, logarithm) = remember_logarithm(sign, logarithm, SLOGDET.name, &a)?;
    Ok((sign.to(result)?, logarithm.to(result.to_real())?))
}

/// The `X` of `A X = B` for a triangular `A`, whose other triangle is not read; of `X A = B` unless
/// `left`. If `unitriangular` the diagonal counts as ones. A zero on the diagonal gives infinities.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[2.0, 0.0], [2.0, 1.0]])?;
/// let x = linalg::solve_triangular(&a, &Tensor::new([[2.0], [5.0]])?, false, true, false)?;
/// assert_eq!(x, Tensor::new([[1.0], [3.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
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
    if let Some((a, b)) = gathered((a, b))? {
        return solve_triangular(&a, &b, upper, left, unitriangular);
    }
    let op = SOLVE_TRIANGULAR.name;
    let order = order(op, a)?;
    if !left {
        let (a, b) = (a.transpose(-2, -1)?, turned(op, b)?);
        let x = solve_triangular(&a, &b, !upper, true, unitriangular)?;
        return x.transpose(-2, -1);
    }
    let (rows, width) = sizes(op, b)?;
    if rows != order {
        return Err(misfit(op, a, b));
    }
    let Begun {
        operands: [a, b],
        made,
        result,
    } = begin(&SOLVE_TRIANGULAR, [a, b])?;
    let batch = Batch::new(op, made, &[(&a, 2), (&b, 2)])?;
    let task = Factorization::SolveTriangular {
        upper,
        unitriangular,
    };
    let inputs = [&batch.prepare(&a, 2)?, &batch.prepare(&b, 2)?];
    let x = batch.run_one(task, &inputs, Out::Number(&[order, width]))?;
    remember_triangular(x, op, &a, &b, upper, unitriangular)?.to(result)
}
