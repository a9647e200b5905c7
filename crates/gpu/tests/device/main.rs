//! The device against the CPU: the same bits for integers, casts, comparisons, movement and draws, and
//! the row's distance for functions of floats. With all features of the adapter, and with none.
//!
//! Without an adapter the tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod casts;
mod draws;
mod faults;
mod folds;
mod indices;
mod movement;
mod pitfalls;
mod rows;
mod support;
