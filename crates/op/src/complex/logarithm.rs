//! Logarithms: `ln z = ln |z| + i angle(z)`.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

use super::Complex;
use crate::elementary::{Elementary, sum};

/// `log |z|` to the base of which `log` is the logarithm and `of_two` and `of_e` its values; where
/// the magnitude is near one, given its square minus one.
#[inline(always)]
fn log_abs<R: Elementary>(
    z: Complex<R>,
    excess: R,
    log: impl Fn(R) -> R,
    of_two: f64,
    of_e: f64,
) -> R {
    let (scaled, scale) = z.scaled();
    let length = scaled.re.mul_add(scaled.re, scaled.im * scaled.im).sqrt();
    let far = log(length) - scale.log(of_two);
    let near = excess.log1p() * R::lit(0.5 * of_e);
    let is_near = R::lit(-0.75).lt(excess) & excess.lt(R::lit(3.0));
    let y = R::select(is_near, near, far);
    R::select(z.is_inf(), R::lit(f64::INFINITY), y)
}

/// `|z|² - 1` to full precision where it is small: `(a - 1)(a + 1) + b²` for the larger part `a`.
#[inline(always)]
fn excess<R: Elementary>(z: Complex<R>) -> R {
    let (x, y, one) = (z.re.abs(), z.im.abs(), R::lit(1.0));
    let (a, b) = (R::select(x.lt(y), y, x), R::select(x.lt(y), x, y));
    // From 1/2 on the difference is exact; the sum is not, so that it is kept in two values.
    let below = a - one;
    let (above, lost) = sum(a, one);
    let (product, product_rest) = below.mul_exact(above);
    let (square, square_rest) = b.mul_exact(b);
    let (total, rest) = sum(product, square);
    total + (rest + (below.mul_add(lost, product_rest) + square_rest))
}

/// `|1 + z|² - 1` likewise: `2a + a² + b²`.
#[inline(always)]
fn excess_plus_one<R: Elementary>(z: Complex<R>) -> R {
    let (first, first_rest) = z.re.mul_exact(z.re);
    let (second, second_rest) = z.im.mul_exact(z.im);
    let (most, lost) = sum(z.re + z.re, second);
    let (total, lost_too) = sum(most, first);
    total + ((lost + lost_too) + (first_rest + second_rest))
}

impl<R: Elementary> Complex<R> {
    /// The natural logarithm, with imaginary parts from -π to π. At most 4 ulp; the cut is the
    /// negative real axis, whose side is the sign of the imaginary zero.
    #[inline(always)]
    pub fn log(self) -> Self {
        let re = log_abs(self, excess(self), R::log, LN_2, 1.0);
        Self::new(re, self.angle())
    }

    /// The logarithm to base 2. At most 4 ulp.
    #[inline(always)]
    pub fn log2(self) -> Self {
        let re = log_abs(self, excess(self), R::log2, 1.0, LOG2_E);
        Self::new(re, self.angle() * R::lit(LOG2_E))
    }

    /// The logarithm to base 10. At most 4 ulp.
    #[inline(always)]
    pub fn log10(self) -> Self {
        let re = log_abs(self, excess(self), R::log10, LOG10_2, LOG10_E);
        Self::new(re, self.angle() * R::lit(LOG10_E))
    }

    /// The logarithm of one plus the number, precise also near 0. At most 4 ulp; the cut is the real
    /// axis left of -1.
    #[inline(always)]
    pub fn log1p(self) -> Self {
        let more = Self::new(self.re + R::lit(1.0), self.im);
        let re = log_abs(more, excess_plus_one(self), R::log, LN_2, 1.0);
        Self::new(re, more.angle())
    }

    /// `log(exp z + exp w)` without overflow: the number with the larger real part, plus the logarithm
    /// of one plus the exponential of the distance. At most 4 ulp of the largest of the result and
    /// these terms, but near the roots of the sum, where errors of the exponentials count more. The
    /// imaginary part is not brought back to -π to π, as torch's is not.
    #[inline(always)]
    pub fn logaddexp(self, other: Self) -> Self {
        let is_less = self.re.lt(other.re);
        let larger = Self::select(is_less, other, self);
        let away = Self::select(is_less, self, other) - larger;
        // Of equal infinities the distance is no number.
        let re = R::select(self.re.eq(other.re), R::lit(0.0), away.re);
        larger + Self::new(re, away.im).exp().log1p()
    }
}
