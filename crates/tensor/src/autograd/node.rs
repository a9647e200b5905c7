//! What a tensor remembers of how it was made.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use allotrope_dtype::{DType, Error, WeakScalar};
use allotrope_op::{Backend, Shape};
use smallvec::SmallVec;

use super::elementwise::Elementwise;
use super::pass::{Gradients, Pass};
use crate::Tensor;
use crate::variable::{Guard, Variable, acquire};

/// Which output of which node a tensor is.
#[derive(Clone)]
pub(crate) struct History {
    pub(crate) node: Arc<Node>,
    pub(crate) output: usize,
}

impl History {
    /// Whether this could be the history of a tensor of such a shape and dtype.
    pub(crate) fn fits(&self, tensor: &Tensor) -> bool {
        let outline = &self.node.outputs[self.output];
        &outline.shape == tensor.shape() && outline.dtype == tensor.dtype()
    }

    /// Whether both are the same output of the same node.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.output == other.output
    }

    /// Wishes that the gradient of the tensor is kept.
    pub(crate) fn retain(&self) {
        let mut wishes = self.node.wishes();
        let retains = &mut wishes.get_or_insert_default().retains;
        if !retains.contains(&self.output) {
            retains.push(self.output);
        }
    }

    /// Takes that wish back; whether there was one.
    pub(crate) fn give_up_retained(&self) -> bool {
        let mut wishes = self.node.wishes();
        let Some(retains) = wishes.as_mut().map(|wishes| &mut wishes.retains) else {
            return false;
        };
        let before = retains.len();
        retains.retain(|output| *output != self.output);
        retains.len() < before
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}[{}]", self.node, self.output)
    }
}

/// What is known of an output without keeping it.
pub(crate) struct Outline {
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) backend: &'static dyn Backend,
}

impl Outline {
    pub(crate) fn of(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape().clone(),
            dtype: tensor.dtype(),
            backend: tensor.backend(),
        }
    }

    /// The gradient of an output that none came back to.
    pub(crate) fn zeros(&self) -> Result<Tensor, Error> {
        zeros_of(self.backend, self.dtype, &self.shape)
    }
}

/// Zeros of a shape, of which memory has one.
pub(crate) fn zeros_of(
    backend: &'static dyn Backend,
    dtype: DType,
    shape: &Shape,
) -> Result<Tensor, Error> {
    let zero = WeakScalar::Bool(false);
    Tensor::filled("zeros", &[], zero, dtype, backend)?.expand(shape)
}

/// How gradients of an operation's results become those of its operands.
pub(crate) trait Rule: Send + Sync {
    fn backward(&self, pass: &Pass<'_>) -> Result<Gradients, Error>;
}

impl<F> Rule for F
where
    F: Fn(&Pass<'_>) -> Result<Gradients, Error> + Send + Sync,
{
    fn backward(&self, pass: &Pass<'_>) -> Result<Gradients, Error> {
        self(pass)
    }
}

/// What a node does with the gradients that reach it.
#[derive(Clone)]
pub(crate) enum Body {
    /// Adds them up for the user.
    Leaf,
    /// Goes on by the derivative of a program.
    Elementwise(Arc<Elementwise>),
    /// Goes on by a rule.
    Rule(Arc<dyn Rule>),
    /// Was left by an earlier pass.
    Freed,
}

impl Body {
    /// Whether there is anything to free. A cast has saved nothing: the cast of a weight may be a
    /// part of several graphs.
    pub(crate) fn has_saved(&self) -> bool {
        match self {
            Self::Leaf | Self::Freed => false,
            Self::Elementwise(rule) => rule.has_saved(),
            Self::Rule(_) => true,
        }
    }
}

/// A function that sees a gradient on its way, and may put another in its place.
pub type Hook = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>, Error> + Send + Sync>;

/// A function that is called when a gradient has been added to a leaf.
pub type AfterHook = Arc<dyn Fn() -> Result<(), Error> + Send + Sync>;

/// What a user has asked of the outputs of a node.
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) hooks: Vec<(usize, u64, Hook)>,
    pub(crate) retains: SmallVec<[usize; 1]>,
    /// Gradients that were kept, by output. They are variables: what a user writes to one is there
    /// when the next is added.
    pub(crate) kept: SmallVec<[Option<Variable>; 1]>,
    /// Called after a gradient was added to a leaf.
    pub(crate) after: Vec<(u64, AfterHook)>,
}

impl Wishes {
    /// The place of an output's gradient.
    pub(crate) fn kept(&mut self, output: usize) -> &mut Option<Variable> {
        while self.kept.len() <= output {
            self.kept.push(None);
        }
        &mut self.kept[output]
    }
}

