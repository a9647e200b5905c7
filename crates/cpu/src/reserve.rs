//! What small allocations live off while the system has no memory.
//!
//! Memory whose size depends on data is allocated fallibly ([`crate::memory`], [`crate::Buffer`]).
//! Shapes, nodes of graphs, texts of errors and what other crates allocate are small, and Rust aborts
//! where there is none for them. A program that has [`Reserve`] as its allocator gets those from a few
//! megabytes of its own, and whatever allocates fallibly refuses to go on until they are back.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What one bit stands for: as aligned as anything small is.
const GRANULE: usize = 64;
/// All that there is; pages that are never touched cost nothing.
const SIZE: usize = 8 << 20;
/// No more than this at once: a thing larger than that is sized by data.
const LARGEST: usize = 256 << 10;
/// Memory is there again when the system has this much.
const ENOUGH: usize = 1 << 20;
const GRANULES: usize = SIZE / GRANULE;

/// The system's allocator, with a reserve for small allocations that it refuses.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: allotrope_cpu::Reserve = allotrope_cpu::Reserve;
/// assert_eq!(vec![1; 3], [1, 1, 1]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Reserve;

// SAFETY: memory is the system's, or granules of the arena that nobody else has; nothing here unwinds.
unsafe impl GlobalAlloc for Reserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised to this function.
        let start = unsafe { System.alloc(layout) };
        if start.is_null() { take(layout) } else { start }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised to this function.
        let start = unsafe { System.alloc_zeroed(layout) };
        if start.is_null() {
            take_zeroed(layout)
        } else {
            start
        }
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if is_ours(start) {
            give_back(start, layout.size());
        } else {
            // SAFETY: not of the arena, so it is the system's.
            unsafe { System.dealloc(start, layout) }
        }
    }

    #[inline]
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_ours(start) {
            // SAFETY: not of the arena, so it is the system's.
            let moved = unsafe { System.realloc(start, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: as promised to this function.
        unsafe { self.move_to_new(start, layout, size) }
    }
}

impl Reserve {
    /// The same bytes in another place, of another size.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn move_to_new(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the size is not zero and, rounded up to the alignment, no more than `isize::MAX`.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both have at least so many bytes, and a new block overlaps no other.
            unsafe { moved.copy_from_nonoverlapping(start, layout.size().min(size)) };
            // SAFETY: the block is left for good.
            unsafe { self.dealloc(start, layout) };
        }
        moved
    }
}

/// Whether memory is so short that small things have come from the reserve. What is kept for reuse is
/// given back before that is said.
#[inline]
pub(crate) fn is_memory_short() -> bool {
    USED.load(Ordering::Relaxed) > 0 && is_still_short()
}

#[cold]
fn is_still_short() -> bool {
    if has_enough() {
        return false;
    }
    crate::buffer::release_kept();
    !has_enough()
}

fn has_enough() -> bool {
    let layout = Layout::new::<[u8; ENOUGH]>();
    // SAFETY: the size is not zero.
    let start = unsafe { System.alloc(layout) };
    // A compiler may leave out an allocation that nobody uses, and take it for granted.
    let start = std::hint::black_box(start);
    if start.is_null() {
        return false;
    }
    // SAFETY: just allocated with the same layout.
    unsafe { System.dealloc(start, layout) };
    true
}

#[repr(align(4096))]
struct Arena(UnsafeCell<[u8; SIZE]>);

// SAFETY: who has taken granules is the only one to touch their bytes.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; SIZE]));
/// A bit for every granule: set while someone has it.
static TAKEN: [AtomicU64; GRANULES / 64] = [const { AtomicU64::new(0) }; GRANULES / 64];
/// How many granules are taken.
static USED: AtomicUsize = AtomicUsize::new(0);
static IS_LOCKED: AtomicBool = AtomicBool::new(false);

#[inline]
fn is_ours(start: *mut u8) -> bool {
    start.addr().wrapping_sub(ARENA.0.get().addr()) < SIZE
}

