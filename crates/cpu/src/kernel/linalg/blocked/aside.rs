//! Long work that nothing can interrupt: it runs on a thread of its own, which owns all that it
//! touches, while the caller waits and may give up. What was given up ends at its next stage.

use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Builder};
use std::time::Duration;

use super::super::batch::Failure;
use crate::interrupt;

/// How long a caller waits before it asks whether to give up.
const MOMENT: Duration = Duration::from_millis(5);
/// Matrices with fewer lines take a few milliseconds.
pub(super) const LINES: usize = 256;
/// How many threads may go on with what nobody waits for. Whoever wants one more waits for one of
/// them: each has memory of the size of its matrix.
const ABANDONED: u32 = 2;

/// Whether work goes on in this process that nobody waits for: the process, and how many.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// How many there are. A child of a fork has none.
fn abandoned() -> u32 {
    let left = LEFT.load(Ordering::Acquire);
    match (left >> 32) as u32 == process::id() {
        true => left as u32,
        false => 0,
    }
}

fn count(change: impl Fn(u32) -> u32) {
    let own = process::id();
    let changed = |left: u64| {
        let number = match (left >> 32) as u32 == own {
            true => left as u32,
            false => 0,
        };
        Some(u64::from(own) << 32 | u64::from(change(number)))
    };
    // It never says no.
    let _ = LEFT.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed);
}

/// Whether work is still wanted.
pub(super) struct Stop(AtomicU8);

const WANTED: u8 = 0;
const GIVEN_UP: u8 = 1;
const DONE: u8 = 2;

impl Stop {
    fn new() -> Self {
        Self(AtomicU8::new(WANTED))
    }

    /// Between two stages.
    ///
    /// # Errors
    /// Nobody waits for the answer any more, so nobody sees which error it is.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            GIVEN_UP => Err(Failure::NoConvergence),
            _ => Ok(()),
        }
    }

    /// The caller leaves.
    fn give_up(&self) {
        count(|number| number.saturating_add(1));
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        if self
            .0
            .compare_exchange(WANTED, GIVEN_UP, now, then)
            .is_err()
        {
            count(|number| number.saturating_sub(1));
        }
    }

    /// The work is done.
    fn end(&self) {
        if self.0.swap(DONE, Ordering::AcqRel) == GIVEN_UP {
            count(|number| number.saturating_sub(1));
        }
    }
}

/// Has work given up where its caller unwinds.
struct Waiting<'a>(&'a Stop);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.give_up();
        }
    }
}

/// Runs work on matrices of so many lines: aside if that may take long and the caller could be
/// interrupted, else here.
pub(super) fn aside<R, F>(lines: usize, work: F) -> Result<R, Failure>
where
    R: Send + 'static,
    F: Fn(&Stop) -> Result<R, Failure> + Send + Sync + 'static,
{
    if lines < LINES || !interrupt::is_interruptible() {
        return work(&Stop::new());
    }
    while abandoned() >= ABANDONED {
        thread::sleep(MOMENT);
        interrupt::check();
    }
    let shared = Arc::new((work, Stop::new()));
    let (sender, receiver) = mpsc::sync_channel(1);
    let theirs = Arc::clone(&shared);
    let made = Builder::new().spawn(move || {
        let done = panic::catch_unwind(AssertUnwindSafe(|| theirs.0(&theirs.1)));
        theirs.1.end();
        // The caller has left if it gave up.
        let _ = sender.send(done);
    });
    let (work, stop) = &*shared;
    if made.is_err() {
        return work(stop);
    }
    let (waiting, process) = (Waiting(stop), process::id());
    let done = loop {
        match receiver.recv_timeout(MOMENT) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Timeout) => interrupt::check(),
            Err(RecvTimeoutError::Disconnected) => return work(stop),
        }
        // What is asked may fork: the child has this thread alone.
        if process::id() != process {
            return work(&Stop::new());
        }
    };
    drop(waiting);
    done.unwrap_or_else(|payload| panic::resume_unwind(payload))
}
