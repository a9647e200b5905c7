//! The class `Family`: a kind of number whose width follows the data and the device.

use allotrope_dtype::Family;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyTuple, PyType};

use crate::dtype::{PyDType, base, wrap as wrap_dtype};
use crate::scopes::default_dtype;
use crate::{convert, device};

/// A kind of number without a width, accepted wherever a dtype is.
///
/// `dtype in family` tests membership. A family never equals a dtype.
///
/// >>> al.bfloat16 in al.Float
/// True
/// >>> al.Float.resolve(al.float64)
/// allotrope.float64
#[pyclass(name = "Family", module = "allotrope", frozen)]
pub(crate) struct PyFamily {
    pub(crate) family: Family,
}

static OBJECTS: PyOnceLock<Vec<Py<PyFamily>>> = PyOnceLock::new();

/// Adds every family to the module.
pub(crate) fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let objects = OBJECTS.get_or_try_init(py, || {
        let objects = Family::ALL
            .into_iter()
            .map(|family| Py::new(py, PyFamily { family }));
        objects.collect::<PyResult<_>>()
    })?;
    Family::ALL
        .into_iter()
        .zip(objects)
        .try_for_each(|(family, object)| module.add(family.name(), object))
}

/// The object of a family.
pub(crate) fn wrap(py: Python<'_>, family: Family) -> PyResult<Py<PyFamily>> {
    let place = Family::ALL.into_iter().position(|known| known == family);
    let known = OBJECTS
        .get(py)
        .zip(place)
        .and_then(|(all, place)| all.get(place));
    match known {
        Some(object) => Ok(object.clone_ref(py)),
        None => Py::new(py, PyFamily { family }),
    }
}

#[pymethods]
impl PyFamily {
    /// The name.
    ///
    /// >>> al.UInt.name
    /// 'UInt'
    #[getter]
    fn name(&self) -> &'static str {
        self.family.name()
    }

    /// The kind of its members, in the words of the array API standard.
    ///
    /// >>> al.Float.kind
    /// 'real floating'
    #[getter]
    fn kind(&self) -> &'static str {
        self.family.kind().name()
    }

    /// Python's class of such numbers: int, float or complex.
    ///
    /// >>> al.Float.base_dtype
    /// <class 'float'>
    #[getter]
    fn base_dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        base(py, self.family.kind())
    }

    /// Width of one element in bits: None, since it is left open.
    ///
    /// >>> al.Float.bits, al.float32.bits
    /// (None, 32)
    #[getter]
    fn bits(&self) -> Option<u32> {
        None
    }

    /// Whether the width is left open: always.
    ///
    /// >>> al.Float.is_bit_free, al.float64.is_bit_free
    /// (True, False)
    #[getter]
    fn is_bit_free(&self) -> bool {
        true
    }

    /// The exact dtype for no data on a device, as `resolve`.
    ///
    /// >>> al.Int.on("cpu")
    /// allotrope.int64
    fn on(&self, py: Python<'_>, device: &str) -> PyResult<Py<PyDType>> {
        self.default_on(py, "on", device)
    }

    /// The exact dtype for no data on a device, as `resolve`.
    ///
    /// >>> al.Float.parse("cpu")
    /// allotrope.float32
    fn parse(&self, py: Python<'_>, device: &str) -> PyResult<Py<PyDType>> {
        self.default_on(py, "parse", device)
    }

    /// The exact dtype for no data on the CPU.
    ///
    /// >>> al.Int.cpu, al.Complex.cpu
    /// (allotrope.int64, allotrope.complex64)
    #[getter]
    fn cpu(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        self.on(py, "cpu")
    }

    /// The exact dtype for no data on the GPU; an error on a machine that has none.
    ///
    /// >>> al.Float.gpu  # doctest: +GPU
    /// allotrope.float32
    #[getter]
    fn gpu(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        self.on(py, "gpu")
    }

    /// The dtypes of this kind, in table order.
    ///
    /// >>> al.Int.members
    /// (allotrope.int8, allotrope.int16, allotrope.int32, allotrope.int64)
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let members = self.family.members().map(|dtype| wrap_dtype(py, dtype));
        // bounded: dtypes.
        PyTuple::new(py, members.collect::<PyResult<Vec<_>>>()?)
    }

    /// The exact dtype for data of a dtype, or for no data, on a device.
    ///
    /// >>> al.Complex.resolve(al.float64)
    /// allotrope.complex128
    #[pyo3(signature = (data_dtype=None, device="cpu"))]
    fn resolve(
        &self,
        py: Python<'_>,
        data_dtype: Option<crate::arguments::DTypeOf>,
        device: &str,
    ) -> PyResult<Py<PyDType>> {
        let data = data_dtype
            .map(|object| convert::to_dtype_of("resolve", object))
            .transpose()?;
        let device = device::device_named("resolve", device)?;
        let dtype = self
            .family
            .resolve(data, default_dtype(), device.capabilities());
        wrap_dtype(py, dtype)
    }

    fn __contains__(&self, dtype: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.family.contains(convert::to_dtype("in", dtype)?))
    }

    fn __repr__(&self) -> String {
        format!("allotrope.{}", self.family)
    }

    fn __str__(&self) -> &'static str {
        self.name()
    }

    /// The name in this module, which is how pickle and copy find the same object again.
    fn __reduce__(&self) -> &'static str {
        self.name()
    }
}

impl PyFamily {
    fn default_on(&self, py: Python<'_>, op: &'static str, device: &str) -> PyResult<Py<PyDType>> {
        let device = device::device_named(op, device)?;
        let resolved = self
            .family
            .resolve(None, default_dtype(), device.capabilities());
        wrap_dtype(py, resolved)
    }
}
