//! What can be computed, device-neutral: the geometry of tensors.
//!
//! | file | what is in it |
//! |---|---|
//! | `shape` | [`Shape`]: sizes, broadcasting, axis arithmetic |
//! | `layout` | [`Layout`]: strides and offset, and every view as a change of them |
//! | `nest` | [`Nest`]: the loops that visit several layouts together, as few as possible |
#![forbid(unsafe_code)]

mod layout;
mod nest;
mod shape;

pub use allotrope_dtype::{Error, ErrorKind, Problem};
pub use layout::{Layout, Slice};
pub use nest::{Loop, Nest};
pub use shape::{Dims, Shape, normalize_axes, normalize_axis};
