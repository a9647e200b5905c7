//! The class `dtype`: one Python object per row of the table.

use allotrope_dtype::{DType, Kind, NumpySource};
use pyo3::exceptions::PyImportError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyModule, PyString, PyTuple, PyType};

use crate::arguments::Operand;
use crate::device::device_named;
use crate::error::missing_package;
use crate::limits::{PyFloatInfo, PyIntInfo};
use crate::{convert, foreign};

/// The type of a tensor's elements.
///
/// There is one object per dtype, so `is` and `==` agree between dtypes. Calling the class converts:
/// a name or alias, a dtype of NumPy, ml_dtypes, torch, JAX, MLX, TensorFlow or tinygrad and its name
/// there, one of Python's bool, int, float and complex, or None for the default dtype. A dtype equals
/// all of these spellings of itself but None, which is none.
///
/// Its hash is that of its name, so that a dict finds a dtype by the name and the name by a dtype.
/// Aliases, Python's classes and NumPy's dtypes are equal with another hash: convert them first.
///
/// >>> al.dtype("f32") is al.float32
/// True
/// >>> al.float32 == "float32", al.float64 == float, al.int64 == int
/// (True, True, True)
/// >>> al.dtype(numpy.float16), al.dtype("torch.bfloat16"), al.dtype("<dtype: 'int8'>")
/// (allotrope.float16, allotrope.bfloat16, allotrope.int8)
/// >>> {al.float64: "wide"}["float64"], {al.float64: "wide"}[al.dtype(float)]
/// ('wide', 'wide')
#[pyclass(name = "dtype", module = "allotrope", frozen)]
pub(crate) struct PyDType {
    pub(crate) dtype: DType,
}

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The one Python object of a dtype.
pub(crate) fn wrap(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
    let objects = OBJECTS.get_or_try_init(py, || {
        DType::ALL
            .into_iter()
            .map(|dtype| Py::new(py, PyDType { dtype }))
            .collect::<PyResult<_>>()
    })?;
    match objects.get(dtype as usize) {
        Some(object) => Ok(object.clone_ref(py)),
        None => Py::new(py, PyDType { dtype }),
    }
}

/// Adds every name of the table to the module.
pub(crate) fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for dtype in DType::ALL {
        let object = wrap(module.py(), dtype)?;
        module.add(dtype.name(), &object)?;
        for alias in dtype.descriptor().aliases {
            module.add(*alias, &object)?;
        }
    }
    Ok(())
}

/// Every dtype, in table order.
///
/// >>> [d.name for d in al.dtypes() if d.is_complex]
/// ['complex64', 'complex128']
#[pyfunction]
pub(crate) fn dtypes(py: Python<'_>) -> PyResult<Vec<Py<PyDType>>> {
    DType::ALL
        .into_iter()
        .map(|dtype| wrap(py, dtype))
        .collect()
}

#[pymethods]
impl PyDType {
    #[new]
    #[pyo3(signature = (object=None, /))]
    fn new(py: Python<'_>, object: Option<crate::arguments::DTypeLike>) -> PyResult<Py<Self>> {
        let none = py.None();
        let object = object.unwrap_or_else(|| none.bind(py));
        wrap(py, convert::to_dtype("dtype", object)?)
    }

