//! One channel per filter: each result is a few products, summed along rows.

use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, c64, c128};
use bytemuck::Pod;
use smallvec::SmallVec;

use crate::kernel::pool::{Band, Grid, Group, Pooled};
use crate::kernel::window::Axis;
use crate::simd::{self, Body};
use crate::tile::Source;

/// Images with filters of one channel. Filter `f` is for channel `f / multiplier`.
pub struct Depthwise<'a> {
    /// The images, in the dtype of the sums.
    pub images: Pooled<'a>,
    /// Filters in the dtype of the sums, `[filters, taps]`.
    pub weight: &'a [u8],
    /// What each filter's sums start with, in the same dtype.
    pub bias: Option<&'a [u8]>,
    /// The windows; planes are those of the result.
    pub grid: Grid,
    /// Filters in all.
    pub filters: usize,
    /// Filters per channel.
    pub multiplier: usize,
}

/// Numbers with sums of products.
trait Sum: Pod + Send + Sync {
    const DTYPE: DType;
    const ZERO: Self;
    /// Whether products of several taps are added at a time.
    const IS_REAL: bool;
    fn add_product<const FUSED: bool>(self, x: Self, y: Self) -> Self;
}

macro_rules! sum {
    ($($dtype:ident $T:ty, $zero:expr, |$s:ident, $x:ident, $y:ident| $plain:expr, $fused:expr;)*) => {$(
        impl Sum for $T {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const IS_REAL: bool = DType::$dtype.is_floating_point();
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
pub fn convolve_depthwise(
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
    sums.resize(group.len(), start);
    let columns = group.columns.len();
    let whole = columns == width.output;
    let span = if whole {
        0..width.input
    } else {
        width.reach(&group.columns)
    };
    let rows = height.reach(&group.rows);
    let within: SmallVec<[_; 8]> = (0..width.kernel).map(|tap| width.outputs_of(tap)).collect();
    for deep in depth.taps_inside(group.slice) {
        let place = [plane, depth.place(group.slice, deep)];
        let band = Band::<T>::read(source, grid, place, rows.clone(), span.clone(), items)?;
        for (index, row) in group.rows.clone().enumerate() {
            let rows = height.taps_inside(row).map(|tap| {
                let first = (deep * height.kernel + tap) * width.kernel;
                let weight = &weight[first..first + width.kernel];
                (band.row(height.place(row, tap)), weight)
            });
            let along = Along {
                sums: &mut sums[index * columns..(index + 1) * columns],
                rows: &rows.collect::<SmallVec<[_; 8]>>(),
                first: span.start,
                columns: group.columns.clone(),
                axis: width,
                within: &within,
            };
            simd::run_narrow(level, along);
        }
    }
    Ok(())
}

/// Rows of elements, each times a row of weights, added to a row of sums.
struct Along<'a, T> {
    sums: &'a mut [T],
    rows: &'a [(&'a [T], &'a [T])],
    /// The column of the first item.
    first: usize,
    columns: Range<usize>,
    axis: &'a Axis,
    /// The columns whose window has each tap within the row.
    within: &'a [Range<usize>],
}

impl<T: Sum> Body for Along<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let (axis, columns) = (self.axis, self.columns.clone());
        let ([first, ..], [.., last]) = (self.within, self.within) else {
            return;
        };
        // Columns whose windows are whole.
        let (start, end) = (first.start.max(columns.start), last.end.min(columns.end));
        if !(T::IS_REAL && FUSED && axis.stride == 1 && start < end) {
            return self.add_tap_by_tap::<FUSED>(columns);
        }
        let mut taps: SmallVec<[(&[T], T); 32]> = SmallVec::new();
        for (items, weight) in self.rows {
            for (tap, weight) in weight.iter().enumerate() {
                let place = axis.place(start, tap) - self.first;
                taps.push((&items[place..place + end - start], *weight));
            }
        }
        let sums = &mut self.sums[start - columns.start..end - columns.start];
        // Three at a time: of more rows the compiler does not ask whether the sums are among them.
        let (threes, rest) = taps.as_chunks::<3>();
        for [(a, x), (b, y), (c, z)] in threes {
            for (((sum, a), b), c) in sums.iter_mut().zip(*a).zip(*b).zip(*c) {
                *sum = sum
                    .add_product::<FUSED>(*a, *x)
                    .add_product::<FUSED>(*b, *y)
                    .add_product::<FUSED>(*c, *z);
            }
        }
        for (items, weight) in rest {
            for (sum, item) in sums.iter_mut().zip(*items) {
                *sum = sum.add_product::<FUSED>(*item, *weight);
            }
        }
        self.add_tap_by_tap::<FUSED>(columns.start..start);
        self.add_tap_by_tap::<FUSED>(end..columns.end);
    }
}

impl<T: Sum> Along<'_, T> {
    /// The sums of some columns, whose windows may reach beyond the grid.
    #[inline(always)]
    fn add_tap_by_tap<const FUSED: bool>(&mut self, columns: Range<usize>) {
        let axis = self.axis;
        for (items, weight) in self.rows {
            for (tap, (weight, outputs)) in weight.iter().zip(self.within).enumerate() {
                let start = outputs.start.max(columns.start);
                let end = outputs.end.min(columns.end);
                if start >= end {
                    continue;
                }
                let first = self.columns.start;
                let sums = &mut self.sums[start - first..end - first];
                let items = items[axis.place(start, tap) - self.first..].iter();
                if !T::IS_REAL && FUSED && axis.stride == 1 {
                    for (sum, item) in sums.iter_mut().zip(items) {
                        *sum = sum.add_product::<FUSED>(*item, *weight);
                    }
                    continue;
                }
                for (sum, item) in sums.iter_mut().zip(items.step_by(axis.stride)) {
                    let item = simd::one_by_one::<FUSED, _>(*item);
                    *sum = sum.add_product::<FUSED>(item, *weight);
                }
            }
        }
    }
}
