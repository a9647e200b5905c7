//! Hyperbolic and trigonometric functions: the latter are the former, turned by `i`.

use super::exponential::exp_in_two;
use super::{Complex, is_finite};
use crate::elementary::{Elementary, flip, sign};

/// `sinh a`, `cosh a`, and a factor of both, which is not one where they may be out of range.
#[inline(always)]
fn sinh_cosh<R: Elementary>(a: R) -> (R, R, R) {
    let (e, more) = exp_in_two(a.abs());
    let half = e * R::lit(0.5);
    let big = R::lit(1.0).lt(more);
    (
        R::select(big, half.copysign(a), a.sinh()),
        R::select(big, half, a.cosh()),
        more,
    )
}

impl<R: Elementary> Complex<R> {
    /// The hyperbolic sine, `sinh a cos b + i cosh a sin b`. At most 4 ulp.
    #[inline(always)]
    pub fn sinh(self) -> Self {
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sinh, cosh, more) = sinh_cosh(a);
        let im = R::select(b.eq(zero), b, cosh * b.sin() * more);
        // At an angle that does not exist, 0 and ∞ stay what they are.
        let stays = a.eq(zero) | a.abs().eq(R::lit(f64::INFINITY));
        let re = R::select(stays & !is_finite(b), a, sinh * b.cos() * more);
        Self::new(re, im)
    }

    /// The hyperbolic cosine, `cosh a cos b + i sinh a sin b`. At most 4 ulp.
    #[inline(always)]
    pub fn cosh(self) -> Self {
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sinh, cosh, more) = sinh_cosh(a);
        let none = !is_finite(b);
        let flat = b.eq(zero) | (a.eq(zero) & none);
        let im = R::select(
            flat,
            flip(flip(zero, sign(a)), sign(b)),
            sinh * b.sin() * more,
        );
        let stays = a.abs().eq(R::lit(f64::INFINITY)) & none;
        Self::new(R::select(stays, a.abs(), cosh * b.cos() * more), im)
    }

    /// The hyperbolic tangent. At most 4 ulp.
    #[inline(always)]
    pub fn tanh(self) -> Self {
        // (sinh a cosh a + i sin b cos b) / (sinh² a + cos² b): no difference that cancels.
        let (a, b, zero, one) = (self.re, self.im, R::lit(0.0), R::lit(1.0));
        let (sin, cos) = (b.sin(), b.cos());
        let (turn, square) = (sin * cos, cos * cos);
        let sinh = a.sinh();
        let cosh = sinh.mul_add(sinh, one).sqrt();
        let below = sinh.mul_add(sinh, square);
        // From 1 on it is ±(1 + ((1 - exp(-2|a|)) / 2 - cos² b) / (sinh² a + cos² b)), and far out
        // ±1 + 4i sin b cos b exp(-2|a|).
        let e = (a.abs() * R::lit(-2.0)).exp();
        let is_far = R::lit(f64::from(R::MANTISSA) * 0.37 + 2.0).lt(a.abs());
        let more = (e.mul_add(R::lit(-0.5), R::lit(0.5)) - square) / below;
        let more = R::select(is_far, zero, more);
        let beyond = (one + more).copysign(a);
        let (infinite, none) = (a.abs().eq(R::lit(f64::INFINITY)), !is_finite(b));
        let re = R::select(one.lt(a.abs()), beyond, sinh * cosh / below);
        let re = R::select(none & !infinite, R::lit(f64::NAN), re);
        let im = R::select(is_far, turn * (e * R::lit(4.0)), turn / below);
        let im = R::select(infinite & none, zero, im);
        Self::new(R::select(a.eq(zero), a, re), R::select(b.eq(zero), b, im))
    }

    /// The sine. At most 4 ulp.
    #[inline(always)]
    pub fn sin(self) -> Self {
        self.turned().sinh().turned_back()
    }

    /// The cosine. At most 4 ulp.
    #[inline(always)]
    pub fn cos(self) -> Self {
        self.turned().cosh()
    }

    /// The tangent. At most 4 ulp.
    #[inline(always)]
    pub fn tan(self) -> Self {
        self.turned().tanh().turned_back()
    }
}
