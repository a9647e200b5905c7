//! 8-bit floats to float32 and back: 32 at a time for AVX2, and encoded 64 at a time for AVX-512.
//!
//! Where there are byte permutations a table decodes (`x86::LookUp`). The plain loop
//! (`kernels::Encode`) takes 1.35 times as long with AVX-512.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::x86_64::*;
use std::sync::OnceLock;

use super::kernels::Encode;
use super::simd::{Kernel, in_blocks};
use crate::DType;
use crate::format::FloatFormat;

/// 8-bit float codes to float32. For levels above Scalar only. `UZ` says that zero has no sign, and
/// its code with one is NaN.
///
/// A float32 with few digits is its upper half. For most codes that is the code, shifted, and a
/// constant; what the first and the last 16 differ by is looked up.
pub(super) struct DecodeF8<const UZ: bool>(pub(super) &'static Numbers);

/// The numbers of a format, as vectors find them.
pub(super) struct Numbers {
    /// Mantissa bits that the upper half of a float32 has more.
    shift: u32,
    /// What makes the exponent field that of a float32.
    rebias: u16,
    /// For the first 16 codes and the last 16: lower and upper bytes of what is to be added.
    ends: [[[u8; 16]; 2]; 2],
    /// The same for NaN in the place of -0.
    nan: [u8; 2],
}

/// The least of the last 16 codes.
const LAST: u8 = 0x70;

impl Numbers {
    /// The numbers of an 8-bit float dtype, made once: that takes longer than a short slice.
    pub(super) fn of(dtype: DType, format: FloatFormat) -> &'static Self {
        static KEPT: [OnceLock<Numbers>; DType::COUNT] = [const { OnceLock::new() }; DType::COUNT];
        KEPT[dtype as usize].get_or_init(|| Self::new(format))
    }

    fn new(format: FloatFormat) -> Self {
        let shift = 7 - format.mantissa_bits;
        let rebias = ((127 - format.bias) as u16) << 7;
        let difference = |code: u8| {
            let number = format.decode(u64::from(code)) as f32;
            let upper = if number.is_nan() {
                0x7FC0
            } else {
                (number.to_bits() >> 16) as u16
            };
            let plain = (u16::from(code & 0x7F) << shift).wrapping_add(rebias);
            upper.wrapping_sub(plain).to_le_bytes()
        };
        let ends = [0, LAST].map(|first| {
            [0, 1].map(|byte| std::array::from_fn(|i| difference(first + i as u8)[byte]))
        });
        Self {
            shift,
            rebias,
            ends,
            nan: difference(0x80),
        }
    }
}

