//! Threads that stand by for a moment after a work, since the next one often comes soon.
//!
//! To wake a thread takes up to 50 µs, as long as a product of 128 by 128 on one thread. One that has
//! worked therefore looks for a next work for a while before it goes to sleep. Products of 128 by 128
//! float16, one after the other, were made by one of two threads before: 36 instead of 22 µs.
//!
//! There is one work at a time, that of whoever came first; others share theirs out by rayon alone. The
//! threads are those of the process's pool, which they go back to every now and then: what waits for
//! them there must not wait for ever.
#![allow(unsafe_code, reason = "a borrowed work in the hands of other threads")]

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::crew::Place;
use super::pool::{self, Pool};

/// How long a thread stands by,
const MOMENT: Duration = Duration::from_micros(60);
/// and how long it stays in all.
const STAY: Duration = Duration::from_millis(2);
/// Looks between two at the clock.
const LOOKS: usize = 32;
/// Looks that a caller takes at threads that are still at work before it sleeps between them.
const PATIENCE: usize = 1 << 20;

/// The threads that are at the work, in the lowest bits of [`Standby::state`],
const INSIDE: u64 = JOINED - 1;
/// those that have joined in, in steps of this,
const JOINED: u64 = 1 << 16;
/// the number of the work, in steps of this, so that no thread joins in the same one twice,
const NEXT: u64 = 1 << 32;
/// and whether threads may join in.
const OPEN: u64 = 1 << 63;

/// A work, as the threads see it: nothing that is borrowed outlives the call that shares it out.
#[derive(Clone, Copy)]
struct Work {
    function: *const (dyn Fn(usize) + Sync),
    caller: Place,
    threads: usize,
}

/// A work that may be joined in, and the threads that stand by for it.
pub(super) struct Standby {
    is_busy: AtomicBool,
    state: AtomicU64,
    /// The threads that the work is for, to be looked at from outside.
    threads: AtomicUsize,
    work: UnsafeCell<Option<Work>>,
    /// Threads that stand by, work, or are about to.
    members: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the work is written by the one caller that is busy while nobody is inside, and read by those
// that are inside.
unsafe impl Sync for Standby {}

/// Calls `function` with 0, and on at most `threads - 1` threads that stand by or wake up meanwhile
/// with other numbers below `threads`, some of them perhaps with the same. False if another work is
/// under way, or this is a thread that others call: then nothing is called.
pub(super) fn run(threads: usize, caller: Place, function: &(dyn Fn(usize) + Sync)) -> bool {
    if pool::is_worker() || (threads as u64) >= INSIDE {
        return false;
    }
    let pool = Pool::get();
    if pool.standby.is_busy.swap(true, Ordering::Acquire) {
        return false;
    }
    pool.standby.run(pool, threads, caller, function);
    true
}

/// Ends a work: nobody joins in any more, and whoever is inside has left.
struct End<'a>(&'a Standby);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while self.0.state.load(Ordering::Acquire) & INSIDE != 0 {
            looks += 1;
            if looks > PATIENCE {
                std::thread::sleep(MOMENT);
            } else if looks % LOOKS == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// Takes this thread out of a count when it leaves, however that is.
struct Leave<'a>(&'a Standby);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(1, Ordering::Release);
    }
}

impl Standby {
    /// Nobody stands by.
    pub(super) const fn new() -> Self {
        Self {
            is_busy: AtomicBool::new(false),
            state: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            work: UnsafeCell::new(None),
            members: AtomicUsize::new(0),
            panic: Mutex::new(None),
        }
    }

