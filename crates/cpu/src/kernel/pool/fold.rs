//! Windows that become one number without regard to places: the greatest, the mean.
//!
//! Means are summed in float64.

use crate::memory::try_resize;
use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, Set, c64, c128};
use bytemuck::{Pod, Zeroable};

use super::{Band, Grid, Group, Pooled, least};
use crate::simd::{self, Body};
use crate::tile::Source;
use allotrope_op::task::Axis;
use allotrope_op::task::window::Divisor;

/// How the elements of a window become one.
trait Fold: 'static {
    type Item: Pod + Send + Sync;
    type Total: Pod + Send + Sync;
    const TOTAL: DType;
    /// What a window without elements gives, in the dtype of results.
    fn start(dtype: DType) -> Self::Total;
    fn widen(item: Self::Item) -> Self::Total;
    fn join(a: Self::Total, b: Self::Total) -> Self::Total;
    /// The quotient by a count; a total that is no sum stays.
    fn divide(total: Self::Total, count: f64) -> Self::Total;
}

/// The greatest; NaN if there is one.
struct Greatest<T>(std::marker::PhantomData<T>);
/// The sum, in twice the digits of float32.
struct Sum<T>(std::marker::PhantomData<T>);

macro_rules! greatest {
    ($($dtype:ident $item:ty, |$least:ident| $start:expr, |$x:ident| $is_nan:expr;)*) => {$(
        impl Fold for Greatest<$item> {
            type Item = $item;
            type Total = $item;
            const TOTAL: DType = DType::$dtype;
            #[inline(always)]
            fn start(dtype: DType) -> $item {
                let $least = least(dtype);
                let _ = $least;
                $start
            }
            #[inline(always)]
            fn widen(item: $item) -> $item {
                item
            }
            #[inline(always)]
            fn join(a: $item, $x: $item) -> $item {
                if $x > a || $is_nan { $x } else { a }
            }
            #[inline(always)]
            fn divide(total: $item, _: f64) -> $item {
                total
            }
        }
    )*};
}
greatest! {
    F32 f32, |least| f32::NEG_INFINITY, |x| x.is_nan();
    F64 f64, |least| f64::NEG_INFINITY, |x| x.is_nan();
    I32 i32, |least| least as i32, |x| false;
    I64 i64, |least| least as i64, |x| false;
    U64 u64, |least| least as u64, |x| false;
}

macro_rules! sum {
    ($($dtype:ident $item:ty => $total:ty, |$x:ident| $widen:expr;)*) => {$(
        impl Fold for Sum<$item> {
            type Item = $item;
            type Total = $total;
            const TOTAL: DType = DType::$dtype;
            #[inline(always)]
            fn start(_: DType) -> $total {
                // What every number can be added to and stays itself, -0 included.
                -<$total>::zeroed()
            }
            #[inline(always)]
            fn widen($x: $item) -> $total {
                $widen
            }
            #[inline(always)]
            fn join(a: $total, b: $total) -> $total {
                a + b
            }
            #[inline(always)]
            fn divide(total: $total, count: f64) -> $total {
                total / count
            }
        }
    )*};
}
sum! {
    F64 f32 => f64, |x| f64::from(x);
    F64 f64 => f64, |x| x;
    C128 c64 => c128, |x| c128::new(x.re.into(), x.im.into());
    C128 c128 => c128, |x| x;
}

/// The greatest of each window, to `out` of a dtype. The program gives floats of 32 or 64 bits,
/// int32, int64 or uint64.
///
/// # Errors
/// A memory error.
pub(crate) fn max_pool(
    pooled: &Pooled<'_>,
    grid: &Grid,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (source, from) = pooled.source()?;
    macro_rules! run {
        ($($variant:ident $item:ty)*) => {
            match from {
                $(DType::$variant => run::<Greatest<$item>>,)*
                _ => return Err(Error::not_in_set("max_pool", from, Set::Real, None)),
            }
        };
    }
    let run = run!(F32 f32 F64 f64 I32 i32 I64 i64 U64 u64);
    run(pooled.level, &source, grid, Divisor::Elements, dtype, out)
}

