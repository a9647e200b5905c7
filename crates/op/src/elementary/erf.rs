//! The error function, its complement, and what the normal distribution function makes of a number.

use super::exp::{
    Unscaled, exp_parts_of_sum32, exp_quarter32, exp_quarter64, exp_unscaled32, exp_unscaled64,
    exp32, exp64,
};
use super::log::{log1p_32, log1p_64, log32, log64};
use super::{clamp, flip, horner, power_of_two, sign, sum, sum_ordered};
use crate::table::math::NORMAL_DENSITY;
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded; those of the tails
// minimise the largest relative error of the result.

/// `erf(x) / x - 1` in powers of `x²`, for `|x| ≤ 1`.
const ERF_32: [f64; 7] = [
    0.12837916584006187,
    -0.3761262659768305,
    0.11283593800597223,
    -0.026854168335587104,
    0.005188994224217016,
    -0.0008015956189706265,
    7.872582762234845e-05,
];

/// The same for float64.
const ERF_64: [f64; 13] = [
    0.12837916709551256,
    -0.3761263890318375,
    0.11283791670954876,
    -0.02686617064507627,
    0.005223977624812638,
    -0.0008548326980509413,
    0.00012055331099279798,
    -1.4925594957596026e-05,
    1.6460995338195411e-06,
    -1.6350256278696497e-07,
    1.4659383821340068e-08,
    -1.1371291831047954e-09,
    5.954471583153482e-11,
];

/// `-ln(1 - erf x)` for `x` from 1 to 4.
const TAIL_32: [f64; 7] = [
    0.00033905021555187564,
    1.1270990296644494,
    0.6381288400760848,
    0.10312033690221685,
    -0.021844419722132066,
    0.0029492124124591646,
    -0.0001865344184624892,
];

/// The same for float64, up to 6.
const TAIL_64: [f64; 20] = [
    2.7190338359710665e-08,
    1.1283789219691613,
    0.6366207043329133,
    0.10277090439138754,
    -0.01912822828297172,
    -0.0002020234241854439,
    0.0016746341009404614,
    -0.0005520540693701754,
    -2.2234765139691298e-05,
    0.0001109184471007563,
    -6.482573331552364e-05,
    2.4305220128142336e-05,
    -6.791887734194465e-06,
    1.4716149384094737e-06,
    -2.485084747966016e-07,
    3.224950731520972e-08,
    -3.1141892404107067e-09,
    2.1098515407449645e-10,
    -8.950583550411107e-12,
    1.7887043763620124e-13,
];

/// `(1 + 2x) exp(x²) erfc(x)` in powers of `t = (x - 2) / (x + 2)`, without the constant.
const ERFC_32: [f64; 11] = [
    -0.09276381542703921,
    -0.16603048777295215,
    0.16405089690035335,
    -0.054218386985050195,
    -0.008029908959603992,
    0.008712456716042151,
    0.0012508987680095909,
    -0.0014292521105085411,
    -0.00040182250578191687,
    0.00017694603479776838,
    8.34108694854246e-05,
];

/// The same for float64, in powers of `(x - 4) / (x + 4)`.
const ERFC_64: [f64; 24] = [
    -0.13962111684056253,
    0.015379652102620118,
    0.06809705425469291,
    -0.10103906603632995,
    0.09373283499833801,
    -0.06633036581153134,
    0.03716751553780008,
    -0.01619773406724676,
    0.005031969972928771,
    -0.0007577732128748177,
    -0.0001992566464386017,
    0.00015062130119265676,
    -2.4399495858584883e-05,
    -1.1220862886053713e-05,
    5.710759853356509e-06,
    2.91554876533271e-07,
    -8.277774152040894e-07,
    7.715610529040176e-08,
    1.1334820346673088e-07,
    -1.91900525160708e-08,
    -1.668808712810771e-08,
    1.7002770343447557e-09,
    2.137056431008382e-09,
    3.008082939955346e-10,
];

/// The constants of these, as the nearest number and the rest.
const ERFC_CONSTANT_32: (f64, f64) = (1.2769783735275269, 8.806809282737809e-09);
const ERFC_CONSTANT_64: (f64, f64) = (1.2329951186255526, -4.6435232604127524e-17);

/// `(x + 4) exp(x²/2) Φ(-x)` in powers of `t = (x - 4) / (x + 4)`, for `x` from 0 to 14.5: off by 1.3e-8
/// of it at most.
const NORMAL_32: [f64; 10] = [
    0.7552851385103706,
    -0.6078966060738091,
    0.3871366797947066,
    -0.18652300589738766,
    0.06040646974830364,
    -0.007527212911679855,
    -0.003523574056351906,
    0.0015693136450922462,
    0.00019480185114246543,
    -0.00012298315700526609,
];

