//! 32 codes at a time, for AVX2 with F16C.
//!
//! Sums and differences of numbers: the bits of a code are those of a float32, far smaller, with zeros
//! behind them, and the digits that are too many are rounded away from its bits. Subnormal codes are
//! subnormal float32 there, which additions take no longer for.
//!
//! Products, and blocks with NaN or infinities: the bits of a code are those of a float16 with zeros
//! behind them, which the CPU's own instruction makes float32. Where an exponent field is one bit shorter
//! its NaN is a number there: in such a format an operand that is NaN is the result.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::asm;
use std::arch::x86_64::*;

use allotrope_dtype::{Format, Level, Specials};

use super::{ADD, Ends, MUL, SUB};

pub(super) fn run<F: Format, const OP: u8>(
    _: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    if let [a, b] = operands {
        // SAFETY: `find` hands this out only above the baseline, where there are AVX2 and F16C.
        unsafe { combine::<F, OP>(a, b, out, streams) };
    }
}

/// The row over all elements.
#[target_feature(enable = "avx2,f16c")]
fn combine<F: Format, const OP: u8>(a: &[u8], b: &[u8], out: &mut [u8], streams: bool) {
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<64>(), b.as_chunks::<64>());
    let (out, out_tail) = out.as_chunks_mut::<64>();
    // What is left goes the same way, so that the loop exists once.
    let (mut a_rest, mut b_rest, mut rest) = ([0; 64], [0; 64], [0; 64]);
    a_rest[..a_tail.len()].copy_from_slice(a_tail);
    b_rest[..b_tail.len()].copy_from_slice(b_tail);
    let last = std::iter::once(((&a_rest, &b_rest), &mut rest)).take(out_tail.len());
    let keeps_subnormals = OP != MUL && keeps_subnormals();
    // A stream of stores needs whole vectors, and fills whole cache lines.
    let streams = streams && out.as_ptr().addr().is_multiple_of(32);
    let whole = a.iter().zip(b).zip(out).map(|block| (block, streams));
    for (((a, b), out), streams) in whole.chain(last.map(|block| (block, false))) {
        super::ask_ahead(a);
        super::ask_ahead(b);
        let (a, b) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0);
        for ((a, b), out) in a.iter().zip(b).zip(out.as_chunks_mut::<32>().0) {
            let (a, b) = (load(a), load(b));
            let result = if keeps_subnormals && are_numbers::<F>(a, b) {
                sums::<F, OP>(a, b)
            } else {
                block::<F, OP>(a, b)
            };
            let to = out.as_mut_ptr().cast();
            if streams {
                // SAFETY: 32 writable bytes at a multiple of 32.
                unsafe { _mm256_stream_si256(to, result) };
            } else {
                // SAFETY: 32 writable bytes; the store has no alignment requirement.
                unsafe { _mm256_storeu_si256(to, result) };
            }
        }
    }
    out_tail.copy_from_slice(&rest[..out_tail.len()]);
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(codes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 readable bytes; the load has no alignment requirement.
    unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) }
}

/// Whether this thread adds subnormal numbers as such, as every thread does unless told otherwise.
fn keeps_subnormals() -> bool {
    /// What flushes results to zero, and what operands.
    const FLUSHES: u32 = 1 << 15 | 1 << 6;
    let mut control = 0_u32;
    // SAFETY: part of the x86-64 baseline, and writes the four bytes it is given.
    unsafe {
        asm!(
            "stmxcsr dword ptr [{to}]",
            to = in(reg) &raw mut control,
            options(nostack, preserves_flags),
        );
    }
    control & FLUSHES == 0
}

/// Codes without their signs.
#[inline]
#[target_feature(enable = "avx2")]
fn magnitude(codes: __m256i) -> __m256i {
    _mm256_andnot_si256(_mm256_set1_epi8(i8::MIN), codes)
}

/// Whether none is NaN or infinite.
#[inline]
#[target_feature(enable = "avx2")]
fn are_numbers<F: Format>(a: __m256i, b: __m256i) -> bool {
    let greatest = _mm256_set1_epi8(const { F::FORMAT.max_code() as i8 });
    let greater = _mm256_max_epu8(magnitude(a), magnitude(b));
    _mm256_movemask_epi8(_mm256_cmpgt_epi8(greater, greatest)) == 0
}

/// The sums of 32 pairs of numbers, or their differences.
#[inline]
#[target_feature(enable = "avx2")]
fn sums<F: Format, const OP: u8>(a: __m256i, b: __m256i) -> __m256i {
    let dropped = const { f32::MANTISSA_DIGITS - 1 - F::FORMAT.mantissa_bits };
    let count = _mm_cvtsi32_si128(dropped.cast_signed());
    let below_half = _mm256_set1_epi32((1 << (dropped - 1)) - 1);
    let mut words = [_mm256_setzero_si256(); 2];
    for (half, words) in words.iter_mut().enumerate() {
        let (x, y) = (widen::<F>(a, half), widen::<F>(b, half));
        let mut rounded = [_mm256_setzero_si256(); 2];
        for (i, rounded) in rounded.iter_mut().enumerate() {
            let sum = match OP {
                ADD => _mm256_add_ps(x[i], y[i]),
                _ => _mm256_sub_ps(x[i], y[i]),
            };
            let bits = _mm256_castps_si256(sum);
            let is_odd = _mm256_and_si256(_mm256_srl_epi32(bits, count), _mm256_set1_epi32(1));
            let carried = _mm256_add_epi32(_mm256_add_epi32(bits, below_half), is_odd);
            // Copies of the sign come from above.
            *rounded = _mm256_sra_epi32(carried, count);
        }
        *words = _mm256_packs_epi32(rounded[0], rounded[1]);
    }
    let ends = const { &Ends::new(F::FORMAT) };
    let mask = _mm256_set1_epi16((1 << (8 + F::FORMAT.mantissa_bits)) - 1);
    let [low, high] = words;
    let magnitude = _mm256_packus_epi16(_mm256_and_si256(low, mask), _mm256_and_si256(high, mask));
    let codes = _mm256_min_epu8(magnitude, _mm256_set1_epi8(ends.greatest.cast_signed()));
    // Saturated to 8 bits, words keep their signs.
    let signs = _mm256_packs_epi16(low, high);
    _mm256_or_si256(codes, _mm256_and_si256(signs, _mm256_set1_epi8(i8::MIN)))
}

