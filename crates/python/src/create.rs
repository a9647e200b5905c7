//! Tensors from numbers, lists and arrays.

use allotrope_cpu::memory::try_reserve;
use allotrope_dtype::{DType, Error, Numeric, Problem, Scalar, ScalarKind, Set, WeakScalar, c128};
use allotrope_tensor::{Options, Tensor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyRange, PyTuple, PyType};

use crate::arguments::{DTypeOrFamily, Data};
use crate::convert;
use crate::device::{device_named, device_or_default};
use crate::error::{describe_int, nested_too_deeply, raise, wrong_object};
use crate::index::{mixed, ragged};
use crate::infer::DEEPEST;
use crate::interchange::{self, convert_data};
use crate::operand::is_beyond;
use crate::scopes::default_dtype;
use crate::tensor::{PyTensor, as_tensor, wrap};

/// What was asked for: an exact dtype, or a family's for the data's dtype and the device; None is the
/// data's own.
///
/// `data` is only asked where it matters, and answers None where there is nothing to follow.
pub(crate) fn resolve(
    op: &'static str,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    data: impl FnOnce() -> PyResult<Option<DType>>,
) -> PyResult<Options> {
    let device = device_or_default(op, device)?;
    let Some(dtype) = dtype else {
        let dtype = data()?.unwrap_or_else(default_dtype);
        return Ok(Options::new(dtype, device));
    };
    let numeric = convert::to_numeric(op, dtype)?;
    let data = match numeric {
        Numeric::Exact(_) => None,
        Numeric::Family(_) => data()?,
    };
    Ok(Options::of_data(numeric, data, device))
}

/// The same for a tensor like another: with its dtype and on its device, if nothing else is said.
pub(crate) fn resolve_like(
    op: &'static str,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    like: &Tensor,
) -> PyResult<Options> {
    let device = match device {
        Some(device) => device_named(op, device)?,
        None => like.device(),
    };
    let numeric = dtype.map(|dtype| convert::to_numeric(op, dtype));
    let numeric = numeric.transpose()?.unwrap_or_else(|| like.numeric());
    let data = like.width().unwrap_or(like.dtype());
    Ok(Options::of_data(numeric, Some(data), device))
}

/// A tensor that was made on the CPU, where and as it was asked for.
pub(crate) fn placed(
    op: &'static str,
    made: Result<Tensor, Error>,
    options: Options,
) -> PyResult<Tensor> {
    let placed = made.and_then(|made| options.place(made));
    placed.map_err(|error| raise(error.in_op(op)))
}

/// A new tensor with a copy of numbers, nested lists, a NumPy array or another tensor.
///
/// >>> al.tensor([[1, 2.5], [True, 4]])
/// tensor([[1.0000, 2.5000],
///         [1.0000, 4.0000]])
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None, requires_grad=false))]
pub(crate) fn tensor(
    data: Data,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let tensor = convert_data("tensor", data, dtype, device, Some(true))?;
    as_leaf(Ok(tensor.tensor().detach().into()), requires_grad)
}

/// A new tensor that requires a gradient, if it is to.
pub(crate) fn as_leaf(tensor: PyResult<PyTensor>, requires_grad: bool) -> PyResult<PyTensor> {
    match tensor {
        Ok(tensor) if requires_grad => wrap(tensor.tensor().requires_grad_(true)),
        other => other,
    }
}

/// A tensor as it is, or a new one with a copy of anything else that has numbers.
pub(crate) fn operand(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    match as_tensor(object) {
        Some(tensor) => Ok(tensor),
        // What is no tensor belongs to no device.
        None => {
            let tensor = convert_data(op, object, None, Some("cpu"), Some(true))?;
            Ok(tensor.tensor().with_device_free(true))
        }
    }
}

