//! The class `Tensor`.

use crate::objects;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use allotrope_dtype::{Error, Problem};
use allotrope_op::normalize_axis;
use allotrope_tensor::{Device, Link, Options, Tensor, Variable, trace_value};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyIterator, PyModule, PyRange, PyTuple, PyType};

use crate::arguments::{self, DTypeOrFamily, Int};
use crate::convert;
use crate::create::{self, as_leaf};
use crate::device::device_or_cpu;
use crate::dtype::{PyDType, wrap as wrap_dtype};
use crate::error::raise;
use crate::hooks::Kept;
use crate::index;
use crate::interchange::convert_data;
use crate::interrupt::detach;
use crate::memory_format::{arrange, is_arranged};
use crate::place::Place;
use crate::scopes;
use crate::scopes::default_dtype;
use crate::size::{self, Sizes};
use crate::view::Parts;

/// Elements of one dtype in any number of dimensions. A tensor object is a variable: what is written
/// to it in place is seen by all views of its memory.
///
/// >>> x = al.tensor([[1, 2], [3, 4]])
/// >>> column = x[:, 1]
/// >>> column += 10
/// >>> x
/// tensor([[ 1, 12],
///         [ 3, 14]])
#[pyclass(name = "Tensor", module = "allotrope", frozen, subclass, dict, weakref)]
pub(crate) struct PyTensor {
    variable: Place<Variable>,
    /// Behind the variable: what it is dropped for depends on who else has the history.
    kept: Place<Kept>,
    /// Whether an operation may move it to the device of its partner.
    is_free: AtomicBool,
}

impl From<Tensor> for PyTensor {
    /// A tensor of its own. What shares memory with an array of NumPy's is copied: else neither could be
    /// written to without the other.
    #[inline]
    fn from(tensor: Tensor) -> Self {
        trace_value(&tensor);
        if tensor.is_written_elsewhere() {
            return own(tensor);
        }
        Variable::new(tensor).into()
    }
}

/// A copy of what is written elsewhere.
#[cold]
fn own(tensor: Tensor) -> PyTensor {
    // Without memory for it a copy is put off to the first write.
    let copy = tensor.copied();
    Variable::new(copy.unwrap_or(tensor)).into()
}

impl From<Variable> for PyTensor {
    #[inline]
    fn from(variable: Variable) -> Self {
        Self {
            variable: Place::new(variable),
            kept: Place::new(Kept::default()),
            is_free: AtomicBool::new(false),
        }
    }
}

impl PyTensor {
    /// The value now, which later writes do not change.
    pub(crate) fn tensor(&self) -> Tensor {
        scopes::sync();
        match self.is_device_free() {
            true => self.variable.value().with_device_free(true),
            false => self.variable.value(),
        }
    }

    /// What is written to.
    pub(crate) fn variable(&self) -> &Variable {
        scopes::sync();
        &self.variable
    }

    /// Marks the tensor as one that an operation moves to the device of its partner.
    pub(crate) fn set_free(&self) {
        self.is_free.store(true, Ordering::Relaxed);
    }

    /// Whether it was marked so.
    pub(crate) fn is_device_free(&self) -> bool {
        self.is_free.load(Ordering::Relaxed)
    }

    /// What a view of this tensor is made with.
    pub(crate) fn link(&self) -> PyResult<Link> {
        scopes::sync();
        self.variable.link().map_err(raise)
    }

    /// Views of this tensor, which see what is written to it.
    pub(crate) fn see<T: Seen>(
        &self,
        make: impl FnOnce(&Tensor) -> PyResult<T>,
    ) -> PyResult<T::Object> {
        let link = self.link()?;
        let made = make(&link.value)?;
        Ok(made.seen(&link))
    }

    /// Another object for the same elements of the same memory.
    pub(crate) fn alias(&self) -> PyResult<Self> {
        made(self.variable.alias()).map(Self::from)
    }

