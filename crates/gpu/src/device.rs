//! Which devices there are, and one of them, opened on first use.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use allotrope_dtype::{Capabilities, Capability, DType, Error};
use allotrope_op::wgsl::WideIntegers;

use crate::error::{failed, unknown};
use crate::memory::Pool;
use crate::pipeline::Pipelines;
use crate::probe::{self, Numerics};
use crate::queue::Recorder;

/// Which optional features of an adapter are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// All that it offers and that pass the probe.
    #[default]
    All,
    /// None: what every device has.
    Portable,
}

/// How a device is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Which of the devices, from 0 on.
    pub ordinal: usize,
    /// Whether drivers that compute on the CPU count.
    pub software: bool,
    /// Which features are used.
    pub features: Features,
    /// The bytes that tensors may take; by default a share of what there is.
    pub budget: Option<u64>,
}

impl Options {
    /// What the environment says, for a device by its number.
    #[must_use]
    pub fn from_env(ordinal: usize) -> Self {
        let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
        let features = if is("ALLOTROPE_GPU_FEATURES", "portable") {
            Features::Portable
        } else {
            Features::All
        };
        let budget = std::env::var("ALLOTROPE_GPU_MEMORY").ok();
        Self {
            ordinal,
            software: is("ALLOTROPE_GPU", "software"),
            features,
            budget: budget.and_then(|bytes| bytes.parse().ok()),
        }
    }
}

/// A device that is open: its memory, its queue, and what it can do.
pub struct Gpu {
    pub(crate) name: &'static str,
    pub(crate) info: wgpu::AdapterInfo,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: wgpu::Limits,
    pub(crate) capabilities: Capabilities,
    pub(crate) numerics: Numerics,
    pub(crate) integers: WideIntegers,
    pub(crate) pool: Mutex<Pool>,
    pub(crate) pipelines: Pipelines,
    pub(crate) recorder: Mutex<Recorder>,
    pub(crate) hosted: Mutex<HashMap<&'static str, usize>>,
    pub(crate) ordinal: u32,
    faults: Arc<Faults>,
    process: u32,
    itself: OnceLock<&'static Self>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({}: {})", self.name, self.info.name)
    }
}

/// What went wrong since the device was opened.
#[derive(Default)]
struct Faults {
    lost: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Faults {
    fn note(&self, reason: String) {
        lock(&self.first).get_or_insert(reason);
    }
}

/// The data of a lock, also after a panic in another thread: nothing here is left half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a future gives; those of native devices never wait for another thread of ours.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// The adapters that count, the fastest kind first.
fn adapters(software: bool) -> Vec<wgpu::Adapter> {
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    description.backends = backends;
    description.flags = wgpu::InstanceFlags::empty();
    // Memory that is used up is an error, and no reason to lose the device.
    description.memory_budget_thresholds = wgpu::MemoryBudgetThresholds {
        for_resource_creation: Some(95),
        for_device_loss: Some(99),
    };
    let instance = wgpu::Instance::new(description);
    let mut adapters = wait(instance.enumerate_adapters(backends));
    let rank = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    adapters.retain(|adapter| software || rank(adapter) < 4);
    // One device through two interfaces is one device: Vulkan before DX12, whose compiler is slow.
    let has_vulkan = adapters
        .iter()
        .any(|adapter| adapter.get_info().backend == wgpu::Backend::Vulkan);
    adapters.retain(|adapter| !has_vulkan || adapter.get_info().backend != wgpu::Backend::Dx12);
    adapters.sort_by_key(rank);
    adapters
}

/// How many devices the environment lets count.
#[must_use]
pub fn device_count() -> usize {
    adapters(Options::from_env(0).software).len()
}

/// The device of a number, as the environment says, opened on first use; a new one in the place of
/// one that was lost.
///
/// # Errors
/// A device error if there is none, or if it does not open.
pub fn device(ordinal: usize) -> Result<&'static Gpu, Error> {
    static OPEN: Mutex<Vec<(usize, u32, &'static Gpu)>> = Mutex::new(Vec::new());
    let process = std::process::id();
    let mut devices = lock(&OPEN);
    devices.retain(|(_, opened_by, gpu)| *opened_by == process && !gpu.is_lost());
    let known = devices.iter().find(|(number, ..)| *number == ordinal);
    if let Some((_, _, gpu)) = known {
        return Ok(*gpu);
    }
    let gpu = open(Options::from_env(ordinal))?;
    devices.push((ordinal, process, gpu));
    Ok(gpu)
}

/// A device of its own, which stays open for the rest of the process.
///
/// # Errors
/// A device error if there is none, or if it does not open.
pub fn open(options: Options) -> Result<&'static Gpu, Error> {
    let adapters = adapters(options.software);
    let names: Vec<&str> = (0..adapters.len()).map(name_of).collect();
    let Some(adapter) = adapters.get(options.ordinal) else {
        return Err(unknown(options.ordinal, &names));
    };
    let gpu: &'static Gpu = Box::leak(Box::new(Gpu::open(adapter, options)?));
    gpu.itself.get_or_init(|| gpu);
    Ok(gpu)
}

/// The name of a device by its number.
fn name_of(ordinal: usize) -> &'static str {
    const NAMES: [&str; 16] = [
        "gpu", "gpu:1", "gpu:2", "gpu:3", "gpu:4", "gpu:5", "gpu:6", "gpu:7", "gpu:8", "gpu:9",
        "gpu:10", "gpu:11", "gpu:12", "gpu:13", "gpu:14", "gpu:15",
    ];
    NAMES.get(ordinal).copied().unwrap_or("gpu:many")
}

