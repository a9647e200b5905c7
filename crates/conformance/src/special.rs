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

/// The shares of `Γ(a)` below and above `x`: the series of the one or, from its far end, the continued
/// fraction of the other, with as many terms as change something.
pub(crate) fn gamma_shares(a: Double, x: Double) -> (Double, Double) {
    let wide = [a, x];
    let (a, x) = (a.hi, x.hi);
    let both = |lower: f64, upper: f64| (double(lower), double(upper));
    match (a, x) {
        _ if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 => return both(f64::NAN, f64::NAN),
        _ if a == 0.0 && x == 0.0 || a.is_infinite() && x.is_infinite() => {
            return both(f64::NAN, f64::NAN);
        }
        _ if x == 0.0 || a.is_infinite() => return both(0.0, 1.0),
        _ if a == 0.0 || x.is_infinite() => return both(1.0, 0.0),
        _ => {}
    }
    // The logarithm of the height of the normal distribution there.
    let off = (x - a) / a;
    let depth = match off.abs() < 1e-3 {
        true => a * off * off * (0.5 - off / 3.0),
        false => a * (off - libm::log(x / a)),
    };
    if depth > 800.0 {
        return if x < a {
            both(0.0, 1.0)
        } else {
            both(1.0, 0.0)
        };
    }
    if a > 1e12 {
        // Too near to tell from the middle.
        return both(0.5, 0.5);
    }
    let ([a, x], one) = (wide, double(1.0));
    let gamma = match a.hi < 1e-4 {
        true => lgamma_beside_one(a),
        false => (a + one).lgamma(),
    };
    let raised = a * x.ln() - gamma;
    if x.hi > 1.0 && x.hi > a.hi {
        let count = 400.0 + 12.0 * a.hi.sqrt();
        let mut tail = x + double(2.0 * count.floor() + 1.0) - a;
        let mut n = count.floor();
        while n > 0.0 {
            let base = x + double(2.0 * n - 1.0) - a;
            tail = base + double(n) * (a - double(n)) / tail;
            n -= 1.0;
        }
        let upper = (raised - x).exp() * a / tail;
        return (one - upper, upper);
    }
    let (mut term, mut total, mut n) = (one, one, one);
    while term.hi > total.hi * 1e-34 {
        term = term * x / (a + n);
        total = total + term;
        n = n + one;
    }
    let lower = (raised - x).exp() * total;
    if x.hi > 1.0 || a.hi > 0.5 {
        return (lower, one - lower);
    }
    // Small numbers: 1 - P = -(xᵃ/Γ(1 + a) - 1) - xᵃ/Γ(1 + a) a Σ (-x)ⁿ / (n! (a + n)).
    let (mut term, mut total, mut n) = (-x, -x / (a + one), 1.0);
    while term.hi.abs() > total.hi.abs() * 1e-36 {
        n += 1.0;
        term = -(term * x) / double(n);
        total = total + term / (a + double(n));
    }
    let upper = -raised.expm1() - raised.exp() * a * total;
    (lower, upper)
}

/// `ln Γ(1 + a)` of small numbers: `-γ a + Σ ζ(n) (-a)ⁿ / n`.
fn lgamma_beside_one(a: Double) -> Double {
    let zeta = [
        Double::pair(0.577_215_664_901_532_9, -4.942_915_152_430_645e-18),
        PI * PI / double(6.0),
        Double::pair(1.2020569031595942, 4.875891010379532e-17),
        PI * PI * PI * PI / double(90.0),
        double(1.036_927_755_143_37),
        double(1.017_343_061_984_449),
        double(1.008_349_277_381_922_8),
        double(1.004_077_356_197_944_3),
    ];
    let numbers = zeta
        .into_iter()
        .zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let sum = numbers
        .rev()
        .fold(double(0.0), |sum, (zeta, n)| zeta / double(n) - a * sum);
    -(a * sum)
}

/// Hurwitz' zeta function: sixty terms as they stand, the rest by Euler's and Maclaurin's formula; of
/// negative numbers more terms.
pub(crate) fn zeta(x: Double, q: Double) -> Double {
    const TERMS: f64 = 60.0;
    let wide = q;
    let (x, q) = (x.hi, q.hi);
    let is_pole = q <= 0.0 && q == q.floor();
    match (x, q) {
        _ if x.is_nan() || q.is_nan() || x < 1.0 => return double(f64::NAN),
        _ if x == 1.0 || is_pole => return double(f64::INFINITY),
        _ if q < 0.0 && x.is_finite() && x != x.floor() => return double(f64::NAN),
        _ if q.is_infinite() => return double(0.0),
        _ if x.is_infinite() => {
            let limit = [(q > 1.0, 0.0), (q == 1.0, 1.0)];
            let limit = limit.iter().find(|(holds, _)| *holds);
            return double(limit.map_or(f64::INFINITY, |(_, limit)| *limit));
        }
        _ => {}
    }
    let power = |base: Double, exponent: f64| {
        let log = base.abs().ln();
        // Pairs of numbers have no infinities.
        match log.hi * exponent {
            raised if raised > 720.0 => double(f64::INFINITY),
            raised if raised < -800.0 => double(0.0),
            _ => (log * double(exponent)).exp(),
        }
    };
    let is_odd = x.rem_euclid(2.0) == 1.0;
    let least = (-q).ceil().max(0.0) + TERMS;
    let (mut total, mut k) = (double(0.0), 0.0);
    while k < least {
        let base = wide + double(k);
        let term = power(base, -x);
        let term = if base.hi < 0.0 && is_odd { -term } else { term };
        if term.hi.is_infinite() && total.hi.is_infinite() {
            // Between two infinities the term nearer to the pole decides; of two as near nothing is left.
            let above = q - q.floor();
            let sign = if above > 0.5 && is_odd { -1.0 } else { 1.0 };
            return match above == 0.5 && is_odd {
                true => zeta(double(x), double(1.0) - wide),
                false => double(sign * f64::INFINITY),
            };
        }
        total = match term.hi.is_finite() && total.hi.is_finite() {
            true => total + term,
            // Pairs of numbers have no infinities.
            false => double(total.hi + term.hi),
        };
        k += 1.0;
    }
    if !total.hi.is_finite() {
        return total;
    }
    let end = wide + double(least);
    let lift = power(end, 1.0 - x);
    if lift.hi == 0.0 {
        return total;
    }
    let one = double(1.0);
    // Σ B₂ⱼ/(2j)! x (x + 1) … (x + 2j - 2) / e^(2j - 1), whose terms fall.
    let (mut factor, mut series, mut factorial) = (double(x) / end, double(0.5), 2.0);
    for (j, (above, below)) in BERNOULLI.iter().enumerate() {
        let j = 2.0 * (j as f64 + 1.0);
        series = series + factor * double(*above) / double(*below * factorial);
        factor = factor * (double(x + j - 1.0) / end) * (double(x + j) / end);
        factorial *= (j + 1.0) * (j + 2.0);
    }
    total + lift * (one / (double(x) - one) + series / end)
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
