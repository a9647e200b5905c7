//! The derivative of every row, as variables of a program.

use smallvec::SmallVec;

use crate::build::Var;
use crate::table::Op;
use crate::table::math::{GELU_CUBIC, GELU_SLOPE, NORMAL_DENSITY, SELU_ALPHA, SELU_SCALE};

/// The gradient of each operand, given that of the result; `None` where there is no derivative.
///
/// The row says the derivative; `gradient × conj(derivative)` is formed here, in one place.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::{Builder, Op, gradients};
/// let builder = Builder::new(&[DType::F64, DType::F64]);
/// let (x, g) = (builder.input(0), builder.input(1));
/// let gradients = gradients(Op::Tanh, &[x], x.tanh(), g).unwrap_or_default();
/// let program = builder.finish(&gradients);
/// assert_eq!(program.output_dtypes().collect::<Vec<_>>(), [DType::F64]);
/// ```
#[must_use]
pub fn gradients<'b>(
    op: Op,
    operands: &[Var<'b>],
    result: Var<'b>,
    gradient: Var<'b>,
) -> Option<SmallVec<[Var<'b>; 4]>> {
    macro_rules! cases {
        ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
             float $float:tt complex $complex:tt int $int:tt bool $bool:tt,
             d $d:tt, $($rest:tt)* })*) => {
            match op {
                $(Op::$variant => {
                    #[allow(unused_variables, reason = "a derivative may ignore an operand")]
                    let &[$($arg),*] = operands else { return None };
                    #[allow(unused_variables, reason = "a derivative may ignore the result")]
                    let $out = result;
                    case!(gradient [$($arg)*] $d)
                })*
            }
        };
    }
    macro_rules! case {
        ($gradient:ident [$($arg:ident)*] none) => {{
            $(let _ = $arg;)*
            None
        }};
        ($gradient:ident [$($arg:ident)*] { $g:ident => [$($each:expr),*] }) => {{
            let $g = $gradient;
            $(let _ = $arg;)*
            Some(SmallVec::from_slice(&[$($each),*]))
        }};
        // Where there is none, and nobody may ask for it, not a number.
        ($gradient:ident [$first:ident $($arg:ident)*] [none, $($slope:expr),*]) => {
            Some(SmallVec::from_slice(&[$first.lit(f64::NAN), $(along($gradient, $slope)),*]))
        };
        ($gradient:ident [$($arg:ident)*] [$($slope:expr),*]) => {
            Some(SmallVec::from_slice(&[$(along($gradient, $slope)),*]))
        };
    }
    for_each_op!((cases))
}

/// The gradient times the conjugate of a slope.
fn along<'b>(gradient: Var<'b>, slope: Var<'b>) -> Var<'b> {
    if slope.is_one() {
        gradient
    } else if slope.dtype().is_complex() {
        gradient * slope.conj()
    } else {
        gradient * slope
    }
}

/// The slopes of `atan2`: `x / r²` and `-y / r²`, without a square that could leave the range; zero at
/// the origin, where there is no angle.
fn atan2_slopes<'b>(y: Var<'b>, x: Var<'b>) -> [Var<'b>; 2] {
    let is_origin = x.eq(x.zero()) & y.eq(y.zero());
    // One instead of the origin, so that no order of derivatives divides by zero.
    let x = is_origin.pick(x.one(), x);
    let r = x.hypot(y);
    [x, -y].map(|across| is_origin.pick(x.zero(), across / r / r))
}

/// The slope of `igamma` by `x`: `xᵃ⁻¹ e⁻ˣ / Γ(a)`, for large `a` with Stirling's formula, where terms
/// would cancel.
fn gamma_density<'b>(a: Var<'b>, x: Var<'b>) -> Var<'b> {
    /// Where the series of the correction has all digits.
    const LARGE: f64 = 10.0;
    // B₂ₙ / (2n (2n - 1)), last first.
    const SERIES: [f64; 7] = [
        1.0 / 156.0,
        -691.0 / 360_360.0,
        1.0 / 1188.0,
        -1.0 / 1680.0,
        1.0 / 1260.0,
        -1.0 / 360.0,
        1.0 / 12.0,
    ];
    let plain = (a - 1.0).xlogy(x) - x - a.lgamma();
    let is_large = a.ge(a.lit(LARGE));
    // One where it is not taken, so that no order of derivatives divides by zero.
    let large = is_large.pick(a, a.one());
    let inverse = large.reciprocal();
    let square = inverse * inverse;
    let terms = SERIES[1..].iter();
    let series = terms.fold(a.lit(SERIES[0]), |sum, term| sum * square + *term);
    let off = (x - large) * inverse;
    let bent = (off.log1p() - off) * large - series * inverse;
    let height = large.sqrt() * NORMAL_DENSITY / x;
    is_large.pick(bent.exp() * height, plain.exp())
}

