//! Numbers that random draws are given as tensors: read as float64 a piece at a time, so that no
//! draw needs more room than its result.

use crate::host::memory::try_resize;
use std::ops::Range;

use crate::host::{Buffer, CPU};
use allotrope_cpu::kernel::random::{Given, Stream};
use allotrope_dtype::{DType, Error, Level, Set};
use allotrope_op::Shape;

use crate::create::room;
use crate::{Generator, Tensor};

/// Elements that are drawn at once where each has numbers of its own.
const PIECE: usize = 1 << 19;
/// Elements that one block of the generator serves.
const WORDS: usize = 4;

/// What is done with a piece of numbers, the first of which has this index.
type ReadPiece<'a> = dyn FnMut(usize, &[f64]) -> Result<(), Error> + 'a;
/// Fills a piece of a result, the elements of this range, from a place in a generator's sequence.
type FillPiece<'a> = dyn FnMut(Stream, Range<usize>, &mut [u8]) -> Result<(), Error> + 'a;

/// Real elements as float64 in a shape that they broadcast to.
pub(crate) struct Reals {
    op: &'static str,
    tensor: Tensor,
}

impl Reals {
    pub(crate) fn new(op: &'static str, tensor: &Tensor, shape: &Shape) -> Result<Self, Error> {
        if !Set::Real.contains(tensor.dtype()) {
            return Err(Error::not_in_set(op, tensor.dtype(), Set::Real, None));
        }
        let tensor = tensor.detach().to_backend(&CPU);
        let tensor = tensor.and_then(|tensor| tensor.expand(shape));
        let tensor = tensor.map_err(|error| error.in_op(op))?;
        Ok(Self { op, tensor })
    }

    /// What kernels read.
    pub(crate) fn given(&self) -> Result<Given<'_>, Error> {
        let (dtype, bytes) = (self.tensor.dtype(), self.tensor.storage(self.op)?);
        let (level, layout) = (Level::current(), self.tensor.layout());
        Ok(Given::new(level, dtype, bytes, layout))
    }

    /// Some of the numbers: where they are, or in a room that is made as large as it has to be.
    pub(crate) fn read<'a>(
        &'a self,
        range: Range<usize>,
        room: &'a mut Vec<f64>,
    ) -> Result<&'a [f64], Error> {
        if let (DType::F64, Some(bytes)) = (self.tensor.dtype(), self.tensor.contiguous_bytes()) {
            return Ok(&bytemuck::cast_slice(bytes)[range]);
        }
        room.clear();
        try_resize(self.op, room, range.len(), 0.0)?;
        self.given()?.read(range.start, room);
        Ok(room)
    }

    /// Calls `work` with the numbers in order, some at a time, and the index of the first of them.
    pub(crate) fn for_each_piece(&self, work: &mut ReadPiece<'_>) -> Result<(), Error> {
        let (mut room, count) = (Vec::new(), self.tensor.count());
        (0..count).step_by(PIECE).try_for_each(|start| {
            work(
                start,
                self.read(start..count.min(start + PIECE), &mut room)?,
            )
        })
    }

    /// Refuses the first number that a condition does not hold for, by what is said of it.
    pub(crate) fn check(
        &self,
        holds: impl Fn(f64) -> bool,
        refuse: impl Fn(usize, f64) -> Error,
    ) -> Result<(), Error> {
        self.for_each_piece(&mut |start, numbers| match numbers
            .iter()
            .position(|number| !holds(*number))
        {
            Some(index) => Err(refuse(start + index, numbers[index])),
            None => Ok(()),
        })
    }
}

/// Memory for numbers that are yet to be drawn. It is asked for before parameters are read, so that
/// no work is done for a result that no memory holds.
pub(crate) struct Room {
    buffer: Buffer,
    shape: Shape,
    dtype: DType,
}

impl Room {
    pub(crate) fn new(op: &'static str, sizes: &[usize], dtype: DType) -> Result<Self, Error> {
        let (shape, bytes) = room(op, sizes, dtype)?;
        let buffer = Buffer::for_overwrite(op, bytes)?;
        Ok(Self {
            buffer,
            shape,
            dtype,
        })
    }

    /// A tensor that a kernel of the CPU fills from a place in a generator's sequence.
    pub(crate) fn draw(
        mut self,
        generator: Option<&Generator>,
        fill: impl FnOnce(Stream, &mut [u8]) -> Result<(), Error>,
    ) -> Result<Tensor, Error> {
        let generator = generator.unwrap_or_else(|| Generator::of_process());
        fill(generator.take(self.shape.count()), &mut self.buffer)?;
        Ok(Tensor::from_buffer(self.buffer, self.shape, self.dtype))
    }

    /// [`Room::draw`] of some lines of `length` elements at a time, which begin at a block of the
    /// generator.
    pub(crate) fn draw_pieces(
        self,
        generator: Option<&Generator>,
        length: usize,
        fill: &mut FillPiece<'_>,
    ) -> Result<Tensor, Error> {
        let lines = WORDS * length.max(1);
        let (piece, size) = ((PIECE / lines).max(1) * lines, self.dtype.itemsize());
        self.draw(generator, |stream, target| {
            fill_pieces(stream, target, piece, size, fill)
        })
    }
}

/// Fills a target of items of a size by pieces of so many.
fn fill_pieces(
    stream: Stream,
    target: &mut [u8],
    piece: usize,
    size: usize,
    fill: &mut FillPiece<'_>,
) -> Result<(), Error> {
    let mut pieces = target.chunks_mut(piece * size).enumerate();
    pieces.try_for_each(|(i, target)| {
        let start = i * piece;
        let offset = stream.offset.wrapping_add((start / WORDS) as u64);
        let range = start..start + target.len() / size;
        fill(Stream { offset, ..stream }, range, target)
    })
}
