//! Tensors side by side: `cat`, `stack` and their kin, `block_diag`.

use allotrope_dtype::{Error, Problem, WeakScalar, default_dtype};
use allotrope_op::structured::Structured;
use allotrope_op::structured::movement::{
    BLOCK_DIAG, CAT, COLUMN_STACK, DSTACK, HSTACK, STACK, VSTACK,
};
use allotrope_op::{Dims, Layout, Piece, Shape, normalize_axis};
use smallvec::SmallVec;

use crate::autograd::is_recorded;
use crate::call;
use crate::device::common_backend;
use crate::transfer::gathered;
use crate::{Device, Tensor};

impl Tensor {
    /// Tensors side by side along a dimension, in their common dtype. Their other sizes are equal;
    /// empty tensors of one dimension are left out, as in torch.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let (x, y) = (Tensor::zeros(&[1, 2], DType::I8)?, Tensor::ones(&[1, 1], DType::I32)?);
    /// assert_eq!(Tensor::cat(&[&x, &y], 1)?.to_vec::<i32>()?, [0, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no tensors, for tensors without dimensions and for sizes that differ, an
    /// index error for an axis out of range, a dtype error where promotion refuses, a memory error.
    pub fn cat(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        join(&CAT, tensors, axis)
    }

    /// Tensors of equal sizes side by side along a new dimension, in their common dtype.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::U8)?;
    /// assert_eq!(Tensor::stack(&[&x, &x], 1)?.to_vec::<u8>()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cat`](Self::cat).
    pub fn stack(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        let op = STACK.name;
        let Some(first) = tensors.first() else {
            return Err(Error::new(op, Problem::NoOperands));
        };
        let dim = normalize_axis(op, axis, first.rank() + 1)?;
        if let Some(other) = tensors
            .iter()
            .find(|tensor| tensor.shape() != first.shape())
        {
            return Err(shapes_differ(op, first, other, None));
        }
        let views = tensors.iter().map(|tensor| tensor.unsqueeze(dim as isize));
        join_all(&STACK, views, dim as isize)
    }

    /// Tensors side by side in columns: along the second dimension, or the first of those that have
    /// one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert_eq!(Tensor::hstack(&[&x, &x])?, Tensor::new([1, 2, 1, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cat`](Self::cat).
    pub fn hstack(tensors: &[&Self]) -> Result<Self, Error> {
        let axis = isize::from(tensors.first().is_some_and(|first| first.rank() > 1));
        join_all(
            &HSTACK,
            tensors.iter().map(|tensor| tensor.atleast_1d()),
            axis,
        )
    }

    /// Tensors one below the other: along the first dimension of two or more.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert_eq!(Tensor::vstack(&[&x, &x])?, Tensor::new([[1, 2], [1, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cat`](Self::cat).
    pub fn vstack(tensors: &[&Self]) -> Result<Self, Error> {
        join_all(&VSTACK, tensors.iter().map(|tensor| tensor.atleast_2d()), 0)
    }

    /// Tensors side by side along the third dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert_eq!(Tensor::dstack(&[&x, &x])?, Tensor::new([[[1, 1], [2, 2]]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cat`](Self::cat).
    pub fn dstack(tensors: &[&Self]) -> Result<Self, Error> {
        join_all(&DSTACK, tensors.iter().map(|tensor| tensor.atleast_3d()), 2)
    }

    /// Tensors of at most one dimension as columns, others side by side as in
    /// [`hstack`](Self::hstack).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert_eq!(Tensor::column_stack(&[&x, &x])?, Tensor::new([[1, 1], [2, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cat`](Self::cat).
    pub fn column_stack(tensors: &[&Self]) -> Result<Self, Error> {
        let column = |tensor: &&Self| match tensor.rank() {
            0 | 1 => tensor.reshape(&[tensor.count() as isize, 1]),
            _ => Ok((*tensor).clone()),
        };
        join_all(&COLUMN_STACK, tensors.iter().map(column), 1)
    }

    /// Matrices along the diagonal of a larger one that is zero elsewhere. One dimension is a row,
    /// none a single element.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::ones(&[1, 2], DType::U8)?;
    /// assert_eq!(Tensor::block_diag(&[&x, &x])?.to_vec::<u8>()?, [1, 1, 0, 0, 0, 0, 1, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for more than two dimensions, a dtype error where promotion refuses, a memory
    /// error.
    pub fn block_diag(tensors: &[&Self]) -> Result<Self, Error> {
        let op = BLOCK_DIAG.name;
        if tensors.is_empty() {
            let nothing = WeakScalar::Bool(false);
            let backend = Device::cpu().backend();
            return Self::filled(op, &[1, 0], nothing, default_dtype(), backend);
        }
        if let Some(moved) = gathered(tensors)? {
            // bounded: the operands.
            return Self::block_diag(&moved.iter().collect::<Vec<_>>());
        }
        let dtype = call::result_of(&BLOCK_DIAG, tensors.iter().copied())?;
        let mut blocks: Vec<Self> = Vec::new();
        for tensor in tensors {
            if tensor.rank() > 2 {
                let (given, most) = (tensor.rank(), 2);
                return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
            }
            blocks.push(tensor.atleast_2d()?.to(dtype)?);
        }
        let total = |dim: usize| {
            blocks
                .iter()
                .try_fold(0, |sum: usize, x| sum.checked_add(x.shape()[dim]))
        };
        let sizes = [
            total(0).unwrap_or(usize::MAX),
            total(1).unwrap_or(usize::MAX),
        ];
        let shape = Shape::new(op, &sizes)?;
        let backend = common_backend(op, tensors)?;
        let zero = tensors[0].new_zeros(&[1, 1], dtype)?;
        let mut pieces = Vec::new();
        let (mut row, mut column) = (0, 0);
        let mut corners = Vec::new();
        for block in &blocks {
            let (height, width) = (block.shape()[0], block.shape()[1]);
            corners.push([row, column, height, width]);
            for (start, width) in [(0, column), (column + width, sizes[1] - column - width)] {
                pieces.push(Piece {
                    memory: zero.view_of().memory,
                    dtype,
                    layout: zero
                        .layout()
                        .broadcast_to(op, &Shape::new(op, &[height, width])?)?,
                    start: Dims::from_slice(&[row, start]),
                });
            }
            pieces.push(Piece {
                memory: block.view_of().memory,
                dtype,
                layout: block.layout().clone(),
                start: Dims::from_slice(&[row, column]),
            });
            (row, column) = (row + height, column + width);
        }
        let memory = backend.assemble(op, dtype, &shape, &pieces)?;
        let whole = Self::from_memory_of(memory, shape, dtype);
        let blocks: Vec<&Self> = blocks.iter().collect();
        whole.with_rule(op, &blocks, move |pass| {
            let gradient = pass.gradient()?;
            let blocks = corners.iter().enumerate();
            let each = blocks.map(|(block, [row, column, height, width])| {
                pass.give(block, || {
                    let rows = gradient.narrow(0, *row as isize, *height)?;
                    rows.narrow(1, *column as isize, *width)
                })
            });
            each.collect()
        })
    }
}

