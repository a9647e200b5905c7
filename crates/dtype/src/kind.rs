//! Kinds of numbers and the named sets made of kinds.

use crate::DType;

/// What sort of number a dtype holds, without its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// True or false.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed two's complement integers.
    Signed,
    /// Binary floating point.
    Float,
    /// A pair of floats.
    Complex,
}

impl Kind {
    /// The kind in the words of the array API standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Unsigned => "unsigned integer",
            Self::Signed => "signed integer",
            Self::Float => "real floating",
            Self::Complex => "complex floating",
        }
    }

    /// The rung of the numeric tower: bool 0, integers 1, floats 2, complex 3.
    ///
    /// Scalars and torch's 0-d rule compare rungs; signedness is not part of it.
    #[must_use]
    pub const fn rung(self) -> u8 {
        match self {
            Self::Bool => 0,
            Self::Unsigned | Self::Signed => 1,
            Self::Float => 2,
            Self::Complex => 3,
        }
    }
}

/// A named set of dtypes. Each is also the trait that its members' element types implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Every dtype.
    Element,
    /// Every dtype but bool.
    Number,
    /// Bool, integers and floats: everything with an order.
    Real,
    /// Bool and integers: everything that counts.
    Discrete,
    /// Signed and unsigned integers.
    Integer,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floats and complex numbers.
    Inexact,
    /// Floats.
    Float,
    /// Complex numbers.
    Complex,
    /// Bool alone.
    Bool,
}

impl Set {
    /// Every named set.
    pub const ALL: [Self; 11] = [
        Self::Element,
        Self::Number,
        Self::Real,
        Self::Discrete,
        Self::Integer,
        Self::Signed,
        Self::Unsigned,
        Self::Inexact,
        Self::Float,
        Self::Complex,
        Self::Bool,
    ];

    /// Whether dtypes of `kind` belong to the set.
    #[must_use]
    pub const fn has_kind(self, kind: Kind) -> bool {
        match self {
            Self::Element => true,
            Self::Number => !matches!(kind, Kind::Bool),
            Self::Real => !matches!(kind, Kind::Complex),
            Self::Discrete => matches!(kind, Kind::Bool | Kind::Signed | Kind::Unsigned),
            Self::Integer => matches!(kind, Kind::Signed | Kind::Unsigned),
            Self::Signed => matches!(kind, Kind::Signed),
            Self::Unsigned => matches!(kind, Kind::Unsigned),
            Self::Inexact => matches!(kind, Kind::Float | Kind::Complex),
            Self::Float => matches!(kind, Kind::Float),
            Self::Complex => matches!(kind, Kind::Complex),
            Self::Bool => matches!(kind, Kind::Bool),
        }
    }

    /// Whether `dtype` belongs to the set.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Set};
    /// assert!(Set::Inexact.contains(DType::C64));
    /// assert!(!Set::Number.contains(DType::Bool));
    /// ```
    #[must_use]
    pub const fn contains(self, dtype: DType) -> bool {
        self.has_kind(dtype.kind())
    }

    /// The members, in table order.
    pub fn members(self) -> impl Iterator<Item = DType> {
        DType::ALL
            .into_iter()
            .filter(move |dtype| self.contains(*dtype))
    }

    /// How an error message names what the set accepts.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Element => "any dtype",
            Self::Number => "a numeric dtype",
            Self::Real => "a real dtype",
            Self::Discrete => "bool or an integer dtype",
            Self::Integer => "an integer dtype",
            Self::Signed => "a signed integer dtype",
            Self::Unsigned => "an unsigned integer dtype",
            Self::Inexact => "a floating or complex dtype",
            Self::Float => "a floating dtype",
            Self::Complex => "a complex dtype",
            Self::Bool => "bool",
        }
    }
}
