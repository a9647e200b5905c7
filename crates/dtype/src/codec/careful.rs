//! Casts with the options that the plain routes do not have: saturate, wrap or raise where it is
//! not the default, rounding towards zero and stochastic rounding.
//!
//! Tile by tile through a type that holds the source exactly. A tile without overflow takes the
//! plain route, saturation clamps before it; only what is left is rounded value by value.

use bytemuck::Pod;

use super::route::Route;
use super::stochastic::Words;
use crate::Level;
use crate::cast::{Exact, Overflow, Rounding, Target};
use crate::simd;
use crate::{DType, Error, Kind, Problem};

/// Elements per tile; a multiple of the four words that a random block has.
const TILE: usize = 512;

/// Whether the plain routes do not implement this combination.
pub(super) fn is_needed(from: DType, to: DType, rounding: Rounding, overflow: Overflow) -> bool {
    match (to.kind(), from.kind()) {
        (Kind::Bool, _) => false,
        // Nothing is rounded and nothing is out of range: every rule gives the same.
        _ if from.fits_in(to) => false,
        (Kind::Float | Kind::Complex, _) => {
            // The saturating kernel needs room above the target's exponents in float32.
            let wide = to.format().is_some_and(|f| f.exponent_bits >= 8);
            rounding != Rounding::Nearest
                || overflow == Overflow::Raise
                || wide && overflow == Overflow::Saturate
        }
        (_, Kind::Float | Kind::Complex) => overflow != Overflow::Saturate,
        _ => overflow != Overflow::Wrap,
    }
}

/// Converts `src`, which has as many elements as `dst`.
pub(super) fn cast(
    level: Level,
    from: DType,
    src: &[u8],
    to: DType,
    dst: &mut [u8],
    rounding: Rounding,
    overflow: Overflow,
) -> Result<(), Error> {
    let rule = Rule {
        level,
        from,
        to,
        rounding,
        overflow,
    };
    match from.to_real().kind() {
        Kind::Float => rule.run::<f64>(src, dst),
        Kind::Signed => rule.run::<i64>(src, dst),
        _ => rule.run::<u64>(src, dst),
    }
}

/// A type that holds every value of the sources of its kind.
trait Wide: Pod + PartialOrd + std::fmt::Debug {
    const DTYPE: DType;
    fn exact(self) -> Exact;
    /// The number of this type that is nearest to a float64, in its range.
    fn from_f64(value: f64) -> Self;
    /// The number of this type that is nearest to an integer, in its range.
    fn from_i128(value: i128) -> Self;
}

impl Wide for f64 {
    const DTYPE: DType = DType::F64;
    fn exact(self) -> Exact {
        Exact::from_f64(self)
    }
    fn from_f64(value: f64) -> Self {
        value
    }
    fn from_i128(value: i128) -> Self {
        value as Self
    }
}

impl Wide for i64 {
    const DTYPE: DType = DType::I64;
    fn exact(self) -> Exact {
        Exact::from_i64(self)
    }
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    fn from_i128(value: i128) -> Self {
        value.clamp(Self::MIN.into(), Self::MAX.into()) as Self
    }
}

impl Wide for u64 {
    const DTYPE: DType = DType::U64;
    fn exact(self) -> Exact {
        Exact::from_u64(self)
    }
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    fn from_i128(value: i128) -> Self {
        value.clamp(0, Self::MAX.into()) as Self
    }
}

/// Everything that stays the same for all values of a cast.
struct Rule {
    level: Level,
    from: DType,
    to: DType,
    rounding: Rounding,
    overflow: Overflow,
}

