//! Columns of windows added up to images where they overlap, in the compute type of the dtype.

use crate::memory::try_vec;
use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::task::Axis;
use bytemuck::{Pod, Zeroable};

use crate::parallel;
use crate::simd::{self, Body};

/// The window whose tap is at a place of the plane.
fn window_at(axis: &Axis, place: usize, tap: usize) -> Option<usize> {
    let distance = (place + axis.padding).checked_sub(tap * axis.dilation)?;
    let is_window = distance.is_multiple_of(axis.stride);
    Some(distance / axis.stride).filter(|window| is_window && *window < axis.output)
}

/// Planes of which each place is the sum of what windows have there: from row-major
/// `[planes, kernel, kernel, windows, windows]` to `[planes, rows, columns]`.
///
/// # Errors
/// None for the dtypes there are: a dtype converts to its compute dtype and back.
pub(crate) fn col2im(
    dtype: DType,
    src: &[u8],
    [rows, columns]: [Axis; 2],
    dst: &mut [u8],
) -> Result<(), Error> {
    let compute = dtype.compute();
    let sum = Sum {
        dtype,
        src,
        rows,
        columns,
        decode: Conversion::new(dtype, compute)?,
        encode: Conversion::new(compute, dtype)?,
    };
    match (compute, compute.itemsize()) {
        (DType::Bool, _) => sum.run(dst, |a: u8, b| a | b),
        (DType::F32, _) => sum.run(dst, |a: f32, b| a + b),
        (DType::F64, _) => sum.run(dst, |a: f64, b| a + b),
        (DType::C64, _) => sum.run(dst, |a: [f32; 2], b| [a[0] + b[0], a[1] + b[1]]),
        (DType::C128, _) => sum.run(dst, |a: [f64; 2], b| [a[0] + b[0], a[1] + b[1]]),
        // Wrapping sums have the same bits with and without a sign.
        (_, 1) => sum.run(dst, |a: u8, b| a.wrapping_add(b)),
        (_, 2) => sum.run(dst, |a: u16, b| a.wrapping_add(b)),
        (_, 4) => sum.run(dst, |a: u32, b| a.wrapping_add(b)),
        _ => sum.run(dst, |a: u64, b| a.wrapping_add(b)),
    }
}

struct Sum<'a> {
    dtype: DType,
    src: &'a [u8],
    rows: Axis,
    columns: Axis,
    decode: Conversion,
    encode: Conversion,
}

impl Sum<'_> {
    /// Every row of every plane.
    fn run<T: Pod + Send + Sync>(
        &self,
        dst: &mut [u8],
        add: impl Fn(T, T) -> T + Copy + Send + Sync,
    ) -> Result<(), Error> {
        let (level, width) = (Level::current(), self.dtype.itemsize());
        let row_bytes = self.columns.input * width;
        if dst.is_empty() {
            return Ok(());
        }
        // Whole rows, about as many as a chunk has elements.
        let per_block = (parallel::CHUNK / self.columns.input).max(1);
        parallel::try_for_each_part(dst, per_block * row_bytes, |block, bytes| {
            let mut work = Work {
                sums: try_vec("fold", self.columns.input, T::zeroed())?,
                window: try_vec("fold", self.columns.output, T::zeroed())?,
                scratch: Scratch::default(),
            };
            for (i, out) in bytes.chunks_exact_mut(row_bytes).enumerate() {
                self.add_row(level, block * per_block + i, &mut work, add);
                let sums = bytemuck::cast_slice(&work.sums);
                self.encode.run(level, sums, out, &mut work.scratch);
            }
            Ok(())
        })
    }

    /// The sums of one row, in the order of the elements of a window.
    fn add_row<T: Pod>(
        &self,
        level: Level,
        row: usize,
        work: &mut Work<T>,
        add: impl Fn(T, T) -> T + Copy,
    ) {
        let (plane, place) = (row / self.rows.input, row % self.rows.input);
        let bytes = self.columns.output * self.dtype.itemsize();
        work.sums.fill(T::zeroed());
        for k in 0..self.rows.kernel {
            let Some(window) = window_at(&self.rows, place, k) else {
                continue;
            };
            for l in 0..self.columns.kernel {
                let element = (plane * self.rows.kernel + k) * self.columns.kernel + l;
                let start = (element * self.rows.output + window) * bytes;
                let values = bytemuck::cast_slice_mut(&mut work.window);
                let src = &self.src[start..start + bytes];
                self.decode.run(level, src, values, &mut work.scratch);
                let inside = self.columns.outputs_of(l);
                if inside.is_empty() {
                    continue;
                }
                let first = inside.start * self.columns.stride + l * self.columns.dilation;
                let sums = &mut work.sums[first - self.columns.padding..];
                let (values, stride) = (&work.window[inside], self.columns.stride);
                simd::run(
                    level,
                    AddEvery {
                        sums,
                        values,
                        stride,
                        add,
                    },
                );
            }
        }
    }
}

/// What a thread needs for a row.
struct Work<T> {
    sums: Vec<T>,
    window: Vec<T>,
    scratch: Scratch,
}

/// Values added to every so many sums.
struct AddEvery<'a, T, F> {
    sums: &'a mut [T],
    values: &'a [T],
    stride: usize,
    add: F,
}

impl<T: Copy + Zeroable, F: Fn(T, T) -> T> Body for AddEvery<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        if self.stride == 1 {
            for (sum, value) in self.sums.iter_mut().zip(self.values) {
                *sum = (self.add)(*sum, *value);
            }
            return;
        }
        for (sum, value) in self.sums.iter_mut().step_by(self.stride).zip(self.values) {
            *sum = (self.add)(*sum, *value);
        }
    }
}
