//! Where kernels meet instruction sets: one plain loop, compiled for each level.
#![allow(
    unsafe_code,
    reason = "calls into code compiled for a detected instruction set"
)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod convert;
pub(crate) mod turn;

use allotrope_dtype::Level;
pub(crate) use allotrope_dtype::simd::{Avx512, Body, finish_streams, run};

/// Elements that a loop takes at a time where it converts them.
pub(crate) const BLOCK: usize = 64;

/// Asks memory for the block that a loop reaches some blocks later.
///
/// Measured on sums of bfloat16 beyond the caches: 37 instead of 27 GB/s.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(block: &[T; N]) {
    /// How many blocks later.
    const AHEAD: usize = 16;
    let ahead = block
        .as_ptr()
        .cast::<u8>()
        .wrapping_add(AHEAD * size_of_val(block));
    for line in (0..size_of_val(block)).step_by(64) {
        prefetch_line(ahead.wrapping_add(line));
    }
}

/// Asks memory for bytes that are needed soon; those beyond the end are left out.
#[inline(always)]
pub(crate) fn prefetch_bytes(bytes: &[u8], start: usize, len: usize) {
    let end = bytes.len().min(start + len);
    for line in (start..end).step_by(64) {
        prefetch_line(bytes.as_ptr().wrapping_add(line));
    }
}

/// Asks memory for a cache line.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: part of the x86-64 baseline, and a hint: no address is wrong.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The sum of 32 numbers: halves added to halves.
#[inline(always)]
pub(crate) fn sum_by_halves<T: Copy + std::ops::Add<Output = T>>(lanes: &[T; 32]) -> T {
    let two = |i: usize| lanes[i] + lanes[i + 16];
    let fours: [T; 4] = std::array::from_fn(|i| (two(i) + two(i + 8)) + (two(i + 4) + two(i + 12)));
    (fours[0] + fours[2]) + (fours[1] + fours[3])
}

