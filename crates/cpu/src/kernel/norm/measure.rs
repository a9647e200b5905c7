//! The mean and deviation of a line, from two looks at it.

use super::super::rowwise::{Accumulator, Ahead, sums};

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