    /// The object of the gradient, the same one while the gradient is in the same place.
    pub(crate) fn gradient(&self, py: Python<'_>) -> PyResult<Option<Py<Self>>> {
        let variable = self.tensor().grad_variable().map_err(raise)?;
        let Some(variable) = variable else {
            drop(self.kept.set_grad(None));
            return Ok(None);
        };
        let is_known = |object: &Py<Self>| object.get().variable.is_alias_of(&variable);
        if let Some(object) = self.kept.grad(py).filter(is_known) {
            return Ok(Some(object));
        }
        let object = Py::new(py, Self::from(variable))?;
        drop(self.kept.set_grad(Some(object.clone_ref(py))));
        Ok(Some(object))
    }

    /// Makes an object the gradient.
    pub(crate) fn set_gradient(&self, gradient: Option<&Bound<'_, Self>>) -> PyResult<()> {
        let variable = gradient.map(|gradient| &*gradient.get().variable);
        self.tensor().set_grad_variable(variable).map_err(raise)?;
        let object = gradient.map(|gradient| gradient.clone().unbind());
        // Dropped outside of the lock: it may be the last reference to a tensor.
        drop(self.kept.set_grad(object));
        Ok(())
    }

    /// What the object keeps of other objects.
    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// What this object sees in the copy of its memory that a deep copy makes once.
    fn copied_with_others(
        &self,
        py: Python<'_>,
        memo: &Bound<'_, PyDict>,
        place: usize,
    ) -> PyResult<Self> {
        let key = ("allotrope.memory", place);
        let memory = match memo.get_item(key)? {
            Some(known) => known.cast_into::<Self>()?,
            None => {
                let copy = detach(py, || self.variable.copy_memory()).map_err(raise)?;
                let copy = Bound::new(py, Self::from(copy))?;
                memo.set_item(key, &copy)?;
                copy
            }
        };
        made(self.variable.placed_in(&memory.get().variable)).map(Self::from)
    }

    /// Refuses to hand out the memory of another device, which is not where others read.
    pub(crate) fn check_on_cpu(&self, op: &'static str) -> PyResult<()> {
        let device = self.tensor().device();
        if device == Device::cpu() {
            return Ok(());
        }
        let given = device.kind();
        let error = Error::new(op, Problem::NotOnDevice { given });
        Err(raise(error.hint("x.cpu()")))
    }

    /// Refuses to hand the elements of a tensor that requires a gradient to another library, where
    /// its history would be lost.
    pub(crate) fn check_plain(&self, op: &str) -> PyResult<()> {
        if !self.tensor().requires_grad() {
            return Ok(());
        }
        Err(PyRuntimeError::new_err(format!(
            "{op}: the tensor requires a gradient, which would be lost (hint: x.detach())"
        )))
    }
}

/// Lets other Python threads run for a moment, while one of them is writing to a tensor.
pub(crate) fn pause() {
    let rest = || std::thread::sleep(Duration::from_micros(20));
    if Python::try_attach(|py| py.detach(rest)).is_none() {
        rest();
    }
}

/// What views are made as: a tensor, or several.
pub(crate) trait Seen {
    /// What Python sees of it.
    type Object;

    /// Variables over the memory that the views share.
    fn seen(self, link: &Link) -> Self::Object;
}

impl Seen for Tensor {
    type Object = PyTensor;

    fn seen(self, link: &Link) -> PyTensor {
        link.attach(self).into()
    }
}

impl Seen for Vec<Tensor> {
    type Object = Parts;

    fn seen(self, link: &Link) -> Parts {
        Parts::of(self, |part| part.seen(link))
    }
}

