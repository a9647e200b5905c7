//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod conv;
mod conv_transpose;
pub mod fft;
mod indexing;
mod interpolate;
mod pool;
mod roll;
mod window;

pub use conv::{ConvolutionOptions, Padding};
pub use conv_transpose::TransposedOptions;
pub use indexing::{BagMode, Bags, Edges, Embedding, IndexReduction, Search};
pub use interpolate::{Interpolation, InterpolationOptions, Resized};
pub use pool::AverageOptions;
pub use window::Window;
