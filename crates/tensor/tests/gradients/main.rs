//! Gradients of every operation against differences of its results, and how a graph lives.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod attention;
mod checks;
mod conv;
mod core;
mod distance;
mod fft;
mod indexing;
mod linalg;
mod loss;
mod movement;
mod order;
mod pool;
mod products;
mod rows;
mod sampling;
mod softmax_norm;
mod spectra;
