//! Forks: a child has none of the threads that held locks, so a process forks while none is held.
//!
//! A thread that holds a lock without holding an interpreter, such as one that writes to a variable,
//! is inside of a gate. Whoever forks closes it, and waits until the last one has left.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::host::interrupt;

/// How many threads are inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// How many threads are about to fork.
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// How long a fork waits at the most: a thread that is stuck must not hold it up for ever.
const PATIENCE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_micros(20);

thread_local! {
    /// How often this thread is inside.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Being inside of the gate.
#[derive(Debug)]
pub(crate) struct Gate(PhantomData<*const ()>);

/// Goes in, once nobody is about to fork. Never with an interpreter, which the fork needs.
fn enter() -> Gate {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    if depth == 0 {
        // In one order with the fork, which closes first and counts then.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        while CLOSED.load(Ordering::SeqCst) > 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(MOMENT);
            INSIDE.fetch_add(1, Ordering::SeqCst);
        }
    }
    Gate(PhantomData)
}

impl Drop for Gate {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Goes in if this thread runs without an interpreter: with one, no other thread of it forks.
#[inline]
pub(crate) fn enter_detached() -> Option<Gate> {
    interrupt::is_interruptible().then(enter)
}

/// Waits until no other thread holds a lock, and keeps it so until [`after_fork`]. To be called by the
/// thread that forks, without a lock that others wait for.
pub fn before_fork() {
    CLOSED.fetch_add(1, Ordering::SeqCst);
    let own = usize::from(DEPTH.get() > 0);
    let start = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > own && start.elapsed() < PATIENCE {
        std::thread::sleep(MOMENT);
    }
}

/// Lets others in again, in the parent and in the child, which has no others.
pub fn after_fork(in_child: bool) {
    if in_child {
        INSIDE.store(usize::from(DEPTH.get() > 0), Ordering::SeqCst);
        CLOSED.store(0, Ordering::SeqCst);
    } else {
        CLOSED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What follows is neither given up by a signal nor forked in the middle, until the guard is dropped:
/// for work that writes to several variables, which must all be written or none.
#[must_use = "nothing is held once the guard is dropped"]
pub fn undivided() -> Undivided {
    Undivided {
        _gate: enter_detached(),
        _hold: interrupt::hold(),
    }
}

/// A guard of work that is done whole.
#[derive(Debug)]
pub struct Undivided {
    _gate: Option<Gate>,
    _hold: interrupt::Hold,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_fork_waits_for_whoever_is_inside_and_keeps_others_out() {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let say = |what| order.lock().unwrap().push(what);
        let gate = enter();
        let inner = enter();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                before_fork();
                say("forks");
                std::thread::sleep(Duration::from_millis(20));
                say("has forked");
                after_fork(false);
            });
            while CLOSED.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            // Whoever is inside may go in again.
            drop(enter());
            drop(inner);
            say("leaves");
            drop(gate);
            scope.spawn(|| {
                let _gate = enter();
                say("is inside");
            });
        });
        let order = order.lock().unwrap();
        assert_eq!(*order, ["leaves", "forks", "has forked", "is inside"]);
    }
}
