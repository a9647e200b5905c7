//! The incomplete gamma functions: the shares `P(a, x)` below `x` and `Q(a, x)` above it of the
//! integral `Γ(a) = ∫ tᵃ⁻¹ e⁻ᵗ dt`.
//!
//! Four methods, each where it ends after a fixed number of steps; the smaller share is computed,
//! the other is one minus it (DiDonato and Morris 1986):
//!
//! | where | what |
//! |---|---|
//! | large `a`, `\|x - a\| ≤ 0.4 a` | `½ e^-D erfcx(√D) ± e^-D/√(2πa) Σ cₖ(η) a⁻ᵏ` with `D = x - a - a ln(x/a) = a η²/2` (Temme 1979) |
//! | `x ≤ a`, or `x` up to 0.8 | `P = F Σ xⁿ / ((a + 1) … (a + n))` with `F = xᵃ e⁻ˣ / Γ(1 + a)` |
//! | `x` above both | `Q = a F / (x + 1 - a + 1 (a - 1) / (x + 3 - a + 2 (a - 2) / (…)))`, by Steed's algorithm |
//! | `x` up to 0.8 and small `a` | `Q = 1 - xᵃ/Γ(1 + a) - xᵃ/Γ(a) Σ (-x)ⁿ / (n! (a + n))`, in which ones cancel exactly |
//!
//! Exponents are kept in two values: their errors grow into relative ones of the result. At most
//! 8 ulp of float32 and float64 for all positive numbers.

use super::exp::{Unscaled, exp_unscaled32, exp_unscaled64};
use super::lgamma::{center32, center64, correction32, correction64};
use super::log::{log_parts32, log_parts64};
use super::{Elementary, clamp, horner, sum, sum_ordered};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `2 (h - ln(1 + h)) / h² - 1 + 2h/3` over `h²`, in powers of `h`, for `|h| ≤ 0.11`.
const DEVIATION_32: [f64; 6] = [
    0.5000000112416995,
    -0.400000010222117,
    0.3333166195162792,
    -0.2856990879119664,
    0.2536716173308067,
    -0.22556064276364365,
];

/// The same for float64.
const DEVIATION_64: [f64; 13] = [
    0.5,
    -0.3999999999999988,
    0.3333333333333322,
    -0.2857142857170939,
    0.2500000000026527,
    -0.22222222036735467,
    0.19999999824783024,
    -0.18181870645246953,
    0.16666716224847827,
    -0.15377413106453605,
    0.1427891097830622,
    -0.1380617543870433,
    0.1294663055606788,
];

/// Temme's `cₖ(η)` in powers of `η`, a row for each `k`, for `x` from `0.6 a` to `1.4 a`.
const TEMME_32: [&[f64]; 6] = [
    &[
        -0.33333333336241916,
        0.08333333293302471,
        -0.014814811306545833,
        0.0011574339961159168,
        0.00035268061040272204,
        -0.00017919859274780918,
        3.918217003223663e-05,
    ],
    &[
        -0.0018518552022722741,
        -0.003472261420397563,
        0.002645886942904242,
        -0.0009897486013355236,
        0.00020032361855879674,
    ],
    &[
        0.004133570600670772,
        -0.0026817219067269173,
        0.0007736568252302481,
        1.1803180779423863e-05,
        -0.00012576007734544154,
    ],
    &[
        0.0006496608809553072,
        0.00022811293918217627,
        -0.00048034639802993473,
        0.0002840409674693684,
    ],
    &[
        -0.000862025189806379,
        0.0007823052212616937,
        -0.0002872139408335364,
    ],
    &[-0.0003318674572638601],
];

