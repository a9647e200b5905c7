//! Numbers that draws are given as tensors of any real dtype and layout: read as float64 a piece at a
//! time, so that no draw needs more room than its result, and checked.

use std::ops::Range;

use allotrope_dtype::{DType, Error, Level, Problem};
use allotrope_op::Layout;

use super::{Stream, TILE, WORDS, encode};
use crate::gather::Gather;
use crate::memory::try_resize;
use crate::parallel;

/// Elements that are drawn at once where each has numbers of its own.
const PIECE: usize = 1 << 19;

/// What is done with a piece of numbers, the first of which has this index.
type ReadPiece<'a> = dyn FnMut(usize, &[f64]) -> Result<(), Error> + 'a;
/// Fills a piece of a result, the elements of this range, from a place in a generator's sequence.
type FillPiece<'a> = dyn FnMut(Stream, Range<usize>, &mut [u8]) -> Result<(), Error> + 'a;

/// The values of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// The same for every element.
    All(f64),
    /// One for each element.
    Each(&'a [f64]),
}

/// Elements of a tensor that draws read as float64.
pub struct Given<'a> {
    level: Level,
    dtype: DType,
    count: usize,
    elements: Gather<'a>,
    in_place: Option<&'a [f64]>,
}

impl<'a> Given<'a> {
    /// The elements of a layout in `bytes`, in row-major order.
    #[must_use]
    pub fn new(level: Level, dtype: DType, bytes: &'a [u8], layout: &Layout) -> Self {
        let count = layout.shape().count();
        let in_place = (dtype == DType::F64 && layout.is_contiguous() && count > 0).then(|| {
            let numbers: &[f64] = bytemuck::cast_slice(bytes);
            &numbers[layout.offset()..layout.offset() + count]
        });
        Self {
            level,
            dtype,
            count,
            elements: Gather::new(dtype, bytes, layout),
            in_place,
        }
    }

    /// Writes the elements from number `start` on, on all threads.
    pub fn read(&self, start: usize, out: &mut [f64]) {
        parallel::for_each_chunk(out, |first, chunk| self.read_here(start + first, chunk));
    }

    /// [`read`](Self::read) on this thread.
    pub(super) fn read_here(&self, start: usize, out: &mut [f64]) {
        let mut room = [0_u64; TILE];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
        for (i, out) in out.chunks_mut(TILE).enumerate() {
            let room = &mut room[..out.len() * self.dtype.itemsize()];
            self.elements.read(start + i * TILE, room);
            let out = bytemuck::cast_slice_mut(out);
            encode(self.level, self.dtype, room, DType::F64, out);
        }
    }

    /// Some of the numbers: where they are, or in scratch that is made as large as it has to be.
    pub(crate) fn piece<'b>(
        &'b self,
        op: &'static str,
        range: Range<usize>,
        scratch: &'b mut Vec<f64>,
    ) -> Result<&'b [f64], Error> {
        if let Some(numbers) = self.in_place {
            return Ok(&numbers[range]);
        }
        scratch.clear();
        try_resize(op, scratch, range.len(), 0.0)?;
        self.read(range.start, scratch);
        Ok(scratch)
    }

    /// Calls `work` with the numbers in order, some at a time, and the index of the first of them.
    pub(crate) fn for_each_piece(
        &self,
        op: &'static str,
        work: &mut ReadPiece<'_>,
    ) -> Result<(), Error> {
        let (mut scratch, count) = (Vec::new(), self.count);
        (0..count).step_by(PIECE).try_for_each(|start| {
            let range = start..count.min(start + PIECE);
            work(start, self.piece(op, range, &mut scratch)?)
        })
    }

    /// Refuses the first number that a condition does not hold for, as a parameter of a name.
    pub(crate) fn check(
        &self,
        op: &'static str,
        (what, accepted): (&'static str, &'static str),
        holds: impl Fn(f64) -> bool,
    ) -> Result<(), Error> {
        self.for_each_piece(op, &mut |start, numbers| {
            let Some(index) = numbers.iter().position(|number| !holds(*number)) else {
                return Ok(());
            };
            let problem = Problem::OutOfRange {
                what,
                index: Some(start + index),
                value: format!("{:?}", numbers[index]),
                accepted,
            };
            Err(Error::new(op, problem))
        })
    }
}

/// Where the values of a parameter come from.
pub(crate) enum Source<'a> {
    /// The same for every element.
    All(f64),
    /// One for each element.
    Each(Given<'a>),
}

impl Source<'_> {
    /// The values of some elements.
    pub(crate) fn numbers<'b>(
        &'b self,
        op: &'static str,
        range: Range<usize>,
        scratch: &'b mut Vec<f64>,
    ) -> Result<Numbers<'b>, Error> {
        Ok(match self {
            Self::All(number) => Numbers::All(*number),
            Self::Each(given) => Numbers::Each(given.piece(op, range, scratch)?),
        })
    }
}

/// Refuses a lower bound above its upper one.
pub(crate) fn check_bounds(
    op: &'static str,
    low: &Source<'_>,
    high: &Source<'_>,
) -> Result<(), Error> {
    let refuse = |low: f64, high: f64| {
        let (low, high) = (format!("{low:?}"), format!("{high:?}"));
        Err(Error::new(op, Problem::EmptyInterval { low, high }))
    };
    let mut scratch = Vec::new();
    match (low, high) {
        (Source::All(low), Source::All(high)) if low > high => refuse(*low, *high),
        (Source::All(_), Source::All(_)) => Ok(()),
        (Source::All(low), Source::Each(high)) => high.for_each_piece(op, &mut |_, high| {
            let found = high.iter().find(|high| low > *high);
            found.map_or(Ok(()), |high| refuse(*low, *high))
        }),
        (Source::Each(low), high) => low.for_each_piece(op, &mut |start, low| {
            let high = high.numbers(op, start..start + low.len(), &mut scratch)?;
            let high_at = |i: usize| match high {
                Numbers::All(high) => high,
                Numbers::Each(high) => high[i],
            };
            let found = (0..low.len()).find(|i| low[*i] > high_at(*i));
            found.map_or(Ok(()), |i| refuse(low[i], high_at(i)))
        }),
    }
}

/// Fills a target of a dtype by pieces: some lines of `length` elements at a time, which begin at a
/// block of the generator.
pub(crate) fn draw_pieces(
    dtype: DType,
    stream: Stream,
    length: usize,
    target: &mut [u8],
    fill: &mut FillPiece<'_>,
) -> Result<(), Error> {
    let lines = WORDS * length.max(1);
    let (piece, size) = ((PIECE / lines).max(1) * lines, dtype.itemsize());
    let mut pieces = target.chunks_mut(piece * size).enumerate();
    pieces.try_for_each(|(i, target)| {
        let start = i * piece;
        let range = start..start + target.len() / size;
        fill(stream.after(start), range, target)
    })
}