/// The share of `bˣ` in `bˣ + bʸ`, given `ln b`: a logistic function of the distance, which large
/// numbers leave its digits; a half for equal infinities.
fn share_of<'b>(x: Var<'b>, y: Var<'b>, log: f64) -> Var<'b> {
    let are_one = x.eq(y) & x.isinf();
    let away = are_one.pick(x.zero(), x - y);
    if log == 1.0 {
        away.sigmoid()
    } else {
        (away * log).sigmoid()
    }
}

/// The slope of `sinc`: `(cos πx - sinc x) / x`, and a series near 0, where that cancels.
fn sinc_slope<'b>(x: Var<'b>, sinc: Var<'b>) -> Var<'b> {
    use std::f64::consts::PI;
    // With t = πx: -π Σ (-1)ⁿ 2n/(2n+1)! t^(2n-1), to float64 precision below a half.
    const SERIES: [f64; 6] = [
        -1.0 / 518_918_400.0,
        1.0 / 3_991_680.0,
        -1.0 / 45_360.0,
        1.0 / 840.0,
        -1.0 / 30.0,
        1.0 / 3.0,
    ];
    let t = x * PI;
    let square = t * t;
    let terms = SERIES.iter().skip(1);
    let series = terms.fold(x.lit(SERIES[0]), |sum, term| sum * square + *term);
    let far = (t.cos() - sinc) / x;
    t.abs().lt(t.abs().lit(0.5)).pick(t * series * -PI, far)
}

/// `y₀ - y₁ / x`, and one half at 0: the slope of `I₁`, given both functions.
fn i1_slope<'b>(x: Var<'b>, y0: Var<'b>, y1: Var<'b>) -> Var<'b> {
    x.eq(x.zero()).pick(x.lit(0.5), y0 - y1 / x)
}

/// The slope of `gelu_tanh`, `x σ(u)`: `σ + x σ (1 - σ) u'`.
fn gelu_tanh_slope(x: Var<'_>) -> Var<'_> {
    let z = x * x;
    let inner = x * (z * (GELU_SLOPE * GELU_CUBIC) + GELU_SLOPE);
    let slope = z * (3.0 * GELU_SLOPE * GELU_CUBIC) + GELU_SLOPE;
    let s = inner.sigmoid();
    s + x * s * (1.0 - s) * slope
}

/// The slope of `mish`: `tanh(sp) + x σ (1 - tanh²(sp))` with `sp` the softplus, of one exponential: with
/// `w = e (e + 2)` the hyperbolic tangent is `w / (w + 2)`, and `σ (1 - tanh²) = 4 e (1 + e) / (w + 2)²`.
fn mish_slope(x: Var<'_>) -> Var<'_> {
    // From here on it is 1, and squares of float32 have the range.
    let e = x.minimum(x.lit(40.0)).exp();
    let w = e * (e + 2.0);
    let inverse = (w + 2.0).reciprocal();
    w * inverse + x * (e + 1.0) * inverse * e * inverse * 4.0
}

/// The slope of `digamma`: shifted up by recurrence to where the asymptotic series holds, and
/// reflected below a half.
fn trigamma(x: Var<'_>) -> Var<'_> {
    use std::f64::consts::PI;
    const SHIFT: i32 = 10;
    // The Bernoulli numbers, last first: Σ B₂ₙ / z²ⁿ⁺¹.
    const SERIES: [f64; 7] = [
        7.0 / 6.0,
        -691.0 / 2730.0,
        5.0 / 66.0,
        -1.0 / 30.0,
        1.0 / 42.0,
        -1.0 / 30.0,
        1.0 / 6.0,
    ];
    let is_low = x.lt(x.lit(0.5));
    let y = is_low.pick(1.0 - x, x);
    let mut sum = y.zero();
    for shift in 0..SHIFT {
        sum = sum + (y + f64::from(shift)).square().reciprocal();
    }
    let inverse = (y + f64::from(SHIFT)).reciprocal();
    let square = inverse * inverse;
    let first = x.lit(SERIES[0]);
    let series = SERIES[1..]
        .iter()
        .fold(first, |sum, term| sum * square + *term);
    let upper = sum + inverse * (1.0 + inverse * (0.5 + inverse * series));
    let sine = (x * PI).sin();
    is_low.pick((x.lit(PI) / sine).square() - upper, upper)
}
