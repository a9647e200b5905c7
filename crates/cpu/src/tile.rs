//! Runs a program tile by tile: decode, rows, encode, while everything stays in the first-level
//! cache.
//!
//! Operands that are contiguous and in the dtype that a row reads are read in place, and the last
//! step writes in place: a program of one row over contiguous memory is one plain loop.

use std::cell::RefCell;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::{Layout, MAX_ARITY, Op, Program, Shape, Slot, Step};
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::gather::Gather;
use crate::kernel::elementwise::{self, Kernel};
use crate::kernel::{fill, fused};
use crate::parallel::CHUNK;
use crate::{Buffer, simd};

/// The most elements of a tile.
const LONGEST_TILE: usize = 2048;
/// The fewest: below, calls cost more than the elements.
const SHORTEST_TILE: usize = 256;
/// Bytes that the values of a tile may take together.
const TILE_BYTES: usize = 32 << 10;
/// Outputs of at least this many bytes are written past the caches, which they would only flush.
const STREAM_FROM: usize = 8 << 20;

/// A tensor that a program reads: bytes, and the layout in them after broadcasting.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The bytes that the layout points into.
    pub bytes: &'a [u8],
    /// Where the elements are; its shape is that of the outputs.
    pub layout: &'a Layout,
}

/// Runs a program for every element of a shape. Outputs are row-major and hold exactly its elements.
///
/// # Errors
/// A memory error.
pub fn run(
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    outputs: &mut [&mut [u8]],
) -> Result<(), Error> {
    run_at(Level::current(), program, shape, inputs, outputs)
}

/// [`run`] with the kernels of a given level, or of the highest available below it.
///
/// # Errors
/// As [`run`].
pub fn run_at(
    level: Level,
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    outputs: &mut [&mut [u8]],
) -> Result<(), Error> {
    debug_assert!(program.is_valid(), "{program}");
    let count = shape.count();
    if count == 0 {
        return Ok(());
    }
    let written: usize = outputs.iter().map(|out| out.len()).sum();
    let plan = Plan::new(level, program, inputs, written >= STREAM_FROM)?;
    if count <= CHUNK {
        return plan.run_chunk(0, count, outputs);
    }
    // One list of slices per chunk, so that several outputs are cut alike.
    let mut chunks: Vec<Outputs<'_>> = (0..count.div_ceil(CHUNK)).map(|_| Outputs::new()).collect();
    for (out, dtype) in outputs.iter_mut().zip(program.output_dtypes()) {
        let pieces = out.chunks_mut(CHUNK * dtype.itemsize());
        for (chunk, piece) in chunks.iter_mut().zip(pieces) {
            chunk.push(piece);
        }
    }
    chunks
        .par_iter_mut()
        .enumerate()
        .try_for_each(|(index, outputs)| {
            let first = index * CHUNK;
            plan.run_chunk(first, CHUNK.min(count - first), outputs)
        })
}

/// One row over contiguous operands of a compute dtype that it has a formula for; all have as many
/// elements as the result. Without a formula nothing is written.
pub fn run_row(op: Op, dtype: DType, operands: &[&[u8]], out: &mut [u8]) {
    if let Some(kernel) = elementwise::find(op, dtype) {
        kernel(Level::current(), operands, out);
    }
}

/// The one output of a program, to be read a piece at a time.
pub(crate) struct Source<'a>(Plan<'a>);

impl<'a> Source<'a> {
    /// What a program makes of its inputs.
    pub(crate) fn new(
        level: Level,
        program: &'a Program,
        inputs: &[Input<'a>],
    ) -> Result<Self, Error> {
        debug_assert!(program.is_valid(), "{program}");
        Plan::new(level, program, inputs, false).map(Self)
    }

    /// Elements that can be read where they are.
    pub(crate) fn in_place(&self, first: usize, count: usize) -> Option<&[u8]> {
        match (self.0.program.outputs(), self.0.readers.first()) {
            ([0], Some(Reader::Direct(bytes))) => {
                let size = self.0.program.dtype(0).itemsize();
                Some(&bytes[first * size..(first + count) * size])
            }
            _ => None,
        }
    }

    /// Writes elements from `first` on.
    pub(crate) fn read(&self, first: usize, count: usize, out: &mut [u8]) -> Result<(), Error> {
        self.0.run_chunk(first, count, &mut [out])
    }
}

/// The same piece of every output.
type Outputs<'a> = SmallVec<[&'a mut [u8]; 2]>;

