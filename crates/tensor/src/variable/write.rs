//! Writes. A change is made where the memory is, if no value holds it; else in a copy that takes its
//! place for all variables that share it.

use std::sync::{Arc, OnceLock};

use crate::host::{Buffer, Storage, interrupt};
use allotrope_dtype::{DType, Error, GradientProblem, Problem};
use allotrope_op::{Layout, Shared};

use super::piece::{PIECE, Piece};
use super::storage::{Base, Contents};
use super::{Alias, State, Variable, history, move_retained};
use crate::autograd::{History, is_grad_enabled, is_recorded, no_grad};
use crate::elementwise::Operand;
use crate::fork::undivided;
use crate::host::memory::try_with_capacity;
use crate::overflow::is_watched;
use crate::{Index, Tensor, fork};

/// What became of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Whether memory of someone else, who does not see the write, was copied for it.
    pub copied_foreign: bool,
}

/// What is read while a value is written over: nothing for the value itself, which is read element by
/// element; a copy of any other part of its memory.
pub(super) fn apart(operand: &Tensor, value: &Tensor) -> Result<Option<Tensor>, Error> {
    match operand.shares_storage_with(value) {
        true if operand.is_same_value(value) => Ok(None),
        true => operand.detach().copied().map(Some),
        false => Ok(Some(operand.detach())),
    }
}

