//! Gradients of filters: `dW[f, c, tap]` is the sum over all windows of `G[f, window] * X[c, tap of the window]`.
//!
//! A tile has filters as rows and channels as columns, and takes a step per window. The planes of a tile's
//! channels are turned once, so that the channels of a place are neighbours: then every tap finds its
//! columns a fixed distance further on, as in [`direct_conv`](super::direct_conv), and nothing is packed for
//! it. Of few channels the columns are pairs of a channel and a tap instead (im2col), or most lanes would be
//! empty; a single channel with few filters has no tiles but dot products.
//!
//! Windows are summed in segments, and segments in chunks that follow from the sizes alone, so that neither
//! threads nor the width of vectors change a bit.
#![allow(
    unsafe_code,
    reason = "calls kernels that write to a matrix of this thread's"
)]

use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};

use super::arithmetic::{Arithmetic, Double, Single};
use super::direct_conv::{Field, Piece, PlaneReader};
use super::micro::{Micro, Sliding, Tile};
use super::pack::{Block, Reader, Room};
use super::panel_walk::Places;
use super::strip::{Lines, Panel, pack_plain};
use super::tap_dots::{Dotted, LANES, TapDots};
use super::{Factor, Matrix};
use crate::interrupt;
use crate::memory::{try_collect, try_vec};
use crate::parallel::{for_each_part, try_visit_blocks};
use crate::simd::{self, Body};
use crate::{Buffer, parallel};

/// The most chunks of segments, which are summed apart, and numbers in all of them together.
const CHUNKS: usize = 16;
const NUMBERS: usize = 1 << 23;
/// Blocks of columns that share the packed gradients of windows.
const TOGETHER: usize = 4;
/// Filters whose gradients are packed at a time.
const FILTERS: usize = 192;
/// The most filters of a single channel whose gradients are dot products.
const DOTS: usize = 4;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 80 * 80 * 80;

/// The gradients of filters of several groups of channels.
pub(crate) struct FilterGradient<'a> {
    /// Gradients of the windows, row-major `[images, groups, rows, windows]`.
    pub(crate) windows: (DType, &'a [u8]),
    /// Images, and windows of each.
    pub(crate) images: usize,
    pub(crate) count: usize,
    pub(crate) groups: usize,
    /// Filters of a group, and channels.
    pub(crate) rows: usize,
    pub(crate) channels: usize,
    /// The dtype of the field, and that of the sums.
    pub(crate) field: DType,
    pub(crate) sum: DType,
    /// The dtype of the gradients.
    pub(crate) dtype: DType,
}

/// Writes the gradients of filters `[groups, rows, channels, taps]` that slide over a field.
///
/// # Errors
/// A memory error.
pub(crate) fn filter_gradient(
    op: &'static str,
    task: &FilterGradient<'_>,
    field: &dyn Field,
    out: &mut [u8],
) -> Result<(), Error> {
    let level = Level::current();
    if task.sum == DType::F64 {
        Plan::new::<Double>(level, op, task, field)?.run::<Double>(out)
    } else {
        Plan::new::<Single>(level, op, task, field)?.run::<Single>(out)
    }
}

/// How sums are formed.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    /// Tiles whose columns are channels, one tap after the other.
    Channels,
    /// Tiles whose columns are pairs of a channel and a tap.
    Pairs,
    /// Of one channel and few filters no tiles, but dot products of rows, in [`LANES`] sums each.
    Dots,
}

struct Plan<'a> {
    level: Level,
    op: &'static str,
    task: &'a FilterGradient<'a>,
    field: &'a dyn Field,
    taps: Vec<usize>,
    columns: Columns,
    /// Numbers of a tile's row, blocks of as many columns, and how many of those a unit of work has.
    wide: usize,
    blocks: usize,
    together: usize,
    /// Segments of a group of one image, of all images, and of a chunk.
    pieces: usize,
    segments: usize,
    in_chunk: usize,
    chunks: usize,
    /// The most windows of a segment.
    steps: usize,
    reader: Reader<'a>,
}

/// What a thread needs for a unit of work.
struct Memory<A: Arithmetic> {
    gradients: Buffer,
    planes: Buffer,
    turned: Buffer,
    room: Room<A::Line>,
    places: Option<([usize; 2], Places)>,
}

