//! The way back: from results to leaves, each node once, the latest first.

use crate::host::memory;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::host::interrupt;
use allotrope_dtype::{DType, Error, GradientProblem, Problem, Set};
use allotrope_op::{Shape, compute_dtype};
use smallvec::SmallVec;

use super::elementwise::Flow;
use super::mode::{is_anomaly_enabled, is_inference_mode, set_grad_enabled};
use super::node::{AfterHook, Body, History, Hook, Node, Outline};
use super::pass::Pass;
use super::record::check_finite;
use crate::amp::no_autocast;
use crate::{Tensor, Variable, fork};

const OP: &str = "backward";

/// How gradients are computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions {
    /// Whether what was saved stays, so that the graph can be walked again.
    pub retain_graph: bool,
    /// Whether the gradients are themselves recorded.
    pub create_graph: bool,
}

impl Tensor {
    /// Adds to the gradient of every leaf that the tensor, of one element, was computed from.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::F32)?.requires_grad_(true)?;
    /// x.square()?.sum(None, false, None)?.backward()?;
    /// assert_eq!(x.grad().map(|g| g.to_vec::<f32>()).transpose()?, Some(vec![0.0, 2.0, 4.0]));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A gradient error if the tensor has several elements or was not recorded, if the graph was
    /// walked before, or in inference mode; a memory error.
    pub fn backward(&self) -> Result<(), Error> {
        backward(&[self], &[None], None, BackwardOptions::default())
    }

    /// [`backward`](Self::backward) with a gradient of the tensor's own.
    ///
    /// ```
    /// use allotrope_tensor::{BackwardOptions, Tensor};
    /// let x = Tensor::new([1.0, 2.0])?.requires_grad_(true)?;
    /// x.square()?.backward_with(&Tensor::new([1.0, 10.0])?, BackwardOptions::default())?;
    /// assert_eq!(x.grad(), Some(Tensor::new([2.0, 40.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`backward`](Self::backward); a gradient error for one of another shape.
    pub fn backward_with(&self, gradient: &Self, options: BackwardOptions) -> Result<(), Error> {
        backward(&[self], &[Some(gradient)], None, options)
    }
}

/// Adds the gradients of results to the leaves that they were computed from, or to those of the
/// `inputs` alone.
///
/// ```
/// use allotrope_tensor::{BackwardOptions, Tensor, backward};
/// let (x, y) = (Tensor::new(2.0)?.requires_grad_(true)?, Tensor::new(3.0)?.requires_grad_(true)?);
/// backward(&[&x.square()?, &y.square()?], &[None, None], None, BackwardOptions::default())?;
/// assert_eq!((x.grad(), y.grad()), (Some(Tensor::new(4.0)?), Some(Tensor::new(6.0)?)));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::backward`].
pub fn backward(
    results: &[&Tensor],
    gradients: &[Option<&Tensor>],
    inputs: Option<&[&Tensor]>,
    options: BackwardOptions,
) -> Result<(), Error> {
    let mut walk = Walk::new(results, options)?;
    if let Some(inputs) = inputs {
        let targets = inputs.iter().enumerate().map(|(index, input)| {
            let history = input.history().filter(|history| history.node.is_leaf());
            history.ok_or_else(|| {
                let problem = if input.requires_grad() {
                    GradientProblem::NotLeaf {
                        wanted: "a gradient is added up",
                    }
                } else {
                    GradientProblem::Unused { index }
                };
                Error::new(OP, problem.into())
            })
        });
        // bounded: as many as the caller lists.
        let targets = targets.collect::<Result<Vec<&History>, Error>>()?;
        walk.restrict(results, &targets)?;
    }
    walk.adds_to_leaves = true;
    walk.start(results, gradients)?;
    walk.run()
}

