//! The settings in force: default dtype, promotion policy, inference of float64.
//!
//! Each has a process-wide value and a thread-local one that a scope sets and restores. A setter
//! changes the scope of the calling thread if it is inside one, else the process-wide value.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{DType, Error, Policy, Problem};

/// A setting with a process-wide value and thread-local scopes.
struct Setting {
    process: AtomicU8,
    local: fn() -> &'static std::thread::LocalKey<Cell<Option<u8>>>,
}

impl Setting {
    fn get(&self) -> u8 {
        (self.local)()
            .get()
            .unwrap_or_else(|| self.process.load(Ordering::Relaxed))
    }

    fn set(&self, value: u8) {
        match (self.local)().get() {
            Some(_) => (self.local)().set(Some(value)),
            None => self.process.store(value, Ordering::Relaxed),
        }
    }
}

macro_rules! setting {
    ($name:ident, $initial:expr) => {
        static $name: Setting = {
    thread_local!(static LOCAL: Cell<Option<u8>> = const { Cell::new(None) });
            Setting {
                process: AtomicU8::new($initial),
                local: || &LOCAL,
            }
        };
    };
}
setting!(DEFAULT_DTYPE, DType::F32 as u8);
setting!(POLICY, 0);
setting!(FLOAT64_INFERENCE, 0);

/// Restores the thread's previous setting when dropped. Stays on the thread that made it.
#[must_use = "the scope ends when this is dropped"]
pub struct Scope {
    setting: &'static Setting,
    previous: Option<u8>,
    on_this_thread: PhantomData<*const ()>,
}

impl Scope {
    fn enter(setting: &'static Setting, value: u8) -> Self {
        let previous = (setting.local)().replace(Some(value));
        Self {
            setting,
            previous,
            on_this_thread: PhantomData,
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        (self.setting.local)().set(self.previous);
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

/// Sets or clears this thread's own default dtype and returns what it was.
///
/// For bindings whose scopes are not Rust scopes; [`scoped_default_dtype`] is the safer form.
///
/// # Errors
/// A dtype error unless `dtype` is a float.
pub fn exchange_local_default_dtype(dtype: Option<DType>) -> Result<Option<DType>, Error> {
    let value = dtype.map(check_default).transpose()?.map(|d| d as u8);
    let previous = (DEFAULT_DTYPE.local)().replace(value);
    Ok(previous.and_then(|index| DType::from_index(usize::from(index))))
}

/// Sets or clears this thread's own promotion policy and returns what it was.
///
/// For bindings whose scopes are not Rust scopes; [`scoped_promotion`] is the safer form.
pub fn exchange_local_promotion(policy: Option<Policy>) -> Option<Policy> {
    let previous = (POLICY.local)().replace(policy.map(|p| p as u8));
    previous.and_then(|index| Policy::ALL.into_iter().nth(usize::from(index)))
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
