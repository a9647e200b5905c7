//! Instruction-set levels, chosen once at run time.

use std::fmt;
use std::sync::OnceLock;

/// A set of instructions that kernels are compiled for. Each level includes those before it.
///
/// `ALLOTROPE_SIMD=scalar|avx2|avx512|amx` lowers the level for a whole process, so that every
/// path can be tested on one machine; it never raises it above what the CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The architecture's baseline: SSE2 on x86-64, NEON on aarch64.
    Scalar,
    /// AVX2 with FMA, F16C and BMI (x86-64-v3).
    Avx2,
    /// AVX-512 F, BW, DQ, VL and CD (x86-64-v4). Byte tables also use VBMI where it exists.
    Avx512,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Avx512];

    /// The name, as `ALLOTROPE_SIMD` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The highest level this CPU has.
    #[must_use]
    pub fn detected() -> Self {
        static DETECTED: OnceLock<Level> = OnceLock::new();
        *DETECTED.get_or_init(detect)
    }

    /// The levels this CPU has, lowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|level| *level <= Self::detected())
    }

    /// The level in force: the detected one, or the lower one that the environment asks for.
    #[must_use]
    pub fn current() -> Self {
        static CURRENT: OnceLock<Level> = OnceLock::new();
        *CURRENT.get_or_init(|| match std::env::var("ALLOTROPE_SIMD") {
            Ok(name) => Self::requested(&name).min(Self::detected()),
            Err(_) => Self::detected(),
        })
    }

    fn requested(name: &str) -> Self {
        // AMX adds matrix tiles to AVX-512; nothing in this crate multiplies matrices.
        let known = Self::ALL
            .into_iter()
            .find(|level| level.name() == name || name == "amx");
        known.map_or_else(
            || {
                eprintln!("allotrope: ALLOTROPE_SIMD={name} is none of scalar, avx2, avx512, amx");
                Self::detected()
            },
            |level| if name == "amx" { Self::Avx512 } else { level },
        )
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512cd");
    match (avx512, avx2) {
        (true, _) => Level::Avx512,
        (false, true) => Level::Avx2,
        (false, false) => Level::Scalar,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Scalar
}
