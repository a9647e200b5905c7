//! The 8-bit floats: one type, [`F8`], over four one-line formats.
//!
//! Names follow ml_dtypes: `e4m3` is four exponent and three mantissa bits, `fn` means finite and
//! NaN (no infinities), `uz` means unsigned zero (the code of −0 is the one NaN).

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use crate::cast::round_to_format;
use crate::format::formats;
use crate::{CastOptions, Format};

formats! {
    /// Four exponent bits, three mantissa bits, no infinities, largest value 448.
    E4M3Fn, f8e4m3fn = (4, 3, 7, NanOnly);
    /// Five exponent bits, two mantissa bits, IEEE special values, largest value 57344.
    E5M2, f8e5m2 = (5, 2, 15, Ieee);
    /// Four exponent bits, three mantissa bits, one NaN, unsigned zero, largest value 240.
    E4M3Fnuz, f8e4m3fnuz = (4, 3, 8, NanOnlyUnsignedZero);
    /// Five exponent bits, two mantissa bits, one NaN, unsigned zero, largest value 57344.
    E5M2Fnuz, f8e5m2fnuz = (5, 2, 16, NanOnlyUnsignedZero);
}

/// An 8-bit float with the layout `F`. Every bit pattern is valid.
///
/// Conversion from `f32` rounds to nearest even once and treats overflow as the default cast does.
///
/// ```
/// use allotrope_dtype::f8e4m3fn;
/// assert_eq!(f8e4m3fn::from_f32(3.3).to_f32(), 3.25);
/// assert_eq!(f8e4m3fn::from_f32(1e9).to_f32(), 448.0);
/// ```
#[repr(transparent)]
pub struct F8<F: Format>(u8, PhantomData<F>);

impl<F: Format> F8<F> {
    /// The number with this code.
    #[must_use]
    pub const fn from_bits(code: u8) -> Self {
        Self(code, PhantomData)
    }

    /// The code of this number.
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The value, which `f32` holds exactly.
    #[must_use]
    pub const fn to_f32(self) -> f32 {
        F::FORMAT.decode(self.0 as u64) as f32
    }

    /// The value, which `f64` holds exactly.
    #[must_use]
    pub const fn to_f64(self) -> f64 {
        F::FORMAT.decode(self.0 as u64)
    }

    /// `value` rounded to nearest even, with the default overflow of casts.
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        Self::from_f64(f64::from(value))
    }

    /// `value` rounded to nearest even once, with the default overflow of casts.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self::from_bits(round_to_format(value, F::FORMAT, CastOptions::default()).code as u8)
    }

    /// Whether this is a NaN.
    #[must_use]
    pub const fn is_nan(self) -> bool {
        self.to_f32().is_nan()
    }
}

impl<F: Format> Clone for F8<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Format> Copy for F8<F> {}

impl<F: Format> Default for F8<F> {
    fn default() -> Self {
        Self::from_bits(0)
    }
}

/// Numeric equality: NaN differs from itself, −0 equals 0.
impl<F: Format> PartialEq for F8<F> {
    fn eq(&self, other: &Self) -> bool {
        self.to_f32() == other.to_f32()
    }
}

impl<F: Format> PartialOrd for F8<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl<F: Format> fmt::Debug for F8<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f32(), f)
    }
}

impl<F: Format> fmt::Display for F8<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f32(), f)
    }
}
