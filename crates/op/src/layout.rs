//! Layouts: where each element of a tensor lies in its buffer. Every view is a change of layout.

use smallvec::SmallVec;

use crate::per_dim::PerDim;
use crate::shape::{Dims, Shape, normalize_axes, normalize_axes_or_none, normalize_axis};
use crate::{Error, Problem};

/// A range of one dimension with a step, as in Python: negative bounds count from the end, and
/// bounds beyond the ends are moved to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The first index; `None` is the end that the step starts from.
    pub start: Option<isize>,
    /// The index to stop before; `None` is the end that the step goes to.
    pub stop: Option<isize>,
    /// The step, which is never zero.
    pub step: isize,
}

impl Slice {
    /// Every index.
    pub const ALL: Self = Self {
        start: None,
        stop: None,
        step: 1,
    };

    /// First index and number of indices in a dimension of `size`, as Python's `slice.indices`.
    fn resolve(self, size: usize) -> (isize, usize) {
        let size = size as isize;
        let (low, high) = if self.step > 0 {
            (0, size)
        } else {
            (-1, size - 1)
        };
        let clamp = |bound: isize| {
            let bound = if bound < 0 {
                bound.saturating_add(size)
            } else {
                bound
            };
            bound.clamp(low, high)
        };
        let start = self
            .start
            .map_or(if self.step > 0 { low } else { high }, clamp);
        let stop = self
            .stop
            .map_or(if self.step > 0 { high } else { low }, clamp);
        let span = if self.step > 0 {
            stop - start
        } else {
            start - stop
        };
        let count = if span > 0 {
            (span as usize).div_ceil(self.step.unsigned_abs())
        } else {
            0
        };
        (start, count)
    }
}

/// Sizes, strides and offset, all in elements. Strides may be zero (broadcast) or negative.
///
/// ```
/// use allotrope_op::{Layout, Shape, Slice};
/// let layout = Layout::contiguous(Shape::new("arange", &[2, 3])?);
/// let reversed = layout.slice("flip", 1, Slice { step: -1, ..Slice::ALL })?;
/// assert_eq!((reversed.strides(), reversed.offset()), (&[3, -1][..], 2));
/// # Ok::<(), allotrope_op::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: PerDim<isize>,
    offset: usize,
}

impl Layout {
    /// Row-major, from the start of the buffer.
    #[must_use]
    #[inline]
    pub fn contiguous(shape: Shape) -> Self {
        let strides = match shape.len() {
            0 => PerDim::new(&[]),
            1 => PerDim::new(&[1]),
            _ => PerDim::new(&shape.contiguous_strides()),
        };
        Self {
            shape,
            strides,
            offset: 0,
        }
    }

    /// A layout from its parts; there must be a stride per dimension.
    #[must_use]
    pub fn from_parts(shape: Shape, strides: Dims<isize>, offset: usize) -> Self {
        debug_assert_eq!(shape.rank(), strides.len());
        Self {
            shape,
            strides: PerDim::new(&strides),
            offset,
        }
    }

