//! The class `Generator`, and the generator of the process.

use std::ops::RangeInclusive;

use allotrope_dtype::{Error, Problem};
use allotrope_tensor::{Device, Generator};
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyTuple};

use crate::arguments::{Integer, TensorObject, Unsigned, beyond};
use crate::create::operand;
use crate::device::{device_or_cpu, wrap_device};
use crate::error::{describe_int, is_refusal, raise, wrong_object};
use crate::tensor::{PyTensor, wrap};

/// A generator of its own, or that of the process.
enum Source {
    Own(Generator),
    Process,
}

/// A source of random numbers: a seed, and how much of its sequence has been used.
///
/// Philox, counter-based: one seed gives the same numbers on every device and for any number of
/// threads. A draw of n elements moves it on by n / 4, rounded up, whatever the dtype.
///
/// >>> g = al.Generator().manual_seed(42)
/// >>> x = al.rand(3, generator=g)
/// >>> y = al.rand(3, generator=g.manual_seed(42))
/// >>> x.tolist() == y.tolist()
/// True
#[pyclass(name = "Generator", module = "allotrope", frozen)]
pub(crate) struct PyGenerator {
    source: Source,
    /// Draws are the same on every device: what it was made for is told, and nothing depends on it.
    device: Device,
}

impl PyGenerator {
    pub(crate) fn generator(&self) -> &Generator {
        match &self.source {
            Source::Own(generator) => generator,
            Source::Process => Generator::of_process(),
        }
    }
}

impl From<Generator> for PyGenerator {
    fn from(generator: Generator) -> Self {
        Self {
            source: Source::Own(generator),
            device: Device::cpu(),
        }
    }
}

/// The generator that was given, or that of the process.
pub(crate) fn source<'a>(generator: Option<&'a Bound<'_, PyGenerator>>) -> Option<&'a Generator> {
    generator.map(|generator| generator.get().generator())
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&str>) -> PyResult<Self> {
        Ok(Self {
            source: Source::Own(Generator::default()),
            device: device_or_cpu("Generator", device)?,
        })
    }

    /// The device whose tensors it is for.
    ///
    /// >>> al.Generator().device
    /// device(type='cpu')
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        wrap_device(py, self.device)
    }

    /// Goes to the start of a seed's sequence, and returns the generator.
    ///
    /// >>> al.Generator().manual_seed(3).initial_seed()
    /// 3
    fn manual_seed(this: Py<Self>, seed: Integer) -> PyResult<Py<Self>> {
        this.get()
            .generator()
            .manual_seed(read_seed("manual_seed", seed)?);
        Ok(this)
    }

    /// Goes to the start of an unpredictable seed's sequence, and returns the seed.
    ///
    /// >>> generator = al.Generator()
    /// >>> generator.seed() == generator.initial_seed()
    /// True
    fn seed(&self) -> u64 {
        self.generator().seed()
    }

    /// The seed.
    ///
    /// >>> al.Generator().manual_seed(7).initial_seed()
    /// 7
    fn initial_seed(&self) -> u64 {
        self.generator().initial_seed()
    }

    /// How much of the sequence has been used, in blocks of four elements.
    ///
    /// >>> generator = al.Generator().manual_seed(0)
    /// >>> x = al.rand(8, generator=generator)
    /// >>> generator.get_offset()
    /// 2
    fn get_offset(&self) -> u64 {
        self.generator().offset()
    }

    /// Goes to a place in the seed's sequence.
    ///
    /// >>> generator = al.Generator().manual_seed(0)
    /// >>> x = al.rand(4, generator=generator)
    /// >>> generator.set_offset(0)
    /// >>> al.equal(al.rand(4, generator=generator), x)
    /// True
    fn set_offset(&self, offset: Unsigned) {
        self.generator().set_offset(offset.0);
    }

    /// Seed and offset, as 16 bytes.
    ///
    /// >>> generator = al.Generator().manual_seed(3)
    /// >>> generator.get_state().shape, generator.get_state().dtype
    /// ((16,), allotrope.uint8)
    fn get_state(&self) -> PyResult<PyTensor> {
        wrap(self.generator().state())
    }

    /// Goes to where a generator was when it gave this state.
    ///
    /// >>> generator = al.Generator().manual_seed(0)
    /// >>> state = generator.get_state()
    /// >>> x = al.rand(4, generator=generator)
    /// >>> generator.set_state(state)
    /// >>> al.equal(al.rand(4, generator=generator), x)
    /// True
    fn set_state(&self, new_state: TensorObject) -> PyResult<()> {
        let state = operand("set_state", new_state)?;
        self.generator().set_state(&state).map_err(raise)
    }

    /// Another generator at the same place, which goes its own way from there.
    ///
    /// >>> generator = al.Generator().manual_seed(0)
    /// >>> al.equal(al.rand(2, generator=generator.clone_state()), al.rand(2, generator=generator))
    /// True
    fn clone_state(&self) -> Self {
        self.generator().clone().into()
    }

    fn __repr__(&self) -> String {
        let (seed, offset) = (self.initial_seed(), self.get_offset());
        format!("<allotrope.Generator seed={seed} offset={offset}>")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rebuild = PyModule::import(py, intern!(py, "allotrope"))?
            .getattr(intern!(py, "Generator"))?
            .getattr(intern!(py, "_from_state"))?;
        let arguments = (self.get_state()?,).into_pyobject(py)?;
        PyTuple::new(py, [rebuild, arguments.into_any()])
    }

    /// What pickle calls.
    #[staticmethod]
    fn _from_state(state: TensorObject) -> PyResult<Self> {
        let generator = Self::from(Generator::default());
        generator.set_state(state)?;
        Ok(generator)
    }
}

