//! Vectors of numbers that the kernels of matrix products are written over.
#![allow(unsafe_code, reason = "vector instructions")]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a few instructions are one promise: the caller has them"
)]

use allotrope_dtype::{DType, Element};

use super::micro::Micro;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::*;

/// Several numbers of one type.
///
/// # Safety
/// Every method needs the instructions that the vector is made of.
pub(super) trait Vector: Copy {
    /// One number.
    type Item: Micro;
    /// How many.
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn splat(value: Self::Item) -> Self;
    unsafe fn load(from: *const Self::Item) -> Self;
    unsafe fn store(self, to: *mut Self::Item);
    unsafe fn add(self, other: Self) -> Self;
    /// `self + a * b`
    unsafe fn fused(self, a: Self, b: Self) -> Self;
    /// Whether [`shifted`](Self::shifted) does anything.
    const SHIFTS: bool = Self::Item::DTYPE as u8 == DType::I32 as u8;
    /// Times 2^16, for 32-bit integers.
    unsafe fn shifted(self) -> Self {
        self
    }
}

/// Vectors of floats whose lanes are lines of a matrix: what products with one row need.
///
/// # Safety
/// As for [`Vector`].
pub(super) trait Lanes: Vector<Item: std::ops::Neg<Output = Self::Item>> {
    /// `self - a * b`
    unsafe fn fused_negated(self, a: Self, b: Self) -> Self;
    /// Four neighbouring numbers of each line, one vector for each: lane `i` is line `i`, which begins
    /// `across` bytes after the line before it. Lanes after `last` repeat that line.
    unsafe fn columns(from: *const Self::Item, across: isize, last: usize) -> [Self; 4];
    /// The first `count` numbers, and zeros.
    unsafe fn load_some(from: *const Self::Item, count: usize) -> Self;
    /// Writes the first `count` numbers.
    unsafe fn store_some(self, to: *mut Self::Item, count: usize);
    /// Both numbers in turns.
    unsafe fn alternating(x: Self::Item, y: Self::Item) -> Self;
    /// The first number of each pair, twice.
    unsafe fn first_twice(self) -> Self;
    /// The second number of each pair, twice.
    unsafe fn second_twice(self) -> Self;
    /// The numbers of each pair exchanged.
    unsafe fn exchanged(self) -> Self;
}

/// Vectors of float32 that take both 16-bit floats of each lane's bits apart.
///
/// # Safety
/// As for [`Vector`].
pub(super) trait Halves: Lanes<Item = f32> {
    /// The bfloat16 in the low and in the high bits.
    unsafe fn brain_floats(self) -> [Self; 2];
    /// The float16 in the low and in the high bits.
    unsafe fn half_floats(self) -> [Self; 2];
}

/// A vector without any instructions of its own, for the baseline of the architecture.
#[derive(Clone, Copy)]
pub(super) struct Plain<T, const N: usize>([T; N]);

macro_rules! plain {
    ($($T:ty, $N:literal, |$sum:ident, $a:ident, $b:ident| $fused:expr, |$x:ident| $shifted:expr;)*) => {$(
        impl Vector for Plain<$T, $N> {
            type Item = $T;
            const LANES: usize = $N;
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([<$T>::default(); $N])
            }
            #[inline(always)]
            unsafe fn splat(value: $T) -> Self {
                Self([value; $N])
            }
            #[inline(always)]
            unsafe fn load(from: *const $T) -> Self {
                // SAFETY: the caller promises as many readable numbers.
                Self(unsafe { from.cast::<[$T; $N]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $T) {
                // SAFETY: the caller promises as many writable numbers.
                unsafe { to.cast::<[$T; $N]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                let mut sums = self.0;
                for (sum, x) in sums.iter_mut().zip(other.0) {
                    *sum = sum.plus(x);
                }
                Self(sums)
            }
            #[inline(always)]
            unsafe fn fused(self, a: Self, b: Self) -> Self {
                let mut sums = self.0;
                for ((place, $a), $b) in sums.iter_mut().zip(a.0).zip(b.0) {
                    let $sum = *place;
                    *place = $fused;
                }
                Self(sums)
            }
            #[inline(always)]
            unsafe fn shifted(self) -> Self {
                Self(self.0.map(|$x| $shifted))
            }
        }
    )*};
}
plain! {
    f32, 4, |sum, a, b| sum + a * b, |x| x;
    f64, 2, |sum, a, b| sum + a * b, |x| x;
    i32, 4, |sum, a, b| add_products(sum, a, b), |x| x << 16;
    i64, 2, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)), |x| x;
}

