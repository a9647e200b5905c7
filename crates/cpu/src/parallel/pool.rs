//! The threads that share work, and others in their place after a fork.
//!
//! A process that forks has one thread: the others are not there, nor is what they were about to do.
//! Whatever waits for them would wait for ever, so the child starts without a pool and makes one of its
//! own where it needs it. What it inherited of the old one is left alone. Locks that threads hold for a
//! moment without the caller's knowledge are taken before a fork, so that they are free after it.
#![allow(unsafe_code, reason = "a pool that lives for ever, and calls at forks")]

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use super::standby::Standby;
use crate::interrupt::{self, Caller, Interrupted};

/// How long a caller waits for others before it asks whether to give up.
const MOMENT: Duration = Duration::from_millis(10);

/// The threads, and what they stand by for.
pub(super) struct Pool {
    /// None where the system refuses to make any.
    threads: Option<ThreadPool>,
    pub(super) standby: Standby,
}

/// That of this process, once it is needed.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

/// How many threads were asked for before there was a pool; zero for as many as the machine has.
static ASKED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is one of a pool of ours.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one of a pool of ours, and not the host program's, whose caller or pool of its
/// own shares work as well.
pub(super) fn is_ours() -> bool {
    IS_OURS.get()
}

impl Pool {
    fn new() -> Self {
        // RAYON_NUM_THREADS or the machine, if zero. A system that is short of threads may give one.
        let make = |count| {
            let threads = ThreadPoolBuilder::new().num_threads(count);
            threads.start_handler(|_| IS_OURS.set(true)).build().ok()
        };
        Self {
            threads: make(ASKED.load(Ordering::Relaxed)).or_else(|| make(1)),
            standby: Standby::new(),
        }
    }

    /// The pool of this process.
    pub(super) fn get() -> &'static Self {
        // SAFETY: null, or a pool that is never freed.
        match unsafe { POOL.load(Ordering::Acquire).as_ref() } {
            Some(pool) => pool,
            None => Self::make(),
        }
    }

    #[cold]
    fn make() -> &'static Self {
        watch_forks();
        let made = Box::into_raw(Box::new(Self::new()));
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        match POOL.compare_exchange(null_mut(), made, now, then) {
            // SAFETY: just made, and never freed from here on.
            Ok(_) => unsafe { &*made },
            Err(other) => {
                // SAFETY: just made, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: not null, and never freed.
                unsafe { &*other }
            }
        }
    }

    /// How many threads there are, at least one.
    pub(super) fn count(&self) -> usize {
        let threads = self.threads.as_ref();
        threads.map_or(1, ThreadPool::current_num_threads)
    }

    /// Calls `work` on one of the threads, some time.
    pub(super) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        if let Some(threads) = &self.threads {
            threads.spawn(work);
        }
    }
}

/// Asks for so many threads, if there are none yet and nobody has asked before.
pub(super) fn ask_for(count: usize) {
    if POOL.load(Ordering::Acquire).is_null() {
        let (now, then) = (Ordering::Relaxed, Ordering::Relaxed);
        // The first one counts.
        let _ = ASKED.compare_exchange(0, count, now, then);
    }
}

/// How many threads may share the work of this one: those of the pool that it belongs to, or of the
/// process.
pub(super) fn thread_count() -> usize {
    if is_worker() {
        rayon::current_num_threads()
    } else {
        Pool::get().count()
    }
}

/// Whether this thread belongs to a pool.
pub(super) fn is_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// [`rayon::in_place_scope`] in the pool that this thread belongs to, or in that of the process.
/// Without threads nothing that is spawned would end: `alone` is called instead.
pub(super) fn in_place_scope<'scope>(shared: impl FnOnce(&Scope<'scope>), alone: impl FnOnce()) {
    if is_worker() {
        return rayon::in_place_scope(shared);
    }
    match &Pool::get().threads {
        Some(threads) => threads.in_place_scope(shared),
        None => alone(),
    }
}

/// Calls `work` where rayon's own operations find the threads of this process: true if there are any.
/// A caller that can be interrupted asks meanwhile whether to give up; the work has to look for that.
pub(crate) fn install<R: Send>(work: impl FnOnce(bool) -> R + Send) -> R {
    if is_worker() {
        return work(true);
    }
    let Some(threads) = &Pool::get().threads else {
        return work(false);
    };
    let caller = Caller::current();
    if !caller.is_interruptible() {
        return threads.install(|| work(true));
    }
    let (sender, receiver) = mpsc::channel();
    let outcome = threads.in_place_scope(|scope| {
        scope.spawn(move |_| {
            let _named = caller.work_for();
            let done = panic::catch_unwind(AssertUnwindSafe(|| work(true)));
            // The caller has left if it gave up.
            let _ = sender.send(done);
        });
        loop {
            match receiver.recv_timeout(MOMENT) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) => interrupt::check(),
                Err(RecvTimeoutError::Disconnected) => return Err(Box::new(Interrupted)),
            }
        }
    });
    outcome.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// Has a child begin without a pool.
fn watch_forks() {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if IS_WATCHING.swap(true, Ordering::Relaxed) {
        return;
    }
    #[cfg(all(unix, not(miri)))]
    // SAFETY: functions that live as long as the process; without memory for them nothing happens.
    unsafe {
        libc::pthread_atfork(Some(before), Some(after), Some(in_child))
    };
}

/// The locks that are taken while a process forks.
#[cfg(all(unix, not(miri)))]
mod held {
    use std::cell::UnsafeCell;

    use crate::buffer::{KeptGuard, lock_kept};
    use crate::kernel::fourier::{PlanGuards, lock_plans};

    struct Held(UnsafeCell<Option<(KeptGuard, PlanGuards)>>);

    // SAFETY: written and read only by a thread that holds the locks in it.
    unsafe impl Sync for Held {}

    static HELD: Held = Held(UnsafeCell::new(None));

    pub(super) fn take() {
        // Plans first: who makes one may need memory.
        let plans = lock_plans();
        let kept = lock_kept();
        crate::reserve::lock();
        // SAFETY: whoever else forks waits for the locks.
        unsafe { *HELD.0.get() = Some((kept, plans)) };
    }

    pub(super) fn release() {
        // SAFETY: this thread has taken the locks. They are let go after the cell was left.
        let held = unsafe { (*HELD.0.get()).take() };
        crate::reserve::unlock();
        drop(held);
    }
}

#[cfg(all(unix, not(miri)))]
extern "C" fn before() {
    held::take();
}

#[cfg(all(unix, not(miri)))]
extern "C" fn after() {
    held::release();
}

#[cfg(all(unix, not(miri)))]
extern "C" fn in_child() {
    held::release();
    POOL.store(null_mut(), Ordering::Release);
}
