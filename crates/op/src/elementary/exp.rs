//! Exponentials.
//!
//! `x = n ln 2 + r` with a whole `n`; a polynomial gives `eʳ`, and `n` is added to the exponent.

use super::{TINY_32, TINY_64, clamp, horner, power_of_two, sum_ordered};
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded; those of `EXP_32`
// minimise the largest relative error of the result, those of `EXP2_ROUGH` and `EXP2_HALF` are near the
// ones that do, and such that every result is rounded to the right bfloat16, or float16.

/// `(eʳ - 1 - r) / r²` for `|r| ≤ ln 2 / 2`, in powers of `r`.
const EXP_32: [f64; 5] = [
    0.49999993316746055,
    0.16666518726923496,
    0.04166840955792513,
    0.008368941942609502,
    0.0013814170816023456,
];

/// The same for float64.
const EXP_64: [f64; 10] = [
    0.5000000000000001,
    0.16666666666666666,
    0.04166666666662313,
    0.008333333333329985,
    0.0013888888917710368,
    0.0001984126986343555,
    2.480152052648056e-05,
    2.7557267868262007e-06,
    2.7620453391695057e-07,
    2.5100666142918374e-08,
];

/// The same where the result may be as small as `r`.
const EXPM1_32: [f64; 6] = [
    0.5000000013701955,
    0.1666666668188549,
    0.04166646257283667,
    0.008333310664235417,
    0.0013933910353940131,
    0.000198912799526017,
];

/// The same for float64.
const EXPM1_64: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333325966,
    0.0013888888888883629,
    0.0001984126987540889,
    2.4801587325967827e-05,
    2.7557254656202336e-06,
    2.7557273111810967e-07,
    2.5105525761140995e-08,
    2.091490745304636e-09,
];

/// `(2ʳ - 1) / r` for `|r| ≤ 1/2`.
const EXP2_32: [f64; 6] = [
    0.6931471880711763,
    0.24022650760957306,
    0.05550356898627073,
    0.00961808237061666,
    0.0013390978248123866,
    0.00015453262409320672,
];

/// The same for float64.
const EXP2_64: [f64; 12] = [
    std::f64::consts::LN_2,
    0.24022650695910072,
    0.055504108664821625,
    0.00961812910762848,
    0.0013333558146406293,
    0.00015403530393370645,
    1.5252733841782436e-05,
    1.321548680881726e-06,
    1.01780569717918e-07,
    7.054897246767236e-09,
    4.4558384999982015e-10,
    2.5729426100386432e-11,
];

/// `2ʳ` for `|r| ≤ 1/2` to 17.5 bits.
const EXP2_ROUGH: [f64; 5] = [
    1.0,
    0.6931223273277283,
    0.2402481734752655,
    0.055916864424943924,
    0.009568441659212112,
];

/// The same to 19.5 bits.
const EXP2_HALF: [f64; 6] = [
    0.9999999403953552,
    0.6931471824645996,
    0.2402350753545761,
    0.05550669506192207,
    0.009609594941139221,
    0.0013080565258860588,
];

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// `ln 2` as a head with so few digits that its product with `n` is exact, and the rest.
const LN_2_32: (f64, f64) = (0.693115234375, 3.1946184945309415e-05);
const LN_2_64: (f64, f64) = (0.6931471803691238, 1.9082149292705877e-10);

/// The whole number `n` nearest to `x / ln 2`, as an integer and as a float, and `x` minus the head
/// of `n ln 2`, which is exact.
#[inline(always)]
fn reduce<L: Lane>(x: L, ln_2: (f64, f64)) -> (L::Bits, L, L) {
    let (n, whole) = x.whole_product(L::lit(LOG2_E));
    (n, whole, whole.mul_add(L::lit(-ln_2.0), x))
}

/// `y` times two to the power of `n`, in two steps so that neither factor leaves the range: the
/// second is fixed, and `n` may be negative only where `below` is set, positive where it is not.
#[inline(always)]
fn scale<L: Lane>(y: L, n: L::Bits, below: L::Mask) -> L {
    let quarter_range = L::Bits::lit((L::BIAS + 1) / 2);
    let up = power_of_two::<L>(quarter_range);
    let down = power_of_two::<L>(L::Bits::lit(0).sub(quarter_range));
    let (fixed, inverse) = (L::select(below, down, up), L::select(below, up, down));
    y * L::from_bits(inverse.to_bits().add(n.shl(L::MANTISSA))) * fixed
}

/// `eˣ` as `y` and `n` with `eˣ = y 2ⁿ`, for an `x` for which `n` is small.
#[inline(always)]
fn exp_parts<L: Lane, const N: usize>(x: L, p: [f64; N], ln_2: (f64, f64)) -> (L, L::Bits) {
    let (n, whole, head) = reduce(x, ln_2);
    let r = whole.mul_add(L::lit(-ln_2.1), head);
    let one = L::lit(1.0);
    (horner(r, p).mul_add(r, one).mul_add(r, one), n)
}

