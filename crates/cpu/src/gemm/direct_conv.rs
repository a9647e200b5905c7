//! Filters that slide over planes: products whose right factor is read where it is.
//!
//! In a plane that holds what lies beyond its edges, every tap of a filter sees the same numbers,
//! some places further on. So a tile of results takes its columns for each tap and channel from one
//! place of such planes, and a number is decoded once and not once per tap. Where a window would
//! reach from one row into the next, results come about that nobody takes.
#![allow(unsafe_code, reason = "calls kernels and writes to a shared matrix")]

use crate::memory::{try_collect, try_resize, try_vec};
use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};

use super::arithmetic::{Arithmetic, Double, Kind, Single};
use super::micro::{LONG, Micro, Sliding, Tile};
use super::output::Target;
use super::pack::{Block, Decoding, Reader, Room, bytes_of};
use super::panel_walk::Places;
use super::queue::{Queue, run_queue};
use super::{Factor, Matrix, Output};
use crate::interrupt::{self, Watch};
use crate::{Buffer, parallel};

/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 80 * 80 * 80;

/// What filters slide over, in pieces.
pub(crate) trait Field: Sync {
    /// The numbers of all planes of a channel.
    fn channel_size(&self) -> usize;

    /// Where each tap of the first window is in them.
    fn taps(&self) -> Vec<usize>;

    /// How many pieces the results come in.
    fn pieces(&self) -> usize;

    /// One of them.
    fn piece(&self, number: usize) -> Piece;

    /// Writes the planes of a channel that a piece needs, in the dtype of the field.
    fn read(&self, piece: &Piece, channel: usize, out: &mut [u8]);
}

/// Neighbouring results of all filters of one group.
pub(crate) struct Piece {
    /// Its number among all pieces.
    pub(crate) number: usize,
    /// The matrix of results that it belongs to.
    pub(crate) batch: usize,
    /// The first column of that matrix.
    pub(crate) first: usize,
    /// Rows of windows, how many windows each has, and from one to the next in a plane.
    pub(crate) rows: usize,
    pub(crate) width: usize,
    pub(crate) pitch: usize,
}

impl Piece {
    /// Writes what a tap sees of each window, given the planes from where it is in the first one on.
    pub(super) fn gather<T: Copy>(&self, seen: &[T], line: &mut [T]) {
        for (row, to) in line.chunks_exact_mut(self.width).enumerate() {
            to.copy_from_slice(&seen[row * self.pitch..][..self.width]);
        }
    }

    /// How many numbers of a plane there are from the first window to the last.
    fn extent(&self) -> usize {
        (self.rows - 1) * self.pitch + self.width
    }
}

/// The tiles of a piece, of two vectors each.
struct Tiles {
    /// Columns of all, and of a vector.
    count: usize,
    lanes: usize,
    /// From one row of windows to the next, in columns and in a plane.
    width: usize,
    pitch: usize,
    /// Whether they have windows alone.
    is_whole: bool,
}

impl Tiles {
    fn new(piece: &Piece, lanes: usize, filters: usize) -> Self {
        // Rows that are whole vectors are summed without what is between them. A single filter has long rows.
        let is_whole = filters > 1 && piece.width.is_multiple_of(lanes);
        let pitch = piece.pitch;
        let (count, width) = match is_whole {
            true => (piece.rows * piece.width, piece.width),
            false => (piece.extent().next_multiple_of(2 * lanes), pitch),
        };
        Self {
            count,
            lanes,
            width,
            pitch,
            is_whole,
        }
    }

    /// Where the first vector of a tile is in a plane, from there to the second, and how many columns are wanted.
    fn at(&self, column: usize) -> (usize, usize, usize) {
        let place = |column: usize| column / self.width * self.pitch + column % self.width;
        let (first, second) = (place(column), column + self.lanes);
        if second < self.count {
            (first, place(second) - first, 2 * self.lanes)
        } else {
            (first, 0, self.lanes)
        }
    }
}

/// Planes on their way from the dtype of a field to the numbers of an arithmetic.
pub(super) struct PlaneReader {
    dtype: DType,
    decoding: Decoding,
    raw: [Vec<u128>; 3],
    scratch: Option<Box<Scratch>>,
}

