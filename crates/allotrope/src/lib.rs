//! A tensor library built around one unified dtype system: one dependency for all of it.
#![forbid(unsafe_code)]

pub use allotrope_io as io;
pub use allotrope_nn as nn;
pub use allotrope_tensor::*;
