//! How often each primitive was asked for, and what was moved between the CPU and the device.

use std::cell::RefCell;
use std::collections::BTreeMap;

use allotrope_op::Hosting;

thread_local! {
    static CALLS: RefCell<BTreeMap<&'static str, usize>> = RefCell::default();
    static TRANSFERS: RefCell<Vec<Transfer>> = RefCell::default();
}

/// Elements that were moved for an operation which the device computes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// `upload` or `download`.
    pub way: &'static str,
    /// What it was moved for.
    pub op: &'static str,
    /// How many bytes.
    pub bytes: usize,
}

/// How often this thread has asked for each kind of work since the last time.
pub fn take_calls() -> BTreeMap<&'static str, usize> {
    CALLS.take()
}

/// What this thread has moved outside of hosted operations since the last time.
pub fn take_transfers() -> Vec<Transfer> {
    TRANSFERS.take()
}

pub(crate) fn count(method: &'static str) {
    CALLS.with_borrow_mut(|calls| *calls.entry(method).or_default() += 1);
}

pub(crate) fn moved(way: &'static str, op: &'static str, bytes: usize) {
    /// Nobody takes them where nobody counts.
    const MOST: usize = 4096;
    count(way);
    if !Hosting::is_now() {
        TRANSFERS.with_borrow_mut(|all| {
            if all.len() < MOST {
                all.push(Transfer { way, op, bytes });
            }
        });
    }
}
