//! Sums, differences and products of 8-bit floats, in vectors from end to end.
//!
//! | file | what is in it |
//! |---|---|
//! | `wide` | 64 codes at a time, for AVX-512 with VBMI (unsafe) |
//! | `narrow` | 32 codes at a time, for AVX2 (unsafe) |
//!
//! Operands become float32, scaled as the float16 with the same exponent field is (in a product, one
//! of them). Results become float16 again, whose subnormal numbers are those of the format; the rest of
//! the rounding is integer arithmetic on 16 bits. (Sums at AVX2 go another way, which `narrow` tells.)
//! Rounding twice is safe here: a sum or product of numbers of three or four
//! digits that has more than the eleven digits of float16 is never near the middle of two 8-bit
//! numbers. All pairs of codes are tested.

mod narrow;
mod wide;

use std::sync::OnceLock;

use allotrope_dtype::{DType, E4M3Fn, E5M2, FloatFormat, Level, Specials};
use allotrope_op::Op;

use crate::kernel::fused::Kernel;
use crate::simd;

/// Operations, as constants of a loop.
const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;

/// The kernel of a row of an 8-bit format, if there is one and the CPU has what it takes.
pub(crate) fn find(level: Level, op: Op, dtype: DType) -> Option<Kernel> {
    static VBMI: OnceLock<bool> = OnceLock::new();
    let has_vbmi = || *VBMI.get_or_init(|| is_x86_feature_detected!("avx512vbmi"));
    macro_rules! kernels {
        ($width:ident) => {
            match (dtype, op) {
                (DType::F8E4M3Fn, Op::Add) => Some($width::run::<E4M3Fn, ADD>),
                (DType::F8E4M3Fn, Op::Sub) => Some($width::run::<E4M3Fn, SUB>),
                (DType::F8E4M3Fn, Op::Mul) => Some($width::run::<E4M3Fn, MUL>),
                (DType::F8E5M2, Op::Add) => Some($width::run::<E5M2, ADD>),
                (DType::F8E5M2, Op::Sub) => Some($width::run::<E5M2, SUB>),
                (DType::F8E5M2, Op::Mul) => Some($width::run::<E5M2, MUL>),
                _ => None,
            }
        };
    }
    match level {
        Level::Scalar => None,
        Level::Avx512(_) if has_vbmi() => kernels!(wide),
        _ => kernels!(narrow),
    }
}

/// How much greater a number is than the float16 with the same exponent field.
const fn scale(format: FloatFormat) -> f64 {
    /// The exponent bias of float16.
    const BIAS: i32 = 15;
    let mut scale = 1.0;
    let mut exponent = format.bias;
    while exponent < BIAS {
        scale *= 2.0;
        exponent += 1;
    }
    scale
}

/// The codes at the end of the range of a format.
struct Ends {
    /// The greatest code that a number is rounded to.
    greatest: u8,
    /// The code of NaN, and the least that NaN has become by rounding.
    nan: u8,
    rounded_nan: u8,
}

impl Ends {
    const fn new(format: FloatFormat) -> Self {
        let greatest = match format.specials {
            Specials::Ieee => format.infinity_code(),
            _ => format.max_code(),
        };
        Self {
            greatest: greatest as u8,
            nan: format.nan_code() as u8,
            rounded_nan: (0x7E00 >> (10 - format.mantissa_bits)) as u8,
        }
    }
}

/// Asks memory for codes that are needed soon. Measured on sums beyond the caches with AVX-512: 1.1 of
/// memcpy's speed, and 0.9 with a fourth of the distance.
#[inline(always)]
fn ask_ahead<const N: usize>(codes: &[u8; N]) {
    const DISTANCE: usize = 4096;
    simd::prefetch_line(codes.as_ptr().wrapping_add(DISTANCE));
}
