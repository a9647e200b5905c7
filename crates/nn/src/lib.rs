//! Networks and how they are trained: what both languages need is written here, once.
//!
//! | file | what is in it |
//! |---|---|
//! | `module/` | [`Module`] and [`Layer`]: parts of a network, and the walk over their places |
//! | `layers/` | torch's layers and losses |
//! | `parameter` | [`Parameter`] and [`Buffer`]: places of a module that are trained, or kept |
//! | [`init`] | first values of parameters |
//! | [`rnn`] | recurrent networks |
//! | `optim/` | optimizers and learning-rate schedulers |
//!
//! ```
//! use allotrope_nn::{DType, Layer, Linear, Module, Relu, Tensor};
//!
//! #[derive(Module)]
//! struct Mlp {
//!     first: Linear,
//!     second: Linear,
//! }
//!
//! impl Layer for Mlp {
//!     fn forward(&self, x: &Tensor) -> Result<Tensor, allotrope_nn::Error> {
//!         self.second.forward(&Relu.forward(&self.first.forward(x)?)?)
//!     }
//! }
//!
//! let net = Mlp { first: Linear::new(4, 16)?, second: Linear::new(16, 3)? };
//! let x = Tensor::randn(&[8, 4], DType::F32, None)?;
//! net.forward(&x)?.square()?.sum_all()?.backward()?;
//! assert!(net.parameters().iter().all(|parameter| parameter.grad().is_some()));
//! # Ok::<(), allotrope_nn::Error>(())
//! ```
#![forbid(unsafe_code)]

extern crate self as allotrope_nn;

pub mod init;
mod layers;
mod module;
pub mod optim;
mod parameter;
pub mod rnn;

pub use allotrope_derive::Module;
pub use allotrope_tensor::{DType, Device, Error, Numeric, Options, Tensor, Variable};
pub use layers::*;
pub use module::{Layer, Module, Report, StateDict, Training, Visit, Visitor, Walk};
pub use parameter::{Buffer, Parameter, Place};
