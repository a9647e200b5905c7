//! Programs whose outputs are written over several variables at once, such as a parameter and what an
//! optimizer remembers of it: one pass over memory.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::host::memory::{try_collect, try_with_capacity};
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Layout, Origin, Program, Rewrite, Target};
use smallvec::SmallVec;

use super::Variable;
use super::storage::{Contents, Guard, Storage};
use super::write::shared_elements;
use crate::Tensor;
use crate::autograd::no_grad;
use crate::elementwise::evaluate;
use crate::fork::undivided;
use crate::overflow::is_watched;

/// An input of a program that is written over variables.
#[derive(Clone, Debug)]
pub enum Rewritten {
    /// A target, by its number, as it was before.
    Target(usize),
    /// A tensor of the targets' shape.
    Tensor(Tensor),
}

/// One run of a program over variables: a target for each output.
#[derive(Clone, Debug)]
pub struct Rewriting<'a> {
    /// What is written to.
    pub targets: SmallVec<[&'a Variable; 4]>,
    /// What is read.
    pub inputs: SmallVec<[Rewritten; 6]>,
}

/// Where a target is.
struct Place {
    storage: Arc<Storage>,
    layout: Layout,
    dtype: DType,
}

/// A checked run, with the places of its targets.
struct Checked<'a, 'v> {
    run: &'a Rewriting<'v>,
    places: SmallVec<[Place; 4]>,
    /// What is to be written, where memory is not laid out for one pass over it.
    results: Option<Vec<Tensor>>,
}

/// Runs of a program over variables that have been checked.
pub struct CheckedRewrite<'a, 'v> {
    op: &'static str,
    program: &'a Program,
    runs: Vec<Checked<'a, 'v>>,
}

impl fmt::Debug for CheckedRewrite<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedRewrite({}, {} runs)", self.op, self.runs.len())
    }
}

impl CheckedRewrite<'_, '_> {
    /// Writes the outputs.
    ///
    /// # Errors
    /// A memory error, if values were taken meanwhile.
    pub fn run(self) -> Result<(), Error> {
        let Self { op, program, runs } = self;
        let _whole = undivided();
        let mut rest = &runs[..];
        while let Some(first) = rest.first() {
            let together = distinct(rest);
            match together {
                0 => run_apart(op, program, first)?,
                _ => run_together(op, program, &rest[..together])?,
            }
            rest = &rest[together.max(1)..];
        }
        Ok(())
    }
}

impl Variable {
    /// Writes the outputs of a program over variables, for as many sets of them as are given; nothing
    /// is recorded. Where the memory is laid out for it, that is one pass over it for all sets.
    ///
    /// Everything is checked, and memory that values hold is copied, before the first write.
    ///
    /// ```
    /// use allotrope_tensor::{Builder, DType, Rewriting, Rewritten, Tensor, Variable};
    /// let builder = Builder::new(&[DType::F32; 3]);
    /// let (x, sum, step) = (builder.input(0), builder.input(1), builder.input(2));
    /// let program = builder.finish(&[x - step, sum + step]);
    /// let x = Variable::new(Tensor::ones(&[2], DType::F32)?);
    /// let sum = Variable::new(Tensor::zeros(&[2], DType::F32)?);
    /// let step = Tensor::full(&[2], 0.25, DType::F32)?;
    /// let run = Rewriting {
    ///     targets: [&x, &sum].into_iter().collect(),
    ///     inputs: [Rewritten::Target(0), Rewritten::Target(1), Rewritten::Tensor(step)]
    ///         .into_iter()
    ///         .collect(),
    /// };
    /// Variable::rewrite_all("step", &program, &[run])?;
    /// assert_eq!(x.value().to_vec::<f32>()?, [0.75; 2]);
    /// assert_eq!(sum.value().to_vec::<f32>()?, [0.25; 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for other dtypes than the program's, a value error for other shapes or if
    /// elements share memory, a memory error, a device error; then nothing has been written.
    pub fn rewrite_all(
        op: &'static str,
        program: &Program,
        runs: &[Rewriting<'_>],
    ) -> Result<(), Error> {
        let mut ready = Self::check_rewrite(op, program, runs)?;
        Self::prepare_rewrites(std::slice::from_mut(&mut ready))?;
        ready.run()
    }

    /// Checks everything that [`rewrite_all`](Self::rewrite_all) does, and copies memory that values
    /// hold, but writes nothing yet: so that several programs are checked before the first one runs.
    ///
    /// # Errors
    /// As [`rewrite_all`](Self::rewrite_all).
    pub fn check_rewrite<'a, 'v>(
        op: &'static str,
        program: &'a Program,
        runs: &'a [Rewriting<'v>],
    ) -> Result<CheckedRewrite<'a, 'v>, Error> {
        let runs = check_all(op, program, runs)?;
        Ok(CheckedRewrite { op, program, runs })
    }

