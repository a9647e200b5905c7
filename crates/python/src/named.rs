//! Results with named fields.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::tensor::PyTensor;

const VALUES: &[&str] = &["values", "indices"];
const EIGEN: &[&str] = &["eigenvalues", "eigenvectors"];

/// The classes and the names of their fields, which are torch's.
#[rustfmt::skip]
const CLASSES: &[(&str, &[&str])] = &[
    ("aminmax",             &["min", "max"]),
    ("cummax",              VALUES),
    ("cummin",              VALUES),
    ("histogram",           &["hist", "bin_edges"]),
    ("kthvalue",            VALUES),
    ("linalg_cholesky_ex",  &["L", "info"]),
    ("linalg_eig",          EIGEN),
    ("linalg_eigh",         EIGEN),
    ("linalg_inv_ex",       &["inverse", "info"]),
    ("linalg_lstsq",        &["solution", "residuals", "rank", "singular_values"]),
    ("linalg_lu",           &["P", "L", "U"]),
    ("linalg_lu_factor",    &["LU", "pivots"]),
    ("linalg_lu_factor_ex", &["LU", "pivots", "info"]),
    ("linalg_qr",           &["Q", "R"]),
    ("linalg_slogdet",      &["sign", "logabsdet"]),
    ("linalg_solve_ex",     &["result", "info"]),
    ("linalg_svd",          &["U", "S", "Vh"]),
    ("lu_unpack",           &["P", "L", "U"]),
    ("max",                 VALUES),
    ("median",              VALUES),
    ("min",                 VALUES),
    ("mode",                VALUES),
    ("nanmedian",           VALUES),
    ("qr",                  &["Q", "R"]),
    ("slogdet",             &["sign", "logabsdet"]),
    ("sort",                VALUES),
    ("topk",                VALUES),
];

/// The fields of each class of `allotrope.return_types`, which makes it when it is asked for.
#[pyfunction]
pub(crate) fn _named_fields(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let classes = PyDict::new(py);
    for (name, fields) in CLASSES {
        classes.set_item(name, PyTuple::new(py, *fields)?)?;
    }
    Ok(classes)
}

/// Tensors as an object of a class of the table, which pickle finds by its name.
pub(crate) fn named<const N: usize>(
    py: Python<'_>,
    class: &'static str,
    tensors: [impl Into<PyTensor>; N],
) -> PyResult<Py<PyAny>> {
    make(py, class, tensors.map(Into::into).into())
}

/// One function for any number of tensors.
fn make(py: Python<'_>, class: &'static str, tensors: Vec<PyTensor>) -> PyResult<Py<PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        PyModule::import(py, intern!(py, "allotrope.return_types")).map(Bound::unbind)
    })?;
    let tensors = tensors.into_iter().map(|tensor| Py::new(py, tensor));
    let tensors = tensors.collect::<PyResult<Vec<_>>>()?;
    let class = module.bind(py).getattr(class)?;
    Ok(class.call1(PyTuple::new(py, tensors)?)?.unbind())
}
