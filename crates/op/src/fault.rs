//! Faults: errors about values that a device finds after the call that brought them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use allotrope_dtype::Error;

/// The threads whose calls had a part in elements: a bit for each, which threads share where there are
/// more of them than bits.
///
/// A fault is heard by those whom it concerns: the thread that asked for the check, and whoever reads
/// elements that the thread had a part in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Askers(u64);

impl Askers {
    /// Nobody.
    pub const NONE: Self = Self(0);

    /// The thread that calls.
    #[must_use]
    pub fn this_thread() -> Self {
        static THREADS: AtomicU32 = AtomicU32::new(0);
        thread_local! {
            static OWN: u64 = 1_u64.rotate_left(THREADS.fetch_add(1, Ordering::Relaxed));
        }
        // A thread that ends is as good as any other.
        Self(OWN.try_with(|own| *own).unwrap_or(1))
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    const fn concern(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

/// Who had a part in the elements of a memory, which grows with what is written to it.
#[derive(Debug, Default)]
pub struct Lineage(AtomicU64);

impl Lineage {
    /// Nobody so far.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// All who had a part.
    #[must_use]
    pub fn askers(&self) -> Askers {
        Askers(self.0.load(Ordering::Relaxed))
    }

    /// Adds those who had a part in what is written.
    pub fn add(&self, askers: Askers) {
        if self.askers().and(askers) != self.askers() {
            self.0.fetch_or(askers.0, Ordering::Relaxed);
        }
    }
}

/// A fault: its number in the order of calls, and who asked.
#[derive(Debug)]
struct Fault {
    order: u64,
    asker: Askers,
    error: Error,
}

/// The faults of a device that nobody has heard of yet: queued checks note them, and the next reading
/// that one concerns raises it.
#[derive(Debug, Default)]
pub struct Faults {
    /// The first of each thread.
    first: Mutex<Vec<Fault>>,
}

impl Faults {
    /// None so far.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first: Mutex::new(Vec::new()),
        }
    }

    /// Notes what a check has refused, given its number in the order of calls and who asked for it.
    pub fn note(&self, order: u64, asker: Askers, error: Error) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = Fault {
            order,
            asker,
            error,
        };
        match first.iter_mut().find(|known| known.asker == asker) {
            Some(known) if known.order <= order => {}
            Some(known) => *known = fault,
            // bounded: one for each bit.
            None => first.push(fault),
        }
    }

    /// Raises the fault that was asked for first among those of the askers, and forgets all of theirs.
    ///
    /// # Errors
    /// The fault, if there is one.
    pub fn raise(&self, askers: Askers) -> Result<(), Error> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = first.extract_if(.., |fault| fault.asker.concern(askers));
        let earliest = theirs.min_by_key(|fault| fault.order);
        earliest.map_or(Ok(()), |fault| Err(fault.error.found_later()))
    }
}

#[cfg(test)]
mod tests {
    use allotrope_dtype::Problem;

    use super::*;

    fn fault(op: &'static str) -> Error {
        Error::new(op, Problem::DivisionByZero { index: None })
    }

    #[test]
    fn the_first_fault_is_raised_once() {
        let (faults, own) = (Faults::new(), Askers::this_thread());
        assert_eq!(faults.raise(own), Ok(()));
        faults.note(3, own, fault("third"));
        faults.note(1, own, fault("first"));
        faults.note(2, own, fault("second"));
        // Whoever reads does not give it another name.
        let raised = faults.raise(own).map_err(|fault| fault.in_op("item"));
        assert_eq!(raised, Err(fault("first")));
        assert_eq!(faults.raise(own), Ok(()));
    }

    #[test]
    fn a_fault_is_raised_to_those_whom_it_concerns() {
        let (faults, own) = (Faults::new(), Askers::this_thread());
        let other = std::thread::spawn(Askers::this_thread).join();
        let other = other.unwrap_or_default();
        assert!(!own.concern(other) && own == Askers::this_thread());
        faults.note(1, other, fault("other"));
        faults.note(2, own, fault("own"));
        assert_eq!(faults.raise(Askers::NONE), Ok(()));
        assert_eq!(faults.raise(own), Err(fault("own")));
        assert_eq!(faults.raise(own), Ok(()));
        let elements = Lineage::new();
        assert_eq!(elements.askers(), Askers::NONE);
        elements.add(own);
        elements.add(other);
        assert_eq!(faults.raise(elements.askers()), Err(fault("other")));
        assert_eq!(faults.raise(elements.askers()), Ok(()));
    }
}
