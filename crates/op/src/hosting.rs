//! Whether the CPU is doing the work of another device on this thread: what is moved then is part of a
//! hosted operation, and everything else that is moved is not.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The time in which the CPU does a device's work.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Hosting(());

impl Hosting {
    /// Begins on this thread.
    pub fn begin() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }

    /// Whether it is now, on this thread.
    #[must_use]
    pub fn is_now() -> bool {
        DEPTH.get() > 0
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}