/// A Python number, or the value of a tensor or NumPy scalar.
pub(crate) fn number(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<WeakScalar> {
    if let Some(tensor) = as_tensor(object) {
        let item = tensor.item().map_err(|error| raise(error.in_op(op)))?;
        return Ok(item.value());
    }
    let item = match object.getattr_opt(intern!(object.py(), "item"))? {
        Some(item) => item.call0()?,
        None => object.clone(),
    };
    read_number(op, &item)
}

/// A Python number that is to have a dtype: an int beyond 128 bits is a float where one is wanted.
pub(crate) fn number_of(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    dtype: DType,
) -> PyResult<WeakScalar> {
    widen(op, number(op, object)?, object, dtype)
}

/// A number with the value that it has for a dtype, if it stands for an int beyond 128 bits.
pub(crate) fn widen(
    op: &'static str,
    value: WeakScalar,
    object: &Bound<'_, PyAny>,
    dtype: DType,
) -> PyResult<WeakScalar> {
    if !is_beyond(value) {
        return Ok(value);
    }
    if Set::Inexact.contains(dtype) {
        return object.extract().map(WeakScalar::Float);
    }
    if !dtype.is_integer() {
        return Ok(value);
    }
    let value = describe_int(object);
    let problem = Problem::ScalarOverflow { value, dtype };
    Err(raise(Error::new(op, problem)))
}

/// What a message says is accepted as a number.
const NUMBERS: &str = "bool, int, float and complex";

fn read_number(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<WeakScalar> {
    let refuse = || wrong_object(op, "not a number", object, NUMBERS);
    number_of_kind(object, convert::scalar_kind(object).ok_or_else(refuse)?)
}

/// The number that an object of one of Python's classes is.
pub(crate) fn number_of_kind(object: &Bound<'_, PyAny>, kind: ScalarKind) -> PyResult<WeakScalar> {
    match kind {
        ScalarKind::Bool => Ok(WeakScalar::Bool(object.is_truthy()?)),
        ScalarKind::Int => {
            let short = object.extract::<i64>().map(i128::from);
            match short.or_else(|_| object.extract::<i128>()) {
                Ok(value) => Ok(WeakScalar::Int(value)),
                // Beyond every integer dtype, so that the range check refuses it too.
                Err(_) if object.lt(0)? => Ok(WeakScalar::Int(i128::MIN)),
                Err(_) => Ok(WeakScalar::Int(i128::MAX)),
            }
        }
        ScalarKind::Float => Ok(WeakScalar::Float(object.extract()?)),
        ScalarKind::Complex => {
            let part = |name| object.getattr(name)?.extract::<f64>();
            let py = object.py();
            Ok(WeakScalar::Complex(c128::new(
                part(intern!(py, "real"))?,
                part(intern!(py, "imag"))?,
            )))
        }
    }
}

/// Nested lists of numbers as elements of a dtype that holds them.
pub(crate) fn read_lists(op: &'static str, data: Data, dtype: DType) -> PyResult<PyTensor> {
    let mut lists = Lists {
        op,
        dtype,
        sizes: Vec::new(),
        bytes: Vec::new(),
    };
    lists.measure(data)?;
    let count = lists
        .sizes
        .iter()
        .try_fold(1, |a: usize, b| a.checked_mul(*b));
    // Ragged lists may claim more than they have.
    let room = count.unwrap_or(0).min(MOST_RESERVED) * dtype.itemsize();
    try_reserve(op, &mut lists.bytes, room).map_err(raise)?;
    lists.read(data, 0)?;
    wrap(Tensor::from_bytes(&lists.bytes, &lists.sizes, dtype))
}

struct Lists {
    op: &'static str,
    dtype: DType,
    sizes: Vec<usize>,
    bytes: Vec<u8>,
}

impl Lists {
    /// The sizes, along the first item of every list.
    fn measure(&mut self, data: Data) -> PyResult<()> {
        let mut data = data.clone();
        while let Some(items) = as_list(&data)? {
            if self.sizes.len() == DEEPEST {
                return Err(nested_too_deeply(self.op, DEEPEST));
            }
            self.sizes.push(items.len());
            match items.iter().next() {
                Some(first) => data = first,
                None => return Ok(()),
            }
        }
        if let Some(array) = convert::dtype_attribute(self.op, &data)?.map(|_| &data) {
            let shape = array.getattr(intern!(array.py(), "shape"))?;
            self.sizes.extend(shape.extract::<Vec<usize>>()?);
        }
        Ok(())
    }

    fn read(&mut self, data: Data, depth: usize) -> PyResult<()> {
        if let Some(kind) = convert::plain_scalar_kind(data) {
            return self.read_number(data, kind, depth);
        }
        if let Some(items) = as_list(data)? {
            let expected = *self.sizes.get(depth).ok_or_else(|| mixed(self.op))?;
            if items.len() != expected {
                return Err(ragged(self.op, expected, items.len()));
            }
            return items
                .iter()
                .try_for_each(|item| self.read(&item, depth + 1));
        }
        let inner = match as_tensor(data) {
            Some(inner) => Some(inner),
            None => match convert::dtype_attribute(self.op, data)? {
                Some(_) => interchange::read(self.op, data, None)?,
                None => None,
            },
        };
        if let Some(inner) = inner {
            if inner.shape()[..] != self.sizes[depth..] {
                return Err(mixed(self.op));
            }
            let inner = inner.to_holding(self.op, self.dtype).map_err(raise)?;
            let bytes = inner.to_bytes().map_err(raise)?;
            return self.append(&bytes);
        }
        let refuse = || wrong_object(self.op, "not a number", data, NUMBERS);
        let kind = convert::scalar_kind(data).ok_or_else(refuse)?;
        self.read_number(data, kind, depth)
    }

    fn read_number(&mut self, data: Data, kind: ScalarKind, depth: usize) -> PyResult<()> {
        if depth != self.sizes.len() {
            return Err(mixed(self.op));
        }
        let value = widen(self.op, number_of_kind(data, kind)?, data, self.dtype)?;
        let value = match self.dtype {
            DType::Bool => WeakScalar::Bool(is_nonzero(value)),
            dtype => value.lowered_to(dtype),
        };
        let scalar = Scalar::assigned(value, self.dtype).map_err(|e| raise(e.in_op(self.op)))?;
        self.append(&scalar.to_bytes()[..self.dtype.itemsize()])
    }

    fn append(&mut self, bytes: &[u8]) -> PyResult<()> {
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            let more = bytes.len().max(self.bytes.len());
            try_reserve(self.op, &mut self.bytes, more).map_err(raise)?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Whether a number is not zero, as NaN is not.
pub(crate) fn is_nonzero(value: WeakScalar) -> bool {
    match value {
        WeakScalar::Bool(value) => value,
        WeakScalar::Int(value) => value != 0,
        WeakScalar::Float(value) => value != 0.0,
        WeakScalar::Complex(value) => value.re != 0.0 || value.im != 0.0,
    }
}

/// Elements that memory is reserved for ahead of reading them.
const MOST_RESERVED: usize = 1 << 20;

/// The items of a list, tuple, range or deque.
pub(crate) fn as_list<'py>(data: Data<'_, 'py>) -> PyResult<Option<Bound<'py, PyList>>> {
    static DEQUE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Ok(list) = data.cast::<PyList>() {
        return Ok(Some(list.clone()));
    }
    let is_sequence = data.is_instance_of::<PyTuple>()
        || data.is_instance_of::<PyRange>()
        || data.is_instance(DEQUE.import(data.py(), "collections", "deque")?)?;
    if is_sequence {
        let list = data.py().get_type::<PyList>().call1((data,))?;
        return Ok(Some(list.cast_into()?));
    }
    Ok(None)
}
