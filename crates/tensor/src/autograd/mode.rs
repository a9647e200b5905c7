//! Whether operations are recorded, by thread and by flow of control.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use allotrope_dtype::{Flow, ScopeId, ScopeStack};

/// How operations on tensors that require a gradient are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are recorded.
    Recording,
    /// They are not.
    Off,
    /// They are not, and cannot be.
    Inference,
}

/// The mode of this thread.
#[must_use]
pub fn mode() -> Mode {
    MODE.get()
}

/// A setting of this thread where it is in no scope, and its scopes.
struct Layers<T> {
    base: T,
    scopes: ScopeStack<T>,
}

impl<T: Copy> Layers<T> {
    const fn new(base: T) -> Self {
        Self {
            base,
            scopes: ScopeStack::new(),
        }
    }

    /// What they come to.
    fn sum(&self) -> T {
        self.scopes.innermost().copied().unwrap_or(self.base)
    }
}

thread_local! {
    // What the layers come to, so that operations need not look.
    static MODE: Cell<Mode> = const { Cell::new(Mode::Recording) };
    static ANOMALY: Cell<bool> = const { Cell::new(false) };
    static MODES: RefCell<Layers<Mode>> = const { RefCell::new(Layers::new(Mode::Recording)) };
    static ANOMALIES: RefCell<Layers<bool>> = const { RefCell::new(Layers::new(false)) };
}

/// Changes the layers of the mode.
fn change_mode<R>(change: impl FnOnce(&mut Layers<Mode>) -> R) -> R {
    MODES.with_borrow_mut(|layers| {
        let result = change(layers);
        MODE.set(layers.sum());
        result
    })
}

/// Changes the layers of anomaly mode.
fn change_anomaly<R>(change: impl FnOnce(&mut Layers<bool>) -> R) -> R {
    ANOMALIES.with_borrow_mut(|layers| {
        let result = change(layers);
        ANOMALY.set(layers.sum());
        result
    })
}

/// The scopes of modes that a flow of control is inside of, such as a task of an event loop; see
/// [`SettingFlow`](allotrope_dtype::SettingFlow).
#[derive(Clone, Debug, Default)]
pub struct ModeFlow {
    mode: Flow<Mode>,
    anomaly: Flow<bool>,
}

impl ModeFlow {
    /// Makes these the scopes of this thread, beside those of its own guards.
    pub fn resume(&self) {
        change_mode(|layers| layers.scopes.resume(self.mode.clone()));
        change_anomaly(|layers| layers.scopes.resume(self.anomaly.clone()));
    }

    /// Whether the flow is in no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mode.is_empty() && self.anomaly.is_empty()
    }

    /// Opens a scope of a mode.
    pub fn enter_mode(&mut self, mode: Mode) -> ScopeId {
        let id;
        (self.mode, id) = self.mode.entered(mode);
        id
    }

    /// Opens a scope of anomaly mode.
    pub fn enter_anomaly(&mut self, enabled: bool) -> ScopeId {
        let id;
        (self.anomaly, id) = self.anomaly.entered(enabled);
        id
    }

    /// Ends a scope wherever it stands; false if the flow is not inside it.
    pub fn leave(&mut self, id: ScopeId) -> bool {
        if let Some(left) = self.mode.left(id) {
            self.mode = left;
            return true;
        }
        let left = self.anomaly.left(id);
        let is_left = left.is_some();
        self.anomaly = left.unwrap_or_else(|| self.anomaly.clone());
        is_left
    }

    /// Sets the mode of the innermost scope, or of the thread if it is in none. This flow must be the
    /// one that the thread goes on with, and is to be resumed.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = change_mode(|layers| set_innermost(layers, &self.mode, mode));
    }

    /// Turns anomaly mode of the innermost scope on or off, or that of the thread if it is in none.
    /// As [`Self::set_mode`].
    pub fn set_anomaly(&mut self, enabled: bool) {
        self.anomaly = change_anomaly(|layers| set_innermost(layers, &self.anomaly, enabled));
    }
}

/// Sets the innermost of all layers; what the flow is then.
fn set_innermost<T: Copy>(layers: &mut Layers<T>, flow: &Flow<T>, value: T) -> Flow<T> {
    if let Some(own) = layers.scopes.own_mut() {
        *own = value;
    } else if flow.is_empty() {
        layers.base = value;
    } else {
        return flow.changed(value);
    }
    flow.clone()
}

