//! Scopes of settings as context variables: those of a task are not seen by others of its thread.
//!
//! What holds is kept twice: in a variable of Python's contexts, which follow tasks by themselves, and
//! in the thread's settings, which operations read. Python does not tell when a thread goes on with
//! another context, so whoever comes from Python looks whether that is so ([`sync`]): whenever a tensor
//! is unwrapped, and wherever a setting is read without one. As long as nobody is in a scope, that is
//! two numbers to look at; else it is a call of about 5 ns into the interpreter.
#![allow(
    unsafe_code,
    reason = "a function of the interpreter beyond its limited interface"
)]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use allotrope_dtype::{DType, Flow, Policy, ScopeId, SettingFlow};
use allotrope_tensor::{AutocastFlow, Device, Mode, ModeFlow, TraceFlow};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::device::device_named;

/// The scopes that a context is inside of.
#[derive(Clone, Default)]
pub(crate) struct Scopes {
    pub(crate) settings: SettingFlow,
    pub(crate) modes: ModeFlow,
    pub(crate) autocast: AutocastFlow,
    pub(crate) traces: TraceFlow,
    /// Where constructors put what they make; nothing but those of Python reads it.
    pub(crate) devices: Flow<Device>,
    /// A scope of the default dtype that is that of the process, unless its maker enters it.
    pub(crate) pending: Option<(ScopeId, DType)>,
}

impl Scopes {
    fn is_empty(&self) -> bool {
        self.settings.is_empty()
            && self.modes.is_empty()
            && self.autocast.is_empty()
            && self.traces.is_empty()
            && self.devices.is_empty()
    }

    fn resume(&self) {
        self.settings.resume();
        self.modes.resume();
        self.autocast.resume();
        self.traces.resume();
    }

    fn leave(&mut self, id: ScopeId) -> bool {
        self.modes.leave(id)
            || self.settings.leave(id)
            || self.autocast.leave(id)
            || self.traces.leave(id)
            || self.leave_device(id)
    }

    fn leave_device(&mut self, id: ScopeId) -> bool {
        let left = self.devices.left(id);
        let is_left = left.is_some();
        self.devices = left.unwrap_or_else(|| self.devices.clone());
        is_left
    }
}

/// What the variable holds: scopes, which are not none, under a number.
#[pyclass(module = "allotrope", frozen)]
struct Context {
    number: u64,
    scopes: Scopes,
}

impl Context {
    fn new(scopes: Scopes) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            scopes,
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many contexts there are that are in a scope.
static LIVE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of the context whose scopes this thread has; zero for none.
    static RESUMED: Cell<u64> = const { Cell::new(0) };
}

/// Sees to it that this thread has the settings of the context that it is in. Python calls it in.
#[inline]
pub(crate) fn sync() {
    if LIVE.load(Ordering::Relaxed) != 0 || RESUMED.get() != 0 {
        look();
    }
}

#[inline(never)]
fn look() {
    // Where the variable cannot be read, what held goes on to hold.
    let _ = Python::try_attach(|py| {
        let Ok(context) = current(py) else {
            return;
        };
        let number = context.as_ref().map_or(0, |context| context.get().number);
        if number != RESUMED.get() {
            match &context {
                Some(context) => context.get().scopes.resume(),
                None => Scopes::default().resume(),
            }
            RESUMED.set(number);
        }
    });
}

/// The variable, and how it is read.
struct Variable {
    object: Py<PyAny>,
    get: Option<Get>,
}

/// `PyContextVar_Get`.
type Get = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    *mut *mut ffi::PyObject,
) -> std::ffi::c_int;

impl Variable {
    fn of(py: Python<'_>) -> PyResult<&Self> {
        static VARIABLE: PyOnceLock<Variable> = PyOnceLock::new();
        VARIABLE.get_or_try_init(py, || -> PyResult<Self> {
            let class = py.import("contextvars")?.getattr("ContextVar")?;
            Ok(Self {
                object: class.call1(("allotrope",))?.unbind(),
                get: find_get(),
            })
        })
    }
}

