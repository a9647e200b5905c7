//! Putting an operation on record.

use std::sync::{Arc, OnceLock};

use allotrope_dtype::{DType, Error, GradientProblem, Set};
use allotrope_op::{Program, Read, Shape, Step, differentiate};
use smallvec::{SmallVec, smallvec};

use super::elementwise::Elementwise;
use super::mode::{is_anomaly_enabled, is_grad_enabled};
use super::node::{Body, History, Hook, Node, Outline, Rule};
use super::pass::{Gradients, Pass};
use crate::Tensor;

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
        if !is_recorded(inputs) {
            return Ok(self);
        }
        self.with_shared_rule(op, inputs, Arc::new(rule))
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
    if !is_recorded(inputs) {
        return Ok(outputs);
    }
    attach(op, inputs, outputs, Body::Rule(Arc::new(rule)))
}

/// Gives outputs a node that leads to inputs.
fn attach(
    op: &'static str,
    inputs: &[&Tensor],
    outputs: SmallVec<[Tensor; 1]>,
    body: Body,
) -> Result<SmallVec<[Tensor; 1]>, Error> {
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

/// Puts a program on record: its derivative is the rule. The outputs are what it makes of inputs
/// that broadcast to a shape, or the sums of that along some dimensions, which are still there.
pub(crate) fn record_program(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
    outputs: SmallVec<[Tensor; 1]>,
    shape: &Shape,
) -> Result<SmallVec<[Tensor; 1]>, Error> {
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

impl Tensor {
    /// Whether operations on the tensor are recorded, so that a gradient can come back to it.
    #[must_use]
    pub fn requires_grad(&self) -> bool {
        self.history().is_some()
    }

    /// The tensor as a leaf that collects gradients, or, if not `required`, as one without.
    ///
    /// # Errors
    /// A gradient error for a dtype without gradients, or if a computed tensor is to become one
    /// without: [`detach`](Self::detach) gives that.
    pub fn requires_grad_(self, required: bool) -> Result<Self, Error> {
        let op = "requires_grad_";
        match (self.history(), required) {
            (Some(_), true) | (None, false) => Ok(self),
            (Some(history), false) if history.node.is_leaf() => Ok(self.with_history(None)),
            (Some(_), false) => {
                let problem = GradientProblem::NotLeaf {
                    wanted: "no gradient",
                };
                Err(Error::new(op, problem.into()).hint("x.detach()"))
            }
            (None, true) => {
                if !Set::Inexact.contains(self.dtype()) {
                    let dtype = self.dtype();
                    let problem = GradientProblem::NotDifferentiable { dtype };
                    return Err(Error::new(op, problem.into()));
                }
                let outline = SmallVec::from_iter([Outline::of(&self)]);
                let node = Node::new("leaf", None, outline, SmallVec::new(), Body::Leaf);
                Ok(self.with_history(Some(History { node, output: 0 })))
            }
        }
    }

    /// Whether the tensor was not computed from others that require a gradient.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.history().is_none_or(|history| history.node.is_leaf())
    }

    /// The operation that the tensor was computed by, if a gradient can go back through it.
    #[must_use]
    pub fn made_by(&self) -> Option<&'static str> {
        let node = &self.history()?.node;
        (!node.is_leaf()).then_some(node.op)
    }

    /// The same value without its history: no gradient comes back through it.
    #[must_use]
    pub fn detach(&self) -> Self {
        self.clone().with_history(None)
    }

    /// The gradient that [`backward`](Self::backward) has added up.
    #[must_use]
    pub fn grad(&self) -> Option<Self> {
        let history = self.history()?;
        history.node.kept(history.output)
    }

    /// Puts another gradient in the place of what was added up, or none.
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one, or for another shape or dtype.
    pub fn set_grad(&self, gradient: Option<Self>) -> Result<(), Error> {
        let op = "grad";
        let Some(history) = self.history() else {
            if gradient.is_none() {
                return Ok(());
            }
            let problem = GradientProblem::NotRecorded { through: None };
            return Err(Error::new(op, problem.into()).hint("x.requires_grad_()"));
        };
        if let Some(gradient) = &gradient {
            if gradient.shape() != self.shape() {
                let problem = GradientProblem::WrongShape {
                    what: "tensor",
                    index: 0,
                    given: gradient.shape().to_vec(),
                    expected: self.shape().to_vec(),
                };
                return Err(Error::new(op, problem.into()));
            }
            if gradient.dtype() != self.dtype() {
                let problem = GradientProblem::WrongDType {
                    what: "tensor",
                    index: 0,
                    given: gradient.dtype(),
                    expected: self.dtype(),
                };
                return Err(Error::new(op, problem.into()));
            }
        }
        history.node.keep(history.output, gradient);
        Ok(())
    }

    /// Keeps the gradient of a computed tensor too, when one comes back.
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one.
    pub fn retain_grad(&self) -> Result<(), Error> {
        let history = self.recorded("retain_grad")?;
        if !history.node.is_leaf() {
            let mut wishes = history.node.wishes();
            let retains = &mut wishes.get_or_insert_default().retains;
            if !retains.contains(&history.output) {
                retains.push(history.output);
            }
        }
        Ok(())
    }

    /// Whether the gradient of a computed tensor is kept.
    #[must_use]
    pub fn retains_grad(&self) -> bool {
        self.history().is_some_and(|history| {
            let wishes = history.node.wishes();
            wishes
                .as_ref()
                .is_some_and(|w| w.retains.contains(&history.output))
        })
    }

    /// Calls a function with every gradient that comes back to the tensor; what it gives takes the
    /// gradient's place. The number names the hook for [`remove_hook`](Self::remove_hook).
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one.
    pub fn register_hook(&self, hook: Hook) -> Result<u64, Error> {
        let history = self.recorded("register_hook")?;
        let mut wishes = history.node.wishes();
        let hooks = &mut wishes.get_or_insert_default().hooks;
        let number = hooks.last().map_or(0, |(_, last, _)| last + 1);
        hooks.push((history.output, number, hook));
        Ok(number)
    }

    /// Removes a hook.
    pub fn remove_hook(&self, number: u64) {
        if let Some(history) = self.history()
            && let Some(wishes) = history.node.wishes().as_mut()
        {
            wishes.hooks.retain(|(_, other, _)| *other != number);
        }
    }

    fn recorded(&self, op: &'static str) -> Result<&History, Error> {
        self.history().ok_or_else(|| {
            let problem = GradientProblem::NotRecorded { through: None };
            Error::new(op, problem.into()).hint("x.requires_grad_()")
        })
    }

    /// The value of `new` in the place of this one, as a change in place leaves it: a leaf whose
    /// history is not being recorded stays the leaf that it is.
    ///
    /// # Errors
    /// A gradient error for a leaf that requires a gradient while operations are recorded.
    pub fn changed_to(&self, op: &'static str, new: Self) -> Result<Self, Error> {
        let mut changed = self.clone();
        let is_leaf = self.requires_grad() && self.is_leaf();
        changed.update(op, |value| {
            *value = if is_leaf { new.detach() } else { new };
            Ok(())
        })?;
        Ok(changed)
    }

    /// Changes this tensor in place. A leaf whose history is not being recorded stays the leaf that
    /// it is.
    ///
    /// # Errors
    /// A gradient error for a leaf that requires a gradient while operations are recorded, and what
    /// the change fails with.
    pub fn update(
        &mut self,
        op: &'static str,
        change: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let leaf = self
            .history()
            .filter(|history| history.node.is_leaf())
            .cloned();
        let Some(leaf) = leaf else {
            return change(self);
        };
        if is_grad_enabled() {
            let problem = GradientProblem::LeafChanged;
            return Err(Error::new(op, problem.into()).hint("with no_grad()"));
        }
        // Without a copy of the value, so that its memory can be written to.
        self.set_history(None);
        let changed = change(self);
        let outline = &leaf.node.outputs[0];
        if &outline.shape == self.shape() && outline.dtype == self.dtype() {
            self.set_history(Some(leaf));
        } else {
            *self = self.detach().requires_grad_(true)?;
        }
        changed
    }
}
