//! Logarithms of sums of powers.

use super::exp::{exp2_32, exp2_64, exp32, exp64};
use super::log::{log1p_32, log1p_64, log2_32, log2_64};
use super::sum;
use crate::Lane;

/// The larger of the two, and minus their distance as a rounded value and the rest: 0 where they
/// are equal, be it as infinities. One of the results is NaN where `x` or `y` is.
#[inline(always)]
fn ordered<L: Lane>(x: L, y: L) -> (L, L, L) {
    let zero = L::lit(0.0);
    let (larger, smaller) = (L::select(x.lt(y), y, x), L::select(x.lt(y), x, y));
    let (distance, rest) = sum(smaller, -larger);
    let counts = rest.abs().lt(L::lit(1.0));
    (
        larger,
        L::select(x.eq(y), zero, distance),
        L::select(counts, rest, zero),
    )
}

/// `log₂(1 + p)`, given the logarithm: what the sum leaves out is added to first order. Exact where
/// `p` is 1.
#[inline(always)]
fn log2_1p<L: Lane>(p: L, log2: impl Fn(L) -> L) -> L {
    let one = L::lit(1.0);
    let whole = one + p;
    let lost = (one - whole) + p;
    log2(whole) + lost / whole * L::lit(std::f64::consts::LOG2_E)
}

/// `ln(exp x + exp y)` without overflow. At most 2.5 ulp of the largest of the result and its terms,
/// the larger argument and `ln(1 + exp(-|x - y|))`.
#[inline(always)]
pub fn logaddexp32<L: Lane>(x: L, y: L) -> L {
    let (larger, distance, rest) = ordered(x, y);
    let power = exp32(distance);
    larger + log1p_32(power.mul_add(rest, power))
}

/// `ln(exp x + exp y)` without overflow. At most 2.5 ulp of the largest of the result and its terms,
/// the larger argument and `ln(1 + exp(-|x - y|))`.
#[inline(always)]
pub fn logaddexp64<L: Lane>(x: L, y: L) -> L {
    let (larger, distance, rest) = ordered(x, y);
    let power = exp64(distance);
    larger + log1p_64(power.mul_add(rest, power))
}

/// `log₂(2ˣ + 2ʸ)` without overflow. At most 2.5 ulp of the largest of the result and its terms, the
/// larger argument and `log₂(1 + 2^-|x - y|)`.
#[inline(always)]
pub fn logaddexp2_32<L: Lane>(x: L, y: L) -> L {
    let (larger, distance, rest) = ordered(x, y);
    let power = exp2_32(distance);
    let power = power.mul_add(rest * L::lit(std::f64::consts::LN_2), power);
    larger + log2_1p(power, log2_32)
}

/// `log₂(2ˣ + 2ʸ)` without overflow. At most 2.5 ulp of the largest of the result and its terms, the
/// larger argument and `log₂(1 + 2^-|x - y|)`.
#[inline(always)]
pub fn logaddexp2_64<L: Lane>(x: L, y: L) -> L {
    let (larger, distance, rest) = ordered(x, y);
    let power = exp2_64(distance);
    let power = power.mul_add(rest * L::lit(std::f64::consts::LN_2), power);
    larger + log2_1p(power, log2_64)
}