/// `PyContextVar_Get`, which every CPython since 3.7.1 has, though not its limited interface: a method
/// call takes ten times as long. Other interpreters may lack it.
fn find_get() -> Option<Get> {
    #[cfg(unix)]
    {
        // SAFETY: looks a name up in what the process has loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyContextVar_Get".as_ptr()) };
        // SAFETY: the function of this name has had this type in every version; null is none.
        unsafe { std::mem::transmute::<*mut libc::c_void, Option<Get>>(found) }
    }
    #[cfg(not(unix))]
    None
}

/// What the variable holds in the context that this thread is in.
fn current(py: Python<'_>) -> PyResult<Option<Bound<'_, Context>>> {
    let Variable { object, get } = Variable::of(py)?;
    let value = match get {
        Some(get) => {
            let mut value = std::ptr::null_mut();
            // SAFETY: the interpreter's own function, called while attached to it, with a variable, no
            // default, and room for a pointer, which is new or null.
            let status = unsafe { get(object.as_ptr(), std::ptr::null_mut(), &raw mut value) };
            if status < 0 {
                return Err(PyErr::fetch(py));
            }
            // SAFETY: a reference that belongs to the caller, or null.
            unsafe { Bound::from_owned_ptr_or_opt(py, value) }
        }
        None => Some(
            object
                .bind(py)
                .call_method1(intern!(py, "get"), (py.None(),))?,
        ),
    };
    Ok(value.and_then(|value| value.cast_into_exact().ok()))
}

/// Changes the scopes of the context that this thread is in. Whoever looks at the thread's settings has
/// called [`sync`] before.
pub(crate) fn change<R>(
    py: Python<'_>,
    change: impl FnOnce(&mut Scopes) -> PyResult<R>,
) -> PyResult<R> {
    let mut scopes = match current(py)? {
        Some(context) => context.get().scopes.clone(),
        None => Scopes::default(),
    };
    let result = change(&mut scopes)?;
    install(py, scopes)?;
    Ok(result)
}

/// Makes these the scopes of the context that this thread is in.
fn install(py: Python<'_>, scopes: Scopes) -> PyResult<()> {
    scopes.resume();
    // Nothing is kept where there is nothing to know.
    let (number, value) = if scopes.is_empty() {
        (0, py.None().into_bound(py))
    } else {
        let context = Bound::new(py, Context::new(scopes))?;
        (context.get().number, context.into_any())
    };
    RESUMED.set(number);
    let variable = Variable::of(py)?.object.bind(py);
    variable.call_method1(intern!(py, "set"), (value,))?;
    Ok(())
}

/// Ends a scope of the context that this thread is in, wherever it stands; false if it is in no such.
pub(crate) fn end(py: Python<'_>, id: ScopeId) -> PyResult<bool> {
    // Other contexts must not be disturbed.
    let Some(context) = current(py)? else {
        return Ok(false);
    };
    let mut scopes = context.get().scopes.clone();
    let is_left = scopes.leave(id);
    if is_left {
        install(py, scopes)?;
    }
    Ok(is_left)
}

/// The dtype of floats that nothing else decides, in this context.
pub(crate) fn default_dtype() -> DType {
    sync();
    allotrope_dtype::default_dtype()
}

/// The promotion policy of this context.
pub(crate) fn promotion() -> Policy {
    sync();
    allotrope_dtype::promotion()
}

/// The device of threads that are in no scope of one; the CPU if none was set.
static PROCESS_DEVICE: RwLock<Option<Device>> = RwLock::new(None);

/// Sets the device of threads that are in no scope of one.
pub(crate) fn set_process_device(device: Device) {
    *PROCESS_DEVICE
        .write()
        .unwrap_or_else(PoisonError::into_inner) = Some(device);
}

/// Where constructors of this context put what they make.
pub(crate) fn default_device() -> Device {
    let own = if LIVE.load(Ordering::Relaxed) == 0 {
        None
    } else {
        Python::try_attach(|py| {
            let context = current(py).ok()??;
            let last = context.get().scopes.devices.scopes().last().copied();
            last.map(|(_, device)| device)
        })
        .flatten()
    };
    let process = || {
        *PROCESS_DEVICE
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    };
    own.or_else(process).unwrap_or_else(Device::cpu)
}

/// Opens a scope of a device.
#[pyfunction]
fn enter_device(py: Python<'_>, name: &str) -> PyResult<()> {
    let device = device_named("device", name)?;
    change(py, |scopes| {
        (scopes.devices, _) = scopes.devices.entered(device);
        Ok(())
    })
}

/// Ends the innermost scope of a device that the task is in; False if it is in no such.
#[pyfunction]
fn leave_device(py: Python<'_>, name: &str) -> PyResult<bool> {
    let device = device_named("device", name)?;
    let Some(context) = current(py)? else {
        return Ok(false);
    };
    let found = context.get().scopes.devices.scopes().iter().rev();
    let found = found.clone().find(|(_, other)| *other == device);
    found.map_or(Ok(false), |(id, _)| end(py, *id))
}

/// Ends a scope; False if the task is in no such.
#[pyfunction]
fn leave(py: Python<'_>, scope: u64) -> PyResult<bool> {
    end(py, ScopeId::from_bits(scope))
}

/// Opens a scope in which operations are recorded, or not; its number. Inference mode stays what it is.
#[pyfunction]
fn enter_recording(py: Python<'_>, records: bool) -> PyResult<u64> {
    sync();
    let mode = match allotrope_tensor::mode() {
        Mode::Inference => Mode::Inference,
        _ if records => Mode::Recording,
        _ => Mode::Off,
    };
    change(py, |scopes| Ok(scopes.modes.enter_mode(mode).to_bits()))
}

/// Opens a scope of a mode by name; its number.
#[pyfunction]
fn enter_mode(py: Python<'_>, name: &str) -> PyResult<u64> {
    let mode = read_mode(name)?;
    change(py, |scopes| Ok(scopes.modes.enter_mode(mode).to_bits()))
}

/// Sets the mode of the innermost scope, or of the thread, by name; the name of the former one.
#[pyfunction]
fn exchange_mode(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let mode = read_mode(name)?;
    sync();
    change(py, |scopes| {
        let former = allotrope_tensor::mode();
        scopes.modes.set_mode(mode);
        Ok(mode_name(former))
    })
}

/// The name of the mode.
#[pyfunction]
fn current_mode() -> &'static str {
    sync();
    mode_name(allotrope_tensor::mode())
}

