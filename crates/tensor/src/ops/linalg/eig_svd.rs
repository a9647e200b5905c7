//! Eigenvalues and singular values.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::linalg::{EIG, EIGH, EIGVALS, EIGVALSH, SVD, SVDVALS};
use allotrope_op::task::Factorization;
use allotrope_op::task::factorization::SingularVectors;
pub use allotrope_op::task::factorization::Triangle;

use super::batch::{Batch, Begun, Out, begin, order, sizes};
use super::eig_svd_gradient::{
    remember_eigen, remember_hermitian, remember_hermitian_values, remember_singular,
    remember_singular_values,
};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;

/// The eigenvalues of Hermitian matrices, real and from the least, and orthonormal eigenvectors as
/// columns. One triangle is read.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::from_slice(&[3.0_f64, 0.0, 0.0, 1.0], &[2, 2])?;
/// let (values, _vectors) = linalg::eigh(&a, linalg::Triangle::Lower)?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error unless the matrices are square, an error of linear algebra for one with infinities
/// or NaN, a memory error.
pub fn eigh(a: &Tensor, triangle: Triangle) -> Result<(Tensor, Tensor), Error> {
    let order = order(EIGH.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&EIGH, [a])?;
    let batch = Batch::new(EIGH.name, made, &[(&a, 2)])?;
    let (task, input) = (
        Factorization::Eigh {
            triangle,
            vectors: true,
        },
        batch.prepare(&a, 2)?,
    );
    let (values, vectors) = ([order], [order, order]);
    let outputs = [Out::Real(&values), Out::Number(&vectors)];
    let [values, vectors] = batch.run(task, &[&input], outputs)?;
    let (values, vectors) = remember_hermitian(values, vectors, EIGH.name, &a)?;
    Ok((values.to(result.to_real())?, vectors.to(result)?))
}

/// The eigenvalues of Hermitian matrices, from the least. One triangle is read.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let values = linalg::eigvalsh(&Tensor::new([[2.0, 0.0], [0.0, 1.0]])?, linalg::Triangle::Lower)?;
/// assert_eq!(values, Tensor::new([1.0, 2.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(a: &Tensor, triangle: Triangle) -> Result<Tensor, Error> {
    order(EIGVALSH.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&EIGVALSH, [a])?;
    hermitian_values(EIGVALSH.name, made, &a, triangle)?.to(result)
}

/// The eigenvalues of Hermitian matrices in a real dtype, for an operation.
pub(super) fn hermitian_values(
    op: &'static str,
    real: DType,
    a: &Tensor,
    triangle: Triangle,
) -> Result<Tensor, Error> {
    let batch = Batch::new(op, number_of(real, a), &[(a, 2)])?;
    let task = Factorization::Eigh {
        triangle,
        vectors: false,
    };
    let input = batch.prepare(a, 2)?;
    let values = batch.run_one(task, &[&input], Out::Real(&[order(op, a)?]))?;
    remember_hermitian_values(values, op, a, triangle)
}

/// The dtype of numbers like the elements of `a`, of the width of a real one.
pub(super) fn number_of(real: DType, a: &Tensor) -> DType {
    if a.dtype().is_complex() {
        real.to_complex()
    } else {
        real
    }
}

/// The eigenvalues of square matrices, complex and in no order, and eigenvectors of norm one as
/// columns. Of real matrices conjugate pairs are exact and stand side by side.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, linalg};
/// let (values, vectors) = linalg::eig(&Tensor::new([[0.0, 1.0], [-1.0, 0.0]])?)?;
/// assert_eq!((values.dtype(), vectors.shape().to_vec()), (DType::C128, vec![2, 2]));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`eigh`].
pub fn eig(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let order = order(EIG.name, a)?;
    let (batch, input) = wide(EIG.name, Call::begin(&EIG, &[a])?.result, a)?;
    let (values, vectors) = ([order], [order, order]);
    let outputs = [Out::Number(&values), Out::Number(&vectors)];
    let task = Factorization::Eig { vectors: true };
    let [values, vectors] = batch.run(task, &[&input], outputs)?;
    remember_eigen(values, vectors, EIG.name, a)
}

