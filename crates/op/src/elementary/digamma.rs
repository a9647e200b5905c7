//! The digamma function, the derivative of `ln Γ`.
//!
//! Up to 5/2 a rational function, which has the zero as a factor; beyond it the logarithm and a
//! polynomial; below 0 the reflection `ψ(-a) = ψ(1 + a) + π cot(πa)`.

use super::log::{log_parts32, log_parts64};
use super::{flip, horner, sign, sum, sum_ordered};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 70 digits, then rounded.

/// `ψ(x) / (x - x₀) - 1` in powers of `x - 7/4`, for `x` from 1 to 5/2, `x₀` being the zero: a
/// numerator.
const CENTER_32: [f64; 5] = [
    -0.14181678297539352,
    -0.47826516273130865,
    -0.24079770425344052,
    -0.02915760056791415,
    -4.440455198330971e-05,
];

/// Its denominator.
const CENTER_BELOW_32: [f64; 4] = [
    1.0,
    1.0718797303861174,
    0.3399604740019981,
    0.030829875971492022,
];

/// The same for float64.
const CENTER_64: [f64; 7] = [
    -0.14181678287370048,
    -0.5387379804224081,
    -0.4505806505456533,
    -0.15170349782984366,
    -0.022921941081814952,
    -0.001444827647829277,
    -2.707082622846757e-05,
];

/// Its denominator.
const CENTER_BELOW_64: [f64; 7] = [
    1.0,
    1.4982948297701566,
    0.8382304221369526,
    0.2210853319683423,
    0.028249640732313345,
    0.0015792517957379725,
    2.730058779741159e-05,
];

/// `x² (ln x - 1/(2x) - ψ(x))` in powers of `1/x²`, for `x ≥ 5/2`.
const FAR_32: [f64; 5] = [
    0.08333333189547608,
    -0.008332879801948714,
    0.003944458373585603,
    -0.003702698671611221,
    0.0033388989329076716,
];

/// The same for float64.
const FAR_64: [f64; 14] = [
    0.08333333333333327,
    -0.008333333333172483,
    0.003968253901552892,
    -0.0041666555790601705,
    0.00757477549863857,
    -0.02103925711040969,
    0.08136951730856672,
    -0.39153496701913143,
    2.016786241801458,
    -9.536094055886467,
    36.41520181835897,
    -100.25803909760218,
    172.67957008683638,
    -138.07538488499677,
];

/// `((1/r - π cot(πr)) / r - π²/3) / r²` in powers of `r²`, for `|r| ≤ 1/2`.
const COT_32: [f64; 7] = [
    2.1646465067587215,
    2.034670743418737,
    2.0091262046060514,
    1.979275695385968,
    2.248463844281983,
    0.6600745885514788,
    5.2796769968747705,
];

/// The same for float64.
const COT_64: [f64; 14] = [
    2.164646467422276,
    2.0346861239695047,
    2.008154712238789,
    2.001989166247625,
    2.000491326275859,
    2.000149259767231,
    1.9994850412200702,
    2.0075118596251693,
    1.9286185992562266,
    2.4730958322473966,
    -0.1633275301437184,
    8.601922889626815,
    -10.4529695441004,
    13.937292737130276,
];

/// `π²/3` as the nearest number and the rest.
const COT_CONSTANT_32: (f64, f64) = (3.289868116378784, 1.7317668693257332e-08);
const COT_CONSTANT_64: (f64, f64) = (3.289868133696453, 6.081344700796952e-17);

/// `x₀ - 1` in the same way.
const ZERO_32: (f64, f64) = (0.4616321325302124, 1.2438149938918909e-08);
const ZERO_64: (f64, f64) = (0.46163214496836236, -1.5522348162858677e-17);

/// `ψ` of `a` as a rounded value and the rest, from 1 to 5/2; of `1 + a` below 1.
#[inline(always)]
fn center<L: Lane, const P: usize, const Q: usize>(
    a: L,
    p: [f64; P],
    q: [f64; Q],
    zero: (f64, f64),
) -> (L, L) {
    let one = L::lit(1.0);
    let u = L::select(a.lt(one), a, a - one);
    let (d, lost) = sum(u, L::lit(-zero.0));
    let d_rest = lost - L::lit(zero.1);
    let t = u - L::lit(0.75);
    let bent = horner(t, p) / horner(t, q);
    sum_ordered(d, (d + d_rest).mul_add(bent, d_rest))
}

