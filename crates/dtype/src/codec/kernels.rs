//! The conversions as plain loops over compute types; `simd` compiles each for every level.
//!
//! One kernel per pair of compute types. Signedness only matters when an integer widens, so
//! integer kernels write unsigned targets.
#![allow(unsafe_code, reason = "float to integer conversion that vectorises")]

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::simd::Kernel;
use crate::cast::Overflow;
use crate::format::{Binary16, FloatFormat, Format};

/// Applies a function to each element. Short enough to be inlined into every kernel.
macro_rules! each {
    ($src:ident, $dst:ident, |$x:ident| $body:expr) => {
        for (out, $x) in $dst.iter_mut().zip($src.iter().copied()) {
            *out = $body;
        }
    };
}

/// Rust's `as`: wraps integers, truncates and saturates floats, rounds to nearest even.
#[derive(Default)]
pub(super) struct As<A, B>(PhantomData<(A, B)>);

macro_rules! impl_as {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl Kernel for As<$from, $to> {
            type From = $from;
            type To = $to;
            #[inline(always)]
            fn run(&self, src: &[$from], dst: &mut [$to]) {
                each!(src, dst, |x| x as $to);
            }
        }
    )*)*};
}
impl_as! {
    u8  => u16 u32 u64 f32 f64;
    i8  => u16 u32 u64 f32 f64;
    u16 => u8 u32 u64 f32 f64;
    i16 => u32 u64 f32 f64;
    u32 => u8 u16 u64 f32 f64;
    i32 => u64 f32 f64;
    u64 => u8 u16 u32 f32 f64;
    i64 => f32 f64;
    f32 => f64;
    f64 => f32;
}

/// `as`, spelt out: LLVM does not vectorise its own saturating conversion.
macro_rules! impl_truncate {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl Kernel for As<$from, $to> {
            type From = $from;
            type To = $to;
            #[inline(always)]
            fn run(&self, src: &[$from], dst: &mut [$to]) {
                const LOW: $from = <$to>::MIN as $from;
                // The largest float that is not above the largest integer.
                const HIGH: $from = {
                    let nearest = <$to>::MAX as $from;
                    if nearest as u128 > <$to>::MAX as u128 { nearest.next_down() } else { nearest }
                };
                each!(src, dst, |x| {
                    let clamped = if x > LOW { x } else { LOW };
                    let clamped = if clamped < HIGH { clamped } else { HIGH };
                    // SAFETY: LOW and HIGH are in range, and NaN has become LOW.
                    let inside = unsafe { clamped.to_int_unchecked::<$to>() };
                    let saturated = if x > HIGH { <$to>::MAX } else { inside };
                    if x.is_nan() { 0 } else { saturated }
                });
            }
        }
    )*)*};
}
impl_truncate! {
    f32 => i8 i16 i32 i64 u8 u16 u32 u64;
    f64 => i8 i16 i32 i64 u8 u16 u32 u64;
}

/// To the float32 that any narrower float rounds to the same code as the source.
///
/// Rounding to odd (Boldo and Melquiond, 2008): an inexact result takes the neighbour whose last
/// bit is one. With two bits to spare the second rounding is then right, ties included.
#[derive(Default)]
pub(super) struct ToOdd<A>(PhantomData<A>);

