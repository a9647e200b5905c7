//! Putting an operation on record.

use crate::host::memory;
use std::sync::{Arc, OnceLock};

use allotrope_dtype::{DType, Error, GradientProblem, Set};
use allotrope_op::{Program, Read, Shape, Step, differentiate};
use smallvec::{SmallVec, smallvec};

use super::elementwise::Elementwise;
use super::mode::{is_anomaly_enabled, is_grad_enabled};
use super::node::{Body, History, Node, Outline, Rule};
use super::pass::{Gradients, Pass};
use crate::Tensor;
use crate::transfer::gathered;

/// What says where the user's program stands, such as `train.py:12`.
static LOCATE: OnceLock<fn() -> Option<String>> = OnceLock::new();

/// Sets what says where the user's program stands, for reports; the first one stays.
pub fn set_locator(locate: fn() -> Option<String>) {
    // A second one is ignored: there is one user.
    let _ = LOCATE.set(locate);
}

/// Where the user's program stands, if anything can say.
pub(crate) fn locate() -> Option<String> {
    LOCATE.get().and_then(|locate| locate())
}

/// Whether an operation on tensors is to be recorded.
pub(crate) fn is_recorded(tensors: &[&Tensor]) -> bool {
    tensors.iter().any(|tensor| tensor.requires_grad()) && is_grad_enabled()
}

fn edges(inputs: &[&Tensor]) -> SmallVec<[Option<History>; 2]> {
    inputs
        .iter()
        .map(|tensor| tensor.history().cloned())
        .collect()
}