/// `eˣ` for results that are normal numbers: `n` is added to the exponent in one step.
#[inline(always)]
fn exp_normal<L: Lane, const N: usize>(x: L, p: [f64; N], ln_2: (f64, f64)) -> L {
    let (y, n) = exp_parts(x, p, ln_2);
    L::from_bits(y.to_bits().add(n.shl(L::MANTISSA)))
}

/// Below this magnitude [`exp_near32`] holds.
pub const EXP_NEAR_32: f64 = 87.0;
/// Below this magnitude [`exp_near64`] holds.
pub const EXP_NEAR_64: f64 = 708.0;

/// The exponential, bit for bit as [`exp32`] has it, for magnitudes below [`EXP_NEAR_32`].
#[inline(always)]
pub fn exp_near32<L: Lane>(x: L) -> L {
    exp_normal(x, EXP_32, LN_2_32)
}

/// The exponential, bit for bit as [`exp64`] has it, for magnitudes below [`EXP_NEAR_64`].
#[inline(always)]
pub fn exp_near64<L: Lane>(x: L) -> L {
    exp_normal(x, EXP_64, LN_2_64)
}

/// The exponential. At most 1.1 ulp; results fade through the subnormals to 0, and overflow to ∞.
#[inline(always)]
pub fn exp32<L: Lane>(x: L) -> L {
    let (y, n) = exp_parts(clamp(x, -104.0, 89.0), EXP_32, LN_2_32);
    scale(y, n, x.lt(L::lit(0.0)))
}

/// The exponential. At most 1.1 ulp; results fade through the subnormals to 0, and overflow to ∞.
#[inline(always)]
pub fn exp64<L: Lane>(x: L) -> L {
    let (y, n) = exp_parts(clamp(x, -746.0, 710.0), EXP_64, LN_2_64);
    scale(y, n, x.lt(L::lit(0.0)))
}

/// The parts of [`exp_parts`] to fewer digits: powers of two, whose exponents are a product's digits
/// after the point.
#[inline(always)]
fn rough_parts<L: Lane, const N: usize>(x: L, p: [f64; N]) -> (L, L::Bits) {
    let log2_e = L::lit(LOG2_E);
    let (n, whole) = x.whole_product(log2_e);
    (horner(x.mul_add(log2_e, -whole), p), n)
}

#[inline(always)]
fn rough<L: Lane, const N: usize>(x: L, p: [f64; N]) -> L {
    let (y, n) = rough_parts(clamp(x, -104.0, 89.0), p);
    scale(y, n, x.lt(L::lit(0.0)))
}

#[inline(always)]
fn rough_near<L: Lane, const N: usize>(x: L, p: [f64; N]) -> L {
    let (y, n) = rough_parts(x, p);
    L::from_bits(y.to_bits().add(n.shl(L::MANTISSA)))
}

/// The exponential to 17.5 bits, 16.5 without fused steps, for bfloat16, of which it gives the nearest.
#[inline(always)]
pub fn exp_rough32<L: Lane>(x: L) -> L {
    rough(x, EXP2_ROUGH)
}

/// The same, bit for bit, for magnitudes below [`EXP_NEAR_32`].
#[inline(always)]
pub fn exp_rough_near32<L: Lane>(x: L) -> L {
    rough_near(x, EXP2_ROUGH)
}

/// The exponential for float16, of which it gives the nearest with fused steps.
#[inline(always)]
pub fn exp_half32<L: Lane>(x: L) -> L {
    rough(x, EXP2_HALF)
}

/// The same, bit for bit, for magnitudes below [`EXP_NEAR_32`].
#[inline(always)]
pub fn exp_half_near32<L: Lane>(x: L) -> L {
    rough_near(x, EXP2_HALF)
}

/// An exponential that is to be multiplied before it is scaled and rounded.
#[derive(Clone, Copy)]
pub(super) struct Unscaled<L: Lane> {
    /// From about `√½` to `√2`.
    pub y: L,
    /// What the rounding of `y` left out.
    pub rest: L,
    n: L::Bits,
}

impl<L: Lane> Unscaled<L> {
    /// A value that took the place of `y`, scaled.
    #[inline(always)]
    pub(super) fn scale(self, y: L) -> L {
        scale(y, self.n, self.n.lt(L::Bits::lit(0)))
    }
}

/// `exp(x + rest)` for a `rest` below the last digit of `x`.
#[inline(always)]
fn unscaled<L: Lane, const N: usize>(x: L, rest: L, p: [f64; N], ln_2: (f64, f64)) -> Unscaled<L> {
    let (n, whole, head) = reduce(x, ln_2);
    let r = whole.mul_add(L::lit(-ln_2.1), head) + rest;
    let (y, rest) = sum_ordered(L::lit(1.0), horner(r, p).mul_add(r * r, r));
    Unscaled { y, rest, n }
}

