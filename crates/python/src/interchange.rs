//! Tensors from the arrays of other libraries: memory is shared where it can be.

use allotrope_dtype::{Error, Problem};
use allotrope_tensor::{Device, Tensor, Variable};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyMemoryView, PyModule, PyRange, PyTuple};

use crate::arguments::{DTypeOrFamily, Data};
use crate::convert;
use crate::create::{placed, read_lists, resolve, resolve_like};
use crate::device::device_or_cpu;
use crate::error::{missing_package, raise, wrong_object};
use crate::infer::{infer, keep_or_default};
use crate::interrupt::detach;
use crate::tensor::{PyTensor, wrap};
use crate::{dlpack, numpy, tensor};

/// A tensor of a NumPy array's memory, which is copied only if its address or strides do not fit.
///
/// The array stays alive with the tensor. Writing to it changes the tensor too: to keep the values,
/// use `tensor`. A dtype other than the array's makes a tensor of its own.
///
/// >>> array = numpy.arange(6.0).reshape(2, 3)
/// >>> x = al.from_numpy(array[:, ::-1])
/// >>> x
/// tensor([[2., 1., 0.],
///         [5., 4., 3.]], dtype=float64)
/// >>> numpy.shares_memory(x.numpy(), array)
/// True
#[pyfunction]
#[pyo3(signature = (array, dtype=None))]
pub(crate) fn from_numpy(
    array: &Bound<'_, PyAny>,
    dtype: Option<DTypeOrFamily>,
) -> PyResult<PyTensor> {
    const OP: &str = "from_numpy";
    match numpy::read(OP, array, None)? {
        Some(tensor) => {
            let own = tensor.dtype();
            let options = resolve(OP, dtype, Some("cpu"), || Ok(Some(own)))?;
            if options.dtype != own {
                return Ok(placed(OP, tensor.to(options.dtype), options)?.into());
            }
            // The array's memory itself.
            Ok(Variable::new(placed(OP, Ok(tensor), options)?).into())
        }
        None => {
            let accepted = "NumPy arrays and scalars";
            Err(wrong_object(OP, "not an array", array, accepted))
        }
    }
}

/// A tensor of the memory of any object with `__dlpack__`, or of a DLPack capsule.
///
/// copy=None copies only what cannot be shared, copy=True always, and copy=False never: it is an
/// error where a copy is needed. device="cpu" asks the other library to bring its elements here.
///
/// >>> al.from_dlpack(numpy.array([1, 2, 3], dtype="uint8"))
/// tensor([1, 2, 3], dtype=uint8)
#[pyfunction]
#[pyo3(signature = (x, device=None, copy=None))]
pub(crate) fn from_dlpack(
    x: &Bound<'_, PyAny>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<PyTensor> {
    const OP: &str = "from_dlpack";
    if let Ok(tensor) = x.cast::<PyTensor>() {
        let value = tensor.get().tensor();
        let options = resolve_like(OP, None, device, &value)?;
        return match copy {
            _ if options.device != value.device() => {
                if copy == Some(false) {
                    let reason = format!("from {} to {}", value.device(), options.device);
                    return Err(copy_needed(OP, reason));
                }
                Ok(placed(OP, Ok(value), options)?.into())
            }
            Some(true) => wrap(value.copied()),
            _ => tensor.get().alias(),
        };
    }
    let target = device_or_cpu(OP, device)?;
    match read_protocols(OP, x, copy, device.is_some())? {
        // What another library exports is not written to.
        Some(tensor) if target == Device::cpu() => Ok(tensor.for_readers().into()),
        Some(tensor) => wrap(tensor.to_device(target)),
        None => {
            let accepted = "objects with __dlpack__ and capsules";
            Err(wrong_object(OP, "not a DLPack tensor", x, accepted))
        }
    }
}

