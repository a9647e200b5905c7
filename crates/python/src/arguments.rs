//! Integers, sizes and synonyms among the arguments of Python's functions.

use allotrope_dtype::DType;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::error::{describe, raise, wrong_object};
use crate::tensor::as_tensor;

/// An integer, and beyond the range of one the nearest: what is out of range is said where the
/// range is known. A bool is none, although Python's is an int: `std(False)` means something else.
#[derive(Clone, Copy)]
pub(crate) struct Int(pub(crate) isize);

impl<'a, 'py> FromPyObject<'a, 'py> for Int {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(
                "not an integer: a bool; integers are accepted",
            ));
        }
        match object.extract::<isize>() {
            Ok(integer) => Ok(Self(integer)),
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                let index = object.call_method0(intern!(py, "__index__"))?;
                Ok(Self(if index.lt(0)? { isize::MIN } else { isize::MAX }))
            }
            Err(error) if object.hasattr(intern!(py, "__index__"))? => Err(error),
            // A note says which argument it is.
            Err(_) => Err(PyTypeError::new_err(format!(
                "not an integer: {}; integers are accepted",
                describe(&object)
            ))),
        }
    }
}

/// One integer, or several.
pub(crate) enum Integers {
    One(isize),
    Several(Vec<isize>),
}

impl Integers {
    pub(crate) fn into_vec(self) -> Vec<isize> {
        match self {
            Self::One(integer) => vec![integer],
            Self::Several(integers) => integers,
        }
    }
}

/// An integer, a sequence of them, or a tensor of them.
pub(crate) fn integers(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Integers> {
    // A tensor of one dimension is several integers, also if it has a single element.
    let tensor = as_tensor(object).filter(|tensor| tensor.rank() > 0);
    if let (None, Ok(Int(integer))) = (&tensor, object.extract::<Int>()) {
        return Ok(Integers::One(integer));
    }
    if let Some(tensor) = tensor.filter(|tensor| tensor.dtype().is_integer()) {
        let integers = tensor
            .to(DType::I64)
            .and_then(|tensor| tensor.to_vec::<i64>());
        let integers = integers.map_err(raise)?.into_iter();
        return Ok(Integers::Several(integers.map(|i| i as isize).collect()));
    }
    match object.extract::<Vec<Int>>() {
        Ok(integers) => Ok(Integers::Several(
            integers.into_iter().map(|Int(i)| i).collect(),
        )),
        Err(_) => Err(wrong_object(
            op,
            "not an integer",
            object,
            "integers and sequences of them",
        )),
    }
}

/// Integers given as arguments, as one sequence, or as a keyword: `reshape(2, 3)`,
/// `reshape((2, 3))` or `reshape(shape=(2, 3))`.
pub(crate) fn spread(
    op: &str,
    arguments: &Bound<'_, PyTuple>,
    keyword: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<isize>> {
    match (arguments.len(), keyword) {
        (0, Some(keyword)) => integers(op, keyword).map(Integers::into_vec),
        (_, Some(_)) => Err(given_twice(op)),
        (1, None) => integers(op, &arguments.get_item(0)?).map(Integers::into_vec),
        (_, None) => integers(op, arguments).map(Integers::into_vec),
    }
}

/// One of two spellings of the same argument.
pub(crate) fn either<T>(op: &str, one: Option<T>, other: Option<T>) -> PyResult<Option<T>> {
    match (one, other) {
        (Some(_), Some(_)) => Err(given_twice(op)),
        (one, other) => Ok(one.or(other)),
    }
}

/// An argument without a default, by one of its names.
pub(crate) fn one_of<'a, 'py>(
    op: &str,
    name: &str,
    spellings: &[Option<&'a Bound<'py, PyAny>>],
) -> PyResult<&'a Bound<'py, PyAny>> {
    let mut spellings = spellings.iter().copied();
    let given = spellings.try_fold(None, |given, other| either(op, given, other))?;
    needed(op, name, given)
}

/// A dimension, by torch's name or by NumPy's.
pub(crate) fn axis(op: &str, dim: Option<Int>, axis: Option<Int>) -> PyResult<isize> {
    needed(op, "dim", either(op, dim, axis)?).map(|Int(axis)| axis)
}

/// A dimension that has a default.
pub(crate) fn axis_or(
    op: &str,
    dim: Option<Int>,
    axis: Option<Int>,
    default: isize,
) -> PyResult<isize> {
    Ok(either(op, dim, axis)?.map_or(default, |Int(axis)| axis))
}

/// An argument that has no default.
pub(crate) fn needed<T>(op: &str, name: &str, value: Option<T>) -> PyResult<T> {
    value.ok_or_else(|| PyTypeError::new_err(format!("{op}: {name} is missing")))
}

/// The same argument in two places or spellings.
#[cold]
fn given_twice(op: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{op}: an argument is given twice; one spelling of it is accepted"
    ))
}

/// A size from zero on.
pub(crate) fn size(op: &str, size: isize) -> PyResult<usize> {
    usize::try_from(size).map_err(|_| {
        PyValueError::new_err(format!("{op}: negative size: {size}; sizes start at 0"))
    })
}

/// Sizes of a new tensor, given as arguments, as one sequence, or as a keyword.
pub(crate) fn sizes(
    op: &str,
    arguments: &Bound<'_, PyTuple>,
    keyword: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<usize>> {
    let sizes = spread(op, arguments, keyword)?.into_iter();
    sizes.map(|given| size(op, given)).collect()
}
