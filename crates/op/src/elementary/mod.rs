//! Elementary functions, written once per width over [`Lane`].
//!
//! | file | what is in it |
//! |---|---|
//! | `exp` | exp, exp2, expm1 |
//! | `log` | log, log2, log10, log1p |
//! | `trigonometric` | sin, cos, tan |
//! | `reduction` | remainders of a division by π/2, for these |
//! | `inverse` | asin, acos, atan, atan2 |
//! | `hyperbolic` | sinh, cosh, tanh, tanhshrink, asinh, acosh, atanh |
//! | `erf` | erf, erfc, erfcx, gelu, ndtr, log_ndtr |
//! | `erfinv` | erfinv |
//! | `lgamma` | lgamma |
//! | `digamma` | digamma |
//! | `igamma` | igamma, igammac |
//! | `zeta` | zeta |
//! | `cbrt` | cbrt |
//! | `power` | pow |
//! | `hypot` | hypot, rsqrt |
//! | `logaddexp` | logaddexp, logaddexp2 |
//! | `division` | fmod, remainder, floor_divide |
//! | `bessel` | i0, i0e, i1, i1e |
//! | `bits` | copysign, nextafter |
//!
//! A function named `…32` has the polynomials and limits of float32, `…64` those of float64; the
//! lane must be of that width. One without a number serves both. [`Elementary`] chooses by the lane.
//! All but the logarithms of sums are within 2 ulp with and without fused multiply-add, keep NaN,
//! and name their bound and special values. float32 is tested against the standard library in
//! float64, float64 against vectors computed with 60 digits.

mod bessel;
mod bits;
mod cbrt;
mod digamma;
mod division;
mod erf;
mod erfinv;
mod exp;
mod hyperbolic;
mod hypot;
mod igamma;
mod inverse;
mod lgamma;
mod log;
mod logaddexp;
mod power;
mod reduction;
mod trigonometric;
mod zeta;

pub use bessel::{i0_32, i0_64, i0e32, i0e64, i1_32, i1_64, i1e32, i1e64};
pub use bits::{copysign, nextafter};
pub use cbrt::{cbrt32, cbrt64};
pub use digamma::{digamma32, digamma64};
pub use division::{floor_divide, fmod, remainder};
pub use erf::{
    erf32, erf64, erfc32, erfc64, erfcx32, erfcx64, gelu_slope32, gelu_slope64, gelu32, gelu64,
    log_ndtr32, log_ndtr64, ndtr32, ndtr64,
};
pub use erfinv::{erfinv32, erfinv64};
pub use exp::{
    EXP_NEAR_32, EXP_NEAR_64, exp_half_near32, exp_half32, exp_near32, exp_near64,
    exp_rough_near32, exp_rough32, exp2_32, exp2_64, exp32, exp64, expm1_32, expm1_64,
};
pub use hyperbolic::{
    acosh32, acosh64, asinh32, asinh64, atanh32, atanh64, cosh32, cosh64, sinh32, sinh64,
    tanh_rough32, tanh32, tanh64, tanhshrink32, tanhshrink64,
};
pub use hypot::{hypot, rsqrt};
pub use igamma::{igamma32, igamma64, igammac32, igammac64};
pub use inverse::{acos32, acos64, asin32, asin64, atan2_32, atan2_64, atan32, atan64};
pub use lgamma::{lgamma32, lgamma64};
pub(crate) use log::{log_parts32, log_parts64};
pub use log::{log1p_32, log1p_64, log2_32, log2_64, log10_32, log10_64, log32, log64};
pub use logaddexp::{logaddexp2_32, logaddexp2_64, logaddexp32, logaddexp64};
pub use power::{pow32, pow64};
pub use reduction::{NEAR_32, NEAR_64};
pub use trigonometric::{
    cos_near32, cos_near64, cos32, cos64, sin_near32, sin_near64, sin32, sin64, tan_near32,
    tan_near64, tan32, tan64,
};
pub use zeta::{zeta32, zeta64};

use crate::wgsl::Expression;
use crate::{Lane, LaneBits, Number};

/// Below this `f(x) = x` for the odd functions with slope one, to float32 precision.
const TINY_32: f64 = 1.0 / (1_u64 << 25) as f64;
/// The same for float64.
const TINY_64: f64 = 1.0 / (1_u64 << 54) as f64;

