//! One step of many parameters. Everything is checked and made room for first; then parameters, their
//! masters and what is remembered of them are written in one pass over memory.

use allotrope_tensor::{
    Builder, CastOptions, CheckedRewrite, DType, Error, Generator, Problem, Program, Rewriting,
    Rewritten, Rounding, Set, Tensor, Var, Variable, WeakScalar, autocast, autocast_setting,
    no_grad, undivided,
};
use smallvec::SmallVec;

use super::algorithm::{Algorithm, Numbers, Slot, TensorUpdate, Update};
use super::precision::{Precision, computing};

/// The name of a parameter's master among its state.
pub const MASTER: &str = "master_weight";

/// A parameter that takes a step.
#[derive(Debug)]
pub struct Item<'a> {
    /// The parameter.
    pub parameter: &'a Variable,
    /// Its gradient.
    pub gradient: Tensor,
    /// What is remembered of it, in the order of the algorithm's slots.
    pub state: SmallVec<[&'a Variable; 4]>,
    /// The master, if there is one.
    pub master: Option<&'a Variable>,
    /// The numbers that are remembered, which the step counts on.
    pub numbers: Numbers,
    /// Whether nothing was remembered before.
    pub is_first: bool,
}

/// Parameters with the same rule.
#[derive(Debug)]
pub struct Group<'a> {
    /// The rule.
    pub algorithm: &'a dyn Algorithm,
    /// What is kept in which dtype.
    pub precision: Precision,
    /// The parameters that have a gradient.
    pub items: Vec<Item<'a>>,
}

/// What is remembered of a parameter before its first step, for one slot; nothing for the master slot of
/// a parameter without one.
///
/// # Errors
/// A memory error.
pub fn initial_state(
    slot: &Slot,
    parameter: &Tensor,
    precision: &Precision,
) -> Result<Tensor, Error> {
    let shape = slot.shape.as_deref().unwrap_or(parameter.shape());
    let dtype = precision.state_of(parameter.dtype());
    if slot.first == 0.0 {
        return parameter.new_zeros(shape, dtype);
    }
    let real = parameter.new_full(shape, slot.first, dtype.to_real())?;
    match dtype.is_complex() {
        // Both parts, since steps see them as numbers of their own.
        true => real.complex(&real),
        false => Ok(real),
    }
}

/// State that is narrower than its rule, in the rule's dtype; nothing for what is not. Widening loses
/// nothing.
///
/// # Errors
/// A value error for a state of another shape, a dtype error for one that is no float, a memory error.
pub fn widened(
    slot: &Slot,
    state: &Tensor,
    parameter: &Tensor,
    precision: &Precision,
) -> Result<Option<Tensor>, Error> {
    let shape = slot.shape.as_deref().unwrap_or(parameter.shape());
    if &state.shape()[..] != shape {
        let problem = Problem::WrongShape {
            what: slot.name,
            given: state.shape().to_vec(),
            accepted: format!("{shape:?}"),
        };
        return Err(Error::new("step", problem));
    }
    let dtype = precision.state_of(parameter.dtype());
    if state.dtype().kind() != dtype.kind() {
        let (given, dtype) = (dtype, state.dtype());
        return Err(Error::new("step", Problem::WrongElement { given, dtype }));
    }
    match dtype.fits_in(state.dtype()) {
        true => Ok(None),
        false if state.dtype().fits_in(dtype) => state.to(dtype).map(Some),
        // Neither holds the other: what was saved stays.
        false => Ok(None),
    }
}

