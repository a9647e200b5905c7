//! Numbers of Rust into scalars and, where they are exact, out of them.
//!
//! A scalar becomes a number of Rust only if that number is the same: a float that is whole becomes
//! an integer, 0 and 1 become truth values, and a complex number becomes nothing but a complex one.

use crate::{DType, Element, Error, Kind, Problem, Scalar, WeakScalar, c128};

/// An element with its dtype.
///
/// ```
/// use allotrope_dtype::{DType, Scalar};
/// assert_eq!(Scalar::from(1.5_f32).dtype(), DType::F32);
/// assert_eq!(Scalar::from(true).dtype(), DType::Bool);
/// ```
impl<T: Element> From<T> for Scalar {
    fn from(element: T) -> Self {
        Self::of(element)
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::of(crate::Bool8::from(value))
    }
}

/// The value without its dtype.
impl From<Scalar> for WeakScalar {
    fn from(scalar: Scalar) -> Self {
        scalar.value()
    }
}

/// An element as a number without a dtype of its own.
///
/// ```
/// use allotrope_dtype::{WeakScalar, bf16};
/// assert_eq!(WeakScalar::from(3_usize), WeakScalar::Int(3));
/// assert_eq!(WeakScalar::from(bf16::from_f32(0.5)), WeakScalar::Float(0.5));
/// ```
impl<T: Element> From<T> for WeakScalar {
    fn from(element: T) -> Self {
        element.weak()
    }
}

macro_rules! weak_from {
    ($($variant:ident($ty:ty) $value:ident => $weak:expr;)*) => {$(
        impl From<$ty> for WeakScalar {
            fn from($value: $ty) -> Self {
                Self::$variant($weak)
            }
        }
    )*};
}
weak_from! {
    Bool(bool) value => value;
    Int(i128) value => value;
    // No address space has more than 64 bits.
    Int(usize) value => value as i128;
    Int(isize) value => value as i128;
}

impl Scalar {
    /// The same number with another dtype, which must hold it exactly. A complex number stays complex.
    ///
    /// ```
    /// use allotrope_dtype::{DType, Scalar};
    /// assert_eq!(Scalar::from(3.0).to_exact(DType::U8)?, Scalar::from(3_u8));
    /// assert_eq!(
    ///     Scalar::from(0.1).to_exact(DType::F32).unwrap_err().to_string(),
    ///     "scalar: not exact as float32: 0.1; numbers that it holds are accepted (hint: x.to(float32))"
    /// );
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error for a number that is out of range or lies between two values of the dtype, a
    /// dtype error for a complex number and a real dtype, a value error for a truth value that is
    /// neither 0 nor 1.
    pub fn to_exact(self, dtype: DType) -> Result<Self, Error> {
        exact(self.value(), self.dtype(), dtype)
    }
}

/// A value as a dtype that holds it exactly.
fn exact(value: WeakScalar, from: DType, to: DType) -> Result<Scalar, Error> {
    let exact = match to.kind() {
        Kind::Bool => truth(value).map(WeakScalar::Bool),
        Kind::Signed | Kind::Unsigned => whole(value, from, to).map(WeakScalar::Int),
        Kind::Float => rounded(value, from, to).map(WeakScalar::Float),
        Kind::Complex => {
            let part = |part: WeakScalar| rounded(part, from, to.to_real());
            match value {
                WeakScalar::Complex(c) => part(c.re.into())
                    .and_then(|re| Ok(c128::new(re, part(c.im.into())?)))
                    .map(WeakScalar::Complex),
                real => part(real).map(WeakScalar::Float),
            }
        }
    };
    Scalar::new(exact?, to)
}

fn truth(value: WeakScalar) -> Result<bool, Error> {
    let (zero, one) = (c128::new(0.0, 0.0), c128::new(1.0, 0.0));
    match value {
        WeakScalar::Bool(truth) => Ok(truth),
        WeakScalar::Int(integer @ (0 | 1)) => Ok(integer == 1),
        WeakScalar::Float(float) if float == 0.0 || float == 1.0 => Ok(float == 1.0),
        WeakScalar::Complex(c) if c == zero || c == one => Ok(c == one),
        _ => {
            let problem = Problem::OutOfRange {
                what: "truth value",
                index: None,
                value: value.to_string(),
                accepted: "0 and 1",
            };
            Err(Error::new("scalar", problem))
        }
    }
}

