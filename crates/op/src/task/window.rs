//! Windows over grids: pooling, interpolation, im2col.
//!
//! A grid is the last dimensions of an input, of which the axes say the sizes; where there are fewer
//! than axes, the first of these are of one element. What comes before is planes.

use super::Axis;
use crate::Program;

/// Work on every window of every plane.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Window<'a> {
    /// The greatest of each window, NaN if there is one. Reads real numbers; writes as many as there
    /// are windows in their dtype and, as a second output if that is asked for, the place of each in
    /// its plane, int64: the first of equals, the first NaN.
    MaxPool {
        /// The windows.
        axes: [Axis; 3],
        /// Whether places are asked for.
        has_places: bool,
    },
    /// Numbers in the places of each plane that pooling took them from, zero elsewhere; of several
    /// with one place the last stays. Reads contiguous numbers and their places, int64; writes
    /// planes, and raises an index error for a place outside its plane.
    MaxUnpool {
        /// How many dimensions a plane has.
        rank: usize,
        /// How many elements a plane of the output has.
        plane: usize,
    },
    /// The sums of numbers in the places of each plane that pooling took them from, rounded once,
    /// zero elsewhere. Reads numbers and their places, contiguous int64 that exist; writes planes.
    MaxPoolBackward {
        /// How many dimensions a plane has.
        rank: usize,
        /// How many elements a plane of the output has.
        plane: usize,
    },
    /// The mean of each window of what a program makes of an input, summed in more digits and rounded
    /// once. Reads the input of the program; writes as many numbers as there are windows.
    AvgPool {
        /// What is summed: floats of 32 or 64 bits, or complex numbers of such.
        program: &'a Program,
        /// The windows.
        axes: [Axis; 3],
        /// What sums are divided by.
        divisor: Divisor,
    },
    /// One element of a grid for each result. Reads `[batch, channels, depth, height, width]`; writes
    /// the elements at every choice of one place per axis, in the dtype of the input.
    Nearest {
        /// The places along each axis.
        places: [&'a [usize]; 3],
    },
    /// Sums of elements of a grid with weights. Reads floats or complex numbers `[batch, channels,
    /// depth, height, width]`; writes the results of every choice of one result per axis, computed in
    /// the compute dtype and rounded once.
    Interpolate {
        /// What results are made of along each axis.
        weights: [AxisWeights<'a>; 3],
    },
    /// Images of which each place is the sum of what windows have there, also known as col2im. Reads
    /// contiguous `[planes, taps, windows]`; writes `[planes, rows, columns]` in the same dtype.
    Fold {
        /// The windows over rows and columns.
        axes: [Axis; 2],
    },
}

/// What the sum of a window is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Divisor {
    /// The elements that lie within the grid.
    Elements,
    /// The places that lie within the grid or this many padded places after it on each axis.
    Places([usize; 3]),
    /// The same for every window.
    Constant(f64),
}

/// The elements and weights of every result along an axis, equally many for each.
#[derive(Clone, Copy, Debug)]
pub struct AxisWeights<'a> {
    /// Elements per result.
    pub taps: usize,
    /// Where they are; of those beyond an edge, the outermost.
    pub places: &'a [usize],
    /// How much of each.
    pub weights: &'a [f64],
}

impl AxisWeights<'_> {
    /// How many results there are.
    #[must_use]
    #[inline]
    pub fn results(&self) -> usize {
        self.places.len() / self.taps.max(1)
    }

    /// The elements and weights of a result.
    #[inline]
    pub fn of(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let part = index * self.taps..(index + 1) * self.taps;
        let places = self.places[part.clone()].iter().copied();
        places.zip(self.weights[part].iter().copied())
    }
}
