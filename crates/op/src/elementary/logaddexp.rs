//! Logarithms of sums of powers.

use super::exp::{exp2_32, exp2_64, exp32, exp64};
use super::log::{log1p_32, log1p_64};
use crate::Lane;

/// The larger of the two, and minus their distance, which is 0 where they are equal, be it as
/// infinities. One of the results is NaN where `x` or `y` is.
#[inline(always)]
fn ordered<L: Lane>(x: L, y: L) -> (L, L) {
    let distance = L::select(x.eq(y), L::lit(0.0), -(x - y).abs());
    (L::select(x.lt(y), y, x), distance)
}

/// `log₂(1 + p)`, given `p` and `ln(1 + p)`: exact where `p` is 1.
#[inline(always)]
fn to_base_2<L: Lane>(p: L, log: L) -> L {
    let one = L::lit(1.0);
    L::select(p.eq(one), one, log * L::lit(std::f64::consts::LOG2_E))
}

/// `ln(exp x + exp y)` without overflow. At most 2 ulp of the larger of the result and the larger
/// argument.
#[inline(always)]
pub fn logaddexp32<L: Lane>(x: L, y: L) -> L {
    let (larger, distance) = ordered(x, y);
    larger + log1p_32(exp32(distance))
}

/// `ln(exp x + exp y)` without overflow. At most 2 ulp of the larger of the result and the larger
/// argument.
#[inline(always)]
pub fn logaddexp64<L: Lane>(x: L, y: L) -> L {
    let (larger, distance) = ordered(x, y);
    larger + log1p_64(exp64(distance))
}

/// `log₂(2ˣ + 2ʸ)` without overflow. At most 2 ulp of the larger of the result and the larger
/// argument.
#[inline(always)]
pub fn logaddexp2_32<L: Lane>(x: L, y: L) -> L {
    let (larger, distance) = ordered(x, y);
    let power = exp2_32(distance);
    larger + to_base_2(power, log1p_32(power))
}

/// `log₂(2ˣ + 2ʸ)` without overflow. At most 2 ulp of the larger of the result and the larger
/// argument.
#[inline(always)]
pub fn logaddexp2_64<L: Lane>(x: L, y: L) -> L {
    let (larger, distance) = ordered(x, y);
    let power = exp2_64(distance);
    larger + to_base_2(power, log1p_64(power))
}
