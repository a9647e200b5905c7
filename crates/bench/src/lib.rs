//! What the benchmarks share: aligned memory and interleaved timing.
//!
//! Machines are noisy, so a figure is never a time: each candidate is timed in turns with its
//! yardstick, and the ratio of the two best times is printed.

use std::time::{Duration, Instant};

/// Memory that starts at a cache line and has been touched, so that no page fault is timed.
pub struct Memory {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Memory {
    /// `len` bytes with this value.
    #[must_use]
    pub fn new(len: usize, value: u8) -> Self {
        let bytes = vec![value; len + 64];
        let start = bytes.as_ptr().align_offset(64);
        Self { bytes, start, len }
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The bytes, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// The best time of each of two functions that take turns.
pub fn alternate(rounds: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        best[0] = best[0].min(time(&mut one));
        best[1] = best[1].min(time(&mut other));
    }
    best
}

/// Copies a slice with every thread, in equal parts: the speed of the memory itself.
pub fn memcpy_in_parallel(src: &[u8], dst: &mut [u8]) {
    let part = src.len().div_ceil(rayon::current_num_threads()).max(1);
    rayon::scope(|scope| {
        for (from, to) in src.chunks(part).zip(dst.chunks_mut(part)) {
            scope.spawn(move |_| to.copy_from_slice(from));
        }
    });
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
