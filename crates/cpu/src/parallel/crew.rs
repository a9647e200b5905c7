//! The threads that work together: a caller, and those it wakes.
//!
//! A thread that is woken may be put on the core that its caller works on, while another has nothing
//! to do: it would begin when the caller has done all of the work. Nothing moves it away either, since
//! it sleeps again soon after. Measured on two cores, products of 512 x 512 after a pause of 0.1 s: one
//! of them alone made 62 of 100.
//!
//! So a caller that finds itself alone after its first piece lets others run, and one that then finds
//! itself on the caller's core leaves it.
#![allow(unsafe_code, reason = "calls into the system's scheduler")]

use std::sync::atomic::{AtomicBool, Ordering};

use super::{pool, standby};
use crate::interrupt::Caller;

/// What is known of the threads of a work.
#[derive(Default)]
pub(crate) struct Crew {
    /// Whether others than the caller have begun.
    is_shared: AtomicBool,
}

impl Crew {
    /// Called before each piece but the first: lets one that waits for this core begin, if none has yet.
    pub(crate) fn let_begin(&self) {
        if !self.is_shared.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }

    /// Calls `work` on so many threads, of which the caller's is one and begins at once, for to wake
    /// another takes as long as a small work: sums of a million float32 took 1.2 times as long while the
    /// caller only waited. Each call has a number below `threads`: the caller's is 0, that of others
    /// the same in every work as far as can be.
    pub(crate) fn run(&self, threads: usize, work: &(dyn Fn(usize) + Sync)) {
        if threads <= 1 {
            self.is_shared.store(true, Ordering::Relaxed);
            return work(0);
        }
        let caller = Place::here();
        let name = Caller::current();
        let work = |thread: usize| {
            if thread == 0 {
                return work(0);
            }
            self.is_shared.store(true, Ordering::Relaxed);
            let _named = name.work_for();
            work(thread);
        };
        if standby::run(threads, caller, &work) {
            return;
        }
        pool::in_place_scope(
            |scope| {
                for _ in 1..threads {
                    scope.spawn(|_| {
                        caller.make_room();
                        let thread = rayon::current_thread_index().unwrap_or(0);
                        work(1 + thread % (threads - 1));
                    });
                }
                work(0);
            },
            || work(0),
        );
    }
}

/// Where a caller works.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The core.
    #[cfg(all(target_os = "linux", not(miri)))]
    core: Option<usize>,
    /// The number of the thread, if it is one that others call.
    thread: Option<usize>,
}

impl Place {
    /// That of this thread.
    pub(super) fn here() -> Self {
        Self {
            #[cfg(all(target_os = "linux", not(miri)))]
            core: core(),
            thread: rayon::current_thread_index(),
        }
    }

    /// Moves this thread to another core if it is on this one, and is another. Only threads of our own
    /// are moved: where those of the host program run is not for us to say.
    pub(super) fn make_room(self) {
        if !pool::is_ours() || self.thread.is_some() && self.thread == rayon::current_thread_index()
        {
            return;
        }
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(core) = self.core
            && self::core() == Some(core)
        {
            leave(core);
        }
    }
}

/// The core that this thread is on.
#[cfg(all(target_os = "linux", not(miri)))]
fn core() -> Option<usize> {
    // SAFETY: asks for a number and takes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Forbids this thread a core, which moves it, and then allows it again: it stays where it is as long
/// as nobody else is there.
#[cfg(all(target_os = "linux", not(miri)))]
fn leave(core: usize) {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: a set of bits, of which all zero is the empty one.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes at most `SIZE` bytes to the set, for this thread.
    let is_known = unsafe { libc::sched_getaffinity(0, SIZE, &raw mut allowed) } == 0;
    // SAFETY: counts the bits of a set.
    if !is_known || core >= 8 * SIZE || unsafe { libc::CPU_COUNT(&allowed) } < 2 {
        return;
    }
    let mut others = allowed;
    // SAFETY: the core is one that the set has a bit for.
    unsafe { libc::CPU_CLR(core, &mut others) };
    for set in [others, allowed] {
        // SAFETY: reads `SIZE` bytes of the set, for this thread; a refusal changes nothing.
        unsafe { libc::sched_setaffinity(0, SIZE, &raw const set) };
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// The cores that this thread may run on.
    fn allowed() -> Vec<usize> {
        // SAFETY: a set of bits, of which all zero is the empty one.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let size = size_of_val(&set);
        // SAFETY: writes at most `size` bytes to the set.
        let status = unsafe { libc::sched_getaffinity(0, size, &raw mut set) };
        assert_eq!(status, 0);
        // SAFETY: asks for bits that the set has.
        let is_allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
        (0..8 * size).filter(is_allowed).collect()
    }

    #[test]
    fn who_leaves_a_core_may_come_back() {
        let before = allowed();
        for core in before.iter().chain(&[usize::MAX]) {
            leave(*core);
            assert_eq!(allowed(), before);
        }
    }

    #[test]
    fn threads_of_the_host_are_left_where_they_are() {
        assert!(!pool::is_ours());
        let hosts = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let crew = Crew::default();
        hosts.install(|| crew.run(2, &|_| assert!(!pool::is_ours())));
        let (sender, receiver) = std::sync::mpsc::channel();
        pool::Pool::get().spawn(move || sender.send(pool::is_ours()).unwrap());
        assert_eq!(receiver.recv(), Ok(true));
    }

    #[test]
    fn the_caller_works_and_waits_for_all_that_joined_in() {
        for threads in 1..5 {
            for _ in 0..100 {
                let (crew, inside) = (Crew::default(), std::sync::atomic::AtomicUsize::new(0));
                let calls = std::sync::Mutex::new(Vec::new());
                crew.run(threads, &|thread| {
                    inside.fetch_add(1, Ordering::Relaxed);
                    crew.let_begin();
                    calls.lock().unwrap().push(thread);
                    inside.fetch_sub(1, Ordering::Relaxed);
                });
                let calls = calls.into_inner().unwrap();
                assert_eq!(inside.into_inner(), 0);
                assert_eq!(calls.iter().filter(|thread| **thread == 0).count(), 1);
                assert!(calls.len() <= threads && calls.iter().all(|thread| *thread < threads));
            }
        }
    }
}
