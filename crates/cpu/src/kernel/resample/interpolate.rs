//! Sums of elements with weights: along depth and rows first, whole rows at a time, then along the
//! blended row.

use crate::memory::{try_collect, try_resize};
use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, c64, c128};
use allotrope_op::task::window::AxisWeights;
use bytemuck::Pod;

use crate::kernel::pool::{Band, Grid, Group, Pooled};
use crate::simd::{self, Body};
use crate::tile::Source;

/// Numbers that are blended.
trait Blend: Pod + Send + Sync {
    const DTYPE: DType;
    /// What every number can be added to and stays itself, -0 included.
    const NOTHING: Self;
    type Weight: Copy + Send + Sync;
    fn weight(weight: f64) -> Self::Weight;
    /// The sum with a part of a number; no part of it is nothing, even of infinity.
    fn add_part<const FUSED: bool>(self, weight: Self::Weight, x: Self) -> Self;
}

macro_rules! blend {
    ($($dtype:ident $T:ty, $real:ty, $nothing:expr, |$s:ident, $w:ident, $x:ident| $fused:expr, $plain:expr;)*) => {$(
        impl Blend for $T {
            const DTYPE: DType = DType::$dtype;
            const NOTHING: Self = $nothing;
            type Weight = $real;
            #[inline(always)]
            fn weight(weight: f64) -> $real {
                weight as $real
            }
            #[inline(always)]
            fn add_part<const FUSED: bool>(self, $w: $real, $x: Self) -> Self {
                let $s = self;
                let sum = if FUSED { $fused } else { $plain };
                if $w == 0.0 { $s } else { sum }
            }
        }
    )*};
}
blend! {
    F32 f32, f32, -0.0, |s, w, x| w.mul_add(x, s), s + w * x;
    F64 f64, f64, -0.0, |s, w, x| w.mul_add(x, s), s + w * x;
    C64 c64, f32, c64::new(-0.0, -0.0), |s, w, x| s + x * w, s + x * w;
    C128 c128, f64, c128::new(-0.0, -0.0), |s, w, x| s + x * w, s + x * w;
}

