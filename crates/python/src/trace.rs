//! Which dtypes operations compute in and why: the core of `trace_dtypes`.

use allotrope_tensor::{Trace, TracedOperation};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scopes;

/// A list that operations are recorded in.
#[pyclass(module = "allotrope", frozen)]
struct Recorder(Trace);

#[pymethods]
impl Recorder {
    /// What was recorded so far.
    fn operations<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.0.operations();
        found
            .iter()
            .map(|operation| describe(py, operation))
            .collect()
    }
}

/// Opens a scope whose operations are recorded: its number, and the list.
#[pyfunction]
fn enter(py: Python<'_>) -> PyResult<(u64, Recorder)> {
    let trace = Trace::default();
    let id = scopes::change(py, |scopes| Ok(scopes.traces.enter(trace.clone())))?;
    Ok((id.to_bits(), Recorder(trace)))
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
    let hosted = operation.hosted.map(|device| device.to_string());
    entry.set_item("hosted", hosted)?;
    Ok(entry)
}

/// Adds the functions that `trace_dtypes` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let part = PyModule::new(module.py(), "_trace")?;
    part.add_function(wrap_pyfunction!(enter, &part)?)?;
    module.add_submodule(&part)
}
