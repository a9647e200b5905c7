//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod diagonal;
mod grid;
mod join;
mod pad;
mod rank;
mod repeat;
mod roll;
mod segment;
mod shuffle;
mod triangle;
mod window;

pub use pad::Padding;
pub use window::Window;