/// Rounds a float64 to odd in float32.
#[inline(always)]
fn odd_f32(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    // Towards the source: up in magnitude if the nearest was below it, down if above.
    let neighbour = if back.abs() < x.abs() {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let inexact = back != x && !x.is_nan();
    f32::from_bits(if inexact && bits & 1 == 0 {
        neighbour
    } else {
        bits
    })
}

impl Kernel for ToOdd<f64> {
    type From = f64;
    type To = f32;
    #[inline(always)]
    fn run(&self, src: &[f64], dst: &mut [f32]) {
        each!(src, dst, |x| odd_f32(x));
    }
}

macro_rules! impl_to_odd {
    ($($int:ty, $kept:literal, $dropped:literal, |$folded:ident| $float:expr;)*) => {$(
        impl Kernel for ToOdd<$int> {
            type From = $int;
            type To = f32;
            #[inline(always)]
            fn run(&self, src: &[$int], dst: &mut [f32]) {
                const LOW: $int = (1 << $dropped) - 1;
                each!(src, dst, |x| {
                    // Fold the bits that the float has no room for into the lowest one it has.
                    let sticky = <$int>::from(x & LOW != 0) << $dropped;
                    #[allow(unused_comparisons, reason = "unsigned instances have no negatives")]
                    let large = x >= 1 << $kept || x < (0 as $int).wrapping_sub(1 << $kept) && x < 0;
                    let $folded = if large { (x & !LOW) | sticky } else { x };
                    $float
                });
            }
        }
    )*};
}
impl_to_odd! {
    i32, 24, 8,  |x| x as f32;
    u32, 24, 8,  |x| x as f32;
    i64, 53, 11, |x| odd_f32(x as f64);
    u64, 53, 11, |x| odd_f32(x as f64);
}

/// Whether any bit under the mask is set: true for NaN and every number but zero.
pub(super) struct NonZero<W> {
    pub(super) mask: W,
}

macro_rules! impl_non_zero {
    ($($word:ty, |$x:ident, $mask:ident| $masked:expr;)*) => {$(
        impl Kernel for NonZero<$word> {
            type From = $word;
            type To = u8;
            #[inline(always)]
            fn run(&self, src: &[$word], dst: &mut [u8]) {
                let $mask = self.mask;
                each!(src, dst, |$x| u8::from($masked != 0));
            }
        }
    )*};
}
impl_non_zero! {
    u8,       |x, mask| x & mask;
    u16,      |x, mask| x & mask;
    u32,      |x, mask| x & mask;
    u64,      |x, mask| x & mask;
    [u32; 2], |x, mask| (x[0] | x[1]) & mask[0];
    [u64; 2], |x, mask| (x[0] | x[1]) & mask[0];
}

/// Truth values as zero and the code of one.
pub(super) struct Truth<W> {
    pub(super) one: W,
}

macro_rules! impl_truth {
    ($($word:ty)*) => {$(
        impl Kernel for Truth<$word> {
            type From = u8;
            type To = $word;
            #[inline(always)]
            fn run(&self, src: &[u8], dst: &mut [$word]) {
                let one = self.one;
                each!(src, dst, |x| if x == 0 { 0 } else { one });
            }
        }
    )*};
}
impl_truth!(u8 u16 u32);

/// A complex number with this real part.
#[derive(Default)]
pub(super) struct Interleave<T>(PhantomData<T>);

impl<T: Pod> Kernel for Interleave<T> {
    type From = T;
    type To = [T; 2];
    #[inline(always)]
    fn run(&self, src: &[T], dst: &mut [[T; 2]]) {
        each!(src, dst, |x| [x, T::zeroed()]);
    }
}

/// One kernel after another, in steps that stay in registers or the nearest cache.
#[derive(Default)]
pub(super) struct Then<A, B>(pub(super) A, pub(super) B);

impl<A: Kernel, B: Kernel<From = A::To>> Kernel for Then<A, B> {
    type From = A::From;
    type To = B::To;
    #[inline(always)]
    fn run(&self, src: &[A::From], dst: &mut [B::To]) {
        const STEP: usize = 64;
        let mut between = [A::To::zeroed(); STEP];
        let (steps, tail) = src.as_chunks::<STEP>();
        let (out, out_tail) = dst.as_chunks_mut::<STEP>();
        for (from, to) in steps.iter().zip(out) {
            self.0.run(from, &mut between);
            self.1.run(&between, to);
        }
        let between = &mut between[..tail.len()];
        self.0.run(tail, between);
        self.1.run(between, out_tail);
    }
}

/// bfloat16 codes to float32: the upper half.
#[derive(Default)]
pub(super) struct DecodeBf16;

impl Kernel for DecodeBf16 {
    type From = u16;
    type To = f32;
    #[inline(always)]
    fn run(&self, src: &[u16], dst: &mut [f32]) {
        each!(src, dst, |code| f32::from_bits(u32::from(code) << 16));
    }
}

/// float32 to bfloat16 codes, nearest even. NaN keeps its sign and upper payload, made quiet.
///
/// Not the AVX512-BF16 instruction: it flushes subnormals, which the contract keeps.
#[derive(Default)]
pub(super) struct EncodeBf16;

impl Kernel for EncodeBf16 {
    type From = f32;
    type To = u16;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u16]) {
        each!(src, dst, |x| {
            let bits = x.to_bits();
            let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
            let code = if x.is_nan() {
                bits | 0x0040_0000
            } else {
                rounded
            };
            (code >> 16) as u16
        });
    }
}

/// float16 codes to float32 without the CPU's instruction.
#[derive(Default)]
pub(super) struct SoftDecodeF16;

