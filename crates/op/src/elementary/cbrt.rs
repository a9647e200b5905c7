//! The cube root.

use super::log::split_any;
use super::{flip, horner, power_of_two, sign};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// The cube root from `√½` to `√2`, to 16 bits.
const CBRT: [f64; 5] = [
    0.45368850939437955,
    0.8967392149830209,
    -0.5237666939876867,
    0.2093460512115113,
    -0.03600019208330247,
];

/// `|x| = 2^(3q) m` as `q`, `m` from 1/3 to 3, and its cube root to 16 bits.
#[inline(always)]
fn parts<L: Lane>((k, m): (L, L)) -> (L, L, L) {
    let q = (k * L::lit(1.0 / 3.0)).round_small();
    let rest = k - q * L::lit(3.0);
    let (less, more) = (rest.lt(L::lit(0.0)), L::lit(0.0).lt(rest));
    let by = |down: f64, up: f64| {
        L::select(less, L::lit(down), L::select(more, L::lit(up), L::lit(1.0)))
    };
    let root = horner(m, CBRT) * by(0.7937005259840998, 1.2599210498948732);
    (q, m * by(0.5, 2.0), root)
}

/// A Newton step with an exact residual, which doubles the digits, then the exponent and the sign.
#[inline(always)]
fn finish<L: Lane>(x: L, (q, m, root): (L, L, L)) -> L {
    let (square, square_rest) = root.mul_exact(root);
    let (cube, cube_rest) = root.mul_exact(square);
    let residual = (cube - m) + root.mul_add(square_rest, cube_rest);
    let root = root - residual / (square * L::lit(3.0));
    let y = flip(root * power_of_two::<L>(q.to_int_small()), sign(x));
    // Zeros, infinities and NaN are their own cube roots.
    let ordinary = L::lit(0.0).lt(x.abs()) & x.abs().lt(L::lit(f64::INFINITY));
    L::select(ordinary, y, x)
}

/// The cube root. At most 1 ulp; a zero keeps its sign.
#[inline(always)]
pub fn cbrt32<L: Lane>(x: L) -> L {
    finish(
        x,
        parts(split_any(x.abs(), 0x3f35_04f3, f32::MIN_POSITIVE.into())),
    )
}

/// The cube root. At most 1 ulp; a zero keeps its sign.
#[inline(always)]
pub fn cbrt64<L: Lane>(x: L) -> L {
    let (q, m, root) = parts(split_any(x.abs(), 0x3fe6_a09e_667f_3bcd, f64::MIN_POSITIVE));
    // A step of Halley, which triples the digits.
    let cube = root * root * root;
    let root = root * (cube + (m + m)) / ((cube + cube) + m);
    finish(x, (q, m, root))
}
