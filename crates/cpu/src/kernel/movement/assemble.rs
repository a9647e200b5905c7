//! A tensor put together of pieces of others, in one pass over the target.

use allotrope_dtype::{DType, Error, dispatch_width};
use allotrope_op::{Dims, Layout, Piece, Shape};
use bytemuck::Pod;

use super::steps::{Course, Step, Steps, copy_steps, join};
use super::view::{copy_words, turning_point};
use crate::kernel::whole_elements;
use crate::parallel::{self, CHUNK};

/// Fills a row-major target of a shape with pieces of its dtype, which lie within it and do not
/// overlap.
///
/// The target is written block by block, each with its part of every piece: a block stays in the
/// cache however short the rows of the pieces are.
///
/// # Errors
/// A device error for memory that the CPU cannot read.
pub fn assemble(
    op: &'static str,
    dtype: DType,
    shape: &Shape,
    pieces: &[Piece<'_>],
    dst: &mut [u8],
) -> Result<(), Error> {
    debug_assert_eq!(dst.len(), shape.count() * dtype.itemsize());
    let pieces = pieces.iter().filter(|p| p.layout.shape().count() > 0);
    let mut sources: Vec<Source<'_>> = Vec::new();
    for piece in pieces {
        let bytes = whole_elements(dtype, piece.memory.on_host(op)?);
        sources.push((bytes, piece));
    }
    sources.sort_by_key(|(_, piece)| piece.start.first().copied());
    dispatch_width!(dtype, |Word| {
        assemble_words::<Word>(shape, &sources, bytemuck::cast_slice_mut(dst));
    });
    Ok(())
}

/// A piece and its bytes.
type Source<'a> = (&'a [u8], &'a Piece<'a>);

fn assemble_words<W: Pod + Send + Sync>(shape: &Shape, pieces: &[Source<'_>], dst: &mut [W]) {
    let strides = shape.contiguous_strides();
    let large = dst.len() > CHUNK;
    let mut parts: Vec<Part<'_, W>> = Vec::new();
    let cut = cut(shape);
    let inner = shape
        .iter()
        .position(|size| *size != 1)
        .map_or(0, |dim| dim + 1);
    for (bytes, piece) in pieces {
        let src: &[W] = bytemuck::cast_slice(bytes);
        let start = piece
            .start
            .iter()
            .zip(&strides)
            .map(|(i, s)| *i as isize * s);
        let offset = start.sum::<isize>() as usize;
        // Whole rows that lie together have one place in the target: no loops are to be found for them.
        let layout = &piece.layout;
        if !large && layout.is_contiguous() && layout.shape()[inner..] == shape[inner..] {
            let (from, count) = (layout.offset(), layout.shape().count());
            dst[offset..offset + count].copy_from_slice(&src[from..from + count]);
            continue;
        }
        let place = Layout::from_parts(piece.layout.shape().clone(), strides.clone(), offset);
        let course = Course::new(&piece.layout, &place);
        // A piece that is read across its rows has blocks of its own.
        if !large || turning_point::<W>(&course.steps).is_some() || pieces.len() == 1 {
            copy_words(src, dst, &course);
        } else {
            parts.push(Part::new(src, piece, &strides, cut));
        }
    }
    if parts.is_empty() {
        return;
    }
    // How far the parts up to each reach in the first dimension: never less than those before.
    let mut reach = 0;
    let reaches: Vec<usize> = parts
        .iter()
        .map(|part| {
            reach = reach.max(part.bounds[0].0 + part.bounds[0].1);
            reach
        })
        .collect();
    let row = strides[cut] as usize;
    let rows = (CHUNK / row).max(1);
    let fill_block = |leading: &[usize], first: usize, block: &mut [W]| {
        let end = first + block.len() / row;
        // Which indices of the first dimension this block has.
        let (low, high) = leading
            .first()
            .map_or((first, end), |index| (*index, index + 1));
        let from = reaches.partition_point(|reach| *reach <= low);
        let to = parts.partition_point(|part| part.bounds[0].0 < high);
        for part in &parts[from..to.max(from)] {
            part.copy(leading, first, end, row, block);
        }
    };
    let plane = row * shape[cut];
    parallel::for_each_part(dst, plane, |index, plane| {
        let mut leading: Dims<usize> = Dims::new();
        let mut left = index;
        for size in shape[..cut].iter().rev() {
            leading.push(left % size);
            left /= size;
        }
        leading.reverse();
        parallel::for_each_part(plane, rows * row, |block, elements| {
            fill_block(&leading, block * rows, elements);
        });
    });
}

/// The dimension that blocks cut: the first whose single indices are no more than a block.
fn cut(shape: &Shape) -> usize {
    let mut inside: usize = 1;
    let mut dim = shape.rank().saturating_sub(1);
    while dim > 0 && inside * shape[dim] <= CHUNK {
        inside *= shape[dim];
        dim -= 1;
    }
    dim
}

/// A piece, prepared for many blocks.
struct Part<'a, W> {
    src: &'a [W],
    from: isize,
    /// First index and number of indices in the dimensions up to the one that is cut.
    bounds: Dims<(usize, usize)>,
    /// How far the source moves in those.
    strides: Dims<isize>,
    /// Where the inner loops begin in a row of the target.
    to: isize,
    /// The loops of the other dimensions.
    inner: Steps,
}

impl<'a, W: Pod> Part<'a, W> {
    fn new(src: &'a [W], piece: &Piece<'_>, strides: &[isize], cut: usize) -> Self {
        let layout = &piece.layout;
        let steps = (cut + 1..layout.rank()).map(|dim| Step {
            count: layout.shape()[dim],
            from: layout.strides()[dim],
            to: strides[dim],
        });
        let steps: Steps = steps.filter(|step| step.count > 1).collect();
        let places = piece.start.iter().zip(strides);
        let to = places.skip(cut + 1).map(|(i, stride)| *i as isize * stride);
        let bounds = piece.start.iter().zip(layout.shape().iter());
        Self {
            src,
            from: layout.offset() as isize,
            bounds: bounds.take(cut + 1).map(|(i, size)| (*i, *size)).collect(),
            strides: layout.strides()[..=cut].iter().copied().collect(),
            to: to.sum(),
            inner: join(&steps),
        }
    }

    /// Copies what belongs to a block: rows `first..end` of the dimension that is cut, at the
    /// leading indices.
    fn copy(&self, leading: &[usize], first: usize, end: usize, row: usize, block: &mut [W]) {
        let mut from = self.from;
        let bounds = self.bounds.iter().zip(&self.strides);
        for (index, ((start, size), stride)) in leading.iter().zip(bounds) {
            if !(*start..start + size).contains(index) {
                return;
            }
            from += (index - start) as isize * stride;
        }
        let (start, size) = self.bounds[leading.len()];
        let stride = self.strides[leading.len()];
        let (low, high) = (first.max(start), end.min(start + size));
        if low >= high {
            return;
        }
        from += (low - start) as isize * stride;
        let to = ((low - first) * row) as isize + self.to;
        let rows = Step {
            count: high - low,
            from: stride,
            to: row as isize,
        };
        let mut steps: Steps = Steps::new();
        steps.push(rows);
        steps.extend(self.inner.iter().copied());
        let steps = if rows.count == 1 {
            self.inner.clone()
        } else {
            join(&steps)
        };
        copy_steps(self.src, from, block, to, &steps);
    }
}
