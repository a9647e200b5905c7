//! Numbers of twice the digits of float64, as an unevaluated sum: what float64 results are held
//! against. Every function is accurate to about 2⁻⁹⁵ of its result.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::turn::quarter_turns;

/// `hi + lo`, where `lo` is at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Double {
    /// The nearest float64.
    pub hi: f64,
    /// What it leaves out.
    pub lo: f64,
}

/// `π`.
pub const PI: Double = Double::pair(std::f64::consts::PI, 1.224_646_799_147_353_2e-16);
/// `ln 2`.
pub const LN_2: Double = Double::pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
/// `ln 10`.
pub const LN_10: Double = Double::pair(std::f64::consts::LN_10, -2.170_756_223_382_249_4e-16);
/// `√π`.
pub const SQRT_PI: Double = Double::pair(1.772_453_850_905_516, -7.666_586_499_825_799e-17);
/// `ln(2π) / 2`.
pub const HALF_LN_TAU: Double = Double::pair(0.918_938_533_204_672_8, -3.878_294_158_067_241_4e-17);

/// A sum and what its rounding left out.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let back = sum - a;
    (sum, (a - (sum - back)) + (b - back))
}

/// A product and what its rounding left out.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

impl Double {
    /// A float64.
    #[must_use]
    pub const fn new(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }

    /// A constant.
    #[must_use]
    pub const fn pair(hi: f64, lo: f64) -> Self {
        Self { hi, lo }
    }

    /// The sum of two floats, of which the first is not smaller.
    fn settle(hi: f64, lo: f64) -> Self {
        let sum = hi + lo;
        Self {
            hi: sum,
            lo: lo - (sum - hi),
        }
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(self) -> Self {
        if self.hi < 0.0 { -self } else { self }
    }

    /// The product with a power of two.
    #[must_use]
    pub fn scale(self, exponent: i32) -> Self {
        Self {
            hi: libm::ldexp(self.hi, exponent),
            lo: libm::ldexp(self.lo, exponent),
        }
    }

    /// Whether the square does not count beside the number, and might vanish.
    fn is_tiny(self) -> bool {
        self.hi.abs() < 1e-120
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        if self.hi <= 0.0 {
            return Self::new(self.hi.sqrt());
        }
        if self.hi < 1e-200 {
            return self.scale(400).sqrt().scale(-200);
        }
        let root = Self::new(self.hi.sqrt());
        root + (self - root * root) / (root + root)
    }

    /// The cube root.
    #[must_use]
    pub fn cbrt(self) -> Self {
        let root = Self::new(libm::cbrt(self.hi));
        root + (self - root * root * root) / (root * root * Self::new(3.0))
    }

    /// `eˣ - 1`.
    #[must_use]
    pub fn expm1(self) -> Self {
        if self.is_tiny() {
            return self;
        }
        if self.hi.abs() > 0.4 {
            return self.exp() - Self::new(1.0);
        }
        small_expm1(self)
    }

    /// `eˣ`.
    #[must_use]
    pub fn exp(self) -> Self {
        let whole = libm::rint(self.hi / LN_2.hi);
        if !(-1200.0..=1200.0).contains(&whole) {
            return Self::new(libm::exp(self.hi));
        }
        let rest = self - LN_2 * Self::new(whole);
        (small_expm1(rest) + Self::new(1.0)).scale(whole as i32)
    }

    /// `ln(1 + x)`.
    #[must_use]
    pub fn ln_1p(self) -> Self {
        if self.is_tiny() {
            return self;
        }
        if !(-0.5..=1.0).contains(&self.hi) {
            return (self + Self::new(1.0)).ln();
        }
        let start = Self::new(libm::log1p(self.hi));
        let power = start.expm1();
        // Halley's step for expm1(y) = x, which triples the digits.
        start + (self - power) * Self::new(2.0) / (self + power + Self::new(2.0))
    }

    /// The natural logarithm.
    #[must_use]
    pub fn ln(self) -> Self {
        if (0.6..=1.9).contains(&self.hi) {
            return (self - Self::new(1.0)).ln_1p();
        }
        if self.hi <= 0.0 || !self.hi.is_finite() {
            return Self::new(libm::log(self.hi));
        }
        let (_, exponent) = libm::frexp(self.hi);
        let rest = self.scale(-exponent);
        (rest - Self::new(1.0)).ln_1p() + LN_2 * Self::new(f64::from(exponent))
    }

    /// Sine and cosine.
    #[must_use]
    pub fn sin_cos(self) -> (Self, Self) {
        let (turns, rest) = quarter_turns(self.hi);
        let rest = rest + Self::new(self.lo);
        let (sin, cos) = small_sin_cos(rest);
        match turns % 4 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// The angle of the point `(x, self)`.
    #[must_use]
    pub fn atan2(self, x: Self) -> Self {
        let start = Self::new(libm::atan2(self.hi, x.hi));
        if !start.hi.is_normal() {
            return start;
        }
        // What is left after turning the point back is a small angle.
        let (sin, cos) = start.sin_cos();
        let rest = (self * cos - x * sin) / (x * cos + self * sin);
        start + rest
    }
}

/// `eˣ - 1` for small numbers: Taylor's series of a still smaller one, doubled.
fn small_expm1(x: Double) -> Double {
    const HALVINGS: i32 = 6;
    let small = x.scale(-HALVINGS);
    let (mut term, mut total) = (small, small);
    for n in 2..18 {
        term = term * small / Double::new(f64::from(n));
        total = total + term;
    }
    for _ in 0..HALVINGS {
        // (1 + e)² - 1
        total = total * (total + Double::new(2.0));
    }
    total
}

/// Sine and cosine of at most an eighth of a turn, by Taylor's series.
fn small_sin_cos(x: Double) -> (Double, Double) {
    let square = -(x * x);
    let (mut sin, mut cos) = (x, Double::new(1.0));
    let (mut odd, mut even) = (x, Double::new(1.0));
    for n in 1..16 {
        let n = f64::from(2 * n);
        even = even * square / Double::new(n * (n - 1.0));
        odd = odd * square / Double::new(n * (n + 1.0));
        cos = cos + even;
        sin = sin + odd;
    }
    (sin, cos)
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (hi, lost) = two_sum(self.hi, other.hi);
        let (lo, more) = two_sum(self.lo, other.lo);
        let first = Self::settle(hi, lost + lo);
        Self::settle(first.hi, first.lo + more)
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (hi, lost) = two_product(self.hi, other.hi);
        Self::settle(hi, lost + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        // Rests of products must not vanish.
        if self.hi.abs() < 1e-200 && self.hi != 0.0 && other.hi.abs() < 1e100 {
            return (self.scale(300) / other).scale(-300);
        }
        let first = self.hi / other.hi;
        let rest = self - other * Self::new(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Self::new(second);
        let third = rest.hi / other.hi;
        Self::settle(first, second) + Self::new(third)
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}