    fn run(
        &'static self,
        pool: &Pool,
        threads: usize,
        caller: Place,
        function: &(dyn Fn(usize) + Sync),
    ) {
        // SAFETY: the same pointer without its lifetime. It is followed only by threads inside the
        // work, and `End` waits for them before this function returns or unwinds.
        let function: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(function) };
        let work = Work {
            function,
            caller,
            threads,
        };
        // SAFETY: `is_busy` is ours, and nobody is inside.
        unsafe { *self.work.get() = Some(work) };
        self.threads.store(threads, Ordering::Relaxed);
        let end = End(self);
        let last = self.state.load(Ordering::Relaxed) / NEXT * NEXT;
        let number = last.wrapping_add(NEXT) & !OPEN;
        // In one order with the counts of members: whoever is counted here sees that it is open.
        self.state.store(number | OPEN, Ordering::SeqCst);
        for _ in self.members.load(Ordering::SeqCst) + 1..threads {
            self.members.fetch_add(1, Ordering::Relaxed);
            pool.spawn(|| self.stand_by());
        }
        // SAFETY: the function is borrowed by this call.
        let done = panic::catch_unwind(AssertUnwindSafe(|| unsafe { (*function)(0) }));
        drop(end);
        let others = self
            .panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.is_busy.store(false, Ordering::Release);
        if let Some(panic) = done.err().or(others) {
            panic::resume_unwind(panic);
        }
    }

    /// Joins in works as long as one comes within a moment, for a while.
    fn stand_by(&'static self) {
        let start = Instant::now();
        let (mut last, mut until) = (None, start + MOMENT);
        loop {
            for _ in 0..LOOKS {
                if self.may_join(last)
                    && let Some(number) = self.join()
                {
                    (last, until) = (Some(number), Instant::now() + MOMENT);
                }
                std::hint::spin_loop();
            }
            let now = Instant::now();
            if now >= until || now >= start + STAY {
                self.members.fetch_sub(1, Ordering::SeqCst);
                if !self.may_join(last) {
                    return;
                }
                // A caller that has counted on this one would be alone.
                self.members.fetch_add(1, Ordering::SeqCst);
                if now >= start + STAY {
                    return rayon::spawn(|| self.stand_by());
                }
                until = now + MOMENT;
            }
        }
    }

    /// Whether a work is open that has room, and is not the `last` one.
    fn may_join(&self, last: Option<u64>) -> bool {
        let state = self.state.load(Ordering::SeqCst);
        state & OPEN != 0 && last != Some(number(state)) && self.has_room(state)
    }

    /// Whether fewer have joined in than the work is for.
    fn has_room(&self, state: u64) -> bool {
        let joined = (state % NEXT / JOINED) as usize;
        joined + 1 < self.threads.load(Ordering::Relaxed)
    }

    /// Works along, if the work is still open and has room: its number.
    fn join(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        if state & OPEN == 0 || !self.has_room(state) {
            return None;
        }
        let (now, then) = (Ordering::Acquire, Ordering::Relaxed);
        let inside = state + JOINED + 1;
        let entered = self.state.compare_exchange(state, inside, now, then);
        entered.ok()?;
        let second;
        {
            let _leave = Leave(self);
            // SAFETY: inside: it stays as it is until all have left.
            let work = unsafe { *self.work.get() }?;
            work.caller.make_room();
            let thread = rayon::current_thread_index().unwrap_or(0);
            let place = 1 + thread % (work.threads - 1).max(1);
            // SAFETY: the caller is in `run` as long as anybody is inside.
            let done = panic::catch_unwind(AssertUnwindSafe(|| unsafe { (*work.function)(place) }));
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            second = match (done, &mut *first) {
                (Err(panic), none @ None) => none.replace(panic),
                (done, _) => done.err(),
            };
        }
        // Dropped outside, since that is somebody else's code.
        drop(second);
        Some(number(state))
    }
}

/// The number of a work.
fn number(state: u64) -> u64 {
    state % OPEN / NEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(if cfg!(miri) { 600 } else { 20 });

    /// Shares a work out as soon as no other test does.
    fn share(threads: usize, function: &(dyn Fn(usize) + Sync)) {
        let start = Instant::now();
        while !run(threads, Place::here(), function) {
            assert!(start.elapsed() < LONG, "no turn");
            std::thread::yield_now();
        }
    }

    /// Calls `work` on two threads: none begins before both are there.
    fn share_between_two(work: &(dyn Fn(usize) + Sync)) {
        let has_begun = AtomicBool::new(false);
        share(2, &|thread| {
            if thread > 0 {
                has_begun.store(true, Ordering::Relaxed);
            }
            let start = Instant::now();
            while !has_begun.load(Ordering::Relaxed) {
                assert!(start.elapsed() < LONG, "nobody came");
                std::thread::yield_now();
            }
            work(thread);
        });
    }

    #[test]
    fn others_join_in_and_have_left_when_the_call_returns() {
        for _ in 0..if cfg!(miri) { 20 } else { 1000 } {
            let (inside, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
            share_between_two(&|_| {
                inside.fetch_add(1, Ordering::Relaxed);
                calls.fetch_add(1, Ordering::Relaxed);
                inside.fetch_sub(1, Ordering::Relaxed);
            });
            assert_eq!((inside.into_inner(), calls.into_inner()), (0, 2));
        }
    }

    #[test]
    fn callers_beside_each_other_have_their_turns() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                        let calls = AtomicUsize::new(0);
                        share(3, &|_| {
                            calls.fetch_add(1, Ordering::Relaxed);
                        });
                        assert!((1..=3).contains(&calls.into_inner()));
                    }
                });
            }
        });
    }

    #[test]
    fn panics_reach_the_caller_and_the_next_work_is_sound() {
        for panicking in 0..2 {
            let outcome = panic::catch_unwind(|| {
                share_between_two(&|thread| assert!(thread != panicking, "on purpose"));
            });
            let payload = outcome.unwrap_err();
            let text = payload.downcast_ref::<&str>().copied();
            assert_eq!(text, Some("on purpose"));
            share_between_two(&|_| {});
        }
    }

    #[test]
    fn who_stands_by_goes_back_to_what_waits() {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Works without end, and others of rayon's beside them.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    run(2, Place::here(), &|_| {});
                }
            });
            for _ in 0..100 {
                let (one, two) = pool::install(|_| rayon::join(|| 1, || 2));
                assert_eq!(one + two, 3);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
