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
        let re = R::select(a.eq(zero), a, sinh * b.cos() * more);
        let im = R::select(b.eq(zero), b, cosh * b.sin() * more);
        // ∞ has no direction at an angle that does not exist.
        let lost = a.abs().eq(R::lit(f64::INFINITY)) & !is_finite(b);
        Self::new(R::select(lost, a, re), im)
    }

    /// The hyperbolic cosine, `cosh a cos b + i sinh a sin b`. At most 4 ulp.
    #[inline(always)]
    pub fn cosh(self) -> Self {
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sinh, cosh, more) = sinh_cosh(a);
        let im = sinh * b.sin() * more;
        let on_axis = a.eq(zero) | b.eq(zero);
        let im = R::select(on_axis, flip(flip(zero, sign(a)), sign(b)), im);
        let lost = a.abs().eq(R::lit(f64::INFINITY)) & !is_finite(b);
        Self::new(R::select(lost, a.abs(), cosh * b.cos() * more), im)
    }

    /// The hyperbolic tangent. At most 4 ulp.
    #[inline(always)]
    pub fn tanh(self) -> Self {
        // (sinh a cosh a + i sin b cos b) / (sinh² a + cos² b): no difference that cancels.
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sin, cos) = (b.sin(), b.cos());
        let (sinh, cosh) = (a.sinh(), a.cosh());
        let below = sinh.mul_add(sinh, cos * cos);
        // Far out it is ±1 + 4i sin b cos b exp(-2|a|).
        let is_far = R::lit(f64::from(R::MANTISSA) * 0.37 + 2.0).lt(a.abs());
        let turn = sin * cos;
        let small = (a.abs() * R::lit(-2.0)).exp() * R::lit(4.0);
        let (infinite, none) = (a.abs().eq(R::lit(f64::INFINITY)), !is_finite(b));
        let re = R::select(is_far, R::lit(1.0).copysign(a), sinh * cosh / below);
        let re = R::select(none & !infinite, R::lit(f64::NAN), re);
        let im = R::select(is_far, turn * small, turn / below);
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
