//! Exact numbers and their single rounding into any dtype, in integer arithmetic.

use super::{CastOptions, Overflow, Rounding};
use crate::format::FloatFormat;
use crate::random::random_words;
use crate::{DType, Kind};

/// A real number without error: what a source value is before the target rounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exact {
    /// `±significand · 2^exponent`; zero keeps its sign.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
    /// Positive or negative infinity.
    Infinite { negative: bool },
    /// Not a number.
    Nan { negative: bool },
}

impl Exact {
    pub(crate) const fn from_f64(value: f64) -> Self {
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let field = (bits >> 52 & 0x7FF) as i32;
        let mantissa = bits & ((1 << 52) - 1);
        match field {
            0x7FF if mantissa != 0 => Self::Nan { negative },
            0x7FF => Self::Infinite { negative },
            0 => Self::Finite {
                negative,
                significand: mantissa,
                exponent: -1074,
            },
            _ => Self::Finite {
                negative,
                significand: mantissa | 1 << 52,
                exponent: field - 1075,
            },
        }
    }

    /// An integer; what exceeds 64 bits is folded into the last one, far below any rounding.
    pub(crate) const fn from_i128(value: i128) -> Self {
        let magnitude = value.unsigned_abs();
        let dropped = 64_u32.saturating_sub(magnitude.leading_zeros());
        let kept = magnitude >> dropped;
        let sticky = (kept << dropped != magnitude) as u64;
        Self::Finite {
            negative: value < 0,
            significand: kept as u64 | sticky,
            exponent: dropped as i32,
        }
    }

    pub(crate) const fn from_u64(value: u64) -> Self {
        Self::Finite {
            negative: false,
            significand: value,
            exponent: 0,
        }
    }

    pub(crate) const fn from_i64(value: i64) -> Self {
        Self::Finite {
            negative: value < 0,
            significand: value.unsigned_abs(),
            exponent: 0,
        }
    }
}

/// A code of the target, and whether the value was outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The bits of the result, in the low bits of the word.
    pub code: u64,
    /// Whether the value, once rounded, was beyond the largest finite number of a float target, or
    /// not a value of an integer target.
    pub overflowed: bool,
}

/// `value` in a float format, rounded once.
///
/// `Overflow::Wrap` has no meaning for floats and counts as the default; `Overflow::Raise` gives
/// the default code and says so in `overflowed`. Stochastic rounding draws word `offset`.
///
/// ```
/// use allotrope_dtype::{Bfloat16, CastOptions, Format, round_to_format};
/// // Above the midpoint of two bfloat16 by less than float32 can see: two roundings would say 1.0.
/// let value = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -30);
/// let rounded = round_to_format(value, Bfloat16::FORMAT, CastOptions::default());
/// assert_eq!(Bfloat16::FORMAT.decode(rounded.code), 1.0078125);
/// ```
#[must_use]
pub fn round_to_format(value: f64, format: FloatFormat, options: CastOptions) -> Rounded {
    let overflow = match options.overflow {
        None | Some(Overflow::Wrap) => Overflow::default_of(format),
        Some(rule) => rule,
    };
    let mut draw = [0];
    if let Rounding::Stochastic { seed, offset } = options.rounding {
        random_words(seed, offset, &mut draw);
    }
    Target::Float(format).round(Exact::from_f64(value), options.rounding, overflow, draw[0])
}

/// What a target dtype looks like to rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    Bool,
    Integer { signed: bool, bits: u32 },
    Float(FloatFormat),
}

impl Target {
    /// The target of a real dtype, or of a complex dtype's components.
    pub(crate) const fn of(dtype: DType) -> Self {
        match (dtype.kind(), dtype.format()) {
            (_, Some(format)) => Self::Float(format),
            (Kind::Bool, _) => Self::Bool,
            (kind, _) => Self::Integer {
                signed: matches!(kind, Kind::Signed),
                bits: dtype.bits(),
            },
        }
    }

    /// The code of `value`; stochastic rounding goes up if `draw` is below the remainder.
    pub(crate) fn round(
        self,
        value: Exact,
        rounding: Rounding,
        overflow: Overflow,
        draw: u32,
    ) -> Rounded {
        match self {
            Self::Bool => Rounded {
                code: !matches!(value, Exact::Finite { significand: 0, .. }) as u64,
                overflowed: false,
            },
            Self::Integer { signed, bits } => round_to_integer(value, signed, bits, overflow),
            Self::Float(format) => round_to_float(value, format, rounding, overflow, draw),
        }
    }
}

