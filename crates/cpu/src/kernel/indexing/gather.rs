//! Elements read from where indices say.
//!
//! One loop by width for `gather`, `index_select`, `take` and `embedding`: it copies rows where the
//! index stands still, and asks memory for the next line where it does not.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Layout;
use bytemuck::Pod;

use super::Places;
use crate::gather::copy_run;
use crate::kernel::whole_elements;
use crate::parallel;
use crate::simd;
use crate::walk::Walk;

/// Writes to `dst`, in row-major order, the elements that lie `index * step` behind the place that
/// `base` gives each. All these places must exist in `src`.
pub(crate) fn gather(
    dtype: DType,
    src: &[u8],
    base: &Layout,
    step: isize,
    places: Places<'_>,
    dst: &mut [u8],
) {
    let walk = Walk::new([base, places.layout]);
    dispatch_width!(dtype, |Word| {
        gather_words::<Word>(
            bytemuck::cast_slice(whole_elements(dtype, src)),
            &walk,
            step,
            places.indices,
            bytemuck::cast_slice_mut(dst),
        );
    });
}

fn gather_words<W: Pod + Send + Sync>(
    src: &[W],
    walk: &Walk<2>,
    step: isize,
    indices: &[i64],
    dst: &mut [W],
) {
    parallel::for_each_chunk(dst, |first, chunk| {
        let mut before = None;
        walk.for_each_run(first, chunk.len(), |run| {
            let out = &mut chunk[run.at..run.at + run.length];
            let ([start, place], [along, stride]) = (run.places, run.strides);
            match (along, stride) {
                // One index for the whole run: a row.
                (_, 0) => {
                    let start = start as isize + indices[place] as isize * step;
                    copy_run(src, start as usize, along, out);
                }
                // Every index of its own, all of one line, whose elements are neighbours or not.
                (0, 1) if step == 1 => {
                    // Memory is asked for the next line, which lies as far on as this one did.
                    let on = before.map_or(0, |before: usize| start.saturating_sub(before));
                    prefetch_line(src, start + on, out.len());
                    before = Some(start);
                    gather_line(&src[start..], &indices[place..], out);
                }
                (0, 1) => {
                    for (out, index) in out.iter_mut().zip(&indices[place..]) {
                        *out = src[(start as isize + *index as isize * step) as usize];
                    }
                }
                _ => {
                    let (mut start, mut place) = (start as isize, place as isize);
                    for out in out {
                        let index = indices[place as usize] as isize;
                        *out = src[(start + index * step) as usize];
                        start += along;
                        place += stride;
                    }
                }
            }
        });
    });
}

/// Asks memory for the elements from `start` on, as many as are picked or a few pages have.
fn prefetch_line<W: Pod>(src: &[W], start: usize, count: usize) {
    /// Bytes of a line that are asked for at most.
    const MOST: usize = 16 << 10;
    let bytes = bytemuck::cast_slice(src);
    let (start, len) = (start * size_of::<W>(), count * size_of::<W>());
    simd::prefetch_bytes(bytes, start, len.min(MOST));
}

/// Elements of a line at an index each, four at a time: their checks do not wait for each other.
fn gather_line<W: Pod>(line: &[W], indices: &[i64], out: &mut [W]) {
    let (indices, last) = indices[..out.len()].as_chunks::<4>();
    let (out, rest) = out.as_chunks_mut::<4>();
    for (out, [a, b, c, d]) in out.iter_mut().zip(indices) {
        *out = [
            line[*a as usize],
            line[*b as usize],
            line[*c as usize],
            line[*d as usize],
        ];
    }
    for (out, index) in rest.iter_mut().zip(last) {
        *out = line[*index as usize];
    }
}
