//! From products of queries and keys to weights: a softmax over keys, one query per lane.

use allotrope_op::{Number, elementary};

use super::micro::Micro;
use crate::simd::Body;

/// A float with what a softmax needs.
pub(super) trait Real: Micro {
    const LOWEST: Self;
    fn from_f64(value: f64) -> Self;
    fn exp<const FUSED: bool>(self) -> Self;
    fn times(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn exceeds(self, other: Self) -> bool;
    fn is_zero(self) -> bool;
}

macro_rules! real {
    ($($T:ident, $exp:ident;)*) => {$(
        impl Real for $T {
            const LOWEST: Self = $T::NEG_INFINITY;
            fn from_f64(value: f64) -> Self { value as $T }
            #[inline(always)]
            fn exp<const FUSED: bool>(self) -> Self { elementary::$exp(Number::<$T, FUSED>(self)).0 }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn over(self, other: Self) -> Self { self / other }
            #[inline(always)]
            fn exceeds(self, other: Self) -> bool { self > other }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0.0 }
        }
    )*};
}
real! { f32, exp32; f64, exp64; }

/// One block of products on its way to weights.
pub(super) struct Softmax<'a, T> {
    /// `[keys, lanes]`: products, which become weights.
    pub(super) scores: &'a mut [T],
    pub(super) mask: Option<&'a [T]>,
    pub(super) is_truth: bool,
    pub(super) scale: T,
    /// Per lane: the greatest product so far, the sum of weights, the weighted values.
    pub(super) greatest: &'a mut [T],
    pub(super) totals: &'a mut [T],
    pub(super) sums: &'a mut [T],
    /// The number of the first query minus that of the first key, if later keys do not count.
    pub(super) diagonal: Option<isize>,
}

/// The same for a known number of lanes.
pub(super) struct Wide<'a, T, const LANES: usize>(pub(super) Softmax<'a, T>);

impl<T: Real, const LANES: usize> Body for Wide<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Softmax {
            scores,
            mask,
            is_truth,
            scale,
            greatest,
            totals,
            sums,
            diagonal,
        } = self.0;
        let rows = scores.as_chunks_mut::<LANES>().0;
        if let (Some(greatest), Some(totals)) = (
            greatest.first_chunk_mut::<LANES>(),
            totals.first_chunk_mut::<LANES>(),
        ) {
            let former = *greatest;
            let mut best = former;
            for (key, row) in rows.iter_mut().enumerate() {
                for score in row.iter_mut() {
                    *score = score.times(scale);
                }
                if let Some(mask) = mask {
                    let allowed = &mask[key * LANES..][..LANES];
                    for (score, allowed) in row.iter_mut().zip(allowed) {
                        *score = if !is_truth {
                            score.plus(*allowed)
                        } else if allowed.is_zero() {
                            T::LOWEST
                        } else {
                            *score
                        };
                    }
                }
                if let Some(diagonal) = diagonal {
                    let hidden = (key as isize - diagonal).clamp(0, LANES as isize) as usize;
                    row[..hidden].fill(T::LOWEST);
                }
                for (best, score) in best.iter_mut().zip(&*row) {
                    *best = if score.exceeds(*best) { *score } else { *best };
                }
            }
            // Nothing seen yet: weights of exp(-inf) without exp(inf - inf).
            let mut base = best;
            for base in &mut base {
                *base = if *base == T::LOWEST {
                    T::default()
                } else {
                    *base
                };
            }
            let mut total = [T::default(); LANES];
            for row in rows.iter_mut() {
                for ((score, base), total) in row.iter_mut().zip(&base).zip(&mut total) {
                    *score = score.minus(*base).exp::<FUSED>();
                    *total = total.plus(*score);
                }
            }
            let mut correction = [T::default(); LANES];
            for ((correction, former), base) in correction.iter_mut().zip(&former).zip(&base) {
                *correction = former.minus(*base).exp::<FUSED>();
            }
            for ((old, new), correction) in totals.iter_mut().zip(&total).zip(&correction) {
                *old = old.times(*correction).plus(*new);
            }
            for row in sums.as_chunks_mut::<LANES>().0 {
                for (sum, correction) in row.iter_mut().zip(&correction) {
                    *sum = sum.times(*correction);
                }
            }
            *greatest = best;
        }
    }
}