/// The same for float64.
const TEMME_64: [&[f64]; 13] = [
    &[
        -0.3333333333333333,
        0.08333333333333331,
        -0.014814814814814722,
        0.0011574074074102302,
        0.00035273368605949495,
        -0.00017875514419417389,
        3.919263196939602e-05,
        -2.1854444866456395e-06,
        -1.8540630727776549e-06,
        8.296214550545736e-07,
        -1.7668127610052414e-07,
        7.006894287308709e-09,
        1.0537957177101309e-08,
        -5.0862661870738765e-09,
    ],
    &[
        -0.0018518518518518547,
        -0.0034722222222221977,
        0.002645502645504029,
        -0.0009902263374532907,
        0.00020576131675987416,
        -4.018773424109093e-07,
        -1.8098546895326807e-05,
        7.64915668761631e-06,
        -1.612139561162279e-06,
        4.679012386732149e-09,
        1.3821474003249754e-07,
        -5.7604418389715444e-08,
        1.0834289534645334e-08,
    ],
    &[
        0.00413359788359868,
        -0.0026813271604939743,
        0.000771604937983883,
        2.0093880499055705e-06,
        -0.00010736651554307964,
        5.292344049555373e-05,
        -1.2760985546104758e-05,
        3.433113355967987e-08,
        1.3754024078224486e-06,
        -6.301498919698955e-07,
        1.3037030787349137e-07,
    ],
    &[
        0.0006494341563840347,
        0.00022947209362700544,
        -0.00046918949635447777,
        0.00026772063097376216,
        -7.56179032716966e-05,
        -2.395692119178061e-07,
        1.1080325283082937e-05,
        -5.677150603547427e-06,
        1.4430466189126563e-06,
        2.3020480242135695e-08,
        -2.3286381077362241e-07,
    ],
    &[
        -0.0008618882909275182,
        0.0007840392231356837,
        -0.000299072476660124,
        -1.4639832293588162e-06,
        6.641474024490001e-05,
        -3.9680013840525297e-05,
        1.1381814570926934e-05,
        -3.54657931817229e-08,
        -1.7585967667509912e-06,
        1.0084534688419435e-06,
    ],
    &[
        -0.0003367985529867577,
        -6.972813540584748e-05,
        0.00027727522914041113,
        -0.00019932580912464137,
        6.798152307203486e-05,
        1.4333217740286481e-07,
        -1.3642921291525886e-05,
        8.010131385892428e-06,
        -2.0480133287862352e-06,
    ],
    &[
        0.0005313079226289777,
        -0.0005921658871978311,
        0.00027088067349037917,
        7.55893872061581e-07,
        -8.161867371786348e-05,
        5.665609287450442e-05,
        -1.7419152869670353e-05,
        -2.6391153920867787e-06,
    ],
    &[
        0.00034436706406573974,
        5.171170241275968e-05,
        -0.0003348517845980348,
        0.0002815786999523139,
        -0.00011146048695605635,
        -4.407768114726843e-06,
        3.716426650972938e-05,
    ],
    &[
        -0.0006526195115674494,
        0.0008394284945660512,
        -0.0004387936344551904,
        1.5544471194677456e-06,
        0.00017561007767523344,
        -0.00014174518443787836,
    ],
    &[
        -0.0005967817353453839,
        -7.229727302132927e-05,
        0.0006804337406324469,
        -0.0006366921634050084,
        0.00024840213912405163,
    ],
    &[
        0.00133443169021711,
        -0.0019278910869810562,
        0.0010213798853187974,
        0.0002140914366161963,
    ],
    &[
        0.0015961080167158212,
        0.00042728231741047916,
        -0.0025689806974117852,
    ],
    &[-0.004383944041762939, 0.0067988122947680125],
];

/// `2/3` as the nearest number and the rest.
const TWO_THIRDS_32: (f64, f64) = (0.6666666865348816, -1.9868214925130207e-08);
const TWO_THIRDS_64: (f64, f64) = (0.6666666666666666, 3.700743415417188e-17);

/// `1 / √(2π)`.
const ROOT: f64 = 0.398_942_280_401_432_7;
/// The least `x` of the continued fraction.
const EDGE: f64 = 0.8;
/// From here on the uniform expansion takes `x` this far from `a`, as a share of `a`.
const NEAR: f64 = 0.4;

/// What the functions of a width are made of.
trait Width {
    /// The least `a` of the uniform expansion.
    const LARGE: f64;
    /// From this `a` on the shares are 0 or 1 but at `x = a`.
    const STEP: f64;
    /// Exponents below this are those of 0.
    const VANISHES: f64;
    /// Half of what is lost beside one.
    const TINY: f64;
    /// Terms of the series, of the continued fraction, and of the series for small `a`.
    const STEPS: [u32; 3];
    const TEMME: &'static [&'static [f64]];
    const TWO_THIRDS: (f64, f64);

    /// `2 (h - ln(1 + h)) / h² - 1 + 2h/3` over `h²`.
    fn deviation<L: Lane>(h: L) -> L;
    /// `ln x` in two values.
    fn log<L: Lane>(x: L) -> (L, L);
    /// `ln Γ(1 + a)` below 1, `ln Γ(a)` from there to 5/2, in two values.
    fn center<L: Lane>(a: L) -> (L, L);
    /// What Stirling's formula leaves out of `ln Γ(a)`.
    fn correction<L: Lane>(a: L) -> L;
    fn exp<L: Lane>(x: L, rest: L) -> Unscaled<L>;
}

