//! Running totals: every prefix of a line folded, with a program in front.
//!
//! The elements are seen as `[outer, scanned, inner]`. Where nothing is inside the scanned axis a
//! line is a run of elements; else whole rows are added to a row of accumulators. Few long lines are
//! cut into segments, whose totals come first. How the work is cut depends on the sizes alone.

use allotrope_dtype::{Conversion, DType, Error, Level, Problem, Scratch};
use allotrope_op::Program;
use bytemuck::Pod;

use super::prefix::{LogSum, Narrow, Prefix, Product, Total};
use super::reduce::Items;
use crate::Buffer;
use crate::parallel;
use crate::simd::{self, Body};
use crate::tile::{Input, Source};

/// Items of one piece of work.
const SEGMENT: usize = 32 << 10;
/// Pieces that keep all threads busy without cutting lines.
const PIECES: usize = 16;
/// Items that are read and written at a time.
const TILE: usize = 2048;
/// Columns whose accumulators stay in the first-level cache.
const COLUMNS: usize = 1024;
/// Items of a block whose prefixes are formed in three steps.
const BLOCK: usize = 8;

/// How the numbers of a prefix become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The logarithm of the sum of their exponentials.
    LogSumExp,
}

impl Scan {
    /// The dtype that items must have to scan values of a dtype.
    #[must_use]
    pub fn item(self, dtype: DType) -> DType {
        match dtype {
            _ if self == Self::LogSumExp => DType::F64,
            DType::Bool => DType::I64,
            d if d.is_integer() && d.is_signed() => DType::I64,
            d if d.is_integer() => DType::U64,
            d => d.compute(),
        }
    }
}

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
    let work = Work {
        level,
        source: &source,
        sizes,
        to,
    };
    use allotrope_dtype::{c64, c128};
    // Narrower floats than the items': to be rounded once more, from an odd last bit.
    let is_narrow = item == DType::F32 && to != DType::F32;
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
        _ => {
            let set = allotrope_dtype::Set::Real;
            Err(Error::not_in_set("scan", item, set, None))
        }
    }
}

/// What is scanned.
#[derive(Clone, Copy)]
struct Work<'a, 's> {
    level: Level,
    source: &'a Source<'s>,
    sizes: [usize; 3],
    to: DType,
}

