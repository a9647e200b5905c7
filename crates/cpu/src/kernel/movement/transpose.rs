//! Rows that become columns: tiles of whole cache lines, turned in registers.
//!
//! A tile is a line from each of as many rows as a line has elements. Vectors from at most eight of them
//! are turned by interleaving, and the lines of the turned tile are written whole.
//!
//! Bytes with AVX-512 are turned in whole lines of sixteen. A tile is asked for one tile ahead, and
//! two tiles are written side by side.

use crate::memory::try_vec;
use allotrope_dtype::Level;
use bytemuck::Pod;

use crate::simd::{self, Avx512, Body, turn};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a vector.
const VECTOR: usize = 16;
/// Tiles whose lines are written side by side. Where rows are a power of two apart, the lines of a tile
/// fall to one bank of memory, and two at a time take 0.65 to 0.8 of the time (4096 by 4096 elements of
/// 4 and 8 bytes); the lines to be read of more tiles have no room in the caches.
const TOGETHER: usize = 2;

/// The elements of a cache line, and the rows and columns of a tile.
pub(super) const fn side<W>() -> usize {
    LINE / size_of::<W>()
}

/// A matrix to be written in rows and read in columns.
pub(super) struct Transposition<'a, W> {
    pub(super) src: &'a [W],
    /// Where the first element is read.
    pub(super) from: isize,
    /// How far apart the elements of a row are in the source.
    pub(super) along: isize,
    /// Whether the source has the rows backwards.
    pub(super) backwards: bool,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The target from its first element on.
    pub(super) dst: &'a mut [W],
    /// How far apart the rows are in the target.
    pub(super) row_length: usize,
    /// Whether to write past the caches.
    pub(super) stream: bool,
}

/// A turned tile.
#[repr(align(64))]
struct Tile([[u8; LINE]; LINE]);

