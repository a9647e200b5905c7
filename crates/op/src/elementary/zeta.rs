//! Hurwitz' zeta function `ζ(x, q) = Σ (k + q)⁻ˣ`, the sum over all `k ≥ 0`.
//!
//! For positive `q` the first terms as they stand and the rest by Euler's and Maclaurin's formula,
//! `e¹⁻ˣ/(x - 1) + e⁻ˣ/2 + Σ B₂ⱼ/(2j)! x(x + 1)…(x + 2j - 2) e^(1-x-2j)` with `e` where they end: after
//! 5 terms and 5 numbers of Bernoulli nothing is missing in float32, after 10 and 9 in float64. For
//! negative `q = -m - f`, where only whole powers are real, `ζ(x, 1 - f) + (-1)ˣ (ζ(x, f) - ζ(x, 1 + m + f))`.

use super::{Elementary, sum};

/// `B₂ⱼ / (2j)!`.
const BERNOULLI: [f64; 9] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
];

/// `ζ(x, q)` for finite `x > 1` and `q ≥ 0`.
#[inline(always)]
fn euler_maclaurin<L: Elementary, const TERMS: u32, const NUMBERS: usize>(x: L, q: L) -> L {
    let (zero, one) = (L::lit(0.0), L::lit(1.0));
    // Exact, as x is no smaller and has no more digits.
    let less = one - x;
    let (end, lost) = sum(q, L::lit(TERMS.into()));
    let inverse = one / end;
    let power = end.pow(less);
    let power = power.mul_add(less * (lost * inverse), power);
    let mut series = zero;
    for (j, number) in BERNOULLI.iter().enumerate().take(NUMBERS).rev() {
        let next = L::lit(2.0 * j as f64 + 1.0);
        let ratio = ((x + next) * inverse) * ((x + (next + one)) * inverse);
        series = series.mul_add(ratio, L::lit(*number));
    }
    let rest = (x * inverse).mul_add(series, L::lit(0.5)) * inverse - one / less;
    // A vanished power times what may have overflown.
    let mut total = L::select(power.eq(zero), zero, power * rest);
    for k in (1..TERMS).rev() {
        let (base, lost) = sum(q, L::lit(k.into()));
        let term = base.pow(-x);
        total = total + term.mul_add(-x * (lost / base), term);
    }
    total + q.pow(-x)
}

/// The sum, and what stands for it at the ends.
#[inline(always)]
fn zeta<L: Elementary, const TERMS: u32, const NUMBERS: usize>(x: L, q: L) -> L {
    let (zero, one) = (L::lit(0.0), L::lit(1.0));
    let (infinity, nan) = (L::lit(f64::INFINITY), L::lit(f64::NAN));
    let size = q.abs();
    let is_plain = one.lt(x) & x.lt(infinity) & size.lt(infinity);
    let is_low = q.lt(zero);
    let (x1, size1) = (
        L::select(is_plain, x, L::lit(2.0)),
        L::select(is_plain, size, one),
    );
    let below = size1 - size1.floor();
    let first = L::select(is_low, one - below, size1);
    let upper = euler_maclaurin::<L, TERMS, NUMBERS>(x1, first);
    let total = match L::decided(is_low) {
        Some(false) => upper,
        _ => {
            let half = x1 * L::lit(0.5);
            let is_even = half.floor().eq(half);
            let near = euler_maclaurin::<L, TERMS, NUMBERS>(x1, below);
            let far = euler_maclaurin::<L, TERMS, NUMBERS>(x1, size1 + one);
            let near = L::select(is_even, near, -near);
            // Halfway between the poles odd powers cancel; elsewhere the nearer pole decides between infinities.
            let middle = L::lit(0.5);
            let nearer = L::select(below.lt(middle), near, upper);
            let nearer = L::select(below.eq(middle), zero, nearer);
            let sum = L::select(upper.eq(near.abs()) & !is_even, nearer, upper + near);
            L::select(is_low, sum + L::select(is_even, -far, far), upper)
        }
    };
    let total = L::select(is_low & !x1.floor().eq(x1), nan, total);
    let total = L::select(q.le(zero) & q.floor().eq(q), infinity, total);
    // Of infinite numbers.
    let limit = L::select(q.eq(one), one, L::select(one.lt(q), zero, infinity));
    let limit = L::select(q.eq(infinity), zero, limit);
    let total = L::select(is_plain, total, limit);
    let total = L::select(x.eq(one), infinity, L::select(x.lt(one), nan, total));
    L::select(x.eq(x) & q.eq(q), total, x + q)
}

/// `ζ(x, q)`. At most 6 ulp for positive `q`; ∞ at the poles, `x = 1` and whole `q ≤ 0`; NaN for
/// smaller `x`, and for negative `q` unless `x` is whole.
#[inline(always)]
pub fn zeta32<L: Elementary>(x: L, q: L) -> L {
    zeta::<L, 5, 5>(x, q)
}

/// `ζ(x, q)`. At most 6 ulp for positive `q`; ∞ at the poles, `x = 1` and whole `q ≤ 0`; NaN for
/// smaller `x`, and for negative `q` unless `x` is whole.
#[inline(always)]
pub fn zeta64<L: Elementary>(x: L, q: L) -> L {
    zeta::<L, 10, 9>(x, q)
}