/// The same of float32, in vectors, which the compiler takes apart into single numbers.
#[inline(always)]
pub(crate) fn sum_of_32(lanes: &[f32; 32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of the x86-64 baseline.
    return unsafe { x86::sum_of_32(lanes) };
    #[cfg(not(target_arch = "x86_64"))]
    sum_by_halves(lanes)
}

/// Which of 64 bytes are not zero, the first one in the lowest bit.
#[inline(always)]
pub(crate) fn truth_bits(block: &[u8; 64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of the x86-64 baseline.
    return unsafe { x86::truth_bits(block) };
    #[cfg(not(target_arch = "x86_64"))]
    {
        const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
        let words = block.as_chunks::<8>().0.iter().enumerate();
        words.fold(0, |bits, (number, word)| {
            let word = u64::from_le_bytes(*word);
            let ones = ((((word & LOW) + LOW) | word) & !LOW) >> 7;
            bits | (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number)
        })
    }
}

/// Whether results of so many bytes, from so many that are read, are better written past the caches.
///
/// What fits in the last cache is better left there. Measured on one of 32 MB (Zen 3), stores past it
/// take 1.4 to 1.8 times as long where reads and writes are 24 to 32 MB, and from 40 MB on 0.6 to 0.8.
/// On one of 260 MB (Emerald Rapids) they take 0.8 to 0.9 of the time for 16 to 32 MB, but whoever reads
/// the result then waits for memory: chains of three functions take 1.3 times as long.
pub(crate) fn streams(written: usize, read: usize) -> bool {
    written + read >= 40 << 20
}

/// Copies bytes past the caches: an ordinary store first reads the line it overwrites. A call, since
/// loops of every level would have the code of all levels in them.
#[inline(never)]
pub(crate) fn stream(level: Level, src: &[u8], dst: &mut [u8]) {
    let head = (dst.as_ptr().addr().wrapping_neg() % 64).min(dst.len());
    let (src_head, src) = src.split_at(head);
    let (dst_head, dst) = dst.split_at_mut(head);
    dst_head.copy_from_slice(src_head);
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is available, and the target starts at a cache line.
        Level::Avx512(_) => unsafe { x86::stream_lines(src, dst) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2(_) => unsafe { x86::stream_halves(src, dst) },
        _ => dst.copy_from_slice(src),
    }
}

/// Copies a line past the caches if the target starts at a multiple of 16 bytes, or in one piece if it
/// starts at one of 64 and vectors are `wide`; else the ordinary way. Every x86-64 CPU has the narrow
/// stores.
#[inline(always)]
pub(crate) fn stream_line(wide: Option<Avx512>, line: &[u8; 64], target: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if wide.is_some() && target.len() == line.len() && target.as_ptr().addr().is_multiple_of(64) {
        // SAFETY: the CPU has the instruction, and the target is a whole line.
        return unsafe { x86::stream_whole_line(line, target) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = wide;
    #[cfg(target_arch = "x86_64")]
    if target.len() == line.len() && target.as_ptr().addr().is_multiple_of(16) {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
        let vectors = line.as_chunks::<16>().0.iter();
        for (from, to) in vectors.zip(target.as_chunks_mut::<16>().0) {
            // SAFETY: 16 readable bytes; the load has no alignment requirement.
            let value = unsafe { _mm_loadu_si128(from.as_ptr().cast()) };
            // SAFETY: 16 writable bytes at a multiple of 16, as tested above.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), value) };
        }
        return;
    }
    target.copy_from_slice(line);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// A line past the caches.
    ///
    /// # Safety
    /// The target must be 64 bytes at a multiple of 64.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn stream_whole_line(line: &[u8; 64], target: &mut [u8]) {
        // SAFETY: 64 readable bytes; the load has no alignment requirement.
        let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        // SAFETY: 64 writable bytes at a multiple of 64, as the caller promised.
        unsafe { _mm512_stream_si512(target.as_mut_ptr().cast(), line) };
    }

    /// The sum of 32 numbers: halves added to halves.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn sum_of_32(lanes: &[f32; 32]) -> f32 {
        let fours = lanes.as_chunks::<4>().0;
        let two = |i: usize| {
            // SAFETY: 16 readable bytes; the load has no alignment requirement.
            let low = unsafe { _mm_loadu_ps(fours[i].as_ptr()) };
            // SAFETY: as above.
            let high = unsafe { _mm_loadu_ps(fours[i + 4].as_ptr()) };
            _mm_add_ps(low, high)
        };
        let sum = _mm_add_ps(_mm_add_ps(two(0), two(2)), _mm_add_ps(two(1), two(3)));
        let twos = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
        _mm_cvtss_f32(_mm_add_ss(twos, _mm_shuffle_ps::<1>(twos, twos)))
    }

    /// Which of 64 bytes are not zero.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn truth_bits(block: &[u8; 64]) -> u64 {
        let mut zeros = 0;
        for (number, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: 16 readable bytes; the load has no alignment requirement.
            let bytes = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
            let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
            zeros |= u64::from(mask.cast_unsigned()) << (16 * number);
        }
        !zeros
    }

    /// Half a line. In assembly, since the compiler makes one load of two of them.
    ///
    /// # Safety
    /// 32 bytes must be readable.
    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn load_half(from: *const u8) -> __m256i {
        let half;
        // SAFETY: the level has the instruction, which reads the 32 bytes that the caller promised.
        unsafe {
            asm!(
                "vmovdqu {half}, ymmword ptr [{from}]",
                half = out(ymm_reg) half,
                from = in(reg) from,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        half
    }

    /// Whole halves of lines past the caches, the rest the ordinary way. `dst` starts at a cache line.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn stream_halves(src: &[u8], dst: &mut [u8]) {
        let ((from, from_rest), (to, to_rest)) = (src.as_chunks::<32>(), dst.as_chunks_mut::<32>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: 32 readable bytes.
            let value = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
            // SAFETY: 32 writable bytes at a multiple of 32, as the caller says.
            unsafe { _mm256_stream_si256(to.as_mut_ptr().cast(), value) };
        }
        to_rest.copy_from_slice(from_rest);
    }

    /// Whole lines past the caches, the rest the ordinary way. `dst` starts at a cache line.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn stream_lines(src: &[u8], dst: &mut [u8]) {
        let ((from, from_rest), (to, to_rest)) = (src.as_chunks::<64>(), dst.as_chunks_mut::<64>());
        for (from, to) in from.iter().zip(to) {
            // Two loads: halves of float32 that became 16 bits were just stored like that, and one
            // load of both waits until they are in the cache.
            let (low, high) = from.split_at(32);
            // SAFETY: 32 readable bytes each.
            let [low, high] = unsafe { [low, high].map(|half| load_half(half.as_ptr())) };
            let value = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            // SAFETY: 64 writable bytes at a multiple of 64, as the caller says.
            unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), value) };
        }
        to_rest.copy_from_slice(from_rest);
    }
}