    /// The sizes.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The strides, in elements.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Where the first element lies.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Whether the elements lie in row-major order without gaps.
    #[must_use]
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        if let [stride] = self.strides[..] {
            return stride == 1 || self.shape[0] <= 1;
        }
        let mut expected = 1_isize;
        self.shape.count() == 0
            || self
                .shape
                .iter()
                .zip(self.strides.iter())
                .rev()
                .all(|(size, stride)| {
                    let fits = *size == 1 || *stride == expected;
                    expected *= *size as isize;
                    fits
                })
    }

    /// Whether elements repeat along a dimension: one place in memory is several elements.
    #[must_use]
    pub fn repeats(&self) -> bool {
        let mut dims = self.shape.iter().zip(self.strides.iter());
        self.shape.count() > 0 && dims.any(|(size, stride)| *size > 1 && *stride == 0)
    }

    /// Whether two elements may be one place in memory, as in windows that overlap.
    ///
    /// ```
    /// use allotrope_op::{Layout, Shape};
    /// let layout = Layout::contiguous(Shape::new("arange", &[4])?);
    /// assert!(!layout.may_repeat());
    /// assert!(layout.unfold("unfold", 0, 2, 1)?.may_repeat());
    /// # Ok::<(), allotrope_op::Error>(())
    /// ```
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        let dims = self.shape.iter().zip(self.strides.iter());
        let mut dims: Dims<(usize, usize)> = dims
            .filter(|(size, _)| **size > 1)
            .map(|(size, stride)| (stride.unsigned_abs(), *size))
            .collect();
        dims.sort_unstable();
        // Each stride must step over all that the smaller ones reach.
        let mut reach = 0;
        self.shape.count() > 0
            && dims.iter().any(|(stride, size)| {
                let steps_on = *stride <= reach;
                reach += stride * (size - 1);
                steps_on
            })
    }

    /// The first and one past the last element that is touched; `None` if there are no elements.
    #[must_use]
    pub fn extent(&self) -> Option<(usize, usize)> {
        if self.shape.count() == 0 {
            return None;
        }
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (size, stride) in self.shape.iter().zip(self.strides.iter()) {
            let reach = (*size as isize - 1) * stride;
            low += reach.min(0);
            high += reach.max(0);
        }
        Some((low as usize, high as usize + 1))
    }

    /// The place of an element given by its index in every dimension.
    #[must_use]
    pub fn place(&self, index: &[usize]) -> usize {
        let steps = index
            .iter()
            .zip(self.strides.iter())
            .map(|(i, stride)| *i as isize * stride);
        (self.offset as isize + steps.sum::<isize>()) as usize
    }

    /// A range of one dimension.
    ///
    /// # Errors
    /// A value error for a step of zero, an index error for an axis out of range.
    pub fn slice(&self, op: &'static str, axis: isize, slice: Slice) -> Result<Self, Error> {
        let dim = normalize_axis(op, axis, self.rank())?;
        if slice.step == 0 {
            return Err(Error::new(op, Problem::ZeroStep));
        }
        let (start, count) = slice.resolve(self.shape[dim]);
        let mut view = self.clone();
        view.set_size(dim, count);
        if count > 0 {
            view.move_offset(start * self.strides[dim]);
            // One element needs no stride, and a huge step must not overflow it.
            view.strides[dim] = if count > 1 {
                self.strides[dim] * slice.step
            } else {
                1
            };
        }
        Ok(view)
    }

    /// One index of a dimension, which disappears.
    ///
    /// # Errors
    /// An index error for an axis or index out of range.
    pub fn select(&self, op: &'static str, axis: isize, index: isize) -> Result<Self, Error> {
        let dim = normalize_axis(op, axis, self.rank())?;
        let size = self.shape[dim];
        let place = if index < 0 {
            index + size as isize
        } else {
            index
        };
        if !(0..size as isize).contains(&place) {
            return Err(Error::new(
                op,
                Problem::IndexOutOfRange { index, dim, size },
            ));
        }
        let mut view = self.clone();
        view.move_offset(place * self.strides[dim]);
        view.remove(dim);
        Ok(view)
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    /// An index or value error unless every dimension is named exactly once.
    pub fn permute(&self, op: &'static str, axes: &[isize]) -> Result<Self, Error> {
        // The usual case of a matrix.
        if let [1 | -1, 0 | -2] = axes
            && self.rank() == 2
        {
            return Ok(self.reversed());
        }
        let dims = normalize_axes(op, axes, self.rank())?;
        if dims.len() != self.rank() {
            let problem = Problem::WrongAxisCount {
                given: dims.len(),
                rank: self.rank(),
            };
            return Err(Error::new(op, problem));
        }
        let sizes: Dims<usize> = dims.iter().map(|d| self.shape[*d]).collect();
        let strides: Dims<isize> = dims.iter().map(|d| self.strides[*d]).collect();
        Ok(Self {
            shape: Shape::from_checked(&sizes),
            strides: PerDim::new(&strides),
            offset: self.offset,
        })
    }

    /// The dimensions in reverse.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut view = self.clone();
        view.shape.reverse();
        view.strides.reverse();
        view
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn transpose(&self, op: &'static str, a: isize, b: isize) -> Result<Self, Error> {
        let (a, b) = (
            normalize_axis(op, a, self.rank())?,
            normalize_axis(op, b, self.rank())?,
        );
        let mut axes: Dims<isize> = (0..self.rank() as isize).collect();
        axes.swap(a, b);
        self.permute(op, &axes)
    }

    /// Repeated along dimensions of size one and new leading dimensions, without a copy.
    ///
    /// # Errors
    /// A value error if a size is neither equal nor one.
    pub fn broadcast_to(&self, op: &'static str, shape: &Shape) -> Result<Self, Error> {
        let refuse = || {
            let (lhs, rhs) = (self.shape.to_vec(), shape.to_vec());
            Error::new(op, Problem::NotBroadcastable { lhs, rhs })
        };
        let missing = shape.rank().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides: Dims<isize> = SmallVec::from_elem(0, shape.rank());
        for (dim, (size, stride)) in self.shape.iter().zip(self.strides.iter()).enumerate() {
            let wanted = shape[missing + dim];
            if *size == wanted {
                strides[missing + dim] = *stride;
            } else if *size != 1 {
                return Err(refuse());
            }
        }
        Ok(Self {
            shape: shape.clone(),
            strides: PerDim::new(&strides),
            offset: self.offset,
        })
    }

    /// A new dimension of size one before `axis`, which may be one past the last.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for too many dimensions.
    pub fn unsqueeze(&self, op: &'static str, axis: isize) -> Result<Self, Error> {
        let dim = normalize_axis(op, axis, self.rank() + 1)?;
        let mut view = self.clone();
        let mut sizes: Dims<usize> = SmallVec::from_slice(&self.shape);
        sizes.insert(dim, 1);
        view.shape = Shape::new(op, &sizes)?;
        view.strides.change(|strides| strides.insert(dim, 1));
        Ok(view)
    }

    /// Without the named dimensions of size one, or without all of them.
    ///
    /// # Errors
    /// An index error for an axis out of range. A dimension of another size stays, as in torch.
    pub fn squeeze(&self, op: &'static str, axes: Option<&[isize]>) -> Result<Self, Error> {
        let named = axes
            .map(|axes| normalize_axes_or_none(op, axes, self.rank()))
            .transpose()?;
        let mut view = self.clone();
        for dim in (0..self.rank()).rev() {
            let asked = named.as_ref().is_none_or(|dims| dims.contains(&dim));
            if asked && self.shape[dim] == 1 {
                view.remove(dim);
            }
        }
        Ok(view)
    }

    /// The same elements in the same order with other sizes, if no copy is needed for it.
    ///
    /// `shape` must have as many elements.
    #[must_use]
    pub fn reshape(&self, shape: &Shape) -> Option<Self> {
        if self.shape.count() == 0 || self.is_contiguous() {
            let mut view = Self::contiguous(shape.clone());
            view.offset = self.offset;
            return Some(view);
        }
        // Runs of old dimensions that lie evenly can be cut into new dimensions.
        let mut old: Dims<(usize, isize)> = Dims::new();
        for (size, stride) in self
            .shape
            .iter()
            .zip(self.strides.iter())
            .filter(|(size, _)| **size != 1)
        {
            match old.last_mut() {
                Some((run, run_stride)) if *run_stride == *size as isize * stride => {
                    (*run, *run_stride) = (*run * size, *stride);
                }
                _ => old.push((*size, *stride)),
            }
        }
        let mut strides: Dims<isize> = SmallVec::from_elem(1, shape.rank());
        let mut dim = shape.rank();
        for (run, run_stride) in old.into_iter().rev() {
            let (mut left, mut stride) = (run, run_stride);
            while left > 1 {
                dim = dim.checked_sub(1)?;
                let size = shape[dim];
                if left % size != 0 {
                    return None;
                }
                strides[dim] = stride;
                stride *= size as isize;
                left /= size;
            }
        }
        Some(Self {
            shape: shape.clone(),
            strides: PerDim::new(&strides),
            offset: self.offset,
        })
    }

    /// Windows of `size` elements every `step` along a dimension, as a new last dimension.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a window that does not fit.
    pub fn unfold(
        &self,
        op: &'static str,
        axis: isize,
        size: usize,
        step: usize,
    ) -> Result<Self, Error> {
        let dim = normalize_axis(op, axis, self.rank())?;
        let available = self.shape[dim];
        if size > available || step == 0 {
            return Err(Error::new(
                op,
                Problem::BadWindow {
                    size,
                    step,
                    available,
                },
            ));
        }
        let windows = (available - size) / step + 1;
        let mut view = self.clone();
        let mut sizes: Dims<usize> = SmallVec::from_slice(&self.shape);
        sizes[dim] = windows;
        sizes.push(size);
        view.shape = Shape::new(op, &sizes)?;
        let stride = self.strides[dim];
        view.strides.change(|strides| strides.push(stride));
        view.strides[dim] = if windows > 1 {
            self.strides[dim] * step as isize
        } else {
            1
        };
        Ok(view)
    }

    /// The elements whose indices in two dimensions are `offset` apart, as a new last dimension.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for the same axis twice.
    pub fn diagonal(
        &self,
        op: &'static str,
        offset: isize,
        a: isize,
        b: isize,
    ) -> Result<Self, Error> {
        let dims = normalize_axes(op, &[a, b], self.rank())?;
        let (rows, columns) = (dims[0], dims[1]);
        // A positive offset leaves out columns, a negative one rows.
        let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0) as usize);
        let size =
            (self.shape[rows].saturating_sub(down)).min(self.shape[columns].saturating_sub(right));
        let mut view = self.clone();
        if size > 0 {
            view.move_offset(
                down as isize * self.strides[rows] + right as isize * self.strides[columns],
            );
        }
        view.remove(rows.max(columns));
        view.remove(rows.min(columns));
        let sizes: Dims<usize> = view.shape.iter().copied().chain([size]).collect();
        view.shape = Shape::from_checked(&sizes);
        let stride = self.strides[rows] + self.strides[columns];
        view.strides.change(|strides| strides.push(stride));
        Ok(view)
    }

    fn set_size(&mut self, dim: usize, size: usize) {
        self.shape.set_size(dim, size);
    }

    fn remove(&mut self, dim: usize) {
        self.shape.remove(dim);
        self.strides.remove(dim);
    }

    /// Moves the start, which stays within the buffer: a layout without elements keeps its own.
    fn move_offset(&mut self, steps: isize) {
        if self.shape.count() > 0 {
            self.offset = (self.offset as isize + steps) as usize;
        }
    }
}
