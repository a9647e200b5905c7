//! Variables: places that hold a value and are written to, which is what an object in Python is. A
//! [`Tensor`] stays a value; a variable is a layout over memory that others may see, too.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`Variable`]: its value, its views, what it is bound to |
//! | `storage` | the memory that variables share, and copying it on write |
//! | `write` | writes: in place where no value holds the memory, recorded where gradients want it |
//! | `row` | rows of the op tables, run into the memory that they read |
//! | `rewrite` | programs written over several variables in one pass |
//! | `piece` | parts of a shape, which a large tensor is changed by |
//! | `history` | what a write, and a view after one, remember for gradients |
//!
//! Views share a [`Storage`]: whatever is written through one is seen by all. Whoever took a *value*
//! (what autograd saved, an operand, memory handed out) holds the memory itself, and a write copies it
//! first. So there is nothing to count and nothing to be told of too late.

mod history;
mod piece;
mod rewrite;
mod row;
mod storage;
mod write;

use std::sync::{Arc, Mutex};

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::{Layout, Shape};

use crate::autograd::{History, is_grad_enabled};
use crate::index::plain_view;
use crate::view::infer_sizes;
use crate::{Index, Tensor};
use storage::{Base, Storage};

pub use rewrite::{CheckedRewrite, Rewriting, Rewritten};
pub use row::RowOperand;
pub use storage::set_pause;
pub(crate) use storage::{Guard, acquire};
pub use write::Written;

/// A place that holds a value, shares its memory with its views, and can be written to.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Index, Tensor, Variable};
/// let x = Variable::new(Tensor::zeros(&[2, 2], DType::F32)?);
/// let column = x.view(|x| x.select(1, 0))?;
/// column.assign("setitem", &[Index::At(1)], 7)?;
/// assert_eq!(x.value().to_vec::<f32>()?, [0.0, 0.0, 7.0, 0.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Debug)]
pub struct Variable {
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// No other variable sees the memory.
    Alone(Tensor),
    /// Others may.
    Aliased(Alias),
}

/// A layout over memory that variables share.
#[derive(Debug)]
struct Alias {
    storage: Arc<Storage>,
    /// The length of the memory, which never changes.
    bytes: usize,
    layout: Layout,
    dtype: DType,
    width: Option<DType>,
    /// The tensor that gradients are recorded for, of which this is all or a view.
    base: Arc<Base>,
    /// Whether gradients go back to the base: not from a view made while nothing was recorded.
    is_tied: bool,
    /// The history of this view when the base had been rewritten `seen` times.
    history: Option<History>,
    seen: u64,
}

impl Alias {
    /// The elements of the memory, in the dtype of the base.
    fn len(&self) -> usize {
        self.base.dtype.count_in(self.bytes)
    }
}

impl From<Tensor> for Variable {
    fn from(tensor: Tensor) -> Self {
        Self::new(tensor)
    }
}

impl Variable {
    /// A variable with a value of its own.
    #[must_use]
    #[inline]
    pub fn new(tensor: Tensor) -> Self {
        let state = Mutex::new(State::Alone(tensor));
        Self { state }
    }

