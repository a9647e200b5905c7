//! What stands in brackets, and sizes given one by one or as a sequence.

use allotrope_op::Slice;
use allotrope_tensor::Tensor;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};

use crate::error::{raise, wrong_object};

const OP: &str = "index";

/// One item between brackets.
enum Item {
    /// One index: the dimension disappears.
    At(isize),
    /// A range.
    Range(Slice),
    /// A new dimension of size one.
    NewAxis,
    /// As many whole dimensions as are left.
    Ellipsis,
}

/// `tensor[key]` for integers, slices, None and `...`.
pub(crate) fn get(tensor: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let items = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple
            .iter()
            .map(|item| read(&item))
            .collect::<PyResult<Vec<Item>>>()?,
        Err(_) => vec![read(key)?],
    };
    let used = items
        .iter()
        .filter(|item| matches!(item, Item::At(_) | Item::Range(_)))
        .count();
    let ellipses = items
        .iter()
        .filter(|item| matches!(item, Item::Ellipsis))
        .count();
    if ellipses > 1 {
        return Err(PyIndexError::new_err(
            "index: more than one ellipsis; one is accepted",
        ));
    }
    let rank = tensor.rank();
    let Some(left) = rank.checked_sub(used) else {
        let message = format!("index: too many indices: {used}; the tensor has {rank} dimensions");
        return Err(PyIndexError::new_err(message));
    };
    let mut view = tensor.clone();
    let mut dim = 0;
    for item in items {
        view = match item {
            Item::At(index) => view.select(dim, index),
            Item::Range(slice) => {
                dim += 1;
                view.slice(dim - 1, slice)
            }
            Item::NewAxis => {
                dim += 1;
                view.unsqueeze(dim - 1)
            }
            Item::Ellipsis => {
                dim += left as isize;
                Ok(view)
            }
        }
        .map_err(|error| raise(error.in_op(OP)))?;
    }
    Ok(view)
}

fn read(item: &Bound<'_, PyAny>) -> PyResult<Item> {
    if item.is_none() {
        return Ok(Item::NewAxis);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Item::Ellipsis);
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return read_slice(slice).map(Item::Range);
    }
    let py = item.py();
    // A bool is an int too, but as an index it means a mask.
    if !item.is_instance_of::<PyBool>() && item.hasattr(intern!(py, "__index__"))? {
        let index = item.call_method0(intern!(py, "__index__"))?;
        return match index.extract::<isize>() {
            Ok(index) => Ok(Item::At(index)),
            Err(_) => Err(PyIndexError::new_err(format!(
                "index: index out of range: {index}"
            ))),
        };
    }
    Err(wrong_object(
        OP,
        "not an index",
        item,
        "integers, slices, None and ...",
    ))
}

fn read_slice(slice: &Bound<'_, PySlice>) -> PyResult<Slice> {
    let py = slice.py();
    let bound = |name| -> PyResult<Option<isize>> {
        let bound = slice.getattr(name)?;
        if bound.is_none() {
            return Ok(None);
        }
        let index = bound
            .call_method0(intern!(py, "__index__"))
            .map_err(|_| wrong_object(OP, "not a slice bound", &bound, "integers and None"))?;
        // Bounds beyond the ends are moved to them anyway.
        let clamped = index.extract::<isize>();
        Ok(Some(clamped.unwrap_or(if index.lt(0)? {
            isize::MIN
        } else {
            isize::MAX
        })))
    };
    Ok(Slice {
        start: bound(intern!(py, "start"))?,
        stop: bound(intern!(py, "stop"))?,
        step: bound(intern!(py, "step"))?.unwrap_or(1),
    })
}

/// Numbers given as arguments or as one sequence: `reshape(2, 3)` or `reshape((2, 3))`.
pub(crate) fn spread<'py, T>(op: &str, arguments: &Bound<'py, PyTuple>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let refuse = |given: &Bound<'py, PyAny>| wrong_object(op, "not sizes", given, "integers");
    if arguments.len() == 1 {
        let only = arguments.get_item(0)?;
        if let Ok(sequence) = only.extract::<Vec<T>>() {
            return Ok(sequence);
        }
    }
    arguments
        .extract::<Vec<T>>()
        .map_err(|_| refuse(arguments.as_any()))
}

/// A size below zero.
#[cold]
pub(crate) fn negative_size(op: &str, size: isize) -> PyErr {
    PyValueError::new_err(format!("{op}: negative size: {size}; sizes start at 0"))
}

/// Sizes of a new tensor.
pub(crate) fn sizes(op: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<usize>> {
    spread::<isize>(op, arguments)?
        .into_iter()
        .map(|size| usize::try_from(size).map_err(|_| negative_size(op, size)))
        .collect()
}

/// Arguments that are not of a kind.
#[cold]
pub(crate) fn ragged(op: &str, expected: usize, found: usize) -> PyErr {
    PyValueError::new_err(format!(
        "{op}: lists of different lengths: {expected} and {found}; all must be equal"
    ))
}

/// A number where a list was expected, or a list where a number was.
#[cold]
pub(crate) fn mixed(op: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{op}: numbers and lists side by side; one or the other is accepted"
    ))
}
