//! One step of a route: a kernel with its run-time parameters.
//!
//! One encoder with run-time constants serves every narrow format and overflow rule.

#[cfg(target_arch = "x86_64")]
use super::float8::{DecodeF8, EncodeF8, Numbers, WideEncodeF8};
use super::kernels::{
    As, DecodeBf16, Encode, EncodeBf16, Interleave, NonZero, SoftDecodeF16, SoftEncodeF16, ToOdd,
};
#[cfg(target_arch = "x86_64")]
use super::simd::permutes_bytes;
use super::simd::{DecodeF16, EncodeF16, Kernel, Mode, Truncate, run};
use super::table::Table;
use crate::DType::{self, BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
use crate::Level;
use crate::cast::Overflow;
use crate::format::{Bfloat16, Binary16, FloatFormat, Format};

// A new dtype that is not its own compute type has 8 bits and a table, or needs a decoder here.
const _: () = {
    let mut index = 0;
    while index < DType::COUNT {
        let dtype = DType::ALL[index];
        let decodes = dtype.bits() == 8 || matches!(dtype, F16 | BF16);
        assert!(decodes || dtype as u8 == dtype.compute() as u8);
        index += 1;
    }
};

/// A kernel and its parameters.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// Bytes as they are.
    Copy,
    /// A kernel without parameters.
    Plain(fn(Mode, &[u8], &mut [u8])),
    /// Whether any bit under the mask is set, in words or pairs of words of so many bytes.
    NonZero {
        mask: u64,
        width: usize,
        pairs: bool,
    },
    /// All 256 results of an 8-bit source.
    Table {
        from: DType,
        to: DType,
        overflow: Overflow,
        /// Whether the rule is the default one, whose tables are kept.
        is_kept: bool,
    },
    /// float32 to a narrower float.
    Encode {
        format: FloatFormat,
        overflow: Overflow,
    },
}

/// A kernel without parameters, on bytes.
fn plain<K: Kernel + Default>(mode: Mode, src: &[u8], dst: &mut [u8]) {
    run(
        mode,
        &K::default(),
        bytemuck::cast_slice(src),
        bytemuck::cast_slice_mut(dst),
    );
}

/// float16 to float32, by the CPU's own instruction where the level has it.
fn decode_f16(mode: Mode, src: &[u8], dst: &mut [u8]) {
    match mode.level {
        Level::Scalar => plain::<SoftDecodeF16>(mode, src, dst),
        _ => plain::<DecodeF16>(mode, src, dst),
    }
}

/// float32 to float16, by the CPU's own instruction where the level has it.
fn encode_f16(mode: Mode, src: &[u8], dst: &mut [u8]) {
    match mode.level {
        Level::Scalar => plain::<SoftEncodeF16>(mode, src, dst),
        _ => plain::<EncodeF16>(mode, src, dst),
    }
}

/// float32 to integers of 8 or 16 bits, which AVX2 needs its own instructions for.
fn truncate<B>(mode: Mode, src: &[u8], dst: &mut [u8])
where
    As<f32, B>: Kernel + Default,
    Truncate<B>: Kernel + Default,
{
    match mode.level {
        Level::Avx2(_) => plain::<Truncate<B>>(mode, src, dst),
        _ => plain::<As<f32, B>>(mode, src, dst),
    }
}

