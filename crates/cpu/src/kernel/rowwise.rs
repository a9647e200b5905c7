//! Lines along an axis: each is decoded once, worked on while it is in the cache, and encoded.
//!
//! The elements are seen as `[outer, length, inner]`. Where nothing is inside the axis a piece of
//! work is some whole lines; else it is a block of neighbouring lines, read row by row in the order
//! of memory. How the work is cut depends on the sizes alone, and so do the results.
//!
//! Several short lines are read together. Sums are those of 64 lanes over 2048 elements, joined in
//! float64; results are rounded once, and large ones written past the caches.
//!
//! | file | what is in it |
//! |---|---|
//! | `prefetch` | memory that is asked for before it is needed |
//! | `sums` | sums along a line, in lanes |
//! | `halves` | lines of float16 and bfloat16, without values in between |
//! | `together` | several lines at a time |

mod halves;
mod prefetch;
mod sums;
mod together;

use crate::memory::{try_resize, try_vec, try_with_capacity};
use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, dispatch_width};
use allotrope_op::elementary::{EXP_NEAR_32, EXP_NEAR_64, Elementary};
use allotrope_op::{Layout, Number, Program};
use bytemuck::Pod;

pub(crate) use self::halves::{HalfLines, fill_up, for_each_line_or_half};
pub(crate) use self::prefetch::Ahead;
pub(crate) use self::sums::{ADDED, fold, fold_half, join, join_few, sums};
pub(crate) use self::together::{
    FEW, OfBlocks, TOGETHER, lines_together, map_lines, sums_of_lines,
};
use super::whole_elements;
use crate::parallel::{self, CHUNK};
use crate::simd;
use crate::tile::{Input, Source};

/// Elements of lines that are read together, so that their values stay in the first-level cache.
const GROUP: usize = 2048;
/// Elements of a block of lines, whose values stay in the second-level cache.
const BLOCK: usize = 128 << 10;
/// The fewest neighbouring lines of a block: a cache line of float32.
const NARROWEST: usize = 16;
/// The most: above, reading a row is a small part of the work.
const WIDEST: usize = 512;
/// The length from which on a line is better worked on in passes over all of memory.
const LONGEST: usize = 256 << 10;
/// What errors of this family say.
const OP: &str = "lines";
/// Lanes of a loop: four vectors of float32 at the widest level.
pub(crate) const LANES: usize = 64;

/// Whether lines of this length are short enough for the kernels of this kind.
#[must_use]
pub(crate) fn are_lines_short(length: usize, inner: usize) -> bool {
    length
        <= if inner == 1 {
            LONGEST
        } else {
            LONGEST / NARROWEST
        }
}

/// A float that lines are worked on in.
pub(crate) trait Accumulator: Pod + Send + Sync + PartialOrd {
    /// The number as the elementary functions see it.
    type Lane<const FUSED: bool>: Elementary;
    /// The dtype.
    const DTYPE: DType;
    /// What is below every number.
    const LEAST: Self;
    /// Zero.
    const ZERO: Self;
    /// Above this, exponentials are normal numbers.
    const EXP_LEAST: Self;
    fn wrap<const FUSED: bool>(self) -> Self::Lane<FUSED>;
    fn unwrap<const FUSED: bool>(lane: Self::Lane<FUSED>) -> Self;
    fn narrow(value: f64) -> Self;
    fn widen(self) -> f64;
    /// The sum of 32 lanes: halves added to halves.
    fn sum_of_lanes(lanes: &[Self; LANES / 2]) -> Self;
}

