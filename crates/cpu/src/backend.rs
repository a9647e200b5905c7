//! The CPU as a [`Backend`]: looks for the bytes behind views and hands them to the kernels. No loop
//! over elements belongs here.

use allotrope_dtype::{Capabilities, Conversion, DType, Error, Level, Problem, Scalar};
use allotrope_op::task::{Input as TaskInput, Output, Results, Task};
use allotrope_op::{
    Backend, Band, Combine, DeviceId, Dims, Draw, Fold, Layout, MAX_ARITY, Op, Origin, Piece,
    Program, Put, Rewrite, Scan, Shape, Shared, Slot, Step, Stream, Target, View, Watched,
};
use smallvec::{SmallVec, smallvec};

use crate::kernel::indexing::{self, Mask, Places};
use crate::kernel::random::{self, Chances, Moments};
use crate::kernel::{self, whole_elements};
use crate::memory::try_with_capacity;
use crate::parallel::CHUNK;
use crate::tile::convert_few;
use crate::{Buffer, Feed, Input, RunInto, Storage, run, run_checked, run_row};

/// The CPU of this machine.
pub static CPU: Cpu = Cpu;

/// The CPU as a backend: memory is bytes, and all work is done when a method returns.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

/// The whole elements of a view's memory, aligned for the dtype.
pub(crate) fn bytes<'a>(op: &'static str, dtype: DType, view: View<'a>) -> Result<&'a [u8], Error> {
    view.memory
        .on_host(op)
        .map(|bytes| whole_elements(dtype, bytes))
}

/// The elements of a contiguous view.
pub(crate) fn in_order<'a>(
    op: &'static str,
    dtype: DType,
    view: View<'a>,
) -> Result<&'a [u8], Error> {
    let bytes = bytes(op, dtype, view)?;
    let (size, count) = (dtype.itemsize(), view.layout.shape().count());
    // Nothing may lie anywhere.
    let start = if count == 0 { 0 } else { view.layout.offset() };
    Ok(&bytes[start * size..(start + count) * size])
}

/// Indices and which of them each element has.
fn places<'a>(op: &'static str, indices: View<'a>) -> Result<Places<'a>, Error> {
    Ok(Places {
        indices: bytemuck::cast_slice(bytes(op, DType::I64, indices)?),
        layout: indices.layout,
    })
}

/// The inputs of a program.
fn inputs<'a>(
    op: &'static str,
    program: &Program,
    views: &[View<'a>],
) -> Result<SmallVec<[Input<'a>; 4]>, Error> {
    let mut inputs = SmallVec::new();
    for (dtype, view) in program.input_dtypes().iter().zip(views) {
        let (bytes, layout) = (bytes(op, *dtype, *view)?, view.layout);
        inputs.push(Input { bytes, layout });
    }
    Ok(inputs)
}

#[cold]
fn too_many(op: &'static str) -> Error {
    let bytes = usize::MAX;
    Error::new(op, Problem::OutOfMemory { bytes })
}

fn share(buffer: Buffer) -> Shared {
    Storage::Owned(buffer).share()
}

