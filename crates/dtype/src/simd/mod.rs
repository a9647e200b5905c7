//! Where loops meet instruction sets, for this crate and for kernels above it: one plain loop, compiled
//! for each [`Level`].
//!
//! Nothing here trusts its caller: a level above the baseline holds the proof that the CPU has it.
#![allow(
    unsafe_code,
    reason = "calls into code compiled for a detected instruction set"
)]

mod level;

pub use level::{Avx2, Avx512, Level};

/// Whether the baseline of the architecture has fused multiply-add.
const BASELINE_FUSED: bool = cfg!(target_arch = "aarch64");

/// A loop that is compiled anew for each level.
///
/// `run` must be `#[inline(always)]`. `FUSED` says that the level has fused multiply-add.
pub trait Body {
    /// What the loop gives.
    type Output;
    /// Runs the loop.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Runs a loop compiled for a level.
#[inline]
pub fn run<B: Body>(level: Level, body: B) -> B::Output {
    match level {
        Level::Scalar => body.run::<BASELINE_FUSED>(),
        Level::Avx2(proof) => proof.run(body),
        Level::Avx512(proof) => proof.run(body),
    }
}

impl Avx2 {
    /// Runs a loop compiled for AVX2 alone.
    #[inline]
    pub fn run<B: Body>(self, body: B) -> B::Output {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the proof says that the CPU has the features.
        return unsafe { x86::avx2(body) };
        #[cfg(not(target_arch = "x86_64"))]
        body.run::<BASELINE_FUSED>()
    }
}

impl Avx512 {
    /// Runs a loop compiled for AVX-512 alone.
    #[inline]
    pub fn run<B: Body>(self, body: B) -> B::Output {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the proof says that the CPU has the features.
        return unsafe { x86::avx512(body) };
        #[cfg(not(target_arch = "x86_64"))]
        body.run::<BASELINE_FUSED>()
    }
}

/// Orders streamed stores before everything that follows.
pub fn finish_streams() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: sfence is part of the x86-64 baseline.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
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
}