/// 8-bit floats to float32 by vectors; false where a table does it better, or there are none.
fn decode_f8(mode: Mode, from: DType, src: &[u8], dst: &mut [u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(format) = from.format()
        && mode.level > Level::Scalar
        && !permutes_bytes(mode.level)
    {
        let (numbers, dst) = (Numbers::of(from, format), bytemuck::cast_slice_mut(dst));
        if format.has_negative_zero() {
            run(mode, &DecodeF8::<false>(numbers), src, dst);
        } else {
            run(mode, &DecodeF8::<true>(numbers), src, dst);
        }
        return true;
    }
    let _ = (mode, from, src, dst);
    false
}

/// float32 to 8-bit floats.
fn encode_f8<const UZ: bool>(mode: Mode, kernel: Encode<u8, UZ>, src: &[f32], dst: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    match mode.level {
        Level::Avx512(_) => return run(mode, &WideEncodeF8(kernel), src, dst),
        Level::Avx2(_) => return run(mode, &EncodeF8(kernel), src, dst),
        Level::Scalar => {}
    }
    let _ = mode;
    kernel.run(src, dst);
}

impl Stage {
    /// Converts every element of `src`.
    pub(super) fn run(self, mode: Mode, src: &[u8], dst: &mut [u8]) {
        match self {
            Self::Copy => dst.copy_from_slice(src),
            Self::Plain(kernel) => kernel(mode, src, dst),
            Self::Table {
                from,
                to,
                overflow,
                is_kept,
            } => {
                if to == F32 && decode_f8(mode, from, src, dst) {
                    return;
                }
                Table::with([from, to], overflow, is_kept, |table| {
                    table.run(mode, src, dst);
                });
            }
            Self::NonZero { mask, width, pairs } => test_words(mode, mask, width, pairs, src, dst),
            Self::Encode { format, overflow } => {
                let src = bytemuck::cast_slice(src);
                if format.bits() == 16 {
                    let kernel = Encode::<u16, false>::new(format, overflow);
                    run(mode, &kernel, src, bytemuck::cast_slice_mut(dst));
                } else if format.has_negative_zero() {
                    encode_f8::<false>(mode, Encode::new(format, overflow), src, dst);
                } else {
                    encode_f8::<true>(mode, Encode::new(format, overflow), src, dst);
                }
            }
        }
    }

    /// The test of all bits that make a value differ from zero.
    pub(super) fn nonzero(from: DType) -> Self {
        let real = from.to_real();
        let sign = match real.format() {
            Some(format) if format.has_negative_zero() => format.sign_mask(),
            _ => 0,
        };
        // A complex number is a pair of words, aligned as one of them.
        Self::NonZero {
            mask: !sign,
            width: real.itemsize(),
            pairs: from.is_complex(),
        }
    }

    /// The results of an 8-bit source under a rule.
    pub(super) fn table(from: DType, to: DType, overflow: Overflow) -> Self {
        let default = crate::CastOptions::default().resolve(from, to);
        Self::Table {
            from,
            to,
            overflow,
            is_kept: default == Ok(overflow),
        }
    }

    /// From a dtype to its compute type.
    pub(super) fn decode(from: DType) -> Self {
        match from {
            F16 => Self::Plain(decode_f16),
            BF16 => Self::Plain(plain::<DecodeBf16>),
            Bool => Self::nonzero(Bool),
            _ => Self::table(from, from.compute(), Overflow::Ieee),
        }
    }

    /// From float32 to a narrower float.
    pub(super) fn encode(format: FloatFormat, overflow: Overflow) -> Self {
        match (format.bits(), overflow) {
            (16, Overflow::Ieee) if format == Binary16::FORMAT => Self::Plain(encode_f16),
            (16, Overflow::Ieee) if format == Bfloat16::FORMAT => Self::Plain(plain::<EncodeBf16>),
            _ => Self::Encode { format, overflow },
        }
    }

    /// From a compute type to the float32 that any narrower float rounds the same way.
    pub(super) fn round_to_odd(from: DType) -> Self {
        match from {
            I32 => Self::Plain(plain::<ToOdd<i32>>),
            U32 => Self::Plain(plain::<ToOdd<u32>>),
            I64 => Self::Plain(plain::<ToOdd<i64>>),
            U64 => Self::Plain(plain::<ToOdd<u64>>),
            _ => Self::Plain(plain::<ToOdd<f64>>),
        }
    }

    /// From a float to the complex dtype of its width.
    pub(super) fn interleave(real: DType) -> Self {
        match real {
            F32 => Self::Plain(plain::<Interleave<f32>>),
            _ => Self::Plain(plain::<Interleave<f64>>),
        }
    }

    /// Between two different compute dtypes, complex ones aside.
    pub(super) fn convert(from: DType, to: DType) -> Self {
        // An integer that does not widen drops its upper bits, whatever the signs say.
        let unsigned = |d: DType| match d {
            I8 => U8,
            I16 => U16,
            I32 => U32,
            I64 => U64,
            other => other,
        };
        let (from, to) = match (from.is_integer(), to.is_integer()) {
            (true, true) if to.bits() <= from.bits() => (unsigned(from), unsigned(to)),
            (true, true) => (from, unsigned(to)),
            _ => (from, to),
        };
        match (from, to) {
            (F32, I8) => return Self::Plain(truncate::<i8>),
            (F32, U8) => return Self::Plain(truncate::<u8>),
            (F32, I16) => return Self::Plain(truncate::<i16>),
            (F32, U16) => return Self::Plain(truncate::<u16>),
            _ => {}
        }
        macro_rules! kernels {
            ($($a:ident $from:ty => $($b:ident $to:ty),*;)*) => {
                match (from, to) {
                    $($(($a, $b) => Self::Plain(plain::<As<$from, $to>>),)*)*
                    _ => Self::Copy,
                }
            };
        }
        kernels! {
            U8 u8   => U16 u16, U32 u32, U64 u64, F32 f32, F64 f64;
            I8 i8   => U16 u16, U32 u32, U64 u64, F32 f32, F64 f64;
            U16 u16 => U8 u8, U32 u32, U64 u64, F32 f32, F64 f64;
            I16 i16 => U32 u32, U64 u64, F32 f32, F64 f64;
            U32 u32 => U8 u8, U16 u16, U64 u64, F32 f32, F64 f64;
            I32 i32 => U64 u64, F32 f32, F64 f64;
            U64 u64 => U8 u8, U16 u16, U32 u32, F32 f32, F64 f64;
            I64 i64 => F32 f32, F64 f64;
            F32 f32 => I32 i32, I64 i64, U32 u32, U64 u64, F64 f64;
            F64 f64 => I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32;
        }
    }
}

fn test_words(mode: Mode, mask: u64, width: usize, pairs: bool, src: &[u8], dst: &mut [u8]) {
    match (width, pairs) {
        (1, _) => run(mode, &NonZero { mask: mask as u8 }, src, dst),
        (2, _) => run(
            mode,
            &NonZero { mask: mask as u16 },
            bytemuck::cast_slice(src),
            dst,
        ),
        (4, false) => run(
            mode,
            &NonZero { mask: mask as u32 },
            bytemuck::cast_slice(src),
            dst,
        ),
        (4, true) => {
            let mask = [mask as u32; 2];
            run(mode, &NonZero { mask }, bytemuck::cast_slice(src), dst);
        }
        (_, false) => run(mode, &NonZero { mask }, bytemuck::cast_slice(src), dst),
        (_, true) => run(
            mode,
            &NonZero { mask: [mask; 2] },
            bytemuck::cast_slice(src),
            dst,
        ),
    }
}
