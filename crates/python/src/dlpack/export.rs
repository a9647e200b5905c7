//! Our tensors in capsules: read-only, or a copy that belongs to the consumer.

use std::ptr::{self, NonNull};

use allotrope_tensor::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{
    CPU, DataType, Device, DeviceCode, IS_COPIED, Legacy, Managed, READ_ONLY, Versioned, View,
    device_name,
};
use crate::error::{raise, refused_export};
use crate::interrupt::detach;

/// What a consumer asks of `__dlpack__`.
pub(crate) struct Request {
    pub(crate) stream: Option<i64>,
    pub(crate) max_version: Option<(u32, u32)>,
    pub(crate) device: Option<DeviceCode>,
    pub(crate) copy: Option<bool>,
}

/// A capsule with a tensor: read-only, or a copy that belongs to the consumer.
///
/// The old form has no way to say read-only, so that it gets a copy. With `copy=False` it gets the
/// memory of a variable: what the consumer writes is seen here, as with other libraries.
pub(crate) fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    request: &Request,
) -> PyResult<Bound<'py, PyCapsule>> {
    const OP: &str = "__dlpack__";
    // -1 asks for no synchronisation, which the CPU never needs.
    if let Some(stream) = request.stream.filter(|stream| *stream != -1) {
        let accepted = "None is accepted on the cpu";
        return Err(refused_export(
            OP,
            "no such stream",
            &stream.to_string(),
            accepted,
        ));
    }
    if let Some(device) = request.device.filter(|device| *device != CPU) {
        let given = device_name(device.0, device.1);
        return Err(refused_export(
            OP,
            "no such device",
            &given,
            "available are cpu",
        ));
    }
    let is_versioned = matches!(request.max_version, Some((1.., _)));
    let copy = match request.copy {
        Some(false) if !is_versioned && !tensor.is_writable() => {
            let given = "DLPack before 1.0 cannot say read-only";
            let accepted = "copy=False forbids it (hint: max_version=(1, 0))";
            return Err(refused_export(OP, "a copy is needed", given, accepted));
        }
        copy => copy.unwrap_or(!is_versioned),
    };
    let (tensor, flags) = if copy {
        (detach(py, || tensor.copied()).map_err(raise)?, IS_COPIED)
    } else {
        (tensor.clone(), READ_ONLY)
    };
    if is_versioned {
        fill_capsule::<Versioned>(py, tensor, flags)
    } else {
        fill_capsule::<Legacy>(py, tensor, flags)
    }
}

/// A tensor that another library reads, with what the structs point to.
struct Export<M> {
    managed: Option<M>,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    tensor: Tensor,
}

fn fill_capsule<M: Managed>(
    py: Python<'_>,
    tensor: Tensor,
    flags: u64,
) -> PyResult<Bound<'_, PyCapsule>> {
    let mut export = Box::new(Export::<M> {
        managed: None,
        sizes: tensor.shape().iter().map(|size| *size as i64).collect(),
        strides: tensor
            .layout()
            .strides()
            .iter()
            .map(|s| *s as i64)
            .collect(),
        tensor,
    });
    let dtype = export.tensor.dtype();
    let view = View {
        data: ptr::with_exposed_provenance_mut(export.tensor.address()),
        device: Device {
            kind: CPU.0,
            index: CPU.1,
        },
        rank: export.sizes.len() as i32,
        dtype: DataType {
            code: dtype.descriptor().dlpack_code,
            bits: dtype.bits() as u8,
            lanes: 1,
        },
        sizes: export.sizes.as_mut_ptr(),
        strides: export.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let export = Box::into_raw(export);
    let managed = M::new(view, export.cast(), flags);
    // SAFETY: the box was just made, and nothing else refers to it yet.
    let export_ref = unsafe { &mut *export };
    let managed = NonNull::from(export_ref.managed.insert(managed));
    // SAFETY: the managed tensor lives until its deleter runs, which the destructor does for a
    // capsule that nobody read, on whatever thread.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(
            py,
            managed.cast(),
            M::FRESH,
            Some(drop_unread::<M>),
        )
    };
    if capsule.is_err() {
        // SAFETY: no capsule was made, so that this is the only deletion.
        unsafe { delete_export(managed.as_ptr()) };
    }
    capsule
}

/// What a capsule does at its end: whoever read it renamed it and has the tensor now.
unsafe extern "C" fn drop_unread<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python hands over the capsule that ends.
    if unsafe { ffi::PyCapsule_IsValid(capsule, M::FRESH.as_ptr()) } == 0 {
        return;
    }
    // SAFETY: as above, and the name is right.
    let managed = unsafe { ffi::PyCapsule_GetPointer(capsule, M::FRESH.as_ptr()) };
    // SAFETY: `fill_capsule` put it there, and nobody else took it.
    unsafe { delete_export::<M>(managed.cast()) };
}

/// The deleter of our own tensors. It needs no interpreter.
pub(super) unsafe extern "C" fn delete_export<M: Managed>(managed: *mut M) {
    // SAFETY: the consumer hands back what `fill_capsule` made.
    let context = unsafe { &*managed }.context();
    // SAFETY: the context is the box around it, and the deleter is called once.
    drop(unsafe { Box::from_raw(context.cast::<Export<M>>()) });
}
