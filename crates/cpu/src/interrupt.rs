//! Work that is given up in the middle: long work asks now and then whether it is still wanted.
//!
//! Kernels have no error paths, and what they leave half done must never be read. So whoever gives
//! up unwinds, without a panic's message, through kernels whose results nobody has seen yet, up to
//! [`catch`]. Nothing is asked outside of it, nor under [`hold`], which whoever holds a lock or
//! writes to memory that others see asks for: what was begun there is finished.
//!
//! The thread that called asks its probe, every 40 ms at most. The threads that share its work
//! do so in its name: they see that it has given up, and end too.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long work goes on before its caller is asked again.
const INTERVAL: Duration = Duration::from_millis(40);
/// The same where asking takes long, such as to wait for a lock that others want too.
const LONGEST: Duration = Duration::from_millis(100);
/// One part in so many of the time may go by asking before it is asked less often.
const SHARE: u32 = 20;
/// Pieces of work that take less than this together are not worth a look at the clock.
const MOMENT: Duration = Duration::from_micros(200);
/// Pieces of work between two looks at the clock, at most.
const MOST: u32 = 1 << 12;

/// Whether to give up; the first one set stays.
static PROBE: OnceLock<fn() -> bool> = OnceLock::new();
/// The numbers of callers whose work is given up, each at its remainder; zero for none. Of two at one
/// place, those who share the work of the first would go on to its end.
static GIVEN_UP: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Where a caller's number is, if its work is given up.
#[inline]
fn place(caller: u64) -> &'static AtomicU64 {
    &GIVEN_UP[(caller % GIVEN_UP.len() as u64) as usize]
}

thread_local! {
    /// The number of the caller in whose name this thread works; zero while nothing interrupts it.
    static CALLER: Cell<u64> = const { Cell::new(0) };
    /// This thread's own number, once it has called; zero before.
    static OWN: Cell<u64> = const { Cell::new(0) };
    /// When the probe is asked again.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What comes of work that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Sets what a caller is asked in the middle of its long work, on its own thread: whether to give up.
/// The probe may run anything, also work of this crate. The first one stays.
pub fn set_probe(probe: fn() -> bool) {
    // A second one is ignored: there is one interpreter.
    let _ = PROBE.set(probe);
}

/// Runs work that may be given up, and says so if it was.
///
/// ```
/// use allotrope_cpu::interrupt::{Interrupted, catch, check, set_probe};
/// assert_eq!(catch(|| 1), Ok(1));
/// set_probe(|| true);
/// let endless = || loop {
///     check();
/// };
/// assert_eq!(catch(endless), Err::<(), _>(Interrupted));
/// ```
///
/// # Errors
/// [`Interrupted`] if the probe said so.
///
/// # Panics
/// As the work does.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let own = own_number();
    let _named = Named::new(own);
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        if !payload.is::<Interrupted>() {
            panic::resume_unwind(payload);
        }
        // All who worked along have left by now.
        let (now, then) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = place(own).compare_exchange(own, 0, now, then);
        Interrupted
    })
}

/// Keeps what follows from being given up, until the guard is dropped.
#[must_use = "nothing is held once the guard is dropped"]
pub fn hold() -> Hold {
    Hold(Named::new(0))
}

/// A guard: no work of this thread is given up while it lives.
#[derive(Debug)]
pub struct Hold(#[allow(dead_code, reason = "for its drop")] Named);

/// Whether this thread runs work that may be given up.
#[inline]
#[must_use]
pub fn is_interruptible() -> bool {
    CALLER.get() != 0
}

/// Ends work that is no longer wanted: called between parts of it, where nothing is locked.
#[inline]
pub fn check() {
    let caller = CALLER.get();
    if caller != 0 {
        check_for(caller, Instant::now());
    }
}

/// [`check`] before a step of work on a matrix of so many lines: few take no time.
#[inline]
pub(crate) fn check_step(lines: usize) {
    const MANY: usize = 64;
    if lines >= MANY {
        check();
    }
}

#[inline(never)]
fn check_for(caller: u64, now: Instant) {
    Caller(caller).check();
    if caller != OWN.get() || NEXT.get().is_some_and(|next| now < next) {
        return;
    }
    let Some(probe) = PROBE.get() else { return };
    // The probe may run anything, through frames that nothing may unwind.
    let hold = hold();
    let is_over = probe();
    drop(hold);
    let end = Instant::now();
    NEXT.set(Some(end + ((end - now) * SHARE).clamp(INTERVAL, LONGEST)));
    if is_over {
        place(caller).store(caller, Ordering::Relaxed);
        give_up();
    }
}

/// Leaves the work: no message is printed, since nothing is wrong.
#[cold]
fn give_up() -> ! {
    panic::resume_unwind(Box::new(Interrupted))
}

fn own_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    match OWN.get() {
        0 => {
            let own = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            OWN.set(own);
            own
        }
        own => own,
    }
}