/// The gradients of inputs, leaves or not, of results; nothing is added to the leaves.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{BackwardOptions, Tensor, grad};
/// let x = Tensor::full(&[], 3.0, DType::F64)?.requires_grad_(true)?;
/// let y = x.pow(3.0)?;
/// let twice = BackwardOptions { create_graph: true, ..Default::default() };
/// let first = grad(&[&y], &[&x], &[None], twice, false)?.remove(0).unwrap_or(y);
/// let second = grad(&[&first], &[&x], &[None], twice, false)?.remove(0);
/// assert_eq!(second.map(|g| g.to_vec::<f64>()).transpose()?, Some(vec![18.0]));
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::backward`]; a gradient error for an input that no result depends on, unless
/// `allow_unused`.
pub fn grad(
    results: &[&Tensor],
    inputs: &[&Tensor],
    gradients: &[Option<&Tensor>],
    options: BackwardOptions,
    allow_unused: bool,
) -> Result<Vec<Option<Tensor>>, Error> {
    let mut walk = Walk::new(results, options)?;
    let targets: Vec<&History> = inputs.iter().filter_map(|input| input.history()).collect();
    walk.restrict(results, &targets)?;
    for target in &targets {
        walk.captures
            .insert((target.node.order, target.output), None);
    }
    walk.start(results, gradients)?;
    walk.run()?;
    let found = inputs.iter().enumerate().map(|(index, input)| {
        let place = input.history().map(|h| (h.node.order, h.output));
        let gradient = place.and_then(|place| walk.captures.get(&place).cloned().flatten());
        if gradient.is_none() && !allow_unused {
            let problem = GradientProblem::Unused { index };
            return Err(Error::new("grad", problem.into()).hint("allow_unused=True gives None"));
        }
        Ok(gradient)
    });
    found.collect()
}

/// What has reached a node.
struct Arrived {
    node: Arc<Node>,
    gradients: SmallVec<[Option<Flow>; 1]>,
}

/// One walk back.
struct Walk {
    options: BackwardOptions,
    /// Nodes that something has reached, by order.
    waiting: BTreeMap<u64, Arrived>,
    /// The nodes that lead to what is wanted, if that is not everything.
    useful: Option<HashSet<u64>>,
    /// Gradients to give back, by node and output.
    captures: HashMap<(u64, usize), Option<Tensor>>,
    adds_to_leaves: bool,
}

impl Walk {
    fn new(results: &[&Tensor], mut options: BackwardOptions) -> Result<Self, Error> {
        if is_inference_mode() {
            return Err(Error::new(OP, GradientProblem::InferenceMode.into()));
        }
        for result in results {
            if !result.requires_grad() {
                let problem = GradientProblem::NotRecorded { through: None };
                let hint = "x.requires_grad_() before the computation";
                return Err(Error::new(OP, problem.into()).hint(hint));
            }
        }
        options.retain_graph |= options.create_graph;
        Ok(Self {
            options,
            waiting: BTreeMap::new(),
            useful: None,
            captures: HashMap::new(),
            adds_to_leaves: false,
        })
    }

    /// Walks only through nodes that lead to targets.
    fn restrict(&mut self, results: &[&Tensor], targets: &[&History]) -> Result<(), Error> {
        let mut seen: BTreeMap<u64, Arc<Node>> = BTreeMap::new();
        let roots = results.iter().filter_map(|result| result.history());
        // bounded: as many as the caller lists.
        let mut open: Vec<Arc<Node>> = roots.map(|h| Arc::clone(&h.node)).collect();
        while let Some(node) = open.pop() {
            if seen.contains_key(&node.order) {
                continue;
            }
            memory::check(OP)?;
            for history in node.edges.iter().flatten() {
                memory::try_push(OP, &mut open, Arc::clone(&history.node))?;
            }
            seen.insert(node.order, node);
        }
        let mut useful: HashSet<u64> = targets.iter().map(|t| t.node.order).collect();
        // The earliest first, so that what a node comes from is known before it.
        for (order, node) in &seen {
            if node
                .edges
                .iter()
                .flatten()
                .any(|h| useful.contains(&h.node.order))
            {
                if useful.try_reserve(1).is_err() {
                    let bytes = useful.len() * size_of::<u64>();
                    return Err(Error::new(OP, Problem::OutOfMemory { bytes }));
                }
                useful.insert(*order);
            }
        }
        self.useful = Some(useful);
        Ok(())
    }

    fn is_useful(&self, history: &History) -> bool {
        let useful = self.useful.as_ref();
        useful.is_none_or(|useful| useful.contains(&history.node.order))
    }

    /// Puts the gradients of the results in place.
    fn start(&mut self, results: &[&Tensor], gradients: &[Option<&Tensor>]) -> Result<(), Error> {
        if gradients.len() != results.len() {
            let problem = GradientProblem::WrongCount {
                given: gradients.len(),
                expected: results.len(),
            };
            return Err(Error::new(OP, problem.into()));
        }
        for (index, (result, gradient)) in results.iter().zip(gradients).enumerate() {
            let gradient = match gradient {
                Some(gradient) => {
                    check_gradient("result", index, gradient, &Outline::of(result))?;
                    (*gradient).clone()
                }
                None if result.count() == 1 => result.detach().ones_like()?,
                None => {
                    let shape = result.shape().to_vec();
                    let problem = GradientProblem::NotSingle { shape };
                    return Err(Error::new(OP, problem.into()).hint("y.backward(gradient)"));
                }
            };
            if let Some(history) = result.history()
                && self.is_useful(history)
            {
                self.arrive(history, Flow::Ready(gradient))?;
            }
        }
        Ok(())
    }

    /// Adds a gradient to what has reached an output of a node.
    fn arrive(&mut self, history: &History, flow: Flow) -> Result<(), Error> {
        memory::check(OP)?;
        let node = &history.node;
        let arrived = self.waiting.entry(node.order).or_insert_with(|| Arrived {
            node: Arc::clone(node),
            gradients: SmallVec::new(),
        });
        let wanted = arrived.gradients.len().max(history.output + 1);
        arrived.gradients.resize(wanted, None);
        let outline = &node.outputs[history.output];
        let flow = fit(node.op, flow, outline)?;
        let place = &mut arrived.gradients[history.output];
        *place = Some(match place.take() {
            None => flow,
            Some(before) => before.plus(flow, node.op, compute_dtype(outline.dtype))?,
        });
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        let _mode = set_grad_enabled(self.options.create_graph);
        // Gradients have the dtypes of what they are gradients of, whatever is cast outside.
        let _inside = no_autocast();
        while let Some((_, arrived)) = self.waiting.pop_last() {
            interrupt::check();
            self.visit(arrived)?;
        }
        Ok(())
    }

    fn visit(&mut self, arrived: Arrived) -> Result<(), Error> {
        let Arrived { node, gradients } = arrived;
        let mut gradients = gradients;
        self.grant(&node, &mut gradients)?;
        let body = node.body().clone();
        if !self.options.retain_graph && body.has_saved() {
            node.free();
        }
        let wanted: SmallVec<[bool; 4]> = node
            .edges
            .iter()
            .map(|edge| edge.as_ref().is_some_and(|history| self.is_useful(history)))
            .collect();
        let flows: SmallVec<[Option<Flow>; 2]> = match body {
            Body::Leaf => return self.add_to_leaf(&node, gradients),
            Body::Freed => {
                let problem = GradientProblem::Freed { through: node.op };
                return Err(Error::new(OP, problem.into()).hint("retain_graph=True keeps it"));
            }
            _ if !wanted.contains(&true) => return Ok(()),
            Body::Elementwise(rule) => rule.backward(&node, gradients, &wanted)?,
            Body::Rule(rule) => {
                let mut tensors: SmallVec<[Option<Tensor>; 1]> = SmallVec::new();
                for (flow, outline) in gradients.into_iter().zip(&node.outputs) {
                    let tensor = flow.map(|flow| flow.tensor_in(node.op, outline.dtype));
                    tensors.push(tensor.transpose()?);
                }
                let pass = Pass {
                    node: &node,
                    gradients: &tensors,
                    wanted: &wanted,
                };
                let made = rule.backward(&pass)?;
                if made.len() != node.edges.len() {
                    let problem = GradientProblem::WrongCount {
                        given: made.len(),
                        expected: node.edges.len(),
                    };
                    return Err(Error::new(node.op, problem.into()));
                }
                made.into_iter().map(|made| made.map(Flow::Ready)).collect()
            }
        };
        for (index, (flow, edge)) in flows.into_iter().zip(&node.edges).enumerate() {
            let (Some(flow), Some(history)) = (flow, edge) else {
                continue;
            };
            if !self.is_useful(history) {
                continue;
            }
            let mut flow = flow;
            if let Flow::Ready(gradient) = &flow {
                let outline = &history.node.outputs[history.output];
                check_gradient("operand", index, gradient, outline)
                    .map_err(|error| error.in_op(node.op))?;
            }
            if is_anomaly_enabled() {
                let gradient = flow.tensor(node.op)?;
                check_finite(&gradient, "gradient", node.op, node.origin.as_deref())?;
                flow = Flow::Ready(gradient);
            }
            self.arrive(history, flow)?;
        }
        Ok(())
    }

    /// Calls the hooks of a node's outputs, and keeps what is to be kept.
    fn grant(
        &mut self,
        node: &Arc<Node>,
        gradients: &mut SmallVec<[Option<Flow>; 1]>,
    ) -> Result<(), Error> {
        let (hooks, retains): (Vec<(usize, Hook)>, SmallVec<[usize; 1]>) = match &*node.wishes() {
            Some(wishes) => (
                wishes
                    .hooks
                    .iter()
                    .map(|(i, _, hook)| (*i, Arc::clone(hook)))
                    .collect(),
                wishes.retains.clone(),
            ),
            None => (Vec::new(), SmallVec::new()),
        };
        for (output, slot) in gradients.iter_mut().enumerate() {
            let place = (node.order, output);
            let is_captured = self.captures.contains_key(&place);
            let is_retained = retains.contains(&output) && self.adds_to_leaves;
            let is_hooked = hooks.iter().any(|(i, _)| *i == output);
            if !is_captured && !is_retained && !is_hooked {
                continue;
            }
            let Some(flow) = slot.take() else { continue };
            let outline = &node.outputs[output];
            let mut gradient = flow.tensor_in(node.op, outline.dtype)?;
            for (_, hook) in hooks.iter().filter(|(i, _)| *i == output) {
                if let Some(other) = hook(&gradient)? {
                    check_gradient("hook", output, &other, outline)?;
                    gradient = other;
                }
            }
            if is_captured {
                self.captures
                    .insert(place, Some(self.handed_out(&gradient)));
            }
            if is_retained {
                node.keep(output, Some(self.handed_out(&gradient).into()));
            }
            *slot = Some(Flow::Ready(gradient));
        }
        Ok(())
    }

    /// A gradient as the user sees it.
    fn handed_out(&self, gradient: &Tensor) -> Tensor {
        if self.options.create_graph {
            gradient.clone()
        } else {
            gradient.detach()
        }
    }

    fn add_to_leaf(
        &self,
        node: &Arc<Node>,
        gradients: SmallVec<[Option<Flow>; 1]>,
    ) -> Result<(), Error> {
        let flow = gradients.into_iter().next().flatten();
        let Some(flow) = flow.filter(|_| self.adds_to_leaves) else {
            return Ok(());
        };
        let dtype = node.outputs[0].dtype;
        // Held until the sum is there, so that two passes at once lose nothing, and a leaf has all of
        // its gradient or nothing of it.
        let held = (fork::enter_detached(), interrupt::hold());
        let mut wishes = node.wishes();
        let kept = wishes.get_or_insert_default().kept(0);
        match kept {
            Some(before) if !self.options.create_graph && !before.is_alone() => {
                // Someone sees the gradient: the sum is written to where it is.
                let _ = before.update(OP, |before| {
                    let before = Flow::Ready(before.clone());
                    let total = before.plus(flow.clone(), OP, compute_dtype(dtype))?;
                    total.tensor_in(OP, dtype)
                })?;
            }
            before => {
                let former = before.as_ref().map(Variable::value);
                let total = match former {
                    None => flow,
                    Some(former) => self.sum(former, flow, dtype)?,
                };
                let gradient = total.tensor_in(OP, dtype)?;
                // A gradient that is only repeated in memory becomes one of its own.
                let gradient = gradient.contiguous()?;
                *before = Some(self.handed_out(&gradient).into());
            }
        }
        let hooks: SmallVec<[AfterHook; 1]> = match &*wishes {
            Some(wishes) => wishes
                .after
                .iter()
                .map(|(_, hook)| Arc::clone(hook))
                .collect(),
            None => SmallVec::new(),
        };
        drop(wishes);
        drop(held);
        hooks.iter().try_for_each(|hook| hook())
    }

    /// What was added up so far and another gradient, in the memory of the latter where that can be.
    fn sum(&self, before: Tensor, mut flow: Flow, dtype: DType) -> Result<Flow, Error> {
        let is_added = match &mut flow {
            Flow::Ready(gradient) if !self.options.create_graph => {
                gradient.add_in_place(&before)?
            }
            _ => false,
        };
        if is_added {
            return Ok(flow);
        }
        Flow::Ready(before).plus(flow, OP, compute_dtype(dtype))
    }
}

/// Refuses a gradient that cannot be one of a tensor. Only those of rules may have dimensions that the
/// tensor was repeated along.
fn check_gradient(
    what: &'static str,
    index: usize,
    gradient: &Tensor,
    outline: &Outline,
) -> Result<(), Error> {
    let (given, expected) = (gradient.shape(), &outline.shape);
    let fits = match what {
        "operand" => Shape::broadcast(OP, &[given, expected]).as_ref() == Ok(given),
        _ => given == expected,
    };
    if !fits {
        let problem = GradientProblem::WrongShape {
            what,
            index,
            given: given.to_vec(),
            // bounded: sizes.
            expected: expected.to_vec(),
        };
        return Err(Error::new(OP, problem.into()));
    }
    if !Set::Inexact.contains(gradient.dtype()) {
        let problem = GradientProblem::WrongDType {
            what,
            index,
            given: gradient.dtype(),
            expected: outline.dtype,
        };
        return Err(Error::new(OP, problem.into()));
    }
    Ok(())
}

/// A gradient with the shape of its tensor: summed along what was repeated.
fn fit(op: &'static str, flow: Flow, outline: &Outline) -> Result<Flow, Error> {
    if flow.shape() == &outline.shape {
        return Ok(flow);
    }
    let (given, shape) = (flow.shape().clone(), &outline.shape);
    let extra = given.rank() - shape.rank();
    let repeated = (0..given.rank())
        .filter(|dim| *dim < extra || (shape[dim - extra] == 1 && given[*dim] != 1));
    let axes: Vec<isize> = repeated.map(|dim| dim as isize).collect();
    let summed = flow.sum_along(op, &axes)?;
    let sizes: SmallVec<[isize; 6]> = shape.iter().map(|size| *size as isize).collect();
    summed.reshape(&sizes).map(Flow::Ready)
}
