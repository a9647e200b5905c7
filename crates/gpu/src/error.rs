//! Faults of devices as errors.

use allotrope_dtype::{Error, Problem};

/// A device that does not do what it should.
#[cold]
pub(crate) fn failed(op: &'static str, device: &'static str, reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::new(op, Problem::DeviceFailure { device, reason })
}

/// A device that is no longer there, with so many tensors of so many bytes.
#[cold]
pub(crate) fn lost(
    op: &'static str,
    device: &'static str,
    reason: &str,
    tensors: usize,
    bytes: u64,
) -> Error {
    let reason = format!(
        "{reason}; the {tensors} tensors in its memory are gone ({bytes} bytes), those of the CPU are not"
    );
    failed(op, device, reason).hint("the next use of the device by its name opens it anew")
}

/// A tensor of a device that is no longer there.
#[cold]
pub(crate) fn gone(op: &'static str, device: &'static str, bytes: usize) -> Error {
    let reason =
        format!("a tensor of {bytes} bytes is gone: it was made before the device was lost");
    failed(op, device, reason).hint("make it again of what the CPU has")
}

/// Memory that the device does not have.
#[cold]
pub(crate) fn out_of_memory(op: &'static str, bytes: usize) -> Error {
    Error::new(op, Problem::OutOfMemory { bytes })
}

/// No such device.
#[cold]
pub(crate) fn unknown(ordinal: usize, names: &[&str]) -> Error {
    let given = match ordinal {
        0 => "gpu".to_owned(),
        n => format!("gpu:{n}"),
    };
    let available = [&["cpu"], names].concat().join(", ");
    let error = Error::new("device", Problem::UnknownDevice { given, available });
    error.hint("install a Vulkan driver; ALLOTROPE_GPU=software accepts one that uses the CPU")
}
