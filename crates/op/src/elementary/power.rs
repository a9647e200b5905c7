//! Powers.
//!
//! `|x|ʸ = 2^(y log₂ |x|)`, where the logarithm is kept in two values: an error of it grows with
//! the exponent of the result.

use super::exp::{exp2_sum32, exp2_sum64};
use super::log::split_any;
use super::{flip, horner, sign, sum_ordered};
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(2 artanh(s)/s - 2 - 2/3 s²) / s⁴` in powers of `s²`.
const ARTANH_32: [f64; 4] = [
    0.3999999990458559,
    0.28571532106035885,
    0.2220472991401235,
    0.1912132996108538,
];

/// The same for float64.
const ARTANH_64: [f64; 8] = [
    0.4,
    0.2857142857142937,
    0.22222222221652765,
    0.18181818336099845,
    0.1538459488700718,
    0.1333480879881234,
    0.11706126464563398,
    0.11724327060846747,
];

/// `2/3` and `log₂ e`, each as the nearest number and the rest.
const TWO_THIRDS_32: (f64, f64) = (0.6666666865348816, -1.9868214925130207e-08);
const TWO_THIRDS_64: (f64, f64) = (0.6666666666666666, 3.700743415417188e-17);
const LOG2_E_32: (f64, f64) = (1.4426950216293335, 1.9259629911266175e-08);
const LOG2_E_64: (f64, f64) = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);

/// `k + log₂ m` as a rounded value and the rest, for `m` from `√½` to `√2`: with
/// `s = (m - 1) / (m + 1)` it is `k + (2s + s³ (2/3 + s² p(s²))) log₂ e`.
#[inline(always)]
fn log2_parts<L: Lane, const N: usize>(
    (k, m): (L, L),
    p: [f64; N],
    two_thirds: (f64, f64),
    log2_e: (f64, f64),
) -> (L, L) {
    let one = L::lit(1.0);
    let f = m - one;
    // m may be the larger of the two, by less than a binade: this order is exact too.
    let (below, below_rest) =
        sum_ordered(L::select(one.lt(m), m, one), L::select(one.lt(m), one, m));
    let s = f / below;
    let (product, lost) = s.mul_exact(below);
    let s_rest = (((f - product) - lost) - s * below_rest) / below;
    let (z, lost) = s.mul_exact(s);
    let z_rest = (s + s).mul_add(s_rest, lost);
    let (c, c_rest) = sum_ordered(L::lit(two_thirds.0), horner(z, p) * z);
    let c_rest = c_rest + L::lit(two_thirds.1);
    let (u, lost) = z.mul_exact(c);
    let u_rest = z.mul_add(c_rest, z_rest.mul_add(c, lost));
    let (v, lost) = s.mul_exact(u);
    let v_rest = s.mul_add(u_rest, s_rest.mul_add(u, lost));
    let (log, lost) = sum_ordered(s + s, v);
    let log_rest = (s_rest + s_rest) + (v_rest + lost);
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
    let split = split_any(x.abs(), 0x3f35_04f3, f32::MIN_POSITIVE.into());
    let log = log2_parts(split, ARTANH_32, TWO_THIRDS_32, LOG2_E_32);
    let (exponent, rest) = times(y, log, 160.0);
    with_special_cases(x, y, exp2_sum32(exponent, rest))
}

/// `x` to the power of `y`. At most 2 ulp; special cases as in C: 1 where `y` is 0 or `x` is 1, even
/// beside NaN; NaN for a negative `x` and a `y` that is not whole.
#[inline(always)]
pub fn pow64<L: Lane>(x: L, y: L) -> L {
    let split = split_any(x.abs(), 0x3fe6_a09e_667f_3bcd, f64::MIN_POSITIVE);
    let log = log2_parts(split, ARTANH_64, TWO_THIRDS_64, LOG2_E_64);
    let (exponent, rest) = times(y, log, 1100.0);
    with_special_cases(x, y, exp2_sum64(exponent, rest))
}
