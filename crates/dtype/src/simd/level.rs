//! Instruction-set levels, chosen once at run time, and the proofs that the CPU has them.

use std::fmt;
use std::sync::OnceLock;

/// Proof that the CPU has AVX2 with FMA, F16C and BMI: only detection makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Avx2(());

/// Proof that the CPU has AVX-512 F, BW, DQ, VL and CD: only detection makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Avx512(());

impl From<Avx512> for Avx2 {
    fn from(_: Avx512) -> Self {
        Self(())
    }
}

/// A set of instructions that kernels are compiled for and that this CPU has: one above the baseline
/// holds its proof, so that nobody can name a level that is not there. Each includes those before it.
///
/// `ALLOTROPE_SIMD=scalar|avx2|avx512|amx` lowers the level for a whole process, so that every
/// path can be tested on one machine; it never raises it above what the CPU has.
///
/// ```
/// use allotrope_dtype::Level;
/// assert!(Level::current() <= Level::detected());
/// // A request is lowered to what is there.
/// assert!(Level::requested("avx512").is_some_and(|level| level <= Level::detected()));
/// assert_eq!(Level::requested("scalar"), Some(Level::Scalar));
/// assert_eq!(Level::requested("mmx"), None);
/// ```
///
/// ```compile_fail
/// // A proof has no constructor.
/// let level = allotrope_dtype::Level::Avx512(allotrope_dtype::simd::Avx512(()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The architecture's baseline: SSE2 on x86-64, NEON on aarch64.
    Scalar,
    /// AVX2 with FMA, F16C and BMI (x86-64-v3).
    Avx2(Avx2),
    /// AVX-512 F, BW, DQ, VL and CD (x86-64-v4). Byte tables also use VBMI where it exists.
    Avx512(Avx512),
}

impl Level {
    /// The name, as `ALLOTROPE_SIMD` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2(_) => "avx2",
            Self::Avx512(_) => "avx512",
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
        let detected = Self::detected();
        let above = [
            detected.avx2().map(Self::Avx2),
            detected.avx512().map(Self::Avx512),
        ];
        std::iter::once(Self::Scalar).chain(above.into_iter().flatten())
    }

    /// The level of a name, or the highest that this CPU has below it; `None` if there is no such name.
    #[must_use]
    pub fn requested(name: &str) -> Option<Self> {
        let detected = Self::detected();
        match name {
            "scalar" => Some(Self::Scalar),
            "avx2" => Some(detected.avx2().map_or(Self::Scalar, Self::Avx2)),
            // AMX adds matrix tiles to AVX-512, which nothing here uses.
            "avx512" | "amx" => Some(detected),
            _ => None,
        }
    }

    /// The level in force: the detected one, or the lower one that the environment asks for.
    #[must_use]
    pub fn current() -> Self {
        static CURRENT: OnceLock<Level> = OnceLock::new();
        *CURRENT.get_or_init(|| match std::env::var("ALLOTROPE_SIMD") {
            Ok(name) => Self::requested(&name).unwrap_or_else(|| {
                eprintln!("allotrope: ALLOTROPE_SIMD={name} is none of scalar, avx2, avx512, amx");
                Self::detected()
            }),
            Err(_) => Self::detected(),
        })
    }

    /// The proof of AVX2, if the level has its instructions.
    #[inline]
    #[must_use]
    pub fn avx2(self) -> Option<Avx2> {
        match self {
            Self::Scalar => None,
            Self::Avx2(proof) => Some(proof),
            Self::Avx512(proof) => Some(proof.into()),
        }
    }

    /// The proof of AVX-512, if the level has its instructions.
    #[inline]
    #[must_use]
    pub fn avx512(self) -> Option<Avx512> {
        match self {
            Self::Avx512(proof) => Some(proof),
            Self::Scalar | Self::Avx2(_) => None,
        }
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
        (true, _) => Level::Avx512(Avx512(())),
        (false, true) => Level::Avx2(Avx2(())),
        (false, false) => Level::Scalar,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Scalar
}
