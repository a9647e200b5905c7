//! Hooks, and what else a tensor object keeps of other objects, so that the collector sees it.
//!
//! A node of the graph calls hooks, and outlives the tensor object. If it kept their functions, one
//! that refers to its tensor would keep both for ever, for the collector cannot look into nodes. So the
//! object keeps them, and the node only knows where they are. It takes them over when the object goes
//! and gradients may still come: where the object is dropped, and where the collector has found it in
//! a cycle (`Hook.__del__` in `allotrope/autograd/hook.py`, since only Python's classes have finalizers).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allotrope_dtype::Error;
use allotrope_tensor::{HookPlace, Tensor};
use pyo3::PyTraverseError;
use pyo3::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyWeakrefMethods, PyWeakrefReference};

use crate::autograd::callback_failed;
use crate::error::{raise, wrong_object};
use crate::interrupt::attach;
use crate::tensor::{PyTensor, as_tensor};

/// Objects that a tensor object keeps: none for most, so that they are behind a pointer.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<Box<Objects>>>);

#[derive(Default)]
struct Objects {
    /// The object that `grad` gave last, which it gives again while the gradient is where it was.
    grad: Option<Py<PyTensor>>,
    /// Objects of the class `Hook`, and what calls them.
    hooks: Vec<(Py<PyAny>, Py<Keeper>)>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Option<Box<Objects>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of the gradient that was given last.
    pub(crate) fn grad(&self, py: Python<'_>) -> Option<Py<PyTensor>> {
        let objects = self.lock();
        objects
            .as_ref()?
            .grad
            .as_ref()
            .map(|grad| grad.clone_ref(py))
    }

    /// Keeps another one: the former, which is to be dropped outside of the lock.
    pub(crate) fn set_grad(&self, grad: Option<Py<PyTensor>>) -> Option<Py<PyTensor>> {
        let mut objects = self.lock();
        if grad.is_none() && objects.is_none() {
            return None;
        }
        std::mem::replace(&mut objects.get_or_insert_default().grad, grad)
    }

    fn add_hook(&self, hook: Py<PyAny>, keeper: Py<Keeper>) {
        let mut objects = self.lock();
        objects.get_or_insert_default().hooks.push((hook, keeper));
    }

    fn remove_hook(&self, keeper: &Py<Keeper>) {
        let removed = self.lock().as_mut().and_then(|objects| {
            let place = objects.hooks.iter().position(|(_, own)| own.is(keeper))?;
            Some(objects.hooks.remove(place))
        });
        drop(removed);
    }

    /// Shows the collector what is kept.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Whoever holds this lock holds the interpreter too, which is the collector's now.
        let Ok(objects) = self.0.try_lock() else {
            return Ok(());
        };
        let Some(objects) = &*objects else {
            return Ok(());
        };
        visit.call(&objects.grad)?;
        for (hook, keeper) in &objects.hooks {
            visit.call(hook)?;
            visit.call(keeper)?;
        }
        Ok(())
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let objects = self.lock().take();
        drop(objects);
    }
}

impl Drop for Kept {
    /// Hands the hooks over where something else has the history of the tensor, which is gone by now.
    fn drop(&mut self) {
        let objects = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (hook, keeper) in objects.iter_mut().flat_map(|o| o.hooks.drain(..)) {
            let keeper = keeper.get();
            if keeper.place.is_there() {
                drop(keeper.lock().replace(hook));
            }
        }
    }
}

/// What a node knows of a hook.
#[pyclass(module = "allotrope.autograd", frozen)]
pub(crate) struct Keeper {
    place: HookPlace,
    /// The hook while its tensor object has it.
    weak: PyOnceLock<Py<PyWeakrefReference>>,
    /// The hook once its tensor object is gone.
    own: Mutex<Option<Py<PyAny>>>,
}

impl Keeper {
    fn lock(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function, unless it is gone with its tensor.
    fn function<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let own = self.lock().as_ref().map(|own| own.clone_ref(py));
        let hook = match own {
            Some(own) => Some(own.into_bound(py)),
            None => self.weak.get(py).and_then(|weak| weak.bind(py).upgrade()),
        };
        hook.map(|hook| hook.getattr("function")).transpose()
    }
}

