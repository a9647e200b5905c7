//! 32 codes at a time, for AVX2 with F16C.
//!
//! The bits of a code are those of a float16 with zeros behind them, which the CPU's own instruction
//! makes float32. Where an exponent field is one bit shorter its NaN is a number there: in such a
//! format an operand that is NaN is the result.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::x86_64::*;

use allotrope_dtype::{Format, Level, Specials};

use super::{ADD, Ends, SUB};

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
    // A stream of stores needs whole vectors, and fills whole cache lines.
    let streams = streams && out.as_ptr().addr().is_multiple_of(32);
    let whole = a.iter().zip(b).zip(out).map(|block| (block, streams));
    for (((a, b), out), streams) in whole.chain(last.map(|block| (block, false))) {
        super::ask_ahead(a);
        super::ask_ahead(b);
        let (a, b) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0);
        for ((a, b), out) in a.iter().zip(b).zip(out.as_chunks_mut::<32>().0) {
            let result = block::<F, OP>(load(a), load(b));
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

/// The row over 32 codes.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn block<F: Format, const OP: u8>(a: __m256i, b: __m256i) -> __m256i {
    let halves = [0, 1].map(|half| {
        let [x, y] = [decode::<F>(a, half), decode::<F>(b, half)];
        let [p, q] = [0, 1].map(|i| {
            let result = match OP {
                ADD => _mm256_add_ps(x[i], y[i]),
                SUB => _mm256_sub_ps(x[i], y[i]),
                _ => {
                    let scale = const { super::scale(F::FORMAT) as f32 };
                    _mm256_mul_ps(_mm256_mul_ps(x[i], _mm256_set1_ps(scale)), y[i])
                }
            };
            _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(result)
        });
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(p), q)
    });
    let codes = encode::<F>(halves);
    if F::FORMAT.specials == Specials::Ieee {
        return codes;
    }
    let nan = _mm256_set1_epi8(const { F::FORMAT.nan_code() as i8 });
    let is_nan = |x| {
        let magnitude = _mm256_andnot_si256(_mm256_set1_epi8(-128), x);
        _mm256_cmpeq_epi8(magnitude, nan)
    };
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
    let [low, high] = halves.map(|half| {
        let magnitude = _mm256_and_si256(half, _mm256_set1_epi16(0x7FFF));
        let is_odd = _mm256_and_si256(_mm256_srl_epi16(half, count), _mm256_set1_epi16(1));
        let below_half = _mm256_set1_epi16((1 << (dropped - 1)) - 1);
        let rounded = _mm256_add_epi16(_mm256_add_epi16(magnitude, below_half), is_odd);
        _mm256_srl_epi16(rounded, count)
    });
    let byte = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let rounded = _mm256_packus_epi16(low, high);
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
