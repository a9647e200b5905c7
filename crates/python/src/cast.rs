//! Casts: the methods of `Tensor` that convert its values, and the conversion of NumPy arrays.

use allotrope_dtype::{
    Capabilities, CastOptions, DType, Error, Numeric, Overflow, Rounding, cast_bytes,
};
use allotrope_tensor::{Device, Options, Tensor};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyDict, PyModule, PyString, PyTuple};

use crate::arguments::{DTypeOrFamily, Format, Operand, Unsigned, either};
use crate::convert;
use crate::create::operand;
use crate::device::{announce, available, device_named, is_device_name};
use crate::dtype::{PyDType, wrap};
use crate::error::{raise, wrong_object};
use crate::interrupt::detach;
use crate::memory_format::arrange;
use crate::numpy;
use crate::operand::RELEASE_FROM;
use crate::scopes::default_dtype;
use crate::tensor::{PyTensor, as_tensor};

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
#[pyo3(signature = (array, dtype, rounding="nearest", overflow=None, seed=Unsigned(0)))]
pub(crate) fn cast<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    dtype: DTypeOrFamily<'_, 'py>,
    rounding: &str,
    overflow: Option<&str>,
    seed: Unsigned,
) -> PyResult<Bound<'py, PyAny>> {
    let in_op = |error: Error| raise(error.in_op(OP));
    let not_array = || wrong_object(OP, "not an array", array, "NumPy arrays and scalars");
    let source = numpy::read(OP, array, None)?.ok_or_else(not_array)?;
    let from = source.dtype();
    let numeric = convert::to_numeric(OP, dtype)?;
    let to = numeric.resolve(Some(from), default_dtype(), &Capabilities::CPU);
    let options = CastOptions {
        rounding: Rounding::parse(rounding, seed.0).map_err(in_op)?,
        overflow: overflow
            .map(str::parse::<Overflow>)
            .transpose()
            .map_err(in_op)?,
    };
    let source = detach(py, || source.contiguous()).map_err(in_op)?;
    let bytes = source.contiguous_bytes().unwrap_or_default();
    let room = to.bytes_for(source.count());
    let room = room.ok_or_else(|| PyMemoryError::new_err(()))?;
    // An empty bytearray has no aligned address, so it is never asked for.
    let target = PyByteArray::new_with(py, room.max(1), |target| {
        let target = target.get_mut(..room).unwrap_or_default();
        detach(py, || cast_bytes(from, bytes, to, target, options)).map_err(in_op)
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

/// What `to` converts to.
#[derive(Default)]
struct Target {
    dtype: Option<Numeric>,
    device: Option<Device>,
    copy: Option<bool>,
}

impl Target {
    /// A dtype, a device, a device and a dtype, or another tensor, which has both; then torch's
    /// non_blocking and copy.
    fn read(arguments: &Bound<'_, PyTuple>) -> PyResult<Self> {
        const ACCEPTED: &str = "a dtype, a device, a device and a dtype, or a tensor is accepted";
        let mut target = Self::default();
        let mut flags = Vec::new();
        for (place, argument) in arguments.iter().enumerate() {
            // The usual argument is asked for first.
            if place == 0 && argument.is_instance_of::<PyDType>() {
                target.dtype = Some(convert::to_numeric("to", &argument)?);
                continue;
            }
            let flag = argument.cast::<PyBool>().ok().filter(|_| place > 0);
            let name = argument.cast::<PyString>().ok();
            let device = name.filter(|name| is_device_name(&name.to_string_lossy()));
            let fits = match (flag, device, as_tensor(&argument)) {
                (Some(flag), _, _) => {
                    flags.push(flag.is_true());
                    flags.len() <= 2
                }
                (_, Some(device), _) => {
                    target.device = Some(device_named("to", &device.to_string_lossy())?);
                    place == 0
                }
                (_, _, Some(other)) => {
                    target.dtype = Some(other.numeric());
                    target.device = Some(other.device());
                    place == 0
                }
                _ if place == 1 && argument.is_none() => true,
                _ => {
                    let numeric = convert::to_numeric("to", &argument);
                    target.dtype = Some(numeric.map_err(|error| with_devices(&argument, error))?);
                    place == 0 || (place == 1 && target.device.is_some())
                }
            };
            if !fits {
                let message = format!("to: arguments do not go together: {arguments}; {ACCEPTED}");
                return Err(PyTypeError::new_err(message));
            }
        }
        target.copy = flags.get(1).copied();
        Ok(target)
    }
}

/// An error of a name, which could have been that of a device too.
#[cold]
fn with_devices(argument: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !argument.is_instance_of::<PyString>() {
        return error;
    }
    let message = error.value(argument.py());
    PyTypeError::new_err(format!("{message}; devices are {}", available()))
}

/// The values of a tensor in another dtype, on another device or both, or the tensor itself.
fn convert_tensor<'py>(
    this: &Bound<'py, PyTensor>,
    numeric: Option<Numeric>,
    device: Option<Device>,
    options: CastOptions,
    copy: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, tensor) = (this.py(), this.get().tensor());
    let (from, here) = (tensor.dtype(), tensor.device());
    let device = device.unwrap_or(here);
    let numeric = numeric.unwrap_or_else(|| tensor.numeric());
    let Options {
        dtype: to, width, ..
    } = Options::of_data(numeric, Some(tensor.width().unwrap_or(from)), here);
    if from != to {
        allotrope_tensor::trace_cast(from, to);
        if device == here && !numeric.is_family() {
            announce("to", to, device)?;
        }
    }
    if from == to && device == here && width != tensor.width() && !copy {
        let alike = |x: &Tensor| Ok(x.clone().with_width(width));
        return Bound::new(py, this.get().see(alike)?);
    }
    let work = || {
        let converted = tensor.to_with(to, options)?;
        let converted = converted.with_width(width);
        let moved = match device == here {
            true => converted,
            false => converted.to_device(device)?,
        };
        match copy && moved.shares_storage_with(&tensor) {
            true => moved.copied(),
            false => Ok(moved),
        }
    };
    let converted = if device == here && tensor.count() <= RELEASE_FROM {
        work()
    } else {
        detach(py, work)
    };
    match converted.map_err(raise)? {
        same if same.is_same_value(&tensor) => Ok(this.clone()),
        converted => Bound::new(py, PyTensor::from(converted)),
    }
}

