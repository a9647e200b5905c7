//! Planes that filters slide over: some rows of an image with what lies beyond its edges.
//!
//! Windows that are `stride` apart see every `stride`th row and column. Each of these phases is a
//! plane of its own, in which windows are neighbours.

use std::ops::Range;

use allotrope_dtype::{DType, Level, dispatch_width};
use bytemuck::Pod;

use super::Convolution;
use super::im2col::{Images, copy_steps};
use crate::gemm::{Field, Piece};
use crate::simd::{self, Body};
use allotrope_op::task::{Axis, Edge};

/// Results of a piece, about: its sums and planes stay in the second-level cache.
const COLUMNS: usize = 768;
/// Windows of a piece of a sum over windows, about: its gradients and planes stay there, too.
const STEPS: usize = 256;
/// Times as many of one channel, since there are no tiles whose columns must stay in the cache.
const SINGLE: usize = 16;
/// Columns of a tile, about, and rows of planes that take as long to read as a column to sum.
const TILE: usize = 32;
const READ: usize = 16;
/// The most numbers in the planes of a channel.
const LARGEST: usize = 1 << 16;
/// Taps beyond which a row of windows is better packed.
const MOST_TAPS: usize = 512;

/// The windows of images, in pieces of some rows or of a part of a row.
pub(super) struct Planes<'a> {
    images: Images<'a>,
    dtype: DType,
    axes: [Axis; 3],
    edge: Edge,
    /// Matrices of results: images times groups.
    batches: usize,
    /// Rows of windows in a piece, and windows of a row.
    rows: usize,
    width: usize,
    /// Rows of a plane, from one to the next, and numbers in all.
    height: usize,
    pitch: usize,
    plane: usize,
    /// The phases of rows and columns that taps have.
    phases: [Vec<usize>; 2],
}

impl<'a> Planes<'a> {
    /// The pieces of a convolution, if most of what is computed in such planes is wanted.
    pub(super) fn new(images: Images<'a>, convolution: &Convolution<'_>) -> Option<Self> {
        let enough = 2 * crate::parallel::thread_count();
        let is_single = convolution.filters == convolution.groups
            && convolution.image.2.shape()[1] == convolution.groups;
        let columns = if is_single { SINGLE * COLUMNS } else { COLUMNS };
        let mut planes = Self::cut(images, convolution, columns, enough)?;
        planes.fill_tiles();
        let wasted = match planes.rows {
            1 => 0,
            _ => planes.pitch - planes.width,
        };
        (wasted <= planes.width / 2).then_some(planes)
    }

    /// The pieces of a sum over windows, which follow from the sizes alone.
    pub(super) fn of_sums(images: Images<'a>, convolution: &Convolution<'_>) -> Option<Self> {
        let is_single = convolution.image.2.shape()[1] == convolution.groups;
        let steps = if is_single { SINGLE * STEPS } else { STEPS };
        Self::cut(images, convolution, steps, 1)
    }

    /// Pieces of about so many results, and more than that many if there are rows to cut.
    fn cut(
        images: Images<'a>,
        convolution: &Convolution<'_>,
        columns: usize,
        enough: usize,
    ) -> Option<Self> {
        let [slices, down, across] = convolution.axes;
        let batches = convolution.image.2.shape()[0] * convolution.groups;
        let reach = |axis: &Axis| (axis.kernel - 1) * axis.dilation / axis.stride;
        let pieces = across.output.div_ceil(columns * 4 / 3);
        let width = across.output.div_ceil(pieces);
        let seen = width + reach(&across);
        // Zeros to the right of a row are those to the left of the next one.
        let shared = match convolution.edge {
            Edge::Zeros if pieces == 1 && across.stride == 1 => across.padding,
            _ => 0,
        };
        let pitch = match shared {
            0 => seen,
            _ => width
                .max(seen - shared.min(seen))
                .max(seen.min(shared + across.input)),
        };
        let mut rows = if pieces > 1 {
            1
        } else {
            (columns / pitch).clamp(1, down.output)
        };
        let count = |rows: usize| batches * slices.output * pieces * down.output.div_ceil(rows);
        while rows > 1 && count(rows) < enough {
            rows = rows.div_ceil(2);
        }
        rows = down.output.div_ceil(down.output.div_ceil(rows));
        let phases = [&down, &across].map(phases);
        let height = rows + reach(&down);
        let planes = slices.kernel * phases[0].len() * phases[1].len();
        let taps: usize = convolution.axes.iter().map(|axis| axis.kernel).product();
        let plane = height.checked_mul(pitch)?.checked_add(seen - pitch)?;
        let fits = planes.checked_mul(plane)? <= LARGEST;
        (fits && taps <= MOST_TAPS).then_some(Self {
            images,
            dtype: convolution.image.0,
            axes: convolution.axes,
            edge: convolution.edge,
            batches,
            rows,
            width,
            height,
            pitch,
            plane,
            phases,
        })
    }