/// One half of the codes as the upper halves of float32, in the order in which bytes and then words
/// are unpacked within 128 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn widen<F: Format>(codes: __m256i, half: usize) -> [__m256; 2] {
    let zero = _mm256_setzero_si256();
    let words = match half {
        0 => _mm256_unpacklo_epi8(zero, codes),
        _ => _mm256_unpackhi_epi8(zero, codes),
    };
    // More bits of the exponent field, which the shift makes copies of the sign.
    let more = const { 8 - F::FORMAT.exponent_bits };
    let shifted = _mm256_sra_epi16(words, _mm_cvtsi32_si128(more.cast_signed()));
    let mask = _mm256_set1_epi16(!(((1 << more) - 1) << (15 - more)));
    let upper = _mm256_and_si256(shifted, mask);
    [
        _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, upper)),
        _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, upper)),
    ]
}

/// The row over 32 codes.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn block<F: Format, const OP: u8>(a: __m256i, b: __m256i) -> __m256i {
    let mut halves = [_mm256_setzero_si256(); 2];
    for (half, to) in halves.iter_mut().enumerate() {
        let (x, y) = (decode::<F>(a, half), decode::<F>(b, half));
        let mut parts = [_mm_setzero_si128(); 2];
        for (i, part) in parts.iter_mut().enumerate() {
            let result = match OP {
                ADD => _mm256_add_ps(x[i], y[i]),
                SUB => _mm256_sub_ps(x[i], y[i]),
                _ => {
                    let scale = const { super::scale(F::FORMAT) as f32 };
                    _mm256_mul_ps(_mm256_mul_ps(x[i], _mm256_set1_ps(scale)), y[i])
                }
            };
            *part = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(result);
        }
        *to = _mm256_set_m128i(parts[1], parts[0]);
    }
    let codes = encode::<F>(halves);
    if F::FORMAT.specials == Specials::Ieee {
        return codes;
    }
    let nan = _mm256_set1_epi8(const { F::FORMAT.nan_code() as i8 });
    let is_nan = |x| _mm256_cmpeq_epi8(magnitude(x), nan);
    let codes = _mm256_blendv_epi8(codes, b, is_nan(b));
    _mm256_blendv_epi8(codes, a, is_nan(a))
}

/// One half of the codes as numbers, in the order in which bytes are unpacked within 128 bits.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn decode<F: Format>(codes: __m256i, half: usize) -> [__m256; 2] {
    let zero = _mm256_setzero_si256();
    let mut words = match half {
        0 => _mm256_unpacklo_epi8(zero, codes),
        _ => _mm256_unpackhi_epi8(zero, codes),
    };
    if F::FORMAT.exponent_bits == 4 {
        // One bit more of the exponent field, which the shift makes a copy of the sign.
        let shifted = _mm256_srai_epi16::<1>(words);
        words = _mm256_andnot_si256(_mm256_set1_epi16(0x4000), shifted);
    }
    [
        _mm256_cvtph_ps(_mm256_castsi256_si128(words)),
        _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(words)),
    ]
}

/// Scaled float16 as codes, nearest even.
#[inline]
#[target_feature(enable = "avx2")]
fn encode<F: Format>(halves: [__m256i; 2]) -> __m256i {
    let ends = const { &Ends::new(F::FORMAT) };
    let dropped = 10 - F::FORMAT.mantissa_bits;
    let count = _mm_cvtsi32_si128(dropped.cast_signed());
    let below_half = _mm256_set1_epi16((1 << (dropped - 1)) - 1);
    let mut words = halves;
    for word in &mut words {
        let magnitude = _mm256_and_si256(*word, _mm256_set1_epi16(0x7FFF));
        let is_odd = _mm256_and_si256(_mm256_srl_epi16(*word, count), _mm256_set1_epi16(1));
        let rounded = _mm256_add_epi16(_mm256_add_epi16(magnitude, below_half), is_odd);
        *word = _mm256_srl_epi16(rounded, count);
    }
    let byte = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let rounded = _mm256_packus_epi16(words[0], words[1]);
    let mut codes = _mm256_min_epu8(rounded, byte(ends.greatest));
    if F::FORMAT.specials == Specials::Ieee {
        let greater = _mm256_max_epu8(rounded, byte(ends.rounded_nan));
        let is_nan = _mm256_cmpeq_epi8(greater, rounded);
        codes = _mm256_blendv_epi8(codes, byte(ends.nan), is_nan);
    }
    // Saturated to 8 bits, words keep their signs.
    let signs = _mm256_packs_epi16(halves[0], halves[1]);
    _mm256_or_si256(codes, _mm256_and_si256(signs, byte(0x80)))
}