/// Refuses saved state of a parameter that lacks something which the rule remembers; nothing at all is
/// that of a parameter that took no step.
///
/// # Errors
/// A value error.
pub fn check_names(
    op: &'static str,
    algorithm: &dyn Algorithm,
    slots: &[Slot],
    is_given: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let names = algorithm.number_names().iter().copied();
    let names: SmallVec<[&'static str; 8]> = names.chain(slots.iter().map(|s| s.name)).collect();
    let missing = names.iter().find(|name| !is_given(name));
    match missing {
        Some(missing) if names.iter().any(|name| is_given(name)) => {
            let problem = Problem::OutOfRange {
                what: "state",
                index: None,
                value: format!("one without {missing}"),
                accepted: "all that the rule remembers, or nothing,",
            };
            Err(Error::new(op, problem))
        }
        _ => Ok(()),
    }
}

/// Refuses a saved number that no step leaves.
///
/// # Errors
/// A value error for NaN and infinities, and for counts below zero.
pub fn check_number(op: &'static str, name: &str, number: f64) -> Result<(), Error> {
    if number.is_finite() && (name != "step" || number >= 0.0) {
        return Ok(());
    }
    let problem = Problem::OutOfRange {
        what: "state",
        index: None,
        value: format!("{name} {number}"),
        accepted: "finite numbers, and counts from 0 on,",
    };
    Err(Error::new(op, problem))
}

/// Variables that a step makes for itself: real and imaginary parts, and sums that are still to be
/// rounded.
#[derive(Default)]
struct Own {
    parts: Option<Parts>,
    unrounded: Option<Variable>,
    /// Whether the parameter is rounded by chance after the step.
    is_rounded_later: bool,
    /// What an elementwise step writes in the place of state and master until then.
    copies: Option<Copies>,
}

struct Copies {
    state: SmallVec<[Variable; 4]>,
    master: Option<Variable>,
}

impl Own {
    fn parameter<'a>(&'a self, item: &'a Item<'_>) -> &'a Variable {
        let parts = self.parts.as_ref();
        parts.map_or(item.parameter, |parts| &parts.parameter)
    }

    fn master<'a>(&'a self, item: &'a Item<'_>) -> Option<&'a Variable> {
        match &self.parts {
            Some(parts) => parts.master.as_ref(),
            None => item.master,
        }
    }

    fn state<'a>(&'a self, item: &'a Item<'_>) -> SmallVec<[&'a Variable; 4]> {
        match &self.parts {
            Some(parts) => parts.state.iter().collect(),
            None => item.state.iter().copied().collect(),
        }
    }
}

struct Parts {
    parameter: Variable,
    state: SmallVec<[Variable; 4]>,
    master: Option<Variable>,
    gradient: Tensor,
}

/// What a program is made of; parameters that have it in common share one.
#[derive(PartialEq)]
struct Key {
    group: usize,
    numbers: Numbers,
    is_first: bool,
    dtypes: SmallVec<[DType; 8]>,
    is_rounded_later: bool,
}

struct Batch<'a> {
    key: Key,
    program: Program,
    runs: Vec<Rewriting<'a>>,
}

/// Takes a step of every parameter. Numbers count on only if all of them do.
///
/// # Errors
/// A dtype error, a value error or a memory error, before anything is written.
pub fn step(groups: &mut [Group<'_>], generator: Option<&Generator>) -> Result<(), Error> {
    let _whole = undivided();
    let _off = no_grad();
    let _plain = autocast(autocast_setting().dtype, false)?;
    let mut owns = Vec::new();
    for group in groups.iter() {
        for item in &group.items {
            group.algorithm.check_parameter(&item.parameter.value())?;
            owns.push(own(group, item)?);
        }
    }
    let mut numbers = Vec::with_capacity(owns.len());
    // Those that are rounded by chance are written to copies first.
    let (mut apart, mut batches) = (Vec::new(), Vec::new());
    let mut writes: Vec<(&Variable, Tensor)> = Vec::new();
    let mut rounder = Rounder::new(generator);
    let mut own = owns.iter();
    for (number, group) in groups.iter().enumerate() {
        for item in &group.items {
            let mut after = item.numbers.clone();
            group.algorithm.advance(&mut after);
            let Some(own) = own.next() else { continue };
            if group.algorithm.is_elementwise() {
                let batches = match own.is_rounded_later {
                    true => &mut apart,
                    false => &mut batches,
                };
                plan(batches, number, group, item, &after, own)?;
            } else {
                step_whole(group, item, &after, own, &mut rounder, &mut writes)?;
            }
            numbers.push(after);
        }
    }
    for ready in checked(&apart)? {
        ready.run()?;
    }
    let mut own = owns.iter();
    for item in groups.iter().flat_map(|group| &group.items) {
        let Some(own) = own.next() else { continue };
        write_rounded(item, own, &mut rounder, &mut writes)?;
    }
    // It holds parameters as they were.
    drop(apart);
    // Nothing was written that anybody sees, and from here on there is room for all of it.
    let ready = checked(&batches)?;
    Variable::write_all("step", &writes)?;
    for ready in ready {
        ready.run()?;
    }
    rounder.finish();
    drop((batches, writes));
    let mut numbers = numbers.into_iter();
    for item in groups.iter_mut().flat_map(|group| &mut group.items) {
        if let Some(after) = numbers.next() {
            item.numbers = after;
        }
    }
    Ok(())
}

/// Runs that are checked and made room for.
fn checked<'a, 'v>(batches: &'a [Batch<'v>]) -> Result<Vec<CheckedRewrite<'a, 'v>>, Error> {
    let mut ready = Vec::with_capacity(batches.len());
    for batch in batches {
        ready.push(Variable::check_rewrite(
            "step",
            &batch.program,
            &batch.runs,
        )?);
    }
    Variable::prepare_rewrites(&mut ready)?;
    Ok(ready)
}

