//! Which dtypes operations compute in and why: the core of `trace_dtypes`.

use allotrope_tensor::{TracedOperation, end_trace, start_trace, trace_length};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Begins to record; whether that was being done already, and how much has been recorded.
#[pyfunction]
fn start() -> (bool, usize) {
    let length = trace_length();
    (start_trace(), length)
}

/// Ends it, unless another block goes on, and gives what was recorded since a place.
#[pyfunction]
fn end<'py>(py: Python<'py>, from: usize, keeps_on: bool) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let found = end_trace(from, keeps_on);
    found
        .iter()
        .map(|operation| describe(py, operation))
        .collect()
}

fn describe<'py>(py: Python<'py>, operation: &TracedOperation) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("op", operation.op)?;
    entry.set_item("line", &operation.line)?;
    let inputs: Vec<&str> = operation.inputs.iter().map(|dtype| dtype.name()).collect();
    entry.set_item("inputs", inputs)?;
    entry.set_item("compute", operation.compute.name())?;
    let accumulator = operation.accumulator.map(allotrope_dtype::DType::name);
    entry.set_item("accumulator", accumulator)?;
    entry.set_item("result", operation.result.name())?;
    entry.set_item("reason", &operation.reason)?;
    Ok(entry)
}

/// Adds the functions that `trace_dtypes` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let part = PyModule::new(module.py(), "_trace")?;
    part.add_function(wrap_pyfunction!(start, &part)?)?;
    part.add_function(wrap_pyfunction!(end, &part)?)?;
    module.add_submodule(&part)
}
