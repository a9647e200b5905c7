//! Elements in order, and running totals.
//!
//! | file | what is in it |
//! |---|---|
//! | `scan` | running totals and extremes, differences, integrals |
//! | `sort` | sorted lines, and elements by their rank |
//! | `statistics` | sums without NaN, covariances, slopes |
//! | `distinct` | different elements |

mod distinct;
mod scan;
mod sort;
mod statistics;

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;
use pyo3::prelude::*;

use crate::interrupt::detach;
use crate::named::named;

/// Elements from which Python's lock is given to other threads meanwhile.
const RELEASE_FROM: usize = 32 << 10;

/// Adds the functions of the family.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    scan::register(module)?;
    sort::functions::register(module)?;
    statistics::register(module)?;
    distinct::functions::register(module)
}

/// Values and their places as a named tuple.
fn run_pair(
    py: Python<'_>,
    op: &'static str,
    x: &Tensor,
    work: impl FnOnce() -> Result<(Tensor, Tensor), Error> + Send,
) -> PyResult<Py<PyAny>> {
    let found = if x.count() > RELEASE_FROM {
        detach(py, work)
    } else {
        work()
    };
    let (values, indices) = found.map_err(crate::error::raise)?;
    named(py, op, [values, indices])
}