/// Writes, for each plane of the grid, the results that the weights of the axes make of it, to `out` of
/// a float or complex dtype. The inputs of the grid's axes are its sizes, their outputs those of the
/// result.
///
/// # Errors
/// A memory error.
pub(crate) fn interpolate(
    grids: &Pooled<'_>,
    grid: &Grid,
    axes: &[AxisWeights<'_>; 3],
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (source, from) = grids.source()?;
    let run = match from {
        DType::F64 => run::<f64>,
        DType::C64 => run::<c64>,
        DType::C128 => run::<c128>,
        _ => run::<f32>,
    };
    run(grids.level, &source, grid, axes, dtype, out)
}

/// What errors of this family say.
const OP: &str = "interpolate";

fn run<T: Blend>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    axes: &[AxisWeights<'_>; 3],
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let encode = match dtype {
        _ if dtype == T::DTYPE => None,
        _ => Some(Conversion::new(T::DTYPE, dtype)?),
    };
    let weights = axes[2].weights.iter().map(|weight| T::weight(*weight));
    let weights: Vec<T::Weight> = try_collect(OP, weights)?;
    let size = dtype.itemsize();
    grid.for_each_chunk([out, &mut []], [size, 0], |first, [out, _]| {
        let mut workspace = Workspace::<T>::new();
        let (mut done, count) = (0, out.len() / size);
        while done < count {
            let group = Group::at(grid, first + done, count - done);
            blend_group(level, source, grid, axes, &weights, &group, &mut workspace)?;
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

/// Memory of one piece of work.
struct Workspace<T> {
    items: Vec<u64>,
    columns: Vec<T>,
    results: Vec<T>,
    scratch: Scratch,
}

impl<T> Workspace<T> {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            columns: Vec::new(),
            results: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

fn blend_group<T: Blend>(
    level: Level,
    source: &Source<'_>,
    grid: &Grid,
    [depth, height, width]: &[AxisWeights<'_>; 3],
    weights: &[T::Weight],
    group: &Group,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let columns = group.columns.clone();
    let reach = |axis: &AxisWeights<'_>, part: std::ops::Range<usize>| {
        let places = &axis.places[part.start * axis.taps..part.end * axis.taps];
        let first = places.iter().copied().min().unwrap_or(0);
        first..places.iter().copied().max().map_or(first, |last| last + 1)
    };
    let whole = columns.len() == grid.axes[2].output;
    let span = if whole {
        0..grid.axes[2].input
    } else {
        reach(width, columns.clone())
    };
    let rows = reach(height, group.rows.clone());
    workspace.columns.clear();
    let count = group.rows.len() * span.len();
    try_resize(OP, &mut workspace.columns, count, T::NOTHING)?;
    for (slice, deep) in depth.of(group.slice).filter(|(_, deep)| *deep != 0.0) {
        let place = [group.plane, slice];
        let (rows, span) = (rows.clone(), span.clone());
        let length = span.len();
        let band = Band::<T>::read(source, grid, place, rows, span, &mut workspace.items)?;
        for (index, row) in group.rows.clone().enumerate() {
            let sums = &mut workspace.columns[index * length..(index + 1) * length];
            for (line, part) in height.of(row).filter(|(_, part)| *part != 0.0) {
                let weight = T::weight(deep * part);
                let items = band.row(line);
                simd::run(
                    level,
                    Down {
                        sums: &mut *sums,
                        items,
                        weight,
                    },
                );
            }
        }
    }
    workspace.results.clear();
    try_resize(OP, &mut workspace.results, group.len(), T::NOTHING)?;
    let part = columns.start * width.taps..columns.end * width.taps;
    for (index, results) in workspace
        .results
        .chunks_exact_mut(columns.len().max(1))
        .enumerate()
    {
        let along = Along {
            results,
            items: &workspace.columns[index * span.len()..(index + 1) * span.len()],
            first: span.start,
            taps: width.taps,
            places: &width.places[part.clone()],
            weights: &weights[part.clone()],
        };
        simd::run(level, along);
    }
    Ok(())
}

/// A part of a row added to a row.
struct Down<'a, T: Blend> {
    sums: &'a mut [T],
    items: &'a [T],
    weight: T::Weight,
}

impl<T: Blend> Body for Down<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (sum, item) in self.sums.iter_mut().zip(self.items) {
            *sum = sum.add_part::<FUSED>(self.weight, *item);
        }
    }
}

/// Results along a blended row.
struct Along<'a, T: Blend> {
    results: &'a mut [T],
    items: &'a [T],
    /// The column of the first item.
    first: usize,
    taps: usize,
    places: &'a [usize],
    weights: &'a [T::Weight],
}

impl<T: Blend> Along<'_, T> {
    /// The loop for a number of taps that is known.
    #[inline(always)]
    fn run_taps<const FUSED: bool, const TAPS: usize>(self) {
        let places = self.places.as_chunks::<TAPS>().0;
        let weights = self.weights.as_chunks::<TAPS>().0;
        for ((result, places), weights) in self.results.iter_mut().zip(places).zip(weights) {
            let mut sum = T::NOTHING;
            for tap in 0..TAPS {
                sum = sum.add_part::<FUSED>(weights[tap], self.items[places[tap] - self.first]);
            }
            *result = sum;
        }
    }
}

impl<T: Blend> Body for Along<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        match self.taps {
            1 if FUSED => self.run_taps::<FUSED, 1>(),
            2 if FUSED => self.run_taps::<FUSED, 2>(),
            4 if FUSED => self.run_taps::<FUSED, 4>(),
            taps => {
                let places = self.places.chunks_exact(taps);
                let parts = places.zip(self.weights.chunks_exact(taps));
                for (result, (places, weights)) in self.results.iter_mut().zip(parts) {
                    let mut sum = T::NOTHING;
                    for (place, weight) in places.iter().zip(weights) {
                        sum = sum.add_part::<FUSED>(*weight, self.items[place - self.first]);
                    }
                    *result = sum;
                }
            }
        }
    }
}