#[pymethods]
impl Keeper {
    /// Keeps a hook that the collector is about to clear, if a gradient may still come to it.
    fn keep(&self, hook: Py<PyAny>) {
        if self.place.is_led_to() {
            let former = self.lock().replace(hook);
            drop(former);
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.own.try_lock() {
            Ok(own) => visit.call(&*own),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let own = self.lock().take();
        drop(own);
    }
}

/// What `register_hook` gives: a way to remove the hook, also at the end of a `with` block.
#[pyclass(module = "allotrope.autograd", frozen)]
pub(crate) struct RemovableHandle {
    /// Its history alone: the value may be large, and a handle must not hold writes up.
    tensor: Tensor,
    number: u64,
    is_after: bool,
    object: Py<PyWeakrefReference>,
    keeper: Py<Keeper>,
}

#[pymethods]
impl RemovableHandle {
    /// Removes the hook.
    fn remove(&self, py: Python<'_>) {
        match self.is_after {
            true => self.tensor.remove_after_hook(self.number),
            false => self.tensor.remove_hook(self.number),
        }
        self.keeper.get().__clear__();
        if let Some(object) = self.object.bind(py).upgrade()
            && let Ok(tensor) = object.cast::<PyTensor>()
        {
            tensor.get().kept().remove_hook(&self.keeper);
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.remove(_error.py());
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.keeper)
    }
}

/// Makes a tensor object keep a function, and gives what calls it.
fn keep(this: &Bound<'_, PyTensor>, op: &'static str, function: Py<PyAny>) -> PyResult<Py<Keeper>> {
    let py = this.py();
    let keeper = Keeper {
        place: this.get().tensor().hook_place(op).map_err(raise)?,
        weak: PyOnceLock::new(),
        own: Mutex::new(None),
    };
    let keeper = Bound::new(py, keeper)?;
    let class = py.import("allotrope.autograd.hook")?.getattr("Hook")?;
    let hook = class.call1((function, &keeper))?;
    let weak = PyWeakrefReference::new(&hook)?.unbind();
    // A new keeper has none.
    let _ = keeper.get().weak.set(py, weak);
    this.get()
        .kept()
        .add_hook(hook.unbind(), keeper.clone().unbind());
    Ok(keeper.unbind())
}

#[pymethods]
impl PyTensor {
    /// Calls a function with every gradient that comes back; what it gives, if not None, takes the
    /// gradient's place. The handle removes the hook.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> handle = x.register_hook(lambda gradient: gradient * 10)
    /// >>> x.sum().backward()
    /// >>> x.grad
    /// tensor([10., 10.])
    /// >>> handle.remove()
    fn register_hook(this: &Bound<'_, Self>, hook: Py<PyAny>) -> PyResult<RemovableHandle> {
        let py = this.py();
        let keeper = keep(this, "register_hook", hook)?;
        let known = keeper.clone_ref(py);
        let call = move |gradient: &Tensor| -> Result<Option<Tensor>, Error> {
            attach(|py| {
                let Some(function) = known.get().function(py)? else {
                    return Ok(None);
                };
                let object = Bound::new(py, PyTensor::from(gradient.clone()))?;
                let made = function.call1((&object,))?;
                if made.is_none() {
                    // A hook may also have changed the gradient in place.
                    let left = object.get().tensor();
                    return Ok((!left.is_same_value(gradient)).then_some(left));
                }
                let refuse = || wrong_object("hook", "not a tensor", &made, "tensors and None");
                as_tensor(&made).map(Some).ok_or_else(refuse)
            })
            .map_err(callback_failed)
        };
        let tensor = this.get().tensor();
        let number = tensor.register_hook(Arc::new(call)).map_err(raise)?;
        Ok(RemovableHandle {
            tensor: tensor.history_only().map_err(raise)?,
            number,
            is_after: false,
            object: PyWeakrefReference::new(this)?.unbind(),
            keeper,
        })
    }

    /// Calls a function with this tensor, a leaf, whenever a gradient has been added to it. The handle
    /// removes the hook.
    ///
    /// >>> w = al.ones(2, requires_grad=True)
    /// >>> handle = w.register_post_accumulate_grad_hook(lambda p: print(p.grad))
    /// >>> (w * 3).sum().backward()
    /// tensor([3., 3.])
    fn register_post_accumulate_grad_hook(
        this: &Bound<'_, Self>,
        hook: Py<PyAny>,
    ) -> PyResult<RemovableHandle> {
        let py = this.py();
        let tensor = this.get().tensor();
        // Nothing is kept for a tensor that is refused.
        tensor.check_after_hook().map_err(raise)?;
        let keeper = keep(this, "register_post_accumulate_grad_hook", hook)?;
        let (known, weak) = (
            keeper.clone_ref(py),
            PyWeakrefReference::new(this)?.unbind(),
        );
        let call = move || -> Result<(), Error> {
            attach(|py| {
                let tensor = weak.bind(py).upgrade();
                let function = known.get().function(py)?;
                match tensor.zip(function) {
                    Some((tensor, function)) => function.call1((tensor,)).map(|_| ()),
                    None => Ok(()),
                }
            })
            .map_err(callback_failed)
        };
        let number = tensor.register_after_hook(Arc::new(call)).map_err(raise)?;
        Ok(RemovableHandle {
            tensor: tensor.history_only().map_err(raise)?,
            number,
            is_after: true,
            object: PyWeakrefReference::new(this)?.unbind(),
            keeper,
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kept().traverse(&visit)
    }

    fn __clear__(&self) {
        self.kept().clear();
    }
}
