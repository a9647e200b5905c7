//! The one error type: an operation, what is wrong, and how to go on.
//!
//! It lives in the lowest crate so that every crate above speaks with the same words. The form is
//! `{op}: {what is wrong}: {what was given}; {what is accepted} (hint: …)`.

mod cause;
mod gradient;
mod problem;
mod wording;

use std::fmt;

pub use cause::Cause;
pub use gradient::GradientProblem;
pub use problem::Problem;
use wording::{LONGEST_NAME, brief, nearest_name};

use crate::{DType, Set};

/// What class of mistake an error is; Python's exception types follow it one to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A dtype that does not fit: `TypeError`.
    Dtype,
    /// A bad shape, length or argument value: `ValueError`.
    Value,
    /// An axis or index out of range: `IndexError`.
    Index,
    /// A number that its dtype cannot hold: `OverflowError`.
    Overflow,
    /// An integer divided by zero: `ZeroDivisionError`.
    ZeroDivision,
    /// Not enough memory: `MemoryError`.
    Memory,
    /// A missing or unknown device, or operands on two: `RuntimeError`.
    Device,
    /// Gradients that cannot be had: `RuntimeError`.
    Gradient,
    /// A file that cannot be read or written: `OSError`.
    File,
    /// A matrix without an answer: `LinAlgError`, which is both a `ValueError` and a `RuntimeError`.
    LinearAlgebra,
    /// What a program refuses itself, or meets elsewhere: `RuntimeError`.
    Other,
}

/// An error of any Allotrope crate. One pointer wide.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Detail>);

#[derive(Clone, PartialEq)]
struct Detail {
    op: &'static str,
    problem: Problem,
    hint: Option<String>,
    when: When,
}

/// Whether an error was found after the call that brought it; it is the same error all the same.
#[derive(Clone, Copy)]
enum When {
    AtTheCall,
    Later,
}

impl PartialEq for When {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Error {
    /// An error of an operation, without a hint.
    #[cold]
    #[must_use]
    pub fn new(op: &'static str, problem: Problem) -> Self {
        Self(Box::new(Detail {
            op,
            problem,
            hint: None,
            when: When::AtTheCall,
        }))
    }

    /// The same error with advice on how to go on.
    #[cold]
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if !self.is_late() {
            self.0.hint = Some(hint.into());
        }
        self
    }

    /// The same error, found by a device after the call that brought it: whoever hears of it neither
    /// gives it another operation nor a hint.
    #[cold]
    #[must_use]
    pub fn found_later(mut self) -> Self {
        self.0.when = When::Later;
        self
    }

    /// Whether it was found after the call that brought it.
    #[must_use]
    pub fn is_late(&self) -> bool {
        matches!(self.0.when, When::Later)
    }

    /// The same error, raised by another operation. What a program refuses itself is no operation's.
    #[cold]
    #[must_use]
    pub fn in_op(mut self, op: &'static str) -> Self {
        if !self.is_late() && !matches!(self.0.problem, Problem::Other { .. }) {
            self.0.op = op;
        }
        self
    }

