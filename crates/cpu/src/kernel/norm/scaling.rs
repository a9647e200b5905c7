//! The numbers of a line normalised by its moments, a block at a time.

use bytemuck::Zeroable;

use super::super::fused::block::Store;
use super::super::rowwise::{LANES, fill_up};
use super::Prepared;
use super::measure::Measured;
use super::moments::Moments;

/// What makes numbers normal.
#[derive(Clone, Copy)]
pub(super) struct Scaling<'a> {
    prepared: &'a Prepared<'a, f32>,
    pivot: f32,
    mean: f32,
    scale: f32,
}

impl<'a> Scaling<'a> {
    #[inline(always)]
    pub(super) fn new(prepared: &'a Prepared<'a, f32>, moments: Moments) -> Self {
        let variance = moments.variance() + prepared.norm.eps;
        Self {
            prepared,
            pivot: moments.pivot,
            mean: moments.mean as f32,
            scale: (1.0 / variance.sqrt()) as f32,
        }
    }

    /// The same of a line that was looked at twice.
    #[inline(always)]
    pub(super) fn of(prepared: &'a Prepared<'a, f32>, measured: Measured<f32>) -> Self {
        Self {
            prepared,
            pivot: measured.center,
            mean: measured.rest,
            scale: measured.scale,
        }
    }

    /// The same by a mean, and the means of the squares of distances from it and of the distances.
    pub(super) fn around(
        prepared: &'a Prepared<'a, f32>,
        mean: f32,
        [squares, rest]: [f64; 2],
    ) -> Self {
        let rest = if prepared.norm.centers { rest } else { 0.0 };
        Self {
            prepared,
            pivot: mean,
            mean: rest as f32,
            scale: (1.0 / (squares - rest * rest + prepared.norm.eps).sqrt()) as f32,
        }
    }

    /// Part of a line: the numbers of its first element among all and in the line, and the length of
    /// the line.
    #[inline(always)]
    pub(super) fn apply<S: Store<f32>>(
        self,
        [start, in_line, length]: [usize; 3],
        from: &[S::Code],
        to: &mut [S::Code],
    ) {
        let Self {
            pivot, mean, scale, ..
        } = self;
        let Prepared { norm, weight, bias } = self.prepared;
        // The distance from the pivot is nearly exact, and so is its mean, unless the pivot is far from
        // all others: then both have as many digits too few as it is farther, of those of float32.
        let normal = |x: &mut f32| *x = ((*x - pivot) - mean) * scale;
        if norm.weight.is_none() && norm.bias.is_none() {
            for_each_block::<S>(from, to, |_, values| values.iter_mut().for_each(normal));
        } else if norm.period == 1 && weight.len() == length {
            for_each_block::<S>(from, to, |place, values| {
                values.iter_mut().for_each(normal);
                let place = in_line + place;
                let terms = weight[place..].iter().zip(&bias[place..]);
                for (x, (weight, bias)) in values.iter_mut().zip(terms) {
                    *x = *x * weight + bias;
                }
            });
        } else {
            let mut channel = start / norm.period % weight.len();
            let mut left = norm.period - start % norm.period;
            for_each_block::<S>(from, to, |_, values| {
                values.iter_mut().for_each(normal);
                let mut values = &mut values[..];
                while !values.is_empty() {
                    let (same, others) = values.split_at_mut(left.min(values.len()));
                    let (factor, summand) = (weight[channel], bias[channel]);
                    same.iter_mut().for_each(|x| *x = *x * factor + summand);
                    left -= same.len();
                    if left == 0 {
                        (channel, left) = ((channel + 1) % weight.len(), norm.period);
                    }
                    values = others;
                }
            });
        }
    }
}

/// Makes new values of a line's, a block at a time: the place of the first, and the values.
#[inline(always)]
fn for_each_block<S: Store<f32>>(
    from: &[S::Code],
    to: &mut [S::Code],
    mut work: impl FnMut(usize, &mut [f32; LANES]),
) {
    let ((from, from_rest), (to, to_rest)) = (from.as_chunks(), to.as_chunks_mut());
    let mut place = 0;
    for (from, to) in from.iter().zip(to) {
        let mut values = S::load_in_vectors(from);
        work(place, &mut values);
        *to = S::store(values);
        place += LANES;
    }
    if !from_rest.is_empty() {
        let mut values = S::load_in_vectors(&fill_up(from_rest, S::Code::zeroed()));
        work(place, &mut values);
        to_rest.copy_from_slice(&S::store(values)[..to_rest.len()]);
    }
}
