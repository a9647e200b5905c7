//! Faults: errors about values that a device finds after the call that brought them.

use std::sync::{Mutex, PoisonError};

use allotrope_dtype::Error;

/// The faults of a device that nobody has heard of yet: queued checks note them, and the next reading
/// raises the one that was asked for first.
#[derive(Debug, Default)]
pub struct Faults {
    first: Mutex<Option<(u64, Error)>>,
}

impl Faults {
    /// None so far.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            first: Mutex::new(None),
        }
    }

    /// Notes what the check of a number, counted in the order of calls, has refused.
    pub fn note(&self, order: u64, fault: Error) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| order < *known) {
            *first = Some((order, fault));
        }
    }

    /// Raises the fault that was asked for first, and forgets all that were noted.
    ///
    /// # Errors
    /// The fault, if there is one.
    pub fn raise(&self) -> Result<(), Error> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map_or(Ok(()), |(_, fault)| Err(fault))
    }
}

#[cfg(test)]
mod tests {
    use allotrope_dtype::Problem;

    use super::*;

    #[test]
    fn the_first_fault_is_raised_once() {
        let faults = Faults::new();
        let fault = |op| Error::new(op, Problem::DivisionByZero { index: None });
        assert_eq!(faults.raise(), Ok(()));
        faults.note(3, fault("third"));
        faults.note(1, fault("first"));
        faults.note(2, fault("second"));
        assert_eq!(faults.raise(), Err(fault("first")));
        assert_eq!(faults.raise(), Ok(()));
    }
}