/// Opens a scope of anomaly mode; its number.
#[pyfunction]
fn enter_anomaly(py: Python<'_>, enabled: bool) -> PyResult<u64> {
    change(py, |scopes| {
        Ok(scopes.modes.enter_anomaly(enabled).to_bits())
    })
}

/// Turns anomaly mode of the innermost scope, or of the thread, on or off, and says whether it was on.
#[pyfunction]
fn exchange_anomaly(py: Python<'_>, enabled: bool) -> PyResult<bool> {
    sync();
    change(py, |scopes| {
        let former = allotrope_tensor::is_anomaly_enabled();
        scopes.modes.set_anomaly(enabled);
        Ok(former)
    })
}

fn read_mode(name: &str) -> PyResult<Mode> {
    match name {
        "recording" => Ok(Mode::Recording),
        "off" => Ok(Mode::Off),
        "inference" => Ok(Mode::Inference),
        _ => Err(PyTypeError::new_err("unknown mode")),
    }
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Recording => "recording",
        Mode::Off => "off",
        Mode::Inference => "inference",
    }
}

/// Adds the functions that `allotrope.scope` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let part = PyModule::new(module.py(), "_scopes")?;
    add!(
        part, leave enter_mode enter_recording exchange_mode current_mode enter_anomaly
        exchange_anomaly enter_device leave_device
    );
    module.add_submodule(&part)
}
