//! Norms of vectors and matrices.

use allotrope_dtype::{DType, Error, Problem, Set};
use allotrope_op::structured::Structured;
use allotrope_op::structured::linalg::{MATRIX_NORM, NORM, SVD, VECTOR_NORM};
use allotrope_op::{Dims, normalize_axes};

use super::eig_svd::singular_values;
use crate::Tensor;
use crate::call::Call;

/// Which norm is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The root of the sum of squares of a matrix.
    Frobenius,
    /// The sum of singular values.
    Nuclear,
    /// Of vectors, the power; of matrices 1, 2, ∞ and their negatives.
    Number(f64),
}

impl Order {
    /// The order of a name.
    ///
    /// # Errors
    /// A value error for an unknown name.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "fro" => Ok(Self::Frobenius),
            "nuc" => Ok(Self::Nuclear),
            "inf" => Ok(Self::Number(f64::INFINITY)),
            "-inf" => Ok(Self::Number(f64::NEG_INFINITY)),
            _ => {
                let accepted = ["fro", "nuc", "inf", "-inf", "and numbers"];
                Err(Error::unknown_option(op, "order", name, &accepted))
            }
        }
    }
}

/// The elements in the dtype that a norm was asked for, and the dtype of the norm.
fn in_dtype(row: &Structured, x: &Tensor, dtype: Option<DType>) -> Result<(Tensor, DType), Error> {
    row.result_dtype(x.dtype())?;
    let x = match dtype {
        Some(dtype) if !Set::Inexact.contains(dtype) => {
            return Err(Error::not_in_set(row.name, dtype, Set::Inexact, None));
        }
        Some(dtype) => x.to(dtype).map_err(|error| error.in_op(row.name))?,
        None => x.clone(),
    };
    let result = Call::begin(row, &[&x])?.result;
    Ok((x, result))
}

/// The norm of order `order` along dimensions, or of everything.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = Tensor::new([3.0, 4.0])?;
/// assert_eq!(linalg::vector_norm(&x, 2.0, None, false, None)?.to_scalar::<f64>()?, 5.0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// An index error for a dimension out of range, a value error for an extreme of nothing, a dtype
/// error for a dtype that is neither float nor complex, a memory error.
pub fn vector_norm(
    x: &Tensor,
    order: f64,
    dims: Option<&[isize]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let (x, _) = in_dtype(&VECTOR_NORM, x, dtype)?;
    x.norm(order, dims, keepdim)
        .map_err(|error| error.in_op(VECTOR_NORM.name))
}

/// A norm of the matrices in two dimensions.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::from_slice(&[1.0_f32, -2.0, 3.0, 4.0], &[2, 2])?;
/// let norm = linalg::matrix_norm(&a, linalg::Order::Number(1.0), &[-2, -1], false, None)?;
/// assert_eq!(norm.to_vec::<f32>()?, [6.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// An index error for a dimension out of range, a value error unless there are two, for an order that
/// matrices do not have and for an extreme of nothing, an error of linear algebra where singular
/// values of infinities or NaN are wanted, a memory error.
pub fn matrix_norm(
    x: &Tensor,
    order: Order,
    dims: &[isize],
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let (x, real) = in_dtype(&MATRIX_NORM, x, dtype)?;
    matrix_norm_of(MATRIX_NORM.name, real, &x, order, dims, keepdim)
}

/// A norm of matrices in a real dtype, for an operation.
pub(super) fn matrix_norm_of(
    op: &'static str,
    real: DType,
    x: &Tensor,
    order: Order,
    dims: &[isize],
    keepdim: bool,
) -> Result<Tensor, Error> {
    if x.rank() < 2 {
        let shape = x.shape().to_vec();
        return Err(Error::new(op, Problem::NotAMatrix { shape }));
    }
    let places: Dims<usize> = normalize_axes(op, dims, x.rank())?;
    let &[rows, columns] = &places[..] else {
        let (given, rank) = (places.len(), 2);
        return Err(Error::new(op, Problem::WrongAxisCount { given, rank }));
    };
    let (rows, columns) = (rows as isize, columns as isize);
    // Sums are rounded once, at the end.
    let working = SVD.result_dtype(x.dtype())?.compute();
    let norm = match order {
        Order::Frobenius => x.norm(2.0, Some(&[rows, columns]), true),
        Order::Number(number) if number.abs() == 1.0 || number.is_infinite() => {
            let (summed, compared) = if number.is_infinite() {
                (columns, rows)
            } else {
                (rows, columns)
            };
            let sums = x.to(working)?.norm(1.0, Some(&[summed]), true)?;
            if number > 0.0 && sums.shape()[compared as usize] == 0 {
                // The greatest of no sums is 0, below which no norm is.
                sums.sum(Some(&[compared]), true, None)
            } else if number > 0.0 {
                sums.amax(Some(&[compared]), true)
            } else {
                sums.amin(Some(&[compared]), true)
            }
        }
        Order::Nuclear | Order::Number(2.0 | -2.0) => {
            let last = x.movedim(&[rows, columns], &[-2, -1])?;
            let values = singular_values(op, working.to_real(), &last)?;
            let norm = match order {
                Order::Nuclear => values.sum(Some(&[-1]), false, None),
                Order::Number(2.0) if values.shape().last() == Some(&0) => {
                    values.sum(Some(&[-1]), false, None)
                }
                Order::Number(2.0) => values.amax(Some(&[-1]), false),
                _ => values.amin(Some(&[-1]), false),
            };
            let norm = norm.map_err(|error| error.in_op(op))?;
            let (first, second) = (rows.min(columns), rows.max(columns));
            norm.unsqueeze(first)?.unsqueeze(second)
        }
        Order::Number(number) => {
            let problem = Problem::OutOfRange {
                what: "order of a matrix norm",
                index: None,
                value: number.to_string(),
                accepted: "1, 2, inf, their negatives, 'fro' and 'nuc'",
            };
            return Err(Error::new(op, problem));
        }
    };
    let norm = norm.and_then(|norm| norm.to(real));
    let norm = norm.map_err(|error| error.in_op(op))?;
    if keepdim {
        Ok(norm)
    } else {
        norm.squeeze(Some(&[rows, columns]))
    }
}

/// A norm as NumPy and torch choose it: of everything without an order and dimensions, of vectors
/// along one dimension, of matrices in two.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = Tensor::new([[3.0], [4.0]])?;
/// assert_eq!(linalg::norm(&x, None, None, false, None)?.to_scalar::<f64>()?, 5.0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`vector_norm`] and [`matrix_norm`].
pub fn norm(
    x: &Tensor,
    order: Option<Order>,
    dims: Option<&[isize]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let op = NORM.name;
    let (x, real) = in_dtype(&NORM, x, dtype)?;
    let of_vectors = |order: f64, dims: Option<&[isize]>| {
        x.norm(order, dims, keepdim)
            .map_err(|error| error.in_op(op))
    };
    match (order, dims) {
        (None, None) => of_vectors(2.0, None),
        (None, Some(dims)) => of_vectors(2.0, Some(dims)),
        (Some(Order::Number(order)), None) if x.rank() < 2 => of_vectors(order, None),
        (Some(Order::Number(order)), Some(dims @ [_])) => of_vectors(order, Some(dims)),
        (Some(order), dims) => {
            if dims.is_none() && x.rank() > 2 {
                let (given, most) = (x.rank(), 2);
                let problem = Problem::TooManyDimensions { given, most };
                return Err(Error::new(op, problem).hint("dim=(-2, -1)"));
            }
            matrix_norm_of(op, real, &x, order, dims.unwrap_or(&[-2, -1]), keepdim)
        }
    }
}
