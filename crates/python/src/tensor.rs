//! The class `Tensor`.

use std::sync::{PoisonError, RwLock};

use allotrope_dtype::{DType, Error, Kind, NumpySource, Scalar, WeakScalar, c128};
use allotrope_op::normalize_axis;
use allotrope_tensor::{Index, Operand, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    IntoPyDict, PyBool, PyBytes, PyCapsule, PyComplex, PyDict, PyFloat, PyInt, PyIterator, PyList,
    PyModule, PyRange, PyTuple,
};

use crate::arguments::Int;
use crate::convert;
use crate::create::as_leaf;
use crate::dtype::{PyDType, wrap as wrap_dtype};
use crate::error::raise;
use crate::{dlpack, index, memory};

/// Elements of one dtype in any number of dimensions. A tensor is a value: it never changes, and
/// a view shares its memory.
///
/// >>> al.tensor([[1, 2], [3, 4]])[:, 1]
/// tensor([2, 4])
#[pyclass(name = "Tensor", module = "allotrope", frozen)]
pub(crate) struct PyTensor {
    /// The value now; an in-place spelling gives the object another one.
    value: RwLock<Value>,
}

/// Whose value it is that an object has.
enum Value {
    Own(Tensor),
    /// The gradient of a tensor: a change in place changes what the tensor has added up.
    Gradient(Box<Gradient>),
    /// The elements of another object: a change in place is a change of that object's value.
    Data(Py<PyTensor>),
}

struct Gradient {
    of: Tensor,
    value: Tensor,
}

/// A change of a value where it is.
type Change<'a> = &'a mut dyn FnMut(&mut Tensor) -> Result<(), Error>;

impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        let value = RwLock::new(Value::Own(tensor));
        Self { value }
    }
}

impl PyTensor {
    /// The value now.
    pub(crate) fn tensor(&self) -> Tensor {
        // A panic elsewhere cannot leave a value half changed.
        match &*self.value.read().unwrap_or_else(PoisonError::into_inner) {
            Value::Own(tensor) => tensor.clone(),
            Value::Gradient(gradient) => gradient.value.clone(),
            Value::Data(of) => of.get().tensor().detach(),
        }
    }

    /// The gradient of a tensor; a change of it in place is a change of the tensor's gradient.
    pub(crate) fn gradient(of: Tensor, value: Tensor) -> Self {
        let gradient = Box::new(Gradient { of, value });
        let value = RwLock::new(Value::Gradient(gradient));
        Self { value }
    }

    /// The elements of an object without its history; a change of them in place is a change of the
    /// object's value that is not recorded.
    pub(crate) fn data_of(object: Py<Self>) -> Self {
        let value = RwLock::new(Value::Data(object));
        Self { value }
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

    /// The value of the only element, for an operation.
    fn number<'py>(&self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let item = self.tensor().item();
        to_python(py, item.map_err(|error| raise(error.in_op(op)))?)
    }

    /// Gives the object another value.
    pub(crate) fn replace(&self, op: &'static str, tensor: Tensor) -> PyResult<()> {
        self.change(op, &mut |value| {
            *value = tensor.clone();
            Ok(())
        })
    }

    /// Gives the object the result of an operation on it, which keeps its shape. Truth values are
    /// numbers of its dtype.
    pub(crate) fn update(&self, op: &str, result: Tensor) -> PyResult<()> {
        let (shape, dtype) = {
            let own = self.tensor();
            (own.shape().clone(), own.dtype())
        };
        if result.shape() != &shape {
            return Err(PyValueError::new_err(format!(
                "{op}: the result has another shape: {}; in place it is {shape}",
                result.shape()
            )));
        }
        let result = match result.dtype() {
            DType::Bool => result.to(dtype).map_err(raise)?,
            _ => result,
        };
        self.replace("in place", result)
    }

