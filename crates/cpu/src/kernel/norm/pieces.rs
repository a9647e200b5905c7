//! Norms of long lines that are converted or gathered: a piece at a time, so that values before and
//! after stay in the caches.
//!
//! For results of at most 16 bits mean and variance come of one look at each value; for float32 the
//! variance is that of distances from the mean, as it is of lines that need no conversion.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::Number;

use super::super::rowwise::{ADDED, Ahead, sums};
use super::Prepared;
use super::moments::Moments;
use super::scaling::Scaling;
use crate::buffer::Buffer;
use crate::parallel;
use crate::simd::{self, Body};
use crate::tile::Source;

/// Elements of a piece.
const PIECE: usize = ADDED;

/// Elements of a line whose values stay in the second-level cache.
const KEPT: usize = 64 << 10;

/// Whether lines are longer than pieces, and can be looked at twice where they have to. The baseline has
/// no fused steps, which these loops are of.
pub(super) fn are_pieces_better(level: Level, length: usize, dtype: DType) -> bool {
    level > Level::Scalar && length > PIECE && (length <= KEPT || dtype.bits() <= 16)
}

/// Every line of `length` elements normalised, as `dtype`; at levels above Scalar.
pub(super) fn normalize(
    level: Level,
    source: &Source<'_>,
    length: usize,
    prepared: &Prepared<'_, f32>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let encode = Conversion::new(DType::F32, dtype)?;
    let size = dtype.itemsize();
    // What is decoded stays in the second-level cache until the moments are known.
    let is_kept = length <= KEPT;
    parallel::try_for_each_part(out, length * size, |line, out| {
        let count = if is_kept { length } else { PIECE };
        let mut values = Buffer::for_overwrite("norm", count * size_of::<f32>())?;
        let values = values.elements_mut::<f32>();
        let mut to = [0.0; PIECE];
        let mut scratch = Scratch::default();
        let (mut moments, mut total) = (Moments::default(), 0.0);
        let is_wide = dtype.bits() > 16;
        for place in (0..length).step_by(PIECE) {
            let count = PIECE.min(length - place);
            let start = if is_kept { place } else { 0 };
            let from = &mut values[start..start + count];
            let bytes = bytemuck::cast_slice_mut(from);
            source.read(line * length + place, count, bytes)?;
            if is_wide {
                total += simd::run(level, Total(from));
            } else {
                let more = More {
                    centers: prepared.norm.centers,
                    from,
                    moments: &mut moments,
                };
                simd::run(level, more);
            }
        }
        let scaling = if is_wide {
            let mean = if prepared.norm.centers {
                (total / length as f64) as f32
            } else {
                0.0
            };
            let from = &values[..];
            let [squares, rest] = simd::run(level, Spread { mean, from });
            Scaling::around(
                prepared,
                mean,
                [squares, rest].map(|sum| sum / length as f64),
            )
        } else {
            Scaling::new(prepared, moments)
        };
        for (number, out) in out.chunks_mut(PIECE * size).enumerate() {
            let (place, count) = (number * PIECE, out.len() / size);
            let start = if is_kept { place } else { 0 };
            let from = &mut values[start..start + count];
            if !is_kept {
                let bytes = bytemuck::cast_slice_mut(from);
                source.read(line * length + place, count, bytes)?;
            }
            let at = [line * length + place, place, length];
            let scale = |to: &mut [f32]| {
                let scaled = Scaled {
                    scaling,
                    at,
                    from,
                    to,
                };
                simd::run(level, scaled);
            };
            if dtype == DType::F32 {
                scale(bytemuck::cast_slice_mut(out));
            } else {
                let to = &mut to[..count];
                scale(to);
                encode.run(level, bytemuck::cast_slice(to), out, &mut scratch);
            }
        }
        Ok(())
    })
}

/// The sum of some numbers.
struct Total<'a>(&'a [f32]);

impl Body for Total<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let [total] = sums::<f32, FUSED, 1>(self.0, Ahead::default(), |x| [x]);
        total
    }
}

/// The sums of the squares of distances from a mean, and of the distances.
struct Spread<'a> {
    mean: f32,
    from: &'a [f32],
}

impl Body for Spread<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [f64; 2] {
        let center = Number::<f32, FUSED>(self.mean);
        sums::<f32, FUSED, 2>(self.from, Ahead::default(), |x| {
            let below = x - center;
            [below * below, below]
        })
    }
}

/// Moments with more numbers.
struct More<'a> {
    centers: bool,
    from: &'a [f32],
    moments: &'a mut Moments,
}

impl Body for More<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        *self.moments = if self.centers {
            self.moments.and::<f32, false>(self.from)
        } else {
            self.moments.and_around_zero::<f32, false>(self.from)
        };
    }
}

/// Part of a line, scaled.
struct Scaled<'a> {
    scaling: Scaling<'a>,
    at: [usize; 3],
    from: &'a [f32],
    to: &'a mut [f32],
}

impl Body for Scaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.scaling.apply::<f32>(self.at, self.from, self.to);
    }
}