struct Narrow;
struct Wide;

macro_rules! widths {
    ($($width:ident $large:literal $step:literal $vanishes:literal $tiny:literal $steps:tt $temme:ident $thirds:ident
        $deviation:ident $log:ident $center:ident $correction:ident $exp:ident;)*) => {$(
        impl Width for $width {
            const LARGE: f64 = $large;
            const STEP: f64 = $step;
            const VANISHES: f64 = $vanishes;
            const TINY: f64 = $tiny;
            const STEPS: [u32; 3] = $steps;
            const TEMME: &'static [&'static [f64]] = &$temme;
            const TWO_THIRDS: (f64, f64) = $thirds;

            #[inline(always)]
            fn deviation<L: Lane>(h: L) -> L {
                horner(h, $deviation)
            }
            #[inline(always)]
            fn log<L: Lane>(x: L) -> (L, L) {
                $log(x)
            }
            #[inline(always)]
            fn center<L: Lane>(a: L) -> (L, L) {
                $center(a)
            }
            #[inline(always)]
            fn correction<L: Lane>(a: L) -> L {
                $correction(a)
            }
            #[inline(always)]
            fn exp<L: Lane>(x: L, rest: L) -> Unscaled<L> {
                $exp(x, rest)
            }
        }
    )*};
}
widths! {
    Narrow 10.0 1.2e18 -108.0 1e-8 [36, 27, 11] TEMME_32 TWO_THIRDS_32
        DEVIATION_32 log_parts32 center32 correction32 exp_unscaled32;
    Wide 16.0 1.4e36 -758.0 1e-17 [88, 126, 20] TEMME_64 TWO_THIRDS_64
        DEVIATION_64 log_parts64 center64 correction64 exp_unscaled64;
}

/// `D = x - a - a ln(x/a)` in two values, and `(x - a) / a`.
#[inline(always)]
fn distance<L: Lane, W: Width>(a: L, x: L) -> (L, L, L) {
    let one = L::lit(1.0);
    let (off, off_rest) = sum(x, -a);
    let h = off / a;
    // Near a: h²/2 (1 - 2h/3 + h² …).
    let h_rest = (off.minus_product(h, a) + off_rest) / a;
    let (square, lost) = h.mul_exact(h);
    let square_rest = (h + h).mul_add(h_rest, lost);
    let thirds = L::lit(W::TWO_THIRDS.0);
    let (third, lost) = h.mul_exact(thirds);
    let third_rest = h_rest.mul_add(thirds, h.mul_add(L::lit(W::TWO_THIRDS.1), lost));
    let (bent, lost) = sum_ordered(one, -third);
    let (bent, more) = sum_ordered(bent, square * W::deviation(h));
    let bent_rest = (lost - third_rest) + more;
    let (product, lost) = square.mul_exact(bent);
    let product_rest = square.mul_add(bent_rest, square_rest.mul_add(bent, lost));
    let half = a * L::lit(0.5);
    let (near, lost) = product.mul_exact(half);
    let near_rest = product_rest.mul_add(half, lost);
    // Far from it as it stands.
    let ((x_log, x_rest), (a_log, a_rest)) = (W::log(x), W::log(a));
    let (log, lost) = sum(x_log, -a_log);
    let log_rest = lost + (x_rest - a_rest);
    let (product, lost) = a.mul_exact(log);
    let product_rest = a.mul_add(log_rest, lost);
    let (far, lost) = sum(off, -product);
    let far_rest = lost + (off_rest - product_rest);
    let is_near = h.abs().le(L::lit(0.1));
    let (d, rest) = (
        L::select(is_near, near, far),
        L::select(is_near, near_rest, far_rest),
    );
    let (d, rest) = sum_ordered(d, rest);
    (d, rest, h)
}

/// A polynomial whose coefficients are a row of a table.
#[inline(always)]
fn polynomial<L: Lane>(x: L, coefficients: &[f64]) -> L {
    let sum = coefficients.iter().rev().copied().map(L::lit);
    sum.reduce(|sum, c| sum.mul_add(x, c)).unwrap_or(x)
}

