//! Remainders of a division by `π/2`, for the trigonometric functions.
//!
//! Up to a limit `π/2` in three parts is enough. Beyond it only those digits of `2/π` count that
//! stand neither so high that they add whole turns, nor so low that they vanish (Payne, Hanek 1983).

use super::{flip, sign, sum};
use crate::{Lane, LaneBits};

/// A number as quarter turns and a remainder of at most a little more than `π/4`.
#[derive(Clone, Copy)]
pub(super) struct Turns<L: Lane> {
    /// The quarter turns; only the two lowest bits count.
    pub quarters: L::Bits,
    /// The remainder, rounded.
    pub r: L,
    /// What that rounding left out.
    pub rest: L,
}

/// What a width needs to know, `N` being the number of words of `2/π`.
pub(super) struct Constants<const N: usize> {
    /// `π/2` in three parts.
    half_pi: [f64; 3],
    /// From here on the digits of `2/π` are used: the nearest whole number of quarter turns is off
    /// by so little below it, that the remainder stays in the domain of the polynomials.
    limit: f64,
    /// The logarithm of the number of bits.
    log_width: u32,
    /// The size of the pieces in which a fraction becomes a float.
    piece: u32,
    /// A word of zeros, and the digits of `2/π`.
    words: [u64; N],
}

/// Below this magnitude the `…near32` functions hold.
pub const NEAR_32: f64 = (1_u64 << 17) as f64;
/// Below this magnitude the `…near64` functions hold.
pub const NEAR_64: f64 = (1_u64 << 45) as f64;

pub(super) const CONSTANTS_32: Constants<8> = Constants {
    half_pi: [
        1.5707963705062866,
        -4.371138828673793e-08,
        -1.7151245100058819e-15,
    ],
    limit: NEAR_32,
    log_width: 5,
    piece: 20,
    words: WORDS_32,
};

pub(super) const CONSTANTS_64: Constants<20> = Constants {
    half_pi: [
        std::f64::consts::FRAC_PI_2,
        6.123233995736766e-17,
        -1.4973849048591698e-33,
    ],
    limit: NEAR_64,
    log_width: 6,
    piece: 40,
    words: WORDS_64,
};

const WORDS_32: [u64; 8] = [
    0,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
];

const WORDS_64: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// The turns of any number; NaN at infinities.
#[inline(always)]
pub(super) fn reduce<L: Lane, const N: usize>(x: L, c: &Constants<N>) -> Turns<L> {
    let (near, far) = (reduce_near(x, c), reduce_far(x, c));
    let is_near = x.abs().lt(L::lit(c.limit));
    Turns {
        quarters: L::Bits::select(is_near, near.quarters, far.quarters),
        r: L::select(is_near, near.r, far.r),
        rest: L::select(is_near, near.rest, far.rest),
    }
}

/// The turns of a number below the limit.
#[inline(always)]
pub(super) fn reduce_near<L: Lane, const N: usize>(x: L, c: &Constants<N>) -> Turns<L> {
    let [first, second, third] = c.half_pi.map(L::lit);
    let quarters = (x * L::lit(std::f64::consts::FRAC_2_PI)).to_int_small();
    let whole = L::from_int_small(quarters);
    // Both differences are exact: the last digit of the product is not below that of `first`.
    let (product, lost) = whole.mul_exact(first);
    let a = (x - product) - lost;
    // The second may cancel nearly all of the first, so that its rounding is kept too.
    let (product, lost) = whole.mul_exact(second);
    let (b, rounded) = sum(a, -product);
    let rest = (rounded - lost) - whole * third;
    let r = b + rest;
    Turns {
        quarters,
        r,
        rest: (b - r) + rest,
    }
}

/// Quarter turns and the remainder alone, of any number; NaN at infinities.
#[inline(always)]
pub(super) fn turn<L: Lane, const N: usize>(x: L, c: &Constants<N>) -> (L::Bits, L) {
    let ((quarters, r), far) = (turn_near(x, c), reduce_far(x, c));
    let is_near = x.abs().lt(L::lit(c.limit));
    (
        L::Bits::select(is_near, quarters, far.quarters),
        L::select(is_near, r, far.r),
    )
}

/// Quarter turns and the remainder alone, of a number below the limit.
#[inline(always)]
pub(super) fn turn_near<L: Lane, const N: usize>(x: L, c: &Constants<N>) -> (L::Bits, L) {
    let [first, second, third] = c.half_pi.map(L::lit);
    let quarters = (x * L::lit(std::f64::consts::FRAC_2_PI)).to_int_small();
    let whole = L::from_int_small(quarters);
    // The first difference is exact, and the second right to half a digit of what it leaves.
    let r = x.minus_product(whole, first).minus_product(whole, second);
    (quarters, r.minus_product(whole, third))
}

