//! Networks and how they are trained: what both languages need is written here, once.
//!
//! | file | what is in it |
//! |---|---|
//! | `parameter` | [`Parameter`] and [`Buffer`]: places of a module that are trained, or kept |
//! | [`init`] | first values of parameters |
//! | [`rnn`] | recurrent networks |
//! | `optim/` | optimizers and learning-rate schedulers |
#![forbid(unsafe_code)]

pub mod init;
pub mod optim;
mod parameter;
pub mod rnn;

pub use allotrope_tensor::{DType, Error, Tensor, Variable};
pub use parameter::{Buffer, Parameter, Place};
