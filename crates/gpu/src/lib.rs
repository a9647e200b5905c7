//! The GPU as a [`Backend`](allotrope_op::Backend): shaders written from the op tables, on every
//! vendor's device through wgpu (Vulkan, Metal, DX12).
//!
//! | file | what is in it |
//! |---|---|
//! | `device` | which devices there are, and [`Gpu`]: one of them, opened on first use |
//! | `probe` | what a device's arithmetic is like: [`Numerics`] |
//! | `error` | faults of devices as errors |
//! | `memory` | the memory of tensors: a pool with a budget, bytes up and down |
//! | `queue` | work in few submits |
//! | `pipeline` | shaders that are compiled once |
//! | `codec` | elements of all dtypes in words of 32 bits |
//! | `lower` | programs in the dtypes that the device stores |
//! | `places` | where the elements of views lie, as a shader computes it |
//! | `kernel` | the shaders |
//! | `hosted` | what the CPU does instead, and how often it did |
//! | `backend` | the device as a `Backend` |
//!
//! Nothing here runs before a device is asked for, and no fault panics: a missing driver, a lost
//! device and memory that is used up are errors with a reason.
//!
//! | variable | what it does |
//! |---|---|
//! | `ALLOTROPE_GPU=software` | drivers that compute on the CPU count as devices |
//! | `ALLOTROPE_GPU_FEATURES=portable` | no optional feature is used: no float64, no int64 |
//! | `ALLOTROPE_GPU_MEMORY` | the bytes that tensors may take |
#![forbid(unsafe_code)]

mod backend;
mod codec;
mod device;
mod error;
mod hosted;
mod kernel;
mod lower;
mod memory;
mod pipeline;
mod places;
mod probe;
mod queue;

pub use device::{Features, Gpu, Options, device, device_count, open};
pub use hosted::{HOSTED, hosted};
pub use kernel::shaders;
pub use probe::Numerics;
