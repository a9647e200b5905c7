//! What a conversion means: rounding, overflow, and which of them apply to which pair of dtypes.
//!
//! This is the definition, one value at a time. `codec` does the same over slices at speed.

mod exact;

use std::fmt;
use std::str::FromStr;

pub(crate) use exact::{Exact, Target};
pub use exact::{Rounded, round_to_format};

use crate::format::{FloatFormat, Specials};
use crate::{DType, Error, Kind, Problem};

/// How a float target is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Towards zero.
    Zero,
    /// Up or down with the probability of the distance, so that the expected value is exact.
    /// Element `i` draws word `offset + i` of the Philox stream of `seed`.
    Stochastic {
        /// The key of the stream.
        seed: u64,
        /// The index of the first element in the stream.
        offset: u64,
    },
}

impl Rounding {
    const NAMES: [&'static str; 3] = ["nearest", "zero", "stochastic"];

    /// The rounding with this name; `seed` is used by `"stochastic"` alone.
    ///
    /// # Errors
    /// A value error naming the accepted roundings.
    pub fn parse(name: &str, seed: u64) -> Result<Self, Error> {
        match name {
            "nearest" => Ok(Self::Nearest),
            "zero" => Ok(Self::Zero),
            "stochastic" => Ok(Self::Stochastic { seed, offset: 0 }),
            _ => Err(Error::unknown_option("to", "rounding", name, &Self::NAMES)),
        }
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nearest => Self::NAMES[0],
            Self::Zero => Self::NAMES[1],
            Self::Stochastic { .. } => Self::NAMES[2],
        })
    }
}

/// What becomes of a value outside the target's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The nearest finite value of the target, also for infinities. NaN to an integer is 0.
    /// Where the target holds every value of the source nothing changes, infinities included.
    Saturate,
    /// Integer targets: the value modulo two to the width. NaN and infinities are 0.
    Wrap,
    /// An error that names the first index and value.
    Raise,
    /// Float targets: infinity, or NaN in formats without one, as IEEE 754 and ml_dtypes.
    Ieee,
}

impl Overflow {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::Saturate, Self::Wrap, Self::Raise, Self::Ieee];

    /// The name, as `Tensor.to` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Saturate => "saturate",
            Self::Wrap => "wrap",
            Self::Raise => "raise",
            Self::Ieee => "ieee",
        }
    }

    /// The default for a float format: saturate for `fn` formats, IEEE for all others.
    #[must_use]
    pub(crate) const fn default_of(format: FloatFormat) -> Self {
        match format.specials {
            Specials::NanOnly => Self::Saturate,
            Specials::Ieee | Specials::NanOnlyUnsignedZero => Self::Ieee,
        }
    }
}

impl FromStr for Overflow {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|o| o.name() == name)
            .ok_or_else(|| {
                Error::unknown_option("to", "overflow", name, &Self::ALL.map(Self::name))
            })
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a cast treats values that the target does not hold.
///
/// | from → to | default | choices |
/// |---|---|---|
/// | float → int | truncate, saturate, NaN → 0 | `Wrap`, `Raise` |
/// | int → int | wrap | `Saturate`, `Raise` |
/// | any → float | nearest even, one rounding, overflow to inf | `Zero`, `Stochastic`; `Saturate`, `Raise` |
/// | any → `fn` float | saturate, NaN stays NaN | `Ieee` gives NaN |
/// | any → bool | value ≠ 0, so NaN is true | |
/// | complex → real | an error | |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CastOptions {
    /// How a float target is rounded.
    pub rounding: Rounding,
    /// What becomes of values out of range; `None` is the default of the pair.
    pub overflow: Option<Overflow>,
}

impl CastOptions {
    /// The default rounding with this overflow rule.
    #[must_use]
    pub const fn overflow(rule: Overflow) -> Self {
        Self {
            rounding: Rounding::Nearest,
            overflow: Some(rule),
        }
    }

    /// This rounding with the default overflow rule.
    #[must_use]
    pub const fn rounding(rounding: Rounding) -> Self {
        Self {
            rounding,
            overflow: None,
        }
    }

    /// The overflow rule in force for a pair of dtypes.
    ///
    /// # Errors
    /// A dtype error for complex to real, a value error for an option that has no meaning here.
    pub(crate) fn resolve(self, from: DType, to: DType) -> Result<Overflow, Error> {
        if from.is_complex() && !to.is_complex() && to.kind() != Kind::Bool {
            let problem = Problem::ComplexToReal { from, to };
            return Err(Error::new("to", problem).hint("use .real, .imag or .abs()"));
        }
        let (default, refused, accepted) = match (to.kind(), to.format()) {
            (Kind::Bool, _) => return Ok(Overflow::Saturate),
            (_, Some(format)) => (
                Overflow::default_of(format),
                Overflow::Wrap,
                "saturate, raise, ieee",
            ),
            (_, None) if from.format().is_some() => {
                (Overflow::Saturate, Overflow::Ieee, "saturate, wrap, raise")
            }
            (_, None) => (Overflow::Wrap, Overflow::Ieee, "saturate, wrap, raise"),
        };
        if self.overflow == Some(refused) {
            let problem = Problem::OverflowNotApplicable {
                overflow: refused,
                from,
                to,
                accepted,
            };
            return Err(Error::new("to", problem));
        }
        if to.format().is_none() && matches!(self.rounding, Rounding::Stochastic { .. }) {
            let problem = Problem::RoundingNotApplicable {
                rounding: self.rounding,
                from,
                to,
            };
            return Err(Error::new("to", problem));
        }
        // Nothing is out of range where the target holds the whole source.
        Ok(self
            .overflow
            .filter(|_| !from.fits_in(to))
            .unwrap_or(default))
    }
}
