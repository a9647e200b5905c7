//! Filters over grids: convolution and its way back.
//!
//! Images are `[batch, channels, depth, height, width]`; grids of fewer dimensions have sizes of one.

use super::Axis;

/// A convolution.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Convolution {
    /// Sums of products of windows with filters. Reads images, filters `[filters, channels of a
    /// group, depth, height, width]` and, if there is one, a bias `[filters]` of the dtype of the
    /// output; writes `[batch, filters, windows]` in the dtype that all operands meet in.
    Forward {
        /// The windows over the images.
        axes: [Axis; 3],
        /// Groups of channels that know nothing of each other.
        groups: usize,
        /// What lies beyond the images.
        edge: Edge,
        /// Whether there is a bias.
        has_bias: bool,
    },
    /// Filters times each element, summed where they overlap. Reads images, filters `[channels,
    /// filters of a group, depth, height, width]` and, if there is one, a bias `[filters]` of the
    /// dtype of the output; writes `[batch, filters, depth, height, width]`.
    Transposed {
        /// The sizes of the images as inputs, those of the result as outputs.
        axes: [Axis; 3],
        /// Groups of channels that know nothing of each other.
        groups: usize,
        /// Whether there is a bias.
        has_bias: bool,
    },
    /// The gradients of filters: what each tap saw times the gradient of its window, summed over all
    /// windows. Reads images and gradients of windows `[batch, filters, depth, height, width]`; writes
    /// `[filters, channels of a group, depth, height, width]`.
    Filters {
        /// The windows over the images.
        axes: [Axis; 3],
        /// Groups of channels that know nothing of each other.
        groups: usize,
    },
}

/// What lies beyond the edges of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Edge {
    /// Zeros.
    #[default]
    Zeros,
    /// The grid mirrored at its outermost elements.
    Reflect,
    /// The outermost elements.
    Replicate,
    /// The grid again.
    Circular,
}

impl Edge {
    /// Where the element of a place beyond the grid is found; none is zero.
    ///
    /// ```
    /// use allotrope_op::task::Edge;
    /// assert_eq!(Edge::Reflect.place(-2, 5), Some(2));
    /// assert_eq!(Edge::Zeros.place(5, 5), None);
    /// ```
    #[must_use]
    #[inline]
    pub fn place(self, place: isize, size: usize) -> Option<usize> {
        let last = size as isize - 1;
        if (0..=last).contains(&place) {
            return Some(place as usize);
        }
        match self {
            Self::Zeros => None,
            Self::Replicate => Some(place.clamp(0, last) as usize),
            Self::Circular => Some(place.rem_euclid(size as isize) as usize),
            Self::Reflect if last == 0 => Some(0),
            Self::Reflect => {
                let folded = place.rem_euclid(2 * last);
                Some(folded.min(2 * last - folded) as usize)
            }
        }
    }
}
