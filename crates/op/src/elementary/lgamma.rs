//! The logarithm of the gamma function.
//!
//! Up to 5/2 a rational function, which has the zeros at 1 and 2 as factors; beyond it Stirling's
//! formula; below 0 the reflection `Γ(-a) Γ(1 + a) = -π / sin(πa)`. Sums are kept in two values:
//! their terms may cancel.

use super::log::{log_parts32, log_parts64};
use super::{horner, sum, sum_ordered};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 70 digits, then rounded.

/// `ln Γ(x) / ((x - 1)(x - 2)) - 1/2` in powers of `x - 7/4`, for `x` from 1 to 5/2: a numerator.
const CENTER_32: [f64; 5] = [
    -0.04986068805955575,
    -0.17301374037241224,
    -0.10122036752941764,
    -0.014751137604641008,
    -5.129631961297353e-05,
];

/// Its denominator.
const CENTER_BELOW_32: [f64; 4] = [
    1.0,
    1.0736344852897701,
    0.3502011925529247,
    0.03315758492934266,
];

/// The same for float64.
const CENTER_64: [f64; 9] = [
    -0.0498606878907437,
    -0.2325441891654319,
    -0.3305747072945091,
    -0.21766787806478427,
    -0.07441278428266207,
    -0.013210131341815975,
    -0.0011013357690638206,
    -3.1588196489489294e-05,
    -8.132976131980632e-09,
];

/// Its denominator.
const CENTER_BELOW_64: [f64; 8] = [
    1.0,
    2.267570050135198,
    2.089066387275438,
    1.002035642044255,
    0.2660278583992841,
    0.03821915538206035,
    0.0026583650856454645,
    6.523138306954607e-05,
];

/// `x` times what Stirling's formula leaves out, in powers of `1/x²`, for `x ≥ 5/2`.
const STIRLING_32: [f64; 5] = [
    0.08333333318250694,
    -0.002777730267917978,
    0.0007911751677638835,
    -0.0005477085546540336,
    0.0004225167871385413,
];

/// The same for float64.
const STIRLING_64: [f64; 14] = [
    0.08333333333333333,
    -0.0027777777777693072,
    0.000793650790142904,
    -0.0005952375135520769,
    0.0008416995179118486,
    -0.0019147451477015194,
    0.006309103536112234,
    -0.02692131299823508,
    0.12798862176272194,
    -0.5761891073390012,
    2.1363625445446437,
    -5.775768193222592,
    9.831640759734448,
    -7.799039484906417,
];

/// `(sin(πr) / (πr) - 1) / r²` in powers of `r²`, for `|r| ≤ 1/2`.
const SINPI_32: [f64; 5] = [
    -1.6449340665733154,
    0.8117423702881529,
    -0.19075006208997916,
    0.02612805885863882,
    -0.0022550628168998606,
];

/// The same for float64.
const SINPI_64: [f64; 8] = [
    -1.6449340668482264,
    0.8117424252833519,
    -0.19075182412194128,
    0.026147847813078808,
    -0.0023460809634923995,
    0.00014842817816693618,
    -6.972960555564221e-06,
    2.459180384815939e-07,
];

/// `ln(2π) / 2` as the nearest number and the rest.
const HALF_LOG_2PI_32: (f64, f64) = (0.9189385175704956, 1.563417713631158e-08);
const HALF_LOG_2PI_64: (f64, f64) = (0.9189385332046728, -3.8782941580672414e-17);

/// `ln Γ` of `a` as a rounded value and the rest, from 1 to 5/2; of `1 + a` below 1.
#[inline(always)]
fn center<L: Lane, const P: usize, const Q: usize>(a: L, p: [f64; P], q: [f64; Q]) -> (L, L) {
    let one = L::lit(1.0);
    let u = L::select(a.lt(one), a, a - one);
    let (v, v_rest) = sum(u, -one);
    let (m, lost) = u.mul_exact(v);
    let m_rest = u.mul_add(v_rest, lost);
    let t = u - L::lit(0.75);
    let bent = horner(t, p) / horner(t, q);
    let half = L::lit(0.5);
    sum_ordered(m * half, m.mul_add(bent, m_rest * (bent + half)))
}

