//! The tensors of capsules, whose memory is ours to read until the last view of it ends.

use std::ptr::NonNull;

use allotrope_cpu::Foreign;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::Shape;
use allotrope_tensor::{ForeignLayout, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern};

use super::{
    CPU, DataType, DeviceCode, IS_COPIED, Legacy, Managed, READABLE, VERSION, Versioned, View,
    device_name,
};
use crate::device::available;
use crate::error::{raise, unusable_capsule};
use crate::infer::DEEPEST;
use crate::interrupt::detach;

/// A tensor of another library that belongs to us until it is dropped.
struct Taken<M: Managed>(NonNull<M>);

// SAFETY: DLPack lets a tensor be used and deleted on any thread.
unsafe impl<M: Managed> Send for Taken<M> {}
// SAFETY: shared access only reads.
unsafe impl<M: Managed> Sync for Taken<M> {}

impl<M: Managed> Taken<M> {
    fn managed(&self) -> &M {
        // SAFETY: the producer keeps the struct until its deleter runs, which is our drop.
        unsafe { self.0.as_ref() }
    }
}

impl<M: Managed> Drop for Taken<M> {
    /// The last view may end on a thread that Python knows nothing of, but a deleter may release
    /// Python objects. Once the interpreter is gone, so is what there was to release.
    fn drop(&mut self) {
        let Some(deleter) = self.managed().deleter() else {
            return;
        };
        let _hold = allotrope_cpu::interrupt::hold();
        Python::try_attach(|_| {
            // SAFETY: the tensor is ours, and this is the only call.
            unsafe { deleter(self.0.as_ptr()) };
        });
    }
}

/// The tensor in a capsule, which cannot be read again.
pub(crate) fn read_capsule(
    op: &'static str,
    capsule: &Bound<'_, PyCapsule>,
    copy: Option<bool>,
) -> PyResult<Tensor> {
    if capsule.is_valid_checked(Some(Versioned::FRESH)) {
        return take::<Versioned>(op, capsule, copy);
    }
    if capsule.is_valid_checked(Some(Legacy::FRESH)) {
        return take::<Legacy>(op, capsule, copy);
    }
    let was_read = [Versioned::USED, Legacy::USED]
        .into_iter()
        .any(|name| capsule.is_valid_checked(Some(name)));
    let what = if was_read {
        "the capsule was read before"
    } else {
        "not a DLPack capsule"
    };
    let accepted = "capsules named 'dltensor' or 'dltensor_versioned' are accepted, once";
    let given = capsule.repr()?.to_string();
    Err(unusable_capsule(op, what, &given, accepted))
}

fn take<M: Managed>(
    op: &'static str,
    capsule: &Bound<'_, PyCapsule>,
    copy: Option<bool>,
) -> PyResult<Tensor> {
    let pointer = capsule.pointer_checked(Some(M::FRESH))?.cast::<M>();
    // SAFETY: a capsule of this name has such a struct.
    let version = unsafe { M::version(pointer) };
    if version.major != VERSION.major {
        // The capsule keeps its name, and deletes the tensor itself.
        let given = format!("{}.{}", version.major, version.minor);
        let what = "unknown version of DLPack";
        return Err(unusable_capsule(op, what, &given, "1.x is accepted"));
    }
    // SAFETY: the capsule is a Python object, and the name is static.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    let taken = Taken(pointer);
    let copy = match copy {
        Some(true) if taken.managed().flags() & IS_COPIED != 0 => None,
        copy => copy,
    };
    let (first, layout) = describe(op, taken.managed().view()).map_err(raise)?;
    let start = first.wrapping_sub(layout.bytes_before());
    // SAFETY: the producer promises its elements at these places until the deleter runs. It may
    // also write to them, as it may with every consumer.
    let memory = unsafe { Foreign::new(start, layout.bytes(), taken) };
    let py = capsule.py();
    detach(py, || Tensor::from_foreign(memory, &layout, copy)).map_err(raise)
}

