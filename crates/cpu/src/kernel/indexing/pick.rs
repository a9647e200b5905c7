//! Elements read from where indices say.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Layout;
use bytemuck::Pod;

use super::Places;
use crate::gather::copy_run;
use crate::kernel::whole_elements;
use crate::parallel;
use crate::walk::Walk;

/// Writes to `dst`, in row-major order, the elements that lie `index * step` behind the place that
/// `base` gives each. All these places must exist in `src`.
pub fn pick(
    dtype: DType,
    src: &[u8],
    base: &Layout,
    step: isize,
    places: Places<'_>,
    dst: &mut [u8],
) {
    let walk = Walk::new([base, places.layout]);
    dispatch_width!(dtype, |Word| {
        pick_words::<Word>(
            bytemuck::cast_slice(whole_elements(dtype, src)),
            &walk,
            step,
            places.indices,
            bytemuck::cast_slice_mut(dst),
        );
    });
}

fn pick_words<W: Pod + Send + Sync>(
    src: &[W],
    walk: &Walk<2>,
    step: isize,
    indices: &[i64],
    dst: &mut [W],
) {
    parallel::for_each_chunk(dst, |first, chunk| {
        walk.for_each_run(first, chunk.len(), |run| {
            let out = &mut chunk[run.at..run.at + run.length];
            let ([start, place], [along, stride]) = (run.places, run.strides);
            match (along, stride) {
                // One index for the whole run: a row.
                (_, 0) => {
                    let start = start as isize + indices[place] as isize * step;
                    copy_run(src, start as usize, along, out);
                }
                // Every index of its own, all of one line.
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