impl Backend for Cpu {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: "cpu",
            index: 0,
        }
    }

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn capabilities(&self) -> &Capabilities {
        static ANSWERS: Capabilities = Capabilities::CPU;
        &ANSWERS
    }

    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }

    fn perform(
        &self,
        op: &'static str,
        task: &Task<'_>,
        inputs: &[TaskInput<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        crate::task::perform(op, task, inputs, outputs)
    }

    fn allocate(&self, op: &'static str, dtype: DType, count: usize) -> Result<Shared, Error> {
        Buffer::for_elements(op, dtype, count).map(share)
    }

    fn upload(&self, op: &'static str, _: DType, bytes: &[u8]) -> Result<Shared, Error> {
        let mut buffer = Buffer::for_overwrite(op, bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(share(buffer))
    }

    fn download(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        to: &mut [u8],
    ) -> Result<(), Error> {
        kernel::copy(dtype, bytes(op, dtype, from)?, from.layout, to);
        Ok(())
    }

    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        views: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        let mut ordered: SmallVec<[Option<(Buffer, Layout)>; 2]> = SmallVec::new();
        let mut inputs = inputs(op, program, views)?;
        if shape.count() >= REORDER_FROM && inputs.iter().any(is_read_across) {
            for (input, dtype) in inputs.iter().zip(program.input_dtypes()) {
                ordered.push(in_rows(op, *dtype, *input)?);
            }
            for (input, ordered) in inputs.iter_mut().zip(&ordered) {
                if let Some((bytes, layout)) = ordered {
                    *input = Input { bytes, layout };
                }
            }
        }
        if let [output] = program.outputs() {
            let mut buffer = Buffer::for_elements(op, program.dtype(*output), shape.count())?;
            if !convert_in_order(program, shape, &inputs, &mut buffer)? {
                run(program, shape, &inputs, &mut [&mut buffer[..]])?;
            }
            return Ok(smallvec![share(buffer)]);
        }
        let mut buffers = Vec::new();
        for dtype in program.output_dtypes() {
            buffers.push(Buffer::for_elements(op, dtype, shape.count())?);
        }
        let mut outputs: Vec<&mut [u8]> = buffers.iter_mut().map(|b| &mut b[..]).collect();
        run(program, shape, &inputs, &mut outputs)?;
        Ok(buffers.into_iter().map(share).collect())
    }

    fn run_checked(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        views: &[View<'_>],
        saturates: bool,
    ) -> Result<Option<Watched>, Error> {
        let mut ordered: SmallVec<[Option<(Buffer, Layout)>; 2]> = SmallVec::new();
        let mut inputs = inputs(op, program, views)?;
        if shape.count() >= REORDER_FROM && inputs.iter().any(is_read_across) {
            for (input, dtype) in inputs.iter().zip(program.input_dtypes()) {
                ordered.push(in_rows(op, *dtype, *input)?);
            }
            for (input, ordered) in inputs.iter_mut().zip(&ordered) {
                if let Some((bytes, layout)) = ordered {
                    *input = Input { bytes, layout };
                }
            }
        }
        let mut buffers = Vec::new();
        for dtype in program.output_dtypes() {
            buffers.push(Buffer::for_elements(op, dtype, shape.count())?);
        }
        let mut outputs: Vec<&mut [u8]> = buffers.iter_mut().map(|b| &mut b[..]).collect();
        let lost = run_checked(program, shape, &inputs, &mut outputs, saturates)?;
        Ok(Some((buffers.into_iter().map(share).collect(), lost)))
    }

    fn run_into(
        &self,
        op: &'static str,
        program: &Program,
        rewrites: Vec<Rewrite<'_>>,
    ) -> Result<bool, Error> {
        let mut runs = try_with_capacity(op, rewrites.len())?;
        for rewrite in rewrites {
            let mut inputs = SmallVec::new();
            for (origin, dtype) in rewrite.inputs.iter().zip(program.input_dtypes()) {
                inputs.push(match origin {
                    Origin::View(view) => {
                        let (bytes, layout) = (bytes(op, *dtype, *view)?, view.layout);
                        Feed::Input(Input { bytes, layout })
                    }
                    Origin::Target(number) => Feed::Target(*number),
                });
            }
            let mut targets = SmallVec::new();
            for (target, dtype) in rewrite.targets.into_iter().zip(program.output_dtypes()) {
                targets.push(target.on_host(op, dtype)?);
            }
            let count = rewrite.shape.count();
            runs.push(RunInto {
                count,
                inputs,
                targets,
            });
        }
        crate::run_into(program, runs)?;
        Ok(true)
    }

    fn apply(
        &self,
        row: Op,
        dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error> {
        let op = row.name();
        let count = operands.first().map_or(0, |x| x.layout.shape().count());
        if let Some(first) = operands.first().filter(|_| count > CHUNK) {
            let mut program = Program::new(&[dtype; MAX_ARITY][..operands.len()]);
            let slots: SmallVec<[Slot; MAX_ARITY]> = (0..operands.len() as Slot).collect();
            let value = program.apply(row, &slots);
            program.output(value);
            let mut outputs = self.run(op, &program, first.layout.shape(), operands)?;
            return Ok(outputs.remove(0));
        }
        let size = dtype.itemsize();
        let mut slices: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
        for (slice, operand) in slices.iter_mut().zip(operands) {
            let start = operand.layout.offset() * size;
            *slice = &operand.memory.on_host(op)?[start..start + count * size];
        }
        let mut buffer = Buffer::for_elements(op, result, count)?;
        run_row(row, dtype, &slices[..operands.len()], &mut buffer);
        Ok(share(buffer))
    }

    fn apply_number(
        &self,
        row: Op,
        result: DType,
        operand: View<'_>,
        number: Scalar,
        is_first: bool,
    ) -> Result<Option<Shared>, Error> {
        /// Bytes of operands that are made on the stack.
        const FEW: usize = 512;
        let (op, size) = (row.name(), number.dtype().itemsize());
        let count = operand.layout.shape().count();
        if count * size > FEW {
            return Ok(None);
        }
        // The number as often as the widest element has room for it, as often as there are elements.
        let mut word = number.to_bytes();
        for start in (size..word.len()).step_by(size) {
            word.copy_within(..size, start);
        }
        let words = [u128::from_ne_bytes(word); FEW / size_of::<u128>()];
        let same = &bytemuck::cast_slice(&words)[..count * size];
        let start = operand.layout.offset() * size;
        let own = &operand.memory.on_host(op)?[start..start + count * size];
        let operands = if is_first { [same, own] } else { [own, same] };
        let mut buffer = Buffer::for_elements(op, result, count)?;
        run_row(row, number.dtype(), &operands, &mut buffer);
        Ok(Some(share(buffer)))
    }

    fn reduce(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        shape: &Shape,
        views: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        let inputs = inputs(op, program, views)?;
        let folded = kernel::reduce(fold, program, shape, &inputs, sizes);
        let folded = folded.map_err(|error| error.in_op(op))?;
        let item = program.output_dtypes().next().unwrap_or(DType::Bool);
        let from = match fold {
            Fold::Sum => self.wide(item),
            _ => item,
        };
        rounded(op, folded, from, to).map(share)
    }

    fn scan(
        &self,
        op: &'static str,
        scan: Scan,
        program: &Program,
        views: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        let inputs = inputs(op, program, views)?;
        let result = kernel::scan(scan, program, &inputs, sizes, to);
        result.map(share).map_err(|error| error.in_op(op))
    }

    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        element: &[u8],
        count: usize,
    ) -> Result<Shared, Error> {
        let bytes = dtype.bytes_for(count);
        let bytes = bytes.ok_or_else(|| too_many(op))?;
        // The system has zeros ready.
        if element[..dtype.itemsize()].iter().all(|byte| *byte == 0) {
            return Buffer::zeroed(op, bytes).map(share);
        }
        let mut buffer = Buffer::for_overwrite(op, bytes)?;
        kernel::fill(dtype, element, &mut buffer);
        Ok(share(buffer))
    }

    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error> {
        let source = bytes(op, dtype, from)?;
        let mut buffer = Buffer::for_elements(op, dtype, from.layout.shape().count())?;
        kernel::copy(dtype, source, from.layout, &mut buffer);
        Ok(share(buffer))
    }

    fn place(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        target: Target<'_>,
        to: &Layout,
    ) -> Result<(), Error> {
        let (source, target) = (bytes(op, dtype, from)?, target.on_host(op, dtype)?);
        kernel::copy_view(dtype, source, from.layout, target, to);
        Ok(())
    }

    fn assemble(
        &self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        pieces: &[Piece<'_>],
    ) -> Result<Shared, Error> {
        let mut buffer = Buffer::for_elements(op, dtype, shape.count())?;
        if pieces.iter().all(|piece| piece.dtype == dtype) {
            kernel::assemble(op, dtype, shape, pieces, &mut buffer)?;
            return Ok(share(buffer));
        }
        let rows = shape.iter().position(|size| *size != 1);
        let inner = rows.map_or(&[][..], |dim| &shape[dim + 1..]);
        let of = |piece: &Piece<'_>| piece.layout.shape().len() - inner.len();
        // Pieces of whole rows fill bytes of their own and are converted on the way.
        if pieces.iter().all(|p| p.layout.shape()[of(p)..] == *inner) {
            let row = inner.iter().product::<usize>() * dtype.itemsize();
            for piece in pieces {
                let start = rows.map_or(0, |dim| piece.start[dim]) * row;
                let len = piece.layout.shape().count() * dtype.itemsize();
                convert(op, piece, dtype, &mut buffer[start..start + len])?;
            }
            return Ok(share(buffer));
        }
        let mut converted: Vec<Option<Shared>> = Vec::new();
        for piece in pieces {
            converted.push(if piece.dtype == dtype {
                None
            } else {
                let mut part = Buffer::for_elements(op, dtype, piece.layout.shape().count())?;
                convert(op, piece, dtype, &mut part)?;
                Some(share(part))
            });
        }
        let pieces: Vec<Piece<'_>> = pieces
            .iter()
            .zip(&converted)
            .map(|(piece, converted)| match converted {
                Some(memory) => Piece {
                    memory: &**memory,
                    dtype,
                    layout: Layout::contiguous(piece.layout.shape().clone()),
                    start: piece.start.clone(),
                },
                None => piece.clone(),
            })
            .collect();
        kernel::assemble(op, dtype, shape, &pieces, &mut buffer)?;
        Ok(share(buffer))
    }

    fn keep_band(
        &self,
        op: &'static str,
        dtype: DType,
        band: Band,
        diagonal: isize,
        from: View<'_>,
    ) -> Result<Shared, Error> {
        let shape = from.layout.shape();
        let mut buffer = Buffer::for_elements(op, dtype, shape.count())?;
        let source = if from.layout.is_contiguous() {
            Some(in_order(op, dtype, from)?)
        } else {
            kernel::copy(dtype, bytes(op, dtype, from)?, from.layout, &mut buffer);
            None
        };
        if let [.., rows, columns] = shape[..] {
            let sizes = [rows, columns];
            kernel::keep_band(dtype, band, sizes, diagonal, source, &mut buffer);
        }
        Ok(share(buffer))
    }

    fn pick(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        step: isize,
        indices: View<'_>,
    ) -> Result<Shared, Error> {
        let (source, places) = (bytes(op, dtype, from)?, places(op, indices)?);
        let mut buffer = Buffer::for_elements(op, dtype, from.layout.shape().count())?;
        if !buffer.is_empty() {
            indexing::gather(dtype, source, from.layout, step, places, &mut buffer);
        }
        Ok(share(buffer))
    }

    fn put(
        &self,
        op: &'static str,
        dtype: DType,
        combine: Combine,
        job: &Put<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        indexing::scatter(op, dtype, combine, job, target.on_host(op, dtype)?)
    }

    fn compress(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<(Shared, usize), Error> {
        let source = in_order(op, dtype, from)?;
        let mask = Mask::new(op, in_order(op, DType::Bool, mask)?)?;
        let count = mask.count();
        let mut buffer = Buffer::for_elements(op, dtype, count)?;
        indexing::true_elements(dtype, source, &mask, &mut buffer)?;
        Ok((share(buffer), count))
    }

    fn expand(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        let (source, mask) = (in_order(op, dtype, from)?, in_order(op, DType::Bool, mask)?);
        let target = target.on_host(op, dtype)?;
        if source.len() == dtype.itemsize() {
            indexing::fill_true(dtype, source, mask, target);
        } else {
            indexing::expand_true(dtype, source, &Mask::new(op, mask)?, target)?;
        }
        Ok(())
    }

    fn coordinates(&self, op: &'static str, mask: View<'_>) -> Result<(Shared, usize), Error> {
        let shape = mask.layout.shape();
        let mask = Mask::new(op, in_order(op, DType::Bool, mask)?)?;
        let count = mask.count();
        let numbers = count.checked_mul(shape.rank());
        let numbers = numbers.ok_or_else(|| too_many(op))?;
        let mut buffer = Buffer::for_elements(op, DType::I64, numbers)?;
        indexing::true_coordinates(&mask, shape, buffer.elements_mut())?;
        Ok((share(buffer), count))
    }

    fn draw(
        &self,
        op: &'static str,
        dtype: DType,
        draw: Draw,
        stream: Stream,
        target: Target<'_>,
    ) -> Result<(), Error> {
        let (level, target) = (Level::current(), target.on_host(op, dtype)?);
        match draw {
            Draw::Uniform(low, high) => {
                random::uniform(level, stream, (low, high), dtype, target);
            }
            Draw::Normal(mean, std) => {
                random::normal(level, stream, Moments::All(mean, std), dtype, target);
            }
            Draw::Integers(low, count) => {
                random::integers(level, stream, low, count, dtype, target);
            }
            Draw::Bernoulli(p) => {
                random::bernoulli(level, stream, Chances::All(p), dtype, target);
            }
        }
        Ok(())
    }
}

/// Elements up to which a conversion is no work for threads.
const FEW_CONVERTED: usize = 4 << 10;

/// Elements from which an input that is read across its rows is first put in order.
const REORDER_FROM: usize = 16 << 10;

/// Whether neighbours in a row are apart in memory.
fn is_read_across(input: &Input<'_>) -> bool {
    let last = input.layout.strides().last();
    last.is_some_and(|stride| stride.unsigned_abs() > 1)
}

/// The elements of an input that is read across its rows, put in order if they are many: copies go by
/// square blocks, tiles along the rows. What is repeated is there once.
fn in_rows(
    op: &'static str,
    dtype: DType,
    input: Input<'_>,
) -> Result<Option<(Buffer, Layout)>, Error> {
    let (shape, strides) = (input.layout.shape(), input.layout.strides());
    let sizes = shape
        .iter()
        .zip(strides)
        .map(|(size, stride)| match stride {
            0 => (*size).min(1),
            _ => *size,
        });
    let once = Shape::new(op, &sizes.collect::<Dims<usize>>())?;
    if !is_read_across(&input) || once.count() < REORDER_FROM {
        return Ok(None);
    }
    let strides = Dims::from_slice(strides);
    let layout = Layout::from_parts(once.clone(), strides, input.layout.offset());
    if layout.is_contiguous() {
        return Ok(None);
    }
    let mut buffer = Buffer::for_elements(op, dtype, once.count())?;
    kernel::copy(dtype, input.bytes, &layout, &mut buffer);
    let layout = Layout::contiguous(once).broadcast_to(op, shape)?;
    Ok(Some((buffer, layout)))
}

/// Elements in another dtype.
pub(crate) fn rounded(
    op: &'static str,
    folded: Buffer,
    from: DType,
    to: DType,
) -> Result<Buffer, Error> {
    if from == to {
        return Ok(folded);
    }
    let count = folded.len() / from.itemsize();
    let mut buffer = Buffer::for_elements(op, to, count)?;
    if count <= CHUNK {
        let conversion = Conversion::new(from, to).map_err(|error| error.in_op(op))?;
        convert_few(&conversion, &folded, &mut buffer);
        return Ok(buffer);
    }
    let shape = Shape::new(op, &[count])?;
    let mut program = Program::new(&[from]);
    let result = program.convert(0, to);
    program.output(result);
    let layout = Layout::contiguous(shape.clone());
    let input = Input {
        bytes: &folded,
        layout: &layout,
    };
    run(&program, &shape, &[input], &mut [&mut buffer[..]])?;
    Ok(buffer)
}

/// Does a program that is one conversion of few elements in order, for which a plan takes longer than
/// they do; whether it was one.
fn convert_in_order(
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    out: &mut [u8],
) -> Result<bool, Error> {
    let ([Step::Convert { from: 0, to }], [1], [input]) =
        (program.steps(), program.outputs(), inputs)
    else {
        return Ok(false);
    };
    let (from, count) = (program.dtype(0), shape.count());
    if count == 0 || count > FEW_CONVERTED || !input.layout.is_contiguous() {
        return Ok(false);
    }
    let start = input.layout.offset() * from.itemsize();
    let elements = &input.bytes[start..start + count * from.itemsize()];
    convert_few(&Conversion::new(from, *to)?, elements, out);
    Ok(true)
}

/// Writes the elements of a piece, in row-major order, in a dtype that they have a way to.
fn convert(
    op: &'static str,
    piece: &Piece<'_>,
    dtype: DType,
    target: &mut [u8],
) -> Result<(), Error> {
    let source = whole_elements(piece.dtype, piece.memory.on_host(op)?);
    let layout = &piece.layout;
    if piece.dtype == dtype {
        kernel::copy(dtype, source, layout, target);
        return Ok(());
    }
    let mut program = Program::new(&[piece.dtype]);
    let result = program.convert(0, dtype);
    program.output(result);
    let bytes = source;
    run(
        &program,
        layout.shape(),
        &[Input { bytes, layout }],
        &mut [target],
    )
}
