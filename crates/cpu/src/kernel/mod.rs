//! The kernels: safe code over slices of bytes and layouts.

mod copy;
pub mod random;

pub use copy::{copy, fill};
