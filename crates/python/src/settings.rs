//! The settings in force and their scopes: default dtype, promotion policy, inference.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use allotrope_dtype::{DType, Error, Float64Inference, Level, Policy, ScopeId};
use allotrope_tensor::{
    PrintOptions, print_options, set_print_options, set_thread_count, thread_count,
};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::arguments::{DTypeLike, Int, Operand, size};
use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::{raise, scope_not_entered};
use crate::promotion::parse_policy;
use crate::scopes::{self, Scopes};

/// The scopes that one object has entered and not left, each with its thread: it may be entered again
/// inside itself, and by several threads and tasks.
pub(crate) type Entered = Mutex<Vec<(ScopeId, ThreadId)>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds a lock, so the contents are whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the most recently entered scope of this object that the task is inside of.
pub(crate) fn leave(py: Python<'_>, entered: &Entered, op: &str) -> PyResult<()> {
    let all = lock(entered).clone();
    for (scope, _) in all.iter().rev() {
        if scopes::end(py, *scope)? {
            lock(entered).retain(|(other, _)| other != scope);
            return Ok(());
        }
    }
    // One that was entered by another task of this thread, as those of an asynchronous generator that
    // the event loop closes: it is over with its task.
    let here = std::thread::current().id();
    let mut scopes = lock(entered);
    match scopes.iter().rposition(|(_, thread)| *thread == here) {
        Some(place) => {
            scopes.remove(place);
            Ok(())
        }
        None => Err(scope_not_entered(op)),
    }
}

pub(crate) fn enter(entered: &Entered, scope: ScopeId) {
    lock(entered).push((scope, std::thread::current().id()));
}

/// A function within a scope: what an object of a scope decorates.
pub(crate) fn decorate<'py>(
    scope: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let module = PyModule::import(scope.py(), intern!(scope.py(), "allotrope.scope"))?;
    module.call_method1(intern!(scope.py(), "decorate"), (scope, function))
}

/// A scope in which a promotion policy is in force in this thread or task; a decorator of functions.
///
/// >>> with al.promotion("numpy"):
/// ...     al.promote_types("int8", "uint64")
/// allotrope.float64
/// >>> @al.promotion("strict")
/// ... def current():
/// ...     return al.get_promotion()
/// >>> current()
/// 'strict'
#[pyclass(name = "promotion", module = "allotrope", frozen)]
pub(crate) struct Promotion {
    policy: Policy,
    entered: Entered,
}

#[pymethods]
impl Promotion {
    #[new]
    fn new(policy: &str) -> PyResult<Self> {
        Ok(Self {
            policy: parse_policy("promotion", policy)?,
            entered: Entered::default(),
        })
    }

    fn __enter__(this: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let policy = this.get().policy;
        let scope = scopes::change(py, |scopes| Ok(scopes.settings.enter_promotion(policy)))?;
        enter(&this.get().entered, scope);
        Ok(this)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        leave(py, &self.entered, "promotion")
    }

    fn __call__<'py>(
        this: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        decorate(this.as_any(), function)
    }

    fn __repr__(&self) -> String {
        format!("allotrope.promotion('{}')", self.policy)
    }
}

/// Sets the promotion policy: of the scope this thread is in, else of the process.
///
/// The policies are those of `policies()`.
///
/// >>> with al.promotion("standard"):
/// ...     al.set_promotion("strict")
/// ...     al.get_promotion()
/// 'strict'
#[pyfunction]
pub(crate) fn set_promotion(py: Python<'_>, policy: &str) -> PyResult<()> {
    let policy = parse_policy("set_promotion", policy)?;
    scopes::change(py, |scopes| {
        if !scopes.settings.set_promotion(policy) {
            allotrope_dtype::set_promotion(policy);
        }
        Ok(())
    })
}

/// The name of the promotion policy in force.
///
/// >>> al.get_promotion()
/// 'standard'
#[pyfunction]
pub(crate) fn get_promotion() -> &'static str {
    scopes::promotion().name()
}

