//! Elements chosen by indices and masks.
//!
//! | file | what is in it |
//! |---|---|
//! | `gather` | `gather`, `index_select`, `take`, `take_along_dim` |
//! | `scatter` | `scatter` and its kin, `put`, `index_put` |
//! | `scatter_gradient` | the gradients of what is put |
//! | `index_add` | `index_add`, `index_copy`, `index_fill`, `index_reduce` |
//! | `scatter_core` | what they share: elements combined into a tensor along a dimension |
//! | `mask` | `masked_fill`, `masked_select`, `masked_scatter`, `nonzero`, `argwhere` |
//! | `search` | `searchsorted`, `bucketize`, `isin` |
//! | `count` | `bincount`, `histc`, `histogram` |
//! | `embedding` | `one_hot`, `embedding`, `embedding_bag` |
//! | `coordinates` | `unravel_index`, `ravel_multi_index` |

mod coordinates;
mod count;
mod embedding;
mod gather;
mod index_add;
mod mask;
mod scatter;
mod scatter_core;
mod scatter_gradient;
mod search;

pub use count::Edges;
pub use embedding::{BagMode, Bags, Embedding};
pub(crate) use index_add::sum_slices;
pub use scatter::IndexReduction;
pub(super) use scatter::sum_elements;
pub use search::Search;

use std::borrow::Cow;

use allotrope_dtype::{DType, Error, Problem, Scalar, Set};
pub(crate) use allotrope_op::task::indexing::Negative;
use allotrope_op::task::{Indexing, Output, Task};
use allotrope_op::{Builder, Dims, Fold, Layout, Shape, View};

use crate::device::perform_here;
use crate::elementwise::{Operand, evaluate_one};
use crate::reduce::{Plan, reading};
use crate::{Device, Tensor};

/// Indices of one dimension, checked: int64, not negative, below its size.
pub(crate) struct Indices {
    compact: Tensor,
    layout: Layout,
}

impl Indices {
    /// The indices of a tensor of any integer dtype into dimension `dim`, which has `size`.
    pub(crate) fn new(
        op: &'static str,
        index: &Tensor,
        dim: usize,
        size: usize,
        negative: Negative,
    ) -> Result<Self, Error> {
        if !index.dtype().is_integer() {
            return Err(Error::not_in_set(op, index.dtype(), Set::Integer, None));
        }
        // Repeated indices are checked and stored once.
        let mut once = Cow::Borrowed(index);
        for (axis, stride) in index.layout().strides().iter().enumerate() {
            if *stride == 0 && index.shape()[axis] > 1 {
                once = Cow::Owned(once.narrow(axis as isize, 0, 1)?);
            }
        }
        // What is checked must not change before it is used.
        if once.is_foreign() {
            once = Cow::Owned(once.copied()?);
        }
        let task = Indexing::CheckIndices {
            dim,
            size,
            negative,
        };
        let (dtype, count) = (DType::I64, once.count());
        let outputs = [Output { dtype, count }];
        // Nothing is in range of a size of zero: no device has an index to go on with.
        let made = match size {
            0 => None,
            _ => perform_here(op, &Task::Indexing(task), &[&once], &outputs)?,
        };
        let compact = match made.map(|mut made| made.pop()) {
            Some(Some(made)) => Tensor::from_memory_of(made.memory, once.shape().clone(), dtype),
            Some(None) => once.reinterpret(once.layout().clone(), dtype),
            None => once.checked_in_passes(op, dim, size, negative)?,
        };
        let layout = compact.layout().broadcast_to(op, index.shape())?;
        Ok(Self { compact, layout })
    }

    /// Indices that are known to be in range, of a contiguous tensor of int64.
    pub(super) fn known(indices: Tensor) -> Self {
        let layout = indices.layout().clone();
        Self {
            compact: indices,
            layout,
        }
    }

    /// The indices as a tensor.
    pub(crate) fn into_tensor(self) -> Tensor {
        self.compact.with_layout(self.layout)
    }

    /// The indices with a layout of another shape.
    fn places<'a>(&'a self, layout: &'a Layout) -> View<'a> {
        self.compact.seen_as(layout)
    }

    /// The layout of the indices with dimensions before and after, along which they repeat.
    fn layout_between(
        &self,
        op: &'static str,
        before: &[usize],
        after: &[usize],
    ) -> Result<Layout, Error> {
        let sizes = [before, &self.layout.shape()[..], after].concat();
        let zeros = |sizes: &[usize]| vec![0; sizes.len()];
        let strides = [&zeros(before), self.layout.strides(), &zeros(after)].concat();
        let shape = Shape::new(op, &sizes)?;
        Ok(Layout::from_parts(
            shape,
            Dims::from_vec(strides),
            self.layout.offset(),
        ))
    }
}

