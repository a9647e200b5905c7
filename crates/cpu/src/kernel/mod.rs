//! The kernels: safe code over slices of bytes and layouts.

mod copy;
pub(crate) mod elementwise;
mod fold;
pub mod fourier;
pub(crate) mod fused;
pub mod linalg;
pub mod random;
mod reduce;

pub(crate) use copy::whole_elements;
pub use copy::{copy, copy_into, fill, scatter};
pub use reduce::{Fold, reduce, reduce_at};
