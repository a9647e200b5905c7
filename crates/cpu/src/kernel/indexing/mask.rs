//! Elements where a mask is true: a first pass counts them, a second moves them, both on all
//! threads.

use allotrope_dtype::{DType, Error, dispatch_width};
use allotrope_op::{Dims, Shape};
use bytemuck::Pod;

use crate::kernel::elementwise::Word;
use crate::memory::{try_collect, try_with_capacity};
use crate::parallel::{self, CHUNK};

/// Mask bytes that are looked at together.
const BLOCK: usize = 64;

/// A mask of truth values in row-major order, and how many of each chunk are true.
pub(crate) struct Mask<'a> {
    op: &'static str,
    bytes: &'a [u8],
    counts: Vec<usize>,
}

impl<'a> Mask<'a> {
    /// Counts the bytes that are not zero.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn new(op: &'static str, bytes: &'a [u8]) -> Result<Self, Error> {
        // Sums of a block fit a byte, which the loop adds many of at a time.
        let count = |chunk: &[u8]| -> usize {
            let blocks = chunk.chunks(BLOCK);
            let sums =
                blocks.map(|block| block.iter().map(|byte| u8::from(*byte != 0)).sum::<u8>());
            sums.map(usize::from).sum()
        };
        let counts = parallel::try_map(bytes.len().div_ceil(CHUNK), |chunk| {
            Ok(count(
                &bytes[chunk * CHUNK..bytes.len().min((chunk + 1) * CHUNK)],
            ))
        })?;
        Ok(Self { op, bytes, counts })
    }

    /// How many are true.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Calls `work` with the number of each chunk, the chunk, and the part of `dst` for what it
    /// selects, `width` items to an element.
    fn for_each_part<T: Send>(
        &self,
        dst: &mut [T],
        width: usize,
        work: impl Fn(usize, &[u8], &mut [T]) + Send + Sync,
    ) -> Result<(), Error> {
        let mut parts = try_with_capacity(self.op, self.counts.len())?;
        let mut rest = dst;
        for (chunk, count) in self.counts.iter().enumerate() {
            let (part, later) = rest.split_at_mut(count * width);
            let end = self.bytes.len().min((chunk + 1) * CHUNK);
            parts.push((&self.bytes[chunk * CHUNK..end], part));
            rest = later;
        }
        parallel::for_each_part(&mut parts, 1, |chunk, parts| {
            for (mask, part) in parts {
                work(chunk, mask, part);
            }
        });
        Ok(())
    }
}

/// Calls `visit` with the places of true bytes, a block at a time.
#[inline]
fn for_each_true(mask: &[u8], mut visit: impl FnMut(usize, &[u8])) {
    for (number, block) in mask.chunks(BLOCK).enumerate() {
        // Without a branch per element: a place is kept by moving on behind it.
        let (mut found, mut count) = ([0_u8; BLOCK], 0);
        for (place, byte) in block.iter().enumerate() {
            found[count % BLOCK] = place as u8;
            count += usize::from(*byte != 0);
        }
        if count > 0 {
            visit(number * BLOCK, &found[..count]);
        }
    }
}

/// Writes the elements of `src` where the mask is true to `dst`, which holds exactly those.
///
/// # Errors
/// A memory error.
pub(crate) fn true_elements(
    dtype: DType,
    src: &[u8],
    mask: &Mask<'_>,
    dst: &mut [u8],
) -> Result<(), Error> {
    dispatch_width!(dtype, |Word| {
        let (src, dst): (&[Word], &mut [Word]) =
            (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        mask.for_each_part(dst, 1, |chunk, mask, dst| {
            compress(&src[chunk * CHUNK..], mask, dst);
        })
    })
}

fn compress<W: Pod>(src: &[W], mask: &[u8], dst: &mut [W]) {
    let mut written = 0;
    for_each_true(mask, |first, found| {
        // Memory of others may have changed since it was counted.
        let found = &found[..found.len().min(dst.len() - written)];
        let out = &mut dst[written..written + found.len()];
        if found.len() == BLOCK {
            out.copy_from_slice(&src[first..first + BLOCK]);
        } else {
            let block = &src[first..];
            for (out, place) in out.iter_mut().zip(found) {
                *out = block[usize::from(*place)];
            }
        }
        written += found.len();
    });
}

/// Writes elements of `src`, one after the other, to where the mask is true in `dst`. There must be
/// as many as that.
///
/// # Errors
/// A memory error.
pub(crate) fn expand_true(
    dtype: DType,
    src: &[u8],
    mask: &Mask<'_>,
    dst: &mut [u8],
) -> Result<(), Error> {
    let starts = mask.counts.iter().scan(0, |start, count| {
        *start += count;
        Some(*start - count)
    });
    let starts: Vec<usize> = try_collect(mask.op, starts)?;
    dispatch_width!(dtype, |Word| {
        let (src, dst): (&[Word], &mut [Word]) =
            (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        parallel::for_each_chunk(dst, |first, dst| {
            let mut source = src[starts[first / CHUNK]..].iter();
            for_each_true(&mask.bytes[first..first + dst.len()], |start, found| {
                for (place, x) in found.iter().zip(&mut source) {
                    dst[start + usize::from(*place)] = *x;
                }
            });
        });
    });
    Ok(())
}

/// Writes one element to wherever a mask is true in `dst`.
pub(crate) fn fill_true(dtype: DType, src: &[u8], mask: &[u8], dst: &mut [u8]) {
    dispatch_width!(dtype, |W| {
        let (src, dst): (&[W], &mut [W]) =
            (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        let Some(x) = src.first() else {
            return;
        };
        parallel::for_each_chunk(dst, |first, dst| {
            for (to, byte) in dst.iter_mut().zip(&mask[first..]) {
                *to = Word::choose(*byte != 0, *x, *to);
            }
        });
    });
}

/// Writes the coordinates of each true element of a mask of a shape, a row of `dst` for each.
///
/// # Errors
/// A memory error.
pub(crate) fn true_coordinates(
    mask: &Mask<'_>,
    shape: &Shape,
    dst: &mut [i64],
) -> Result<(), Error> {
    let Some(last) = shape.last().copied() else {
        return Ok(());
    };
    let rank = shape.rank();
    mask.for_each_part(dst, rank, |chunk, mask, dst| {
        let mut rows = dst.chunks_exact_mut(rank);
        let mut coordinates: Dims<i64> = Dims::from_elem(0, rank);
        // The line of the last dimension that the coordinates are in.
        let (mut start, mut end) = (0, 0);
        for_each_true(mask, |first, found| {
            for (place, row) in found.iter().zip(&mut rows) {
                let place = chunk * CHUNK + first + usize::from(*place);
                if place >= end {
                    start = place - place % last;
                    end = start + last;
                    let mut left = start / last;
                    for (coordinate, size) in coordinates.iter_mut().zip(&shape[..]).rev().skip(1) {
                        *coordinate = (left % size) as i64;
                        left /= size;
                    }
                }
                coordinates[rank - 1] = (place - start) as i64;
                row.copy_from_slice(&coordinates);
            }
        });
    })
}
