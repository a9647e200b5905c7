//! Rows chosen by their numbers.

use allotrope_dtype::{DType, dispatch_width};
use bytemuck::Pod;

use crate::parallel::{self, CHUNK};

/// The rows of `rows` of each outer index, in this order: from row-major `[outer, size, inner]` to
/// `[outer, rows.len(), inner]`. Every row must exist.
pub fn take_rows(
    dtype: DType,
    src: &[u8],
    [size, inner]: [usize; 2],
    rows: &[usize],
    dst: &mut [u8],
) {
    dispatch_width!(dtype, |Word| {
        let (src, dst) = (bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        take_words::<Word>(src, [size, inner], rows, dst);
    });
}

fn take_words<W: Pod + Send + Sync>(
    src: &[W],
    [size, inner]: [usize; 2],
    rows: &[usize],
    dst: &mut [W],
) {
    if dst.is_empty() {
        return;
    }
    let per_block = (CHUNK / inner).max(1);
    parallel::for_each_block(dst, per_block * inner, |block, elements| {
        let first = block * per_block;
        let (mut plane, mut row) = (first / rows.len() * size, first % rows.len());
        for out in elements.chunks_exact_mut(inner) {
            let start = (plane + rows[row]) * inner;
            match out {
                [out] => *out = src[start],
                _ => out.copy_from_slice(&src[start..start + inner]),
            }
            row += 1;
            if row == rows.len() {
                (plane, row) = (plane + size, 0);
            }
        }
    });
}
