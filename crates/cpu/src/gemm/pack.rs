//! Packing decodes: blocks of a matrix of any dtype and strides become panels of the numbers that
//! the kernels multiply, so that no converted copy of a matrix ever exists.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, dispatch_width};
use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;

use super::arithmetic::Arithmetic;
use super::strip::{Lines, Panel};
use super::{Factor, Matrix};
use crate::kernel::whole_elements;
use crate::simd::{self, Body};

/// Elements that are decoded at a time where lines lie side by side: columns, then indices.
const BROAD: usize = 256;
const DEEP: usize = 32;
/// The longest line that is decoded at once.
const LONGEST: usize = 512;

/// A matrix as packing sees it: lines, along which products are summed, beside each other.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    level: Level,
    pub(super) factor: Factor<'a>,
    /// From one line to the next, and along a line; for rows that are made, whether a line is a row.
    across: isize,
    along: isize,
    pub(super) decoding: Decoding,
}

/// The way from a dtype through others to the numbers of an arithmetic.
#[derive(Clone)]
pub(super) struct Decoding {
    level: Level,
    /// The casts, with the width of what comes out.
    conversions: SmallVec<[(Conversion, usize); 3]>,
}

impl Decoding {
    /// From a dtype through others to that of `line`. A stop that changes nothing is left out.
    pub(super) fn new(
        level: Level,
        from: DType,
        through: [DType; 2],
        line: DType,
    ) -> Result<Self, Error> {
        let mut dtype = from;
        let mut conversions = SmallVec::new();
        for stop in through.into_iter().chain([line]) {
            if stop != dtype && (stop == line || !dtype.fits_in(stop)) {
                conversions.push((Conversion::new(dtype, stop)?, stop.itemsize()));
                dtype = stop;
            }
        }
        Ok(Self { level, conversions })
    }

    /// Whether elements are the numbers already.
    pub(super) fn is_copy(&self) -> bool {
        self.conversions.is_empty()
    }

    /// Decodes `count` elements, with room for what is between.
    pub(super) fn run<'a>(
        &self,
        mut bytes: &'a [u8],
        count: usize,
        out: &mut [u8],
        stops: &'a mut [Vec<u128>],
        scratch: &mut Scratch,
    ) {
        let Some(((last, _), before)) = self.conversions.split_last() else {
            out.copy_from_slice(bytes);
            return;
        };
        for ((conversion, size), stop) in before.iter().zip(stops) {
            let to = bytes_of(stop, count * size);
            conversion.run(self.level, bytes, to, scratch);
            bytes = to;
        }
        last.run(self.level, bytes, out, scratch);
    }
}

/// Memory that decoding needs.
pub(super) struct Room<L> {
    lines: Vec<L>,
    raw: [Vec<u128>; 3],
    /// Made when it is needed: to write it takes longer than a small product.
    scratch: Option<Box<Scratch>>,
}

impl<L: Pod> Room<L> {
    pub(super) fn new() -> Self {
        Self {
            lines: Vec::new(),
            raw: [const { Vec::new() }; 3],
            scratch: None,
        }
    }
}

impl<'a> Reader<'a> {
    /// The left matrix (its lines are rows) or the right one (columns), on its way from its dtype
    /// through others to that of `line`. A stop on the way that changes nothing is left out.
    pub(super) fn new(
        level: Level,
        factor: Factor<'a>,
        is_left: bool,
        through: [DType; 2],
        line: DType,
    ) -> Result<Self, Error> {
        let decoding = Decoding::new(level, factor.dtype(), through, line)?;
        let (rows, columns) = match factor {
            Factor::Stored(matrix) => (matrix.row_stride, matrix.column_stride),
            Factor::Made { transposed, .. } => (isize::from(transposed), isize::from(!transposed)),
        };
        let (across, along) = if is_left {
            (rows, columns)
        } else {
            (columns, rows)
        };
        Ok(Self {
            level,
            factor,
            across,
            along,
            decoding,
        })
    }

    /// The same matrix with its elements decoded, of the dtype that they are decoded to.
    pub(super) fn of_decoded(&self, bytes: &'a [u8], dtype: DType) -> Self {
        let mut factor = self.factor;
        if let Factor::Stored(matrix) = &mut factor {
            (matrix.bytes, matrix.dtype) = (bytes, dtype);
        }
        let conversions = SmallVec::new();
        let decoding = Decoding {
            conversions,
            ..self.decoding
        };
        Self {
            factor,
            decoding,
            ..*self
        }
    }

    /// The elements themselves and their strides (across and along), if they are stored as the
    /// arithmetic reads them.
    pub(super) fn in_place<L: Pod>(&self) -> Option<(&'a [L], isize, isize)> {
        match self.factor {
            Factor::Stored(matrix) if self.decoding.is_copy() => {
                Some((elements(&matrix), self.across, self.along))
            }
            _ => None,
        }
    }

