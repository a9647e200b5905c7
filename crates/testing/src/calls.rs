//! How often each primitive was asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static CALLS: RefCell<BTreeMap<&'static str, usize>> = RefCell::default();
}

/// How often this thread has asked for each kind of work since the last time.
pub fn take_calls() -> BTreeMap<&'static str, usize> {
    CALLS.take()
}

pub(crate) fn count(method: &'static str) {
    CALLS.with_borrow_mut(|calls| *calls.entry(method).or_default() += 1);
}
