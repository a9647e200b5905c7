//! Structured operations: extract, call, wrap.
//!
//! | file | what is in it |
//! |---|---|
//! | `movement` | elements that change places |
//! | `order` | elements in order, and running totals |

mod movement;
mod order;

use pyo3::prelude::*;

/// Adds the functions of every family.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    movement::register(module)?;
    order::register(module)
}
