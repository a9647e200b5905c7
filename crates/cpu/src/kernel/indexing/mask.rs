//! Elements where a mask is true: a first pass counts them, a second moves them, both on all
//! threads.

use allotrope_dtype::{DType, Error, Level, dispatch_width};
use allotrope_op::Shape;
use bytemuck::Pod;

use crate::kernel::elementwise::Word;
use crate::memory::{try_collect, try_with_capacity};
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};

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
        let level = Level::current();
        let count = |chunk: &[u8]| simd::run(level, Count(chunk));
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

/// How many bytes are not zero.
struct Count<'a>(&'a [u8]);

impl Body for Count<'_> {
    type Output = usize;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> usize {
        /// Ones that a byte holds the sum of.
        const MOST: usize = u8::MAX as usize;
        let (blocks, rest) = self.0.as_chunks::<BLOCK>();
        let mut total = rest.iter().filter(|byte| **byte != 0).count();
        for blocks in blocks.chunks(MOST) {
            let mut sums = [0_u8; BLOCK];
            for block in blocks {
                for (sum, byte) in sums.iter_mut().zip(block) {
                    *sum += u8::from(*byte != 0);
                }
            }
            total += sums.iter().map(|sum| usize::from(*sum)).sum::<usize>();
        }
        total
    }
}

/// Calls `visit` with the place of each block of the mask that has true bytes, and a bit for each of
/// those. Blocks of nothing, most where few are true, take as long as it takes to read them.
#[inline]
fn for_each_true(mask: &[u8], mut visit: impl FnMut(usize, u64)) {
    let (blocks, rest) = mask.as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        let bits = simd::truth_bits(block);
        if bits != 0 {
            visit(number * BLOCK, bits);
        }
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        visit(blocks.len() * BLOCK, simd::truth_bits(&block));
    }
}

