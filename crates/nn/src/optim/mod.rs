//! Optimizers and learning-rate schedulers, the same code for both languages.
//!
//! | file | what is in it |
//! |---|---|
//! | `options` | hyper-parameters by name: a struct in Rust, an entry of a group in Python |
//! | `algorithm` | [`Algorithm`]: what an optimizer remembers, and its formula |
//! | `precision` | [`Precision`]: which dtype that is kept in, and how parameters are rounded |
//! | `step` | one step of many parameters: checked, then one pass over memory |
//! | `sgd` … `muon` | the algorithms |
//! | `lbfgs` | L-BFGS, which evaluates the loss itself |
//! | `optimizer` | [`Optimizer`]: what every optimizer does; [`OptimizerOf`]: groups of parameters with their state |
//! | `lr_scheduler/` | learning rates over time |
//!
//! ```
//! use allotrope_nn::optim::{AdamW, AdamWOptions};
//! use allotrope_nn::{DType, Parameter, Tensor};
//! let weight = Parameter::new(Tensor::ones(&[3], DType::F32)?)?;
//! let options = AdamWOptions { lr: 0.1, ..Default::default() };
//! let mut optimizer = AdamW::new([weight.clone()], options)?;
//! for _ in 0..10 {
//!     optimizer.zero_grad()?;
//!     weight.value().square()?.sum_all()?.backward()?;
//!     optimizer.step()?;
//! }
//! assert!(weight.value().to_vec::<f32>()?[0] < 0.2);
//! # Ok::<(), allotrope_nn::Error>(())
//! ```

mod adadelta;
mod adafactor;
mod adagrad;
mod adam;
mod adamax;
mod algorithm;
mod asgd;
mod lbfgs;
mod lion;
pub mod lr_scheduler;
mod muon;
mod nadam;
mod optimizer;
mod options;
mod precision;
mod radam;
mod rmsprop;
mod rprop;
mod sgd;
mod step;

pub use adadelta::AdadeltaOptions;
pub use adafactor::AdafactorOptions;
pub use adagrad::AdagradOptions;
pub use adam::{AdamOptions, AdamWOptions};
pub use adamax::AdamaxOptions;
pub use algorithm::{
    Algorithm, Numbers, Slot, TensorUpdate, TensorsUpdated, Update, Updated, algorithm,
    algorithm_names,
};
pub use asgd::ASGDOptions;
pub use lbfgs::{LBFGSOptions, LBFGSState, LineSearch, lbfgs_step};
pub use lion::LionOptions;
pub use muon::{AdjustLr, MuonOptions};
pub use nadam::NAdamOptions;
pub use optimizer::{
    ASGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, GroupState, Lion, Muon, NAdam,
    Optimizer, OptimizerOf, RAdam, RMSprop, Rprop, SGD, StateDict, StateValue,
};
pub use options::{OptionKind, OptionValue, Options};
pub use precision::Precision;
pub use radam::RAdamOptions;
pub use rmsprop::RMSpropOptions;
pub use rprop::RpropOptions;
pub use sgd::SGDOptions;
pub use step::{
    Group, Item, MASTER, check_names, check_number, initial_state, number, step, widened,
};
