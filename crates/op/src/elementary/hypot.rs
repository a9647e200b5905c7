//! The length of a vector, and one over a length.

use super::power_of_two;
use crate::{Lane, LaneBits};

/// `√(x² + y²)` without overflow or underflow on the way. At most 2 ulp; ∞ where one of the two is
/// infinite, even beside NaN.
#[inline(always)]
pub fn hypot<L: Lane>(x: L, y: L) -> L {
    let (x, y) = (x.abs(), y.abs());
    let larger = L::select(x.lt(y), y, x);
    let power = |n: i64| power_of_two::<L>(L::Bits::lit(n));
    let quarter = (L::BIAS + 1) / 4;
    let (up, down) = (power(3 * quarter), power(-3 * quarter));
    let (big, small) = (
        power(2 * quarter - 2).lt(larger),
        larger.lt(power(-3 * quarter / 2)),
    );
    let by = |big_one: L, small_one: L| {
        L::select(big, big_one, L::select(small, small_one, L::lit(1.0)))
    };
    let (a, b) = (x * by(down, up), y * by(down, up));
    let length = a.mul_add(a, b * b).sqrt() * by(up, down);
    let infinity = L::lit(f64::INFINITY);
    L::select(x.eq(infinity) | y.eq(infinity), infinity, length)
}

/// `1 / √x`. At most 1.5 ulp; ±∞ at ±0, NaN below, 0 at ∞.
#[inline(always)]
pub fn rsqrt<L: Lane>(x: L) -> L {
    L::lit(1.0) / x.sqrt()
}