/// A polynomial up to 1; beyond it `1 - tail`, given a quarter of the tail.
#[inline(always)]
fn join<L: Lane, const N: usize>(x: L, quarter: L, p: [f64; N]) -> L {
    let a = x.abs();
    let near = horner(a * a, p).mul_add(a, a);
    let far = quarter.mul_add(L::lit(-4.0), L::lit(1.0));
    // Compared this way round, NaN takes the polynomial.
    flip(L::select(L::lit(1.0).lt(a), far, near), sign(x))
}

/// The error function, `2/√π ∫₀ˣ exp(-t²) dt`. At most 2 ulp; ±1 at infinities; a zero keeps its
/// sign.
#[inline(always)]
pub fn erf32<L: Lane>(x: L) -> L {
    let exponent = horner(clamp(x.abs(), 0.0, 4.0), TAIL_32);
    join(x, exp_quarter32(-exponent), ERF_32)
}

/// The error function, `2/√π ∫₀ˣ exp(-t²) dt`. At most 2 ulp; ±1 at infinities; a zero keeps its
/// sign.
#[inline(always)]
pub fn erf64<L: Lane>(x: L) -> L {
    let exponent = horner(clamp(x.abs(), 0.0, 6.0), TAIL_64);
    join(x, exp_quarter64(-exponent), ERF_64)
}

/// `exp(-a²) f(t) / (1 + 2a)` with `t = (a - center) / (a + center)`, given `exp(-a²)`. Numerator
/// and denominator are kept in two values, so that only the last rounding counts.
#[inline(always)]
fn complement<L: Lane, const N: usize>(
    a: L,
    e: Unscaled<L>,
    center: f64,
    p: [f64; N],
    constant: (f64, f64),
) -> L {
    let t = (a - L::lit(center)) / (a + L::lit(center));
    let (f, f_rest) = sum_ordered(L::lit(constant.0), horner(t, p) * t);
    let f_rest = f_rest + L::lit(constant.1);
    let (above, lost) = e.y.mul_exact(f);
    let above_rest = e.y.mul_add(f_rest, e.rest.mul_add(f, lost));
    let (below, below_rest) = sum(L::lit(1.0), a + a);
    let ratio = above / below;
    let (product, lost) = ratio.mul_exact(below);
    let remainder = ((above - product) - lost) + (above_rest - ratio * below_rest);
    e.scale(ratio + remainder / below)
}

/// `erfc x`, given `erfc |x|`: near 0, where the other formula is least precise, one minus the
/// polynomial.
#[inline(always)]
fn fold<L: Lane, const N: usize>(x: L, y: L, p: [f64; N]) -> L {
    let near = L::lit(1.0) - horner(x * x, p).mul_add(x, x);
    let far = L::select(x.lt(L::lit(0.0)), L::lit(2.0) - y, y);
    L::select(x.abs().lt(L::lit(0.25)), near, far)
}

/// One minus the error function, precise also where that is small. At most 2 ulp; 2 at -∞, 0 at ∞.
#[inline(always)]
pub fn erfc32<L: Lane>(x: L) -> L {
    let a = clamp(x.abs(), 0.0, 10.25);
    let (square, rest) = a.mul_exact(a);
    let y = complement(
        a,
        exp_unscaled32(-square, -rest),
        2.0,
        ERFC_32,
        ERFC_CONSTANT_32,
    );
    fold(x, y, ERF_32)
}

/// One minus the error function, precise also where that is small. At most 2 ulp; 2 at -∞, 0 at ∞.
#[inline(always)]
pub fn erfc64<L: Lane>(x: L) -> L {
    let a = clamp(x.abs(), 0.0, 27.4);
    let (square, rest) = a.mul_exact(a);
    let y = complement(
        a,
        exp_unscaled64(-square, -rest),
        4.0,
        ERFC_64,
        ERFC_CONSTANT_64,
    );
    fold(x, y, ERF_64)
}

/// `x Φ(x)` with the normal distribution function. At most 7 ulp, also where `Φ(x)` is small.
#[inline(always)]
pub fn gelu32<L: Lane>(x: L) -> L {
    let tail = Tail32::of(x);
    let zero = L::lit(-0.0);
    let most = L::select(x.lt(zero), zero, x);
    (tail.raised * tail.ratio * tail.a).mul_add(L::lit(-1.0 / RAISED), most)
}

