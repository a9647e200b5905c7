//! The devices of this machine and what each does with every dtype.

use allotrope_dtype::{Capability, DType, Error, Numeric};
use allotrope_tensor::{
    Device, DeviceProvider, Options, hosted_operations, register_devices, take_transfers,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyModule, PyTuple};

use crate::arguments::DTypeLike;
use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::{cut, raise};
use crate::scopes;
use crate::table::align;
use crate::tensor::PyTensor;

/// The device with a name.
pub(crate) fn device_named(op: &'static str, name: &str) -> PyResult<Device> {
    let device = name.parse::<Device>();
    device.map_err(|error: Error| raise(error.in_op(op)))
}

/// The device with a name; None is the CPU.
pub(crate) fn device_or_cpu(op: &'static str, name: Option<&str>) -> PyResult<Device> {
    name.map_or_else(|| Ok(Device::cpu()), |name| device_named(op, name))
}

/// The device with a name; None is that of the scope or of the process, the CPU at the start.
pub(crate) fn device_or_default(op: &'static str, name: Option<&str>) -> PyResult<Device> {
    name.map_or_else(
        || Ok(scopes::default_device()),
        |name| device_named(op, name),
    )
}

/// Sets the device of constructors and random functions that are given none: of the scope of a device
/// that this thread is in, else of the process. None is the CPU.
///
/// `with al.device("gpu"):` is the scope, and a device decorates functions. What comes of tensors stays
/// on theirs; so do arrays given to `from_numpy` and `from_dlpack`, and files.
///
/// >>> al.set_default_device("cpu")
/// >>> al.get_default_device()
/// device(type='cpu')
#[pyfunction]
pub(crate) fn set_default_device(py: Python<'_>, device: Option<&str>) -> PyResult<()> {
    let device = device_or_cpu("set_default_device", device)?;
    scopes::change(py, |scopes| {
        scopes.devices = scopes.devices.changed(device);
        if scopes.devices.is_empty() {
            scopes::set_process_device(device);
        }
        Ok(())
    })
}

/// The device of constructors and random functions that are given none.
///
/// >>> al.get_default_device()
/// device(type='cpu')
#[pyfunction]
pub(crate) fn get_default_device(py: Python<'_>) -> PyResult<Py<PyAny>> {
    wrap_device(py, scopes::default_device())
}

/// The object of a device.
pub(crate) fn wrap_device(py: Python<'_>, device: Device) -> PyResult<Py<PyAny>> {
    let make = || {
        let class =
            PyModule::import(py, intern!(py, "allotrope"))?.getattr(intern!(py, "device"))?;
        match device.index() {
            0 => class.call1((device.kind(),)).map(Bound::unbind),
            index => class.call1((device.kind(), index)).map(Bound::unbind),
        }
    };
    if device != Device::cpu() {
        return make();
    }
    static CPU: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(CPU.get_or_try_init(py, make)?.clone_ref(py))
}

/// Makes the second device of the tests known, if the environment asks for it.
pub(crate) fn register_test_device() {
    if std::env::var_os("ALLOTROPE_TEST_DEVICE").is_some_and(|value| value == "1") {
        register_devices(DeviceProvider {
            kind: allotrope_testing::KIND,
            count: allotrope_testing::count,
            find: allotrope_testing::find,
            // Its primitives are its own.
            report_hosted: |_| {},
        });
    }
}

/// Devices of other machines.
const ELSEWHERE: [&str; 5] = ["gpu", "cuda", "mps", "xpu", "tpu"];

