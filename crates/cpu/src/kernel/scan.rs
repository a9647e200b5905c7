//! Running totals: every prefix of a line folded, with a program in front.
//!
//! The elements are seen as `[outer, scanned, inner]`. Where nothing is inside the scanned axis a
//! line is a run of elements; else whole rows are added to a row of accumulators. Few long lines are
//! cut into segments, whose totals come first. Where results begin anew depends on the sizes alone.
//!
//! Lines go in blocks of eight whose prefixes take three steps, those of up to 48 items four
//! abreast. Every prefix is rounded once.
//!
//! | file | what is in it |
//! |---|---|
//! | `blocks` | sums of eight at a time (unsafe) |
//! | `columns` | many columns in one pass |
//! | `loops` | the loops over items |

mod blocks;
mod columns;
mod loops;

use crate::memory::{try_vec, try_with_capacity};
use allotrope_dtype::{Conversion, DType, Error, Level, Problem, Scratch};
use allotrope_op::{Program, Scan, Step};
use bytemuck::Pod;

use super::prefix::{LogSum, LogSumOfPairs, Narrow, Prefix, Product, Total};
use super::reduce::Items;
use crate::Buffer;
use crate::parallel;
use crate::simd;
use crate::tile::{Input, Source};
pub(super) use blocks::{Digits, add_floats, add_integers};
use loops::{Fold, Lines, Rows};

/// Items of one piece of work.
const SEGMENT: usize = 32 << 10;
/// Pieces that keep all threads busy without cutting lines.
const PIECES: usize = 16;
/// Items that are read and written at a time.
const TILE: usize = 2048;
/// Columns whose accumulators stay in the first-level cache.
const COLUMNS: usize = 1024;
/// Results of lines that have at least this many bytes are written past the caches: 1 M int64 from
/// int32 take 1.4 times as long so.
const STREAM_LINES_FROM: usize = 16 << 20;
/// The same of columns: 1 M int64 from int32 take 0.65 of the time so.
const STREAM_COLUMNS_FROM: usize = 4 << 20;
/// Items of a block whose prefixes are formed in three steps.
const BLOCK: usize = 8;

