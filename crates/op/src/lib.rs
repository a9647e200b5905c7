//! What can be computed, device-neutral: the geometry of tensors and the primitives of functions.
//!
//! | file | what is in it |
//! |---|---|
//! | `shape` | [`Shape`]: sizes, broadcasting, axis arithmetic |
//! | `layout` | [`Layout`]: strides and offset, and every view as a change of them |
//! | `lane` | [`Lane`]: the primitives that elementary functions are written in |
//! | [`elementary`] | exp, log, sin and their kin, over [`Lane`] |
//! | `complex` | [`Complex`]: complex numbers, and the same functions of them |
//! | [`wgsl`] | all these functions as the text of a shader |
//! | `nest` | [`Nest`]: the loops that visit several layouts together, as few as possible |
#![forbid(unsafe_code)]

mod complex;
pub mod elementary;
mod lane;
mod layout;
mod nest;
mod shape;
pub mod wgsl;

pub use allotrope_dtype::{Error, ErrorKind, Problem};
pub use complex::Complex;
pub use lane::{Lane, LaneBits, Number};
pub use layout::{Layout, Slice};
pub use nest::{Loop, Nest};
pub use shape::{Dims, Shape, normalize_axes, normalize_axis};
