//! Gamma numbers and what is made of them: beta, chi-square, Student's t, Dirichlet.

use allotrope_dtype::Level;
use allotrope_op::Number;
use allotrope_op::elementary::Elementary;

use super::Stream;
use super::sample::{ATTEMPTS, Bits, STRIDE, Variate, log_gammas};
use super::uniform_bits::Part;
use crate::parallel;

type Lane = Number<f64, false>;

/// The natural logarithm, once in the program.
#[inline(never)]
pub(super) fn ln(x: f64) -> f64 {
    Lane::log(Number(x)).0
}

/// The exponential, once in the program.
#[inline(never)]
pub(super) fn exp(x: f64) -> f64 {
    Lane::exp(Number(x)).0
}

/// A normal number of two numbers of 64 bits.
#[inline(never)]
pub(super) fn normal(radius: u64, angle: u64) -> f64 {
    f64::pair(radius, angle, 2.0).0
}

/// A gamma number of rate 1 as a factor and the logarithm of another, which may be far below all
/// floats: Marsaglia and Tsang (2000), shapes below one by `G(a) = G(a + 1) U^(1 / a)`. Takes the
/// numbers from `base` to `base + 3` of each attempt.
fn draw_parts<const W: usize>(bits: &Bits<'_, W>, base: u32, shape: f64) -> (f64, f64) {
    if shape == 0.0 {
        return (0.0, 0.0);
    }
    let (above, boost) = if shape < 1.0 {
        (shape + 1.0, ln(bits.fraction(base + 3)) / shape)
    } else {
        (shape, 0.0)
    };
    let d = above - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    for attempt in 0..ATTEMPTS {
        let first = attempt * STRIDE + base;
        let x = normal(bits.get(first), bits.get(first + 1));
        let t = 1.0 + c * x;
        if t <= 0.0 {
            continue;
        }
        let v = t * t * t;
        let u = bits.fraction(first + 2);
        let square = x * x;
        // The first test decides nearly always, without a logarithm.
        if u < 1.0 - 0.0331 * square * square || ln(u) < 0.5 * square + d * (1.0 - v + ln(v)) {
            return (d * v, boost);
        }
    }
    (d, boost)
}

/// The logarithm of a gamma number.
fn draw_log<const W: usize>(bits: &Bits<'_, W>, base: u32, shape: f64) -> f64 {
    let (factor, boost) = draw_parts(bits, base, shape);
    ln(factor) + boost
}

/// A gamma number of rate 1.
fn draw<const W: usize>(bits: &Bits<'_, W>, base: u32, shape: f64) -> f64 {
    let (factor, boost) = draw_parts(bits, base, shape);
    if boost == 0.0 {
        factor
    } else {
        factor * exp(boost)
    }
}

/// By shape and rate.
#[derive(Clone, Copy)]
pub(super) struct Gamma;

impl Variate<4, 2> for Gamma {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 4>, [shape, rate]: [f64; 2]) -> f64 {
        draw(bits, 0, shape) / rate
    }
}

/// Logarithms of gamma numbers.
#[derive(Clone, Copy)]
pub(super) struct LogGamma;

impl Variate<4, 1> for LogGamma {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 4>, [shape]: [f64; 1]) -> f64 {
        draw_log(bits, 0, shape)
    }
}

/// `x / (x + y)` of two gamma numbers, by their logarithms: small shapes have tiny numbers.
#[derive(Clone, Copy)]
pub(super) struct Beta;

impl Variate<8, 2> for Beta {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 8>, [a, b]: [f64; 2]) -> f64 {
        let (x, y) = (draw_log(bits, 0, a), draw_log(bits, 4, b));
        1.0 / (1.0 + exp(y - x))
    }
}

/// Twice a gamma number of half the degrees.
#[derive(Clone, Copy)]
pub(super) struct ChiSquare;

impl Variate<4, 1> for ChiSquare {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 4>, [df]: [f64; 1]) -> f64 {
        2.0 * draw(bits, 0, df / 2.0)
    }
}

/// A normal number by the root of chi-square by its degrees.
#[derive(Clone, Copy)]
pub(super) struct StudentT;

impl Variate<6, 1> for StudentT {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 6>, [df]: [f64; 1]) -> f64 {
        let log_mean = draw_log(bits, 0, df / 2.0) - ln(df / 2.0);
        normal(bits.get(4), bits.get(5)) * exp(-0.5 * log_mean)
    }
}

/// Fills `target` with shares of gamma numbers of these shapes: rows of `size` that sum up to one.
pub fn dirichlet(level: Level, stream: Stream, shapes: &[f64], size: usize, target: &mut [f64]) {
    log_gammas(level, stream, shapes, target);
    parallel::for_each_block(target, size, |_, row| {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|x| *x = exp(*x - most));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    });
}