impl<const UZ: bool> Kernel for DecodeF8<UZ> {
    type From = u8;
    type To = f32;
    #[inline(always)]
    fn run(&self, src: &[u8], dst: &mut [f32]) {
        in_blocks(src, dst, |codes: &[u8; 32], out: &mut [f32; 32]| {
            // SAFETY: AVX2 belongs to every level above Scalar.
            unsafe { decode::<UZ>(self.0, codes, out) };
        });
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn decode<const UZ: bool>(format: &Numbers, codes: &[u8; 32], out: &mut [f32; 32]) {
    // SAFETY: 32 readable bytes; the load has no alignment requirement.
    let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
    // In an order that unpacking bytes and then words within 128 bits puts right.
    let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    let codes = _mm256_permutevar8x32_epi32(codes, order);
    let byte = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let (sign, zero) = (byte(0x80), _mm256_setzero_si256());
    let magnitude = _mm256_andnot_si256(sign, codes);
    // Only of bytes without an upper bit are the lower four looked up; others give zero.
    let first = _mm256_adds_epu8(magnitude, byte(LAST));
    let last = _mm256_sub_epi8(magnitude, byte(LAST));
    let mut difference = [0, 1].map(|byte| {
        let first = _mm256_shuffle_epi8(broadcast(&format.ends[0][byte]), first);
        let last = _mm256_shuffle_epi8(broadcast(&format.ends[1][byte]), last);
        _mm256_or_si256(first, last)
    });
    difference[1] = _mm256_xor_si256(difference[1], _mm256_and_si256(codes, sign));
    if UZ {
        let is_nan = _mm256_cmpeq_epi8(codes, sign);
        for (difference, nan) in difference.iter_mut().zip(format.nan) {
            *difference = _mm256_blendv_epi8(*difference, byte(nan), is_nan);
        }
    }
    let shift = _mm_cvtsi32_si128(format.shift.cast_signed());
    let rebias = _mm256_set1_epi16(format.rebias.cast_signed());
    let [low, high] = difference;
    let halves = [
        (
            _mm256_unpacklo_epi8(magnitude, zero),
            _mm256_unpacklo_epi8(low, high),
        ),
        (
            _mm256_unpackhi_epi8(magnitude, zero),
            _mm256_unpackhi_epi8(low, high),
        ),
    ];
    for (half, out) in halves.into_iter().zip(out.as_chunks_mut::<16>().0) {
        let plain = _mm256_add_epi16(_mm256_sll_epi16(half.0, shift), rebias);
        let upper = _mm256_add_epi16(plain, half.1);
        let numbers = [
            _mm256_unpacklo_epi16(zero, upper),
            _mm256_unpackhi_epi16(zero, upper),
        ];
        for (numbers, out) in numbers.into_iter().zip(out.as_chunks_mut::<8>().0) {
            // SAFETY: 32 writable bytes; the store has no alignment requirement.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), numbers) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(table: &[u8; 16]) -> __m256i {
    // SAFETY: 16 readable bytes; the load has no alignment requirement.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

/// float32 to 8-bit float codes, nearest even, by the constants of the plain loop. For levels above
/// Scalar only.
pub(super) struct EncodeF8<const UZ: bool>(pub(super) Encode<u8, UZ>);

impl<const UZ: bool> Kernel for EncodeF8<UZ> {
    type From = f32;
    type To = u8;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u8]) {
        in_blocks(src, dst, |values: &[f32; 32], out: &mut [u8; 32]| {
            // SAFETY: AVX2 and FMA belong to every level above Scalar.
            unsafe { encode(&self.0, values, out) };
        });
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn encode<const UZ: bool>(format: &Encode<u8, UZ>, values: &[f32; 32], out: &mut [u8; 32]) {
    let word = |word: u32| _mm256_set1_epi32(word.cast_signed());
    let byte = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let kept = 23 - format.shift;
    // The quanta next to the exponent field, which is the upper half of a word.
    let side_by_side = word(1 << 16 | 1 << (7 - kept));
    let power = _mm256_castsi256_ps(word((127 + format.shift) << 23));
    let (mut bits, mut codes) = ([_mm256_setzero_si256(); 4], [_mm256_setzero_si256(); 4]);
    for (i, values) in values.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: 32 readable bytes; the load has no alignment requirement.
        bits[i] = unsafe { _mm256_loadu_si256(values.as_ptr().cast()) };
        let magnitude = _mm256_and_si256(bits[i], word(0x7FFF_FFFF));
        let limited = _mm256_min_epu32(magnitude, word(format.limit));
        let exponent = _mm256_and_si256(limited, word(0x7F80_0000));
        let exponent = _mm256_max_epu32(exponent, word(format.least_normal));
        // Adding a power of two whose last place is the format's quantum leaves the rounded number
        // of quanta in the low bits.
        let sum = _mm256_fmadd_ps(
            _mm256_castsi256_ps(exponent),
            power,
            _mm256_castsi256_ps(limited),
        );
        codes[i] = _mm256_madd_epi16(_mm256_castps_si256(sum), side_by_side);
    }
    // The exponent field of what rounded subnormal numbers.
    let least = ((format.least_normal >> 23) + format.shift) << 7;
    let least = _mm256_set1_epi16((least as u16).cast_signed());
    let count = _mm_cvtsi32_si128((7 - kept).cast_signed());
    let [a, b, c, d] = codes;
    let words = [_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d)];
    let [low, high] = words.map(|word| _mm256_srl_epi16(_mm256_sub_epi16(word, least), count));
    let mut codes = _mm256_packus_epi16(low, high);
    let narrow = |[a, b, c, d]: [__m256i; 4]| {
        // Saturated, words keep their signs and masks stay masks.
        let (low, high) = (_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        _mm256_packs_epi16(low, high)
    };
    if !format.limit_is_nan {
        let mut is_nan = bits;
        for words in &mut is_nan {
            let magnitude = _mm256_and_si256(*words, word(0x7FFF_FFFF));
            *words = _mm256_cmpgt_epi32(magnitude, word(0x7F80_0000));
        }
        codes = _mm256_blendv_epi8(codes, byte(format.nan_code as u8), narrow(is_nan));
    }
    let mut signs = _mm256_and_si256(narrow(bits), byte(0x80));
    if UZ {
        let is_zero = _mm256_cmpeq_epi8(codes, _mm256_setzero_si256());
        signs = _mm256_andnot_si256(is_zero, signs);
    }
    let codes = _mm256_or_si256(codes, signs);
    // Packing worked within 128 bits.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let codes = _mm256_permutevar8x32_epi32(codes, order);
    // SAFETY: 32 writable bytes; the store has no alignment requirement.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), codes) };
}

/// [`EncodeF8`] in vectors of 512 bits. For the level AVX-512 only.
pub(super) struct WideEncodeF8<const UZ: bool>(pub(super) Encode<u8, UZ>);

impl<const UZ: bool> Kernel for WideEncodeF8<UZ> {
    type From = f32;
    type To = u8;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u8]) {
        in_blocks(src, dst, |values: &[f32; 64], out: &mut [u8; 64]| {
            // SAFETY: the level has the features.
            unsafe { encode_wide(&self.0, values, out) };
        });
    }
}

/// The steps of [`encode`], with NaN and zeros in masks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn encode_wide<const UZ: bool>(format: &Encode<u8, UZ>, values: &[f32; 64], out: &mut [u8; 64]) {
    let word = |word: u32| _mm512_set1_epi32(word.cast_signed());
    let byte = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let kept = 23 - format.shift;
    let side_by_side = word(1 << 16 | 1 << (7 - kept));
    let power = _mm512_castsi512_ps(word((127 + format.shift) << 23));
    let (mut bits, mut codes) = ([_mm512_setzero_si512(); 4], [_mm512_setzero_si512(); 4]);
    let mut is_nan = 0_u64;
    for (i, values) in values.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: 64 readable bytes; the load has no alignment requirement.
        bits[i] = unsafe { _mm512_loadu_si512(values.as_ptr().cast()) };
        let magnitude = _mm512_and_si512(bits[i], word(0x7FFF_FFFF));
        let limited = _mm512_min_epu32(magnitude, word(format.limit));
        let exponent = _mm512_and_si512(limited, word(0x7F80_0000));
        let exponent = _mm512_max_epu32(exponent, word(format.least_normal));
        let (exponent, number) = (_mm512_castsi512_ps(exponent), _mm512_castsi512_ps(limited));
        let sum = _mm512_fmadd_ps(exponent, power, number);
        codes[i] = _mm512_madd_epi16(_mm512_castps_si512(sum), side_by_side);
        if !format.limit_is_nan {
            let mask = _mm512_cmpgt_epu32_mask(magnitude, word(0x7F80_0000));
            is_nan |= u64::from(mask) << (16 * i);
        }
    }
    let least = ((format.least_normal >> 23) + format.shift) << 7;
    let least = _mm512_set1_epi16((least as u16).cast_signed());
    let count = _mm_cvtsi32_si128((7 - kept).cast_signed());
    let [a, b, c, d] = codes;
    let low = _mm512_sub_epi16(_mm512_packus_epi32(a, b), least);
    let high = _mm512_sub_epi16(_mm512_packus_epi32(c, d), least);
    let (low, high) = (_mm512_srl_epi16(low, count), _mm512_srl_epi16(high, count));
    let codes = _mm512_packus_epi16(low, high);
    let [a, b, c, d] = bits;
    // Saturated, words keep their signs.
    let signs = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    let signs = _mm512_and_si512(signs, byte(0x80));
    // Packing worked within 128 bits.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let mut codes = _mm512_permutexvar_epi32(order, codes);
    let signs = _mm512_permutexvar_epi32(order, signs);
    if !format.limit_is_nan {
        codes = _mm512_mask_blend_epi8(is_nan, codes, byte(format.nan_code as u8));
    }
    let codes = if UZ {
        let is_number = _mm512_test_epi8_mask(codes, codes);
        _mm512_or_si512(codes, _mm512_maskz_mov_epi8(is_number, signs))
    } else {
        _mm512_or_si512(codes, signs)
    };
    // SAFETY: 64 writable bytes; the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), codes) };
}