impl Kernel for SoftDecodeF16 {
    type From = u16;
    type To = f32;
    #[inline(always)]
    fn run(&self, src: &[u16], dst: &mut [f32]) {
        each!(src, dst, |code| {
            let sign = u32::from(code & 0x8000) << 16;
            let magnitude = u32::from(code & 0x7FFF) << 13;
            // As a float32 with float16's exponent field the value is 2^112 too small.
            let scaled = f32::from_bits(magnitude) * f32::from_bits((112 + 127) << 23);
            let special = magnitude | 0x7F80_0000;
            let quiet = u32::from(code & 0x03FF != 0) << 22;
            let bits = if code & 0x7C00 == 0x7C00 {
                special | quiet
            } else {
                scaled.to_bits()
            };
            f32::from_bits(sign | bits)
        });
    }
}

/// float32 to the codes of any format with fewer exponent bits, nearest even.
///
/// The constants are data, so that one loop per code width serves every format and overflow rule.
///
/// `UZ` says that zero has no sign.
pub(super) struct Encode<W, const UZ: bool> {
    /// Mantissa bits dropped from a float32.
    pub(super) shift: u32,
    /// The float32 code of the smallest normal number.
    pub(super) least_normal: u32,
    /// The float32 code that everything beyond the range is moved to: the largest finite number,
    /// or the first one after it, whose code is infinity or NaN.
    pub(super) limit: u32,
    /// Whether that one's code is NaN's.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "the plain loop looks at every number")
    )]
    pub(super) limit_is_nan: bool,
    /// The code of NaN, and which bits of a float32 payload it takes over.
    pub(super) nan_code: u32,
    payload: u32,
    /// Where the sign goes.
    sign_shift: u32,
    codes: PhantomData<W>,
}

impl<W, const UZ: bool> Encode<W, UZ> {
    pub(super) fn new(format: FloatFormat, overflow: Overflow) -> Self {
        let beyond = u64::from(overflow != Overflow::Saturate);
        let limit_field = format.max_code() + beyond;
        let shift = 23 - format.mantissa_bits;
        let rebias = ((127 - format.bias) as u32) << 23;
        Self {
            shift,
            least_normal: ((format.min_exponent() + 127) as u32) << 23,
            limit: ((limit_field as u32) << shift) + rebias,
            limit_is_nan: limit_field == format.nan_code(),
            nan_code: format.nan_code() as u32,
            payload: (1 << (format.mantissa_bits - 1)) - 1,
            sign_shift: 32 - format.bits(),
            codes: PhantomData,
        }
    }

    /// The code of one value.
    ///
    /// Adding a power of two whose last place is the format's quantum leaves the rounded number of
    /// quanta in the low bits, for normal and subnormal results alike.
    #[inline(always)]
    fn code(&self, x: f32) -> u32 {
        let bits = x.to_bits();
        let magnitude = bits & 0x7FFF_FFFF;
        let limited = magnitude.min(self.limit);
        let exponent = (limited & 0x7F80_0000).max(self.least_normal);
        let magic = exponent + (self.shift << 23);
        let sum = f32::from_bits(limited) + f32::from_bits(magic);
        let quanta = sum.to_bits().wrapping_sub(magic);
        let code = ((exponent - self.least_normal) >> self.shift) + quanta;
        // The hardware keeps a float16 NaN's payload; 8-bit formats have one NaN.
        let is_half = size_of::<W>() == 2;
        let payload = if is_half {
            magnitude >> self.shift & self.payload
        } else {
            0
        };
        let code = if x.is_nan() {
            self.nan_code | payload
        } else {
            code
        };
        let sign = (bits & 0x8000_0000) >> self.sign_shift;
        if UZ && code == 0 { 0 } else { code | sign }
    }
}

impl<const UZ: bool> Kernel for Encode<u8, UZ> {
    type From = f32;
    type To = u8;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u8]) {
        each!(src, dst, |x| self.code(x) as u8);
    }
}

impl Kernel for Encode<u16, false> {
    type From = f32;
    type To = u16;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u16]) {
        each!(src, dst, |x| self.code(x) as u16);
    }
}

/// float32 to float16 codes without the CPU's instruction.
#[derive(Default)]
pub(super) struct SoftEncodeF16;

impl Kernel for SoftEncodeF16 {
    type From = f32;
    type To = u16;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u16]) {
        Encode::<u16, false>::new(Binary16::FORMAT, Overflow::Ieee).run(src, dst);
    }
}