/// What views of an argument are made with; anything but a tensor is copied.
pub(crate) fn link(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Link> {
    match object.cast::<PyTensor>() {
        Ok(tensor) => tensor.get().link(),
        Err(_) => PyTensor::from(create::operand(op, object)?).link(),
    }
}

/// Views of an argument.
pub(crate) fn view<T: Seen>(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    make: impl FnOnce(&Tensor) -> PyResult<T>,
) -> PyResult<T::Object> {
    let link = link(op, object)?;
    let made = make(&link.value)?;
    Ok(made.seen(&link))
}

/// What was made, or the Python exception of its error.
pub(crate) fn made<T>(result: Result<T, Error>) -> PyResult<T> {
    result.map_err(raise)
}

/// A tensor, or the Python exception of its error.
pub(crate) fn wrap(result: Result<Tensor, allotrope_dtype::Error>) -> PyResult<PyTensor> {
    match result {
        Ok(tensor) => Ok(PyTensor::from(tensor)),
        Err(error) => Err(raise(error)),
    }
}

#[pymethods]
impl PyTensor {
    /// A tensor of another one's memory, without its history; of the numbers of lists and arrays, in the
    /// default dtype unless another is given; or of sizes, with elements of unknown values.
    ///
    /// >>> al.Tensor([1, 2]), al.Tensor(2, 3).shape
    /// (tensor([1., 2.]), (2, 3))
    /// >>> al.Tensor([1, 2], dtype="int8")
    /// tensor([1, 2], dtype=int8)
    #[new]
    #[classmethod]
    #[pyo3(signature = (*args, dtype=None, device=None, requires_grad=false, **options))]
    fn new(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyTuple>,
        dtype: Option<DTypeOrFamily>,
        device: Option<&str>,
        requires_grad: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        const OP: &str = "Tensor";
        let py = class.py();
        // A subclass with an `__init__` of its own has more arguments.
        let init = intern!(py, "__init__");
        let is_plain = class
            .getattr(init)?
            .is(py.get_type::<Self>().getattr(init)?);
        if let Some(name) = options
            .and_then(|options| options.keys().iter().next())
            .filter(|_| is_plain)
        {
            return Err(PyTypeError::new_err(format!(
                "{OP}: an unknown argument: {name}; dtype, device and requires_grad are accepted"
            )));
        }
        let is_size = |object: Bound<'_, PyAny>| object.is_exact_instance_of::<PyInt>();
        let data = args.get_item(0).ok();
        let made = match data {
            Some(data) if !args.iter().all(is_size) => {
                if args.len() > 1 && is_plain {
                    return Err(PyTypeError::new_err(
                        "Tensor: too many arguments; data or sizes are accepted (hint: al.tensor(data, dtype=))",
                    ));
                }
                match data.cast::<Self>() {
                    Ok(tensor) if dtype.is_none() && device.is_none() => {
                        made(tensor.get().variable.detach())?.into()
                    }
                    Ok(tensor) => {
                        let value = tensor.get().tensor().detach();
                        let options = create::resolve_like(OP, dtype, device, &value)?;
                        create::placed(OP, value.to(options.dtype), options)?.into()
                    }
                    Err(_) => {
                        let default = wrap_dtype(py, default_dtype())?.into_bound(py).into_any();
                        let dtype = dtype.unwrap_or(&default);
                        convert_data(OP, &data, Some(dtype), device, Some(true))?
                    }
                }
            }
            sizes => {
                let options = create::resolve(OP, dtype, device, || Ok(None))?;
                let sizes = match sizes {
                    None => vec![0],
                    Some(_) => arguments::sizes(OP, args, None)?,
                };
                wrap(Tensor::empty(&sizes, options))?
            }
        };
        if requires_grad {
            made.variable.requires_grad_(true).map_err(raise)?;
        }
        Ok(made)
    }

    /// The sizes of the dimensions.
    ///
    /// >>> al.zeros(2, 3).shape
    /// (2, 3)
    #[getter]
    pub(crate) fn shape<'py>(&self, py: Python<'py>) -> PyResult<Sizes<'py>> {
        size::wrap(py, self.tensor().shape())
    }

    /// The element type.
    ///
    /// >>> al.tensor([1, 2]).dtype
    /// allotrope.int64
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap_dtype(py, self.tensor().dtype())
    }

    /// The number of dimensions.
    ///
    /// >>> al.zeros(2, 3).ndim
    /// 2
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor().rank()
    }

    /// The dimensions in reverse.
    ///
    /// >>> al.tensor([[1, 2, 3], [4, 5, 6]]).T
    /// tensor([[1, 4],
    ///         [2, 5],
    ///         [3, 6]])
    #[getter(T)]
    fn turned(&self) -> PyResult<Self> {
        if let Some(view) = self.variable().reversed().map_err(raise)? {
            return Ok(view.into());
        }
        self.see(|x| {
            let axes: Vec<isize> = (0..x.rank() as isize).rev().collect();
            made(x.permute(&axes))
        })
    }

    /// The last two dimensions exchanged.
    ///
    /// >>> al.zeros(5, 2, 3).mT.shape
    /// (5, 3, 2)
    #[getter(mT)]
    fn matrix_turned(&self) -> PyResult<Self> {
        self.see(|x| made(x.transpose(-2, -1)))
    }

    /// The number of elements.
    ///
    /// >>> al.zeros(2, 3).numel()
    /// 6
    fn numel(&self) -> usize {
        self.tensor().count()
    }

    /// The distance between neighbours in each dimension, in elements, or that in one.
    ///
    /// >>> al.zeros(2, 3).stride(), al.zeros(2, 3).T.stride(0)
    /// ((3, 1), 1)
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<Int>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor();
        let strides = tensor.layout().strides();
        match dim {
            None => Ok(PyTuple::new(py, strides)?.into_any()),
            Some(Int(dim)) => {
                let dim = normalize_axis("stride", dim, tensor.rank()).map_err(raise)?;
                Ok(strides[dim].into_pyobject(py)?.into_any())
            }
        }
    }

    /// Whether the elements lie in row-major order without gaps, or as memory_format says.
    ///
    /// >>> x = al.zeros(2, 3)
    /// >>> x.is_contiguous(), x.T.is_contiguous()
    /// (True, False)
    #[pyo3(signature = (memory_format=None))]
    fn is_contiguous(&self, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        is_arranged("is_contiguous", &self.tensor(), memory_format)
    }

    /// The same elements in row-major order, or as memory_format says: the tensor itself if they
    /// already are.
    ///
    /// >>> x = al.zeros(2, 3)
    /// >>> x.contiguous() is x, x.T.contiguous().stride()
    /// (True, (2, 1))
    #[pyo3(signature = (memory_format=None))]
    fn contiguous<'py>(
        this: &Bound<'py, Self>,
        memory_format: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let (op, tensor) = ("contiguous", this.get().tensor());
        if is_arranged(op, &tensor, memory_format)? {
            return Ok(this.clone());
        }
        let arranged = arrange(op, tensor.clone(), memory_format)?;
        match is_arranged(op, &arranged, memory_format)? {
            true => Bound::new(this.py(), Self::from(arranged)),
            false => Bound::new(this.py(), wrap(tensor.contiguous())?),
        }
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        index::get(self, key)
    }

    /// Its rows, one after the other.
    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        let py = this.py();
        let Some(rows) = this.get().tensor().shape().first().copied() else {
            return Err(PyTypeError::new_err(
                "iter: a tensor of 0 dimensions has no rows (hint: x.item())",
            ));
        };
        let row = this.getattr(intern!(py, "__getitem__"))?;
        let places = PyRange::new(py, 0, rows as isize)?;
        let map = PyModule::import(py, intern!(py, "builtins"))?.getattr(intern!(py, "map"))?;
        map.call1((row, places))?.try_iter()
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor().shape().first() {
            Some(size) => Ok(*size),
            None => Err(PyTypeError::new_err(
                "len: a tensor of 0 dimensions has no length",
            )),
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        let tensor = self.tensor();
        // A fault of the device is raised: text has no way to.
        if tensor.device() != Device::cpu() {
            tensor.device().synchronize().map_err(raise)?;
        }
        let mut text = tensor.to_string();
        let history = match tensor.made_by() {
            Some(op) => format!(", grad_fn=<{op}>)"),
            None if tensor.requires_grad() => ", requires_grad=True)".to_owned(),
            None => return Ok(text),
        };
        text.pop();
        Ok(text + &history)
    }

    /// A tensor without dimensions as its number; one with a single element too, where a format is
    /// given.
    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor().rank() > 0 && spec.is_empty() {
            return Ok(self.__repr__()?.into_pyobject(py)?.into_any());
        }
        let number = self.number(py, "format")?;
        number.call_method1(intern!(py, "__format__"), (spec,))
    }

    /// A copy with elements of its own: a leaf of a leaf, with a copy of its gradient and attributes. What
    /// is copied together and shares memory shares the memory of the copies.
    fn __deepcopy__<'py>(
        this: &Bound<'py, Self>,
        memo: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let known = memo.get_item(this.as_ptr().addr())?;
        if let Some(known) = known {
            return Ok(known);
        }
        let tensor = this.get().tensor();
        if !tensor.is_leaf() {
            return Err(PyRuntimeError::new_err(
                "deepcopy: a computed tensor has a history that cannot be copied; leaves are accepted \
                 (hint: x.detach().clone() or x.clone())",
            ));
        }
        let plain = match this.get().variable.shared_place() {
            Some(place) => this.get().copied_with_others(py, memo, place)?,
            None => Self::from(detach(py, || tensor.detach().copied()).map_err(raise)?),
        };
        let class = this.get_type();
        let copy = if class.is(py.get_type::<Self>()) {
            Bound::new(py, plain)?.into_any()
        } else {
            class.call_method1(intern!(py, "_from_tensor"), (plain,))?
        };
        memo.set_item(this.as_ptr().addr(), &copy)?;
        let object = copy.cast::<Self>()?;
        if tensor.requires_grad() {
            object.get().variable.requires_grad_(true).map_err(raise)?;
        }
        if let Some(gradient) = this.get().gradient(py)? {
            let gradient = gradient.get().tensor();
            let gradient = Bound::new(py, wrap(gradient.detach().copied())?)?;
            object.get().set_gradient(Some(&gradient))?;
        }
        let attributes = this
            .getattr(intern!(py, "__dict__"))?
            .cast_into::<PyDict>()?;
        if !attributes.is_empty() {
            let deepcopy =
                PyModule::import(py, intern!(py, "copy"))?.getattr(intern!(py, "deepcopy"))?;
            let copied = deepcopy.call1((attributes, memo))?.cast_into::<PyDict>()?;
            copy.getattr(intern!(py, "__dict__"))?
                .call_method1(intern!(py, "update"), (copied,))?;
        }
        Ok(copy)
    }

    /// An object of a class over the memory of a tensor: what subclasses are made with.
    #[classmethod]
    fn _from_tensor<'py>(
        class: &Bound<'py, PyType>,
        tensor: &Bound<'py, Self>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.call_method1(intern!(class.py(), "__new__"), (class, tensor))
    }

    fn __copy__(&self) -> PyResult<Self> {
        self.alias()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let value = self.tensor().detach();
        let here = value
            .to_device(Device::cpu())
            .and_then(|here| here.contiguous());
        let here = here.map_err(raise)?;
        let bytes = objects::bytes(py, here.contiguous_bytes().unwrap_or_default())?;
        let rebuild = PyModule::import(py, intern!(py, "allotrope"))?
            .getattr(intern!(py, "Tensor"))?
            .getattr(intern!(py, "_from_bytes"))?;
        let requires_grad = self.tensor().requires_grad();
        // A bit-free tensor takes its width along.
        let (shape, dtype) = (self.shape(py)?, wrap_dtype(py, here.dtype())?);
        let device = value.device();
        let is_bit_free = value.numeric().is_family();
        // What every tensor was pickled as stays what most are.
        let arguments = if device == Device::cpu() && !is_bit_free {
            (bytes, shape, dtype, requires_grad).into_pyobject(py)?
        } else {
            let device = device.to_string();
            (bytes, shape, dtype, requires_grad, device, is_bit_free).into_pyobject(py)?
        };
        PyTuple::new(py, [rebuild, arguments.into_any()])
    }

    /// What pickle calls.
    #[staticmethod]
    #[pyo3(signature = (bytes, sizes, dtype, requires_grad=false, device=None, is_bit_free=false))]
    fn _from_bytes(
        bytes: &[u8],
        sizes: Vec<usize>,
        dtype: &Bound<'_, PyAny>,
        requires_grad: bool,
        device: Option<&str>,
        is_bit_free: bool,
    ) -> PyResult<Self> {
        let op = "unpickle";
        let dtype = convert::to_dtype(op, dtype)?;
        let options = Options {
            dtype,
            device: device_or_cpu(op, device)?,
            width: is_bit_free.then_some(dtype),
        };
        let made = Tensor::from_bytes(bytes, &sizes, options.dtype);
        as_leaf(Ok(create::placed(op, made, options)?.into()), requires_grad)
    }
}

/// The tensor itself if the object is one.
pub(crate) fn as_tensor(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    object
        .cast::<PyTensor>()
        .ok()
        .map(|tensor| tensor.get().tensor())
}
