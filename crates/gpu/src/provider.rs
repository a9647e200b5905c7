//! Devices by kind and number, as tensors ask for them: looked for on first use, and why there is none.

use std::sync::OnceLock;

use allotrope_dtype::{Error, Problem};
use allotrope_op::Backend;

use crate::adapter::adapters;
use crate::device::{Gpu, device};
use crate::options::Options;

/// The kind of the devices.
pub const KIND: &str = "gpu";

/// What was found when devices were first looked for.
struct Found {
    count: u32,
    /// A driver that computes on the CPU, where it does not count.
    passed_over: Option<String>,
}

fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = adapters(true);
        let options = Options::from_env(0);
        let software = |adapter: &&wgpu::Adapter| {
            !options.software && adapter.get_info().device_type == wgpu::DeviceType::Cpu
        };
        let passed_over: Option<&wgpu::Adapter> = all.iter().find(software);
        Found {
            count: all.iter().filter(|adapter| !software(adapter)).count() as u32,
            passed_over: passed_over.map(|adapter| adapter.get_info().name),
        }
    })
}

/// How many devices there are; no driver is asked before the first call.
#[must_use]
pub fn count() -> u32 {
    found().count
}

/// The device of a number, opened on first use.
///
/// # Errors
/// A device error that says why there is none.
pub fn find(index: u32) -> Result<&'static dyn Backend, Error> {
    if index < count() {
        return Ok(device(index as usize)?);
    }
    Err(missing(index))
}

#[cold]
fn missing(index: u32) -> Error {
    let name = |index| match index {
        0 => KIND.to_owned(),
        index => format!("{KIND}:{index}"),
    };
    let names = std::iter::once("cpu".to_owned()).chain((0..count()).map(name));
    // bounded: devices of a machine.
    let available = names.collect::<Vec<_>>().join(", ");
    let given = name(index);
    let error = Error::new("device", Problem::UnknownDevice { given, available });
    match (&found().passed_over, count()) {
        (_, 1..) => error,
        (Some(driver), _) => error.hint(format!(
            "the only driver, {driver}, computes on the CPU; ALLOTROPE_GPU=software accepts it"
        )),
        (None, _) => error.hint(
            "no driver for Vulkan, Metal or DX12 was found; install that of the device, \
             or Mesa's for any machine",
        ),
    }
}

impl Gpu {
    /// What people call the device: its name, the interface, the driver, and what kind it is.
    #[must_use]
    pub fn description(&self) -> [String; 4] {
        let info = &self.info;
        let kind = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "other",
        };
        let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
        let name = info.name.clone();
        [name, info.backend.to_string(), driver, kind.to_owned()]
    }
}
