//! Different elements, and how often they occur.

use allotrope_dtype::Error;
use allotrope_tensor::{Beside, Tensor, Unique};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::RELEASE_FROM;
use crate::arguments::{Int, either};
use crate::error::raise;
use crate::interrupt::detach;
use crate::tensor::{PyTensor, wrap};

/// The values alone, or with what else is asked for.
fn answer(
    py: Python<'_>,
    x: &Tensor,
    [inverse, counts]: [bool; 2],
    work: impl FnOnce(Beside) -> Result<Unique, Error> + Send,
) -> PyResult<Py<PyAny>> {
    let beside = Beside { inverse, counts };
    let found = if x.count() > RELEASE_FROM {
        detach(py, || work(beside))
    } else {
        work(beside)
    };
    let found = found.map_err(raise)?;
    let values = Py::new(py, wrap(Ok(found.values))?)?;
    if !inverse && !counts {
        return Ok(values.into_any());
    }
    let mut all = vec![values];
    if inverse {
        all.push(Py::new(py, wrap(Ok(found.inverse))?)?);
    }
    if counts {
        all.push(Py::new(py, wrap(Ok(found.counts))?)?);
    }
    Ok(PyTuple::new(py, all)?.into_any().unbind())
}

forms! {
    /// The different elements in order, or along dim the different parts; with return_inverse also
    /// the place of each element among them, with return_counts how often each occurs. They are in
    /// order whether or not sorted is asked for. A NaN is unlike any other.
    ///
    /// >>> al.tensor([3, 1, 3]).unique(return_counts=True)
    /// (tensor([1, 3]), tensor([1, 2]))
    unique[sorted=true, return_inverse=false, return_counts=false, dim=None, *, axis=None](sorted: bool, return_inverse: bool, return_counts: bool, dim: Option<Int>, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let (dim, _always) = (either(op, dim, axis)?.map(|Int(dim)| dim), sorted);
        answer(py, x, [return_inverse, return_counts], |beside| x.unique_with(dim, beside))
    };

    /// The elements, or along dim the parts, without those that equal the one before.
    ///
    /// >>> al.tensor([1, 1, 3, 1]).unique_consecutive()
    /// tensor([1, 3, 1])
    unique_consecutive[return_inverse=false, return_counts=false, dim=None, *, axis=None](return_inverse: bool, return_counts: bool, dim: Option<Int>, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let dim = either(op, dim, axis)?.map(|Int(dim)| dim);
        answer(py, x, [return_inverse, return_counts], |beside| x.unique_consecutive(dim, beside))
    };
}
