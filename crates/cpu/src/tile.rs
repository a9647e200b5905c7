//! Runs a program tile by tile: decode, rows, encode, while everything stays in the first-level
//! cache.
//!
//! Operands that are contiguous and in the dtype that a row reads are read in place, and the last
//! step writes in place: a program of one row over contiguous memory is one plain loop.
//!
//! Threads take chunks of 32 K elements. Results are written past the caches where reads and writes
//! are 40 MiB and more: what fits in the last cache is better left there. Programs of many passes
//! ask for the next tile a few lines at a time; short ones leave that to the CPU's prefetchers.

use crate::memory::try_collect;
use std::cell::RefCell;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::{Layout, MAX_ARITY, Op, Program, Shape, Slot, Step};
use smallvec::SmallVec;

use crate::kernel::{elementwise, fill, ties};
use crate::parallel::{self, CHUNK};
use crate::plan::{Action, LINE, Plan, Reader};
use crate::{Buffer, simd};

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
    // Of what is broadcast only the bytes that there are.
    let sizes = program.input_dtypes().iter().map(|d| count * d.itemsize());
    let read = inputs
        .iter()
        .zip(sizes)
        .map(|(x, size)| size.min(x.bytes.len()));
    let read: usize = read.sum();
    let streams = simd::streams(written, read);
    let plan = Plan::new(level, program, inputs, streams)?;
    run_chunks(&plan, count, outputs, &|_| ())
}

/// Runs a plan, chunk by chunk, and tells where those begin in which its tests find something.
pub(crate) fn run_chunks(
    plan: &Plan<'_>,
    count: usize,
    outputs: &mut [&mut [u8]],
    found: &(dyn Fn(usize) + Sync),
) -> Result<(), Error> {
    if count <= CHUNK {
        if plan.run_chunk(0, count, outputs)? {
            found(0);
        }
        return Ok(());
    }
    // One list of slices per chunk, so that several outputs are cut alike.
    let lists = (0..count.div_ceil(CHUNK)).map(|_| Outputs::new());
    let mut chunks: Vec<Outputs<'_>> = try_collect("run", lists)?;
    for (out, dtype) in outputs.iter_mut().zip(plan.program.output_dtypes()) {
        let pieces = out.chunks_mut(CHUNK * dtype.itemsize());
        for (chunk, piece) in chunks.iter_mut().zip(pieces) {
            chunk.push(piece);
        }
    }
    parallel::try_for_each_part(&mut chunks, 1, |index, chunks| {
        let first = index * CHUNK;
        let count = CHUNK.min(count - first);
        let mut chunks = chunks.iter_mut();
        chunks.try_for_each(|outputs| {
            if plan.run_chunk(first, count, outputs)? {
                found(first);
            }
            Ok(())
        })
    })
}

/// One row over contiguous operands of a compute dtype that it has a formula for; all have as many
/// elements as the result. Without a formula nothing is written.
pub fn run_row(op: Op, dtype: DType, operands: &[&[u8]], out: &mut [u8]) {
    if let Some(kernel) = elementwise::find(op, dtype) {
        kernel(Level::current(), operands, out);
    }
}

/// Converts elements on this thread, by memory that it keeps: new memory would be cleared, which takes
/// longer than few elements do.
pub(crate) fn convert_few(conversion: &Conversion, elements: &[u8], out: &mut [u8]) {
    let level = Level::current().min(Level::detected());
    SCRATCH.with_borrow_mut(|(_, scratch)| conversion.run(level, elements, out, scratch));
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

    /// Elements that are converted from another dtype and nothing else, as they are before that.
    pub(crate) fn converted(&self, first: usize, count: usize) -> Option<(DType, &[u8])> {
        let plan = &self.0;
        let &[Step::Convert { from: 0, .. }] = plan.program.steps() else {
            return None;
        };
        let (dtype, is_wanted) = (plan.program.dtype(0), plan.program.outputs() == [1]);
        match plan.readers.first() {
            Some(Reader::Direct(bytes)) if is_wanted => {
                let size = dtype.itemsize();
                Some((dtype, &bytes[first * size..(first + count) * size]))
            }
            _ => None,
        }
    }

    /// The same of float16 or bfloat16, at levels above Scalar.
    pub(crate) fn halves(&self, first: usize, count: usize) -> Option<(DType, &[u8])> {
        let converted = self.converted(first, count)?;
        is_half(self.0.level, converted.0).then_some(converted)
    }

    /// The bytes that elements from `first` on are made of, and how many each takes, as far as they are
    /// in one piece and in the order of memory.
    pub(crate) fn ahead(&self, first: usize, count: usize) -> (&[u8], usize) {
        match self.0.readers.first() {
            Some(Reader::Direct(bytes)) => {
                let size = self.0.program.dtype(0).itemsize();
                let end = bytes.len().min((first + count) * size);
                (&bytes[end.min(first * size)..end], size)
            }
            _ => (&[], 0),
        }
    }

    /// Writes elements from `first` on.
    pub(crate) fn read(&self, first: usize, count: usize, out: &mut [u8]) -> Result<(), Error> {
        let plan = &self.0;
        // Most programs here are one cast, and most pieces a row: to set out takes as long.
        if let ([Reader::Direct(bytes)], [Action::Convert(cast, 0)], Some(0)) =
            (&plan.readers[..], &plan.actions[..], plan.last)
        {
            let size = plan.program.dtype(0).itemsize();
            let bytes = &bytes[first * size..(first + count) * size];
            SCRATCH.with_borrow_mut(|(_, scratch)| cast.run(plan.level, bytes, out, scratch));
            return Ok(());
        }
        plan.run_chunk(first, count, &mut [out]).map(drop)
    }
}