/// `ψ(a)` for `a > 5/2` as a rounded value and the rest, given its logarithm in the same way.
#[inline(always)]
fn far<L: Lane, const N: usize>(a: L, (log, log_rest): (L, L), v: [f64; N]) -> (L, L) {
    let inverse = L::lit(1.0) / a;
    let t = inverse * inverse;
    let less = inverse.mul_add(L::lit(0.5), horner(t, v) * t);
    sum_ordered(log, log_rest - less)
}

/// `1/x` as a rounded value and the rest, which is 0 where the value is too large to have one.
#[inline(always)]
fn inverse<L: Lane>(x: L) -> (L, L) {
    let one = L::lit(1.0);
    let y = one / x;
    let (product, lost) = x.mul_exact(y);
    let rest = ((one - product) - lost) * y;
    let in_range = y.abs().lt(L::lit((1_u64 << 60) as f64));
    (y, L::select(in_range, rest, L::lit(0.0)))
}

/// `1/r - π cot(πr)` as a rounded value and the rest.
#[inline(always)]
fn cotangent<L: Lane, const N: usize>(r: L, c: [f64; N], constant: (f64, f64)) -> (L, L) {
    let z = r * r;
    let (product, lost) = r.mul_exact(L::lit(constant.0));
    let bent = horner(z, c).mul_add(z, L::lit(constant.1));
    sum_ordered(product, bent.mul_add(r, lost))
}

/// How far a number is above the nearest whole number.
#[inline(always)]
fn fraction<L: Lane>(a: L) -> L {
    a - a.round()
}

/// `ψ(x)` from `ψ` of the magnitude, and `1/r - π cot(πr)` for its distance `r` to a whole number.
#[inline(always)]
fn join<L: Lane>(x: L, center: (L, L), far: (L, L), r: L, cotangent: (L, L)) -> L {
    let (a, zero) = (x.abs(), L::lit(0.0));
    let is_far = L::lit(2.5).lt(a);
    let head = L::select(is_far, far.0, center.0);
    let rest = L::select(is_far, far.1, center.1);
    let (negative, small) = (x.lt(zero), a.lt(L::lit(1.0)));

    // Above 0: -1/a below 1. Below 0: 1/r, minus the cotangent, and 1/a from 1 on.
    let used = negative | small;
    let (pole, pole_rest) = inverse(L::select(negative, r, -a));
    let pole = L::select(used, pole, zero);
    let rest = rest + L::select(used, pole_rest, zero);
    let step = L::select(small, zero, L::lit(1.0) / a);
    let (bent, bent_rest) = cotangent;
    let (bend, lost) = sum(step, -bent);
    let bend = L::select(negative, bend, zero);
    let rest = rest + L::select(negative, lost - bent_rest, zero);

    let (first, lost) = sum(head, pole);
    let (total, lost_too) = sum(first, bend);
    let y = total + (rest + (lost + lost_too));
    // An infinite sum is lost in its rest.
    let infinity = L::lit(f64::INFINITY);
    let y = L::select(first.abs().lt(infinity), y, first);
    let y = L::select(negative & r.eq(zero), L::lit(f64::NAN), y);
    let y = L::select(a.eq(zero), flip(L::lit(f64::NEG_INFINITY), sign(x)), y);
    let y = L::select(x.eq(infinity), x, y);
    L::select(
        x.lt(infinity) & L::lit(f64::NEG_INFINITY).lt(x) | x.eq(infinity),
        y,
        L::lit(f64::NAN),
    )
}

/// The derivative of `ln Γ`. At most 2 ulp, and 2 ulp of one where the result is smaller than that;
/// ∓∞ at ±0, NaN at negative whole numbers and at -∞.
#[inline(always)]
pub fn digamma32<L: Lane>(x: L) -> L {
    let a = x.abs();
    let r = fraction(a);
    join(
        x,
        center(a, CENTER_32, CENTER_BELOW_32, ZERO_32),
        far(a, log_parts32(a), FAR_32),
        r,
        cotangent(r, COT_32, COT_CONSTANT_32),
    )
}

/// The derivative of `ln Γ`. At most 2 ulp, and 2 ulp of one where the result is smaller than that;
/// ∓∞ at ±0, NaN at negative whole numbers and at -∞.
#[inline(always)]
pub fn digamma64<L: Lane>(x: L) -> L {
    let a = x.abs();
    let r = fraction(a);
    join(
        x,
        center(a, CENTER_64, CENTER_BELOW_64, ZERO_64),
        far(a, log_parts64(a), FAR_64),
        r,
        cotangent(r, COT_64, COT_CONSTANT_64),
    )
}