    /// The codes of 16-bit floats that lie along their lines and become float32 as they are, and from one
    /// line to the next.
    pub(super) fn narrow_lines(&self) -> Option<(DType, &'a [u16], isize)> {
        let Factor::Stored(matrix) = self.factor else {
            return None;
        };
        let is_narrow = matches!(matrix.dtype, DType::F16 | DType::BF16);
        (is_narrow && self.along == 1 && self.decoding.conversions.len() == 1)
            .then(|| (matrix.dtype, elements(&matrix), self.across))
    }

    /// Whether the elements are made while they are packed.
    pub(super) fn is_made(&self) -> bool {
        matches!(self.factor, Factor::Made { .. })
    }

    /// Packs `lines` lines from number `first_line` on, `count` elements of each from `first` on,
    /// into panels of `wide` numbers per step, for matrix `batch`, which starts at `offset`.
    pub(super) fn pack<A: Arithmetic, const LEFT: bool>(
        &self,
        block: Block,
        panels: &mut [A::Sum],
        room: &mut Room<A::Line>,
    ) {
        let per_panel = if LEFT {
            block.wide / A::ROWS
        } else {
            block.wide
        };
        let size = A::depth(block.count) * block.wide;
        if size == 0 {
            return;
        }
        if let Some((source, across, along)) = self.in_place() {
            let place = block.offset as isize
                + block.first_line as isize * across
                + block.first as isize * along;
            // Neighbouring lines share pages: some steps of all of them, then the next steps.
            let deep = if across == 1 { DEEP } else { block.count };
            for first in (0..block.count).step_by(deep) {
                for (panel, numbers) in panels.chunks_exact_mut(size).enumerate() {
                    let line = panel * per_panel;
                    let lines = Lines {
                        source,
                        place: place + line as isize * across + first as isize * along,
                        across,
                        along,
                        lines: per_panel.min(block.lines.saturating_sub(line)),
                        count: deep.min(block.count - first),
                    };
                    let panel = Panel {
                        numbers,
                        wide: block.wide,
                        first,
                        total: block.count,
                    };
                    simd::run(self.level, Packing::<A, LEFT> { lines, panel });
                }
            }
        } else if self.lies_across() {
            self.pack_across::<A, LEFT>(block, per_panel, panels, room);
        } else {
            self.pack_along::<A, LEFT>(block, per_panel, panels, room);
        }
    }

    /// Lines that are decoded one after the other.
    fn pack_along<A: Arithmetic, const LEFT: bool>(
        &self,
        block: Block,
        per_panel: usize,
        panels: &mut [A::Sum],
        room: &mut Room<A::Line>,
    ) {
        let size = A::depth(block.count) * block.wide;
        // Even, so that pairs are where pairs of every line are.
        let longest = LONGEST.min(block.count.next_multiple_of(2));
        let mut decoded = std::mem::take(&mut room.lines);
        // bounded: lines of a panel, `LONGEST` of each.
        decoded.resize(per_panel * longest, A::Line::zeroed());
        for (panel, numbers) in panels.chunks_exact_mut(size).enumerate() {
            let line = panel * per_panel;
            let lines = per_panel.min(block.lines.saturating_sub(line));
            for first in (0..block.count).step_by(longest.max(2)) {
                let count = longest.min(block.count - first);
                for (number, to) in decoded.chunks_exact_mut(longest).enumerate().take(lines) {
                    let line = block.first_line + line + number;
                    self.read(
                        block,
                        line,
                        block.first + first,
                        true,
                        &mut to[..count],
                        room,
                    );
                }
                let lines = Lines {
                    source: &decoded[..],
                    place: 0,
                    across: longest as isize,
                    along: 1,
                    lines,
                    count,
                };
                let panel = Panel {
                    numbers: &mut *numbers,
                    wide: block.wide,
                    first,
                    total: block.count,
                };
                simd::run(self.level, Packing::<A, LEFT> { lines, panel });
            }
        }
        room.lines = decoded;
    }

