//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `matrix` | matrix products |
//! | `movement` | elements that change places |
//! | `activation` | elementwise activations with the signatures of `nn.functional` |

mod activation;
mod matrix;
mod movement;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    matrix::register(module)?;
    movement::register(module)?;
    register_functional(&add_namespace(module, "nn.functional")?)
}

/// Adds the functions of `allotrope.nn.functional`, which re-exports all that is here.
fn register_functional(functional: &Bound<'_, PyModule>) -> PyResult<()> {
    activation::register(functional)?;
    matrix::register_functional(functional)
}

/// A module for the functions of a module of the package; its last name is an attribute of `_core`
/// that the package does not export.
fn add_namespace<'py>(
    core: &Bound<'py, PyModule>,
    path: &'static str,
) -> PyResult<Bound<'py, PyModule>> {
    let namespace = PyModule::new(core.py(), &format!("allotrope.{path}"))?;
    let name = path.rsplit('.').next().unwrap_or(path);
    core.setattr(name, &namespace)?;
    Ok(namespace)
}