macro_rules! plain_lanes {
    ($($T:ty, $N:literal;)*) => {$(
        impl Lanes for Plain<$T, $N> {
            #[inline(always)]
            unsafe fn fused_negated(self, a: Self, b: Self) -> Self {
                let mut sums = self.0;
                for ((sum, a), b) in sums.iter_mut().zip(a.0).zip(b.0) {
                    *sum -= a * b;
                }
                Self(sums)
            }
            #[inline(always)]
            unsafe fn columns(from: *const $T, across: isize, last: usize) -> [Self; 4] {
                let at = |line: usize, step: usize| {
                    let place = from.wrapping_byte_offset(line.min(last) as isize * across);
                    // SAFETY: the caller promises four readable numbers of each line.
                    unsafe { place.wrapping_add(step).read() }
                };
                [0, 1, 2, 3].map(|step| Self(std::array::from_fn(|line| at(line, step))))
            }
            #[inline(always)]
            unsafe fn load_some(from: *const $T, count: usize) -> Self {
                let mut lanes = [<$T>::default(); $N];
                for (i, lane) in lanes.iter_mut().enumerate().take(count) {
                    // SAFETY: the caller promises so many readable numbers.
                    *lane = unsafe { from.add(i).read() };
                }
                Self(lanes)
            }
            #[inline(always)]
            unsafe fn store_some(self, to: *mut $T, count: usize) {
                for (i, lane) in self.0.into_iter().enumerate().take(count) {
                    // SAFETY: the caller promises so many writable numbers.
                    unsafe { to.add(i).write(lane) };
                }
            }
            #[inline(always)]
            unsafe fn alternating(x: $T, y: $T) -> Self {
                Self(std::array::from_fn(|i| if i % 2 == 0 { x } else { y }))
            }
            #[inline(always)]
            unsafe fn first_twice(self) -> Self {
                Self(std::array::from_fn(|i| self.0[i / 2 * 2]))
            }
            #[inline(always)]
            unsafe fn second_twice(self) -> Self {
                Self(std::array::from_fn(|i| self.0[i / 2 * 2 + 1]))
            }
            #[inline(always)]
            unsafe fn exchanged(self) -> Self {
                Self(std::array::from_fn(|i| self.0[i ^ 1]))
            }
        }
    )*};
}
plain_lanes! {
    f32, 4;
    f64, 2;
}

