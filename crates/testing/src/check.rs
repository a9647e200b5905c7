//! Checks of values, which wait as all work does: what they refuse is a fault that the next reading
//! raises.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::Rowwise;
use allotrope_op::task::{Input, Made, Output, Results, Task};
use allotrope_op::{Askers, Backend, Faults, Shared, View};

use crate::backend::{Apart, Held, blocks, bytes_of, see};
use crate::block::Block;
use crate::calls::count;
use crate::lazy::Lazy;

/// How many checks may wait.
const MOST: usize = 64;

/// The checks of a device that nobody has waited for.
#[derive(Debug)]
pub(crate) struct Checks {
    waiting: Mutex<Vec<Arc<Lazy<Vec<Shared>>>>>,
    faults: Faults,
    asked: AtomicU64,
}

impl Checks {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            faults: Faults::new(),
            asked: AtomicU64::new(0),
        }
    }

    /// Does what waits, and raises the first fault that concerns who reads these elements.
    pub(crate) fn settle(&self, read: &[View<'_>]) -> Result<(), Error> {
        let mut askers = Askers::this_thread();
        for view in read {
            askers = askers.and(Block::of(view.memory)?.askers());
        }
        run(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.faults.raise(askers)
    }

    fn queue(&self, check: &Arc<Lazy<Vec<Shared>>>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Arc::clone(check));
        if waiting.len() > MOST {
            run(&mut waiting);
        }
    }
}

/// Does what waits, while nobody else may look for its faults.
fn run(waiting: &mut Vec<Arc<Lazy<Vec<Shared>>>>) {
    for check in waiting.drain(..) {
        // What went wrong is noted.
        let _ = check.get();
    }
}

/// A check that outlives its call.
fn owned(task: &Task<'_>) -> Option<Task<'static>> {
    match task {
        task if !task.is_check() => None,
        Task::Indexing(task) => Some(Task::Indexing(*task)),
        Task::Values(task) => Some(Task::Values(*task)),
        Task::Rowwise(Rowwise::ClassIndices { classes, ignored }) => {
            let (classes, ignored) = (*classes, *ignored);
            Some(Task::Rowwise(Rowwise::ClassIndices { classes, ignored }))
        }
        _ => None,
    }
}

/// What the CPU makes of a check; the input where that serves as it is.
fn perform_here(
    op: &'static str,
    task: &Task<'_>,
    dtypes: &[DType],
    views: &[View<'_>],
    outputs: &[Output],
) -> Result<Vec<Shared>, Error> {
    let each = dtypes.iter().zip(views);
    let inputs: Vec<Input<'_>> = each
        .map(|(dtype, view)| Input {
            dtype: *dtype,
            view: *view,
        })
        .collect();
    let made = CPU.perform(op, task, &inputs, outputs)?.unwrap_or_default();
    match outputs.get(made.len()) {
        Some(output) => Ok(vec![CPU.copy(op, output.dtype, views[0])?]),
        None => Ok(made.into_iter().map(|made| made.memory).collect()),
    }
}

impl Apart {
    /// Queues a check; what it writes is in range whatever it finds.
    pub(crate) fn check(
        &'static self,
        op: &'static str,
        task: &Task<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let Some(task) = owned(task) else {
            return Ok(None);
        };
        count("check");
        let dtypes: Vec<DType> = inputs.iter().map(|input| input.dtype).collect();
        let views: Vec<View<'_>> = inputs.iter().map(|input| input.view).collect();
        let held = Held::all(&dtypes, &views)?;
        let (read, asked) = (held.clone(), outputs.to_vec());
        let asker = Askers::this_thread();
        let order = self.checks.asked.fetch_add(1, Ordering::Relaxed);
        let check = Lazy::pending(move || {
            let made = see(&read, |views| {
                perform_here(op, &task, &dtypes, views, &asked)
            });
            made.or_else(|fault| {
                self.checks.faults.note(order, asker, fault);
                let zeros = asked.iter().map(|output| {
                    let zero = vec![0; output.dtype.itemsize()];
                    CPU.fill(op, output.dtype, &zero, output.count)
                });
                zeros.collect()
            })
        });
        self.checks.queue(&check);
        let made = outputs.iter().enumerate().map(|(index, output)| {
            let check = Arc::clone(&check);
            let len = bytes_of(output.dtype, output.count);
            let work = move || Ok(Arc::clone(&check.get()?[index]));
            let block = Block::pending(self, output.dtype, len, &blocks(&held), work)?;
            let (memory, count) = (Arc::new(block) as Shared, output.count);
            Ok(Made { memory, count })
        });
        made.collect::<Result<Results, Error>>().map(Some)
    }
}