    /// Lines that lie side by side: what is decoded at once are their elements of one index.
    fn pack_across<A: Arithmetic, const LEFT: bool>(
        &self,
        block: Block,
        per_panel: usize,
        panels: &mut [A::Sum],
        room: &mut Room<A::Line>,
    ) {
        let size = A::depth(block.count) * block.wide;
        let broad = (BROAD / per_panel).max(1) * per_panel;
        let mut decoded = std::mem::take(&mut room.lines);
        // bounded: `BROAD` times `DEEP`.
        decoded.resize(broad * DEEP, A::Line::zeroed());
        for line in (0..block.lines).step_by(broad) {
            let lines = broad.min(block.lines - line);
            for first in (0..block.count).step_by(DEEP) {
                let count = DEEP.min(block.count - first);
                for (index, to) in decoded.chunks_exact_mut(broad).enumerate().take(count) {
                    let (line, index) = (block.first_line + line, block.first + first + index);
                    self.read(block, line, index, false, &mut to[..lines], room);
                }
                for part in (0..lines).step_by(per_panel) {
                    let panel = (line + part) / per_panel;
                    let lines = Lines {
                        source: &decoded[..],
                        place: part as isize,
                        across: 1,
                        along: broad as isize,
                        lines: per_panel.min(lines - part),
                        count,
                    };
                    let panel = Panel {
                        numbers: &mut panels[panel * size..(panel + 1) * size],
                        wide: block.wide,
                        first,
                        total: block.count,
                    };
                    simd::run(self.level, Packing::<A, LEFT> { lines, panel });
                }
            }
        }
        room.lines = decoded;
    }

    /// Whether lines lie side by side in memory, and their own elements do not.
    pub(super) fn lies_across(&self) -> bool {
        self.across.abs() == 1 && self.along.abs() != 1
    }

    /// Decodes elements of one line.
    pub(super) fn read_line<L: Pod, M: Pod>(
        &self,
        block: Block,
        line: usize,
        index: usize,
        out: &mut [L],
        room: &mut Room<M>,
    ) {
        if self.is_made() && self.lies_across() {
            for (i, out) in out.chunks_exact_mut(1).enumerate() {
                self.read(block, line, index + i, false, out, room);
            }
        } else {
            self.read(block, line, index, true, out, room);
        }
    }

    /// Decodes elements of one line, or of several lines at one index.
    pub(super) fn read<L: Pod, M: Pod>(
        &self,
        block: Block,
        line: usize,
        index: usize,
        along: bool,
        out: &mut [L],
        room: &mut Room<M>,
    ) {
        let count = out.len();
        // What is made at once is always a stretch of a row as it was made.
        let (row, first) = if along { (line, index) } else { (index, line) };
        if let (Factor::Made { rows, .. }, true) = (self.factor, self.decoding.is_copy()) {
            return rows.read(block.batch, row, first, bytemuck::cast_slice_mut(out));
        }
        let Room { raw, scratch, .. } = room;
        let [raw, stops @ ..] = raw;
        let from = self.factor.dtype();
        let out: &mut [u8] = bytemuck::cast_slice_mut(out);
        let bytes: &[u8] = match self.factor {
            Factor::Stored(matrix) => {
                let stride = if along { self.along } else { self.across };
                let place = block.offset as isize
                    + line as isize * self.across
                    + index as isize * self.along;
                let size = from.itemsize();
                if stride == 1 {
                    let start = place as usize * size;
                    &matrix.bytes[start..start + count * size]
                } else {
                    let raw = bytes_of(raw, count * size);
                    gather(from, matrix.bytes, place, stride, raw);
                    raw
                }
            }
            Factor::Made { rows, dtype, .. } => {
                let raw = bytes_of(raw, count * dtype.itemsize());
                rows.read(block.batch, row, first, raw);
                raw
            }
        };
        let scratch = scratch.get_or_insert_default();
        self.decoding.run(bytes, count, out, stops, scratch);
    }
}

/// A part of a matrix to pack.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) batch: usize,
    pub(super) offset: usize,
    pub(super) first_line: usize,
    pub(super) lines: usize,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) wide: usize,
}

struct Packing<'a, A: Arithmetic, const LEFT: bool> {
    lines: Lines<'a, A::Line>,
    panel: Panel<'a, A::Sum>,
}

impl<A: Arithmetic, const LEFT: bool> Body for Packing<'_, A, LEFT> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        A::pack::<LEFT>(self.lines, self.panel);
    }
}

fn elements<'a, L: Pod>(matrix: &Matrix<'a>) -> &'a [L] {
    bytemuck::cast_slice(whole_elements(matrix.dtype, matrix.bytes))
}

/// The first bytes of a list that is long enough, aligned for every dtype.
pub(super) fn bytes_of(list: &mut Vec<u128>, bytes: usize) -> &mut [u8] {
    // bounded: lines and rows of a block.
    list.resize(list.len().max(bytes.div_ceil(16)), 0);
    &mut bytemuck::cast_slice_mut(list)[..bytes]
}

fn gather(dtype: DType, bytes: &[u8], place: isize, stride: isize, out: &mut [u8]) {
    dispatch_width!(dtype, |W| {
        let source: &[W] = bytemuck::cast_slice(whole_elements(dtype, bytes));
        let out: &mut [W] = bytemuck::cast_slice_mut(out);
        let mut place = place;
        for out in out {
            *out = source[place as usize];
            place += stride;
        }
    });
}
