//! `memoryview` of a tensor.
//!
//! The stable ABI of Python 3.10 has no buffer protocol. Python 3.12 has one for methods, so that
//! `__buffer__` serves it from there on; ctypes makes a memoryview of an address.

use allotrope_dtype::{DType, Kind, NumpySource};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyModule, PyTuple};

use crate::error::refused_export;
use crate::tensor::PyTensor;

const OP: &str = "memoryview";
/// `PyBUF_WRITABLE`.
const WRITABLE: i32 = 1;

/// Tells Python of `__buffer__`, which it only looks for when the attribute is set. Without the
/// protocol there is no such method.
pub(crate) fn offer_buffer(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<PyTensor>();
    let name = intern!(py, "__buffer__");
    if py.version_info() < (3, 12) {
        class.delattr(name)
    } else {
        class.setattr(name, class.getattr(name)?)
    }
}

/// A read-only memoryview of the elements, which keeps the tensor alive.
pub(crate) fn view<'py>(this: &Bound<'py, PyTensor>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
    let py = this.py();
    if flags & WRITABLE != 0 {
        let accepted = "a read-only view is accepted (hint: x.numpy().copy())";
        return Err(refused_export(
            OP,
            "not writable",
            "a tensor is a value",
            accepted,
        ));
    }
    // The value of now, whatever value the tensor is given later.
    let tensor = this.get().tensor();
    let shape = PyTuple::new(py, tensor.shape().iter())?;
    let Some(format) = format_letter(tensor.dtype()) else {
        let accepted = "bool, integers and float16 to float64 are accepted (hint: x.numpy())";
        return Err(refused_export(
            OP,
            "wrong dtype",
            tensor.dtype().name(),
            accepted,
        ));
    };
    if !tensor.is_contiguous() {
        let given = format!("strides {:?}", tensor.layout().strides());
        let accepted = "row-major order is accepted (hint: x.contiguous())";
        return Err(refused_export(OP, "not contiguous", &given, accepted));
    }
    if tensor.count() == 0 {
        let given = tensor.shape().to_string();
        let accepted = "at least one is accepted (hint: x.numpy())";
        return Err(refused_export(OP, "no elements", &given, accepted));
    }
    let bytes = tensor.count() * tensor.dtype().itemsize();
    let ctypes = PyModule::import(py, intern!(py, "ctypes"))?;
    let class = ctypes.getattr(intern!(py, "c_ubyte"))?.mul(bytes)?;
    let memory = class.call_method1(intern!(py, "from_address"), (tensor.address(),))?;
    memory.setattr(intern!(py, "tensor"), Py::new(py, PyTensor::from(tensor))?)?;
    let cast = intern!(py, "cast");
    PyMemoryView::from(&memory)?
        .call_method1(cast, ("B",))?
        .call_method0(intern!(py, "toreadonly"))?
        .call_method1(cast, (format, shape))
}

/// The letter of a dtype in Python's struct module, if memoryview knows it.
fn format_letter(dtype: DType) -> Option<&'static str> {
    let letters = match (dtype.kind(), dtype.descriptor().numpy) {
        (Kind::Complex, _) | (_, NumpySource::MlDtypes) => return None,
        (Kind::Bool, _) => ["?", "", "", ""],
        (Kind::Signed, _) => ["b", "h", "i", "q"],
        (Kind::Unsigned, _) => ["B", "H", "I", "Q"],
        (Kind::Float, _) => ["", "e", "f", "d"],
    };
    letters.get(dtype.itemsize().ilog2() as usize).copied()
}
