//! What references are written in: float64 through `libm`, for results of at most 32 bits, and
//! [`Double`], for those of 64.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::double::{Double, LN_2, LN_10, PI, SQRT_PI};
use crate::special::{gamma_shares, sin_pi, winitzki, zeta};

/// A real number with more digits than the results it is compared with. Methods with a body are
/// textbook formulas, good enough where there are digits to spare.
pub trait Precise:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A number that a float64 is.
    fn of(value: f64) -> Self;
    /// A constant.
    fn constant(value: Double) -> Self;
    /// The nearest float64.
    fn get(self) -> f64;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// `eˣ`.
    fn exp(self) -> Self;
    /// `eˣ - 1`.
    fn expm1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `ln(1 + x)`.
    fn ln_1p(self) -> Self;
    /// The sine.
    fn sin(self) -> Self;
    /// The cosine.
    fn cos(self) -> Self;
    /// `sin(πx)`.
    fn sin_pi(self) -> Self;
    /// The angle of the point `(x, self)`.
    fn atan2(self, x: Self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
    /// One minus the error function.
    fn erfc(self) -> Self;
    /// The inverse of the error function.
    fn erfinv(self) -> Self;
    /// `ln |Γ(x)|`.
    fn lgamma(self) -> Self;
    /// The slope of `lgamma`.
    fn digamma(self) -> Self;
    /// The shares of `Γ(self)` below and above `x`.
    fn gamma_shares(self, x: Self) -> (Self, Self);
    /// Hurwitz' zeta function.
    fn zeta(self, q: Self) -> Self;
    /// The power; the base is not negative unless the exponent is whole.
    fn pow(self, exponent: Self) -> Self;

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self {
        if self.get().is_sign_negative() {
            -self
        } else {
            self
        }
    }

    /// One minus the error function, times `e^(x²)`.
    #[must_use]
    fn erfcx(self) -> Self {
        if self.get() < 2.0 {
            return (self * self).exp() * self.erfc();
        }
        // Laplace's continued fraction, from its far end.
        let count = (60.0 / self.get()).powi(2) as i32 + 40;
        let mut tail = self;
        for n in (1..=count).rev() {
            tail = self + Self::of(f64::from(n) * 0.5) / tail;
        }
        Self::of(1.0) / Self::constant(SQRT_PI) / tail
    }

    /// The tangent.
    #[must_use]
    fn tan(self) -> Self {
        self.sin() / self.cos()
    }

    /// Two to a power.
    #[must_use]
    fn exp2(self) -> Self {
        (self * Self::constant(LN_2)).exp()
    }

    /// The logarithm to base 2.
    #[must_use]
    fn log2(self) -> Self {
        self.ln() / Self::constant(LN_2)
    }

    /// The logarithm to base 10.
    #[must_use]
    fn log10(self) -> Self {
        self.ln() / Self::constant(LN_10)
    }

    /// The inverse sine.
    #[must_use]
    fn asin(self) -> Self {
        let one = Self::of(1.0);
        self.atan2(((one - self) * (one + self)).sqrt())
    }

    /// The inverse cosine.
    #[must_use]
    fn acos(self) -> Self {
        let one = Self::of(1.0);
        ((one - self) * (one + self)).sqrt().atan2(self)
    }

    /// The inverse tangent.
    #[must_use]
    fn atan(self) -> Self {
        self.atan2(Self::of(1.0))
    }

    /// The hyperbolic sine.
    #[must_use]
    fn sinh(self) -> Self {
        let e = self.abs().expm1();
        let y = (e + e / (e + Self::of(1.0))) * Self::of(0.5);
        if self.get() < 0.0 { -y } else { y }
    }

    /// The hyperbolic cosine.
    #[must_use]
    fn cosh(self) -> Self {
        let e = self.abs().exp();
        (e + Self::of(1.0) / e) * Self::of(0.5)
    }

    /// The hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self {
        if self.get().abs() > 350.0 {
            return Self::of(1.0_f64.copysign(self.get()));
        }
        let e = (self + self).expm1();
        e / (e + Self::of(2.0))
    }

    /// The inverse of `sinh`.
    #[must_use]
    fn asinh(self) -> Self {
        let (x, one) = (self.abs(), Self::of(1.0));
        let y = if x.get() > 1e30 {
            x.ln() + Self::constant(LN_2)
        } else {
            (x + x * x / (one + (one + x * x).sqrt())).ln_1p()
        };
        if self.get() < 0.0 { -y } else { y }
    }

    /// The inverse of `cosh`.
    #[must_use]
    fn acosh(self) -> Self {
        if self.get() > 1e30 {
            return self.ln() + Self::constant(LN_2);
        }
        let t = self - Self::of(1.0);
        (t + (t * (t + Self::of(2.0))).sqrt()).ln_1p()
    }

    /// The inverse of `tanh`.
    #[must_use]
    fn atanh(self) -> Self {
        let x = self.abs();
        let y = ((x + x) / (Self::of(1.0) - x)).ln_1p() * Self::of(0.5);
        if self.get() < 0.0 { -y } else { y }
    }

    /// The length of a vector.
    #[must_use]
    fn hypot(self, other: Self) -> Self {
        let (x, y) = (self.abs(), other.abs());
        let (large, small) = if x < y { (y, x) } else { (x, y) };
        if large.get() == 0.0 {
            return large;
        }
        let ratio = small / large;
        large * (Self::of(1.0) + ratio * ratio).sqrt()
    }

    /// `ln(eˣ + eʸ)`.
    #[must_use]
    fn logaddexp(self, other: Self) -> Self {
        let (large, small) = if self < other {
            (other, self)
        } else {
            (self, other)
        };
        large + (small - large).exp().ln_1p()
    }
}

