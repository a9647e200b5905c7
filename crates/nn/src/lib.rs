//! Networks and how they are trained: what both languages need is written here, once.
//!
//! | file | what is in it |
//! |---|---|
//! | `parameter` | [`Parameter`] and [`Buffer`]: places of a module that are trained, or kept |
//! | `optim/` | optimizers and learning-rate schedulers |
#![forbid(unsafe_code)]

pub mod optim;
mod parameter;

pub use allotrope_tensor::{DType, Error, Tensor, Variable};
pub use parameter::{Buffer, Parameter};
