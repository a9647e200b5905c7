//! The longer formulas of rows, over floats of any width.

use crate::complex::Complex;
use crate::elementary::{Elementary, power_of_two};
use crate::{Lane, LaneBits};

/// The scale of `selu`.
pub(crate) const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// The slope of `selu` at minus infinity, before scaling.
pub(crate) const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
/// `1 / √(2π)`, the height of the normal distribution.
pub(crate) const NORMAL_DENSITY: f64 = 0.398_942_280_401_432_7;
/// `2 √(2/π)`, the slope of what `gelu_tanh` gives to the logistic function.
pub(crate) const GELU_SLOPE: f64 = 1.595_769_121_605_730_8;
/// The cubic part of the same.
pub(crate) const GELU_CUBIC: f64 = 0.044_715;

/// Whether the sign bit is set.
#[inline(always)]
pub(crate) fn is_negative<L: Lane>(x: L) -> L::Mask {
    x.to_bits().lt(L::Bits::lit(0))
}

/// -1, 0 or 1; NaN stays.
#[inline(always)]
pub(crate) fn sign<L: Lane>(x: L) -> L {
    let zero = L::lit(0.0);
    let one = L::select(zero.lt(x), L::lit(1.0), L::select(x.eq(x), zero, x));
    L::select(x.lt(zero), L::lit(-1.0), one)
}

/// The greater; NaN if one is; of zeros the positive one.
#[inline(always)]
pub(crate) fn max<L: Lane>(x: L, y: L) -> L {
    // Equal numbers differ in the sign of zero at most.
    let same = L::from_bits(x.to_bits() & y.to_bits());
    let greater = L::select(y.lt(x) | !x.eq(x), x, y);
    L::select(x.eq(y), same, greater)
}

/// The lesser; NaN if one is; of zeros the negative one.
#[inline(always)]
pub(crate) fn min<L: Lane>(x: L, y: L) -> L {
    let same = L::from_bits(x.to_bits() | y.to_bits());
    let lesser = L::select(x.lt(y) | !x.eq(x), x, y);
    L::select(x.eq(y), same, lesser)
}

/// Within two bounds that are numbers; NaN stays.
#[inline(always)]
pub(crate) fn clamp<L: Lane>(x: L, least: L, most: L) -> L {
    L::select(x.lt(least), least, L::select(most.lt(x), most, x))
}

/// `1 / (1 + e⁻ˣ)` without a large exponential.
#[inline(always)]
pub(crate) fn sigmoid<L: Elementary>(x: L) -> L {
    let (small, one) = ((-x.abs()).exp(), L::lit(1.0));
    L::select(x.lt(L::lit(0.0)), small, one) / (one + small)
}

/// `-log(1 + e⁻ˣ)` without a large exponential; it is never positive, nor is its zero.
#[inline(always)]
pub(crate) fn log_sigmoid<L: Elementary>(x: L) -> L {
    let small = (-x.abs()).exp().log1p();
    L::select(x.lt(L::lit(0.0)), x - small, -small)
}

/// `-x log(x)`, with the limit at 0.
#[inline(always)]
pub(crate) fn entr<L: Elementary>(x: L) -> L {
    let zero = L::lit(0.0);
    let y = L::select(x.eq(zero), zero, -(x * x.log()));
    L::select(x.lt(zero), L::lit(f64::NEG_INFINITY), y)
}

/// `log(x / (1 - x))`; near a half the numerator `2x - 1` is exact.
#[inline(always)]
pub(crate) fn logit<L: Elementary>(x: L) -> L {
    let one = L::lit(1.0);
    let middle = L::lit(0.25).lt(x) & x.lt(L::lit(0.75));
    let near = ((x + x - one) / (one - x)).log1p();
    L::select(middle, near, (x / (one - x)).log())
}

/// `sin(πx) / (πx)`, with the sine reduced exactly.
#[inline(always)]
pub(crate) fn sinc<L: Elementary>(x: L) -> L {
    let (half, one) = (L::lit(0.5), L::lit(1.0));
    // x = 2n + r with |r| <= 1, and sin(πr) = sin(π(1 - r)) near the ends.
    let r = x - L::lit(2.0) * (x * half).round();
    let folded = L::select(half.lt(r.abs()), (one - r.abs()).copysign(r), r);
    let turn = L::lit(std::f64::consts::PI);
    let y = (folded * turn).sin() / (x * turn);
    L::select(x.eq(L::lit(0.0)), one, y)
}

/// `log(1 + e^(beta x)) / beta`.
#[inline(always)]
pub(crate) fn softplus<L: Elementary>(x: L, beta: L, threshold: L) -> L {
    let zero = L::lit(0.0);
    let (z, lost) = x.mul_exact(beta);
    let negative = z.lt(zero);
    // What the product lost moves the exponential by as much, which counts where z is far below 0.
    let small = (-z.abs()).exp();
    let lost = L::select(lost.abs().lt(L::lit(1.0)), lost, zero);
    let small = small.mul_add(L::select(negative, lost, -lost), small);
    let bent = L::select(negative, zero, z) + small.log1p();
    L::select(threshold.lt(z), x, bent / beta)
}

/// What `gelu_tanh` gives to the logistic function.
#[inline(always)]
pub(crate) fn gelu_inner<L: Elementary>(x: L) -> L {
    x * (x * x).mul_add(L::lit(GELU_SLOPE * GELU_CUBIC), L::lit(GELU_SLOPE))
}

