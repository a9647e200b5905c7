//! Sine, cosine, tangent.
//!
//! `x = n π/2 + r` with `|r| ≤ π/4`; polynomials give `sin r` and `cos r`, and `n` says which of
//! them, and with which sign.

use super::reduction::{CONSTANTS_32, CONSTANTS_64, Turns, reduce, reduce_near, turn, turn_near};
use super::{flip, horner};
use crate::{Lane, LaneBits};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(sin r - r) / r³` in powers of `r²`, for `|r|` a little above `π/4`.
const SIN_32: [f64; 4] = [
    -0.16666666663373741,
    0.008333331691203202,
    -0.000198399895773847,
    2.7237577241177232e-06,
];

/// `(cos r - 1 + r²/2) / r⁴`.
const COS_32: [f64; 3] = [
    0.04166666440691311,
    -0.0013888254915538887,
    2.453775076702822e-05,
];

/// The same for float64.
const SIN_64: [f64; 7] = [
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126402,
    2.7557319218542833e-06,
    -2.5052105961377e-08,
    1.6058489509558743e-10,
    -7.584263996034166e-13,
];

/// The same for float64.
const COS_64: [f64; 6] = [
    0.041666666666666664,
    -0.001388888888888707,
    2.4801587298282115e-05,
    -2.755731702592346e-07,
    2.0876096058995368e-09,
    -1.1379086634729478e-11,
];

/// `(tan r - r) / r³` in powers of `r²`.
const TAN_32: [f64; 8] = [
    0.33333333266368825,
    0.1333334666213639,
    0.05396393766283162,
    0.021922217512364225,
    0.008551119349887929,
    0.004574185922285696,
    -0.00018754891910674145,
    0.0018814536533922047,
];

/// The same for float64.
const TAN_64: [f64; 16] = [
    0.3333333333333333,
    0.1333333333333339,
    0.05396825396818207,
    0.021869488539901758,
    0.00886323542762344,
    0.003592129720299456,
    0.0014558162523660607,
    0.0005901618608863794,
    0.0002384214745186209,
    9.96090347363996e-05,
    3.1815094631841676e-05,
    3.089857803265307e-05,
    -1.4921654586171003e-05,
    2.3426402582804945e-05,
    -1.164613706174976e-05,
    4.367136905837837e-06,
];

/// Whether the number of quarter turns is odd.
#[inline(always)]
fn is_odd<L: Lane>(quarters: L::Bits) -> L::Mask {
    (quarters & L::Bits::lit(1)).eq(L::Bits::lit(1))
}

/// The position of the sign bit: 31 or 63.
#[inline(always)]
fn sign_position<L: Lane>() -> u32 {
    L::MANTISSA + (L::BIAS + 1).ilog2() + 1
}

/// The sine after so many quarter turns more; `s` and `c` are the polynomials.
#[inline(always)]
fn sine<L: Lane, const S: usize, const C: usize>(
    (quarters, r): (L::Bits, L),
    more: i64,
    (s, c): ([f64; S], [f64; C]),
) -> L {
    let quarters = quarters.add(L::Bits::lit(more));
    let z = r * r;
    let sin = (horner(z, s) * z).mul_add(r, r);
    let cos = (horner(z, c) * z).mul_add(z, z.mul_add(L::lit(-0.5), L::lit(1.0)));
    // The second lowest bit is the half turn: as the highest one, it is a sign.
    let half = quarters.shr(1).shl(sign_position::<L>());
    flip(L::select(is_odd::<L>(quarters), cos, sin), half)
}

/// The tangent of the remainder, or minus its inverse after an odd number of quarter turns.
#[inline(always)]
fn tangent<L: Lane, const N: usize>(turns: Turns<L>, p: [f64; N]) -> L {
    let Turns { quarters, r, rest } = turns;
    let z = r * r;
    // The slope is 1 + tan² r, about 1 + r².
    let tan = r + (horner(z, p) * z).mul_add(r, rest.mul_add(z, rest));
    let (odd, one) = (is_odd::<L>(quarters), L::lit(1.0));
    L::select(odd, -one, tan) / L::select(odd, tan, one)
}

/// `y`, or `x` itself where it is a zero.
#[inline(always)]
fn keep_zero<L: Lane>(x: L, y: L) -> L {
    L::select(x.eq(L::lit(0.0)), x, y)
}

/// A function of any number, and the same without the long reduction.
macro_rules! whole_and_near {
    ($($whole:ident $near:ident ($reduce:ident $reduce_near:ident $limit:ident) $doc:literal
       |$x:ident, $turns:ident| $body:expr;)*) => {$(
        #[doc = $doc]
        #[inline(always)]
        pub fn $whole<L: Lane>($x: L) -> L {
            let $turns = $reduce($x, &$limit);
            $body
        }

        #[doc = concat!("[`", stringify!($whole), "`] for magnitudes below the limit of its width,")]
        /// [`NEAR_32`](super::NEAR_32) or [`NEAR_64`](super::NEAR_64), several times as fast. Beyond
        /// it the result is meaningless.
        #[inline(always)]
        pub fn $near<L: Lane>($x: L) -> L {
            let $turns = $reduce_near($x, &$limit);
            $body
        }
    )*};
}
whole_and_near! {
    sin32 sin_near32 (turn turn_near CONSTANTS_32) "The sine. At most 1.6 ulp; NaN at infinities; a zero keeps its sign."
        |x, turns| keep_zero(x, sine(turns, 0, (SIN_32, COS_32)));
    sin64 sin_near64 (turn turn_near CONSTANTS_64) "The sine. At most 1.6 ulp; NaN at infinities; a zero keeps its sign."
        |x, turns| keep_zero(x, sine(turns, 0, (SIN_64, COS_64)));
    cos32 cos_near32 (turn turn_near CONSTANTS_32) "The cosine. At most 1.6 ulp; NaN at infinities."
        |x, turns| sine(turns, 1, (SIN_32, COS_32));
    cos64 cos_near64 (turn turn_near CONSTANTS_64) "The cosine. At most 1.6 ulp; NaN at infinities."
        |x, turns| sine(turns, 1, (SIN_64, COS_64));
    tan32 tan_near32 (reduce reduce_near CONSTANTS_32) "The tangent. At most 2 ulp; NaN at infinities; a zero keeps its sign."
        |x, turns| keep_zero(x, tangent(turns, TAN_32));
    tan64 tan_near64 (reduce reduce_near CONSTANTS_64) "The tangent. At most 2 ulp; NaN at infinities; a zero keeps its sign."
        |x, turns| keep_zero(x, tangent(turns, TAN_64));
}