impl Rule {
    fn run<W: Wide>(&self, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        let (source, target) = (self.from.to_real(), self.to.to_real());
        // Components of complex numbers are converted as twice as many real ones.
        let place = if self.from.is_complex() {
            target
        } else {
            self.to
        };
        let widen = Route::between(source, W::DTYPE, Overflow::Ieee);
        let narrow = Route::between(W::DTYPE, place, Overflow::Ieee);
        let plain = self.rounding == Rounding::Nearest || target.format().is_none();
        let [low, high] = self.bounds::<W>();
        let mut values = [W::zeroed(); TILE];
        let tiles = src.chunks(TILE * source.itemsize());
        for (index, (src, dst)) in tiles
            .zip(dst.chunks_mut(TILE * place.itemsize()))
            .enumerate()
        {
            let values = &mut values[..src.len() / source.itemsize()];
            widen.run(self.level, src, bytemuck::cast_slice_mut(values));
            let fits = || values.iter().all(|x| *x >= low && *x <= high);
            if plain && self.overflow == Overflow::Saturate {
                for x in values.iter_mut() {
                    *x = if *x < low { low } else { *x };
                    *x = if *x > high { high } else { *x };
                }
                narrow.run(self.level, bytemuck::cast_slice(values), dst);
            } else if plain && fits() {
                narrow.run(self.level, bytemuck::cast_slice(values), dst);
            } else {
                self.round_each(values, dst, place.itemsize(), index * TILE)?;
            }
        }
        Ok(())
    }

    /// What values are clamped to when saturating, or the range in which nothing overflows.
    fn bounds<W: Wide>(&self) -> [W; 2] {
        let target = self.to.to_real();
        let saturates = self.overflow == Overflow::Saturate;
        match (target.format(), target.integer_range()) {
            (Some(format), _) => {
                let max = format.decode(format.max_code());
                let half_gap = (max - format.decode(format.max_code() - 1)) / 2.0;
                let limit = match (saturates, format.max_code() % 2) {
                    (true, _) => max,
                    // The midpoint to the number that would come next goes to the even code.
                    (false, 0) => max + half_gap,
                    (false, _) => (max + half_gap).next_down(),
                };
                [W::from_f64(-limit), W::from_f64(limit)]
            }
            // A float that truncates to the largest integer may be just below the next one.
            (_, Some((min, max))) if W::DTYPE == DType::F64 => {
                let above = (max + 1) as f64;
                let below = if target.bits() < 64 {
                    ((min - 1) as f64).next_up()
                } else {
                    min as f64
                };
                [W::from_f64(below), W::from_f64(above.next_down())]
            }
            (_, Some((min, max))) => [W::from_i128(min), W::from_i128(max)],
            (None, None) => [W::zeroed(); 2],
        }
    }

    /// Rounds value by value. `start` is the index of the first one in the whole slice.
    fn round_each<W: Wide>(
        &self,
        values: &[W],
        dst: &mut [u8],
        stride: usize,
        start: usize,
    ) -> Result<(), Error> {
        let real = self.to.to_real();
        let target = Target::of(real);
        let width = real.itemsize();
        let mut draws = [0; TILE];
        if let Rounding::Stochastic { seed, offset } = self.rounding {
            let (first, draws) = (
                offset.wrapping_add(start as u64),
                &mut draws[..values.len()],
            );
            simd::run(self.level, Words { seed, first, draws });
        }
        // A real number in a complex place has an imaginary part of zero.
        dst.fill(0);
        for (i, (value, place)) in values.iter().zip(dst.chunks_exact_mut(stride)).enumerate() {
            let rounded = target.round(value.exact(), self.rounding, self.overflow, draws[i]);
            if rounded.overflowed && self.overflow == Overflow::Raise {
                return Err(self.raise(start + i, format!("{value:?}")));
            }
            place[..width].copy_from_slice(&rounded.code.to_le_bytes()[..width]);
        }
        Ok(())
    }

    #[cold]
    fn raise(&self, index: usize, value: String) -> Error {
        let index = if self.from.is_complex() {
            index / 2
        } else {
            index
        };
        let problem = Problem::CastOverflow {
            index,
            value,
            from: self.from,
            to: self.to,
        };
        Error::new("to", problem).hint("overflow=\"saturate\"")
    }
}