impl<'a> Plan<'a> {
    fn new<A: Arithmetic>(
        level: Level,
        op: &'static str,
        task: &'a FilterGradient<'a>,
        field: &'a dyn Field,
    ) -> Result<Self, Error> {
        let taps = field.taps();
        let (tile_rows, mut wide) = A::Sum::shape(level);
        let rows = task.rows.next_multiple_of(tile_rows);
        let by_channels = task.channels.div_ceil(wide);
        let by_pairs = (task.channels * taps.len()).div_ceil(wide);
        // A tile's row takes about a cycle per step, a number that is turned as much and half again.
        let turned = task.channels * taps.len() * 3 / 2;
        let (columns, blocks) = if task.channels == 1 && task.rows <= DOTS {
            wide = LANES;
            (Columns::Dots, 1)
        } else if by_channels * taps.len() * rows <= by_pairs * rows + turned {
            (Columns::Channels, by_channels)
        } else {
            (Columns::Pairs, by_pairs)
        };
        let pieces = field.pieces() / (task.images * task.groups).max(1);
        let segments = task.images * pieces;
        let numbers = task.groups * task.rows * task.channels * taps.len();
        let most = (CHUNKS / task.groups).min(NUMBERS / numbers.max(1)).max(1);
        let in_chunk = segments.div_ceil(most).max(1);
        let piece = field.piece(0);
        let matrix = Matrix {
            dtype: task.windows.0,
            bytes: task.windows.1,
            row_stride: task.count as isize,
            column_stride: 1,
        };
        let through = [task.sum; 2];
        Ok(Self {
            level,
            op,
            task,
            field,
            columns,
            wide,
            blocks,
            together: TOGETHER.min(blocks).max(1),
            pieces,
            segments,
            in_chunk,
            chunks: segments.div_ceil(in_chunk).max(1),
            steps: piece.rows * piece.width,
            reader: Reader::new(level, Factor::Stored(matrix), true, through, A::Line::DTYPE)?,
            taps,
        })
    }

    /// Taps that a block of columns is multiplied for one after the other.
    fn turns(&self) -> usize {
        match self.columns {
            Columns::Channels | Columns::Dots => self.taps.len(),
            Columns::Pairs => 1,
        }
    }

    /// Sums of a block of columns: `[turns, rows, wide]`.
    fn block_size(&self) -> usize {
        self.turns() * self.task.rows * self.wide
    }

    fn run<A>(&self, out: &mut [u8]) -> Result<(), Error>
    where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Sliding + Dotted,
    {
        let task = self.task;
        let units = self.blocks.div_ceil(self.together);
        let region = self.together * self.block_size();
        let chunk = task.groups * units * region;
        let mut sums = Buffer::for_overwrite(self.op, self.chunks * chunk * size_of::<A::Sum>())?;
        let sums = sums.elements_mut::<A::Sum>();
        let work = [
            task.images,
            task.groups,
            task.rows,
            task.count,
            task.channels,
            self.taps.len(),
        ];
        let work = work
            .iter()
            .fold(1_usize, |work, size| work.saturating_mul(*size));
        let is_threaded = work > SEQUENTIAL && parallel::thread_count() > 1;
        try_visit_blocks(sums, region, is_threaded, |index, sums| {
            let (rest, unit) = (index / units, index % units);
            self.add_segments::<A>(rest / task.groups, rest % task.groups, unit, sums)
        })?;
        let (first, others) = sums.split_at_mut(chunk);
        /// Sums that a thread takes at a time.
        const PART: usize = 1 << 14;
        for_each_part(first, PART, |part, sums| {
            for other in others.chunks_exact(chunk) {
                for (sum, other) in sums.iter_mut().zip(&other[part * PART..]) {
                    *sum = sum.plus(*other);
                }
            }
        });
        self.finish::<A>(first, out)
    }

    /// The sums of one chunk for some blocks of columns of one group.
    fn add_segments<A>(
        &self,
        chunk: usize,
        group: usize,
        unit: usize,
        sums: &mut [A::Sum],
    ) -> Result<(), Error>
    where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Sliding + Dotted,
    {
        let task = self.task;
        let (tile_rows, _) = A::Sum::shape(self.level);
        let size = self.field.channel_size();
        let blocks = self.together.min(self.blocks - unit * self.together);
        let (planes, turned) = match self.columns {
            Columns::Channels => (self.wide.min(task.channels) * size, size * self.wide),
            Columns::Pairs => (
                task.channels * size + self.wide * self.steps,
                self.steps * self.wide,
            ),
            Columns::Dots => (size, 0),
        };
        let rows = FILTERS.min(task.rows).next_multiple_of(tile_rows);
        let buffer = |count: usize| Buffer::for_overwrite(self.op, count * size_of::<A::Sum>());
        let mut memory = Memory::<A> {
            gradients: buffer(rows * self.steps)?,
            planes: buffer(planes)?,
            turned: buffer(blocks * turned)?,
            room: Room::new(),
            places: None,
        };
        // Lanes without a column are multiplied, too: by numbers that take no longer than others.
        memory.turned.fill(0);
        let mut planes = PlaneReader::new(self.level, task.field, task.sum)?;
        let first = chunk * self.in_chunk;
        for segment in first..self.segments.min(first + self.in_chunk) {
            interrupt::check();
            let (image, part) = (segment / self.pieces, segment % self.pieces);
            let batch = image * task.groups + group;
            let piece = self.field.piece(batch * self.pieces + part);
            if self.columns == Columns::Dots {
                planes.read(
                    self.field,
                    &piece,
                    0,
                    memory.planes.elements_mut::<A::Sum>(),
                );
                self.add_dots::<A>(&piece, &mut memory, segment > first, sums);
                continue;
            }
            for (block, turned) in memory
                .turned
                .elements_mut::<A::Sum>()
                .chunks_exact_mut(turned)
                .enumerate()
            {
                let block = unit * self.together + block;
                let room = memory.planes.elements_mut();
                match self.columns {
                    Columns::Channels => {
                        self.turn_channels(&piece, block, &mut planes, room, turned)
                    }
                    _ => self.turn_pairs(&piece, block, &mut planes, room, turned),
                }
            }
            self.list_places(&piece, &mut memory.places)?;
            self.multiply::<A>(&piece, &mut memory, turned, segment > first, sums);
        }
        Ok(())
    }

