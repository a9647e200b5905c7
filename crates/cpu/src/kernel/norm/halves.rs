//! Norms of lines of halves: a line is read twice, and its mean and variance come of the first time.

use std::marker::PhantomData;

use super::super::fused::block::Store;
use super::Prepared;
use super::moments::Moments;
use super::scaling::Scaling;
use crate::simd::Body;

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
        let lines = self.from.chunks_exact(self.length);
        for (line, (from, to)) in lines.zip(self.to.chunks_exact_mut(self.length)).enumerate() {
            let moments = Moments::default();
            let moments = if self.prepared.norm.centers {
                moments.and::<S, true>(from)
            } else {
                moments.and_around_zero::<S, true>(from)
            };
            let scaling = Scaling::new(self.prepared, moments);
            let start = (self.first + line) * self.length;
            scaling.apply::<S>([start, 0, self.length], from, to);
        }
    }
}
