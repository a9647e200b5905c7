//! Work in fixed blocks over threads: where a block begins never depends on how many there are.
//!
//! All of it ends in `for_each_index` or `try_for_each_index`, which see the work behind a
//! pointer: what shares it out is compiled twice and not once per kernel, which would be megabytes.
//! For the same reason work without threads is called from the same place as work with them.
//!
//! A caller that has told its thread to flush subnormal numbers gets them flushed in the blocks
//! that it takes itself.
#![allow(
    unsafe_code,
    reason = "blocks of one slice, handed out by their number"
)]

mod crew;
mod pool;
mod segments;
mod standby;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use allotrope_dtype::Error;

use crate::memory::try_with_capacity;

use crate::interrupt::Watch;

pub(crate) use self::crew::Crew;
pub(crate) use self::pool::install;
use self::segments::Segments;

/// Elements per chunk, and the amount below which threads cost more than they bring.
pub const CHUNK: usize = 32 << 10;

/// How many threads work at most; zero for all of the pool.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// How many threads share large work.
#[must_use]
pub fn thread_count() -> usize {
    let all = pool::thread_count();
    match LIMIT.load(Ordering::Relaxed) {
        0 => all,
        limit => limit.min(all),
    }
}

/// Sets how many threads share large work from now on. The pool is as large as the machine, or as the
/// first number that is set before any large work; more than it has do not help. Results do not depend
/// on it.
pub fn set_thread_count(count: usize) {
    // Once the pool is there it stays.
    pool::ask_for(count);
    LIMIT.store(count, Ordering::Relaxed);
}

/// Work by index, as a trait of one method: the table of a closure has three.
trait Work<R>: Sync {
    fn at(&self, index: usize) -> R;
}

impl<R, F: Fn(usize) -> R + Sync> Work<R> for F {
    fn at(&self, index: usize) -> R {
        self(index)
    }
}

/// Calls `work` on all threads with numbers below `count`, and with the thread's own number.
fn share(count: usize, work: &(dyn Fn(&Segments, usize) + Sync)) {
    let threads = thread_count().min(count).max(1);
    let segments = Segments::new(count, threads);
    segments
        .crew
        .run(threads, &|thread| work(&segments, thread));
}

/// Calls `work` with every index below `count`, on all threads or on this one.
fn for_each_index(count: usize, threaded: bool, work: &dyn Work<()>) {
    if threaded && count > 1 {
        share(count, &|segments, thread| {
            let mut watch = Watch::new();
            while let Some(piece) = segments.take(thread) {
                piece.for_each(|index| {
                    watch.check();
                    work.at(index);
                });
            }
        });
    } else {
        let mut watch = Watch::new();
        (0..count).for_each(|index| {
            watch.check();
            work.at(index);
        });
    }
}

/// [`for_each_index`] for work that may fail: no more is begun after an error.
fn try_for_each_index(count: usize, work: &dyn Work<Result<(), Error>>) -> Result<(), Error> {
    if count <= 1 {
        return (0..count).try_for_each(|index| work.at(index));
    }
    let has_failed = AtomicBool::new(false);
    let failure = Mutex::new(None);
    share(count, &|segments, thread| {
        let mut watch = Watch::new();
        while let Some(piece) = segments.take(thread) {
            for index in piece {
                if has_failed.load(Ordering::Relaxed) {
                    return;
                }
                watch.check();
                if let Err(error) = work.at(index) {
                    has_failed.store(true, Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}

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
    visit_blocks(slice, size, threaded, work);
}

/// Calls `work` with the index of each block of `size` items and the block, on all threads however
/// few items there are: for work that is not counted in items.
pub fn for_each_part<T: Send>(
    slice: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    visit_blocks(slice, size, true, work);
}

/// [`for_each_part`] on all threads or on this one.
pub(crate) fn visit_blocks<T: Send>(
    slice: &mut [T],
    size: usize,
    threaded: bool,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    let blocks = Blocks::new(slice, size);
    for_each_index(blocks.count(), threaded, &|index: usize| {
        // SAFETY: every index comes once.
        work(index, unsafe { blocks.get(index) });
    });
}

/// [`visit_blocks`] for work that may fail.
pub(crate) fn try_visit_blocks<T: Send>(
    slice: &mut [T],
    size: usize,
    threaded: bool,
    work: impl Fn(usize, &mut [T]) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    if threaded {
        return try_for_each_part(slice, size, work);
    }
    let mut blocks = slice.chunks_mut(size.max(1)).enumerate();
    blocks.try_for_each(|(index, block)| work(index, block))
}

/// [`for_each_part`] for work that may fail.
///
/// # Errors
/// One of those that the work returned.
pub fn try_for_each_part<T: Send>(
    slice: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    let blocks = Blocks::new(slice, size);
    try_for_each_index(blocks.count(), &|index: usize| {
        // SAFETY: every index comes once.
        work(index, unsafe { blocks.get(index) })
    })
}

/// [`try_for_each_part`] of single items, with room that calls lend each other.
///
/// # Errors
/// One of those that the work returned.
pub fn try_for_each_item<T: Send, R: Send + Default>(
    items: &mut [T],
    work: impl Fn(&mut R, usize, &mut T) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    let rooms: Mutex<Vec<R>> = Mutex::new(Vec::new());
    let lock = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
    try_for_each_part(items, 1, |index, items| {
        let mut room = lock().pop().unwrap_or_default();
        let done = items
            .iter_mut()
            .try_for_each(|item| work(&mut room, index, item));
        lock().push(room);
        done
    })
}

/// What `work` gives for every index below `count`, in order.
pub fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = Vec::new();
    results.resize_with(count, || None);
    for_each_part(&mut results, 1, |index, results| {
        for result in results {
            *result = Some(work(index));
        }
    });
    results.into_iter().flatten().collect()
}

/// [`map`] for work that may fail.
///
/// # Errors
/// One of those that the work returned; a memory error without room for the results.
pub fn try_map<R: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R, Error> + Send + Sync,
) -> Result<Vec<R>, Error> {
    let mut results: Vec<Option<R>> = try_with_capacity("map", count)?;
    results.resize_with(count, || None);
    try_for_each_part(&mut results, 1, |index, results| {
        for result in results {
            *result = Some(work(index)?);
        }
        Ok(())
    })?;
    let mut list = try_with_capacity("map", count)?;
    list.extend(results.into_iter().flatten());
    Ok(list)
}

/// A slice as blocks of `size` items, the last of what is left.
struct Blocks<'a, T> {
    first: *mut T,
    len: usize,
    size: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: threads share it to take different blocks, which is to send items.
unsafe impl<T: Send> Sync for Blocks<'_, T> {}

impl<'a, T: Send> Blocks<'a, T> {
    fn new(slice: &'a mut [T], size: usize) -> Self {
        debug_assert!(size > 0 || slice.is_empty(), "blocks of nothing");
        Self {
            first: slice.as_mut_ptr(),
            len: slice.len(),
            size: size.max(1),
            slice: PhantomData,
        }
    }

    fn count(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    /// The block of a number below [`Self::count`]; of others nothing.
    ///
    /// # Safety
    /// No number may be asked for twice.
    #[allow(clippy::mut_from_ref, reason = "each block is handed out once")]
    unsafe fn get(&self, index: usize) -> &'a mut [T] {
        if index >= self.count() {
            return &mut [];
        }
        let start = index * self.size;
        let len = self.size.min(self.len - start);
        // SAFETY: `start` is below the length of the slice that was borrowed.
        let first = unsafe { self.first.add(start) };
        // SAFETY: the items lie in that slice, and in no other block.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}
