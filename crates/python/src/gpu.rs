//! The core of `allotrope.gpu`: what the GPUs say of themselves and of their memory.

use allotrope_tensor::Device;
use pyo3::prelude::*;

/// A device as people ask about it: names and texts, numbers, and what its arithmetic is like.
#[derive(IntoPyObject)]
pub(crate) struct Properties {
    name: String,
    backend: String,
    driver: String,
    kind: String,
    total_memory: u64,
    /// Whether things are so, by name: `Numerics` of the device.
    numerics: Vec<(&'static str, bool)>,
}

#[cfg(feature = "gpu")]
mod there {
    use allotrope_gpu::Gpu;
    use allotrope_tensor::{Device, DeviceProvider};
    use pyo3::prelude::*;

    use super::Properties;
    use crate::error::raise;

    /// Makes the devices known; they are looked for when one is first asked for.
    pub(crate) fn register_devices() {
        allotrope_tensor::register_devices(DeviceProvider {
            kind: allotrope_gpu::KIND,
            count: allotrope_gpu::count,
            find: allotrope_gpu::find,
            report_hosted: allotrope_gpu::report_hosted,
        });
    }

    pub(super) fn count() -> u32 {
        allotrope_gpu::count()
    }

    /// The device of a number, which is opened if it was not.
    fn gpu(index: u32) -> PyResult<&'static Gpu> {
        // The way that tensors take, with its worded errors.
        Device::new(allotrope_gpu::KIND, index).map_err(raise)?;
        allotrope_gpu::device(index as usize).map_err(raise)
    }

    pub(super) fn properties(index: u32) -> PyResult<Properties> {
        Ok(describe(gpu(index)?))
    }

    pub(super) fn memory(index: u32) -> PyResult<(u64, u64)> {
        let gpu = gpu(index)?;
        Ok((gpu.memory_allocated(), gpu.max_memory_allocated()))
    }

    pub(super) fn reset_peak_memory(index: u32) -> PyResult<()> {
        gpu(index)?.reset_peak();
        Ok(())
    }

    pub(super) fn empty_cache(index: u32) -> PyResult<()> {
        gpu(index)?.empty_cache();
        Ok(())
    }

    fn describe(gpu: &Gpu) -> Properties {
        let [name, backend, driver, kind] = gpu.description();
        let numerics = gpu.numerics();
        Properties {
            name,
            backend,
            driver,
            kind,
            total_memory: gpu.memory_budget(),
            // bounded: a row for each answer of the probe.
            numerics: vec![
                ("float64", numerics.float64),
                ("int64", numerics.int64),
                ("exact", numerics.exact),
                ("exact64", numerics.exact64),
                ("subnormals", numerics.subnormals),
                ("fused", numerics.fused),
                ("conversions", numerics.conversions),
            ],
        }
    }
}

#[cfg(not(feature = "gpu"))]
mod there {
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    use super::Properties;

    pub(crate) fn register_devices() {}

    pub(super) fn count() -> u32 {
        0
    }

    fn missing<T>() -> PyResult<T> {
        let text = "gpu: this build has no GPU; build with the feature gpu";
        Err(PyRuntimeError::new_err(text))
    }

    pub(super) fn properties(_index: u32) -> PyResult<Properties> {
        missing()
    }

    pub(super) fn memory(_index: u32) -> PyResult<(u64, u64)> {
        missing()
    }

    pub(super) fn reset_peak_memory(_index: u32) -> PyResult<()> {
        missing()
    }

    pub(super) fn empty_cache(_index: u32) -> PyResult<()> {
        missing()
    }
}

pub(crate) use there::register_devices;

/// What people read of a GPU below the table of devices.
pub(crate) fn about(device: Device) -> Option<String> {
    let found = (device.kind() == "gpu").then(|| there::properties(device.index()));
    let found = found?.ok()?;
    let is = |name: &str| {
        found
            .numerics
            .iter()
            .any(|(known, so)| *known == name && *so)
    };
    let rounding = if is("exact") { "" } else { "not " };
    let subnormals = if is("subnormals") { "kept" } else { "lost" };
    Some(format!(
        "{} ({}, {}); + - * / sqrt of float32 are {rounding}rounded to nearest, subnormals are {subnormals}",
        found.name, found.kind, found.backend,
    ))
}

/// How many GPUs there are.
#[pyfunction]
pub(crate) fn _gpu_count(py: Python<'_>) -> u32 {
    py.detach(there::count)
}

/// What a GPU says of itself.
#[pyfunction]
pub(crate) fn _gpu_properties(py: Python<'_>, index: u32) -> PyResult<Properties> {
    py.detach(|| there::properties(index))
}

/// The bytes that tensors have on a GPU, and the most that they have had.
#[pyfunction]
pub(crate) fn _gpu_memory(py: Python<'_>, index: u32) -> PyResult<(u64, u64)> {
    py.detach(|| there::memory(index))
}

/// Counts the most bytes from now on.
#[pyfunction]
pub(crate) fn _gpu_reset_peak_memory(py: Python<'_>, index: u32) -> PyResult<()> {
    py.detach(|| there::reset_peak_memory(index))
}

/// Gives memory back that no tensor has.
#[pyfunction]
pub(crate) fn _gpu_empty_cache(py: Python<'_>, index: u32) -> PyResult<()> {
    py.detach(|| there::empty_cache(index))
}