/// A tensor of the data: of the same memory where it can be shared, else a copy.
///
/// Arrays of any library, buffers, tensors, numbers and nested lists are accepted. copy=True always
/// copies, and copy=False never: it is an error where a copy is needed.
///
/// >>> x = al.asarray([1, 2])
/// >>> al.asarray(x, dtype="int64", copy=False)
/// tensor([1, 2])
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None, copy=None))]
pub(crate) fn asarray(
    data: Data,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<PyTensor> {
    convert_data("asarray", data, dtype, device, copy)
}

/// A tensor of the data, as `asarray`: torch's name for it.
///
/// >>> array = numpy.array([1.0, 2.0])
/// >>> numpy.shares_memory(al.as_tensor(array).numpy(), array)
/// True
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None, copy=None))]
pub(crate) fn as_tensor(
    data: Data,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<PyTensor> {
    convert_data("as_tensor", data, dtype, device, copy)
}

/// Data as a tensor of a dtype, copied if it must be or `copy` says so.
pub(crate) fn convert_data(
    op: &'static str,
    data: Data,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    copy: Option<bool>,
) -> PyResult<PyTensor> {
    let py = data.py();
    let own = tensor::as_tensor(data);
    if let Some(own) = own.as_ref().filter(|_| copy != Some(true)) {
        let options = resolve_like(op, dtype, device, own)?;
        let is_alike = options.width == own.width();
        if options.dtype == own.dtype() && options.device == own.device() && is_alike {
            return data.cast::<PyTensor>()?.get().alias();
        }
    }
    let is_own = own.is_some();
    let may_copy = copy.filter(|copy| !copy);
    let source = match own {
        Some(own) => Some(own),
        None => read(op, data, may_copy)?,
    };
    let Some(source) = source else {
        let options = resolve(op, dtype, device, || infer(op, data, None).map(Some))?;
        if copy == Some(false) {
            let reason = "numbers and lists are not memory";
            return Err(copy_needed(op, reason.to_owned()));
        }
        let read = read_lists(op, data, options.dtype)?.tensor();
        return Ok(placed(op, Ok(read), options)?.into());
    };
    let from = source.dtype();
    let options = match is_own {
        true => resolve_like(op, dtype, device, &source)?,
        false => resolve(op, dtype, device, || Ok(Some(keep_or_default(from))))?,
    };
    let is_moved = options.device != source.device();
    if copy == Some(false) && (options.dtype != from || is_moved) {
        let reason = match is_moved {
            true => format!("{} to {}", source.device(), options.device),
            false => format!("{from} to {}", options.dtype),
        };
        return Err(copy_needed(op, reason));
    }
    let is_copied = copy == Some(true) && (is_own || source.is_foreign()) && !is_moved;
    let converted = detach(py, || match options.dtype == from && is_copied {
        true => source.copied(),
        // A tensor's dtype= is a cast; of what comes from outside nothing is lost.
        false if is_own => source.to(options.dtype),
        false => source.to_holding(op, options.dtype),
    });
    // A variable over the array's memory, where nothing is converted.
    Ok(Variable::new(placed(op, converted, options)?).into())
}

/// The tensor of an array or buffer of any library; None for anything else.
pub(crate) fn read(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    copy: Option<bool>,
) -> PyResult<Option<Tensor>> {
    let is_list = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>();
    if is_list || convert::plain_scalar_kind(object).is_some() {
        return Ok(None);
    }
    if let Some(tensor) = read_protocols(op, object, copy, false)? {
        return Ok(Some(tensor));
    }
    let py = object.py();
    let is_array = [intern!(py, "__array__"), intern!(py, "__array_interface__")]
        .into_iter()
        .try_fold(false, |found, name| {
            Ok::<bool, PyErr>(found || object.getattr_opt(name)?.is_some())
        })?;
    let source = match PyMemoryView::from(object) {
        Ok(view) => view.into_any(),
        Err(_) if is_array => object.clone(),
        Err(_) => return Ok(None),
    };
    let numpy = PyModule::import(py, intern!(py, "numpy"))
        .map_err(|_| missing_package(op, "numpy", "reading arrays and buffers"))?;
    let keywords = PyDict::new(py);
    if copy == Some(false) {
        keywords.set_item(intern!(py, "copy"), false)?;
    }
    let array = numpy.call_method(intern!(py, "asarray"), (source,), Some(&keywords))?;
    numpy::read(op, &array, copy)
}

/// The tensor of a NumPy array, of an object with `__dlpack__` or of a capsule.
///
/// NumPy's arrays are read without DLPack: it has neither bfloat16 nor float8 there, and its older
/// versions do not export what is read-only.
fn read_protocols(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    copy: Option<bool>,
    move_to_cpu: bool,
) -> PyResult<Option<Tensor>> {
    if let Some(tensor) = numpy::read(op, object, copy)? {
        return Ok(Some(tensor));
    }
    if let Ok(capsule) = object.cast::<PyCapsule>() {
        return dlpack::read_capsule(op, capsule, copy).map(Some);
    }
    let py = object.py();
    match object.getattr_opt(intern!(py, "__dlpack__"))? {
        Some(_) => dlpack::import(op, object, copy, move_to_cpu).map(Some),
        None => Ok(None),
    }
}

#[cold]
fn copy_needed(op: &'static str, reason: String) -> PyErr {
    raise(Error::new(op, Problem::CopyNeeded { reason }).hint("copy=None"))
}