/// The first element and the layout that a struct describes.
fn describe(op: &'static str, view: &View) -> Result<(*const u8, ForeignLayout), Error> {
    let malformed = |reason: &str| {
        let reason = reason.to_owned();
        Error::new(op, Problem::MalformedTensor { reason })
    };
    if !READABLE.contains(&view.device.kind) {
        return Err(foreign_device(op, (view.device.kind, view.device.index)));
    }
    let DataType { code, bits, lanes } = view.dtype;
    if lanes != 1 {
        return Err(Error::new(op, Problem::VectorElements { lanes }));
    }
    let dtype = DType::from_dlpack(code, bits);
    let dtype = dtype.ok_or_else(|| Error::new(op, Problem::UnknownDLPackType { code, bits }))?;
    let rank = usize::try_from(view.rank).map_err(|_| malformed("the rank is negative"))?;
    if rank > DEEPEST {
        return Err(malformed("more than 64 dimensions"));
    }
    let list = |start: *mut i64| -> Option<&[i64]> {
        if rank == 0 {
            return Some(&[]);
        }
        // SAFETY: the producer promises one number per dimension, where it promises any.
        (!start.is_null() && start.is_aligned())
            .then(|| unsafe { std::slice::from_raw_parts(start, rank) })
    };
    let sizes = list(view.sizes).ok_or_else(|| malformed("there are no sizes"))?;
    let sizes = sizes.iter().map(|size| usize::try_from(*size));
    let sizes = sizes.collect::<Result<Vec<usize>, _>>();
    let sizes = sizes.map_err(|_| malformed("a size is negative"))?;
    let width = dtype.itemsize() as isize;
    let strides: Vec<i64> = match list(view.strides) {
        Some(strides) => strides.to_vec(),
        // Before version 1.2, no strides are those of row-major order.
        None => {
            let row_major = Shape::new(op, &sizes)?.contiguous_strides();
            row_major.iter().map(|stride| *stride as i64).collect()
        }
    };
    let is_moving = sizes.iter().map(|size| *size > 1);
    let strides = strides.iter().zip(is_moving).map(|(stride, is_moving)| {
        let bytes = isize::try_from(*stride).ok();
        let bytes = bytes.and_then(|stride| stride.checked_mul(width));
        // Where there is only one index, its stride may be anything.
        bytes.or((!is_moving).then_some(0))
    });
    let strides = strides.collect::<Option<Vec<isize>>>();
    let strides = strides.ok_or_else(|| malformed("a stride is beyond every address"))?;
    let layout = ForeignLayout::new(op, &sizes, &strides, dtype)?;
    if layout.bytes() == 0 {
        return Ok((NonNull::dangling().as_ptr(), layout));
    }
    if view.data.is_null() {
        return Err(malformed("there is no address"));
    }
    let offset = usize::try_from(view.byte_offset);
    let offset = offset.map_err(|_| malformed("the offset is beyond every address"))?;
    Ok((view.data.cast::<u8>().wrapping_add(offset), layout))
}

/// The tensor of an object with `__dlpack__`. `move_to_cpu` asks for a copy of what is elsewhere.
pub(crate) fn import(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    copy: Option<bool>,
    move_to_cpu: bool,
) -> PyResult<Tensor> {
    let py = object.py();
    // The capsule names the device too, but a copy from elsewhere must be asked for beforehand.
    let device = match object.getattr_opt(intern!(py, "__dlpack_device__"))? {
        Some(method) => method.call0()?.extract::<DeviceCode>()?,
        None => CPU,
    };
    let is_elsewhere = !READABLE.contains(&device.0);
    if is_elsewhere && !move_to_cpu {
        return Err(raise(foreign_device(op, device).hint("device=\"cpu\"")));
    }
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    if let Some(copy) = copy {
        keywords.set_item(intern!(py, "copy"), copy)?;
    }
    if is_elsewhere {
        keywords.set_item(intern!(py, "dl_device"), CPU)?;
    }
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let capsule = match method.call((), Some(&keywords)) {
        // Before the array API of 2023 there were no keywords; a copy we can make ourselves.
        Err(error) if error.is_instance_of::<PyTypeError>(py) && !is_elsewhere => method.call0()?,
        result => result?,
    };
    match capsule.cast::<PyCapsule>() {
        Ok(capsule) => read_capsule(op, capsule, copy),
        Err(_) => {
            let given = capsule.repr()?.to_string();
            let what = "__dlpack__ gave no capsule";
            Err(unusable_capsule(op, what, &given, "a capsule is accepted"))
        }
    }
}

#[cold]
fn foreign_device(op: &'static str, (kind, index): DeviceCode) -> Error {
    let problem = Problem::ForeignDevice {
        given: device_name(kind, index),
        available: available(),
    };
    Error::new(op, problem)
}
