//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `activation` | elementwise activations with the signatures of `nn.functional` |
//! | `convolution/` | windows over grids |
//! | `fft` | Fourier transforms |
//! | `indexing/` | elements chosen by indices and masks |
//! | `movement` | elements that change places |

mod activation;
mod convolution;
mod fft;
pub(crate) mod indexing;
mod movement;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    convolution::register(module)?;
    movement::register(module)?;
    indexing::register(module)?;
    fft::register(&add_namespace(module, "fft")?)?;
    register_functional(&add_namespace(module, "nn.functional")?)
}

/// Adds the functions of `allotrope.nn.functional`, which re-exports all that is here.
fn register_functional(functional: &Bound<'_, PyModule>) -> PyResult<()> {
    activation::register(functional)?;
    convolution::register_functional(functional)?;
    indexing::register_functional(functional)
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