/// The high word of the product of two words without sign, of which the first has its sign bit
/// clear, so that the sums do not overflow.
#[inline(always)]
fn mul_high<L: Lane>(m: L::Bits, word: L::Bits, log_width: u32) -> L::Bits {
    let half = 1 << (log_width - 1);
    let low = L::Bits::lit((1 << half) - 1);
    let (m_high, m_low) = (m.shr_logical(half), m & low);
    let (high, word_low) = (word.shr_logical(half), word & low);
    let u = m_high
        .mul(word_low)
        .add(m_low.mul(word_low).shr_logical(half));
    let v = m_low.mul(high).add(u & low);
    m_high
        .mul(high)
        .add(u.shr_logical(half))
        .add(v.shr_logical(half))
}

/// The turns of a number from the limit on.
#[inline(always)]
fn reduce_far<L: Lane, const N: usize>(x: L, c: &Constants<N>) -> Turns<L> {
    let lit = L::Bits::lit;
    let width = 1_u32 << c.log_width;
    // |x| = m 2^e with a whole m: digits of 2/π above 2^(2 - e) only add whole turns.
    let bits = x.to_bits();
    let implicit = 1_i64 << L::MANTISSA;
    let m = (bits & lit(implicit - 1)) | lit(implicit);
    let exponent = bits.shr_logical(L::MANTISSA) & lit(2 * L::BIAS + 1);
    let position = exponent.sub(lit(L::BIAS + i64::from(L::MANTISSA) + 2 - i64::from(width)));
    let index = position.shr(c.log_width);
    let mut window = [0, 1, 2, 3].map(|j| lit(word(c, j)));
    /// Choices written out, as in `horner`.
    macro_rules! choose {
        ($($k:literal)*) => {
            const { assert!(N <= [$($k),*].len() + 4) };
            $(if $k + 3 < N {
                let here = index.eq(lit($k));
                for (j, chosen) in window.iter_mut().enumerate() {
                    *chosen = L::Bits::select(here, lit(word(c, $k + j)), *chosen);
                }
            })*
        };
    }
    choose!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    let [a, b, d, e] = window;
    let shift = position & lit(i64::from(width) - 1);
    let back = lit(i64::from(width) - 1).sub(shift);
    let join =
        |high: L::Bits, low: L::Bits| high.shl_by(shift) | low.shr_logical(1).shr_logical_by(back);
    let (a, b, d) = (join(a, b), join(b, d), join(d, e));

    // The two high words of the product are the fraction of a whole turn.
    let middle = m.mul(b);
    let low = middle.add(mul_high::<L>(m, d, c.log_width));
    let unsigned = |word: L::Bits| word ^ lit(1).shl(width - 1);
    let carry = L::Bits::select(unsigned(low).lt(unsigned(middle)), lit(1), lit(0));
    let high = m.mul(a).add(mul_high::<L>(m, b, c.log_width)).add(carry);
    let quarters = high.add(lit(1).shl(width - 3)).shr_logical(width - 2);
    let high = high.sub(quarters.shl(width - 2));

    // As a float, in three pieces: the leading ones may cancel.
    let piece = lit((1 << c.piece) - 1);
    let cut = width - c.piece;
    let kept = c.piece - cut;
    let first = high.shr(cut);
    let second = (high.shl(kept) | low.shr_logical(width - kept)) & piece;
    let third = low.shr_logical(width - kept - c.piece) & piece;
    let unit = 1.0 / (1_u64 << c.piece) as f64;
    let float = |word: L::Bits, scale: f64| L::from_int_small(word) * L::lit(4.0 * scale);
    let (turn, lost) = sum(float(first, unit), float(second, unit * unit));
    let lost = lost + float(third, unit * unit * unit);

    let [half_pi, rest_of_it, _] = c.half_pi.map(L::lit);
    let (product, rounded) = turn.mul_exact(half_pi);
    let rest = rounded + turn.mul_add(rest_of_it, lost * half_pi);
    let is_finite = x.abs().lt(L::lit(f64::INFINITY));
    let r = L::select(is_finite, product + rest, L::lit(f64::NAN));
    let rest = (product - r) + rest;
    let negative = x.lt(L::lit(0.0));
    Turns {
        quarters: L::Bits::select(negative, lit(0).sub(quarters), quarters),
        r: flip(r, sign(x)),
        rest: flip(rest, sign(x)),
    }
}

/// A word of `2/π`; zero where there is none.
#[inline(always)]
fn word<const N: usize>(c: &Constants<N>, index: usize) -> i64 {
    c.words.get(index).map_or(0, |&word| word as i64)
}
