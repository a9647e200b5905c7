//! One channel per filter: each result is a few products, summed along rows.

use crate::memory::try_resize;
use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, c64, c128};
use bytemuck::Pod;

use crate::kernel::pool::{Band, Grid, Group, Pooled};
use crate::simd::{self, Body};
use crate::tile::Source;
use allotrope_op::task::Axis;

/// Images with filters of one channel. Filter `f` is for channel `f / multiplier`.
pub(super) struct Depthwise<'a> {
    /// The images, in the dtype of the sums.
    pub(super) images: Pooled<'a>,
    /// Filters in the dtype of the sums, `[filters, taps]`.
    pub(super) weight: &'a [u8],
    /// What each filter's sums start with, in the same dtype.
    pub(super) bias: Option<&'a [u8]>,
    /// The windows.
    pub(super) grid: Grid,
    /// Filters in all.
    pub(super) filters: usize,
    /// Filters per channel.
    pub(super) multiplier: usize,
}

/// Numbers with sums of products.
trait Sum: Pod + Send + Sync {
    const DTYPE: DType;
    const ZERO: Self;
    fn add_product<const FUSED: bool>(self, x: Self, y: Self) -> Self;
}

macro_rules! sum {
    ($($dtype:ident $T:ty, $zero:expr, |$s:ident, $x:ident, $y:ident| $plain:expr, $fused:expr;)*) => {$(
        impl Sum for $T {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            #[inline(always)]
            fn add_product<const FUSED: bool>(self, $x: Self, $y: Self) -> Self {
                let $s = self;
                if FUSED { $fused } else { $plain }
            }
        }
    )*};
}
sum! {
    F32 f32, 0.0, |s, x, y| s + x * y, x.mul_add(y, s);
    F64 f64, 0.0, |s, x, y| s + x * y, x.mul_add(y, s);
    I32 i32, 0, |s, x, y| s.wrapping_add(x.wrapping_mul(y)), s.wrapping_add(x.wrapping_mul(y));
    I64 i64, 0, |s, x, y| s.wrapping_add(x.wrapping_mul(y)), s.wrapping_add(x.wrapping_mul(y));
    C64 c64, c64::new(0.0, 0.0), |s, x, y| s + x * y, s + x * y;
    C128 c128, c128::new(0.0, 0.0), |s, x, y| s + x * y, s + x * y;
}

/// Writes convolutions of single channels, to `out` of a dtype.
///
/// # Errors
/// A memory error.
pub(super) fn convolve_depthwise(
    depthwise: &Depthwise<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (source, from) = depthwise.images.source()?;
    let run = match from {
        DType::F64 => run::<f64>,
        DType::C64 => run::<c64>,
        DType::C128 => run::<c128>,
        DType::I32 => run::<i32>,
        DType::I64 => run::<i64>,
        _ => run::<f32>,
    };
    run(depthwise, &source, dtype, out)
}

fn run<T: Sum>(
    depthwise: &Depthwise<'_>,
    source: &Source<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (grid, level) = (&depthwise.grid, depthwise.images.level);
    let encode = match dtype {
        _ if dtype == T::DTYPE => None,
        _ => Some(Conversion::new(T::DTYPE, dtype)?),
    };
    let size = dtype.itemsize();
    grid.for_each_chunk([out, &mut []], [size, 0], |first, [out, _]| {
        let mut items = Vec::new();
        let mut sums: Vec<T> = Vec::new();
        let mut scratch = Scratch::default();
        let (mut done, count) = (0, out.len() / size);
        while done < count {
            let group = Group::at(grid, first + done, count - done);
            sum_group(depthwise, source, level, &group, &mut items, &mut sums)?;
            let bytes = bytemuck::cast_slice(&sums);
            let out = &mut out[done * size..(done + group.len()) * size];
            match &encode {
                Some(encode) => encode.run(level, bytes, out, &mut scratch),
                None => out.copy_from_slice(bytes),
            }
            done += group.len();
        }
        Ok(())
    })
}

fn sum_group<T: Sum>(
    depthwise: &Depthwise<'_>,
    source: &Source<'_>,
    level: Level,
    group: &Group,
    items: &mut Vec<u64>,
    sums: &mut Vec<T>,
) -> Result<(), Error> {
    let grid = &depthwise.grid;
    let [depth, height, width] = &grid.axes;
    let (image, filter) = (
        group.plane / depthwise.filters,
        group.plane % depthwise.filters,
    );
    let channels = depthwise.filters / depthwise.multiplier;
    let plane = image * channels + filter / depthwise.multiplier;
    let weight: &[T] = bytemuck::cast_slice(depthwise.weight);
    let taps = depth.kernel * height.kernel * width.kernel;
    let weight = &weight[filter * taps..(filter + 1) * taps];
    let start = depthwise
        .bias
        .map_or(T::ZERO, |bias| bytemuck::cast_slice::<u8, T>(bias)[filter]);
    sums.clear();
    try_resize("conv", sums, group.len(), start)?;
    let columns = group.columns.len();
    let whole = columns == width.output;
    let span = if whole {
        0..width.input
    } else {
        width.reach(&group.columns)
    };
    let rows = height.reach(&group.rows);
    for deep in depth.taps_inside(group.slice) {
        let place = [plane, depth.place(group.slice, deep)];
        let band = Band::<T>::read(source, grid, place, rows.clone(), span.clone(), items)?;
        for (index, row) in group.rows.clone().enumerate() {
            let sums = &mut sums[index * columns..(index + 1) * columns];
            for tap in height.taps_inside(row) {
                let first = (deep * height.kernel + tap) * width.kernel;
                let along = Along {
                    sums: &mut *sums,
                    items: band.row(height.place(row, tap)),
                    first: span.start,
                    columns: group.columns.clone(),
                    axis: width,
                    weight: &weight[first..first + width.kernel],
                };
                simd::run(level, along);
            }
        }
    }
    Ok(())
}

/// A row of elements times a row of weights, added to a row of sums.
struct Along<'a, T> {
    sums: &'a mut [T],
    items: &'a [T],
    /// The column of the first item.
    first: usize,
    columns: Range<usize>,
    axis: &'a Axis,
    weight: &'a [T],
}

impl<T: Sum> Body for Along<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let axis = self.axis;
        for (tap, weight) in self.weight.iter().enumerate() {
            let outputs = axis.outputs_of(tap);
            let start = outputs.start.max(self.columns.start);
            let end = outputs.end.min(self.columns.end);
            if start >= end {
                continue;
            }
            let first = self.columns.start;
            let sums = &mut self.sums[start - first..end - first];
            let items = &self.items[axis.place(start, tap) - self.first..];
            if axis.stride == 1 && FUSED {
                for (sum, item) in sums.iter_mut().zip(items) {
                    *sum = sum.add_product::<FUSED>(*item, *weight);
                }
            } else {
                for (sum, item) in sums.iter_mut().zip(items.iter().step_by(axis.stride)) {
                    let item = *item;
                    *sum = sum.add_product::<FUSED>(item, *weight);
                }
            }
        }
    }
}