    /// Where the columns of each window of a piece are.
    fn list_places(
        &self,
        piece: &Piece,
        places: &mut Option<([usize; 2], Places)>,
    ) -> Result<(), Error> {
        let key = [piece.rows, piece.width];
        if places.as_ref().is_some_and(|(known, _)| *known == key) {
            return Ok(());
        }
        let pitch = match self.columns {
            Columns::Channels => piece.pitch,
            _ => piece.width,
        };
        let list = (0..piece.rows)
            .flat_map(|row| (0..piece.width).map(move |column| (row * pitch + column) * self.wide));
        *places = Some((key, Places::new(try_collect(self.op, list)?)));
        Ok(())
    }

    /// Adds the products of a piece to the sums of all blocks, or writes them.
    fn multiply<A>(
        &self,
        piece: &Piece,
        memory: &mut Memory<A>,
        turned: usize,
        accumulate: bool,
        sums: &mut [A::Sum],
    ) where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Sliding + Dotted,
    {
        let task = self.task;
        let (tile_rows, _) = A::Sum::shape(self.level);
        let steps = piece.rows * piece.width;
        let Some((_, places)) = &memory.places else {
            return;
        };
        let blocks = memory.turned.elements::<A::Sum>().chunks_exact(turned);
        assert!(sums.len() >= blocks.len() * self.block_size());
        for first in (0..task.rows).step_by(FILTERS) {
            let rows = FILTERS.min(task.rows - first);
            let block = Block {
                batch: 0,
                offset: piece.batch * task.rows * task.count + piece.first,
                first_line: first,
                lines: rows,
                first: 0,
                count: steps,
                wide: tile_rows,
            };
            let gradients = memory.gradients.elements_mut::<A::Sum>();
            let gradients = &mut gradients[..rows.next_multiple_of(tile_rows) * steps];
            self.reader
                .pack::<A, true>(block, gradients, &mut memory.room);
            for (turned, sums) in blocks.clone().zip(sums.chunks_exact_mut(self.block_size())) {
                for (tap, sums) in sums.chunks_exact_mut(task.rows * self.wide).enumerate() {
                    let seen = match self.columns {
                        Columns::Channels => &turned[self.taps[tap] * self.wide..],
                        _ => turned,
                    };
                    for row in (0..rows).step_by(tile_rows) {
                        let tile = Tile {
                            steps,
                            a: &gradients[row * steps..],
                            a_row: 1,
                            a_step: tile_rows,
                            b: seen,
                            b_step: 0,
                            c: sums[(first + row) * self.wide..].as_mut_ptr(),
                            c_stride: self.wide,
                            rows: tile_rows.min(rows - row),
                            columns: self.wide,
                            accumulate,
                            shifted: 0,
                        };
                        // SAFETY: the sums are borrowed exclusively and have so many whole rows, since
                        // they are as long as asserted; the level was detected.
                        unsafe { A::Sum::slide(self.level, tile, places, self.wide / 2) };
                    }
                }
            }
        }
    }

    /// Adds the products of a piece of a single channel to the sums of all lanes, or writes them.
    fn add_dots<A>(
        &self,
        piece: &Piece,
        memory: &mut Memory<A>,
        accumulate: bool,
        sums: &mut [A::Sum],
    ) where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Dotted,
    {
        let task = self.task;
        let steps = piece.rows * piece.width;
        if !accumulate {
            sums.fill(A::Sum::default());
        }
        let gradients = memory.gradients.elements_mut::<A::Sum>();
        for (row, gradients) in gradients
            .chunks_exact_mut(steps)
            .enumerate()
            .take(task.rows)
        {
            let block = Block {
                batch: 0,
                offset: piece.batch * task.rows * task.count + piece.first,
                first_line: row,
                lines: 1,
                first: 0,
                count: steps,
                wide: 1,
            };
            self.reader
                .read(block, row, 0, true, gradients, &mut memory.room);
        }
        let (plane, taps) = (memory.planes.elements::<A::Sum>(), &self.taps);
        let blocks = sums.as_chunks_mut::<LANES>().0;
        for (gradients, blocks) in gradients
            .chunks_exact(steps)
            .zip(blocks.chunks_exact_mut(taps.len()))
        {
            let dots = TapDots {
                taps,
                plane,
                pitch: piece.pitch,
                gradients,
                width: piece.width,
            };
            A::Sum::add(self.level, &dots, blocks);
        }
    }

