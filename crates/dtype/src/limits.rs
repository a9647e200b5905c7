//! `finfo` and `iinfo`, derived from the bit layout and never typed in.

use crate::format::{FloatFormat, power_of_two};
use crate::{DType, Error, Kind};

/// The limits of a floating dtype. For a complex dtype: those of its components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatInfo {
    /// The real dtype these limits belong to.
    pub dtype: DType,
    /// Width in bits.
    pub bits: u32,
    /// The distance from 1 to the next larger number.
    pub eps: f64,
    /// The largest finite number.
    pub max: f64,
    /// The smallest finite number, `-max`.
    pub min: f64,
    /// The smallest positive normal number; torch's `tiny`.
    pub smallest_normal: f64,
    /// The smallest positive number.
    pub smallest_subnormal: f64,
    /// The decimal resolution: ten to the power of minus the decimal digits that survive.
    pub resolution: f64,
    /// Whether infinities exist.
    pub has_inf: bool,
    /// Whether NaN exists.
    pub has_nan: bool,
    /// Whether −0 is distinct from 0.
    pub has_negative_zero: bool,
}

impl FloatInfo {
    /// The limits of a format.
    const fn derive(dtype: DType, format: FloatFormat) -> Self {
        let max = format.decode(format.max_code());
        Self {
            dtype,
            bits: format.bits(),
            eps: power_of_two(-(format.mantissa_bits as i32)),
            max,
            min: -max,
            smallest_normal: format.decode(1 << format.mantissa_bits),
            smallest_subnormal: format.decode(1),
            resolution: decimal_resolution(format.mantissa_bits),
            has_inf: format.has_infinity(),
            has_nan: true,
            has_negative_zero: format.has_negative_zero(),
        }
    }
}

/// `10^-d` for `d` the decimal digits of `mantissa_bits + 1` bits that survive a round trip.
const fn decimal_resolution(mantissa_bits: u32) -> f64 {
    // floor(mantissa_bits * log10(2)), in integers; exact for every width below 64.
    let digits = mantissa_bits * 30103 / 100_000;
    let mut power = 1.0;
    let mut i = 0;
    while i < digits {
        power *= 10.0;
        i += 1;
    }
    1.0 / power
}

/// The limits of an integer dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntInfo {
    /// The integer dtype.
    pub dtype: DType,
    /// Width in bits.
    pub bits: u32,
    /// The largest value.
    pub max: i128,
    /// The smallest value.
    pub min: i128,
}

impl DType {
    /// The limits of a floating dtype, or of a complex dtype's components.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert_eq!(DType::F8E4M3Fn.finfo()?.max, 448.0);
    /// assert_eq!(DType::F32.finfo()?.eps, f64::from(f32::EPSILON));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for integers and bool.
    pub fn finfo(self) -> Result<FloatInfo, Error> {
        let real = self.to_real();
        match real.format() {
            Some(format) => Ok(FloatInfo::derive(real, format)),
            None => Err(Error::not_in_set(
                "finfo",
                self,
                crate::Set::Inexact,
                Some("iinfo"),
            )),
        }
    }

    /// The limits of an integer dtype.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert_eq!(DType::U64.iinfo()?.max, i128::from(u64::MAX));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for floats, complex numbers and bool.
    pub fn iinfo(self) -> Result<IntInfo, Error> {
        match self.integer_range() {
            Some((min, max)) if self.kind() != Kind::Bool => Ok(IntInfo {
                dtype: self,
                bits: self.bits(),
                max,
                min,
            }),
            _ => {
                let hint = if self.format().is_some() {
                    Some("finfo")
                } else {
                    None
                };
                Err(Error::not_in_set("iinfo", self, crate::Set::Integer, hint))
            }
        }
    }

    /// Whether every number of another dtype is within the range of this one, where it may be rounded.
    /// That of bool is every number.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert!(DType::F32.holds_range_of(DType::I64) && !DType::F16.holds_range_of(DType::I32));
    /// ```
    #[must_use]
    pub fn holds_range_of(self, other: Self) -> bool {
        if self == Self::Bool {
            return true;
        }
        match (other.integer_range(), self.integer_range()) {
            (Some((least, most)), Some((low, high))) => low <= least && most <= high,
            (Some((least, most)), None) => self
                .finfo()
                .is_ok_and(|info| least as f64 >= info.min && most as f64 <= info.max),
            (None, None) => match (other.finfo(), self.finfo()) {
                (Ok(from), Ok(to)) => from.max <= to.max && (to.has_inf || !from.has_inf),
                _ => false,
            },
            (None, Some(_)) => false,
        }
    }

    /// Smallest and largest value of bool (0 and 1) and integers.
    #[must_use]
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        match self.kind() {
            Kind::Bool => Some((0, 1)),
            Kind::Unsigned => Some((0, (1 << self.bits()) - 1)),
            Kind::Signed => Some((-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)),
            Kind::Float | Kind::Complex => None,
        }
    }

    /// The largest integer up to which, in either direction, a float or complex dtype holds every
    /// integer; zero for integers and bool, whose range says it.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert_eq!(DType::F32.exact_integers(), 1 << 24);
    /// assert_eq!(DType::F8E5M2.exact_integers(), 8);
    /// ```
    #[must_use]
    pub const fn exact_integers(self) -> i128 {
        match self.format() {
            Some(format) => 1 << (format.mantissa_bits + 1),
            None => 0,
        }
    }

    /// Whether every value of `self` is a value of `other`, so that a cast loses nothing.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// assert!(DType::I16.fits_in(DType::F32));
    /// assert!(!DType::I32.fits_in(DType::F32));
    /// assert!(!DType::F16.fits_in(DType::BF16));
    /// ```
    #[must_use]
    pub const fn fits_in(self, other: Self) -> bool {
        if self as u8 == other as u8 || matches!(self.kind(), Kind::Bool) {
            return true;
        }
        if self.is_complex() && !other.is_complex() {
            return false;
        }
        match (
            self.integer_range(),
            self.format(),
            other.integer_range(),
            other.format(),
        ) {
            (Some((low, high)), _, Some((least, most)), _) => {
                !matches!(other.kind(), Kind::Bool) && least <= low && high <= most
            }
            (Some(_), _, _, Some(to)) => {
                let digits = self.bits() - matches!(self.kind(), Kind::Signed) as u32;
                let max_exponent = ((to.max_code() >> to.mantissa_bits) as i32) - to.bias;
                digits <= to.mantissa_bits + 1 && digits as i32 <= max_exponent + 1
            }
            (_, Some(from), _, Some(to)) => {
                let from_max = from.decode(from.max_code());
                from.mantissa_bits <= to.mantissa_bits
                    && from.quantum_exponent() >= to.quantum_exponent()
                    && from_max <= to.decode(to.max_code())
                    && (!from.has_infinity() || to.has_infinity())
                    && (!from.has_negative_zero() || to.has_negative_zero())
            }
            _ => false,
        }
    }
}
