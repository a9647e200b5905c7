//! Normal numbers.

use allotrope_dtype::{DType, Element, Level, dispatch, encode_slice};

use super::part::{Drawn, Part};
use super::{Span, Stream, TILE, for_each_tile};
use crate::simd::{self, Body};

/// Fills `target` with normal numbers of these moments. The parts of a complex
/// number have half the variance each, and the mean is real. Integers and bool have no such numbers.
///
/// Computed in the compute type, and rounded to nearest from it. Elements `2k` and `2k + 1` are the
/// two numbers of one pair of Box and Muller, and so are the parts of a complex number. The largest
/// magnitude is 6.8 deviations from 32 random bits, and 9.5 from the 64 of float64.
pub fn normal(level: Level, stream: Stream, moments: Moments<'_>, dtype: DType, target: &mut [u8]) {
    dispatch!(dtype, |T: Inexact| fill::<T>(
        level,
        stream,
        moments,
        bytemuck::cast_slice_mut(target)
    ), else ());
}

/// The mean and the standard deviation of normal numbers.
#[derive(Clone, Copy, Debug)]
pub enum Moments<'a> {
    /// The same for every element.
    All(f64, f64),
    /// One of each for every element.
    Each(&'a [f64], &'a [f64]),
}

fn fill<T: Element<Compute: Drawn>>(
    level: Level,
    stream: Stream,
    moments: Moments<'_>,
    target: &mut [T],
) {
    for_each_tile(stream, target, |span, start, tile| {
        let moments = match moments {
            Moments::Each(means, deviations) => {
                let range = start..start + tile.len();
                Moments::Each(&means[range.clone()], &deviations[range])
            }
            all @ Moments::All(..) => all,
        };
        if T::DTYPE == T::Compute::DTYPE {
            let tile: &mut [T::Compute] = bytemuck::cast_slice_mut(tile);
            return simd::run(
                level,
                Tile {
                    span,
                    moments,
                    tile,
                },
            );
        }
        let mut drawn = [0.0_f32; TILE];
        let drawn = &mut drawn[..tile.len()];
        let scaled = Tile {
            span,
            moments,
            tile: &mut *drawn,
        };
        simd::run(level, scaled);
        let encoded = encode_slice::<T>(bytemuck::cast_slice(drawn), tile);
        debug_assert!(encoded.is_ok(), "a tile has one length");
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
