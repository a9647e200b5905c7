//! 64 codes at a time, for AVX-512 with VBMI.
//!
//! A code without its sign is an index into 128 float32 numbers, of which the upper halves are all
//! there is: two byte permutations decode 64 codes.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::x86_64::*;

use allotrope_dtype::{FloatFormat, Format, Level};

use super::{ADD, Ends, MUL, SUB};

/// The numbers of a format, in vectors.
struct Constants {
    /// The numbers of all codes without a sign: the third and the fourth byte as float32.
    numbers: [[u8; 128]; 2],
    /// The same, as much smaller as the float16 with the same exponent field is.
    scaled: [[u8; 128]; 2],
}

impl Constants {
    const fn new(format: FloatFormat) -> Self {
        Self {
            numbers: planes(format, 1.0),
            scaled: planes(format, 1.0 / super::scale(format)),
        }
    }
}

/// The upper two bytes of the numbers of a format, which has no more digits.
const fn planes(format: FloatFormat, scale: f64) -> [[u8; 128]; 2] {
    let mut planes = [[0; 128]; 2];
    let mut code = 0;
    while code < 128 {
        let number = (format.decode(code as u64) * scale) as f32;
        let [_, _, third, fourth] = number.to_bits().to_le_bytes();
        planes[0][code] = third;
        planes[1][code] = fourth;
        code += 1;
    }
    planes
}

/// Where the byte of each result is among the 16-bit lanes of two vectors.
///
/// Unpacking bytes within 128 bits and taking even and odd numbers apart leaves them in this order.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut element = 0;
    while element < 64 {
        let (within, lane) = (element % 16, element / 16);
        let word = lane * 8 + within % 8;
        let place = (word % 2) * 16 + word / 2;
        places[element] = ((within / 8) * 64 + place * 2) as u8;
        element += 1;
    }
    places
};

pub(super) fn run<F: Format, const OP: u8>(
    _: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    if let [a, b] = operands {
        // SAFETY: `find` hands this out only where the CPU has AVX-512 with VBMI.
        unsafe { combine::<F, OP>(a, b, out, streams) };
    }
}

/// The row over all elements.
#[target_feature(enable = "avx512vbmi,avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")]
fn combine<F: Format, const OP: u8>(a: &[u8], b: &[u8], out: &mut [u8], streams: bool) {
    let constants = const { &Constants::new(F::FORMAT) };
    let first = Planes::load(&constants.scaled);
    // Only one factor is scaled.
    let second = Planes::load(if OP == MUL {
        &constants.numbers
    } else {
        &constants.scaled
    });
    let places = load(&PLACES);
    let block = |a: &[u8; 64], b: &[u8; 64]| {
        let (x, y) = (first.decode(load(a)), second.decode(load(b)));
        let [p, q, r, s] = [0, 1, 2, 3].map(|i| match OP {
            ADD => _mm512_add_ps(x[i], y[i]),
            SUB => _mm512_sub_ps(x[i], y[i]),
            _ => _mm512_mul_ps(x[i], y[i]),
        });
        encode::<F>([half(p, q), half(r, s)], places)
    };
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<64>(), b.as_chunks::<64>());
    let (out, out_tail) = out.as_chunks_mut::<64>();
    // A stream of stores needs whole cache lines.
    let streams = streams && out.as_ptr().addr().is_multiple_of(64);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        super::ask_ahead(a);
        super::ask_ahead(b);
        let result = block(a, b);
        if streams {
            // SAFETY: 64 writable bytes at a multiple of 64.
            unsafe { _mm512_stream_si512(out.as_mut_ptr().cast(), result) };
        } else {
            store(result, out);
        }
    }
    if !out_tail.is_empty() {
        let (mut a, mut b, mut result) = ([0; 64], [0; 64], [0; 64]);
        a[..a_tail.len()].copy_from_slice(a_tail);
        b[..b_tail.len()].copy_from_slice(b_tail);
        store(block(&a, &b), &mut result);
        out_tail.copy_from_slice(&result[..out_tail.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 readable bytes; the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(value: __m512i, bytes: &mut [u8; 64]) {
    // SAFETY: 64 writable bytes; the store has no alignment requirement.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) };
}

/// A table of 128 numbers in registers.
struct Planes([__m512i; 4]);

impl Planes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(planes: &[[u8; 128]; 2]) -> Self {
        let (low, high) = (planes[0].as_chunks::<64>().0, planes[1].as_chunks::<64>().0);
        Self([load(&low[0]), load(&low[1]), load(&high[0]), load(&high[1])])
    }

    /// 64 codes as numbers: even and odd ones of two halves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn decode(&self, codes: __m512i) -> [__m512; 4] {
        let low = _mm512_permutex2var_epi8(self.0[0], codes, self.0[1]);
        let high = _mm512_permutex2var_epi8(self.0[2], codes, self.0[3]);
        // The third operand chooses the bit of the second: the sign.
        let high = _mm512_ternarylogic_epi32::<0xF8>(high, codes, _mm512_set1_epi8(-128));
        let [p, q] = [
            _mm512_unpacklo_epi8(low, high),
            _mm512_unpackhi_epi8(low, high),
        ];
        let upper = _mm512_set1_epi32(0xFFFF_0000_u32.cast_signed());
        [
            _mm512_slli_epi32::<16>(p),
            _mm512_and_si512(p, upper),
            _mm512_slli_epi32::<16>(q),
            _mm512_and_si512(q, upper),
        ]
        .map(|bits| _mm512_castsi512_ps(bits))
    }
}

/// 32 numbers as float16.
#[inline]
#[target_feature(enable = "avx512f")]
fn half(even: __m512, odd: __m512) -> __m512i {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    let even = _mm512_castsi256_si512(_mm512_cvtps_ph::<NEAREST>(even));
    _mm512_inserti64x4::<1>(even, _mm512_cvtps_ph::<NEAREST>(odd))
}

/// Scaled float16 as codes, nearest even.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn encode<F: Format>(halves: [__m512i; 2], places: __m512i) -> __m512i {
    let ends = const { &Ends::new(F::FORMAT) };
    let dropped = 10 - F::FORMAT.mantissa_bits;
    let magnitude = halves.map(|half| {
        let magnitude = _mm512_and_si512(half, _mm512_set1_epi16(0x7FFF));
        let is_odd = _mm512_test_epi16_mask(half, _mm512_set1_epi16(1 << dropped));
        let below_half = _mm512_set1_epi16((1 << (dropped - 1)) - 1);
        let rounded = _mm512_add_epi16(magnitude, below_half);
        let one = _mm512_set1_epi16(1);
        let rounded = _mm512_mask_add_epi16(rounded, is_odd, rounded, one);
        _mm512_srl_epi16(rounded, _mm_cvtsi32_si128(dropped.cast_signed()))
    });
    let codes = _mm512_permutex2var_epi8(magnitude[0], places, magnitude[1]);
    let upper = _mm512_add_epi8(places, _mm512_set1_epi8(1));
    let signs = _mm512_permutex2var_epi8(halves[0], upper, halves[1]);
    let byte = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let is_nan = _mm512_cmpge_epu8_mask(codes, byte(ends.rounded_nan));
    let codes = _mm512_min_epu8(codes, byte(ends.greatest));
    let codes = _mm512_mask_mov_epi8(codes, is_nan, byte(ends.nan));
    _mm512_ternarylogic_epi32::<0xF8>(codes, signs, byte(0x80))
}
