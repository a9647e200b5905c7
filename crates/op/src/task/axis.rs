//! Windows along one axis of a grid: where they begin, what of them lies within, whom an element
//! belongs to.

use std::ops::Range;

/// An axis of a grid and the windows over it.
///
/// ```
/// use allotrope_op::task::Axis;
/// let axis = Axis { padding: 1, ..Axis::sliding(5, 3, 2, 3) };
/// assert_eq!((axis.first(0), axis.first(1)), (-1, 1));
/// assert_eq!(axis.taps_inside(0), 1..3);
/// assert_eq!(axis.outputs_of(0), 1..3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The size of the grid.
    pub input: usize,
    /// The number of windows.
    pub output: usize,
    /// The elements of a window; for adaptive ones of the longest.
    pub kernel: usize,
    /// From the start of a window to that of the next.
    pub stride: usize,
    /// Places before the grid.
    pub padding: usize,
    /// From an element of a window to the next.
    pub dilation: usize,
    /// Whether the windows share the grid out instead: the `i`th reaches from `⌊i n / m⌋` to
    /// `⌈(i + 1) n / m⌉`.
    pub is_adaptive: bool,
}

impl Axis {
    /// An axis of one element.
    pub const SINGLE: Self = Self::sliding(1, 1, 1, 1);

    /// Windows of `kernel` elements, `stride` apart, without padding.
    #[must_use]
    #[inline]
    pub const fn sliding(input: usize, kernel: usize, stride: usize, output: usize) -> Self {
        Self {
            input,
            output,
            kernel,
            stride,
            padding: 0,
            dilation: 1,
            is_adaptive: false,
        }
    }

    /// Windows that share the grid out; sliding ones where they are all alike.
    #[must_use]
    pub fn adaptive(input: usize, output: usize) -> Self {
        if output > 0 && input.is_multiple_of(output) {
            return Self::sliding(input, input / output, input / output, output);
        }
        Self {
            is_adaptive: true,
            ..Self::sliding(input, longest_share(input, output), 1, output)
        }
    }

    /// Where a window begins, possibly before the grid.
    #[must_use]
    #[inline]
    pub const fn first(&self, output: usize) -> isize {
        if self.is_adaptive {
            scale(output, self.input, self.output) as isize
        } else {
            (output * self.stride) as isize - self.padding as isize
        }
    }

    /// The taps of a window that lie within the grid.
    #[must_use]
    #[inline]
    pub fn taps_inside(&self, output: usize) -> Range<usize> {
        if self.is_adaptive {
            let start = scale(output, self.input, self.output);
            // ⌈(o + 1) n / m⌉ = n - ⌊(m - o - 1) n / m⌋
            let end = self.input - scale(self.output - output - 1, self.input, self.output);
            return 0..end - start;
        }
        let first = self.first(output);
        let step = self.dilation as isize;
        let before = (-first).max(0).unsigned_abs().div_ceil(self.dilation);
        let room = (self.input as isize - first + step - 1)
            .max(0)
            .unsigned_abs();
        let end = (room / self.dilation).min(self.kernel);
        before.min(end)..end
    }

    /// The same windows without the taps that lie beyond the grid in every one of them: however large
    /// windows and paddings are, there are no more taps left than the grid and the windows have
    /// elements. What counts padded places must ask the windows as they were.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        if self.is_adaptive || self.output == 0 || self.kernel == 0 {
            return *self;
        }
        // The last window begins the furthest within, the first one ends the furthest beyond.
        let before = (-self.first(self.output - 1)).max(0).unsigned_abs();
        let start = (before / self.dilation).min(self.kernel - 1);
        let end = self.taps_inside(0).end.max(start + 1);
        Self {
            kernel: end - start,
            padding: self.padding - start * self.dilation,
            ..*self
        }
    }

    /// Where a tap of a window lies; it must be within the grid.
    #[must_use]
    #[inline]
    pub const fn place(&self, output: usize, tap: usize) -> usize {
        (self.first(output) + (tap * self.dilation) as isize) as usize
    }

    /// The sliding windows of which a tap lies within the grid.
    #[must_use]
    #[inline]
    pub fn outputs_of(&self, tap: usize) -> Range<usize> {
        let offset = (tap * self.dilation) as isize - self.padding as isize;
        let start = (-offset).max(0).unsigned_abs().div_ceil(self.stride);
        let room = (self.input as isize - offset).max(0).unsigned_abs();
        let end = room.div_ceil(self.stride).min(self.output);
        start.min(end)..end
    }

    /// The part of the grid between the first and the last element of some windows.
    #[must_use]
    #[inline]
    pub fn reach(&self, outputs: &Range<usize>) -> Range<usize> {
        if outputs.is_empty() {
            return 0..0;
        }
        let last = outputs.end - 1;
        let end = if self.is_adaptive {
            self.first(last) + self.taps_inside(last).len() as isize
        } else {
            self.first(last) + ((self.kernel - 1) * self.dilation) as isize + 1
        };
        let within = |place: isize| place.max(0).unsigned_abs().min(self.input);
        let start = within(self.first(outputs.start));
        start..within(end).max(start)
    }
}

/// `⌊index × input / output⌋` without overflow.
#[inline]
const fn scale(index: usize, input: usize, output: usize) -> usize {
    (index as u128 * input as u128 / output as u128) as usize
}

/// The elements of the longest of `output` windows that share `input` out, of which there is no whole
/// number each: a window begins at most a greatest common divisor before the next element.
fn longest_share(input: usize, output: usize) -> usize {
    if output == 0 {
        return 0;
    }
    let (each, rest) = (input / output, input % output);
    let (mut divisor, mut other) = (output, rest);
    while other > 0 {
        (divisor, other) = (other, divisor % other);
    }
    each + if rest > divisor { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn trimmed_windows_have_the_same_elements() {
        let within = |axis: &Axis, output: usize| -> Vec<usize> {
            let taps = axis.taps_inside(output);
            taps.map(|tap| axis.place(output, tap)).collect()
        };
        for input in 1..6_usize {
            for (kernel, dilation, stride) in
                (1..6).flat_map(|k| (1..4).flat_map(move |d| (1..4).map(move |s| (k, d, s))))
            {
                let reach = (kernel - 1) * dilation + 1;
                for padding in 0..=reach / 2 {
                    for output in 1..=(input + padding).div_ceil(stride) {
                        let axis = Axis {
                            padding,
                            dilation,
                            ..Axis::sliding(input, kernel, stride, output)
                        };
                        let trimmed = axis.trimmed();
                        assert!(trimmed.kernel <= kernel.min(input + output * stride));
                        for window in 0..output {
                            let (own, other) = (within(&axis, window), within(&trimmed, window));
                            assert_eq!(own, other, "{axis:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn windows_beyond_memory_are_trimmed() {
        let axis = Axis {
            padding: 1 << 31,
            ..Axis::sliding(4, 1 << 32, 1 << 32, 1)
        };
        assert_eq!(axis.trimmed().kernel, 4);
    }

    #[test]
    fn the_longest_share_is_that_of_all_windows() {
        for input in 1..40 {
            for output in 1..90 {
                let axis = Axis::adaptive(input, output);
                let lengths = (0..output).map(|o| axis.taps_inside(o).len());
                assert_eq!(lengths.max(), Some(axis.kernel), "{input} by {output}");
            }
        }
    }
}
