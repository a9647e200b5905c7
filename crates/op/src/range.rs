//! Ranges of Rust as slices of a dimension.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::Slice;

impl Slice {
    /// From one index, up to another and without it, by a step: Python's `start:stop:step`. What a
    /// range cannot say without a warning, such as from 1 to -1, is said here.
    ///
    /// ```
    /// use allotrope_op::{Layout, Shape, Slice};
    /// let layout = Layout::contiguous(Shape::new("arange", &[9])?);
    /// assert_eq!(layout.slice("slice", 0, Slice::new(1, -1, 1))?.shape().count(), 7);
    /// assert_eq!(layout.slice("slice", 0, Slice::new(None, 3, -2))?.offset(), 8);
    /// # Ok::<(), allotrope_op::Error>(())
    /// ```
    pub fn new(
        start: impl Into<Option<isize>>,
        stop: impl Into<Option<isize>>,
        step: isize,
    ) -> Self {
        Self {
            start: start.into(),
            stop: stop.into(),
            step,
        }
    }

    /// The same range with another step. A negative one walks back, from `start` down to `stop`.
    ///
    /// ```
    /// use allotrope_op::{Layout, Shape, Slice};
    /// let layout = Layout::contiguous(Shape::new("arange", &[9])?);
    /// let odd = layout.slice("slice", 0, Slice::from(1..).step_by(2))?;
    /// assert_eq!((odd.shape().count(), odd.strides(), odd.offset()), (4, &[2][..], 1));
    /// let back = layout.slice("slice", 0, Slice::from(..).step_by(-1))?;
    /// assert_eq!((back.shape().count(), back.strides(), back.offset()), (9, &[-1][..], 8));
    /// # Ok::<(), allotrope_op::Error>(())
    /// ```
    #[must_use]
    pub const fn step_by(self, step: isize) -> Self {
        Self { step, ..self }
    }
}

impl Default for Slice {
    fn default() -> Self {
        Self::ALL
    }
}

/// Every index.
impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}

/// From one bound to another, with a step of one.
fn between(start: Option<isize>, stop: Option<isize>) -> Slice {
    Slice {
        start,
        stop,
        step: 1,
    }
}

/// The bound behind an index; behind the last one, which -1 is, there is none.
fn behind(last: isize) -> Option<isize> {
    (last != -1).then(|| last.saturating_add(1))
}

macro_rules! slice_from_ranges {
    ($($integer:ident)*) => {$(
        /// A bound, beyond every tensor if it is beyond every address.
        const _: () = {
            fn bound(bound: $integer) -> isize {
                let beyond = if bound > 0 { isize::MAX } else { isize::MIN };
                isize::try_from(bound).unwrap_or(beyond)
            }

            impl From<Range<$integer>> for Slice {
                fn from(range: Range<$integer>) -> Self {
                    between(Some(bound(range.start)), Some(bound(range.end)))
                }
            }

            impl From<RangeFrom<$integer>> for Slice {
                fn from(range: RangeFrom<$integer>) -> Self {
                    between(Some(bound(range.start)), None)
                }
            }

            impl From<RangeTo<$integer>> for Slice {
                fn from(range: RangeTo<$integer>) -> Self {
                    between(None, Some(bound(range.end)))
                }
            }

            impl From<RangeInclusive<$integer>> for Slice {
                fn from(range: RangeInclusive<$integer>) -> Self {
                    let (start, last) = range.into_inner();
                    between(Some(bound(start)), behind(bound(last)))
                }
            }

            impl From<RangeToInclusive<$integer>> for Slice {
                fn from(range: RangeToInclusive<$integer>) -> Self {
                    between(None, behind(bound(range.end)))
                }
            }
        };
    )*};
}
slice_from_ranges!(i32 i64 isize u32 u64 usize);