/// The normal distribution function. At most 6 ulp; 0 at -∞, 1 at ∞.
#[inline(always)]
pub fn ndtr32<L: Lane>(x: L) -> L {
    let tail = Tail32::of(x);
    normal(x, tail.raised * tail.ratio * L::lit(1.0 / RAISED))
}

/// The derivative of `x Φ(x)`, `Φ(x) + x exp(-x²/2) / √(2π)`: off by 4e-7 at most.
#[inline(always)]
pub fn gelu_slope32<L: Lane>(x: L) -> L {
    let tail = Tail32::of(x);
    // One less what it is on the other side.
    let above = tail.a * L::lit(NORMAL_DENSITY) - tail.ratio;
    let away = tail.raised * above * L::lit(1.0 / RAISED);
    L::select(x.lt(L::lit(0.0)), -away, away + L::lit(1.0))
}

/// What tails are raised by, so that they are rounded to subnormal numbers in the last step alone.
const RAISED: f64 = (1_u128 << 64) as f64;

/// The tail `Φ(-a)` of a magnitude, as far as there is one.
#[derive(Clone, Copy)]
struct Tail32<L> {
    a: L,
    /// `exp(-a²/2)` times [`RAISED`].
    raised: L,
    /// `Φ(-a)` over it.
    ratio: L,
}

impl<L: Lane> Tail32<L> {
    #[inline(always)]
    fn of(x: L) -> Self {
        let (a, most) = (x.abs(), L::lit(14.5));
        // From here on the tail is below all numbers. NaN stays.
        let a = L::select(most.lt(a), most, a);
        let (square, rest) = (a * L::lit(-0.5)).mul_exact(a);
        let (e, n) = exp_parts_of_sum32(square, rest);
        let inverse = L::lit(1.0) / (a + L::lit(4.0));
        let ratio = horner(inverse.mul_add(L::lit(-8.0), L::lit(1.0)), NORMAL_32) * inverse;
        let raised = e * power_of_two::<L>(n.add(L::Bits::lit(64)));
        Self { a, raised, ratio }
    }
}

/// The same as `Φ(x) + x exp(-x²/2) / √(2π)`, of two exponentials.
#[inline(always)]
pub fn gelu_slope64<L: Lane>(x: L) -> L {
    ndtr64(x) + x * exp64(x * x * L::lit(-0.5)) * L::lit(NORMAL_DENSITY)
}

/// The same as `x erfc(-x / √2) / 2`. At most 4 ulp.
#[inline(always)]
pub fn gelu64<L: Lane>(x: L) -> L {
    // 1 / √2 in two parts; what rounding takes from the argument is given back to first order, since
    // erfc falls like e^(-t²).
    let high = std::f64::consts::FRAC_1_SQRT_2;
    let low = -4.833_646_656_726_457e-17;
    let x = L::select(x.lt(L::lit(-40.0)), L::lit(-40.0), x);
    let (t, rest) = (-x).mul_exact(L::lit(high));
    let rest = rest - x * L::lit(low);
    let tail = erfc64(t);
    let steep = L::select(L::lit(0.0).lt(t), L::lit(-2.0) * t * rest, L::lit(0.0));
    let y = tail.mul_add(steep, tail);
    L::select(L::lit(40.0).lt(x), x, L::lit(0.5) * x * y)
}

/// `√π a exp(a²) erfc(a)` in powers of `1/a²`, for what lies beyond the series of `erfc`: `(-1)ⁿ (2n-1)!! / 2ⁿ`.
const ERFCX_FAR: [f64; 9] = [
    1.0,
    -0.5,
    0.75,
    -1.875,
    6.5625,
    -29.53125,
    162.421875,
    -1055.7421875,
    7918.06640625,
];

/// `exp(a²) erfc(a)` of a number that is not negative, by the series of `erfc` up to an edge.
#[inline(always)]
fn scaled<L: Lane, const N: usize>(
    a: L,
    [center, edge]: [f64; 2],
    p: [f64; N],
    constant: (f64, f64),
) -> L {
    let is_far = L::lit(edge).lt(a);
    let near = L::select(is_far, L::lit(edge), a);
    let t = (near - L::lit(center)) / (near + L::lit(center));
    let near = horner(t, p).mul_add(t, L::lit(constant.0)) / (near + near + L::lit(1.0));
    let inverse = L::lit(1.0) / a;
    let far =
        horner(inverse * inverse, ERFCX_FAR) * L::lit(0.5 * std::f64::consts::FRAC_2_SQRT_PI) / a;
    L::select(is_far, far, near)
}

