//! Kernels in x86-64 intrinsics, where plain loops do not reach memory speed.
#![allow(unsafe_code, reason = "loads and stores of whole vectors")]

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::Kernel;

#[target_feature(
    enable = "avx512vbmi,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2"
)]
pub(super) fn run_vbmi<K: Kernel>(kernel: &K, src: &[K::From], dst: &mut [K::To]) {
    kernel.run(src, dst);
}

pub(super) fn has_vbmi() -> bool {
    static VBMI: OnceLock<bool> = OnceLock::new();
    *VBMI.get_or_init(|| is_x86_feature_detected!("avx512vbmi"))
}

/// float16 codes to float32 by the CPU's own instruction. For levels above Scalar only.
#[derive(Default)]
pub(in super::super) struct DecodeF16;

impl Kernel for DecodeF16 {
    type From = u16;
    type To = f32;
    #[inline(always)]
    fn run(&self, src: &[u16], dst: &mut [f32]) {
        in_blocks(src, dst, |codes: &[u16; 8], out: &mut [f32; 8]| {
            // SAFETY: 16 readable bytes; the load has no alignment requirement.
            let codes = unsafe { _mm_loadu_si128(codes.as_ptr().cast()) };
            // SAFETY: F16C belongs to every level above Scalar.
            let values = unsafe { _mm256_cvtph_ps(codes) };
            // SAFETY: 32 writable bytes; the store has no alignment requirement.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), values) };
        });
    }
}

/// float32 to float16 codes by the CPU's own instruction. For levels above Scalar only.
#[derive(Default)]
pub(in super::super) struct EncodeF16;

impl Kernel for EncodeF16 {
    type From = f32;
    type To = u16;
    #[inline(always)]
    fn run(&self, src: &[f32], dst: &mut [u16]) {
        in_blocks(src, dst, |values: &[f32; 8], out: &mut [u16; 8]| {
            // SAFETY: 32 readable bytes; the load has no alignment requirement.
            let values = unsafe { _mm256_loadu_ps(values.as_ptr()) };
            // SAFETY: F16C belongs to every level above Scalar.
            let codes = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values) };
            // SAFETY: 16 writable bytes; the store has no alignment requirement.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), codes) };
        });
    }
}

/// float32 to integers of 8 and 16 bits, as `kernels::As`, in vectors of AVX2: the compiler puts numbers
/// of 32 bits together one by one, which takes three times as long. For levels above Scalar only.
#[derive(Default)]
pub(in super::super) struct Truncate<B>(PhantomData<B>);

/// Eight float32 as integers between two bounds; NaN is 0.
#[inline]
#[target_feature(enable = "avx2")]
fn truncate_8(x: &[f32; 8], low: f32, high: f32) -> __m256i {
    // SAFETY: 32 readable bytes; the load has no alignment requirement.
    let x = unsafe { _mm256_loadu_ps(x.as_ptr()) };
    let numbers = _mm256_and_ps(x, _mm256_cmp_ps::<_CMP_ORD_Q>(x, x));
    let above = _mm256_max_ps(numbers, _mm256_set1_ps(low));
    _mm256_cvttps_epi32(_mm256_min_ps(above, _mm256_set1_ps(high)))
}

macro_rules! truncate {
    ($($to:ty, $lanes:literal, |$parts:ident| $packed:expr;)*) => {$(
        impl Kernel for Truncate<$to> {
            type From = f32;
            type To = $to;
            #[inline(always)]
            fn run(&self, src: &[f32], dst: &mut [$to]) {
                #[inline]
                #[target_feature(enable = "avx2")]
                fn block(from: &[f32; $lanes], to: &mut [$to; $lanes]) {
                    const LOW: f32 = <$to>::MIN as f32;
                    const HIGH: f32 = <$to>::MAX as f32;
                    let mut $parts = [_mm256_setzero_si256(); $lanes / 8];
                    for (part, from) in $parts.iter_mut().zip(from.as_chunks().0) {
                        *part = truncate_8(from, LOW, HIGH);
                    }
                    let packed = $packed;
                    // SAFETY: 32 writable bytes; the store has no alignment requirement.
                    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), packed) };
                }
                in_blocks(src, dst, |from: &[f32; $lanes], to: &mut [$to; $lanes]| {
                    // SAFETY: AVX2 belongs to every level above Scalar.
                    unsafe { block(from, to) };
                });
            }
        }
    )*};
}

