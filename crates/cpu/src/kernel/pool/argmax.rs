//! The greatest of each window and where it is: the first of equals, the first NaN.

use crate::memory::try_resize;
use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, Set};
use allotrope_op::task::Axis;
use bytemuck::Pod;

use super::{Band, Grid, Group, Pooled, least};
use crate::simd::{self, Body};
use crate::tile::Source;

/// A number with an order in which NaN comes last.
trait Ordered: Pod + Send + Sync {
    const DTYPE: DType;
    /// The least of a dtype.
    fn least(dtype: DType) -> Self;
    /// Whether a later number takes the place of the greatest so far.
    fn beats(self, greatest: Self) -> bool;
}

macro_rules! ordered {
    ($($dtype:ident $item:ty, |$least:ident| $start:expr, |$x:ident, $g:ident| $beats:expr;)*) => {$(
        impl Ordered for $item {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn least(dtype: DType) -> Self {
                let $least = least(dtype);
                let _ = $least;
                $start
            }
            #[inline(always)]
            fn beats(self, $g: Self) -> bool {
                let $x = self;
                $beats
            }
        }
    )*};
}
ordered! {
    F32 f32, |least| f32::NEG_INFINITY, |x, g| x > g || (x.is_nan() && !g.is_nan());
    F64 f64, |least| f64::NEG_INFINITY, |x, g| x > g || (x.is_nan() && !g.is_nan());
    I32 i32, |least| least as i32, |x, g| x > g;
    I64 i64, |least| least as i64, |x, g| x > g;
    U64 u64, |least| least as u64, |x, g| x > g;
}

/// The greatest of each window to `out` of a dtype, and its place in the plane to `places`, int64.
///
/// # Errors
/// A memory error.
pub(crate) fn max_pool_with_places(
    pooled: &Pooled<'_>,
    grid: &Grid,
    dtype: DType,
    out: &mut [u8],
    places: &mut [u8],
) -> Result<(), Error> {
    let (source, from) = pooled.source()?;
    macro_rules! run {
        ($($variant:ident $item:ty)*) => {
            match from {
                $(DType::$variant => run::<$item>,)*
                _ => return Err(Error::not_in_set("max_pool", from, Set::Real, None)),
            }
        };
    }
    let run = run!(F32 f32 F64 f64 I32 i32 I64 i64 U64 u64);
    run(pooled.level, &source, grid, dtype, [out, places])
}

fn run<T: Ordered>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    dtype: DType,
    outputs: [&mut [u8]; 2],
) -> Result<(), Error> {
    let encode = match dtype {
        _ if dtype == T::DTYPE => None,
        _ => Some(Conversion::new(T::DTYPE, dtype)?),
    };
    let size = dtype.itemsize();
    let offsets = offsets_of(grid);
    grid.for_each_chunk(outputs, [size, size_of::<i64>()], |first, [out, places]| {
        let mut workspace = Workspace::<T>::new(T::least(dtype));
        let places: &mut [i64] = bytemuck::cast_slice_mut(places);
        let (mut done, count) = (0, places.len());
        while done < count {
            let group = Group::at(grid, first + done, count - done);
            let end = done + group.len();
            find_group(
                level,
                source,
                grid,
                &group,
                &mut workspace,
                offsets.as_deref(),
                &mut places[done..end],
            )?;
            let bytes = bytemuck::cast_slice(&workspace.greatest);
            let out = &mut out[done * size..end * size];
            match &encode {
                Some(encode) => encode.run(level, bytes, out, &mut workspace.scratch),
                None => out.copy_from_slice(bytes),
            }
            done = end;
        }
        Ok(())
    })
}

/// Memory of one piece of work.
struct Workspace<T> {
    items: Vec<u64>,
    greatest: Vec<T>,
    /// What a window without elements gives.
    least: T,
    /// The number of the tap of each greatest.
    taps: Vec<u32>,
    scratch: Scratch,
}