/// `exp(x + rest)` as `y` and `n` with `y 2ⁿ`, for a `rest` below the last digit of `x`.
#[inline(always)]
pub(super) fn exp_parts_of_sum32<L: Lane>(x: L, rest: L) -> (L, L::Bits) {
    let (n, whole, head) = reduce(x, LN_2_32);
    let r = whole.mul_add(L::lit(-LN_2_32.1), head) + rest;
    let one = L::lit(1.0);
    (horner(r, EXP_32).mul_add(r, one).mul_add(r, one), n)
}

/// `exp(x + rest)` for `x` from -110 to 88 and a `rest` below its last digit.
#[inline(always)]
pub(super) fn exp_unscaled32<L: Lane>(x: L, rest: L) -> Unscaled<L> {
    unscaled(x, rest, EXPM1_32, LN_2_32)
}

/// `exp(x + rest)` for `x` from -760 to 709 and a `rest` below its last digit.
#[inline(always)]
pub(super) fn exp_unscaled64<L: Lane>(x: L, rest: L) -> Unscaled<L> {
    unscaled(x, rest, EXPM1_64, LN_2_64)
}

/// A quarter of `eˣ`, for `x` from -80 to 89.5.
#[inline(always)]
pub(super) fn exp_quarter32<L: Lane>(x: L) -> L {
    let (y, n) = exp_parts(x, EXP_32, LN_2_32);
    y * power_of_two::<L>(n.sub(L::Bits::lit(2)))
}

/// A quarter of `eˣ`, for `x` from -700 to 710.6.
#[inline(always)]
pub(super) fn exp_quarter64<L: Lane>(x: L) -> L {
    let (y, n) = exp_parts(x, EXP_64, LN_2_64);
    y * power_of_two::<L>(n.sub(L::Bits::lit(2)))
}

/// Two to the power of `x + rest`, for an `x` for which its nearest integer is small.
#[inline(always)]
fn exp2_sum<L: Lane, const N: usize>(x: L, rest: L, p: [f64; N]) -> L {
    let n = x.to_int_small();
    let r = (x - L::from_int_small(n)) + rest;
    scale(horner(r, p).mul_add(r, L::lit(1.0)), n, x.lt(L::lit(0.0)))
}

/// Two to the power of `x + rest`, for a `rest` below the last digit of `x`, and 0 where `x` is out
/// of range.
#[inline(always)]
pub(super) fn exp2_sum32<L: Lane>(x: L, rest: L) -> L {
    exp2_sum(clamp(x, -151.0, 129.0), rest, EXP2_32)
}

/// Two to the power of `x + rest`, for a `rest` below the last digit of `x`, and 0 where `x` is out
/// of range.
#[inline(always)]
pub(super) fn exp2_sum64<L: Lane>(x: L, rest: L) -> L {
    exp2_sum(clamp(x, -1076.0, 1025.0), rest, EXP2_64)
}

/// Two to the power of `x`. At most 1.2 ulp, and exact for whole `x`.
#[inline(always)]
pub fn exp2_32<L: Lane>(x: L) -> L {
    exp2_sum32(x, L::lit(0.0))
}

/// Two to the power of `x`. At most 1.2 ulp, and exact for whole `x`.
#[inline(always)]
pub fn exp2_64<L: Lane>(x: L) -> L {
    exp2_sum64(x, L::lit(0.0))
}

/// `eˣ - 1` to full relative precision, where it neither overflows nor `x / 4` is subnormal.
#[inline(always)]
fn minus_one<L: Lane, const N: usize>(x: L, p: [f64; N], ln_2: (f64, f64)) -> L {
    let (n, whole, head) = reduce(x, ln_2);
    let tail = whole * L::lit(ln_2.1);
    let r = head - tail;
    let rest = (head - r) - tail;
    // A quarter of two to the power of `n`, for the whole may be out of range.
    let m = power_of_two::<L>(n.sub(L::Bits::lit(2)));
    let bent = horner(r, p).mul_add(r * r, rest);
    // (m - 1/4) + m r, and what that sum rounds away.
    let (a, b) = (m - L::lit(0.25), m * r);
    let sum = a + b;
    (sum + bent.mul_add(m, (a - sum) + b)) * L::lit(4.0)
}

/// `eˣ - 1`, precise also near 0. At most 1.1 ulp; -1 at -∞; a zero keeps its sign.
#[inline(always)]
pub fn expm1_32<L: Lane>(x: L) -> L {
    let y = minus_one(clamp(x, -20.0, 89.0), EXPM1_32, LN_2_32);
    L::select(x.abs().lt(L::lit(TINY_32)), x, y)
}

/// `eˣ - 1`, precise also near 0. At most 1.1 ulp; -1 at -∞; a zero keeps its sign.
#[inline(always)]
pub fn expm1_64<L: Lane>(x: L) -> L {
    let y = minus_one(clamp(x, -40.0, 710.0), EXPM1_64, LN_2_64);
    L::select(x.abs().lt(L::lit(TINY_64)), x, y)
}