/// A tensor on a device, in a memory format if one is asked for.
pub(crate) fn move_to<'py>(
    op: &'static str,
    this: &Bound<'py, PyTensor>,
    device: Device,
    memory_format: Option<Format>,
) -> PyResult<Bound<'py, PyTensor>> {
    let moved = convert_tensor(this, None, Some(device), CastOptions::default(), false)?;
    arranged(op, moved, memory_format)
}

/// A converted tensor in a memory format, if one is asked for.
fn arranged<'py>(
    op: &'static str,
    converted: Bound<'py, PyTensor>,
    memory_format: Option<Format>,
) -> PyResult<Bound<'py, PyTensor>> {
    if memory_format.is_none() {
        return Ok(converted);
    }
    let tensor = converted.get().tensor();
    match arrange(op, tensor.clone(), memory_format)? {
        same if same.is_same_value(&tensor) => Ok(converted),
        arranged => Bound::new(converted.py(), PyTensor::from(arranged)),
    }
}

#[pymethods]
impl PyTensor {
    /// The values in another dtype or family, rounded once, or on another device, or both: as those
    /// of another tensor.
    ///
    /// rounding is "nearest", "zero" or "stochastic" (with a seed); overflow is "saturate", "wrap",
    /// "raise", "ieee" or None for the default of the pair.
    ///
    /// >>> al.tensor([2.9, 300.0]).to(al.uint8)
    /// tensor([  2, 255], dtype=uint8)
    /// >>> al.tensor([2.9]).to("cpu", al.float64).dtype
    /// allotrope.float64
    #[pyo3(signature = (
        *arguments, dtype=None, device=None, other=None, rounding="nearest", overflow=None,
        copy=false, seed=Unsigned(0), non_blocking=false, memory_format=None
    ))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of Python's method"
    )]
    fn to<'py>(
        this: &Bound<'py, Self>,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        dtype: Option<DTypeOrFamily<'_, 'py>>,
        device: Option<&Bound<'py, PyString>>,
        other: Option<Operand<'_, 'py>>,
        rounding: &str,
        overflow: Option<&str>,
        copy: bool,
        seed: Unsigned,
        non_blocking: bool,
        memory_format: Option<Format<'_, 'py>>,
    ) -> PyResult<Bound<'py, Self>> {
        // Nothing waits on this device.
        let _ = non_blocking;
        let op = "to";
        let mut target = match other {
            Some(other) if arguments.is_empty() => Target::read(&PyTuple::new(py, [other])?)?,
            Some(_) => return Err(PyTypeError::new_err("to: other stands alone")),
            None => Target::read(arguments)?,
        };
        let dtype = dtype.map(|dtype| convert::to_numeric(op, dtype));
        target.dtype = either(op, target.dtype, dtype.transpose()?)?;
        let device = device.map(|device| device_named(op, &device.to_string_lossy()));
        target.device = either(op, target.device, device.transpose()?)?;
        let is_told = target.dtype.is_some() || target.device.is_some() || other.is_some();
        if !is_told && memory_format.is_none() {
            return Err(PyTypeError::new_err(
                "to: nothing to convert to; a dtype, a device or a tensor is accepted",
            ));
        }
        let overflow = overflow.map(str::parse::<Overflow>).transpose();
        let options = CastOptions {
            rounding: Rounding::parse(rounding, seed.0).map_err(raise)?,
            overflow: overflow.map_err(raise)?,
        };
        let copy = copy || target.copy.unwrap_or(false);
        let converted = convert_tensor(this, target.dtype, target.device, options, copy)?;
        arranged(op, converted, memory_format)
    }

    /// The values in another dtype: torch's older name for `to`. Without one, the name of the dtype,
    /// which is what `type` accepts; torch has names of classes there, such as 'torch.FloatTensor'.
    ///
    /// >>> al.tensor([2.9]).type(al.int64)
    /// tensor([2])
    /// >>> al.tensor([2.9]).type()
    /// 'float32'
    #[pyo3(name = "type", signature = (dtype=None, non_blocking=false))]
    fn type_<'py>(
        this: &Bound<'py, Self>,
        dtype: Option<DTypeOrFamily>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = non_blocking;
        let Some(dtype) = dtype else {
            let name = this.get().tensor().dtype().name();
            return Ok(PyString::new(this.py(), name).into_any());
        };
        let dtype = Some(convert::to_numeric("type", dtype)?);
        Ok(convert_tensor(this, dtype, None, CastOptions::default(), false)?.into_any())
    }

    /// The values in another dtype; NumPy's name for `to`.
    ///
    /// >>> al.tensor([1, 0]).astype(bool)
    /// tensor([ True, False])
    #[pyo3(signature = (dtype, copy=true))]
    fn astype<'py>(
        this: &Bound<'py, Self>,
        dtype: DTypeOrFamily,
        copy: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let dtype = convert::to_numeric("astype", dtype)?;
        convert_tensor(this, Some(dtype), None, CastOptions::default(), copy)
    }

    /// The values in the dtype of another tensor.
    ///
    /// >>> al.tensor([1, 2]).type_as(al.zeros(1, dtype="bfloat16")).dtype
    /// allotrope.bfloat16
    fn type_as<'py>(this: &Bound<'py, Self>, other: Operand) -> PyResult<Bound<'py, Self>> {
        let other = operand("type_as", other)?;
        let (dtype, device) = (other.numeric(), Some(other.device()));
        convert_tensor(this, Some(dtype), device, CastOptions::default(), false)
    }
}

