//! Powers.
//!
//! `|x|ʸ = 2^(y log₂ |x|)`, where the logarithm is kept in two values: an error of it grows with
//! the exponent of the result.

use super::exp::{exp2_sum32, exp2_sum64};
use super::log::{log_reduced32, log_reduced64, split_any};
use super::{flip, sign, sum_ordered};
use crate::{Lane, LaneBits};

/// `log₂ e` as the nearest number and the rest.
const LOG2_E_32: (f64, f64) = (1.4426950216293335, 1.9259629911266175e-08);
const LOG2_E_64: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);

/// `k + log₂ m` as a rounded value and the rest, given `ln m` in the same way.
#[inline(always)]
fn to_base_2<L: Lane>(k: L, (log, log_rest): (L, L), log2_e: (f64, f64)) -> (L, L) {
    let (head, lost) = log.mul_exact(L::lit(log2_e.0));
    let rest = log.mul_add(L::lit(log2_e.1), log_rest.mul_add(L::lit(log2_e.0), lost));
    let (head, lost) = sum_ordered(k, head);
    sum_ordered(head, rest + lost)
}

/// Whether a number that is not negative is whole: all are from two to the mantissa width on, and
/// below it, adding that rounds to the nearest whole number.
#[inline(always)]
fn is_whole<L: Lane>(a: L) -> L::Mask {
    let shift = L::lit((1_u64 << L::MANTISSA) as f64);
    shift.le(a) | ((a + shift) - shift).eq(a)
}

/// `y (head + rest)` as a rounded value and the rest, which is 0 where the value is too large for it
/// to count or to be known.
#[inline(always)]
fn times<L: Lane>(y: L, (head, rest): (L, L), limit: f64) -> (L, L) {
    let (product, lost) = y.mul_exact(head);
    let in_range = product.abs().lt(L::lit(limit));
    let rest = y.mul_add(rest, lost);
    (product, L::select(in_range, rest, L::lit(0.0)))
}

/// `power`, which is `|x|ʸ` for ordinary numbers, or what C asks for.
#[inline(always)]
fn with_special_cases<L: Lane>(x: L, y: L, power: L) -> L {
    let (zero, one, infinity) = (L::lit(0.0), L::lit(1.0), L::lit(f64::INFINITY));
    let (a, b) = (x.abs(), y.abs());
    let (is_zero, is_infinite) = (a.eq(zero), a.eq(infinity));
    let pole = (is_zero & y.lt(zero)) | (is_infinite & zero.lt(y));
    let power = L::select(
        is_zero | is_infinite,
        L::select(pole, infinity, zero),
        power,
    );
    let power = L::select(a.eq(one), one, power);
    let whole = is_whole(b);
    let odd = whole & !is_whole(b * L::lit(0.5));
    let minus = L::Bits::select(odd, sign(x), L::Bits::lit(0));
    let power = flip(power, minus);
    let without = x.lt(zero) & !is_infinite & !whole;
    let power = L::select(without | !x.eq(x) | !y.eq(y), L::lit(f64::NAN), power);
    L::select(y.eq(zero) | x.eq(one), one, power)
}

/// `x` to the power of `y`. At most 2 ulp; special cases as in C: 1 where `y` is 0 or `x` is 1, even
/// beside NaN; NaN for a negative `x` and a `y` that is not whole.
#[inline(always)]
pub fn pow32<L: Lane>(x: L, y: L) -> L {
    let (k, m) = split_any(x.abs(), 0x3f35_04f3, f32::MIN_POSITIVE.into());
    let log = to_base_2(k, log_reduced32(m), LOG2_E_32);
    let (exponent, rest) = times(y, log, 160.0);
    with_special_cases(x, y, exp2_sum32(exponent, rest))
}

/// `x` to the power of `y`. At most 2 ulp; special cases as in C: 1 where `y` is 0 or `x` is 1, even
/// beside NaN; NaN for a negative `x` and a `y` that is not whole.
#[inline(always)]
pub fn pow64<L: Lane>(x: L, y: L) -> L {
    let (k, m) = split_any(x.abs(), 0x3fe6_a09e_667f_3bcd, f64::MIN_POSITIVE);
    let log = to_base_2(k, log_reduced64(m), LOG2_E_64);
    let (exponent, rest) = times(y, log, 1100.0);
    with_special_cases(x, y, exp2_sum64(exponent, rest))
}