impl Tensor {
    /// The tensor with a rule for the gradients of what it was computed from, one per input; itself
    /// if that is not to be recorded. What the rule needs it holds; outputs without their history.
    pub(crate) fn with_rule<F>(
        self,
        op: &'static str,
        inputs: &[&Self],
        rule: F,
    ) -> Result<Self, Error>
    where
        F: Fn(&Pass<'_>) -> Result<Gradients, Error> + Send + Sync + 'static,
    {
        let result = self.inherit(inputs);
        if !is_recorded(inputs) {
            return Ok(result);
        }
        result.with_shared_rule(op, inputs, Arc::new(rule))
    }

    /// The same, once for all rules.
    fn with_shared_rule(
        self,
        op: &'static str,
        inputs: &[&Self],
        rule: Arc<dyn Rule>,
    ) -> Result<Self, Error> {
        let spare = self.clone();
        let outputs = attach(op, inputs, smallvec![self], Body::Rule(rule))?;
        Ok(outputs.into_iter().next().unwrap_or(spare))
    }
}

/// The result of an operation on tensors whose histories it does not see, with a rule for their
/// gradients: detach, compute, attach. The rule is made of the result, without its history; what is
/// not recorded has none.
pub(crate) fn differentiable<const N: usize, F>(
    op: &'static str,
    inputs: [&Tensor; N],
    forward: impl FnOnce([&Tensor; N]) -> Result<Tensor, Error>,
    rule: impl FnOnce(Tensor) -> F,
) -> Result<Tensor, Error>
where
    F: Fn(&Pass<'_>) -> Result<Gradients, Error> + Send + Sync + 'static,
{
    if let Some(moved) = gathered(&inputs[..])? {
        let moved: [&Tensor; N] = std::array::from_fn(|place| &moved[place]);
        return differentiable(op, moved, forward, rule);
    }
    if !is_recorded(&inputs) {
        return Ok(forward(inputs)?.inherit(&inputs));
    }
    let detached = inputs.map(Tensor::detach);
    let result = forward(detached.each_ref())?;
    let saved = result.detach();
    result.with_rule(op, &inputs, rule(saved))
}

/// Several tensors of one operation with a rule for the gradients of its inputs. Those without a
/// gradient of their own, such as indices, stay as they are.
pub(crate) fn with_rule_of<F>(
    op: &'static str,
    inputs: &[&Tensor],
    outputs: SmallVec<[Tensor; 1]>,
    rule: F,
) -> Result<SmallVec<[Tensor; 1]>, Error>
where
    F: Fn(&Pass<'_>) -> Result<Gradients, Error> + Send + Sync + 'static,
{
    let outputs = inheriting(outputs, inputs);
    if !is_recorded(inputs) {
        return Ok(outputs);
    }
    attach(op, inputs, outputs, Body::Rule(Arc::new(rule)))
}

/// Outputs that are bit-free if the inputs are.
fn inheriting(outputs: SmallVec<[Tensor; 1]>, inputs: &[&Tensor]) -> SmallVec<[Tensor; 1]> {
    let numbers = outputs.into_iter();
    // Indices are exact, whatever they point into.
    let of_inputs = |output: Tensor| match Set::Inexact.contains(output.dtype()) {
        true => output.inherit(inputs),
        false => output,
    };
    numbers.map(of_inputs).collect()
}

/// Gives outputs a node that leads to inputs.
fn attach(
    op: &'static str,
    inputs: &[&Tensor],
    outputs: SmallVec<[Tensor; 1]>,
    body: Body,
) -> Result<SmallVec<[Tensor; 1]>, Error> {
    // A graph grows by small things alone.
    memory::check(op)?;
    let mut origin = None;
    if is_anomaly_enabled() {
        origin = locate();
        let finite = |tensor: &&Tensor| check_finite(tensor, "", op, None).is_ok();
        if inputs.iter().all(finite) {
            for output in &outputs {
                check_finite(output, "result", op, origin.as_deref())?;
            }
        }
    }
    let outlines = outputs.iter().map(Outline::of).collect();
    let node = Node::new(op, origin, outlines, edges(inputs), body);
    let outputs = outputs.into_iter().enumerate().map(|(output, tensor)| {
        let has_gradient = Set::Inexact.contains(tensor.dtype());
        let node = Arc::clone(&node);
        tensor.with_history(has_gradient.then_some(History { node, output }))
    });
    Ok(outputs.collect())
}

/// The history of a tensor of a shape and dtype with a rule, whatever is recorded now.
pub(crate) fn node_of<F>(
    op: &'static str,
    edges: SmallVec<[Option<History>; 2]>,
    outline: Outline,
    rule: F,
) -> History
where
    F: Fn(&Pass<'_>) -> Result<Gradients, Error> + Send + Sync + 'static,
{
    let body = Body::Rule(Arc::new(rule));
    let node = Node::new(op, None, smallvec![outline], edges, body);
    History { node, output: 0 }
}

/// Puts a program on record: its derivative is the rule. The outputs are what it makes of inputs
/// that broadcast to a shape, or the sums of that along some dimensions, which are still there.
pub(crate) fn record_program(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
    outputs: SmallVec<[Tensor; 1]>,
    shape: &Shape,
) -> Result<SmallVec<[Tensor; 1]>, Error> {
    let outputs = inheriting(outputs, inputs);
    if !is_recorded(inputs) || !outputs.iter().any(|t| Set::Inexact.contains(t.dtype())) {
        return Ok(outputs);
    }
    let wanted: SmallVec<[bool; 4]> = inputs.iter().map(|t| t.requires_grad()).collect();
    let Some((reads, result)) = reads_of(program, &wanted) else {
        return Ok(outputs);
    };
    let keep = |(tensor, read): (&&Tensor, &bool)| read.then(|| (*tensor).clone());
    let body = Body::Elementwise(Arc::new(Elementwise {
        program: program.clone(),
        shape: shape.clone(),
        inputs: inputs.iter().zip(&reads).map(keep).collect(),
        outputs: outputs.iter().map(|t| result.then(|| t.detach())).collect(),
    }));
    attach(op, inputs, outputs, body)
}

/// Which inputs the derivative of a program reads, and whether it reads the output; nothing if it
/// has no derivative.
fn reads_of(program: &Program, wanted: &[bool]) -> Option<(SmallVec<[bool; 4]>, bool)> {
    if let Some(reads) = reads_of_row(program, wanted) {
        return reads;
    }
    let dtypes: SmallVec<[Option<DType>; 2]> = program
        .output_dtypes()
        .map(|dtype| Set::Inexact.contains(dtype).then_some(dtype))
        .collect();
    let back = differentiate(program, wanted, false, &dtypes);
    let mut reads: SmallVec<[bool; 4]> = SmallVec::from_elem(false, wanted.len());
    for read in &back.reads {
        if let Read::Input(i) = read {
            reads[*i] = true;
        }
    }
    Some((reads, false))
}

/// [`reads_of`] for a program that is one row and conversions around it, from a table; the outer
/// option says whether it is one, the inner whether the row has a derivative.
#[allow(clippy::option_option, reason = "two questions")]
fn reads_of_row(program: &Program, wanted: &[bool]) -> Option<Option<(SmallVec<[bool; 4]>, bool)>> {
    let mut rows = program
        .steps()
        .iter()
        .enumerate()
        .filter_map(|(i, step)| match step {
            Step::Apply { op, args } => Some((program.input_count() + i, *op, *args)),
            _ => None,
        });
    let (slot, op, args) = rows.next()?;
    if rows.next().is_some() || program.outputs().len() != 1 {
        return None;
    }
    // The input that an operand is, perhaps converted.
    let input_of = |mut slot: u16| -> Option<usize> {
        loop {
            let place = usize::from(slot);
            if place < program.input_count() {
                return Some(place);
            }
            match program.steps()[place - program.input_count()] {
                Step::Convert { from, .. } => slot = from,
                _ => return None,
            }
        }
    };
    let operands: SmallVec<[Option<usize>; 4]> = args[..op.arity()]
        .iter()
        .map(|slot| input_of(*slot))
        .collect();
    if !op.row().is_differentiable {
        return Some(None);
    }
    let is_complex = program.dtype(args[op.arity() - 1]).is_complex();
    let mut needs = allotrope_op::Needs::default();
    for (i, input) in operands.iter().enumerate() {
        if input.is_some_and(|input| wanted[input]) {
            needs = needs.and(op.needs(i, is_complex));
        }
    }
    let is_precise = usize::from(program.outputs()[0]) == slot;
    let mut reads: SmallVec<[bool; 4]> = SmallVec::from_elem(false, wanted.len());
    for (i, input) in operands.iter().enumerate() {
        if let Some(input) = input {
            // Without a precise result it is computed again, from all operands.
            reads[*input] |= needs.operands & (1 << i) != 0 || (needs.result && !is_precise);
        }
    }
    Some(Some((reads, needs.result && is_precise)))
}

/// Refuses what is not finite, in anomaly mode.
pub(crate) fn check_finite(
    tensor: &Tensor,
    what: &'static str,
    through: &'static str,
    origin: Option<&str>,
) -> Result<(), Error> {
    if !Set::Inexact.contains(tensor.dtype()) {
        return Ok(());
    }
    let tensor = tensor.detach();
    let all = |truth: Tensor| -> Result<bool, Error> {
        let all = truth.all(None, false)?.item()?;
        Ok(all.value() == allotrope_dtype::WeakScalar::Bool(true))
    };
    if all(tensor.isfinite()?)? {
        return Ok(());
    }
    let has_nan = !all(tensor.isnan()?.logical_not()?)?;
    let problem = GradientProblem::NotFinite {
        found: if has_nan { "NaN" } else { "an infinity" },
        what,
        through,
        origin: origin.map(str::to_owned),
    };
    Err(Error::new("detect_anomaly", problem.into()))
}
