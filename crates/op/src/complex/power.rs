//! Powers: `zʷ = exp(w ln z)`, where the logarithm is kept in two values: an error of it grows with
//! the exponent.

use std::f64::consts::LN_2;

use super::angle::angle_in_two;
use super::exponential::{cos_sin_of_two, exp_in_two, polar};
use super::{Complex, constant, is_finite};
use crate::LaneBits;
use crate::elementary::{Elementary, log_parts32, log_parts64, power_of_two, sum, sum_ordered};

/// `ln |z|` of a finite number other than zero, as a rounded value and the rest.
#[inline(always)]
fn log_abs_in_two<R: Elementary>(z: Complex<R>) -> (R, R) {
    let (scaled, scale) = z.scaled();
    let (x, x_rest) = scaled.re.mul_exact(scaled.re);
    let (y, y_rest) = scaled.im.mul_exact(scaled.im);
    let (square, lost) = sum(x, y);
    let (square, rest) = sum_ordered(square, lost + (x_rest + y_rest));
    let (log, log_rest) = if R::MANTISSA == 52 {
        log_parts64(square)
    } else {
        log_parts32(square)
    };
    let half = R::lit(0.5);
    let (log, log_rest) = (log * half, (log_rest + rest / square) * half);
    let (ln_2, ln_2_rest) = constant::<R>(LN_2, 2.3190468138462996e-17);
    let exponent = scale.log(1.0);
    let (less, lost) = exponent.mul_exact(ln_2);
    let (log, lost_too) = sum(log, -less);
    let log_rest = log_rest + (lost_too - exponent.mul_add(ln_2_rest, lost));
    sum_ordered(log, log_rest)
}

/// `x y` for a `y` of two values, as such; 0 where `x` is, even if `y` is infinite.
#[inline(always)]
fn times_two<R: Elementary>(x: R, (y, rest): (R, R)) -> (R, R) {
    let zero = R::lit(0.0);
    let (product, lost) = x.mul_exact(y);
    let product_rest = x.mul_add(rest, lost);
    let counts = product_rest.abs().lt(R::lit(f64::INFINITY));
    (
        R::select(x.eq(zero), zero, product),
        R::select(counts, product_rest, zero),
    )
}

/// `a + b` of two values each, as such; the rest is 0 where the sum is not finite.
#[inline(always)]
fn total<R: Elementary>(a: (R, R), b: (R, R)) -> (R, R) {
    let (head, lost) = sum(a.0, b.0);
    let rest = lost + (a.1 + b.1);
    let counts = rest.abs().lt(R::lit(f64::INFINITY));
    (head, R::select(counts, rest, R::lit(0.0)))
}

/// `z` to the power of a whole number from 0 to 4.
#[inline(always)]
fn whole_power<R: Elementary>(z: Complex<R>, exponent: R::Bits) -> Complex<R> {
    let mut product = Complex::lit(1.0, 0.0);
    let mut power = z;
    for bit in 0..3 {
        let mask = R::Bits::lit(1 << bit);
        product = Complex::select((exponent & mask).eq(mask), product * power, product);
        power = power * power;
    }
    product
}

impl<R: Elementary> Complex<R> {
    /// The power with exponent `w`, on the branch of [`log`](Self::log). At most 4 ulp while
    /// `|w ln z|` is below about 50, growing slowly from there; whole exponents up to 4 in magnitude
    /// are products, which are exact for small whole numbers. It is 1 where `w` is 0, 0 for a zero to
    /// a power with positive real part, and NaN for a zero to any other.
    #[inline(always)]
    pub fn pow(self, w: Self) -> Self {
        let zero = R::lit(0.0);
        let finite = self.is_finite();
        let plain = self.log();
        let (log, angle) = (log_abs_in_two(self), angle_in_two(self));
        let either = |two: (R, R), one: R| {
            (
                R::select(finite, two.0, one),
                R::select(finite, two.1, zero),
            )
        };
        let (log, angle) = (either(log, plain.re), either(angle, plain.im));
        let (growth, growth_rest) = total(times_two(w.re, log), times_two(-w.im, angle));
        let (turn, turn_rest) = total(times_two(w.re, angle), times_two(w.im, log));
        let (e, more) = exp_in_two(growth);
        let e = R::select(is_finite(e), e.mul_add(growth_rest, e), e);
        let general = polar(growth, (e, more), turn, cos_sin_of_two(turn, turn_rest));

        let n = w.re.abs();
        let few = n.le(R::lit(4.0));
        let n = R::select(few, n, zero);
        let whole = few & w.im.eq(zero) & n.round_small().eq(n) & finite;
        let product = whole_power(self, n.to_int_small());
        let inverse = w.re.lt(zero);
        // A product that has left the range is no use, nor has one that fades an inverse.
        let least = power_of_two::<R>(R::Bits::lit(i64::from(R::MANTISSA) + 4 - R::BIAS));
        let whole = whole & product.is_finite() & (!inverse | least.lt(product.largest()));
        let product = Self::select(inverse, product.reciprocal(), product);
        let y = Self::select(whole, product, general);

        let nothing = R::select(zero.lt(w.re), zero, R::lit(f64::NAN));
        let y = Self::select(self.eq(Self::lit(0.0, 0.0)), Self::new(nothing, nothing), y);
        Self::select(w.eq(Self::lit(0.0, 0.0)), Self::lit(1.0, 0.0), y)
    }
}
