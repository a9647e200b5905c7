//! The mean and deviation of a line, from two looks at it.

use super::super::fused::block::Load;
use super::super::rowwise::{Accumulator, Ahead, FEW, OfBlocks, TOGETHER, sums, sums_of_lines};
use crate::simd;

/// What makes the numbers of a line normal: `(x - center - rest) * scale`.
#[derive(Clone, Copy)]
pub(crate) struct Measured<C> {
    /// The mean, rounded to the width of the elements; zero where lines are not centred.
    pub(crate) center: C,
    /// What that left out.
    pub(crate) rest: C,
    /// One over the deviation.
    pub(crate) scale: C,
}

impl<C: Accumulator> Measured<C> {
    #[inline(always)]
    pub(crate) fn of<const FUSED: bool>(
        centers: bool,
        eps: f64,
        line: &[C],
        ahead: Ahead<'_>,
    ) -> Self {
        let count = line.len() as f64;
        let (mean, squares, rest) = if centers {
            let [first, second] = ahead.shared();
            let [total] = sums::<C, FUSED, 1>(line, first, |x| [x]);
            let mean = C::narrow(total / count);
            let center = mean.wrap::<FUSED>();
            let [squares, rest] = sums::<C, FUSED, 2>(line, second, |x| {
                let below = x - center;
                [below * below, below]
            });
            (mean, squares / count, rest / count)
        } else {
            let [squares] = sums::<C, FUSED, 1>(line, ahead, |x| [x * x]);
            (C::ZERO, squares / count, 0.0)
        };
        Self {
            center: mean,
            rest: C::narrow(rest),
            scale: C::narrow(1.0 / (squares - rest * rest + eps).sqrt()),
        }
    }

    /// A number of the line, normalised.
    #[inline(always)]
    pub(crate) fn normal<const FUSED: bool>(self, x: C) -> C::Lane<FUSED> {
        (x.wrap::<FUSED>() - self.center.wrap() - self.rest.wrap()) * self.scale.wrap()
    }
}

/// The same of some lines.
#[derive(Clone, Copy)]
pub(super) struct MeasuredLines<C> {
    center: [C; TOGETHER],
    rest: [C; TOGETHER],
    scale: [C; TOGETHER],
}

impl<C: Accumulator> MeasuredLines<C> {
    /// Lines that are read for the first time.
    #[inline(always)]
    pub(super) fn of<S: Load<C>, const FUSED: bool>(
        centers: bool,
        eps: f64,
        length: usize,
        x: &[S::Code],
    ) -> Self {
        let count = length as f64;
        let mut center = [C::ZERO; TOGETHER];
        if centers {
            let [totals] = sums_of_lines::<C, S, FUSED, 1>(length, [x, x], &Numbers);
            for (center, total) in center.iter_mut().zip(totals) {
                *center = C::narrow(total / count);
            }
        }
        let [squares, rest] = sums_of_lines::<C, S, FUSED, 2>(length, [x, x], &Below(&center));
        let (mut rests, mut scale) = ([C::ZERO; TOGETHER], [C::ZERO; TOGETHER]);
        for line in 0..TOGETHER {
            let rest = if centers { rest[line] / count } else { 0.0 };
            rests[line] = C::narrow(rest);
            scale[line] = C::narrow(1.0 / (squares[line] / count - rest * rest + eps).sqrt());
        }
        Self {
            center,
            rest: rests,
            scale,
        }
    }

    #[inline(always)]
    pub(super) fn at(&self, line: usize) -> Measured<C> {
        Measured {
            center: self.center[line],
            rest: self.rest[line],
            scale: self.scale[line],
        }
    }
}

/// Numbers that are read for the first time.
struct Numbers;

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 1> for Numbers {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        _at: [usize; 2],
        x: &[S::Code; FEW],
        _y: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        simd::prefetch(x);
        [S::load_in_vectors(x)]
    }
}

/// The squares of the distances from centers, and the distances.
struct Below<'a, C>(&'a [C; TOGETHER]);

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 2> for Below<'_, C> {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        [line, _]: [usize; 2],
        x: &[S::Code; FEW],
        _y: &[S::Code; FEW],
    ) -> [[C; FEW]; 2] {
        let (mut below, mut squares) = (S::load_in_vectors(x), [C::ZERO; FEW]);
        for (below, square) in below.iter_mut().zip(&mut squares) {
            let away = below.wrap::<FUSED>() - self.0[line].wrap();
            (*below, *square) = (C::unwrap(away), C::unwrap(away * away));
        }
        [squares, below]
    }
}
