//! The class `Tensor`.

use allotrope_dtype::{
    Capabilities, CastOptions, DType, NumpySource, Overflow, Rounding, Scalar, WeakScalar,
    default_dtype,
};
use allotrope_tensor::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyModule, PyTuple};

use crate::convert::{self, Numeric};
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
    pub(crate) tensor: Tensor,
}

impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        Self { tensor }
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
        PyTuple::new(py, self.tensor.shape().iter())
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap_dtype(py, self.tensor.dtype())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// The device that holds the elements.
    #[getter]
    #[allow(clippy::unused_self, reason = "a Python attribute")]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// The dimensions in reverse.
    #[getter(T)]
    fn turned(&self) -> PyResult<Self> {
        let axes: Vec<isize> = (0..self.tensor.rank() as isize).rev().collect();
        wrap(self.tensor.permute(&axes))
    }

    /// The last two dimensions exchanged.
    #[getter(mT)]
    fn matrix_turned(&self) -> PyResult<Self> {
        wrap(self.tensor.transpose(-2, -1))
    }

    /// The number of elements.
    fn numel(&self) -> usize {
        self.tensor.count()
    }

    /// The distance between neighbours in each dimension, in elements.
    fn stride<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.layout().strides())
    }

    /// Whether the elements lie in row-major order without gaps.
    fn is_contiguous(&self) -> bool {
        self.tensor.is_contiguous()
    }

    /// The same elements in row-major order: the tensor itself if they already are.
    fn contiguous(&self) -> PyResult<Self> {
        wrap(self.tensor.contiguous())
    }

    /// The same elements in the same order with other sizes; one may be -1.
    ///
    /// >>> al.arange(6).reshape(2, -1).shape
    /// (2, 3)
    #[pyo3(signature = (*sizes))]
    fn reshape(&self, sizes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        wrap(
            self.tensor
                .reshape(&index::spread::<isize>("reshape", sizes)?),
        )
    }

    /// The dimensions from start_dim to end_dim as one.
    #[pyo3(signature = (start_dim=0, end_dim=-1))]
    fn flatten(&self, start_dim: isize, end_dim: isize) -> PyResult<Self> {
        wrap(self.tensor.flatten(start_dim, end_dim))
    }

    /// Two dimensions exchanged.
    fn transpose(&self, dim0: isize, dim1: isize) -> PyResult<Self> {
        wrap(self.tensor.transpose(dim0, dim1))
    }

    /// The dimensions in another order.
    #[pyo3(signature = (*dims))]
    fn permute(&self, dims: &Bound<'_, PyTuple>) -> PyResult<Self> {
        wrap(
            self.tensor
                .permute(&index::spread::<isize>("permute", dims)?),
        )
    }

    /// Repeated along dimensions of size one and new leading ones, without a copy; -1 keeps a size.
    #[pyo3(signature = (*sizes))]
    fn expand(&self, sizes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let sizes = index::spread::<isize>("expand", sizes)?;
        let missing = sizes.len().saturating_sub(self.tensor.rank());
        let kept = |dim: usize| {
            dim.checked_sub(missing)
                .and_then(|d| self.tensor.shape().get(d))
        };
        let sizes = sizes
            .iter()
            .enumerate()
            .map(|(dim, size)| match (size, kept(dim)) {
                (-1, Some(size)) => Ok(*size),
                (size, _) => {
                    usize::try_from(*size).map_err(|_| index::negative_size("expand", *size))
                }
            });
        wrap(
            self.tensor
                .expand(&sizes.collect::<PyResult<Vec<usize>>>()?),
        )
    }

    /// Without the dimensions of size one: all of them, or those named.
    #[pyo3(signature = (dim=None))]
    fn squeeze(&self, dim: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let axes = dim.map(|dim| match dim.extract::<isize>() {
            Ok(axis) => Ok(vec![axis]),
            Err(_) => dim.extract::<Vec<isize>>(),
        });
        wrap(self.tensor.squeeze(axes.transpose()?.as_deref()))
    }

    /// A new dimension of size one before dim.
    fn unsqueeze(&self, dim: isize) -> PyResult<Self> {
        wrap(self.tensor.unsqueeze(dim))
    }

    /// One index of a dimension, which disappears.
    fn select(&self, dim: isize, index: isize) -> PyResult<Self> {
        wrap(self.tensor.select(dim, index))
    }

    /// The dimensions with their elements in reverse.
    #[pyo3(signature = (*dims))]
    fn flip(&self, dims: &Bound<'_, PyTuple>) -> PyResult<Self> {
        wrap(self.tensor.flip(&index::spread::<isize>("flip", dims)?))
    }

    /// Windows of size elements every step along a dimension, as a new last dimension.
    fn unfold(&self, dimension: isize, size: usize, step: usize) -> PyResult<Self> {
        wrap(self.tensor.unfold(dimension, size, step))
    }

    /// The same bits as another dtype, or the same elements with other sizes.
    ///
    /// >>> al.tensor([1.0, 2.0]).view(al.int32)
    /// tensor([1065353216, 1073741824], dtype=int32)
    #[pyo3(signature = (*sizes_or_dtype))]
    fn view(&self, sizes_or_dtype: &Bound<'_, PyTuple>) -> PyResult<Self> {
        match index::spread::<isize>("view", sizes_or_dtype) {
            Ok(sizes) => wrap(self.tensor.reshape(&sizes)),
            Err(_) => {
                let dtype = sizes_or_dtype.get_item(0)?;
                wrap(self.tensor.view_dtype(convert::to_dtype("view", &dtype)?))
            }
        }
    }

    /// The values in another dtype or family, rounded once.
    ///
    /// rounding is "nearest", "zero" or "stochastic" (with a seed); overflow is "saturate", "wrap",
    /// "raise", "ieee" or None for the default of the pair.
    ///
    /// >>> al.tensor([2.9, 300.0]).to(al.uint8)
    /// tensor([  2, 255], dtype=uint8)
    #[pyo3(signature = (dtype, rounding="nearest", overflow=None, copy=false, seed=0))]
    fn to(
        &self,
        py: Python<'_>,
        dtype: &Bound<'_, PyAny>,
        rounding: &str,
        overflow: Option<&str>,
        copy: bool,
        seed: u64,
    ) -> PyResult<Self> {
        let from = self.tensor.dtype();
        let to = match convert::to_numeric("to", dtype)? {
            Numeric::Exact(dtype) => dtype,
            Numeric::Family(family) => {
                family.resolve(Some(from), default_dtype(), &Capabilities::CPU)
            }
        };
        let overflow = overflow.map(str::parse::<Overflow>).transpose();
        let options = CastOptions {
            rounding: Rounding::parse(rounding, seed).map_err(raise)?,
            overflow: overflow.map_err(raise)?,
        };
        let tensor = &self.tensor;
        wrap(py.detach(|| match tensor.to_with(to, options) {
            Ok(same) if copy && same.shares_storage_with(tensor) => same.copied(),
            result => result,
        }))
    }

    /// The values in another dtype; NumPy's name for `to`.
    #[pyo3(signature = (dtype, copy=true))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<Self> {
        self.to(py, dtype, "nearest", None, copy, 0)
    }

    /// The value of a tensor with one element, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.tensor.item().map_err(raise)?)
    }

    /// The values as nested lists of Python numbers.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor.rank() == 0 {
            return self.item(py);
        }
        let list = PyList::empty(py);
        for i in 0..self.tensor.shape()[0] {
            let row = self.tensor.select(0, i as isize).map_err(raise)?;
            list.append(Self::from(row).tolist(py)?)?;
        }
        Ok(list.into_any())
    }

    /// A read-only NumPy array of the same memory.
    fn numpy<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let numpy = PyModule::import(py, intern!(py, "numpy"))?;
        let array =
            numpy.call_method1(intern!(py, "asarray"), (Carrier(this.clone()).expose()?,))?;
        let dtype = wrap_dtype(py, this.get().tensor.dtype())?
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
        dlpack::export(py, &self.tensor, &request)
    }

    /// The device in DLPack's numbers: its type and index.
    #[allow(clippy::unused_self, reason = "a Python method")]
    fn __dlpack_device__(&self) -> dlpack::DeviceCode {
        dlpack::CPU
    }

    /// A read-only memoryview of the elements, which `memoryview(x)` is from Python 3.12 on.
    fn __buffer__<'py>(this: &Bound<'py, Self>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
        memory::view(this, flags)
    }

    /// NumPy's way of asking for an array.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        this: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let array = Self::numpy(this)?;
        let array = match dtype {
            Some(dtype) => array.call_method1(intern!(py, "astype"), (dtype,))?,
            None => array,
        };
        match copy {
            Some(true) => array.call_method0(intern!(py, "copy")),
            _ => Ok(array),
        }
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        index::get(&self.tensor, key).map(Self::from)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.shape().first() {
            Some(size) => Ok(*size),
            None => Err(PyTypeError::new_err(
                "len: a tensor of 0 dimensions has no length",
            )),
        }
    }

    fn __repr__(&self) -> String {
        self.tensor.to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let bytes = PyBytes::new(py, &self.tensor.to_bytes().map_err(raise)?);
        let rebuild = PyModule::import(py, intern!(py, "allotrope"))?
            .getattr(intern!(py, "Tensor"))?
            .getattr(intern!(py, "_from_bytes"))?;
        let arguments = (bytes, self.shape(py)?, self.dtype(py)?);
        PyTuple::new(py, [rebuild, arguments.into_pyobject(py)?.into_any()])
    }

    /// What pickle calls.
    #[staticmethod]
    fn _from_bytes(bytes: &[u8], sizes: Vec<usize>, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = convert::to_dtype("unpickle", dtype)?;
        wrap(Tensor::from_bytes(bytes, &sizes, dtype))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.item(py)?.is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0(intern!(py, "__int__"))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.item(py)?.call_method0(intern!(py, "__float__"))
    }

    /// Only integers are indices, of every width.
    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor.dtype().is_integer() {
            self.item(py)
        } else {
            let dtype = self.tensor.dtype();
            Err(PyTypeError::new_err(format!(
                "index: wrong dtype: {dtype}; integers are accepted"
            )))
        }
    }
}