    /// Gives the object another value, whatever history it had.
    pub(crate) fn overwrite(&self, tensor: Tensor) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = Value::Own(tensor);
    }

    /// Changes the value; nobody else reads or changes it meanwhile.
    fn change(&self, op: &'static str, change: Change<'_>) -> PyResult<()> {
        self.change_as(Some(op), change)
    }

    /// Gives the elements that a key means other values.
    pub(crate) fn assign(
        &self,
        op: &'static str,
        key: &[Index],
        value: Operand<'_>,
    ) -> PyResult<()> {
        self.change(op, &mut |tensor| tensor.assign(key, value))
    }

    /// Gives the object other elements without recording it; the history stays what it is.
    pub(crate) fn set_elements(&self, elements: &Tensor) -> PyResult<()> {
        self.change_as(None, &mut |tensor| {
            *tensor = elements.clone();
            Ok(())
        })
    }

    /// A change by an operation, or without one a change that is not recorded.
    fn change_as(&self, op: Option<&'static str>, change: Change<'_>) -> PyResult<()> {
        let mut value = self.value.write().unwrap_or_else(PoisonError::into_inner);
        let tensor = match &mut *value {
            Value::Own(tensor) => tensor,
            Value::Gradient(gradient) => &mut gradient.value,
            Value::Data(of) => return of.get().change_as(None, change),
        };
        match op {
            Some(op) => tensor.update(op, change),
            None => tensor.update_data(change),
        }
        .map_err(raise)?;
        match &*value {
            Value::Gradient(gradient) => {
                let value = gradient.value.clone();
                gradient.of.set_grad(Some(value)).map_err(raise)
            }
            _ => Ok(()),
        }
    }
}

/// A tensor, or the Python exception of its error.
pub(crate) fn wrap(result: Result<Tensor, allotrope_dtype::Error>) -> PyResult<PyTensor> {
    result.map(PyTensor::from).map_err(raise)
}

