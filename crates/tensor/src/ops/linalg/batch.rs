//! Operands laid out for the kernels, and results.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::task::{Factorization, Output, Task};
use allotrope_op::{Dims, Shape};
use smallvec::SmallVec;

use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::perform;

/// The rows and columns of matrices.
pub(super) fn sizes(op: &'static str, x: &Tensor) -> Result<(usize, usize), Error> {
    match x.shape()[..] {
        [.., rows, columns] => Ok((rows, columns)),
        _ => {
            let shape = x.shape().to_vec();
            Err(Error::new(op, Problem::NotAMatrix { shape }))
        }
    }
}

/// The rows of square matrices, which are as many as their columns.
pub(super) fn order(op: &'static str, x: &Tensor) -> Result<usize, Error> {
    let (rows, columns) = sizes(op, x)?;
    if rows == columns {
        return Ok(rows);
    }
    let shape = x.shape().to_vec();
    Err(Error::new(op, Problem::NotSquare { shape }))
}

/// Two operands whose rows do not fit.
#[cold]
pub(super) fn misfit(op: &'static str, lhs: &Tensor, rhs: &Tensor) -> Error {
    let problem = Problem::SizesDoNotFit {
        lhs: lhs.shape().to_vec(),
        rhs: rhs.shape().to_vec(),
    };
    Error::new(op, problem)
}

/// A call of a row on operands, begun once.
pub(super) struct Begun<const N: usize> {
    /// The operands. Recorded ones are as wide as what is computed in, so that gradients are rounded
    /// once too.
    pub(super) operands: [Tensor; N],
    /// The dtype that results are made in.
    pub(super) made: DType,
    /// The dtype that they are rounded to.
    pub(super) result: DType,
}

/// Begins a call of a row.
///
/// # Errors
/// A dtype error where promotion refuses, a device error for operands on two devices.
pub(super) fn begin<const N: usize>(
    row: &Structured,
    operands: [&Tensor; N],
) -> Result<Begun<N>, Error> {
    let Call { result, .. } = Call::begin(row, &operands)?;
    let mut begun = Begun {
        operands: operands.map(Tensor::clone),
        made: result,
        result,
    };
    if result.compute() != result && is_recorded(&operands) {
        begun.made = result.compute();
        for operand in &mut begun.operands {
            *operand = operand.to(begun.made)?;
        }
    }
    Ok(begun)
}

/// What a kernel writes for each matrix: numbers of these sizes.
pub(super) enum Out<'a> {
    /// Of the dtype of the result.
    Number(&'a [usize]),
    /// Of the real dtype of its width.
    Real(&'a [usize]),
    /// Of another dtype.
    Exact(DType, &'a [usize]),
}

/// Work of an operation on a batch.
pub(super) struct Batch {
    pub(super) op: &'static str,
    /// The dtype of the result.
    pub(super) result: DType,
    /// The dtype that is computed in.
    pub(super) working: DType,
    /// The sizes before those of each matrix.
    pub(super) sizes: Dims<usize>,
}

impl Batch {
    /// The batch of operands, each with the number of dimensions that one matrix or vector has.
    pub(super) fn new(
        op: &'static str,
        result: DType,
        operands: &[(&Tensor, usize)],
    ) -> Result<Self, Error> {
        let leading = |(tensor, own): &(&Tensor, usize)| {
            Shape::new(op, &tensor.shape()[..tensor.rank() - own])
        };
        let shapes = operands
            .iter()
            .map(leading)
            // bounded: one per operand.
            .collect::<Result<Vec<Shape>, Error>>()?;
        let shapes: Vec<&Shape> = shapes.iter().collect();
        Ok(Self {
            op,
            result,
            working: result.compute(),
            sizes: Shape::broadcast(op, &shapes)?.iter().copied().collect(),
        })
    }

    /// An operand in the working dtype, repeated over the batch, in row-major order.
    pub(super) fn prepare(&self, x: &Tensor, own: usize) -> Result<Tensor, Error> {
        let x = x.detach().to(self.working);
        let x = x.map_err(|error| error.in_op(self.op))?;
        let own = &x.shape()[x.rank() - own..];
        let sizes: Vec<usize> = self.sizes.iter().chain(own).copied().collect();
        x.expand(&sizes)?.contiguous()
    }

    /// The results of work on prepared operands.
    pub(super) fn run<const N: usize>(
        &self,
        task: Factorization,
        inputs: &[&Tensor],
        outputs: [Out<'_>; N],
    ) -> Result<[Tensor; N], Error> {
        let mut asked: SmallVec<[(Shape, DType); 4]> = SmallVec::new();
        for output in outputs {
            let (dtype, own) = match output {
                Out::Number(own) => (self.result, own),
                Out::Real(own) => (self.result.to_real(), own),
                Out::Exact(dtype, own) => (dtype, own),
            };
            let sizes: Dims<usize> = self.sizes.iter().chain(own).copied().collect();
            asked.push((Shape::new(self.op, &sizes)?, dtype));
        }
        let counted: SmallVec<[Output; 4]> = asked
            .iter()
            .map(|(shape, dtype)| Output {
                dtype: *dtype,
                count: shape.count(),
            })
            .collect();
        let made = perform(self.op, &Task::Factorization(task), inputs, &counted)?;
        // bounded: one per output.
        let tensors: Vec<Tensor> = made
            .into_iter()
            .zip(asked)
            .map(|(made, (shape, dtype))| Tensor::from_memory_of(made.memory, shape, dtype))
            .collect();
        tensors.try_into().map_err(|made: Vec<Tensor>| {
            let device = inputs.first().map_or("cpu", |x| x.backend().name());
            let reason = format!("{} results instead of {N}", made.len());
            Error::new(self.op, Problem::DeviceFailure { device, reason })
        })
    }

    /// The one result of work.
    pub(super) fn run_one(
        &self,
        task: Factorization,
        inputs: &[&Tensor],
        output: Out<'_>,
    ) -> Result<Tensor, Error> {
        let [result] = self.run(task, inputs, [output])?;
        Ok(result)
    }
}
