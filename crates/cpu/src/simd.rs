//! Where kernels meet instruction sets: one plain loop, compiled for each level.
#![allow(
    unsafe_code,
    reason = "calls into code compiled for a detected instruction set"
)]

use allotrope_dtype::Level;

/// Whether the baseline of the architecture has fused multiply-add.
const BASELINE_FUSED: bool = cfg!(target_arch = "aarch64");

/// A loop that is compiled anew for each level.
///
/// `run` must be `#[inline(always)]`. `FUSED` says that the level has fused multiply-add.
pub(crate) trait Body {
    /// What the loop gives.
    type Output;
    /// Runs the loop.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Runs a loop compiled for a level, which this CPU must have.
#[inline]
pub(crate) fn run<B: Body>(level: Level, body: B) -> B::Output {
    debug_assert!(level <= Level::detected());
    match level {
        Level::Scalar => body.run::<BASELINE_FUSED>(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level above Scalar is only handed out when the CPU has its features.
        Level::Avx2 => unsafe { x86::avx2(body) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { x86::avx512(body) },
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => body.run::<BASELINE_FUSED>(),
    }
}

/// Copies bytes past the caches: an ordinary store first reads the line it overwrites.
pub(crate) fn stream(level: Level, src: &[u8], dst: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if level >= Level::Avx512 {
        let head = (dst.as_ptr().addr().wrapping_neg() % 64).min(dst.len());
        let (src_head, src) = src.split_at(head);
        let (dst_head, dst) = dst.split_at_mut(head);
        dst_head.copy_from_slice(src_head);
        // SAFETY: the level is available, and the target starts at a cache line.
        unsafe { x86::stream_lines(src, dst) };
        return;
    }
    let _ = level;
    dst.copy_from_slice(src);
}

/// Orders streamed stores before everything that follows.
pub(crate) fn finish_streams() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: sfence is part of the x86-64 baseline.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};

    use super::Body;

    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
    pub(super) fn avx2<B: Body>(body: B) -> B::Output {
        body.run::<true>()
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi1,bmi2"
    )]
    pub(super) fn avx512<B: Body>(body: B) -> B::Output {
        body.run::<true>()
    }

    /// Whole lines past the caches, the rest the ordinary way. `dst` starts at a cache line.
    #[target_feature(enable = "avx512f")]
    pub(super) fn stream_lines(src: &[u8], dst: &mut [u8]) {
        let ((from, from_rest), (to, to_rest)) = (src.as_chunks::<64>(), dst.as_chunks_mut::<64>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: 64 readable bytes; the load has no alignment requirement.
            let value = unsafe { _mm512_loadu_si512(from.as_ptr().cast()) };
            // SAFETY: 64 writable bytes at a multiple of 64, as the caller says.
            unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), value) };
        }
        to_rest.copy_from_slice(from_rest);
    }
}
