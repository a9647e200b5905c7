//! The devices of this machine and what each does with every dtype.

use allotrope_dtype::{Capabilities, Capability, DType, Error, Problem};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::raise;
use crate::table::align;
use crate::tensor::PyTensor;

/// The devices of this machine. Others are probed and appended by the backends that have them.
const DEVICES: [(&str, Capabilities); 1] = [("cpu", Capabilities::CPU)];

/// What a device answers for every dtype.
pub(crate) fn capabilities(op: &'static str, device: &str) -> PyResult<Capabilities> {
    match DEVICES.into_iter().find(|(name, _)| *name == device) {
        Some((_, capabilities)) => Ok(capabilities),
        None => {
            let problem = Problem::UnknownDevice {
                given: device.to_owned(),
                available: available(),
            };
            Err(raise(Error::new(op, problem)))
        }
    }
}

/// Devices of other machines.
const ELSEWHERE: [&str; 6] = ["gpu", "cuda", "mps", "xpu", "tpu", "meta"];

/// Whether a name is meant as that of a device, on this machine or another.
pub(crate) fn is_device_name(name: &str) -> bool {
    let kind = name.split(':').next().unwrap_or(name);
    ELSEWHERE.contains(&kind) || DEVICES.iter().any(|(device, _)| *device == kind)
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
    Err(PyRuntimeError::new_err(format!(
        "device: unknown device: {name}; {here}, {elsewhere} are accepted, with a number or without"
    )))
}

/// The names of the devices, for a message.
pub(crate) fn available() -> String {
    DEVICES.map(|(name, _)| name).join(", ")
}

/// Refuses a device that this machine does not have; None is the CPU.
pub(crate) fn check_device(op: &'static str, device: Option<&str>) -> PyResult<()> {
    device.map_or(Ok(()), |device| capabilities(op, device).map(|_| ()))
}

/// The names of the devices; printed, the table of what each does with every dtype.
#[pyclass(name = "Devices", module = "allotrope", frozen)]
pub(crate) struct Devices;

#[pymethods]
impl Devices {
    fn __len__(&self) -> usize {
        DEVICES.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, DEVICES.map(|(name, _)| name))?.try_iter()
    }

    fn __contains__(&self, device: &Bound<'_, PyAny>) -> bool {
        let wanted = device.extract::<String>();
        wanted.is_ok_and(|wanted| DEVICES.iter().any(|(name, _)| *name == wanted))
    }

    fn __repr__(&self) -> String {
        let header = std::iter::once("dtype").chain(DEVICES.map(|(name, _)| name));
        // bounded: a table for people.
        let mut rows = vec![header.map(str::to_owned).collect::<Vec<_>>()];
        rows.extend(DType::ALL.into_iter().map(|dtype| {
            let answers = DEVICES.iter().map(|(_, device)| match device.of(dtype) {
                Capability::Demoted(narrower) => format!("demoted to {narrower}"),
                Capability::Emulated => format!("emulated in {}", dtype.compute()),
                answer @ Capability::Native => answer.name().to_owned(),
            });
            std::iter::once(dtype.name().to_owned())
                .chain(answers)
                .collect()
        }));
        align(&rows)
    }
}

/// The devices of this machine; printed, a table of dtypes and devices.
///
/// >>> list(al.devices())
/// ['cpu']
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
pub(crate) fn supports(dtype: &Bound<'_, PyAny>, device: &str) -> PyResult<&'static str> {
    let dtype = convert::to_dtype("supports", dtype)?;
    Ok(capabilities("supports", device)?.of(dtype).name())
}

/// Whether a device stores a dtype exactly; False for a device that this machine does not have.
///
/// >>> al.is_dtype_supported("float64", "cpu"), al.is_dtype_supported("float32", "tpu")
/// (True, False)
#[pyfunction]
#[pyo3(signature = (dtype, device="cpu"))]
pub(crate) fn is_dtype_supported(dtype: &Bound<'_, PyAny>, device: &str) -> PyResult<bool> {
    let dtype = convert::to_dtype("is_dtype_supported", dtype)?;
    if !DEVICES.iter().any(|(name, _)| *name == device) {
        _check_device_name(device)?;
        return Ok(false);
    }
    let answer = capabilities("is_dtype_supported", device)?.of(dtype);
    Ok(!matches!(answer, Capability::Demoted(_)))
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
        wrap(py, self.tensor().dtype())
    }

    /// This tensor, once all work that it waits for is done.
    ///
    /// >>> al.ones(2).add(1).eval()
    /// tensor([2., 2.])
    fn eval(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let tensor = slf.get().tensor();
        tensor.backend().finish().map_err(raise)?;
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
    #[getter]
    fn is_free(&self) -> bool {
        self.is_device_free()
    }
}
