//! GPUs of every maker, through Vulkan, Metal and DX12: which there are, and their memory.
//!
//! [`register`] makes the names `"gpu"` and `"gpu:1"` known, once for the process; [`device`] and
//! [`device_count`] do so by themselves. No driver is asked before a device is. Drivers that compute on
//! the CPU count if the environment has `ALLOTROPE_GPU=software`.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! allotrope::gpu::register();
//! match "gpu".parse::<Device>() {
//!     Ok(device) => assert_eq!(Tensor::ones(&[2], (DType::F32, device))?.device(), device),
//!     // Says why, and what to do.
//!     Err(error) => assert!(!allotrope::gpu::is_available(), "{error}"),
//! }
//! # Ok::<(), Error>(())
//! ```

pub use allotrope_gpu::{Gpu, Numerics};
use allotrope_gpu::{KIND, count, find, report_hosted};

use crate::{Device, DeviceProvider, Result, register_devices};

/// Makes the names of GPUs known to all that parse the names of devices.
pub fn register() {
    register_devices(DeviceProvider {
        kind: KIND,
        count,
        find,
        report_hosted,
    });
}

/// Whether this machine has a GPU.
#[must_use]
pub fn is_available() -> bool {
    device_count() > 0
}

/// How many GPUs there are.
#[must_use]
pub fn device_count() -> u32 {
    register();
    count()
}

/// The GPU of a number, opened on first use.
///
/// # Errors
/// A device error that says why there is none, and what to do.
pub fn device(index: u32) -> Result<Device> {
    register();
    Device::new(KIND, index)
}

/// What a GPU says of itself, its memory and its arithmetic.
///
/// # Errors
/// As [`device`].
pub fn properties(index: u32) -> Result<&'static Gpu> {
    device(index)?;
    allotrope_gpu::device(index as usize)
}
