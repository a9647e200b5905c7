//! THE op tables: every elementwise operation is one row, read by several interpreters.
//!
//! | file | what is in it |
//! |---|---|
//! | `unary`, `activation`, `binary`, `compare`, `several` | the rows |
//! | `formula` | the rows as functions over floats, complex numbers, integers and truth values |
//! | `math` | formulas too long for a row |
//! | `slope` | gradients of activations as one formula |
//! | `reduce` | the operations that make one number of many |

#[macro_use]
mod unary;
#[macro_use]
mod activation;
#[macro_use]
mod binary;
#[macro_use]
mod compare;
#[macro_use]
mod several;
mod reduce;

pub(crate) mod math;

use allotrope_dtype::{DType, Kind, Set};
pub use reduce::{Outcome, Reduction, float_of};

/// Hands every row of the op tables to a callback macro.
///
/// `for_each_op!((callback) args…)` expands to `callback! { args… { row } { row } … }`. A row is
///
/// ```text
/// { Variant, name, (operands) -> out, signature, autocast, "doc",
///   float cell complex cell int cell bool cell,
///   d derivative, domain [(least, most) of each operand], ulp bound }
/// ```
///
/// | column | meaning |
/// |---|---|
/// | signature | a [`Signature`]: what comes out |
/// | autocast | an [`Autocast`]: what becomes of half precision |
/// | cell | `{ formula }`, or `promote` to the default float, `integer` (as int64), `refuse` |
/// | derivative | `[by each operand]`, the first of which may be `none`, `{ g => [gradients] }` where it is not holomorphic, `none` |
/// | ulp | the greatest error of float32 and float64 results over the domain |
///
/// Formulas know the operands by name, and `L`, `R`, `I`: the type of a float, of the parts of a
/// complex number, of an integer. Derivatives also know `out`. A row may end in
/// `, near [limits] { formula }`, a faster one for magnitudes below the limits of float32 and
/// float64 with the same results, in `, rough { formula }`, a faster one for results that are used as
/// float16 or bfloat16 alone, or in both, with `near { formula }` for the second, behind which
/// `half { formula } near { formula }` may take float16 from it.
///
/// ```
/// macro_rules! names {
///     ($({ $variant:ident, $name:ident, $($rest:tt)* })*) => { [$(stringify!($name)),*] };
/// }
/// assert!(allotrope_op::for_each_op!((names)).contains(&"tanh"));
/// ```
#[macro_export]
macro_rules! for_each_op {
    (($($callback:tt)+) $($args:tt)*) => {
        $crate::for_each_unary! { ($crate::for_each_activation) ($crate::for_each_binary)
            ($crate::for_each_compare) ($crate::for_each_several) ($($callback)+) $($args)* }
    };
}

// Below the macro, which it expands.
pub mod formula;
pub mod slope;

/// What an operation makes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signature {
    /// A number of the operands' common dtype.
    Map,
    /// The same, but a real number of complex operands.
    Real,
    /// A truth value of the operands' common dtype.
    Test,
    /// A truth value of numbers that are compared exactly, whatever their dtypes.
    Compare,
    /// A truth value of truth values: operands of any dtype are asked whether they are not zero.
    Logic,
    /// One of two numbers, by a truth value.
    Select,
}

/// What autocast does with the float operands of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Autocast {
    /// Nothing: the result has the dtype of the operand.
    Keep,
    /// Computes in float32.
    Float32,
    /// Computes in the widest dtype of the operands.
    Widest,
    /// Computes in the lower precision that autocast was asked for.
    Lower,
}

/// What an operation does with dtypes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Computes in it.
    Formula,
    /// Promotes it to the default float.
    Promote,
    /// Takes it as int64.
    Integer,
    /// Has no meaning for it.
    Refuse,
}