    /// The canonical name, as in torch and ml_dtypes.
    ///
    /// >>> al.half.name
    /// 'float16'
    #[getter]
    fn name(&self) -> &'static str {
        self.dtype.name()
    }

    /// The other names of this dtype.
    ///
    /// >>> al.float32.aliases
    /// ('f32', 'float', 'Float32')
    #[getter]
    fn aliases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.dtype.descriptor().aliases)
    }

    /// Width of one element in bits.
    ///
    /// >>> al.bfloat16.bits
    /// 16
    #[getter]
    fn bits(&self) -> u32 {
        self.dtype.bits()
    }

    /// Python's class of such numbers: bool, int, float or complex.
    ///
    /// >>> al.uint8.base_dtype, al.bfloat16.base_dtype
    /// (<class 'int'>, <class 'float'>)
    #[getter]
    fn base_dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        base(py, self.dtype.kind())
    }

    /// Whether the width is left open, as that of a family is: never.
    ///
    /// >>> al.float64.is_bit_free, al.Float.is_bit_free
    /// (False, True)
    #[getter]
    fn is_bit_free(&self) -> bool {
        false
    }

    /// The dtype that a device stores in place of this one: this one, unless it must demote.
    ///
    /// >>> al.float64.on("cpu")
    /// allotrope.float64
    fn on(&self, py: Python<'_>, device: &str) -> PyResult<Py<Self>> {
        let device = device_named("on", device)?;
        wrap(py, device.capabilities().storage(self.dtype))
    }

    /// The dtype that a device stores in place of this one, as `on`.
    ///
    /// >>> al.int16.parse("cpu")
    /// allotrope.int16
    fn parse(&self, py: Python<'_>, device: &str) -> PyResult<Py<Self>> {
        let device = device_named("parse", device)?;
        wrap(py, device.capabilities().storage(self.dtype))
    }

    /// The dtype that the CPU stores in place of this one: this one.
    ///
    /// >>> al.float64.cpu
    /// allotrope.float64
    #[getter]
    fn cpu(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        self.on(py, "cpu")
    }

    /// The dtype that the GPU stores in place of this one; an error on a machine that has none.
    ///
    /// >>> al.float16.gpu  # doctest: +GPU
    /// allotrope.float16
    #[getter]
    fn gpu(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        self.on(py, "gpu")
    }

    /// Width of one element in bytes.
    ///
    /// >>> al.complex64.itemsize
    /// 8
    #[getter]
    fn itemsize(&self) -> usize {
        self.dtype.itemsize()
    }

    /// The kind of number, in the words of the array API standard.
    ///
    /// >>> al.uint8.kind
    /// 'unsigned integer'
    #[getter]
    fn kind(&self) -> &'static str {
        self.dtype.kind().name()
    }

    /// Whether this is a real floating dtype.
    ///
    /// >>> al.bfloat16.is_floating_point, al.complex64.is_floating_point
    /// (True, False)
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.dtype.is_floating_point()
    }

    /// Whether this is a complex dtype.
    ///
    /// >>> al.complex64.is_complex
    /// True
    #[getter]
    fn is_complex(&self) -> bool {
        self.dtype.is_complex()
    }

    /// Whether negative values exist.
    ///
    /// >>> al.int8.is_signed, al.uint8.is_signed
    /// (True, False)
    #[getter]
    fn is_signed(&self) -> bool {
        self.dtype.is_signed()
    }

    /// Whether this is a signed or unsigned integer dtype.
    ///
    /// >>> al.uint8.is_integer, al.bool.is_integer
    /// (True, False)
    #[getter]
    fn is_integer(&self) -> bool {
        self.dtype.is_integer()
    }

    /// The dtype that arithmetic happens in: float32 for 8- and 16-bit floats.
    ///
    /// >>> al.float8_e4m3fn.compute_dtype, al.int8.compute_dtype
    /// (allotrope.float32, allotrope.int8)
    #[getter]
    fn compute_dtype(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        wrap(py, self.dtype.compute())
    }

    /// The `numpy.dtype` with the same name; float8 and bfloat16 need the package ml_dtypes.
    ///
    /// >>> al.int16.numpy_dtype
    /// dtype('int16')
    #[getter]
    pub(crate) fn numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = self.name();
        let dtype = import(py, "numpy", name)?.getattr(intern!(py, "dtype"))?;
        match self.dtype.descriptor().numpy {
            NumpySource::Native => dtype.call1((name,)),
            NumpySource::MlDtypes => dtype.call1((import(py, "ml_dtypes", name)?.getattr(name)?,)),
        }
    }

    /// DLPack's type code and width in bits.
    ///
    /// >>> al.float32.dlpack_code
    /// (2, 32)
    #[getter]
    fn dlpack_code(&self) -> (u8, u32) {
        (self.dtype.descriptor().dlpack_code, self.dtype.bits())
    }

    /// The name in safetensors files, or None where the format has none.
    ///
    /// >>> al.bfloat16.safetensors_name
    /// 'BF16'
    #[getter]
    fn safetensors_name(&self) -> Option<&'static str> {
        self.dtype.descriptor().safetensors_name
    }

    /// The attribute of `triton.language`, or None.
    ///
    /// >>> al.float8_e4m3fn.triton_name
    /// 'float8e4nv'
    #[getter]
    fn triton_name(&self) -> Option<&'static str> {
        self.dtype.descriptor().triton_name
    }

    /// The scalar type in WGSL, or None where the language has none.
    ///
    /// >>> al.float16.wgsl_name, al.bfloat16.wgsl_name
    /// ('f16', None)
    #[getter]
    fn wgsl_name(&self) -> Option<&'static str> {
        self.dtype.descriptor().wgsl_name
    }

    /// The limits of a floating dtype or of a complex dtype's components.
    ///
    /// >>> al.float16.finfo.max
    /// 65504.0
    #[getter]
    fn finfo(&self) -> PyResult<PyFloatInfo> {
        PyFloatInfo::of(self.dtype)
    }

    /// The limits of an integer dtype.
    ///
    /// >>> al.uint8.iinfo.max
    /// 255
    #[getter]
    fn iinfo(&self) -> PyResult<PyIntInfo> {
        PyIntInfo::of(self.dtype)
    }

    /// The dtype of the real part.
    ///
    /// >>> al.complex64.to_real()
    /// allotrope.float32
    fn to_real(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        wrap(py, self.dtype.to_real())
    }

    /// The smallest complex dtype that holds every value of a float.
    ///
    /// >>> al.float64.to_complex()
    /// allotrope.complex128
    fn to_complex(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        wrap(py, self.dtype.to_complex())
    }

    fn __repr__(&self) -> String {
        format!("allotrope.{}", self.dtype)
    }

    fn __str__(&self) -> &'static str {
        self.name()
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        compare(py, self.is_named(other), false)
    }

    fn __ne__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        compare(py, self.is_named(other), true)
    }

    /// The hash of the name, so that a dict finds a dtype by either.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.name()).hash()
    }

    /// The name in this module, which is how pickle and copy find the same object again.
    fn __reduce__(&self) -> &'static str {
        self.name()
    }
}