    /// Takes some more or fewer rows at a time, if tiles have fewer columns that nobody wants then.
    fn fill_tiles(&mut self) {
        let (all, reach) = (self.axes[1].output, self.height - self.rows);
        if self.rows == 1 || self.rows == all {
            return;
        }
        let time = |rows: usize| {
            let columns = |rows: usize| match rows {
                0 => 0,
                _ => ((rows - 1) * self.pitch + self.width).next_multiple_of(TILE),
            };
            let (pieces, rest) = (all / rows, all % rows);
            pieces * columns(rows) + columns(rest) + all.div_ceil(rows) * reach * self.pitch / READ
        };
        let around = self.rows * 3 / 4..=(self.rows * 5 / 4).min(all);
        let rows = around.rev().min_by_key(|rows| time((*rows).max(1)));
        self.rows = rows.unwrap_or(self.rows).max(1);
        let plane = (self.rows + reach) * self.pitch + self.plane - self.height * self.pitch;
        (self.height, self.plane) = (self.rows + reach, plane);
    }

    /// Pieces along each dimension of the results: slices, rows, columns.
    fn counts(&self) -> [usize; 3] {
        let [slices, down, across] = self.axes.map(|axis| axis.output);
        [
            slices,
            down.div_ceil(self.rows),
            across.div_ceil(self.width),
        ]
    }

    /// The slice, the first row and the first column of a piece.
    fn start(&self, number: usize) -> [usize; 3] {
        let [slices, tall, broad] = self.counts();
        let (rest, across) = (number / broad, number % broad);
        let (rest, down) = (rest / tall, rest % tall);
        [rest % slices, down * self.rows, across * self.width]
    }

    #[inline(always)]
    fn read_words<W: Pod>(&self, piece: &Piece, channel: usize, out: &mut [W]) {
        let source: &[W] = bytemuck::cast_slice(self.images.bytes());
        let start = self.images.channel(piece.batch, channel);
        let [_, _, slice_stride, row_stride, _] = self.images.strides();
        let [slice, first_row, first_column] = self.start(piece.number);
        let [slices, down, across] = &self.axes;
        let mut planes = out.chunks_exact_mut(self.plane);
        let is_plain =
            self.edge == Edge::Zeros && across.stride == 1 && self.images.strides()[4] == 1;
        for tap in 0..slices.kernel {
            let place = slices.first(slice) + (tap * slices.dilation) as isize;
            let slice = self.edge.place(place, slices.input);
            for row_phase in &self.phases[0] {
                for column_phase in &self.phases[1] {
                    let Some(plane) = planes.next() else { return };
                    plane[self.height * self.pitch..].fill(W::zeroed());
                    let place = down.first(first_row) + *row_phase as isize;
                    if let (true, Some(slice)) = (is_plain, slice) {
                        let start = start + slice as isize * slice_stride;
                        let rows = inside(place, down.stride, down.input, self.height);
                        let first =
                            start + (place + (rows.start * down.stride) as isize) * row_stride;
                        let step = row_stride * down.stride as isize;
                        self.read_plain(source, [first, step], first_column, rows, plane);
                        continue;
                    }
                    for (row, out) in plane
                        .chunks_exact_mut(self.pitch)
                        .take(self.height)
                        .enumerate()
                    {
                        let place = down.first(first_row + row) + *row_phase as isize;
                        match (slice, self.edge.place(place, down.input)) {
                            (Some(slice), Some(row)) => {
                                let start = start
                                    + slice as isize * slice_stride
                                    + row as isize * row_stride;
                                self.read_row(source, start, first_column, *column_phase, out);
                            }
                            _ => out.fill(W::zeroed()),
                        }
                    }
                }
            }
        }
    }

    /// Some rows whose elements are neighbours, the first of which begins at a place, and zeros around them.
    #[inline(always)]
    fn read_plain<W: Pod>(
        &self,
        source: &[W],
        [mut start, step]: [isize; 2],
        window: usize,
        rows: Range<usize>,
        plane: &mut [W],
    ) {
        let axis = &self.axes[2];
        let first = axis.first(window);
        let columns = inside(first, 1, axis.input, self.pitch);
        if columns.is_empty() {
            return plane.fill(W::zeroed());
        }
        start += first + columns.start as isize;
        let (before, rest) = plane.split_at_mut(rows.start * self.pitch);
        let (within, after) = rest.split_at_mut(rows.len() * self.pitch);
        before.fill(W::zeroed());
        after.fill(W::zeroed());
        for out in within.chunks_exact_mut(self.pitch) {
            let (left, rest) = out.split_at_mut(columns.start);
            let (row, right) = rest.split_at_mut(columns.len());
            left.iter_mut().for_each(|out| *out = W::zeroed());
            right.iter_mut().for_each(|out| *out = W::zeroed());
            let from = &source[start as usize..start as usize + row.len()];
            row.copy_from_slice(from);
            start += step;
        }
    }

