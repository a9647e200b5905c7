//! `memoryview` of a tensor: what is handed out, and what is refused.
//!
//! `buffer` tells Python of it. The stable ABI of 3.10 cannot make a memoryview of an address, so
//! that ctypes does it.

use std::ffi::{CStr, c_long};

use allotrope_dtype::{DType, Kind, NumpySource};
use allotrope_tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyModule, PyTuple};

use crate::error::refused_export;
use crate::tensor::PyTensor;

const OP: &str = "memoryview";
/// `PyBUF_WRITABLE`.
const WRITABLE: i32 = 0x1;
/// What `PyBUF_F_CONTIGUOUS` asks for beyond strides.
const COLUMN_MAJOR: i32 = 0x40;

/// The value that a consumer may read, and its letter in Python's struct module.
pub(crate) fn accept(this: &PyTensor, flags: i32) -> PyResult<(Tensor, &'static CStr)> {
    let refused = |what, given: &str, accepted| Err(refused_export(OP, what, given, accepted));
    if flags & WRITABLE != 0 {
        let accepted = "a read-only view is accepted (hint: x.numpy().copy())";
        return refused("not writable", "a tensor is a value", accepted);
    }
    this.check_plain(OP)?;
    this.check_on_cpu(OP)?;
    // The value of now, whatever value the tensor is given later.
    let tensor = this.tensor();
    let Some(format) = format_letter(tensor.dtype()) else {
        let accepted = "bool, integers and float16 to float64 are accepted (hint: x.numpy())";
        return refused("wrong dtype", tensor.dtype().name(), accepted);
    };
    if !tensor.is_contiguous() {
        let given = format!("strides {:?}", tensor.layout().strides());
        let accepted = "row-major order is accepted (hint: x.contiguous())";
        return refused("not contiguous", &given, accepted);
    }
    if tensor.count() == 0 {
        let given = tensor.shape().to_string();
        let accepted = "at least one is accepted (hint: x.numpy())";
        return refused("no elements", &given, accepted);
    }
    let has_order = tensor.shape().iter().filter(|size| **size > 1).count() > 1;
    if flags & COLUMN_MAJOR != 0 && has_order {
        let given = tensor.shape().to_string();
        let accepted = "row-major order is accepted (hint: x.numpy())";
        return refused("not column-major", &given, accepted);
    }
    Ok((tensor, format))
}

/// A read-only memoryview of the elements, which keeps the value alive.
pub(crate) fn view<'py>(this: &Bound<'py, PyTensor>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
    let py = this.py();
    let (tensor, format) = accept(this.get(), flags)?;
    let shape = PyTuple::new(py, tensor.shape().iter())?;
    let bytes = tensor.byte_count();
    let ctypes = PyModule::import(py, intern!(py, "ctypes"))?;
    let class = ctypes.getattr(intern!(py, "c_ubyte"))?.mul(bytes)?;
    let memory = class.call_method1(intern!(py, "from_address"), (tensor.address(),))?;
    memory.setattr(intern!(py, "tensor"), Py::new(py, PyTensor::from(tensor))?)?;
    let cast = intern!(py, "cast");
    PyMemoryView::from(&memory)?
        .call_method1(cast, ("B",))?
        .call_method0(intern!(py, "toreadonly"))?
        .call_method1(cast, (format.to_string_lossy(), shape))
}

/// The letter of a dtype in Python's struct module, if memoryview knows it. Of C's types of one
/// width it is `long`, if that is one of them, as in NumPy: its `int64` is `l` or else `q`.
fn format_letter(dtype: DType) -> Option<&'static CStr> {
    let is_long = dtype.itemsize() == size_of::<c_long>();
    let letters = match (dtype.kind(), dtype.descriptor().numpy) {
        (Kind::Complex, _) | (_, NumpySource::MlDtypes) => return None,
        (Kind::Signed, _) if is_long => return Some(c"l"),
        (Kind::Unsigned, _) if is_long => return Some(c"L"),
        (Kind::Bool, _) => [c"?", c"", c"", c""],
        (Kind::Signed, _) => [c"b", c"h", c"i", c"q"],
        (Kind::Unsigned, _) => [c"B", c"H", c"I", c"Q"],
        (Kind::Float, _) => [c"", c"e", c"f", c"d"],
    };
    letters.get(dtype.itemsize().ilog2() as usize).copied()
}
