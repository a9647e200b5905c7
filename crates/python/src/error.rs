//! THE table from error kinds to Python exceptions, and the refusals that only Python can cause.

use std::io;

use crate::arguments::Operand;
use allotrope_dtype::{Error, ErrorKind, Problem};
use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyFileNotFoundError, PyImportError, PyIndexError,
    PyIsADirectoryError, PyNotADirectoryError, PyOSError, PyOverflowError, PyPermissionError,
    PyRuntimeError, PyTypeError, PyValueError, PyZeroDivisionError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// The Python exception of an error.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    if let Some(raised) = crate::autograd::raised_by_callback(&error) {
        return raised;
    }
    let message = cut(error.to_string());
    match error.kind() {
        ErrorKind::Dtype => PyTypeError::new_err(message),
        ErrorKind::Value => PyValueError::new_err(message),
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::Overflow => PyOverflowError::new_err(message),
        ErrorKind::ZeroDivision => PyZeroDivisionError::new_err(message),
        ErrorKind::Memory => crate::objects::memory_error(&message),
        ErrorKind::Device | ErrorKind::Gradient | ErrorKind::Other => {
            PyRuntimeError::new_err(message)
        }
        ErrorKind::File => match error.problem() {
            Problem::FileAccess { cause, .. } => match cause {
                io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
                io::ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
                io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
                io::ErrorKind::NotADirectory => PyNotADirectoryError::new_err(message),
                _ => PyOSError::new_err(message),
            },
            _ => PyOSError::new_err(message),
        },
        ErrorKind::LinearAlgebra => Python::attach(|py| match linear_algebra_error(py) {
            Ok(class) => PyErr::from_type(class, message),
            Err(error) => error,
        }),
    }
}

/// The class `LinAlgError`: a `RuntimeError` as torch's, and a `ValueError` as NumPy's.
pub(crate) fn linear_algebra_error(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let bases = (
            py.get_type::<PyValueError>(),
            py.get_type::<PyRuntimeError>(),
        );
        let members = PyDict::new(py);
        members.set_item("__module__", "allotrope.linalg")?;
        let doc = "A matrix without an answer: singular, not positive definite, not finite.\n\n\
            >>> try:\n\
            ...     al.linalg.inv(al.zeros(2, 2))\n\
            ... except al.linalg.LinAlgError as error:\n\
            ...     print('singular')\n\
            singular";
        members.set_item("__doc__", doc)?;
        let class = py
            .get_type::<PyType>()
            .call1(("LinAlgError", bases, members))?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py).clone())
}

/// Whether an object refused to be an integer; anything else went wrong on the way, and is told as it is.
pub(crate) fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyAttributeError>(py)
}

/// An object of a type that has no meaning here.
#[cold]
pub(crate) fn wrong_object(
    op: &str,
    what: &str,
    given: &Bound<'_, PyAny>,
    accepted: &str,
) -> PyErr {
    let given = describe(given);
    PyTypeError::new_err(format!("{op}: {what}: {given}; accepted are {accepted}"))
}

/// A NumPy dtype whose bytes are in the other order.
#[cold]
pub(crate) fn foreign_byte_order(op: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let given = describe(given);
    PyTypeError::new_err(format!(
        "{op}: byte order is not the machine's: {given}; native order is accepted \
         (hint: x.astype(x.dtype.newbyteorder('=')))"
    ))
}

/// A package that a dtype's NumPy form needs.
#[cold]
pub(crate) fn missing_package(op: &str, package: &str, needed_by: &str) -> PyErr {
    PyImportError::new_err(format!(
        "{op}: package not installed: {package}; {needed_by} needs it (hint: pip install {package})"
    ))
}

/// A tensor that cannot be handed out as asked; the protocols name this exception.
#[cold]
pub(crate) fn refused_export(op: &str, what: &str, given: &str, accepted: &str) -> PyErr {
    PyBufferError::new_err(format!("{op}: {what}: {given}; {accepted}"))
}

/// A capsule that cannot be read.
#[cold]
pub(crate) fn unusable_capsule(op: &str, what: &str, given: &str, accepted: &str) -> PyErr {
    PyValueError::new_err(format!("{op}: {what}: {given}; {accepted}"))
}

/// Lists within lists beyond any tensor's dimensions.
#[cold]
pub(crate) fn nested_too_deeply(op: &str, limit: usize) -> PyErr {
    PyValueError::new_err(format!(
        "{op}: lists nested too deeply; {limit} levels are accepted"
    ))
}

/// A scope that ends where it did not begin.
#[cold]
pub(crate) fn scope_not_entered(op: &str) -> PyErr {
    PyRuntimeError::new_err(format!("{op}: this scope was not entered on this thread"))
}

/// A message without the middle of what is too long to be read, such as a path of many pages.
pub(crate) fn cut(message: String) -> String {
    const LONGEST: usize = 1500;
    const END: usize = 300;
    let count = message.chars().count();
    if count <= LONGEST {
        return message;
    }
    let start: String = message.chars().take(LONGEST - END).collect();
    let end: String = message.chars().skip(count - END).collect();
    let left_out = count - LONGEST;
    format!("{start} […{left_out} characters…] {end}")
}

/// An int: its digits if they are few, else its length.
pub(crate) fn describe_int(value: Operand) -> String {
    let bits = value
        .call_method0("bit_length")
        .and_then(|bits| bits.extract::<u64>());
    match (bits, value.str()) {
        (Ok(bits), _) if bits > 256 => format!("an int of {bits} bits"),
        (_, Ok(digits)) => cut(digits.to_string_lossy().into_owned()),
        _ => "an int".to_owned(),
    }
}

/// An object by its repr, cut to a length that fits a message, and its type.
pub(crate) fn describe(object: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    let class = object.get_type();
    let class = class
        .qualname()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let Ok(repr) = object
        .repr()
        .map(|repr| repr.to_string_lossy().into_owned())
    else {
        return format!("an object of type {class}");
    };
    if repr.contains('\n') || repr.chars().count() > LONGEST {
        format!("an object of type {class}")
    } else {
        format!("{repr} of type {class}")
    }
}
