//! What operations take beside a tensor: tensors, numbers without a dtype, arrays.

use allotrope_dtype::{Error, Policy, Set, WeakScalar};
pub(crate) use allotrope_tensor::Operand;
use allotrope_tensor::Tensor;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::interrupt::detach;
use crate::scopes::promotion;
use crate::tensor::{PyTensor, wrap};
use crate::{convert, create, numpy};

/// An operand that owns what it refers to.
pub(crate) enum Value {
    Tensor(Tensor),
    Number(WeakScalar),
}

impl Value {
    pub(crate) fn as_operand(&self) -> Operand<'_> {
        match self {
            Self::Tensor(tensor) => Operand::Tensor(tensor),
            Self::Number(number) => Operand::Scalar(*number),
        }
    }
}

/// A tensor or a Python number as an operand; `None` for anything else.
pub(crate) fn quick(object: &Bound<'_, PyAny>) -> Option<PyResult<Value>> {
    if let Ok(tensor) = object.cast::<PyTensor>() {
        return Some(Ok(Value::Tensor(tensor.get().tensor())));
    }
    if let Ok(float) = object.cast_exact::<PyFloat>() {
        return Some(Ok(Value::Number(WeakScalar::Float(float.value()))));
    }
    let kind = convert::plain_scalar_kind(object)?;
    Some(create::number_of_kind(object, kind).map(Value::Number))
}

/// Anything that can be an operand: also NumPy arrays and scalars, lists and other arrays, which
/// keep their dtype.
pub(crate) fn read(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match quick(object) {
        Some(value) => value,
        None => create::operand(op, object).map(Value::Tensor),
    }
}

/// The other operand of an operation on a tensor: as [`read`], but NumPy's scalars are numbers without
/// a dtype, as in torch; not under NumPy's own policy.
pub(crate) fn read_other(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match quick(object) {
        Some(value) => value,
        None if is_weak_scalar(object)? => create::number(op, object).map(Value::Number),
        None => create::operand(op, object).map(Value::Tensor),
    }
}

/// Whether an object is a scalar of NumPy's that takes the dtype of a tensor.
pub(crate) fn is_weak_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(promotion() != Policy::Numpy && is_scalar_of_numpy(object)?)
}

/// Whether an object is a scalar of NumPy's, of a dtype that tensors have.
pub(crate) fn is_scalar_of_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let Some(numpy) = numpy::loaded(py)? else {
        return Ok(false);
    };
    // Others, such as dates, are refused with the rest.
    Ok(
        object.is_instance(numpy.generic(py))?
            && convert::dtype_attribute("scalar", object).is_ok(),
    )
}

/// Whether a number stands for an int beyond 128 bits.
pub(crate) fn is_beyond(number: WeakScalar) -> bool {
    matches!(number, WeakScalar::Int(i128::MIN | i128::MAX))
}

/// Refuses ints beyond 128 bits, whose value is lost, where no integer dtype refuses them.
pub(crate) fn check_ints(op: &str, values: &[Value]) -> PyResult<()> {
    let is_lost = |value: &Value| matches!(value, Value::Number(number) if is_beyond(*number));
    let is_float = |value: &Value| match value {
        Value::Tensor(tensor) => Set::Inexact.contains(tensor.dtype()),
        Value::Number(number) => matches!(number, WeakScalar::Float(_) | WeakScalar::Complex(_)),
    };
    if values.iter().any(is_lost) && values.iter().any(is_float) {
        return Err(PyOverflowError::new_err(format!(
            "{op}: scalar out of range: an int beyond 128 bits; ints meet floats up to there \
             (hint: float(value))"
        )));
    }
    Ok(())
}

/// What meets a tensor in an operation that is no elementwise one.
pub(crate) fn read_beside(
    op: &'static str,
    tensor: &Tensor,
    object: &Bound<'_, PyAny>,
) -> PyResult<Value> {
    let pair = [read_other(op, object)?, Value::Tensor(tensor.clone())];
    check_ints(op, &pair)?;
    let [value, _] = pair;
    Ok(value)
}

/// Elements from which Python's lock is given to other threads meanwhile.
pub(crate) const RELEASE_FROM: usize = 32 << 10;

/// Runs work on tensors; for large ones other Python threads run meanwhile.
pub(crate) fn run(
    py: Python<'_>,
    largest: usize,
    work: impl FnOnce() -> Result<Tensor, Error> + Send,
) -> PyResult<PyTensor> {
    if largest > RELEASE_FROM {
        return wrap(detach(py, work));
    }
    wrap(work())
}

/// A float without a dtype of its own.
pub(crate) fn float(value: f64) -> Value {
    Value::Number(WeakScalar::Float(value))
}

/// The number of elements of an operand.
pub(crate) fn count(value: &Value) -> usize {
    match value {
        Value::Tensor(tensor) => tensor.count(),
        Value::Number(_) => 1,
    }
}
