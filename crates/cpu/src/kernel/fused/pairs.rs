//! Functions of bfloat16 and sums of two, a word of two at a time.
//!
//! The upper one of a word is a float32 once the lower one is cut off, and the lower one once it is
//! moved up; both go back the same way. Nothing is shuffled, which is half of the work on halves that
//! become vectors of float32 in their order.

use std::marker::PhantomData;

use allotrope_dtype::Level;
use allotrope_op::table::formula::FloatMap;
use allotrope_op::{Number, Op};

use crate::simd::{self, BLOCK, Body};

/// Words of a block.
const WORDS: usize = BLOCK / 2;
/// The upper half of a word.
const UPPER: u32 = 0xFFFF_0000;

/// The loop of a row over operands.
struct Loop<'a, F, const N: usize, const ROUNDING: u8> {
    level: Level,
    operands: [&'a [u16]; N],
    out: &'a mut [u16],
    streams: bool,
    row: PhantomData<F>,
}

/// What is known of float32 that are rounded: NaN is quiet and has nothing in its lower half.
const QUIET: u8 = 0;
/// Nothing.
const ANY: u8 = 1;
/// As [`QUIET`], and none lies half way between two bfloat16.
const UNTIED: u8 = 2;

/// What is known of the results of a row. Most give what an instruction of arithmetic makes of NaN: its
/// operand's made quiet, or the CPU's own, whose lower halves are zero; the others may hand on a
/// signalling one as it is. Square roots of bfloat16 are never near the middle of two, and no result of
/// the untied functions is one, as all codes show.
pub(super) const fn rounding(op: Op) -> u8 {
    match op {
        Op::Neg | Op::Sign | Op::Log | Op::Relu | Op::Relu6 => ANY,
        Op::Sqrt | Op::Exp | Op::Tanh => UNTIED,
        _ => QUIET,
    }
}

/// The same where there is no NaN.
const fn of_numbers(rounding: u8) -> u8 {
    match rounding {
        ANY => QUIET,
        known => known,
    }
}

/// Float32 with the nearest bfloat16 in its upper half.
#[inline(always)]
fn round(rounding: u8, value: f32) -> u32 {
    let bits = value.to_bits();
    match rounding {
        ANY if value.is_nan() => bits | 0x0040_0000,
        UNTIED => bits.wrapping_add(0x8000),
        _ => bits.wrapping_add(0x7FFF + (bits >> 16 & 1)),
    }
}

impl<F: FloatMap<N>, const N: usize, const ROUNDING: u8> Loop<'_, F, N, ROUNDING> {
    /// The results of a block. A function and not a closure: those are shared by the levels, and
    /// what is not inlined is compiled for the baseline.
    #[inline(always)]
    fn block<const FUSED: bool>(operands: [&[u16; BLOCK]; N]) -> [u16; BLOCK] {
        let mut words = [[0; WORDS]; N];
        for (words, operand) in words.iter_mut().zip(operands) {
            *words = bytemuck::must_cast(*operand);
        }
        let mut results = [0; WORDS];
        if F::NEAR.is_some_and(|[limit, _]| are_near(operands[0], limit as f32)) {
            for (i, result) in results.iter_mut().enumerate() {
                let (mut low, mut high) = ([Number(0.0); N], [Number(0.0); N]);
                for k in 0..N {
                    low[k] = Number::<f32, FUSED>(f32::from_bits(words[k][i] << 16));
                    high[k] = Number::<f32, FUSED>(f32::from_bits(words[k][i] & UPPER));
                }
                // What is near is a number, and so are the results.
                let (low, high) = (F::near(low).0, F::near(high).0);
                let rounding = const { of_numbers(ROUNDING) };
                *result = round(rounding, low) >> 16 | round(rounding, high) & UPPER;
            }
        } else {
            for (i, result) in results.iter_mut().enumerate() {
                let (mut low, mut high) = ([Number(0.0); N], [Number(0.0); N]);
                for k in 0..N {
                    low[k] = Number::<f32, FUSED>(f32::from_bits(words[k][i] << 16));
                    high[k] = Number::<f32, FUSED>(f32::from_bits(words[k][i] & UPPER));
                }
                let (low, high) = (F::call(low).0, F::call(high).0);
                *result = round(ROUNDING, low) >> 16 | round(ROUNDING, high) & UPPER;
            }
        }
        bytemuck::must_cast(results)
    }
}

/// Whether all magnitudes are below a limit.
#[inline(always)]
fn are_near(codes: &[u16; BLOCK], limit: f32) -> bool {
    // Magnitudes are ordered as their codes are, and NaN is above all.
    let limit = (limit.to_bits() >> 16) as u16;
    let is_near = |near: bool, code: &u16| near & (code & 0x7FFF < limit);
    codes.iter().fold(true, is_near)
}

impl<F: FloatMap<N>, const N: usize, const ROUNDING: u8> Body for Loop<'_, F, N, ROUNDING> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (out, out_tail) = self.out.as_chunks_mut();
        let mut blocks = self.operands.map(|operand| operand.as_chunks().0.iter());
        // What is left goes the same way, so that the formula is there once.
        let (mut rest, mut rest_out) = ([[0; BLOCK]; N], [0; BLOCK]);
        for (rest, operand) in rest.iter_mut().zip(self.operands) {
            let tail = operand.as_chunks::<BLOCK>().1;
            rest[..tail.len()].copy_from_slice(tail);
        }
        let last = std::iter::once((&mut rest_out, false)).take(out_tail.len());
        let whole = out.iter_mut().map(|out| (out, self.streams));
        for (out, streams) in whole.chain(last) {
            let mut operands = [&[0; BLOCK]; N];
            for k in 0..N {
                operands[k] = blocks[k].next().unwrap_or(&rest[k]);
                simd::prefetch(operands[k]);
            }
            // Twice, so that what is not streamed goes from registers to its place.
            if streams {
                let results = Self::block::<FUSED>(operands);
                let out = bytemuck::cast_slice_mut(out);
                simd::stream(self.level, bytemuck::cast_slice(&results), out);
            } else {
                *out = Self::block::<FUSED>(operands);
            }
        }
        out_tail.copy_from_slice(&rest_out[..out_tail.len()]);
    }
}

/// A row over one or two operands; `ROUNDING` is what [`rounding`] says of it.
pub(super) fn run<F: FloatMap<N>, const N: usize, const ROUNDING: u8>(
    level: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    let Ok(operands) = <[&[u8]; N]>::try_from(operands) else {
        return;
    };
    let body = Loop::<F, N, ROUNDING> {
        level,
        operands: operands.map(bytemuck::cast_slice),
        out: bytemuck::cast_slice_mut(out),
        streams,
        row: PhantomData,
    };
    simd::run(level, body);
}