/// The mean of each window, to `out` of a dtype. The program gives floats of 32 or 64 bits, or
/// complex numbers of such.
///
/// # Errors
/// A memory error.
pub(crate) fn avg_pool(
    pooled: &Pooled<'_>,
    grid: &Grid,
    divisor: Divisor,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (source, from) = pooled.source()?;
    let run = match from {
        DType::C64 => run::<Sum<c64>>,
        DType::C128 => run::<Sum<c128>>,
        DType::F64 => run::<Sum<f64>>,
        _ => run::<Sum<f32>>,
    };
    run(pooled.level, &source, grid, divisor, dtype, out)
}

fn run<F: Fold>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    divisor: Divisor,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let encode = match dtype {
        _ if dtype == F::TOTAL => None,
        _ => Some(Conversion::new(F::TOTAL, dtype)?),
    };
    let start = F::start(dtype);
    let widths = widths(grid, divisor);
    let size = dtype.itemsize();
    grid.for_each_chunk([out, &mut []], [size, 0], |first, [out, _]| {
        let mut workspace = Workspace::<F>::default();
        let (mut done, count) = (0, out.len() / size);
        while done < count {
            let group = Group::at(grid, first + done, count - done);
            fold_group::<F>(level, source, grid, &group, start, &mut workspace)?;
            if let [depths, heights, widths] = &widths[..] {
                let outer = depths[group.slice];
                let rows = workspace.results.chunks_exact_mut(group.columns.len());
                for (row, results) in group.rows.clone().zip(rows) {
                    let divide = Divide::<F> {
                        results,
                        outer: outer * heights[row],
                        widths: &widths[group.columns.clone()],
                    };
                    simd::run(level, divide);
                }
            }
            let bytes = bytemuck::cast_slice(&workspace.results);
            let out = &mut out[done * size..(done + group.len()) * size];
            match &encode {
                Some(encode) => encode.run(level, bytes, out, &mut workspace.scratch),
                None => out.copy_from_slice(bytes),
            }
            done += group.len();
        }
        Ok(())
    })
}

/// What each window counts on each axis, to be multiplied; nothing where nothing is divided.
fn widths(grid: &Grid, divisor: Divisor) -> Vec<Vec<f64>> {
    let count = |(place, axis): (usize, &Axis)| -> Vec<f64> {
        let width = |output| match divisor {
            Divisor::Elements => axis.taps_inside(output).len() as f64,
            Divisor::Places(after) => {
                let end = (axis.input + after[place]) as isize;
                let first = axis.first(output);
                (end.min(first + axis.kernel as isize) - first) as f64
            }
            Divisor::Constant(value) if place == 0 => value,
            Divisor::Constant(_) => 1.0,
        };
        (0..axis.output).map(width).collect()
    };
    grid.axes.iter().enumerate().map(count).collect()
}

/// Memory of one piece of work.
struct Workspace<F: Fold> {
    items: Vec<u64>,
    /// A row of totals for each row of results.
    columns: Vec<F::Total>,
    results: Vec<F::Total>,
    scratch: Scratch,
}

impl<F: Fold> Default for Workspace<F> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            columns: Vec::new(),
            results: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

fn fold_group<F: Fold>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    group: &Group,
    start: F::Total,
    workspace: &mut Workspace<F>,
) -> Result<(), Error> {
    let [depth, height, width] = &grid.axes;
    let whole = group.columns.len() == width.output;
    let span = if whole {
        0..width.input
    } else {
        width.reach(&group.columns)
    };
    let rows = height.reach(&group.rows);
    workspace.columns.clear();
    let count = group.rows.len() * span.len();
    try_resize("window", &mut workspace.columns, count, start)?;
    for tap in depth.taps_inside(group.slice) {
        let slice = depth.place(group.slice, tap);
        let place = [group.plane, slice];
        let band = Band::<F::Item>::read(
            source,
            grid,
            place,
            rows.clone(),
            span.clone(),
            &mut workspace.items,
        )?;
        for (index, row) in group.rows.clone().enumerate() {
            let totals = &mut workspace.columns[index * span.len()..(index + 1) * span.len()];
            for tap in height.taps_inside(row) {
                let items = band.row(height.place(row, tap));
                simd::run(level, Down::<F> { totals, items });
            }
        }
    }
    workspace.results.clear();
    try_resize("window", &mut workspace.results, group.len(), start)?;
    let rows = workspace
        .results
        .chunks_exact_mut(group.columns.len().max(1));
    for (index, results) in rows.enumerate() {
        let along = Along::<F> {
            results,
            totals: &workspace.columns[index * span.len()..(index + 1) * span.len()],
            first: span.start,
            columns: group.columns.clone(),
            axis: width,
            start,
        };
        simd::run(level, along);
    }
    Ok(())
}