/// Truncates towards zero, then saturates or wraps.
fn round_to_integer(value: Exact, signed: bool, bits: u32, overflow: Overflow) -> Rounded {
    let mask = u64::MAX >> (64 - bits);
    let (negative, magnitude) = match value {
        Exact::Nan { .. } => {
            return Rounded {
                code: 0,
                overflowed: true,
            };
        }
        Exact::Infinite { .. } if overflow == Overflow::Wrap => {
            return Rounded {
                code: 0,
                overflowed: true,
            };
        }
        Exact::Infinite { negative } => (negative, u128::MAX),
        Exact::Finite {
            negative,
            significand,
            exponent,
        } => {
            let wide = u128::from(significand);
            let magnitude = match exponent {
                ..=-64 => 0,
                -63..=0 => wide >> -exponent,
                // A shift past the top keeps only what wraps, which is zero; it still overflows.
                1..=63 => wide << exponent,
                _ if overflow == Overflow::Wrap || significand == 0 => 0,
                _ => u128::MAX,
            };
            (negative, magnitude)
        }
    };
    let positive_limit = u128::from(if signed { mask >> 1 } else { mask });
    let negative_limit = if signed { positive_limit + 1 } else { 0 };
    let limit = if negative {
        negative_limit
    } else {
        positive_limit
    };
    let overflowed = magnitude > limit;
    let kept = match overflow {
        Overflow::Wrap => magnitude as u64,
        _ => magnitude.min(limit) as u64,
    };
    let code = if negative { kept.wrapping_neg() } else { kept } & mask;
    Rounded { code, overflowed }
}

/// Rounds the significand at the target's quantum, then handles the top of the range.
fn round_to_float(
    value: Exact,
    format: FloatFormat,
    rounding: Rounding,
    overflow: Overflow,
    draw: u32,
) -> Rounded {
    let sign = |negative: bool| if negative { format.sign_mask() } else { 0 };
    let (negative, significand, exponent) = match value {
        Exact::Nan { negative } => {
            let signed_nan = format.nan_code() | sign(negative && format.has_negative_zero());
            return Rounded {
                code: signed_nan,
                overflowed: false,
            };
        }
        Exact::Infinite { negative } => {
            let overflowed = !format.has_infinity();
            let code = beyond_range(format, overflow, sign(negative));
            return Rounded { code, overflowed };
        }
        Exact::Finite {
            negative,
            significand,
            exponent,
        } => (negative, significand, exponent),
    };
    let code = round_significand(significand, exponent, format, rounding, draw);
    if code > format.max_code() {
        // IEEE 754: a finite number rounded towards zero never becomes infinite.
        let rule = if rounding == Rounding::Zero && overflow == Overflow::Ieee {
            Overflow::Saturate
        } else {
            overflow
        };
        return Rounded {
            code: beyond_range(format, rule, sign(negative)),
            overflowed: true,
        };
    }
    let signless_zero = code == 0 && !format.has_negative_zero();
    Rounded {
        code: if signless_zero {
            0
        } else {
            code | sign(negative)
        },
        overflowed: false,
    }
}

/// The magnitude's code as if the exponent range had no top.
fn round_significand(
    significand: u64,
    exponent: i32,
    format: FloatFormat,
    rounding: Rounding,
    draw: u32,
) -> u64 {
    if significand == 0 {
        return 0;
    }
    let mantissa_bits = format.mantissa_bits as i32;
    let leading = exponent + 63 - significand.leading_zeros() as i32;
    let quantum = (leading - mantissa_bits).max(format.quantum_exponent());
    // Beyond 100 the remainder is far below half a quantum, whatever the shift.
    let shift = (quantum - exponent).min(100);
    let kept = if shift <= 0 {
        significand << -shift
    } else {
        let wide = u128::from(significand);
        let kept = (wide >> shift) as u64;
        let remainder = wide & ((1 << shift) - 1);
        let half = 1_u128 << (shift - 1);
        let up = match rounding {
            Rounding::Nearest => remainder > half || remainder == half && kept & 1 == 1,
            Rounding::Zero => false,
            Rounding::Stochastic { .. } => (remainder << 32) >> shift > u128::from(draw),
        };
        kept + u64::from(up)
    };
    // Adding instead of or-ing lets a carry move into the exponent field.
    let steps = (quantum - format.quantum_exponent()) as u64;
    (steps << format.mantissa_bits) + kept
}

/// The code of a number beyond the largest finite one, or of infinity itself.
fn beyond_range(format: FloatFormat, overflow: Overflow, sign: u64) -> u64 {
    match overflow {
        Overflow::Saturate => format.max_code() | sign,
        _ if format.has_infinity() => format.infinity_code() | sign,
        _ if format.has_negative_zero() => format.nan_code() | sign,
        _ => format.nan_code(),
    }
}