impl<W: Pod> Transposition<'_, W> {
    /// Copies all of it on this thread.
    pub(super) fn copy_all(mut self) {
        let level = Level::current();
        let in_step = self.row_length.is_multiple_of(side::<W>());
        if self.stream && !(in_step && self.place_in_bytes(0, 0).1 == 0) {
            // What the last tile and this one have for each row.
            let rows = self.rows / side::<W>() * side::<W>();
            if let Ok(mut recent) = try_vec("copy", rows, [0; 2 * LINE]) {
                simd::run(level, BetweenLines(self, &mut recent));
                return;
            }
            self.stream = false;
        }
        match level.avx512() {
            Some(wide) => wide.run(Whole(self, Some(wide))),
            None => simd::run(level, Whole(self, None)),
        }
    }

    /// Tiles of elements of `SIZE` bytes, turned `COUNT` columns at a time, each written where it belongs.
    #[inline(always)]
    fn copy<const SIZE: usize, const COUNT: usize>(&mut self, wide: Option<Avx512>) {
        let side = side::<W>();
        let (rows, columns) = (self.rows, self.columns);
        let (whole_rows, whole_columns) = (rows / side * side, columns / side * side);
        let mut tiles = [const { Tile([[0; LINE]; LINE]) }; TOGETHER];
        for column in (0..whole_columns).step_by(TOGETHER * side) {
            let together = TOGETHER.min((whole_columns - column) / side);
            for row in (0..whole_rows).step_by(side) {
                for (t, tile) in tiles[..together].iter_mut().enumerate() {
                    let column = column + t * side;
                    self.ask_for_tile(row + side, column);
                    self.turn_tile::<SIZE, COUNT>(wide, row, column, tile);
                }
                for i in 0..side {
                    let place = self.row_of(row, i) * self.row_length + column;
                    for (t, tile) in tiles[..together].iter().enumerate() {
                        let place = place + t * side;
                        let target = bytemuck::cast_slice_mut(&mut self.dst[place..place + side]);
                        if self.stream {
                            simd::stream_line(wide, &tile.0[i], target);
                        } else {
                            target.copy_from_slice(&tile.0[i]);
                        }
                    }
                }
            }
            self.copy_plain(whole_rows..rows, column..column + together * side);
        }
        self.copy_plain(0..rows, whole_columns..columns);
    }

    /// The same where rows of the target start between lines: what a tile leaves of a line waits for
    /// the next tile, so that lines are written whole.
    #[inline(always)]
    fn copy_between_lines<const SIZE: usize, const COUNT: usize>(
        &mut self,
        recent: &mut [[u8; 2 * LINE]],
    ) {
        let side = side::<W>();
        let (rows, columns) = (self.rows, self.columns);
        let (whole_rows, whole_columns) = (rows / side * side, columns / side * side);
        let mut tile = Tile([[0; LINE]; LINE]);
        for column in (0..whole_columns).step_by(side) {
            for row in (0..whole_rows).step_by(side) {
                self.ask_for_tile(row + side, column);
                self.turn_tile::<SIZE, COUNT>(None, row, column, &mut tile);
                for (i, line) in tile.0[..side].iter().enumerate() {
                    recent[self.row_of(row, i)][LINE..].copy_from_slice(line);
                }
                // Only now: a load across two fresh stores waits for both.
                for (i, recent) in recent[row..row + side].iter_mut().enumerate() {
                    let (start, phase) = self.place_in_bytes(row + i, column);
                    let target: &mut [u8] = bytemuck::cast_slice_mut(self.dst);
                    match recent[LINE - phase..].first_chunk::<LINE>() {
                        Some(line) if column > 0 || phase == 0 => {
                            let start = start - phase;
                            simd::stream_line(None, line, &mut target[start..start + LINE]);
                        }
                        _ => target[start..start + LINE - phase]
                            .copy_from_slice(&recent[LINE..2 * LINE - phase]),
                    }
                    recent.copy_within(LINE.., 0);
                }
            }
            self.copy_plain(whole_rows..rows, column..column + side);
        }
        for (row, recent) in recent.iter().enumerate() {
            let (end, phase) = self.place_in_bytes(row, whole_columns);
            let target: &mut [u8] = bytemuck::cast_slice_mut(self.dst);
            target[end - phase..end].copy_from_slice(&recent[LINE - phase..LINE]);
        }
        self.copy_plain(0..rows, whole_columns..columns);
    }

    /// The row of line `i` of a tile that begins with row `first`.
    #[inline(always)]
    fn row_of(&self, first: usize, i: usize) -> usize {
        let i = if self.backwards {
            side::<W>() - 1 - i
        } else {
            i
        };
        first + i
    }

    /// Where an element is in the bytes of the target, and how far behind the start of a line.
    fn place_in_bytes(&self, row: usize, column: usize) -> (usize, usize) {
        let place = (row * self.row_length + column) * size_of::<W>();
        (place, (self.dst.as_ptr().addr() + place) % LINE)
    }

    /// Asks memory for a tile that is read next: no prefetcher follows so many rows. Copies of 4000 by
    /// 4000 elements take 0.6 to 0.8 of the time.
    #[inline(always)]
    fn ask_for_tile(&self, row: usize, column: usize) {
        let step = if self.backwards { -1 } else { 1 };
        let mut place = self.from + step * row as isize + column as isize * self.along;
        for _ in 0..side::<W>() {
            simd::prefetch_line(self.src.as_ptr().wrapping_offset(place).cast());
            place += self.along;
        }
    }

    /// Reads a tile, and has its rows as lines, backwards if the source has.
    #[inline(always)]
    fn turn_tile<const SIZE: usize, const COUNT: usize>(
        &self,
        wide: Option<Avx512>,
        row: usize,
        column: usize,
        tile: &mut Tile,
    ) {
        let side = side::<W>();
        if SIZE == 1
            && let Some(wide) = wide
        {
            for place in (0..side).step_by(16) {
                let mut lines = [&[0; LINE]; 16];
                for (i, line) in lines.iter_mut().enumerate() {
                    let start = self.start(row, column + place + i, side);
                    let bytes: &[u8] = bytemuck::cast_slice(&self.src[start..start + side]);
                    if let Some(bytes) = bytes.first_chunk() {
                        *line = bytes;
                    }
                }
                turn::turn_lines(wide, lines, &mut tile.0, place);
            }
            return;
        }
        // What one row of the turned tile has of a group of columns, and rows of a turned vector.
        let (width, together) = (SIZE * COUNT, VECTOR / (SIZE * COUNT));
        for group in 0..LINE / width {
            let mut lines = [&[0_u8; 0][..]; COUNT];
            for (i, line) in lines.iter_mut().enumerate() {
                let start = self.start(row, column + group * COUNT + i, side);
                *line = bytemuck::cast_slice(&self.src[start..start + side]);
            }
            for part in 0..LINE / VECTOR {
                let mut vectors = [[0; VECTOR]; COUNT];
                for (vector, line) in vectors.iter_mut().zip(lines) {
                    *vector = line.as_chunks().0[part];
                }
                let turned = turn::turn_rows::<SIZE, COUNT>(vectors);
                for (i, vector) in turned.iter().enumerate() {
                    for (k, piece) in vector.chunks_exact(width).enumerate() {
                        let row = (part * COUNT + i) * together + k;
                        tile.0[row][group * width..][..width].copy_from_slice(piece);
                    }
                }
            }
        }
    }

    /// The first of `width` elements that the source has side by side, of rows from `row` on.
    #[inline(always)]
    fn start(&self, row: usize, column: usize, width: usize) -> usize {
        let step = if self.backwards { -1 } else { 1 };
        let last = if self.backwards { width - 1 } else { 0 };
        let place = self.from + step * (row + last) as isize + column as isize * self.along;
        place as usize
    }

    fn copy_plain(&mut self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) {
        for row in rows {
            let place = row * self.row_length;
            let mut from = self.start(row, columns.start, 1) as isize;
            for out in &mut self.dst[place + columns.start..place + columns.end] {
                *out = self.src[from as usize];
                from += self.along;
            }
        }
    }
}

/// Every tile is written where it belongs, with the registers and stores of AVX-512 if there are such.
struct Whole<'a, W>(Transposition<'a, W>, Option<Avx512>);

impl<W: Pod> Body for Whole<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(mut copy, wide) = self;
        match size_of::<W>() {
            1 => copy.copy::<1, 8>(wide),
            2 => copy.copy::<2, 8>(wide),
            4 => copy.copy::<4, 4>(wide),
            8 => copy.copy::<8, 2>(wide),
            _ => copy.copy::<16, 1>(wide),
        }
    }
}

/// Lines are put together of two tiles.
struct BetweenLines<'a, W>(Transposition<'a, W>, &'a mut [[u8; 2 * LINE]]);

impl<W: Pod> Body for BetweenLines<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        match size_of::<W>() {
            1 => self.0.copy_between_lines::<1, 8>(self.1),
            2 => self.0.copy_between_lines::<2, 8>(self.1),
            4 => self.0.copy_between_lines::<4, 4>(self.1),
            8 => self.0.copy_between_lines::<8, 2>(self.1),
            _ => self.0.copy_between_lines::<16, 1>(self.1),
        }
    }
}
