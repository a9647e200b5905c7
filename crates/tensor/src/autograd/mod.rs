//! Gradients: what tensors remember of how they were made, and the way back.
//!
//! | file | what is in it |
//! |---|---|
//! | `mode` | whether operations are recorded, by thread |
//! | `node` | a recorded operation, and how a long graph is dropped |
//! | `record` | putting an operation on record |
//! | `leaf` | what a tensor says of its gradient |
//! | `pass` | what a rule sees when gradients come back |
//! | `elementwise` | the rule of programs: their derivative, fused along a chain |
//! | `check` | gradients checked against differences |
//! | `function` | operations of the user's own, and computations that are done again |
//! | `engine` | the walk back, which alone sums, converts and accumulates |
//!
//! An operation of programs needs nothing: its derivative is that of its rows. One with a kernel of
//! its own gives its result a rule, in its own file:
//!
//! ```text
//! result.with_rule(op, &[self], move |pass| Ok(smallvec![Some(pass.gradient()?.flip(&axes)?)]))
//! ```
//!
//! Rules are made of differentiable operations themselves, so that gradients have gradients.

mod check;
mod elementwise;
mod engine;
mod function;
mod leaf;
mod mode;
mod node;
mod pass;
mod record;

pub use check::{Checked, GradcheckOptions, gradcheck, gradgradcheck};
pub use engine::{BackwardOptions, backward, grad};
pub use function::{Function, apply_function, checkpoint, lasting_name, record_function};
pub use mode::{
    AnomalyMode, GradMode, Mode, ModeFlow, detect_anomaly, enable_grad, inference_mode,
    is_anomaly_enabled, is_grad_enabled, is_inference_mode, mode, no_grad, set_grad_enabled,
};
pub use node::{AfterHook, Hook, HookPlace};
pub(crate) use node::{History, Outline};
pub(crate) use pass::{Gradients, Pass};
pub use record::set_locator;
pub(crate) use record::{
    differentiable, is_recorded, locate, node_of, record_program, with_rule_of,
};
