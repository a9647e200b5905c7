//! A second backend: memory that the CPU cannot read as it is, and work that is counted. It does the
//! work by copying what it is given to the CPU, and refuses any memory but its own.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use allotrope_cpu::CPU;
use allotrope_dtype::{Capabilities, DType, Error};
use allotrope_op::{
    Backend, Band, Combine, DeviceId, Draw, Fold, Layout, Memory, Op, Piece, Program, Put, Scan,
    Shape, Shared, Stream, Target, View,
};
use smallvec::SmallVec;

/// The device.
pub(crate) static APART: Apart = Apart;

pub(crate) struct Apart;

/// Bytes, all of them inverted.
#[derive(Debug)]
struct Block(Vec<u8>);

impl Memory for Block {
    fn backend(&self) -> &'static dyn Backend {
        &APART
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn host(&self) -> Option<&[u8]> {
        None
    }

    fn host_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
}

thread_local! {
    static CALLS: RefCell<BTreeMap<&'static str, usize>> = RefCell::default();
}

/// How often this thread has asked for each kind of work since the last time, and which.
pub(crate) fn take_calls() -> BTreeMap<&'static str, usize> {
    CALLS.take()
}

fn count(method: &'static str) {
    CALLS.with_borrow_mut(|calls| *calls.entry(method).or_default() += 1);
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

/// Memory of this device with the elements of memory of the CPU.
fn put_here(memory: Shared) -> Shared {
    Arc::new(Block(inverted(memory.host().unwrap())))
}

/// A copy for the CPU of memory that must be this device's.
fn fetch(memory: &dyn Memory) -> Shared {
    let block = (memory as &dyn Any).downcast_ref::<Block>();
    let bytes = inverted(&block.expect("memory of this device").0);
    CPU.upload("fetch", DType::U8, &bytes).unwrap()
}

fn fetch_all(views: &[View<'_>]) -> Vec<Shared> {
    views.iter().map(|view| fetch(view.memory)).collect()
}

fn see<'a>(memories: &'a [Shared], views: &[View<'a>]) -> Vec<View<'a>> {
    let views = memories.iter().zip(views);
    let see = |(memory, view): (&'a Shared, &View<'a>)| View {
        memory: &**memory,
        layout: view.layout,
    };
    views.map(see).collect()
}

/// Lets the CPU write to a copy of a target.
fn write<T>(
    target: Target<'_>,
    work: impl FnOnce(Target<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut memory = fetch(target.memory);
    let (start, count) = (target.start, target.count);
    let whole = Target::new("write", &mut memory, count)?;
    let result = work(Target { start, ..whole })?;
    let block = (target.memory as &mut dyn Any).downcast_mut::<Block>();
    block.unwrap().0 = inverted(memory.host().unwrap());
    Ok(result)
}

impl Backend for Apart {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: "apart",
            index: 0,
        }
    }

    fn capabilities(&self) -> &Capabilities {
        CPU.capabilities()
    }

    fn finish(&self) -> Result<(), Error> {
        count("finish");
        Ok(())
    }

    fn allocate(&self, op: &'static str, dtype: DType, n: usize) -> Result<Shared, Error> {
        count("allocate");
        CPU.allocate(op, dtype, n).map(put_here)
    }

    fn upload(&self, op: &'static str, dtype: DType, bytes: &[u8]) -> Result<Shared, Error> {
        count("upload");
        CPU.upload(op, dtype, bytes).map(put_here)
    }

    fn download(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        count("download");
        let memory = fetch(from.memory);
        let (memory, layout) = (&*memory, from.layout);
        CPU.download(op, dtype, View { memory, layout }, bytes)
    }

    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        count("run");
        let memories = fetch_all(inputs);
        let outputs = CPU.run(op, program, shape, &see(&memories, inputs))?;
        Ok(outputs.into_iter().map(put_here).collect())
    }

    fn apply(
        &self,
        row: Op,
        dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error> {
        count("apply");
        let memories = fetch_all(operands);
        let operands = see(&memories, operands);
        CPU.apply(row, dtype, result, &operands).map(put_here)
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
        let memories = fetch_all(inputs);
        let inputs = see(&memories, inputs);
        let folded = CPU.reduce(op, fold, program, shape, &inputs, sizes, to);
        folded.map(put_here)
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
        let memories = fetch_all(inputs);
        let inputs = see(&memories, inputs);
        CPU.scan(op, scan, program, &inputs, sizes, to)
            .map(put_here)
    }

    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        element: &[u8],
        n: usize,
    ) -> Result<Shared, Error> {
        count("fill");
        CPU.fill(op, dtype, element, n).map(put_here)
    }

    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error> {
        count("copy");
        let memory = fetch(from.memory);
        let (memory, layout) = (&*memory, from.layout);
        CPU.copy(op, dtype, View { memory, layout }).map(put_here)
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
        let memory = fetch(from.memory);
        let (memory, layout) = (&*memory, from.layout);
        write(target, |target| {
            CPU.place(op, dtype, View { memory, layout }, target, to)
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
        let memories: Vec<Shared> = pieces.iter().map(|piece| fetch(piece.memory)).collect();
        let pieces = memories.iter().zip(pieces).map(|(memory, piece)| Piece {
            memory: &**memory,
            ..piece.clone()
        });
        let pieces: Vec<Piece<'_>> = pieces.collect();
        CPU.assemble(op, dtype, shape, &pieces).map(put_here)
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
        let memory = fetch(from.memory);
        let (memory, layout) = (&*memory, from.layout);
        let kept = CPU.keep_band(op, dtype, band, diagonal, View { memory, layout });
        kept.map(put_here)
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
        let memories = fetch_all(&[from, indices]);
        let views = see(&memories, &[from, indices]);
        CPU.pick(op, dtype, views[0], step, views[1]).map(put_here)
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
        let memories = fetch_all(&[job.source, job.indices]);
        let views = see(&memories, &[job.source, job.indices]);
        let job = Put {
            source: views[0],
            indices: views[1],
            ..*job
        };
        write(target, |target| CPU.put(op, dtype, combine, &job, target))
    }

    fn compress(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<(Shared, usize), Error> {
        count("compress");
        let memories = fetch_all(&[from, mask]);
        let views = see(&memories, &[from, mask]);
        let (memory, count) = CPU.compress(op, dtype, views[0], views[1])?;
        Ok((put_here(memory), count))
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
        let memories = fetch_all(&[from, mask]);
        let views = see(&memories, &[from, mask]);
        write(target, |target| {
            CPU.expand(op, dtype, views[0], views[1], target)
        })
    }

    fn coordinates(&self, op: &'static str, mask: View<'_>) -> Result<(Shared, usize), Error> {
        count("coordinates");
        let memory = fetch(mask.memory);
        let (memory, layout) = (&*memory, mask.layout);
        let (memory, count) = CPU.coordinates(op, View { memory, layout })?;
        Ok((put_here(memory), count))
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
        write(target, |target| CPU.draw(op, dtype, draw, stream, target))
    }
}
