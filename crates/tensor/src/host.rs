//! What tensors need of the machine they run on, whatever device they are on: memory that elements
//! are brought in and out by, fallible vectors, interrupts, threads. With `device.rs` the only file
//! that names the crate of the CPU.

pub(crate) use allotrope_cpu::gemm::has_brain_units;
pub(crate) use allotrope_cpu::kernel::whole_elements;
pub use allotrope_cpu::parallel::{set_thread_count, thread_count};
pub use allotrope_cpu::{Buffer, CPU, Foreign};
pub(crate) use allotrope_cpu::{Storage, interrupt, memory, parallel};
