//! The CPU backend: where elements are stored and how they are moved.
//!
//! | file | what is in it |
//! |---|---|
//! | `buffer` | [`Buffer`]: aligned bytes, allocated fallibly and kept for reuse (unsafe) |
//! | `parallel` | fixed chunks over threads: the answer never depends on their number |
//! | `kernel/copy` | elements from one layout to another, by width |
//! | `kernel/random` | random numbers that depend on seed, offset and index alone |
#![deny(unsafe_code)]

mod buffer;
pub mod kernel;
pub mod parallel;

pub use buffer::{Buffer, release_kept};