macro_rules! forward {
    ($($name:ident)*) => {$(
        fn $name(self) -> Self {
            self.$name()
        }
    )*};
}

impl Precise for Double {
    fn of(value: f64) -> Self {
        Self::new(value)
    }

    fn constant(value: Double) -> Self {
        value
    }

    fn get(self) -> f64 {
        self.hi
    }

    forward!(sqrt cbrt exp expm1 ln ln_1p erf erfc erfinv lgamma digamma);

    fn sin(self) -> Self {
        self.sin_cos().0
    }

    fn cos(self) -> Self {
        self.sin_cos().1
    }

    fn sin_pi(self) -> Self {
        sin_pi(self)
    }

    fn atan2(self, x: Self) -> Self {
        self.atan2(x)
    }

    fn gamma_shares(self, x: Self) -> (Self, Self) {
        gamma_shares(self, x)
    }

    fn zeta(self, q: Self) -> Self {
        zeta(self, q)
    }

    fn pow(self, exponent: Self) -> Self {
        let y = (self.abs().ln() * exponent).exp();
        let is_odd = exponent.hi.rem_euclid(2.0) == 1.0;
        if self.hi < 0.0 && is_odd { -y } else { y }
    }
}

macro_rules! by_libm {
    ($($name:ident $function:ident)*) => {$(
        fn $name(self) -> Self {
            libm::$function(self)
        }
    )*};
}

impl Precise for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn constant(value: Double) -> Self {
        value.hi
    }

    fn get(self) -> f64 {
        self
    }

    by_libm! {
        sqrt sqrt cbrt cbrt exp exp expm1 expm1 ln log ln_1p log1p sin sin cos cos
        erf erf erfc erfc lgamma lgamma
        abs fabs tan tan exp2 exp2 log2 log2 log10 log10 asin asin acos acos atan atan
        sinh sinh cosh cosh tanh tanh asinh asinh atanh atanh
    }

    fn acosh(self) -> Self {
        // libm has an answer below 1, which is none.
        if self < 1.0 {
            f64::NAN
        } else {
            libm::acosh(self)
        }
    }

    fn sin_pi(self) -> Self {
        let rest = self - 2.0 * libm::rint(self * 0.5);
        // sin(π(1 - r)) = sin(πr), and the smaller argument is exact.
        let folded = if rest.abs() > 0.5 {
            (1.0 - rest.abs()).copysign(rest)
        } else {
            rest
        };
        libm::sin(PI.hi * folded)
    }

    fn atan2(self, x: Self) -> Self {
        libm::atan2(self, x)
    }

    fn hypot(self, other: Self) -> Self {
        libm::hypot(self, other)
    }

    fn gamma_shares(self, x: Self) -> (Self, Self) {
        let (lower, upper) = gamma_shares(Double::new(self), Double::new(x));
        (lower.hi, upper.hi)
    }

    fn zeta(self, q: Self) -> Self {
        zeta(Double::new(self), Double::new(q)).hi
    }

    fn pow(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }

    fn erfinv(self) -> Self {
        let rest = 1.0 - self.abs();
        match rest {
            0.0 => return f64::INFINITY.copysign(self),
            _ if rest < 0.0 || rest.is_nan() => return f64::NAN,
            _ if self == 0.0 => return self,
            _ => {}
        }
        let mut y = winitzki(self.abs(), rest);
        for _ in 0..4 {
            let off = if rest > 0.5 {
                libm::erf(y) - self.abs()
            } else {
                rest - libm::erfc(y)
            };
            let step = off * SQRT_PI.hi * 0.5 * libm::exp(y * y);
            y -= step / (1.0 + y * step);
        }
        y.copysign(self)
    }

    fn digamma(self) -> Self {
        match self {
            f64::INFINITY => self,
            _ if self.abs() < 1e-100 => -1.0 / self,
            _ if self > 1e100 => libm::log(self),
            _ if !self.is_finite() || (self < 0.0 && self.fract() == 0.0) => f64::NAN,
            _ => Double::new(self).digamma().hi,
        }
    }

    fn logaddexp(self, other: Self) -> Self {
        if self == other {
            return self + LN_2.hi;
        }
        if self.is_nan() || other.is_nan() {
            return f64::NAN;
        }
        let large = self.max(other);
        large + libm::log1p(libm::exp(-(self - other).abs()))
    }
}