/// The variables that an item's step needs beside the given ones.
fn own(group: &Group<'_>, item: &Item<'_>) -> Result<Own, Error> {
    let value = item.parameter.value();
    let real = |variable: &Variable| variable.view(|x| x.view_as_real());
    let parts = match value.dtype().is_complex() && group.algorithm.is_elementwise() {
        false => None,
        true => Some(Parts {
            parameter: real(item.parameter)?,
            state: item
                .state
                .iter()
                .map(|x| real(x))
                .collect::<Result<_, _>>()?,
            master: item.master.map(real).transpose()?,
            gradient: item.gradient.detach().view_as_real()?,
        }),
    };
    let compute = compute_of(item, value.dtype());
    let is_narrow = value.dtype().to_real() != compute;
    let is_rounded_later = group.precision.stochastic_rounding && is_narrow;
    let is_apart = is_rounded_later && group.algorithm.is_elementwise();
    // A master holds the sum itself.
    let unrounded = match is_apart && item.master.is_none() {
        false => None,
        true => {
            let shape = match &parts {
                Some(parts) => parts.parameter.value().shape().to_vec(),
                None => value.shape().to_vec(),
            };
            Some(Variable::new(value.new_zeros(&shape[..], compute)?))
        }
    };
    let mut own = Own {
        parts,
        unrounded,
        is_rounded_later,
        copies: None,
    };
    if is_apart {
        let copy = |variable: &Variable| variable.value().detach().copied().map(Variable::new);
        let state = own.state(item).into_iter().map(copy);
        own.copies = Some(Copies {
            state: state.collect::<Result<_, _>>()?,
            master: own.master(item).map(copy).transpose()?,
        });
    }
    Ok(own)
}

fn compute_of(item: &Item<'_>, parameter: DType) -> DType {
    let state = item.state.iter().chain(&item.master);
    computing(
        state
            .map(|state| state.value().dtype())
            .chain([parameter, item.gradient.dtype()]),
    )
}