impl Variable {
    /// Gives the elements that a key means other values, as [`Tensor::assign`] does.
    ///
    /// # Errors
    /// As [`Tensor::assign`], and as [`update`](Self::update).
    pub fn assign<'a>(
        &self,
        op: &'static str,
        key: &[Index],
        value: impl Into<Operand<'a>>,
    ) -> Result<Written, Error> {
        let value = value.into();
        let recorded = match value {
            Operand::Tensor(tensor) => is_recorded(&[tensor]),
            Operand::Scalar(_) => false,
        };
        self.change(op, recorded, &mut |tensor| tensor.assign(key, value))
    }

    /// Gives the variable what a function makes of its value, converted to its dtype.
    ///
    /// # Errors
    /// What the function fails with; a gradient error for a leaf that requires a gradient, or a view
    /// of one, while operations are recorded; a dtype error for a result of a higher kind, a value error
    /// for one of another shape or if elements share memory.
    pub fn update<E: From<Error>>(
        &self,
        op: &'static str,
        mut make: impl FnMut(&Tensor) -> Result<Tensor, E>,
    ) -> Result<Written, E> {
        loop {
            let former = self.begin(op)?;
            let result = make(&former)?;
            if let Some(written) = self.commit(op, former, result)? {
                return Ok(written);
            }
            // Another thread has written meanwhile: its value is the one to go on from.
        }
    }

    /// Gives several variables other values, or none of them: whatever needs room is made before the
    /// first write. Values are those from before, also where they lie in memory that is written. Nothing
    /// is recorded.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor, Variable};
    /// let a = Variable::new(Tensor::zeros(&[2], DType::F32)?);
    /// let b = Variable::new(Tensor::ones(&[2], DType::F32)?);
    /// Variable::write_all("swap", &[(&a, b.value()), (&b, a.value())])?;
    /// assert_eq!(a.value().to_vec::<f32>()?, [1.0; 2]);
    /// assert_eq!(b.value().to_vec::<f32>()?, [0.0; 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for a value of a higher kind, a value error for one of another shape or if elements
    /// share memory, a memory error; then nothing has been written.
    pub fn write_all(op: &'static str, writes: &[(&Self, Tensor)]) -> Result<Written, Error> {
        let _whole = undivided();
        let _off = no_grad();
        let mut ready = try_with_capacity(op, writes.len())?;
        for (variable, value) in writes {
            let former = variable.begin(op)?;
            if value.is_same_value(&former) && value.dtype() == former.dtype() {
                continue;
            }
            ready.push((*variable, fitted(op, value.detach(), &former)?));
        }
        let mut written = Written::default();
        for (variable, _) in &ready {
            written.copied_foreign |= variable.make_own(op)?;
        }
        for (variable, value) in &ready {
            let _ = variable.update(op, |_| Ok::<_, Error>(value.clone()))?;
        }
        Ok(written)
    }

    /// Sets the elements of several variables to zero, or of none of them. Nothing is recorded.
    ///
    /// # Errors
    /// A value error if elements share memory, a memory error; then nothing has been written.
    pub fn zero_all(op: &'static str, variables: &[&Self]) -> Result<Written, Error> {
        let _whole = undivided();
        let _off = no_grad();
        let mut written = Written::default();
        for variable in variables {
            written.copied_foreign |= variable.make_own(op)?;
        }
        for variable in variables {
            let _ = variable.assign(op, &[], 0.0)?;
        }
        Ok(written)
    }

    /// As [`update`](Self::update) for a function of the value and operands, which may lie in the same
    /// memory. If it makes every element of the same elements of its operands and fails for all or none,
    /// large tensors are changed a piece at a time: no room for another tensor is needed. The operands
    /// are then repeated to the shape of the variable.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_with<E: From<Error>>(
        &self,
        op: &'static str,
        operands: Vec<Tensor>,
        is_elementwise: bool,
        mut make: impl FnMut(&Tensor, &[Tensor]) -> Result<Tensor, E>,
    ) -> Result<Written, E> {
        let former = self.begin(op)?;
        let all: Vec<&Tensor> = operands.iter().chain([&former]).collect();
        if is_recorded(&all) {
            drop(former);
            return self.update(op, |x| make(x, &operands));
        }
        drop(all);
        let shape = former.shape().clone();
        let fits = |x: &Tensor| x.layout().broadcast_to(op, &shape).is_ok();
        // What may be refused is refused as a whole.
        let in_pieces =
            is_elementwise && !is_watched() && former.count() > PIECE && operands.iter().all(fits);
        let operands = operands.into_iter().map(|operand| apart(&operand, &former));
        let operands = operands.collect::<Result<Vec<_>, Error>>()?;
        drop(former);
        if !in_pieces {
            return self.update(op, |own| {
                let or_own = |operand: &Option<Tensor>| operand.as_ref().unwrap_or(own).clone();
                let operands: Vec<Tensor> = operands.iter().map(or_own).collect();
                make(own, &operands)
            });
        }
        self.update_pieces(op, |part, own| {
            let cut = |operand: &Option<Tensor>| match operand {
                Some(operand) => {
                    let whole = operand.layout().broadcast_to(op, &shape)?;
                    Ok(operand.with_layout(part.of(op, &whole)?))
                }
                None => Ok(own.clone()),
            };
            let operands = operands.iter().map(cut);
            let operands = operands.collect::<Result<Vec<_>, Error>>()?;
            make(own, &operands)
        })
    }

    /// Changes a large tensor a piece at a time; other threads wait for the last one.
    fn update_pieces<E: From<Error>>(
        &self,
        op: &'static str,
        mut make: impl FnMut(&Piece, &Tensor) -> Result<Tensor, E>,
    ) -> Result<Written, E> {
        let (storage, layout, dtype) = {
            let mut state = self.lock();
            let alias = state.share()?;
            let storage = Arc::clone(&alias.storage);
            (storage, alias.layout.clone(), alias.dtype)
        };
        // Begun is finished: half of the elements would be others.
        let (_gate, _hold) = (fork::enter_detached(), interrupt::hold());
        let session = storage.begin();
        let mut written = Written::default();
        for part in Piece::all(layout.shape()) {
            let piece = part.of(op, &layout)?;
            let own = {
                let memory = Arc::clone(&storage.lock().memory);
                Tensor::from_parts(memory, piece.clone(), dtype)
            };
            let result = fitted(op, make(&part, &own)?.detach(), &own)?;
            drop(own);
            let mut contents = storage.lock();
            written.copied_foreign |= contents.make_own(op)?;
            contents.write(op, piece, &result)?;
        }
        drop(session);
        Ok(written)
    }

    /// The value that a write begins with, if it may be written to.
    pub(super) fn begin(&self, op: &'static str) -> Result<Tensor, Error> {
        match &mut *self.lock() {
            State::Alone(tensor) => {
                check_leaf(op, tensor.history())?;
                Ok(tensor.clone())
            }
            State::Aliased(alias) => {
                alias.check(op)?;
                Ok(alias.value())
            }
        }
    }

    /// Puts a result in the place of the value it was made of; nothing if another one is there by now.
    pub(super) fn commit(
        &self,
        op: &'static str,
        former: Tensor,
        result: Tensor,
    ) -> Result<Option<Written>, Error> {
        let result = fitted(op, result, &former)?;
        let recorded = is_recorded(&[&former, &result]);
        // Then it has another history at most.
        let is_unchanged = result.is_same_value(&former);
        let (_gate, _hold) = (fork::enter_detached(), interrupt::hold());
        match &mut *self.lock() {
            State::Alone(tensor) => {
                if !tensor.is_same_value(&former) {
                    return Ok(None);
                }
                drop(former);
                let copied_foreign = tensor.is_foreign() && !tensor.has_own_memory();
                let history = tensor.history().cloned();
                tensor.set_history(None);
                let placed = if is_unchanged {
                    Ok(())
                } else if tensor.layout().repeats() {
                    *tensor = result.detach();
                    Ok(())
                } else {
                    tensor.place(op, &result.detach())
                };
                if placed.is_err() || !recorded {
                    tensor.set_history(history);
                    return placed.map(|()| Some(Written { copied_foreign }));
                }
                let new = match result.history() {
                    Some(history) => Some(history.clone()),
                    None => overwritten(op, history.clone(), &result),
                };
                move_retained(history.as_ref(), new.as_ref());
                tensor.set_history(new);
                Ok(Some(Written { copied_foreign }))
            }
            State::Aliased(alias) => {
                let mut contents = alias.storage.lock();
                if !former.is_in(&contents.memory) {
                    return Ok(None);
                }
                drop(former);
                if recorded && alias.layout.may_repeat() {
                    return Err(shared_elements(op, &alias.layout));
                }
                let mut copied_foreign = false;
                if !is_unchanged {
                    copied_foreign = contents.make_own(op)?;
                    contents.write(op, alias.layout.clone(), &result)?;
                }
                drop(contents);
                if recorded {
                    alias.rewrite(op, &result);
                }
                Ok(Some(Written { copied_foreign }))
            }
        }
    }

    /// Changes the value: where the memory is, unless that is to be recorded.
    pub(super) fn change(
        &self,
        op: &'static str,
        recorded: bool,
        change: &mut dyn FnMut(&mut Tensor) -> Result<(), Error>,
    ) -> Result<Written, Error> {
        let former = self.begin(op)?;
        if recorded || is_recorded(&[&former]) {
            drop(former);
            return self.update(op, |value| {
                let mut value = value.clone();
                change(&mut value)?;
                Ok(value)
            });
        }
        drop(former);
        let (_gate, _hold) = (fork::enter_detached(), interrupt::hold());
        match &mut *self.lock() {
            State::Alone(tensor) => {
                let history = tensor.history().cloned();
                let copied_foreign = tensor.is_foreign() && !tensor.has_own_memory();
                tensor.set_history(None);
                let changed = match tensor.layout().repeats() {
                    true => tensor.copied().map(|copy| *tensor = copy),
                    false => Ok(()),
                };
                let changed = changed.and_then(|()| change(tensor));
                tensor.set_history(history);
                changed.map(|()| Written { copied_foreign })
            }
            State::Aliased(alias) => {
                let mut contents = alias.storage.lock();
                let copied_foreign = contents.make_own(op)?;
                contents
                    .lend(alias.layout.clone(), alias.dtype, change)
                    .map(|()| Written { copied_foreign })
            }
        }
    }
}