impl PlaneReader {
    /// From a dtype through the one in which operands meet.
    pub(super) fn new(level: Level, dtype: DType, common: DType) -> Result<Self, Error> {
        let compute = common.compute();
        Ok(Self {
            dtype,
            decoding: Decoding::new(level, dtype, [common, compute], compute)?,
            raw: [const { Vec::new() }; 3],
            scratch: None,
        })
    }

    /// Writes the planes of a channel that a piece needs.
    pub(super) fn read<T: Micro>(
        &mut self,
        field: &dyn Field,
        piece: &Piece,
        channel: usize,
        planes: &mut [T],
    ) {
        let size = planes.len();
        let out = bytemuck::cast_slice_mut(planes);
        if self.decoding.is_copy() {
            return field.read(piece, channel, out);
        }
        let [raw, stops @ ..] = &mut self.raw;
        let raw = bytes_of(raw, size * self.dtype.itemsize());
        field.read(piece, channel, raw);
        let scratch = self.scratch.get_or_insert_default();
        self.decoding.run(raw, size, out, stops, scratch);
    }
}

/// Filters of several groups of channels.
pub(crate) struct Filters<'a> {
    /// `[groups, rows, channels, taps]`, row-major; the matrix is that of the first group.
    pub(crate) weight: Matrix<'a>,
    pub(crate) groups: usize,
    /// Filters of a group.
    pub(crate) rows: usize,
    /// Channels of a group.
    pub(crate) channels: usize,
    /// The dtype of the field, and that in which both meet.
    pub(crate) field: DType,
    pub(crate) common: DType,
    /// Whether results are added to what is there.
    pub(crate) adds: bool,
}

/// Whether filters of a dtype can slide.
pub(crate) fn can_slide(dtype: DType) -> bool {
    matches!(Kind::of(dtype, dtype), Kind::Single | Kind::Double)
}

/// Writes the results of filters over a field, a matrix `[rows, windows]` for each batch and group.
pub(crate) fn slide(
    op: &'static str,
    filters: &Filters<'_>,
    field: &dyn Field,
    output: Output<'_>,
    [batches, windows]: [usize; 2],
) -> Result<(), Error> {
    let target = Target::new(output, [batches, filters.rows, windows]);
    let level = Level::current();
    if filters.common == DType::F64 {
        run::<Double>(level, op, filters, field, &target)
    } else {
        run::<Single>(level, op, filters, field, &target)
    }
}

struct Plan<'a> {
    level: Level,
    op: &'static str,
    filters: &'a Filters<'a>,
    field: &'a dyn Field,
    target: &'a Target<'a>,
    /// Channels that are summed at a time, and how often.
    chunk: usize,
    chunks: usize,
    taps: usize,
    places: Places,
    /// Panels of filters for each group and chunk, of so many numbers.
    packed: Buffer,
    region: usize,
    /// From former results to numbers, and from numbers to results.
    former: Option<Conversion>,
    finish: Option<Conversion>,
}

fn run<A>(
    level: Level,
    op: &'static str,
    filters: &Filters<'_>,
    field: &dyn Field,
    target: &Target<'_>,
) -> Result<(), Error>
where
    A: Arithmetic<Line = <A as Arithmetic>::Sum>,
    A::Sum: Sliding,
{
    let line = A::Line::DTYPE;
    let through = [filters.common, filters.common.compute()];
    let (size, taps) = (field.channel_size(), field.taps());
    // How channels are cut must not depend on the number of threads.
    let chunks = filters
        .channels
        .div_ceil((A::KC / taps.len().max(1)).max(1))
        .max(1);
    let chunk = filters.channels.div_ceil(chunks);
    let places = (0..chunk).flat_map(|channel| taps.iter().map(move |tap| channel * size + tap));
    let tile_rows = A::Sum::shape(level).0;
    let region = filters.rows.next_multiple_of(tile_rows) * chunk * taps.len();
    let conversion = |from: DType, to: DType| {
        let needed = from != to;
        needed.then(|| Conversion::new(from, to)).transpose()
    };
    let regions = filters.groups * chunks;
    let mut plan = Plan {
        level,
        op,
        filters,
        field,
        target,
        chunk,
        chunks,
        taps: taps.len(),
        places: Places::new(try_collect(op, places)?),
        packed: Buffer::for_overwrite(op, regions * region * size_of::<A::Sum>())?,
        region,
        former: conversion(target.dtype, line)?,
        finish: conversion(line, target.dtype)?,
    };
    let weight = Factor::Stored(filters.weight);
    let reader = Reader::new(level, weight, true, through, line)?;
    let mut packed = std::mem::replace(&mut plan.packed, Buffer::for_overwrite(op, 0)?);
    let pack = |index: usize, panels: &mut [A::Sum]| plan.pack::<A>(&reader, index, panels);
    parallel::for_each_part(packed.elements_mut::<A::Sum>(), region, pack);
    plan.packed = packed;
    let pieces = field.pieces();
    let work = [pieces, filters.rows, filters.channels * taps.len(), size]
        .iter()
        .fold(1_usize, |work, size| work.saturating_mul(*size));
    let threads = if work > SEQUENTIAL {
        crate::parallel::thread_count()
    } else {
        1
    };
    run_queue(threads, pieces, &|pieces| plan.run::<A>(pieces))
}

