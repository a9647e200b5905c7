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
            let out = &mut out[done * size..(done + group.len()) * size];
            match &encode {
                Some(encode) => {
                    try_resize("conv", &mut sums, group.len(), T::ZERO)?;
                    let sums = &mut sums[..group.len()];
                    sum_group(depthwise, source, level, &group, &mut items, sums)?;
                    encode.run(level, bytemuck::cast_slice(sums), out, &mut scratch);
                }
                None => {
                    let sums: &mut [T] = bytemuck::cast_slice_mut(out);
                    sum_group(depthwise, source, level, &group, &mut items, sums)?;
                }
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
    sums: &mut [T],
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
    sums.fill(start);
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
        let first = deep * height.kernel * width.kernel;
        let rows = Rows {
            sums: &mut *sums,
            band,
            group,
            axes: [height, width],
            first: span.start,
            weight: &weight[first..first + height.kernel * width.kernel],
        };
        simd::run(level, rows);
    }
    Ok(())
}

/// The rows of a group over one slice of the filter, added to the sums. Every sum takes its products in
/// the order of the taps.
struct Rows<'a, T> {
    sums: &'a mut [T],
    band: Band<'a, T>,
    group: &'a Group,
    axes: [&'a Axis; 2],
    /// The column of the first item.
    first: usize,
    weight: &'a [T],
}

impl<T: Sum> Body for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let width = self.axes[1];
        // Which columns a tap is within the grid for: a division each, taken once.
        let mut outputs = [const { 0..0 }; KNOWN];
        for (tap, outputs) in outputs.iter_mut().enumerate().take(width.kernel) {
            *outputs = width.outputs_of(tap);
        }
        let columns = self.group.columns.clone();
        let (mut start, mut end) = (columns.start, columns.end);
        for tap in 0..width.kernel {
            let outputs = width.outputs_of(tap);
            (start, end) = (start.max(outputs.start), end.min(outputs.end));
        }
        // The columns that are neighbours, and that all taps are within the grid for.
        let is_inner = width.stride == 1 && start < end;
        let inner = if is_inner {
            start..end
        } else {
            columns.end..columns.end
        };
        for index in 0..self.group.rows.len() {
            let taps = self.axes[0].taps_inside(self.group.rows.start + index);
            if !is_inner {
                self.passes::<FUSED>(index, taps.clone(), &outputs);
                continue;
            }
            for column in (columns.start..inner.start).chain(inner.end..columns.end) {
                self.edge::<FUSED>(index, taps.clone(), column);
            }
            let mut column = inner.start;
            macro_rules! blocks {
                ($($lanes:literal)*) => {$(
                    while inner.end - column >= $lanes {
                        self.block::<FUSED, $lanes>(index, taps.clone(), column);
                        column += $lanes;
                    }
                )*};
            }
            blocks!(32 16 8 4 1);
        }
    }
}

/// Taps of a row whose columns are known ahead.
const KNOWN: usize = 8;

impl<T: Sum> Rows<'_, T> {
    /// The sums of so many columns from one on, of which every tap is within the grid: they stay in
    /// registers, where a pass for each tap would read and write them.
    #[inline(always)]
    fn block<const FUSED: bool, const LANES: usize>(
        &mut self,
        index: usize,
        taps: Range<usize>,
        column: usize,
    ) {
        let [height, width] = self.axes;
        let row = self.group.rows.start + index;
        let place = index * self.group.columns.len() + column - self.group.columns.start;
        let to = &mut self.sums[place..place + LANES];
        let mut sums = [T::ZERO; LANES];
        sums.copy_from_slice(to);
        let place = width.place(column, 0) - self.first;
        for tap in taps {
            let items = &self.band.row(height.place(row, tap))[place..];
            let weight = &self.weight[tap * width.kernel..(tap + 1) * width.kernel];
            for (tap, weight) in weight.iter().enumerate() {
                let items = &items[tap * width.dilation..][..LANES];
                for (sum, item) in sums.iter_mut().zip(items) {
                    *sum = sum.add_product::<FUSED>(*item, *weight);
                }
            }
        }
        to.copy_from_slice(&sums);
    }

    /// The sum of a column that some taps are beyond the grid for.
    #[inline(always)]
    fn edge<const FUSED: bool>(&mut self, index: usize, taps: Range<usize>, column: usize) {
        let [height, width] = self.axes;
        let row = self.group.rows.start + index;
        let place = index * self.group.columns.len() + column - self.group.columns.start;
        let inside = width.taps_inside(column);
        if inside.is_empty() {
            return;
        }
        let mut sum = self.sums[place];
        let first = width.place(column, inside.start) - self.first;
        for tap in taps {
            let items = &self.band.row(height.place(row, tap))[first..];
            let weight = &self.weight[tap * width.kernel..][inside.clone()];
            for (item, weight) in items.iter().step_by(width.dilation).zip(weight) {
                sum = sum.add_product::<FUSED>(*item, *weight);
            }
        }
        self.sums[place] = sum;
    }

    /// The sums of a row whose columns read no neighbours, in a pass for each tap.
    #[inline(always)]
    fn passes<const FUSED: bool>(
        &mut self,
        index: usize,
        taps: Range<usize>,
        outputs: &[Range<usize>; KNOWN],
    ) {
        let [height, width] = self.axes;
        let row = self.group.rows.start + index;
        let columns = self.group.columns.clone();
        let (first, count) = (columns.start, columns.len());
        let sums = &mut self.sums[index * count..(index + 1) * count];
        for tap in taps {
            let items = self.band.row(height.place(row, tap));
            let weight = &self.weight[tap * width.kernel..(tap + 1) * width.kernel];
            for (tap, weight) in weight.iter().enumerate() {
                let known = outputs.get(tap).cloned();
                let outputs = known.unwrap_or_else(|| width.outputs_of(tap));
                let start = outputs.start.max(columns.start);
                let end = outputs.end.min(columns.end);
                if start >= end {
                    continue;
                }
                let sums = &mut sums[start - first..end - first];
                let items = &items[width.place(start, tap) - self.first..];
                for (sum, item) in sums.iter_mut().zip(items.iter().step_by(width.stride)) {
                    *sum = sum.add_product::<FUSED>(*item, *weight);
                }
            }
        }
    }
}
