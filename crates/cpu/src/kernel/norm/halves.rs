//! Norms of lines of halves: a line is read twice, and its mean and variance come of the first time.

use std::marker::PhantomData;

use super::super::fused::block::{Load, Store};
use super::super::rows::{ADDED, LANES, fill_up, fold, fold_half};
use super::Prepared;
use crate::simd::{self, Body};

/// Whole lines, from line number `first` on.
pub(super) struct Halves<'a, S> {
    pub(super) prepared: &'a Prepared<'a, f32>,
    pub(super) first: usize,
    pub(super) length: usize,
    pub(super) from: &'a [u16],
    pub(super) to: &'a mut [u16],
    pub(super) coded: PhantomData<S>,
}

impl<S: Store<f32, Code = u16>> Body for Halves<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Prepared { norm, weight, bias } = self.prepared;
        let is_plain = norm.weight.is_none() && norm.bias.is_none();
        let lines = self.from.chunks_exact(self.length);
        for (line, (from, to)) in lines.zip(self.to.chunks_exact_mut(self.length)).enumerate() {
            let moments = if norm.centers {
                Moments::of::<S>(from)
            } else {
                Moments::around_zero::<S>(from)
            };
            let Moments { pivot, mean, .. } = moments;
            let scale = (1.0 / (moments.variance() + norm.eps).sqrt()) as f32;
            let mean = mean as f32;
            // The distance from the pivot is small and nearly exact, and so is its mean.
            let normal = |x: &mut f32| *x = ((*x - pivot) - mean) * scale;
            if is_plain {
                for_each_block::<S>(from, to, |_, values| values.iter_mut().for_each(normal));
            } else if norm.period == 1 && weight.len() == self.length {
                for_each_block::<S>(from, to, |place, values| {
                    values.iter_mut().for_each(normal);
                    let terms = weight[place..].iter().zip(&bias[place..]);
                    for (x, (weight, bias)) in values.iter_mut().zip(terms) {
                        *x = *x * weight + bias;
                    }
                });
            } else {
                let start = (self.first + line) * self.length;
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
}

/// Makes new values of a line's, a block at a time: the place of the first, and the values.
#[inline(always)]
fn for_each_block<S: Store<f32, Code = u16>>(
    from: &[u16],
    to: &mut [u16],
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
        let mut values = S::load_in_vectors(&fill_up(from_rest, 0));
        work(place, &mut values);
        to_rest.copy_from_slice(&S::store(values)[..to_rest.len()]);
    }
}

/// Lanes that moments are taken in: with AVX2 those of more do not stay in registers, since each has
/// three numbers.
const FEW: usize = LANES / 2;

/// What is known of some numbers after one look at each.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    /// One of the numbers, or zero.
    pivot: f32,
    /// The mean of the distances from the pivot.
    mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
}

impl Moments {
    fn variance(self) -> f64 {
        let variance = self.squares / self.count;
        // NaN is kept.
        if variance < 0.0 { 0.0 } else { variance }
    }

    /// Each lane takes distances from its own first number, so that one far from all others spoils
    /// no more than the last digits; then the lanes' means and squares are joined.
    #[inline(always)]
    fn of<S: Load<f32, Code = u16>>(codes: &[u16]) -> Self {
        let mut all = Self::default();
        for codes in codes.chunks(ADDED) {
            let (whole, rest) = codes.as_chunks::<LANES>();
            let last = fill_up(rest, codes[0]);
            let mut starts = [0.0; FEW];
            starts.copy_from_slice(&S::load_in_vectors(whole.first().unwrap_or(&last))[..FEW]);
            let (mut sums, mut squares) = ([0.0_f32; FEW], [0.0_f32; FEW]);
            for block in whole {
                simd::prefetch(block);
                let values = S::load_in_vectors(block);
                for values in values.as_chunks::<FEW>().0 {
                    for i in 0..FEW {
                        let above = values[i] - starts[i];
                        sums[i] += above;
                        squares[i] = above.mul_add(above, squares[i]);
                    }
                }
            }
            let mut counts = [(whole.len() * LANES / FEW) as f32; FEW];
            if !rest.is_empty() {
                for (place, value) in S::load_in_vectors(&last).into_iter().enumerate() {
                    let (i, is_there) = (place % FEW, place < rest.len());
                    let above = if is_there { value - starts[i] } else { 0.0 };
                    sums[i] += above;
                    squares[i] = above.mul_add(above, squares[i]);
                    counts[i] += f32::from(u8::from(is_there));
                }
            }
            if all.count == 0.0 {
                all.pivot = starts[0];
            }
            all = all.with_lanes(starts, sums, squares, counts, codes.len());
        }
        all
    }

    /// Joined with lanes: where each started, sums and sums of squares of the distances from there,
    /// and how many.
    #[inline(always)]
    fn with_lanes(
        self,
        starts: [f32; FEW],
        sums: [f32; FEW],
        mut squares: [f32; FEW],
        counts: [f32; FEW],
        count: usize,
    ) -> Self {
        let (mut means, mut weighted) = ([0.0; FEW], [0.0; FEW]);
        for i in 0..FEW {
            let mean = sums[i] / counts[i].max(1.0);
            squares[i] -= sums[i] * mean;
            means[i] = (starts[i] - self.pivot) + mean;
            weighted[i] = means[i] * counts[i];
        }
        let add = |a: f32, b: f32| a + b;
        let mean = fold_half(weighted, add) / count as f32;
        for i in 0..FEW {
            let above = means[i] - mean;
            squares[i] += counts[i] * above * above;
        }
        let (added, mean) = (f64::from(fold_half(squares, add)), f64::from(mean));
        let (count, above) = (count as f64, mean - self.mean);
        let share = count / (self.count + count);
        Self {
            count: self.count + count,
            pivot: self.pivot,
            mean: self.mean + above * share,
            squares: self.squares + added + above * above * self.count * share,
        }
    }

    /// For mean squares: the mean is taken to be zero.
    #[inline(always)]
    fn around_zero<S: Load<f32, Code = u16>>(codes: &[u16]) -> Self {
        let mut all = Self {
            count: codes.len() as f64,
            ..Self::default()
        };
        for codes in codes.chunks(ADDED) {
            let (whole, rest) = codes.as_chunks::<LANES>();
            let mut squares = S::load_in_vectors(&fill_up(rest, 0));
            squares.iter_mut().for_each(|x| *x *= *x);
            for block in whole {
                simd::prefetch(block);
                for (square, x) in squares.iter_mut().zip(S::load_in_vectors(block)) {
                    *square = x.mul_add(x, *square);
                }
            }
            all.squares += f64::from(fold(squares, |a, b| a + b));
        }
        all
    }
}
