//! QR, eigenvalues, singular values, least squares.

use allotrope_tensor::linalg::{self, QrMode, Tolerance, Triangle};
use pyo3::prelude::*;

use super::{compute, named, order, tolerance};
use crate::arguments::{NormOrder, Operand, either};
use crate::create::operand;
use crate::error::raise;
use crate::tensor::PyTensor;

/// Drivers of LAPACK, all of which mean the one algorithm there is.
fn check_driver(op: &'static str, driver: Option<&str>, accepted: &[&str]) -> PyResult<()> {
    match driver {
        Some(driver) if !accepted.contains(&driver) => Err(raise(
            allotrope_dtype::Error::unknown_option(op, "driver", driver, accepted),
        )),
        _ => Ok(()),
    }
}

const SVD_DRIVERS: [&str; 3] = ["gesvd", "gesvdj", "gesvda"];
const LSTSQ_DRIVERS: [&str; 4] = ["gels", "gelsy", "gelsd", "gelss"];

functions! {
    /// A = Q R: orthonormal columns and an upper triangle. mode "reduced" gives as many columns of Q
    /// as A has rows or columns, "complete" a square Q, "r" an empty Q.
    ///
    /// >>> al.linalg.qr(al.ones(3, 2), "complete").Q.shape
    /// (3, 3)
    qr "linalg.qr" [mode="reduced"](A, mode: &str) -> Py<PyAny> |py, a| {
        let mode = QrMode::parse("linalg.qr", mode).map_err(raise)?;
        let (q, r) = compute(py, a, || linalg::qr(a, mode))?;
        named(py, "linalg_qr", [q, r])
    };

    /// The first columns of the product of reflections I - τ v vᴴ, whose vectors are below the
    /// diagonal of A.
    ///
    /// >>> a, tau = al.geqrf(al.tensor([[3.0, 1.0], [4.0, 2.0]]))
    /// >>> q = al.linalg.householder_product(a, tau)
    /// >>> al.allclose(q.T @ q, al.eye(2), atol=1e-6)
    /// True
    householder_product "linalg.householder_product" [tau](A, tau: Operand) -> PyTensor |py, a| {
        let tau = operand("linalg.householder_product", tau)?;
        compute(py, a, || linalg::householder_product(a, &tau)).map(PyTensor::from)
    };

    /// The eigenvalues of Hermitian matrices, from the least, and orthonormal eigenvectors as columns.
    /// UPLO says which triangle is read.
    ///
    /// >>> al.linalg.eigh(al.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    /// tensor([1., 3.])
    eigh "linalg.eigh" [UPLO="L"](A, UPLO: &str) -> Py<PyAny> |py, a| {
        let triangle = Triangle::parse("linalg.eigh", UPLO).map_err(raise)?;
        let (values, vectors) = compute(py, a, || linalg::eigh(a, triangle))?;
        named(py, "linalg_eigh", [values, vectors])
    };

    /// The eigenvalues of Hermitian matrices, from the least.
    ///
    /// >>> al.linalg.eigvalsh(al.tensor([[2.0, 1.0], [1.0, 2.0]]))
    /// tensor([1., 3.])
    eigvalsh "linalg.eigvalsh" [UPLO="L"](A, UPLO: &str) -> PyTensor |py, a| {
        let triangle = Triangle::parse("linalg.eigvalsh", UPLO).map_err(raise)?;
        compute(py, a, || linalg::eigvalsh(a, triangle)).map(PyTensor::from)
    };

    /// The eigenvalues of square matrices, complex and in no order, and eigenvectors of norm one as
    /// columns. Of real matrices conjugate pairs are exact and stand side by side.
    ///
    /// >>> al.linalg.eig(al.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    /// tensor([0.+1.j, 0.-1.j])
    eig "linalg.eig" [](A) -> Py<PyAny> |py, a| {
        let (values, vectors) = compute(py, a, || linalg::eig(a))?;
        named(py, "linalg_eig", [values, vectors])
    };

    /// The eigenvalues of square matrices, complex and in no order.
    ///
    /// >>> al.linalg.eigvals(al.tensor([[2.0, 1.0], [0.0, 3.0]])).real
    /// tensor([2., 3.])
    eigvals "linalg.eigvals" [](A) -> PyTensor |py, a| compute(py, a, || linalg::eigvals(a)).map(PyTensor::from);

    /// A = U diag(S) Vh: orthonormal columns, singular values from the greatest, orthonormal rows.
    /// full_matrices makes U and Vh square. The drivers of LAPACK are accepted and mean the same.
    ///
    /// >>> al.linalg.svd(al.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    /// tensor([4., 3.])
    svd "linalg.svd" [full_matrices=true, *, driver=None](A, full_matrices: bool, driver: Option<&str>) -> Py<PyAny> |py, a| {
        check_driver("linalg.svd", driver, &SVD_DRIVERS)?;
        let (u, s, vh) = compute(py, a, || linalg::svd(a, full_matrices))?;
        named(py, "linalg_svd", [u, s, vh])
    };

    /// The singular values of matrices, from the greatest.
    ///
    /// >>> al.linalg.svdvals(al.tensor([[3.0, 0.0], [0.0, 4.0]]))
    /// tensor([4., 3.])
    svdvals "linalg.svdvals" [*, driver=None](A, driver: Option<&str>) -> PyTensor |py, a| {
        check_driver("linalg.svdvals", driver, &SVD_DRIVERS)?;
        compute(py, a, || linalg::svdvals(a)).map(PyTensor::from)
    };

    /// Moore and Penrose's inverse. Singular values up to max(atol, rtol × the greatest) count as
    /// zero; rtol is the greater size times epsilon if neither is said. rcond is another name of
    /// rtol.
    ///
    /// >>> al.linalg.pinv(al.tensor([[2.0, 0.0], [0.0, 0.0]]))
    /// tensor([[0.5000, 0.0000],
    ///         [0.0000, 0.0000]])
    pinv "linalg.pinv" [rcond=None, hermitian=false, *, atol=None, rtol=None](A, rcond: Option<Operand>, hermitian: bool, atol: Option<Operand>, rtol: Option<Operand>) -> PyTensor |py, a| {
        let op = "linalg.pinv";
        let tolerance = Tolerance {
            absolute: tolerance(op, atol)?,
            relative: tolerance(op, either(op, rtol, rcond)?)?,
        };
        compute(py, a, || linalg::pinv(a, &tolerance, hermitian)).map(PyTensor::from)
    };

    /// How many singular values are above max(atol, rtol × the greatest); rtol is the greater size
    /// times epsilon if neither is said. tol is another name of atol.
    ///
    /// >>> al.linalg.matrix_rank(al.ones(3, 3))
    /// tensor(1)
    matrix_rank "linalg.matrix_rank" [tol=None, hermitian=false, *, atol=None, rtol=None](A, tol: Option<Operand>, hermitian: bool, atol: Option<Operand>, rtol: Option<Operand>) -> PyTensor |py, a| {
        let op = "linalg.matrix_rank";
        let tolerance = Tolerance {
            absolute: tolerance(op, either(op, atol, tol)?)?,
            relative: tolerance(op, rtol)?,
        };
        compute(py, a, || linalg::matrix_rank(a, &tolerance, hermitian)).map(PyTensor::from)
    };

    /// The norm of matrices times the norm of their inverses; without p the greatest singular value
    /// over the least. ∞ for matrices without an inverse.
    ///
    /// >>> al.linalg.cond(al.tensor([[2.0, 0.0], [0.0, 8.0]]))
    /// tensor(4.)
    cond "linalg.cond" [p=None](A, p: Option<NormOrder>) -> PyTensor |py, a| {
        let p = order("linalg.cond", p)?;
        compute(py, a, || linalg::cond(a, p)).map(PyTensor::from)
    };

    /// The X for which A X - B is least, by singular values, with the sums of squares that are left
    /// (empty unless A has more rows than columns, all of them independent), the rank and the
    /// singular values of A. The drivers of LAPACK are accepted and mean the same.
    ///
    /// >>> A = al.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    /// >>> al.linalg.lstsq(A, al.tensor([1.0, 3.0, 5.0])).solution.round(decimals=4)
    /// tensor([1., 2.])
    lstsq "linalg.lstsq" [B, rcond=None, *, driver=None](A, B: Operand, rcond: Option<f64>, driver: Option<&str>) -> Py<PyAny> |py, a| {
        check_driver("linalg.lstsq", driver, &LSTSQ_DRIVERS)?;
        let b = operand("linalg.lstsq", B)?;
        let found = compute(py, a, || linalg::lstsq(a, &b, rcond))?;
        let parts = [found.solution, found.residuals, found.rank, found.singular_values];
        named(py, "linalg_lstsq", parts)
    };
}
