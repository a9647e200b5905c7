//! Inverses of the trigonometric functions.

use super::{flip, horner, sign};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(arcsin s - s) / s³` in powers of `s²`, for `s² ≤ 1/4`.
const ASIN_32: [f64; 6] = [
    0.16666666337430908,
    0.07500094543497424,
    0.04459940152851218,
    0.03110066273549457,
    0.017149238357677253,
    0.03369084720283012,
];

/// The same for float64.
const ASIN_64: [f64; 13] = [
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
];

/// `(arctan s - s) / s³` in powers of `s²`, for `|s| ≤ 1`.
const ATAN_32: [f64; 10] = [
    -0.3333333308107325,
    0.19999949321141888,
    -0.1428400379473353,
    0.11088261628735159,
    -0.08931826777381315,
    0.07031914250029966,
    -0.04896051402709067,
    0.026305001110062377,
    -0.009144629760592396,
    0.0014886919393047595,
];

/// The same for float64.
const ATAN_64: [f64; 21] = [
    -0.3333333333333333,
    0.19999999999999554,
    -0.14285714285648404,
    0.11111111107234799,
    -0.09090908969557403,
    0.07692305354678655,
    -0.06666636435777692,
    0.05882074956371294,
    -0.05261265735709454,
    0.04752086773576656,
    -0.04308119655330471,
    0.03872640214042632,
    -0.033750132001619734,
    0.027567942297344678,
    -0.020238706986393518,
    0.012756172907694298,
    -0.006575683344151699,
    0.002622977891906089,
    -0.0007518472526973822,
    0.0001368724853148122,
    -1.1832505417555694e-05,
];

/// `π/2` as the nearest number and the rest.
const HALF_PI_32: (f64, f64) = (1.5707963705062866, -4.371138828673793e-08);
const HALF_PI_64: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);

/// What `arcsin` and `arccos` of `x` share: with `a = |x|`, `s = a` where it is at most 1/2 and
/// `√((1 - a) / 2)` beyond, `arcsin s - s`, and whether it is beyond.
#[inline(always)]
fn folded<L: Lane, const N: usize>(x: L, p: [f64; N]) -> (L, L, L::Mask) {
    let a = x.abs();
    let beyond = L::lit(0.5).lt(a);
    let half = (L::lit(1.0) - a) * L::lit(0.5);
    let square = L::select(beyond, half, a * a);
    let s = L::select(beyond, half.sqrt(), a);
    (s, horner(square, p) * square * s, beyond)
}

/// `arcsin x`: beyond 1/2 it is `π/2 - 2 arcsin √((1 - |x|) / 2)`.
#[inline(always)]
fn arcsine<L: Lane, const N: usize>(x: L, p: [f64; N], half_pi: (f64, f64)) -> L {
    let (s, bent, beyond) = folded(x, p);
    let (quarter_turn, twice) = (L::lit(half_pi.0), s + s);
    let near = quarter_turn - twice;
    // Where the result is just below one, the rounding of this difference would count double.
    let lost = (quarter_turn - near) - twice;
    let far = near - (bent.mul_add(L::lit(2.0), L::lit(-half_pi.1)) - lost);
    flip(L::select(beyond, far, s + bent), sign(x))
}

/// `arccos x`: `π/2 - arcsin x` up to 1/2, and beyond `2 arcsin √((1 - x) / 2)` or `π` minus it.
#[inline(always)]
fn arccosine<L: Lane, const N: usize>(x: L, p: [f64; N], half_pi: (f64, f64)) -> L {
    let (s, bent, beyond) = folded(x, p);
    let y = s + bent;
    let near = L::lit(half_pi.0) - (flip(y, sign(x)) - L::lit(half_pi.1));
    let twice = y + y;
    let left = L::lit(2.0 * half_pi.0) - (twice - L::lit(2.0 * half_pi.1));
    L::select(beyond, L::select(x.lt(L::lit(0.0)), left, twice), near)
}

/// `arctan y/x` for `x` and `y` that are not negative, `π/2 - arctan x/y` where `y` is the larger.
/// Where `back` is set, `π` minus that.
#[inline(always)]
fn angle<L: Lane, const N: usize>(
    (y, x): (L, L),
    back: L::Mask,
    p: [f64; N],
    half_pi: (f64, f64),
) -> L {
    let steep = x.lt(y);
    let s = L::select(steep, x, y) / L::select(steep, y, x);
    // Two infinities make the angle of a diagonal, two zeros that of the axis.
    let s = L::select(x.eq(y), L::select(y.eq(L::lit(0.0)), y, L::lit(1.0)), s);
    let square = s * s;
    let r = (horner(square, p) * square).mul_add(s, s);
    let zero = L::lit(0.0);
    let base = |part: f64| {
        L::select(
            steep,
            L::lit(part),
            L::select(back, L::lit(2.0 * part), zero),
        )
    };
    // One of the two turns the remainder around, both do not.
    let turned = (steep & !back) | (!steep & back);
    base(half_pi.0) + (L::select(turned, -r, r) + base(half_pi.1))
}

/// The arc sine. At most 2 ulp; NaN outside [-1, 1]; a zero keeps its sign.
#[inline(always)]
pub fn asin32<L: Lane>(x: L) -> L {
    arcsine(x, ASIN_32, HALF_PI_32)
}

/// The arc sine. At most 2 ulp; NaN outside [-1, 1]; a zero keeps its sign.
#[inline(always)]
pub fn asin64<L: Lane>(x: L) -> L {
    arcsine(x, ASIN_64, HALF_PI_64)
}

/// The arc cosine. At most 2 ulp; NaN outside [-1, 1].
#[inline(always)]
pub fn acos32<L: Lane>(x: L) -> L {
    arccosine(x, ASIN_32, HALF_PI_32)
}

/// The arc cosine. At most 2 ulp; NaN outside [-1, 1].
#[inline(always)]
pub fn acos64<L: Lane>(x: L) -> L {
    arccosine(x, ASIN_64, HALF_PI_64)
}

/// The arc tangent. At most 2 ulp; ±π/2 at infinities; a zero keeps its sign.
#[inline(always)]
pub fn atan32<L: Lane>(x: L) -> L {
    let front = L::lit(1.0).lt(L::lit(0.0));
    flip(
        angle((x.abs(), L::lit(1.0)), front, ATAN_32, HALF_PI_32),
        sign(x),
    )
}

/// The arc tangent. At most 2 ulp; ±π/2 at infinities; a zero keeps its sign.
#[inline(always)]
pub fn atan64<L: Lane>(x: L) -> L {
    let front = L::lit(1.0).lt(L::lit(0.0));
    flip(
        angle((x.abs(), L::lit(1.0)), front, ATAN_64, HALF_PI_64),
        sign(x),
    )
}

/// The angle of the point `(x, y)`, from -π to π. At most 2 ulp; all signs of zeros and all
/// infinities as in C: `atan2(±0, -0) = ±π`, `atan2(±∞, ∞) = ±π/4`.
#[inline(always)]
pub fn atan2_32<L: Lane>(y: L, x: L) -> L {
    // Signed zeros count, so the sign is that of the number one with the sign of x.
    let back = flip(L::lit(1.0), sign(x)).lt(L::lit(0.0));
    flip(
        angle((y.abs(), x.abs()), back, ATAN_32, HALF_PI_32),
        sign(y),
    )
}

/// The angle of the point `(x, y)`, from -π to π. At most 2 ulp; all signs of zeros and all
/// infinities as in C: `atan2(±0, -0) = ±π`, `atan2(±∞, ∞) = ±π/4`.
#[inline(always)]
pub fn atan2_64<L: Lane>(y: L, x: L) -> L {
    // Signed zeros count, so the sign is that of the number one with the sign of x.
    let back = flip(L::lit(1.0), sign(x)).lt(L::lit(0.0));
    flip(
        angle((y.abs(), x.abs()), back, ATAN_64, HALF_PI_64),
        sign(y),
    )
}
