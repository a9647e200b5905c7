//! Promotion: which dtype the result of several operands has.
//!
//! A policy is a lattice of edges (see `lattice`); the result of a set of operands is its least
//! upper bound. The answers are const tables; nothing here decides by formula at run time.
//!
//! Peers' tables are edges plus listed exceptions. `exact` is the standard table without the
//! answers that lose a value: switching to it can only refuse, never change a result.

mod explain;
mod lattice;
mod mask;

use std::fmt;
use std::str::FromStr;

pub use explain::explain_promotion;
use lattice::Lattice;
use mask::Mask;

use crate::{DType, Error, Kind, Problem};

/// How dtypes of several operands are brought together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// PyTorch's table with its holes filled in. The default.
    Standard,
    /// Operands must have one dtype.
    Strict,
    /// The standard answer where it represents every value of every operand, else an error.
    Exact,
    /// PyTorch's own answers, with its rule for 0-d tensors.
    Torch,
    /// NumPy's own answers, with ml_dtypes.
    Numpy,
    /// JAX's own answers, with 64-bit types on.
    Jax,
}

/// The kind of a Python scalar, or of a scalar literal in Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarKind {
    /// `True` or `False`.
    Bool,
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A complex number.
    Complex,
}

impl ScalarKind {
    /// The scalar kind of a dtype's values.
    #[must_use]
    pub const fn of(dtype: DType) -> Self {
        match dtype.kind() {
            Kind::Bool => Self::Bool,
            Kind::Signed | Kind::Unsigned => Self::Int,
            Kind::Float => Self::Float,
            Kind::Complex => Self::Complex,
        }
    }

    /// The dtype of such a scalar on its own.
    #[must_use]
    pub const fn default_dtype(self, default_float: DType) -> DType {
        match self {
            Self::Bool => DType::Bool,
            Self::Int => DType::I64,
            Self::Float => default_float,
            Self::Complex => default_float.to_complex(),
        }
    }

    /// The kind with its article, for messages.
    #[must_use]
    pub const fn described(self) -> &'static str {
        match self {
            Self::Bool => "a bool",
            Self::Int => "an int",
            Self::Float => "a float",
            Self::Complex => "a complex",
        }
    }
}

