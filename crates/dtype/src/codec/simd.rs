//! Kernels for each level, with results through the caches or past them.
#![allow(
    unsafe_code,
    reason = "calls into code compiled for a detected instruction set"
)]

use crate::simd::{self, Avx512, Body, Level};

/// A plain loop from one slice to another of the same length.
///
/// `run` must be `#[inline(always)]`, so that it is compiled anew for each level.
pub(super) trait Kernel {
    /// Element type read.
    type From: bytemuck::Pod;
    /// Element type written.
    type To: bytemuck::Pod;
    /// Whether `run` uses byte permutations, which not every CPU of the AVX-512 level has.
    const PERMUTES_BYTES: bool = false;
    /// Bytes written at one place of a streamed target before the next place has its turn.
    const TURN: usize = 256;
    /// Writes the image of each element of `src` to `dst`.
    fn run(&self, src: &[Self::From], dst: &mut [Self::To]);
}

/// Places of the slices that take turns in a large cast of one pass.
pub(super) const PLACES: usize = 4;

/// How results reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Through the caches.
    Cached,
    /// Past the caches: an ordinary store first reads the line it overwrites, which is a third of
    /// the traffic of a large cast. So many places of the slices take turns.
    ///
    /// One core reads a single sequence at half the speed of four, since each page has its own
    /// prefetcher: int16 to int8 runs at 0.65 of memcpy with one place and at 0.85 with four.
    Streamed { places: usize },
}

/// How a kernel is run: for which instruction set, to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// An instruction set that this CPU has.
    pub(super) level: Level,
    /// Where results go.
    pub(super) stores: Stores,
}

/// A kernel on its slices.
struct Pass<'a, K: Kernel> {
    kernel: &'a K,
    src: &'a [K::From],
    dst: &'a mut [K::To],
}

impl<K: Kernel> Body for Pass<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.kernel.run(self.src, self.dst);
    }
}

/// Runs a kernel compiled for the mode's level.
pub(super) fn run<K: Kernel>(mode: Mode, kernel: &K, src: &[K::From], dst: &mut [K::To]) {
    let Mode { level, stores } = mode;
    #[cfg(target_arch = "x86_64")]
    if let Stores::Streamed { places } = stores {
        // Up to the first cache line the ordinary way; an unaligned pair never gets there.
        let head = (dst.as_ptr().addr().wrapping_neg() % 64) / size_of::<K::To>();
        let (src_head, src_rest) = src.split_at(head.min(src.len()));
        let (dst_head, dst_rest) = dst.split_at_mut(head.min(src.len()));
        if dst_rest.as_ptr().addr() % 64 == 0 && level != Level::Scalar {
            run(
                Mode {
                    level,
                    stores: Stores::Cached,
                },
                kernel,
                src_head,
                dst_head,
            );
            match level {
                // SAFETY: the level is available, the kernel was only made because the CPU
                // permutes bytes, and the target starts at a cache line.
                Level::Avx512(_) if K::PERMUTES_BYTES => unsafe {
                    x86::stream_vbmi(kernel, src_rest, dst_rest, places);
                },
                // SAFETY: the level is available, and the target starts at a cache line.
                Level::Avx512(_) => unsafe {
                    x86::stream_avx512(kernel, src_rest, dst_rest, places);
                },
                // SAFETY: as above.
                _ => unsafe { x86::stream_avx2(kernel, src_rest, dst_rest, places) },
            }
            return;
        }
    }
    let _ = stores;
    #[cfg(target_arch = "x86_64")]
    if K::PERMUTES_BYTES && level.avx512().is_some() {
        // SAFETY: the level is available, and the kernel was only made because the CPU permutes bytes.
        return unsafe { x86::run_vbmi(kernel, src, dst) };
    }
    simd::run(level, Pass { kernel, src, dst });
}

/// Runs a kernel past the caches; false if the target does not start at a cache line.
pub(super) fn stream_wide<K: Kernel>(
    wide: Avx512,
    kernel: &K,
    src: &[K::From],
    dst: &mut [K::To],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if dst.as_ptr().addr() % 64 == 0 {
        // SAFETY: the CPU has the level, and the target starts at a cache line.
        unsafe { x86::stream_avx512(kernel, src, dst, PLACES) };
        return true;
    }
    let _ = (wide, kernel, src, dst);
    false
}

/// Whether a level has wide byte permutations on this CPU.
#[cfg(target_arch = "x86_64")]
pub(super) fn permutes_bytes(level: Level) -> bool {
    level.avx512().is_some() && x86::has_vbmi()
}

/// Looks bytes up in a table of 256 results, given as one 256-byte plane per result byte.
///
/// `dst` holds `planes.len()` bytes for each of `src`, which is how wide a result is (1, 2 or 4); if
/// `is_upper`, the first two of four planes are zero. False if the CPU has no wide byte permutation.
pub(super) fn look_up(
    mode: Mode,
    planes: &[[u8; 256]],
    is_upper: bool,
    src: &[u8],
    dst: &mut [u8],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if permutes_bytes(mode.level) {
        use bytemuck::cast_slice_mut;
        if let Ok(planes) = <&[_; 1]>::try_from(planes) {
            run(mode, &x86::LookUp::<1, 1>(planes), src, cast_slice_mut(dst));
        } else if let Ok(planes) = <&[_; 2]>::try_from(planes) {
            run(mode, &x86::LookUp::<2, 2>(planes), src, cast_slice_mut(dst));
        } else if let ([_, _, upper @ ..], true) = (planes, is_upper)
            && let Ok(planes) = <&[_; 2]>::try_from(upper)
        {
            run(mode, &x86::LookUp::<2, 4>(planes), src, cast_slice_mut(dst));
        } else if let Ok(planes) = <&[_; 4]>::try_from(planes) {
            run(mode, &x86::LookUp::<4, 4>(planes), src, cast_slice_mut(dst));
        } else {
            return false;
        }
        return true;
    }
    let _ = (mode, planes, is_upper, src, dst);
    false
}

pub(super) use crate::simd::finish_streams;

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{DecodeF16, EncodeF16, Truncate, WideToOdd, in_blocks};

/// Where there are no instructions of their own, the plain loops stand in for these kernels.
#[cfg(not(target_arch = "x86_64"))]
pub(super) type Truncate<B> = super::kernels::As<f32, B>;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use super::kernels::{
    SoftDecodeF16 as DecodeF16, SoftEncodeF16 as EncodeF16, ToOdd as WideToOdd,
};

#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod x86;
