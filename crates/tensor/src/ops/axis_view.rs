//! A tensor along one dimension: contiguous lines for kernels, and their results as tensors.

use crate::host::Buffer;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Shape, normalize_axis};
use smallvec::smallvec;

use super::indexing::sum_elements;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::view::out_of_memory;

/// The elements of a tensor with one dimension moved to the end, in row-major order.
pub(super) struct AxisView {
    op: &'static str,
    tensor: Tensor,
    dim: usize,
    /// The rank of the tensor as it was; one without dimensions has a line of one element.
    rank: usize,
}

impl AxisView {
    /// The lines along a dimension.
    pub(super) fn new(op: &'static str, tensor: &Tensor, dim: isize) -> Result<Self, Error> {
        let rank = tensor.rank();
        let dim = normalize_axis(op, dim, rank.max(1))?;
        let moved = if rank == 0 {
            tensor.reshape(&[1])?
        } else {
            tensor.movedim(&[dim as isize], &[-1])?
        };
        let tensor = moved.settled()?;
        // Only the CPU works on lines.
        tensor.storage(op)?;
        Ok(Self {
            op,
            tensor,
            dim,
            rank,
        })
    }

    /// The operation.
    pub(super) fn op(&self) -> &'static str {
        self.op
    }

    /// The dtype of the elements.
    pub(super) fn dtype(&self) -> DType {
        self.tensor.dtype()
    }

    /// The elements of a line.
    pub(super) fn length(&self) -> usize {
        self.tensor.shape().last().copied().unwrap_or(1)
    }

    /// The number of lines.
    pub(super) fn count(&self) -> usize {
        let sizes = &self.tensor.shape()[..self.tensor.rank() - 1];
        sizes.iter().product()
    }

    /// The elements, line after line.
    pub(super) fn bytes(&self) -> &[u8] {
        self.tensor.contiguous_bytes().unwrap_or_default()
    }

    /// The elements, line after line, as a tensor.
    pub(super) fn flat(&self) -> Result<Tensor, Error> {
        self.tensor.ravel()
    }

    /// Refuses lines without elements.
    pub(super) fn need_elements(&self) -> Result<(), Error> {
        if self.length() == 0 {
            let mut shape = self.tensor.shape().to_vec();
            shape.pop();
            shape.insert(self.dim, 0);
            return Err(Error::new(self.op, Problem::NothingToReduce { shape }));
        }
        Ok(())
    }

    /// Room for some results per line.
    pub(super) fn room(&self, results: usize, dtype: DType) -> Result<Buffer, Error> {
        let bytes = self.count().checked_mul(results);
        let bytes = bytes.and_then(|count| count.checked_mul(dtype.itemsize()));
        Buffer::for_overwrite(self.op, bytes.ok_or_else(|| out_of_memory(self.op))?)
    }

    /// Results per line as a tensor, along the dimension of the lines.
    pub(super) fn finish(
        &self,
        buffer: Buffer,
        results: usize,
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let mut sizes = self.tensor.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = results;
        }
        let tensor = Tensor::from_buffer(buffer, Shape::new(self.op, &sizes)?, dtype);
        if self.rank == 0 {
            return if results == 1 {
                tensor.reshape(&[])
            } else {
                Ok(tensor)
            };
        }
        tensor.movedim(&[-1], &[self.dim as isize])?.contiguous()
    }

    /// One result per line as a tensor without the dimension, unless it is to stay.
    pub(super) fn finish_one(
        &self,
        buffer: Buffer,
        dtype: DType,
        keepdim: bool,
    ) -> Result<Tensor, Error> {
        let tensor = self.finish(buffer, 1, dtype)?;
        if keepdim || self.rank == 0 {
            Ok(tensor)
        } else {
            tensor.squeeze(Some(&[self.dim as isize]))
        }
    }

    /// The sizes without the dimension of the lines, or with one in its place.
    pub(super) fn kept_sizes(&self, keepdim: bool) -> Vec<isize> {
        let sizes = &self.tensor.shape()[..self.tensor.rank() - 1];
        let mut sizes: Vec<isize> = sizes.iter().map(|size| *size as isize).collect();
        if keepdim && self.rank > 0 {
            sizes.insert(self.dim, 1);
        }
        sizes
    }
}

/// Elements of a tensor that stand at places along a dimension: gradients go back there.
pub(super) fn remember_places(
    values: Tensor,
    op: &'static str,
    x: &Tensor,
    dim: isize,
    places: &Tensor,
    keepdim: bool,
) -> Result<Tensor, Error> {
    if !is_recorded(&[x]) {
        return Ok(values);
    }
    let dim = normalize_axis(op, dim, x.rank().max(1))? as isize;
    let (is_single, keeps) = (x.rank() == 0, keepdim || x.rank() == 0);
    let shape = x.atleast_1d()?.shape().clone();
    let places = if keeps {
        places.atleast_1d()?
    } else {
        places.unsqueeze(dim)?
    };
    values.with_rule(op, &[x], move |pass| {
        let gradient = pass.gradient()?;
        let gradient = if keeps {
            gradient.atleast_1d()?
        } else {
            gradient.unsqueeze(dim)?
        };
        let sums = sum_elements(op, &shape, dim, &places, &gradient)?;
        Ok(smallvec![Some(if is_single {
            sums.reshape(&[])?
        } else {
            sums
        })])
    })
}
