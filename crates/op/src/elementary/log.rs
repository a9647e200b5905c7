//! Logarithms.
//!
//! `x = 2ᵏ (1 + f)` with `1 + f` from `√½` to `√2`, and `ln(1 + f) = f - f²/2 + tail`.

use super::{TINY_32, TINY_64, horner, sum_ordered};
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(ln(1 + f) - f + f²/2) / f³` for `1 + f` from `√½` to `√2`.
const LOG_32: [f64; 9] = [
    0.33333331180030046,
    -0.24999996957950882,
    0.20000715748892103,
    -0.16667802319501254,
    0.1424905764569748,
    -0.12425687331451106,
    0.1168541992348674,
    -0.11479733846637637,
    0.06971611471451178,
];

/// `(2 artanh(s) - 2s) / s³` in powers of `s²`, for `s = f / (2 + f)`.
const LOG_64: [f64; 7] = [
    0.666666666666667,
    0.3999999999989889,
    0.28571428626253836,
    0.22222211089379496,
    0.1818289243253687,
    0.15331611722055008,
    0.14617807153417325,
];

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

/// `2/3` as the nearest number and the rest.
const TWO_THIRDS_32: (f64, f64) = (0.6666666865348816, -1.9868214925130207e-08);
const TWO_THIRDS_64: (f64, f64) = (0.6666666666666666, 3.700743415417188e-17);

/// `ln 2` as a head with so few digits that its product with `k` is exact, and the rest.
const LN_2_32: (f64, f64) = (0.693115234375, 3.1946184945309415e-05);
const LN_2_64: (f64, f64) = (0.6931471805592082, 7.371002565167799e-13);
/// `log₂ e`, `log₁₀ e` and `log₁₀ 2` in the same way; the first two for half the digits.
const LOG2_E_32: (f64, f64) = (1.4423828125, 0.00031222838896340733);
const LOG2_E_64: (f64, f64) = (1.4426950216293335, 1.9259629911266175e-08);
const LOG10_E_32: (f64, f64) = (0.4342041015625, 9.038034075182765e-05);
const LOG10_E_64: (f64, f64) = (0.4342944771051407, 4.798111141615973e-09);
const LOG10_2_32: (f64, f64) = (0.301025390625, 4.605038981195214e-06);
const LOG10_2_64: (f64, f64) = (0.30102999566361177, 3.694239077158931e-13);

/// A number as `2ᵏ (1 + f)` and the parts of `ln(1 + f) = f - half + tail`.
#[derive(Clone, Copy)]
struct Parts<L> {
    k: L,
    f: L,
    /// `f² / 2`.
    half: L,
    tail: L,
}

/// `k` and `1 + f` of a positive normal number; `low` is the bits of `√½`.
#[inline(always)]
fn split<L: Lane>(x: L, low: i64) -> (L, L) {
    let bits = x.to_bits();
    let k = bits.sub(L::Bits::lit(low)).shr(L::MANTISSA);
    (
        L::from_int_small(k),
        L::from_bits(bits.sub(k.shl(L::MANTISSA))),
    )
}

/// The same for any positive number: subnormals are scaled up first.
#[inline(always)]
pub(super) fn split_any<L: Lane>(x: L, low: i64, least_normal: f64) -> (L, L) {
    let up = L::MANTISSA + 1;
    let tiny = x.lt(L::lit(least_normal));
    let (k, m) = split(L::select(tiny, x * L::lit((1_u64 << up) as f64), x), low);
    (k - L::select(tiny, L::lit(f64::from(up)), L::lit(0.0)), m)
}

#[inline(always)]
fn parts32<L: Lane>((k, m): (L, L)) -> Parts<L> {
    let f = m - L::lit(1.0);
    let square = f * f;
    Parts {
        k,
        f,
        half: square * L::lit(0.5),
        tail: horner(f, LOG_32) * (square * f),
    }
}

#[inline(always)]
fn parts64<L: Lane>((k, m): (L, L)) -> Parts<L> {
    let f = m - L::lit(1.0);
    let half = f * f * L::lit(0.5);
    let s = f / (f + L::lit(2.0));
    let square = s * s;
    Parts {
        k,
        f,
        half,
        tail: s * horner(square, LOG_64).mul_add(square, half),
    }
}

#[inline(always)]
fn parts_any32<L: Lane>(x: L) -> Parts<L> {
    parts32(split_any(x, 0x3f35_04f3, f32::MIN_POSITIVE.into()))
}

#[inline(always)]
fn parts_any64<L: Lane>(x: L) -> Parts<L> {
    parts64(split_any(x, 0x3fe6_a09e_667f_3bcd, f64::MIN_POSITIVE))
}

/// `k ln 2 + ln(1 + f) + rest`, for a small `rest`.
#[inline(always)]
fn natural<L: Lane>(p: Parts<L>, rest: L, ln_2: (f64, f64)) -> L {
    let small = p.k.mul_add(L::lit(ln_2.1), rest) + p.tail;
    p.k.mul_add(L::lit(ln_2.0), p.f - (p.half - small))
}

/// `k log 2 + log(1 + f)` to the base of which `log_2` and `log_e` are the logarithms. The sum is
/// kept in two values, for the product with `log_e` would cost digits.
#[inline(always)]
fn to_base<L: Lane>(p: Parts<L>, log_2: (f64, f64), log_e: (f64, f64)) -> L {
    let cut = L::Bits::lit(-1 << (L::MANTISSA / 2 + 1));
    let high = L::from_bits((p.f - p.half).to_bits() & cut);
    let low = ((p.f - high) - p.half) + p.tail;
    let head = high * L::lit(log_e.0);
    let rest = (low + high).mul_add(L::lit(log_e.1), low * L::lit(log_e.0));
    let whole = p.k * L::lit(log_2.0);
    let sum = whole + head;
    sum + ((whole - sum) + head + p.k.mul_add(L::lit(log_2.1), rest))
}

/// `y`, or what belongs to an `x` that has no logarithm: -∞ at zeros, NaN below, ∞ at ∞.
#[inline(always)]
fn with_ends<L: Lane>(x: L, y: L) -> L {
    let y = L::select(x.lt(L::lit(f64::INFINITY)), y, x);
    let y = L::select(x.lt(L::lit(0.0)), L::lit(f64::NAN), y);
    L::select(x.eq(L::lit(0.0)), L::lit(f64::NEG_INFINITY), y)
}

/// The natural logarithm. At most 1 ulp; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log32<L: Lane>(x: L) -> L {
    with_ends(x, natural(parts_any32(x), L::lit(0.0), LN_2_32))
}

/// The natural logarithm. At most 1 ulp; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log64<L: Lane>(x: L) -> L {
    with_ends(x, natural(parts_any64(x), L::lit(0.0), LN_2_64))
}

/// The logarithm to base 2. At most 1 ulp, and exact at powers of two; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log2_32<L: Lane>(x: L) -> L {
    with_ends(x, to_base(parts_any32(x), (1.0, 0.0), LOG2_E_32))
}

/// The logarithm to base 2. At most 1 ulp, and exact at powers of two; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log2_64<L: Lane>(x: L) -> L {
    with_ends(x, to_base(parts_any64(x), (1.0, 0.0), LOG2_E_64))
}

/// The logarithm to base 10. At most 1 ulp; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log10_32<L: Lane>(x: L) -> L {
    with_ends(x, to_base(parts_any32(x), LOG10_2_32, LOG10_E_32))
}

/// The logarithm to base 10. At most 1 ulp; -∞ at zeros, NaN below.
#[inline(always)]
pub fn log10_64<L: Lane>(x: L) -> L {
    with_ends(x, to_base(parts_any64(x), LOG10_2_64, LOG10_E_64))
}

/// `1 + x` as the rounded sum, and what the rounding left out relative to the sum.
#[inline(always)]
fn one_plus<L: Lane>(x: L, rest: L) -> (L, L) {
    let one = L::lit(1.0);
    let sum = x + one;
    let lost = L::select(x.lt(one), x - (sum - one), one - (sum - x));
    (sum, (lost + rest) / sum)
}

/// `ln(1 + x + rest)` for finite `x > -1` and a `rest` below the last digit of `x`.
#[inline(always)]
pub(super) fn log1p_sum32<L: Lane>(x: L, rest: L) -> L {
    let (sum, lost) = one_plus(x, rest);
    natural(parts32(split(sum, 0x3f35_04f3)), lost, LN_2_32)
}

/// `ln(1 + x + rest)` for finite `x > -1` and a `rest` below the last digit of `x`.
#[inline(always)]
pub(super) fn log1p_sum64<L: Lane>(x: L, rest: L) -> L {
    let (sum, lost) = one_plus(x, rest);
    natural(parts64(split(sum, 0x3fe6_a09e_667f_3bcd)), lost, LN_2_64)
}

/// `ln(1 + x)`, precise also near 0. At most 1 ulp; -∞ at -1, NaN below; a zero keeps its sign.
#[inline(always)]
pub fn log1p_32<L: Lane>(x: L) -> L {
    let y = with_ends(x + L::lit(1.0), log1p_sum32(x, L::lit(0.0)));
    L::select(x.abs().lt(L::lit(TINY_32)), x, y)
}

/// `ln(1 + x)`, precise also near 0. At most 1 ulp; -∞ at -1, NaN below; a zero keeps its sign.
#[inline(always)]
pub fn log1p_64<L: Lane>(x: L) -> L {
    let y = with_ends(x + L::lit(1.0), log1p_sum64(x, L::lit(0.0)));
    L::select(x.abs().lt(L::lit(TINY_64)), x, y)
}

/// `ln m` as a rounded value and the rest, for `m` from `√½` to `√2`: with
/// `s = (m - 1) / (m + 1)` it is `2s + s³ (2/3 + s² p(s²))`.
#[inline(always)]
fn log_reduced<L: Lane, const N: usize>(m: L, p: [f64; N], two_thirds: (f64, f64)) -> (L, L) {
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
    (log, (s_rest + s_rest) + (v_rest + lost))
}

/// `ln m` as a rounded value and the rest, for `m` from `√½` to `√2`.
#[inline(always)]
pub(super) fn log_reduced32<L: Lane>(m: L) -> (L, L) {
    log_reduced(m, ARTANH_32, TWO_THIRDS_32)
}

/// `ln m` as a rounded value and the rest, for `m` from `√½` to `√2`.
#[inline(always)]
pub(super) fn log_reduced64<L: Lane>(m: L) -> (L, L) {
    log_reduced(m, ARTANH_64, TWO_THIRDS_64)
}

/// `k ln 2 + ln m` in the same way.
#[inline(always)]
fn unreduced<L: Lane>(k: L, (log, log_rest): (L, L), ln_2: (f64, f64)) -> (L, L) {
    let (head, lost) = sum_ordered(k * L::lit(ln_2.0), log);
    sum_ordered(head, k.mul_add(L::lit(ln_2.1), log_rest + lost))
}

/// `ln x` as a rounded value and the rest, for positive finite numbers.
#[inline(always)]
pub(crate) fn log_parts32<L: Lane>(x: L) -> (L, L) {
    let (k, m) = split_any(x, 0x3f35_04f3, f32::MIN_POSITIVE.into());
    unreduced(k, log_reduced32(m), LN_2_32)
}

/// `ln x` as a rounded value and the rest, for positive finite numbers.
#[inline(always)]
pub(crate) fn log_parts64<L: Lane>(x: L) -> (L, L) {
    let (k, m) = split_any(x, 0x3fe6_a09e_667f_3bcd, f64::MIN_POSITIVE);
    unreduced(k, log_reduced64(m), LN_2_64)
}