macro_rules! impl_accumulator {
    ($($float:ident $dtype:ident $near:ident $sum:path;)*) => {$(
        impl Accumulator for $float {
            type Lane<const FUSED: bool> = Number<$float, FUSED>;
            const DTYPE: DType = DType::$dtype;
            const LEAST: Self = $float::NEG_INFINITY;
            const ZERO: Self = 0.0;
            const EXP_LEAST: Self = -$near as $float;
            #[inline(always)]
            fn wrap<const FUSED: bool>(self) -> Number<$float, FUSED> {
                Number(self)
            }
            #[inline(always)]
            fn unwrap<const FUSED: bool>(lane: Number<$float, FUSED>) -> Self {
                lane.0
            }
            #[inline(always)]
            fn narrow(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn widen(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn sum_of_lanes(lanes: &[Self; LANES / 2]) -> Self {
                $sum(lanes)
            }
        }
    )*};
}
impl_accumulator!(
    f32 F32 EXP_NEAR_32 simd::sum_of_32;
    f64 F64 EXP_NEAR_64 simd::sum_by_halves;
);

/// What becomes of lines.
pub(crate) trait Lines<C>: Sync {
    /// Whole lines of `length` elements, from line number `first` on. What comes `ahead` is asked for
    /// along the way.
    fn lines(
        &self,
        level: Level,
        first: usize,
        length: usize,
        from: &[C],
        to: &mut [C],
        ahead: Ahead<'_>,
    );
    /// Neighbouring lines, `width` of them: rows of one element each, in place.
    fn block(&self, level: Level, width: usize, values: &mut [C]) -> Result<(), Error>;
}

/// Elements seen as lines, and the program that reads them in the dtype they are worked on in.
#[derive(Clone, Copy)]
pub(crate) struct LineInput<'a> {
    /// The program; its output is float32 or float64.
    pub program: &'a Program,
    /// What it reads; the order of the layout is `[outer, length, inner]`.
    pub input: Input<'a>,
    /// Outer, length, inner.
    pub sizes: [usize; 3],
}

/// Works on every line and writes the results in row-major order as `dtype`.
pub(crate) fn for_each_line<C: Accumulator>(
    from: LineInput<'_>,
    lines: &impl Lines<C>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let level = Level::current();
    let source = Source::new(level, from.program, &[from.input])?;
    work_on_lines(level, source, from.sizes, lines, dtype, out)
}

fn work_on_lines<C: Accumulator>(
    level: Level,
    source: Source<'_>,
    [_, length, inner]: [usize; 3],
    lines: &impl Lines<C>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    if out.is_empty() || length == 0 {
        return Ok(());
    }
    let work = Work {
        level,
        source,
        encode: Conversion::new(C::DTYPE, dtype)?,
        dtype,
        streams: simd::streams(out.len(), out.len()),
        lines,
        compute: std::marker::PhantomData,
    };
    if inner == 1 {
        work.whole_lines(length, out)
    } else {
        work.blocks(length, inner, out)
    }
}

struct Work<'a, 's, C, L> {
    level: Level,
    source: Source<'s>,
    encode: Conversion,
    dtype: DType,
    streams: bool,
    lines: &'a L,
    compute: std::marker::PhantomData<C>,
}

impl<C: Accumulator, L: Lines<C>> Work<'_, '_, C, L> {
    fn whole_lines(&self, length: usize, out: &mut [u8]) -> Result<(), Error> {
        let size = self.dtype.itemsize();
        let each = (CHUNK / length).max(1);
        let piece = if out.len() <= CHUNK * size {
            out.len()
        } else {
            each * length * size
        };
        parallel::try_for_each_part(out, piece, |index, out| {
            let together = (GROUP / length).max(1) * length;
            let mut first = index * each * length;
            let mut memory = Memory::<C>::default();
            for out in out.chunks_mut(together * size) {
                self.group(&mut memory, first, length, out)?;
                first += together;
            }
            if self.streams {
                simd::finish_streams();
            }
            Ok(())
        })
    }

    /// Some lines that are read together.
    fn group(
        &self,
        memory: &mut Memory<C>,
        first: usize,
        length: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let count = out.len() / self.dtype.itemsize();
        let Memory {
            from,
            to,
            codes,
            scratch,
        } = memory;
        let from: &[C] = match self.source.in_place(first, count) {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => {
                try_resize(OP, from, count, C::ZERO)?;
                let bytes = bytemuck::cast_slice_mut(&mut from[..count]);
                self.source.read(first, count, bytes)?;
                &from[..count]
            }
        };
        let (line, is_same) = (first / length, self.dtype == C::DTYPE);
        let (bytes, size) = self.source.ahead(first + count, count);
        let ahead = Ahead::new(bytes, size);
        if is_same && !self.streams {
            let to = bytemuck::cast_slice_mut(out);
            self.lines.lines(self.level, line, length, from, to, ahead);
            return Ok(());
        }
        try_resize(OP, to, count, C::ZERO)?;
        let to = &mut to[..count];
        self.lines.lines(self.level, line, length, from, to, ahead);
        let bytes = bytemuck::cast_slice(to);
        if is_same {
            simd::stream(self.level, bytes, out);
        } else if self.streams {
            try_resize(OP, codes, out.len(), 0)?;
            self.encode.run(self.level, bytes, codes, scratch);
            simd::stream(self.level, codes, out);
        } else {
            self.encode.run(self.level, bytes, out, scratch);
        }
        Ok(())
    }

    fn blocks(&self, length: usize, inner: usize, out: &mut [u8]) -> Result<(), Error> {
        let size = self.dtype.itemsize();
        let width = (BLOCK / length).clamp(NARROWEST, WIDEST).min(inner);
        let across = inner.div_ceil(width);
        // The rows of every block: its place in memory that others write to beside it.
        let count = out.len() / (length * inner * size) * across;
        let mut blocks: Vec<Vec<&mut [u8]>> = try_with_capacity(OP, count)?;
        for outer in out.chunks_mut(length * inner * size) {
            let start = blocks.len();
            for _ in 0..across {
                blocks.push(try_with_capacity(OP, length)?);
            }
            for row in outer.chunks_mut(inner * size) {
                let pieces = row.chunks_mut(width * size);
                for (block, piece) in blocks[start..].iter_mut().zip(pieces) {
                    block.push(piece);
                }
            }
        }
        parallel::try_for_each_part(&mut blocks, 1, |index, blocks| {
            let start = index / across * length * inner + index % across * width;
            let mut blocks = blocks.iter_mut();
            blocks.try_for_each(|rows| self.block(start, inner, rows))
        })
    }

    /// One block of neighbouring lines.
    fn block(&self, start: usize, inner: usize, rows: &mut [&mut [u8]]) -> Result<(), Error> {
        let width = rows.first().map_or(0, |row| row.len()) / self.dtype.itemsize();
        let mut values = try_vec(OP, rows.len() * width, C::ZERO)?;
        for (row, values) in values.chunks_exact_mut(width).enumerate() {
            let first = start + row * inner;
            match self.source.in_place(first, width) {
                Some(bytes) => values.copy_from_slice(bytemuck::cast_slice(bytes)),
                None => {
                    let bytes = bytemuck::cast_slice_mut(values);
                    self.source.read(first, width, bytes)?;
                }
            }
        }
        self.lines.block(self.level, width, &mut values)?;
        let mut scratch = Scratch::default();
        for (row, values) in rows.iter_mut().zip(values.chunks_exact(width)) {
            let bytes = bytemuck::cast_slice(values);
            if self.dtype == C::DTYPE {
                row.copy_from_slice(bytes);
            } else {
                self.encode.run(self.level, bytes, row, &mut scratch);
            }
        }
        Ok(())
    }
}

/// Elements where they are, or decoded.
pub(crate) fn read<'a, C: Accumulator>(
    source: &'a Source<'_>,
    first: usize,
    count: usize,
    room: &'a mut Vec<C>,
) -> Result<&'a [C], Error> {
    if let Some(bytes) = source.in_place(first, count) {
        return Ok(bytemuck::cast_slice(bytes));
    }
    try_resize("read", room, count, C::ZERO)?;
    source.read(first, count, bytemuck::cast_slice_mut(&mut room[..count]))?;
    Ok(&room[..count])
}

