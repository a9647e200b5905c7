//! Matrices without what is beyond a diagonal.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Band;
use bytemuck::Pod;

use crate::parallel::{self, CHUNK};

/// Row-major matrices of `sizes` with zero outside a band. Without a source the target has the
/// elements already.
pub fn keep_band(
    dtype: DType,
    band: Band,
    sizes: [usize; 2],
    diagonal: isize,
    src: Option<&[u8]>,
    dst: &mut [u8],
) {
    dispatch_width!(dtype, |Word| {
        let src: Option<&[Word]> = src.map(bytemuck::cast_slice);
        keep_words(band, sizes, diagonal, src, bytemuck::cast_slice_mut(dst));
    });
}

fn keep_words<W: Pod + Send + Sync>(
    band: Band,
    [rows, columns]: [usize; 2],
    diagonal: isize,
    src: Option<&[W]>,
    dst: &mut [W],
) {
    if dst.is_empty() {
        return;
    }
    let per_block = (CHUNK / columns).max(1);
    parallel::for_each_block(dst, per_block * columns, |block, elements| {
        for (i, row) in elements.chunks_exact_mut(columns).enumerate() {
            let index = block * per_block + i;
            let kept = band.kept(index % rows, columns, diagonal);
            if let Some(src) = src {
                let start = index * columns;
                row[kept.clone()].copy_from_slice(&src[start + kept.start..start + kept.end]);
            }
            row[..kept.start].fill(W::zeroed());
            row[kept.end..].fill(W::zeroed());
        }
    });
}
