//! Solutions, inverses, determinants, elimination, Cholesky's roots.

use allotrope_tensor::linalg;
use pyo3::prelude::*;

use super::{compute, named};
use crate::arguments::{Dims, Int, Operand, size};
use crate::create::operand;
use crate::operand::run;
use crate::tensor::PyTensor;

functions! {
    /// The X of A X = B, or of X A = B if left is False. B may be a vector for each matrix. A matrix
    /// without an inverse is a LinAlgError.
    ///
    /// >>> al.linalg.solve(al.tensor([[2.0, 0.0], [0.0, 4.0]]), al.tensor([1.0, 1.0]))
    /// tensor([0.5000, 0.2500])
    solve "linalg.solve" [B, *, left=true](A, B: Operand, left: bool) -> PyTensor |py, a| {
        let b = operand("linalg.solve", B)?;
        compute(py, a, || linalg::solve(a, &b, left)).map(PyTensor::from)
    };

    /// As solve, with info instead of an error: the number of the first pivot that is zero, counted
    /// from one, or zero. check_errors raises the error all the same.
    ///
    /// >>> al.linalg.solve_ex(al.zeros(2, 2), al.ones(2)).info
    /// tensor(1, dtype=int32)
    solve_ex "linalg.solve_ex" [B, *, left=true, check_errors=false](A, B: Operand, left: bool, check_errors: bool) -> Py<PyAny> |py, a| {
        let b = operand("linalg.solve_ex", B)?;
        if check_errors {
            compute(py, a, || linalg::solve(a, &b, left))?;
        }
        let (result, info) = compute(py, a, || linalg::solve_ex(a, &b, left))?;
        named(py, "linalg_solve_ex", [result, info])
    };

    /// The inverse of square matrices; a LinAlgError where there is none.
    ///
    /// >>> al.linalg.inv(al.tensor([[2.0, 0.0], [0.0, 4.0]]))
    /// tensor([[0.5000, 0.0000],
    ///         [0.0000, 0.2500]])
    inv "linalg.inv" [](A) -> PyTensor |py, a| compute(py, a, || linalg::inv(a)).map(PyTensor::from);

    /// As inv, with info instead of an error: the number of the first pivot that is zero, counted
    /// from one, or zero. check_errors raises the error all the same.
    ///
    /// >>> al.linalg.inv_ex(al.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    /// tensor(2, dtype=int32)
    inv_ex "linalg.inv_ex" [*, check_errors=false](A, check_errors: bool) -> Py<PyAny> |py, a| {
        if check_errors {
            compute(py, a, || linalg::inv(a))?;
        }
        let (inverse, info) = compute(py, a, || linalg::inv_ex(a))?;
        named(py, "linalg_inv_ex", [inverse, info])
    };

    /// The determinant of square matrices.
    ///
    /// >>> al.linalg.det(al.tensor([[2.0, 1.0], [0.0, 3.0]]))
    /// tensor(6.)
    det "linalg.det" [](A) -> PyTensor |py, a| compute(py, a, || linalg::det(a)).map(PyTensor::from);

    /// The sign of the determinant of square matrices, and the logarithm of its magnitude, which
    /// cannot overflow.
    ///
    /// >>> al.linalg.slogdet(-al.eye(3)).sign
    /// tensor(-1.)
    slogdet "linalg.slogdet" [](A) -> Py<PyAny> |py, a| {
        let (sign, logarithm) = compute(py, a, || linalg::slogdet(a))?;
        named(py, "linalg_slogdet", [sign, logarithm])
    };

    /// The lower triangle L with A = L Lᴴ, or the upper one with A = Uᴴ U; only that triangle of A
    /// is read. A LinAlgError unless A is positive definite.
    ///
    /// >>> al.linalg.cholesky(al.tensor([[4.0, 2.0], [2.0, 5.0]]))
    /// tensor([[2., 0.],
    ///         [1., 2.]])
    cholesky "linalg.cholesky" [*, upper=false](A, upper: bool) -> PyTensor |py, a| {
        compute(py, a, || linalg::cholesky(a, upper)).map(PyTensor::from)
    };

    /// As cholesky, with info instead of an error: the number of the first row without a root,
    /// counted from one, or zero. check_errors raises the error all the same.
    ///
    /// >>> al.linalg.cholesky_ex(al.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    /// tensor(2, dtype=int32)
    cholesky_ex "linalg.cholesky_ex" [*, upper=false, check_errors=false](A, upper: bool, check_errors: bool) -> Py<PyAny> |py, a| {
        if check_errors {
            compute(py, a, || linalg::cholesky(a, upper))?;
        }
        let (root, info) = compute(py, a, || linalg::cholesky_ex(a, upper))?;
        named(py, "linalg_cholesky_ex", [root, info])
    };

    /// A = P L U: a permutation, a lower triangle with a diagonal of ones, and an upper triangle.
    ///
    /// >>> al.linalg.lu(al.tensor([[1.0, 2.0], [2.0, 4.0]])).U
    /// tensor([[2., 4.],
    ///         [0., 0.]])
    lu "linalg.lu" [*, pivot=true](A, pivot: bool) -> Py<PyAny> |py, a| {
        let (permutation, lower, upper) = compute(py, a, || linalg::lu(a, pivot))?;
        named(py, "linalg_lu", [permutation, lower, upper])
    };

    /// Both triangles of A = P L U in one matrix, the diagonal of ones left out, and the row that
    /// each row was exchanged with in turn, counted from one.
    ///
    /// >>> al.linalg.lu_factor(al.tensor([[1.0, 2.0], [2.0, 4.0]])).pivots
    /// tensor([2, 2], dtype=int32)
    lu_factor "linalg.lu_factor" [*, pivot=true](A, pivot: bool) -> Py<PyAny> |py, a| {
        let (factors, pivots) = compute(py, a, || linalg::lu_factor(a, pivot))?;
        named(py, "linalg_lu_factor", [factors, pivots])
    };

    /// What lu_factor gives, and info: the number of the first pivot that is zero, counted from one,
    /// or zero. check_errors makes a pivot of zero an error.
    ///
    /// >>> al.linalg.lu_factor_ex(al.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    /// tensor(2, dtype=int32)
    lu_factor_ex "linalg.lu_factor_ex" [*, pivot=true, check_errors=false](A, pivot: bool, check_errors: bool) -> Py<PyAny> |py, a| {
        let (factors, pivots, info) = compute(py, a, || linalg::lu_factor_ex(a, pivot))?;
        if check_errors {
            // Whether it can be solved is what the inverse says.
            compute(py, a, || linalg::inv(a))?;
        }
        named(py, "linalg_lu_factor_ex", [factors, pivots, info])
    };

    /// The X of A X = B from what lu_factor gives of A; of X A = B if left is False, and with Aᴴ for
    /// A if adjoint.
    ///
    /// >>> factors = al.linalg.lu_factor(al.tensor([[2.0, 0.0], [0.0, 4.0]]))
    /// >>> al.linalg.lu_solve(*factors, al.tensor([[1.0], [1.0]]))
    /// tensor([[0.5000],
    ///         [0.2500]])
    lu_solve "linalg.lu_solve" [pivots, B, *, left=true, adjoint=false](LU, pivots: Operand, B: Operand, left: bool, adjoint: bool) -> PyTensor |py, factors| {
        let (pivots, b) = (operand("linalg.lu_solve", pivots)?, operand("linalg.lu_solve", B)?);
        run(py, factors.count(), || linalg::lu_solve(factors, &pivots, &b, left, adjoint))
    };

    /// The X of A X = B for a triangular A, whose other triangle is not read; of X A = B if left is
    /// False. If unitriangular, the diagonal counts as ones.
    ///
    /// >>> A = al.tensor([[2.0, 0.0], [1.0, 1.0]])
    /// >>> al.linalg.solve_triangular(A, al.tensor([[2.0], [3.0]]), upper=False)
    /// tensor([[1.],
    ///         [2.]])
    solve_triangular "linalg.solve_triangular" [B, *, upper, left=true, unitriangular=false](A, B: Operand, upper: bool, left: bool, unitriangular: bool) -> PyTensor |py, a| {
        let b = operand("linalg.solve_triangular", B)?;
        run(py, a.count(), || linalg::solve_triangular(a, &b, upper, left, unitriangular))
    };

    /// The X with tensordot(A, X, X.ndim) = B; the dimensions dims of A are moved to the end first.
    ///
    /// >>> al.linalg.tensorsolve(al.eye(6).reshape(2, 3, 6), al.ones(2, 3))
    /// tensor([1., 1., 1., 1., 1., 1.])
    tensorsolve "linalg.tensorsolve" [B, dims=None](A, B: Operand, dims: Option<Dims>) -> PyTensor |py, a| {
        let op = "linalg.tensorsolve";
        let (b, dims) = (operand(op, B)?, super::dimensions(op, dims)?);
        compute(py, a, || linalg::tensorsolve(a, &b, dims.as_deref())).map(PyTensor::from)
    };

    /// The inverse of X ↦ tensordot(A, X): the first ind dimensions of A change places with the
    /// others.
    ///
    /// >>> al.linalg.tensorinv(al.eye(6).reshape(2, 3, 6)).shape
    /// (6, 2, 3)
    tensorinv "linalg.tensorinv" [ind=Int(2)](A, ind: Int) -> PyTensor |py, a| {
        let ind = size("linalg.tensorinv", ind.0)?;
        compute(py, a, || linalg::tensorinv(a, ind)).map(PyTensor::from)
    };
}