/// Packing works within 128 bits; this puts quarters of the results in order.
#[inline]
#[target_feature(enable = "avx2")]
fn order_quarters(packed: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

truncate! {
    i8, 32, |x| {
        let (low, high) = (_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
        order_quarters(_mm256_packs_epi16(low, high))
    };
    u8, 32, |x| {
        let (low, high) = (_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
        order_quarters(_mm256_packus_epi16(low, high))
    };
    i16, 16, |x| _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(x[0], x[1]));
    u16, 16, |x| _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(x[0], x[1]));
}

/// Applies a function to blocks of fixed size; the tail goes through a padded block.
#[inline(always)]
pub(in super::super) fn in_blocks<
    A: Copy + Default,
    B: Copy + Default,
    const N: usize,
    const M: usize,
>(
    src: &[A],
    dst: &mut [B],
    block: impl Fn(&[A; N], &mut [B; M]),
) {
    let (blocks, tail) = src.as_chunks::<N>();
    let (out, out_tail) = dst.as_chunks_mut::<M>();
    for (from, to) in blocks.iter().zip(out) {
        block(from, to);
    }
    if !tail.is_empty() {
        let (mut padded, mut result) = ([A::default(); N], [B::default(); M]);
        padded[..tail.len()].copy_from_slice(tail);
        block(&padded, &mut result);
        out_tail.copy_from_slice(&result[..out_tail.len()]);
    }
}

/// To the float32 that any narrower float rounds the same way, as `kernels::ToOdd`: truncated by
/// the instruction's own rounding mode, then made odd if the way back does not meet the source.
///
/// For the AVX-512 level only.
#[derive(Default)]
pub(in super::super) struct WideToOdd<A>(PhantomData<A>);

macro_rules! wide_to_odd {
    ($($from:ty, $lanes:literal, |$x:ident| $truncated:expr, |$y:ident| $exact:expr,
       $set_odd:expr;)*) => {$(
        impl Kernel for WideToOdd<$from> {
            type From = $from;
            type To = f32;
            #[inline(always)]
            fn run(&self, src: &[$from], dst: &mut [f32]) {
                in_blocks(src, dst, |from: &[$from; $lanes], to: &mut [f32; $lanes]| {
                    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
                    fn block(from: &[$from; $lanes], to: &mut [f32; $lanes]) {
                        // SAFETY: 64 readable bytes; the load has no alignment requirement.
                        let $x = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
                        let $y = $truncated;
                        let odd = $set_odd($exact, $y);
                        // SAFETY: as many writable floats; no alignment requirement.
                        unsafe { std::ptr::write_unaligned(to.as_mut_ptr().cast(), odd) };
                    }
                    // SAFETY: the features belong to the level.
                    unsafe { block(from, to) };
                });
            }
        }
    )*};
}

const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// Sets the last bit where the conversion back did not meet the source.
#[target_feature(enable = "avx512f,avx512vl")]
fn set_odd_8(exact: __mmask8, y: __m256) -> __m256i {
    let bits = _mm256_castps_si256(y);
    _mm256_mask_or_epi32(bits, !exact, bits, _mm256_set1_epi32(1))
}

/// Sets the last bit where the conversion back did not meet the source.
#[target_feature(enable = "avx512f")]
fn set_odd_16(exact: __mmask16, y: __m512) -> __m512i {
    let bits = _mm512_castps_si512(y);
    _mm512_mask_or_epi32(bits, !exact, bits, _mm512_set1_epi32(1))
}

wide_to_odd! {
    f64, 8, |x| _mm512_cvt_roundpd_ps::<TRUNCATE>(_mm512_castsi512_pd(x)),
        |y| _mm512_cmpeq_pd_mask(_mm512_cvtps_pd(y), _mm512_castsi512_pd(x)), set_odd_8;
    i64, 8, |x| _mm512_cvt_roundepi64_ps::<TRUNCATE>(x),
        |y| _mm512_cmpeq_epi64_mask(_mm512_cvttps_epi64(y), x), set_odd_8;
    u64, 8, |x| _mm512_cvt_roundepu64_ps::<TRUNCATE>(x),
        |y| _mm512_cmpeq_epi64_mask(_mm512_cvttps_epu64(y), x), set_odd_8;
    i32, 16, |x| _mm512_cvt_roundepi32_ps::<TRUNCATE>(x),
        |y| _mm512_cmpeq_epi32_mask(_mm512_cvttps_epi32(y), x), set_odd_16;
    u32, 16, |x| _mm512_cvt_roundepu32_ps::<TRUNCATE>(x),
        |y| _mm512_cmpeq_epi32_mask(_mm512_cvttps_epu32(y), x), set_odd_16;
}

/// A table of 256 results of `W` bytes, as one 256-byte plane for each of the last `P` bytes of a
/// result; those before are zero.
///
/// For the AVX-512 level on CPUs with VBMI only. Results are byte arrays, written as they are.
pub(super) struct LookUp<'a, const P: usize, const W: usize>(pub(super) &'a [[u8; 256]; P]);

