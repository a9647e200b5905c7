//! Complex numbers over [`Elementary`], branch-free like it.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`Complex`], arithmetic, magnitude and angle |
//! | `division` | the quotient and the reciprocal |
//! | `exponential` | exp, exp2, expm1, sigmoid |
//! | `hyperbolic` | sinh, cosh, tanh, tanhshrink, sin, cos, tan, sinc |
//! | `logarithm` | log, log2, log10, log1p, logaddexp |
//! | `root` | sqrt, rsqrt |
//! | `power` | pow |
//! | `angle` | the angle in two values, for it |
//! | `inverse` | asin, acos, atan, asinh, acosh, atanh |
//!
//! Zeros, infinities, NaN and branch cuts are those of the array API standard 2024.12, which are
//! those of C99. Errors are at most 4 ulp of the magnitude of the result, as the distance in the
//! plane: a part that is much smaller than the other may be less precise than that.

mod angle;
mod division;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod root;

use std::ops::{Add, Mul, Neg, Sub};

use crate::elementary::{Elementary, power_of_two};
use crate::{Lane, LaneBits};

/// The greatest error of every function here, in units in the last place of the magnitude of the
/// result; [`Complex::pow`] says what comes on top.
pub const ULP: f64 = 4.0;

/// A complex number, of two lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complex<R> {
    /// The real part.
    pub re: R,
    /// The imaginary part.
    pub im: R,
}

impl<R: Lane> Add for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl<R: Lane> Sub for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

/// The product by the textbook: one with infinite or NaN parts may be NaN in both.
impl<R: Lane> Mul for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}

impl<R: Lane> Neg for Complex<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

impl<R: Lane> Complex<R> {
    /// The number with these parts.
    #[inline(always)]
    pub fn new(re: R, im: R) -> Self {
        Self { re, im }
    }

    /// A constant, each part rounded once to the width.
    #[inline(always)]
    pub fn lit(re: f64, im: f64) -> Self {
        Self::new(R::lit(re), R::lit(im))
    }

    /// `yes` where the mask is true, else `no`.
    #[inline(always)]
    pub fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Self::new(
            R::select(mask, yes.re, no.re),
            R::select(mask, yes.im, no.im),
        )
    }

    /// Whether both parts are equal; false beside NaN.
    #[inline(always)]
    pub fn eq(self, other: Self) -> R::Mask {
        self.re.eq(other.re) & self.im.eq(other.im)
    }

    /// Whether a part is NaN.
    #[inline(always)]
    pub fn is_nan(self) -> R::Mask {
        !self.re.eq(self.re) | !self.im.eq(self.im)
    }

    /// Whether a part is infinite, be the other NaN.
    #[inline(always)]
    pub fn is_inf(self) -> R::Mask {
        let infinity = R::lit(f64::INFINITY);
        self.re.abs().eq(infinity) | self.im.abs().eq(infinity)
    }

    /// Whether both parts are finite.
    #[inline(always)]
    pub fn is_finite(self) -> R::Mask {
        is_finite(self.re) & is_finite(self.im)
    }

    /// The mirror image in the real axis.
    #[inline(always)]
    pub fn conj(self) -> Self {
        Self::new(self.re, -self.im)
    }

    /// The product with `i`.
    #[inline(always)]
    fn turned(self) -> Self {
        Self::new(-self.im, self.re)
    }

    /// The product with `-i`.
    #[inline(always)]
    fn turned_back(self) -> Self {
        Self::new(self.im, -self.re)
    }

    /// The product with a real number.
    #[inline(always)]
    fn times(self, factor: R) -> Self {
        Self::new(self.re * factor, self.im * factor)
    }

    /// The larger of the magnitudes of the parts; either, if one is NaN.
    #[inline(always)]
    fn largest(self) -> R {
        let (x, y) = (self.re.abs(), self.im.abs());
        R::select(x.lt(y), y, x)
    }

    /// The number in a range where squares of its parts neither overflow nor vanish, and how.
    #[inline(always)]
    fn scaled(self) -> (Self, Scale<R>) {
        let scale = Scale::of(self.largest());
        (self.times(scale.by(1)), scale)
    }
}

