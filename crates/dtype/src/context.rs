//! The settings in force: default dtype, promotion policy, inference of float64.
//!
//! Each has a process-wide value and a thread-local one that a scope sets and restores. A setter
//! changes the scope of the calling thread if it is inside one, else the process-wide value.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread::LocalKey;

use crate::{DType, Error, Policy, Problem};

/// The scopes that a thread is inside of, outermost first: each with its value.
type Scopes = RefCell<Vec<(ScopeId, u8)>>;

/// A setting with a process-wide value and thread-local scopes.
struct Setting {
    process: AtomicU8,
    scopes: fn() -> &'static LocalKey<Scopes>,
}

impl Setting {
    fn get(&self) -> u8 {
        let innermost =
            (self.scopes)().with_borrow(|scopes| scopes.last().map(|(_, value)| *value));
        innermost.unwrap_or_else(|| self.process.load(Ordering::Relaxed))
    }

    fn set(&self, new: u8) {
        (self.scopes)().with_borrow_mut(|scopes| match scopes.last_mut() {
            Some((_, value)) => *value = new,
            None => self.process.store(new, Ordering::Relaxed),
        });
    }

    fn enter(&self, value: u8) -> ScopeId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = ScopeId(NEXT.fetch_add(1, Ordering::Relaxed));
        (self.scopes)().with_borrow_mut(|scopes| scopes.push((id, value)));
        id
    }

    /// Ends a scope wherever it stands: those inside it stay as they are.
    fn leave(&self, id: ScopeId) -> bool {
        (self.scopes)().with_borrow_mut(|scopes| {
            let place = scopes.iter().rposition(|(scope, _)| *scope == id);
            place.map(|place| scopes.remove(place)).is_some()
        })
    }
}

macro_rules! setting {
    ($name:ident, $initial:expr) => {
        static $name: Setting = {
    thread_local!(static SCOPES: Scopes = const { RefCell::new(Vec::new()) });
            Setting {
                process: AtomicU8::new($initial),
                scopes: || &SCOPES,
            }
        };
    };
}
setting!(DEFAULT_DTYPE, DType::F32 as u8);
setting!(POLICY, 0);
setting!(FLOAT64_INFERENCE, 0);

/// A scope of a setting on one thread. For bindings whose scopes are not Rust scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeId(u64);

/// Ends the thread's scope when dropped, in any order. Stays on the thread that made it.
#[must_use = "the scope ends when this is dropped"]
pub struct Scope {
    setting: &'static Setting,
    id: ScopeId,
    on_this_thread: PhantomData<*const ()>,
}

impl Scope {
    fn enter(setting: &'static Setting, value: u8) -> Self {
        Self {
            setting,
            id: setting.enter(value),
            on_this_thread: PhantomData,
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.setting.leave(self.id);
    }
}

/// The dtype of floats that nothing else decides; `float32` at the start.
#[must_use]
pub fn default_dtype() -> DType {
    DType::from_index(usize::from(DEFAULT_DTYPE.get())).unwrap_or(DType::F32)
}

/// Sets the default dtype.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn set_default_dtype(dtype: DType) -> Result<(), Error> {
    DEFAULT_DTYPE.set(check_default(dtype)? as u8);
    Ok(())
}

/// Makes `dtype` the default on this thread until the scope is dropped.
///
/// ```
/// use allotrope_dtype::{DType, default_dtype, scoped_default_dtype};
/// {
///     let _scope = scoped_default_dtype(DType::F64)?;
///     assert_eq!(default_dtype(), DType::F64);
/// }
/// assert_eq!(default_dtype(), DType::F32);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn scoped_default_dtype(dtype: DType) -> Result<Scope, Error> {
    Ok(Scope::enter(&DEFAULT_DTYPE, check_default(dtype)? as u8))
}

fn check_default(dtype: DType) -> Result<DType, Error> {
    if dtype.is_floating_point() {
        Ok(dtype)
    } else {
        Err(Error::new(
            "set_default_dtype",
            Problem::DefaultNotFloat { given: dtype },
        ))
    }
}

/// The promotion policy in force; standard at the start.
#[must_use]
pub fn promotion() -> Policy {
    Policy::ALL
        .into_iter()
        .nth(usize::from(POLICY.get()))
        .unwrap_or(Policy::Standard)
}

/// Sets the promotion policy.
pub fn set_promotion(policy: Policy) {
    POLICY.set(policy as u8);
}

/// Makes `policy` the promotion policy on this thread until the scope is dropped.
pub fn scoped_promotion(policy: Policy) -> Scope {
    Scope::enter(&POLICY, policy as u8)
}

/// Opens a scope of the default dtype on this thread; [`scoped_default_dtype`] is the safer form.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn enter_default_dtype(dtype: DType) -> Result<ScopeId, Error> {
    Ok(DEFAULT_DTYPE.enter(check_default(dtype)? as u8))
}

/// Ends a scope of the default dtype; false if this thread is not inside it.
pub fn leave_default_dtype(scope: ScopeId) -> bool {
    DEFAULT_DTYPE.leave(scope)
}

/// The default dtype of threads that are in no scope.
#[must_use]
pub fn process_default_dtype() -> DType {
    DType::from_index(usize::from(DEFAULT_DTYPE.process.load(Ordering::Relaxed)))
        .unwrap_or(DType::F32)
}

/// Sets the default dtype of threads that are in no scope, also from inside one.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn set_process_default_dtype(dtype: DType) -> Result<(), Error> {
    DEFAULT_DTYPE
        .process
        .store(check_default(dtype)? as u8, Ordering::Relaxed);
    Ok(())
}

/// Whether this thread is inside a scope of the default dtype.
#[must_use]
pub fn is_default_dtype_scoped() -> bool {
    (DEFAULT_DTYPE.scopes)().with_borrow(|scopes| !scopes.is_empty())
}

/// Opens a scope of the promotion policy on this thread; [`scoped_promotion`] is the safer form.
#[must_use]
pub fn enter_promotion(policy: Policy) -> ScopeId {
    POLICY.enter(policy as u8)
}

/// Ends a scope of the promotion policy; false if this thread is not inside it.
pub fn leave_promotion(scope: ScopeId) -> bool {
    POLICY.leave(scope)
}

/// What inference makes of float64 data that comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float64Inference {
    /// float64 stays float64.
    Keep,
    /// float64 becomes the default dtype.
    Default,
}

/// What inference makes of float64 data; keep at the start.
#[must_use]
pub fn float64_inference() -> Float64Inference {
    if FLOAT64_INFERENCE.get() == 0 {
        Float64Inference::Keep
    } else {
        Float64Inference::Default
    }
}

/// Sets what inference makes of float64 data.
pub fn set_float64_inference(rule: Float64Inference) {
    FLOAT64_INFERENCE.set(rule as u8);
}