fn kind_of(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Whether a name is meant as that of a device, on this machine or another.
pub(crate) fn is_device_name(name: &str) -> bool {
    let kind = kind_of(name);
    ELSEWHERE.contains(&kind) || Device::kinds().contains(&kind)
}

/// Refuses what is not the name of a device, on this machine or another, with or without a number.
#[pyfunction]
pub(crate) fn _check_device_name(name: &str) -> PyResult<()> {
    let number = name.split_once(':').map(|(_, number)| number);
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if is_device_name(name) && number.is_none_or(is_number) {
        return Ok(());
    }
    let (here, elsewhere) = (available(), ELSEWHERE.join(", "));
    Err(PyRuntimeError::new_err(cut(format!(
        "device: unknown device: {name}; {here}, {elsewhere} are accepted, with a number or without"
    ))))
}

/// Refuses the name of a device that this machine does not have, and says why there is none.
#[pyfunction]
pub(crate) fn _require_device(op: &str, name: &str) -> PyResult<()> {
    let found = name.parse::<Device>();
    // The operation as its callers name it.
    let found = found.map_err(|error| error.to_string().replacen("device:", &format!("{op}:"), 1));
    found
        .map(drop)
        .map_err(|message| PyRuntimeError::new_err(cut(message)))
}

/// The names of the devices, for a message.
pub(crate) fn available() -> String {
    Device::names().join(", ")
}

/// The devices of this machine; printed, the table of what each does with every dtype.
#[pyclass(name = "Devices", module = "allotrope", frozen)]
pub(crate) struct Devices;

#[pymethods]
impl Devices {
    fn __len__(&self) -> usize {
        Device::all().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let all = Device::all();
        let objects = all.into_iter().map(|device| wrap_device(py, device));
        // bounded: devices of a machine.
        PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.try_iter()
    }

    fn __getitem__(&self, py: Python<'_>, index: usize) -> PyResult<Py<PyAny>> {
        match Device::all().get(index) {
            Some(device) => wrap_device(py, *device),
            None => Err(pyo3::exceptions::PyIndexError::new_err(format!(
                "devices: index out of range: {index}; there are {}",
                self.__len__()
            ))),
        }
    }

    fn __contains__(&self, device: &Bound<'_, PyAny>) -> bool {
        let name = device.extract::<String>();
        name.is_ok_and(|name| name.parse::<Device>().is_ok())
    }

    fn __repr__(&self) -> String {
        let devices = Device::all();
        let names = devices.iter().map(Device::to_string);
        let header = std::iter::once("dtype".to_owned()).chain(names);
        // bounded: a table for people.
        let mut rows = vec![header.collect::<Vec<_>>()];
        rows.extend(DType::ALL.into_iter().map(|dtype| {
            let answers = devices
                .iter()
                .map(|device| match device.capabilities().of(dtype) {
                    Capability::Demoted(narrower) => format!("demoted to {narrower}"),
                    Capability::Emulated if dtype.compute() != dtype => {
                        format!("emulated in {}", dtype.compute())
                    }
                    Capability::Emulated => "emulated".to_owned(),
                    answer @ Capability::Native => answer.name().to_owned(),
                });
            std::iter::once(dtype.name().to_owned())
                .chain(answers)
                .collect()
        }));
        let mut text = align(&rows);
        for device in devices {
            if let Some(line) = crate::gpu::about(device) {
                text = format!("{text}\n{device}: {line}");
            }
        }
        text
    }
}

/// The devices of this machine; printed, a table of dtypes and devices.
///
/// >>> "cpu" in al.devices()
/// True
#[pyfunction]
pub(crate) fn devices() -> Devices {
    Devices
}

/// What a device does with a dtype: "native", "emulated" or "demoted".
///
/// >>> al.supports("bfloat16", "cpu")
/// 'emulated'
#[pyfunction]
#[pyo3(signature = (dtype, device="cpu"))]
pub(crate) fn supports(dtype: DTypeLike, device: &str) -> PyResult<&'static str> {
    let dtype = convert::to_dtype("supports", dtype)?;
    let device = device_named("supports", device)?;
    Ok(device.capabilities().of(dtype).name())
}