/// How an input reaches the steps.
enum Reader<'a> {
    /// In place: contiguous elements.
    Direct(&'a [u8]),
    /// One element everywhere.
    Same(&'a [u8]),
    /// Element by element into the tile.
    Gathered(Box<Gather<'a>>),
}

/// How a value comes about, with everything looked up.
enum Action {
    Constant([u8; 16]),
    Convert(Conversion, Slot),
    Rest(Slot),
    Apply(Kernel, [Slot; MAX_ARITY], usize),
}

/// A program with its kernels and readers, ready to run any part of the outputs.
struct Plan<'a> {
    level: Level,
    program: &'a Program,
    readers: SmallVec<[Reader<'a>; 4]>,
    actions: SmallVec<[Action; 4]>,
    /// Where the tile of each value starts in the scratch memory.
    offsets: SmallVec<[usize; 8]>,
    scratch: usize,
    tile: usize,
    streams: bool,
    /// The whole program as one pass over its inputs, where there is one.
    fused: Option<(fused::Kernel, SmallVec<[Slot; 2]>)>,
    /// The output that the last step makes, if it may write there itself.
    last: Option<usize>,
}

impl<'a> Plan<'a> {
    fn new(
        level: Level,
        program: &'a Program,
        inputs: &[Input<'a>],
        streams: bool,
    ) -> Result<Self, Error> {
        let reader = |(input, dtype): (&Input<'a>, &DType)| {
            let (size, layout) = (dtype.itemsize(), input.layout);
            if layout.shape().count() == 0 {
                Reader::Direct(&[])
            } else if layout.is_contiguous() {
                let start = layout.offset() * size;
                Reader::Direct(&input.bytes[start..start + layout.shape().count() * size])
            } else if layout.strides().iter().all(|stride| *stride == 0) {
                let start = layout.offset() * size;
                Reader::Same(&input.bytes[start..start + size])
            } else {
                Reader::Gathered(Box::new(Gather::new(*dtype, input.bytes, layout)))
            }
        };
        let values = program.dtypes().len();
        let last_slot = (values - 1) as Slot;
        let places = program.outputs().iter().enumerate();
        let mut places = places.filter(|(_, slot)| **slot == last_slot);
        // A value that comes out twice is stored, to be copied.
        let last = match (places.next(), places.next()) {
            (Some((output, _)), None) => Some(output),
            _ => None,
        };
        let mut plan = Self {
            level: level.min(Level::detected()),
            program,
            readers: SmallVec::new(),
            actions: SmallVec::new(),
            offsets: SmallVec::new(),
            scratch: 0,
            tile: usize::MAX,
            streams,
            fused: None,
            last: None,
        };
        for input in inputs.iter().zip(program.input_dtypes()) {
            plan.readers.push(reader(input));
        }
        plan.fused = plan.find_fused();
        if plan.fused.is_some() {
            return Ok(plan);
        }
        // Measured: with one input the stores of a tile only wait for the reads of the next (tanh of
        // float32 takes 1.3 times as long), with two they save the read of what they overwrite.
        plan.streams &= inputs.len() > 1;
        plan.last = last.filter(|_| !plan.streams && !program.steps().is_empty());
        for step in program.steps() {
            plan.actions.push(match *step {
                Step::Constant(scalar) => Action::Constant(scalar.to_bytes()),
                Step::Convert { from, to } => {
                    Action::Convert(Conversion::new(program.dtype(from), to)?, from)
                }
                Step::ConversionRest { from } => Action::Rest(from),
                Step::Apply { op, args } => {
                    let dtype = program.dtype(args[usize::from(op == Op::Where)]);
                    match elementwise::find(op, dtype) {
                        Some(kernel) => Action::Apply(kernel, args, op.arity()),
                        None => {
                            let set = op.row().accepted();
                            return Err(Error::not_in_set(op.name(), dtype, set, None));
                        }
                    }
                }
            });
        }
        plan.choose_tile();
        Ok(plan)
    }

    /// The kernel for conversions of contiguous inputs, a row, and the conversion of its result.
    fn find_fused(&self) -> Option<(fused::Kernel, SmallVec<[Slot; 2]>)> {
        let inputs = self.readers.len();
        let step = |slot: Slot| {
            self.program
                .steps()
                .get(usize::from(slot).checked_sub(inputs)?)
        };
        let before = |slot: Slot| match step(slot) {
            Some(Step::Convert { from, .. }) => *from,
            _ => slot,
        };
        let &[out] = self.program.outputs() else {
            return None;
        };
        let result = before(out);
        let Some(Step::Apply { op, args }) = step(result) else {
            return None;
        };
        let operands: SmallVec<[Slot; 2]> =
            args[..op.arity()].iter().map(|arg| before(*arg)).collect();
        let is_direct = |slot: &Slot| {
            matches!(
                self.readers.get(usize::from(*slot)),
                Some(Reader::Direct(_))
            )
        };
        if !operands.iter().all(is_direct) {
            return None;
        }
        let dtype = |slot| self.program.dtype(slot);
        let compute = dtype(args[0]);
        let dtypes: SmallVec<[DType; 2]> = operands.iter().map(|slot| dtype(*slot)).collect();
        let kernel = fused::find(self.level, *op, &dtypes, compute, dtype(out))?;
        // A row of truths is stored as it is; all others give what they compute in.
        (dtype(result) == compute).then_some((kernel, operands))
    }

    /// Whether a value has a tile in the scratch memory.
    fn is_stored(&self, slot: usize) -> bool {
        match slot.checked_sub(self.readers.len()) {
            None => !matches!(self.readers[slot], Reader::Direct(_)),
            Some(step) => step + 1 < self.actions.len() || self.last.is_none(),
        }
    }

    /// As many elements as the values of a tile have room for; all of them if nothing is stored.
    fn choose_tile(&mut self) {
        let dtypes = self.program.dtypes();
        let width = |slot: usize| {
            if self.is_stored(slot) {
                dtypes[slot].itemsize()
            } else {
                0
            }
        };
        let widths: SmallVec<[usize; 8]> = (0..dtypes.len()).map(width).collect();
        let total: usize = widths.iter().sum();
        if total == 0 {
            self.offsets = widths;
            return;
        }
        let tile = (TILE_BYTES / total).next_power_of_two() / 2;
        self.tile = tile.clamp(SHORTEST_TILE, LONGEST_TILE);
        let mut next = 0;
        for width in widths {
            self.offsets.push(next);
            // Tiles start at cache lines, since their length is a multiple of one.
            next += width * self.tile;
        }
        self.scratch = next;
    }

    /// Computes the elements from `first` on.
    fn run_chunk(
        &self,
        first: usize,
        count: usize,
        outputs: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        if let Some((kernel, operands)) = &self.fused {
            let value = |slot: &Slot| self.value(*slot, first, count, &[]);
            let operands: SmallVec<[&[u8]; 2]> = operands.iter().map(value).collect();
            kernel(self.level, &operands, outputs[0], self.streams);
            if self.streams {
                simd::finish_streams();
            }
            return Ok(());
        }
        thread_local! {
            static SCRATCH: RefCell<(Option<Buffer>, Scratch)> = RefCell::default();
        }
        SCRATCH.with_borrow_mut(|(buffer, conversion)| {
            let kept = buffer.as_ref().map_or(0, |buffer| buffer.len());
            if kept < self.scratch {
                *buffer = Some(Buffer::for_overwrite("eval", self.scratch)?);
            }
            let scratch = buffer.as_deref_mut().unwrap_or_default();
            self.fill_constants(count.min(self.tile), scratch);
            let mut done = 0;
            while done < count {
                let len = self.tile.min(count - done);
                self.run_tile(first, done, len, outputs, scratch, conversion);
                done += len;
            }
            if self.streams {
                simd::finish_streams();
            }
            Ok(())
        })
    }

    /// Writes the values that every tile shares.
    fn fill_constants(&self, len: usize, scratch: &mut [u8]) {
        for (slot, dtype) in self.program.dtypes().iter().enumerate() {
            let element: &[u8] = match slot.checked_sub(self.readers.len()) {
                None => match &self.readers[slot] {
                    Reader::Same(element) => element,
                    _ => continue,
                },
                Some(step) => match &self.actions[step] {
                    Action::Constant(bytes) if self.is_stored(slot) => bytes,
                    _ => continue,
                },
            };
            let start = self.offsets[slot];
            fill(
                *dtype,
                element,
                &mut scratch[start..start + len * dtype.itemsize()],
            );
        }
    }

    fn run_tile(
        &self,
        first: usize,
        done: usize,
        len: usize,
        outputs: &mut [&mut [u8]],
        scratch: &mut [u8],
        conversion: &mut Scratch,
    ) {
        let start = first + done;
        for (slot, reader) in self.readers.iter().enumerate() {
            if let Reader::Gathered(gather) = reader {
                let offset = self.offsets[slot];
                let size = self.program.dtypes()[slot].itemsize();
                gather.read(start, &mut scratch[offset..offset + len * size]);
            }
        }
        for (step, action) in self.actions.iter().enumerate() {
            let slot = self.readers.len() + step;
            let size = self.program.dtypes()[slot].itemsize();
            // Operands come before the result, so that both can be borrowed.
            let (before, after) = match self.last {
                Some(output) if step + 1 == self.actions.len() => {
                    let place = done * size..(done + len) * size;
                    (&*scratch, &mut outputs[output][place])
                }
                _ => {
                    let (before, after) = scratch.split_at_mut(self.offsets[slot]);
                    (&*before, &mut after[..len * size])
                }
            };
            let value = |slot: Slot| self.value(slot, start, len, before);
            match action {
                Action::Constant(bytes) if !self.is_stored(slot) => {
                    fill(self.program.dtypes()[slot], bytes, after);
                }
                Action::Constant(_) => {}
                Action::Convert(cast, from) => {
                    cast.run(self.level, value(*from), after, conversion)
                }
                Action::Rest(from) => {
                    elementwise::conversion_rest(self.program.dtype(*from), value(*from), after);
                }
                Action::Apply(kernel, args, arity) => {
                    let mut operands: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                    for (operand, slot) in operands.iter_mut().zip(&args[..*arity]) {
                        *operand = value(*slot);
                    }
                    kernel(self.level, &operands[..*arity], after);
                }
            }
        }
        for (output, slot) in self.program.outputs().iter().enumerate() {
            if self.last == Some(output) {
                continue;
            }
            let size = self.program.dtype(*slot).itemsize();
            let target = &mut outputs[output][done * size..(done + len) * size];
            let value = self.value(*slot, start, len, scratch);
            if self.streams {
                simd::stream(self.level, value, target);
            } else {
                target.copy_from_slice(value);
            }
        }
    }

    /// The tile of a value: in place, or in the scratch memory.
    fn value<'s>(&'s self, slot: Slot, start: usize, len: usize, scratch: &'s [u8]) -> &'s [u8] {
        let slot = usize::from(slot);
        let size = self.program.dtypes()[slot].itemsize();
        match self.readers.get(slot) {
            Some(Reader::Direct(bytes)) => &bytes[start * size..(start + len) * size],
            _ => &scratch[self.offsets[slot]..][..len * size],
        }
    }
}