impl Alias {
    /// Refuses a write that cannot be made or recorded.
    fn check(&self, op: &'static str) -> Result<(), Error> {
        if self.layout.repeats() {
            return Err(shared_elements(op, &self.layout));
        }
        if !is_grad_enabled() {
            return Ok(());
        }
        let (history, _) = self.base.history();
        check_leaf(op, history.as_ref())?;
        if history.is_some() && !self.is_tied {
            let problem = GradientProblem::UnrecordedView;
            return Err(Error::new(op, problem.into()).hint("with no_grad()"));
        }
        Ok(())
    }

    /// Remembers a write of a value for gradients.
    fn rewrite(&mut self, op: &'static str, value: &Tensor) {
        let (former, _) = self.base.history();
        let new = match value.history() {
            Some(history) if self.is_whole() => Some(history.clone()),
            _ => history::of_write(
                op,
                &self.base,
                former.clone(),
                &self.layout,
                value,
                self.len(),
            ),
        };
        move_retained(former.as_ref(), new.as_ref());
        self.base.rewrite(new);
        self.renew();
    }
}

impl Contents {
    /// Lets a change happen in the memory, which nothing else holds.
    fn lend(
        &mut self,
        layout: Layout,
        dtype: DType,
        change: &mut dyn FnMut(&mut Tensor) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = self.memory.len();
        let memory = std::mem::replace(&mut self.memory, nothing());
        let mut tensor = Tensor::from_parts(memory, layout, dtype);
        let changed = change(&mut tensor);
        self.memory = tensor.shared_memory();
        debug_assert_eq!(self.memory.len(), len, "a change stays where it is");
        changed
    }

