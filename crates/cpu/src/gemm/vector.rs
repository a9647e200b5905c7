//! Vectors of numbers that the kernels of matrix products are written over.
#![allow(unsafe_code, reason = "vector instructions")]

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

    use super::Vector;

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
        /// Four int64.
        I64x4(__m256i), i64, 4, _mm256_setzero_si256, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi64,
            |sum, a, b| _mm256_add_epi64(sum, multiply_low(a, b)), |x| x;
        /// Eight int64.
        I64x8(__m512i), i64, 8, _mm512_setzero_si512, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi64,
            |sum, a, b| _mm512_add_epi64(sum, _mm512_mullo_epi64(a, b)), |x| x;
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
