//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

mod distance;
mod dropout;
mod loss;
mod norm;
mod operands;
mod roll;
mod scale;
mod softmax;

pub use loss::LossReduction;
pub use norm::{BatchNorm, BatchNormOptions};
