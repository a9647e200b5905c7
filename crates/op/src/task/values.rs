//! Checks and casts that look at values.
//!
//! What they refuse is an error that names the first index in row-major order. A device that queues its
//! work raises it when it is next waited for.

use allotrope_dtype::CastOptions;

/// Work that looks at values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// A cast by other rules than the default ones. Reads elements of any layout; writes as many in the
    /// dtype of the output.
    Cast(CastOptions),
    /// Refuses integers without an answer. Reads integers or truth values of any layout, and writes
    /// nothing.
    CheckIntegers(Refused),
}

/// Which integers have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Zero, as a divisor.
    Zero,
    /// What is below zero, as an exponent.
    Negative,
}
