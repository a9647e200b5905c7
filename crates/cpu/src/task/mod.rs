//! Tasks handed to the kernels: one file for each family, as in `allotrope_op::task`. What is looked
//! for here are the bytes behind inputs and room for outputs; no loop over elements belongs here.

mod contraction;
mod convolution;
mod factorization;
mod fourier;
mod indexing;
mod order;
mod recurrent;
mod rowwise;
mod sampling;
mod values;
mod window;

use std::ops::Deref;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::task::{Input, Made, Output, Results, Task};

use crate::backend::{bytes, in_order};
use crate::kernel::copy;
use crate::memory::try_vec;
use crate::{Buffer, Input as Bytes, Storage};

/// What a task makes of its inputs; `None` where a composition of primitives is better.
pub(crate) fn perform(
    op: &'static str,
    task: &Task<'_>,
    inputs: &[Input<'_>],
    outputs: &[Output],
) -> Result<Option<Results>, Error> {
    let call = Call {
        op,
        inputs,
        outputs,
    };
    match task {
        Task::Rowwise(task) => rowwise::perform(&call, task),
        Task::Contraction(task) => contraction::perform(&call, task),
        Task::Convolution(task) => convolution::perform(&call, task),
        Task::Window(task) => window::perform(&call, task),
        Task::Order(task) => order::perform(&call, task),
        Task::Indexing(task) => indexing::perform(&call, task),
        Task::Fourier(task) => fourier::perform(&call, task),
        Task::Factorization(task) => factorization::perform(&call, *task),
        Task::Recurrent(task) => recurrent::perform(&call, task),
        Task::Sampling(task) => sampling::perform(&call, *task),
        Task::Values(task) => values::perform(&call, task),
        _ => Ok(None),
    }
}

/// What a task is performed with.
#[derive(Clone, Copy)]
struct Call<'a> {
    /// What errors are raised by.
    op: &'static str,
    inputs: &'a [Input<'a>],
    outputs: &'a [Output],
}

#[allow(dead_code, reason = "each family takes what its kernels read")]
impl<'a> Call<'a> {
    /// An input as kernels read it: its memory and its layout.
    fn input(&self, index: usize) -> Result<Bytes<'a>, Error> {
        let Input { dtype, view } = self.inputs[index];
        Ok(Bytes {
            bytes: bytes(self.op, dtype, view)?,
            layout: view.layout,
        })
    }

    /// The bytes of a contiguous input.
    fn elements(&self, index: usize) -> Result<&'a [u8], Error> {
        let Input { dtype, view } = self.inputs[index];
        in_order(self.op, dtype, view)
    }

    /// The bytes of an input in row-major order: where they are, or copied.
    fn ordered(&self, index: usize) -> Result<Ordered<'a>, Error> {
        let Input { dtype, view } = self.inputs[index];
        if view.layout.is_contiguous() {
            return in_order(self.op, dtype, view).map(Ordered::InPlace);
        }
        let count = view.layout.shape().count();
        let mut buffer = Buffer::for_elements(self.op, dtype, count)?;
        let bytes = bytes(self.op, dtype, view)?;
        copy(dtype, bytes, view.layout, &mut buffer);
        Ok(Ordered::Copied(buffer))
    }

    /// The numbers of an input in float64, in row-major order.
    fn numbers(&self, index: usize) -> Result<Vec<f64>, Error> {
        let Input { dtype, view } = self.inputs[index];
        let mut numbers = try_vec(self.op, view.layout.shape().count(), 0.0)?;
        let (from, to) = (self.ordered(index)?, bytemuck::cast_slice_mut(&mut numbers));
        let widen = Conversion::new(dtype, DType::F64)?;
        widen.run(Level::current(), &from, to, &mut Scratch::default());
        Ok(numbers)
    }

    /// The dtype of an input.
    fn dtype(&self, index: usize) -> DType {
        self.inputs[index].dtype
    }

    /// Room for an output, to be overwritten.
    fn room(&self, index: usize) -> Result<Buffer, Error> {
        let Output { dtype, count } = self.outputs[index];
        Buffer::for_elements(self.op, dtype, count)
    }

    /// Outputs, each as many elements as asked for.
    fn done(&self, buffers: impl IntoIterator<Item = Buffer>) -> Option<Results> {
        let made = buffers.into_iter().zip(self.outputs);
        Some(
            made.map(|(buffer, output)| Made {
                memory: Storage::Owned(buffer).share(),
                count: output.count,
            })
            .collect(),
        )
    }
}

/// Bytes of elements, one after the other.
enum Ordered<'a> {
    InPlace(&'a [u8]),
    Copied(Buffer),
}

impl Deref for Ordered<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(buffer) => buffer,
        }
    }
}
