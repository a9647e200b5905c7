//! A tensor as pieces of another, cut along every dimension alike.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_op::{Dims, Layout, Piece, Shape};
use smallvec::SmallVec;

use super::pad::PadMode;
use crate::Tensor;

/// A range of one dimension: where it is read, with which step, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: usize,
    pub(super) step: isize,
    pub(super) count: usize,
    pub(super) to: usize,
}

/// The ranges of one dimension.
pub(super) type Segments = SmallVec<[Segment; 3]>;

impl Segment {
    /// A whole dimension as it is.
    pub(super) fn whole(count: usize) -> Self {
        Self {
            from: 0,
            step: 1,
            count,
            to: 0,
        }
    }
}

/// The elements of every choice of one segment of each dimension.
pub(super) fn cut<'a>(
    op: &'static str,
    x: &'a Tensor,
    dims: &[Segments],
) -> Result<Vec<Piece<'a>>, Error> {
    let mut pieces = Vec::new();
    let mut chosen: Dims<usize> = dims.iter().map(|_| 0).collect();
    if dims.iter().any(|segments| segments.is_empty()) {
        return Ok(pieces);
    }
    loop {
        let segments = || dims.iter().zip(&chosen).map(|(segments, i)| segments[*i]);
        let sizes: Dims<usize> = segments().map(|segment| segment.count).collect();
        if !sizes.contains(&0) {
            let strides = x.layout().strides();
            let steps = segments().zip(strides);
            let offset: isize = steps
                .clone()
                .map(|(s, stride)| s.from as isize * stride)
                .sum();
            let layout = Layout::from_parts(
                Shape::new(op, &sizes)?,
                steps
                    .map(|(segment, stride)| segment.step * stride)
                    .collect(),
                (x.layout().offset() as isize + offset) as usize,
            );
            pieces.push(Piece {
                memory: x.view_of().memory,
                dtype: x.dtype(),
                layout,
                start: segments().map(|segment| segment.to).collect(),
            });
        }
        // An odometer: the last dimension turns first.
        let mut dim = dims.len();
        loop {
            if dim == 0 {
                return Ok(pieces);
            }
            dim -= 1;
            chosen[dim] += 1;
            if chosen[dim] < dims[dim].len() {
                break;
            }
            chosen[dim] = 0;
        }
    }
}

/// A tensor of pieces, which fill it.
pub(super) fn put_together(
    op: &'static str,
    shape: Shape,
    like: &Tensor,
    pieces: &[Piece<'_>],
) -> Result<Tensor, Error> {
    let dtype = like.dtype();
    let memory = like.backend().assemble(op, dtype, &shape, pieces)?;
    Ok(Tensor::from_memory_of(memory, shape, dtype))
}

/// The elements of a tensor of pieces added up where they were cut from, which had these sizes.
pub(super) fn gathered_back(
    mut pieces: Tensor,
    dims: &[Segments],
    sizes: &Shape,
) -> Result<Tensor, Error> {
    for (dim, (segments, size)) in dims.iter().zip(&sizes[..]).enumerate() {
        let is_whole = |s: &Segment| s.from == 0 && s.step == 1 && s.to == 0 && s.count == *size;
        if segments.len() == 1 && segments.iter().all(is_whole) {
            continue;
        }
        let axis = dim as isize;
        let mut parts = Vec::new();
        for segment in segments {
            let part = pieces.narrow(axis, segment.to as isize, segment.count)?;
            parts.push(match segment.step {
                0 => (segment.from, part.sum(Some(&[axis]), true, None)?),
                1.. => (segment.from, part),
                _ => (segment.from + 1 - segment.count, part.flip(&[axis])?),
            });
        }
        // The longest is where the others, which are short, are added to.
        parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.shape()[dim]));
        let mut parts = parts.into_iter();
        let Some((first, longest)) = parts.next() else {
            pieces = pieces.narrow(axis, 0, 0)?.placed_along(dim, 0, *size)?;
            continue;
        };
        let mut total = longest.placed_along(dim, first, *size)?;
        for (first, part) in parts {
            let count = part.shape()[dim];
            let end = first + count;
            let middle = total.narrow(axis, first as isize, count)?.add(&part)?;
            let before = total.narrow(axis, 0, first)?;
            let behind = total.narrow(axis, end as isize, size - end)?;
            total = Tensor::cat(&[&before, &middle, &behind], axis)?;
        }
        pieces = total;
    }
    Ok(pieces)
}

impl Tensor {
    /// The elements of a dimension from index `first` of one of `size` on, which is zero elsewhere;
    /// what is beyond its end is cut off.
    pub(crate) fn placed_along(
        &self,
        dim: usize,
        first: usize,
        size: usize,
    ) -> Result<Self, Error> {
        let behind = size as isize - (first + self.shape()[dim]) as isize;
        let mut pad: Dims<isize> = SmallVec::from_elem(0, 2 * (self.rank() - dim));
        let last = pad.len() - 1;
        (pad[last - 1], pad[last]) = (first as isize, behind);
        self.pad(&pad, PadMode::Constant(WeakScalar::Bool(false)))
    }
}