impl PyDType {
    /// Whether a dtype, name, class of Python's or NumPy's spelling is this one; None for anything else.
    fn is_named(&self, other: Operand) -> Option<bool> {
        if let Ok(other) = other.cast::<Self>() {
            return Some(other.get().dtype == self.dtype);
        }
        if let Ok(name) = other.cast::<PyString>() {
            let name = name.to_string_lossy();
            let is_alias = || self.dtype.descriptor().aliases.contains(&&*name);
            let is_foreign = || foreign::named(&name) == Some(self.dtype.into());
            return Some(name == self.name() || is_alias() || is_foreign());
        }
        // An error is that of a dtype which has no name here.
        match convert::look_up("dtype", other) {
            Ok(dtype) => dtype.map(|dtype| dtype == self.dtype),
            Err(_) => Some(false),
        }
    }
}

/// The answer of `==` or `!=`, or NotImplemented.
fn compare(py: Python<'_>, equal: Option<bool>, negate: bool) -> Bound<'_, PyAny> {
    match equal {
        Some(equal) => pyo3::types::PyBool::new(py, equal != negate)
            .to_owned()
            .into_any(),
        None => py.NotImplemented().into_bound(py),
    }
}

/// Python's class of numbers of a kind.
pub(crate) fn base(py: Python<'_>, kind: Kind) -> Bound<'_, PyType> {
    match kind {
        Kind::Bool => py.get_type::<PyBool>(),
        Kind::Signed | Kind::Unsigned => py.get_type::<PyInt>(),
        Kind::Float => py.get_type::<PyFloat>(),
        Kind::Complex => py.get_type::<PyComplex>(),
    }
}

/// A package that the NumPy form of a dtype needs.
fn import<'py>(py: Python<'py>, package: &str, dtype: &str) -> PyResult<Bound<'py, PyModule>> {
    PyModule::import(py, package).map_err(|error| {
        if error.is_instance_of::<PyImportError>(py) {
            missing_package("numpy_dtype", package, dtype)
        } else {
            error
        }
    })
}