/// A 256-byte plane of a look-up table, in four registers.
struct Plane([__m512i; 4]);

#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 readable bytes; the load has no alignment requirement.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load_plane(plane: &[u8; 256]) -> Plane {
    let (quarters, _) = plane.as_chunks::<64>();
    Plane([
        load(&quarters[0]),
        load(&quarters[1]),
        load(&quarters[2]),
        load(&quarters[3]),
    ])
}

/// The plane's byte at each of 64 indices.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn permute(plane: &Plane, index: __m512i) -> __m512i {
    let low = _mm512_permutex2var_epi8(plane.0[0], index, plane.0[1]);
    let high = _mm512_permutex2var_epi8(plane.0[2], index, plane.0[3]);
    _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high)
}

/// Spreads 64-bit chunks so that unpacking, which works within 128-bit lanes, keeps their order.
#[target_feature(enable = "avx512f")]
fn spread(value: __m512i) -> __m512i {
    _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), value)
}

/// Codes in an order that unpacking twice, bytes and then pairs of them, puts right.
#[target_feature(enable = "avx512f")]
fn spread_twice(codes: __m512i) -> __m512i {
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_permutexvar_epi32(order, codes)
}

/// Two vectors of bytes as 64 little-endian pairs, within 128-bit lanes.
#[target_feature(enable = "avx512f,avx512bw")]
fn pair_bytes(low: __m512i, high: __m512i) -> [__m512i; 2] {
    [
        _mm512_unpacklo_epi8(low, high),
        _mm512_unpackhi_epi8(low, high),
    ]
}

/// Two vectors of 16-bit words as 32 little-endian pairs, within 128-bit lanes.
#[target_feature(enable = "avx512f,avx512bw")]
fn pair_words(low: __m512i, high: __m512i) -> [__m512i; 2] {
    [
        _mm512_unpacklo_epi16(low, high),
        _mm512_unpackhi_epi16(low, high),
    ]
}

macro_rules! look_up {
    ($planes:literal of $width:literal, |$index:ident, $plane:ident| $results:expr) => {
        impl Kernel for LookUp<'_, $planes, $width> {
            type From = u8;
            type To = [u8; $width];
            const PERMUTES_BYTES: bool = true;
            const TURN: usize = 512;
            #[inline(always)]
            fn run(&self, src: &[u8], dst: &mut [[u8; $width]]) {
                #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
                fn results($index: __m512i, $plane: &[Plane; $planes]) -> [__m512i; $width] {
                    $results
                }
                // SAFETY: AVX-512 F belongs to the level.
                let planes = self.0.each_ref().map(|plane| unsafe { load_plane(plane) });
                in_blocks(src, dst, |from: &[u8; 64], to: &mut [[u8; $width]; 64]| {
                    // SAFETY: the level and VBMI are there, by the contract of the type.
                    let values = unsafe { results(load(from), &planes) };
                    for (value, place) in values
                        .into_iter()
                        .zip(to.as_flattened_mut().as_chunks_mut::<64>().0)
                    {
                        // SAFETY: 64 writable bytes; the store has no alignment requirement.
                        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), value) };
                    }
                });
            }
        }
    };
}

