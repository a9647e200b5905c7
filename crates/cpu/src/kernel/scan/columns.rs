//! Prefixes down many columns in one pass: a thread has some columns of every row, and forms the
//! totals of segments while it writes their prefixes.
//!
//! The numbers are added up as elsewhere, segment by segment, so that it does not matter how many
//! columns a thread has.

use crate::memory::{try_collect, try_vec, try_with_capacity};
use allotrope_dtype::{Conversion, Error};

use super::loops::{Columns, Singles};
use super::{COLUMNS, Digits, Prefix, STREAM_COLUMNS_FROM, Work, Writer};
use crate::kernel::reduce::Items;
use crate::{parallel, simd};

/// The fewest columns of a piece: with less, rows are read in too small parts.
const NARROWEST: usize = 128;
/// Rows whose places in memory are listed at a time, about.
const LISTED: usize = 4096;

/// The columns of each piece, if there are enough for all threads.
pub(super) fn width(inner: usize) -> Option<usize> {
    let pieces = inner.div_ceil(COLUMNS).max(crate::parallel::thread_count());
    let width = inner.div_ceil(pieces).next_multiple_of(16);
    (width >= NARROWEST).then_some(width)
}

/// Some columns: where they begin, what precedes their next segment, and their part of rows.
struct Piece<'a, W> {
    column: usize,
    starts: &'a mut [W],
    rows: Vec<&'a mut [u8]>,
    is_sound: bool,
}

impl Work<'_, '_> {
    /// Writes all prefixes, with segments of so many rows and pieces of so many columns. False if a
    /// total is no number to go on from.
    pub(super) fn scan_columns<P: Prefix>(
        self,
        [segment, width]: [usize; 2],
        convert: Option<&Conversion>,
        out: &mut [u8],
    ) -> Result<bool, Error> {
        let [_, scanned, inner] = self.sizes;
        let size = self.to.itemsize();
        let listed = LISTED.next_multiple_of(segment);
        for (line, out) in out.chunks_mut(scanned * inner * size).enumerate() {
            let mut starts = try_vec("scan", inner, P::start())?;
            for (part, out) in out.chunks_mut(listed * inner * size).enumerate() {
                let parts = starts.chunks_mut(width).enumerate();
                let count = inner.div_ceil(width);
                let mut pieces: Vec<Piece<'_, P::Wide>> = try_with_capacity("scan", count)?;
                for (number, starts) in parts {
                    pieces.push(Piece {
                        column: number * width,
                        starts,
                        rows: try_with_capacity("scan", listed.min(scanned))?,
                        is_sound: true,
                    });
                }
                for row in out.chunks_mut(inner * size) {
                    for (piece, part) in pieces.iter_mut().zip(row.chunks_mut(width * size)) {
                        piece.rows.push(part);
                    }
                }
                let first = line * scanned + part * listed;
                parallel::try_for_each_part(&mut pieces, 1, |_, pieces| {
                    pieces.iter_mut().try_for_each(|piece| {
                        self.scan_piece::<P>([first, segment], convert, piece)
                    })
                })?;
                if !pieces.iter().all(|piece| piece.is_sound) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The prefixes of some columns, in rows from `first` on.
    fn scan_piece<P: Prefix>(
        self,
        [mut row, segment]: [usize; 2],
        convert: Option<&Conversion>,
        piece: &mut Piece<'_, P::Wide>,
    ) -> Result<(), Error> {
        let (inner, width) = (self.sizes[2], piece.starts.len());
        let mut writer = Writer::new(self, convert, STREAM_COLUMNS_FROM);
        let mut items = Items::new();
        let mut totals = try_vec("scan", width, P::start())?;
        let mut lanes = try_vec("scan", width, P::start())?;
        // Segments for which the shorter way is not tried: more after each that was tried in vain.
        let exact = self.digits.and_then(Digits::exact_of_bytes);
        let (mut left_out, mut next_left_out) = (0_usize, 1);
        for rows in piece.rows.chunks_mut(segment) {
            if left_out > 0 {
                left_out -= 1;
            } else if let Some(exact) = exact {
                let starts = bytemuck::cast_slice_mut(piece.starts);
                let place = row * inner + piece.column;
                if self.add_exactly(exact, starts, place, rows, &mut writer)? {
                    (row, next_left_out) = (row + rows.len(), 1);
                    continue;
                }
                (left_out, next_left_out) = (next_left_out, 2 * next_left_out + 1);
            }
            lanes.copy_from_slice(piece.starts);
            totals.fill(P::start());
            for out in rows {
                let place = row * inner + piece.column;
                let items = items.read::<P::Item>(self.source, place, width)?;
                let (lanes, totals) = (&mut lanes[..], &mut totals[..]);
                writer.write::<P::Out, ()>(out, |out| {
                    let columns = Columns::<P> {
                        lanes,
                        totals,
                        items,
                        out,
                    };
                    simd::run(self.level, columns);
                });
                row += 1;
            }
            for (start, total) in piece.starts.iter_mut().zip(&totals) {
                *start = P::merge(*start, *total);
                piece.is_sound &= P::is_sound(*start);
            }
        }
        Ok(())
    }

    /// The prefixes of rows of 8-bit floats in float32, from element `place` on, if magnitudes stay below
    /// `exact`. What is written else is of no use.
    #[inline(never)]
    fn add_exactly(
        self,
        exact: f64,
        starts: &mut [f64],
        mut place: usize,
        rows: &mut [&mut [u8]],
        writer: &mut Writer<'_>,
    ) -> Result<bool, Error> {
        if !starts.iter().all(|start| start.abs() < exact) {
            return Ok(false);
        }
        let mut items = Items::new();
        let mut lanes = try_collect("scan", starts.iter().map(|start| *start as f32))?;
        for out in rows {
            let items = items.read::<f32>(self.source, place, starts.len())?;
            let most = writer.write::<f32, u32>(out, |out| {
                let lanes = &mut lanes[..];
                simd::run(self.level, Singles { lanes, items, out })
            });
            if most >= (exact as f32).to_bits() {
                return Ok(false);
            }
            place += self.sizes[2];
        }
        for (start, lane) in starts.iter_mut().zip(lanes) {
            *start = lane.into();
        }
        Ok(true)
    }
}
