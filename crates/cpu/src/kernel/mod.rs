//! The kernels: safe code over slices of bytes and layouts.

mod conv;
mod copy;
pub(crate) mod elementwise;
mod fold;
pub mod fourier;
pub(crate) mod fused;
pub mod indexing;
mod pool;
pub mod random;
mod reduce;
mod resample;
mod window;

pub use conv::{Convolution, Depthwise, Edge, convolve, convolve_depthwise};
pub(crate) use copy::whole_elements;
pub use copy::{copy, copy_into, fill, scatter};
pub use pool::{Divisor, Grid, Pooled, average, greatest, greatest_with_places, unpool};
pub use reduce::{Fold, reduce, reduce_at};
pub use resample::{Stencil, Weighting, blend, pick};
pub use window::Axis;
