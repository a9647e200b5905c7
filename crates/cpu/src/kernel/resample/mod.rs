//! Grids of another size: each result is one element of the grid, or a few with weights.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`nearest`]: one element for each result, by width |
//! | `interpolate` | [`interpolate()`]: sums with the weights of all axes |

mod interpolate;

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Layout;
use bytemuck::Pod;

use super::whole_elements;
use crate::parallel;
pub(crate) use interpolate::interpolate;

/// Writes, for each plane of `[batch, channels, depth, height, width]`, the elements at the places
/// named for each axis.
pub(crate) fn nearest(
    dtype: DType,
    bytes: &[u8],
    layout: &Layout,
    places: [&[usize]; 3],
    out: &mut [u8],
) {
    dispatch_width!(dtype, |W| {
        nearest_words::<W>(
            bytemuck::cast_slice(whole_elements(dtype, bytes)),
            layout,
            places,
            bytemuck::cast_slice_mut(out),
        );
    });
}

fn nearest_words<W: Pod + Send + Sync>(
    source: &[W],
    layout: &Layout,
    places: [&[usize]; 3],
    out: &mut [W],
) {
    /// Elements of one piece of work.
    const PIECE: usize = 4096;
    let (shape, strides) = (layout.shape(), layout.strides());
    let [depths, heights, widths] = places;
    let columns = widths.len();
    let rows = (PIECE / columns.max(1)).max(1);
    let is_same = strides[4] == 1 && widths.iter().copied().eq(0..shape[4]);
    parallel::for_each_block(out, rows * columns, |block, out| {
        for (index, out) in out.chunks_mut(columns).enumerate() {
            let row = block * rows + index;
            let (rest, height) = (row / heights.len(), row % heights.len());
            let (plane, depth) = (rest / depths.len(), rest % depths.len());
            let (image, channel) = (plane / shape[1], plane % shape[1]);
            let start = layout.offset() as isize
                + image as isize * strides[0]
                + channel as isize * strides[1]
                + depths[depth] as isize * strides[2]
                + heights[height] as isize * strides[3];
            if is_same {
                let start = start as usize;
                out.copy_from_slice(&source[start..start + columns]);
                continue;
            }
            for (out, place) in out.iter_mut().zip(widths) {
                *out = source[(start + *place as isize * strides[4]) as usize];
            }
        }
    });
}
