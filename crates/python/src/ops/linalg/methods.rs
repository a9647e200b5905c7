//! What torch has as methods of tensors, and as functions of the package.

use allotrope_tensor::linalg::{self, QrMode, Tolerance};
use pyo3::prelude::*;

use super::{compute, named, tolerance};
use crate::arguments::{Int, Operand, axis_or};
use crate::create::operand;
use crate::operand::run;
use crate::tensor::PyTensor;

forms! {
    /// The determinant of square matrices.
    ///
    /// Shape: [*, n, n] gives [*].
    ///
    /// >>> al.tensor([[2.0, 0.0], [1.0, 3.0]]).det()
    /// tensor(6.)
    det[]() -> PyTensor |py, _op, x| compute(py, x, || linalg::det(x)).map(PyTensor::from);

    /// The logarithm of the determinant of square matrices; NaN where it is negative.
    ///
    /// >>> al.logdet(al.eye(3))
    /// tensor(0.)
    logdet[]() -> PyTensor |py, _op, x| {
        compute(py, x, || {
            let (sign, logarithm) = linalg::slogdet(x)?;
            logarithm.add(&sign.log()?)
        })
        .map(PyTensor::from)
    };

    /// The sign of the determinant of square matrices, and the logarithm of its magnitude.
    ///
    /// >>> al.tensor([[0.0, 2.0], [2.0, 0.0]]).slogdet()
    /// slogdet(sign=tensor(-1.), logabsdet=tensor(1.3863))
    slogdet[]() -> Py<PyAny> |py, _op, x| {
        let (sign, logarithm) = compute(py, x, || linalg::slogdet(x))?;
        named(py, "slogdet", [sign, logarithm])
    };

    /// The inverse of square matrices.
    ///
    /// Shape: [*, n, n], and the same out; a singular matrix is a `LinAlgError`.
    ///
    /// >>> al.tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()
    /// tensor([[0.5000, 0.0000],
    ///         [0.0000, 0.2500]])
    inverse[]() -> PyTensor |py, _op, x| compute(py, x, || linalg::inv(x)).map(PyTensor::from);

    /// Moore and Penrose's inverse.
    ///
    /// Shape: [*, m, n] gives [*, n, m].
    ///
    /// >>> al.tensor([[2.0, 0.0], [0.0, 0.0]]).pinverse()
    /// tensor([[0.5000, 0.0000],
    ///         [0.0000, 0.0000]])
    pinverse[rcond=None](rcond: Option<Operand>) -> PyTensor |py, op, x| {
        let tolerance = Tolerance { absolute: None, relative: tolerance(op, rcond)? };
        compute(py, x, || linalg::pinv(x, &tolerance, false)).map(PyTensor::from)
    };

    /// The triangular root of positive definite matrices.
    ///
    /// >>> al.tensor([[4.0, 2.0], [2.0, 2.0]]).cholesky()
    /// tensor([[2., 0.],
    ///         [1., 1.]])
    cholesky[upper=false](upper: bool) -> PyTensor |py, _op, x| {
        compute(py, x, || linalg::cholesky(x, upper)).map(PyTensor::from)
    };

    /// The X of A X = B from the triangular root of A; B is what this is called on.
    ///
    /// >>> al.cholesky_solve(al.ones(2, 1), al.tensor([[2.0, 0.0], [0.0, 1.0]]))
    /// tensor([[0.2500],
    ///         [1.0000]])
    cholesky_solve[input2, upper=false](input2: Operand, upper: bool) -> PyTensor |py, op, x| {
        let root = operand(op, input2)?;
        run(py, x.count(), || linalg::cholesky_solve(x, &root, upper))
    };

    /// The inverse of A from its triangular root.
    ///
    /// >>> al.cholesky_inverse(al.tensor([[2.0, 0.0], [0.0, 1.0]]))
    /// tensor([[0.2500, 0.0000],
    ///         [0.0000, 1.0000]])
    cholesky_inverse[upper=false](upper: bool) -> PyTensor |py, _op, x| {
        compute(py, x, || linalg::cholesky_inverse(x, upper)).map(PyTensor::from)
    };

    /// The permutation and both triangles of A = P L U from what linalg.lu_factor gives; empty where
    /// unpack_data or unpack_pivots is False.
    ///
    /// >>> A = al.tensor([[1.0, 2.0], [3.0, 4.0]])
    /// >>> P, L, U = al.lu_unpack(*al.linalg.lu_factor(A))
    /// >>> P @ L @ U
    /// tensor([[1., 2.],
    ///         [3., 4.]])
    lu_unpack[pivots, unpack_data=true, unpack_pivots=true](pivots: Operand, unpack_data: bool, unpack_pivots: bool) -> Py<PyAny> |py, op, x| {
        let pivots = operand(op, pivots)?;
        let (order, lower, upper) = compute(py, x, || linalg::lu_unpack(x, &pivots))?;
        let kept = |x: allotrope_tensor::Tensor, keeps: bool| match keeps {
            true => Ok(x),
            false => x.new_empty(&[0], x.dtype()),
        };
        let parts = || Ok([kept(order, unpack_pivots)?, kept(lower, unpack_data)?, kept(upper, unpack_data)?]);
        named(py, "lu_unpack", parts().map_err(crate::error::raise)?)
    };

    /// A = Q R: orthonormal columns and an upper triangle; a square Q unless some.
    ///
    /// >>> q, r = al.tensor([[3.0, 1.0], [4.0, 2.0]]).qr()
    /// >>> al.allclose(q @ r, al.tensor([[3.0, 1.0], [4.0, 2.0]]), atol=1e-6)
    /// True
    qr[some=true](some: bool) -> Py<PyAny> |py, _op, x| {
        let mode = if some { QrMode::Reduced } else { QrMode::Complete };
        let (q, r) = compute(py, x, || linalg::qr(x, mode))?;
        named(py, "qr", [q, r])
    };

    /// Square matrices times themselves n times.
    ///
    /// A negative n is a power of the inverse.
    ///
    /// >>> al.tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(3)
    /// tensor([[1., 3.],
    ///         [0., 1.]])
    /// >>> al.tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(-1)
    /// tensor([[ 1., -1.],
    ///         [ 0.,  1.]])
    matrix_power[n](n: Int) -> PyTensor |py, _op, x| {
        compute(py, x, || linalg::matrix_power(x, n.0 as i64)).map(PyTensor::from)
    };

    /// The exponential of square matrices.
    ///
    /// >>> al.tensor([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()
    /// tensor([[1., 1.],
    ///         [0., 1.]])
    matrix_exp[]() -> PyTensor |py, _op, x| compute(py, x, || linalg::matrix_exp(x)).map(PyTensor::from);

    /// The vector product of the vectors of three elements along dim.
    ///
    /// >>> al.tensor([1, 0, 0]).cross(al.tensor([0, 1, 0]))
    /// tensor([0, 0, 1])
    cross[other, dim=None, *, axis=None](other: Operand, dim: Option<Int>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (other, dim) = (operand(op, other)?, axis_or(op, dim, axis, -1)?);
        run(py, x.count(), || linalg::cross(x, &other, dim))
    };
}
