//! Which devices there are, and one of them, opened on first use.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use allotrope_dtype::{Capabilities, Capability, DType, Error};
use allotrope_op::wgsl::WideIntegers;

use crate::adapter::{adapters, name_of, share};
use crate::cache::Cache;
use crate::driver;
use crate::error::{failed, lost, unknown};
use crate::kernel::check::Checks;
use crate::memory::Pool;
use crate::options::{Features, Level, Options};
use crate::pipeline::Pipelines;
use crate::probe::{self, Fact, Numerics};
use crate::queue::Recorder;
use crate::strict::Controls;

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
    pub(crate) checks: Mutex<Checks>,
    pub(crate) hosted: Mutex<HashMap<&'static str, usize>>,
    pub(crate) cache: Mutex<Option<Cache>>,
    pub(crate) controls: Controls,
    pub(crate) ordinal: u32,
    level: Level,
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

/// How many devices the environment lets count.
#[must_use]
pub fn device_count() -> usize {
    adapters(Options::from_env(0).software).len()
}

/// The names of the devices that the environment lets count, none of which is opened for it.
#[must_use]
pub fn names() -> Vec<&'static str> {
    (0..device_count()).map(name_of).collect()
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

impl Gpu {
    fn open(adapter: &wgpu::Adapter, options: Options) -> Result<Self, Error> {
        let name = name_of(options.ordinal);
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let wide = wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64;
        let wanted = match options.features {
            Features::All => wide,
            Features::Portable => wgpu::Features::empty(),
        };
        // No features of the device: ways to talk to its driver.
        let ways = wgpu::Features::PASSTHROUGH_SHADERS | wgpu::Features::PIPELINE_CACHE;
        let features = adapter.features() & (wanted | ways);
        let controls = driver::float_controls(adapter)
            .filter(|_| features.contains(wgpu::Features::PASSTHROUGH_SHADERS));
        let level = match (options.level, controls) {
            (Some(Level::Strict), None) => {
                let reason = "the level 'strict' needs a Vulkan driver that takes SPIR-V";
                return Err(failed("device", name, reason));
            }
            (Some(Level::Portable), _) | (None, None) => Level::Portable,
            (Some(Level::Strict) | None, Some(_)) => Level::Strict,
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
            let reason = format!("it was lost ({reason:?}) {message}");
            // What lost it comes before what else went wrong.
            *lock(&noted.first) = Some(reason.trim_end().to_owned());
            noted.lost.store(true, Ordering::SeqCst);
        });
        let offered = Numerics {
            float64: features.contains(wide),
            int64: features.contains(wgpu::Features::SHADER_INT64),
            halves: options.features == Features::All,
            ..Numerics::default()
        };
        let recorder = Recorder::new(&device, &limits);
        let mut gpu = Self {
            name,
            pool: Mutex::new(Pool::new(options.budget.unwrap_or_else(|| share(adapter)))),
            cache: Mutex::new(Cache::open(&device, &info)),
            controls: controls.unwrap_or_default(),
            level,
            pipelines: Pipelines::default(),
            recorder: Mutex::new(recorder),
            checks: Mutex::default(),
            hosted: Mutex::default(),
            capabilities: Capabilities::CPU,
            integers: WideIntegers::Native,
            info,
            limits,
            device,
            queue,
            numerics: offered,
            faults,
            process: std::process::id(),
            ordinal: options.ordinal as u32,
            itself: OnceLock::new(),
        };
        gpu.settle();
        let mut numerics = probe::probe(&gpu)?;
        if level == Level::Strict && options.level.is_none() && !numerics.plain {
            // The driver does not listen: what it is told is no help.
            gpu.level = Level::Portable;
            gpu.pipelines = Pipelines::default();
            numerics = probe::probe(&gpu)?;
        }
        gpu.numerics = numerics;
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

    /// The driver and its version, in its own words.
    #[must_use]
    pub fn driver(&self) -> String {
        let wgpu::AdapterInfo {
            driver,
            driver_info,
            ..
        } = &self.info;
        format!("{driver} {driver_info}").trim().to_owned()
    }

    /// The interface by which the device is reached: `"Vulkan"`, `"Metal"` or `"DX12"`.
    #[must_use]
    pub fn interface(&self) -> &'static str {
        match self.info.backend {
            wgpu::Backend::Vulkan => "Vulkan",
            wgpu::Backend::Metal => "Metal",
            wgpu::Backend::Dx12 => "DX12",
            wgpu::Backend::Gl => "GL",
            wgpu::Backend::BrowserWebGpu => "WebGPU",
            wgpu::Backend::Noop => "none",
        }
    }

    /// Whether the driver computes on the CPU.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// By what means arithmetic is kept as it is written.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// What the probe found, a line for each question.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.numerics.facts()
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
        self.device.poll(wgpu::PollType::wait_indefinitely()).ok();
    }

    /// The same, and no one has noticed yet.
    #[doc(hidden)]
    pub fn lose_unnoticed(&self) {
        self.device.destroy();
    }

    /// An error if something went wrong since the device was opened, or if this is another process.
    pub(crate) fn check(&self, op: &'static str) -> Result<(), Error> {
        if self.process != std::process::id() {
            let reason = "it belongs to the process that this one was forked from";
            return Err(failed(op, self.name, reason));
        }
        let first = &self.faults.first;
        if self.is_lost() {
            let reason = lock(first).clone().unwrap_or_default();
            let pool = lock(&self.pool);
            return Err(lost(op, self.name, &reason, pool.count(), pool.used()));
        }
        // A fault is told once; a lost device stays lost.
        match lock(first).take() {
            Some(reason) => Err(failed(op, self.name, reason)),
            None => Ok(()),
        }
    }

    /// Gives the device up because recorded work was not done: tensors that it would have written hold
    /// what was there before, and no one knows which.
    pub(crate) fn give_up(&self, op: &'static str, reason: impl std::fmt::Display) -> Error {
        let reason = format!("it was given up, for recorded work was refused: {reason}");
        lock(&self.faults.first).get_or_insert(reason);
        self.faults.lost.store(true, Ordering::SeqCst);
        self.fault(op, "it was given up")
    }

    /// What wgpu has to say, as an error: that the device is lost, where it is.
    pub(crate) fn fault(&self, op: &'static str, reason: impl std::fmt::Display) -> Error {
        // A device that is lost tells whoever asks next.
        self.device.poll(wgpu::PollType::Poll).ok();
        let known = self.check(op).err();
        known.unwrap_or_else(|| failed(op, self.name, reason.to_string()))
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
