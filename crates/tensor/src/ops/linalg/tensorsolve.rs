//! Equations between tensors: those of matrices, seen through other shapes.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::linalg::{TENSORINV, TENSORSOLVE};

use super::batch::misfit;
use super::solve::{inv, solve};
use crate::Tensor;
use crate::call::Call;
use crate::transfer::gathered;

fn signed(sizes: &[usize]) -> Vec<isize> {
    sizes.iter().map(|size| *size as isize).collect()
}

/// The `X` with `tensordot(A, X, X.rank()) = B`; the dimensions `dims` of `A` are moved to the end
/// first. The first dimensions of `A`, as many as `B` has, number its equations in the order of `B`,
/// whatever their sizes.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let a = Tensor::eye(4, 4, DType::F64)?.reshape((2, 2, 2, 2))?;
/// let b = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(linalg::tensorsolve(&a, &b, None)?, b);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless `A` is square in that sense, an error of linear algebra if it has no
/// inverse, an index error for a dimension out of range, a memory error.
pub fn tensorsolve(a: &Tensor, b: &Tensor, dims: Option<&[isize]>) -> Result<Tensor, Error> {
    if let Some((a, b)) = gathered((a, b))? {
        return tensorsolve(&a, &b, dims);
    }
    let op = TENSORSOLVE.name;
    Call::begin(&TENSORSOLVE, &[a, b])?;
    let moved = match dims {
        Some(dims) => {
            let to: Vec<isize> = (0..dims.len() as isize)
                .map(|place| place - dims.len() as isize)
                .collect();
            a.movedim(dims, &to).map_err(|error| error.in_op(op))?
        }
        None => a.clone(),
    };
    if moved.rank() < b.rank() {
        return Err(misfit(op, a, b));
    }
    // Only how many equations and unknowns there are counts, as in NumPy and torch.
    let (equations, own) = moved.shape().split_at(b.rank());
    let unknowns: usize = own.iter().product();
    if unknowns != b.count() || unknowns != equations.iter().product() {
        return Err(misfit(op, a, b));
    }
    let matrix = moved.reshape(&[unknowns as isize, unknowns as isize])?;
    let x = solve(&matrix, &b.ravel()?, true).map_err(|error| error.in_op(op))?;
    x.reshape(&signed(own))
}

/// The inverse of `X ↦ tensordot(A, X, …)`: the first `ind` dimensions of `A` multiply to the same
/// as the others, and change places with them.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let a = Tensor::eye(4, 4, DType::F64)?.reshape((4, 2, 2))?;
/// assert_eq!(linalg::tensorinv(&a, 1)?.shape(), [2, 2, 4]);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless `A` is square in that sense, an error of linear algebra if it has no
/// inverse, a memory error.
pub fn tensorinv(a: &Tensor, ind: usize) -> Result<Tensor, Error> {
    let op = TENSORINV.name;
    Call::begin(&TENSORINV, &[a])?;
    if ind == 0 || ind > a.rank() {
        let problem = Problem::OutOfRange {
            what: "ind",
            index: None,
            value: ind.to_string(),
            accepted: "numbers from 1 to that of the dimensions",
        };
        return Err(Error::new(op, problem));
    }
    let (first, rest) = a.shape().split_at(ind);
    let rows: usize = first.iter().product();
    let columns: usize = rest.iter().product();
    if rows != columns {
        let shape = vec![rows, columns];
        return Err(Error::new(op, Problem::NotSquare { shape }));
    }
    let matrix = a.reshape(&[rows as isize, columns as isize])?;
    let inverse = inv(&matrix).map_err(|error| error.in_op(op))?;
    let sizes: Vec<usize> = rest.iter().chain(first).copied().collect();
    inverse.reshape(&signed(&sizes))
}
