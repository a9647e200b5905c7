//! One value with its dtype, and the weak scalars it is made from.

use std::fmt;

use crate::cast::{Exact, Overflow, Rounding, Target};
use crate::{CastOptions, DType, Element, Error, Kind, Problem, ScalarKind, c128};

/// A scalar without a dtype of its own: a Python number, or a literal in Rust.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeakScalar {
    /// A truth value.
    Bool(bool),
    /// An integer of any dtype's range.
    Int(i128),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(c128),
}

impl WeakScalar {
    /// The kind, which is all that promotion looks at.
    #[must_use]
    pub const fn kind(self) -> ScalarKind {
        match self {
            Self::Bool(_) => ScalarKind::Bool,
            Self::Int(_) => ScalarKind::Int,
            Self::Float(_) => ScalarKind::Float,
            Self::Complex(_) => ScalarKind::Complex,
        }
    }

    /// Whether it is neither an infinity nor NaN.
    #[must_use]
    pub fn is_finite(self) -> bool {
        match self {
            Self::Bool(_) | Self::Int(_) => true,
            Self::Float(value) => value.is_finite(),
            Self::Complex(value) => value.re.is_finite() && value.im.is_finite(),
        }
    }

    /// The same number of the kind of a dtype, where that is lower and has it: `1.0` for integers, `1`
    /// for truth values. Complex numbers stay what they are.
    ///
    /// ```
    /// use allotrope_dtype::{DType, WeakScalar};
    /// assert_eq!(WeakScalar::Float(3.0).lowered_to(DType::I8), WeakScalar::Int(3));
    /// assert_eq!(WeakScalar::Float(1.5).lowered_to(DType::I8), WeakScalar::Float(1.5));
    /// ```
    #[must_use]
    pub fn lowered_to(self, dtype: DType) -> Self {
        const BEYOND: f64 = i128::MAX as f64;
        let integer = match self {
            Self::Float(value) if value.trunc() == value && value.abs() < BEYOND => value as i128,
            Self::Int(value) => value,
            _ => return self,
        };
        match dtype.kind() {
            Kind::Bool if integer == 0 || integer == 1 => Self::Bool(integer == 1),
            Kind::Signed | Kind::Unsigned => Self::Int(integer),
            _ => self,
        }
    }
}

impl fmt::Display for WeakScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => fmt::Display::fmt(value, f),
            // They stand for all that no integer of 128 bits is, too.
            Self::Int(i128::MIN | i128::MAX) => f.write_str("an int of 127 bits or more"),
            Self::Int(value) => fmt::Display::fmt(value, f),
            Self::Float(value) => fmt::Debug::fmt(value, f),
            Self::Complex(value) => fmt::Display::fmt(value, f),
        }
    }
}

/// A value that a dtype holds exactly, with that dtype.
///
/// ```
/// use allotrope_dtype::{DType, Scalar};
/// assert_eq!(Scalar::new(300, DType::I16)?.to_string(), "300");
/// assert_eq!(
///     Scalar::new(300, DType::I8).unwrap_err().to_string(),
///     "scalar: scalar out of range: 300; int8 holds -128 to 127"
/// );
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    dtype: DType,
    value: WeakScalar,
}

impl Scalar {
    /// `value` as `dtype`: floats and complex numbers round to nearest, integers must fit.
    ///
    /// # Errors
    /// An overflow error for an integer out of range; a dtype error for a value of a higher kind
    /// than the dtype's.
    pub fn new(value: impl Into<WeakScalar>, dtype: DType) -> Result<Self, Error> {
        let value = value.into();
        if value.kind() > ScalarKind::of(dtype) {
            let problem = Problem::ScalarKindMismatch {
                value: value.to_string(),
                dtype,
            };
            return Err(Error::new("scalar", problem));
        }
        let value = match (dtype.kind(), value) {
            (Kind::Bool, _) => value,
            (Kind::Signed | Kind::Unsigned, _) => {
                let integer = value.to_i128();
                match dtype.integer_range() {
                    Some((min, max)) if (min..=max).contains(&integer) => WeakScalar::Int(integer),
                    _ => {
                        let problem = Problem::ScalarOverflow {
                            value: value.to_string(),
                            dtype,
                        };
                        return Err(Error::new("scalar", problem));
                    }
                }
            }
            (Kind::Float, _) => WeakScalar::Float(value.round_as(dtype)),
            (Kind::Complex, WeakScalar::Complex(c)) => {
                let real = dtype.to_real();
                let part = |x: f64| WeakScalar::Float(x).round_as(real);
                WeakScalar::Complex(c128::new(part(c.re), part(c.im)))
            }
            (Kind::Complex, _) => {
                WeakScalar::Complex(c128::new(value.round_as(dtype.to_real()), 0.0))
            }
        };
        Ok(Self { dtype, value })
    }

