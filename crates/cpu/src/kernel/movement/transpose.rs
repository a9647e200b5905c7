//! Rows that become columns: tiles of whole cache lines, turned in registers.
//!
//! A tile is a line from each of as many rows as a line has elements. Squares of 16 bytes a side are
//! turned by interleaving, and the lines of the turned tile are written whole.

use allotrope_dtype::Level;
use bytemuck::Pod;

use crate::simd::{self, Body};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a vector.
const VECTOR: usize = 16;

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
    /// Whether to write past the caches: every row of the target starts at a line then.
    pub(super) stream: bool,
}

/// A turned tile.
#[repr(align(64))]
struct Tile([[u8; LINE]; LINE]);

impl<W: Pod> Transposition<'_, W> {
    /// Copies all of it on this thread. A square of bytes fills 16 registers: only the widest level
    /// has more of them.
    pub(super) fn copy_all(self) {
        simd::run(Level::current(), self);
    }

    /// Tiles of elements of `SIZE` bytes, of which a vector has `COUNT`.
    #[inline(always)]
    fn copy<const SIZE: usize, const COUNT: usize>(&mut self) {
        let side = side::<W>();
        let (rows, columns) = (self.rows, self.columns);
        let (whole_rows, whole_columns) = (rows / side * side, columns / side * side);
        let mut tile = Tile([[0; LINE]; LINE]);
        for column in (0..whole_columns).step_by(side) {
            for row in (0..whole_rows).step_by(side) {
                self.copy_tile::<SIZE, COUNT>(row, column, &mut tile);
            }
            self.copy_plain(whole_rows..rows, column..column + side);
        }
        self.copy_plain(0..rows, whole_columns..columns);
    }

    #[inline(always)]
    fn copy_tile<const SIZE: usize, const COUNT: usize>(
        &mut self,
        row: usize,
        column: usize,
        tile: &mut Tile,
    ) {
        let side = side::<W>();
        for group in 0..LINE / VECTOR {
            // A line from each of the columns whose elements fill a vector.
            let lines: [&[u8]; COUNT] = std::array::from_fn(|i| {
                let start = self.start(row, column + group * COUNT + i, side);
                bytemuck::cast_slice(&self.src[start..start + side])
            });
            for part in 0..LINE / VECTOR {
                let square = lines.map(|line| line.as_chunks::<VECTOR>().0[part]);
                let turned = simd::turn_square::<SIZE, COUNT>(square);
                for (i, vector) in turned.iter().enumerate() {
                    tile.0[part * COUNT + i].as_chunks_mut::<VECTOR>().0[group] = *vector;
                }
            }
        }
        for (i, line) in tile.0[..side].iter().enumerate() {
            let i = if self.backwards { side - 1 - i } else { i };
            let place = (row + i) * self.row_length + column;
            let target = bytemuck::cast_slice_mut(&mut self.dst[place..place + side]);
            if self.stream {
                simd::stream_line(line, target);
            } else {
                target.copy_from_slice(line);
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

impl<W: Pod> Body for Transposition<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        match size_of::<W>() {
            1 => self.copy::<1, 16>(),
            2 => self.copy::<2, 8>(),
            4 => self.copy::<4, 4>(),
            8 => self.copy::<8, 2>(),
            _ => self.copy::<16, 1>(),
        }
    }
}
