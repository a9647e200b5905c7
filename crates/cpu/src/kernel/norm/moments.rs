//! Mean and variance of numbers from one look at each.

use bytemuck::Zeroable;

use super::super::fused::block::Load;
use super::super::rowwise::{ADDED, LANES, fill_up, fold, fold_half};
use crate::simd;

/// Lanes that moments are taken in: with AVX2 those of more do not stay in registers, since each has
/// three numbers.
const FEW: usize = LANES / 2;

/// What is known of some numbers after one look at each.
#[derive(Clone, Copy, Default)]
pub(super) struct Moments {
    count: f64,
    /// One of the numbers, or zero.
    pub(super) pivot: f32,
    /// The mean of the distances from the pivot.
    pub(super) mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
}

impl Moments {
    pub(super) fn variance(self) -> f64 {
        let variance = self.squares / self.count;
        // NaN is kept.
        if variance < 0.0 { 0.0 } else { variance }
    }

    /// With more numbers. Each lane takes distances from its own first number, so that one far from all
    /// others spoils one lane; then the lanes' means and squares are joined. Good for 16 bits, and some.
    /// Those that are far are asked for ahead.
    #[inline(always)]
    pub(super) fn and<S: Load<f32>, const IS_FAR: bool>(self, codes: &[S::Code]) -> Self {
        let mut all = self;
        for codes in codes.chunks(ADDED) {
            let (whole, rest) = codes.as_chunks::<LANES>();
            let last = fill_up(rest, codes[0]);
            let mut starts = [0.0; FEW];
            starts.copy_from_slice(&S::load_in_vectors(whole.first().unwrap_or(&last))[..FEW]);
            let (mut sums, mut squares) = ([0.0_f32; FEW], [0.0_f32; FEW]);
            for block in whole {
                if IS_FAR {
                    simd::prefetch(block);
                }
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
            // Beyond the numbers there is nothing to take away.
            if squares[i] != f32::INFINITY {
                squares[i] -= sums[i] * mean;
            }
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

    /// The same for mean squares: the mean is taken to be zero.
    #[inline(always)]
    pub(super) fn and_around_zero<S: Load<f32>, const IS_FAR: bool>(
        self,
        codes: &[S::Code],
    ) -> Self {
        let mut all = Self {
            count: self.count + codes.len() as f64,
            ..self
        };
        for codes in codes.chunks(ADDED) {
            let (whole, rest) = codes.as_chunks::<LANES>();
            let mut squares = S::load_in_vectors(&fill_up(rest, S::Code::zeroed()));
            squares.iter_mut().for_each(|x| *x *= *x);
            for block in whole {
                if IS_FAR {
                    simd::prefetch(block);
                }
                for (square, x) in squares.iter_mut().zip(S::load_in_vectors(block)) {
                    *square = x.mul_add(x, *square);
                }
            }
            all.squares += f64::from(fold(squares, |a, b| a + b));
        }
        all
    }
}