impl Plan<'_> {
    /// The panels of the filters of one group for one chunk of channels.
    fn pack<A: Arithmetic>(&self, reader: &Reader<'_>, index: usize, panels: &mut [A::Sum]) {
        let Filters { rows, channels, .. } = *self.filters;
        let (group, chunk) = (index / self.chunks, index % self.chunks);
        let first = (chunk * self.chunk).min(channels);
        let count = self.chunk.min(channels - first) * self.taps;
        let block = Block {
            batch: 0,
            offset: group * rows * channels * self.taps,
            first_line: 0,
            lines: rows,
            first: first * self.taps,
            count,
            wide: A::Sum::shape(self.level).0,
        };
        let used = rows.next_multiple_of(block.wide) * count;
        reader.pack::<A, true>(block, &mut panels[..used], &mut Room::new());
    }

    fn run<A>(&self, pieces: &Queue) -> Result<(), Error>
    where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Sliding,
    {
        let (filters, wide) = (self.filters, A::Sum::shape(self.level).1);
        let mut room: Option<Buffer> = None;
        let mut reader = PlaneReader::new(self.level, filters.field, filters.common)?;
        let mut watch = Watch::new();
        // Sums of several chunks are added up before they meet what is there.
        let is_last =
            self.former.is_none() && self.finish.is_none() && (self.chunks == 1 || !filters.adds);
        while let Some(range) = pieces.take() {
            for number in range {
                watch.check();
                let piece = self.field.piece(number);
                let tiles = Tiles::new(&piece, wide / 2, filters.rows);
                let is_direct = is_last && tiles.is_whole;
                let planes = self.chunk * self.field.channel_size();
                // The last tile reads on beyond the last row.
                let end = piece.extent().next_multiple_of(wide) + wide;
                let planes = planes.max(end + self.places.farthest());
                let sums = if is_direct {
                    0
                } else {
                    filters.rows * tiles.count
                };
                let bytes = (planes + sums) * size_of::<A::Sum>();
                let mut memory = match room.take() {
                    Some(room) if room.len() >= bytes => room,
                    _ => Buffer::for_overwrite(self.op, bytes)?,
                };
                let (planes, sums) = memory.elements_mut::<A::Sum>().split_at_mut(planes);
                if is_direct {
                    // SAFETY: the target has these columns of all rows, and no other piece has them.
                    unsafe {
                        let (start, stride) = self.target.place(piece.batch, 0, piece.first);
                        let out = (start.cast(), stride);
                        self.slide::<A>(&piece, &tiles, &mut reader, planes, out, filters.adds);
                    }
                } else {
                    let sums = &mut sums[..filters.rows * tiles.count];
                    // SAFETY: the sums are borrowed exclusively, and are as many as there are tiles.
                    unsafe {
                        let out = (sums.as_mut_ptr(), tiles.count);
                        self.slide::<A>(&piece, &tiles, &mut reader, planes, out, false);
                    }
                    self.finish::<A>(&piece, sums, &tiles)?;
                }
                room = Some(memory);
            }
        }
        Ok(())
    }

    /// Writes the sums of a piece or adds them: a row of as many columns as the tiles have for each filter,
    /// from a place on and so far apart.
    ///
    /// # Safety
    /// These rows must be there, and nothing else may access them.
    unsafe fn slide<A>(
        &self,
        piece: &Piece,
        tiles: &Tiles,
        reader: &mut PlaneReader,
        planes: &mut [A::Sum],
        (out, stride): (*mut A::Sum, usize),
        adds: bool,
    ) where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Sliding,
    {
        let Filters {
            rows,
            channels,
            groups,
            ..
        } = *self.filters;
        let (tile_rows, wide) = A::Sum::shape(self.level);
        let size = self.field.channel_size();
        for chunk in 0..self.chunks {
            if chunk > 0 {
                interrupt::check();
            }
            let first = chunk * self.chunk;
            let count = self.chunk.min(channels.saturating_sub(first));
            for (channel, plane) in planes.chunks_exact_mut(size).enumerate().take(count) {
                reader.read(self.field, piece, first + channel, plane);
            }
            let steps = count * self.taps;
            let index = piece.batch % groups * self.chunks + chunk;
            let panels = &self.packed.elements::<A::Sum>()[index * self.region..][..self.region];
            let mut column = 0;
            while column < tiles.count {
                let (place, apart, columns) = tiles.at(column);
                let long = LONG * wide;
                let is_long = rows == 1 && column + long <= tiles.count;
                for row in (0..rows).step_by(tile_rows) {
                    let tile = Tile {
                        steps,
                        a: &panels[row * steps..],
                        a_row: 1,
                        a_step: tile_rows,
                        b: &planes[place..],
                        b_step: 0,
                        c: out.wrapping_add(row * stride + column),
                        c_stride: stride,
                        rows: tile_rows.min(rows - row),
                        columns: if is_long { long } else { columns },
                        accumulate: chunk > 0 || adds,
                        shifted: 0,
                    };
                    if is_long {
                        // SAFETY: the caller promises the tile; the level was detected.
                        unsafe { A::Sum::slide_row(self.level, tile, &self.places) };
                    } else {
                        // SAFETY: as above.
                        unsafe { A::Sum::slide(self.level, tile, &self.places, apart) };
                    }
                }
                column += if is_long { long } else { wide };
            }
        }
    }

    /// From sums to results.
    fn finish<A: Arithmetic>(
        &self,
        piece: &Piece,
        sums: &[A::Sum],
        tiles: &Tiles,
    ) -> Result<(), Error> {
        let Piece {
            batch,
            first,
            rows,
            width,
            ..
        } = *piece;
        let pitch = tiles.width;
        let count = rows * width;
        let sums = sums.chunks_exact(tiles.count).take(self.filters.rows);
        if self.former.is_none() && self.finish.is_none() {
            for (filter, sums) in sums.enumerate() {
                // SAFETY: the target has this row, and no other piece has these columns of it.
                let out = unsafe { self.target.row(batch, filter, first, count) };
                let out: &mut [A::Sum] = bytemuck::cast_slice_mut(out);
                for (to, from) in out.chunks_exact_mut(width).zip(sums.chunks(pitch)) {
                    if self.filters.adds {
                        for (to, from) in to.iter_mut().zip(from) {
                            *to = from.plus(*to);
                        }
                    } else {
                        to.copy_from_slice(&from[..width]);
                    }
                }
            }
            return Ok(());
        }
        let mut values = try_vec(self.op, count, A::Sum::default())?;
        let mut former = Vec::new();
        let mut scratch = Box::<Scratch>::default();
        for (filter, sums) in sums.enumerate() {
            for (to, from) in values.chunks_exact_mut(width).zip(sums.chunks(pitch)) {
                to.copy_from_slice(&from[..width]);
            }
            // SAFETY: as above.
            let out = unsafe { self.target.row(batch, filter, first, count) };
            if self.filters.adds {
                try_resize(self.op, &mut former, count, A::Sum::default())?;
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut former);
                match &self.former {
                    Some(decode) => decode.run(self.level, out, bytes, &mut scratch),
                    None => bytes.copy_from_slice(out),
                }
                for (value, former) in values.iter_mut().zip(&former) {
                    *value = value.plus(*former);
                }
            }
            let bytes: &[u8] = bytemuck::cast_slice(&values);
            match &self.finish {
                Some(encode) => encode.run(self.level, bytes, out, &mut scratch),
                None => out.copy_from_slice(bytes),
            }
        }
        Ok(())
    }
}