    /// The numbers of a block of channels, those of a place side by side.
    fn turn_channels<T: Micro>(
        &self,
        piece: &Piece,
        block: usize,
        reader: &mut PlaneReader,
        planes: &mut [T],
        turned: &mut [T],
    ) {
        let size = self.field.channel_size();
        let first = block * self.wide;
        let count = self.wide.min(self.task.channels - first);
        for (channel, plane) in planes.chunks_exact_mut(size).enumerate().take(count) {
            reader.read(self.field, piece, first + channel, plane);
        }
        self.turn(&planes[..count * size], size, turned);
    }

    /// What each window of a piece sees at a block of pairs of a channel and a tap.
    fn turn_pairs<T: Micro>(
        &self,
        piece: &Piece,
        block: usize,
        reader: &mut PlaneReader,
        planes: &mut [T],
        turned: &mut [T],
    ) {
        let (size, taps) = (self.field.channel_size(), self.taps.len());
        let first = block * self.wide;
        let count = self.wide.min(self.task.channels * taps - first);
        let (planes, lines) = planes.split_at_mut(self.task.channels * size);
        for channel in first / taps..(first + count).div_ceil(taps) {
            reader.read(
                self.field,
                piece,
                channel,
                &mut planes[channel * size..][..size],
            );
        }
        let steps = piece.rows * piece.width;
        let lines = &mut lines[..count * steps];
        for (pair, line) in lines.chunks_exact_mut(steps).enumerate() {
            let (channel, tap) = ((first + pair) / taps, (first + pair) % taps);
            let seen = &planes[channel * size + self.taps[tap]..];
            piece.gather(seen, line);
        }
        self.turn(lines, steps, turned);
    }

    /// Lines as columns.
    fn turn<T: Micro>(&self, lines: &[T], count: usize, turned: &mut [T]) {
        let lines = Lines {
            source: lines,
            place: 0,
            across: count as isize,
            along: 1,
            lines: lines.len() / count.max(1),
            count,
        };
        let panel = Panel {
            numbers: turned,
            wide: self.wide,
            first: 0,
            total: count,
        };
        simd::run(self.level, Turning { lines, panel });
    }

    /// From sums to gradients.
    fn finish<A: Arithmetic>(&self, sums: &[A::Sum], out: &mut [u8]) -> Result<(), Error> {
        let FilterGradient {
            groups,
            rows,
            channels,
            dtype,
            ..
        } = *self.task;
        let taps = self.taps.len();
        let units = self.blocks.div_ceil(self.together);
        let region = self.together * self.block_size();
        let line = channels * taps;
        let write = |row: usize, to: &mut [A::Sum]| {
            let sums = &sums[row / rows * units * region..];
            let at = |block: usize, turn: usize, lane: usize| {
                let unit =
                    block / self.together * region + block % self.together * self.block_size();
                sums[unit + (turn * rows + row % rows) * self.wide + lane]
            };
            for (pair, to) in to.iter_mut().enumerate() {
                let (channel, tap) = (pair / taps, pair % taps);
                *to = match self.columns {
                    Columns::Dots => {
                        let lanes = &sums[(row % rows * taps + tap) * LANES..][..LANES];
                        lanes[1..]
                            .iter()
                            .fold(lanes[0], |sum, lane| sum.plus(*lane))
                    }
                    Columns::Channels => at(channel / self.wide, tap, channel % self.wide),
                    Columns::Pairs => at(pair / self.wide, 0, pair % self.wide),
                };
            }
        };
        if dtype == A::Sum::DTYPE {
            for_each_part(bytemuck::cast_slice_mut(out), line, write);
            return Ok(());
        }
        let mut values = try_vec(self.op, groups * rows * line, A::Sum::default())?;
        for_each_part(&mut values, line, write);
        let encode = Conversion::new(A::Sum::DTYPE, dtype)?;
        encode.run(
            self.level,
            bytemuck::cast_slice(&values),
            out,
            &mut Box::<Scratch>::default(),
        );
        Ok(())
    }
}

struct Turning<'a, T> {
    lines: Lines<'a, T>,
    panel: Panel<'a, T>,
}

impl<T: Micro> Body for Turning<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        pack_plain(self.lines, self.panel);
    }
}
