//! The device against references that share no code with it, those of `allotrope-conformance`: every
//! row, cast and reduction of every dtype, and the errors about values. With all features of the adapter and with none, each in
//! both levels.
//!
//! Without an adapter the tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod casts;
mod devices;
mod elementwise;
mod hosting;
mod layouts;
mod reductions;
mod refusals;
