//! Mixed precision: autocast's settings and the core of `GradScaler`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allotrope_dtype::Error;
use allotrope_op::Autocast;
use allotrope_tensor::{
    AutocastSetting, Condition, GradScaler, ScalerOptions, ScalerState, Tensor, autocast_policies,
    autocast_setting, is_autocast_enabled, set_autocast_dtype, set_autocast_enabled,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::{DTypeLike, Unsigned};
use crate::convert;
use crate::dtype::{PyDType, wrap as wrap_dtype};
use crate::error::{raise, wrong_object};
use crate::scopes;
use crate::tensor::{PyTensor, wrap};

/// THE names of the policies.
const POLICIES: [(&str, Autocast); 4] = [
    ("keep", Autocast::Keep),
    ("float32", Autocast::Float32),
    ("widest", Autocast::Widest),
    ("lower", Autocast::Lower),
];

fn policy_name(policy: Autocast) -> &'static str {
    let found = POLICIES.iter().find(|(_, other)| *other == policy);
    found.map_or("keep", |(name, _)| name)
}

/// The overrides in force, and others over them.
fn overridden(
    before: &HashMap<&'static str, Autocast>,
    overrides: &Bound<'_, PyDict>,
) -> PyResult<HashMap<&'static str, Autocast>> {
    let mut all = before.clone();
    for (name, policy) in overrides.iter() {
        let text = |object: &Bound<'_, PyAny>| {
            let refuse = |_| wrong_object("policy", "not a name", object, "names");
            object.extract::<String>().map_err(refuse)
        };
        let (name, policy) = (text(&name)?, text(&policy)?);
        // Rows of nn.functional have been named with their module.
        let plain = name.strip_prefix("nn.functional.").unwrap_or(&name);
        let row = autocast_policies().find(|(row, _)| *row == plain);
        let Some((name, _)) = row else {
            let accepted = ["the operations that al.amp.policy() lists"];
            let error = Error::unknown_option("policy", "operation", &name, &accepted);
            return Err(raise(error));
        };
        let known = POLICIES.iter().find(|(known, _)| *known == policy);
        let Some((_, policy)) = known else {
            let accepted = POLICIES.map(|(name, _)| name);
            let error = Error::unknown_option("policy", "policy", &policy, &accepted);
            return Err(raise(error));
        };
        all.insert(name, *policy);
    }
    Ok(all)
}

/// Whether a frame of Python is among those that run now in this thread.
fn is_running(frame: &Py<PyAny>) -> bool {
    Python::attach(|py| -> PyResult<bool> {
        let mut running = py.import("sys")?.call_method0("_getframe")?;
        while !running.is_none() {
            if running.is(frame) {
                return Ok(true);
            }
            running = running.getattr("f_back")?;
        }
        Ok(false)
    })
    .unwrap_or(false)
}

/// Opens a scope of a setting over what there is; what is None stays as it is. With a frame, it holds
/// only while that runs. The scope's number.
#[pyfunction]
#[pyo3(signature = (enabled=None, dtype=None, cache_enabled=None, overrides=None, frame=None))]
fn enter(
    py: Python<'_>,
    enabled: Option<bool>,
    dtype: Option<DTypeLike>,
    cache_enabled: Option<bool>,
    overrides: Option<&Bound<'_, PyDict>>,
    frame: Option<Py<PyAny>>,
) -> PyResult<u64> {
    scopes::sync();
    let before = autocast_setting();
    let dtype = dtype.map(|dtype| convert::to_dtype("autocast", dtype));
    let setting = AutocastSetting {
        enabled: enabled.unwrap_or(before.enabled),
        dtype: dtype.transpose()?.unwrap_or(before.dtype),
        cache_enabled: cache_enabled.unwrap_or(before.cache_enabled),
        overrides: match overrides {
            Some(overrides) => Arc::new(overridden(&before.overrides, overrides)?),
            None => before.overrides,
        },
    };
    let condition = frame.map(|frame| -> Condition { Arc::new(move || is_running(&frame)) });
    scopes::change(py, |scopes| {
        let scope = scopes.autocast.enter(setting, condition).map_err(raise)?;
        Ok(scope.to_bits())
    })
}

/// Refuses wrong names of operations and policies.
#[pyfunction]
fn check_overrides(overrides: &Bound<'_, PyDict>) -> PyResult<()> {
    overridden(&HashMap::new(), overrides).map(drop)
}

/// Whether operations of this thread are cast.
///
/// >>> with al.autocast("cpu"):
/// ...     al.amp.is_autocast_enabled()
/// True
/// >>> al.amp.is_autocast_enabled()
/// False
#[pyfunction(name = "is_autocast_enabled")]
fn autocast_enabled() -> bool {
    scopes::sync();
    is_autocast_enabled()
}

/// The dtype that autocast of this thread computes in.
///
/// >>> with al.autocast("cpu", dtype=al.float16):
/// ...     al.amp.get_autocast_dtype()
/// allotrope.float16
#[pyfunction]
fn get_autocast_dtype(py: Python<'_>) -> PyResult<Py<PyDType>> {
    scopes::sync();
    wrap_dtype(py, autocast_setting().dtype)
}

