//! Whether operations are recorded, by thread.

use std::cell::Cell;
use std::marker::PhantomData;

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

/// Puts another mode in the place of this thread's, and gives the former one. The guards of this
/// module do so and come back by themselves.
pub fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

/// Turns anomaly mode of this thread on or off, and says whether it was on.
pub fn exchange_anomaly(enabled: bool) -> bool {
    ANOMALY.replace(enabled)
}

/// The mode of this thread.
#[must_use]
pub fn mode() -> Mode {
    MODE.get()
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Recording) };
    static ANOMALY: Cell<bool> = const { Cell::new(false) };
}

/// Whether operations on tensors that require a gradient are recorded in this thread.
#[must_use]
pub fn is_grad_enabled() -> bool {
    MODE.get() == Mode::Recording
}

/// Whether this thread is in inference mode, where nothing can be recorded at all.
#[must_use]
pub fn is_inference_mode() -> bool {
    MODE.get() == Mode::Inference
}

/// Whether this thread looks for the first number that is not finite.
#[must_use]
pub fn is_anomaly_enabled() -> bool {
    ANOMALY.get()
}

/// A mode of this thread, until it is dropped.
#[derive(Debug)]
#[must_use = "the mode ends when the guard is dropped"]
pub struct GradMode {
    before: Mode,
    // A guard belongs to the thread that made it.
    thread: PhantomData<*const ()>,
}

impl GradMode {
    fn set(mode: Mode) -> Self {
        Self {
            before: MODE.replace(mode),
            thread: PhantomData,
        }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        MODE.set(self.before);
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
pub fn enable_grad() -> GradMode {
    set_grad_enabled(true)
}

/// Operations are recorded, or not, while the guard lives. Inference mode stays what it is.
pub fn set_grad_enabled(enabled: bool) -> GradMode {
    GradMode::set(match MODE.get() {
        Mode::Inference => Mode::Inference,
        _ if enabled => Mode::Recording,
        _ => Mode::Off,
    })
}

/// Nothing is recorded while the guard lives, and nothing can turn recording on; if `enabled` is
/// false, inference mode is left.
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
    before: bool,
    thread: PhantomData<*const ()>,
}

impl Drop for AnomalyMode {
    fn drop(&mut self) {
        ANOMALY.set(self.before);
    }
}

/// While the guard lives, recorded operations fail at the first result or gradient that is not
/// finite, and name the operation and the line that called it.
pub fn detect_anomaly(enabled: bool) -> AnomalyMode {
    AnomalyMode {
        before: ANOMALY.replace(enabled),
        thread: PhantomData,
    }
}
