//! The quotient of complex numbers.

use std::ops::Div;

use super::Complex;
use crate::elementary::{Elementary, power_of_two};
use crate::{Lane, LaneBits};

/// The exponent field of a number: 1 for subnormals too, and the largest of finite numbers for
/// infinite ones.
#[inline(always)]
fn exponent<R: Lane>(x: R) -> R::Bits {
    let lit = R::Bits::lit;
    let field = x.to_bits().shr_logical(R::MANTISSA) & lit(2 * R::BIAS + 1);
    let field = R::Bits::select(field.eq(lit(0)), lit(1), field);
    R::Bits::select(field.eq(lit(2 * R::BIAS + 1)), lit(2 * R::BIAS), field)
}

/// A number whose larger part is from 2 to 4, or less if it was subnormal, and the exponent field
/// that makes it so.
#[inline(always)]
fn normalized<R: Lane>(z: Complex<R>) -> (Complex<R>, R::Bits) {
    let exponent = exponent(z.largest());
    let scale = power_of_two::<R>(R::Bits::lit(R::BIAS + 1).sub(exponent));
    (z.times(scale), exponent)
}

/// The quotient, without overflow or underflow on the way. At most 4 ulp, and each part rounded once
/// where the divisor is real or imaginary. A finite number by an infinite one is 0; by zero, each
/// part is divided by +0.
impl<R: Elementary> Div for Complex<R> {
    type Output = Self;

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        // An infinite divisor is replaced by its direction, and the quotient by zero.
        let infinite = other.is_inf();
        let unit = |x: R| R::select(x.abs().eq(R::lit(f64::INFINITY)), one, zero * x).copysign(x);
        let direction = Self::new(unit(other.re), unit(other.im));
        let divisor = Self::select(infinite, direction, other);

        let (above, up) = normalized(self);
        let (below, down) = normalized(divisor);
        let square = below.re.mul_add(below.re, below.im * below.im);
        let y = above * below.conj();
        let y = Self::new(y.re / square, y.im / square);
        // In two steps, of which only the second may leave the range.
        let exponent = up.sub(down);
        let half = exponent.shr(1);
        let y = y.times(power_of_two::<R>(half));
        let y = y.times(power_of_two::<R>(exponent.sub(half)));
        let y = Self::select(infinite, y.times(zero), y);

        let (real, imaginary) = (divisor.im.eq(zero), divisor.re.eq(zero));
        let c = R::select(real & imaginary, zero, other.re);
        let y = Self::select(
            imaginary,
            Self::new(self.im / other.im, -(self.re / other.im)),
            y,
        );
        Self::select(real, Self::new(self.re / c, self.im / c), y)
    }
}

impl<R: Elementary> Complex<R> {
    /// One divided by the number. At most 4 ulp.
    #[inline(always)]
    pub fn reciprocal(self) -> Self {
        Self::lit(1.0, 0.0) / self
    }
}
