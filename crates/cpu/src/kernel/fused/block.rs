//! Elements as numbers and back, a block at a time, in the registers of the loop around it.

use std::marker::PhantomData;

use allotrope_dtype::c64;
#[cfg(target_arch = "x86_64")]
use allotrope_dtype::f16;
use bytemuck::Pod;

#[cfg(target_arch = "x86_64")]
use crate::simd::convert::*;

/// How a block of elements becomes numbers of the compute dtype.
pub(in super::super) trait Load<V: Pod> {
    type Code: Pod;
    /// The same in vectors of 512 bits, for the level AVX-512 alone.
    type Wide: Load<V, Code = Self::Code>;
    /// One element.
    fn one(code: Self::Code) -> V;
    #[inline(always)]
    fn load<const N: usize>(codes: &[Self::Code; N]) -> [V; N] {
        map(codes, Self::one)
    }
    /// The same, in vectors from the start. Which one is faster was measured loop by loop: in front of
    /// functions that look at the bits of their arguments this one is taken apart into single numbers,
    /// and plain sums gain nothing.
    #[inline(always)]
    fn load_in_vectors<const N: usize>(codes: &[Self::Code; N]) -> [V; N] {
        Self::load(codes)
    }
}

/// How a block of numbers becomes elements.
pub(in super::super) trait Store<V: Pod>: Load<V> {
    /// [`Load::Wide`], which stores too.
    type WideStore: Store<V> + Load<V, Code = <Self as Load<V>>::Code>;
    /// The code of one number.
    fn code(value: V) -> Self::Code;
    /// Whether the magnitude of an element is known to be below a limit.
    #[inline(always)]
    fn is_near(code: Self::Code, limit: f64) -> bool {
        let _ = (code, limit);
        false
    }
    #[inline(always)]
    fn store<const N: usize>(values: [V; N]) -> [Self::Code; N] {
        map(&values, Self::code)
    }
}

/// A function of each element of a block.
#[inline(always)]
pub(super) fn map<A: Copy, B: Pod, const N: usize>(from: &[A; N], f: impl Fn(A) -> B) -> [B; N] {
    let mut to = [B::zeroed(); N];
    for (to, from) in to.iter_mut().zip(from) {
        *to = f(*from);
    }
    to
}

/// Elements that a cast by `as` or less makes numbers.
macro_rules! plain {
    ($($code:ty => $value:ty, wide $wide:ty, |$x:ident| $number:expr $(, vectors $decode:path)?;)*) => {$(
        impl Load<$value> for $code {
            type Code = $code;
            type Wide = $wide;
            #[inline(always)]
            fn one($x: $code) -> $value {
                $number
            }
            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                fn load_in_vectors<const N: usize>(codes: &[$code; N]) -> [$value; N] {
                    $decode(codes)
                }
            )?
        }
    )*};
}
plain! {
    u8 => f32, wide Wide<u8>, |x| f32::from(x), vectors decode_u8;
    i8 => f32, wide Wide<i8>, |x| f32::from(x), vectors decode_i8;
    f32 => f64, wide f32, |x| f64::from(x);
    u8 => i64, wide u8, |x| i64::from(x);
    i8 => i64, wide i8, |x| i64::from(x);
    i16 => i64, wide i16, |x| i64::from(x);
    u16 => i64, wide u16, |x| i64::from(x);
    i32 => i64, wide i32, |x| i64::from(x);
    u32 => i64, wide u32, |x| i64::from(x);
    f32 => c64, wide f32, |x| c64::new(x, 0.0), vectors complete_f32;
}

/// Truth values as 0 and 1; any byte but zero is true.
pub(in super::super) struct Truth;

impl Load<i64> for Truth {
    type Code = u8;
    type Wide = Self;
    #[inline(always)]
    fn one(code: u8) -> i64 {
        i64::from(code != 0)
    }
}

/// The numbers themselves, whatever they are.
pub(in super::super) struct Itself;

impl<T: Pod> Load<T> for Itself {
    type Code = T;
    type Wide = Self;
    #[inline(always)]
    fn one(code: T) -> T {
        code
    }
    #[inline(always)]
    fn load<const N: usize>(codes: &[T; N]) -> [T; N] {
        *codes
    }
}