/// `x tanh(log(1 + eˣ))` as a quotient of polynomials in `eˣ`.
#[inline(always)]
pub(crate) fn mish<L: Elementary>(x: L) -> L {
    let w = L::select(L::lit(20.0).lt(x), L::lit(20.0), x).exp();
    let n = w * (w + L::lit(2.0));
    // Beyond the range of the exponential the limits hold: 0 at the left, x at the right.
    let y = L::select(x.lt(L::lit(-1e4)), L::lit(-1e4), x) * (n / (n + L::lit(2.0)));
    L::select(L::lit(20.0).lt(x), x, y)
}

/// The number moved towards 0; NaN stays.
#[inline(always)]
pub(crate) fn softshrink<L: Lane>(x: L, lambda: L) -> L {
    let zero = L::select(x.eq(x), L::lit(0.0), x);
    let below = L::select(x.lt(-lambda), x + lambda, zero);
    L::select(lambda.lt(x), x - lambda, below)
}

/// A step with a value of its own at zero; NaN stays.
#[inline(always)]
pub(crate) fn heaviside<L: Lane>(x: L, value: L) -> L {
    let zero = L::lit(0.0);
    let above = L::select(zero.lt(x), L::lit(1.0), x);
    L::select(x.lt(zero), zero, L::select(x.eq(zero), value, above))
}

/// `x 2ⁿ` in three steps, so that only the result can overflow.
#[inline(always)]
pub(crate) fn ldexp<L: Elementary>(x: L, exponent: L) -> L {
    // Between the least and the greatest number lie fewer than three times the bias.
    let limit = (3 * L::BIAS - 3) as f64;
    let exponent = clamp(exponent, L::lit(-limit), L::lit(limit));
    let third = (exponent * L::lit(1.0 / 3.0)).trunc();
    let step = power_of_two::<L>(third.to_int_small());
    x * step * step * (exponent - (third + third)).exp2()
}

/// `z 2ʷ`: the imaginary part of the exponent turns, the real one scales both parts.
#[inline(always)]
pub(crate) fn ldexp_complex<R: Elementary>(x: Complex<R>, exponent: Complex<R>) -> Complex<R> {
    let zero = R::lit(0.0);
    let turned = x * Complex::new(zero, exponent.im).exp2();
    let z = Complex::select(exponent.im.eq(zero), x, turned);
    Complex::new(ldexp(z.re, exponent.re), ldexp(z.im, exponent.re))
}

/// `z / (1 + |z|)`.
#[inline(always)]
pub(crate) fn softsign_complex<R: Elementary>(x: Complex<R>) -> Complex<R> {
    let below = R::lit(1.0) + x.abs();
    Complex::new(x.re / below, x.im / below)
}

/// A number in the place of NaN, and of each infinity.
#[inline(always)]
pub(crate) fn nan_to_num<L: Lane>(x: L, nan: L, posinf: L, neginf: L) -> L {
    let finite = L::select(x.eq(L::lit(f64::NEG_INFINITY)), neginf, x);
    let finite = L::select(x.eq(L::lit(f64::INFINITY)), posinf, finite);
    L::select(x.eq(x), finite, nan)
}

/// Whether the distance is within the tolerance; infinities are close to themselves only.
#[inline(always)]
pub(crate) fn is_close<L: Lane>(x: L, y: L, rtol: L, atol: L) -> L::Mask {
    let distance = (x - y).abs();
    let finite = distance.lt(L::lit(f64::INFINITY));
    x.eq(y) | (finite & distance.le(rtol.mul_add(y.abs(), atol)))
}

/// The same for complex numbers, by magnitudes.
#[inline(always)]
pub(crate) fn is_close_complex<R: Elementary>(
    x: Complex<R>,
    y: Complex<R>,
    rtol: Complex<R>,
    atol: Complex<R>,
) -> R::Mask {
    let distance = (x - y).abs();
    let finite = distance.lt(R::lit(f64::INFINITY));
    x.eq(y) | (finite & distance.le(rtol.re.mul_add(y.abs(), atol.re)))
}

/// `x + weight (y - x)`, from the nearer end.
#[inline(always)]
pub(crate) fn lerp_complex<R: Elementary>(
    x: Complex<R>,
    y: Complex<R>,
    weight: Complex<R>,
) -> Complex<R> {
    let one = Complex::lit(1.0, 0.0);
    let (from_x, from_y) = (x + weight * (y - x), y - (y - x) * (one - weight));
    Complex::select(weight.abs().lt(R::lit(0.5)), from_x, from_y)
}

/// The next number of a narrower format: `unit` is its distance at 1, `smallest` its least one. An
/// infinity is followed by the greatest number of a format as IEEE 754 has it.
#[inline(always)]
pub(crate) fn nextafter_in<L: Lane>(x: L, y: L, unit: L, smallest: L) -> L {
    let zero = L::lit(0.0);
    let power = |m: L| L::from_bits(m.to_bits().shr(L::MANTISSA).shl(L::MANTISSA));
    let spacing = |m: L| {
        let wide = power(m) * unit;
        L::select(wide.lt(smallest), smallest, wide)
    };
    let m = x.abs();
    let negative = x.lt(zero);
    let outward = (negative & y.lt(x)) | (!negative & x.lt(y));
    // Towards zero the distance below a power of two is half of that above.
    let below = spacing(L::from_bits(m.to_bits().sub(L::Bits::lit(1))));
    let greatest = (L::lit(2.0) - unit) * (unit + unit) / smallest;
    let inward = L::select(m.eq(L::lit(f64::INFINITY)), greatest, m - below);
    let stepped = L::select(outward, m + spacing(m), inward);
    let signed = L::select(x.lt(zero), -stepped, stepped);
    let first = L::select(y.lt(zero), -smallest, smallest);
    let moved = L::select(x.eq(zero), first, signed);
    let moved = L::select(x.eq(y), y, moved);
    L::select(x.eq(x) & y.eq(y), moved, x + y)
}
