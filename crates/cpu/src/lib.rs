//! The CPU backend: where elements are stored and how they are moved.
//!
//! | file | what is in it |
//! |---|---|
//! | `buffer` | [`Buffer`]: aligned bytes, allocated fallibly and kept for reuse; [`Foreign`]: bytes of someone else (unsafe) |
//! | `storage` | [`Storage`]: one or the other |
//! | `parallel` | fixed chunks over threads: the answer never depends on their number |
//! | `kernel/copy` | elements from one layout to another, by width |
#![deny(unsafe_code)]

mod buffer;
pub mod kernel;
pub mod parallel;
mod storage;

pub use buffer::{Buffer, Foreign, release_kept};
pub use storage::Storage;
