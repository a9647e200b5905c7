//! What is done with every matrix of a batch, on all threads.

use allotrope_dtype::{DType, Error, Problem, c64, c128};
use bytemuck::Pod;
use smallvec::SmallVec;

use super::field::Field;
use super::scratch::try_with_capacity;
use crate::parallel;

/// Why a matrix has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A pivot is zero: the matrix has no inverse. Counted from zero.
    Singular {
        /// The number of the pivot.
        pivot: usize,
    },
    /// The leading minor up to this row is not positive.
    NotPositive {
        /// The number of the row.
        row: usize,
    },
    /// An infinity or NaN where an iteration would never end.
    NotFinite,
    /// An iteration that did not end.
    NoConvergence,
    /// No memory to work in.
    OutOfMemory {
        /// The bytes that were asked for.
        bytes: usize,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.problem() {
            Problem::OutOfMemory { bytes } => Self::OutOfMemory { bytes: *bytes },
            // Nothing else fails while room is made.
            _ => Self::OutOfMemory { bytes: 0 },
        }
    }
}

/// The matrices of an operand: consecutive elements of the working dtype.
#[derive(Clone, Copy)]
pub(crate) struct Matrices<'a> {
    /// The elements.
    pub bytes: &'a [u8],
    /// The elements of one matrix.
    pub size: usize,
}

/// Where results of all matrices go.
pub(crate) struct Results<'a> {
    /// The elements.
    pub bytes: &'a mut [u8],
    /// The bytes that one matrix has.
    pub width: usize,
}

/// What is done with each matrix of a batch.
///
/// Implemented by `matrix_work!`, so that loops are compiled here and not where they are called.
pub(crate) trait MatrixWork: Sync {
    /// Writes the results for one matrix of each operand, which are float32, float64, complex64 or
    /// complex128.
    ///
    /// # Errors
    /// Where the matrix has no answer.
    fn run(&self, dtype: DType, inputs: &[&[u8]], outputs: &mut [&mut [u8]])
    -> Result<(), Failure>;
}

/// [`MatrixWork`] for numbers of any type.
pub(super) trait FieldWork: Sync {
    /// Writes the results for one matrix of each operand.
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure>;
}

/// Compiles [`FieldWork`] for every dtype.
macro_rules! matrix_work {
    ($($work:ty),*) => {$(
        impl MatrixWork for $work {
            fn run(
                &self,
                dtype: DType,
                inputs: &[&[u8]],
                outputs: &mut [&mut [u8]],
            ) -> Result<(), Failure> {
                match dtype {
                    DType::F32 => FieldWork::run::<f32>(self, &all_typed(inputs), outputs),
                    DType::F64 => FieldWork::run::<f64>(self, &all_typed(inputs), outputs),
                    DType::C64 => FieldWork::run::<c64>(self, &all_typed(inputs), outputs),
                    _ => FieldWork::run::<c128>(self, &all_typed(inputs), outputs),
                }
            }
        }
    )*};
}
matrix_work!(
    super::Cholesky,
    super::CholeskySolve,
    super::Determinant,
    super::Eigen,
    super::Exponential,
    super::HouseholderProduct,
    super::LeastSquares,
    super::Lu,
    super::LuParts,
    super::LuSolve,
    super::Power,
    super::PseudoInverse,
    super::Qr,
    super::SelfAdjoint,
    super::Solve,
    super::SolveTriangular,
    super::Svd
);

/// Elements that are worked on together, at the least.
const TOGETHER: usize = 4096;

/// Runs work on `count` matrices of each operand in float32, float64, complex64 or complex128.
///
/// # Errors
/// The first matrix without an answer, and why it has none.
pub(crate) fn run_batch(
    dtype: DType,
    work: &dyn MatrixWork,
    count: usize,
    inputs: &[Matrices<'_>],
    outputs: &mut [Results<'_>],
) -> Result<(), (usize, Failure)> {
    let widths: Vec<usize> = outputs.iter().map(|output| output.width).collect();
    let largest = inputs.iter().map(|input| input.size).max().unwrap_or(0);
    let together = (TOGETHER / largest.max(1)).clamp(1, count.max(1));
    let mut rests: Vec<&mut [u8]> = outputs.iter_mut().map(|o| &mut *o.bytes).collect();
    let in_first = |failure| (0, failure);
    let mut jobs = try_with_capacity(count.div_ceil(together)).map_err(in_first)?;
    for first in (0..count).step_by(together) {
        let count = together.min(count - first);
        let mut parts = Few::with_capacity(rests.len());
        for (rest, width) in rests.iter_mut().zip(&widths) {
            let (part, after) = std::mem::take(rest).split_at_mut(width * count);
            parts.push(part);
            *rest = after;
        }
        jobs.push(Job {
            first,
            count,
            outputs: parts,
            answer: Ok(()),
        });
    }
    let run_job = |job: &mut Job<'_>| -> Result<(), (usize, Failure)> {
        let mut rests: Few<&mut [u8]> = job.outputs.iter_mut().map(|o| &mut **o).collect();
        for index in job.first..job.first + job.count {
            let matrices: Few<&[u8]> = inputs
                .iter()
                .map(|input| {
                    let width = input.size * dtype.itemsize();
                    &input.bytes[index * width..(index + 1) * width]
                })
                .collect();
            let mut places: Few<&mut [u8]> = Few::new();
            for (rest, width) in rests.iter_mut().zip(&widths) {
                let (place, after) = std::mem::take(rest).split_at_mut(*width);
                places.push(place);
                *rest = after;
            }
            work.run(dtype, &matrices, &mut places)
                .map_err(|failure| (index, failure))?;
        }
        Ok(())
    };
    parallel::for_each_part(&mut jobs, 1, |_, jobs| {
        for job in jobs {
            job.answer = run_job(job);
        }
    });
    jobs.into_iter().try_for_each(|job| job.answer)
}

/// The results of consecutive matrices.
struct Job<'a> {
    first: usize,
    count: usize,
    outputs: Few<&'a mut [u8]>,
    answer: Result<(), (usize, Failure)>,
}

/// The operands or results of one matrix.
type Few<T> = SmallVec<[T; 4]>;

fn all_typed<'a, T: Pod>(inputs: &[&'a [u8]]) -> Few<&'a [T]> {
    inputs.iter().map(|bytes| typed(bytes)).collect()
}

/// Bytes as elements; nothing is nothing, wherever it lies.
fn typed<T: Pod>(bytes: &[u8]) -> &[T] {
    if bytes.is_empty() {
        &[]
    } else {
        bytemuck::cast_slice(bytes)
    }
}

/// Bytes as elements to write to.
pub(super) fn typed_mut<T: Pod>(bytes: &mut [u8]) -> &mut [T] {
    if bytes.is_empty() {
        &mut []
    } else {
        bytemuck::cast_slice_mut(bytes)
    }
}