/// `Σ cₖ(η) a⁻ᵏ`, given `D` and the side of `a` on which `x` lies.
#[inline(always)]
fn temme<L: Lane, W: Width>(a: L, d: L, is_above: L::Mask) -> L {
    let size = ((d + d) / a).sqrt();
    let eta = L::select(is_above, size, -size);
    let inverse = L::lit(1.0) / a;
    let rows = W::TEMME.iter().rev().map(|row| polynomial(eta, row));
    rows.reduce(|sum, c| sum.mul_add(inverse, c)).unwrap_or(eta)
}

/// `Σ xⁿ / ((a + 1) … (a + n))` from `n = 0` on.
#[inline(always)]
fn series<L: Lane, W: Width>(a: L, x: L) -> L {
    let (mut term, mut total, mut rest) = (L::lit(1.0), L::lit(1.0), L::lit(0.0));
    for n in 1..W::STEPS[0] {
        term = term * (x / (a + L::lit(n.into())));
        let (more, lost) = sum_ordered(total, term);
        (total, rest) = (more, rest + lost);
        if L::decided(term.lt(total * L::lit(W::TINY))) == Some(true) {
            break;
        }
    }
    total + rest
}

/// `1 / (b + 1 (a - 1) / (b + 2 + 2 (a - 2) / (b + 4 + …)))` with `b = x + 1 - a`.
#[inline(always)]
fn fraction<L: Lane, W: Width>(a: L, x: L) -> L {
    let mut b = (x - a) + L::lit(1.0);
    let mut inverse = L::lit(1.0) / b;
    let (mut step, mut total) = (inverse, inverse);
    for n in 1..W::STEPS[1] {
        let n = L::lit(n.into());
        let above = n * (a - n);
        b = b + L::lit(2.0);
        let next = L::lit(1.0) / above.mul_add(inverse, b);
        step = -(above * inverse * next * step);
        total = total + step;
        inverse = next;
        if L::decided(step.abs().lt(total * L::lit(W::TINY))) == Some(true) {
            break;
        }
    }
    total
}

/// `Q` where both numbers are small.
#[inline(always)]
fn above_small<L: Elementary, W: Width>(a: L, x: L) -> L {
    let (one, log) = (L::lit(1.0), x.log());
    let (gamma, _) = W::center(a);
    let grown = (a.mul_add(log, -gamma)).expm1();
    // Σ -(-x)ⁿ / (n! (a + n)) from n = 1 on.
    let (mut term, mut total) = (x, x / (a + one));
    for n in 2..W::STEPS[2] {
        let n = L::lit(n.into());
        term = -(term * (x / n));
        total = total + term / (a + n);
    }
    (grown + one).mul_add(a * total, -grown)
}

/// One of two values, of which only that is computed where the mask is known.
#[inline(always)]
fn either<L: Lane>(mask: L::Mask, yes: impl FnOnce() -> L, no: impl FnOnce() -> L) -> L {
    match L::decided(mask) {
        Some(true) => yes(),
        Some(false) => no(),
        None => L::select(mask, yes(), no()),
    }
}

/// `Q` if `is_upper`, else `P`.
#[inline(always)]
fn share<L: Elementary, W: Width>(a: L, x: L, is_upper: bool) -> L {
    let (zero, one, infinity) = (L::lit(0.0), L::lit(1.0), L::lit(f64::INFINITY));
    let [of_lower, of_upper] = if is_upper { [one, zero] } else { [zero, one] };
    // At the ends and far beyond, where P is 0 or 1.
    let is_step = L::lit(W::STEP).le(a);
    let is_plain = zero.lt(a) & zero.lt(x) & x.lt(infinity) & !is_step;
    let is_one = x.eq(infinity) & a.lt(infinity) | a.eq(zero) & zero.lt(x) | is_step & a.lt(x);
    let is_zero = x.eq(zero) & zero.lt(a) | is_step & x.lt(a);
    let end = L::select(is_zero, of_lower, L::lit(f64::NAN));
    let end = L::select(is_one, of_upper, end);
    let is_middle = is_step & a.eq(x) & x.lt(infinity);
    let end = L::select(is_middle, L::lit(0.5), end);
    // With a sign, infinity is none.
    let end = L::select(a.lt(zero) | x.lt(zero), L::lit(f64::NAN), end);
    either(is_plain, || plain::<L, W>(a, x, is_upper), || end)
}

