//! Numbered pieces of work, taken by several threads one after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use allotrope_dtype::Error;

/// The numbers that are left, some of them at a time.
pub(super) struct Pieces {
    next: AtomicUsize,
    count: usize,
    at_once: usize,
}

impl Pieces {
    /// The next numbers, or none if all are taken.
    pub(super) fn take(&self) -> Option<std::ops::Range<usize>> {
        let first = self.next.fetch_add(self.at_once, Ordering::Relaxed);
        (first < self.count).then(|| first..self.count.min(first + self.at_once))
    }
}

/// Calls `work` on so many threads, of which the caller's is one and begins at once: to wake another
/// takes as long as a small product. Together they take the numbers below `count`, each once.
pub(super) fn share(
    threads: usize,
    count: usize,
    work: &(dyn Fn(&Pieces) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let threads = threads.min(count);
    let pieces = Pieces {
        next: AtomicUsize::new(0),
        count,
        at_once: (count / (8 * threads.max(1))).max(1),
    };
    if threads <= 1 {
        return work(&pieces);
    }
    let failure = Mutex::new(None);
    let run = || {
        if let Err(error) = work(&pieces) {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| run());
        }
        run();
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}
