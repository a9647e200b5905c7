//! One program for all tests, so that they share the cores evenly.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod elementwise;
mod mixed;
mod oracle;
mod special_values;