    /// Writes elements to where a layout has them.
    pub(super) fn write(
        &mut self,
        op: &'static str,
        layout: Layout,
        value: &Tensor,
    ) -> Result<(), Error> {
        let value = value.detach();
        self.lend(layout, value.dtype(), &mut |tensor| {
            tensor.place(op, &value)
        })
    }
}

/// Memory of nothing, while the real one is lent.
fn nothing() -> Shared {
    static NOTHING: OnceLock<Shared> = OnceLock::new();
    Arc::clone(NOTHING.get_or_init(|| Storage::from(Buffer::empty()).share()))
}

/// A result as it is written in the place of a value: of its dtype and shape, in memory of its own.
fn fitted(op: &'static str, result: Tensor, former: &Tensor) -> Result<Tensor, Error> {
    if result.shape() != former.shape() {
        let problem = Problem::ShapeChanged {
            given: result.shape().to_vec(),
            target: former.shape().to_vec(),
        };
        return Err(Error::new(op, problem));
    }
    let dtype = former.dtype();
    if result.dtype() != dtype {
        result.check_kind(op, dtype, format!("x.to({}) first", result.dtype()))?;
    }
    let mut result = result.to_in(op, dtype)?;
    result.set_width(former.width());
    match result.shares_storage_with(former) && !result.is_same_value(former) {
        true => result.copied(),
        false => Ok(result),
    }
}

fn check_leaf(op: &'static str, history: Option<&History>) -> Result<(), Error> {
    if is_grad_enabled() && history.is_some_and(|history| history.node.is_leaf()) {
        let problem = GradientProblem::LeafChanged;
        return Err(Error::new(op, problem.into()).hint("with no_grad()"));
    }
    Ok(())
}

#[cold]
pub(super) fn shared_elements(op: &'static str, layout: &Layout) -> Error {
    let problem = Problem::SharedElements {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
    };
    Error::new(op, problem).hint("x.clone()")
}

/// The history of a tensor all of whose elements were replaced by others without one: it has no
/// influence any more.
fn overwritten(op: &'static str, former: Option<History>, value: &Tensor) -> Option<History> {
    let layout = Layout::contiguous(value.shape().clone());
    let base = Base::new(layout.clone(), value.dtype(), None);
    history::of_write(op, &base, former, &layout, value, value.count())
}
