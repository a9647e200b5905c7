//! Elements of any layout in row-major order, a tile at a time.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::Layout;
use bytemuck::Pod;

use crate::kernel::whole_elements;
use crate::walk::Walk;

/// The elements of a layout.
pub(crate) struct Gather<'a> {
    dtype: DType,
    bytes: &'a [u8],
    walk: Walk<1>,
}

impl<'a> Gather<'a> {
    /// The elements of a layout in `bytes`.
    pub(crate) fn new(dtype: DType, bytes: &'a [u8], layout: &Layout) -> Self {
        Self {
            dtype,
            bytes: whole_elements(dtype, bytes),
            walk: Walk::new([layout]),
        }
    }

    /// Writes the elements from number `start` on.
    pub(crate) fn read(&self, start: usize, out: &mut [u8]) {
        dispatch_width!(self.dtype, |W| {
            let (src, out): (&[W], &mut [W]) = (
                bytemuck::cast_slice(self.bytes),
                bytemuck::cast_slice_mut(out),
            );
            self.walk.for_each_run(start, out.len(), |run| {
                let now = &mut out[run.at..run.at + run.length];
                copy_run(src, run.places[0], run.strides[0], now);
            });
        });
    }
}

/// Elements that lie `stride` apart.
#[inline]
pub(crate) fn copy_run<W: Pod>(src: &[W], start: usize, stride: isize, out: &mut [W]) {
    match stride {
        1 => out.copy_from_slice(&src[start..start + out.len()]),
        0 => out.fill(src[start]),
        _ => {
            let mut place = start as isize;
            for out in out {
                *out = src[place as usize];
                place += stride;
            }
        }
    }
}