/// One operand of [`Policy::result_type`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A dtype, or a tensor of at least one dimension.
    Array(DType),
    /// A tensor without dimensions. Only the torch policy tells it from an array.
    ZeroDim(DType),
    /// A scalar, which is weak: it has a kind but no width.
    Scalar(ScalarKind),
}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 6] = [
        Self::Standard,
        Self::Strict,
        Self::Exact,
        Self::Torch,
        Self::Numpy,
        Self::Jax,
    ];

    /// The name, as `al.promotion` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Strict => "strict",
            Self::Exact => "exact",
            Self::Torch => "torch",
            Self::Numpy => "numpy",
            Self::Jax => "jax",
        }
    }

    const fn lattice(self) -> &'static Lattice {
        match self {
            Self::Standard => &lattice::STANDARD,
            Self::Strict => &lattice::STRICT,
            Self::Exact => &lattice::EXACT,
            Self::Torch => &lattice::TORCH,
            Self::Numpy => &lattice::NUMPY,
            Self::Jax => &lattice::JAX,
        }
    }

    /// The common dtype of two, or `None` where the policy refuses.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Policy};
    /// assert_eq!(Policy::Standard.promote(DType::I8, DType::U8), Some(DType::I16));
    /// assert_eq!(Policy::Standard.promote(DType::I8, DType::U64), None);
    /// assert_eq!(Policy::Numpy.promote(DType::I8, DType::U64), Some(DType::F64));
    /// ```
    #[must_use]
    pub const fn promote(self, lhs: DType, rhs: DType) -> Option<DType> {
        self.lattice().pair(lhs, rhs)
    }

    /// The least upper bound of a whole set of dtypes, so that their order never matters.
    #[must_use]
    pub fn join(self, dtypes: impl IntoIterator<Item = DType>) -> Option<DType> {
        let set = dtypes.into_iter().fold(Mask::EMPTY, Mask::with);
        self.lattice().join(set)
    }

    /// The dtype of an operation on a tensor of `dtype` and a scalar.
    ///
    /// A scalar takes the tensor's dtype if its kind fits, else the default dtype of its kind.
    #[must_use]
    pub fn promote_scalar(
        self,
        dtype: DType,
        scalar: ScalarKind,
        default_float: DType,
    ) -> Option<DType> {
        if let Some(exception) = self.lattice().scalar_exception(dtype, scalar) {
            return exception;
        }
        if scalar <= ScalarKind::of(dtype) {
            return Some(dtype);
        }
        let default_float = self.default_float(default_float);
        let wider = match (dtype.kind(), scalar) {
            (Kind::Float, ScalarKind::Complex) => dtype.to_complex(),
            _ => scalar.default_dtype(default_float),
        };
        match self {
            Self::Strict => None,
            Self::Exact => dtype.fits_in(wider).then_some(wider),
            _ => Some(wider),
        }
    }

    /// The float that nothing else decides: NumPy and JAX have their own.
    const fn default_float(self, default_float: DType) -> DType {
        match self {
            Self::Numpy | Self::Jax => DType::F64,
            _ => default_float,
        }
    }

    /// The dtype of an operation on any number of arrays, dtypes and scalars, in any order.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Operand, Policy, ScalarKind};
    /// let operands = [Operand::Array(DType::I8), Operand::Scalar(ScalarKind::Float)];
    /// assert_eq!(Policy::Standard.result_type("add", &operands, DType::F32)?, DType::F32);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where the policy refuses; a value error without operands.
    pub fn result_type(
        self,
        op: &'static str,
        operands: &[Operand],
        default_float: DType,
    ) -> Result<DType, Error> {
        let (mut arrays, mut zero_dims, mut scalar) = (Mask::EMPTY, Mask::EMPTY, None);
        for operand in operands {
            match *operand {
                Operand::ZeroDim(dtype) if self == Self::Torch => {
                    zero_dims = Mask::with(zero_dims, dtype);
                }
                Operand::Array(dtype) | Operand::ZeroDim(dtype) => {
                    arrays = Mask::with(arrays, dtype);
                }
                Operand::Scalar(kind) => scalar = scalar.max(Some(kind)),
            }
        }
        let arrays = self.join_or_refuse(op, arrays, operands)?;
        let zero_dims = self.join_or_refuse(op, zero_dims, operands)?;
        let tensors = match (arrays, zero_dims) {
            (Some(array), Some(zero_dim)) => Some(
                lattice::torch_zero_dim(array, zero_dim)
                    .ok_or_else(|| self.refuse(op, array, zero_dim))?,
            ),
            (array, zero_dim) => array.or(zero_dim),
        };
        match (tensors, scalar) {
            (Some(dtype), Some(kind)) => self
                .promote_scalar(dtype, kind, default_float)
                .ok_or_else(|| self.refuse_scalar(op, dtype, kind, default_float)),
            (Some(dtype), None) => Ok(dtype),
            (None, Some(kind)) => Ok(kind.default_dtype(self.default_float(default_float))),
            (None, None) => Err(Error::new(op, Problem::NoOperands)),
        }
    }

    /// The common dtype of two, as a result.
    ///
    /// # Errors
    /// A dtype error where the policy refuses, with the cast that would help.
    pub fn promote_types(self, op: &'static str, lhs: DType, rhs: DType) -> Result<DType, Error> {
        self.promote(lhs, rhs)
            .ok_or_else(|| self.refuse(op, lhs, rhs))
    }

    /// The join of a set, `None` of an empty one, or the error that names the first refused pair in the
    /// order of the operands that it is of.
    fn join_or_refuse(
        self,
        op: &'static str,
        set: Mask,
        operands: &[Operand],
    ) -> Result<Option<DType>, Error> {
        if set.is_empty() {
            return Ok(None);
        }
        if let Some(dtype) = self.lattice().join(set) {
            return Ok(Some(dtype));
        }
        let given = operands.iter().filter_map(|operand| match *operand {
            Operand::Array(dtype) | Operand::ZeroDim(dtype) => Some(dtype),
            Operand::Scalar(_) => None,
        });
        let members: Vec<DType> = given.filter(|dtype| set.has(*dtype)).collect();
        let mut pairs = members
            .iter()
            .enumerate()
            .flat_map(|(place, a)| members[place + 1..].iter().map(move |b| (*a, *b)));
        let (lhs, rhs) = pairs
            .find(|(a, b)| self.promote(*a, *b).is_none())
            .unwrap_or((members[0], members[members.len() - 1]));
        Err(self.refuse(op, lhs, rhs))
    }

    #[cold]
    fn refuse(self, op: &'static str, lhs: DType, rhs: DType) -> Error {
        let error = Error::new(
            op,
            Problem::NoPromotion {
                policy: self,
                lhs,
                rhs,
            },
        );
        let standard = Self::Standard.promote(lhs, rhs);
        let lossless = DType::ALL
            .into_iter()
            .filter(|d| lhs.fits_in(*d) && rhs.fits_in(*d))
            .min_by_key(|d| (d.kind().rung(), d.bits()));
        match (self, standard, lossless) {
            (Self::Exact, _, Some(dtype)) => error.hint(format!("x.to({dtype}) holds both")),
            (Self::Exact, _, None) => error.hint("no dtype holds both; cast one operand"),
            (_, Some(dtype), _) => error.hint(format!("x.to({dtype})")),
            _ => error.hint("x.to(int64) or x.to(float64)"),
        }
    }

    #[cold]
    fn refuse_scalar(
        self,
        op: &'static str,
        dtype: DType,
        scalar: ScalarKind,
        default_float: DType,
    ) -> Error {
        let error = Error::new(
            op,
            Problem::NoScalarPromotion {
                policy: self,
                dtype,
                scalar,
            },
        );
        match Self::Standard.promote_scalar(dtype, scalar, default_float) {
            Some(wider) if dtype.fits_in(wider) => error.hint(format!("x.to({wider})")),
            _ => error.hint(format!("x.to({})", scalar.default_dtype(DType::F64))),
        }
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == name)
            .ok_or_else(|| {
                Error::unknown_option("promotion", "policy", name, &Self::ALL.map(Self::name))
            })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How much a cast may lose to be allowed by [`can_cast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Casting {
    /// Every value of the source is a value of the target.
    Exact,
    /// The target's kind is the same or higher: bool, integers, floats, complex.
    SameKind,
    /// Every cast that is not an error.
    Any,
}

impl Casting {
    /// Every rule.
    pub const ALL: [Self; 3] = [Self::Exact, Self::SameKind, Self::Any];

    /// The name, as `al.can_cast` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::SameKind => "same_kind",
            Self::Any => "any",
        }
    }
}

impl FromStr for Casting {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|c| c.name() == name)
            .ok_or_else(|| {
                Error::unknown_option("can_cast", "casting", name, &Self::ALL.map(Self::name))
            })
    }
}

/// Whether a cast is allowed by a rule.
///
/// ```
/// use allotrope_dtype::{Casting, DType, can_cast};
/// assert!(can_cast(DType::F64, DType::F32, Casting::SameKind));
/// assert!(!can_cast(DType::F64, DType::F32, Casting::Exact));
/// assert!(!can_cast(DType::C64, DType::F32, Casting::Any));
/// ```
#[must_use]
pub const fn can_cast(from: DType, to: DType, casting: Casting) -> bool {
    match casting {
        Casting::Exact => from.fits_in(to),
        Casting::SameKind => from.kind().rung() <= to.kind().rung(),
        Casting::Any => !from.is_complex() || to.is_complex() || matches!(to.kind(), Kind::Bool),
    }
}
