//! Operands laid out for the kernels, results, and what failures say.

use allotrope_cpu::kernel::linalg::{Failure, Matrices, MatrixWork, Results, run_batch};
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::{Dims, Shape};

use crate::Tensor;
use crate::call;
use crate::elementwise::room;

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

/// What a kernel writes for each matrix: a dtype and sizes.
pub(super) enum Out<'a> {
    /// Numbers of the dtype of the result.
    Number(&'a [usize]),
    /// Real numbers of its width.
    Real(&'a [usize]),
    /// Numbers of another dtype, which is kept.
    Exact(DType, &'a [usize]),
    /// Numbers of another dtype, which are rounded to that of the result.
    Rounded(DType, &'a [usize]),
}

/// A call of a row for a batch.
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
    /// The call for operands, each with the number of dimensions that one matrix or vector has.
    pub(super) fn new(row: &Structured, operands: &[(&Tensor, usize)]) -> Result<Self, Error> {
        let tensors: Vec<&Tensor> = operands.iter().map(|(tensor, _)| *tensor).collect();
        let result =
            call::result_dtype(row, call::common_dtype(row.name, tensors.iter().copied())?)?;
        Self::with_result(row.name, result, operands)
    }

    /// The call for a dtype that is known.
    pub(super) fn with_result(
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
        let x = x.to(self.working).map_err(|error| error.in_op(self.op))?;
        let own = &x.shape()[x.rank() - own..];
        let sizes: Vec<usize> = self.sizes.iter().chain(own).copied().collect();
        x.expand(&sizes)?.contiguous()
    }

    /// The results of work on prepared operands.
    pub(super) fn run(
        &self,
        work: &dyn MatrixWork,
        inputs: &[&Tensor],
        outputs: &[Out<'_>],
    ) -> Result<Vec<Tensor>, Error> {
        let count: usize = self.sizes.iter().product();
        let rank = self.sizes.len();
        let matrices: Vec<Matrices<'_>> = inputs
            .iter()
            .map(|input| {
                let bytes = input.ordered_bytes(self.op)?;
                let size = input.shape()[rank..].iter().product();
                Ok(Matrices { bytes, size })
            })
            .collect::<Result<_, Error>>()?;
        let mut buffers = Vec::with_capacity(outputs.len());
        for output in outputs {
            let (dtype, own, target) = match output {
                Out::Number(own) => (self.working, own, self.result),
                Out::Real(own) => (self.working.to_real(), own, self.result.to_real()),
                Out::Exact(dtype, own) => (*dtype, own, *dtype),
                Out::Rounded(dtype, own) => (*dtype, own, self.result),
            };
            let sizes: Vec<usize> = self.sizes.iter().chain(*own).copied().collect();
            let shape = Shape::new(self.op, &sizes)?;
            let width = own.iter().product::<usize>() * dtype.itemsize();
            buffers.push((room(self.op, &shape, dtype)?, shape, dtype, target, width));
        }
        let mut results: Vec<Results<'_>> = buffers
            .iter_mut()
            .map(|(buffer, _, _, _, width)| Results {
                bytes: &mut buffer[..],
                width: *width,
            })
            .collect();
        run_batch(self.working, work, count, &matrices, &mut results)
            .map_err(|(index, failure)| self.failed(index, failure))?;
        buffers
            .into_iter()
            .map(|(buffer, shape, dtype, target, _)| {
                Tensor::from_buffer(buffer, shape, dtype).to(target)
            })
            .collect()
    }

    /// The first result of work.
    pub(super) fn run_one(
        &self,
        work: &dyn MatrixWork,
        inputs: &[&Tensor],
        output: Out<'_>,
    ) -> Result<Tensor, Error> {
        let mut results = self.run(work, inputs, &[output])?;
        Ok(results.swap_remove(0))
    }

    /// Two results of work.
    pub(super) fn run_two(
        &self,
        work: &dyn MatrixWork,
        inputs: &[&Tensor],
        outputs: [Out<'_>; 2],
    ) -> Result<(Tensor, Tensor), Error> {
        let mut results = self.run(work, inputs, &outputs)?;
        let second = results.swap_remove(1);
        Ok((results.swap_remove(0), second))
    }

    #[cold]
    fn failed(&self, index: usize, failure: Failure) -> Error {
        let index = (!self.sizes.is_empty()).then_some(index);
        let problem = match failure {
            Failure::Singular { pivot } => Problem::SingularMatrix { index, pivot },
            Failure::NotPositive { row } => Problem::NotPositiveDefinite { index, row },
            Failure::NotFinite => Problem::NotFinite { index },
            Failure::NoConvergence => Problem::NoConvergence { index },
            Failure::OutOfMemory { bytes } => Problem::OutOfMemory { bytes },
        };
        let error = Error::new(self.op, problem);
        match failure {
            Failure::Singular { .. } => error.hint("linalg.lstsq or linalg.pinv"),
            _ => error,
        }
    }
}