look_up!(1 of 1, |index, plane| [permute(&plane[0], index)]);
look_up!(2 of 2, |index, plane| {
    let index = spread(index);
    pair_bytes(permute(&plane[0], index), permute(&plane[1], index))
});
look_up!(2 of 4, |index, plane| {
    let (index, zero) = (spread_twice(index), _mm512_setzero_si512());
    let [high_0, high_1] = pair_bytes(permute(&plane[0], index), permute(&plane[1], index));
    let [first, second] = pair_words(zero, high_0);
    let [third, fourth] = pair_words(zero, high_1);
    [first, second, third, fourth]
});
look_up!(4 of 4, |index, plane| {
    let index = spread_twice(index);
    let [low_0, low_1] = pair_bytes(permute(&plane[0], index), permute(&plane[1], index));
    let [high_0, high_1] = pair_bytes(permute(&plane[2], index), permute(&plane[3], index));
    let [first, second] = pair_words(low_0, high_0);
    let [third, fourth] = pair_words(low_1, high_1);
    [first, second, third, fourth]
});

/// The longest turn of any kernel.
const LONGEST_TURN: usize = 512;
/// How far places that take turns are apart in the target.
const APART: usize = 4096;

/// One turn's results, in whole cache lines.
#[repr(C, align(64))]
struct Lines([u8; LONGEST_TURN]);

/// Runs a kernel whose results go past the caches.
macro_rules! streaming {
    ($name:ident, $features:literal, $lane:literal, |$from:ident, $to:ident| $store:expr) => {
        #[target_feature(enable = $features)]
        pub(super) fn $name<K: Kernel>(
            kernel: &K,
            src: &[K::From],
            dst: &mut [K::To],
            places: usize,
        ) {
            #[target_feature(enable = $features)]
            fn store($from: &[u8; $lane], $to: &mut [u8; $lane]) {
                $store
            }
            let size = size_of::<K::To>();
            let turn = K::TURN / size;
            let apart = if places == 1 { turn } else { APART / size };
            let whole = dst.len() / (places * apart) * (places * apart);
            let mut lines = Lines([0; LONGEST_TURN]);
            for block in (0..whole).step_by(places * apart) {
                for step in (0..apart).step_by(turn) {
                    for place in 0..places {
                        let start = block + place * apart + step;
                        let results = bytemuck::cast_slice_mut(&mut lines.0[..K::TURN]);
                        kernel.run(&src[start..start + turn], results);
                        let target = bytemuck::cast_slice_mut(&mut dst[start..start + turn]);
                        let (from, to) =
                            (lines.0[..K::TURN].as_chunks().0, target.as_chunks_mut().0);
                        for (from, to) in from.iter().zip(to) {
                            store(from, to);
                        }
                    }
                }
            }
            kernel.run(&src[whole..], &mut dst[whole..]);
        }
    };
}

/// One cache line past the caches.
#[target_feature(enable = "avx512f")]
fn store_line(from: &[u8; 64], to: &mut [u8; 64]) {
    // SAFETY: 64 readable bytes; the load has no alignment requirement.
    let value = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
    // SAFETY: 64 writable bytes; the caller's target starts at a multiple of 64, and so does this.
    unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), value) };
}

streaming!(
    stream_vbmi,
    "avx512vbmi,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2",
    64,
    |from, to| store_line(from, to)
);
streaming!(
    stream_avx512,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2",
    64,
    |from, to| store_line(from, to)
);
streaming!(stream_avx2, "avx2,fma,f16c,bmi1,bmi2", 32, |from, to| {
    // SAFETY: 32 readable bytes; the load has no alignment requirement.
    let value = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
    // SAFETY: 32 writable bytes; the caller's target starts at a multiple of 64, and so does this.
    unsafe { _mm256_stream_si256(to.as_mut_ptr().cast(), value) };
});