/// A scale by two to the power of 0 or ±3/4 of the largest exponent, for very large and very small
/// numbers.
#[derive(Clone, Copy)]
struct Scale<R: Lane> {
    big: R::Mask,
    small: R::Mask,
}

impl<R: Lane> Scale<R> {
    /// What a number needs.
    #[inline(always)]
    fn of(x: R) -> Self {
        let eighth = (R::BIAS + 1) / 8;
        let power = |n: i64| power_of_two::<R>(R::Bits::lit(n));
        Self {
            big: power(4 * eighth - 2).lt(x),
            small: x.lt(power(-3 * eighth)),
        }
    }

    /// The exponent of the scale.
    const EXPONENT: i64 = 3 * (R::BIAS + 1) / 4;

    /// The scale; or to the power of a half: `halves` counts them, and may be negative.
    #[inline(always)]
    fn to_half_power(self, halves: i64) -> R {
        let n = halves * Self::EXPONENT / 2;
        let power = |n: i64| power_of_two::<R>(R::Bits::lit(n));
        R::select(
            self.big,
            power(-n),
            R::select(self.small, power(n), R::lit(1.0)),
        )
    }

    /// The scale, or with -1 its inverse.
    #[inline(always)]
    fn by(self, power: i64) -> R {
        self.to_half_power(2 * power)
    }

    /// The logarithm of the scale, of which `unit` is that of two.
    #[inline(always)]
    fn log(self, unit: f64) -> R {
        let log = Self::EXPONENT as f64 * unit;
        R::select(
            self.big,
            R::lit(-log),
            R::select(self.small, R::lit(log), R::lit(0.0)),
        )
    }
}

/// Whether a number is neither infinite nor NaN.
#[inline(always)]
fn is_finite<R: Lane>(x: R) -> R::Mask {
    x.abs().lt(R::lit(f64::INFINITY))
}

/// A constant as the nearest number of the width and the rest, given both for float64.
#[inline(always)]
fn constant<R: Lane>(head: f64, rest: f64) -> (R, R) {
    if R::MANTISSA == 52 {
        (R::lit(head), R::lit(rest))
    } else {
        let rounded = f64::from(head as f32);
        (R::lit(rounded), R::lit(head - rounded))
    }
}

impl<R: Elementary> Complex<R> {
    /// The magnitude, without overflow on the way. At most 2 ulp; ∞ beside an infinite part.
    #[inline(always)]
    pub fn abs(self) -> R {
        self.re.hypot(self.im)
    }

    /// The angle to the positive real axis, from -π to π. At most 2 ulp; the signs of zeros count.
    #[inline(always)]
    pub fn angle(self) -> R {
        self.im.atan2(self.re)
    }

    /// The square. At most 2 ulp.
    #[inline(always)]
    pub fn square(self) -> Self {
        let product = self.re * self.im;
        Self::new((self.re - self.im) * (self.re + self.im), product + product)
    }

    /// The number of magnitude one in the same direction, and 0 for 0. At most 2.5 ulp; NaN where two
    /// parts are infinite or one is NaN.
    #[inline(always)]
    pub fn sign(self) -> Self {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let (z, _) = self.scaled();
        let length = z.re.mul_add(z.re, z.im * z.im).sqrt();
        let y = Self::new(z.re / length, z.im / length);
        // One infinite part outweighs the other.
        let infinity = R::lit(f64::INFINITY);
        let unit = |x: R| R::select(x.abs().eq(infinity), one, zero).copysign(x);
        let both = self.re.abs().eq(infinity) & self.im.abs().eq(infinity);
        let y = Self::select(
            self.is_inf() & !both,
            Self::new(unit(self.re), unit(self.im)),
            y,
        );
        let y = Self::select(self.eq(Self::lit(0.0, 0.0)), Self::lit(0.0, 0.0), y);
        Self::select(self.is_nan(), Self::lit(f64::NAN, f64::NAN), y)
    }
}
