//! Work in fixed blocks over threads: where a block begins never depends on how many there are.

use rayon::prelude::*;

/// Elements per chunk, and the amount below which threads cost more than they bring.
pub const CHUNK: usize = 32 << 10;

/// Calls `work` with consecutive chunks of [`CHUNK`] elements and the index of each one's first
/// element. A single chunk stays on the caller's thread.
pub fn for_each_chunk<T: Send>(slice: &mut [T], work: impl Fn(usize, &mut [T]) + Send + Sync) {
    for_each_block(slice, CHUNK, |block, chunk| work(block * CHUNK, chunk));
}

/// Calls `work` with the index of each block of `size` items and the block. Slices of no more than
/// [`CHUNK`] items stay on the caller's thread.
pub fn for_each_block<T: Send>(
    slice: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    let threaded = slice.len() > CHUNK;
    visit_blocks(slice, size, threaded, &work);
}

/// Calls `work` with the index of each block of `size` items and the block, on all threads however
/// few items there are: for work that is not counted in items.
pub fn for_each_part<T: Send>(
    slice: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    visit_blocks(slice, size, true, &work);
}

/// The work is behind a pointer: rayon's machinery is compiled once per item and not once per kernel,
/// which would be megabytes.
fn visit_blocks<T: Send>(
    slice: &mut [T],
    size: usize,
    threaded: bool,
    work: &(dyn Fn(usize, &mut [T]) + Send + Sync),
) {
    let size = size.max(1);
    if threaded {
        let blocks = slice.par_chunks_mut(size).enumerate();
        blocks.for_each(|(index, block)| work(index, block));
    } else {
        let blocks = slice.chunks_mut(size).enumerate();
        blocks.for_each(|(index, block)| work(index, block));
    }
}