/// A row joined to the totals of its columns.
struct Down<'a, F: Fold> {
    totals: &'a mut [F::Total],
    items: &'a [F::Item],
}

impl<F: Fold> Body for Down<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (total, item) in self.totals.iter_mut().zip(self.items) {
            let item = *item;
            *total = F::join(*total, F::widen(item));
        }
    }
}

/// The totals of columns joined window by window.
struct Along<'a, F: Fold> {
    results: &'a mut [F::Total],
    totals: &'a [F::Total],
    /// The column of the first total.
    first: usize,
    columns: Range<usize>,
    axis: &'a Axis,
    /// What a window without elements gives.
    start: F::Total,
}

impl<F: Fold> Body for Along<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        /// Windows from this width on are folded one by one, in lanes.
        const WIDE: usize = 16;
        let axis = self.axis;
        if axis.is_adaptive || (axis.kernel >= WIDE && axis.dilation == 1) {
            for (column, result) in self.columns.zip(self.results) {
                let taps = axis.taps_inside(column);
                if !taps.is_empty() {
                    let start = axis.place(column, taps.start) - self.first;
                    *result = fold_lanes::<F>(self.start, &self.totals[start..start + taps.len()]);
                }
            }
            return;
        }
        for tap in 0..axis.kernel {
            let outputs = axis.outputs_of(tap);
            let start = outputs.start.max(self.columns.start);
            let end = outputs.end.min(self.columns.end);
            if start >= end {
                continue;
            }
            let first = self.columns.start;
            let results = &mut self.results[start - first..end - first];
            let totals = &self.totals[axis.place(start, tap) - self.first..];
            match axis.stride {
                1 if FUSED => join_each::<F, 1>(results, totals),
                2 if FUSED => join_each::<F, 2>(results, totals),
                3 if FUSED => join_each::<F, 3>(results, totals),
                stride => {
                    for (result, total) in results.iter_mut().zip(totals.iter().step_by(stride)) {
                        *result = F::join(*result, *total);
                    }
                }
            }
        }
    }
}

/// Every `STRIDE`th total joined to the next result.
#[inline(always)]
fn join_each<F: Fold, const STRIDE: usize>(results: &mut [F::Total], totals: &[F::Total]) {
    let (whole, rest) = totals.as_chunks::<STRIDE>();
    let (most, last) = results.split_at_mut(results.len().min(whole.len()));
    for (result, totals) in most.iter_mut().zip(whole) {
        *result = F::join(*result, totals[0]);
    }
    // The last window may end before a whole stride does.
    if let (Some(result), Some(total)) = (last.first_mut(), rest.first()) {
        *result = F::join(*result, *total);
    }
}

/// A run of totals as one, in as many lanes as a vector has.
#[inline(always)]
fn fold_lanes<F: Fold>(start: F::Total, totals: &[F::Total]) -> F::Total {
    const LANES: usize = 8;
    let mut lanes = [start; LANES];
    let (whole, rest) = totals.as_chunks::<LANES>();
    for totals in whole {
        for (lane, total) in lanes.iter_mut().zip(totals) {
            *lane = F::join(*lane, *total);
        }
    }
    for (lane, total) in lanes.iter_mut().zip(rest) {
        *lane = F::join(*lane, *total);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for place in 0..width {
            lanes[place] = F::join(lanes[place], lanes[place + width]);
        }
    }
    lanes[0]
}

/// A row of totals divided by what its windows count.
struct Divide<'a, F: Fold> {
    results: &'a mut [F::Total],
    outer: f64,
    widths: &'a [f64],
}

impl<F: Fold> Body for Divide<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (result, width) in self.results.iter_mut().zip(self.widths) {
            let width = *width;
            *result = F::divide(*result, self.outer * width);
        }
    }
}
