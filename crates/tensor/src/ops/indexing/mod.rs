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

use crate::call::common_dtype;
use crate::host::Buffer;
use allotrope_cpu::kernel::indexing::{index_range, wrap_negative};
use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::{Dims, Layout, Op, Shape, View};

use crate::elementwise::{Operand, room};
use crate::{Tensor, view::out_of_memory};

/// Indices of one dimension, checked: int64, not negative, below its size.
pub(crate) struct Indices {
    compact: Tensor,
    layout: Layout,
}

/// What negative indices mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Negative {
    /// They count from the end.
    FromEnd,
    /// They are out of range.
    Refuse,
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
        let wide = index.as_int64(op)?;
        // Repeated indices are checked and stored once.
        let mut once = wide.clone();
        for (axis, stride) in wide.layout().strides().iter().enumerate() {
            if *stride == 0 && wide.shape()[axis] > 1 {
                once = once.narrow(axis as isize, 0, 1)?;
            }
        }
        let mut compact = once.settled()?;
        let Some((low, high)) = compact.range_of_indices(op)? else {
            let layout = compact.layout().broadcast_to(op, index.shape())?;
            return Ok(Self { compact, layout });
        };
        let signed = size as i64;
        let least = match negative {
            Negative::FromEnd if index.dtype() != DType::U64 => -signed,
            _ => 0,
        };
        if low < least || high >= signed {
            let read = compact.read(op)?;
            let wrong = bytemuck::cast_slice(&read)
                .iter()
                .find(|index: &&i64| !(least..signed).contains(*index));
            let index = match wrong {
                // An unsigned integer beyond int64.
                Some(..0) if index.dtype() == DType::U64 => isize::MAX,
                wrong => wrong.map_or(0, |index| *index as isize),
            };
            return Err(Error::new(
                op,
                Problem::IndexOutOfRange { index, dim, size },
            ));
        }
        if low < 0 {
            compact = compact.counted_from_end(op, signed)?;
        }
        let layout = compact.layout().broadcast_to(op, index.shape())?;
        Ok(Self { compact, layout })
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

    /// The least and the greatest of contiguous indices; `None` if there are none.
    fn range_of_indices(&self, op: &'static str) -> Result<Option<(i64, i64)>, Error> {
        if let Some(bytes) = self.contiguous_bytes() {
            return Ok(index_range(bytemuck::cast_slice(bytes)));
        }
        if self.count() == 0 {
            return Ok(None);
        }
        let number = |extreme: Self| -> Result<i64, Error> {
            let bytes = extreme.read(op)?;
            Ok(bytemuck::pod_read_unaligned(&bytes))
        };
        let (low, high) = (self.amin(None, false)?, self.amax(None, false)?);
        Ok(Some((number(low)?, number(high)?)))
    }

    /// Contiguous indices with `size` added to those below zero.
    fn counted_from_end(&self, op: &'static str, size: i64) -> Result<Self, Error> {
        if let Some(bytes) = self.contiguous_bytes() {
            let mut buffer = room(op, self.shape(), DType::I64)?;
            wrap_negative(bytemuck::cast_slice(bytes), size, buffer.elements_mut());
            return Ok(Self::from_buffer(buffer, self.shape().clone(), DType::I64));
        }
        let (is_negative, moved) = (self.lt(0)?, self.add(size)?);
        let operands = [(&is_negative).into(), (&moved).into(), self.into()];
        Self::apply(Op::Where, &operands)
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

/// The elements of a contiguous tensor of int64, for an operation that only the CPU has.
fn elements<'a>(op: &'static str, tensor: &'a Tensor) -> Result<&'a [i64], Error> {
    tensor.ordered_bytes(op).map(bytemuck::cast_slice)
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
            let value = Tensor::full(&[], scalar, dtype).map_err(|error| error.in_op(op))?;
            value.beside(beside)
        }
    }
}

/// The error that names the least of integers if it is negative, or another one.
#[cold]
fn negative_or(error: Error, op: &'static str, index: &Tensor) -> Error {
    let least = index.amin(None, false).and_then(|least| least.item());
    match least.map(|least| least.value()) {
        Ok(WeakScalar::Int(least @ ..0)) => {
            let problem = Problem::OutOfRange {
                what: "index",
                index: None,
                value: least.to_string(),
                accepted: "indices from 0 on",
            };
            Error::new(op, problem)
        }
        _ => error,
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

/// Zeroed memory for the elements of a shape.
fn zeroed(op: &'static str, shape: &Shape, dtype: DType) -> Result<Buffer, Error> {
    let bytes = shape.count().checked_mul(dtype.itemsize());
    Buffer::zeroed(op, bytes.ok_or_else(|| out_of_memory(op))?)
}
