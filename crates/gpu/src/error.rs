//! Faults of devices as errors.

use allotrope_dtype::{Error, Problem};

/// A device that does not do what it should.
#[cold]
pub(crate) fn failed(op: &'static str, device: &'static str, reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::new(op, Problem::DeviceFailure { device, reason })
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
