//! Checks and casts that look at values.
//!
//! What they refuse is an error that names the first index in row-major order. A device that queues its
//! work raises it when it is next waited for.

use allotrope_dtype::{CastOptions, Problem, Scalar};

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
    /// Refuses elements. Reads truth values of any layout, true for what is refused, and, if the
    /// refusal tells no value, as many real numbers; writes nothing.
    Refuse(Refusal),
}

/// Which integers have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Zero, as a divisor.
    Zero,
    /// What is below zero, as an exponent.
    Negative,
}

impl Refused {
    /// What is wrong with the first integer that is refused; a single one has no index.
    #[must_use]
    pub fn fault(self, index: Option<usize>) -> Problem {
        match self {
            Self::Zero => Problem::DivisionByZero { index },
            Self::Negative => Problem::NegativeExponent { index },
        }
    }
}

/// What is said of elements that are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What they are.
    pub what: &'static str,
    /// What is told of them in place of the number.
    pub value: Option<&'static str>,
    /// The index of the first element, if the error is to name one.
    pub first: Option<usize>,
    /// What is accepted.
    pub accepted: &'static str,
}

impl Refusal {
    /// What is wrong with the first element that is refused.
    #[must_use]
    pub fn fault(self, place: usize, number: Option<Scalar>) -> Problem {
        let number = number.map(|number| number.to_string());
        Problem::OutOfRange {
            what: self.what,
            index: self.first.map(|first| first + place),
            value: self.value.map_or(number.unwrap_or_default(), str::to_owned),
            accepted: self.accepted,
        }
    }
}
