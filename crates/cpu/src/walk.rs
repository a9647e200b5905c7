//! Several layouts of one shape in row-major order, from any element on.

use allotrope_op::{Dims, Layout};

/// Layouts of one shape as loops in row-major order, outermost first.
pub(crate) struct Walk<const N: usize> {
    offsets: [usize; N],
    /// The count of each loop and the strides of the layouts; neighbours that step evenly are one.
    loops: Dims<(usize, [isize; N])>,
}

/// Consecutive elements that each layout steps through evenly.
pub(crate) struct Run<const N: usize> {
    /// How many elements the walk has visited before.
    pub(crate) at: usize,
    /// The number of elements.
    pub(crate) length: usize,
    /// Where the first of them lies in each layout.
    pub(crate) places: [usize; N],
    /// How far apart they lie.
    pub(crate) strides: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// The loops over layouts, which all must have one shape.
    pub(crate) fn new(layouts: [&Layout; N]) -> Self {
        let mut loops: Dims<(usize, [isize; N])> = Dims::new();
        let sizes = layouts.first().map_or(&[][..], |first| first.shape());
        for (dim, count) in sizes.iter().copied().enumerate() {
            if count == 1 {
                continue;
            }
            let strides = layouts.map(|layout| layout.strides()[dim]);
            match loops.last_mut() {
                Some(outer)
                    if (0..N).all(|i| outer.1[i] == strides[i].wrapping_mul(count as isize)) =>
                {
                    *outer = (outer.0 * count, strides);
                }
                _ => loops.push((count, strides)),
            }
        }
        if loops.is_empty() {
            loops.push((1, [0; N]));
        }
        Self {
            offsets: layouts.map(Layout::offset),
            loops,
        }
    }

    /// Runs of one length that lie evenly: how many, the first, and how far apart their places are.
    pub(crate) fn even_runs(&self) -> Option<(usize, Run<N>, [isize; N])> {
        let &[(count, steps), (length, strides)] = &self.loops[..] else {
            return None;
        };
        let first = Run {
            at: 0,
            length,
            places: self.offsets,
            strides,
        };
        Some((count, first, steps))
    }

    /// Visits `length` elements from number `start` on, which must exist.
    #[inline]
    pub(crate) fn for_each_run(&self, start: usize, length: usize, mut visit: impl FnMut(Run<N>)) {
        if length == 0 {
            return;
        }
        // The counters of all loops at `start`.
        let mut counters: Dims<usize> = Dims::from_elem(0, self.loops.len());
        let mut places = self.offsets.map(|offset| offset as isize);
        let mut left = start;
        for (counter, (count, strides)) in counters.iter_mut().zip(&self.loops).rev() {
            *counter = left % count;
            left /= count;
            for (place, stride) in places.iter_mut().zip(strides) {
                *place += *counter as isize * stride;
            }
        }
        let inner = self.loops.len() - 1;
        let (count, strides) = self.loops[inner];
        let mut at = 0;
        while at < length {
            let run = (count - counters[inner]).min(length - at);
            visit(Run {
                at,
                length: run,
                places: places.map(|place| place as usize),
                strides,
            });
            at += run;
            counters[inner] += run;
            for (place, stride) in places.iter_mut().zip(strides) {
                *place += run as isize * stride;
            }
            // An odometer: a loop that is through starts again and turns the one outside it.
            let mut dim = inner;
            while dim > 0 && counters[dim] == self.loops[dim].0 {
                let (through, outer) = (&self.loops[dim], &self.loops[dim - 1]);
                for (i, place) in places.iter_mut().enumerate() {
                    *place += outer.1[i] - through.0 as isize * through.1[i];
                }
                counters[dim] = 0;
                dim -= 1;
                counters[dim] += 1;
            }
        }
    }
}
