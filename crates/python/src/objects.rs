//! Python's objects as many as data has, made fallibly: pyo3 panics where the interpreter has no memory
//! for a list, a tuple or a number.
#![allow(unsafe_code, reason = "functions of the interpreter that give null")]

use std::ffi::c_char;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// What a function of the interpreter has made, or the exception that it has set. It is called once
/// more where memory that waits for reuse may be what is missing.
///
/// # Safety
/// `make` gives a new reference, or null with an exception set.
unsafe fn owned(
    py: Python<'_>,
    make: impl Fn() -> *mut ffi::PyObject,
) -> PyResult<Bound<'_, PyAny>> {
    let mut object = make();
    if object.is_null() {
        let error = PyErr::fetch(py);
        if !error.is_instance_of::<PyMemoryError>(py) {
            return Err(error);
        }
        allotrope_cpu::release_kept();
        object = make();
    }
    // SAFETY: as promised to this function.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// An int.
pub(crate) fn signed(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyLong_FromLongLong(value) };
    // SAFETY: what is made is new, or null with an exception set.
    unsafe { owned(py, make) }
}

/// An int that is not negative.
pub(crate) fn unsigned(py: Python<'_>, value: u64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyLong_FromUnsignedLongLong(value) };
    // SAFETY: what is made is new, or null with an exception set.
    unsafe { owned(py, make) }
}

/// A float.
pub(crate) fn float(py: Python<'_>, value: f64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyFloat_FromDouble(value) };
    // SAFETY: what is made is new, or null with an exception set.
    unsafe { owned(py, make) }
}

/// A complex number.
pub(crate) fn complex(py: Python<'_>, re: f64, im: f64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyComplex_FromDoubles(re, im) };
    // SAFETY: what is made is new, or null with an exception set.
    unsafe { owned(py, make) }
}

/// A str.
pub(crate) fn text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let start = text.as_ptr().cast::<c_char>();
    let length = text.len() as ffi::Py_ssize_t;
    // SAFETY: as many bytes of UTF-8, of which a new object or null is made.
    let make = || unsafe { ffi::PyUnicode_FromStringAndSize(start, length) };
    // SAFETY: what is made is new, or null with an exception set.
    unsafe { owned(py, make) }
}

/// bytes with the same bytes.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let start = bytes.as_ptr().cast::<c_char>();
    let length = bytes.len() as ffi::Py_ssize_t;
    // SAFETY: as many bytes, of which a new object or null is made.
    let make = || unsafe { ffi::PyBytes_FromStringAndSize(start, length) };
    // SAFETY: what is made is new, or null with an exception set.
    let made = unsafe { owned(py, make) }?;
    Ok(made.cast_into()?)
}

/// A list of so many items, made in order.
pub(crate) fn list<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    let length = items.len() as ffi::Py_ssize_t;
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyList_New(length) };
    // SAFETY: what is made is new, or null with an exception set.
    let list = unsafe { owned(py, make) }?;
    // A list with places that are not filled yet may be dropped.
    for (place, item) in (0..length).zip(items) {
        // SAFETY: the place is one of the list, and the item is given away.
        unsafe { ffi::PyList_SetItem(list.as_ptr(), place, item?.into_ptr()) };
    }
    Ok(list.cast_into()?)
}

/// A tuple of so many items, made in order.
pub(crate) fn tuple<'py>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let length = items.len() as ffi::Py_ssize_t;
    // SAFETY: gives a new reference or null.
    let make = || unsafe { ffi::PyTuple_New(length) };
    // SAFETY: what is made is new, or null with an exception set.
    let tuple = unsafe { owned(py, make) }?;
    for (place, item) in (0..length).zip(items) {
        // SAFETY: the place is one of a tuple that nobody else has, and the item is given away.
        unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), place, item?.into_ptr()) };
    }
    Ok(tuple.cast_into()?)
}

/// The MemoryError with a message, or without one where there is no memory for it either.
#[cold]
pub(crate) fn memory_error(message: &str) -> PyErr {
    Python::attach(|py| {
        let made = text(py, message).and_then(|text| py.get_type::<PyMemoryError>().call1((text,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}
