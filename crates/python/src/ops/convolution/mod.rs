//! Windows over grids, as functions of `nn.functional`.
//!
//! | file | what is in it |
//! |---|---|
//! | `conv` | convolutions and their way back |
//! | `pool` | pooling and its way back |
//! | `resample` | grids of another size |
//! | `sample` | grids read at places of one's own, windows at random places |

mod conv;
mod pool;
mod resample;
mod sample;

use pyo3::prelude::*;

use crate::arguments::{Integers, integers, size};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Adds the functions that torch has in its package too.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    conv::register(module)?;
    pool::register(module)
}

/// Adds the functions of `nn.functional`.
pub(super) fn register_functional(module: &Bound<'_, PyModule>) -> PyResult<()> {
    conv::register(module)?;
    resample::register(module)?;
    sample::register(module)?;
    pool::register_functional(module)
}

/// Sizes from zero on, one or several.
fn sizes(op: &str, object: Any<'_, '_>) -> PyResult<Vec<usize>> {
    let sizes = integers(op, object).map(Integers::into_vec)?.into_iter();
    sizes.map(|given| size(op, given)).collect()
}

/// Sizes, or none of them.
fn sizes_or_none(op: &str, object: Option<Any<'_, '_>>) -> PyResult<Vec<usize>> {
    match object.filter(|object| !object.is_none()) {
        Some(object) => sizes(op, object),
        None => Ok(Vec::new()),
    }
}