impl Tensor {
    /// Integers as int64; those beyond it, which only uint64 has, are negative.
    fn as_int64(&self, op: &'static str) -> Result<Self, Error> {
        match self.dtype() {
            DType::U64 => Ok(self.reinterpret(self.layout().clone(), DType::I64)),
            dtype if dtype.is_integer() => self.to(DType::I64),
            dtype => Err(Error::not_in_set(op, dtype, Set::Integer, None)),
        }
    }

    /// Indices as [`Indexing::CheckIndices`] makes them, where there is no kernel for it.
    fn checked_in_passes(
        &self,
        op: &'static str,
        dim: usize,
        size: usize,
        negative: Negative,
    ) -> Result<Self, Error> {
        let wide = self.as_int64(op)?.contiguous()?;
        if wide.count() == 0 {
            return Ok(wide);
        }
        let extreme = |fold: Fold| -> Result<i64, Error> {
            let (dtype, plan) = (DType::I64, Plan::new(op, &wide, None)?);
            let program = reading(dtype, dtype, dtype);
            let extreme = plan.fold(op, fold, &program, &[&wide], wide.shape())?;
            Ok(bytemuck::pod_read_unaligned(&extreme.read(op)?))
        };
        let (low, high, signed) = (extreme(Fold::Min)?, extreme(Fold::Max)?, size as i64);
        let least = match negative {
            Negative::FromEnd if self.dtype() != DType::U64 => -signed,
            _ => 0,
        };
        if low < least || high >= signed {
            let read = wide.read(op)?;
            let is_wrong = |index: &&i64| !(least..signed).contains(*index);
            let first = bytemuck::cast_slice(&read).iter().find(is_wrong);
            let first = first.copied().unwrap_or(low);
            let problem = negative.fault(self.dtype(), first, low, dim, size);
            return Err(Error::new(op, problem));
        }
        if low >= 0 {
            return Ok(wide);
        }
        let builder = Builder::new(&[DType::I64]);
        let (index, zero) = (builder.input(0), Scalar::new(0_i64, DType::I64)?);
        let is_negative = index.lt(builder.constant(zero));
        let size = builder.constant(Scalar::new(signed, DType::I64)?);
        let program = builder.finish(&[is_negative.pick(index + size, index)]);
        evaluate_one(op, &program, &[&wide])
    }

    /// The tensor itself, or with one dimension if it has none.
    fn at_least_one_dim(&self) -> Result<Self, Error> {
        if self.rank() == 0 {
            self.unsqueeze(0)
        } else {
            Ok(self.clone())
        }
    }

    /// The same elements in a shape of as many.
    fn in_shape(&self, shape: &Shape) -> Result<Self, Error> {
        let sizes: Vec<isize> = shape.iter().map(|size| *size as isize).collect();
        self.reshape(&sizes)
    }
}

/// Indices or a mask beside a tensor: those of the CPU are moved to it, since they only choose, and
/// those that are free follow it.
pub(crate) fn chooser_beside<'a>(
    chooser: &'a Tensor,
    x: &Tensor,
) -> Result<Cow<'a, Tensor>, Error> {
    let moves = chooser.device() == Device::cpu() || chooser.is_device_free();
    if chooser.is_beside(x) || !moves {
        return Ok(Cow::Borrowed(chooser));
    }
    chooser.to_device(x.device()).map(Cow::Owned)
}

/// An operand as a tensor of a dtype; a number beside another tensor.
fn as_tensor(
    op: &'static str,
    operand: Operand<'_>,
    dtype: DType,
    beside: &Tensor,
) -> Result<Tensor, Error> {
    match operand {
        Operand::Tensor(tensor) => tensor.to(dtype),
        Operand::Scalar(scalar) => {
            let value = beside.new_full(&[], scalar, dtype);
            value.map_err(|error| error.in_op(op))
        }
    }
}

/// A tensor that does not fit.
#[cold]
fn wrong_shape(
    op: &'static str,
    what: &'static str,
    given: &Shape,
    accepted: impl Into<String>,
) -> Error {
    let (given, accepted) = (given.to_vec(), accepted.into());
    let problem = Problem::WrongShape {
        what,
        given,
        accepted,
    };
    Error::new(op, problem)
}
