//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `movement` | elements that change places |
//! | `fft` | Fourier transforms |
//! | `linalg/` | linear algebra |

mod fft;
mod linalg;
mod movement;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fft::register(module)?;
    linalg::register(module)?;
    movement::register(module)
}

/// A module within the extension, which Python can import from.
fn submodule<'py>(core: &Bound<'py, PyModule>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    let module = PyModule::new(core.py(), name)?;
    // An attribute, not an export: the package has a file of the same name.
    core.setattr(name, &module)?;
    let known = PyModule::import(core.py(), "sys")?.getattr("modules")?;
    known.set_item(format!("allotrope._core.{name}"), &module)?;
    Ok(module)
}