#[inline(always)]
fn plain<L: Elementary, W: Width>(a: L, x: L, is_upper: bool) -> L {
    let one = L::lit(1.0);
    let is_small = x.le(L::lit(EDGE));
    if is_upper {
        // Where P is more than two thirds.
        let limit = either(
            x.lt(L::lit(0.5)),
            || L::lit(-0.4) / x.log(),
            || x * L::lit(1.1),
        );
        let is_tail = is_small & a.lt(one) & a.le(limit);
        return either(
            is_tail,
            || above_small::<L, W>(a, x),
            || larger_or_smaller::<L, W>(a, x, is_small, true),
        );
    }
    larger_or_smaller::<L, W>(a, x, is_small, false)
}

/// One of the shares by that which is computed.
#[inline(always)]
fn larger_or_smaller<L: Elementary, W: Width>(a: L, x: L, is_small: L::Mask, is_upper: bool) -> L {
    let (zero, one) = (L::lit(0.0), L::lit(1.0));
    let (d, d_rest, h) = distance::<L, W>(a, x);
    let is_uniform = L::lit(W::LARGE).le(a) & h.abs().le(L::lit(NEAR));
    let is_above = zero.lt(h);
    let is_fraction = !is_uniform & !is_small & is_above;
    // xᵃ e⁻ˣ / Γ(1 + a) = e^(exponent + rest) / below.
    let is_stirling = L::lit(2.5).lt(a);
    let far = {
        let missing = L::select(is_uniform, zero, W::correction(a));
        let (exponent, lost) = sum(-d, -missing);
        (exponent, lost - d_rest)
    };
    let near = {
        let (log, log_rest) = W::log(x);
        let (product, lost) = a.mul_exact(log);
        let product_rest = a.mul_add(log_rest, lost);
        let (gamma, gamma_rest) = W::center(a);
        let (exponent, lost) = sum(product, -x);
        let (exponent, more) = sum(exponent, -gamma);
        (exponent, (lost + more) + (product_rest - gamma_rest))
    };
    let exponent = L::select(is_stirling, far.0, near.0);
    let rest = L::select(is_stirling, far.1, near.1);
    let root = a.sqrt();
    let per_root = L::lit(ROOT) / root;
    let is_below_one = a.lt(one);
    let factor = either(
        is_uniform,
        || {
            let bent = per_root * temme::<L, W>(a, d, is_above);
            let tail = d.sqrt().erfcx() * L::lit(0.5);
            tail + L::select(is_above, bent, -bent)
        },
        || {
            either(
                is_fraction,
                || {
                    let scale = L::select(is_below_one, a, one);
                    let scale = L::select(is_stirling, root * L::lit(ROOT), scale);
                    fraction::<L, W>(a, x) * scale
                },
                || {
                    let sum = series::<L, W>(a, x);
                    let scaled = L::select(is_below_one, sum, sum / a);
                    L::select(is_stirling, sum * per_root, scaled)
                },
            )
        },
    );
    let least = L::lit(W::VANISHES);
    let vanishes = !least.lt(exponent);
    let exponent = clamp(L::select(vanishes, least, exponent), W::VANISHES, 1.0);
    let power = W::exp(exponent, L::select(vanishes, zero, rest));
    let smaller = power.scale(power.y.mul_add(factor, power.rest * factor));
    let smaller = L::select(vanishes, zero, smaller);
    let is_of_upper = is_above & (is_uniform | is_fraction);
    let other = one - smaller;
    match is_upper {
        true => L::select(is_of_upper, smaller, other),
        false => L::select(is_of_upper, other, smaller),
    }
}

macro_rules! functions {
    ($($igamma:ident $igammac:ident $width:ident;)*) => {$(
        /// The share of `Γ(self)` below `x`. At most 8 ulp; 0 at 0, 1 at ∞; NaN for negative numbers.
        #[inline(always)]
        pub fn $igamma<L: Elementary>(a: L, x: L) -> L {
            share::<L, $width>(a, x, false)
        }

        /// The share of `Γ(self)` above `x`. At most 8 ulp; 1 at 0, 0 at ∞; NaN for negative numbers.
        #[inline(always)]
        pub fn $igammac<L: Elementary>(a: L, x: L) -> L {
            share::<L, $width>(a, x, true)
        }
    )*};
}
functions! {
    igamma32 igammac32 Narrow;
    igamma64 igammac64 Wide;
}
