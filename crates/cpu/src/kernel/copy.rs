//! Elements from one layout to another. Movement depends on width alone, not on dtype.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Layout;

use super::movement::copy_view;
use crate::parallel;

/// Copies every element of `src`, as its layout sees it, to `dst` in row-major order.
///
/// Both slices must be aligned for the dtype, `src` must contain the layout's extent, and `dst` must
/// hold exactly its elements.
pub fn copy(dtype: DType, src: &[u8], layout: &Layout, dst: &mut [u8]) {
    debug_assert_eq!(dst.len(), layout.shape().count() * dtype.itemsize());
    let target = Layout::contiguous(layout.shape().clone());
    copy_view(dtype, src, layout, dst, &target);
}

/// The bytes without those after the last whole element: a buffer of narrower ones may have some.
#[must_use]
pub fn whole_elements(dtype: DType, bytes: &[u8]) -> &[u8] {
    // Widths are powers of two; a division is felt by small operations.
    &bytes[..bytes.len() & !(dtype.itemsize() - 1)]
}

/// Writes one element, given by its bytes, everywhere.
pub fn fill(dtype: DType, element: &[u8], dst: &mut [u8]) {
    dispatch_width!(dtype, |Word| {
        let word: Word = bytemuck::pod_read_unaligned(&element[..dtype.itemsize()]);
        parallel::for_each_chunk(bytemuck::cast_slice_mut(dst), |_, chunk: &mut [Word]| {
            chunk.fill(word);
        });
    });
}

/// Copies row-major elements to where a layout has its own, within `dst`.
///
/// Both slices must be aligned for the dtype, `dst` must contain the layout's extent, and `src` must
/// hold exactly its elements. Of several that share a place one stays.
pub fn copy_into(dtype: DType, src: &[u8], dst: &mut [u8], layout: &Layout) {
    let source = Layout::contiguous(layout.shape().clone());
    copy_view(dtype, src, &source, dst, layout);
}

/// Writes row-major elements to places of `dst`, counted in elements. All places must exist; of
/// several equal ones the last element stays.
pub(crate) fn scatter(dtype: DType, src: &[u8], places: &[i64], dst: &mut [u8]) {
    dispatch_width!(dtype, |Word| {
        let src: &[Word] = bytemuck::cast_slice(src);
        let whole = whole_elements(dtype, dst).len();
        let dst: &mut [Word] = bytemuck::cast_slice_mut(&mut dst[..whole]);
        for (element, place) in src.iter().zip(places) {
            dst[*place as usize] = *element;
        }
    });
}