    fn lock(&self) -> Guard<'_, State> {
        acquire(&self.state)
    }

    /// The value now, which later writes do not change.
    #[must_use]
    pub fn value(&self) -> Tensor {
        match &mut *self.lock() {
            State::Alone(tensor) => tensor.clone(),
            State::Aliased(alias) => alias.value(),
        }
    }

    /// Whether no other variable sees the memory.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(&*self.lock(), State::Alone(_))
    }

    /// A variable that sees the same memory as a view of this one: what a function makes of the value.
    /// Where that is no view, it is a variable of its own.
    ///
    /// # Errors
    /// What the function fails with.
    pub fn view<E: From<Error>>(
        &self,
        make: impl FnOnce(&Tensor) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        let link = self.link()?;
        let view = make(&link.value)?;
        Ok(link.attach(view))
    }

    /// A variable that sees elements of the same memory in another layout, if there is no history that a
    /// view would be a part of; `None` also where the change is none.
    #[inline]
    fn seen_as(
        &self,
        change: impl FnOnce(&Layout) -> Result<Option<Layout>, Error>,
    ) -> Result<Option<Self>, Error> {
        let mut state = self.lock();
        let alias = state.share()?;
        if alias.history.is_some() || alias.base.generation() != alias.seen {
            return Ok(None);
        }
        let Some(layout) = change(&alias.layout)? else {
            return Ok(None);
        };
        let view = Alias {
            storage: Arc::clone(&alias.storage),
            bytes: alias.bytes,
            layout,
            dtype: alias.dtype,
            width: alias.width,
            base: Arc::clone(&alias.base),
            is_tied: true,
            history: None,
            seen: alias.seen,
        };
        Ok(Some(view.into()))
    }

    /// [`view`](Self::view) of the dimensions in reverse, where that is quick.
    ///
    /// # Errors
    /// A memory error.
    #[inline]
    pub fn reversed(&self) -> Result<Option<Self>, Error> {
        self.seen_as(|layout| Ok(Some(layout.reversed())))
    }

    /// [`view`](Self::view) of what a key means, where that is quick.
    ///
    /// # Errors
    /// As [`Tensor::index`].
    #[inline]
    pub fn index(&self, key: &[Index]) -> Result<Option<Self>, Error> {
        self.seen_as(|layout| plain_view(layout, key))
    }

    /// [`view`](Self::view) of the elements with other sizes, where that is quick.
    ///
    /// # Errors
    /// As [`Tensor::reshape`].
    pub fn reshape(&self, sizes: &[isize]) -> Result<Option<Self>, Error> {
        self.seen_as(|layout| {
            let shape = infer_sizes("reshape", layout.shape(), sizes)?;
            Ok(layout.reshape(&shape))
        })
    }

    /// The number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().shape().count()
    }

    /// The size of a dimension; `None` if there is no such.
    #[must_use]
    pub fn size(&self, dim: isize) -> Option<usize> {
        let state = self.lock();
        let shape = state.shape();
        let dim = if dim < 0 {
            dim.checked_add_unsigned(shape.len())?
        } else {
            dim
        };
        shape.get(usize::try_from(dim).ok()?).copied()
    }

    /// What a view of this variable is made with.
    ///
    /// # Errors
    /// A memory error.
    pub fn link(&self) -> Result<Link, Error> {
        let mut state = self.lock();
        let alias = state.share()?;
        Ok(Link {
            value: alias.value(),
            storage: Arc::clone(&alias.storage),
            base: Arc::clone(&alias.base),
            seen: alias.seen,
        })
    }

    /// The same memory without a history: what is written to it is seen here and not recorded.
    ///
    /// # Errors
    /// A memory error.
    pub fn detach(&self) -> Result<Self, Error> {
        let link = self.link()?;
        Ok(Alias::detached(link).into())
    }

    /// Another variable for the same elements, with the same history.
    ///
    /// # Errors
    /// A memory error.
    pub fn alias(&self) -> Result<Self, Error> {
        self.view(|x| Ok(x.clone()))
    }

    /// What tells the memory from that of others, if other variables see it.
    #[must_use]
    pub fn shared_place(&self) -> Option<usize> {
        match &*self.lock() {
            State::Aliased(alias) if Arc::strong_count(&alias.storage) > 1 => {
                Some(Arc::as_ptr(&alias.storage).addr())
            }
            _ => None,
        }
    }

    /// A copy of the whole memory, of which this may be a part, where the same elements are seen; it has
    /// no history.
    ///
    /// # Errors
    /// A memory error.
    pub fn copy_memory(&self) -> Result<Self, Error> {
        let link = self.link()?;
        let memory = link.storage.lock().copied("copy")?;
        let (layout, dtype) = (link.value.layout().clone(), link.value.dtype());
        let mut copy = Tensor::from_parts(memory, layout, dtype);
        copy.set_width(link.value.width());
        Ok(Self::new(copy))
    }

    /// What this variable would see in a copy of its memory.
    ///
    /// # Errors
    /// A memory error.
    pub fn placed_in(&self, copy: &Self) -> Result<Self, Error> {
        let own = self.value();
        let link = copy.link()?;
        let mut view = link.value.reinterpret(own.layout().clone(), own.dtype());
        view.set_width(own.width());
        Ok(link.attach(view))
    }

    /// Whether two variables are the same elements of the same memory.
    #[must_use]
    pub fn is_alias_of(&self, other: &Self) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        let place = |variable: &Self| match &*variable.lock() {
            State::Alone(_) => None,
            State::Aliased(alias) => {
                let storage = Arc::as_ptr(&alias.storage);
                Some((storage, alias.layout.clone(), alias.dtype))
            }
        };
        let own = place(self);
        own.is_some() && own == place(other)
    }

    /// Gives the variable another value, which no view of it sees.
    pub fn rebind(&self, tensor: Tensor) {
        *self.lock() = State::Alone(tensor);
    }

    /// Makes the variable see what another one sees.
    ///
    /// # Errors
    /// A memory error.
    pub fn rebind_to(&self, other: &Self) -> Result<(), Error> {
        let other = other.alias()?;
        self.take_state(other);
        Ok(())
    }

    /// Makes the variable see the elements of another one, and keeps its history. Of another shape or
    /// dtype a leaf is a new leaf, and a computed tensor has no history.
    ///
    /// # Errors
    /// A memory error, a gradient error for a leaf of a dtype that has no gradients.
    pub fn set_data(&self, data: &Self) -> Result<(), Error> {
        let former = self.value();
        let link = data.link()?;
        let kept = match former.history() {
            None => None,
            Some(history) if history.fits(&link.value) => Some(history.clone()),
            Some(history) if history.node.is_leaf() => {
                let leaf = link.value.detach().requires_grad_(true)?;
                leaf.history().cloned()
            }
            Some(_) => None,
        };
        let variable: Self = Alias::detached(link).into();
        variable.set_history(kept);
        self.take_state(variable);
        Ok(())
    }

    /// Takes the place of another variable.
    fn take_state(&self, other: Self) {
        let state = other
            .state
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *self.lock() = state;
    }

    /// Makes the variable a leaf that collects gradients, or one that does not.
    ///
    /// # Errors
    /// As [`Tensor::requires_grad_`].
    pub fn requires_grad_(&self, required: bool) -> Result<(), Error> {
        let leaf = self.value().requires_grad_(required)?;
        self.set_history(leaf.history().cloned());
        Ok(())
    }

    /// Forgets the history; the memory stays shared.
    pub fn detach_(&self) {
        self.set_history(None);
    }

    /// Another history from now on, of which the views made so far know nothing.
    fn set_history(&self, history: Option<History>) {
        match &mut *self.lock() {
            State::Alone(tensor) => tensor.set_history(history),
            State::Aliased(alias) => {
                if !alias.is_whole() || !alias.is_tied {
                    alias.base = Base::new(alias.layout.clone(), alias.dtype, None);
                    alias.is_tied = true;
                }
                alias.seen = alias.base.set_history(history.clone());
                alias.history = history;
            }
        }
    }
}

