//! A device without memory: its tensors have a shape, a dtype and a history, and no elements. All work
//! succeeds at once and gives as many elements as are asked for; whatever would look at values is an
//! error. It holds for operations of every kind, since none but the checks and the readers look.

use std::sync::Arc;

use allotrope_dtype::{Capabilities, DType, Error, Problem};
use smallvec::SmallVec;

use crate::backend::{Backend, DeviceId, Memory, Rewrite, Shared, Target, View};
use crate::task::{Input, Made, Order, Output, Results, Task};
use crate::work::{Band, Combine, Draw, Fold, Piece, Put, Scan, Stream};
use crate::{Layout, Op, Program, Shape};

/// The device without memory.
pub static META: Meta = Meta;

/// A device that computes nothing but shapes and dtypes.
#[derive(Debug)]
pub struct Meta;

/// As many bytes as elements would take.
#[derive(Debug)]
struct Nothing(usize);

impl Memory for Nothing {
    fn backend(&self) -> &'static dyn Backend {
        &META
    }

    fn len(&self) -> usize {
        self.0
    }

    fn host(&self) -> Option<&[u8]> {
        None
    }

    fn host_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
}

/// The memory of so many elements.
fn nothing(op: &'static str, dtype: DType, count: usize) -> Result<Shared, Error> {
    let bytes = dtype.bytes_for(count);
    let problem = Problem::OutOfMemory { bytes: usize::MAX };
    let bytes = bytes.ok_or_else(|| Error::new(op, problem))?;
    Ok(Arc::new(Nothing(bytes)))
}

#[cold]
fn no_values(op: &'static str) -> Error {
    let given = META.id().kind;
    Error::new(op, Problem::NoValues { given }).hint("module.to_empty(device=\"cpu\")")
}

impl Backend for Meta {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: "meta",
            index: 0,
        }
    }

    fn capabilities(&self) -> &Capabilities {
        &Capabilities::CPU
    }

    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }

    fn perform(
        &self,
        op: &'static str,
        task: &Task<'_>,
        _inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        if matches!(
            task,
            Task::Order(Order::Unique { .. } | Order::UniqueRows { .. })
        ) {
            // How many there are depends on values.
            return Err(no_values(op));
        }
        let made = |output: &Output| {
            let (memory, count) = (nothing(op, output.dtype, output.count)?, output.count);
            Ok(Made { memory, count })
        };
        outputs.iter().map(made).collect::<Result<_, _>>().map(Some)
    }

    fn allocate(&self, op: &'static str, dtype: DType, count: usize) -> Result<Shared, Error> {
        nothing(op, dtype, count)
    }

    fn upload(&self, _op: &'static str, _dtype: DType, bytes: &[u8]) -> Result<Shared, Error> {
        Ok(Arc::new(Nothing(bytes.len())))
    }

    fn download(
        &self,
        op: &'static str,
        _dtype: DType,
        _from: View<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(no_values(op)),
        }
    }

    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        _inputs: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        let each = program.output_dtypes();
        each.map(|dtype| nothing(op, dtype, shape.count()))
            .collect()
    }

    fn run_into(
        &self,
        _op: &'static str,
        _program: &Program,
        _rewrites: Vec<Rewrite<'_>>,
    ) -> Result<bool, Error> {
        Ok(true)
    }

    fn apply(
        &self,
        row: Op,
        _dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error> {
        let count = operands
            .first()
            .map_or(0, |first| first.layout.shape().count());
        nothing(row.name(), result, count)
    }

    fn reduce(
        &self,
        op: &'static str,
        _fold: Fold,
        _program: &Program,
        _shape: &Shape,
        _inputs: &[View<'_>],
        [outer, _, inner]: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        nothing(op, to, outer * inner)
    }

    fn scan(
        &self,
        op: &'static str,
        _scan: Scan,
        _program: &Program,
        _inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        nothing(op, to, sizes.iter().product())
    }

    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        _element: &[u8],
        count: usize,
    ) -> Result<Shared, Error> {
        nothing(op, dtype, count)
    }

    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error> {
        nothing(op, dtype, from.layout.shape().count())
    }

    fn place(
        &self,
        _op: &'static str,
        _dtype: DType,
        _from: View<'_>,
        _target: Target<'_>,
        _to: &Layout,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn assemble(
        &self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        _pieces: &[Piece<'_>],
    ) -> Result<Shared, Error> {
        nothing(op, dtype, shape.count())
    }

    fn keep_band(
        &self,
        op: &'static str,
        dtype: DType,
        _band: Band,
        _diagonal: isize,
        from: View<'_>,
    ) -> Result<Shared, Error> {
        nothing(op, dtype, from.layout.shape().count())
    }

    fn pick(
        &self,
        op: &'static str,
        dtype: DType,
        _from: View<'_>,
        _step: isize,
        indices: View<'_>,
    ) -> Result<Shared, Error> {
        nothing(op, dtype, indices.layout.shape().count())
    }

    fn put(
        &self,
        _op: &'static str,
        _dtype: DType,
        _combine: Combine,
        _job: &Put<'_>,
        _target: Target<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn compress(
        &self,
        op: &'static str,
        _dtype: DType,
        _from: View<'_>,
        _mask: View<'_>,
    ) -> Result<(Shared, usize), Error> {
        Err(no_values(op))
    }

    fn expand(
        &self,
        _op: &'static str,
        _dtype: DType,
        _from: View<'_>,
        _mask: View<'_>,
        _target: Target<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn coordinates(&self, op: &'static str, _mask: View<'_>) -> Result<(Shared, usize), Error> {
        Err(no_values(op))
    }

    fn draw(
        &self,
        _op: &'static str,
        _dtype: DType,
        _draw: Draw,
        _stream: Stream,
        _target: Target<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }
}
