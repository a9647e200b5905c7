//! Normal numbers.
//!
//! Box and Muller's, in unfused arithmetic, so that every CPU gives the same bits.

use allotrope_dtype::{DType, Level, c64, c128};

use super::uniform_bits::{Drawn, Part};
use super::{Span, Stream, TILE, encode, for_each_tile_of};
use crate::simd::{self, Body};

/// Fills `target` with normal numbers of these moments. The parts of a complex
/// number have half the variance each, and the mean is real. Integers and bool have no such numbers.
///
/// Computed in the compute type, and rounded to nearest from it. Elements `2k` and `2k + 1` are the
/// two numbers of one pair of Box and Muller, and so are the parts of a complex number. The largest
/// magnitude is 6.8 deviations from 32 random bits, and 9.5 from the 64 of float64.
pub fn normal(level: Level, stream: Stream, moments: Moments<'_>, dtype: DType, target: &mut [u8]) {
    let fill = match dtype.compute() {
        DType::F32 => fill::<f32>,
        DType::F64 => fill::<f64>,
        DType::C64 => fill::<c64>,
        DType::C128 => fill::<c128>,
        _ => return,
    };
    fill(level, stream, moments, dtype, target);
}

/// The mean and the standard deviation of normal numbers.
#[derive(Clone, Copy, Debug)]
pub enum Moments<'a> {
    /// The same for every element.
    All(f64, f64),
    /// One of each for every element.
    Each(&'a [f64], &'a [f64]),
}

fn fill<C: Drawn>(
    level: Level,
    stream: Stream,
    moments: Moments<'_>,
    dtype: DType,
    target: &mut [u8],
) {
    for_each_tile_of(level, dtype, stream, target, &|span, start, tile| {
        let count = tile.len() / dtype.itemsize();
        let moments = match moments {
            Moments::Each(means, deviations) => {
                let range = start..start + count;
                Moments::Each(&means[range.clone()], &deviations[range])
            }
            all @ Moments::All(..) => all,
        };
        let mut drawn = [C::zeroed(); TILE];
        let numbers = if dtype == C::DTYPE {
            bytemuck::cast_slice_mut(&mut *tile)
        } else {
            &mut drawn[..count]
        };
        let scaled = Tile {
            span,
            moments,
            tile: numbers,
        };
        simd::run(level, scaled);
        if dtype != C::DTYPE {
            let numbers = bytemuck::cast_slice(&drawn[..count]);
            encode(level, C::DTYPE, numbers, dtype, tile);
        }
    });
}

/// Fills a tile of a compute type.
struct Tile<'a, C> {
    span: Span,
    moments: Moments<'a>,
    tile: &'a mut [C],
}

impl<C: Drawn> Body for Tile<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        C::normal(self.span, self.tile);
        match self.moments {
            Moments::All(mean, deviation) => {
                let (mean, deviation) = (C::Part::from_f64(mean), C::Part::from_f64(deviation));
                for x in self.tile {
                    *x = x.scale(mean, deviation);
                }
            }
            Moments::Each(means, deviations) => {
                for ((x, mean), deviation) in self.tile.iter_mut().zip(means).zip(deviations) {
                    *x = x.scale(C::Part::from_f64(*mean), C::Part::from_f64(*deviation));
                }
            }
        }
    }
}
