//! Counts of events: Poisson and binomial numbers.
//!
//! Small means are found by adding up probabilities until they reach a random fraction; large ones by
//! transformed rejection with squeezes, Hörmann's PTRS and BTRS (1993).

use allotrope_op::Number;
use allotrope_op::elementary::Elementary;

use super::gamma::{exp, ln};
use super::sample::{ATTEMPTS, Bits, STRIDE, Variate};

/// The mean from which rejection is faster, and sound.
const LARGE: f64 = 10.0;
/// Beyond this many, a mean below [`LARGE`] has no probability that a fraction of 64 bits shows.
const MOST: f64 = 200.0;

/// `ln k!` without `(k + 1/2) ln(k + 1) - (k + 1)`, the large part of it (Stirling): differences of
/// that are taken where they lose no digits.
#[inline(never)]
fn stirling_rest(k: f64) -> f64 {
    const HALF_LOG_TURN: f64 = 0.918_938_533_204_672_8;
    let x = k + 1.0;
    if k < 10.0 {
        return Number::<f64, false>(x).lgamma().0 - (k + 0.5) * ln(x) + x;
    }
    let square = x * x;
    HALF_LOG_TURN + (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / x
}

/// `ln(1 + x)`, once in the program.
#[inline(never)]
fn log1p(x: f64) -> f64 {
    Number::<f64, false>(x).log1p().0
}

/// Events at a rate.
#[derive(Clone, Copy)]
pub(super) struct Poisson;

impl Variate<2, 1> for Poisson {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 2>, [rate]: [f64; 1]) -> f64 {
        if rate < LARGE {
            let next = |k: f64| rate / k;
            return add_up(bits.fraction(0), exp(-rate), MOST, next);
        }
        let half_log_rate = 0.5 * ln(rate);
        let b = 0.931 + 2.53 * rate.sqrt();
        let hat = Hat {
            a: -0.059 + 0.02483 * b,
            b,
            center: rate + 0.43,
            sure: 0.9277 - 3.6224 / (b - 2.0),
        };
        let scale = ln(1.1239 + 1.1328 / (b - 3.4));
        hat.reject(bits, f64::INFINITY, |k, v, height| {
            // ln(rate^k e^-rate / k!)
            let above = k + 1.0 - rate;
            let large = above - (k + 0.5) * log1p(above / rate);
            ln(v) + scale - ln(height) <= large - half_log_rate - stirling_rest(k)
        })
    }
}

/// Successes of trials.
#[derive(Clone, Copy)]
pub(super) struct Binomial;

impl Variate<2, 2> for Binomial {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 2>, [count, p]: [f64; 2]) -> f64 {
        // Successes or failures, whichever are fewer.
        let rare = if p > 0.5 { 1.0 - p } else { p };
        let drawn = draw_rare(bits, count, rare);
        if p > 0.5 { count - drawn } else { drawn }
    }
}

/// Binomial numbers of a probability up to a half.
fn draw_rare(bits: &Bits<'_, 2>, count: f64, p: f64) -> f64 {
    if count * p < LARGE {
        let odds = p / (1.0 - p);
        let none = exp(count * log1p(-p));
        let next = |k: f64| (count - k + 1.0) / k * odds;
        return add_up(bits.fraction(0), none, count.min(MOST), next);
    }
    let spread = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * spread;
    let hat = Hat {
        a: -0.0873 + 0.0248 * b + 0.01 * p,
        b,
        center: count * p + 0.5,
        sure: 0.92 - 4.2 / b,
    };
    let scale = (2.83 + 5.1 / b) * spread;
    let mode = ((count + 1.0) * p).floor();
    let failures = count - mode;
    let slope = ln(p / (1.0 - p) * ((failures + 1.0) / (mode + 1.0)));
    let rest = stirling_rest(mode) + stirling_rest(failures);
    hat.reject(bits, count, |k, v, height| {
        // The logarithm of the probability of k by that of the mode.
        let (above, others) = (k - mode, count - k);
        let large = (k + 0.5) * log1p(above / (mode + 1.0))
            + (others + 0.5) * log1p(-above / (failures + 1.0));
        let likelihood = above * slope - large + rest - stirling_rest(k) - stirling_rest(others);
        ln(v * scale / height) <= likelihood
    })
}

/// The first `k` up to which the probabilities are more than a fraction. The next of them is the
/// last one times `next(k)`.
fn add_up(fraction: f64, none: f64, most: f64, next: impl Fn(f64) -> f64) -> f64 {
    let (mut rest, mut probability, mut k) = (fraction, none, 0.0);
    while rest > probability && k < most {
        rest -= probability;
        k += 1.0;
        probability *= next(k);
    }
    k
}

/// The hat of a transformed rejection.
struct Hat {
    a: f64,
    b: f64,
    center: f64,
    /// Up to this height everything away from the edges lies below the probability.
    sure: f64,
}

impl Hat {
    /// The first number from 0 to `most` that is accepted.
    #[inline(always)]
    fn reject(
        &self,
        bits: &Bits<'_, 2>,
        most: f64,
        is_below: impl Fn(f64, f64, f64) -> bool,
    ) -> f64 {
        for attempt in 0..ATTEMPTS {
            let first = attempt * STRIDE;
            let u = bits.fraction(first) - 0.5;
            let v = bits.fraction(first + 1);
            let edge = 0.5 - u.abs();
            if edge <= 0.0 {
                continue;
            }
            let k = ((2.0 * self.a / edge + self.b) * u + self.center).floor();
            if !(0.0..=most).contains(&k) || (edge < 0.013 && v > edge) {
                continue;
            }
            if edge >= 0.07 && v <= self.sure {
                return k;
            }
            if is_below(k, v, self.a / (edge * edge) + self.b) {
                return k;
            }
        }
        self.center.floor()
    }
}
