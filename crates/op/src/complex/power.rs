//! Powers: `zʷ = exp(w ln z)`, and products for small whole exponents.

use super::Complex;
use super::exponential::{exp_in_two, polar};
use crate::LaneBits;
use crate::elementary::Elementary;

/// The exponents below two to this power are products.
const WHOLE_BITS: u32 = 6;

/// `z` to the power of a whole number of so few bits, by squaring.
#[inline(always)]
fn whole_power<R: Elementary>(z: Complex<R>, exponent: R::Bits) -> Complex<R> {
    let mut product = Complex::lit(1.0, 0.0);
    let mut power = z;
    for bit in 0..WHOLE_BITS {
        let mask = R::Bits::lit(1 << bit);
        product = Complex::select((exponent & mask).eq(mask), product * power, product);
        power = power * power;
    }
    product
}

impl<R: Elementary> Complex<R> {
    /// The power with exponent `w`, on the branch of [`log`](Self::log). Where `w` is a whole number
    /// below 64 in magnitude it is a product, which is exact for small whole numbers; elsewhere the
    /// error is up to 4 ulp and 2 more for each unit of `|w ln z|`. It is 1 where `w` is 0, 0 for a
    /// zero to a power with positive real part, and NaN for a zero to any other.
    #[inline(always)]
    pub fn pow(self, w: Self) -> Self {
        let (zero, one) = (R::lit(0.0), Self::lit(1.0, 0.0));
        let is_real = w.im.eq(zero);
        let log = self.log();
        // A zero times an infinite logarithm is nothing.
        let times = |x: R, y: R| R::select(x.eq(zero), zero, x * y);
        let growth = times(w.re, log.re) - times(w.im, log.im);
        let angle = times(w.re, log.im) + times(w.im, log.re);
        let (e, more) = exp_in_two(growth);
        let modulus = self.abs().pow(w.re);
        let e = R::select(is_real, modulus, e);
        let more = R::select(is_real, R::lit(1.0), more);
        let general = polar((e, more), (angle.cos(), angle.sin()), angle);

        let n = w.re.abs();
        let few = n.lt(R::lit((1 << WHOLE_BITS) as f64));
        let n = R::select(few, n, zero);
        let whole = few & is_real & n.round_small().eq(n) & self.is_finite();
        let product = whole_power(self, n.to_int_small());
        let inverse = w.re.lt(zero);
        let product = Self::select(inverse, product.reciprocal(), product);
        let y = Self::select(whole, product, general);

        let nothing = Self::select(
            zero.lt(w.re),
            Self::lit(0.0, 0.0),
            Self::lit(f64::NAN, f64::NAN),
        );
        let y = Self::select(self.eq(Self::lit(0.0, 0.0)), nothing, y);
        Self::select(w.eq(Self::lit(0.0, 0.0)), one, y)
    }
}
