//! Work that has a shader of its own gives what the CPU gives, and none of it is done by the CPU.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod attention;
mod convolution;
mod order;
mod product;
mod rowwise;
mod support;