/// `exp(x²) erfc(x)` by the same of `|x|`, and `exp(x²)` without the rounding of its exponent.
#[inline(always)]
fn unscaled<L: Lane>(x: L, scaled: L, exp: impl Fn(L) -> L) -> L {
    // Beyond this the result is infinite.
    let a = clamp(x.abs(), 0.0, 30.0);
    let (square, rest) = a.mul_exact(a);
    let grown = exp(square);
    let most = L::lit(f64::INFINITY);
    let grown = L::select(grown.lt(most), grown.mul_add(rest, grown), most);
    let low = (grown + grown) - scaled;
    let low = L::select(x.lt(L::lit(-27.0)), L::lit(f64::INFINITY), low);
    L::select(x.lt(L::lit(0.0)), low, scaled)
}

/// `exp(x²) erfc(x)`. At most 5 ulp; 0 at ∞, ∞ at -∞.
#[inline(always)]
pub fn erfcx32<L: Lane>(x: L) -> L {
    let y = scaled(x.abs(), [2.0, 10.0], ERFC_32, ERFC_CONSTANT_32);
    let low = unscaled(clamp(x, -10.0, 10.0), y, exp32);
    let low = L::select(x.lt(L::lit(-9.5)), L::lit(f64::INFINITY), low);
    L::select(x.lt(L::lit(0.0)), low, y)
}

/// `exp(x²) erfc(x)`. At most 5 ulp; 0 at ∞, ∞ at -∞.
#[inline(always)]
pub fn erfcx64<L: Lane>(x: L) -> L {
    unscaled(
        x,
        scaled(x.abs(), [4.0, 27.0], ERFC_64, ERFC_CONSTANT_64),
        exp64,
    )
}

/// `Φ(-a)`, given `exp(a²/2) Φ(-a)`.
#[inline(always)]
fn normal_tail<L: Lane>(a: L, scaled: L, exp: impl Fn(L) -> L) -> L {
    let a = clamp(a, 0.0, 40.0);
    let (square, rest) = a.mul_exact(a);
    let half = L::lit(-0.5);
    let fallen = exp(square * half);
    fallen.mul_add(rest * half, fallen) * scaled
}

/// Both sides of the normal distribution function, given its tail.
#[inline(always)]
fn normal<L: Lane>(x: L, tail: L) -> L {
    let y = L::select(x.lt(L::lit(0.0)), tail, L::lit(1.0) - tail);
    L::select(x.eq(x), y, x)
}

/// The logarithm of the same: near one by the tail, far below by its scaled form.
#[inline(always)]
fn log_normal<L: Lane>(
    x: L,
    tail: L,
    scaled: L,
    log: impl Fn(L) -> L,
    log1p: impl Fn(L) -> L,
) -> L {
    let low = log(scaled) - x * L::lit(0.5) * x;
    let y = L::select(
        x.lt(L::lit(-1.0)),
        low,
        log1p(L::select(x.lt(L::lit(0.0)), tail - L::lit(1.0), -tail)),
    );
    L::select(x.eq(x), y, x)
}

/// The normal distribution function. At most 6 ulp; 0 at -∞, 1 at ∞.
#[inline(always)]
pub fn ndtr64<L: Lane>(x: L) -> L {
    let a = x.abs();
    let t = a * L::lit(std::f64::consts::FRAC_1_SQRT_2);
    let scaled = scaled(t, [4.0, 27.0], ERFC_64, ERFC_CONSTANT_64);
    normal(x, normal_tail(a, scaled * L::lit(0.5), exp64))
}

macro_rules! log_normal_distribution {
    ($($log_ndtr:ident $center:expr, $p:ident $constant:ident $exp:ident $log:ident $log1p:ident;)*) => {$(
        /// The logarithm of the normal distribution function. At most 6 ulp; 0 at ∞, -∞ at -∞.
        #[inline(always)]
        pub fn $log_ndtr<L: Lane>(x: L) -> L {
            let a = x.abs();
            let scaled = scaled(a * L::lit(std::f64::consts::FRAC_1_SQRT_2), $center, $p, $constant);
            let scaled = scaled * L::lit(0.5);
            log_normal(x, normal_tail(a, scaled, $exp), scaled, $log, $log1p)
        }
    )*};
}
log_normal_distribution! {
    log_ndtr32 [2.0, 10.0], ERFC_32 ERFC_CONSTANT_32 exp32 log32 log1p_32;
    log_ndtr64 [4.0, 27.0], ERFC_64 ERFC_CONSTANT_64 exp64 log64 log1p_64;
}
