//! What is done with every matrix of a batch, on all threads.

use allotrope_dtype::{DType, c64, c128};
use bytemuck::Pod;

use super::field::Field;
use crate::parallel;

/// Why a matrix has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
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
}

/// The matrices of an operand: consecutive elements of the working dtype.
#[derive(Clone, Copy)]
pub struct Matrices<'a> {
    /// The elements.
    pub bytes: &'a [u8],
    /// The elements of one matrix.
    pub size: usize,
}

/// Where results of all matrices go.
pub struct Results<'a> {
    /// The elements.
    pub bytes: &'a mut [u8],
    /// The bytes that one matrix has.
    pub width: usize,
}

/// What is done with each matrix of a batch.
pub trait MatrixWork: Sync {
    /// Writes the results for one matrix of each operand.
    ///
    /// # Errors
    /// Where the matrix has no answer.
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure>;
}

/// Elements that are worked on together, at the least.
const TOGETHER: usize = 4096;

/// Runs work on `count` matrices of each operand in float32, float64, complex64 or complex128.
///
/// # Errors
/// The first matrix without an answer, and why it has none.
pub fn run_batch(
    dtype: DType,
    work: &impl MatrixWork,
    count: usize,
    inputs: &[Matrices<'_>],
    outputs: &mut [Results<'_>],
) -> Result<(), (usize, Failure)> {
    match dtype {
        DType::F32 => run_typed::<f32>(work, count, inputs, outputs),
        DType::F64 => run_typed::<f64>(work, count, inputs, outputs),
        DType::C64 => run_typed::<c64>(work, count, inputs, outputs),
        _ => run_typed::<c128>(work, count, inputs, outputs),
    }
}

/// The results of consecutive matrices.
struct Job<'a> {
    first: usize,
    count: usize,
    outputs: Vec<&'a mut [u8]>,
}

fn run_typed<T: Field>(
    work: &impl MatrixWork,
    count: usize,
    inputs: &[Matrices<'_>],
    outputs: &mut [Results<'_>],
) -> Result<(), (usize, Failure)> {
    let inputs: Vec<(&[T], usize)> = inputs
        .iter()
        .map(|input| (typed(input.bytes), input.size))
        .collect();
    let widths: Vec<usize> = outputs.iter().map(|output| output.width).collect();
    let largest = inputs.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let together = (TOGETHER / largest.max(1)).clamp(1, count.max(1));
    let mut rests: Vec<&mut [u8]> = outputs.iter_mut().map(|o| &mut *o.bytes).collect();
    let mut jobs = Vec::with_capacity(count.div_ceil(together));
    for first in (0..count).step_by(together) {
        let count = together.min(count - first);
        let mut parts = Vec::with_capacity(rests.len());
        for (rest, width) in rests.iter_mut().zip(&widths) {
            let (part, after) = std::mem::take(rest).split_at_mut(width * count);
            parts.push(part);
            *rest = after;
        }
        jobs.push(Job {
            first,
            count,
            outputs: parts,
        });
    }
    let run_job = |job: &mut Job<'_>| -> Result<(), (usize, Failure)> {
        let mut rests: Vec<&mut [u8]> = job.outputs.iter_mut().map(|o| &mut **o).collect();
        for index in job.first..job.first + job.count {
            let matrices: Vec<&[T]> = inputs
                .iter()
                .map(|(elements, size)| &elements[index * size..(index + 1) * size])
                .collect();
            let mut places = Vec::with_capacity(rests.len());
            for (rest, width) in rests.iter_mut().zip(&widths) {
                let (place, after) = std::mem::take(rest).split_at_mut(*width);
                places.push(place);
                *rest = after;
            }
            work.run::<T>(&matrices, &mut places)
                .map_err(|failure| (index, failure))?;
        }
        Ok(())
    };
    let mut answers: Vec<Result<(), (usize, Failure)>> = vec![Ok(()); jobs.len()];
    let mut both: Vec<_> = jobs.iter_mut().zip(&mut answers).collect();
    parallel::for_each_part(&mut both, 1, |_, both| {
        for (job, answer) in both {
            **answer = run_job(job);
        }
    });
    answers.into_iter().collect()
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
