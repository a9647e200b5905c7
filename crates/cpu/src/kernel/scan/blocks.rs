//! Running sums of blocks of eight by instructions of their own: neighbours are added first, then
//! pairs, then fours, then what precedes the block.
//!
//! The compiler makes a loop of that for each level, which takes twice as long: it finds no shuffle
//! of eight numbers.
//!
//! | file | what is in it |
//! |---|---|
//! | `wide`, `narrow` | blocks in vectors of AVX-512 and of AVX2 |
//! | `few` | shorter ways for items with few digits |
#![allow(unsafe_code, reason = "vector instructions for a detected level")]

#[cfg(target_arch = "x86_64")]
mod few;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "x86_64")]
mod wide;

use allotrope_dtype::{FloatFormat, Level};

/// What is known of the items of narrow floats, and of the results: that they have few digits.
#[derive(Clone, Copy)]
pub(crate) struct Digits {
    /// Digits of a normal number after the first.
    after_first: u32,
    /// What all numbers are multiples of.
    quantum: f64,
}

impl Digits {
    pub(super) fn of(format: FloatFormat) -> Self {
        Self {
            after_first: format.mantissa_bits,
            quantum: 2_f64.powi(format.quantum_exponent()),
        }
    }

    /// The magnitude below which sums of any of these numbers are float32 without loss.
    pub(super) fn exact(self) -> f64 {
        self.quantum * EXACT
    }

    /// The same where most sums are below it: for 8-bit floats.
    pub(super) fn exact_of_bytes(self) -> Option<f64> {
        (self.after_first <= 3).then(|| self.exact())
    }
}

/// Multiples of a power of two are float32 without loss up to so many.
const EXACT: f64 = (1_u32 << f32::MANTISSA_DIGITS) as f64;

/// The sums of float32 in float64, after `carry`, of the whole blocks among the items; gives the
/// last one, or nothing where the level has no vectors. Sums that are `odd` keep an odd last bit where
/// something is lost. What is known of the `digits` allows shorter ways.
#[inline]
pub(crate) fn add_floats(
    level: Level,
    odd: bool,
    digits: Option<Digits>,
    carry: f64,
    items: &[f32],
    out: &mut [f32],
) -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if level > Level::Scalar {
        return Some(match (level, digits, odd) {
            // SAFETY: a level is only handed out when the CPU has its features.
            (Level::Avx2(_), Some(digits), _) => unsafe {
                few::add_digits(digits, odd, carry, items, out)
            },
            // SAFETY: as above.
            (Level::Avx512(_), _, true) => unsafe { wide::add_floats::<true>(carry, items, out) },
            // SAFETY: as above.
            (Level::Avx512(_), _, false) => unsafe { wide::add_floats::<false>(carry, items, out) },
            // SAFETY: as above.
            (_, _, true) => unsafe { narrow::add_floats::<true>(carry, items, out) },
            // SAFETY: as above.
            (_, _, false) => unsafe { narrow::add_floats::<false>(carry, items, out) },
        });
    }
    let _ = (level, odd, digits, carry, items, out);
    None
}

/// The same of integers, which wrap and lose nothing.
#[inline]
pub(crate) fn add_integers(
    level: Level,
    _odd: bool,
    _digits: Option<Digits>,
    carry: i64,
    items: &[i64],
    out: &mut [i64],
) -> Option<i64> {
    #[cfg(target_arch = "x86_64")]
    if level.avx2().is_some() {
        return Some(match level {
            // SAFETY: a level is only handed out when the CPU has its features.
            Level::Avx512(_) => unsafe { wide::add_integers(carry, items, out) },
            // SAFETY: as above.
            _ => unsafe { narrow::add_integers(carry, items, out) },
        });
    }
    let _ = (level, carry, items, out);
    None
}
