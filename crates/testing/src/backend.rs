//! Every primitive: done by the CPU on copies, when someone reads. No task has a kernel here but checks.

use std::sync::{Arc, LazyLock};

use allotrope_cpu::CPU;
use allotrope_dtype::{Capabilities, DType, Error};
use allotrope_op::task::{Input, Output, Results, Task};
use allotrope_op::{
    Backend, Band, Combine, DeviceId, Draw, Fold, Layout, Op, Piece, Program, Put, Scan, Shape,
    Shared, Stream, Target, View,
};
use smallvec::SmallVec;

use crate::block::Block;
use crate::calls::count;
use crate::check::Checks;
use crate::lazy::Lazy;

/// The device that stores everything exactly.
pub static APART: Apart = Apart::new(0);
/// The device that stores float64 as float32.
pub static NARROW: Apart = Apart::new(1);

/// The device.
#[derive(Debug)]
pub struct Apart {
    index: u32,
    pub(crate) checks: Checks,
}

/// A view that outlives its call.
#[derive(Clone)]
pub(crate) struct Held {
    block: Block,
    layout: Layout,
}

impl Held {
    fn new(dtype: DType, view: View<'_>) -> Result<Self, Error> {
        let block = Block::of(view.memory)?.clone();
        block.check(dtype)?;
        let layout = view.layout.clone();
        Ok(Self { block, layout })
    }

