//! Bit-free families: a kind of number whose width follows the data and the device.

use std::fmt;
use std::str::FromStr;

use crate::{Capabilities, DType, Error, Kind};

/// A kind of number without a width.
///
/// A family stands wherever a dtype is accepted; [`Family::resolve`] turns it into an exact dtype
/// once the data and the device are known. A family never equals a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Signed integers; `int64` by default.
    Int,
    /// Unsigned integers; `uint64` by default.
    UInt,
    /// Floats; the default dtype by default.
    Float,
    /// Complex numbers; the complex of the data's float width by default.
    Complex,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 4] = [Self::Int, Self::UInt, Self::Float, Self::Complex];

    /// The name, as exported to Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "Int",
            Self::UInt => "UInt",
            Self::Float => "Float",
            Self::Complex => "Complex",
        }
    }

    /// The kind of its members.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Int => Kind::Signed,
            Self::UInt => Kind::Unsigned,
            Self::Float => Kind::Float,
            Self::Complex => Kind::Complex,
        }
    }

    /// The family of a dtype; bool has none.
    #[must_use]
    pub fn of(dtype: DType) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.contains(dtype))
    }

    /// Whether `dtype` is a member.
    #[must_use]
    pub fn contains(self, dtype: DType) -> bool {
        dtype.kind() == self.kind()
    }

    /// The members, in table order.
    pub fn members(self) -> impl Iterator<Item = DType> {
        DType::ALL
            .into_iter()
            .filter(move |dtype| self.contains(*dtype))
    }

    /// The exact dtype of this family for some data on some device.
    ///
    /// Data of the family's kind keeps its width, other data takes the family's default; then the
    /// device's best width is taken if it would have to demote. `data` is `None` where there is
    /// nothing to follow, as in `zeros`.
    ///
    /// ```
    /// use allotrope_dtype::{Capabilities, DType, Family};
    /// let cpu = Capabilities::CPU;
    /// assert_eq!(Family::Float.resolve(Some(DType::F64), DType::F32, &cpu), DType::F64);
    /// assert_eq!(Family::Float.resolve(Some(DType::I8), DType::F32, &cpu), DType::F32);
    /// assert_eq!(Family::Complex.resolve(Some(DType::F64), DType::F32, &cpu), DType::C128);
    /// ```
    #[must_use]
    pub fn resolve(
        self,
        data: Option<DType>,
        default_float: DType,
        device: &Capabilities,
    ) -> DType {
        let wanted = match (self, data) {
            (_, Some(dtype)) if self.contains(dtype) => dtype,
            (Self::Int, _) => DType::I64,
            (Self::UInt, _) => DType::U64,
            (Self::Float, _) => default_float,
            (Self::Complex, Some(dtype)) => dtype.to_complex(),
            (Self::Complex, None) => default_float.to_complex(),
        };
        device.storage(wanted)
    }
}

/// What stands where a dtype is expected: an exact one, or a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// A dtype, which holds on every device.
    Exact(DType),
    /// A kind of number whose width follows the data and the device.
    Family(Family),
}

impl Numeric {
    /// The exact dtype for some data on some device; see [`Family::resolve`].
    #[must_use]
    pub fn resolve(
        self,
        data: Option<DType>,
        default_float: DType,
        device: &Capabilities,
    ) -> DType {
        match self {
            Self::Exact(dtype) => dtype,
            Self::Family(family) => family.resolve(data, default_float, device),
        }
    }

    /// Whether the width is left open.
    #[must_use]
    pub const fn is_family(self) -> bool {
        matches!(self, Self::Family(_))
    }
}

impl From<DType> for Numeric {
    fn from(dtype: DType) -> Self {
        Self::Exact(dtype)
    }
}

impl From<Family> for Numeric {
    fn from(family: Family) -> Self {
        Self::Family(family)
    }
}

impl FromStr for Family {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == name)
            .ok_or_else(|| Error::unknown_dtype(name))
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
