//! The CPU backend: where elements are stored and how they are moved.
//!
//! | file | what is in it |
//! |---|---|
//! | `buffer` | [`Buffer`]: aligned bytes, allocated fallibly and kept for reuse; [`Foreign`]: bytes of someone else (unsafe) |
//! | `storage` | [`Storage`]: one or the other |
//! | `parallel` | fixed chunks over threads: the answer never depends on their number |
//! | `simd` | one loop, compiled for each instruction set (unsafe) |
//! | `tile` | [`run`]: a program for every element, tile by tile |
//! | `gather` | elements of any layout, a tile at a time |
//! | `kernel/elementwise` | rows of the op tables as loops |
//! | `kernel/fused` | sums and products of two dtypes in one pass |
//! | `kernel/reduce`, `kernel/fold` | one number of many, along any axes |
//! | `kernel/copy` | elements from one layout to another, by width |
//! | `kernel/fourier` | Fourier transforms of lines |
//! | `kernel/linalg` | decompositions and solutions of matrices |
//! | `kernel/random` | random numbers that depend on seed, offset and index alone |
#![deny(unsafe_code)]

mod buffer;
mod gather;
pub mod kernel;
pub mod parallel;
mod simd;
mod storage;
mod tile;

pub use buffer::{Buffer, Foreign, release_kept};
pub use storage::Storage;
pub use tile::{Input, run, run_at, run_row};
