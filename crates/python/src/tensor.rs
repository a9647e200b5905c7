//! The class `Tensor`.

use std::sync::{PoisonError, RwLock};

use allotrope_dtype::{DType, Error};
use allotrope_op::normalize_axis;
use allotrope_tensor::{Index, Operand, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyIterator, PyModule, PyRange, PyTuple};

use crate::arguments::Int;
use crate::convert;
use crate::create::as_leaf;
use crate::dtype::{PyDType, wrap as wrap_dtype};
use crate::error::raise;
use crate::index;
use crate::memory_format::{arrange, is_arranged};

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
    pub(crate) fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
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

    /// Whether the elements lie in row-major order without gaps, or as memory_format says.
    #[pyo3(signature = (memory_format=None))]
    fn is_contiguous(&self, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        is_arranged("is_contiguous", &self.tensor(), memory_format)
    }

    /// The same elements in row-major order, or as memory_format says: the tensor itself if they
    /// already are.
    #[pyo3(signature = (memory_format=None))]
    fn contiguous(&self, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let tensor = arrange("contiguous", self.tensor(), memory_format)?;
        match is_arranged("contiguous", &tensor, memory_format)? {
            true => wrap(Ok(tensor)),
            false => wrap(tensor.contiguous()),
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
}

/// The tensor itself if the object is one.
pub(crate) fn as_tensor(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    object
        .cast::<PyTensor>()
        .ok()
        .map(|tensor| tensor.get().tensor().clone())
}