/// A tensor as NumPy's array interface sees it: the address and strides of its elements.
struct Carrier<'py>(Bound<'py, PyTensor>);

impl<'py> Carrier<'py> {
    /// An object with the interface, which keeps the tensor alive.
    fn expose(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let tensor = &self.0.get().tensor;
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
        keywords.set_item("tensor", self.0)?;
        namespace.call((), Some(&keywords))
    }
}

/// NumPy's letters for a dtype; an unsigned integer of the same width where it has none.
fn type_string(dtype: DType) -> String {
    use allotrope_dtype::Kind;
    let letter = match (dtype.descriptor().numpy, dtype.kind()) {
        (NumpySource::MlDtypes, _) | (_, Kind::Unsigned) => 'u',
        (_, Kind::Bool) => 'b',
        (_, Kind::Signed) => 'i',
        (_, Kind::Float) => 'f',
        (_, Kind::Complex) => 'c',
    };
    format!("<{letter}{}", dtype.itemsize())
}

/// The Python number of a scalar.
fn to_python(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar.value() {
        WeakScalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        WeakScalar::Int(value) => value.into_pyobject(py)?.into_any(),
        WeakScalar::Float(value) => value.into_pyobject(py)?.into_any(),
        WeakScalar::Complex(value) => {
            pyo3::types::PyComplex::from_doubles(py, value.re, value.im).into_any()
        }
    })
}

/// The tensor itself if the object is one.
pub(crate) fn as_tensor(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    object
        .cast::<PyTensor>()
        .ok()
        .map(|tensor| tensor.get().tensor.clone())
}