/// Elements that are made before they are tested.
const TESTED: usize = 4 << 10;

/// Whether loops over a dtype decode halves by themselves at a level.
pub(crate) fn is_half(level: Level, dtype: DType) -> bool {
    // Loops over float16 are written in instructions of this CPU alone.
    let has_f16 = cfg!(target_arch = "x86_64");
    let is_half = dtype == DType::BF16 || (dtype == DType::F16 && has_f16);
    is_half && level > Level::Scalar
}

thread_local! {
    static SCRATCH: RefCell<(Option<Buffer>, Scratch)> = RefCell::default();
}

/// The same piece of every output.
pub(crate) type Outputs<'a> = SmallVec<[&'a mut [u8]; 2]>;

impl Plan<'_> {
    /// Computes the elements from `first` on, and says whether the tests find something in them.
    pub(crate) fn run_chunk(
        &self,
        first: usize,
        count: usize,
        outputs: &mut [&mut [u8]],
    ) -> Result<bool, Error> {
        if let Some((kernel, operands)) = &self.fused {
            // What is tested is tested in the cache.
            let piece = if self.tests.is_empty() { count } else { TESTED };
            let size = self.program.dtype(self.program.outputs()[0]).itemsize();
            let mut is_suspicious = false;
            for done in (0..count).step_by(piece.max(1)) {
                let (start, len) = (first + done, piece.min(count - done));
                let value = |slot: &Slot| self.value(*slot, start, len, Values::all(&[]));
                let operands: SmallVec<[&[u8]; 2]> = operands.iter().map(value).collect();
                let out = &mut outputs[0][done * size..(done + len) * size];
                kernel(self.level, &operands, out, self.streams);
                for (step, _) in &self.tests {
                    is_suspicious |= self.is_suspicious(*step, |slot| {
                        match usize::from(slot) < self.readers.len() {
                            true => value(&slot),
                            false => out,
                        }
                    });
                }
            }
            if self.streams {
                simd::finish_streams();
            }
            return Ok(is_suspicious);
        }
        SCRATCH.with_borrow_mut(|(buffer, conversion)| {
            let kept = buffer.as_ref().map_or(0, |buffer| buffer.len());
            if kept < self.scratch {
                *buffer = Some(Buffer::for_overwrite("eval", self.scratch)?);
            }
            let scratch = buffer.as_deref_mut().unwrap_or_default();
            self.fill_constants(count.min(self.tile), scratch);
            let (mut done, mut is_suspicious) = (0, false);
            while done < count {
                let len = self.tile.min(count - done);
                is_suspicious |= self.run_tile(first, done, len, outputs, scratch, conversion);
                done += len;
            }
            if self.streams {
                simd::finish_streams();
            }
            Ok(is_suspicious)
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
    ) -> bool {
        let start = first + done;
        let mut is_suspicious = false;
        for (slot, reader) in self.readers.iter().enumerate() {
            if matches!(reader, Reader::Direct(_) | Reader::Same(_)) {
                continue;
            }
            let offset = self.offsets[slot];
            let size = self.program.dtypes()[slot].itemsize();
            let tile = &mut scratch[offset..offset + len * size];
            match reader {
                Reader::Gathered(gather) => gather.read(start, tile),
                Reader::Target(number) => {
                    tile.copy_from_slice(&outputs[*number][done * size..(done + len) * size]);
                }
                Reader::Direct(_) | Reader::Same(_) => {}
            }
        }
        let mut ahead = Ahead {
            plan: self,
            start: start + len,
            len,
            reader: 0,
            done: 0,
        };
        for (step, action) in self.actions.iter().enumerate() {
            if matches!(action, Action::Absorbed) {
                continue;
            }
            if !matches!(action, Action::Constant(_)) {
                ahead.advance(self.lines_ahead);
            }
            let slot = self.readers.len() + step;
            let size = self.program.dtypes()[slot].itemsize();
            // Operands lie before the result or behind it, so that both can be borrowed.
            let (values, out) = match self.last {
                Some(output) if step + 1 == self.actions.len() => {
                    let place = done * size..(done + len) * size;
                    (Values::all(scratch), &mut outputs[output][place])
                }
                _ => Values::around(scratch, self.offsets[slot], len * size),
            };
            let value = |slot: Slot| self.value(slot, start, len, values);
            match action {
                Action::Constant(bytes) if !self.is_stored(slot) => {
                    fill(self.program.dtypes()[slot], bytes, out);
                }
                Action::Constant(_) => {}
                Action::Convert(cast, from) => cast.run(self.level, value(*from), out, conversion),
                Action::Rest(from) => {
                    elementwise::conversion_rest(self.program.dtype(*from), value(*from), out);
                }
                Action::Apply(kernel, args, arity) => {
                    let mut operands: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                    for (operand, slot) in operands.iter_mut().zip(&args[..*arity]) {
                        *operand = value(*slot);
                    }
                    kernel(self.level, &operands[..*arity], out);
                }
                Action::Absorbing(kernel, operands) => {
                    kernel(self.level, &operands.map(value), out, false);
                }
                Action::Nearest(cast, row, slots, count, has_constants) => {
                    let to = self.program.dtypes()[slot];
                    let results = value(slots[0]);
                    cast.run(self.level, results, out, conversion);
                    let mut operands: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                    for (operand, slot) in operands.iter_mut().zip(&slots[1..*count]) {
                        *operand = value(*slot);
                    }
                    let operands = (&operands[..*count - 1], *has_constants);
                    ties::correct(self.level, *row, results, operands, (to, out));
                }
                Action::Absorbed => {}
            }
            if !self.tests.is_empty() {
                let (last, made) = (self.last, done * size..(done + len) * size);
                is_suspicious |= self.is_suspicious(step, |asked| match last {
                    Some(output)
                        if usize::from(asked) == slot && step + 1 == self.actions.len() =>
                    {
                        &outputs[output][made.clone()]
                    }
                    _ => self.value(asked, start, len, Values::all(scratch)),
                });
            }
        }
        for (output, slot) in self.program.outputs().iter().enumerate() {
            if self.last == Some(output) {
                continue;
            }
            let size = self.program.dtype(*slot).itemsize();
            let target = &mut outputs[output][done * size..(done + len) * size];
            let value = self.value(*slot, start, len, Values::all(scratch));
            if self.streams {
                simd::stream(self.level, value, target);
            } else {
                target.copy_from_slice(value);
            }
        }
        is_suspicious
    }

    /// The tile of a value: in place, or in the scratch memory.
    fn value<'s>(&'s self, slot: Slot, start: usize, len: usize, values: Values<'s>) -> &'s [u8] {
        let slot = usize::from(slot);
        let size = self.program.dtypes()[slot].itemsize();
        match self.readers.get(slot) {
            Some(Reader::Direct(bytes)) => &bytes[start * size..(start + len) * size],
            _ => values.get(self.offsets[slot], len * size),
        }
    }
}

/// What the next tile will read, asked for little by little.
struct Ahead<'p, 'a> {
    plan: &'p Plan<'a>,
    start: usize,
    len: usize,
    reader: usize,
    /// The bytes of the reader's tile that have been asked for.
    done: usize,
}

impl Ahead<'_, '_> {
    /// Asks for some more cache lines.
    fn advance(&mut self, mut lines: usize) {
        while lines > 0 {
            let Some(reader) = self.plan.readers.get(self.reader) else {
                return;
            };
            let size = self.plan.program.dtypes()[self.reader].itemsize();
            let left = match reader {
                Reader::Direct(_) => (self.len * size).div_ceil(LINE) - self.done,
                _ => 0,
            };
            let now = left.min(lines);
            if let Reader::Direct(bytes) = reader {
                simd::prefetch_bytes(bytes, self.start * size + self.done * LINE, now * LINE);
            }
            lines -= now;
            self.done += now;
            if now == left {
                (self.reader, self.done) = (self.reader + 1, 0);
            }
        }
    }
}

/// The scratch memory but for a part that is being written.
#[derive(Clone, Copy)]
struct Values<'s> {
    before: &'s [u8],
    after: &'s [u8],
    /// Where `after` starts.
    resumes: usize,
}

impl<'s> Values<'s> {
    fn all(scratch: &'s [u8]) -> Self {
        Self {
            before: scratch,
            after: &[],
            resumes: scratch.len(),
        }
    }

    /// What lies around a part, and the part.
    fn around(scratch: &'s mut [u8], place: usize, len: usize) -> (Self, &'s mut [u8]) {
        let (before, rest) = scratch.split_at_mut(place);
        let (out, after) = rest.split_at_mut(len);
        let resumes = place + len;
        let values = Self {
            before,
            after,
            resumes,
        };
        (values, out)
    }

    fn get(self, place: usize, len: usize) -> &'s [u8] {
        match place.checked_sub(self.resumes) {
            Some(place) => &self.after[place..place + len],
            None => &self.before[place..place + len],
        }
    }
}