/// What a row says beside its formulas.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The name in Rust and Python.
    pub name: &'static str,
    /// The names of the operands.
    pub operands: &'static [&'static str],
    /// What comes out.
    pub signature: Signature,
    /// What becomes of half precision.
    pub autocast: Autocast,
    /// One sentence on the result.
    pub doc: &'static str,
    /// What becomes of floats.
    pub float: Cell,
    /// What becomes of complex numbers.
    pub complex: Cell,
    /// What becomes of integers.
    pub int: Cell,
    /// What becomes of truth values.
    pub bool: Cell,
    /// Whether there is a derivative.
    pub is_differentiable: bool,
    /// Whether there is none by the first operand.
    pub lacks_first: bool,
    /// Where each operand is tested and measured.
    pub domain: &'static [(f64, f64)],
    /// The greatest error over the domain, in units in the last place of float32 and float64.
    pub ulp: f64,
}

impl Row {
    /// What becomes of a dtype.
    #[must_use]
    pub const fn cell(&self, kind: Kind) -> Cell {
        match (self.signature, kind) {
            (Signature::Logic | Signature::Select, _) => Cell::Formula,
            (_, Kind::Bool) => self.bool,
            (_, Kind::Signed | Kind::Unsigned) => self.int,
            (_, Kind::Float) => self.float,
            (_, Kind::Complex) => self.complex,
        }
    }

    /// The narrowest named set of everything that is accepted.
    #[must_use]
    pub fn accepted(&self) -> Set {
        let takes = |kind| self.cell(kind) != Cell::Refuse;
        let sets = [
            Set::Bool,
            Set::Complex,
            Set::Float,
            Set::Inexact,
            Set::Integer,
            Set::Real,
            Set::Number,
        ];
        let kinds = [Kind::Bool, Kind::Signed, Kind::Float, Kind::Complex];
        let holds_all = |set: &Set| {
            kinds
                .iter()
                .all(|kind| !takes(*kind) || set.has_kind(*kind))
        };
        sets.into_iter().find(holds_all).unwrap_or(Set::Element)
    }

    /// Whether dtypes of this kind have a meaning.
    #[must_use]
    pub const fn accepts(&self, dtype: DType) -> bool {
        !matches!(self.cell(dtype.kind()), Cell::Refuse)
    }
}

macro_rules! cell {
    (promote) => {
        Cell::Promote
    };
    (integer) => {
        Cell::Integer
    };
    (refuse) => {
        Cell::Refuse
    };
    ($formula:tt) => {
        Cell::Formula
    };
}

macro_rules! has_derivative {
    (none) => {
        false
    };
    ($derivative:tt) => {
        true
    };
}

macro_rules! lacks_first {
    ([none, $($rest:tt)*]) => {
        true
    };
    ($derivative:tt) => {
        false
    };
}

macro_rules! define_ops {
    ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt bool $bool:tt,
         d $d:tt, domain [$($domain:tt),*], ulp $ulp:literal $(, $($faster:tt)+)? })*) => {
        /// An elementwise operation: a row of the tables.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $doc] $variant,)*
        }

        impl Op {
            /// Every operation, in the order of the tables.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        // In one place: a constant is written anew wherever a function that reads it is inlined.
        static ROWS: [Row; Op::ALL.len()] = [$(Row {
            op: Op::$variant,
            name: trim_keyword(stringify!($name)),
            operands: &[$(stringify!($arg)),*],
            signature: Signature::$signature,
            autocast: Autocast::$autocast,
            doc: $doc,
            float: cell!($float),
            complex: cell!($complex),
            int: cell!($int),
            bool: cell!($bool),
            is_differentiable: has_derivative!($d),
            lacks_first: lacks_first!($d),
            domain: &[$($domain),*],
            ulp: $ulp,
        }),*];
    };
}
for_each_op!((define_ops));

/// The name without the mark that keeps it from being a keyword of Rust.
const fn trim_keyword(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [.., b'_'] => name.split_at(name.len() - 1).0,
        _ => name,
    }
}

impl Op {
    /// What the row says.
    ///
    /// ```
    /// use allotrope_op::Op;
    /// assert_eq!(Op::Atan2.row().operands, ["y", "x"]);
    /// ```
    #[must_use]
    pub const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name in Rust and Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// How many operands there are.
    #[must_use]
    pub const fn arity(self) -> usize {
        self.row().operands.len()
    }

    /// The operation of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}
