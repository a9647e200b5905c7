//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `movement` | elements that change places |

mod movement;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    movement::register(module)?;
    let functional = submodule(module, "functional")?;
    movement::functional::register(&functional)
}

/// The module of a name within another. It is not among what the outer one exports: a Python file
/// gives it its place.
pub(crate) fn submodule<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
) -> PyResult<Bound<'py, PyModule>> {
    if let Some(existing) = module.getattr_opt(name)? {
        return Ok(existing.cast_into()?);
    }
    let inner = PyModule::new(module.py(), name)?;
    module.setattr(name, &inner)?;
    Ok(inner)
}
