//! Sums, differences and products of 8-bit floats, 64 at a time (AVX-512 with VBMI).
//!
//! A code without its sign is an index into 128 float32 numbers, of which the upper halves are all
//! there is: two byte permutations decode 64 codes. Results become float16, scaled so that its
//! exponent field is that of the 8-bit format and its subnormal numbers are those of the format; the
//! rest of the rounding is integer arithmetic on 16 bits. Rounding twice is safe here: a sum or
//! product of numbers of three or four digits that has more than the eleven digits of float16 is
//! never near the middle of two 8-bit numbers. All pairs of codes are tested.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::x86_64::*;
use std::sync::OnceLock;

use allotrope_dtype::{DType, E4M3Fn, E5M2, FloatFormat, Format, Level, Specials};
use allotrope_op::Op;

use crate::kernel::fused::Kernel;

/// Bytes between a load and the prefetch that goes with it. Measured on sums beyond the caches:
/// 1.1 of memcpy's speed, and 0.9 with a fourth of the distance.
const AHEAD: usize = 4096;

/// Operations, as constants of a loop.
const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;

/// The kernel of a row of an 8-bit format, if there is one and the CPU has what it takes.
pub(crate) fn find(level: Level, op: Op, dtype: DType) -> Option<Kernel> {
    static VBMI: OnceLock<bool> = OnceLock::new();
    if level < Level::Avx512 || !*VBMI.get_or_init(|| is_x86_feature_detected!("avx512vbmi")) {
        return None;
    }
    match (dtype, op) {
        (DType::F8E4M3Fn, Op::Add) => Some(run::<E4M3Fn, ADD>),
        (DType::F8E4M3Fn, Op::Sub) => Some(run::<E4M3Fn, SUB>),
        (DType::F8E4M3Fn, Op::Mul) => Some(run::<E4M3Fn, MUL>),
        (DType::F8E5M2, Op::Add) => Some(run::<E5M2, ADD>),
        (DType::F8E5M2, Op::Sub) => Some(run::<E5M2, SUB>),
        (DType::F8E5M2, Op::Mul) => Some(run::<E5M2, MUL>),
        _ => None,
    }
}

/// What vectors need to know of a format.
struct Constants {
    /// The numbers of all codes without a sign: the third and the fourth byte as float32.
    numbers: [[u8; 128]; 2],
    /// The same, as much smaller as the float16 with the same exponent field is.
    scaled: [[u8; 128]; 2],
    /// The greatest code that a number is rounded to.
    greatest: u8,
    /// The code of NaN, and the least that NaN has become by rounding.
    nan: u8,
    rounded_nan: u8,
}

impl Constants {
    const fn new(format: FloatFormat) -> Self {
        /// The exponent bias of float16.
        const BIAS: i32 = 15;
        let mut scale = 1.0;
        let mut exponent = format.bias;
        while exponent < BIAS {
            scale /= 2.0;
            exponent += 1;
        }
        let greatest = match format.specials {
            Specials::Ieee => format.infinity_code(),
            _ => format.max_code(),
        };
        Self {
            numbers: planes(format, 1.0),
            scaled: planes(format, scale),
            greatest: greatest as u8,
            nan: format.nan_code() as u8,
            rounded_nan: (0x7E00 >> (10 - format.mantissa_bits)) as u8,
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

fn run<F: Format, const OP: u8>(_: Level, operands: &[&[u8]], out: &mut [u8], streams: bool) {
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
        encode::<F>(constants, [half(p, q), half(r, s)], places)
    };
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<64>(), b.as_chunks::<64>());
    let (out, out_tail) = out.as_chunks_mut::<64>();
    // A stream of stores needs whole cache lines.
    let streams = streams && out.as_ptr().addr().is_multiple_of(64);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        for operand in [a, b] {
            _mm_prefetch::<_MM_HINT_T0>(operand.as_ptr().wrapping_add(AHEAD).cast());
        }
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
fn encode<F: Format>(constants: &Constants, halves: [__m512i; 2], places: __m512i) -> __m512i {
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
    let is_nan = _mm512_cmpge_epu8_mask(codes, byte(constants.rounded_nan));
    let codes = _mm512_min_epu8(codes, byte(constants.greatest));
    let codes = _mm512_mask_mov_epi8(codes, is_nan, byte(constants.nan));
    _mm512_ternarylogic_epi32::<0xF8>(codes, signs, byte(0x80))
}
