//! Hyperbolic functions and their inverses.

use super::exp::{exp_quarter32, exp_quarter64};
use super::log::{log1p_sum32, log1p_sum64};
use super::{TINY_32, TINY_64, clamp, flip, horner, power_of_two, sign, sum};
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(sinh x - x) / x³` in powers of `x²`, for `|x| ≤ 1`.
const SINH_32: [f64; 4] = [
    0.16666666646842135,
    0.00833333967591706,
    0.00019838101968683888,
    2.8062802582276946e-06,
];

/// The same for float64.
const SINH_64: [f64; 7] = [
    0.16666666666666666,
    0.0083333333333333,
    0.00019841269841324198,
    2.7557319191381816e-06,
    2.5052117695907823e-08,
    1.6057679623801638e-10,
    7.746178593018827e-13,
];

/// `(tanh x - x) / x³` in powers of `x²`, for `|x| ≤ 5/8`.
const TANH_32: [f64; 5] = [
    -0.33333328878455243,
    0.13332763123791966,
    -0.05384990546480388,
    0.02099242192666355,
    -0.00608980268565943,
];

/// The same for float64.
const TANH_64: [f64; 12] = [
    -0.3333333333333333,
    0.1333333333333303,
    -0.05396825396788639,
    0.0218694885185552,
    -0.008863235093353298,
    0.0035921216257880605,
    -0.0014557744246177977,
    0.0005896556789868695,
    -0.00023757456918828697,
    9.253899476295944e-05,
    -3.1164823912889704e-05,
    6.467533020977372e-06,
];

/// `tanh x / x` as a quotient of polynomials of `x²`, to 22 bits for `|x|` up to [`ROUGH_MOST`]: near
/// the best ones, and such that every result is rounded to the right float16 and bfloat16.
const ROUGH: [[f64; 5]; 2] = [
    [
        1.0,
        0.1343216896057129,
        0.003556688316166401,
        2.1637548343278468e-5,
        1.4840705553353928e-8,
    ],
    [
        1.0,
        0.46765539050102234,
        0.026108305901288986,
        0.00033864862052723765,
        8.370349746655847e-7,
    ],
];
/// From here on `tanh x` is 1 to 22 bits.
const ROUGH_MOST: f64 = 8.2;

/// Where the square no longer counts beside the number: `asinh x = ln 2x` from here on.
const BIG_32: f64 = (1_u64 << 26) as f64;
const BIG_64: f64 = (1_u64 << 50) as f64;

/// `y` with the sign of `x`, or `x` itself where it is tiny.
#[inline(always)]
fn odd<L: Lane>(x: L, y: L, tiny: f64) -> L {
    L::select(x.abs().lt(L::lit(tiny)), x, flip(y, sign(x)))
}

/// `sinh x`, given a quarter of `e^|x|`: a polynomial up to 1, where `(e^|x| - e^-|x|) / 2` would
/// cancel.
#[inline(always)]
fn sine<L: Lane, const N: usize>(x: L, e: L, p: [f64; N]) -> L {
    let a = x.abs();
    let square = a * a;
    let near = (horner(square, p) * square).mul_add(a, a);
    let half = e - L::lit(0.0625) / e;
    flip(L::select(a.lt(L::lit(1.0)), near, half + half), sign(x))
}

/// `tanh x` by a polynomial for up to 5/8, `most` being where it is 1.
#[inline(always)]
fn tangent<L: Lane, const N: usize>(x: L, p: [f64; N], most: f64) -> L {
    use std::f64::consts::{LN_2, LOG2_E};
    let (one, two, most) = (L::lit(1.0), L::lit(2.0), L::lit(most));
    let a = x.abs();
    let a = L::select(most.lt(a), most, a);
    let is_near = a.lt(L::lit(0.625));
    // a = n ln 2 + r, where n is 0 for all that the polynomial alone is good for.
    let n = L::select(is_near, L::lit(0.0), a * L::lit(LOG2_E)).to_int_small();
    let r = L::from_int_small(n).mul_add(L::lit(-LN_2), a);
    let square = r * r;
    let t = horner(square, p).mul_add(square * r, r);
    // With s = e^(2n ln 2): tanh a = 1 - 2 (1 - t) / (s + 1 + (s - 1) t).
    let s = power_of_two::<L>(n.add(n));
    let far = one - t.mul_add(-two, two) / (s - one).mul_add(t, s + one);
    flip(L::select(is_near, t, far), sign(x))
}

/// `x - tanh x`, given a quarter of `e^(2|x|)`: up to 5/8, where `1 - 2 / (e^(2|x|) + 1)` would
/// cancel, it is all of the polynomial but its first term.
#[inline(always)]
fn shrunk<L: Lane, const N: usize>(x: L, e: L, p: [f64; N]) -> L {
    let a = x.abs();
    let square = a * a;
    let near = -(horner(square, p) * square * a);
    let far = (a - L::lit(1.0)) + L::lit(0.5) / (e + L::lit(0.25));
    flip(L::select(a.lt(L::lit(0.625)), near, far), sign(x))
}

/// The hyperbolic sine. At most 2 ulp; overflows to ±∞; a zero keeps its sign.
#[inline(always)]
pub fn sinh32<L: Lane>(x: L) -> L {
    let e = exp_quarter32(clamp(x.abs(), 0.0, 89.5));
    sine(x, e, SINH_32)
}

/// The hyperbolic sine. At most 2 ulp; overflows to ±∞; a zero keeps its sign.
#[inline(always)]
pub fn sinh64<L: Lane>(x: L) -> L {
    let e = exp_quarter64(clamp(x.abs(), 0.0, 710.6));
    sine(x, e, SINH_64)
}

/// The hyperbolic cosine. At most 2 ulp; overflows to ∞.
#[inline(always)]
pub fn cosh32<L: Lane>(x: L) -> L {
    let e = exp_quarter32(clamp(x.abs(), 0.0, 89.5));
    let y = e + L::lit(0.0625) / e;
    y + y
}

/// The hyperbolic cosine. At most 2 ulp; overflows to ∞.
#[inline(always)]
pub fn cosh64<L: Lane>(x: L) -> L {
    let e = exp_quarter64(clamp(x.abs(), 0.0, 710.6));
    let y = e + L::lit(0.0625) / e;
    y + y
}

/// The hyperbolic tangent. At most 2 ulp; ±1 at infinities; a zero keeps its sign.
#[inline(always)]
pub fn tanh32<L: Lane>(x: L) -> L {
    tangent(x, TANH_32, 10.0)
}

/// The hyperbolic tangent. At most 2 ulp; ±1 at infinities; a zero keeps its sign.
#[inline(always)]
pub fn tanh64<L: Lane>(x: L) -> L {
    tangent(x, TANH_64, 20.0)
}

/// The hyperbolic tangent to 21 bits, for float16 and bfloat16, of which it gives the nearest (of
/// float16 with fused steps alone); a zero keeps its sign.
#[inline(always)]
pub fn tanh_rough32<L: Lane>(x: L) -> L {
    let x = clamp(x, -ROUGH_MOST, ROUGH_MOST);
    let square = x * x;
    x * horner(square, ROUGH[0]) / horner(square, ROUGH[1])
}

/// `x - tanh x`. At most 8 ulp; ±∞ at infinities; a zero keeps its sign.
#[inline(always)]
pub fn tanhshrink32<L: Lane>(x: L) -> L {
    let e = exp_quarter32(clamp(x.abs(), 0.0, 10.0) * L::lit(2.0));
    shrunk(x, e, TANH_32)
}

/// `x - tanh x`. At most 8 ulp; ±∞ at infinities; a zero keeps its sign.
#[inline(always)]
pub fn tanhshrink64<L: Lane>(x: L) -> L {
    let e = exp_quarter64(clamp(x.abs(), 0.0, 20.0) * L::lit(2.0));
    shrunk(x, e, TANH_64)
}

/// The inverse of the hyperbolic sine. At most 2 ulp; ±∞ at infinities; a zero keeps its sign.
#[inline(always)]
pub fn asinh32<L: Lane>(x: L) -> L {
    // ln(1 + a + a² / (1 + √(1 + a²))), and ln a + ln 2 where a² might overflow.
    let (a, one) = (x.abs(), L::lit(1.0));
    let big = L::lit(BIG_32).lt(a);
    let square = a * a;
    let bent = square / (one + (square + one).sqrt());
    let (near, lost) = sum(a, bent);
    let zero = L::lit(0.0);
    let y = log1p_sum32(L::select(big, a, near), L::select(big, zero, lost));
    let y = y + L::select(big, L::lit(std::f64::consts::LN_2), zero);
    odd(x, L::select(a.lt(L::lit(f64::INFINITY)), y, a), TINY_32)
}

/// The inverse of the hyperbolic sine. At most 2 ulp; ±∞ at infinities; a zero keeps its sign.
#[inline(always)]
pub fn asinh64<L: Lane>(x: L) -> L {
    // ln(1 + a + a² / (1 + √(1 + a²))), and ln a + ln 2 where a² might overflow.
    let (a, one) = (x.abs(), L::lit(1.0));
    let big = L::lit(BIG_64).lt(a);
    let square = a * a;
    let bent = square / (one + (square + one).sqrt());
    let (near, lost) = sum(a, bent);
    let zero = L::lit(0.0);
    let y = log1p_sum64(L::select(big, a, near), L::select(big, zero, lost));
    let y = y + L::select(big, L::lit(std::f64::consts::LN_2), zero);
    odd(x, L::select(a.lt(L::lit(f64::INFINITY)), y, a), TINY_64)
}

/// The inverse of the hyperbolic cosine. At most 2 ulp; NaN below 1.
#[inline(always)]
pub fn acosh32<L: Lane>(x: L) -> L {
    // With t = x - 1 it is ln(1 + t + √(2t + t²)).
    let t = x - L::lit(1.0);
    let big = L::lit(BIG_32).lt(x);
    let (near, lost) = sum(t, (t * (t + L::lit(2.0))).sqrt());
    let zero = L::lit(0.0);
    let y = log1p_sum32(L::select(big, x, near), L::select(big, zero, lost));
    let y = y + L::select(big, L::lit(std::f64::consts::LN_2), zero);
    let y = L::select(x.lt(L::lit(f64::INFINITY)), y, x);
    L::select(x.lt(L::lit(1.0)), L::lit(f64::NAN), y)
}

/// The inverse of the hyperbolic cosine. At most 2 ulp; NaN below 1.
#[inline(always)]
pub fn acosh64<L: Lane>(x: L) -> L {
    // With t = x - 1 it is ln(1 + t + √(2t + t²)).
    let t = x - L::lit(1.0);
    let big = L::lit(BIG_64).lt(x);
    let (near, lost) = sum(t, (t * (t + L::lit(2.0))).sqrt());
    let zero = L::lit(0.0);
    let y = log1p_sum64(L::select(big, x, near), L::select(big, zero, lost));
    let y = y + L::select(big, L::lit(std::f64::consts::LN_2), zero);
    let y = L::select(x.lt(L::lit(f64::INFINITY)), y, x);
    L::select(x.lt(L::lit(1.0)), L::lit(f64::NAN), y)
}

/// The inverse of the hyperbolic tangent. At most 2 ulp; ±∞ at ±1, NaN outside; a zero keeps
/// its sign.
#[inline(always)]
pub fn atanh32<L: Lane>(x: L) -> L {
    // ln(1 + 2a + 2a² / (1 - a)) / 2.
    let (a, one) = (x.abs(), L::lit(1.0));
    let twice = a + a;
    let (near, lost) = sum(twice, twice * a / (one - a));
    let y = log1p_sum32(near, lost) * L::lit(0.5);
    let y = L::select(a.lt(one), y, L::lit(f64::NAN));
    odd(x, L::select(a.eq(one), L::lit(f64::INFINITY), y), TINY_32)
}

/// The inverse of the hyperbolic tangent. At most 2 ulp; ±∞ at ±1, NaN outside; a zero keeps
/// its sign.
#[inline(always)]
pub fn atanh64<L: Lane>(x: L) -> L {
    // ln(1 + 2a + 2a² / (1 - a)) / 2.
    let (a, one) = (x.abs(), L::lit(1.0));
    let twice = a + a;
    let (near, lost) = sum(twice, twice * a / (one - a));
    let y = log1p_sum64(near, lost) * L::lit(0.5);
    let y = L::select(a.lt(one), y, L::lit(f64::NAN));
    odd(x, L::select(a.eq(one), L::lit(f64::INFINITY), y), TINY_64)
}