    /// Makes what needs room for all runs: from here on [`CheckedRewrite::run`] only writes. One whose
    /// targets lie in memory of another before it is left out, since it goes on from what that writes.
    ///
    /// # Errors
    /// A memory error; then nothing has been written.
    pub fn prepare_rewrites(rewrites: &mut [CheckedRewrite<'_, '_>]) -> Result<(), Error> {
        let _whole = undivided();
        let mut seen = HashSet::new();
        for CheckedRewrite { op, program, runs } in rewrites {
            for checked in runs {
                let storages = || {
                    checked
                        .places
                        .iter()
                        .map(|place| Arc::as_ptr(&place.storage))
                };
                let is_first = storages().all(|storage| !seen.contains(&storage));
                seen.extend(storages());
                if !is_first || checked.is_plain() {
                    continue;
                }
                checked.results = Some(results_of(op, program, checked)?);
                for place in &checked.places {
                    place.storage.lock().make_own(op)?;
                }
            }
        }
        Ok(())
    }

    /// Makes sure that a write to the variable copies nothing from here on, unless a value is taken
    /// before; whether memory of someone else was copied for it.
    ///
    /// # Errors
    /// A memory error, a value error if elements share memory.
    pub(super) fn make_own(&self, op: &'static str) -> Result<bool, Error> {
        let _whole = undivided();
        let place = self.place(op)?;
        place.storage.lock().make_own(op)
    }

    fn place(&self, op: &'static str) -> Result<Place, Error> {
        let mut state = self.lock();
        let alias = state.share()?;
        if alias.layout.repeats() {
            return Err(shared_elements(op, &alias.layout));
        }
        Ok(Place {
            storage: Arc::clone(&alias.storage),
            layout: alias.layout.clone(),
            dtype: alias.dtype,
        })
    }
}

impl Checked<'_, '_> {
    /// Whether the targets lie in order, each in memory of its own.
    fn is_plain(&self) -> bool {
        let mut places = self.places.iter().enumerate();
        places.all(|(i, place)| {
            place.layout.is_contiguous()
                && !self.places[..i].iter().any(|other| other.is_with(place))
        })
    }
}

impl Place {
    fn is_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }
}

fn check_all<'a, 'v>(
    op: &'static str,
    program: &Program,
    runs: &'a [Rewriting<'v>],
) -> Result<Vec<Checked<'a, 'v>>, Error> {
    let _whole = undivided();
    let mut checked = try_with_capacity(op, runs.len())?;
    for run in runs {
        same_length(op, run.targets.len(), program.outputs().len())?;
        same_length(op, run.inputs.len(), program.input_count())?;
        let mut places: SmallVec<[Place; 4]> = SmallVec::new();
        for (target, dtype) in run.targets.iter().zip(program.output_dtypes()) {
            let place = target.place(op)?;
            same_dtype(op, place.dtype, dtype)?;
            if let Some(first) = places.first() {
                same_shape(op, place.layout.shape(), first.layout.shape())?;
            }
            places.push(place);
        }
        for (input, dtype) in run.inputs.iter().zip(program.input_dtypes()) {
            match input {
                Rewritten::Target(number) => match places.get(*number) {
                    Some(place) => same_dtype(op, place.dtype, *dtype)?,
                    None => same_length(op, places.len(), number + 1)?,
                },
                Rewritten::Tensor(tensor) => {
                    same_dtype(op, tensor.dtype(), *dtype)?;
                    if let Some(first) = places.first() {
                        same_shape(op, tensor.shape(), first.layout.shape())?;
                    }
                }
            }
        }
        for place in &places {
            place.storage.lock().make_own(op)?;
        }
        checked.push(Checked {
            run,
            places,
            results: None,
        });
    }
    Ok(checked)
}

fn same_length(op: &'static str, from: usize, to: usize) -> Result<(), Error> {
    match from == to {
        true => Ok(()),
        false => Err(Error::new(op, Problem::LengthMismatch { from, to })),
    }
}