impl History {
    /// What something makes of the gradient that was kept for the tensor.
    pub(crate) fn with_kept<T>(&self, make: impl FnOnce(&Variable) -> T) -> Option<T> {
        let wishes = self.node.wishes();
        let kept = wishes.as_ref()?.kept.get(self.output)?.as_ref();
        kept.map(make)
    }
}

/// One recorded operation, or a leaf.
pub(crate) struct Node {
    /// Later than that of every node it comes from.
    pub(crate) order: u64,
    pub(crate) op: &'static str,
    /// The line that called the operation, in anomaly mode.
    pub(crate) origin: Option<String>,
    pub(crate) outputs: SmallVec<[Outline; 1]>,
    pub(crate) edges: SmallVec<[Option<History>; 2]>,
    /// How many ways lead here from later nodes.
    successors: AtomicUsize,
    body: Mutex<Body>,
    wishes: Mutex<Option<Box<Wishes>>>,
}

/// A node that somebody else keeps.
#[derive(Clone, Debug)]
pub struct HookPlace(Weak<Node>);

impl HookPlace {
    pub(crate) fn of(history: &History) -> Self {
        Self(Arc::downgrade(&history.node))
    }

    /// Whether anything keeps it: a tensor, or what was computed from one.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Whether a gradient may come to it from what was computed with it.
    #[must_use]
    pub fn is_led_to(&self) -> bool {
        let node = self.0.upgrade();
        node.is_some_and(|node| node.successors.load(Ordering::Relaxed) > 0)
    }
}

static ORDER: AtomicU64 = AtomicU64::new(0);

impl Node {
    pub(crate) fn new(
        op: &'static str,
        origin: Option<String>,
        outputs: SmallVec<[Outline; 1]>,
        edges: SmallVec<[Option<History>; 2]>,
        body: Body,
    ) -> Arc<Self> {
        for edge in edges.iter().flatten() {
            edge.node.successors.fetch_add(1, Ordering::Relaxed);
        }
        Arc::new(Self {
            order: ORDER.fetch_add(1, Ordering::Relaxed),
            op,
            origin,
            outputs,
            edges,
            successors: AtomicUsize::new(0),
            body: Mutex::new(body),
            wishes: Mutex::new(None),
        })
    }

    pub(crate) fn body(&self) -> Guard<'_, Body> {
        acquire(&self.body)
    }

    pub(crate) fn wishes(&self) -> Guard<'_, Option<Box<Wishes>>> {
        acquire(&self.wishes)
    }

    /// Forgets what was saved, and the hooks that can see no gradient any more.
    pub(crate) fn free(&self) {
        let former = std::mem::replace(&mut *self.body(), Body::Freed);
        let hooks = self
            .wishes()
            .as_mut()
            .map(|wishes| std::mem::take(&mut wishes.hooks));
        // Outside of the locks: both may be the last to hold tensors.
        drop((former, hooks));
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(*self.body(), Body::Leaf)
    }

    /// Keeps a gradient for an output, or forgets it.
    pub(crate) fn keep(&self, output: usize, gradient: Option<Variable>) {
        let mut wishes = self.wishes();
        *wishes.get_or_insert_default().kept(output) = gradient;
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("op", &self.op)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

/// What is left of a node that nobody needs: its ways back, and what it had saved.
type Remains = (SmallVec<[Option<History>; 2]>, Body);

thread_local! {
    /// Remains that wait while others are taken apart: a long graph must not be dropped node by
    /// node within each other, or the stack would overflow.
    static WAITING: RefCell<Option<Vec<Remains>>> = const { RefCell::new(None) };
}

impl Drop for Node {
    fn drop(&mut self) {
        for edge in self.edges.iter().flatten() {
            edge.node.successors.fetch_sub(1, Ordering::Relaxed);
        }
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        let remains: Remains = (
            std::mem::take(&mut self.edges),
            std::mem::replace(body, Body::Freed),
        );
        let mut remains = Some(remains);
        // Where the thread is ending there is no list any more; then they go one within the other.
        let is_first = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            match waiting.as_mut() {
                Some(list) => {
                    list.extend(remains.take());
                    false
                }
                None => {
                    *waiting = Some(Vec::new());
                    true
                }
            }
        });
        if is_first != Ok(true) {
            return;
        }
        drop(remains);
        loop {
            let next = WAITING.with(|waiting| waiting.borrow_mut().as_mut().and_then(Vec::pop));
            match next {
                Some(remains) => drop(remains),
                None => break,
            }
        }
        WAITING.with(|waiting| *waiting.borrow_mut() = None);
    }
}
