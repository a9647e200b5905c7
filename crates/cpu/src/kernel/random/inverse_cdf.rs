//! Laws whose numbers are one formula of the random bits.

use allotrope_op::Number;
use allotrope_op::elementary::Elementary;

use super::sample::{Bits, Variate, open_fraction};
use super::uniform_bits::Part;

/// Never fused, so that every CPU gives the same bits.
type Lane = Number<f64, false>;

/// A standard exponential number of 64 bits.
#[inline(always)]
fn standard(bits: u64) -> f64 {
    // From zero, so that the logarithm of one gives no negative zero.
    0.0 - Lane::log(Number(open_fraction(bits))).0
}

/// `-ln u / rate`.
#[derive(Clone, Copy)]
pub(super) struct Exponential;

impl Variate<1, 1> for Exponential {
    const IS_CLOSED: bool = true;

    #[inline(always)]
    fn draw(self, bits: &Bits<'_, 1>, [rate]: [f64; 1]) -> f64 {
        standard(bits.get(0)) / rate
    }
}

/// An exponential number to the side that the first bit says.
#[derive(Clone, Copy)]
pub(super) struct Laplace;

impl Variate<1, 2> for Laplace {
    const IS_CLOSED: bool = true;

    #[inline(always)]
    fn draw(self, bits: &Bits<'_, 1>, [loc, scale]: [f64; 2]) -> f64 {
        let bits = bits.get(0);
        let size = standard(bits << 1) * scale;
        if bits >> 63 == 1 {
            loc - size
        } else {
            loc + size
        }
    }
}

/// The tangent of an angle from minus to plus a quarter turn.
#[derive(Clone, Copy)]
pub(super) struct Cauchy;

impl Variate<1, 2> for Cauchy {
    const IS_CLOSED: bool = true;

    #[inline(always)]
    fn draw(self, bits: &Bits<'_, 1>, [median, sigma]: [f64; 2]) -> f64 {
        const UNIT: f64 = std::f64::consts::PI / u64::MAX as f64;
        let angle = (bits.get(0) as i64 as f64 + 0.5) * UNIT;
        median + sigma * Lane::tan_near(Number(angle)).0
    }
}

/// The exponential of a normal number.
#[derive(Clone, Copy)]
pub(super) struct LogNormal;

impl Variate<2, 2> for LogNormal {
    const IS_CLOSED: bool = true;

    #[inline(always)]
    fn draw(self, bits: &Bits<'_, 2>, [mean, std]: [f64; 2]) -> f64 {
        let (normal, _) = f64::pair(bits.get(0), bits.get(1), 2.0);
        Lane::exp(Number(mean + std * normal)).0
    }
}

/// `1 + ⌊ln u / ln(1 - p)⌋`.
#[derive(Clone, Copy)]
pub(super) struct Geometric;

impl Variate<1, 1> for Geometric {
    const IS_CLOSED: bool = true;

    #[inline(always)]
    fn draw(self, bits: &Bits<'_, 1>, [p]: [f64; 1]) -> f64 {
        let rate = 0.0 - Lane::log1p(Number(-p)).0;
        (standard(bits.get(0)) / rate).floor() + 1.0
    }
}