/// Sets the default dtype of the process by a call whose result did not open a scope, if there is one.
///
/// Until then it holds in its own context alone: a thread that opens a scope by a call is not to be seen
/// by others between the call and the block.
fn settle(scopes: &mut Scopes) -> PyResult<()> {
    match scopes.pending.take() {
        Some((id, dtype)) if scopes.settings.leave(id) => {
            allotrope_dtype::set_process_default_dtype(dtype).map_err(raise)
        }
        _ => Ok(()),
    }
}

/// What a call has changed before it is known whether it opens a scope.
enum Change {
    /// The value of the process, once it is settled.
    Process(ScopeId),
    /// The value of the scope that the thread was in.
    Scope(DType),
}

/// What `set_default_dtype` returns: a scope, if it is entered.
#[pyclass(name = "DefaultDtype", module = "allotrope", frozen)]
pub(crate) struct DefaultDtype {
    dtype: DType,
    change: Mutex<Option<Change>>,
    entered: Entered,
}

#[pymethods]
impl DefaultDtype {
    fn __enter__(this: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        this.get().take_back(py)?;
        let Self {
            dtype, ref entered, ..
        } = *this.get();
        let scope = scopes::change(py, |scopes| {
            scopes.settings.enter_default_dtype(dtype).map_err(raise)
        })?;
        enter(entered, scope);
        Ok(this)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        leave(py, &self.entered, "set_default_dtype")
    }

    fn __call__<'py>(
        this: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.get().take_back(this.py())?;
        decorate(this.as_any(), function)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        // Whoever prints it, as a prompt does, does not open a scope.
        self.keep(py)?;
        Ok(format!("allotrope.set_default_dtype({})", self.dtype))
    }
}

impl DefaultDtype {
    /// Settles what the call has changed: it was not meant as a scope.
    fn keep(&self, py: Python<'_>) -> PyResult<()> {
        let change = lock(&self.change).take();
        let Some(Change::Process(id)) = change else {
            return Ok(());
        };
        scopes::change(py, |scopes| {
            match scopes.pending.is_some_and(|(own, _)| own == id) {
                true => settle(scopes),
                false => Ok(()),
            }
        })
    }

    /// Takes back what the call has changed: it was meant as a scope.
    fn take_back(&self, py: Python<'_>) -> PyResult<()> {
        match lock(&self.change).take() {
            Some(Change::Process(id)) => scopes::change(py, |scopes| {
                // A later call has settled it.
                if scopes.pending.take_if(|(own, _)| *own == id).is_some() {
                    scopes.settings.leave(id);
                }
                Ok(())
            }),
            Some(Change::Scope(previous)) => scopes::change(py, |scopes| {
                let taken = scopes.settings.set_default_dtype(previous);
                taken.map(drop).map_err(raise)
            }),
            None => Ok(()),
        }
    }
}

impl Drop for DefaultDtype {
    fn drop(&mut self) {
        // At the end of the interpreter there is nothing to set.
        let _ = Python::try_attach(|py| self.keep(py));
    }
}

/// Sets the dtype of floats that nothing else decides, or opens a scope with it.
///
/// A plain call sets it for the process, or for the scope this thread is in. As a context manager or
/// decorator it holds in this thread or task inside the block or function alone. While its result is
/// kept and neither entered nor printed, other threads do not see a plain call yet.
///
/// >>> with al.set_default_dtype(al.float64):
/// ...     al.infer_dtype(1.5)
/// allotrope.float64
#[pyfunction]
pub(crate) fn set_default_dtype(py: Python<'_>, dtype: DTypeLike) -> PyResult<DefaultDtype> {
    let dtype = convert::to_dtype("set_default_dtype", dtype)?;
    let previous = scopes::default_dtype();
    let change = scopes::change(py, |scopes| {
        settle(scopes)?;
        if scopes.settings.set_default_dtype(dtype).map_err(raise)? {
            return Ok(Change::Scope(previous));
        }
        let id = scopes.settings.enter_default_dtype(dtype).map_err(raise)?;
        scopes.pending = Some((id, dtype));
        Ok(Change::Process(id))
    })?;
    Ok(DefaultDtype {
        dtype,
        change: Mutex::new(Some(change)),
        entered: Entered::default(),
    })
}