/// Whether operations on tensors that require a gradient are recorded in this thread.
///
/// ```
/// use allotrope_tensor::{is_grad_enabled, no_grad};
/// let _off = no_grad();
/// assert!(!is_grad_enabled());
/// ```
#[must_use]
pub fn is_grad_enabled() -> bool {
    MODE.get() == Mode::Recording
}

/// Whether this thread is in inference mode, where nothing can be recorded at all.
///
/// ```
/// use allotrope_tensor::is_inference_mode;
/// assert!(!is_inference_mode());
/// ```
#[must_use]
pub fn is_inference_mode() -> bool {
    MODE.get() == Mode::Inference
}

/// Whether this thread looks for the first number that is not finite.
///
/// ```
/// use allotrope_tensor::is_anomaly_enabled;
/// assert!(!is_anomaly_enabled());
/// ```
#[must_use]
pub fn is_anomaly_enabled() -> bool {
    ANOMALY.get()
}

/// A mode of this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "the mode ends when the guard is dropped"]
pub struct GradMode {
    scope: ScopeId,
    // A guard belongs to the thread that made it.
    thread: PhantomData<*const ()>,
}

impl GradMode {
    fn set(mode: Mode) -> Self {
        Self {
            scope: change_mode(|layers| layers.scopes.push(mode)),
            thread: PhantomData,
        }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        change_mode(|layers| layers.scopes.remove(self.scope));
    }
}

/// Nothing is recorded while the guard lives.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, no_grad};
/// let x = Tensor::ones(&[2], DType::F32)?.requires_grad_(true)?;
/// let guard = no_grad();
/// assert!(!x.exp()?.requires_grad());
/// drop(guard);
/// assert!(x.exp()?.requires_grad());
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
pub fn no_grad() -> GradMode {
    set_grad_enabled(false)
}

/// Operations are recorded while the guard lives, also within [`no_grad`].
///
/// ```
/// use allotrope_tensor::{Tensor, enable_grad, no_grad};
/// let _off = no_grad();
/// let x = Tensor::new(2.0)?.requires_grad_(true)?;
/// let on = enable_grad();
/// assert!(x.square()?.requires_grad());
/// drop(on);
/// assert!(!x.square()?.requires_grad());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub fn enable_grad() -> GradMode {
    set_grad_enabled(true)
}

/// Operations are recorded, or not, while the guard lives. Inference mode stays what it is.
///
/// ```
/// use allotrope_tensor::{is_grad_enabled, set_grad_enabled};
/// let _mode = set_grad_enabled(false);
/// assert!(!is_grad_enabled());
/// ```
pub fn set_grad_enabled(enabled: bool) -> GradMode {
    GradMode::set(match MODE.get() {
        Mode::Inference => Mode::Inference,
        _ if enabled => Mode::Recording,
        _ => Mode::Off,
    })
}

/// Nothing is recorded while the guard lives, and nothing can turn recording on; if `enabled` is
/// false, inference mode is left.
///
/// ```
/// use allotrope_tensor::{Tensor, inference_mode};
/// let _inference = inference_mode(true);
/// let x = Tensor::new(2.0)?.requires_grad_(true);
/// assert!(x.is_err() || !x?.square()?.requires_grad());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub fn inference_mode(enabled: bool) -> GradMode {
    GradMode::set(if enabled {
        Mode::Inference
    } else {
        Mode::Recording
    })
}

/// Anomaly mode of this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "the mode ends when the guard is dropped"]
pub struct AnomalyMode {
    scope: ScopeId,
    thread: PhantomData<*const ()>,
}

impl Drop for AnomalyMode {
    fn drop(&mut self) {
        change_anomaly(|layers| layers.scopes.remove(self.scope));
    }
}

/// While the guard lives, recorded operations fail at the first result or gradient that is not
/// finite, and name the operation and the line that called it.
///
/// ```
/// use allotrope_tensor::{detect_anomaly, is_anomaly_enabled};
/// let _mode = detect_anomaly(true);
/// assert!(is_anomaly_enabled());
/// ```
pub fn detect_anomaly(enabled: bool) -> AnomalyMode {
    AnomalyMode {
        scope: change_anomaly(|layers| layers.scopes.push(enabled)),
        thread: PhantomData,
    }
}
