//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod indexing;
mod pool;
mod roll;
mod window;

pub use indexing::{BagMode, Bags, Edges, Embedding, IndexReduction, Search};
pub use pool::AverageOptions;
pub use window::Window;
