//! Elements of any layout in row-major order, a tile at a time.

use allotrope_dtype::{DType, dispatch_width};
use allotrope_op::{Dims, Layout};
use bytemuck::Pod;

use crate::kernel::whole_elements;

/// A layout as loops in row-major order, outermost first.
pub(crate) struct Gather<'a> {
    dtype: DType,
    bytes: &'a [u8],
    offset: usize,
    /// The count and stride of each loop; neighbours that step evenly are one.
    loops: Dims<(usize, isize)>,
}

impl<'a> Gather<'a> {
    /// The elements of a layout in `bytes`.
    pub(crate) fn new(dtype: DType, bytes: &'a [u8], layout: &Layout) -> Self {
        let mut loops: Dims<(usize, isize)> = Dims::new();
        let dims = layout
            .shape()
            .iter()
            .copied()
            .zip(layout.strides().iter().copied());
        for (count, stride) in dims.filter(|(count, _)| *count != 1) {
            match loops.last_mut() {
                Some(outer) if outer.1 == stride * count as isize => {
                    *outer = (outer.0 * count, stride);
                }
                _ => loops.push((count, stride)),
            }
        }
        if loops.is_empty() {
            loops.push((1, 0));
        }
        Self {
            dtype,
            bytes: whole_elements(dtype, bytes),
            offset: layout.offset(),
            loops,
        }
    }

    /// Writes the elements from number `start` on.
    pub(crate) fn read(&self, start: usize, out: &mut [u8]) {
        dispatch_width!(self.dtype, |W| {
            self.read_words::<W>(
                bytemuck::cast_slice(self.bytes),
                start,
                bytemuck::cast_slice_mut(out),
            );
        });
    }

    fn read_words<W: Pod>(&self, src: &[W], start: usize, mut out: &mut [W]) {
        // The counters of all loops at `start`.
        let mut counters: Dims<usize> = Dims::new();
        let mut left = start;
        for (count, _) in self.loops.iter().rev() {
            counters.push(left % count);
            left /= count;
        }
        counters.reverse();
        let mut place = self.offset as isize;
        for (counter, (_, stride)) in counters.iter().zip(&self.loops) {
            place += *counter as isize * stride;
        }
        let inner = self.loops.len() - 1;
        let (count, stride) = self.loops[inner];
        while !out.is_empty() {
            let run = (count - counters[inner]).min(out.len());
            let (now, rest) = out.split_at_mut(run);
            copy_run(src, place, stride, now);
            out = rest;
            place += run as isize * stride;
            counters[inner] += run;
            // An odometer: a loop that is through starts again and turns the one outside it.
            let mut dim = inner;
            while dim > 0 && counters[dim] == self.loops[dim].0 {
                place -= counters[dim] as isize * self.loops[dim].1;
                counters[dim] = 0;
                dim -= 1;
                counters[dim] += 1;
                place += self.loops[dim].1;
            }
        }
    }
}

fn copy_run<W: Pod>(src: &[W], place: isize, stride: isize, out: &mut [W]) {
    let start = place as usize;
    match stride {
        1 => out.copy_from_slice(&src[start..start + out.len()]),
        0 => out.fill(src[start]),
        _ => {
            let mut place = place;
            for out in out {
                *out = src[place as usize];
                place += stride;
            }
        }
    }
}