/// The places of the bits that are set.
fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        let is_set = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_set.then_some(place)
    })
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
    // Memory of others may have changed since it was counted: no more than fits is written.
    let mut out = dst;
    for_each_true(mask, |first, bits| {
        if let (u64::MAX, true) = (bits, out.len() >= BLOCK) {
            let (whole, rest) = std::mem::take(&mut out).split_at_mut(BLOCK);
            whole.copy_from_slice(&src[first..first + BLOCK]);
            out = rest;
            return;
        }
        let (mut written, block) = (0, &src[first..]);
        for (out, place) in out.iter_mut().zip(places(bits)) {
            *out = block[place];
            written += 1;
        }
        out = &mut std::mem::take(&mut out)[written..];
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
            for_each_true(&mask.bytes[first..first + dst.len()], |start, bits| {
                for (place, x) in places(bits).zip(&mut source) {
                    dst[start + place] = *x;
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
    let sizes = &shape[..];
    match *sizes {
        [] => Ok(()),
        [_] => mask.for_each_part(dst, 1, |chunk, mask, dst| {
            let mut rows = dst.iter_mut();
            for_each_true(mask, |first, bits| {
                let first = chunk * CHUNK + first;
                for (place, row) in places(bits).zip(rows.by_ref()) {
                    *row = (first + place) as i64;
                }
            });
        }),
        [_, _] => coordinates_of::<2>(mask, sizes, dst),
        [_, _, _] => coordinates_of::<3>(mask, sizes, dst),
        [_, _, _, _] => coordinates_of::<4>(mask, sizes, dst),
        _ => mask.for_each_part(dst, sizes.len(), |chunk, mask, dst| {
            let mut rows = dst.chunks_exact_mut(sizes.len());
            for_each_true(mask, |first, bits| {
                for (place, row) in places(bits).zip(rows.by_ref()) {
                    locate(chunk * CHUNK + first + place, sizes, row);
                }
            });
        }),
    }
}

/// [`true_coordinates`] of rows of a known length, which are written without a call.
fn coordinates_of<const RANK: usize>(
    mask: &Mask<'_>,
    sizes: &[usize],
    dst: &mut [i64],
) -> Result<(), Error> {
    let last = sizes[RANK - 1];
    mask.for_each_part(dst, RANK, |chunk, mask, dst| {
        let mut rows = dst.as_chunks_mut::<RANK>().0.iter_mut();
        let mut coordinates = [0_i64; RANK];
        // The line of the last dimension that the coordinates are in.
        let (mut start, mut end) = (0, 0);
        for_each_true(mask, |first, bits| {
            for (place, row) in places(bits).zip(rows.by_ref()) {
                let place = chunk * CHUNK + first + place;
                if place >= end {
                    locate(place, sizes, &mut coordinates);
                    start = place - place % last;
                    end = start + last;
                }
                coordinates[RANK - 1] = (place - start) as i64;
                *row = coordinates;
            }
        });
    })
}

/// The coordinates of an element.
fn locate(place: usize, sizes: &[usize], coordinates: &mut [i64]) {
    let mut left = place;
    for (coordinate, size) in coordinates.iter_mut().zip(sizes).rev() {
        *coordinate = (left % size) as i64;
        left /= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks of few, some, most and all true bytes, of lengths that fill no block.
    fn masks() -> impl Iterator<Item = Vec<u8>> {
        let lengths = [0, 1, 63, 64, 65, 1000, CHUNK + 77];
        lengths.into_iter().flat_map(|len| {
            [1, 2, 3, 64, 700, usize::MAX].map(|every| {
                let is_true = |place: usize| place % every == every.min(5) - 1;
                // Any byte but zero is true.
                (0..len)
                    .map(|place| u8::from(is_true(place)) * (1 + (place % 255) as u8))
                    .collect()
            })
        })
    }

    #[test]
    fn what_is_selected_comes_from_true_places_and_goes_back_there() {
        for bytes in masks() {
            let places: Vec<u16> = (0..bytes.len())
                .filter(|place| bytes[*place] != 0)
                .map(|place| place as u16)
                .collect();
            let mask = Mask::new("test", &bytes).unwrap();
            assert_eq!(mask.count(), places.len());
            let all: Vec<u16> = (0..bytes.len()).map(|place| place as u16).collect();
            let mut found = vec![0_u16; places.len()];
            let (src, dst) = (
                bytemuck::cast_slice(&all),
                bytemuck::cast_slice_mut(&mut found),
            );
            true_elements(DType::U16, src, &mask, dst).unwrap();
            assert_eq!(found, places);
            let mut back = vec![u16::MAX; bytes.len()];
            let (src, dst) = (
                bytemuck::cast_slice(&found),
                bytemuck::cast_slice_mut(&mut back),
            );
            expand_true(DType::U16, src, &mask, dst).unwrap();
            for (place, x) in back.into_iter().enumerate() {
                let expected = if bytes[place] == 0 {
                    u16::MAX
                } else {
                    place as u16
                };
                assert_eq!(x, expected);
            }
        }
    }

    #[test]
    fn coordinates_of_any_rank_are_those_of_the_places() {
        for rank in 1..7 {
            let shape = Shape::new("test", &[3, 5, 1, 7, 2, 41][..rank]).unwrap();
            let bytes: Vec<u8> = (0..shape.count())
                .map(|place| u8::from(place % 3 != 1))
                .collect();
            let mask = Mask::new("test", &bytes).unwrap();
            let mut rows = vec![0_i64; mask.count() * rank];
            true_coordinates(&mask, &shape, &mut rows).unwrap();
            let mut places = (0..bytes.len()).filter(|place| bytes[*place] != 0);
            for row in rows.chunks(rank) {
                let place = row.iter().zip(&shape[..]).fold(0, |place, (index, size)| {
                    assert!((0..*size as i64).contains(index));
                    place * *size as i64 + index
                });
                assert_eq!(places.next(), Some(place as usize));
            }
        }
    }
}
