//! Norms of lines of halves: a line is read twice, and its mean and variance come of the first time.
//! Of short lines, which would wait for it, some are measured together, in two looks.

use std::marker::PhantomData;

use super::super::fused::block::Store;
use super::super::rowwise::lines_together;
use super::Prepared;
use super::measure::MeasuredLines;
use super::moments::Moments;
use super::scaling::Scaling;
use crate::simd::Body;

/// The longest lines that are measured together.
const SHORT: usize = 512;

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
        let norm = self.prepared.norm;
        let together = lines_together(self.length);
        let mut measured = None;
        let lines = self.from.chunks_exact(self.length);
        for (line, (from, to)) in lines.zip(self.to.chunks_exact_mut(self.length)).enumerate() {
            if self.length <= SHORT && line % together == 0 {
                let end = self.from.len().min((line + together) * self.length);
                let from = &self.from[line * self.length..end];
                measured = Some(MeasuredLines::of::<S, FUSED>(
                    norm.centers,
                    norm.eps,
                    self.length,
                    from,
                ));
            }
            let scaling = match &measured {
                Some(measured) => Scaling::of(self.prepared, measured.at(line % together)),
                None if norm.centers => {
                    Scaling::new(self.prepared, Moments::default().and::<S, true>(from))
                }
                None => {
                    let moments = Moments::default().and_around_zero::<S, true>(from);
                    Scaling::new(self.prepared, moments)
                }
            };
            let start = (self.first + line) * self.length;
            scaling.apply::<S>([start, 0, self.length], from, to);
        }
    }
}
