//! Complex rows by the textbook, whose cancellations the digits of [`Double`] pay for.

use std::ops::{Add, Div, Mul, Neg, Sub};

use allotrope_op::Op;

use super::Exact;
use crate::double::{Double, LN_2, LN_10, PI};
use crate::precise::Precise;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<R> {
    /// The real part.
    pub re: R,
    /// The imaginary part.
    pub im: R,
}

impl<R: Precise> Add for Pair<R> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl<R: Precise> Sub for Pair<R> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl<R: Precise> Mul for Pair<R> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}

impl<R: Precise> Div for Pair<R> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let below = other.re * other.re + other.im * other.im;
        let above = self * other.conj();
        Self::new(above.re / below, above.im / below)
    }
}

impl<R: Precise> Neg for Pair<R> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.re, -self.im)
    }
}

impl<R: Precise> Pair<R> {
    /// The number with these parts.
    pub fn new(re: R, im: R) -> Self {
        Self { re, im }
    }

    fn of(re: f64) -> Self {
        Self::new(R::of(re), R::of(0.0))
    }

    fn real(re: Double) -> Self {
        Self::new(R::constant(re), R::of(0.0))
    }

    fn conj(self) -> Self {
        Self::new(self.re, -self.im)
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(self) -> R {
        self.re.hypot(self.im)
    }

    /// The product with `i`.
    fn turned(self) -> Self {
        Self::new(-self.im, self.re)
    }

    /// `eᶻ`.
    #[must_use]
    pub fn exp(self) -> Self {
        let size = self.re.exp();
        Self::new(size * self.im.cos(), size * self.im.sin())
    }

    /// The natural logarithm.
    #[must_use]
    pub fn ln(self) -> Self {
        Self::new(self.abs().ln(), self.im.atan2(self.re))
    }

    fn sqrt(self) -> Self {
        let half = R::of(0.5);
        let larger = ((self.abs() + self.re.abs()) * half).sqrt();
        if larger.get() == 0.0 {
            return Self::of(0.0);
        }
        let smaller = self.im.abs() * half / larger;
        let (re, im) = if self.re.get() < 0.0 {
            (smaller, larger)
        } else {
            (larger, smaller)
        };
        Self::new(re, if self.im.get() < 0.0 { -im } else { im })
    }

    fn sinh(self) -> Self {
        (self.exp() - (-self).exp()) * Self::of(0.5)
    }

    fn cosh(self) -> Self {
        (self.exp() + (-self).exp()) * Self::of(0.5)
    }

    fn asinh(self) -> Self {
        // Odd, and without cancellation on the right.
        if self.re.get() < 0.0 {
            return -(-self).asinh();
        }
        (self + (self * self + Self::of(1.0)).sqrt()).ln()
    }

    fn atanh(self) -> Self {
        let one = Self::of(1.0);
        ((one + self).ln() - (one - self).ln()) * Self::of(0.5)
    }

    fn acosh(self) -> Self {
        let one = Self::of(1.0);
        (self + (self + one).sqrt() * (self - one).sqrt()).ln()
    }

    fn pow(self, exponent: Self) -> Self {
        (self.ln() * exponent).exp()
    }
}

/// The magnitude that the error is relative to, if the result is smaller.
#[must_use]
pub fn scale_of_parts(op: Op, a: &[Pair<f64>]) -> f64 {
    let sizes = match (op, a) {
        (Op::Lerp, [x, y, weight]) => [x.abs(), (*weight * (*y - *x)).abs()],
        (Op::Addcmul, [x, p, q, value]) => [x.abs(), (*value * *p * *q).abs()],
        (Op::Addcdiv, [x, p, q, value]) => [x.abs(), (*value * *p / *q).abs()],
        (Op::Logaddexp, [x, y]) => [x.abs(), y.abs()],
        (Op::Tanhshrink, [x]) => [x.abs(), (x.sinh() / x.cosh()).abs()],
        _ => [0.0; 2],
    };
    sizes[0].max(sizes[1])
}

/// The answer to complex numbers, whose parts are finite.
pub(super) fn answer(op: Op, a: &[Pair<Double>]) -> Option<Exact> {
    let x = a[0];
    let y = a.get(1).copied().unwrap_or(x);
    let is_finite = |z: &Pair<Double>| z.re.hi.is_finite() && z.im.hi.is_finite();
    match op {
        Op::Abs => return Some(Exact::Real(x.abs())),
        Op::RealPart => return Some(Exact::Real(x.re)),
        Op::ImagPart => return Some(Exact::Real(x.im)),
        Op::Angle => return Some(Exact::Real(x.im.atan2(x.re))),
        Op::IsNan => return Some(Exact::Truth(x.re.hi.is_nan() || x.im.hi.is_nan())),
        Op::IsInf => return Some(Exact::Truth(x.re.hi.is_infinite() || x.im.hi.is_infinite())),
        Op::IsFinite => return Some(Exact::Truth(is_finite(&x))),
        Op::IsReal => return Some(Exact::Truth(x.im.hi == 0.0)),
        Op::Eq => return Some(Exact::Truth(x.re.hi == y.re.hi && x.im.hi == y.im.hi)),
        Op::Ne => return Some(Exact::Truth(x.re.hi != y.re.hi || x.im.hi != y.im.hi)),
        Op::IsClose => {
            let distance = (x - y).abs().hi;
            let limit = (a[3].re + a[2].re * y.abs()).hi;
            if (distance - limit).abs() < 1e-6 * limit {
                return None;
            }
            return Some(Exact::Truth(distance <= limit));
        }
        _ => {}
    }
    map(op, a).map(Exact::Complex)
}

/// Every row that makes a number of complex numbers, with real ones as complex.
#[must_use]
pub fn complex_map(op: Op, a: &[Pair<Double>]) -> Pair<Double> {
    let nan = Double::new(f64::NAN);
    match answer(op, a) {
        Some(Exact::Complex(z)) => z,
        Some(Exact::Real(x)) => Pair::new(x, Double::new(0.0)),
        _ => Pair::new(nan, nan),
    }
}

/// Every row that makes a complex number of complex numbers; `None` for the others.
fn map<R: Precise>(op: Op, a: &[Pair<R>]) -> Option<Pair<R>> {
    let x = a[0];
    let one = Pair::of(1.0);
    Some(match op {
        Op::Neg => -x,
        Op::Positive => x,
        Op::Sign => {
            let size = x.abs();
            if size.get() == 0.0 {
                x
            } else {
                Pair::new(x.re / size, x.im / size)
            }
        }
        Op::Conj => x.conj(),
        Op::Square => x * x,
        Op::Reciprocal => one / x,
        Op::Sqrt => x.sqrt(),
        Op::Rsqrt => one / x.sqrt(),
        Op::Exp => x.exp(),
        Op::Exp2 => (x * Pair::real(LN_2)).exp(),
        Op::Expm1 => x.exp() - one,
        Op::Log => x.ln(),
        Op::Log2 => x.ln() / Pair::real(LN_2),
        Op::Log10 => x.ln() / Pair::real(LN_10),
        Op::Log1p => (x + one).ln(),
        Op::Sin => -x.turned().sinh().turned(),
        Op::Cos => x.turned().cosh(),
        Op::Tan => {
            let z = x.turned();
            -(z.sinh() / z.cosh()).turned()
        }
        Op::Asin => -x.turned().asinh().turned(),
        Op::Acos => Pair::real(PI.scale(-1)) + x.turned().asinh().turned(),
        Op::Atan => -x.turned().atanh().turned(),
        Op::Sinh => x.sinh(),
        Op::Cosh => x.cosh(),
        Op::Tanh => x.sinh() / x.cosh(),
        Op::Asinh => x.asinh(),
        Op::Acosh => x.acosh(),
        Op::Atanh => x.atanh(),
        Op::Sigmoid => one / (one + (-x).exp()),
        Op::Silu => x / (one + (-x).exp()),
        Op::Softsign => {
            let below = R::of(1.0) + x.abs();
            Pair::new(x.re / below, x.im / below)
        }
        Op::Tanhshrink => x - x.sinh() / x.cosh(),
        Op::Sinc => {
            // sin(πa) cosh(πb) + i cos(πa) sinh(πb), where nothing cancels near 0.
            let turned = x * Pair::real(PI);
            let cos = (x.re + R::of(0.5)).sin_pi();
            let above = Pair::new(x.re.sin_pi() * turned.im.cosh(), cos * turned.im.sinh());
            match x.re.get() == 0.0 && x.im.get() == 0.0 {
                true => one,
                false => above / turned,
            }
        }
        Op::Round => {
            let part = |part: R| R::of(libm::rint(part.get()));
            Pair::new(part(x.re), part(x.im))
        }
        Op::Add => x + a[1],
        Op::Sub => x - a[1],
        Op::Mul => x * a[1],
        Op::Div => x / a[1],
        Op::Pow => x.pow(a[1]),
        Op::Logaddexp => {
            let (larger, smaller) = match x.re.get() < a[1].re.get() {
                true => (a[1], x),
                false => (x, a[1]),
            };
            larger + (one + (smaller - larger).exp()).ln()
        }
        Op::Ldexp => x * (a[1] * Pair::real(LN_2)).exp(),
        Op::Lerp => x + a[2] * (a[1] - x),
        Op::Addcmul => x + a[3] * a[1] * a[2],
        Op::Addcdiv => x + a[3] * a[1] / a[2],
        Op::NanToNum => x,
        _ => return None,
    })
}
