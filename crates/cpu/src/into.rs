//! Programs whose outputs are written over what they read: several outputs at once, and several sets of
//! them, such as all parameters of a network. The tiles are `tile`'s.

use allotrope_dtype::{Error, Level};
use allotrope_op::Program;
use smallvec::SmallVec;

use crate::memory::try_with_capacity;
use crate::parallel::{self, CHUNK};
use crate::plan::Plan;
use crate::tile::{Input, Outputs};

/// Where a program that is written over memory reads an input.
#[derive(Clone, Copy)]
pub enum Feed<'a> {
    /// From other memory.
    Input(Input<'a>),
    /// From what an output is written over, by its number.
    Target(usize),
}

/// One run of a program whose outputs are written over row-major elements of their dtypes.
pub struct RunInto<'a> {
    /// How many elements.
    pub count: usize,
    /// Where each input is read.
    pub inputs: SmallVec<[Feed<'a>; 4]>,
    /// Where each output is written.
    pub targets: SmallVec<[&'a mut [u8]; 2]>,
}

/// A part of one run.
struct Chunk<'a> {
    run: usize,
    first: usize,
    count: usize,
    outputs: Outputs<'a>,
}

/// Runs a program over several sets of targets, which are shared out among threads together.
///
/// # Errors
/// A memory error; then nothing has been written.
pub fn run_into(program: &Program, runs: Vec<RunInto<'_>>) -> Result<(), Error> {
    debug_assert!(program.is_valid(), "{program}");
    let level = Level::current();
    let mut plans: Vec<Plan<'_>> = try_with_capacity("run", runs.len())?;
    // Chunks of one run, or several runs that are as long together.
    let mut parts: Vec<SmallVec<[Chunk<'_>; 1]>> = Vec::new();
    let mut room = 0;
    for run in runs.into_iter().filter(|run| run.count > 0) {
        let plan = match plans.last().and_then(|plan| plan.again(&run.inputs)) {
            Some(plan) => plan,
            None => Plan::over(level, program, &run.inputs, false, SmallVec::new())?,
        };
        let number = plans.len();
        plans.push(plan);
        // bounded: one for each output of the program.
        let mut rest: Vec<&mut [u8]> = run.targets.into_iter().collect();
        for first in (0..run.count).step_by(CHUNK) {
            let count = CHUNK.min(run.count - first);
            let mut outputs = Outputs::new();
            for (rest, dtype) in rest.iter_mut().zip(program.output_dtypes()) {
                let (piece, after) = std::mem::take(rest).split_at_mut(count * dtype.itemsize());
                outputs.push(piece);
                *rest = after;
            }
            let chunk = Chunk {
                run: number,
                first,
                count,
                outputs,
            };
            match parts.last_mut() {
                Some(part) if count <= room => {
                    part.push(chunk);
                    room -= count;
                }
                _ => {
                    parts.push(SmallVec::from_buf([chunk]));
                    room = CHUNK - count;
                }
            }
        }
    }
    let run_part = |part: &mut SmallVec<[Chunk<'_>; 1]>| {
        let mut chunks = part.iter_mut();
        chunks.try_for_each(|chunk| {
            let plan = &plans[chunk.run];
            plan.run_chunk(chunk.first, chunk.count, &mut chunk.outputs)
                .map(drop)
        })
    };
    match &mut parts[..] {
        [] => Ok(()),
        [part] => run_part(part),
        parts => parallel::try_for_each_part(parts, 1, |_, parts| {
            parts.iter_mut().try_for_each(run_part)
        }),
    }
}
