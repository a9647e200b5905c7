//! Windows over grids, each of which becomes one number: the greatest, the mean, the place of the
//! greatest.
//!
//! Results are made in chunks whose bounds depend on the sizes alone. Those of a chunk that lie in
//! neighbouring rows share a band of input rows, which is read in place or decoded once. A window is
//! folded along its columns first, whole rows at a time, then along the folded row.
//!
//! | file | what is in it |
//! |---|---|
//! | `fold` | windows without regard to places |
//! | `argmax` | the greatest and where it is |

mod argmax;
mod fold;

use crate::memory::{try_collect, try_resize};
use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::Program;
use bytemuck::Pod;

use super::rowwise::{Accumulator, read};
use super::scatter;
use crate::parallel::{self, CHUNK};
use crate::tile::{Input, Source};
use allotrope_op::task::Axis;
pub(crate) use argmax::max_pool_with_places;
pub(crate) use fold::{avg_pool, max_pool};

/// The windows over each of many planes.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Depth, rows, columns.
    pub(crate) axes: [Axis; 3],
}

impl Grid {
    /// Results of one piece of work: whole rows where there is room for them.
    fn chunk(&self) -> usize {
        let taps = self.axes.iter().map(|axis| axis.kernel);
        let taps = taps.fold(1_usize, usize::saturating_mul).max(1);
        let chunk = (CHUNK / taps).max(1);
        let row = self.axes[2].output.max(1);
        if chunk > row {
            chunk / row * row
        } else {
            chunk
        }
    }

    /// Calls `work` with the first result of each chunk and its parts of two outputs, which have
    /// `sizes` bytes per result; the second may be empty.
    pub(super) fn for_each_chunk(
        &self,
        outputs: [&mut [u8]; 2],
        sizes: [usize; 2],
        work: impl Fn(usize, [&mut [u8]; 2]) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        let chunk = self.chunk();
        let [one, two] = outputs;
        let mut twos = two.chunks_mut(chunk * sizes[1].max(1));
        let ones = one.chunks_mut(chunk * sizes[0]);
        let parts = ones.map(|one| [one, twos.next().unwrap_or_default()]);
        let mut parts: Vec<_> = try_collect("window", parts)?;
        parallel::try_for_each_part(&mut parts, 1, |index, parts| {
            let mut parts = parts.iter_mut();
            parts.try_for_each(|[one, two]| work(index * chunk, [one, two]))
        })
    }
}

