//! Norms of lines of halves: a line is read twice, and its mean and variance come of the first time.

use std::marker::PhantomData;

use super::super::fused::block::Store;
use super::Prepared;
use super::moments::Moments;
use super::scaling::Scaling;
use crate::simd::Body;

/// Whole lines, from line number `first` on.
pub(super) struct Halves<'a, S> {
    prepared: &'a Prepared<'a, f32>,
    first: usize,
    length: usize,
    from: &'a [u16],
    to: &'a mut [u16],
    coded: PhantomData<S>,
}

impl<'a, S> Halves<'a, S> {
    pub(super) fn new(
        prepared: &'a Prepared<'a, f32>,
        [first, length]: [usize; 2],
        from: &'a [u16],
        to: &'a mut [u16],
    ) -> Self {
        Self {
            prepared,
            first,
            length,
            from,
            to,
            coded: PhantomData,
        }
    }
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
