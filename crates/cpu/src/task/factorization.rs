//! Tasks of `allotrope_op::task::factorization`.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::task::Results;
use allotrope_op::task::factorization::{Factorization, Triangle};
use smallvec::SmallVec;

use super::Call;
use crate::Buffer;
use crate::backend::rounded;
use crate::kernel::linalg::{self, Failure, Matrices, MatrixWork, run_batch};

pub(super) fn perform(call: &Call<'_>, task: Factorization) -> Result<Option<Results>, Error> {
    let working = call.dtype(0);
    let (number, real) = (working, working.to_real());
    match task {
        Factorization::Cholesky { reports } => {
            let order = call.size(0, 1);
            let work = linalg::Cholesky { order, reports };
            run(call, &work, &[2], &[number, DType::I32])
        }
        Factorization::CholeskySolve => {
            let (order, width) = (call.size(0, 1), call.size(1, 1));
            let work = linalg::CholeskySolve { order, width };
            run(call, &work, &[2, 2], &[number])
        }
        Factorization::Lu { pivot } => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let work = linalg::LuParts {
                rows,
                columns,
                pivot,
            };
            run(call, &work, &[2], &[number; 3])
        }
        Factorization::LuFactor { pivot } => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let work = linalg::Lu {
                rows,
                columns,
                pivot,
            };
            run(call, &work, &[2], &[number, DType::I32])
        }
        Factorization::LuSolve { adjoint } => {
            let (order, width) = (call.size(0, 1), call.size(2, 1));
            let work = linalg::LuSolve {
                order,
                width,
                adjoint,
            };
            run(call, &work, &[2, 1, 2], &[number])
        }
        Factorization::RowOrder { rows } => row_order(call, rows),
        Factorization::Solve { reports } => {
            let (order, width) = (call.size(0, 1), call.size(1, 1));
            let work = linalg::Solve {
                order,
                width,
                reports,
            };
            run(call, &work, &[2, 2], &[number, DType::I32])
        }
        Factorization::Inv { reports } => {
            let order = call.size(0, 1);
            let work = linalg::Solve {
                order,
                width: order,
                reports,
            };
            run(call, &work, &[2], &[number, DType::I32])
        }
        Factorization::SolveTriangular {
            upper,
            unitriangular,
        } => {
            let (order, width) = (call.size(0, 1), call.size(1, 1));
            let work = linalg::SolveTriangular {
                order,
                width,
                upper,
                unit: unitriangular,
            };
            run(call, &work, &[2, 2], &[number])
        }
        Factorization::Det | Factorization::Slogdet => {
            let work = linalg::Determinant {
                order: call.size(0, 1),
                logarithm: task == Factorization::Slogdet,
            };
            run(call, &work, &[2], &[number, real])
        }
        Factorization::Qr { mode } => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let [basis, kept] = mode.sizes(rows, columns);
            let work = linalg::Qr {
                rows,
                columns,
                basis,
                kept,
            };
            run(call, &work, &[2], &[number; 2])
        }
        Factorization::HouseholderProduct => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let work = linalg::HouseholderProduct { rows, columns };
            run(call, &work, &[2, 1], &[number])
        }
        Factorization::Eigh { triangle, vectors } => {
            let work = linalg::SelfAdjoint {
                order: call.size(0, 1),
                upper: triangle == Triangle::Upper,
                vectors,
            };
            run(call, &work, &[2], &[real, number])
        }
        Factorization::Eig { vectors } => {
            let order = call.size(0, 1);
            let work = linalg::Eigen { order, vectors };
            run(call, &work, &[2], &[DType::C128; 2])
        }
        Factorization::Svd { vectors } => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let work = linalg::Svd {
                rows,
                columns,
                bases: vectors.sizes(rows, columns),
            };
            run(call, &work, &[2], &[real, number, number])
        }
        Factorization::Pinv { hermitian } => {
            let (rows, columns) = (call.size(0, 2), call.size(0, 1));
            let work = linalg::PseudoInverse {
                rows,
                columns,
                hermitian,
            };
            run(call, &work, &[2, 0, 0], &[number])
        }
        Factorization::Lstsq => {
            let work = linalg::LeastSquares {
                rows: call.size(0, 2),
                columns: call.size(0, 1),
                width: call.size(1, 1),
            };
            let made = [number, real, DType::I64, real];
            run(call, &work, &[2, 2, 0, 0], &made)
        }
        Factorization::MatrixExp => {
            let work = linalg::Exponential {
                order: call.size(0, 1),
            };
            let wide = if working.is_complex() {
                DType::C128
            } else {
                DType::F64
            };
            run(call, &work, &[2], &[wide])
        }
        Factorization::MatrixPower { exponent } => {
            let order = call.size(0, 1);
            let work = linalg::Power { order, exponent };
            run(call, &work, &[2], &[number])
        }
        _ => Ok(None),
    }
}