/// The numbers themselves.
macro_rules! itself {
    ($($value:ty |$x:ident, $limit:ident| $is_near:expr;)*) => {$(
        impl Load<$value> for $value {
            type Code = $value;
            type Wide = $value;
            #[inline(always)]
            fn one(code: $value) -> $value {
                code
            }
            #[inline(always)]
            fn load<const N: usize>(codes: &[$value; N]) -> [$value; N] {
                *codes
            }
        }
        impl Store<$value> for $value {
            type WideStore = $value;
            #[inline(always)]
            fn code(value: $value) -> $value {
                value
            }
            #[inline(always)]
            fn store<const N: usize>(values: [$value; N]) -> [$value; N] {
                values
            }
            #[inline(always)]
            fn is_near($x: $value, $limit: f64) -> bool {
                $is_near
            }
        }
    )*};
}
itself! {
    f32 |x, limit| x.abs() < limit as f32;
    f64 |_x, _limit| false;
    i64 |_x, _limit| false;
    c64 |_x, _limit| false;
}

/// bfloat16, as the codec has it: for levels above Scalar only.
pub(in super::super) struct Brain;

impl Load<f32> for Brain {
    type Code = u16;
    type Wide = Wide<Self>;
    #[inline(always)]
    fn one(code: u16) -> f32 {
        f32::from_bits(u32::from(code) << 16)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load_in_vectors<const N: usize>(codes: &[u16; N]) -> [f32; N] {
        decode_bf16(codes)
    }
}

impl Store<f32> for Brain {
    type WideStore = Wide<Self>;
    #[inline(always)]
    fn code(value: f32) -> u16 {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
        let quiet = bits | 0x0040_0000;
        ((if value.is_nan() { quiet } else { rounded }) >> 16) as u16
    }
}

/// float16 by the CPU's own instructions: for levels above Scalar only.
#[cfg(target_arch = "x86_64")]
pub(in super::super) struct Half;

#[cfg(target_arch = "x86_64")]
impl Load<f32> for Half {
    type Code = u16;
    type Wide = Wide<Self>;
    #[inline(always)]
    fn one(code: u16) -> f32 {
        decode_f16(&[code; 8])[0]
    }
    #[inline(always)]
    fn load<const N: usize>(codes: &[u16; N]) -> [f32; N] {
        decode_f16(codes)
    }
}

#[cfg(target_arch = "x86_64")]
impl Store<f32> for Half {
    type WideStore = Wide<Self>;
    #[inline(always)]
    fn code(value: f32) -> u16 {
        encode_f16(&[value; 8])[0]
    }
    #[inline(always)]
    fn store<const N: usize>(values: [f32; N]) -> [u16; N] {
        encode_f16(&values)
    }
    #[inline(always)]
    fn is_near(code: u16, limit: f64) -> bool {
        is_half_near(code, limit)
    }
}

/// Elements that are decoded in vectors of 512 bits: for the level AVX-512 only.
pub(in super::super) struct Wide<T>(PhantomData<T>);

macro_rules! wide {
    ($($narrow:ty, $decode:ident;)*) => {$(
        impl Load<f32> for Wide<$narrow> {
            type Code = <$narrow as Load<f32>>::Code;
            type Wide = Self;
            #[inline(always)]
            fn one(code: Self::Code) -> f32 {
                <$narrow>::one(code)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            fn load_in_vectors<const N: usize>(codes: &[Self::Code; N]) -> [f32; N] {
                $decode(codes)
            }
        }
    )*};
}
wide! {
    u8, decode_u8_wide;
    i8, decode_i8_wide;
    Brain, decode_bf16_wide;
}

impl Store<f32> for Wide<Brain> {
    type WideStore = Self;
    #[inline(always)]
    fn code(value: f32) -> u16 {
        Brain::code(value)
    }
}

#[cfg(target_arch = "x86_64")]
impl Load<f32> for Wide<Half> {
    type Code = u16;
    type Wide = Self;
    #[inline(always)]
    fn one(code: u16) -> f32 {
        Half::one(code)
    }
    #[inline(always)]
    fn load<const N: usize>(codes: &[u16; N]) -> [f32; N] {
        decode_f16_wide(codes)
    }
}

#[cfg(target_arch = "x86_64")]
impl Store<f32> for Wide<Half> {
    type WideStore = Self;
    #[inline(always)]
    fn code(value: f32) -> u16 {
        Half::code(value)
    }
    #[inline(always)]
    fn store<const N: usize>(values: [f32; N]) -> [u16; N] {
        encode_f16_wide(&values)
    }
    #[inline(always)]
    fn is_near(code: u16, limit: f64) -> bool {
        is_half_near(code, limit)
    }
}

/// Whether the magnitude of a float16 is below a limit: magnitudes are ordered as their codes are, and
/// NaN is above all.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn is_half_near(code: u16, limit: f64) -> bool {
    code & 0x7FFF < f16::from_f64_const(limit).to_bits()
}
