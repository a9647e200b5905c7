//! Which dtypes operations compute in and why: the core of `trace_dtypes`.

use allotrope_tensor::{Trace, TracedOperation, Variable};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scopes;
use crate::tensor::PyTensor;

/// A list that operations are recorded in.
#[pyclass(module = "allotrope", frozen)]
struct Recorder(Trace);

#[pymethods]
impl Recorder {
    /// Takes what was recorded so far out of the list, each with its result, or None where that is not
    /// kept or not known.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyDict>, Option<PyTensor>)>> {
        let found = self.0.take().into_iter();
        // As variables: a value that is read is no result of an operation.
        found
            .map(|(operation, value)| {
                let value = value.map(|value| PyTensor::from(Variable::new(value)));
                Ok((describe(py, &operation)?, value))
            })
            .collect()
    }

    /// What was recorded so far.
    fn operations<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.0.operations();
        found
            .iter()
            .map(|operation| describe(py, operation))
            .collect()
    }
}

/// Opens a scope whose operations are recorded, with their results if asked for: its number, and the list.
#[pyfunction]
#[pyo3(signature = (values=false))]
fn enter(py: Python<'_>, values: bool) -> PyResult<(u64, Recorder)> {
    let trace = if values {
        Trace::with_values()
    } else {
        Trace::default()
    };
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
