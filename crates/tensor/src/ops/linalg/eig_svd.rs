//! Eigenvalues and singular values.

use allotrope_cpu::kernel::linalg::{Eigen, SelfAdjoint, Svd};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::linalg::{EIG, EIGH, EIGVALS, EIGVALSH, SVD, SVDVALS};

use super::batch::{Batch, Out, order, sizes};
use super::eig_svd_gradient::{
    remember_eigen, remember_hermitian, remember_hermitian_values, remember_singular,
    remember_singular_values,
};
use super::gradient::narrow_result;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;

/// Which triangle of a Hermitian matrix is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Triangle {
    /// The lower one.
    #[default]
    Lower,
    /// The upper one.
    Upper,
}

impl Triangle {
    /// The triangle of a letter, `L` or `U`.
    ///
    /// # Errors
    /// A value error for any other.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "L" | "l" => Ok(Self::Lower),
            "U" | "u" => Ok(Self::Upper),
            _ => Err(Error::unknown_option(op, "triangle", name, &["L", "U"])),
        }
    }
}

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
    if let Some(narrow) = narrow_result(&EIGH, &[a])? {
        let (values, vectors) = eigh(&a.to(narrow.compute())?, triangle)?;
        return Ok((values.to(narrow)?, vectors.to(narrow)?));
    }
    let batch = Batch::new(&EIGH, &[(a, 2)])?;
    let work = SelfAdjoint {
        order,
        upper: triangle == Triangle::Upper,
        vectors: true,
    };
    let (values, vectors) = ([order], [order, order]);
    let outputs = [Out::Real(&values), Out::Number(&vectors)];
    let (values, vectors) = batch.run_two(&work, &[&batch.prepare(&a.detach(), 2)?], outputs)?;
    remember_hermitian(values, vectors, EIGH.name, a)
}

/// The eigenvalues of Hermitian matrices, from the least. One triangle is read.
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(a: &Tensor, triangle: Triangle) -> Result<Tensor, Error> {
    let order = order(EIGVALSH.name, a)?;
    call::result_dtype(&EIGVALSH, a.dtype())?;
    if let Some(narrow) = narrow_result(&EIGH, &[a])? {
        return eigvalsh(&a.to(narrow.compute())?, triangle)?.to(narrow);
    }
    let result = call::result_dtype(&EIGH, a.dtype())?;
    let batch = Batch::with_result(EIGVALSH.name, result, &[(a, 2)])?;
    let work = SelfAdjoint {
        order,
        upper: triangle == Triangle::Upper,
        vectors: false,
    };
    let input = batch.prepare(&a.detach(), 2)?;
    let values = batch.run_one(&work, &[&input], Out::Real(&[order]))?;
    remember_hermitian_values(values, EIGVALSH.name, a, triangle)
}

/// The eigenvalues of square matrices, complex and in no order, and eigenvectors of norm one as
/// columns. Of real matrices conjugate pairs are exact and stand side by side.
///
/// # Errors
/// As [`eigh`].
pub fn eig(a: &Tensor) -> Result<(Tensor, Tensor), Error> {
    let order = order(EIG.name, a)?;
    let (batch, input) = wide(EIG.name, call::result_dtype(&EIG, a.dtype())?, &a.detach())?;
    let work = Eigen {
        order,
        vectors: true,
    };
    let (values, vectors) = ([order], [order, order]);
    let outputs = [
        Out::Rounded(DType::C128, &values),
        Out::Rounded(DType::C128, &vectors),
    ];
    let (values, vectors) = batch.run_two(&work, &[&input], outputs)?;
    remember_eigen(values, vectors, EIG.name, a)
}

/// The eigenvalues of square matrices, complex and in no order.
///
/// # Errors
/// As [`eigh`].
pub fn eigvals(a: &Tensor) -> Result<Tensor, Error> {
    let order = order(EIGVALS.name, a)?;
    if is_recorded(&[a]) {
        call::result_dtype(&EIGVALS, a.dtype())?;
        return Ok(eig(a).map_err(|error| error.in_op(EIGVALS.name))?.0);
    }
    let (batch, input) = wide(EIGVALS.name, call::result_dtype(&EIGVALS, a.dtype())?, a)?;
    let work = Eigen {
        order,
        vectors: false,
    };
    batch.run_one(&work, &[&input], Out::Rounded(DType::C128, &[order]))
}

/// A batch that reads real matrices as real numbers, whatever the result is.
fn wide(op: &'static str, result: DType, a: &Tensor) -> Result<(Batch, Tensor), Error> {
    let mut batch = Batch::with_result(op, result, &[(a, 2)])?;
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
    if let Some(narrow) = narrow_result(&SVD, &[a])? {
        let (u, s, vh) = svd(&a.to(narrow.compute())?, full_matrices)?;
        return Ok((u.to(narrow)?, s.to(narrow)?, vh.to(narrow)?));
    }
    let batch = Batch::new(&SVD, &[(a, 2)])?;
    let inner = rows.min(columns);
    let bases = if full_matrices {
        [rows, columns]
    } else {
        [inner, inner]
    };
    let work = Svd {
        rows,
        columns,
        bases,
    };
    let (values, left, right) = ([inner], [rows, bases[0]], [bases[1], columns]);
    let outputs = [Out::Real(&values), Out::Number(&left), Out::Number(&right)];
    let mut results = batch.run(&work, &[&batch.prepare(&a.detach(), 2)?], &outputs)?;
    let (right, left) = (results.swap_remove(2), results.swap_remove(1));
    let all = [left, results.swap_remove(0), right];
    let [left, values, right] = remember_singular(all, SVD.name, a)?;
    Ok((left, values, right))
}

/// The singular values of matrices, from the greatest.
///
/// # Errors
/// As [`svd`].
pub fn svdvals(a: &Tensor) -> Result<Tensor, Error> {
    call::result_dtype(&SVDVALS, a.dtype())?;
    singular_values(SVDVALS.name, call::result_dtype(&SVD, a.dtype())?, a)
}

/// The singular values, for an operation.
pub(super) fn singular_values(
    op: &'static str,
    result: DType,
    a: &Tensor,
) -> Result<Tensor, Error> {
    let (rows, columns) = sizes(op, a)?;
    let batch = Batch::with_result(op, result, &[(a, 2)])?;
    let work = Svd {
        rows,
        columns,
        bases: [0, 0],
    };
    let values = [rows.min(columns)];
    let input = batch.prepare(&a.detach(), 2)?;
    let values = batch.run_one(&work, &[&input], Out::Real(&values))?;
    remember_singular_values(values, op, a)
}
