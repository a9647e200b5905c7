//! Elements from one layout to another. Movement depends on width alone, not on dtype.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::{Layout, Loop, Nest};
use bytemuck::Pod;

use crate::parallel;

/// Copies every element of `src`, as its layout sees it, to `dst` in row-major order.
///
/// Both slices must be aligned for the dtype, `src` must contain the layout's extent, and `dst` must
/// hold exactly its elements.
pub fn copy(dtype: DType, src: &[u8], layout: &Layout, dst: &mut [u8]) {
    debug_assert_eq!(dst.len(), layout.shape().count() * dtype.itemsize());
    dispatch_width!(dtype, |Word| {
        copy_words::<Word>(
            bytemuck::cast_slice(whole_elements(dtype, src)),
            layout,
            bytemuck::cast_slice_mut(dst),
        );
    });
}

/// The bytes without those after the last whole element: a buffer of narrower ones may have some.
pub(crate) fn whole_elements(dtype: DType, bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - bytes.len() % dtype.itemsize()]
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

fn copy_words<W: Pod + Send + Sync>(src: &[W], layout: &Layout, dst: &mut [W]) {
    let target = Layout::contiguous(layout.shape().clone());
    let nest = Nest::new(layout.shape(), &[&target, layout]);
    let [.., outer, inner] = nest.loops() else {
        return copy_run(src, nest.offsets()[1], &nest.inner(), dst);
    };
    if inner.strides[1].unsigned_abs() > 1 && outer.strides[1].unsigned_abs() == 1 {
        return copy_transposed(src, &nest, outer, inner, dst);
    }
    nest.for_each_run(|starts| {
        let run = &mut dst[starts[0]..starts[0] + inner.count];
        copy_run(src, starts[1], inner, run);
    });
}

/// One loop from anywhere to consecutive places.
fn copy_run<W: Pod + Send + Sync>(src: &[W], start: usize, run: &Loop, dst: &mut [W]) {
    let stride = run.strides[1];
    parallel::for_each_chunk(dst, |first, chunk| match stride {
        1 => chunk.copy_from_slice(&src[start + first..start + first + chunk.len()]),
        0 => chunk.fill(src[start]),
        _ => {
            let mut place = start as isize + first as isize * stride;
            for out in chunk {
                *out = src[place as usize];
                place += stride;
            }
        }
    });
}

/// The inner two loops in square blocks, so that lines read along one and written along the other
/// both stay in the cache.
fn copy_transposed<W: Pod + Send + Sync>(
    src: &[W],
    nest: &Nest,
    outer: &Loop,
    inner: &Loop,
    dst: &mut [W],
) {
    const BLOCK: usize = 32;
    let (across, along) = (outer.strides[1], inner.strides[1]);
    let row_length = outer.strides[0] as usize;
    nest.for_each_block(2, |starts| {
        let (to, from) = (starts[0], starts[1] as isize);
        // The last row ends with its elements, not with a whole stride.
        let end = to + (outer.count - 1) * row_length + inner.count;
        let copy_rows = |first: usize, rows: &mut [W]| {
            for column in (0..inner.count).step_by(BLOCK) {
                let columns = column..inner.count.min(column + BLOCK);
                for (i, row) in rows.chunks_mut(row_length).enumerate() {
                    let start = from + (first + i) as isize * across;
                    for (out, j) in row[columns.clone()].iter_mut().zip(columns.clone()) {
                        *out = src[(start + j as isize * along) as usize];
                    }
                }
            }
        };
        parallel::for_each_block(&mut dst[to..end], BLOCK * row_length, |block, rows| {
            copy_rows(block * BLOCK, rows);
        });
    });
}

/// Copies row-major elements to where a layout has its own, within `dst`.
///
/// Both slices must be aligned for the dtype, `dst` must contain the layout's extent, and `src` must
/// hold exactly its elements. Of several that share a place the last stays.
pub fn copy_into(dtype: DType, src: &[u8], dst: &mut [u8], layout: &Layout) {
    dispatch_width!(dtype, |Word| {
        let src: &[Word] = bytemuck::cast_slice(src);
        let whole = whole_elements(dtype, dst).len();
        let dst: &mut [Word] = bytemuck::cast_slice_mut(&mut dst[..whole]);
        let source = Layout::contiguous(layout.shape().clone());
        let nest = Nest::new(layout.shape(), &[&source, layout]);
        let inner = nest.inner();
        nest.for_each_run(|starts| {
            let run = &src[starts[0]..starts[0] + inner.count];
            if inner.strides[1] == 1 {
                dst[starts[1]..starts[1] + run.len()].copy_from_slice(run);
                return;
            }
            let mut place = starts[1] as isize;
            for element in run {
                dst[place as usize] = *element;
                place += inner.strides[1];
            }
        });
    });
}

/// Writes row-major elements to places of `dst`, counted in elements. All places must exist; of
/// several equal ones the last element stays.
pub fn scatter(dtype: DType, src: &[u8], places: &[i64], dst: &mut [u8]) {
    dispatch_width!(dtype, |Word| {
        let src: &[Word] = bytemuck::cast_slice(src);
        let whole = whole_elements(dtype, dst).len();
        let dst: &mut [Word] = bytemuck::cast_slice_mut(&mut dst[..whole]);
        for (element, place) in src.iter().zip(places) {
            dst[*place as usize] = *element;
        }
    });
}
