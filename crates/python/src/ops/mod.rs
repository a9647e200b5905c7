//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `movement` | elements that change places |
//! | `indexing/` | elements chosen by indices and masks |

pub(crate) mod indexing;
mod movement;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    movement::register(module)?;
    indexing::register(module)
}

/// A module within the module, made when it is first asked for. It is not among the names that a
/// star imports: a Python file gives them their place.
pub(crate) fn submodule<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
) -> PyResult<Bound<'py, PyModule>> {
    if let Some(found) = module.getattr_opt(name)? {
        return Ok(found.cast_into()?);
    }
    let made = PyModule::new(module.py(), name)?;
    module.setattr(name, &made)?;
    Ok(made)
}
