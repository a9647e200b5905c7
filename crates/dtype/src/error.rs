//! The one error type: an operation, what is wrong, and how to go on.
//!
//! It lives in the lowest crate so that every crate above speaks with the same words. The form is
//! `{op}: {what is wrong}: {what was given}; {what is accepted} (hint: …)`.

use std::fmt;

use crate::cast::{Overflow, Rounding};
use crate::{DType, Family, Policy, Set};

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
    /// Not enough memory: `MemoryError`.
    Memory,
    /// A missing or unknown device: `RuntimeError`.
    Device,
}

/// What is wrong, with its payload.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// No dtype or family has this name.
    #[error("unknown name: '{given}'; accepted are {}", names())]
    UnknownDType {
        /// The name as given.
        given: String,
    },
    /// The dtype is outside the set that the operation accepts.
    #[error("wrong dtype: {given}; {} is accepted", set.description())]
    NotInSet {
        /// The dtype as given.
        given: DType,
        /// What is accepted.
        set: Set,
    },
    /// A family was given where only an exact dtype makes sense.
    #[error("an exact dtype is needed: {given} is a family; its members are {}", list(given.members()))]
    NotExact {
        /// The family as given.
        given: Family,
    },
    /// Two dtypes have no common dtype under a policy.
    #[error("{}", refusal(*policy, *lhs, *rhs))]
    NoPromotion {
        /// The policy in force.
        policy: Policy,
        /// One operand.
        lhs: DType,
        /// The other operand.
        rhs: DType,
    },
    /// A dtype and a Python scalar have no common dtype under a policy.
    #[error("{policy} promotion: {dtype} does not take {} scalar", scalar.described())]
    NoScalarPromotion {
        /// The policy in force.
        policy: Policy,
        /// The dtype of the tensor.
        dtype: DType,
        /// The kind of the scalar.
        scalar: crate::ScalarKind,
    },
    /// `result_type` of nothing.
    #[error("no operands: at least one array, dtype or scalar is needed")]
    NoOperands,
    /// A scalar that the dtype cannot hold.
    #[error("scalar out of range: {value}; {dtype} holds {}", range(*dtype))]
    ScalarOverflow {
        /// The value as given.
        value: String,
        /// The dtype it should have.
        dtype: DType,
    },
    /// A scalar of a kind that the dtype cannot hold.
    #[error("scalar of a higher kind: {value}; {dtype} holds {}", range(*dtype))]
    ScalarKindMismatch {
        /// The value as given.
        value: String,
        /// The dtype it should have.
        dtype: DType,
    },
    /// A checked cast met a value that the target cannot hold.
    #[error("value out of range at index {index}: {value} of {from}; {to} holds {}", range(*to))]
    CastOverflow {
        /// The first offending index, in memory order.
        index: usize,
        /// The value there.
        value: String,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// A cast that would drop the imaginary part.
    #[error("complex to real: {from} to {to}; {} and bool are accepted", list(Set::Complex.members()))]
    ComplexToReal {
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// An overflow rule without a meaning for this cast.
    #[error("overflow '{overflow}' does not apply: {from} to {to}; accepted are {accepted}")]
    OverflowNotApplicable {
        /// The rule as given.
        overflow: Overflow,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
        /// The rules that do apply.
        accepted: &'static str,
    },
    /// A rounding without a meaning for this cast.
    #[error("rounding '{rounding}' does not apply: {from} to {to}; an integer target truncates")]
    RoundingNotApplicable {
        /// The rounding as given.
        rounding: Rounding,
        /// The source dtype.
        from: DType,
        /// The target dtype.
        to: DType,
    },
    /// An option with an unknown spelling.
    #[error("unknown {what}: '{given}'; accepted are {accepted}")]
    UnknownOption {
        /// What the option is.
        what: &'static str,
        /// The spelling as given.
        given: String,
        /// The accepted spellings.
        accepted: String,
    },
    /// The default dtype must be a float.
    #[error("the default must be a floating dtype: {given}; accepted are {}", list(Set::Float.members()))]
    DefaultNotFloat {
        /// The dtype as given.
        given: DType,
    },
    /// Buffers that do not hold the same number of elements.
    #[error("lengths differ: {from} and {to} elements")]
    LengthMismatch {
        /// Elements in the source.
        from: usize,
        /// Elements in the target.
        to: usize,
    },
    /// A buffer whose address or length does not fit its dtype.
    #[error("bytes do not form a slice of {dtype}: {reason}")]
    BadBuffer {
        /// The dtype that the bytes should have.
        dtype: DType,
        /// What does not fit.
        reason: String,
    },
    /// Sizes whose product no address space holds.
    #[error("too many elements: {shape:?}; at most {} fit", isize::MAX)]
    TooManyElements {
        /// The sizes as given.
        shape: Vec<usize>,
    },
    /// An allocation that failed.
    #[error("out of memory: {bytes} bytes")]
    OutOfMemory {
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// Two shapes that do not broadcast.
    #[error("shapes do not broadcast: {lhs:?} and {rhs:?}; sizes must be equal or 1")]
    NotBroadcastable {
        /// One shape.
        lhs: Vec<usize>,
        /// The other shape.
        rhs: Vec<usize>,
    },
    /// An axis that the tensor does not have.
    #[error("axis out of range: {axis}; {}", axes(*rank))]
    AxisOutOfRange {
        /// The axis as given.
        axis: isize,
        /// The number of dimensions.
        rank: usize,
    },
    /// An axis given more than once.
    #[error("axis named twice: {axis}")]
    RepeatedAxis {
        /// The axis as given the second time.
        axis: isize,
    },
    /// Not one axis per dimension.
    #[error("wrong number of axes: {given}; {rank} are needed")]
    WrongAxisCount {
        /// The number of axes.
        given: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// An index that the dimension does not have.
    #[error("index out of range: {index}; dimension {dim} has size {size}")]
    IndexOutOfRange {
        /// The index as given.
        index: isize,
        /// The dimension.
        dim: usize,
        /// Its size.
        size: usize,
    },
    /// Sizes for another number of elements.
    #[error("wrong number of elements: {from:?} to {to:?}; sizes must multiply to the same")]
    CannotReshape {
        /// The shape there is.
        from: Vec<usize>,
        /// The sizes as given.
        to: Vec<isize>,
    },
    /// A last axis before the first.
    #[error("axes in the wrong order: {start} to {end}; the first must not be after the last")]
    AxesReversed {
        /// The first axis as given.
        start: isize,
        /// The last axis as given.
        end: isize,
    },
    /// A range that never ends or has no numbers.
    #[error("no last number: from {start} to {end} by {step}; finite bounds are accepted")]
    EndlessRange {
        /// The first number.
        start: f64,
        /// The bound.
        end: f64,
        /// The step.
        step: f64,
    },
    /// More than one element where one is meant.
    #[error("not a single element: {shape:?}; exactly one is accepted")]
    NotSingle {
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// A Rust type other than the tensor's.
    #[error("wrong element type: {given}; the tensor has {dtype}")]
    WrongElement {
        /// The dtype of the type as given.
        given: DType,
        /// The dtype of the tensor.
        dtype: DType,
    },
    /// A reinterpretation that would cut elements apart.
    #[error("cannot reinterpret {from} as {to}: {reason}")]
    CannotReinterpret {
        /// The dtype there is.
        from: DType,
        /// The dtype as given.
        to: DType,
        /// What does not fit.
        reason: String,
    },
    /// A slice that does not move.
    #[error("the step is zero; any other step is accepted")]
    ZeroStep,
    /// A window that does not fit its dimension.
    #[error(
        "window does not fit: size {size}, step {step}; \
         the dimension has size {available} and steps start at 1"
    )]
    BadWindow {
        /// The size of the window.
        size: usize,
        /// The distance between windows.
        step: usize,
        /// The size of the dimension.
        available: usize,
    },
    /// No such device on this machine.
    #[error("no such device: '{given}'; available are {available}")]
    UnknownDevice {
        /// The device as given.
        given: String,
        /// The devices of this machine.
        available: String,
    },
}

/// An error of any Allotrope crate. One pointer wide.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Detail>);

#[derive(Clone, PartialEq)]
struct Detail {
    op: &'static str,
    problem: Problem,
    hint: Option<String>,
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
        }))
    }

    /// The same error with advice on how to go on.
    #[cold]
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error, raised by another operation.
    #[cold]
    #[must_use]
    pub fn in_op(mut self, op: &'static str) -> Self {
        self.0.op = op;
        self
    }

    /// The operation that failed.
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
            | Problem::ComplexToReal { .. }
            | Problem::WrongElement { .. }
            | Problem::DefaultNotFloat { .. } => ErrorKind::Dtype,
            Problem::ScalarOverflow { .. } | Problem::CastOverflow { .. } => ErrorKind::Overflow,
            Problem::OutOfMemory { .. } => ErrorKind::Memory,
            Problem::UnknownDevice { .. } => ErrorKind::Device,
            Problem::AxisOutOfRange { .. } | Problem::IndexOutOfRange { .. } => ErrorKind::Index,
            Problem::NoOperands
            | Problem::OverflowNotApplicable { .. }
            | Problem::RoundingNotApplicable { .. }
            | Problem::UnknownOption { .. }
            | Problem::LengthMismatch { .. }
            | Problem::TooManyElements { .. }
            | Problem::NotBroadcastable { .. }
            | Problem::RepeatedAxis { .. }
            | Problem::WrongAxisCount { .. }
            | Problem::CannotReshape { .. }
            | Problem::AxesReversed { .. }
            | Problem::EndlessRange { .. }
            | Problem::NotSingle { .. }
            | Problem::CannotReinterpret { .. }
            | Problem::ZeroStep
            | Problem::BadWindow { .. }
            | Problem::BadBuffer { .. } => ErrorKind::Value,
        }
    }

    /// No dtype or family is called `given`; the hint is the nearest name.
    #[cold]
    #[must_use]
    pub fn unknown_dtype(given: &str) -> Self {
        let mut shown: String = given.chars().take(LONGEST_NAME).collect();
        if shown.len() < given.len() {
            shown.push('…');
        }
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

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.op, self.0.problem)?;
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