impl Gpu {
    fn open(adapter: &wgpu::Adapter, options: Options) -> Result<Self, Error> {
        let name = name_of(options.ordinal);
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let wide = wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64;
        let features = match options.features {
            Features::All => adapter.features() & wide,
            Features::Portable => wgpu::Features::empty(),
        };
        let description = wgpu::DeviceDescriptor {
            label: Some(name),
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        };
        let opened = wait(adapter.request_device(&description));
        let (device, queue) = opened.map_err(|error| failed("device", name, error.to_string()))?;
        let faults = Arc::new(Faults::default());
        let noted = Arc::clone(&faults);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            noted.note(error.to_string());
        }));
        let noted = Arc::clone(&faults);
        device.set_device_lost_callback(move |reason, message| {
            noted.note(format!("it was lost: {reason:?} {message}"));
            noted.lost.store(true, Ordering::SeqCst);
        });
        let numerics = Numerics {
            float64: features.contains(wide),
            int64: features.contains(wgpu::Features::SHADER_INT64),
            ..Numerics::default()
        };
        let recorder = Recorder::new(&device, &limits);
        let mut gpu = Self {
            name,
            pool: Mutex::new(Pool::new(options.budget.unwrap_or_else(|| share(&info)))),
            pipelines: Pipelines::default(),
            recorder: Mutex::new(recorder),
            hosted: Mutex::default(),
            capabilities: Capabilities::CPU,
            integers: WideIntegers::Native,
            info,
            limits,
            device,
            queue,
            numerics,
            faults,
            process: std::process::id(),
            ordinal: options.ordinal as u32,
            itself: OnceLock::new(),
        };
        gpu.settle();
        gpu.numerics = probe::probe(&gpu)?;
        gpu.settle();
        gpu.check("device")?;
        Ok(gpu)
    }

    /// The device as memory refers to it, which stays open for the rest of the process.
    pub(crate) fn itself(&self) -> Result<&'static Self, Error> {
        let itself = self.itself.get().copied();
        itself.ok_or_else(|| failed("device", self.name, "it is not open yet"))
    }

    /// What follows from the arithmetic that the device has.
    fn settle(&mut self) {
        let Numerics { float64, int64, .. } = self.numerics;
        self.integers = if int64 {
            WideIntegers::Native
        } else {
            WideIntegers::Pairs
        };
        let answers = Capabilities::probed(|dtype| match dtype {
            DType::Bool | DType::C64 => true,
            DType::I64 | DType::U64 => int64,
            DType::F64 | DType::C128 => float64,
            _ => false,
        });
        self.capabilities = if int64 {
            answers
        } else {
            // As pairs of words.
            let answers = answers.with(DType::I64, Capability::Emulated);
            answers.with(DType::U64, Capability::Emulated)
        };
    }

    /// What the device is called by its driver.
    #[must_use]
    pub fn adapter_name(&self) -> &str {
        &self.info.name
    }

    /// What the device's arithmetic is like.
    #[must_use]
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// Whether the driver offers float64 and int64, whatever the probe found.
    #[doc(hidden)]
    #[must_use]
    pub fn offers(&self) -> [bool; 2] {
        let features = self.device.features();
        [wgpu::Features::SHADER_F64, wgpu::Features::SHADER_INT64]
            .map(|feature| features.contains(feature))
    }

    /// Whether the device is gone, with all that was in its memory.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.faults.lost.load(Ordering::SeqCst)
    }

    /// Gives the device up, as if it had been taken away: what tests of faults do.
    #[doc(hidden)]
    pub fn lose(&self) {
        self.device.destroy();
        self.faults
            .note("it was lost: Destroyed by the program".to_owned());
        self.faults.lost.store(true, Ordering::SeqCst);
    }

    /// An error if something went wrong since the device was opened, or if this is another process.
    pub(crate) fn check(&self, op: &'static str) -> Result<(), Error> {
        if self.process != std::process::id() {
            let reason = "it belongs to the process that this one was forked from";
            return Err(failed(op, self.name, reason));
        }
        let lost = self.is_lost();
        let mut first = lock(&self.faults.first);
        // A fault is told once; a lost device stays lost.
        let reason = if lost { first.clone() } else { first.take() };
        match reason {
            Some(reason) => Err(failed(op, self.name, reason)),
            None => Ok(()),
        }
    }

    /// Whether this is the process that opened the device.
    pub(crate) fn is_at_home(&self) -> bool {
        self.process == std::process::id()
    }

    /// What `work` makes, or what the device has against it.
    pub(crate) fn scoped<T>(&self, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
        let filters = [
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let made = work();
        let mut found = None;
        for scope in scopes.into_iter().rev() {
            found = found.or(wait(scope.pop()));
        }
        match found {
            Some(error) => Err(error),
            None => Ok(made),
        }
    }
}

/// The bytes that tensors may take by default: drivers promise more memory than there is.
fn share(info: &wgpu::AdapterInfo) -> u64 {
    let half_of_ram = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 512)
    };
    match info.device_type {
        wgpu::DeviceType::DiscreteGpu => u64::MAX,
        _ => half_of_ram().unwrap_or(u64::MAX),
    }
}
