//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod columns;
mod diagonal;
pub mod fft;
mod grid;
mod indexing;
mod join;
mod pad;
mod pool;
mod rank;
mod repeat;
mod roll;
mod segment;
mod shuffle;
mod triangle;
mod window;

pub use columns::Blocks;
pub use indexing::{BagMode, Bags, Edges, Embedding, IndexReduction, Search};
pub use pad::Padding;
pub use pool::AverageOptions;
pub use window::Window;