impl From<Alias> for Variable {
    #[inline]
    fn from(alias: Alias) -> Self {
        let state = Mutex::new(State::Aliased(alias));
        Self { state }
    }
}

impl State {
    fn shape(&self) -> &Shape {
        match self {
            Self::Alone(tensor) => tensor.shape(),
            Self::Aliased(alias) => alias.layout.shape(),
        }
    }

    /// The layout over memory that others may see from now on.
    fn share(&mut self) -> Result<&mut Alias, Error> {
        match self {
            Self::Aliased(alias) => Ok(alias),
            Self::Alone(tensor) => {
                let alias = if tensor.layout().repeats() && !tensor.is_foreign() {
                    // Elements that are one place could not be written to one by one.
                    let _hold = crate::host::interrupt::hold();
                    let history = tensor.history().cloned();
                    Alias::new(&tensor.detach().copied()?.with_history(history))
                } else {
                    Alias::new(tensor)
                };
                *self = Self::Aliased(alias);
                self.share()
            }
        }
    }
}

impl Alias {
    fn new(tensor: &Tensor) -> Self {
        let (layout, dtype) = (tensor.layout().clone(), tensor.dtype());
        let history = tensor.history().cloned();
        Self {
            storage: Storage::new(tensor),
            bytes: tensor.memory_bytes(),
            base: Base::new(layout.clone(), dtype, history.clone()),
            layout,
            dtype,
            width: tensor.width(),
            is_tied: true,
            history,
            seen: 0,
        }
    }

