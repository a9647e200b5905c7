//! Parts of a tensor along one dimension. All are views.

use crate::host::memory::{check, try_with_capacity};
use allotrope_dtype::{Error, Problem};
use allotrope_op::{Slice, normalize_axis};

use crate::Tensor;
use crate::view::out_of_memory;

impl Tensor {
    /// `length` indices of a dimension from `start` on, which may count from the end.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 6, 1, DType::U8)?;
    /// assert_eq!(x.narrow(0, -4, 2)?.to_vec::<u8>()?, [2, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis or a part out of range.
    pub fn narrow(&self, axis: isize, start: isize, length: usize) -> Result<Self, Error> {
        let op = "narrow";
        let dim = normalize_axis(op, axis, self.rank())?;
        let size = self.shape()[dim];
        let first = if start < 0 {
            size.checked_sub(start.unsigned_abs())
        } else {
            Some(start.unsigned_abs())
        };
        let end = first.and_then(|first| first.checked_add(length));
        match (first, end) {
            (Some(first), Some(end)) if end <= size => self.part(dim, first, end),
            _ => {
                let problem = Problem::PartOutOfRange {
                    start,
                    length,
                    dim,
                    size,
                };
                Err(Error::new(op, problem))
            }
        }
    }

    /// Parts of `size` indices of a dimension, the last one of those that are left.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::arange(0, 5, 1, DType::I64)?.split(2, 0)?;
    /// assert_eq!(parts[2].to_vec::<i64>()?, [4]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a size of zero.
    pub fn split(&self, size: usize, axis: isize) -> Result<Vec<Self>, Error> {
        let op = "split";
        let dim = normalize_axis(op, axis, self.rank())?;
        let whole = self.shape()[dim];
        if size == 0 && whole > 0 {
            return Err(too_few(op, "size of a part"));
        }
        let size = size.max(1);
        let count = whole.div_ceil(size).max(1);
        self.parts(op, dim, count, |i| (i * size).min(whole))
    }

    /// Parts of these sizes along a dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([1, 2, 3])?.split_sizes(&[1, 2], 0)?;
    /// assert_eq!(parts, [Tensor::new([1])?, Tensor::new([2, 3])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error if the sizes do not add up to that of
    /// the dimension.
    pub fn split_sizes(&self, sizes: &[usize], axis: isize) -> Result<Vec<Self>, Error> {
        let op = "split";
        let dim = normalize_axis(op, axis, self.rank())?;
        let mut ends = try_with_capacity(op, sizes.len().saturating_add(1))?;
        ends.push(0_usize);
        for size in sizes {
            let end = ends.last().copied().unwrap_or(0);
            ends.push(end.saturating_add(*size));
        }
        if ends.last() != Some(&self.shape()[dim]) {
            let problem = Problem::SplitMismatch {
                sizes: sizes.to_vec(),
                dim,
                size: self.shape()[dim],
            };
            return Err(Error::new(op, problem));
        }
        self.parts(op, dim, sizes.len(), |i| ends[i])
    }

    /// At most `chunks` parts of equal size along a dimension, the last one of those that are left.
    /// There are fewer where the size is not a multiple, as in torch.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([1, 2, 3])?.chunk(2, 0)?;
    /// assert_eq!(parts, [Tensor::new([1, 2])?, Tensor::new([3])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for no chunks.
    pub fn chunk(&self, chunks: usize, axis: isize) -> Result<Vec<Self>, Error> {
        let op = "chunk";
        let dim = normalize_axis(op, axis, self.rank())?;
        if chunks == 0 {
            return Err(too_few(op, "number of chunks"));
        }
        let whole = self.shape()[dim];
        let size = whole.div_ceil(chunks);
        let count = if whole == 0 {
            chunks
        } else {
            whole.div_ceil(size)
        };
        self.parts(op, dim, count, |i| i.saturating_mul(size).min(whole))
    }

    /// Exactly `sections` parts along a dimension, of sizes that differ by at most one, the larger
    /// ones first.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([1, 2, 3])?.tensor_split(2, 0)?;
    /// assert_eq!(parts, [Tensor::new([1, 2])?, Tensor::new([3])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for no sections.
    pub fn tensor_split(&self, sections: usize, axis: isize) -> Result<Vec<Self>, Error> {
        let op = "tensor_split";
        let dim = normalize_axis(op, axis, self.rank())?;
        if sections == 0 {
            return Err(too_few(op, "number of sections"));
        }
        let (size, larger) = (self.shape()[dim] / sections, self.shape()[dim] % sections);
        self.parts(op, dim, sections, |i| i * size + i.min(larger))
    }

    /// The parts of a dimension before, between and after these indices, each as Python slices it.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::arange(0, 6, 1, DType::I64)?.tensor_split_at(&[1, -2], 0)?;
    /// assert_eq!(parts[1].to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn tensor_split_at(&self, indices: &[isize], axis: isize) -> Result<Vec<Self>, Error> {
        let op = "tensor_split";
        let dim = normalize_axis(op, axis, self.rank())? as isize;
        let starts = std::iter::once(None).chain(indices.iter().copied().map(Some));
        let stops = indices.iter().copied().map(Some).chain([None]);
        let slices = starts.zip(stops).map(|(start, stop)| Slice {
            start,
            stop,
            step: 1,
        });
        let mut slices = slices.map(|slice| self.slice(dim, slice));
        collect_parts(op, indices.len().saturating_add(1), |_| {
            slices.next().unwrap_or_else(|| Err(out_of_memory(op)))
        })
    }

    /// The tensor at each index of a dimension, which disappears.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let rows = Tensor::new([[1, 2], [3, 4]])?.unbind(0)?;
    /// assert_eq!(rows, [Tensor::new([1, 2])?, Tensor::new([3, 4])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn unbind(&self, axis: isize) -> Result<Vec<Self>, Error> {
        let dim = normalize_axis("unbind", axis, self.rank())?;
        collect_parts("unbind", self.shape()[dim], |i| {
            self.select(dim as isize, i as isize)
        })
    }

    /// `count` parts, of which part `i` goes from `start(i)` to before `start(i + 1)`.
    fn parts(
        &self,
        op: &'static str,
        dim: usize,
        count: usize,
        start: impl Fn(usize) -> usize,
    ) -> Result<Vec<Self>, Error> {
        collect_parts(op, count, |i| self.part(dim, start(i), start(i + 1)))
    }

    /// The indices of a dimension from `start` to before `end`, both within it.
    fn part(&self, dim: usize, start: usize, end: usize) -> Result<Self, Error> {
        let slice = Slice {
            start: Some(start as isize),
            stop: Some(end as isize),
            step: 1,
        };
        self.slice(dim as isize, slice)
    }
}

/// None where there must be one at least.
#[cold]
fn too_few(op: &'static str, what: &'static str) -> Error {
    let problem = Problem::OutOfRange {
        what,
        index: None,
        value: "0".to_owned(),
        accepted: "1 and above",
    };
    Error::new(op, problem)
}

/// As many parts as are asked for, which may be any number of an empty tensor or a repeated element.
fn collect_parts(
    op: &'static str,
    count: usize,
    part: impl FnMut(usize) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Error> {
    let mut parts = try_with_capacity(op, count)?;
    for part in (0..count).map(part) {
        // Parts have no memory of their own, but a history.
        check(op)?;
        parts.push(part?);
    }
    Ok(parts)
}
