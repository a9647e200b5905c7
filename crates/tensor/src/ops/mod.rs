//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod difference;
pub mod fft;
mod indexing;
mod lines;
mod pool;
mod quantile;
mod roll;
mod scan;
mod select;
mod sort;
mod unique;
mod window;

pub use indexing::{BagMode, Bags, Edges, Embedding, IndexReduction, Search};
pub use pool::AverageOptions;
pub use quantile::Interpolation;
pub use unique::Unique;
pub use window::Window;