fn same_dtype(op: &'static str, given: DType, dtype: DType) -> Result<(), Error> {
    match given == dtype {
        true => Ok(()),
        false => Err(Error::new(
            op,
            Problem::WrongElement {
                given: dtype,
                dtype: given,
            },
        )),
    }
}

fn same_shape(op: &'static str, given: &[usize], target: &[usize]) -> Result<(), Error> {
    if given == target {
        return Ok(());
    }
    let problem = Problem::ShapeChanged {
        given: given.to_vec(),
        // bounded: sizes of a shape.
        target: target.to_vec(),
    };
    Err(Error::new(op, problem))
}

/// How many runs from the first on are plain and have no memory in common.
fn distinct(runs: &[Checked<'_, '_>]) -> usize {
    let mut seen = HashSet::new();
    for (number, run) in runs.iter().enumerate() {
        let mut places = run.places.iter();
        if !run.is_plain() || !places.all(|place| seen.insert(Arc::as_ptr(&place.storage))) {
            return number;
        }
    }
    runs.len()
}

/// All runs in one pass: their memory is locked for it.
fn run_together(
    op: &'static str,
    program: &Program,
    runs: &[Checked<'_, '_>],
) -> Result<(), Error> {
    if is_watched() {
        return runs.iter().try_for_each(|run| run_apart(op, program, run));
    }
    // In the order of addresses, so that no two threads wait for each other.
    let places = runs.iter().flat_map(|run| &run.places);
    let places: Vec<&Place> = try_collect(op, places)?;
    let mut order: Vec<usize> = try_collect(op, 0..places.len())?;
    order.sort_unstable_by_key(|number| Arc::as_ptr(&places[*number].storage));
    let mut locked: Vec<(usize, Guard<'_, Contents>)> = try_with_capacity(op, places.len())?;
    for number in order {
        let mut contents = places[number].storage.lock();
        contents.make_own(op)?;
        locked.push((number, contents));
    }
    locked.sort_unstable_by_key(|(number, _)| *number);
    let mut memories = locked.iter_mut().map(|(_, contents)| &mut contents.memory);
    let mut rewrites = try_with_capacity(op, runs.len())?;
    let mut backend = None;
    for checked in runs {
        let Some(first) = checked.places.first() else {
            continue;
        };
        let mut targets = SmallVec::new();
        for place in &checked.places {
            let Some(memory) = memories.next() else {
                continue;
            };
            backend.get_or_insert(memory.backend());
            let mut target = Target::new(op, memory, place.layout.shape().count())?;
            target.start = place.layout.offset();
            targets.push(target);
        }
        let inputs = checked.run.inputs.iter().map(|input| match input {
            Rewritten::Target(number) => Origin::Target(*number),
            Rewritten::Tensor(tensor) => Origin::View(tensor.view_of()),
        });
        rewrites.push(Rewrite {
            shape: first.layout.shape(),
            inputs: inputs.collect(),
            targets,
        });
    }
    let Some(backend) = backend else {
        return Ok(());
    };
    if backend.run_into(op, program, rewrites)? {
        return Ok(());
    }
    drop(locked);
    runs.iter().try_for_each(|run| run_apart(op, program, run))
}

/// What one run is to write.
fn results_of(
    op: &'static str,
    program: &Program,
    checked: &Checked<'_, '_>,
) -> Result<Vec<Tensor>, Error> {
    let _off = no_grad();
    let inputs = checked.run.inputs.iter().filter_map(|input| match input {
        Rewritten::Target(number) => {
            let target = checked.run.targets.get(*number)?;
            Some(target.value().detach())
        }
        Rewritten::Tensor(tensor) => Some(tensor.detach()),
    });
    let inputs: Vec<Tensor> = inputs.collect();
    evaluate(op, program, &inputs.iter().collect::<Vec<_>>())
}

/// One run by results of its own, which are then written to where the targets are.
fn run_apart(op: &'static str, program: &Program, checked: &Checked<'_, '_>) -> Result<(), Error> {
    let made;
    let results = match &checked.results {
        Some(results) => results,
        None => {
            made = results_of(op, program, checked)?;
            &made
        }
    };
    for place in &checked.places {
        place.storage.lock().make_own(op)?;
    }
    for (place, result) in checked.places.iter().zip(results) {
        let mut contents = place.storage.lock();
        contents.make_own(op)?;
        contents.write(op, place.layout.clone(), result)?;
    }
    Ok(())
}