impl Call<'_> {
    /// The size of a dimension of an input, counted from the end.
    fn size(&self, input: usize, from_end: usize) -> usize {
        let shape = self.inputs[input].view.layout.shape();
        shape.iter().rev().nth(from_end - 1).copied().unwrap_or(1)
    }
}

/// Runs work on all matrices of a batch. Inputs have so many dimensions for each matrix, and results
/// are made in these dtypes, then rounded to those that are asked for.
fn run(
    call: &Call<'_>,
    work: &dyn MatrixWork,
    own: &[usize],
    made: &[DType],
) -> Result<Option<Results>, Error> {
    let shape = call.inputs[0].view.layout.shape();
    let sizes = &shape[..shape.len() - own[0]];
    let count: usize = sizes.iter().product();
    let mut matrices: SmallVec<[Matrices<'_>; 4]> = SmallVec::new();
    for (index, own) in own.iter().enumerate() {
        let shape = call.inputs[index].view.layout.shape();
        let size = shape[shape.len() - own..].iter().product();
        let bytes = call.elements(index)?;
        matrices.push(Matrices { bytes, size });
    }
    let mut buffers: SmallVec<[Buffer; 4]> = SmallVec::new();
    for (dtype, output) in made.iter().zip(call.outputs) {
        buffers.push(Buffer::for_elements(call.op, *dtype, output.count)?);
    }
    let mut results: SmallVec<[linalg::Results<'_>; 4]> = buffers
        .iter_mut()
        .map(|buffer| linalg::Results {
            // A batch of nothing has nothing to write.
            width: buffer.len().checked_div(count).unwrap_or(0),
            bytes: &mut buffer[..],
        })
        .collect();
    let done = run_batch(call.dtype(0), work, count, &matrices, &mut results);
    done.map_err(|(index, failure)| {
        failed(call.op, (!sizes.is_empty()).then_some(index), failure)
    })?;
    drop(results);
    let mut outputs: SmallVec<[Buffer; 4]> = SmallVec::new();
    for ((buffer, from), output) in buffers.into_iter().zip(made).zip(call.outputs) {
        outputs.push(rounded(call.op, buffer, *from, output.dtype)?);
    }
    Ok(call.done(outputs))
}

/// Where each row comes from after exchanges.
fn row_order(call: &Call<'_>, rows: usize) -> Result<Option<Results>, Error> {
    let shape = call.inputs[0].view.layout.shape();
    let pivots = call.elements(0)?;
    let mut order = call.room(0)?;
    let size = shape.last().copied().unwrap_or(0);
    let exchanged = linalg::order_rows(
        bytemuck::cast_slice(pivots),
        size,
        rows,
        order.elements_mut(),
    );
    exchanged.map_err(|pivot| {
        let problem = Problem::IndexOutOfRange {
            index: pivot as isize,
            dim: shape.len().saturating_sub(1),
            size: rows,
        };
        Error::new(call.op, problem)
    })?;
    Ok(call.done([order]))
}

#[cold]
fn failed(op: &'static str, index: Option<usize>, failure: Failure) -> Error {
    let problem = match failure {
        Failure::Singular { pivot } => Problem::SingularMatrix { index, pivot },
        Failure::NotPositive { row } => Problem::NotPositiveDefinite { index, row },
        Failure::NotFinite => Problem::NotFinite { index },
        Failure::NoConvergence => Problem::NoConvergence { index },
        Failure::OutOfMemory { bytes } => Problem::OutOfMemory { bytes },
    };
    let error = Error::new(op, problem);
    match failure {
        Failure::Singular { .. } => error.hint("linalg.lstsq or linalg.pinv"),
        _ => error,
    }
}
