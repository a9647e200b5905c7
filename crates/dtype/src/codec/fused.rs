//! Two-stage routes in one pass, for casts too large for the caches.
//!
//! A large cast of two stages is bound by memory if both run in one loop and by computation if
//! they take turns. Only the streaming AVX-512 form is compiled: everywhere else the stages of
//! `route` do the same with a fraction of the code.

use super::kernels::{As, DecodeBf16, Encode, EncodeBf16, Then};
use super::simd::{DecodeF16, EncodeF16, Kernel, WideToOdd, stream_wide};
use crate::DType::{self, BF16, F16, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use crate::Format;
use crate::cast::Overflow;
use crate::format::{Bfloat16, Binary16, FloatFormat};
use crate::simd::Avx512;

/// Converts past the caches in one pass; false if there is no such pass.
pub(super) fn stream(
    wide: Avx512,
    from: DType,
    to: DType,
    overflow: Overflow,
    src: &[u8],
    dst: &mut [u8],
) -> bool {
    match to.format() {
        Some(format) if to != to.compute() => {
            stream_encoded(wide, from, format, overflow, src, dst)
        }
        _ => stream_decoded(wide, from, to, src, dst),
    }
}

/// From a 16-bit float to a compute type.
fn stream_decoded(wide: Avx512, from: DType, to: DType, src: &[u8], dst: &mut [u8]) -> bool {
    macro_rules! passes {
        ($($to:ident $ty:ty),*) => {
            match (from, to) {
                $((F16, $to) => pass(wide, Then(DecodeF16, As::<f32, $ty>::default()), src, dst),
                  (BF16, $to) => pass(wide, Then(DecodeBf16, As::<f32, $ty>::default()), src, dst),)*
                _ => false,
            }
        };
    }
    passes!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F64 f64)
}

/// From a compute type or 16-bit float to a narrower float.
fn stream_encoded(
    wide: Avx512,
    from: DType,
    format: FloatFormat,
    overflow: Overflow,
    src: &[u8],
    dst: &mut [u8],
) -> bool {
    match (format.bits(), overflow) {
        (16, Overflow::Ieee) if format == Binary16::FORMAT => {
            encode_with(wide, from, EncodeF16, src, dst)
        }
        (16, Overflow::Ieee) if format == Bfloat16::FORMAT => {
            encode_with(wide, from, EncodeBf16, src, dst)
        }
        (16, _) => false,
        _ if format.has_negative_zero() => encode_with(
            wide,
            from,
            Encode::<u8, false>::new(format, overflow),
            src,
            dst,
        ),
        _ => encode_with(
            wide,
            from,
            Encode::<u8, true>::new(format, overflow),
            src,
            dst,
        ),
    }
}

/// Brings the source to float32, exactly or rounded to odd, and encodes it.
fn encode_with<E: Kernel<From = f32>>(
    wide: Avx512,
    from: DType,
    encode: E,
    src: &[u8],
    dst: &mut [u8],
) -> bool {
    match from {
        F16 => pass(wide, Then(DecodeF16, encode), src, dst),
        BF16 => pass(wide, Then(DecodeBf16, encode), src, dst),
        I16 => pass(wide, Then(As::<i16, f32>::default(), encode), src, dst),
        U16 => pass(wide, Then(As::<u16, f32>::default(), encode), src, dst),
        I32 => pass(wide, Then(WideToOdd::<i32>::default(), encode), src, dst),
        U32 => pass(wide, Then(WideToOdd::<u32>::default(), encode), src, dst),
        I64 => pass(wide, Then(WideToOdd::<i64>::default(), encode), src, dst),
        U64 => pass(wide, Then(WideToOdd::<u64>::default(), encode), src, dst),
        F64 => pass(wide, Then(WideToOdd::<f64>::default(), encode), src, dst),
        _ => false,
    }
}

fn pass<K: Kernel>(wide: Avx512, kernel: K, src: &[u8], dst: &mut [u8]) -> bool {
    stream_wide(
        wide,
        &kernel,
        bytemuck::cast_slice(src),
        bytemuck::cast_slice_mut(dst),
    )
}