#[cold]
fn shapes_differ(op: &'static str, lhs: &Tensor, rhs: &Tensor, dim: Option<usize>) -> Error {
    let (lhs, rhs) = (lhs.shape().to_vec(), rhs.shape().to_vec());
    Error::new(op, Problem::ShapesDiffer { lhs, rhs, dim })
}

/// [`join`] of views that are made for it.
fn join_all(
    row: &Structured,
    views: impl Iterator<Item = Result<Tensor, Error>>,
    axis: isize,
) -> Result<Tensor, Error> {
    let views = views.collect::<Result<SmallVec<[Tensor; 4]>, Error>>();
    let views = views.map_err(|error| error.in_op(row.name))?;
    let tensors: SmallVec<[&Tensor; 8]> = views.iter().collect();
    join(row, &tensors, axis)
}

/// Tensors side by side along a dimension.
fn join(row: &Structured, tensors: &[&Tensor], axis: isize) -> Result<Tensor, Error> {
    let op = row.name;
    if tensors.is_empty() {
        return Err(Error::new(op, Problem::NoOperands));
    }
    if let Some(moved) = gathered(tensors)? {
        let tensors: SmallVec<[&Tensor; 8]> = moved.iter().collect();
        return join(row, &tensors, axis);
    }
    let dtype = call::result_of(row, tensors.iter().copied())?;
    let is_nothing = |tensor: &&&Tensor| tensor.shape()[..] == [0];
    let kept: SmallVec<[&Tensor; 8]> = tensors.iter().filter(|t| !is_nothing(t)).copied().collect();
    let Some(first) = kept.first() else {
        let nothing = tensors[0].new_empty(&[0], dtype);
        return nothing.map_err(|error| error.in_op(op));
    };
    if kept.iter().any(|tensor| tensor.rank() == 0) {
        let (given, least) = (0, 1);
        return Err(Error::new(op, Problem::TooFewDimensions { given, least }).hint("stack"));
    }
    let dim = normalize_axis(op, axis, first.rank())?;
    let mut sizes: Dims<usize> = first.shape().iter().copied().collect();
    sizes[dim] = 0;
    for tensor in &kept {
        let shape = tensor.shape();
        let fits = |(i, (size, common)): (usize, (&usize, &usize))| i == dim || size == common;
        let alike = shape.rank() == sizes.len();
        if !alike || !shape.iter().zip(first.shape().iter()).enumerate().all(fits) {
            return Err(shapes_differ(op, first, tensor, Some(dim)));
        }
        sizes[dim] = sizes[dim].saturating_add(shape[dim]);
    }
    let shape = Shape::new(op, &sizes)?;
    let backend = common_backend(op, &kept)?;
    let mut end = 0;
    let pieces = kept.iter().map(|tensor| {
        let mut start: Dims<usize> = SmallVec::from_elem(0, sizes.len());
        start[dim] = end;
        end += tensor.shape()[dim];
        Piece {
            memory: tensor.view_of().memory,
            dtype: tensor.dtype(),
            layout: Layout::clone(tensor.layout()),
            start,
        }
    });
    let pieces: SmallVec<[Piece<'_>; 4]> = pieces.collect();
    let memory = backend.assemble(op, dtype, &shape, &pieces)?;
    let joined = Tensor::from_memory_of(memory, shape, dtype);
    remember_parts(joined, op, &kept, dim)
}

/// What tensors make side by side along a dimension: each gets its part of the gradient.
pub(super) fn remember_parts(
    joined: Tensor,
    op: &'static str,
    parts: &[&Tensor],
    dim: usize,
) -> Result<Tensor, Error> {
    if !is_recorded(parts) {
        return Ok(joined.inherit(parts));
    }
    let sizes: SmallVec<[usize; 8]> = parts.iter().map(|part| part.shape()[dim]).collect();
    joined.with_rule(op, parts, move |pass| {
        let gradient = pass.gradient()?;
        let mut end = 0;
        let each = sizes.iter().enumerate().map(|(part, size)| {
            let start = end;
            end += size;
            pass.give(part, || {
                gradient.narrow(dim as isize, start as isize, *size)
            })
        });
        each.collect()
    })
}
