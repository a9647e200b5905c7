//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod difference;
mod lines;
mod quantile;
mod roll;
mod scan;
mod select;
mod sort;
mod unique;

pub use quantile::Interpolation;
pub use unique::Unique;
