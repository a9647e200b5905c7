//! What stands in brackets.

use allotrope_dtype::{DType, WeakScalar};
use allotrope_op::Slice;
use allotrope_tensor::{Device, Index, Tensor};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySequence, PySlice, PyTuple};

use crate::arguments::{Clamped, Operand};
use crate::create;
use crate::error::{describe_int, is_refusal, raise, wrong_object};
use crate::tensor::{PyTensor, made, wrap};

const OP: &str = "index";

/// `tensor[key]`: a view, or with arrays among the key a copy.
pub(crate) fn get(object: &PyTensor, key: Operand) -> PyResult<PyTensor> {
    // The usual keys have no list of items.
    if let Some(item) = read_plain(key)?
        && let Some(view) = object.variable().index(&[item]).map_err(raise)?
    {
        return Ok(view.into());
    }
    let mut key = read_key(key)?;
    if key.iter().any(|item| matches!(item, Index::Array(_))) {
        let tensor = object.tensor();
        follow(&mut key, &tensor)?;
        return wrap(tensor.index(&key));
    }
    if let Some(view) = object.variable().index(&key).map_err(raise)? {
        return Ok(view.into());
    }
    object.see(|x| made(x.index(&key)))
}

/// Moves the arrays of a key that are on the CPU to the device of the tensor that it is for.
pub(crate) fn follow(key: &mut [Index], tensor: &Tensor) -> PyResult<()> {
    if tensor.is_device_free() {
        return Ok(());
    }
    for item in key {
        if let Index::Array(array) = item
            && array.device() == Device::cpu()
            && tensor.device() != Device::cpu()
        {
            *array = array.to_device(tensor.device()).map_err(raise)?;
        }
    }
    Ok(())
}

/// The items of a key.
pub(crate) fn read_key(key: Operand) -> PyResult<Vec<Index>> {
    match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|item| read(&item)).collect(),
        Err(_) => Ok(vec![read(key)?]),
    }
}

/// An int or a slice of ints, which run no code of Python's; a bool is no int of exactly this class.
fn read_plain(item: &Bound<'_, PyAny>) -> PyResult<Option<Index>> {
    if item.is_exact_instance_of::<PyInt>() {
        return Ok(item.extract().ok().map(Index::At));
    }
    match item.cast_exact::<PySlice>() {
        Ok(slice) => read_plain_slice(slice).map(|slice| slice.map(Index::Range)),
        Err(_) => Ok(None),
    }
}

fn read_plain_slice(slice: &Bound<'_, PySlice>) -> PyResult<Option<Slice>> {
    let py = slice.py();
    let mut bounds = [None; 3];
    let names = [
        intern!(py, "start"),
        intern!(py, "stop"),
        intern!(py, "step"),
    ];
    for (bound, name) in bounds.iter_mut().zip(names) {
        let given = slice.getattr(name)?;
        if given.is_exact_instance_of::<PyInt>()
            && let Ok(given) = given.extract()
        {
            *bound = Some(given);
        } else if !given.is_none() {
            return Ok(None);
        }
    }
    let [start, stop, step] = bounds;
    let step = step.unwrap_or(1);
    Ok(Some(Slice { start, stop, step }))
}

fn read(item: &Bound<'_, PyAny>) -> PyResult<Index> {
    // The usual items are asked for first.
    if let Some(item) = read_plain(item)? {
        return Ok(item);
    }
    if item.is_none() {
        return Ok(Index::NewAxis);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return read_slice(slice).map(Index::Range);
    }
    let py = item.py();
    // A bool is an int too, but as an index it means a mask.
    let is_array = item.is_instance_of::<PyList>() || item.is_instance_of::<PyBool>();
    if is_array || item.getattr_opt(intern!(py, "dtype"))?.is_some() {
        return read_array(item);
    }
    if item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyRange>() {
        return read_array(item.cast::<PySequence>()?.to_list()?.as_any());
    }
    if item.hasattr(intern!(py, "__index__"))? {
        let index = item.call_method0(intern!(py, "__index__"))?;
        return match index.extract::<isize>() {
            Ok(index) => Ok(Index::At(index)),
            Err(_) => {
                let index = describe_int(&index);
                Err(PyIndexError::new_err(format!(
                    "{OP}: index out of range: {index}; indices of a dimension are accepted"
                )))
            }
        };
    }
    Err(wrong_object(
        OP,
        "not an index",
        item,
        "integers, slices, None, ... and arrays of integers or bools",
    ))
}

/// An array or list of indices. A single integer is an index like any other.
fn read_array(item: &Bound<'_, PyAny>) -> PyResult<Index> {
    let array = create::tensor(item, None, None, false)?.tensor();
    // An empty list has no dtype of its own.
    let array = if array.count() == 0 && item.is_instance_of::<PyList>() {
        array.to(DType::I64).map_err(raise)?
    } else {
        array
    };
    if array.rank() > 0 || !array.dtype().is_integer() {
        return Ok(Index::Array(array));
    }
    match array.item().map_err(raise)?.value() {
        WeakScalar::Int(index) => {
            let index = isize::try_from(index);
            Ok(Index::At(index.unwrap_or(isize::MAX)))
        }
        _ => Ok(Index::Array(array)),
    }
}

fn read_slice(slice: &Bound<'_, PySlice>) -> PyResult<Slice> {
    let py = slice.py();
    let bound = |name| -> PyResult<Option<isize>> {
        let bound = slice.getattr(name)?;
        if bound.is_none() {
            return Ok(None);
        }
        let index =
            bound
                .call_method0(intern!(py, "__index__"))
                .map_err(|error| match is_refusal(py, &error) {
                    true => wrong_object(OP, "not a slice bound", &bound, "integers and None"),
                    false => error,
                })?;
        // Bounds beyond the ends are moved to them anyway.
        Ok(Some(index.extract::<Clamped>()?.0))
    };
    Ok(Slice {
        start: bound(intern!(py, "start"))?,
        stop: bound(intern!(py, "stop"))?,
        step: bound(intern!(py, "step"))?.unwrap_or(1),
    })
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