/// Adds an item to the batch of its program.
fn plan<'a>(
    batches: &mut Vec<Batch<'a>>,
    number: usize,
    group: &'a Group<'_>,
    item: &'a Item<'_>,
    after: &Numbers,
    own: &'a Own,
) -> Result<(), Error> {
    let parameter = own.parameter(item);
    let (state, master) = match &own.copies {
        Some(copies) => (copies.state.iter().collect(), copies.master.as_ref()),
        None => (own.state(item), own.master(item)),
    };
    let gradient = match &own.parts {
        Some(parts) => parts.gradient.clone(),
        None => item.gradient.detach(),
    };
    let is_rounded_later = own.is_rounded_later;
    let mut targets: SmallVec<[&'a Variable; 4]> = SmallVec::new();
    let mut inputs: SmallVec<[Rewritten; 6]> = SmallVec::new();
    // The parameter first: it is read unless there is a master, and written unless it is rounded later.
    match (is_rounded_later, master) {
        (false, None) => {
            inputs.push(Rewritten::Target(0));
            targets.push(parameter);
        }
        (false, Some(master)) => {
            inputs.push(Rewritten::Target(1));
            targets.push(parameter);
            targets.push(master);
        }
        (true, None) => {
            inputs.push(Rewritten::Tensor(parameter.value().detach()));
            targets.extend(own.unrounded.as_ref());
        }
        (true, Some(master)) => {
            inputs.push(Rewritten::Target(0));
            targets.push(master);
        }
    }
    for state in &state {
        inputs.push(Rewritten::Target(targets.len()));
        targets.push(state);
    }
    inputs.push(Rewritten::Tensor(gradient));
    if master.is_some() && !is_rounded_later {
        inputs.push(Rewritten::Target(0));
    }
    let mut dtypes: SmallVec<[DType; 8]> = targets.iter().map(|x| x.value().dtype()).collect();
    for input in &inputs {
        dtypes.push(match input {
            Rewritten::Target(number) => dtypes[*number],
            Rewritten::Tensor(tensor) => tensor.dtype(),
        });
    }
    let key = Key {
        group: number,
        numbers: after.clone(),
        is_first: item.is_first,
        dtypes,
        is_rounded_later,
    };
    let run = Rewriting { targets, inputs };
    if let Some(batch) = batches.iter_mut().rev().find(|batch| batch.key == key) {
        batch.runs.push(run);
        return Ok(());
    }
    let program = program_of(
        group.algorithm,
        item,
        after,
        &key,
        run.targets.len(),
        state.len(),
    );
    batches.push(Batch {
        key,
        program,
        runs: vec![run],
    });
    Ok(())
}

/// The program of a step: inputs are the parameter (or its master), the state and the gradient.
fn program_of(
    algorithm: &dyn Algorithm,
    item: &Item<'_>,
    after: &Numbers,
    key: &Key,
    targets: usize,
    states: usize,
) -> Program {
    let (outputs, inputs) = key.dtypes.split_at(targets);
    let compute = computing(key.dtypes.iter().copied());
    let builder = Builder::new(inputs);
    let input = |number: usize| builder.input(number).to(compute);
    let state: SmallVec<[Var<'_>; 4]> = (1..=states).map(input).collect();
    let parameter = match inputs.len() > states + 2 {
        // A master goes on unless the parameter was given another value since.
        true => {
            let (master, given) = (builder.input(0), builder.input(states + 2));
            let rounded = master.to(given.dtype()).to(compute);
            let is_same = rounded.eq(given.to(compute));
            is_same.pick(master.to(compute), given.to(compute))
        }
        false => input(0),
    };
    let updated = algorithm.update(&Update {
        numbers: after,
        before: &item.numbers,
        is_first: item.is_first,
        parameter,
        gradient: input(states + 1),
        state: &state,
    });
    // A parameter is its master rounded, so that both agree whatever is computed in.
    let mut results: SmallVec<[Var<'_>; 4]> = SmallVec::new();
    match targets - states {
        2 => {
            let master = updated.parameter.to(outputs[1]);
            results.push(master.to(outputs[0]));
            results.push(master);
        }
        _ => results.push(updated.parameter.to(outputs[0])),
    }
    for (state, dtype) in updated.state.iter().zip(&outputs[targets - states..]) {
        results.push(state.to(*dtype));
    }
    builder.finish(&results)
}

/// A step of a whole tensor: what is to be written.
fn step_whole<'a>(
    group: &Group<'_>,
    item: &'a Item<'_>,
    after: &Numbers,
    own: &'a Own,
    rounder: &mut Rounder<'_>,
    writes: &mut Vec<(&'a Variable, Tensor)>,
) -> Result<(), Error> {
    let parameter = item.parameter.value().detach();
    let dtype = parameter.dtype();
    let compute = compute_of(item, dtype);
    let master = item.master.map(|master| master.value().detach());
    let start = match &master {
        Some(master) if !own.is_rounded_later => {
            let is_same = master.to(dtype)?.eq(&parameter)?;
            is_same.where_(&master.to(compute)?, &parameter.to(compute)?)?
        }
        Some(master) => master.to(compute)?,
        None => parameter.to(compute)?,
    };
    let state = item.state.iter().map(|x| x.value().detach().to(compute));
    let state = state.collect::<Result<Vec<_>, Error>>()?;
    let gradient = item.gradient.detach().to(compute)?;
    let updated = group.algorithm.update_tensors(&TensorUpdate {
        numbers: after,
        parameter: &start,
        gradient: &gradient,
        state: &state,
        epsilon: dtype.finfo().map_or(f64::EPSILON, |info| info.eps),
    })?;
    let mut result = updated.parameter;
    if let Some(master) = item.master {
        result = result.to(master.value().dtype())?;
        writes.push((master, result.clone()));
    }
    let result = match own.is_rounded_later {
        true => rounder.round(&result, dtype)?,
        false => result.to(dtype)?,
    };
    writes.push((item.parameter, result));
    for (variable, state) in item.state.iter().zip(&updated.state) {
        writes.push((variable, state.to(variable.value().dtype())?));
    }
    Ok(())
}

/// What an elementwise step that is rounded by chance is to write.
fn write_rounded<'a>(
    item: &'a Item<'_>,
    own: &'a Own,
    rounder: &mut Rounder<'_>,
    writes: &mut Vec<(&'a Variable, Tensor)>,
) -> Result<(), Error> {
    let Some(copies) = &own.copies else {
        return Ok(());
    };
    // A master holds the sum itself.
    let Some(sum) = copies.master.as_ref().or(own.unrounded.as_ref()) else {
        return Ok(());
    };
    let target = own.parameter(item);
    writes.push((target, rounder.round(&sum.value(), target.value().dtype())?));
    let state = own.state(item).into_iter().zip(&copies.state);
    let master = own.master(item).zip(copies.master.as_ref());
    writes.extend(state.chain(master).map(|(to, from)| (to, from.value())));
    Ok(())
}

/// Rounds parameters by chance, word by word of the generator's stream, which moves on when all is
/// written.
struct Rounder<'a> {
    generator: &'a Generator,
    offset: Option<u64>,
}

impl<'a> Rounder<'a> {
    fn new(generator: Option<&'a Generator>) -> Self {
        Self {
            generator: generator.unwrap_or_else(|| Generator::of_process()),
            offset: None,
        }
    }

    fn round(&mut self, sum: &Tensor, dtype: DType) -> Result<Tensor, Error> {
        let offset = self.offset.unwrap_or_else(|| self.generator.offset());
        let rounding = Rounding::Stochastic {
            seed: self.generator.initial_seed(),
            offset: offset.wrapping_mul(4),
        };
        let rounded = sum.to_with(dtype, CastOptions::rounding(rounding))?;
        self.offset = Some(offset.wrapping_add(sum.count().div_ceil(4) as u64));
        Ok(rounded)
    }

    fn finish(self) {
        if let Some(offset) = self.offset {
            self.generator.set_offset(offset);
        }
    }
}

/// The one number of a tensor.
///
/// # Errors
/// A value error unless there is exactly one, a dtype error for a complex one.
pub fn number(tensor: &Tensor) -> Result<f64, Error> {
    match tensor.item()?.value() {
        WeakScalar::Float(number) => Ok(number),
        WeakScalar::Int(number) => Ok(number as f64),
        WeakScalar::Bool(truth) => Ok(f64::from(u8::from(truth))),
        WeakScalar::Complex(_) => {
            let (given, set) = (tensor.dtype(), Set::Real);
            Err(Error::new("item", Problem::NotInSet { given, set }))
        }
    }
}
