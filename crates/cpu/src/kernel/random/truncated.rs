//! Normal numbers between two bounds.

use allotrope_op::Number;
use allotrope_op::elementary::Elementary;

use super::gamma::exp;
use super::sample::{ATTEMPTS, Bits, STRIDE, Variate};

type Lane = Number<f64, false>;

/// By mean, standard deviation and bounds.
#[derive(Clone, Copy)]
pub(super) struct TruncatedNormal;

impl Variate<2, 4> for TruncatedNormal {
    const IS_CLOSED: bool = false;

    fn draw(self, bits: &Bits<'_, 2>, [mean, std, a, b]: [f64; 4]) -> f64 {
        let (low, high) = ((a - mean) / std, (b - mean) / std);
        let standard = if low > 0.5 {
            draw_tail(bits, low, high)
        } else if high < -0.5 {
            -draw_tail(bits, -high, -low)
        } else {
            draw_middle(bits.fraction(0), low, high)
        };
        (mean + std * standard).max(a).min(b)
    }
}

/// Bounds on both sides of the mean, or near it: the distribution function inverted.
fn draw_middle(fraction: f64, low: f64, high: f64) -> f64 {
    const ROOT: f64 = std::f64::consts::SQRT_2;
    let erf = |x: f64| Lane::erf(Number(x / ROOT)).0;
    let (from, to) = (erf(low), erf(high));
    // One itself is the function of infinity.
    let most = 1.0_f64.next_down();
    let level = (from + fraction * (to - from)).clamp(-most, most);
    Lane::erfinv(Number(level)).0 * ROOT
}

/// Bounds beyond half a deviation, where that would lose its digits: an exponential number of rate
/// `low`, accepted with `exp(-y² / 2)` (after Robert 1995).
fn draw_tail(bits: &Bits<'_, 2>, low: f64, high: f64) -> f64 {
    let share = Lane::expm1(Number(-low * (high - low))).0;
    for attempt in 0..ATTEMPTS {
        let first = attempt * STRIDE;
        let fraction = bits.fraction(first);
        let y = -Lane::log1p(Number(fraction * share)).0 / low;
        if bits.fraction(first + 1) < exp(-0.5 * y * y) {
            return low + y;
        }
    }
    low
}