/// In whose name work is done.
#[derive(Clone, Copy)]
pub(crate) struct Caller(u64);

impl Caller {
    /// That of this thread's work.
    #[inline]
    pub(crate) fn current() -> Self {
        Self(CALLER.get())
    }

    /// Whether it can be interrupted at all.
    pub(crate) fn is_interruptible(self) -> bool {
        self.0 != 0
    }

    /// Has this thread work in its name until the guard is dropped.
    #[inline]
    pub(crate) fn work_for(self) -> Named {
        Named::new(self.0)
    }

    /// Ends work that its caller has given up.
    #[inline]
    pub(crate) fn check(self) {
        if self.0 != 0 && place(self.0).load(Ordering::Relaxed) == self.0 {
            give_up();
        }
    }
}

/// Gives this thread back the name that it worked in before.
#[derive(Debug)]
pub(crate) struct Named {
    before: u64,
    /// It belongs to the thread.
    here: PhantomData<*const ()>,
}

impl Named {
    #[inline]
    fn new(caller: u64) -> Self {
        Self {
            before: CALLER.replace(caller),
            here: PhantomData,
        }
    }
}

impl Drop for Named {
    #[inline]
    fn drop(&mut self) {
        CALLER.set(self.before);
    }
}

/// [`check`] for many small pieces of work in a row, which looks at the clock only now and then.
pub(crate) struct Watch {
    caller: u64,
    /// Pieces until the next look.
    left: u32,
    /// Pieces between looks.
    stride: u32,
    last: Option<Instant>,
}

impl Watch {
    #[inline]
    pub(crate) fn new() -> Self {
        let caller = CALLER.get();
        Self {
            caller,
            left: 1,
            stride: 1,
            last: None,
        }
    }

    /// Called before each piece. Before the first one nothing is asked: small work stays as it is.
    #[inline]
    pub(crate) fn check(&mut self) {
        match self.left {
            0 => self.look(),
            left => self.left = left - 1,
        }
    }

    #[cold]
    fn look(&mut self) {
        if self.caller == 0 {
            self.left = MOST;
            return;
        }
        let now = Instant::now();
        let is_soon = self.last.is_some_and(|last| now - last < MOMENT);
        self.stride = match is_soon {
            true => (self.stride * 2).min(MOST),
            false => 1.max(self.stride / 8),
        };
        self.last = Some(now);
        self.left = self.stride - 1;
        check_for(self.caller, now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::parallel;

    thread_local! {
        static IS_OVER: Cell<bool> = const { Cell::new(false) };
    }

    /// Long work of this thread from now on is given up at once, or never.
    fn give_up(is_over: bool) {
        set_probe(|| IS_OVER.get());
        IS_OVER.set(is_over);
        NEXT.set(None);
    }

    #[test]
    fn work_is_given_up_on_all_threads_and_the_next_is_whole() {
        for _ in 0..50 {
            give_up(true);
            let done = AtomicU64::new(0);
            let outcome = catch(|| {
                parallel::map(1 << 20, |_| {
                    done.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(300));
                })
            });
            assert_eq!(outcome, Err(Interrupted));
            let at_end = done.load(Ordering::Relaxed);
            assert!(at_end < 1 << 16);
            give_up(false);
            let all = catch(|| parallel::map(10_000, |index| index));
            assert!(all.is_ok_and(|all| all.into_iter().eq(0..10_000)));
            assert_eq!(done.into_inner(), at_end, "a thread went on");
        }
    }

    #[test]
    fn work_within_work_is_given_up_too() {
        give_up(true);
        let start = Instant::now();
        let outcome = catch(|| {
            parallel::map(2, |_| {
                parallel::map(1 << 20, |_| std::thread::sleep(Duration::from_micros(300)))
            })
        });
        assert_eq!(outcome.err(), Some(Interrupted));
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn nothing_is_given_up_outside_or_while_held() {
        give_up(true);
        let sum = || parallel::map(1000, |index| index).len();
        assert_eq!(sum(), 1000);
        let held = catch(|| {
            let _hold = hold();
            check();
            sum()
        });
        assert_eq!(held, Ok(1000));
        assert_eq!(catch(|| catch(check)), Ok(Err(Interrupted)));
    }

    #[test]
    fn what_others_do_goes_on() {
        give_up(true);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let all = catch(|| {
                    parallel::map(200, |index| {
                        std::thread::sleep(Duration::from_micros(500));
                        index
                    })
                });
                assert!(all.is_ok_and(|all| all.into_iter().eq(0..200)));
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                NEXT.set(None);
                let endless = || loop {
                    check();
                };
                assert_eq!(catch(endless), Err::<(), _>(Interrupted));
            }
        });
    }

    #[test]
    fn panics_go_through() {
        let outcome = panic::catch_unwind(|| catch(|| assert_eq!(1, 2)));
        assert!(outcome.is_err_and(|payload| !payload.is::<Interrupted>()));
        assert!(!Caller::current().is_interruptible());
    }
}