    /// [`new`](Self::new) for a number that somebody assigns: a finite one stays finite.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Scalar, WeakScalar};
    /// assert!(Scalar::assigned(65_504.0, DType::F16).is_ok());
    /// assert!(Scalar::assigned(1e6, DType::F16).is_err());
    /// assert!(Scalar::assigned(f64::INFINITY, DType::F16).is_ok());
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), and an overflow error for a finite number that would become infinite.
    pub fn assigned(value: impl Into<WeakScalar>, dtype: DType) -> Result<Self, Error> {
        let value = value.into();
        let made = Self::new(value, dtype)?;
        if value.is_finite() && !made.value.is_finite() {
            let value = value.to_string();
            let problem = Problem::ScalarOverflow { value, dtype };
            return Err(Error::new("scalar", problem));
        }
        Ok(made)
    }

    /// Zero, or false.
    #[must_use]
    pub const fn zero(dtype: DType) -> Self {
        let value = match dtype.kind() {
            Kind::Bool => WeakScalar::Bool(false),
            Kind::Signed | Kind::Unsigned => WeakScalar::Int(0),
            Kind::Float => WeakScalar::Float(0.0),
            Kind::Complex => WeakScalar::Complex(c128::new(0.0, 0.0)),
        };
        Self { dtype, value }
    }

    /// An element with its dtype.
    pub(crate) fn of<T: Element>(element: T) -> Self {
        Self {
            dtype: T::DTYPE,
            value: element.weak(),
        }
    }

    /// The dtype.
    #[must_use]
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The value, of the kind of the dtype.
    #[must_use]
    pub const fn value(self) -> WeakScalar {
        self.value
    }

    /// The value of one stored element.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Scalar, WeakScalar};
    /// let one = Scalar::from_bytes(DType::BF16, &[0x80, 0x3F])?;
    /// assert_eq!(one.value(), WeakScalar::Float(1.0));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless there are exactly as many bytes as an element has.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != dtype.itemsize() {
            let reason = format!("{} bytes are not {}", bytes.len(), dtype.itemsize());
            return Err(Error::new("scalar", Problem::BadBuffer { dtype, reason }));
        }
        let code = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0_u64, |code, byte| code << 8 | u64::from(*byte))
        };
        let value = match (dtype.kind(), dtype.format()) {
            (Kind::Complex, Some(format)) => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                WeakScalar::Complex(c128::new(
                    format.decode(code(real)),
                    format.decode(code(imaginary)),
                ))
            }
            (_, Some(format)) => WeakScalar::Float(format.decode(code(bytes))),
            (Kind::Bool, _) => WeakScalar::Bool(code(bytes) != 0),
            (Kind::Signed, _) => {
                let shift = 64 - dtype.bits();
                WeakScalar::Int(i128::from((code(bytes) << shift) as i64 >> shift))
            }
            _ => WeakScalar::Int(i128::from(code(bytes))),
        };
        Ok(Self { dtype, value })
    }

    /// The bytes of one element, little-endian, in the first `itemsize` places.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let target = Target::of(self.dtype);
        let code = |value: Exact| {
            let overflow = CastOptions::default()
                .resolve(self.dtype, self.dtype)
                .unwrap_or(Overflow::Ieee);
            target.round(value, Rounding::Nearest, overflow, 0).code
        };
        match self.value {
            WeakScalar::Complex(c) => {
                let half = self.dtype.itemsize() / 2;
                for (part, place) in [c.re, c.im].into_iter().zip(bytes.chunks_mut(half)) {
                    place.copy_from_slice(&code(Exact::from_f64(part)).to_le_bytes()[..half]);
                }
            }
            WeakScalar::Float(x) => {
                bytes[..8].copy_from_slice(&code(Exact::from_f64(x)).to_le_bytes())
            }
            WeakScalar::Int(_) | WeakScalar::Bool(_) => {
                let low = self.value.to_i128() as u64;
                bytes[..8].copy_from_slice(&low.to_le_bytes());
                bytes[self.dtype.itemsize()..].fill(0);
            }
        }
        bytes
    }
}

impl WeakScalar {
    /// The integer of a bool, an int, or a float that is whole.
    pub(crate) const fn to_i128(self) -> i128 {
        match self {
            Self::Bool(value) => value as i128,
            Self::Int(value) => value,
            Self::Float(value) => value as i128,
            Self::Complex(value) => value.re as i128,
        }
    }

    /// The real value rounded once to a float dtype.
    pub(crate) fn round_as(self, dtype: DType) -> f64 {
        let exact = match self {
            Self::Bool(value) => Exact::from_u64(value as u64),
            Self::Int(value) => Exact::from_i128(value),
            Self::Float(value) => Exact::from_f64(value),
            Self::Complex(value) => Exact::from_f64(value.re),
        };
        match dtype.format() {
            Some(format) => {
                let overflow = Overflow::default_of(format);
                format.decode(
                    Target::Float(format)
                        .round(exact, Rounding::Nearest, overflow, 0)
                        .code,
                )
            }
            None => 0.0,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