/// Both products of 16-bit halves and a sum.
#[inline(always)]
fn add_products(sum: i32, a: i32, b: i32) -> i32 {
    let low = i32::from(a as i16).wrapping_mul(i32::from(b as i16));
    sum.wrapping_add(low)
        .wrapping_add((a >> 16).wrapping_mul(b >> 16))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Halves, Lanes, Vector};

    macro_rules! vectors {
        ($($(#[doc = $doc:literal])* $name:ident($raw:ty), $T:ty, $lanes:literal, $zero:ident, $splat:ident, $load:ident,
           $store:ident, $add:ident, |$sum:ident, $a:ident, $b:ident| $fused:expr, |$x:ident| $shifted:expr;)*) => {$(
            $(#[doc = $doc])*
            #[derive(Clone, Copy)]
            pub(in crate::gemm) struct $name($raw);

            impl Vector for $name {
                type Item = $T;
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $zero() })
                }
                #[inline(always)]
                unsafe fn splat(value: $T) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $splat(value) })
                }
                #[inline(always)]
                unsafe fn load(from: *const $T) -> Self {
                    // SAFETY: the caller has the instructions and promises readable memory.
                    Self(unsafe { $load(from.cast()) })
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $T) {
                    // SAFETY: the caller has the instructions and promises writable memory.
                    unsafe { $store(to.cast(), self.0) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $add(self.0, other.0) })
                }
                #[inline(always)]
                unsafe fn fused(self, a: Self, b: Self) -> Self {
                    let ($sum, $a, $b) = (self.0, a.0, b.0);
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $fused })
                }
                #[inline(always)]
                unsafe fn shifted(self) -> Self {
                    let $x = self.0;
                    // SAFETY: the caller has the instructions.
                    #[allow(unused_unsafe, reason = "floats stay as they are")]
                    Self(unsafe { $shifted })
                }
            }
        )*};
    }
    vectors! {
        /// Eight float32.
        F32x8(__m256), f32, 8, _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps,
            |sum, a, b| _mm256_fmadd_ps(a, b, sum), |x| x;
        /// Sixteen float32.
        F32x16(__m512), f32, 16, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps,
            |sum, a, b| _mm512_fmadd_ps(a, b, sum), |x| x;
        /// Four float64.
        F64x4(__m256d), f64, 4, _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd,
            |sum, a, b| _mm256_fmadd_pd(a, b, sum), |x| x;
        /// Eight float64.
        F64x8(__m512d), f64, 8, _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd,
            |sum, a, b| _mm512_fmadd_pd(a, b, sum), |x| x;
        /// Eight int32 as sums of products of int16.
        I32x8(__m256i), i32, 8, _mm256_setzero_si256, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32,
            |sum, a, b| _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)), |x| _mm256_slli_epi32::<16>(x);
        /// Sixteen int32 as sums of products of int16.
        I32x16(__m512i), i32, 16, _mm512_setzero_si512, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32,
            |sum, a, b| _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)), |x| _mm512_slli_epi32::<16>(x);
        /// The same in one instruction.
        I32Pairs(__m512i), i32, 16, _mm512_setzero_si512, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32,
            |sum, a, b| _mm512_dpwssd_epi32(sum, a, b), |x| _mm512_slli_epi32::<16>(x);
        /// Sixteen float32 as sums of products of pairs of bfloat16: of the second ones first.
        BrainPairsX16(__m512), f32, 16, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps,
            |sum, a, b| _mm512_dpbf16_ps(sum, pairs_of_brain(a), pairs_of_brain(b)), |x| x;
        /// Four int64.
        I64x4(__m256i), i64, 4, _mm256_setzero_si256, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi64,
            |sum, a, b| _mm256_add_epi64(sum, multiply_low(a, b)), |x| x;
        /// Eight int64.
        I64x8(__m512i), i64, 8, _mm512_setzero_si512, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi64,
            |sum, a, b| _mm512_add_epi64(sum, _mm512_mullo_epi64(a, b)), |x| x;
    }

    #[inline(always)]
    fn pairs_of_brain(bits: __m512) -> __m512bh {
        // SAFETY: both are 512 bits, any of which are numbers.
        unsafe { std::mem::transmute(bits) }
    }

    /// Squares of four float32, or of two float64, are turned within 128 bits: each vector has a line
    /// in each of its parts.
    macro_rules! lanes {
        ($($name:ident, $T:ty, $negated:ident, $turn:ident, $parts:ident, $first:expr, $second:expr, $exchange:expr,
           |$x:ident, $y:ident| $alternating:expr, |$from:ident, $count:ident| $load:expr, |$to:ident, $value:ident, $some:ident| $store:expr;)*) => {$(
            impl Lanes for $name {
                #[inline(always)]
                unsafe fn fused_negated(self, a: Self, b: Self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $negated(a.0, b.0, self.0) })
                }
                #[inline(always)]
                unsafe fn columns(from: *const $T, across: isize, last: usize) -> [Self; 4] {
                    let line = |line: usize| from.wrapping_byte_offset(line.min(last) as isize * across);
                    // SAFETY: the caller has the instructions, and promises four numbers of each line.
                    unsafe {
                        let [a, b, c, d] = $turn!($parts, line);
                        [Self(a), Self(b), Self(c), Self(d)]
                    }
                }
                #[inline(always)]
                unsafe fn load_some($from: *const $T, $count: usize) -> Self {
                    // SAFETY: the caller has the instructions; what is masked is not read.
                    Self(unsafe { $load })
                }
                #[inline(always)]
                unsafe fn store_some(self, $to: *mut $T, $some: usize) {
                    let $value = self.0;
                    // SAFETY: the caller has the instructions; what is masked is not written.
                    unsafe { $store }
                }
                #[inline(always)]
                unsafe fn alternating($x: $T, $y: $T) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $alternating })
                }
                #[inline(always)]
                unsafe fn first_twice(self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $first(self.0) })
                }
                #[inline(always)]
                unsafe fn second_twice(self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $second(self.0) })
                }
                #[inline(always)]
                unsafe fn exchanged(self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $exchange(self.0) })
                }
            }
        )*};
    }
    macro_rules! turn_singles {
        ($parts:ident, $line:ident) => {{
            let a = $parts!(_mm_loadu_ps, $line, 0, 4);
            let b = $parts!(_mm_loadu_ps, $line, 1, 4);
            let c = $parts!(_mm_loadu_ps, $line, 2, 4);
            let d = $parts!(_mm_loadu_ps, $line, 3, 4);
            $parts!(singles a b c d)
        }};
    }
    macro_rules! turn_doubles {
        ($parts:ident, $line:ident) => {{
            let after = |i: usize| $line(i).wrapping_add(2);
            let a = $parts!(_mm_loadu_pd, $line, 0, 2);
            let b = $parts!(_mm_loadu_pd, $line, 1, 2);
            let c = $parts!(_mm_loadu_pd, after, 0, 2);
            let d = $parts!(_mm_loadu_pd, after, 1, 2);
            $parts!(doubles a b c d)
        }};
    }
    macro_rules! halves {
        (_mm_loadu_ps, $line:ident, $i:literal, $gap:literal) => {
            _mm256_insertf128_ps::<1>(
                _mm256_castps128_ps256(_mm_loadu_ps($line($i))),
                _mm_loadu_ps($line($i + $gap)),
            )
        };
        (_mm_loadu_pd, $line:ident, $i:literal, $gap:literal) => {
            _mm256_insertf128_pd::<1>(
                _mm256_castpd128_pd256(_mm_loadu_pd($line($i))),
                _mm_loadu_pd($line($i + $gap)),
            )
        };
        (singles $a:ident $b:ident $c:ident $d:ident) => {{
            let low = [_mm256_unpacklo_ps($a, $b), _mm256_unpacklo_ps($c, $d)];
            let high = [_mm256_unpackhi_ps($a, $b), _mm256_unpackhi_ps($c, $d)];
            let low = [_mm256_castps_pd(low[0]), _mm256_castps_pd(low[1])];
            let high = [_mm256_castps_pd(high[0]), _mm256_castps_pd(high[1])];
            [
                _mm256_castpd_ps(_mm256_unpacklo_pd(low[0], low[1])),
                _mm256_castpd_ps(_mm256_unpackhi_pd(low[0], low[1])),
                _mm256_castpd_ps(_mm256_unpacklo_pd(high[0], high[1])),
                _mm256_castpd_ps(_mm256_unpackhi_pd(high[0], high[1])),
            ]
        }};
        (doubles $a:ident $b:ident $c:ident $d:ident) => {
            [
                _mm256_unpacklo_pd($a, $b),
                _mm256_unpackhi_pd($a, $b),
                _mm256_unpacklo_pd($c, $d),
                _mm256_unpackhi_pd($c, $d),
            ]
        };
    }
    macro_rules! quarters {
        (_mm_loadu_ps, $line:ident, $i:literal, $gap:literal) => {{
            let x = _mm512_castps128_ps512(_mm_loadu_ps($line($i)));
            let x = _mm512_insertf32x4::<1>(x, _mm_loadu_ps($line($i + $gap)));
            let x = _mm512_insertf32x4::<2>(x, _mm_loadu_ps($line($i + 2 * $gap)));
            _mm512_insertf32x4::<3>(x, _mm_loadu_ps($line($i + 3 * $gap)))
        }};
        (_mm_loadu_pd, $line:ident, $i:literal, $gap:literal) => {{
            let x = _mm512_castpd128_pd512(_mm_loadu_pd($line($i)));
            let x = _mm512_insertf64x2::<1>(x, _mm_loadu_pd($line($i + $gap)));
            let x = _mm512_insertf64x2::<2>(x, _mm_loadu_pd($line($i + 2 * $gap)));
            _mm512_insertf64x2::<3>(x, _mm_loadu_pd($line($i + 3 * $gap)))
        }};
        (singles $a:ident $b:ident $c:ident $d:ident) => {{
            let low = [_mm512_unpacklo_ps($a, $b), _mm512_unpacklo_ps($c, $d)];
            let high = [_mm512_unpackhi_ps($a, $b), _mm512_unpackhi_ps($c, $d)];
            let low = [_mm512_castps_pd(low[0]), _mm512_castps_pd(low[1])];
            let high = [_mm512_castps_pd(high[0]), _mm512_castps_pd(high[1])];
            [
                _mm512_castpd_ps(_mm512_unpacklo_pd(low[0], low[1])),
                _mm512_castpd_ps(_mm512_unpackhi_pd(low[0], low[1])),
                _mm512_castpd_ps(_mm512_unpacklo_pd(high[0], high[1])),
                _mm512_castpd_ps(_mm512_unpackhi_pd(high[0], high[1])),
            ]
        }};
        (doubles $a:ident $b:ident $c:ident $d:ident) => {
            [
                _mm512_unpacklo_pd($a, $b),
                _mm512_unpackhi_pd($a, $b),
                _mm512_unpacklo_pd($c, $d),
                _mm512_unpackhi_pd($c, $d),
            ]
        };
    }
    /// The lanes below a number.
    macro_rules! below {
        (32, $count:ident) => {
            _mm256_cmpgt_epi32(
                _mm256_set1_epi32($count as i32),
                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            )
        };
        (64, $count:ident) => {
            _mm256_cmpgt_epi64(
                _mm256_set1_epi64x($count as i64),
                _mm256_setr_epi64x(0, 1, 2, 3),
            )
        };
    }
    lanes! {
        F32x8, f32, _mm256_fnmadd_ps, turn_singles, halves, _mm256_moveldup_ps, _mm256_movehdup_ps, _mm256_permute_ps::<0b10_11_00_01>,
            |x, y| _mm256_setr_ps(x, y, x, y, x, y, x, y),
            |from, count| _mm256_maskload_ps(from, below!(32, count)),
            |to, value, count| _mm256_maskstore_ps(to, below!(32, count), value);
        F64x4, f64, _mm256_fnmadd_pd, turn_doubles, halves, _mm256_movedup_pd, _mm256_permute_pd::<0b1111>, _mm256_permute_pd::<0b0101>,
            |x, y| _mm256_setr_pd(x, y, x, y),
            |from, count| _mm256_maskload_pd(from, below!(64, count)),
            |to, value, count| _mm256_maskstore_pd(to, below!(64, count), value);
        F32x16, f32, _mm512_fnmadd_ps, turn_singles, quarters, _mm512_moveldup_ps, _mm512_movehdup_ps, _mm512_permute_ps::<0b10_11_00_01>,
            |x, y| _mm512_setr4_ps(x, y, x, y),
            |from, count| _mm512_maskz_loadu_ps(((1_u32 << count.min(16)) - 1) as u16, from),
            |to, value, count| _mm512_mask_storeu_ps(to, ((1_u32 << count.min(16)) - 1) as u16, value);
        F64x8, f64, _mm512_fnmadd_pd, turn_doubles, quarters, _mm512_movedup_pd, _mm512_permute_pd::<0xFF>, _mm512_permute_pd::<0x55>,
            |x, y| _mm512_setr4_pd(x, y, x, y),
            |from, count| _mm512_maskz_loadu_pd(((1_u32 << count.min(8)) - 1) as u8, from),
            |to, value, count| _mm512_mask_storeu_pd(to, ((1_u32 << count.min(8)) - 1) as u8, value);
    }

    impl Halves for F32x8 {
        #[inline(always)]
        unsafe fn brain_floats(self) -> [Self; 2] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let bits = _mm256_castps_si256(self.0);
                let high = _mm256_and_si256(bits, _mm256_set1_epi32(0xFFFF_0000_u32 as i32));
                let low = _mm256_slli_epi32::<16>(bits);
                [
                    Self(_mm256_castsi256_ps(low)),
                    Self(_mm256_castsi256_ps(high)),
                ]
            }
        }
        #[inline(always)]
        unsafe fn half_floats(self) -> [Self; 2] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let bits = _mm256_castps_si256(self.0);
                let low = _mm256_and_si256(bits, _mm256_set1_epi32(0xFFFF));
                // Within each half: four low numbers, four high ones.
                let packed = _mm256_packus_epi32(low, _mm256_srli_epi32::<16>(bits));
                let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
                [
                    Self(_mm256_cvtph_ps(_mm256_castsi256_si128(packed))),
                    Self(_mm256_cvtph_ps(_mm256_extracti128_si256::<1>(packed))),
                ]
            }
        }
    }

    impl Halves for F32x16 {
        #[inline(always)]
        unsafe fn brain_floats(self) -> [Self; 2] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let bits = _mm512_castps_si512(self.0);
                let high = _mm512_and_si512(bits, _mm512_set1_epi32(0xFFFF_0000_u32 as i32));
                let low = _mm512_slli_epi32::<16>(bits);
                [
                    Self(_mm512_castsi512_ps(low)),
                    Self(_mm512_castsi512_ps(high)),
                ]
            }
        }
        #[inline(always)]
        unsafe fn half_floats(self) -> [Self; 2] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let bits = _mm512_castps_si512(self.0);
                let [low, high] = [bits, _mm512_srli_epi32::<16>(bits)];
                [
                    Self(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(low))),
                    Self(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(high))),
                ]
            }
        }
    }

    /// The low halves of products of 64-bit integers, of three products of their halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn multiply_low(a: __m256i, b: __m256i) -> __m256i {
        let low = _mm256_mul_epu32(a, b);
        let cross = _mm256_mullo_epi32(a, _mm256_shuffle_epi32::<0b10_11_00_01>(b));
        let cross = _mm256_add_epi32(cross, _mm256_srli_epi64::<32>(cross));
        _mm256_add_epi64(low, _mm256_slli_epi64::<32>(cross))
    }
}
