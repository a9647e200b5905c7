//! Inverses of the trigonometric and hyperbolic functions (Kahan 1987): from `√(1 - z)` and
//! `√(1 + z)`, whose parts combine without cancellation.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::{Complex, is_finite};
use crate::LaneBits;
use crate::elementary::{Elementary, power_of_two};

/// The arc sine, and the real part of the arc cosine, whose imaginary part is minus the other's.
#[inline(always)]
fn arcs<R: Elementary>(z: Complex<R>) -> (Complex<R>, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    // So large that one does not count: a smaller number has the same angles.
    let power = |n: i64| power_of_two::<R>(R::Bits::lit(n));
    let big = power(R::BIAS / 2).lt(z.largest());
    let down = 8;
    let s = z.times(R::select(big, power(-down), one));
    let minus = Complex::new(one - s.re, -s.im).sqrt();
    let plus = Complex::new(one + s.re, s.im).sqrt();
    let re = s.re.atan2(minus.re * plus.re - minus.im * plus.im);
    let im = (minus.re * plus.im - minus.im * plus.re).asinh();
    let im = im + R::select(big, R::lit(down as f64 * LN_2), zero).copysign(z.im);
    let cosine = minus.re.atan2(plus.re) * R::lit(2.0);

    let (infinite, nan) = (z.is_inf(), R::lit(f64::NAN));
    let lost = z.is_nan();
    let re = R::select(lost, R::select(z.re.eq(zero), z.re, nan), re);
    let im = R::select(lost, nan, im);
    let cosine_lost = R::select(z.re.eq(zero), R::lit(FRAC_PI_2), nan);
    let cosine = R::select(lost, cosine_lost, cosine);
    let re = R::select(infinite, z.re.atan2(z.im.abs()), re);
    let im = R::select(infinite, R::lit(f64::INFINITY).copysign(z.im), im);
    let cosine = R::select(infinite, z.im.abs().atan2(z.re), cosine);
    (Complex::new(re, im), cosine)
}

impl<R: Elementary> Complex<R> {
    /// The arc sine. At most 4 ulp; the cuts are the real axis beyond ±1.
    #[inline(always)]
    pub fn asin(self) -> Self {
        arcs(self).0
    }

    /// The arc cosine. At most 4 ulp; the cuts are the real axis beyond ±1.
    #[inline(always)]
    pub fn acos(self) -> Self {
        let (sine, cosine) = arcs(self);
        Self::new(cosine, -sine.im)
    }

    /// The inverse of `sinh`. At most 4 ulp; the cuts are the imaginary axis beyond ±i.
    #[inline(always)]
    pub fn asinh(self) -> Self {
        self.turned_back().asin().turned()
    }

    /// The inverse of `cosh`, in the right half plane. At most 4 ulp; the cut is the real axis left
    /// of 1.
    #[inline(always)]
    pub fn acosh(self) -> Self {
        let (sine, cosine) = arcs(self);
        Self::new(sine.im.abs(), cosine.copysign(self.im))
    }

    /// The inverse of `tanh`. At most 4 ulp; the cuts are the real axis beyond ±1.
    #[inline(always)]
    pub fn atanh(self) -> Self {
        let (zero, one, half) = (R::lit(0.0), R::lit(1.0), R::lit(0.5));
        let (x, y) = (self.re.abs(), self.im);
        // ln(1 + 4x / ((1 - x)² + y²)) / 4 + i angle((1 - x)(1 + x) - y² + 2yi) / 2
        let below = one - x;
        let square = below.mul_add(below, y * y);
        let near = (x * R::lit(4.0) / square).log1p() * R::lit(0.25);
        // Where x is 1 and the square of y might vanish.
        let pole = (R::lit(LN_2) - y.abs().log()) * half;
        let ulp = R::lit(0.25 / (1_u64 << R::MANTISSA) as f64);
        let re = R::select(x.eq(one) & y.abs().lt(ulp), pole, near);
        let angle = (y + y).atan2(below * (one + x) - y * y) * half;
        // So large that the square of one does not count.
        let big = R::lit(4.0 * (1_u64 << R::MANTISSA) as f64).lt(self.largest());
        let length = self.abs();
        let quarter_turn = R::lit(FRAC_PI_2).copysign(y);
        let re = R::select(big, x / length / length, re).copysign(self.re);
        let im = R::select(big, quarter_turn, angle);

        let nan = R::lit(f64::NAN);
        let lost = self.is_nan();
        let re = R::select(lost, R::select(x.eq(zero), self.re, nan), re);
        let im = R::select(lost, nan, im);
        let infinite = self.is_inf();
        let re = R::select(infinite, zero.copysign(self.re), re);
        let known = is_finite(y) | y.abs().eq(R::lit(f64::INFINITY));
        let im = R::select(infinite & known, quarter_turn, im);
        Self::new(re, im)
    }

    /// The arc tangent. At most 4 ulp; the cuts are the imaginary axis beyond ±i.
    #[inline(always)]
    pub fn atan(self) -> Self {
        self.turned().atanh().turned_back()
    }
}
