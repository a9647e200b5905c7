//! Numbered blocks of work, shared out among threads so that each finds in its caches what it left there.
//!
//! Every thread has a segment of the numbers to itself, the same one in every work of as many blocks,
//! and helps others when it has done its own. A line that another core has written costs three times
//! as much as one that this core has: a bare loop over 256 K float32 takes 0.14 instead of 0.05 ns where
//! threads change places.
//!
//! Every other work of a caller begins at the ends of the segments. What the caches still hold of the
//! work before is its last part: negations of a million float32 take 0.10 instead of 0.14 ns.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::Crew;

/// The numbers below a count, as they are left.
pub(super) struct Segments {
    /// How many of each segment are taken.
    taken: SmallVec<[Taken; 8]>,
    count: usize,
    backwards: bool,
    pub(super) crew: Crew,
}

/// A counter that shares its cache line with no other.
#[derive(Default)]
#[repr(align(64))]
struct Taken(AtomicUsize);

thread_local! {
    /// Whether the next work of this thread goes backwards.
    static BACKWARDS: Cell<bool> = const { Cell::new(false) };
}

impl Segments {
    /// The numbers below `count` for so many threads.
    pub(super) fn new(count: usize, threads: usize) -> Self {
        // Alone, a thread goes forwards, so that the first error is always the same.
        let backwards = threads > 1 && BACKWARDS.replace(!BACKWARDS.get());
        Self {
            taken: (0..threads.max(1)).map(|_| Taken::default()).collect(),
            count,
            backwards,
            crew: Crew::default(),
        }
    }

    /// The numbers of a segment.
    fn segment(&self, place: usize) -> Range<usize> {
        let (count, segments) = (self.count, self.taken.len());
        let (length, longer) = (count / segments, count % segments);
        let start = |place: usize| place * length + place.min(longer);
        start(place)..start(place + 1)
    }

    /// Some more numbers: of the segment of a thread, or where that is done, of the next that is not.
    /// Many at first and fewer towards the end, so that all threads end together.
    pub(super) fn take(&self, thread: usize) -> Option<Piece> {
        let segments = self.taken.len();
        (0..segments).find_map(|step| self.take_of((thread + step) % segments))
    }

    fn take_of(&self, place: usize) -> Option<Piece> {
        let segment = self.segment(place);
        let part = |taken: usize| {
            let left = segment.len().checked_sub(taken).filter(|left| *left > 0)?;
            Some(taken + (left / 4).max(1))
        };
        let (now, then) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.taken[place].0.fetch_update(now, then, part).ok()?;
        let end = part(taken)?;
        if place > 0 || taken > 0 {
            self.crew.let_begin();
        }
        let range = if self.backwards {
            segment.end - end..segment.end - taken
        } else {
            segment.start + taken..segment.start + end
        };
        Some(Piece {
            range,
            backwards: self.backwards,
        })
    }
}

/// Numbers that a thread has taken, in the order of the work.
pub(super) struct Piece {
    range: Range<usize>,
    backwards: bool,
}

impl Iterator for Piece {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.backwards {
            self.range.next_back()
        } else {
            self.range.next()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left to threads that come in this order, one piece at a time.
    fn taken(count: usize, threads: usize, order: impl Fn(usize) -> usize) -> Vec<usize> {
        let segments = Segments::new(count, threads);
        let pieces = (0..).map_while(|turn| segments.take(order(turn) % threads));
        pieces.flatten().collect()
    }

    #[test]
    fn every_number_is_taken_once_whoever_comes() {
        for count in [0, 1, 2, 3, 31, 64, 1000] {
            for threads in [1, 2, 3, 7] {
                let orders: [fn(usize) -> usize; 3] = [|_| 0, |turn| turn, |turn| turn * turn / 3];
                for order in orders {
                    // Forwards and, of several threads, backwards.
                    for _ in 0..2 {
                        let mut all = taken(count, threads, order);
                        all.sort_unstable();
                        assert!(all.into_iter().eq(0..count), "{count} for {threads}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_thread_has_the_same_numbers_first_and_every_other_work_is_backwards() {
        let own = |thread: usize| -> Vec<usize> {
            let segments = Segments::new(64, 2);
            let pieces = (0..).map_while(|_| segments.take(thread));
            pieces.flatten().take(32).collect()
        };
        for thread in 0..2 {
            let (one, other) = (own(thread), own(thread));
            let segment = 32 * thread..32 * (thread + 1);
            assert!(one.iter().copied().min() == Some(segment.start));
            assert!(one.iter().copied().max() == Some(segment.end - 1));
            assert!(one.iter().rev().eq(&other));
        }
    }
}