/// Results of neighbouring rows of one slice of a plane, or a part of one row.
pub(super) struct Group {
    pub(super) plane: usize,
    pub(super) slice: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl Group {
    /// The group that begins with a result, of at most `count`.
    pub(super) fn at(grid: &Grid, first: usize, count: usize) -> Self {
        /// More rows than this bring nothing and take memory.
        const ROWS: usize = 32;
        let [depth, height, width] = grid.axes;
        let (row, column) = (first / width.output, first % width.output);
        let (rest, row) = (row / height.output, row % height.output);
        let (plane, slice) = (rest / depth.output, rest % depth.output);
        let (rows, columns) = if column == 0 && count >= width.output {
            let rows = (count / width.output).min(height.output - row).min(ROWS);
            (rows, 0..width.output)
        } else {
            (1, column..width.output.min(column + count))
        };
        Self {
            plane,
            slice,
            rows: row..row + rows,
            columns,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// Input rows that a group reads in one slice of the grid.
pub(super) struct Band<'a, T> {
    items: &'a [T],
    first_row: usize,
    /// From the start of a row to that of the next.
    stride: usize,
    /// Where the columns begin in a row.
    offset: usize,
    span: usize,
}

impl<'a, T: Pod> Band<'a, T> {
    /// The rows `rows` and columns `span` of a slice of a plane, in place or in `room`.
    pub(super) fn read(
        source: &'a Source<'_>,
        grid: &Grid,
        [plane, slice]: [usize; 2],
        rows: Range<usize>,
        span: Range<usize>,
        room: &'a mut Vec<u64>,
    ) -> Result<Self, Error> {
        let [depth, height, width] = grid.axes.map(|axis| axis.input);
        let start = (plane * depth + slice) * height * width;
        let (first, count) = (start + rows.start * width, rows.len() * width);
        if let Some(bytes) = source.in_place(first, count) {
            return Ok(Self {
                items: bytemuck::cast_slice(bytes),
                first_row: rows.start,
                stride: width,
                offset: span.start,
                span: span.len(),
            });
        }
        let items = rows.len() * span.len();
        let words = (items * size_of::<T>()).div_ceil(8);
        if room.len() < words {
            try_resize("window", room, words, 0)?;
        }
        let bytes = &mut bytemuck::cast_slice_mut(room)[..items * size_of::<T>()];
        if span.len() == width {
            source.read(first, count, bytes)?;
        } else if !bytes.is_empty() {
            let rows = bytes.chunks_exact_mut(span.len() * size_of::<T>());
            for (row, bytes) in rows.enumerate() {
                source.read(first + row * width + span.start, span.len(), bytes)?;
            }
        }
        Ok(Self {
            items: bytemuck::cast_slice(bytes),
            first_row: rows.start,
            stride: span.len(),
            offset: 0,
            span: span.len(),
        })
    }

    /// The columns of a row.
    pub(super) fn row(&self, row: usize) -> &[T] {
        let start = (row - self.first_row) * self.stride + self.offset;
        &self.items[start..start + self.span]
    }
}

/// The least integer of a dtype; zero of those that have others.
fn least(dtype: DType) -> i128 {
    dtype.integer_range().map_or(0, |(least, _)| least)
}

/// What pooling reads: a program's output, in the dtype of the fold.
pub(crate) struct Pooled<'a> {
    /// The level of instructions.
    pub(crate) level: Level,
    /// What is read for each element of the grid.
    pub(crate) program: &'a Program,
    /// The tensors, of the grid's shape.
    pub(crate) inputs: &'a [Input<'a>],
}

impl<'a> Pooled<'a> {
    pub(super) fn source(&self) -> Result<(Source<'a>, DType), Error> {
        let dtype = self.program.output_dtypes().next().unwrap_or(DType::F32);
        Ok((Source::new(self.level, self.program, self.inputs)?, dtype))
    }
}

/// Writes the elements of each plane to their places in a larger one; all places must exist.
pub(crate) fn max_unpool(
    dtype: DType,
    elements: &[u8],
    places: &[i64],
    from: usize,
    to: usize,
    out: &mut [u8],
) {
    let size = dtype.itemsize();
    parallel::for_each_block(out, to * size, |plane, out| {
        let part = plane * from..(plane + 1) * from;
        let elements = &elements[part.start * size..part.end * size];
        scatter(dtype, elements, &places[part], out);
    });
}

/// Adds the numbers of each plane to those in their places of another, which is zero at first, as
/// `dtype`: what a program makes of the numbers is float32 or float64, and sums are rounded once. All
/// places must exist.
///
/// # Errors
/// A memory error.
pub(crate) fn max_pool_backward(
    numbers: &Pooled<'_>,
    places: &[i64],
    [from, to]: [usize; 2],
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let (source, compute) = numbers.source()?;
    match compute {
        DType::F64 => add_planes::<f64>(numbers.level, &source, places, [from, to], dtype, out),
        _ => add_planes::<f32>(numbers.level, &source, places, [from, to], dtype, out),
    }
}

fn add_planes<C: Accumulator + std::ops::AddAssign>(
    level: Level,
    source: &Source<'_>,
    places: &[i64],
    [from, to]: [usize; 2],
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    if from == 0 || out.is_empty() {
        out.fill(0);
        return Ok(());
    }
    let (size, is_same) = (dtype.itemsize(), dtype == C::DTYPE);
    let encode = Conversion::new(C::DTYPE, dtype)?;
    // Small planes are worked on together.
    let together = (CHUNK / to.max(from)).max(1);
    parallel::try_for_each_part(out, together * to * size, |part, out| {
        let (mut numbers, mut sums) = (Vec::new(), Vec::new());
        let mut scratch = Scratch::default();
        for (index, out) in out.chunks_exact_mut(to * size).enumerate() {
            let first = (part * together + index) * from;
            let numbers = read::<C>(source, first, from, &mut numbers)?;
            let places = &places[first..first + from];
            let add = |sums: &mut [C]| {
                sums.fill(C::ZERO);
                for (number, place) in numbers.iter().zip(places) {
                    if let Some(sum) = sums.get_mut(*place as usize) {
                        *sum += *number;
                    }
                }
            };
            if is_same {
                add(bytemuck::cast_slice_mut(out));
                continue;
            }
            try_resize("max_pool", &mut sums, to, C::ZERO)?;
            add(&mut sums);
            let bytes = bytemuck::cast_slice(&sums);
            encode.run(level, bytes, out, &mut scratch);
        }
        Ok(())
    })
}
