//! The CPU backend: where elements are stored and how they are moved.
//!
//! | file | what is in it |
//! |---|---|
//! | `buffer` | [`Buffer`]: aligned bytes, allocated fallibly and kept for reuse; [`Foreign`]: bytes of someone else (unsafe) |
//! | `memory` | vectors whose length depends on data, made fallibly |
//! | `reserve` | [`Reserve`]: the allocator that has something left for small things (unsafe) |
//! | `storage` | [`Storage`]: one or the other, the memory of this backend |
//! | `backend` | [`Cpu`]: what views hold, handed to the kernels |
//! | `task` | tasks handed to the kernels, by families |
//! | `parallel` | fixed chunks over threads: the answer never depends on their number (unsafe) |
//! | `interrupt` | long work that is given up in the middle |
//! | `simd` | one loop, compiled for each instruction set (unsafe) |
//! | `tile` | [`run`]: a program for every element, tile by tile |
//! | `into` | [`run_into`]: programs written over what they read, several sets at once |
//! | `plan` | how a program is to be run: readers, kernels, room |
//! | `walk` | layouts in row-major order, from any element on |
//! | `gather` | elements of any layout, a tile at a time |
//! | `gemm` | matrix products of any dtype and strides (unsafe in the files that its table names) |
//! | `kernel/elementwise`, `kernel/pair` | rows of the op tables as loops, one or two in a pass |
//! | `kernel/ties` | functions of one number in narrow floats, correctly rounded |
//! | `checked` | programs that are watched for what leaves the range of its dtype |
//! | `kernel/fused` | rows that convert what they read and write, in one pass |
//! | `float8` | sums and products of 8-bit floats, in vectors from end to end (unsafe) |
//! | `kernel/reduce`, `kernel/fold` | one number of many, along any axes |
//! | `kernel/rowwise` | lines along an axis, each read once |
//! | `kernel/softmax`, `kernel/norm` | what becomes of such lines |
//! | `kernel/scan`, `kernel/prefix` | running totals (unsafe in `scan/blocks`) |
//! | `kernel/sort` | lines in order: sorted, selected, counted |
//! | `kernel/copy`, `kernel/movement` | elements from one layout to another, by width |
//! | `kernel/fourier` | Fourier transforms of lines |
//! | `kernel/indexing` | elements chosen by indices and masks |
//! | `kernel/pool`, `kernel/conv`, `kernel/resample` | windows over grids: pooling, convolution, other sizes |
//! | `kernel/linalg` | decompositions and solutions of matrices |
//! | `kernel/random` | random numbers that depend on seed, offset and index alone |
#![deny(unsafe_code)]

mod backend;
mod buffer;
mod checked;
#[cfg(target_arch = "x86_64")]
mod float8;
mod gather;
pub mod gemm;
pub mod interrupt;
mod into;
pub mod kernel;
pub mod memory;
pub mod parallel;
mod plan;
mod reserve;
mod simd;
mod storage;
mod task;
mod tile;
mod walk;

pub use backend::{CPU, Cpu};
pub use buffer::{Buffer, Foreign, release_kept, watch_pages};
pub use checked::run_checked;
pub use into::{Feed, RunInto, run_into};
pub use reserve::Reserve;
pub use storage::Storage;
pub use tile::{Input, run, run_at, run_row};