#[pymethods]
impl PyTensor {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor().shape().iter())
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap_dtype(py, self.tensor().dtype())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor().rank()
    }

    /// The device that holds the elements.
    #[getter]
    #[allow(clippy::unused_self, reason = "a Python attribute")]
    fn device(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        static CPU: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let cpu = CPU.get_or_try_init(py, || {
            let class = PyModule::import(py, "allotrope")?.getattr("device")?;
            class.call1(("cpu",)).map(Bound::unbind)
        })?;
        Ok(cpu.clone_ref(py))
    }

    /// The dimensions in reverse.
    #[getter(T)]
    fn turned(&self) -> PyResult<Self> {
        let axes: Vec<isize> = (0..self.tensor().rank() as isize).rev().collect();
        wrap(self.tensor().permute(&axes))
    }

    /// The last two dimensions exchanged.
    #[getter(mT)]
    fn matrix_turned(&self) -> PyResult<Self> {
        wrap(self.tensor().transpose(-2, -1))
    }

    /// The number of elements.
    fn numel(&self) -> usize {
        self.tensor().count()
    }

    /// The distance between neighbours in each dimension, in elements, or that in one.
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

    /// Whether the elements lie in row-major order without gaps.
    fn is_contiguous(&self) -> bool {
        self.tensor().is_contiguous()
    }

    /// The same elements in row-major order: the tensor itself if they already are.
    fn contiguous(&self) -> PyResult<Self> {
        wrap(self.tensor().contiguous())
    }

    /// The value of a tensor with one element, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.tensor().item().map_err(raise)?)
    }

    /// The values as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor();
        if tensor.rank() == 0 {
            return self.item(py);
        }
        let sizes = tensor.shape();
        // The widest of a kind holds every number of it.
        macro_rules! of_kind {
            ($dtype:ident, $element:ty, $number:expr) => {{
                let wide = tensor.to(DType::$dtype).map_err(raise)?;
                nested(
                    py,
                    &wide.to_vec::<$element>().map_err(raise)?,
                    sizes,
                    &$number,
                )
            }};
        }
        match tensor.dtype().kind() {
            Kind::Bool => of_kind!(U8, u8, |x: &u8| PyBool::new(py, *x != 0)
                .to_owned()
                .into_any()),
            Kind::Signed => of_kind!(I64, i64, |x: &i64| PyInt::new(py, *x).into_any()),
            Kind::Unsigned => of_kind!(U64, u64, |x: &u64| PyInt::new(py, *x).into_any()),
            Kind::Float => of_kind!(F64, f64, |x: &f64| PyFloat::new(py, *x).into_any()),
            Kind::Complex => of_kind!(C128, c128, |x: &c128| {
                PyComplex::from_doubles(py, x.re, x.im).into_any()
            }),
        }
    }

    /// A read-only NumPy array of the same memory; force=True leaves a history behind.
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(this: &Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        if !force {
            this.get().check_plain("numpy")?;
        }
        let numpy = PyModule::import(py, intern!(py, "numpy"))?;
        let array =
            numpy.call_method1(intern!(py, "asarray"), (Carrier(this.clone()).expose()?,))?;
        let dtype = wrap_dtype(py, this.get().tensor().dtype())?
            .get()
            .numpy_dtype(py)?;
        array.call_method1(intern!(py, "view"), (dtype,))
    }

    /// A DLPack capsule for another library: of the same memory, read-only, or of a copy.
    ///
    /// A consumer that knows DLPack 1.0 says so by max_version=(1, 0). Older capsules cannot say
    /// that they are read-only, so that they always hold a copy.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<dlpack::DeviceCode>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let request = dlpack::Request {
            stream,
            max_version,
            device: dl_device,
            copy,
        };
        self.check_plain("dlpack")?;
        dlpack::export(py, &self.tensor(), &request)
    }

    /// The device in DLPack's numbers: its type and index.
    #[allow(clippy::unused_self, reason = "a Python method")]
    fn __dlpack_device__(&self) -> dlpack::DeviceCode {
        dlpack::CPU
    }

    /// A read-only memoryview of the elements, which is what `memoryview(x)` is.
    fn __buffer__<'py>(this: &Bound<'py, Self>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
        memory::view(this, flags)
    }

    /// The bytes of the elements in row-major order. Without this method Python takes a single integer
    /// for a number of bytes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.check_plain("bytes")?;
        let value = self.tensor().contiguous().map_err(raise)?;
        Ok(PyBytes::new(
            py,
            value.contiguous_bytes().unwrap_or_default(),
        ))
    }

    /// NumPy's way of asking for an array.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        this: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let array = Self::numpy(this, false)?;
        let array = match dtype {
            Some(dtype) => {
                let keywords = [(intern!(py, "copy"), false)].into_py_dict(py)?;
                array.call_method(intern!(py, "astype"), (dtype,), Some(&keywords))?
            }
            None => array,
        };
        match copy {
            Some(true) => array.call_method0(intern!(py, "copy")),
            _ => Ok(array),
        }
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        index::get(&self.tensor(), key).map(Self::from)
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

    fn __repr__(&self) -> String {
        let tensor = self.tensor();
        let mut text = tensor.to_string();
        let history = match tensor.made_by() {
            Some(op) => format!(", grad_fn=<{op}>)"),
            None if tensor.requires_grad() => ", requires_grad=True)".to_owned(),
            None => return text,
        };
        text.pop();
        text + &history
    }

    /// A tensor without dimensions as its number; one with a single element too, where a format is
    /// given.
    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor().rank() > 0 && spec.is_empty() {
            return Ok(self.__repr__().into_pyobject(py)?.into_any());
        }
        let number = self.number(py, "format")?;
        number.call_method1(intern!(py, "__format__"), (spec,))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let bytes = PyBytes::new(py, &self.tensor().to_bytes().map_err(raise)?);
        let rebuild = PyModule::import(py, intern!(py, "allotrope"))?
            .getattr(intern!(py, "Tensor"))?
            .getattr(intern!(py, "_from_bytes"))?;
        let requires_grad = self.tensor().requires_grad();
        let arguments = (bytes, self.shape(py)?, self.dtype(py)?, requires_grad);
        PyTuple::new(py, [rebuild, arguments.into_pyobject(py)?.into_any()])
    }

    /// What pickle calls.
    #[staticmethod]
    #[pyo3(signature = (bytes, sizes, dtype, requires_grad=false))]
    fn _from_bytes(
        bytes: &[u8],
        sizes: Vec<usize>,
        dtype: &Bound<'_, PyAny>,
        requires_grad: bool,
    ) -> PyResult<Self> {
        let dtype = convert::to_dtype("unpickle", dtype)?;
        as_leaf(
            wrap(Tensor::from_bytes(bytes, &sizes, dtype)),
            requires_grad,
        )
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let hint = "x.any() or x.all()";
        let item = self.tensor().item();
        let item = item.map_err(|error| raise(error.in_op("bool").hint(hint)))?;
        to_python(py, item)?.is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.number(py, "int")?.call_method0(intern!(py, "__int__"))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number = self.number(py, "float")?;
        number.call_method0(intern!(py, "__float__"))
    }

    /// Only single integers are indices, of every width. Python goes on to ask for a buffer, as in
    /// `bytes(x)`, only if the refusal is a TypeError.
    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor();
        if !tensor.dtype().is_integer() {
            let dtype = tensor.dtype();
            return Err(PyTypeError::new_err(format!(
                "index: wrong dtype: {dtype}; integers are accepted"
            )));
        }
        match tensor.item() {
            Ok(value) => to_python(py, value),
            Err(error) => Err(PyTypeError::new_err(error.to_string())),
        }
    }
}

