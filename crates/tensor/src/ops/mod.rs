//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

pub(crate) mod attention;
mod einsum;
mod linear;
mod matmul;
pub(crate) mod product;
mod roll;
mod tensordot;

pub use einsum::einsum;
pub use tensordot::multi_dot;
