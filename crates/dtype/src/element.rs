//! The Rust types behind the dtypes, and the sets they form as traits.
//!
//! All traits here are sealed: the table is the only place where an element type is added.
#![allow(unsafe_code, reason = "Pod for the two transparent byte types")]

use std::fmt::Debug;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use num_complex::Complex as ComplexNumber;

use crate::{Bool8, CastOptions, DType, Error, F8, Format, Nested, Scalar, WeakScalar, cast_slice};

/// 16-bit IEEE float.
#[allow(non_camel_case_types, reason = "the name of a number, like f32")]
pub type f16 = half::f16;
/// 16-bit brain float.
#[allow(non_camel_case_types, reason = "the name of a number, like f32")]
pub type bf16 = half::bf16;
/// Complex number of two `f32`.
#[allow(non_camel_case_types, reason = "the name of a number, like f32")]
pub type c64 = ComplexNumber<f32>;
/// Complex number of two `f64`.
#[allow(non_camel_case_types, reason = "the name of a number, like f32")]
pub type c128 = ComplexNumber<f64>;

mod sealed {
    #[allow(unnameable_types, reason = "nobody else is to implement it")]
    pub trait Sealed {}
}

// SAFETY: a transparent wrapper of u8 for which every bit pattern is valid.
unsafe impl Zeroable for Bool8 {}
// SAFETY: as above; no padding, no interior mutability, Copy and 'static.
unsafe impl Pod for Bool8 {}
// SAFETY: a transparent wrapper of u8 (the marker has no size); every bit pattern is valid.
unsafe impl<F: Format> Zeroable for F8<F> {}
// SAFETY: as above; no padding, no interior mutability, Copy and 'static.
unsafe impl<F: Format> Pod for F8<F> {}

/// A type that tensors store: one per dtype.
///
/// # Transmute safety
/// Every element is [`Pod`]: any bytes of the right length and alignment are a valid slice of it.
pub trait Element:
    sealed::Sealed + Pod + Debug + Default + PartialEq + Send + Sync + TryFrom<Scalar, Error = Error>
{
    /// The dtype of this type.
    const DTYPE: DType;
    /// The type that arithmetic happens in.
    type Compute: Compute;

    /// The value in the compute type, exactly.
    fn decode(self) -> Self::Compute;

    /// The compute value rounded once to nearest even, with the default overflow of casts.
    fn encode(value: Self::Compute) -> Self;

    /// The value without its dtype, exactly.
    fn weak(self) -> WeakScalar;
}

/// An element type that is its own compute type.
pub trait Compute: Element<Compute = Self> {}
impl<T: Element<Compute = T>> Compute for T {}

/// Every dtype but bool.
pub trait Number: Element {}
/// Bool, integers and floats.
///
/// ```
/// use allotrope_dtype::{Real, bf16};
///
/// fn mean<T: Real>(elements: &[T]) -> T {
///     let sum: f64 = elements.iter().map(|element| element.to_f64()).sum();
///     T::from_f64(sum / elements.len() as f64)
/// }
/// assert_eq!(mean(&[1_i8, 2, 6]), 3);
/// assert_eq!(mean(&[bf16::ONE, bf16::ZERO]).to_f32(), 0.5);
/// assert_eq!((i8::from_f64(1e9), i8::from_f64(-2.9), i8::from_f64(f64::NAN)), (127, -2, 0));
/// ```
pub trait Real: Element {
    /// The number as a cast converts it: rounded once, for integers truncated and saturated.
    #[must_use]
    fn from_f64(value: f64) -> Self {
        let mut converted = [Self::default()];
        // As many of one as of the other, which every real dtype takes.
        let _ = cast_slice(&[value], &mut converted, CastOptions::default());
        converted[0]
    }

    /// The number as a float of 64 bits, to which integers beyond 2^53 are rounded.
    #[must_use]
    fn to_f64(self) -> f64 {
        let mut converted = [0.0];
        let _ = cast_slice(&[self], &mut converted, CastOptions::default());
        converted[0]
    }
}
/// Signed and unsigned integers.
pub trait Integer: Number + Real {}
/// Signed integers.
pub trait Signed: Integer {}
/// Unsigned integers.
pub trait Unsigned: Integer {}
/// Floats and complex numbers.
pub trait Inexact: Number {}
/// Floats.
pub trait Float: Inexact + Real {}
/// Complex numbers.
pub trait Complex: Inexact {}
/// Bool alone.
pub trait Bool: Real {}

macro_rules! join_sets {
    (Bool, $ty:ty) => {
        impl Real for $ty {}
        impl Bool for $ty {}
    };
    (Signed, $ty:ty) => {
        impl Number for $ty {}
        impl Real for $ty {}
        impl Integer for $ty {}
        impl Signed for $ty {}
    };
    (Unsigned, $ty:ty) => {
        impl Number for $ty {}
        impl Real for $ty {}
        impl Integer for $ty {}
        impl Unsigned for $ty {}
    };
    (Float, $ty:ty) => {
        impl Number for $ty {}
        impl Real for $ty {}
        impl Inexact for $ty {}
        impl Float for $ty {}
    };
    (Complex, $ty:ty) => {
        impl Number for $ty {}
        impl Inexact for $ty {}
        impl Complex for $ty {}
    };
}

/// What tensors are made of and read as in Rust: an element, or `bool`, of which they store a byte.
pub trait WithDType: Nested + Copy + NoUninit + CheckedBitPattern {
    /// The value of a stored element.
    fn from_element(element: Self::Element) -> Self;
}

impl<T: Element> WithDType for T {
    fn from_element(element: T) -> T {
        element
    }
}

impl WithDType for bool {
    fn from_element(element: Bool8) -> Self {
        element.get()
    }
}

/// Conversion to and from the compute type: the identity, or through `f32`.
trait ThroughCompute<C> {
    fn widen(self) -> C;
    fn narrow(value: C) -> Self;
}

impl<T> ThroughCompute<T> for T {
    fn widen(self) -> T {
        self
    }
    fn narrow(value: T) -> T {
        value
    }
}

macro_rules! through_f32 {
    ([$($bound:tt)*] $ty:ty) => {
        impl<$($bound)*> ThroughCompute<f32> for $ty {
            fn widen(self) -> f32 {
                self.to_f32()
            }
            fn narrow(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    };
}
through_f32!([] f16);
through_f32!([] bf16);
through_f32!([F: Format] F8<F>);

/// A value of the compute type of a kind, without its dtype.
macro_rules! weak {
    (Bool, $value:expr) => {
        WeakScalar::Bool($value.get())
    };
    (Signed, $value:expr) => {
        WeakScalar::Int(i128::from($value))
    };
    (Unsigned, $value:expr) => {
        WeakScalar::Int(i128::from($value))
    };
    (Float, $value:expr) => {
        WeakScalar::Float(f64::from($value))
    };
    (Complex, $value:expr) => {
        WeakScalar::Complex(c128::new($value.re.into(), $value.im.into()))
    };
}

macro_rules! impl_element {
    ($({ $variant:ident, $ty:ty, $kind:ident, $compute:ty, $bits:literal, $($rest:tt)* })*) => {$(
        const _: () = assert!(size_of::<$ty>() * 8 == $bits);
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;
            type Compute = $compute;
            fn decode(self) -> $compute {
                ThroughCompute::<$compute>::widen(self)
            }
            fn encode(value: $compute) -> Self {
                ThroughCompute::<$compute>::narrow(value)
            }
            fn weak(self) -> WeakScalar {
                weak!($kind, self.decode())
            }
        }
        join_sets!($kind, $ty);
    )*};
}
for_each_dtype!((impl_element));
