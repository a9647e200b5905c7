//! Conversion of NumPy arrays.

use allotrope_dtype::{
    Capabilities, CastOptions, Error, Overflow, Rounding, cast_bytes, default_dtype,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyModule, PyTuple};

use crate::convert::{self, Numeric};
use crate::dtype::wrap;
use crate::error::{raise, wrong_object};
use crate::numpy;

const OP: &str = "cast";

/// A new NumPy array with the values of another, converted to a dtype or family.
///
/// rounding is "nearest", "zero" or "stochastic" (with a seed); overflow is "saturate", "wrap",
/// "raise", "ieee" or None: floats saturate to integers, integers wrap, float8_e4m3fn saturates,
/// and other floats go to infinity. Each value is rounded once.
///
/// >>> al.cast(numpy.array([2.9, 300.0]), al.uint8).tolist()
/// [2, 255]
#[pyfunction]
#[pyo3(signature = (array, dtype, rounding="nearest", overflow=None, seed=0))]
pub(crate) fn cast<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
    rounding: &str,
    overflow: Option<&str>,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let in_op = |error: Error| raise(error.in_op(OP));
    let not_array = || wrong_object(OP, "not an array", array, "NumPy arrays and scalars");
    let source = numpy::read(OP, array, None)?.ok_or_else(not_array)?;
    let from = source.dtype();
    let to = match convert::to_numeric(OP, dtype)? {
        Numeric::Exact(dtype) => dtype,
        Numeric::Family(family) => family.resolve(Some(from), default_dtype(), &Capabilities::CPU),
    };
    let options = CastOptions {
        rounding: Rounding::parse(rounding, seed).map_err(in_op)?,
        overflow: overflow
            .map(str::parse::<Overflow>)
            .transpose()
            .map_err(in_op)?,
    };
    let source = py.detach(|| source.contiguous()).map_err(in_op)?;
    let bytes = source.contiguous_bytes().unwrap_or_default();
    let room = source.count().checked_mul(to.itemsize());
    let room = room.ok_or_else(|| PyMemoryError::new_err(()))?;
    // An empty bytearray has no aligned address, so it is never asked for.
    let target = PyByteArray::new_with(py, room.max(1), |target| {
        let target = target.get_mut(..room).unwrap_or_default();
        py.detach(|| cast_bytes(from, bytes, to, target, options))
            .map_err(in_op)
    })?;
    let arguments = PyDict::new(py);
    arguments.set_item(intern!(py, "dtype"), wrap(py, to)?.get().numpy_dtype(py)?)?;
    arguments.set_item(intern!(py, "buffer"), target)?;
    PyModule::import(py, intern!(py, "numpy"))?.call_method(
        intern!(py, "ndarray"),
        (PyTuple::new(py, source.shape().iter())?,),
        Some(&arguments),
    )
}
