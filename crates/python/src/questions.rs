//! What a dtype is, asked of a dtype, of its name, or of a tensor.

use allotrope_dtype::{DType, Set};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use crate::arguments::{DTypeOrFamily, Operand};
use crate::convert;
use crate::create::as_list;
use crate::dtype::{PyDType, wrap};
use crate::error::nested_too_deeply;
use crate::infer::{DEEPEST, infer};
use crate::tensor::PyTensor;

/// The dtype that an object is, names or has; that of numbers and lists as a tensor of them.
fn asked(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let is_data = convert::scalar_kind(object).is_some() || as_list(object)?.is_some();
    match is_data && convert::dtype_attribute(op, object)?.is_none() {
        true => infer(op, object, None),
        false => convert::to_dtype_of(op, object),
    }
}

/// The tuples of dtypes that are named after their kind.
const LISTS: [(&str, Set); 8] = [
    ("all_dtypes", Set::Element),
    ("floating_dtypes", Set::Float),
    ("integer_dtypes", Set::Integer),
    ("signed_integer_dtypes", Set::Signed),
    ("unsigned_integer_dtypes", Set::Unsigned),
    ("complex_dtypes", Set::Complex),
    ("real_dtypes", Set::Real),
    ("bool_dtypes", Set::Bool),
];

/// The dtype that an object is, names or has; None gives the default dtype.
///
/// >>> al.get_dtype("half"), al.get_dtype(None), al.get_dtype(al.zeros(1, dtype=al.int8))
/// (allotrope.float16, allotrope.float32, allotrope.int8)
#[pyfunction]
fn get_dtype(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Py<PyDType>> {
    wrap(py, asked("get_dtype", object)?)
}

/// Whether a dtype is a float: of a tensor, a dtype, or its name.
///
/// >>> al.is_floating_point(al.zeros(1)), al.is_floating_point("int8")
/// (True, False)
#[pyfunction]
fn is_floating_point(input: Operand) -> PyResult<bool> {
    Ok(asked("is_floating_point", input)?.is_floating_point())
}

/// Whether a dtype is complex: of a tensor, a dtype, or its name.
///
/// >>> al.is_complex(al.zeros(1)), al.is_complex(al.complex64)
/// (False, True)
#[pyfunction]
fn is_complex(input: Operand) -> PyResult<bool> {
    Ok(asked("is_complex", input)?.is_complex())
}

/// Whether a dtype is an integer: of a tensor, a dtype, or its name. bool is none.
///
/// >>> al.is_integer(al.arange(3)), al.is_integer(al.bool)
/// (True, False)
#[pyfunction]
fn is_integer(input: Operand) -> PyResult<bool> {
    Ok(Set::Integer.contains(asked("is_integer", input)?))
}

/// Whether a dtype has negative numbers: of a tensor, a dtype, or its name.
///
/// >>> al.is_signed("uint8"), al.is_signed(al.bfloat16)
/// (False, True)
#[pyfunction]
fn is_signed(input: Operand) -> PyResult<bool> {
    Ok(asked("is_signed", input)?.is_signed())
}

/// Whether any tensor in nested dicts, lists and tuples is of a dtype or a family.
///
/// >>> al.check_dtype({"x": [al.zeros(1), al.arange(3)]}, al.int64)
/// True
/// >>> al.check_dtype((al.zeros(1), 2), al.Int)
/// False
#[pyfunction]
fn check_dtype(value: &Bound<'_, PyAny>, dtype: DTypeOrFamily) -> PyResult<bool> {
    let numeric = convert::to_numeric("check_dtype", dtype)?;
    let fits = |dtype: DType| match numeric {
        allotrope_dtype::Numeric::Exact(wanted) => dtype == wanted,
        allotrope_dtype::Numeric::Family(family) => family.contains(dtype),
    };
    any_tensor(value, &fits, 0)
}

/// Whether a test holds for the dtype of any tensor in nested data.
fn any_tensor(value: Operand, test: &dyn Fn(DType) -> bool, depth: usize) -> PyResult<bool> {
    if depth > DEEPEST {
        return Err(nested_too_deeply("check_dtype", DEEPEST));
    }
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Ok(test(tensor.get().tensor().dtype()));
    }
    let mut parts: Vec<Bound<'_, PyIterator>> = Vec::new();
    if let Ok(dict) = value.cast::<PyDict>() {
        parts.push(dict.keys().try_iter()?);
        parts.push(dict.values().try_iter()?);
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        parts.push(value.try_iter()?);
    }
    for part in parts.into_iter().flatten() {
        if any_tensor(&part?, test, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds the questions and the tuples of dtypes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    add!(module, get_dtype is_floating_point is_complex is_integer is_signed check_dtype);
    for (name, set) in LISTS {
        let members = set.members().map(|dtype| wrap(py, dtype));
        // bounded: the dtypes.
        let members = members.collect::<PyResult<Vec<_>>>()?;
        module.add(name, PyTuple::new(py, members)?)?;
    }
    module.add("infer_dtype_from_data", module.getattr("infer_dtype")?)
}