/// Adds the generator of the process to the module.
pub(crate) fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let source = Source::Process;
    module.add(
        "default_generator",
        Py::new(
            module.py(),
            PyGenerator {
                source,
                device: Device::cpu(),
            },
        )?,
    )
}

/// Goes to the start of a seed's sequence, for draws without a generator of their own.
///
/// >>> al.manual_seed(0).initial_seed()
/// 0
#[pyfunction]
pub(crate) fn manual_seed(seed: Integer) -> PyResult<PyGenerator> {
    Generator::of_process().manual_seed(read_seed("manual_seed", seed)?);
    Ok(PyGenerator {
        device: Device::cpu(),
        source: Source::Process,
    })
}

/// Goes to the start of an unpredictable seed's sequence, for draws without a generator of their
/// own, and returns the seed.
///
/// >>> al.seed() == al.initial_seed()
/// True
#[pyfunction]
pub(crate) fn seed() -> u64 {
    Generator::of_process().seed()
}

/// The seed of draws without a generator of their own.
///
/// >>> generator = al.manual_seed(7)
/// >>> al.initial_seed()
/// 7
#[pyfunction]
pub(crate) fn initial_seed() -> u64 {
    Generator::of_process().initial_seed()
}

/// The state of the generator that draws without one of their own use.
///
/// >>> state = al.get_rng_state()
/// >>> x = al.rand(3)
/// >>> al.set_rng_state(state)
/// >>> al.rand(3).tolist() == x.tolist()
/// True
#[pyfunction]
pub(crate) fn get_rng_state() -> PyResult<PyTensor> {
    wrap(Generator::of_process().state())
}

/// Sets the state of the generator that draws without one of their own use.
///
/// >>> state = al.get_rng_state()
/// >>> x = al.rand(3)
/// >>> al.set_rng_state(state)
/// >>> al.equal(al.rand(3), x)
/// True
#[pyfunction]
pub(crate) fn set_rng_state(new_state: TensorObject) -> PyResult<()> {
    let op = "set_rng_state";
    let state = operand(op, new_state)?;
    let set = Generator::of_process().set_state(&state);
    set.map_err(|error| raise(error.in_op(op)))
}

/// Gives this thread a place of its own in a seed's sequence, for draws without a generator of their
/// own, or takes it away; seed and offset of the one it had, or None.
#[pyfunction]
#[pyo3(signature = (place))]
pub(crate) fn _swap_place_of_thread(place: Option<(u64, u64)>) -> Option<(u64, u64)> {
    Generator::swap_place_of_thread(place)
}

/// The integers of 64 bits, signed or not.
const SEEDS: RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;

/// A seed: any integer of 64 bits, signed or not.
fn read_seed(op: &'static str, seed: Integer) -> PyResult<u64> {
    match integer(op, seed) {
        // Negative ones are taken modulo 2^64, as in torch.
        Ok(given) if SEEDS.contains(&given) => return Ok(given as u64),
        Err(error) if !error.is_instance_of::<PyOverflowError>(seed.py()) => return Err(error),
        _ => {}
    }
    let problem = Problem::OutOfRange {
        what: "seed",
        index: None,
        value: describe_int(seed),
        accepted: "-2**63 to 2**64 - 1",
    };
    Err(raise(Error::new(op, problem)))
}

/// An integer that some dtype may hold.
pub(crate) fn integer(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<i128> {
    let py = object.py();
    let index = object.call_method0(intern!(py, "__index__"));
    let index = index.map_err(|error| match is_refusal(py, &error) {
        true => wrong_object(op, "not an integer", object, "integers"),
        false => error,
    })?;
    index
        .extract()
        .map_err(|_| beyond(Some(op), &index, "integers of 64 bits"))
}