/// The dtype of floats that nothing else decides.
///
/// >>> al.get_default_dtype()
/// allotrope.float32
#[pyfunction]
pub(crate) fn get_default_dtype(py: Python<'_>) -> PyResult<Py<PyDType>> {
    wrap(py, scopes::default_dtype())
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

/// How many threads share large work.
///
/// >>> al.get_num_threads() >= 1
/// True
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    thread_count()
}

/// The set of instructions that kernels use: "scalar", "avx2" or "avx512". `ALLOTROPE_SIMD` lowers it.
///
/// >>> al.simd_level() in ("scalar", "avx2", "avx512")
/// True
#[pyfunction]
pub(crate) fn simd_level() -> &'static str {
    Level::current().name()
}

/// Sets how many threads share large work: at most as many as the machine has, or as the first number
/// set before any large work. Results do not depend on it.
///
/// >>> al.set_num_threads(al.get_num_threads())
#[pyfunction]
pub(crate) fn set_num_threads(num_threads: Int) -> PyResult<()> {
    let op = "set_num_threads";
    match num_threads.0 {
        1.. => {
            set_thread_count(size(op, num_threads.0)?);
            Ok(())
        }
        given => Err(PyValueError::new_err(format!(
            "{op}: too few: {given}; at least 1 is accepted"
        ))),
    }
}

/// Sets how tensors are printed: digits after the point, elements from which they are summarised,
/// elements at either end of a summarised dimension, characters per line, and whether floats have an
/// exponent (None: by their range). profile is "default", "short" or "full".
///
/// >>> al.set_printoptions(precision=2)
/// >>> al.tensor([0.123456])
/// tensor([0.12])
/// >>> al.set_printoptions(profile="default")
#[pyfunction]
#[pyo3(signature = (precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None))]
pub(crate) fn set_printoptions(
    precision: Option<Int>,
    threshold: Option<Operand>,
    edgeitems: Option<Int>,
    linewidth: Option<Int>,
    profile: Option<&str>,
    sci_mode: Option<bool>,
) -> PyResult<()> {
    let op = "set_printoptions";
    let mut options = match profile {
        None => print_options(),
        Some("default") => PrintOptions::default(),
        Some("short") => PrintOptions {
            precision: 2,
            edge_items: 2,
            ..PrintOptions::default()
        },
        Some("full") => PrintOptions {
            threshold: usize::MAX,
            ..PrintOptions::default()
        },
        Some(given) => {
            let accepted = ["default", "short", "full"];
            return Err(raise(Error::unknown_option(
                op, "profile", given, &accepted,
            )));
        }
    };
    if let Some(Int(given)) = precision {
        // More digits than float64 has say nothing.
        options.precision = size(op, given)?.min(MOST_DIGITS);
    }
    if let Some(given) = threshold {
        // An infinite threshold is Python's way to say "never".
        options.threshold = match given.extract::<f64>() {
            Ok(infinite) if infinite == f64::INFINITY => usize::MAX,
            _ => size(op, given.extract::<Int>()?.0)?,
        };
    }
    if let Some(Int(given)) = edgeitems {
        options.edge_items = size(op, given)?;
    }
    if let Some(Int(given)) = linewidth {
        options.line_width = size(op, given)?;
    }
    if profile.is_some() || sci_mode.is_some() {
        options.scientific = sci_mode;
    }
    set_print_options(options);
    Ok(())
}

/// Digits after the point at most.
const MOST_DIGITS: usize = 1100;
