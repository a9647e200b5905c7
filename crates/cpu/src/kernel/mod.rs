//! The kernels: safe code over slices of bytes and layouts.

mod copy;
pub(crate) mod elementwise;
mod fold;
pub mod fourier;
pub(crate) mod fused;
pub mod indexing;
mod movement;
mod pool;
pub mod random;
mod reduce;
mod window;

pub(crate) use copy::whole_elements;
pub use copy::{copy, copy_into, fill, scatter};
pub use movement::{Band, Piece, Windows, add_windows, assemble, copy_view, keep_band, take_rows};
pub use pool::{Divisor, Grid, Pooled, average, greatest, greatest_with_places, unpool};
pub use reduce::{Fold, reduce, reduce_at};
pub use window::Axis;