/// Every prefix along the middle of three sizes, in dtype `to`, rounded once. The program's one
/// output must be of a [`Scan::item`].
///
/// # Errors
/// A memory error.
pub fn scan(
    scan: Scan,
    program: &Program,
    inputs: &[Input<'_>],
    sizes: [usize; 3],
    to: DType,
) -> Result<Buffer, Error> {
    let level = Level::current().min(Level::detected());
    let source = Source::new(level, program, inputs)?;
    let item = program.output_dtypes().next().unwrap_or(DType::Bool);
    let digits = digits_of(program, to).filter(|_| scan == Scan::Sum);
    let work = Work {
        level,
        source: &source,
        sizes,
        to,
        digits,
    };
    use allotrope_dtype::{c64, c128};
    // Narrower floats than the items': to be rounded once more, from an odd last bit, unless sums
    // that lose digits are beyond the range anyway.
    let is_narrow = item == DType::F32 && to.is_floating_point() && to.bits() < 32;
    let greatest = to.format().map_or(0.0, |f| f.decode(f.max_code()));
    let is_exact = digits.is_some_and(|d| d.exact() > 2.0 * greatest);
    let is_narrow = is_narrow && !is_exact;
    match (scan, item) {
        (Scan::Sum, DType::F32) if is_narrow => work.run::<Narrow<Total<f32>>>(item),
        (Scan::Prod, DType::F32) if is_narrow => work.run::<Narrow<Product<f32>>>(item),
        (Scan::Sum, DType::F32) => work.run::<Total<f32>>(item),
        (Scan::Sum, DType::F64) => work.run::<Total<f64>>(item),
        (Scan::Sum, DType::C64) => work.run::<Total<c64>>(item),
        (Scan::Sum, DType::C128) => work.run::<Total<c128>>(item),
        (Scan::Sum, DType::I64 | DType::U64) => work.run::<Total<i64>>(item),
        (Scan::Prod, DType::F32) => work.run::<Product<f32>>(item),
        (Scan::Prod, DType::F64) => work.run::<Product<f64>>(item),
        (Scan::Prod, DType::C64) => work.run::<Product<c64>>(item),
        (Scan::Prod, DType::C128) => work.run::<Product<c128>>(item),
        (Scan::Prod, DType::I64 | DType::U64) => work.run::<Product<i64>>(item),
        (Scan::LogSumExp, DType::F64) => work.run::<LogSum>(item),
        (Scan::LogSumExp, DType::C128) => work.run::<LogSumOfPairs>(item),
        _ => {
            let set = allotrope_dtype::Set::Inexact;
            Err(Error::not_in_set("scan", item, set, None))
        }
    }
}

/// What is known of items that are narrow floats, and stay such: float32 items of a sum.
fn digits_of(program: &Program, to: DType) -> Option<Digits> {
    let is_cast = matches!(program.steps(), [Step::Convert { .. }]);
    let is_same = is_cast && to.bits() <= 16 && program.dtype(0) == to;
    to.format().filter(|_| is_same).map(Digits::of)
}

/// What is scanned.
#[derive(Clone, Copy)]
struct Work<'a, 's> {
    level: Level,
    source: &'a Source<'s>,
    sizes: [usize; 3],
    to: DType,
    /// What is known of items with few digits, which are added up.
    digits: Option<Digits>,
}

impl Work<'_, '_> {
    /// The size of the result.
    fn bytes(self) -> usize {
        self.sizes.iter().product::<usize>() * self.to.itemsize()
    }

    /// Room for the result.
    fn room(self) -> Result<Buffer, Error> {
        let count: usize = self.sizes.iter().product();
        let bytes = count.checked_mul(self.to.itemsize());
        let bytes =
            bytes.ok_or_else(|| Error::new("scan", Problem::OutOfMemory { bytes: usize::MAX }))?;
        Buffer::for_overwrite("scan", bytes)
    }

    fn run<P: Prefix>(self, item: DType) -> Result<Buffer, Error> {
        let [outer, scanned, inner] = self.sizes;
        let count = outer * scanned * inner;
        let mut buffer = self.room()?;
        if count == 0 {
            return Ok(buffer);
        }
        // Two's complement: the bits of an int64 do not depend on the sign of the items.
        let is_same = item.is_integer() && self.to.is_integer() && item.bits() == self.to.bits();
        let convert = if item == self.to || is_same {
            None
        } else {
            Some(Conversion::new(item, self.to)?)
        };
        // Rows of a segment: all of them where there are lines enough.
        let rows = (SEGMENT / inner).max(32);
        let cut = P::CHUNKED && outer < PIECES && scanned >= 2 * rows;
        let mut segment = if cut { rows } else { scanned };
        // What precedes a segment; nothing does where lines are whole.
        let mut starts = vec![try_vec("scan", inner, P::start())?];
        if cut {
            // Others work longer on an item than they wait for it.
            let is_light = const { P::CHUNKED && size_of::<P::Wide>() == 8 };
            let width = columns::width(inner).filter(|_| is_light);
            // A total that is beyond the numbers leaves open whether the prefixes are.
            let totals = match width {
                Some(width) => {
                    if self.scan_columns::<P>([segment, width], convert.as_ref(), &mut buffer)? {
                        return Ok(buffer);
                    }
                    None
                }
                None => self.totals::<P>(segment)?,
            };
            match totals {
                Some(totals) => starts = totals,
                None => segment = scanned,
            }
        }
        let segments = scanned.div_ceil(segment);
        // Several whole short lines are one piece.
        let each = if segments == 1 {
            (SEGMENT / (scanned * inner)).max(1)
        } else {
            1
        };
        let size = self.to.itemsize();
        let count = outer.div_ceil(each) * segments;
        let mut pieces = try_with_capacity("scan", count)?;
        let mut rest = &mut buffer[..];
        for line in (0..outer).step_by(each) {
            let lines = each.min(outer - line);
            for part in 0..segments {
                let first = part * segment;
                let rows = segment.min(scanned - first) * lines;
                let (now, later) = rest.split_at_mut(rows * inner * size);
                let start = &starts[(line * segments + part).min(starts.len() - 1)];
                pieces.push((line * scanned + first, rows, start, now));
                rest = later;
            }
        }
        let one = |piece: &mut (usize, usize, &Vec<P::Wide>, &mut [u8])| {
            let (row, rows, start, out) = piece;
            let (row, rows) = (*row, *rows);
            let stream_from = if inner == 1 {
                STREAM_LINES_FROM
            } else {
                STREAM_COLUMNS_FROM
            };
            let mut writer = Writer::new(self, convert.as_ref(), stream_from);
            if inner == 1 {
                self.scan_lines::<P>(row, start[0], &mut writer, out)
            } else {
                // Short lines are read together.
                let lines = if inner <= COLUMNS {
                    (TILE / (scanned * inner)).max(1)
                } else {
                    1
                };
                let together = lines * scanned;
                (0..rows).step_by(together).try_for_each(|line| {
                    let count = together.min(rows - line);
                    let out = &mut out[line * inner * size..(line + count) * inner * size];
                    self.scan_rows::<P>(row + line, start, &mut writer, out)
                })
            }
        };
        parallel::try_for_each_part(&mut pieces, 1, |_, pieces| {
            pieces.iter_mut().try_for_each(&one)
        })?;
        Ok(buffer)
    }

    /// What precedes each segment, or nothing if a total is no number to go on from.
    fn totals<P: Prefix>(self, segment: usize) -> Result<Option<Vec<Vec<P::Wide>>>, Error> {
        let [outer, scanned, inner] = self.sizes;
        let segments = scanned.div_ceil(segment);
        let mut totals = parallel::try_map(outer * segments, |piece| {
            let first = piece % segments * segment;
            let row = piece / segments * scanned + first;
            let count = segment.min(scanned - first);
            let width = if inner == 1 { BLOCK } else { inner };
            let mut lanes = try_vec("scan", width, P::start())?;
            let mut items = Items::new();
            let (mut place, end) = (row * inner, (row + count) * inner);
            let most = (TILE / width).max(1) * width;
            while place < end {
                let now = most.min(end - place);
                let items = items.read::<P::Item>(self.source, place, now)?;
                let lanes = &mut lanes;
                simd::run(self.level, Fold::<P> { lanes, items });
                place += now;
            }
            if inner == 1 {
                let total = lanes.into_iter().reduce(P::merge);
                lanes = total.into_iter().collect();
            }
            Ok(lanes)
        })?;
        for line in totals.chunks_exact_mut(segments) {
            let mut before = try_vec("scan", inner, P::start())?;
            for totals in line {
                for (total, before) in totals.iter_mut().zip(&mut before) {
                    let next = P::merge(*before, *total);
                    *total = std::mem::replace(before, next);
                    if !P::is_sound(next) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(totals))
    }

    /// Whole lines, or a part of one that goes on from `carry`.
    fn scan_lines<P: Prefix>(
        self,
        first: usize,
        mut carry: P::Wide,
        writer: &mut Writer<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let length = self.sizes[1];
        let tile = if length <= TILE {
            TILE / length * length
        } else {
            TILE
        };
        let mut items = Items::new();
        let mut done = 0;
        for out in out.chunks_mut(tile * writer.size) {
            let now = out.len() / writer.size;
            let place = (first + done) % length;
            if place == 0 {
                carry = P::start();
            }
            let items = items.read::<P::Item>(self.source, first + done, now)?;
            carry = writer.write::<P::Out, P::Wide>(out, |out| {
                let lines = Lines::<P> {
                    carry,
                    digits: self.digits,
                    place,
                    length,
                    items,
                    out,
                };
                lines.scan(self.level)
            });
            done += now;
        }
        Ok(())
    }

    /// Rows from number `first` on, of which `start` has what precedes them.
    fn scan_rows<P: Prefix>(
        self,
        first: usize,
        start: &[P::Wide],
        writer: &mut Writer<'_>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let inner = self.sizes[2];
        let count = out.len() / writer.size / inner;
        let mut items = Items::new();
        for column in (0..inner).step_by(COLUMNS) {
            let width = COLUMNS.min(inner - column);
            // bounded: `COLUMNS` of them.
            let mut lanes = start[column..column + width].to_vec();
            let at_once = if width == inner {
                (TILE / inner).max(1)
            } else {
                1
            };
            let line = self.sizes[1].saturating_mul(width);
            for row in (0..count).step_by(at_once) {
                let now = at_once.min(count - row) * width;
                let place = (first + row) * inner + column;
                let items = items.read::<P::Item>(self.source, place, now)?;
                let to = (row * inner + column) * writer.size;
                let out = &mut out[to..to + now * writer.size];
                writer.write::<P::Out, ()>(out, |out| {
                    let rows = Rows::<P> {
                        lanes: &mut lanes,
                        line,
                        items,
                        out,
                    };
                    simd::run(self.level, rows);
                });
            }
        }
        Ok(())
    }
}

/// Where results go: in place, through a conversion, or past the caches.
struct Writer<'a> {
    level: Level,
    size: usize,
    convert: Option<&'a Conversion>,
    streams: bool,
    tile: Vec<u64>,
    scratch: Scratch,
}

impl<'a> Writer<'a> {
    fn new(work: Work<'_, '_>, convert: Option<&'a Conversion>, stream_from: usize) -> Self {
        Self {
            level: work.level,
            size: work.to.itemsize(),
            convert,
            streams: convert.is_none()
                && work.level.avx512().is_some()
                && work.bytes() >= stream_from,
            tile: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Writes what `work` makes to `out`.
    fn write<T: Pod, R>(&mut self, out: &mut [u8], work: impl FnOnce(&mut [T]) -> R) -> R {
        if self.convert.is_none() && !self.streams {
            return work(bytemuck::cast_slice_mut(out));
        }
        let bytes = out.len() / self.size * size_of::<T>();
        if self.tile.len() < bytes.div_ceil(8) {
            // bounded: a tile, or a row of a piece.
            self.tile.resize(bytes.div_ceil(8), 0);
        }
        let tile = &mut bytemuck::cast_slice_mut(&mut self.tile)[..bytes];
        let result = work(bytemuck::cast_slice_mut(tile));
        match self.convert {
            Some(convert) => convert.run(self.level, tile, out, &mut self.scratch),
            None => simd::stream(self.level, tile, out),
        }
        result
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.streams {
            simd::finish_streams();
        }
    }
}
