//! The kernels: safe code over slices of bytes and layouts.

mod copy;
pub(crate) mod elementwise;
mod fold;
pub(crate) mod fused;
mod norm;
pub mod random;
mod reduce;
mod rows;
mod softmax;

pub(crate) use copy::whole_elements;
pub use copy::{copy, copy_into, fill, scatter};
pub use norm::{Norm, normalize_lines};
pub use reduce::{Fold, reduce, reduce_at};
pub use rows::{LineInput, are_lines_short, pick, sizes_around};
pub use softmax::{Softmax, softmax};
