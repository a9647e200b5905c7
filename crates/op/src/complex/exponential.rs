//! Exponentials: `exp(a + bi) = eᵃ (cos b + i sin b)`.

use super::{Complex, constant, is_finite};
use crate::elementary::Elementary;

/// A whole number `k` and `eᵏ`, near the end of the range.
#[inline(always)]
fn end_of_range<R: Elementary>() -> (R, R) {
    if R::MANTISSA == 52 {
        (R::lit(700.0), R::lit(1.0142320547350045e304))
    } else {
        (R::lit(80.0), R::lit(5.54062238439351e34))
    }
}

/// `eᵃ` as a product of two numbers: it may be out of range, and that times a sine be in it.
#[inline(always)]
pub(super) fn exp_in_two<R: Elementary>(a: R) -> (R, R) {
    let (k, power) = end_of_range::<R>();
    let big = k.lt(a);
    (
        R::select(big, a - k, a).exp(),
        R::select(big, power, R::lit(1.0)),
    )
}

/// `eᵃ (cos b + i sin b)`, given `eᵃ` in two factors: a zero angle has no imaginary part, and of an
/// angle that does not exist, an infinite `a` makes 0 or ∞ + NaN i.
#[inline(always)]
pub(super) fn polar<R: Elementary>(
    a: R,
    (e, more): (R, R),
    b: R,
    (cos, sin): (R, R),
) -> Complex<R> {
    let (zero, infinity) = (R::lit(0.0), R::lit(f64::INFINITY));
    let none = !is_finite(b);
    let re = e * cos * more;
    let im = R::select(b.eq(zero), b, e * sin * more);
    let re = R::select(none & a.eq(infinity), infinity, re);
    let nothing = none & a.eq(-infinity);
    Complex::new(R::select(nothing, zero, re), R::select(nothing, zero, im))
}

/// The cosine and the sine of `b + rest`. Where the rest is more than a small turn, it is left out.
#[inline(always)]
pub(super) fn cos_sin_of_two<R: Elementary>(b: R, rest: R) -> (R, R) {
    let rest = R::select(rest.abs().lt(R::lit(1.0 / 16.0)), rest, R::lit(0.0));
    let square = rest * rest;
    let small_cos = square * R::lit(-0.5);
    let small_sin = (rest * square).mul_add(R::lit(-1.0 / 6.0), rest);
    let (cos, sin) = (b.cos(), b.sin());
    (
        cos + cos.mul_add(small_cos, -(sin * small_sin)),
        sin + sin.mul_add(small_cos, cos * small_sin),
    )
}

/// `eᵃ cos b ∓ 1`, given the product: where that cancels and `a` is small, it is
/// `(eᵃ - 1) cos b ∓ 2 s²` instead, `s` being the sine or cosine of `b/2`.
#[inline(always)]
fn minus_one<R: Elementary>(a: R, product: R, cos: R, s: R, one: R) -> R {
    let near = a.expm1().mul_add(cos, s * s * R::lit(-2.0) * one);
    let far = product - one;
    let cancels = far.abs().lt(R::lit(0.5)) & a.abs().lt(R::lit(1.0));
    R::select(cancels, near, far)
}

impl<R: Elementary> Complex<R> {
    /// The exponential. At most 4 ulp.
    #[inline(always)]
    pub fn exp(self) -> Self {
        let b = self.im;
        polar(self.re, exp_in_two(self.re), b, (b.cos(), b.sin()))
    }

    /// Two to the power of the number. At most 4 ulp, for imaginary parts up to 2²⁰.
    #[inline(always)]
    pub fn exp2(self) -> Self {
        let (ln_2, ln_2_rest) = constant::<R>(std::f64::consts::LN_2, 2.3190468138462996e-17);
        let (b, lost) = self.im.mul_exact(ln_2);
        let rest = self.im.mul_add(ln_2_rest, lost);
        // An eighth of the range below its end, so that a sine can bring the result back.
        let end = R::lit((R::BIAS - R::BIAS / 8) as f64);
        let big = end.lt(self.re);
        let e = R::select(big, self.re - end, self.re).exp2();
        let more = R::select(big, end.exp2(), R::lit(1.0));
        polar(self.re, (e, more), b, cos_sin_of_two(b, rest))
    }

    /// The exponential minus one, precise also near 0. At most 4 ulp.
    #[inline(always)]
    pub fn expm1(self) -> Self {
        let (a, b) = (self.re, self.im);
        let cos = b.cos();
        let y = polar(a, exp_in_two(a), b, (cos, b.sin()));
        let half = (b * R::lit(0.5)).sin();
        let re = minus_one(a, y.re, cos, half, R::lit(1.0));
        // The array API has no -0 here.
        let zero = R::lit(0.0);
        Self::new(R::select(re.eq(zero), zero, re), y.im)
    }

    /// `1 / (1 + exp(-z))`, without overflow. At most 4 ulp.
    #[inline(always)]
    pub fn sigmoid(self) -> Self {
        // With p = exp(∓z), which is at most one: 1 / (1 + p) on the right, p / (1 + p) on the left.
        let (a, b) = (-self.re.abs(), self.im);
        let left = self.re.lt(R::lit(0.0));
        let b = R::select(left, b, -b);
        let (e, cos) = (a.exp(), b.cos());
        let p = polar(a, (e, R::lit(1.0)), b, (cos, b.sin()));
        let half = (b * R::lit(0.5)).cos();
        let below = Self::new(minus_one(a, p.re, cos, half, R::lit(-1.0)), p.im);
        let y = Self::select(left, p, Self::lit(1.0, 0.0)) / below;
        // Where p is small, p - p y adds less error to it than the quotient.
        Self::select(left & e.lt(R::lit(0.25)), p - p * y, y)
    }
}
