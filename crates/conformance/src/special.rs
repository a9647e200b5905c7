//! Special functions of [`Double`], by series that converge without cancellation.

use crate::double::{Double, HALF_LN_TAU, PI, SQRT_PI};

fn double(value: f64) -> Double {
    Double::new(value)
}

/// `2/√π e^(-x²)`, the slope of the error function.
fn slope(x: Double) -> Double {
    (-(x * x)).exp() * double(2.0) / SQRT_PI
}

impl Double {
    /// The error function.
    #[must_use]
    pub fn erf(self) -> Self {
        if self.hi < 0.0 {
            return -(-self).erf();
        }
        if self.hi > 3.0 {
            return double(1.0) - self.erfc();
        }
        // 2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!, whose terms are all positive.
        let (mut term, mut total) = (self, self);
        let twice = self * self * double(2.0);
        let mut odd = 3.0;
        while term.hi > total.hi * 1e-34 {
            term = term * twice / double(odd);
            total = total + term;
            odd += 2.0;
        }
        total * slope(self)
    }

    /// One minus the error function.
    #[must_use]
    pub fn erfc(self) -> Self {
        if self.hi < 1.5 {
            return double(1.0) - self.erf();
        }
        if self.hi > 28.0 {
            return double(0.0);
        }
        // Laplace's continued fraction, from its far end: e^(-x²)/√π / (x + ½/(x + 1/(x + 3/2/…
        let count = (60.0 / self.hi).powi(2) as i32 + 40;
        let mut tail = self;
        for n in (1..=count).rev() {
            tail = self + double(f64::from(n) * 0.5) / tail;
        }
        slope(self) * double(0.5) / tail
    }

    /// The inverse of the error function.
    #[must_use]
    pub fn erfinv(self) -> Self {
        if self.hi < 0.0 {
            return -(-self).erfinv();
        }
        let rest = double(1.0) - self;
        if rest.hi <= 0.0 || self.hi == 0.0 {
            return double(if self.hi == 0.0 {
                0.0
            } else if rest.hi == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            });
        }
        // Halley's steps until nothing moves.
        let mut y = double(winitzki(self.hi, rest.hi));
        for _ in 0..8 {
            let off = if self.hi < 0.5 {
                y.erf() - self
            } else {
                rest - y.erfc()
            };
            let step = off / slope(y);
            y = y - step / (double(1.0) + y * step);
            if step.hi.abs() < 1e-17 * y.hi {
                break;
            }
        }
        y
    }

    /// `ln |Γ(x)|`.
    #[must_use]
    pub fn lgamma(self) -> Self {
        if self.hi < 0.5 {
            // Γ(x) Γ(1 - x) = π / sin(πx)
            let sine = sin_pi(self).abs();
            return (PI / sine).ln() - (double(1.0) - self).lgamma();
        }
        // Up to where Stirling's series converges to the last digit.
        let (mut x, mut product) = (self, double(1.0));
        while x.hi < 32.0 {
            product = product * x;
            x = x + double(1.0);
        }
        let mut series = double(0.0);
        let square = x * x;
        for (k, (above, below)) in BERNOULLI.iter().enumerate().rev() {
            let n = 2.0 * (k as f64 + 1.0);
            let term = double(*above) / double(*below * n * (n - 1.0));
            series = series / square + term;
        }
        (x - double(0.5)) * x.ln() - x + HALF_LN_TAU + series / x - product.ln()
    }

    /// The slope of `ln |Γ(x)|`.
    #[must_use]
    pub fn digamma(self) -> Self {
        if self.hi.abs() < 1e-100 {
            return -(double(1.0) / self);
        }
        if self.hi < 0.5 {
            // ψ(x) = ψ(1 - x) - π cot(πx)
            let cosine = sin_pi(self + double(0.5));
            return (double(1.0) - self).digamma() - PI * cosine / sin_pi(self);
        }
        let (mut x, mut shifted) = (self, double(0.0));
        while x.hi < 32.0 {
            shifted = shifted + double(1.0) / x;
            x = x + double(1.0);
        }
        let mut series = double(0.0);
        let square = x * x;
        for (k, (above, below)) in BERNOULLI.iter().enumerate().rev() {
            let n = 2.0 * (k as f64 + 1.0);
            series = (series + double(*above) / double(*below * n)) / square;
        }
        x.ln() - double(0.5) / x - series - shifted
    }
}

/// An approximation of `erfinv(x)` to two digits (Winitzki 2008), given `1 - x` too.
pub(crate) fn winitzki(x: f64, rest: f64) -> f64 {
    let log = libm::log(rest * (1.0 + x));
    let middle = 2.0 / (std::f64::consts::PI * 0.147) + log / 2.0;
    ((middle * middle - log / 0.147).sqrt() - middle).sqrt()
}

/// `sin(πx)`, reduced exactly.
pub(crate) fn sin_pi(x: Double) -> Double {
    let whole = libm::rint(x.hi);
    let rest = (x - double(whole)) * PI;
    let (sin, _) = rest.sin_cos();
    if whole.rem_euclid(2.0) == 1.0 {
        -sin
    } else {
        sin
    }
}

/// The Bernoulli numbers of even index, from the second on.
const BERNOULLI: [(f64, f64); 15] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174_611.0, 330.0),
    (854_513.0, 138.0),
    (-236_364_091.0, 2730.0),
    (8_553_103.0, 6.0),
    (-23_749_461_029.0, 870.0),
    (8_615_841_276_005.0, 14322.0),
];
