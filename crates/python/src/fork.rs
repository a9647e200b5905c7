//! What Python does around a fork: no other thread holds a lock of a variable or generator then.

use allotrope_tensor::{after_fork, before_fork};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pyfunction]
fn _before_fork(py: Python<'_>) {
    // Others may need the interpreter before they let go.
    py.detach(before_fork);
}

#[pyfunction]
fn _after_fork_in_parent() {
    after_fork(false);
}

#[pyfunction]
fn _after_fork_in_child() {
    after_fork(true);
}

/// Has Python call these, where processes fork.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let os = module.py().import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let calls = PyDict::new(module.py());
    calls.set_item("before", wrap_pyfunction!(_before_fork, module)?)?;
    let after = wrap_pyfunction!(_after_fork_in_parent, module)?;
    calls.set_item("after_in_parent", after)?;
    let after = wrap_pyfunction!(_after_fork_in_child, module)?;
    calls.set_item("after_in_child", after)?;
    os.call_method("register_at_fork", (), Some(&calls))?;
    Ok(())
}