    /// A layout over memory, as a tensor of its own for gradients.
    fn detached(link: Link) -> Self {
        let (layout, dtype) = (link.value.layout().clone(), link.value.dtype());
        Self {
            bytes: link.value.memory_bytes(),
            width: link.value.width(),
            storage: link.storage,
            base: Base::new(layout.clone(), dtype, None),
            layout,
            dtype,
            is_tied: true,
            history: None,
            seen: 0,
        }
    }

    /// Whether this is all of the tensor that gradients are recorded for.
    fn is_whole(&self) -> bool {
        self.layout == self.base.layout && self.dtype == self.base.dtype
    }

    fn value(&mut self) -> Tensor {
        let memory = Arc::clone(&self.storage.lock().memory);
        self.renew();
        let mut value = Tensor::from_parts(memory, self.layout.clone(), self.dtype);
        value.set_width(self.width);
        value.with_history(self.history.clone())
    }

    /// The history of what the base is now, if it was rewritten.
    fn renew(&mut self) {
        if self.base.generation() == self.seen || !self.is_tied {
            return;
        }
        let (history, generation) = self.base.history();
        self.seen = generation;
        let renewed = match history {
            Some(history) if self.is_whole() => Some(history),
            Some(history) => {
                history::of_view(&self.base, history, &self.layout, self.dtype, self.len())
            }
            None => None,
        };
        move_retained(self.history.as_ref(), renewed.as_ref());
        self.history = renewed;
    }
}

/// Lets the wish to keep a gradient follow the value that a variable has now.
fn move_retained(from: Option<&History>, to: Option<&History>) {
    if let (Some(from), Some(to)) = (from, to)
        && !from.is(to)
        && from.give_up_retained()
    {
        to.retain();
    }
}

/// What a view of a variable is made with: the variable's value, and the memory it shares.
#[derive(Debug)]
pub struct Link {
    /// The value to make the view of.
    pub value: Tensor,
    storage: Arc<Storage>,
    base: Arc<Base>,
    seen: u64,
}

impl Link {
    /// A variable for a view of the value; one of its own for what is none.
    #[must_use]
    pub fn attach(&self, view: Tensor) -> Variable {
        if !view.shares_storage_with(&self.value) {
            return Variable::new(view);
        }
        let (layout, dtype) = (view.layout().clone(), view.dtype());
        let has_gradient = Set::Inexact.contains(dtype) && is_grad_enabled();
        let is_tied = view.requires_grad() || !self.value.requires_grad() || has_gradient;
        Alias {
            storage: Arc::clone(&self.storage),
            bytes: self.value.memory_bytes(),
            base: Arc::clone(&self.base),
            layout,
            dtype,
            width: view.width(),
            is_tied,
            history: view.history().cloned(),
            seen: self.seen,
        }
        .into()
    }
}