/// A tensor as NumPy's array interface sees it: the address and strides of its elements.
struct Carrier<'py>(Bound<'py, PyTensor>);

impl<'py> Carrier<'py> {
    /// An object with the interface, which keeps the memory alive: the value of now, whatever value
    /// the tensor is given later.
    fn expose(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let tensor = self.0.get().tensor();
        let size = tensor.dtype().itemsize();
        let interface = PyDict::new(py);
        let strides = tensor.layout().strides().iter().map(|s| s * size as isize);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.0.get().shape(py)?)?;
        interface.set_item("strides", PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
        interface.set_item("data", (tensor.address(), true))?;
        interface.set_item("typestr", type_string(tensor.dtype()))?;
        let namespace = PyModule::import(py, intern!(py, "types"))?.getattr("SimpleNamespace")?;
        let keywords = PyDict::new(py);
        keywords.set_item("__array_interface__", interface)?;
        keywords.set_item("tensor", Py::new(py, PyTensor::from(tensor))?)?;
        namespace.call((), Some(&keywords))
    }
}

/// NumPy's letters for a dtype; an unsigned integer of the same width where it has none.
fn type_string(dtype: DType) -> String {
    let letter = match (dtype.descriptor().numpy, dtype.kind()) {
        (NumpySource::MlDtypes, _) | (_, Kind::Unsigned) => 'u',
        (_, Kind::Bool) => 'b',
        (_, Kind::Signed) => 'i',
        (_, Kind::Float) => 'f',
        (_, Kind::Complex) => 'c',
    };
    format!("<{letter}{}", dtype.itemsize())
}

/// Elements in row-major order as lists within lists.
fn nested<'py, T>(
    py: Python<'py>,
    elements: &[T],
    sizes: &[usize],
    number: &impl Fn(&T) -> Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = match sizes {
        [] | [_] => PyList::new(py, elements.iter().map(number))?,
        [size, inner @ ..] => {
            let row = elements.len().checked_div(*size).unwrap_or(0);
            let rows = (0..*size).map(|i| nested(py, &elements[i * row..][..row], inner, number));
            PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?
        }
    };
    Ok(list.into_any())
}

/// The Python number of a scalar.
fn to_python(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar.value() {
        WeakScalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        WeakScalar::Int(value) => value.into_pyobject(py)?.into_any(),
        WeakScalar::Float(value) => value.into_pyobject(py)?.into_any(),
        WeakScalar::Complex(value) => PyComplex::from_doubles(py, value.re, value.im).into_any(),
    })
}

/// The tensor itself if the object is one.
pub(crate) fn as_tensor(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    object
        .cast::<PyTensor>()
        .ok()
        .map(|tensor| tensor.get().tensor().clone())
}