    /// The operation that failed; empty of what a program refuses itself.
    #[must_use]
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// What is wrong, with its payload.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// The class of the mistake.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0.problem {
            Problem::UnknownDType { .. }
            | Problem::NotInSet { .. }
            | Problem::NotExact { .. }
            | Problem::NoPromotion { .. }
            | Problem::NoScalarPromotion { .. }
            | Problem::ScalarKindMismatch { .. }
            | Problem::Fraction { .. }
            | Problem::HigherKind { .. }
            | Problem::ComplexToReal { .. }
            | Problem::WrongElement { .. }
            | Problem::UnknownDLPackType { .. }
            | Problem::VectorElements { .. }
            | Problem::UnknownFileDType { .. }
            | Problem::DefaultNotFloat { .. } => ErrorKind::Dtype,
            Problem::ScalarOverflow { .. }
            | Problem::CastOverflow { .. }
            | Problem::Overflowed { .. }
            | Problem::InexactScalar { .. }
            | Problem::InexactInteger { .. } => ErrorKind::Overflow,
            Problem::DivisionByZero { .. } => ErrorKind::ZeroDivision,
            Problem::OutOfMemory { .. } => ErrorKind::Memory,
            Problem::FileAccess { .. } | Problem::DamagedFile { .. } => ErrorKind::File,
            Problem::Gradient(_) => ErrorKind::Gradient,
            Problem::Other { ref cause, .. } => match cause.as_ref().is_some_and(Cause::is_file) {
                true => ErrorKind::File,
                false => ErrorKind::Other,
            },
            Problem::UnknownDevice { .. }
            | Problem::ForeignDevice { .. }
            | Problem::DevicesDiffer { .. }
            | Problem::HostedRefused { .. }
            | Problem::DemotionRefused { .. }
            | Problem::NotOnDevice { .. }
            | Problem::NoValues { .. }
            | Problem::DeviceFailure { .. } => ErrorKind::Device,
            Problem::SingularMatrix { .. }
            | Problem::NotPositiveDefinite { .. }
            | Problem::NotFinite { .. }
            | Problem::NoConvergence { .. } => ErrorKind::LinearAlgebra,
            Problem::AxisOutOfRange { .. }
            | Problem::IndexOutOfRange { .. }
            | Problem::RepeatedEllipsis
            | Problem::TooManyIndices { .. }
            | Problem::PartOutOfRange { .. }
            | Problem::MaskMismatch { .. } => ErrorKind::Index,
            Problem::NoOperands
            | Problem::ShapeChanged { .. }
            | Problem::SharedElements { .. }
            | Problem::OverflowNotApplicable { .. }
            | Problem::RoundingNotApplicable { .. }
            | Problem::UnknownOption { .. }
            | Problem::LengthMismatch { .. }
            | Problem::InvalidBuffer { .. }
            | Problem::Ragged { .. }
            | Problem::NotContiguous { .. }
            | Problem::TooManyElements { .. }
            | Problem::NotBroadcastable { .. }
            | Problem::RepeatedAxis { .. }
            | Problem::WrongAxisCount { .. }
            | Problem::CannotReshape { .. }
            | Problem::AxesReversed { .. }
            | Problem::EndlessRange { .. }
            | Problem::NotSingle { .. }
            | Problem::CannotReinterpret { .. }
            | Problem::WrongShape { .. }
            | Problem::ZeroStep
            | Problem::BadWindow { .. }
            | Problem::BadFilters { .. }
            | Problem::EmptyInterval { .. }
            | Problem::WideInterval { .. }
            | Problem::OutOfRange { .. }
            | Problem::BadState { .. }
            | Problem::SplitMismatch { .. }
            | Problem::TooManyDimensions { .. }
            | Problem::TooFewDimensions { .. }
            | Problem::ShapesDiffer { .. }
            | Problem::ShapesDoNotFit { .. }
            | Problem::NotMultiple { .. }
            | Problem::NegativeExponent { .. }
            | Problem::NothingToReduce { .. }
            | Problem::NotAMatrix { .. }
            | Problem::NotSquare { .. }
            | Problem::SizesDoNotFit { .. }
            | Problem::CopyNeeded { .. }
            | Problem::NoView { .. }
            | Problem::NotSaved { .. }
            | Problem::NotATensor { .. }
            | Problem::StateMismatch { .. }
            | Problem::MalformedTensor { .. }
            | Problem::InnerMismatch { .. }
            | Problem::WrongRank { .. }
            | Problem::BadEquation { .. }
            | Problem::BadBuffer { .. } => ErrorKind::Value,
        }
    }

    /// No dtype or family is called `given`; the hint is the nearest name.
    #[cold]
    #[must_use]
    pub fn unknown_dtype(given: &str) -> Self {
        let shown = brief(given, LONGEST_NAME).into_owned();
        let nearest = nearest_name(&shown);
        let error = Self::new("dtype", Problem::UnknownDType { given: shown });
        match nearest {
            Some(name) => error.hint(name),
            None => error,
        }
    }

    /// `dtype` is outside `set`.
    #[cold]
    #[must_use]
    pub fn not_in_set(op: &'static str, dtype: DType, set: Set, hint: Option<&str>) -> Self {
        let error = Self::new(op, Problem::NotInSet { given: dtype, set });
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// An option string that is none of `accepted`.
    #[cold]
    #[must_use]
    pub fn unknown_option(
        op: &'static str,
        what: &'static str,
        given: &str,
        accepted: &[&str],
    ) -> Self {
        let accepted = accepted.join(", ");
        Self::new(
            op,
            Problem::UnknownOption {
                what,
                given: given.to_owned(),
                accepted,
            },
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.problem {
            Problem::Other {
                cause: Some(cause), ..
            } => Some(cause.error()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.problem {
            problem @ Problem::Other { .. } => write!(f, "{problem}")?,
            problem => write!(f, "{}: {problem}", self.0.op)?,
        }
        match &self.0.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
