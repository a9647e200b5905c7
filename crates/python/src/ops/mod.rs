//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `activation` | elementwise activations with the signatures of `nn.functional` |
//! | `convolution/` | windows over grids |
//! | `fft` | Fourier transforms |
//! | `indexing/` | elements chosen by indices and masks |
//! | `linalg/` | linear algebra |
//! | `loss` | losses |
//! | `matrix` | matrix products |
//! | `movement` | elements that change places |
//! | `neural` | softmax, normalisation, distances, dropout |
//! | `order` | elements in order, and running totals |
//! | `sequence` | `ctc_loss` and others beside the tables of layers and losses |
//! | `signal` | transforms of short windows, and windows |
//! | `special` | special functions that are compositions |
//! | `sums` | tensors plus products |

mod activation;
mod convolution;
mod fft;
pub(crate) mod indexing;
pub(crate) mod linalg;
mod loss;
mod matrix;
mod movement;
mod neural;
mod order;
mod sequence;
mod signal;
mod special;
mod sums;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    convolution::register(module)?;
    matrix::register(module)?;
    movement::register(module)?;
    indexing::register(module)?;
    neural::register(module)?;
    order::register(module)?;
    sequence::register(module)?;
    signal::register(module)?;
    special::register(module)?;
    sums::functions::register(module)?;
    fft::register(&add_namespace(module, "fft")?)?;
    linalg::register_plain(module)?;
    linalg::register(&add_namespace(module, "linalg")?)?;
    register_functional(&add_namespace(module, "nn.functional")?)
}

/// Adds the functions of `allotrope.nn.functional`, which re-exports all that is here.
fn register_functional(functional: &Bound<'_, PyModule>) -> PyResult<()> {
    activation::register(functional)?;
    convolution::register_functional(functional)?;
    indexing::register_functional(functional)?;
    movement::functional::register(functional)?;
    neural::register_functional(functional)?;
    loss::register(functional)?;
    sequence::register_functional(functional)?;
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