impl Work<'_, '_> {
    fn run<P: Prefix>(self, item: DType) -> Result<Buffer, Error> {
        let [outer, scanned, inner] = self.sizes;
        let count = outer * scanned * inner;
        let bytes = count.checked_mul(self.to.itemsize());
        let bytes =
            bytes.ok_or_else(|| Error::new("scan", Problem::OutOfMemory { bytes: usize::MAX }))?;
        let mut buffer = Buffer::for_overwrite("scan", bytes)?;
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
        let mut starts = vec![vec![P::start(); inner]; outer];
        if cut {
            match self.totals::<P>(segment)? {
                Some(totals) => starts = totals,
                // A total is beyond the numbers, the prefixes may not be: one after the other.
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
        let mut pieces = Vec::new();
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
            let mut writer = Writer::new(self, convert.as_ref(), out);
            if inner == 1 {
                self.scan_lines::<P>(row, start[0], &mut writer)
            } else {
                (0..rows).step_by(scanned).try_for_each(|line| {
                    let count = scanned.min(rows - line);
                    self.scan_rows::<P>([row + line, count], line, start, &mut writer)
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
            let mut lanes = vec![P::start(); if inner == 1 { BLOCK } else { inner }];
            let mut items = Items::new();
            let width = lanes.len();
            let (mut place, end) = (row * inner, (row + count) * inner);
            let most = (TILE / width).max(1) * width;
            while place < end {
                let now = most.min(end - place);
                let items = items.read::<P::Item>(self.source, place, now)?;
                let lanes = &mut lanes;
                simd::run_narrow(self.level, Fold::<P> { lanes, items });
                place += now;
            }
            if inner == 1 {
                let total = lanes.into_iter().reduce(P::merge);
                lanes = total.into_iter().collect();
            }
            Ok(lanes)
        })?;
        for line in totals.chunks_exact_mut(segments) {
            let mut before = vec![P::start(); inner];
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
    ) -> Result<(), Error> {
        let length = self.sizes[1];
        let tile = if length <= TILE {
            TILE / length * length
        } else {
            TILE
        };
        let mut items = Items::new();
        let (mut done, count) = (0, writer.count());
        while done < count {
            let now = tile.min(count - done);
            let place = (first + done) % length;
            if place == 0 {
                carry = P::start();
            }
            let items = items.read::<P::Item>(self.source, first + done, now)?;
            carry = writer.write::<P::Out, P::Wide>(done, now, |out| {
                let lines = Lines::<P> {
                    carry,
                    place,
                    length,
                    items,
                    out,
                };
                simd::run_narrow(self.level, lines)
            });
            done += now;
        }
        Ok(())
    }

    /// Rows, of which `start` has what precedes them; `written` of the piece are before them.
    fn scan_rows<P: Prefix>(
        self,
        [first, count]: [usize; 2],
        written: usize,
        start: &[P::Wide],
        writer: &mut Writer<'_>,
    ) -> Result<(), Error> {
        let inner = self.sizes[2];
        let mut items = Items::new();
        for column in (0..inner).step_by(COLUMNS) {
            let width = COLUMNS.min(inner - column);
            let mut lanes = start[column..column + width].to_vec();
            let at_once = if width == inner {
                (TILE / inner).max(1)
            } else {
                1
            };
            for row in (0..count).step_by(at_once) {
                let now = at_once.min(count - row) * width;
                let place = (first + row) * inner + column;
                let items = items.read::<P::Item>(self.source, place, now)?;
                let to = (written + row) * inner + column;
                writer.write::<P::Out, ()>(to, now, |out| {
                    let lanes = &mut lanes;
                    simd::run(self.level, Rows::<P> { lanes, items, out });
                });
            }
        }
        Ok(())
    }
}

/// Where results go: in place, or through a conversion.
struct Writer<'a> {
    level: Level,
    size: usize,
    convert: Option<&'a Conversion>,
    out: &'a mut [u8],
    tile: Vec<u64>,
    scratch: Scratch,
}

impl<'a> Writer<'a> {
    fn new(work: Work<'_, '_>, convert: Option<&'a Conversion>, out: &'a mut [u8]) -> Self {
        Self {
            level: work.level,
            size: work.to.itemsize(),
            convert,
            out,
            tile: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    fn count(&self) -> usize {
        self.out.len() / self.size
    }

    /// Writes `count` results from `place` on.
    fn write<T: Pod, R>(
        &mut self,
        place: usize,
        count: usize,
        work: impl FnOnce(&mut [T]) -> R,
    ) -> R {
        let out = &mut self.out[place * self.size..(place + count) * self.size];
        let Some(convert) = self.convert else {
            return work(bytemuck::cast_slice_mut(out));
        };
        let bytes = count * size_of::<T>();
        if self.tile.len() < bytes.div_ceil(8) {
            self.tile.resize(bytes.div_ceil(8), 0);
        }
        let tile = &mut bytemuck::cast_slice_mut(&mut self.tile)[..bytes];
        let result = work(bytemuck::cast_slice_mut(tile));
        convert.run(self.level, tile, out, &mut self.scratch);
        result
    }
}

/// Prefixes of lines one after the other; the first has seen `place` items.
struct Lines<'a, P: Prefix> {
    carry: P::Wide,
    place: usize,
    length: usize,
    items: &'a [P::Item],
    out: &'a mut [P::Out],
}

impl<P: Prefix> Body for Lines<'_, P> {
    type Output = P::Wide;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> P::Wide {
        let (mut items, mut out) = (self.items, self.out);
        let (mut carry, mut place) = (self.carry, self.place);
        loop {
            let now = (self.length - place).min(items.len());
            let (line, later) = items.split_at(now);
            let (results, rest) = out.split_at_mut(now);
            if P::TREE {
                let (blocks, tail) = line.as_chunks::<BLOCK>();
                let (to, to_tail) = results.as_chunks_mut::<BLOCK>();
                for (block, to) in blocks.iter().zip(to) {
                    let block = prefixes::<P>(block);
                    for (to, prefix) in to.iter_mut().zip(block) {
                        *to = P::finish(P::merge(carry, prefix));
                    }
                    carry = P::merge(carry, block[BLOCK - 1]);
                }
                carry = one_by_one::<P>(carry, tail, to_tail);
            } else {
                carry = one_by_one::<P>(carry, line, results);
            }
            if later.is_empty() {
                return carry;
            }
            (items, out, carry, place) = (later, rest, P::start(), 0);
        }
    }
}

#[inline(always)]
fn one_by_one<P: Prefix>(mut carry: P::Wide, items: &[P::Item], out: &mut [P::Out]) -> P::Wide {
    // Results are finished a block at a time, which the steps between accumulators hide.
    let (blocks, tail) = items.as_chunks::<BLOCK>();
    let (to, to_tail) = out.as_chunks_mut::<BLOCK>();
    for (block, to) in blocks.iter().zip(to) {
        let mut wide = [carry; BLOCK];
        for (wide, item) in wide.iter_mut().zip(block) {
            carry = P::merge(carry, P::widen(*item));
            *wide = carry;
        }
        for (out, wide) in to.iter_mut().zip(wide) {
            *out = P::finish(wide);
        }
    }
    for (item, out) in tail.iter().zip(to_tail) {
        carry = P::merge(carry, P::widen(*item));
        *out = P::finish(carry);
    }
    carry
}

/// The prefixes of a block: each step joins windows of twice the length.
#[inline(always)]
fn prefixes<P: Prefix>(block: &[P::Item; BLOCK]) -> [P::Wide; BLOCK] {
    let x = block.map(P::widen);
    let mut y = x;
    for i in 1..BLOCK {
        y[i] = P::merge(x[i - 1], x[i]);
    }
    let mut z = y;
    for i in 2..BLOCK {
        z[i] = P::merge(y[i - 2], y[i]);
    }
    let mut all = z;
    for i in 4..BLOCK {
        all[i] = P::merge(z[i - 4], z[i]);
    }
    all
}

/// Rows of items added to a row of accumulators, whose values go out after each.
struct Rows<'a, P: Prefix> {
    lanes: &'a mut [P::Wide],
    items: &'a [P::Item],
    out: &'a mut [P::Out],
}

impl<P: Prefix> Body for Rows<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.lanes.len();
        let rows = self.items.chunks_exact(width);
        for (items, out) in rows.zip(self.out.chunks_exact_mut(width)) {
            for ((lane, item), out) in self.lanes.iter_mut().zip(items).zip(out) {
                *lane = P::merge(*lane, P::widen(*item));
                *out = P::finish(*lane);
            }
        }
    }
}

/// Rows of items folded into a row of accumulators; the last row may be short.
struct Fold<'a, P: Prefix> {
    lanes: &'a mut [P::Wide],
    items: &'a [P::Item],
}

impl<P: Prefix> Body for Fold<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.lanes.len();
        if let Ok(lanes) = <&mut [P::Wide; BLOCK]>::try_from(&mut *self.lanes) {
            let (blocks, rest) = self.items.as_chunks::<BLOCK>();
            let mut sums = *lanes;
            for block in blocks {
                for (lane, item) in sums.iter_mut().zip(block) {
                    *lane = P::merge(*lane, P::widen(*item));
                }
            }
            for (lane, item) in sums.iter_mut().zip(rest) {
                *lane = P::merge(*lane, P::widen(*item));
            }
            *lanes = sums;
            return;
        }
        for row in self.items.chunks(width) {
            for (lane, item) in self.lanes.iter_mut().zip(row) {
                *lane = P::merge(*lane, P::widen(*item));
            }
        }
    }
}
