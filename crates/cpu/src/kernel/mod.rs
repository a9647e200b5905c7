//! The kernels: safe code over slices of bytes and layouts.

mod copy;
pub(crate) mod elementwise;
mod fold;
pub(crate) mod fused;
mod prefix;
pub mod random;
mod reduce;
mod scan;
pub mod sort;

pub(crate) use copy::whole_elements;
pub use copy::{copy, copy_into, fill, scatter};
pub use reduce::{Fold, reduce, reduce_at};
pub use scan::{Scan, scan};