/// `ln Γ(a)` for `a > 5/2` as a rounded value and the rest, given its logarithm in the same way:
/// `(a - 1/2) ln a - a + ln(2π)/2 + w(1/a²)/a`.
#[inline(always)]
fn stirling<L: Lane, const N: usize>(
    a: L,
    (log, log_rest): (L, L),
    w: [f64; N],
    constant: (f64, f64),
) -> (L, L) {
    let factor = a - L::lit(0.5);
    let (product, lost) = factor.mul_exact(log);
    let product_rest = factor.mul_add(log_rest, lost);
    let (less, lost) = sum(product, -a);
    let rest = product_rest + lost;
    let (total, lost) = sum(less, L::lit(constant.0));
    let inverse = L::lit(1.0) / a;
    let small = horner(inverse * inverse, w).mul_add(inverse, L::lit(constant.1));
    let (near, near_rest) = sum_ordered(total, small + (rest + lost));
    // Where only this counts, and the product may overflow.
    let far = a * ((log - L::lit(1.0)) + log_rest);
    let is_far = L::lit((1_u64 << 60) as f64).lt(a);
    (
        L::select(is_far, far, near),
        L::select(is_far, L::lit(0.0), near_rest),
    )
}

/// `|sin(πa)| / π`.
#[inline(always)]
fn sine<L: Lane, const N: usize>(a: L, s: [f64; N]) -> L {
    let r = (a - a.round()).abs();
    let z = r * r;
    (horner(z, s) * z).mul_add(r, r)
}

/// The number whose logarithm is missing: of `-Γ(a)` for a negative number, of `Γ(a)` below 1.
#[inline(always)]
fn reflect<L: Lane>(x: L, sine: L) -> L {
    let (a, one) = (x.abs(), L::lit(1.0));
    let small = a.lt(one);
    L::select(
        x.lt(L::lit(0.0)),
        L::select(small, sine, a * sine),
        L::select(small, a, one),
    )
}

/// `±ln Γ(a) - ln(missing)`, and the special values.
#[inline(always)]
fn join<L: Lane>(x: L, center: (L, L), far: (L, L), missing: L, missing_log: (L, L)) -> L {
    let is_far = L::lit(2.5).lt(x.abs());
    let head = L::select(is_far, far.0, center.0);
    let rest = L::select(is_far, far.1, center.1);
    let negative = x.lt(L::lit(0.0));
    let head = L::select(negative, -head, head);
    let rest = L::select(negative, -rest, rest);
    let (total, lost) = sum(head, -missing_log.0);
    let y = total + (lost + (rest - missing_log.1));
    // The sum of two infinities is lost in its rest.
    let infinity = L::lit(f64::INFINITY);
    let y = L::select(head.abs().lt(infinity), y, head);
    let pole = missing.eq(L::lit(0.0)) | x.abs().eq(infinity);
    let y = L::select(pole, infinity, y);
    L::select(x.eq(x), y, x)
}

/// The logarithm of the magnitude of the gamma function. At most 2 ulp, and 2 ulp of one where the
/// result is smaller than that; ∞ at 0, at negative whole numbers and at infinities.
#[inline(always)]
pub fn lgamma32<L: Lane>(x: L) -> L {
    let a = x.abs();
    let far = stirling(a, log_parts32(a), STIRLING_32, HALF_LOG_2PI_32);
    let missing = reflect(x, sine(a, SINPI_32));
    let center = center(a, CENTER_32, CENTER_BELOW_32);
    join(x, center, far, missing, log_parts32(missing))
}

/// The logarithm of the magnitude of the gamma function. At most 2 ulp, and 2 ulp of one where the
/// result is smaller than that; ∞ at 0, at negative whole numbers and at infinities.
#[inline(always)]
pub fn lgamma64<L: Lane>(x: L) -> L {
    let a = x.abs();
    let far = stirling(a, log_parts64(a), STIRLING_64, HALF_LOG_2PI_64);
    let missing = reflect(x, sine(a, SINPI_64));
    let center = center(a, CENTER_64, CENTER_BELOW_64);
    join(x, center, far, missing, log_parts64(missing))
}

macro_rules! parts {
    ($($center:ident $correction:ident $above:ident $below:ident $stirling:ident;)*) => {$(
        /// `ln Γ(a)` as a rounded value and the rest, from 1 to 5/2; `ln Γ(1 + a)` below 1.
        #[inline(always)]
        pub(super) fn $center<L: Lane>(a: L) -> (L, L) {
            center(a, $above, $below)
        }

        /// What `(a - 1/2) ln a - a + ln(2π)/2` leaves out of `ln Γ(a)`, for `a ≥ 5/2`.
        #[inline(always)]
        pub(super) fn $correction<L: Lane>(a: L) -> L {
            let inverse = L::lit(1.0) / a;
            horner(inverse * inverse, $stirling) * inverse
        }
    )*};
}
parts! {
    center32 correction32 CENTER_32 CENTER_BELOW_32 STIRLING_32;
    center64 correction64 CENTER_64 CENTER_BELOW_64 STIRLING_64;
}
