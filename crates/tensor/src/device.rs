//! Where tensors are: devices as values, which one an operation takes, and what becomes of a task that
//! a device has no kernel for.

use std::fmt;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use allotrope_cpu::CPU;
use allotrope_dtype::{Capabilities, DType, Error, Problem};
use allotrope_op::task::{Input, Made, Output, Results, Task};
use allotrope_op::{Backend, Hosting, Layout, META, Shape, Shared, View};
use smallvec::SmallVec;

use crate::Tensor;
use crate::notice::{self, Way};
use crate::overflow::{is_watched, settle_task};
use crate::transfer::{fetch, upload};

/// A device of this machine: where tensors are and what computes with them.
///
/// ```
/// use allotrope_tensor::{Device, DType, Tensor};
/// let device: Device = "cpu".parse()?;
/// assert_eq!(device, Device::cpu());
/// assert_eq!(device.to_string(), "cpu");
/// assert_eq!(Tensor::zeros(&[2], DType::F32)?.device(), device);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Device(&'static dyn Backend);

impl Device {
    /// The CPU, which every machine has.
    #[must_use]
    pub fn cpu() -> Self {
        Self(&CPU)
    }

    /// The device without memory, `meta`: its tensors have a shape and a dtype, and no values.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Device, Options, Tensor};
    /// let x = Tensor::zeros(&[1 << 20, 1 << 20], Options::new(DType::F32, Device::meta()))?;
    /// assert_eq!(x.matmul(&x)?.shape()[..], [1 << 20, 1 << 20]);
    /// assert!(x.sum(None, false, None)?.item().is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn meta() -> Self {
        Self(&META)
    }

    /// The device of a kind and a number.
    ///
    /// # Errors
    /// A device error if this machine has no such device.
    pub fn new(kind: &str, index: u32) -> Result<Self, Error> {
        let mut own = [Self::cpu(), Self::meta()].into_iter();
        if let Some(own) = own.find(|own| own.kind() == kind && own.index() == index) {
            return Ok(own);
        }
        let find = providers(|all| all.iter().find(|p| p.kind == kind).map(|p| p.find));
        match find {
            Some(find) => find(index).map(Self).inspect(note_opened),
            None => Err(unknown(name_of(kind, index))),
        }
    }

    /// Every device of this machine that can be had, the CPU first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut devices = vec![Self::cpu()];
        let others = providers(<[DeviceProvider]>::to_vec);
        for provider in others {
            let found = (0..(provider.count)()).filter_map(|index| (provider.find)(index).ok());
            devices.extend(found.map(Self).inspect(note_opened));
        }
        devices
    }

    /// The devices that were asked for so far, the CPU first.
    #[must_use]
    pub fn opened() -> Vec<Self> {
        let opened = OPENED.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(Self::cpu())
            .chain(opened.iter().copied())
            .collect()
    }

    /// The names of the devices of this machine, the CPU's first; none is opened.
    #[must_use]
    pub fn names() -> Vec<String> {
        let mut names = vec!["cpu".to_owned()];
        for provider in providers(<[DeviceProvider]>::to_vec) {
            names.extend((0..(provider.count)()).map(|index| name_of(provider.kind, index)));
        }
        names
    }

    /// The kinds of devices that are known, whether this machine has one or not.
    #[must_use]
    pub fn kinds() -> Vec<&'static str> {
        let mut kinds = vec![Self::cpu().kind(), Self::meta().kind()];
        kinds.extend(providers(|all| {
            all.iter().map(|p| p.kind).collect::<Vec<_>>()
        }));
        kinds
    }

    /// The kind, such as `cpu`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.0.id().kind
    }

    /// The number among the devices of its kind.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.0.id().index
    }

    /// What computes there.
    #[must_use]
    pub fn backend(&self) -> &'static dyn Backend {
        self.0
    }

    /// What the device does with each dtype.
    #[must_use]
    pub fn capabilities(&self) -> &'static Capabilities {
        self.0.capabilities()
    }

    /// Waits until all work that was asked for is done.
    ///
    /// # Errors
    /// What became wrong meanwhile: errors about values, a device error.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.0.finish()
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::cpu()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

