//! The GPU as a [`Backend`](allotrope_op::Backend): shaders written from the op tables, on every
//! vendor's device through wgpu (Vulkan, Metal, DX12).
//!
//! | file | what is in it |
//! |---|---|
//! | `options` | how a device is opened: [`Options`] |
//! | `adapter` | which adapters there are |
//! | `device` | [`Gpu`]: one of them, opened on first use |
//! | `probe` | what a device's arithmetic is like: [`Numerics`] |
//! | `error` | faults of devices as errors |
//! | `memory` | the memory of tensors: a pool with a budget |
//! | `transfer` | bytes up and down |
//! | `queue` | work in few submits |
//! | `pipeline` | shaders that are compiled once |
//! | `strict` | shaders whose arithmetic the driver is told to leave alone |
//! | `cache` | compiled shaders on disk |
//! | `driver` | what the driver is handed as it is (unsafe) |
//! | `codec` | elements of all dtypes in words of 32 bits |
//! | `lower` | programs in the dtypes that the device stores |
//! | `places` | where the elements of views lie, as a shader computes it |
//! | `kernel` | the shaders |
//! | `hosted` | what the CPU does instead, and how often it did |
//! | `backend` | the device as a `Backend` |
//! | `provider` | devices by kind and number, as tensors ask for them |
//!
//! Nothing here runs before a device is asked for, and no fault panics: a missing driver, a lost
//! device and memory that is used up are errors with a reason.
//!
//! | variable | what it does |
//! |---|---|
//! | `ALLOTROPE_GPU=software` | drivers that compute on the CPU count as devices |
//! | `ALLOTROPE_GPU_FEATURES=portable` | no optional feature is used: no float64, no int64 |
//! | `ALLOTROPE_GPU_LEVEL=portable`, `strict` | by what means arithmetic is kept as written ([`Level`]) |
//! | `ALLOTROPE_GPU_CACHE` | the folder of compiled shaders; `off` for none |
//! | `ALLOTROPE_GPU_DUMP` | a folder that every shader is written to, for who looks for a fault |
//! | `ALLOTROPE_GPU_MEMORY` | the bytes that tensors may take |
#![deny(unsafe_code)]

mod adapter;
mod backend;
mod cache;
mod codec;
mod device;
mod driver;
mod error;
mod hosted;
mod kernel;
mod lower;
mod memory;
mod options;
mod pipeline;
mod places;
mod probe;
mod provider;
mod queue;
mod strict;
mod transfer;

pub use device::{Gpu, device, device_count, names, open};
pub use hosted::{HOSTED, HostedReport, hosted, report_hosted};
pub use kernel::catalog::template_shaders;
pub use kernel::shaders;
pub use options::{Features, Level, Options};
pub use probe::{Fact, Numerics};
pub use provider::{KIND, count, find};
pub use strict::spirv;
