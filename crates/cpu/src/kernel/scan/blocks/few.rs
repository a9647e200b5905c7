//! Sums of items with few digits by shorter ways than float64, where these lead to the same results.
//!
//! Bytes, and most lines of bfloat16, have sums that float32 has room for. Others are often multiples of
//! a unit, so few that integers of 32 bits have.
//!
//! All sums of an 8-bit format are multiples of its smallest number, and those of some hundred
//! halves multiples of the last digit of the least: below 2^24 units they are added as float32,
//! below 2^30 as integers.
#![allow(unsafe_code, reason = "vector instructions for a detected level")]

use std::arch::x86_64::*;

use super::narrow::add_floats;
use super::{Digits, EXACT};

/// Items that are added before it is known whether a shorter way has led anywhere.
const TRIED: usize = 512;

/// Sums of items with few digits, part by part a shorter way if that leads to the same results.
#[target_feature(enable = "avx2")]
pub(super) fn add_digits(
    digits: Digits,
    odd: bool,
    mut carry: f64,
    items: &[f32],
    out: &mut [f32],
) -> f64 {
    // Parts for which none is tried: more after each that was tried in vain.
    let (mut left_out, mut next_left_out) = (0, 1);
    for (items, out) in items.chunks(TRIED).zip(out.chunks_mut(TRIED)) {
        if left_out == 0 {
            let last = match digits.exact_of_bytes() {
                Some(exact) => add_exactly(exact, carry, items, out),
                None => add_few(digits.after_first, carry, items, out),
            };
            if let Some(last) = last {
                (carry, next_left_out) = (last, 1);
                continue;
            }
            (left_out, next_left_out) = (next_left_out, 2 * next_left_out + 1);
        } else {
            left_out -= 1;
        }
        carry = if odd {
            add_floats::<true>(carry, items, out)
        } else {
            add_floats::<false>(carry, items, out)
        };
    }
    carry
}

/// Sums in float32, if magnitudes are below `exact`: the last one. What is written else is of no use.
#[target_feature(enable = "avx2")]
fn add_exactly(exact: f64, carry: f64, items: &[f32], out: &mut [f32]) -> Option<f64> {
    if has_signed_zero(carry, items) {
        return None;
    }
    let mut sum = _mm256_set1_ps(carry as f32);
    // Magnitudes are ordered as their bits are, and NaN is above all.
    let (mut most, mut most_of_items) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    for (block, to) in blocks.iter().zip(to) {
        // SAFETY: 32 readable bytes; the load has no alignment requirement.
        let a = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        most_of_items = _mm256_max_epu32(most_of_items, magnitude(a));
        // Within fours, then the first four to the second.
        let a = add(a, _mm256_slli_si256::<4>(a));
        let a = _mm256_castsi256_ps(add(a, _mm256_slli_si256::<8>(a)));
        let fours = _mm256_permute_ps::<0xFF>(a);
        let before = _mm256_permute2f128_ps::<0x08>(fours, fours);
        let others = _mm256_permute2f128_ps::<0x01>(fours, fours);
        let sums = _mm256_add_ps(_mm256_add_ps(a, before), sum);
        sum = _mm256_add_ps(sum, _mm256_add_ps(fours, others));
        most = _mm256_max_epu32(most, magnitude(_mm256_castps_si256(sums)));
        // SAFETY: 32 writable bytes; the store has no alignment requirement.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sums) };
    }
    // Windows of up to eight items are exact too.
    let is_exact = carry.abs() < exact
        && greatest(most) < (exact as f32).to_bits()
        && greatest(most_of_items) < ((exact / 8.0) as f32).to_bits();
    is_exact.then(|| f64::from(_mm256_cvtss_f32(sum)))
}

/// Whether sums begin with zeros that have a sign, as they have then. The shorter ways know one zero.
fn has_signed_zero(carry: f64, items: &[f32]) -> bool {
    let is_one = |x: f64| x == 0.0 && x.is_sign_negative();
    is_one(carry) && is_one(items[0].into())
}

/// Sums of items with so many digits `after_first`, if they and what precedes them are multiples of
/// a unit of which the sums are not too many: the last one. What is written else is of no use.
#[target_feature(enable = "avx2")]
fn add_few(after_first: u32, carry: f64, items: &[f32], out: &mut [f32]) -> Option<f64> {
    let mut most = _mm256_setzero_si256();
    // The least but zero, and one less, so that zero is the greatest.
    let mut least = _mm256_set1_epi32(-1);
    for block in items.as_chunks::<8>().0 {
        // SAFETY: 32 readable bytes; the load has no alignment requirement.
        let a = magnitude(unsafe { _mm256_loadu_si256(block.as_ptr().cast()) });
        most = _mm256_max_epu32(most, a);
        let less = _mm256_add_epi32(a, _mm256_set1_epi32(-1));
        least = _mm256_min_epu32(least, less);
    }
    let most = f64::from(f32::from_bits(greatest(most)));
    let least = f64::from(f32::from_bits(self::least(least).wrapping_add(1)));
    // Zeros are multiples of anything.
    let unit = match least {
        0.0 => f64::INFINITY,
        least => power(least) * half_to_the(after_first),
    };
    let unit = unit.min(last_digit(carry));
    let exact = unit * EXACT;
    // A guess: sums of numbers around zero are seldom longer.
    if carry.abs() + 16.0 * most < exact
        && let Some(last) = add_exactly(exact, carry, items, out)
    {
        return Some(last);
    }
    add_units(unit, most, carry, items, out)
}

