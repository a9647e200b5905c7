//! Norms of long lines that are converted: a piece at a time, so that values before and after stay in
//! the caches.

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

/// Elements of a line whose values stay in the second-level cache.
const KEPT: usize = 64 << 10;

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
    // What is decoded stays in the second-level cache until the moments are known.
    let is_kept = length <= KEPT;
    parallel::try_for_each_part(out, length * size, |line, out| {
        let mut values = vec![0.0; if is_kept { length } else { PIECE }];
        let mut to = [0.0; PIECE];
        let mut scratch = Scratch::default();
        let mut moments = Moments::default();
        for place in (0..length).step_by(PIECE) {
            let count = PIECE.min(length - place);
            let start = if is_kept { place } else { 0 };
            let from = &mut values[start..start + count];
            let bytes = bytemuck::cast_slice_mut(from);
            source.read(line * length + place, count, bytes)?;
            let more = More {
                centers: prepared.norm.centers,
                from,
                moments: &mut moments,
            };
            simd::run_above_scalar(level, more);
        }
        let scaling = Scaling::new(prepared, moments);
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
                simd::run_above_scalar(level, scaled);
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
