//! The settings in force and their scopes: default dtype, promotion policy, inference.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::LocalKey;

use allotrope_dtype::{DType, Error, Float64Inference, Policy};
use pyo3::prelude::*;

use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::{raise, scope_not_entered};
use crate::promotion::parse_policy;

/// The scopes a thread is inside of, outermost first: each with the value it hides.
type Stack<T> = RefCell<Vec<(u64, Option<T>)>>;

thread_local! {
    static POLICIES: Stack<Policy> = const { RefCell::new(Vec::new()) };
    static DEFAULT_DTYPES: Stack<DType> = const { RefCell::new(Vec::new()) };
}

/// A number that tells one scope object from all others.
fn next_scope() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Takes a scope off the stack and returns the value to restore: `None` if a later scope is open.
///
/// A suspended generator may close its scope late; the scope above then inherits what it hid.
fn leave<T: Copy>(
    stack: &'static LocalKey<Stack<T>>,
    scope: u64,
    op: &str,
) -> PyResult<Option<Option<T>>> {
    stack.with_borrow_mut(|stack| {
        let position = stack.iter().rposition(|(entered, _)| *entered == scope);
        let (_, hidden) = stack.remove(position.ok_or_else(|| scope_not_entered(op))?);
        Ok(
            match position.and_then(|position| stack.get_mut(position)) {
                Some((_, above)) => {
                    *above = hidden;
                    None
                }
                None => Some(hidden),
            },
        )
    })
}

/// A scope in which a promotion policy is in force on this thread.
///
/// >>> with al.promotion("numpy"):
/// ...     al.promote_types("int8", "uint64")
/// allotrope.float64
#[pyclass(name = "promotion", module = "allotrope", frozen)]
pub(crate) struct Promotion {
    scope: u64,
    policy: Policy,
}

#[pymethods]
impl Promotion {
    #[new]
    fn new(policy: &str) -> PyResult<Self> {
        Ok(Self {
            scope: next_scope(),
            policy: parse_policy("promotion", policy)?,
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        let Self { scope, policy } = *this.get();
        let hidden = allotrope_dtype::exchange_local_promotion(Some(policy));
        POLICIES.with_borrow_mut(|stack| stack.push((scope, hidden)));
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(hidden) = leave(&POLICIES, self.scope, "promotion")? {
            allotrope_dtype::exchange_local_promotion(hidden);
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("allotrope.promotion('{}')", self.policy)
    }
}

/// Sets the promotion policy: of the scope this thread is in, else of the process.
///
/// The policies are those of `policies()`.
#[pyfunction]
pub(crate) fn set_promotion(policy: &str) -> PyResult<()> {
    let policy = parse_policy("set_promotion", policy)?;
    allotrope_dtype::set_promotion(policy);
    Ok(())
}

/// The name of the promotion policy in force.
///
/// >>> al.get_promotion()
/// 'standard'
#[pyfunction]
pub(crate) fn get_promotion() -> &'static str {
    allotrope_dtype::promotion().name()
}

/// What `set_default_dtype` returns: a scope, if it is entered.
#[pyclass(name = "DefaultDtype", module = "allotrope", frozen)]
pub(crate) struct DefaultDtype {
    scope: u64,
    dtype: DType,
    previous: DType,
    entered: AtomicBool,
}

#[pymethods]
impl DefaultDtype {
    fn __enter__(this: Py<Self>) -> PyResult<Py<Self>> {
        let Self {
            scope,
            dtype,
            previous,
            ref entered,
        } = *this.get();
        // The call has set the value for everyone; a scope is for this thread alone.
        if !entered.swap(true, Ordering::Relaxed) && allotrope_dtype::default_dtype() == dtype {
            allotrope_dtype::set_default_dtype(previous).map_err(raise)?;
        }
        let hidden = allotrope_dtype::exchange_local_default_dtype(Some(dtype)).map_err(raise)?;
        DEFAULT_DTYPES.with_borrow_mut(|stack| stack.push((scope, hidden)));
        Ok(this)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(hidden) = leave(&DEFAULT_DTYPES, self.scope, "set_default_dtype")? {
            allotrope_dtype::exchange_local_default_dtype(hidden).map_err(raise)?;
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("allotrope.set_default_dtype({})", self.dtype)
    }
}

/// Sets the dtype of floats that nothing else decides, or opens a scope with it.
///
/// A plain call sets it for the process, or for the scope this thread is in. As a context manager
/// it holds on this thread inside the block alone.
///
/// >>> with al.set_default_dtype(al.float64):
/// ...     al.infer_dtype(1.5)
/// allotrope.float64
#[pyfunction]
pub(crate) fn set_default_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<DefaultDtype> {
    let dtype = convert::to_dtype("set_default_dtype", dtype)?;
    let previous = allotrope_dtype::default_dtype();
    allotrope_dtype::set_default_dtype(dtype).map_err(raise)?;
    Ok(DefaultDtype {
        scope: next_scope(),
        dtype,
        previous,
        entered: AtomicBool::new(false),
    })
}

/// The dtype of floats that nothing else decides.
///
/// >>> al.get_default_dtype()
/// allotrope.float32
#[pyfunction]
pub(crate) fn get_default_dtype(py: Python<'_>) -> PyResult<Py<PyDType>> {
    wrap(py, allotrope_dtype::default_dtype())
}

/// Sets what inference makes of float64 data: "keep" it, or take the "default" dtype.
///
/// >>> al.set_inference(float64="keep")
#[pyfunction]
#[pyo3(signature = (*, float64))]
pub(crate) fn set_inference(float64: &str) -> PyResult<()> {
    allotrope_dtype::set_float64_inference(parse_inference("set_inference", float64)?);
    Ok(())
}

/// The rule with this name.
pub(crate) fn parse_inference(op: &'static str, name: &str) -> PyResult<Float64Inference> {
    match name {
        "keep" => Ok(Float64Inference::Keep),
        "default" => Ok(Float64Inference::Default),
        _ => Err(raise(Error::unknown_option(
            op,
            "float64 rule",
            name,
            &["keep", "default"],
        ))),
    }
}
