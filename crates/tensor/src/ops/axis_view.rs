//! A tensor along one dimension: contiguous lines for tasks, and their results as tensors.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::task::{Made, Order, Output, Results, Task};
use allotrope_op::{Shape, normalize_axis};
use smallvec::{SmallVec, smallvec};

use super::indexing::sum_elements;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::perform;
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
        Ok(Self {
            op,
            tensor: moved.settled()?,
            dim,
            rank,
        })
    }

    /// The operation.
    pub(super) fn op(&self) -> &'static str {
        self.op
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
    pub(super) fn flat(&self) -> Result<Tensor, Error> {
        self.tensor.ravel()
    }

    /// The lines as rows of a matrix.
    pub(super) fn matrix(&self) -> Result<Tensor, Error> {
        let (rows, columns) = (self.count() as isize, self.length() as isize);
        self.tensor.detach().reshape(&[rows, columns])
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

    /// What a task makes of the lines: so many results of each dtype per line.
    fn perform(&self, task: Order, results: usize, dtypes: &[DType]) -> Result<Results, Error> {
        let count = self.count().checked_mul(results);
        let count = count.ok_or_else(|| out_of_memory(self.op))?;
        let outputs = dtypes.iter().map(|dtype| Output {
            dtype: *dtype,
            count,
        });
        let outputs: SmallVec<[Output; 2]> = outputs.collect();
        perform(self.op, &Task::Order(task), &[&self.tensor], &outputs)
    }

    /// The values and indices that a task chooses, so many per line.
    pub(super) fn choose(&self, task: Order, results: usize) -> Result<(Tensor, Tensor), Error> {
        let dtypes = [self.tensor.dtype(), DType::I64];
        let made = self.perform(task, results, &dtypes)?;
        let made = made.into_iter().zip(dtypes);
        let mut made = made.map(|(made, dtype)| self.finish(made, results, dtype));
        match (made.next(), made.next()) {
            (Some(values), Some(indices)) => Ok((values?, indices?)),
            _ => Err(Error::new(
                self.op,
                Problem::LengthMismatch { from: 0, to: 2 },
            )),
        }
    }

    /// [`choose`](Self::choose) one per line, without the dimension unless it is to stay.
    pub(super) fn choose_one(&self, task: Order, keepdim: bool) -> Result<(Tensor, Tensor), Error> {
        let (values, indices) = self.choose(task, 1)?;
        if keepdim || self.rank == 0 {
            return Ok((values, indices));
        }
        let dim = [self.dim as isize];
        Ok((values.squeeze(Some(&dim))?, indices.squeeze(Some(&dim))?))
    }

    /// The one output of a task, as many elements as the lines have.
    pub(super) fn rearrange(&self, task: Order, dtype: DType) -> Result<Tensor, Error> {
        let length = self.length();
        let mut made = self.perform(task, length, &[dtype])?;
        self.finish(made.remove(0), length, dtype)
    }

    /// Results per line as a tensor, along the dimension of the lines.
    fn finish(&self, made: Made, results: usize, dtype: DType) -> Result<Tensor, Error> {
        let mut sizes = self.tensor.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = results;
        }
        let shape = Shape::new(self.op, &sizes)?;
        let tensor = Tensor::from_memory_of(made.memory, shape, dtype);
        if self.rank == 0 {
            return if results == 1 {
                tensor.reshape(&[])
            } else {
                Ok(tensor)
            };
        }
        tensor.movedim(&[-1], &[self.dim as isize])?.contiguous()
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
        return Ok(values.inherit(&[x]));
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
