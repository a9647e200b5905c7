//! Matrices for the tests of gradients of linear algebra.

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;

use super::{Function, check, complex_leaf, leaf};

/// Matrices with a large diagonal, whose inverses are small.
pub(crate) fn strong(x: &Tensor) -> Result<Tensor, Error> {
    let (rows, columns) = (x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]);
    x.add(&Tensor::eye(rows, columns, x.dtype())?.mul(4.0)?)
}

pub(crate) fn turned(x: &Tensor) -> Result<Tensor, Error> {
    x.transpose(-2, -1)?.conj()
}

/// Hermitian matrices with positive eigenvalues that differ.
pub(crate) fn hermitian(x: &Tensor) -> Result<Tensor, Error> {
    let steps = Tensor::arange(0, x.shape()[x.rank() - 1] as i64, 1, x.dtype())?.mul(2.0)?;
    let sum = x.add(&turned(x)?)?.mul(0.5)?;
    sum.add(&steps.add(6.0)?.diag(0)?)
}

/// The squares of magnitudes, which have no phase.
pub(crate) fn squares(x: &Tensor) -> Result<Tensor, Error> {
    if x.dtype().is_complex() {
        x.mul(&x.conj()?)?.real()
    } else {
        x.square()
    }
}

/// Checks functions of one leaf of each of these sizes, of real and complex numbers.
pub(crate) fn check_matrices(sizes: &[&[usize]], cases: &[(&str, Function)]) {
    for (what, function) in cases {
        for sizes in sizes {
            check(what, function, &[leaf(sizes, 1)]);
            check(what, function, &[complex_leaf(sizes, 2)]);
        }
    }
}

/// Sizes of square matrices.
pub(crate) const SQUARE: [&[usize]; 2] = [&[3, 3], &[2, 2, 2]];
