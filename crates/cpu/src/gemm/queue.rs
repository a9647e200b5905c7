//! Numbered pieces of work, taken by several threads one after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use allotrope_dtype::Error;

use crate::interrupt;
use crate::parallel::Crew;

/// The numbers that are left, some of them at a time.
pub(super) struct Queue {
    next: AtomicUsize,
    count: usize,
    at_once: usize,
    crew: Crew,
}

impl Queue {
    /// The next numbers, or none if all are taken.
    pub(super) fn take(&self) -> Option<std::ops::Range<usize>> {
        let first = self.next.fetch_add(self.at_once, Ordering::Relaxed);
        if first > 0 {
            self.crew.let_begin();
        }
        if first > 0 && first < self.count {
            interrupt::check();
        }
        (first < self.count).then(|| first..self.count.min(first + self.at_once))
    }
}

/// Calls `work` on so many threads, of which the caller's is one. Together they take the numbers below
/// `count`, each once.
pub(super) fn run_queue(
    threads: usize,
    count: usize,
    work: &(dyn Fn(&Queue) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let threads = threads.min(count).max(1);
    let queue = Queue {
        next: AtomicUsize::new(0),
        count,
        at_once: (count / (8 * threads)).max(1),
        crew: Crew::default(),
    };
    let failure = Mutex::new(None);
    queue.crew.run(threads, &|_| {
        if let Err(error) = work(&queue) {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), Err)
}
