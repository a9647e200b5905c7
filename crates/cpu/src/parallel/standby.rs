//! Threads that stand by for a moment after a work, since the next one often comes soon.
//!
//! To wake a thread takes up to 50 µs, as long as a product of 128 by 128 on one thread. One that has
//! worked therefore looks for a next work for a while before it goes to sleep. Products of 128 by 128
//! float16, one after the other, were made by one of two threads before: 36 instead of 20 µs.
//!
//! There is one work at a time, that of whoever came first; others share theirs out by rayon alone. The
//! threads are those of rayon's global pool.
#![allow(unsafe_code, reason = "a borrowed work in the hands of other threads")]

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::crew::Place;

/// How long a thread stands by.
const MOMENT: Duration = Duration::from_micros(60);
/// Looks between two at the clock.
const LOOKS: usize = 32;

/// The bit of [`Standby::state`] that says that threads may join in the work.
const OPEN: usize = 1 << (usize::BITS - 1);
/// What each work adds to the state, so that no thread joins in the same one twice.
const NEXT: usize = 1 << 16;
/// The threads that are at the work.
const INSIDE: usize = NEXT - 1;

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
    /// [`OPEN`], the number of the work in steps of [`NEXT`], and how many are inside.
    state: AtomicUsize,
    work: std::cell::UnsafeCell<Option<Work>>,
    /// Threads that stand by, work, or are about to.
    members: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the work is written by the one caller that is busy while nobody is inside, and read by those
// that are inside.
unsafe impl Sync for Standby {}

static STANDBY: Standby = Standby {
    is_busy: AtomicBool::new(false),
    state: AtomicUsize::new(0),
    work: std::cell::UnsafeCell::new(None),
    members: AtomicUsize::new(0),
    panic: Mutex::new(None),
};

/// Calls `function` with 0, and on threads that stand by or wake up meanwhile with other numbers below
/// `threads`. False if another work is under way, or this is a thread that others call: then nothing
/// is called.
pub(super) fn run(threads: usize, caller: Place, function: &(dyn Fn(usize) + Sync)) -> bool {
    let is_ours = rayon::current_thread_index().is_none() && threads <= INSIDE;
    if !is_ours || STANDBY.is_busy.swap(true, Ordering::Acquire) {
        return false;
    }
    STANDBY.run(threads, caller, function);
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
            if looks % LOOKS == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

impl Standby {
    fn run(&'static self, threads: usize, caller: Place, function: &(dyn Fn(usize) + Sync)) {
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
        let end = End(self);
        let number = self.state.load(Ordering::Relaxed).wrapping_add(NEXT);
        self.state.store(number | OPEN, Ordering::Release);
        let members = self.members.load(Ordering::Relaxed);
        for _ in members + 1..threads {
            self.members.fetch_add(1, Ordering::Relaxed);
            rayon::spawn(|| self.stand_by());
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

    /// Joins in works as long as one comes within a moment.
    fn stand_by(&self) {
        let mut last = None;
        let mut until = Instant::now() + MOMENT;
        while Instant::now() < until {
            for _ in 0..LOOKS {
                let state = self.state.load(Ordering::Relaxed);
                let number = state & !(OPEN | INSIDE);
                if state & OPEN != 0 && last != Some(number) && self.join(state) {
                    last = Some(number);
                    until = Instant::now() + MOMENT;
                }
                std::hint::spin_loop();
            }
        }
        self.members.fetch_sub(1, Ordering::Relaxed);
    }

    /// Works along, if the work is still open and has room; whether this is done.
    fn join(&self, state: usize) -> bool {
        let (now, then) = (Ordering::Acquire, Ordering::Relaxed);
        let enter = self.state.compare_exchange(state, state + 1, now, then);
        if enter.is_err() {
            return false;
        }
        // SAFETY: inside: it stays as it is until all have left.
        if let Some(work) = unsafe { *self.work.get() }
            && (state & INSIDE) + 1 < work.threads
        {
            work.caller.make_room();
            let thread = rayon::current_thread_index().unwrap_or(0);
            let number = 1 + thread % (work.threads - 1);
            // SAFETY: the caller is in `run` as long as anybody is inside.
            let done =
                panic::catch_unwind(AssertUnwindSafe(|| unsafe { (*work.function)(number) }));
            if let Err(panic) = done {
                let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(panic);
            }
        }
        self.state.fetch_sub(1, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `work` for as long as it takes until another thread has begun, at most some seconds.
    fn shared(work: &(dyn Fn(usize) + Sync)) -> bool {
        let has_begun = AtomicBool::new(false);
        let function = |thread: usize| {
            if thread > 0 {
                has_begun.store(true, Ordering::Relaxed);
            }
            let start = Instant::now();
            while !has_begun.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            work(thread);
        };
        // Tests beside this one are busy at times.
        while !run(2, Place::here(), &function) {
            std::thread::yield_now();
        }
        has_begun.into_inner()
    }

    #[test]
    fn others_join_in_and_have_left_when_the_call_returns() {
        for _ in 0..1000 {
            let (inside, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let is_shared = shared(&|_| {
                inside.fetch_add(1, Ordering::Relaxed);
                calls.fetch_add(1, Ordering::Relaxed);
                inside.fetch_sub(1, Ordering::Relaxed);
            });
            assert!(is_shared);
            assert_eq!((inside.into_inner(), calls.into_inner()), (0, 2));
        }
    }

    #[test]
    fn callers_beside_each_other_share_out_works_of_their_own() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let calls = AtomicUsize::new(0);
                        let function = |_: usize| {
                            calls.fetch_add(1, Ordering::Relaxed);
                        };
                        if run(3, Place::here(), &function) {
                            let calls = calls.into_inner();
                            assert!((1..=3).contains(&calls));
                            total.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(total.into_inner() > 0);
    }

    #[test]
    fn panics_reach_the_caller_and_the_next_work_is_sound() {
        for panicking in 0..2 {
            let outcome = panic::catch_unwind(|| {
                shared(&|thread| assert!(thread != panicking, "on purpose"));
            });
            let payload = outcome.unwrap_err();
            let text = payload.downcast_ref::<&str>().copied();
            assert_eq!(text, Some("on purpose"));
            assert!(shared(&|_| {}));
        }
    }
}