    /// One phase of a row, from the first element of a window on.
    #[inline(always)]
    fn read_row<W: Pod>(
        &self,
        source: &[W],
        start: isize,
        window: usize,
        phase: usize,
        out: &mut [W],
    ) {
        let axis = &self.axes[2];
        let stride = self.images.strides()[4];
        let first = axis.first(window) + phase as isize;
        if self.edge != Edge::Zeros {
            for (index, out) in out.iter_mut().enumerate() {
                let place = first + (index * axis.stride) as isize;
                let place = self.edge.place(place, axis.input).unwrap_or(0);
                *out = source[(start + place as isize * stride) as usize];
            }
            return;
        }
        let Range {
            start: from,
            end: to,
        } = inside(first, axis.stride, axis.input, out.len());
        out[..from].fill(W::zeroed());
        out[to..].fill(W::zeroed());
        if from < to {
            let place = first + (from * axis.stride) as isize;
            let step = stride * axis.stride as isize;
            copy_steps(source, start + place * stride, step, &mut out[from..to]);
        }
    }
}

/// The phases of an axis that its taps have, in order.
fn phases(axis: &Axis) -> Vec<usize> {
    let mut phases: Vec<usize> = (0..axis.kernel)
        .map(|tap| tap * axis.dilation % axis.stride)
        .collect();
    phases.sort_unstable();
    phases.dedup();
    phases
}

/// Which of the places `first`, `first + step`, … lie in a grid of `size` elements.
fn inside(first: isize, step: usize, size: usize, count: usize) -> Range<usize> {
    let before = first.min(0).unsigned_abs().div_ceil(step);
    let room = (size as isize - first).max(0).unsigned_abs();
    let end = room.div_ceil(step).min(count);
    before.min(end)..end
}

impl Field for Planes<'_> {
    fn channel_size(&self) -> usize {
        let phases = self.phases[0].len() * self.phases[1].len();
        self.axes[0].kernel * phases * self.plane
    }

    fn taps(&self) -> Vec<usize> {
        let [slices, down, across] = &self.axes;
        let plane = self.plane;
        let places = |axis: &Axis, phases: &[usize]| -> Vec<(usize, usize)> {
            let place = |tap: usize| (tap * axis.dilation % axis.stride, tap * axis.dilation);
            let taps = (0..axis.kernel).map(place);
            let phase = |phase| phases.binary_search(&phase).unwrap_or(0);
            taps.map(|(rest, place)| (phase(rest), place / axis.stride))
                .collect()
        };
        let (down, across) = (
            places(down, &self.phases[0]),
            places(across, &self.phases[1]),
        );
        let mut taps = Vec::new();
        for slice in 0..slices.kernel {
            for (row_phase, row) in &down {
                for (column_phase, column) in &across {
                    let phase = slice * self.phases[0].len() + row_phase;
                    let phase = phase * self.phases[1].len() + column_phase;
                    taps.push(phase * plane + row * self.pitch + column);
                }
            }
        }
        taps
    }

    fn pieces(&self) -> usize {
        self.batches * self.counts().iter().product::<usize>()
    }

    fn piece(&self, number: usize) -> Piece {
        let [slice, row, column] = self.start(number);
        let [_, down, across] = self.axes.map(|axis| axis.output);
        let pieces: usize = self.counts().iter().product();
        Piece {
            number,
            batch: number / pieces,
            first: (slice * down + row) * across + column,
            rows: self.rows.min(down - row),
            width: self.width.min(across - column),
            pitch: self.pitch,
        }
    }

    fn read(&self, piece: &Piece, channel: usize, out: &mut [u8]) {
        dispatch_width!(self.dtype, |W| {
            let out: &mut [W] = bytemuck::cast_slice_mut(out);
            let planes = self;
            simd::run(
                Level::current(),
                Reading {
                    planes,
                    piece,
                    channel,
                    out,
                },
            );
        });
    }
}

/// Planes on their way, with the vectors of a level: every other element of a row is a shuffle.
struct Reading<'a, W> {
    planes: &'a Planes<'a>,
    piece: &'a Piece,
    channel: usize,
    out: &'a mut [W],
}

impl<W: Pod> Body for Reading<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.planes.read_words(self.piece, self.channel, self.out);
    }
}
