//! Stochastic rounding of float32 to narrower floats, in vectors: what `careful` does value by value.
//!
//! A significand is moved so that the digits the target keeps are the upper word of 64 bits. The lower
//! word is then the remainder that the random word is compared with.

use super::route::Route;
use crate::cast::Overflow;
use crate::random::random_blocks;
use crate::simd::{self, Body};
use crate::{DType, FloatFormat, Level};

/// Elements per tile; a multiple of the four words that a random block has.
const TILE: usize = 512;

/// Whether float32 holds the source and the target is narrower.
pub(super) fn is_possible(from: DType, to: DType, overflow: Overflow) -> bool {
    from.is_floating_point()
        && from.fits_in(DType::F32)
        && to.format().is_some_and(|format| format.bits() <= 16)
        && !to.is_complex()
        && matches!(overflow, Overflow::Ieee | Overflow::Saturate)
}

/// Converts `src`, which has as many elements as `dst`; element `i` draws word `offset + i`.
pub(super) fn cast(
    level: Level,
    (from, src): (DType, &[u8]),
    (format, dst): (FloatFormat, &mut [u8]),
    [seed, offset]: [u64; 2],
    overflow: Overflow,
) {
    let widen = Route::between(from, DType::F32, Overflow::Ieee);
    let rule = Rule::new(format, overflow);
    let mut values = [0.0_f32; TILE];
    let mut draws = [0_u32; TILE];
    let width = format.bits() as usize / 8;
    let tiles = src.chunks(TILE * from.itemsize());
    for (tile, (src, dst)) in tiles.zip(dst.chunks_mut(TILE * width)).enumerate() {
        let values = &mut values[..dst.len() / width];
        widen.run(level, src, bytemuck::cast_slice_mut(values));
        let draws = &mut draws[..values.len()];
        let first = offset.wrapping_add((tile * TILE) as u64);
        simd::run(level, Words { seed, first, draws });
        match width {
            1 => simd::run(
                level,
                Round {
                    rule,
                    values,
                    draws,
                    codes: dst,
                },
            ),
            _ => {
                let codes: &mut [u16] = bytemuck::cast_slice_mut(dst);
                simd::run(
                    level,
                    Round {
                        rule,
                        values,
                        draws,
                        codes,
                    },
                );
            }
        }
    }
}

/// Consecutive words of a stream.
pub(super) struct Words<'a> {
    pub(super) seed: u64,
    pub(super) first: u64,
    pub(super) draws: &'a mut [u32],
}

impl Body for Words<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        random_blocks::<{ TILE / 4 + 1 }>(self.seed, self.first, self.draws);
    }
}

/// The numbers of a format and the codes at its ends.
#[derive(Clone, Copy)]
struct Rule {
    mantissa_bits: u32,
    /// Binary digits of float32 that the format lacks, and the exponent field of its first normal number.
    shift: u32,
    least: u32,
    sign: u64,
    max: u64,
    beyond: u64,
    nan: u64,
    /// The signs that NaN and what is beyond the range keep, and zero.
    nan_sign: u64,
    beyond_sign: u64,
    zero_sign: u64,
}

impl Rule {
    fn new(format: FloatFormat, overflow: Overflow) -> Self {
        let sign = format.sign_mask();
        let signed = |is_signed: bool| if is_signed { sign } else { 0 };
        let is_signed = format.has_negative_zero();
        let saturates = overflow == Overflow::Saturate;
        Self {
            mantissa_bits: format.mantissa_bits,
            shift: f32::MANTISSA_DIGITS - 1 - format.mantissa_bits,
            least: (128 - format.bias) as u32,
            sign,
            max: format.max_code(),
            beyond: if saturates {
                format.max_code()
            } else if format.has_infinity() {
                format.infinity_code()
            } else {
                format.nan_code()
            },
            nan: format.nan_code(),
            nan_sign: signed(is_signed),
            beyond_sign: signed(saturates || format.has_infinity() || is_signed),
            zero_sign: signed(is_signed),
        }
    }

    /// The code of a float32 for a random word.
    #[inline(always)]
    fn code(&self, value: f32, draw: u32) -> u64 {
        let bits = value.to_bits();
        let magnitude = bits & 0x7FFF_FFFF;
        let field = magnitude >> 23;
        // Subnormal numbers have the exponent of the first normal one, and no leading digit.
        let leading = if field == 0 { 0 } else { 1 << 23 };
        let field = if field == 0 { 1 } else { field };
        let significand = u64::from(magnitude & 0x7F_FFFF | leading);
        let below = self.least.saturating_sub(field);
        let steps = u64::from(field.saturating_sub(self.least));
        let shift = self.shift + below;
        let moved = (significand << 32) >> (if shift < 63 { shift } else { 63 });
        let up = u64::from(moved & 0xFFFF_FFFF > u64::from(draw));
        let code = (steps << self.mantissa_bits) + (moved >> 32) + up;
        let sign = if bits >> 31 == 1 { self.sign } else { 0 };
        let zero_sign = if code == 0 { self.zero_sign } else { self.sign };
        let inside = code | sign & zero_sign;
        // Infinity is beyond the range of every format, as its greatest code plus one or more.
        let beyond = self.beyond | sign & self.beyond_sign;
        let number = if code > self.max { beyond } else { inside };
        let nan = self.nan | sign & self.nan_sign;
        if magnitude > 0x7F80_0000 { nan } else { number }
    }
}

/// A code of 8 or 16 bits.
trait Code: bytemuck::Pod {
    fn of(code: u64) -> Self;
}

macro_rules! impl_code {
    ($($code:ty)*) => {$(
        impl Code for $code {
            #[inline(always)]
            fn of(code: u64) -> Self {
                code as Self
            }
        }
    )*};
}
impl_code!(u8 u16);

/// Values with a random word each.
struct Round<'a, C> {
    rule: Rule,
    values: &'a [f32],
    draws: &'a [u32],
    codes: &'a mut [C],
}

impl<C: Code> Body for Round<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for ((code, value), draw) in self.codes.iter_mut().zip(self.values).zip(self.draws) {
            *code = C::of(self.rule.code(*value, *draw));
        }
    }
}
