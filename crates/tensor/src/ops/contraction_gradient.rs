//! The gradients of matrix products: products again, with the other factor turned and conjugated.

use allotrope_dtype::{DType, Error, WeakScalar, c128};
use smallvec::smallvec;

use super::contraction::{Addend, Dtypes, multiply_matrices};
use super::operands::{adjoint, conjugate as conjugate_of, saved};
use crate::Tensor;
use crate::autograd::is_recorded;

/// Whether a product of these is to be recorded.
pub(super) fn is_product_recorded(a: &Tensor, b: &Tensor, addend: Option<&Addend<'_>>) -> bool {
    is_recorded(&[a, b]) || addend.is_some_and(|addend| is_recorded(&[addend.former]))
}

/// A product that remembers its factors.
pub(super) fn recorded_product(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    dtypes: Dtypes,
    addend: Option<Addend<'_>>,
) -> Result<Tensor, Error> {
    let former = addend.as_ref().map(|addend| addend.former.clone());
    let plain = former.as_ref().map(Tensor::detach);
    let coefficients = addend.map(|addend| (addend.alpha, addend.beta));
    let plain = plain.as_ref().zip(coefficients);
    let plain = plain.map(|(former, (alpha, beta))| Addend {
        former,
        beta,
        alpha,
    });
    let product = multiply_matrices(op, &a.detach(), &b.detach(), dtypes, plain)?;
    let mut inputs = vec![a, b];
    inputs.extend(&former);
    // Each factor is needed for the gradient of the other one alone.
    let (left, right) = (saved(a, b), saved(b, a));
    let (has_former, rank) = (former.is_some(), b.rank());
    let is_turned = is_turned(b);
    let dtypes_of_factors = [a.dtype(), b.dtype()];
    product.with_rule(op, &inputs, move |pass| {
        let gradient = pass.gradient()?;
        let scaled = match coefficients {
            Some((alpha, _)) if !is_one(alpha) => gradient.mul(conjugate(alpha))?,
            _ => gradient.clone(),
        };
        let [left_dtype, right_dtype] = dtypes_of_factors
            .map(|dtype| own_dtype(dtype, [Some(&gradient), left.as_ref(), right.as_ref()]));
        let for_left = match &right {
            Some(right) if pass.wants(0) => {
                Some(scaled.matmul_in(&adjoint(right)?, left_dtype, None)?)
            }
            _ => None,
        };
        let for_right = match &left {
            Some(left) if pass.wants(1) => {
                Some(of_right(left, &scaled, (rank, is_turned), right_dtype)?)
            }
            _ => None,
        };
        let mut all = smallvec![for_left, for_right];
        if has_former {
            all.push(pass.give(2, || match coefficients {
                Some((_, beta)) => gradient.mul(conjugate(beta)),
                None => Ok(gradient.clone()),
            })?);
        }
        Ok(all)
    })
}

/// The gradient of the right factor. One matrix for all left ones gets the sum over all their rows
/// from a single product.
fn of_right(
    left: &Tensor,
    gradient: &Tensor,
    (rank, is_turned): (usize, bool),
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    if rank == 2 && left.rank() > 2 && left.rank() == gradient.rank() {
        let rows = |x: &Tensor| x.flatten(0, -2);
        return of_right(&rows(left)?, &rows(gradient)?, (rank, is_turned), dtype);
    }
    // A factor that is the transpose of a matrix in memory, as a layer's weight is, gets its gradient
    // so too: what reaches the matrix is in order then, and need not be copied.
    if is_turned && left.rank() == 2 && gradient.rank() == 2 {
        let turned = gradient.transpose(0, 1)?;
        let turned = turned.matmul_in(&conjugate_of(left)?, dtype, None)?;
        return turned.transpose(0, 1);
    }
    adjoint(left)?.matmul_in(gradient, dtype, None)
}

/// The dtype of a factor, which its gradient is rounded to once, where all are real floats and not the
/// same: a product of halves is not to become one before it is added to a float32.
fn own_dtype(dtype: DType, others: [Option<&Tensor>; 3]) -> Option<DType> {
    let mut others = others.into_iter().flatten().map(Tensor::dtype);
    let are_floats = dtype.is_floating_point() && others.clone().all(DType::is_floating_point);
    (are_floats && others.any(|other| other != dtype)).then_some(dtype)
}

/// Whether a matrix is the transpose of one in the order of memory.
fn is_turned(x: &Tensor) -> bool {
    let strides = x.layout().strides();
    x.rank() == 2 && strides[0] == 1 && strides[1] > 1
}

fn is_one(value: WeakScalar) -> bool {
    match value {
        WeakScalar::Bool(value) => value,
        WeakScalar::Int(value) => value == 1,
        WeakScalar::Float(value) => value == 1.0,
        WeakScalar::Complex(value) => value == c128::new(1.0, 0.0),
    }
}

fn conjugate(value: WeakScalar) -> WeakScalar {
    match value {
        WeakScalar::Complex(value) => WeakScalar::Complex(value.conj()),
        other => other,
    }
}