/// The eigenvalues of square matrices, complex and in no order.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let values = linalg::eigvals(&Tensor::new([[0.0, 1.0], [-1.0, 0.0]])?)?;
/// assert!(values.abs()?.allclose(&Tensor::new([1.0, 1.0])?, 1e-12, 0.0, false)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`eigh`].
pub fn eigvals(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(EIGVALS.name, a)?;
    let Call { result, .. } = Call::begin(&EIGVALS, &[a])?;
    if is_recorded(&[a]) {
        return Ok(eig(a).map_err(|error| error.in_op(EIGVALS.name))?.0);
    }
    let (batch, input) = wide(EIGVALS.name, result, a)?;
    let task = Factorization::Eig { vectors: false };
    batch.run_one(task, &[&input], Out::Number(&[order]))
}

/// A batch that reads real matrices as real numbers, whatever the result is.
fn wide(op: &'static str, result: DType, a: &Tensor) -> Result<(Batch, Tensor), Error> {
    let mut batch = Batch::new(op, result, &[(a, 2)])?;
    if !a.dtype().is_complex() {
        batch.working = result.to_real();
    }
    let input = batch.prepare(a, 2)?;
    Ok((batch, input))
}

/// `A = U diag(S) Vh`: orthonormal columns, singular values from the greatest, orthonormal rows.
/// `full_matrices` makes `U` and `Vh` square; what they have beyond the singular values has no
/// gradient.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::ones(&[4, 2], DType::F64)?;
/// let (u, s, vh) = linalg::svd(&a, false)?;
/// assert_eq!(u.shape().to_string(), "[4, 2]");
/// assert!((s.to_vec::<f64>()?[0] - 8.0_f64.sqrt()).abs() < 1e-15);
/// assert_eq!(vh.shape().to_string(), "[2, 2]");
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions, an error of linear algebra for a matrix with
/// infinities or NaN, a memory error.
pub fn svd(a: &Tensor, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor), Error> {
    let (rows, columns) = sizes(SVD.name, a)?;
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&SVD, [a])?;
    let batch = Batch::new(SVD.name, made, &[(&a, 2)])?;
    let vectors = if full_matrices {
        SingularVectors::Full
    } else {
        SingularVectors::Reduced
    };
    let bases = vectors.sizes(rows, columns);
    let (values, left, right) = ([rows.min(columns)], [rows, bases[0]], [bases[1], columns]);
    let outputs = [Out::Real(&values), Out::Number(&left), Out::Number(&right)];
    let input = batch.prepare(&a, 2)?;
    let [values, left, right] = batch.run(Factorization::Svd { vectors }, &[&input], outputs)?;
    let [left, values, right] = remember_singular([left, values, right], SVD.name, &a)?;
    let values = values.to(result.to_real())?;
    Ok((left.to(result)?, values, right.to(result)?))
}

/// The singular values of matrices, from the greatest.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let values = linalg::svdvals(&Tensor::new([[3.0, 0.0], [0.0, -4.0]])?)?;
/// assert!(values.allclose(&Tensor::new([4.0, 3.0])?, 1e-12, 0.0, false)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`svd`].
pub fn svdvals(a: &Tensor) -> Result<Tensor, Error> {
    let Call { result, .. } = Call::begin(&SVDVALS, &[a])?;
    singular_values(SVDVALS.name, result, a)
}

/// The singular values in a real dtype, for an operation.
pub(super) fn singular_values(op: &'static str, real: DType, a: &Tensor) -> Result<Tensor, Error> {
    let (rows, columns) = sizes(op, a)?;
    let batch = Batch::new(op, number_of(real, a), &[(a, 2)])?;
    let task = Factorization::Svd {
        vectors: SingularVectors::None,
    };
    let input = batch.prepare(a, 2)?;
    let values = batch.run_one(task, &[&input], Out::Real(&[rows.min(columns)]))?;
    remember_singular_values(values, op, a)
}