impl Eq for Device {}

impl From<&'static dyn Backend> for Device {
    fn from(backend: &'static dyn Backend) -> Self {
        Self(backend)
    }
}

impl From<&Self> for Device {
    fn from(device: &Self) -> Self {
        *device
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.id(), f)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.0.id())
    }
}

impl FromStr for Device {
    type Err = Error;

    /// The device of a name: a kind, or a kind with a number behind a colon.
    fn from_str(name: &str) -> Result<Self, Error> {
        let (kind, index) = match name.split_once(':') {
            None => (name, Some(0)),
            Some((kind, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                (kind, digits.parse().ok())
            }
            Some((kind, _)) => (kind, None),
        };
        match index {
            Some(index) if Self::kinds().contains(&kind) => Self::new(kind, index),
            _ => Err(unknown(name.to_owned())),
        }
    }
}

fn name_of(kind: &str, index: u32) -> String {
    match index {
        0 => kind.to_owned(),
        index => format!("{kind}:{index}"),
    }
}

/// What other libraries call devices that are called "gpu" here.
const OTHER_NAMES: [&str; 5] = ["cuda", "mps", "xpu", "hip", "rocm"];

#[cold]
fn unknown(given: String) -> Error {
    let available = Device::names().join(", ");
    let kind = given.split(':').next().unwrap_or_default();
    let hint = match kind {
        kind if OTHER_NAMES.contains(&kind) => Some("devices of every maker are called \"gpu\""),
        // Else its provider would have said why.
        "gpu" => Some("this program was built without the feature gpu, or has not registered it"),
        _ => None,
    };
    let error = Error::new("device", Problem::UnknownDevice { given, available });
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Finds the devices of a kind.
#[derive(Clone, Copy, Debug)]
pub struct DeviceProvider {
    /// The kind.
    pub kind: &'static str,
    /// How many there are.
    pub count: fn() -> u32,
    /// The backend of a number; a device error says why there is none.
    pub find: fn(u32) -> Result<&'static dyn Backend, Error>,
    /// Takes what hears of primitives that a backend of this kind has the CPU do for it.
    pub report_hosted: fn(HostedReport),
}

/// Hears that a device has the CPU do a primitive, before it does: the operation, the device, and the
/// dtypes that are read. An error is raised in its place.
pub type HostedReport = fn(&'static str, &'static dyn Backend, &[DType]) -> Result<(), Error>;

/// Reports a hosted primitive as a hosted task is.
fn report_hosted(
    op: &'static str,
    backend: &'static dyn Backend,
    dtypes: &[DType],
) -> Result<(), Error> {
    notice::hosted(op, Device(backend), dtypes)
}

/// Devices that someone has asked for: of each the last, since one that was lost is opened anew.
static OPENED: RwLock<Vec<Device>> = RwLock::new(Vec::new());

fn note_opened(device: &Device) {
    let is_it = |known: &Device| known.0.id() == device.0.id();
    let is_known = |known: &Device| is_it(known) && std::ptr::addr_eq(known.0, device.0);
    let opened = OPENED.read().unwrap_or_else(PoisonError::into_inner);
    if opened.iter().any(is_known) {
        return;
    }
    drop(opened);
    let mut opened = OPENED.write().unwrap_or_else(PoisonError::into_inner);
    opened.retain(|known| !is_it(known));
    // bounded: devices of a machine.
    opened.push(*device);
}

static PROVIDERS: RwLock<Vec<DeviceProvider>> = RwLock::new(Vec::new());

fn providers<T>(look: impl FnOnce(&[DeviceProvider]) -> T) -> T {
    // A list is changed by whole entries only.
    look(&PROVIDERS.read().unwrap_or_else(PoisonError::into_inner))
}

/// Makes the devices of a kind known to all; the first provider of a kind stays.
pub fn register_devices(provider: DeviceProvider) {
    (provider.report_hosted)(report_hosted);
    let mut providers = PROVIDERS.write().unwrap_or_else(PoisonError::into_inner);
    if providers.iter().all(|known| known.kind != provider.kind) {
        providers.push(provider);
    }
}

/// The device of all tensors; without any, the CPU.
pub(crate) fn common_backend(
    op: &'static str,
    tensors: &[&Tensor],
) -> Result<&'static dyn Backend, Error> {
    let Some((first, rest)) = tensors.split_first() else {
        return Ok(&CPU);
    };
    let backend = first.backend();
    match rest.iter().find(|other| !first.is_beside(other)) {
        Some(other) => {
            let [lhs, rhs] = [backend, other.backend()].map(|backend| backend.id().to_string());
            Err(Error::new(op, Problem::DevicesDiffer { lhs, rhs }))
        }
        None => Ok(backend),
    }
}

/// What the device of some tensors makes of a task; `None` if it has no kernel for it.
///
/// # Errors
/// A device error if the tensors are not on one device, and what the task raises.
pub(crate) fn perform_here(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
) -> Result<Option<Results>, Error> {
    perform_shaped(op, task, tensors, outputs, None)
}

/// [`perform_here`], given the shape of the output where it is known.
fn perform_shaped(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
    shape: Option<&Shape>,
) -> Result<Option<Results>, Error> {
    match offer(common_backend(op, tensors)?, op, task, tensors, outputs)? {
        Some(results) => watched(op, task, tensors, outputs, shape, results).map(Some),
        None => Ok(None),
    }
}

/// What a task made, by the policy of overflow.
fn watched(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
    shape: Option<&Shape>,
    results: Results,
) -> Result<Results, Error> {
    if is_watched() {
        settle_task(op, task, tensors, outputs, shape, results)
    } else {
        Ok(results)
    }
}

/// What a device makes of a task on tensors that it has.
fn offer(
    backend: &'static dyn Backend,
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
) -> Result<Option<Results>, Error> {
    let inputs: SmallVec<[Input<'_>; 4]> = tensors
        .iter()
        .map(|tensor| Input {
            dtype: tensor.dtype(),
            view: tensor.view_of(),
        })
        .collect();
    let results = backend.perform(op, task, &inputs, outputs)?;
    if results.is_some() && !task.is_check() {
        note(op, backend, tensors, Way::Native);
    }
    Ok(results)
}

/// Remembers how a device other than the CPU came to a result.
fn note(op: &'static str, backend: &'static dyn Backend, tensors: &[&Tensor], way: Way) {
    if tensors.iter().any(|tensor| tensor.host_address().is_none()) {
        notice::went(op, Device(backend), way);
    }
}

/// What a task makes of tensors: on their device, or where it has no kernel, on the CPU.
///
/// # Errors
/// As [`perform_here`].
pub(crate) fn perform(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
) -> Result<Results, Error> {
    perform_on(
        common_backend(op, tensors)?,
        op,
        task,
        tensors,
        outputs,
        None,
    )
}

/// [`perform`] on a device that has all of the tensors, of which there may be none. The shape is that of
/// the output, where it is known by now.
pub(crate) fn perform_on(
    backend: &'static dyn Backend,
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
    shape: Option<&Shape>,
) -> Result<Results, Error> {
    let results = match offer(backend, op, task, tensors, outputs)? {
        Some(results) => results,
        None => perform_on_host(backend, op, task, tensors, outputs)?,
    };
    watched(op, task, tensors, outputs, shape, results)
}

/// [`perform`] for a task of one output, as a tensor of a shape.
pub(crate) fn perform_one(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    dtype: DType,
    shape: &Shape,
) -> Result<Tensor, Error> {
    let outputs = [Output {
        dtype,
        count: shape.count(),
    }];
    let backend = common_backend(op, tensors)?;
    let results = perform_on(backend, op, task, tensors, &outputs, Some(shape))?;
    Ok(first_of(results, tensors, dtype, shape))
}

/// The one output of a task, as a tensor of a shape.
fn first_of(mut results: Results, tensors: &[&Tensor], dtype: DType, shape: &Shape) -> Tensor {
    let memory = results.remove(0).memory;
    Tensor::from_memory_of(memory, shape.clone(), dtype).inherit_alike(tensors)
}

/// [`perform_one`], but where the device has no kernel for the task, a composition of other
/// operations there.
pub(crate) fn perform_or(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    dtype: DType,
    shape: &Shape,
    compose: impl FnOnce() -> Result<Tensor, Error>,
) -> Result<Tensor, Error> {
    let count = shape.count();
    match perform_shaped(op, task, tensors, &[Output { dtype, count }], Some(shape))? {
        Some(results) => Ok(first_of(results, tensors, dtype, shape)),
        None => {
            note(op, common_backend(op, tensors)?, tensors, Way::Composed);
            compose()
        }
    }
}

/// What the device of some tensors makes of a task that writes so many shapes, without a record of it;
/// `None` if it has no kernel for it, and the caller composes the results.
///
/// # Errors
/// A device error if the tensors are not on one device, and what the task raises.
pub fn perform_task(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[(DType, &[usize])],
) -> Result<Option<Vec<Tensor>>, Error> {
    let shapes = outputs.iter().map(|(_, sizes)| Shape::new(op, sizes));
    let shapes: Vec<Shape> = shapes.collect::<Result<_, _>>()?;
    let counts = outputs
        .iter()
        .zip(&shapes)
        .map(|((dtype, _), shape)| Output {
            dtype: *dtype,
            count: shape.count(),
        });
    let counts: SmallVec<[Output; 4]> = counts.collect();
    let Some(results) = perform_here(op, task, tensors, &counts)? else {
        note(op, common_backend(op, tensors)?, tensors, Way::Composed);
        return Ok(None);
    };
    let made = results.into_iter().zip(counts).zip(shapes);
    let tensors = made.map(|((made, output), shape)| {
        Tensor::from_memory_of(made.memory, shape, output.dtype).inherit_alike(tensors)
    });
    Ok(Some(tensors.collect()))
}

/// What the CPU makes of a task on tensors of another device, brought back there.
#[cold]
fn perform_on_host(
    backend: &'static dyn Backend,
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
) -> Result<Results, Error> {
    let dtypes: SmallVec<[DType; 4]> = tensors.iter().map(|tensor| tensor.dtype()).collect();
    notice::hosted(op, Device(backend), &dtypes)?;
    let _hosting = Hosting::begin();
    let made = perform_on_copies(op, task, tensors, outputs)?;
    made.into_iter()
        .zip(outputs)
        .map(|(Made { memory, count }, output)| {
            let len = output.dtype.bytes_for(count).unwrap_or(usize::MAX);
            let bytes = memory.on_host(op)?;
            let memory = upload(backend, op, output.dtype, bytes.get(..len).unwrap_or(bytes))?;
            Ok(Made { memory, count })
        })
        .collect()
}

/// Has values checked by a task that writes nothing: by the device of the tensors, which may raise what
/// it finds at the next reading; where it has no kernel by the CPU, which reads them at the call.
///
/// # Errors
/// As [`perform_here`].
pub(crate) fn check(op: &'static str, task: &Task<'_>, tensors: &[&Tensor]) -> Result<(), Error> {
    match perform_here(op, task, tensors, &[])? {
        Some(_) => Ok(()),
        None => perform_on_copies(op, task, tensors, &[]).map(drop),
    }
}

/// What the CPU makes of a task on copies of tensors.
#[cold]
fn perform_on_copies(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
) -> Result<Results, Error> {
    let moved: SmallVec<[(Shared, Layout); 4]> = tensors
        .iter()
        .map(|tensor| fetch(op, tensor))
        .collect::<Result<_, Error>>()?;
    let inputs: SmallVec<[Input<'_>; 4]> = moved
        .iter()
        .zip(tensors)
        .map(|((memory, layout), tensor)| Input {
            dtype: tensor.dtype(),
            view: View {
                memory: &**memory,
                layout,
            },
        })
        .collect();
    CPU.perform(op, task, &inputs, outputs)?.ok_or_else(|| {
        let (device, reason) = ("cpu", "a task without a kernel".to_owned());
        Error::new(op, Problem::DeviceFailure { device, reason })
    })
}