/// Sums of multiples of a unit, the greatest of magnitude `most`, as integers of 32 bits, if these
/// have room: the last one. What is written else is of no use. Sums of more digits than float32 has
/// keep an odd last one where something is lost.
#[target_feature(enable = "avx2")]
fn add_units(unit: f64, most: f64, carry: f64, items: &[f32], out: &mut [f32]) -> Option<f64> {
    /// Sums below this, and eight items below an eighth of it, together leave the sign alone.
    const ROOM: i32 = 1 << 30;
    let room = unit * f64::from(ROOM);
    // False for NaN.
    let has_room = most < room / 8.0 && carry.abs() < room;
    let is_normal = (NORMAL..1.0 / NORMAL).contains(&unit);
    if has_signed_zero(carry, items) || !has_room || !is_normal {
        return None;
    }
    let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    let (one, per_one) = (
        _mm256_set1_ps(unit as f32),
        _mm256_set1_ps((1.0 / unit) as f32),
    );
    let mut sum = _mm256_set1_epi32((carry / unit) as i32);
    let mut most = _mm256_setzero_si256();
    for (block, to) in blocks.iter().zip(to) {
        // SAFETY: 32 readable bytes; the load has no alignment requirement.
        let block = unsafe { _mm256_loadu_ps(block.as_ptr()) };
        let a = _mm256_cvtps_epi32(_mm256_mul_ps(block, per_one));
        // Within fours, then the first four to the second.
        let a = _mm256_add_epi32(a, _mm256_slli_si256::<4>(a));
        let a = _mm256_add_epi32(a, _mm256_slli_si256::<8>(a));
        let fours = _mm256_shuffle_epi32::<0xFF>(a);
        let before = _mm256_permute2x128_si256::<0x08>(fours, fours);
        let others = _mm256_permute2x128_si256::<0x01>(fours, fours);
        let sums = _mm256_add_epi32(_mm256_add_epi32(a, before), sum);
        sum = _mm256_add_epi32(sum, _mm256_add_epi32(fours, others));
        let magnitude = _mm256_abs_epi32(sums);
        most = _mm256_max_epu32(most, magnitude);
        // Of those with more digits than a float32 the last seven become one.
        let is_long = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((1 << 24) - 1));
        let left_out = _mm256_and_si256(is_long, _mm256_set1_epi32(0x7F));
        let carried = _mm256_add_epi32(_mm256_and_si256(sums, left_out), left_out);
        let sums = _mm256_andnot_si256(left_out, _mm256_or_si256(sums, carried));
        let sums = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), one);
        // SAFETY: 32 writable bytes; the store has no alignment requirement.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sums) };
    }
    let total = f64::from(_mm256_cvtsi256_si32(sum)) * unit;
    (greatest(most) < ROOM.cast_unsigned()).then_some(total)
}

/// The smallest float32 whose digits are all there.
const NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// Without digits after the first.
#[inline]
fn power(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> (f64::MANTISSA_DIGITS - 1) << (f64::MANTISSA_DIGITS - 1))
}

/// A power of one half.
#[inline]
fn half_to_the(exponent: u32) -> f64 {
    f64::from_bits(u64::from(1023 - exponent) << (f64::MANTISSA_DIGITS - 1))
}

/// What the last digit of a number counts; of zero, more than any.
#[inline]
fn last_digit(x: f64) -> f64 {
    const AFTER_FIRST: u32 = f64::MANTISSA_DIGITS - 1;
    if x == 0.0 {
        return f64::INFINITY;
    }
    let digits = x.to_bits() | 1 << AFTER_FIRST;
    power(x.abs()) * half_to_the(AFTER_FIRST - digits.trailing_zeros())
}

/// Numbers without their signs.
#[inline]
#[target_feature(enable = "avx2")]
fn magnitude(a: __m256i) -> __m256i {
    _mm256_andnot_si256(_mm256_set1_epi32(i32::MIN), a)
}

/// The least of unsigned numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn least(a: __m256i) -> u32 {
    let a = _mm_min_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a));
    let a = _mm_min_epu32(a, _mm_shuffle_epi32::<0b01_00_11_10>(a));
    let a = _mm_min_epu32(a, _mm_shuffle_epi32::<0b10_11_00_01>(a));
    _mm_cvtsi128_si32(a).cast_unsigned()
}

/// The greatest of unsigned numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn greatest(a: __m256i) -> u32 {
    !least(_mm256_xor_si256(a, _mm256_set1_epi32(-1)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: __m256i, b: __m256i) -> __m256i {
    let sum = _mm256_add_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a));
    _mm256_castps_si256(sum)
}