/// Whether a device stores a dtype exactly; False for a device that this machine does not have.
///
/// >>> al.is_dtype_supported("float64", "cpu"), al.is_dtype_supported("float32", "tpu")
/// (True, False)
#[pyfunction]
#[pyo3(signature = (dtype, device="cpu"))]
pub(crate) fn is_dtype_supported(dtype: DTypeLike, device: &str) -> PyResult<bool> {
    let dtype = convert::to_dtype("is_dtype_supported", dtype)?;
    let Ok(device) = device.parse::<Device>() else {
        _check_device_name(device)?;
        return Ok(false);
    };
    let answer = device.capabilities().of(dtype);
    Ok(!matches!(answer, Capability::Demoted(_)))
}

/// Waits until a device, or without one every device, has done all work that was asked for, and raises
/// what went wrong meanwhile.
///
/// >>> al.synchronize()
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn synchronize(py: Python<'_>, device: Option<&str>) -> PyResult<()> {
    let devices = match device {
        Some(device) => vec![device_named("synchronize", device)?],
        None => Device::opened(),
    };
    // All are waited for; the first that went wrong is told of.
    let waited = py.detach(|| {
        devices
            .iter()
            .map(Device::synchronize)
            .fold(Ok(()), Result::and)
    });
    waited.map_err(raise)
}

/// The operations that the CPU has computed for a device so far, and how often.
#[pyfunction]
pub(crate) fn _hosted_operations(device: &str) -> PyResult<Vec<(&'static str, u64)>> {
    Ok(hosted_operations(device_named("support", device)?))
}

/// What this thread has moved between the CPU and other devices outside of hosted operations since it last
/// asked: `upload`, `download` or `check`, what for, and how many bytes. It is noted from the first time on.
#[pyfunction]
pub(crate) fn _take_transfers() -> Vec<(&'static str, &'static str, usize)> {
    let moved = take_transfers().into_iter();
    // bounded: what a test looks at.
    moved.map(|each| (each.way, each.op, each.bytes)).collect()
}

/// Applies the policy of demotion to a tensor that is about to be made.
pub(crate) fn announce(op: &'static str, dtype: DType, device: Device) -> PyResult<()> {
    Options::new(dtype, device)
        .check(op)
        .map_err(raise)
        .map(drop)
}

#[pymethods]
impl PyTensor {
    /// The dtype in which the device stores the elements: a narrower one than `dtype` where a device
    /// without it must demote, else the same.
    ///
    /// >>> al.zeros(1, dtype=al.float64).storage_dtype
    /// allotrope.float64
    #[getter]
    fn storage_dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap(py, self.tensor().storage_dtype())
    }

    /// What the numbers are: an exact dtype, or a family if the tensor was made with one.
    ///
    /// >>> al.ones(1, dtype=al.Float).numeric, al.ones(1).numeric
    /// (allotrope.Float, allotrope.float32)
    #[getter]
    fn numeric(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.tensor().numeric() {
            Numeric::Exact(dtype) => Ok(wrap(py, dtype)?.into_any()),
            Numeric::Family(family) => Ok(crate::family::wrap(py, family)?.into_any()),
        }
    }

    /// The device that holds the elements.
    ///
    /// >>> al.zeros(1).device
    /// device(type='cpu')
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        wrap_device(py, self.tensor().device())
    }

    /// This tensor, once all work that it waits for is done.
    ///
    /// >>> al.ones(2).add(1).eval()
    /// tensor([2., 2.])
    fn eval(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let device = slf.get().tensor().device();
        slf.py().detach(|| device.synchronize()).map_err(raise)?;
        Ok(slf)
    }

    /// This tensor, marked as free: an operation moves it to the device of its partner.
    ///
    /// >>> al.ones(2).free().is_free
    /// True
    fn free(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf.get().set_free();
        slf
    }

    /// Whether the tensor was marked as free.
    ///
    /// >>> al.zeros(1).is_free, al.zeros(1).free().is_free
    /// (False, True)
    #[getter]
    fn is_free(&self) -> bool {
        self.is_device_free()
    }
}