fn whole(value: WeakScalar, from: DType, to: DType) -> Result<i128, Error> {
    match value {
        WeakScalar::Bool(_) | WeakScalar::Int(_) => {}
        WeakScalar::Float(float) if float.is_finite() && float.fract() != 0.0 => {
            return Err(between(value, to));
        }
        WeakScalar::Float(float) if float.is_nan() => return Err(beyond(value, to)),
        // The conversion saturates, and no dtype holds what it saturates to.
        WeakScalar::Float(_) => {}
        WeakScalar::Complex(_) => return Err(complex(from, to)),
    }
    let (integer, range) = (value.to_i128(), to.integer_range());
    if range.is_some_and(|(min, max)| (min..=max).contains(&integer)) {
        Ok(integer)
    } else {
        Err(beyond(value, to))
    }
}

fn rounded(value: WeakScalar, from: DType, to: DType) -> Result<f64, Error> {
    let rounded = value.round_as(to);
    let (is_same, size) = match value {
        WeakScalar::Bool(_) => return Ok(rounded),
        // 2^127 comes back as the greatest integer, which no float is equal to.
        WeakScalar::Int(i128::MAX) => return Err(between(value, to)),
        WeakScalar::Int(integer) => (rounded as i128 == integer, integer.unsigned_abs() as f64),
        WeakScalar::Float(float) if float.is_nan() => return Ok(rounded),
        WeakScalar::Float(float) => (rounded == float, float.abs()),
        WeakScalar::Complex(_) => return Err(complex(from, to)),
    };
    let greatest = to.format().map(|format| format.decode(format.max_code()));
    if is_same {
        Ok(rounded)
    } else if greatest.is_some_and(|greatest| size > greatest) {
        Err(beyond(value, to))
    } else {
        Err(between(value, to))
    }
}

#[cold]
fn between(value: WeakScalar, dtype: DType) -> Error {
    let value = value.to_string();
    Error::new("scalar", Problem::InexactScalar { value, dtype }).hint(format!("x.to({dtype})"))
}

#[cold]
fn beyond(value: WeakScalar, dtype: DType) -> Error {
    let value = value.to_string();
    Error::new("scalar", Problem::ScalarOverflow { value, dtype })
}

#[cold]
fn complex(from: DType, to: DType) -> Error {
    Error::new("scalar", Problem::ComplexToReal { from, to }).hint("x.real")
}

/// The dtype that a weak scalar has room in, for words of errors.
fn widest(value: WeakScalar) -> DType {
    match value {
        WeakScalar::Bool(_) => DType::Bool,
        WeakScalar::Int(_) => DType::I64,
        WeakScalar::Float(_) => DType::F64,
        WeakScalar::Complex(_) => DType::C128,
    }
}

macro_rules! number_from {
    ($($ty:ty: $convert:expr;)*) => {$(
        /// The number, if it is exactly that.
        ///
        /// # Errors
        /// As [`Scalar::to_exact`].
        impl TryFrom<Scalar> for $ty {
            type Error = Error;
            fn try_from(scalar: Scalar) -> Result<Self, Error> {
                ($convert)(scalar.value(), scalar.dtype())
            }
        }

        /// The number, if it is exactly that.
        ///
        /// # Errors
        /// As [`Scalar::to_exact`].
        impl TryFrom<WeakScalar> for $ty {
            type Error = Error;
            fn try_from(value: WeakScalar) -> Result<Self, Error> {
                ($convert)(value, widest(value))
            }
        }
    )*};
}

macro_rules! element_from {
    ($({ $variant:ident, $ty:ty, $($rest:tt)* })*) => {
        number_from! {$(
            $ty: |value, from| {
                let scalar = exact(value, from, DType::$variant)?;
                let bytes = scalar.to_bytes();
                Ok(bytemuck::pod_read_unaligned(&bytes[..size_of::<$ty>()]))
            };
        )*}
    };
}
for_each_dtype!((element_from));

number_from! {
    bool: |value, _| truth(value);
    usize: |value, from| {
        let integer = whole(value, from, DType::U64)?;
        Self::try_from(integer).map_err(|_| beyond(value, DType::U32))
    };
    isize: |value, from| {
        let integer = whole(value, from, DType::I64)?;
        Self::try_from(integer).map_err(|_| beyond(value, DType::I32))
    };
}