/// The polynomial with these coefficients, the constant first. Vector loops have work enough to
/// hide the latency of the chain, so it takes the scheme with the fewest operations.
#[inline(always)]
pub(crate) fn horner<L: Lane, const N: usize>(x: L, coefficients: [f64; N]) -> L {
    /// Steps written out: a loop around a loop of vectors is not always unrolled.
    macro_rules! steps {
        ($sum:ident, $($number:literal)*) => {
            const { assert!(N > 0 && N <= [$($number),*].len() + 1) };
            $(if $number < N {
                $sum = $sum.mul_add(x, L::lit(coefficients[N - 1 - $number]));
            })*
        };
    }
    let mut sum = L::lit(coefficients[N - 1]);
    steps!(sum, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    sum
}

/// `x` moved into the interval; NaN stays.
#[inline(always)]
fn clamp<L: Lane>(x: L, least: f64, most: f64) -> L {
    let x = L::select(x.lt(L::lit(least)), L::lit(least), x);
    L::select(L::lit(most).lt(x), L::lit(most), x)
}

/// Two to the power of `n`, for the exponents of normal numbers.
#[inline(always)]
pub(crate) fn power_of_two<L: Lane>(n: L::Bits) -> L {
    L::from_bits(n.add(L::Bits::lit(L::BIAS)).shl(L::MANTISSA))
}

/// The bits of the sign alone.
#[inline(always)]
pub(crate) fn sign<L: Lane>(x: L) -> L::Bits {
    x.to_bits() & L::lit(-0.0).to_bits()
}

/// `x` with its sign flipped where the sign bit is set in `bits`, which has no other bits.
#[inline(always)]
pub(crate) fn flip<L: Lane>(x: L, bits: L::Bits) -> L {
    L::from_bits(x.to_bits() ^ bits)
}

/// `a + b` as the rounded sum and what the rounding left out.
#[inline(always)]
pub(crate) fn sum<L: Lane>(a: L, b: L) -> (L, L) {
    let sum = a + b;
    let back = sum - a;
    (sum, (a - (sum - back)) + (b - back))
}

/// The same for `|a| ≥ |b|` or `a = 0`.
#[inline(always)]
pub(crate) fn sum_ordered<L: Lane>(a: L, b: L) -> (L, L) {
    let sum = a + b;
    (sum, (a - sum) + b)
}

/// A function of one lane or two.
#[derive(Clone, Copy, Debug)]
pub enum Signature<L> {
    /// Of one.
    Unary(fn(L) -> L),
    /// Of two.
    Binary(fn(L, L) -> L),
}

/// One row per function, for the trait and its implementations.
macro_rules! elementary {
    (@ $name:ident) => { Signature::Unary(L::$name) };
    (@ $name:ident $other:ident) => { Signature::Binary(L::$name) };
    ($($name:ident($($other:ident)?) $f32:ident $f64:ident $doc:literal)*) => {
        /// The elementary functions of a lane, of its width.
        pub trait Elementary: Lane {
            $(#[doc = $doc] fn $name(self $(, $other: Self)?) -> Self;)*
        }

        impl<const FUSED: bool> Elementary for Number<f32, FUSED> {
            $(#[inline(always)] fn $name(self $(, $other: Self)?) -> Self {
                $f32(self $(, $other)?)
            })*
        }

        impl<const FUSED: bool> Elementary for Number<f64, FUSED> {
            $(#[inline(always)] fn $name(self $(, $other: Self)?) -> Self {
                $f64(self $(, $other)?)
            })*
        }

        /// Every function of a lane with its name, for those that treat all alike.
        pub fn functions<L: Elementary>() -> Vec<(&'static str, Signature<L>)> {
            vec![$((stringify!($name), elementary!(@ $name $($other)?))),*]
        }

        impl Elementary for Expression<f32> {
            $(fn $name(self $(, $other: Self)?) -> Self {
                $f32(self $(, $other)?)
            })*
        }

        impl Elementary for Expression<f64> {
            $(fn $name(self $(, $other: Self)?) -> Self {
                $f64(self $(, $other)?)
            })*
        }
    };
}
elementary! {
    exp()    exp32    exp64    "The exponential: [`exp32`], [`exp64`]."
    exp_near() exp_near32 exp_near64 "The exponential where it is a normal number: [`exp_near32`]."
    exp_rough() exp_rough32 exp64 "The exponential for results of bfloat16: [`exp_rough32`]."
    exp_rough_near() exp_rough_near32 exp_near64 "The same where it is a normal number: [`exp_rough_near32`]."
    exp_half() exp_half32 exp64 "The exponential for results of float16: [`exp_half32`]."
    exp_half_near() exp_half_near32 exp_near64 "The same where it is a normal number: [`exp_half_near32`]."
    exp2()   exp2_32  exp2_64  "Two to the power: [`exp2_32`], [`exp2_64`]."
    expm1()  expm1_32 expm1_64 "The exponential minus one: [`expm1_32`], [`expm1_64`]."
    log()    log32    log64    "The natural logarithm: [`log32`], [`log64`]."
    log2()   log2_32  log2_64  "The logarithm to base 2: [`log2_32`], [`log2_64`]."
    log10()  log10_32 log10_64 "The logarithm to base 10: [`log10_32`], [`log10_64`]."
    log1p()  log1p_32 log1p_64 "The logarithm of one plus: [`log1p_32`], [`log1p_64`]."
    sin()    sin32    sin64    "The sine: [`sin32`], [`sin64`]."
    cos()    cos32    cos64    "The cosine: [`cos32`], [`cos64`]."
    tan()    tan32    tan64    "The tangent: [`tan32`], [`tan64`]."
    sin_near() sin_near32 sin_near64 "The sine below the limit of the width: [`sin_near32`]."
    cos_near() cos_near32 cos_near64 "The cosine below the limit of the width: [`cos_near32`]."
    tan_near() tan_near32 tan_near64 "The tangent below the limit of the width: [`tan_near32`]."
    asin()   asin32   asin64   "The arc sine: [`asin32`], [`asin64`]."
    acos()   acos32   acos64   "The arc cosine: [`acos32`], [`acos64`]."
    atan()   atan32   atan64   "The arc tangent: [`atan32`], [`atan64`]."
    atan2(x) atan2_32 atan2_64 "The angle of the point (x, self): [`atan2_32`], [`atan2_64`]."
    sinh()   sinh32   sinh64   "The hyperbolic sine: [`sinh32`], [`sinh64`]."
    cosh()   cosh32   cosh64   "The hyperbolic cosine: [`cosh32`], [`cosh64`]."
    tanh()   tanh32   tanh64   "The hyperbolic tangent: [`tanh32`], [`tanh64`]."
    tanh_rough() tanh_rough32 tanh64 "The hyperbolic tangent for results of 16 bits: [`tanh_rough32`]."
    tanhshrink() tanhshrink32 tanhshrink64 "The number without its `tanh`: [`tanhshrink32`], [`tanhshrink64`]."
    asinh()  asinh32  asinh64  "The inverse of `sinh`: [`asinh32`], [`asinh64`]."
    acosh()  acosh32  acosh64  "The inverse of `cosh`: [`acosh32`], [`acosh64`]."
    atanh()  atanh32  atanh64  "The inverse of `tanh`: [`atanh32`], [`atanh64`]."
    erf()    erf32    erf64    "The error function: [`erf32`], [`erf64`]."
    erfc()   erfc32   erfc64   "One minus the error function: [`erfc32`], [`erfc64`]."
    erfcx()  erfcx32  erfcx64  "`e^(x²)` times one minus the error function: [`erfcx32`], [`erfcx64`]."
    ndtr()   ndtr32   ndtr64   "The normal distribution function: [`ndtr32`], [`ndtr64`]."
    log_ndtr() log_ndtr32 log_ndtr64 "Its logarithm: [`log_ndtr32`], [`log_ndtr64`]."
    i0()     i0_32    i0_64    "The modified Bessel function of order 0: [`i0_32`], [`i0_64`]."
    i0e()    i0e32    i0e64    "The same times `e^-|x|`: [`i0e32`], [`i0e64`]."
    i1()     i1_32    i1_64    "The modified Bessel function of order 1: [`i1_32`], [`i1_64`]."
    i1e()    i1e32    i1e64    "The same times `e^-|x|`: [`i1e32`], [`i1e64`]."
    gelu()   gelu32   gelu64   "`x Φ(x)` with the normal distribution function: [`gelu32`], [`gelu64`]."
    gelu_slope() gelu_slope32 gelu_slope64 "The derivative of the same: [`gelu_slope32`], [`gelu_slope64`]."
    cbrt()   cbrt32   cbrt64   "The cube root: [`cbrt32`], [`cbrt64`]."
    pow(y)   pow32    pow64    "The power with exponent `y`: [`pow32`], [`pow64`]."
    erfinv()        erfinv32      erfinv64      "The inverse of the error function: [`erfinv32`], [`erfinv64`]."
    lgamma()        lgamma32      lgamma64      "The logarithm of the gamma function: [`lgamma32`], [`lgamma64`]."
    digamma()       digamma32     digamma64     "The derivative of `lgamma`: [`digamma32`], [`digamma64`]."
    igamma(x)       igamma32      igamma64      "The share of `Γ(self)` below `x`: [`igamma32`], [`igamma64`]."
    igammac(x)      igammac32     igammac64     "The share of `Γ(self)` above `x`: [`igammac32`], [`igammac64`]."
    zeta(q)         zeta32        zeta64        "Hurwitz' zeta function: [`zeta32`], [`zeta64`]."
    hypot(y)        hypot         hypot         "The length of the vector (self, y): [`hypot()`]."
    rsqrt()         rsqrt         rsqrt         "One over the square root: [`rsqrt`]."
    logaddexp(y)    logaddexp32   logaddexp64   "`ln(exp self + exp y)`: [`logaddexp32`], [`logaddexp64`]."
    logaddexp2(y)   logaddexp2_32 logaddexp2_64 "`log₂(2^self + 2^y)`: [`logaddexp2_32`], [`logaddexp2_64`]."
    fmod(y)         fmod          fmod          "The remainder with the sign of `self`: [`fmod`]."
    remainder(y)    remainder     remainder     "The remainder with the sign of `y`: [`remainder`]."
    floor_divide(y) floor_divide  floor_divide  "The quotient rounded down: [`floor_divide`]."
    copysign(y)     copysign      copysign      "The magnitude with the sign of `y`: [`copysign`]."
    nextafter(y)    nextafter     nextafter     "The next number on the way to `y`: [`nextafter`]."
}
