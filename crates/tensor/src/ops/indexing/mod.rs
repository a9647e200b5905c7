//! Elements chosen by indices and masks.
//!
//! | file | what is in it |
//! |---|---|
//! | `pick` | `gather`, `index_select`, `take`, `take_along_dim` |
//! | `put` | `scatter` and its kin, `put`, `index_put` |
//! | `put_gradient` | the gradients of what is put |
//! | `slices` | `index_add`, `index_copy`, `index_fill`, `index_reduce` |
//! | `target` | what they share: elements combined into a tensor along a dimension |
//! | `mask` | `masked_fill`, `masked_select`, `masked_scatter`, `nonzero`, `argwhere` |
//! | `search` | `searchsorted`, `bucketize`, `isin` |
//! | `count` | `bincount`, `histc`, `histogram` |
//! | `embedding` | `one_hot`, `embedding`, `embedding_bag` |
//! | `coordinates` | `unravel_index`, `ravel_multi_index` |

mod coordinates;
mod count;
mod embedding;
mod mask;
mod pick;
mod put;
mod put_gradient;
mod search;
mod slices;
mod target;

pub use count::Edges;
pub use embedding::{BagMode, Bags, Embedding};
pub use put::IndexReduction;
pub(super) use put::sum_elements;
pub use search::Search;
pub(crate) use slices::sum_slices;

use allotrope_cpu::Buffer;
use allotrope_cpu::kernel::indexing::{Places, index_range, wrap_negative};
use allotrope_dtype::{DType, Error, Problem, Set, default_dtype, promotion};
use allotrope_op::{Argument, Dims, Layout, Shape};

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
        let mut compact = once.contiguous()?;
        let Some((low, high)) = index_range(elements(&compact)) else {
            let layout = compact.layout().broadcast_to(op, index.shape())?;
            return Ok(Self { compact, layout });
        };
        let signed = size as i64;
        let least = match negative {
            Negative::FromEnd if index.dtype() != DType::U64 => -signed,
            _ => 0,
        };
        if low < least || high >= signed {
            let wrong = elements(&compact)
                .iter()
                .find(|index| !(least..signed).contains(*index));
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
            let mut buffer = room(op, compact.shape(), DType::I64)?;
            wrap_negative(elements(&compact), signed, buffer.elements_mut());
            compact = Tensor::from_buffer(buffer, compact.shape().clone(), DType::I64);
        }
        let layout = compact.layout().broadcast_to(op, index.shape())?;
        Ok(Self { compact, layout })
    }

    /// The indices with a layout of another shape.
    fn places<'a>(&'a self, layout: &'a Layout) -> Places<'a> {
        let indices = bytemuck::cast_slice(self.compact.storage());
        Places { indices, layout }
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

/// The elements of a contiguous tensor of int64.
fn elements(tensor: &Tensor) -> &[i64] {
    bytemuck::cast_slice(tensor.contiguous_bytes().unwrap_or_default())
}

/// The dtype that promotion gives operands.
fn common_dtype(op: &'static str, operands: &[Operand<'_>]) -> Result<DType, Error> {
    let operands: Vec<_> = operands
        .iter()
        .map(|operand| match operand {
            Operand::Tensor(tensor) => Argument::Tensor {
                dtype: tensor.dtype(),
                is_zero_dim: tensor.rank() == 0,
            },
            Operand::Scalar(scalar) => Argument::Scalar(*scalar),
        })
        .map(|argument| argument.operand())
        .collect();
    promotion().result_type(op, &operands, default_dtype())
}

/// An operand as a tensor of a dtype.
fn as_tensor(op: &'static str, operand: Operand<'_>, dtype: DType) -> Result<Tensor, Error> {
    match operand {
        Operand::Tensor(tensor) => tensor.to(dtype),
        Operand::Scalar(scalar) => {
            Tensor::full(&[], scalar, dtype).map_err(|error| error.in_op(op))
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

/// Zeroed memory for the elements of a shape.
fn zeroed(op: &'static str, shape: &Shape, dtype: DType) -> Result<Buffer, Error> {
    let bytes = shape.count().checked_mul(dtype.itemsize());
    Buffer::zeroed(op, bytes.ok_or_else(|| out_of_memory(op))?)
}