/// A method per row: documentation, torch's name, dtype.
macro_rules! named_casts {
    ($($(#[doc = $doc:literal])* $name:ident $dtype:ident;)*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = (memory_format=None))]
            fn $name<'py>(
                this: &Bound<'py, Self>,
                memory_format: Option<Format>,
            ) -> PyResult<Bound<'py, Self>> {
                let dtype = Some(Numeric::Exact(DType::$dtype));
                let converted = convert_tensor(this, dtype, None, CastOptions::default(), false)?;
                arranged(stringify!($name), converted, memory_format)
            }
        )*}
    };
}
named_casts! {
    /// The values in float16.
    ///
    /// >>> al.tensor([1.0, 70000.0]).half()
    /// tensor([ 1., inf], dtype=float16)
    half     F16;
    /// The values in bfloat16.
    ///
    /// >>> al.tensor([1.0, 70000.0]).bfloat16()
    /// tensor([1.0000e+00, 7.0144e+04], dtype=bfloat16)
    bfloat16 BF16;
    /// The values in float32.
    ///
    /// >>> al.tensor([1, 2]).float()
    /// tensor([1., 2.])
    float    F32;
    /// The values in float64.
    ///
    /// >>> al.tensor([0.5, 2.0]).double()
    /// tensor([0.5000, 2.0000], dtype=float64)
    double   F64;
    /// The values in uint8.
    ///
    /// >>> al.tensor([2.9, -1.0, 300.0]).byte()
    /// tensor([  2,   0, 255], dtype=uint8)
    /// >>> al.tensor([-1, 300]).byte()
    /// tensor([255,  44], dtype=uint8)
    byte     U8;
    /// The values in int8.
    ///
    /// >>> al.tensor([2.9, 300.0]).char()
    /// tensor([  2, 127], dtype=int8)
    char     I8;
    /// The values in int16.
    ///
    /// >>> al.tensor([2.9, 70000.0]).short()
    /// tensor([    2, 32767], dtype=int16)
    short    I16;
    /// The values in int32.
    ///
    /// >>> al.tensor([2.9, -2.9]).int()
    /// tensor([ 2, -2], dtype=int32)
    int      I32;
    /// The values in int64.
    ///
    /// >>> al.tensor([2.9, al.nan]).long()
    /// tensor([2, 0])
    long     I64;
    /// Whether the values differ from zero.
    ///
    /// >>> al.tensor([0.0, 0.5, al.nan]).bool()
    /// tensor([False,  True,  True])
    bool     Bool;
    /// The values in complex64.
    ///
    /// >>> al.tensor([1.0, 2.0]).cfloat()
    /// tensor([1.+0.j, 2.+0.j])
    cfloat   C64;
    /// The values in complex128.
    ///
    /// >>> al.tensor([1.0, 2.0]).cdouble()
    /// tensor([1.+0.j, 2.+0.j], dtype=complex128)
    cdouble  C128;
}
