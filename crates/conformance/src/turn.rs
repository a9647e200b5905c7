//! How many quarter turns a number is, and what is left: exact for every float64, in integers.

use crate::double::{Double, PI};

/// The first 1280 bits of `2/π` behind the point.
const TWO_OVER_PI: [u64; 20] = [
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
    0xf0cf_bc20_9af4_361d,
];

/// The quarter turns nearest to `x`, modulo four, and the angle that is left.
pub(crate) fn quarter_turns(x: f64) -> (u64, Double) {
    if x.abs() < 0.75 || !x.is_finite() {
        return (0, Double::new(x));
    }
    let bits = x.abs().to_bits();
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = (bits >> 52) as i64 - 1075;
    // Bits of 2/π before this one only make whole turns.
    let skipped = (exponent - 2).max(0) as usize;
    let window: [u64; 5] = std::array::from_fn(|i| bits_at(skipped + 64 * i));
    // The product, most significant word first, with the point after `whole` bits.
    let mut product = [0_u64; 6];
    let mut carry = 0_u128;
    for i in (0..5).rev() {
        let sum = u128::from(window[i]) * u128::from(mantissa) + carry;
        product[i + 1] = sum as u64;
        carry = sum >> 64;
    }
    product[0] = carry as u64;
    let fraction = 320 + skipped as i64 - exponent;
    let shifted = shift_left(product, (384 - fraction - 2) as usize);
    let mut turns = shifted[0] >> 62;
    let mut rest = shift_left(shifted, 2);
    let above_half = rest[0] >> 63 == 1;
    if above_half {
        turns += 1;
        rest = negate(rest);
    }
    let mut angle = Double::new(0.0);
    for (i, word) in rest.iter().enumerate().rev() {
        for (half, place) in [(word & 0xffff_ffff, 64), (word >> 32, 32)] {
            let part = Double::new(half as f64).scale(-(64 * i as i32 + place));
            angle = part + angle;
        }
    }
    let angle = angle * PI.scale(-1);
    let negative = above_half != (x < 0.0);
    let turns = if x < 0.0 { 4 - turns % 4 } else { turns };
    (turns % 4, if negative { -angle } else { angle })
}

/// 64 bits of `2/π` from a place behind the point on.
fn bits_at(start: usize) -> u64 {
    let (word, shift) = (start / 64, start % 64);
    let at = |i: usize| TWO_OVER_PI.get(i).copied().unwrap_or(0);
    if shift == 0 {
        at(word)
    } else {
        (at(word) << shift) | (at(word + 1) >> (64 - shift))
    }
}

fn shift_left(words: [u64; 6], count: usize) -> [u64; 6] {
    let (skip, shift) = (count / 64, count % 64);
    let at = |i: usize| words.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| {
        let high = at(i + skip);
        if shift == 0 {
            high
        } else {
            (high << shift) | (at(i + skip + 1) >> (64 - shift))
        }
    })
}

/// One minus a fraction.
fn negate(words: [u64; 6]) -> [u64; 6] {
    let mut out = words.map(|word| !word);
    for word in out.iter_mut().rev() {
        let (sum, carried) = word.overflowing_add(1);
        *word = sum;
        if !carried {
            break;
        }
    }
    out
}
