//! What a tensor says of its gradient, and how it is made a leaf and changed.

use allotrope_dtype::{Error, GradientProblem, Set};
use allotrope_op::{Op, Origin, Program, Rewrite, compute_dtype};
use smallvec::{SmallVec, smallvec};

use super::node::{AfterHook, Body, History, Hook, HookPlace, Node, Outline};
use crate::device::common_backend;
use crate::{Tensor, Variable};

impl Tensor {
    /// Whether operations on the tensor are recorded, so that a gradient can come back to it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0])?.requires_grad_(true)?;
    /// assert!(x.exp()?.requires_grad() && !x.detach().requires_grad());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn requires_grad(&self) -> bool {
        self.history().is_some()
    }

    /// The tensor as a leaf that collects gradients, or, if not `required`, as one without.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([3.0])?.requires_grad_(true)?;
    /// x.square()?.sum_all()?.backward()?;
    /// assert_eq!(x.grad(), Some(Tensor::new([6.0])?));
    /// assert!(Tensor::new([3])?.requires_grad_(true).is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
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
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0])?.requires_grad_(true)?;
    /// assert!(x.is_leaf() && !x.exp()?.is_leaf());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.history().is_none_or(|history| history.node.is_leaf())
    }

    /// The operation that the tensor was computed by, if a gradient can go back through it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0])?.requires_grad_(true)?;
    /// assert_eq!((x.exp()?.made_by(), x.made_by()), (Some("exp"), None));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn made_by(&self) -> Option<&'static str> {
        let node = &self.history()?.node;
        (!node.is_leaf()).then_some(node.op)
    }

    /// The same value without its history: no gradient comes back through it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0])?.requires_grad_(true)?;
    /// (x.detach() * &x).sum_all()?.backward()?;
    /// assert_eq!(x.grad(), Some(Tensor::new([2.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn detach(&self) -> Self {
        self.clone().with_history(None)
    }

    /// A tensor without elements that has this one's history, for whoever needs no more of it.
    ///
    /// # Errors
    /// A memory error.
    pub fn history_only(&self) -> Result<Self, Error> {
        let nothing = self.new_zeros(&[0], self.dtype())?;
        Ok(nothing.with_history(self.history().cloned()))
    }

    /// Where the hooks of the tensor are, for whoever does not keep it.
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one.
    pub fn hook_place(&self, op: &'static str) -> Result<HookPlace, Error> {
        self.recorded(op).map(HookPlace::of)
    }

    /// The gradient that [`backward`](Self::backward) has added up.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0])?.requires_grad_(true)?;
    /// assert!(x.grad().is_none());
    /// x.square()?.sum_all()?.backward()?;
    /// assert_eq!(x.grad(), Some(Tensor::new([4.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn grad(&self) -> Option<Self> {
        self.history()?.with_kept(Variable::value)
    }

    /// The variable that gradients are added up in: what is written to it, or to a view of it, is there
    /// when the next gradient comes.
    ///
    /// # Errors
    /// A memory error.
    pub fn grad_variable(&self) -> Result<Option<Variable>, Error> {
        let alias = self.history().and_then(|h| h.with_kept(Variable::alias));
        alias.transpose()
    }

    /// Makes a variable the one that gradients are added up in.
    ///
    /// # Errors
    /// As [`set_grad`](Self::set_grad).
    pub fn set_grad_variable(&self, gradient: Option<&Variable>) -> Result<(), Error> {
        let Some(gradient) = gradient else {
            return self.set_grad(None);
        };
        let value = gradient.value();
        let history = self.takes_gradient(&value)?;
        drop(value);
        history.node.keep(history.output, Some(gradient.alias()?));
        Ok(())
    }

    /// Puts another gradient in the place of what was added up, or none.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0])?.requires_grad_(true)?;
    /// x.set_grad(Some(Tensor::new([1.5])?))?;
    /// assert_eq!(x.grad(), Some(Tensor::new([1.5])?));
    /// x.set_grad(None)?;
    /// assert!(x.grad().is_none());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one, or for another shape or dtype; a device
    /// error for another device.
    pub fn set_grad(&self, gradient: Option<Self>) -> Result<(), Error> {
        match gradient {
            Some(gradient) => {
                let history = self.takes_gradient(&gradient)?;
                history.node.keep(history.output, Some(gradient.into()));
            }
            None => {
                if let Some(history) = self.history() {
                    history.node.keep(history.output, None);
                }
            }
        }
        Ok(())
    }

    /// The history whose gradient a tensor can be.
    fn takes_gradient(&self, gradient: &Self) -> Result<&History, Error> {
        let op = "grad";
        let history = self.recorded(op)?;
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
        common_backend(op, &[self, gradient])?;
        Ok(history)
    }

    /// Adds a tensor in the memory of this one, if nothing else has it and sums are formed in its
    /// dtype; whether that was so. Else a step of training needs room for a third gradient.
    pub(super) fn add_in_place(&mut self, other: &Self) -> Result<bool, Error> {
        let (op, dtype, backend) = ("backward", self.dtype(), self.backend());
        let fits = self.shape() == other.shape() && dtype == other.dtype() && self.is_beside(other);
        if !fits
            || crate::overflow::is_watched()
            || !Set::Inexact.contains(dtype)
            || compute_dtype(dtype) != dtype
        {
            return Ok(false);
        }
        let shape = other.shape();
        let Some(own) = self.own_elements() else {
            return Ok(false);
        };
        let mut program = Program::new(&[dtype; 2]);
        let sum = program.apply(Op::Add, &[0, 1]);
        program.output(sum);
        let rewrite = Rewrite {
            shape,
            inputs: smallvec![Origin::Target(0), Origin::View(other.view_of())],
            targets: smallvec![own],
        };
        backend.run_into(op, &program, vec![rewrite])
    }

    /// Keeps the gradient of a computed tensor too, when one comes back.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0])?.requires_grad_(true)?;
    /// let y = x.square()?;
    /// y.retain_grad()?;
    /// (&y * 3).sum_all()?.backward()?;
    /// assert_eq!(y.grad(), Some(Tensor::new([3.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A gradient error if the tensor does not require one.
    pub fn retain_grad(&self) -> Result<(), Error> {
        let history = self.recorded("retain_grad")?;
        if !history.node.is_leaf() {
            history.retain();
        }
        Ok(())
    }

    /// Whether the gradient of a computed tensor is kept.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0])?.requires_grad_(true)?;
    /// let y = x.square()?;
    /// y.retain_grad()?;
    /// assert!(y.retains_grad() && !x.retains_grad());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
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
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0])?.requires_grad_(true)?;
    /// x.register_hook(std::sync::Arc::new(|gradient| Ok(Some(gradient * 10))))?;
    /// x.square()?.sum_all()?.backward()?;
    /// assert_eq!(x.grad(), Some(Tensor::new([20.0, 40.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
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
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0])?.requires_grad_(true)?;
    /// let hook = x.register_hook(std::sync::Arc::new(|gradient| Ok(Some(gradient * 10))))?;
    /// x.remove_hook(hook);
    /// x.square()?.sum_all()?.backward()?;
    /// assert_eq!(x.grad(), Some(Tensor::new([2.0])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
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

    /// Calls a function whenever a gradient has been added to this leaf. The number names the hook for
    /// [`remove_after_hook`](Self::remove_after_hook).
    ///
    /// # Errors
    /// A gradient error if the tensor is no leaf that requires a gradient.
    pub fn register_after_hook(&self, hook: AfterHook) -> Result<u64, Error> {
        let history = self.leaf_for_after_hook()?;
        let mut wishes = history.node.wishes();
        let hooks = &mut wishes.get_or_insert_default().after;
        let number = hooks.last().map_or(0, |(last, _)| last + 1);
        hooks.push((number, hook));
        Ok(number)
    }

    /// Refuses such a hook where it could not be.
    fn leaf_for_after_hook(&self) -> Result<&History, Error> {
        let op = "register_post_accumulate_grad_hook";
        let history = self.recorded(op)?;
        if !history.node.is_leaf() {
            let wanted = "a hook after accumulation";
            let problem = GradientProblem::NotLeaf { wanted };
            return Err(Error::new(op, problem.into()).hint("x.register_hook()"));
        }
        Ok(history)
    }

    /// Refuses tensors that [`register_after_hook`](Self::register_after_hook) refuses.
    ///
    /// # Errors
    /// As [`register_after_hook`](Self::register_after_hook).
    pub fn check_after_hook(&self) -> Result<(), Error> {
        self.leaf_for_after_hook().map(|_| ())
    }

    /// Removes such a hook.
    pub fn remove_after_hook(&self, number: u64) {
        if let Some(history) = self.history()
            && let Some(wishes) = history.node.wishes().as_mut()
        {
            wishes.after.retain(|(other, _)| *other != number);
        }
    }
}