impl<T> Workspace<T> {
    fn new(least: T) -> Self {
        Self {
            items: Vec::new(),
            greatest: Vec::new(),
            least,
            taps: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

fn find_group<T: Ordered>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    group: &Group,
    workspace: &mut Workspace<T>,
    offsets: Option<&[isize]>,
    places: &mut [i64],
) -> Result<(), Error> {
    let [depth, height, width] = &grid.axes;
    let columns = group.columns.len();
    workspace.greatest.clear();
    try_resize(
        "window",
        &mut workspace.greatest,
        group.len(),
        workspace.least,
    )?;
    workspace.taps.clear();
    try_resize("window", &mut workspace.taps, group.len(), u32::MAX)?;
    let whole = columns == width.output;
    let span = if whole {
        0..width.input
    } else {
        width.reach(&group.columns)
    };
    let rows = height.reach(&group.rows);
    for (deep, slice) in depth
        .taps_inside(group.slice)
        .map(|tap| (tap, depth.place(group.slice, tap)))
    {
        let place = [group.plane, slice];
        let (rows, span) = (rows.clone(), span.clone());
        let (first, items) = (span.start, &mut workspace.items);
        let band = Band::<T>::read(source, grid, place, rows, span, items)?;
        for (index, row) in group.rows.clone().enumerate() {
            let results = index * columns..(index + 1) * columns;
            for tap in height.taps_inside(row) {
                let find = Find {
                    greatest: &mut workspace.greatest[results.clone()],
                    taps: &mut workspace.taps[results.clone()],
                    items: band.row(height.place(row, tap)),
                    first,
                    columns: group.columns.clone(),
                    axis: width,
                    tap: (deep * height.kernel + tap) * width.kernel,
                };
                simd::run(level, find);
            }
        }
    }
    let found = &workspace.taps;
    if let Some(offsets) = offsets {
        let row_of =
            |row: usize| depth.first(group.slice) * height.input as isize + height.first(row);
        let rows = group.rows.clone().zip(places.chunks_exact_mut(columns));
        for ((row, places), taps) in rows.zip(found.chunks_exact(columns)) {
            let start = row_of(row) * width.input as isize;
            let each = places.iter_mut().zip(taps).zip(group.columns.clone());
            for ((place, tap), column) in each {
                *place = match offsets.get(*tap as usize) {
                    Some(offset) => (start + width.first(column) + offset) as i64,
                    None => place_of_none(grid, [group.slice, row, column]),
                };
            }
        }
        return Ok(());
    }
    for (index, (place, tap)) in places.iter_mut().zip(found).enumerate() {
        let row = group.rows.start + index / columns;
        let column = group.columns.start + index % columns;
        let tap = *tap as usize;
        if tap == u32::MAX as usize {
            *place = place_of_none(grid, [group.slice, row, column]);
            continue;
        }
        let mut at = 0;
        for (axis, output, tap) in [
            (depth, group.slice, tap / width.kernel / height.kernel),
            (height, row, tap / width.kernel % height.kernel),
            (width, column, tap % width.kernel),
        ] {
            at = at * axis.input + axis.place(output, tap);
        }
        *place = at as i64;
    }
    Ok(())
}

/// The place of a window in which nothing was found: its first element.
#[cold]
fn place_of_none(grid: &Grid, window: [usize; 3]) -> i64 {
    let mut at = 0;
    for (axis, output) in grid.axes.iter().zip(window) {
        let tap = axis.taps_inside(output).start;
        at = at * axis.input + axis.place(output, tap).min(axis.input - 1);
    }
    at as i64
}

/// How far each tap of a window lies from where the window begins in its plane, unless there are too
/// many to be worth it.
fn offsets_of(grid: &Grid) -> Option<Vec<isize>> {
    /// The most taps.
    const MOST: usize = 4096;
    let [depth, height, width] = &grid.axes;
    let taps = grid.axes.iter().map(|axis| axis.kernel);
    let taps = taps.fold(1_usize, usize::saturating_mul);
    let offset = |tap: usize| {
        let deep = tap / width.kernel / height.kernel * depth.dilation;
        let low = tap / width.kernel % height.kernel * height.dilation;
        let across = tap % width.kernel * width.dilation;
        ((deep * height.input + low) * width.input + across) as isize
    };
    (taps <= MOST).then(|| (0..taps).map(offset).collect())
}

/// A row of elements compared with the greatest of their windows.
struct Find<'a, T> {
    greatest: &'a mut [T],
    taps: &'a mut [u32],
    items: &'a [T],
    /// The column of the first item.
    first: usize,
    columns: Range<usize>,
    axis: &'a Axis,
    /// The number of the row's first tap.
    tap: usize,
}

impl<T: Ordered> Body for Find<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let axis = self.axis;
        if axis.is_adaptive {
            for (index, column) in self.columns.enumerate() {
                for tap in axis.taps_inside(column) {
                    let item = self.items[axis.place(column, tap) - self.first];
                    if item.beats(self.greatest[index]) {
                        self.greatest[index] = item;
                        self.taps[index] = (self.tap + tap) as u32;
                    }
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
            let results = start - self.columns.start..end - self.columns.start;
            let greatest = &mut self.greatest[results.clone()];
            let taps = &mut self.taps[results];
            let items = &self.items[axis.place(start, tap) - self.first..];
            let tap = (self.tap + tap) as u32;
            match axis.stride {
                1 if FUSED => find_each::<T, 1>(greatest, taps, items, tap),
                2 if FUSED => find_each::<T, 2>(greatest, taps, items, tap),
                stride => {
                    let results = greatest.iter_mut().zip(taps);
                    for ((greatest, place), item) in results.zip(items.iter().step_by(stride)) {
                        let item = *item;
                        let beats = item.beats(*greatest);
                        *greatest = if beats { item } else { *greatest };
                        *place = if beats { tap } else { *place };
                    }
                }
            }
        }
    }
}

/// Every `STRIDE`th item compared with the next greatest.
#[inline(always)]
fn find_each<T: Ordered, const STRIDE: usize>(
    greatest: &mut [T],
    taps: &mut [u32],
    items: &[T],
    tap: u32,
) {
    let (whole, rest) = items.as_chunks::<STRIDE>();
    let most = greatest.len().min(whole.len());
    for ((greatest, place), items) in greatest.iter_mut().zip(taps.iter_mut()).zip(whole) {
        let beats = items[0].beats(*greatest);
        *greatest = if beats { items[0] } else { *greatest };
        *place = if beats { tap } else { *place };
    }
    // The last window may end before a whole stride does.
    if let (Some(greatest), Some(item)) = (greatest.get_mut(most), rest.first())
        && item.beats(*greatest)
    {
        *greatest = *item;
        taps[most] = tap;
    }
}
