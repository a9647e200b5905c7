//! What the benchmarks share: aligned memory and interleaved timing.
//!
//! Machines are noisy, so a figure is never a time: each candidate is timed in turns with its
//! yardstick, and the ratio of the two best times is printed.

use std::time::{Duration, Instant};

use allotrope_cpu::Buffer;

/// How long each candidate is called before the other has its turn: one call of a small work would
/// find threads asleep and the other's data in the caches.
const TURN: Duration = Duration::from_millis(5);

/// Memory as tensors have it, in huge pages where the system gives them, which has been touched: no
/// page fault is timed, and `memcpy` has what the tensors have.
pub struct Memory(Buffer);

impl Memory {
    /// `len` bytes with this value. The benchmark ends if there is no room.
    #[must_use]
    pub fn new(len: usize, value: u8) -> Self {
        let mut buffer = Buffer::for_overwrite("bench", len).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1)
        });
        buffer.fill(value);
        Self(buffer)
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// The best time of each of two functions that take turns.
pub fn alternate(rounds: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        best[0] = best[0].min(best_of_turn(&mut one));
        best[1] = best[1].min(best_of_turn(&mut other));
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

fn best_of_turn(work: &mut impl FnMut()) -> Duration {
    let turn = Instant::now();
    let mut best = Duration::MAX;
    while best == Duration::MAX || turn.elapsed() < TURN {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}
