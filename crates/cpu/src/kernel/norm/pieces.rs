//! Norms of long lines that are converted: read twice, a piece at a time, so that values before and
//! after stay in the first-level cache.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};

use super::super::rows::ADDED;
use super::Prepared;
use super::moments::Moments;
use super::scaling::Scaling;
use crate::parallel;
use crate::simd::{self, Body};
use crate::tile::Source;

/// Elements of a piece.
const PIECE: usize = ADDED;

/// Whether lines are longer than pieces. The baseline has no fused steps, which these loops are of.
pub(super) fn are_pieces_better(level: Level, length: usize) -> bool {
    level > Level::Scalar && length > PIECE
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
    parallel::try_for_each_part(out, length * size, |line, out| {
        let (mut from, mut to) = ([0.0; PIECE], [0.0; PIECE]);
        let mut scratch = Scratch::default();
        let mut moments = Moments::default();
        for place in (0..length).step_by(PIECE) {
            let from = &mut from[..PIECE.min(length - place)];
            let first = line * length + place;
            source.read(first, from.len(), bytemuck::cast_slice_mut(from))?;
            let more = More {
                centers: prepared.norm.centers,
                from,
                moments: &mut moments,
            };
            simd::run_above_scalar(level, more);
        }
        let scaling = Scaling::new(prepared, moments);
        for (number, out) in out.chunks_mut(PIECE * size).enumerate() {
            let place = number * PIECE;
            let count = out.len() / size;
            let (from, to) = (&mut from[..count], &mut to[..count]);
            let start = line * length + place;
            source.read(start, count, bytemuck::cast_slice_mut(from))?;
            if dtype == DType::F32 {
                let to = bytemuck::cast_slice_mut(out);
                let at = [start, place, length];
                simd::run_above_scalar(
                    level,
                    Scaled {
                        scaling,
                        at,
                        from,
                        to,
                    },
                );
                continue;
            }
            let at = [start, place, length];
            let scaled = Scaled {
                scaling,
                at,
                from,
                to: &mut *to,
            };
            simd::run_above_scalar(level, scaled);
            encode.run(level, bytemuck::cast_slice(to), out, &mut scratch);
        }
        Ok(())
    })
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
            self.moments.and::<f32>(self.from)
        } else {
            self.moments.and_around_zero::<f32>(self.from)
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
