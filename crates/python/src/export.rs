//! A tensor as other libraries see it: NumPy, DLPack, buffers and bytes.

use crate::objects;
use allotrope_dtype::{DType, Kind, NumpySource};
use allotrope_tensor::Device;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyCapsule, PyDict, PyModule, PyTuple};

use crate::dtype::wrap as wrap_dtype;
use crate::error::{missing_package, raise};
use crate::tensor::PyTensor;
use crate::{dlpack, memory};

#[pymethods]
impl PyTensor {
    /// A read-only NumPy array of the same memory, on the CPU; force=True leaves a history behind and
    /// brings the elements of another device.
    ///
    /// >>> al.tensor([1.0, 2.0]).numpy()
    /// array([1., 2.], dtype=float32)
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(this: &Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        if !force {
            this.get().check_plain("numpy")?;
            this.get().check_on_cpu("numpy")?;
        }
        let value = this.get().tensor();
        if value.device() != Device::cpu() {
            let here = value
                .detach()
                .to_backend(Device::cpu().backend())
                .map_err(raise)?;
            return Self::numpy(&Bound::new(py, Self::from(here))?, force);
        }
        let numpy = PyModule::import(py, intern!(py, "numpy"))
            .map_err(|_| missing_package("numpy", "numpy", "an array"))?;
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
        let value = self.tensor();
        if value.device() == Device::cpu() {
            return dlpack::export(py, &value, &request);
        }
        // A copy on the CPU is what others can read, if they ask for it.
        if request.device != Some(dlpack::CPU) || request.copy == Some(false) {
            self.check_on_cpu("dlpack")?;
        }
        let here = value.to_backend(Device::cpu().backend()).map_err(raise)?;
        dlpack::export(py, &here, &request)
    }

    /// The device in DLPack's numbers: its type and index.
    fn __dlpack_device__(&self) -> dlpack::DeviceCode {
        match self.tensor().device() {
            device if device == Device::cpu() => dlpack::CPU,
            device => (dlpack::EXTENSION, device.index().cast_signed()),
        }
    }

    /// A read-only memoryview of the elements, which is what `memoryview(x)` is.
    fn __buffer__<'py>(this: &Bound<'py, Self>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
        memory::view(this, flags)
    }

    /// The bytes of the elements in row-major order. Without this method Python takes a single integer
    /// for a number of bytes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.check_plain("bytes")?;
        let here = self.tensor().to_backend(Device::cpu().backend());
        let value = here.and_then(|here| here.contiguous()).map_err(raise)?;
        objects::bytes(py, value.contiguous_bytes().unwrap_or_default())
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
}

/// A tensor as NumPy's array interface sees it: the address and strides of its elements.
struct Carrier<'py>(Bound<'py, PyTensor>);

impl<'py> Carrier<'py> {
    /// An object with the interface, which keeps the memory alive: the value of now, whatever value
    /// the tensor is given later.
    fn expose(self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let tensor = self.0.get().tensor().for_readers();
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