/// Turns autocast on or off for the whole program, but for blocks with a setting of their own.
///
/// >>> al.amp.set_autocast_enabled(True)
/// >>> (al.ones(2, 2) @ al.ones(2, 2)).dtype
/// allotrope.bfloat16
/// >>> al.amp.set_autocast_enabled(False)
#[pyfunction(name = "set_autocast_enabled")]
fn set_enabled(enabled: bool) {
    set_autocast_enabled(enabled);
}

/// Sets the dtype that autocast of the whole program computes in.
///
/// >>> al.amp.set_autocast_dtype(al.float16)
/// >>> al.amp.get_autocast_dtype()
/// allotrope.float16
/// >>> al.amp.set_autocast_dtype(al.bfloat16)
#[pyfunction(name = "set_autocast_dtype")]
fn set_dtype(dtype: DTypeLike) -> PyResult<()> {
    set_autocast_dtype(convert::to_dtype("autocast", dtype)?).map_err(raise)
}

/// Every operation with its policy in force.
#[pyfunction]
fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    scopes::sync();
    let setting = autocast_setting();
    let all = PyDict::new(py);
    for (name, policy) in autocast_policies() {
        let policy = setting.overrides.get(name).copied().unwrap_or(policy);
        all.set_item(name, policy_name(policy))?;
    }
    Ok(all)
}

/// The state and arithmetic of `GradScaler`.
#[pyclass(module = "allotrope.amp", frozen)]
struct ScalerCore {
    scaler: Mutex<GradScaler>,
}

impl ScalerCore {
    fn scaler(&self) -> MutexGuard<'_, GradScaler> {
        self.scaler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn values(parameters: &[Py<PyTensor>]) -> Vec<Tensor> {
    parameters.iter().map(|p| p.get().tensor()).collect()
}

#[pymethods]
impl ScalerCore {
    #[new]
    fn new(init: f64, growth: f64, backoff: f64, interval: Unsigned, enabled: bool) -> Self {
        let options = ScalerOptions {
            init_scale: init,
            growth_factor: growth,
            backoff_factor: backoff,
            growth_interval: interval.0,
            enabled,
        };
        Self {
            scaler: Mutex::new(GradScaler::new(options)),
        }
    }

    fn scale(&self, loss: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        wrap(self.scaler().scale(&loss.get().tensor()))
    }

    fn unscale(&self, optimizer: u64, parameters: Vec<Py<PyTensor>>) -> PyResult<()> {
        let values = values(&parameters);
        let parameters: Vec<&Tensor> = values.iter().collect();
        self.scaler().unscale(optimizer, &parameters).map_err(raise)
    }

    /// Whether a step is to be taken; it counts as taken or skipped.
    fn may_step(&self, optimizer: u64, parameters: Vec<Py<PyTensor>>) -> PyResult<bool> {
        let values = values(&parameters);
        let parameters: Vec<&Tensor> = values.iter().collect();
        let stepped = self.scaler().step(optimizer, &parameters, || Ok(()));
        Ok(stepped.map_err(raise)?.is_some())
    }

    #[pyo3(signature = (new_scale=None))]
    fn update(&self, new_scale: Option<f64>) -> PyResult<()> {
        self.scaler().update(new_scale).map_err(raise)
    }

    fn get_scale(&self) -> f64 {
        self.scaler().get_scale()
    }

    fn found_inf(&self, optimizer: u64) -> bool {
        self.scaler().found_inf(optimizer)
    }

    /// Scale and steps without overflow.
    fn state(&self) -> (f64, u64) {
        let state = self.scaler().state();
        (state.scale, state.growth_tracker)
    }

    fn set_state(&self, scale: f64, growth_tracker: u64) {
        self.scaler().set_state(ScalerState {
            scale,
            growth_tracker,
        });
    }

    /// Growth factor, backoff factor, growth interval.
    fn factors(&self) -> (f64, f64, u64) {
        let options = self.scaler().options();
        (
            options.growth_factor,
            options.backoff_factor,
            options.growth_interval,
        )
    }

    fn set_factors(&self, growth: f64, backoff: f64, interval: Unsigned) {
        let mut scaler = self.scaler();
        let options = ScalerOptions {
            growth_factor: growth,
            backoff_factor: backoff,
            growth_interval: interval.0,
            ..scaler.options()
        };
        scaler.set_options(options);
    }

    /// Steps taken, steps skipped, and which parameter overflowed last.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let scaler = self.scaler();
        let report = scaler.report();
        (report.steps, report.skipped, report.overflowed).into_pyobject(py)
    }
}

/// Adds the functions that `allotrope.amp` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let part = PyModule::new(module.py(), "_amp")?;
    add!(
        part, enter check_overrides autocast_enabled get_autocast_dtype set_enabled set_dtype
        policies
    );
    part.add_class::<ScalerCore>()?;
    module.add_submodule(&part)
}