/// How much of an unknown name a message repeats.
const LONGEST_NAME: usize = 40;

/// The canonical names, separated by commas.
fn list(dtypes: impl Iterator<Item = DType>) -> String {
    dtypes.map(DType::name).collect::<Vec<_>>().join(", ")
}

/// Every canonical name and the families.
fn names() -> String {
    let families = Family::ALL.map(Family::name).join(", ");
    format!(
        "{}, {families} and aliases such as f32",
        list(DType::ALL.into_iter())
    )
}

/// The values that a dtype holds, in words.
fn range(dtype: DType) -> String {
    match (dtype.integer_range(), dtype.format()) {
        (Some((min, max)), _) => format!("{min} to {max}"),
        (None, Some(format)) => {
            let max = format.decode(format.max_code());
            if max < 1e6 {
                format!("{} to {max}", -max)
            } else {
                format!("{:e} to {max:e}", -max)
            }
        }
        (None, None) => String::new(),
    }
}

/// The axes that a tensor has, in words.
fn axes(rank: usize) -> String {
    match rank {
        0 => "a tensor of 0 dimensions has no axes".to_owned(),
        _ => format!(
            "a tensor of {rank} dimensions has axes -{rank} to {}",
            rank - 1
        ),
    }
}

/// Why a policy refuses a pair.
fn refusal(policy: Policy, lhs: DType, rhs: DType) -> String {
    match policy {
        Policy::Strict => format!("strict promotion: {lhs} and {rhs} differ"),
        Policy::Exact => match Policy::Standard.promote(lhs, rhs) {
            Some(common) => {
                let lost = if lhs.fits_in(common) { rhs } else { lhs };
                format!("exact promotion: {lhs} and {rhs}: {common} does not hold every {lost}")
            }
            None => format!("exact promotion: {lhs} and {rhs}: no integer dtype holds both"),
        },
        Policy::Standard => {
            format!("no common dtype: {lhs} and {rhs}; no integer dtype holds both")
        }
        Policy::Torch | Policy::Numpy | Policy::Jax => {
            format!("{policy} promotion: {lhs} and {rhs} have no common dtype")
        }
    }
}

/// The accepted name with the smallest edit distance, if it is near enough to be a typing error.
fn nearest_name(given: &str) -> Option<&'static str> {
    let given = given.to_lowercase();
    let canonical = DType::ALL.into_iter().map(DType::name);
    let aliases = DType::ALL
        .into_iter()
        .flat_map(|d| d.descriptor().aliases.iter().copied());
    canonical
        .chain(Family::ALL.map(Family::name))
        .chain(aliases)
        .map(|name| (edit_distance(&given, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= 2 && *distance * 2 < name.len())
        .map(|(_, name)| name)
}

/// Levenshtein distance of two strings.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
