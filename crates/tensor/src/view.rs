//! Views: other layouts of the same bytes. Only `contiguous` and `reshape` ever copy.

use allotrope_cpu::{Buffer, kernel};
use allotrope_dtype::{Error, Problem};
use allotrope_op::{Dims, Layout, Shape, Slice, normalize_axis};

use crate::Tensor;

impl Tensor {
    /// The same elements in row-major order: the tensor itself if they already are, else a copy.
    ///
    /// # Errors
    /// A memory error.
    pub fn contiguous(&self) -> Result<Self, Error> {
        if self.is_contiguous() {
            Ok(self.clone())
        } else {
            self.copied()
        }
    }

    /// A copy in row-major order.
    ///
    /// # Errors
    /// A memory error.
    pub fn copied(&self) -> Result<Self, Error> {
        let op = "copy";
        let width = self.dtype().itemsize();
        let bytes = self.count().checked_mul(width);
        let bytes = bytes.ok_or_else(|| out_of_memory(op))?;
        let mut buffer = Buffer::for_overwrite(op, bytes)?;
        kernel::copy(self.dtype(), self.storage(), self.layout(), &mut buffer);
        Ok(Self::from_buffer(
            buffer,
            self.shape().clone(),
            self.dtype(),
        ))
    }

    /// The same elements in the same order with other sizes; one size may be -1 and is inferred.
    /// A view where the layout allows it, else a copy.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::zeros(&[4, 6], DType::F8E5M2)?;
    /// assert_eq!(x.reshape(&[3, -1])?.shape().to_string(), "[3, 8]");
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the number of elements differs; a memory error.
    pub fn reshape(&self, sizes: &[isize]) -> Result<Self, Error> {
        let shape = self.infer_sizes("reshape", sizes)?;
        match self.layout().reshape(&shape) {
            Some(layout) => Ok(self.with_layout(layout)),
            None => {
                let copy = self.copied()?;
                let layout = Layout::contiguous(shape);
                Ok(copy.with_layout(layout))
            }
        }
    }

    /// The shape that sizes with at most one -1 mean for this number of elements.
    fn infer_sizes(&self, op: &'static str, sizes: &[isize]) -> Result<Shape, Error> {
        let refuse = || {
            let problem = Problem::CannotReshape {
                from: self.shape().to_vec(),
                to: sizes.to_vec(),
            };
            Error::new(op, problem)
        };
        let known = sizes.iter().filter(|size| **size != -1);
        let known = known.map(|size| usize::try_from(*size).map_err(|_| refuse()));
        let known = known.collect::<Result<Dims<usize>, Error>>()?;
        let product = Shape::new(op, &known)?.count();
        let unknown = sizes.len() - known.len();
        let missing = match unknown {
            0 if product == self.count() => 1,
            1 if product > 0 && self.count().is_multiple_of(product) => self.count() / product,
            _ => return Err(refuse()),
        };
        let sizes: Dims<usize> = sizes
            .iter()
            .map(|size| usize::try_from(*size).unwrap_or(missing))
            .collect();
        Shape::new(op, &sizes)
    }

    /// The dimensions from `start` to `end`, both included, as one.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error if `end` is before `start`.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Self, Error> {
        if self.rank() == 0 {
            return self.reshape(&[1]);
        }
        let first = normalize_axis("flatten", start, self.rank())?;
        let last = normalize_axis("flatten", end, self.rank())?;
        if last < first {
            return Err(Error::new("flatten", Problem::AxesReversed { start, end }));
        }
        let shape = self.shape();
        let joined: usize = shape[first..=last].iter().product();
        let sizes: Dims<isize> = shape[..first]
            .iter()
            .chain([&joined])
            .chain(&shape[last + 1..])
            .map(|size| *size as isize)
            .collect();
        self.reshape(&sizes)
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().transpose("transpose", a, b)?))
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    /// An index or value error unless every dimension is named exactly once.
    pub fn permute(&self, axes: &[isize]) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().permute("permute", axes)?))
    }

    /// Repeated along dimensions of size one and new leading dimensions, without a copy.
    ///
    /// # Errors
    /// A value error if a size is neither equal nor one.
    pub fn expand(&self, sizes: &[usize]) -> Result<Self, Error> {
        let shape = Shape::new("expand", sizes)?;
        Ok(self.with_layout(self.layout().broadcast_to("expand", &shape)?))
    }

    /// A new dimension of size one before `axis`.
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn unsqueeze(&self, axis: isize) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().unsqueeze("unsqueeze", axis)?))
    }

    /// Without the named dimensions of size one, or without all of them.
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().squeeze("squeeze", axes)?))
    }

    /// One index of a dimension, which disappears.
    ///
    /// # Errors
    /// An index error for an axis or index out of range.
    pub fn select(&self, axis: isize, index: isize) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().select("select", axis, index)?))
    }

    /// A range of one dimension, as Python slices it.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a step of zero.
    pub fn slice(&self, axis: isize, slice: Slice) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().slice("slice", axis, slice)?))
    }

    /// The dimensions with their elements in reverse.
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn flip(&self, axes: &[isize]) -> Result<Self, Error> {
        let reverse = Slice {
            step: -1,
            ..Slice::ALL
        };
        let dims = allotrope_op::normalize_axes("flip", axes, self.rank())?;
        let layout = dims.iter().try_fold(self.layout().clone(), |layout, dim| {
            layout.slice("flip", *dim as isize, reverse)
        })?;
        Ok(self.with_layout(layout))
    }

    /// Windows of `size` elements every `step` along a dimension, as a new last dimension.
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a window that does not fit.
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Self, Error> {
        Ok(self.with_layout(self.layout().unfold("unfold", axis, size, step)?))
    }
}

/// More bytes than there are addresses.
#[cold]
pub(crate) fn out_of_memory(op: &'static str) -> Error {
    Error::new(op, Problem::OutOfMemory { bytes: usize::MAX })
}