    pub(crate) fn all(dtypes: &[DType], views: &[View<'_>]) -> Result<Vec<Self>, Error> {
        let each = dtypes.iter().zip(views);
        each.map(|(dtype, view)| Self::new(*dtype, *view)).collect()
    }
}

/// Lets work see the elements of views in memory of the CPU.
pub(crate) fn see<T>(
    held: &[Held],
    work: impl FnOnce(&[View<'_>]) -> Result<T, Error>,
) -> Result<T, Error> {
    let memories = held
        .iter()
        .map(|held| held.block.fetch())
        .collect::<Result<Vec<Shared>, Error>>()?;
    let views: Vec<View<'_>> = memories
        .iter()
        .zip(held)
        .map(|(memory, held)| View {
            memory: &**memory,
            layout: &held.layout,
        })
        .collect();
    work(&views)
}

pub(crate) fn blocks(held: &[Held]) -> Vec<&Block> {
    held.iter().map(|held| &held.block).collect()
}

pub(crate) fn bytes_of(dtype: DType, count: usize) -> usize {
    dtype.bytes_for(count).unwrap_or(usize::MAX)
}

impl Apart {
    const fn new(index: u32) -> Self {
        let checks = Checks::new();
        Self { index, checks }
    }

    fn here(&self) -> &'static Self {
        match self.index {
            0 => &APART,
            _ => &NARROW,
        }
    }

    /// One result of work on views, so many elements.
    fn later(
        &self,
        dtype: DType,
        count: usize,
        held: Vec<Held>,
        work: impl FnOnce(&[View<'_>]) -> Result<Shared, Error> + Send + 'static,
    ) -> Result<Shared, Error> {
        let inputs = held.clone();
        let len = bytes_of(dtype, count);
        let run = move || see(&inputs, work);
        let block = Block::pending(self.here(), dtype, len, &blocks(&held), run)?;
        Ok(Arc::new(block))
    }

    /// A new value for a target, which work writes to in memory of the CPU.
    fn rewrite(
        &self,
        dtype: DType,
        target: Target<'_>,
        held: Vec<Held>,
        work: impl FnOnce(&[View<'_>], Target<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let (start, count) = (target.start, target.count);
        let block = Block::of_mut(target.memory)?;
        block.check(dtype)?;
        let former = block.clone();
        let mut read = blocks(&held);
        read.push(&former);
        let (inputs, before) = (held.clone(), former.clone());
        let len = allotrope_op::Memory::len(block);
        let pending = Block::pending(self.here(), block.dtype(), len, &read, move || {
            let mut memory = before.fetch()?;
            let whole = Target::new("apart", &mut memory, count)?;
            see(&inputs, |views| work(views, Target { start, ..whole }))?;
            Ok(memory)
        })?;
        *block = pending;
        Ok(())
    }
}

impl Backend for Apart {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: crate::KIND,
            index: self.index,
        }
    }

    fn name(&self) -> &'static str {
        match self.index {
            0 => "apart",
            _ => "apart:1",
        }
    }

    fn capabilities(&self) -> &Capabilities {
        static FULL: Capabilities = Capabilities::CPU;
        static NARROW: LazyLock<Capabilities> = LazyLock::new(|| {
            Capabilities::probed(|dtype| matches!(dtype, DType::I64 | DType::U64))
        });
        match self.index {
            0 => &FULL,
            _ => &NARROW,
        }
    }

    fn finish(&self) -> Result<(), Error> {
        count("finish");
        self.checks.settle(&[])
    }

    fn perform(
        &self,
        op: &'static str,
        task: &Task<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        self.here().check(op, task, inputs, outputs)
    }

    fn allocate(&self, op: &'static str, dtype: DType, n: usize) -> Result<Shared, Error> {
        count("allocate");
        let memory = CPU.allocate(op, dtype, n)?;
        Ok(Arc::new(Block::ready(
            self.here(),
            dtype,
            memory.on_host(op)?,
        )?))
    }

    fn upload(&self, _op: &'static str, dtype: DType, bytes: &[u8]) -> Result<Shared, Error> {
        count("upload");
        Ok(Arc::new(Block::ready(self.here(), dtype, bytes)?))
    }

    fn download(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        count("download");
        self.checks.settle(&[from])?;
        let held = Held::new(dtype, from)?;
        see(&[held], |views| CPU.download(op, dtype, views[0], bytes))
    }

    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        count("run");
        let held = Held::all(program.input_dtypes(), inputs)?;
        let (read, program, shape) = (held.clone(), program.clone(), shape.clone());
        let (dtypes, n): (Vec<DType>, usize) = (program.output_dtypes().collect(), shape.count());
        let outputs =
            Lazy::pending(move || see(&read, |views| CPU.run(op, &program, &shape, views)));
        let each = dtypes.into_iter().enumerate().map(|(index, dtype)| {
            let outputs = Arc::clone(&outputs);
            let len = bytes_of(dtype, n);
            let work = move || Ok(Arc::clone(&outputs.get()?[index]));
            let block = Block::pending(self.here(), dtype, len, &blocks(&held), work)?;
            Ok(Arc::new(block) as Shared)
        });
        each.collect()
    }

    fn apply(
        &self,
        row: Op,
        dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error> {
        count("apply");
        let n = operands.first().map_or(0, |x| x.layout.shape().count());
        let held = Held::all(&vec![dtype; operands.len()], operands)?;
        self.later(result, n, held, move |views| {
            CPU.apply(row, dtype, result, views)
        })
    }

    fn reduce(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        count("reduce");
        let held = Held::all(program.input_dtypes(), inputs)?;
        let (program, shape) = (program.clone(), shape.clone());
        self.later(to, sizes[0] * sizes[2], held, move |views| {
            CPU.reduce(op, fold, &program, &shape, views, sizes, to)
        })
    }

    fn scan(
        &self,
        op: &'static str,
        scan: Scan,
        program: &Program,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        count("scan");
        let held = Held::all(program.input_dtypes(), inputs)?;
        let program = program.clone();
        self.later(to, sizes.iter().product(), held, move |views| {
            CPU.scan(op, scan, &program, views, sizes, to)
        })
    }

    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        element: &[u8],
        n: usize,
    ) -> Result<Shared, Error> {
        count("fill");
        let memory = CPU.fill(op, dtype, element, n)?;
        Ok(Arc::new(Block::ready(
            self.here(),
            dtype,
            memory.on_host(op)?,
        )?))
    }

    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error> {
        count("copy");
        let n = from.layout.shape().count();
        let held = Held::all(&[dtype], &[from])?;
        self.later(dtype, n, held, move |views| CPU.copy(op, dtype, views[0]))
    }

    fn place(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        target: Target<'_>,
        to: &Layout,
    ) -> Result<(), Error> {
        count("place");
        let (held, to) = (Held::all(&[dtype], &[from])?, to.clone());
        self.rewrite(dtype, target, held, move |views, target| {
            CPU.place(op, dtype, views[0], target, &to)
        })
    }

    fn assemble(
        &self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        pieces: &[Piece<'_>],
    ) -> Result<Shared, Error> {
        count("assemble");
        let mut held = Vec::new();
        let mut parts = Vec::new();
        for piece in pieces {
            let (memory, layout) = (piece.memory, &piece.layout);
            held.push(Held::new(piece.dtype, View { memory, layout })?);
            parts.push((piece.dtype, piece.start.clone()));
        }
        let shape = shape.clone();
        self.later(dtype, shape.count(), held, move |views| {
            let pieces = views.iter().zip(parts).map(|(view, (dtype, start))| Piece {
                memory: view.memory,
                dtype,
                layout: view.layout.clone(),
                start,
            });
            let pieces: Vec<Piece<'_>> = pieces.collect();
            CPU.assemble(op, dtype, &shape, &pieces)
        })
    }

    fn keep_band(
        &self,
        op: &'static str,
        dtype: DType,
        band: Band,
        diagonal: isize,
        from: View<'_>,
    ) -> Result<Shared, Error> {
        count("keep_band");
        let n = from.layout.shape().count();
        let held = Held::all(&[dtype], &[from])?;
        self.later(dtype, n, held, move |views| {
            CPU.keep_band(op, dtype, band, diagonal, views[0])
        })
    }

    fn pick(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        step: isize,
        indices: View<'_>,
    ) -> Result<Shared, Error> {
        count("pick");
        let n = from.layout.shape().count();
        let held = Held::all(&[dtype, DType::I64], &[from, indices])?;
        self.later(dtype, n, held, move |views| {
            CPU.pick(op, dtype, views[0], step, views[1])
        })
    }

    fn put(
        &self,
        op: &'static str,
        dtype: DType,
        combine: Combine,
        job: &Put<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        count("put");
        let held = Held::all(&[dtype, DType::I64], &[job.source, job.indices])?;
        let base = job.base.clone();
        let (step, blocks, used) = (job.step, job.blocks, job.used);
        self.rewrite(dtype, target, held, move |views, target| {
            let job = Put {
                source: views[0],
                indices: views[1],
                base: &base,
                step,
                blocks,
                used,
            };
            CPU.put(op, dtype, combine, &job, target)
        })
    }

    fn compress(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<(Shared, usize), Error> {
        count("compress");
        self.checks.settle(&[from, mask])?;
        // How many there are is asked for at once.
        let held = Held::all(&[dtype, DType::Bool], &[from, mask])?;
        let (memory, n) = see(&held, |views| CPU.compress(op, dtype, views[0], views[1]))?;
        let bytes = &memory.on_host(op)?[..bytes_of(dtype, n)];
        Ok((Arc::new(Block::ready(self.here(), dtype, bytes)?), n))
    }

    fn expand(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        count("expand");
        let held = Held::all(&[dtype, DType::Bool], &[from, mask])?;
        self.rewrite(dtype, target, held, move |views, target| {
            CPU.expand(op, dtype, views[0], views[1], target)
        })
    }

    fn coordinates(&self, op: &'static str, mask: View<'_>) -> Result<(Shared, usize), Error> {
        count("coordinates");
        self.checks.settle(&[mask])?;
        let held = Held::all(&[DType::Bool], &[mask])?;
        let (memory, n) = see(&held, |views| CPU.coordinates(op, views[0]))?;
        let numbers = n * mask.layout.rank();
        let bytes = &memory.on_host(op)?[..bytes_of(DType::I64, numbers)];
        Ok((Arc::new(Block::ready(self.here(), DType::I64, bytes)?), n))
    }

    fn draw(
        &self,
        op: &'static str,
        dtype: DType,
        draw: Draw,
        stream: Stream,
        target: Target<'_>,
    ) -> Result<(), Error> {
        count("draw");
        self.rewrite(dtype, target, Vec::new(), move |_, target| {
            CPU.draw(op, dtype, draw, stream, target)
        })
    }
}
