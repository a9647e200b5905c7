//! One program for all tests, so that they share the cores evenly.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod accuracy;
mod calls;
mod casts;
mod derivatives;
mod elementwise;
mod huge;
mod mixed;
mod oracle;
mod programs;
mod reductions;
mod rounding;
mod special_values;
mod threads;