fn granules(size: usize) -> usize {
    size.div_ceil(GRANULE).max(1)
}

fn is_taken(granule: usize) -> bool {
    TAKEN[granule / 64].load(Ordering::Relaxed) >> (granule % 64) & 1 == 1
}

fn mark(first: usize, count: usize, taken: bool) {
    for granule in first..first + count {
        let (word, bit) = (&TAKEN[granule / 64], 1 << (granule % 64));
        if taken {
            word.fetch_or(bit, Ordering::Relaxed);
        } else {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

/// The first place with so many free granules in a row, at a multiple of `step`.
fn find(count: usize, step: usize) -> Option<usize> {
    let mut first = 0;
    while first + count <= GRANULES {
        match (first..first + count).rev().find(|i| is_taken(*i)) {
            None => return Some(first),
            Some(taken) => first = (taken + 1).next_multiple_of(step),
        }
    }
    None
}

#[cold]
fn take(layout: Layout) -> *mut u8 {
    if layout.size() > LARGEST || layout.align() > 4096 {
        return null_mut();
    }
    let count = granules(layout.size());
    let step = layout.align().div_ceil(GRANULE);
    lock();
    let found = find(count, step);
    if let Some(first) = found {
        mark(first, count, true);
        USED.fetch_add(count, Ordering::Relaxed);
    }
    unlock();
    match found {
        // SAFETY: the granule lies in the arena.
        Some(first) => unsafe { ARENA.0.get().cast::<u8>().add(first * GRANULE) },
        None => null_mut(),
    }
}

#[cold]
fn take_zeroed(layout: Layout) -> *mut u8 {
    let start = take(layout);
    if !start.is_null() {
        // SAFETY: so many bytes were just taken.
        unsafe { start.write_bytes(0, layout.size()) };
    }
    start
}

#[cold]
fn give_back(start: *mut u8, size: usize) {
    let first = (start.addr() - ARENA.0.get().addr()) / GRANULE;
    let count = granules(size);
    lock();
    mark(first, count, false);
    USED.fetch_sub(count, Ordering::Relaxed);
    unlock();
}

/// Waits until no other thread looks for granules. Also taken around forks.
pub(crate) fn lock() {
    while IS_LOCKED.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

pub(crate) fn unlock() {
    IS_LOCKED.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of granules never overlap, keep their alignment, and come back.
    #[test]
    fn what_is_taken_is_taken_once() {
        let mut held: Vec<(*mut u8, Layout)> = Vec::new();
        let mut state = 1_u64;
        for turn in 0..4000_u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let size = (state >> 40) as usize % 5000 + 1;
            let align = 1 << ((state >> 33) % 13);
            if turn % 3 == 2 {
                let (start, layout) = held.swap_remove((state >> 20) as usize % held.len());
                // SAFETY: held, and so many bytes long.
                let bytes = unsafe { std::slice::from_raw_parts(start, layout.size()) };
                assert!(bytes.iter().all(|byte| *byte == layout.size() as u8));
                give_back(start, layout.size());
                continue;
            }
            let layout = Layout::from_size_align(size, align).unwrap();
            let start = take(layout);
            assert!(!start.is_null() && start.addr().is_multiple_of(align));
            // SAFETY: just taken, so many bytes.
            unsafe { start.write_bytes(size as u8, size) };
            held.push((start, layout));
        }
        let whole = Layout::from_size_align(LARGEST, 1).unwrap();
        let mut large = Vec::new();
        loop {
            let start = take(whole);
            if start.is_null() {
                break;
            }
            large.push(start);
        }
        assert!(!large.is_empty());
        large
            .into_iter()
            .for_each(|start| give_back(start, LARGEST));
        for (start, layout) in held {
            give_back(start, layout.size());
        }
        assert_eq!(USED.load(Ordering::Relaxed), 0);
        assert!(TAKEN.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn what_is_sized_by_data_is_refused() {
        assert!(take(Layout::from_size_align(LARGEST + 1, 1).unwrap()).is_null());
    }
}