/// Values of lines before and after.
struct Memory<C> {
    from: Vec<C>,
    to: Vec<C>,
    codes: Vec<u8>,
    scratch: Scratch,
}

impl<C> Default for Memory<C> {
    fn default() -> Self {
        Self {
            from: Vec::new(),
            to: Vec::new(),
            codes: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

/// The element of each line along an axis that an index names; the lines go in row-major order of
/// the other axes, and the indices are in range.
pub(crate) fn pick(
    dtype: DType,
    bytes: &[u8],
    layout: &Layout,
    axis: usize,
    indices: &[i64],
    out: &mut [u8],
) {
    let bytes = whole_elements(dtype, bytes);
    let stride = layout.strides()[axis];
    let others: Vec<(usize, isize)> = (0..layout.rank())
        .filter(|dim| *dim != axis)
        .map(|dim| (layout.shape()[dim], layout.strides()[dim]))
        .collect();
    dispatch_width!(dtype, |W| {
        let from: &[W] = bytemuck::cast_slice(bytes);
        let to: &mut [W] = bytemuck::cast_slice_mut(out);
        for (line, (to, index)) in to.iter_mut().zip(indices).enumerate() {
            let mut left = line;
            let mut place = layout.offset() as isize + *index as isize * stride;
            for (count, stride) in others.iter().rev() {
                place += (left % count) as isize * stride;
                left /= count;
            }
            *to = from[place as usize];
        }
    });
}
