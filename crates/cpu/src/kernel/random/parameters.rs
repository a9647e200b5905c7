//! Numbers of any real dtype and layout as float64, a few at a time.

use allotrope_dtype::{DType, Level};
use allotrope_op::Layout;

use super::{TILE, encode};
use crate::gather::Gather;
use crate::parallel;

/// Elements of a tensor that draws read as float64.
pub struct Given<'a> {
    level: Level,
    dtype: DType,
    elements: Gather<'a>,
}

impl<'a> Given<'a> {
    /// The elements of a layout in `bytes`, in row-major order.
    #[must_use]
    pub fn new(level: Level, dtype: DType, bytes: &'a [u8], layout: &Layout) -> Self {
        Self {
            level,
            dtype,
            elements: Gather::new(dtype, bytes, layout),
        }
    }

    /// Writes the elements from number `start` on, on all threads.
    pub fn read(&self, start: usize, out: &mut [f64]) {
        parallel::for_each_chunk(out, |first, chunk| self.read_here(start + first, chunk));
    }

    /// [`read`](Self::read) on this thread.
    pub(super) fn read_here(&self, start: usize, out: &mut [f64]) {
        let mut room = [0_u64; TILE];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
        for (i, out) in out.chunks_mut(TILE).enumerate() {
            let room = &mut room[..out.len() * self.dtype.itemsize()];
            self.elements.read(start + i * TILE, room);
            let out = bytemuck::cast_slice_mut(out);
            encode(self.level, self.dtype, room, DType::F64, out);
        }
    }
}
