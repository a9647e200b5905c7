//! Anything a user may pass → dtype, family or operand.

use allotrope_dtype::{DType, Error, Numeric, Operand, Problem, ScalarKind};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};

use crate::arguments::DTypeLike;
use crate::dtype::PyDType;
use crate::error::{foreign_byte_order, raise, wrong_object};
use crate::family::PyFamily;
use crate::scopes::default_dtype;
use crate::{foreign, numpy};

/// What a message says is accepted as a dtype.
const ACCEPTED: &str = "a dtype or family, its name, a dtype of NumPy, ml_dtypes, torch and the like, \
                        bool, int, float, complex and None";

/// An exact dtype; None is the default dtype.
pub(crate) fn to_dtype(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<DType> {
    exact(op, to_numeric(op, object)?)
}

/// An exact dtype, or the dtype of an object that has one.
pub(crate) fn to_dtype_of(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<DType> {
    match read_numeric(op, object)? {
        Some(numeric) => exact(op, numeric),
        // That of a class is not that of its objects.
        None if object.is_instance_of::<PyType>() => Err(not_a_dtype(op, object)),
        None => match dtype_attribute(op, object)? {
            Some(dtype) => Ok(dtype),
            None => Err(not_a_dtype(op, object)),
        },
    }
}

/// A dtype or a family; None is the default dtype.
pub(crate) fn to_numeric(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Numeric> {
    read_numeric(op, object)?.ok_or_else(|| not_a_dtype(op, object))
}

/// The operand that an argument of `result_type` stands for.
pub(crate) fn to_operand(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Some(numeric) = read_numeric(op, object)? {
        return exact(op, numeric).map(Operand::Array);
    }
    if let Some(dtype) = dtype_attribute(op, object)? {
        let dimensions = object.getattr_opt(intern!(object.py(), "ndim"))?;
        let is_zero_dim = dimensions.is_some_and(|n| n.extract::<usize>().is_ok_and(|n| n == 0));
        return Ok(if is_zero_dim {
            Operand::ZeroDim(dtype)
        } else {
            Operand::Array(dtype)
        });
    }
    match scalar_kind(object) {
        Some(kind) => Ok(Operand::Scalar(kind)),
        None => Err(wrong_object(
            op,
            "not an operand",
            object,
            "arrays, scalars and dtypes",
        )),
    }
}

/// The dtype of an object with a `dtype` attribute: an array or a NumPy scalar.
pub(crate) fn dtype_attribute(
    op: &'static str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<DType>> {
    match object.getattr_opt(intern!(object.py(), "dtype"))? {
        Some(dtype) => to_dtype(op, &dtype).map(Some),
        None => Ok(None),
    }
}

/// The kind of a Python number.
///
/// `numpy.float64` is a `float` too: ask for a `dtype` attribute before this.
pub(crate) fn scalar_kind(object: &Bound<'_, PyAny>) -> Option<ScalarKind> {
    find_number_class(object.py(), |class| {
        object.is_instance(class).unwrap_or(false)
    })
}

/// The kind of an object of exactly one of Python's number classes: the fast way for long lists.
pub(crate) fn plain_scalar_kind(object: &Bound<'_, PyAny>) -> Option<ScalarKind> {
    if object.is_exact_instance_of::<PyFloat>() {
        Some(ScalarKind::Float)
    } else if object.is_exact_instance_of::<PyInt>() {
        Some(ScalarKind::Int)
    } else if object.is_exact_instance_of::<PyBool>() {
        Some(ScalarKind::Bool)
    } else if object.is_exact_instance_of::<PyComplex>() {
        Some(ScalarKind::Complex)
    } else {
        None
    }
}

/// The kind of the first of Python's number classes that passes a test.
fn find_number_class(
    py: Python<'_>,
    test: impl Fn(&Bound<'_, PyType>) -> bool,
) -> Option<ScalarKind> {
    // A bool is an int too, so bool comes first.
    let classes = [
        (py.get_type::<PyBool>(), ScalarKind::Bool),
        (py.get_type::<PyInt>(), ScalarKind::Int),
        (py.get_type::<PyFloat>(), ScalarKind::Float),
        (py.get_type::<PyComplex>(), ScalarKind::Complex),
    ];
    classes
        .into_iter()
        .find(|(class, _)| test(class))
        .map(|(_, kind)| kind)
}

fn exact(op: &'static str, numeric: Numeric) -> PyResult<DType> {
    match numeric {
        Numeric::Exact(dtype) => Ok(dtype),
        Numeric::Family(given) => Err(raise(Error::new(op, Problem::NotExact { given }))),
    }
}

#[cold]
fn not_a_dtype(op: &'static str, object: &Bound<'_, PyAny>) -> PyErr {
    let py = object.py();
    let generic = numpy::loaded(py)
        .ok()
        .flatten()
        .map(|numpy| numpy.generic(py));
    match generic.and_then(|generic| foreign::families_of(object, generic)) {
        Some(families) => {
            let error = wrong_object(op, "a kind without a width", object, ACCEPTED);
            PyTypeError::new_err(format!("{} (hint: {families})", error.value(py)))
        }
        None => wrong_object(op, "not a dtype", object, ACCEPTED),
    }
}

/// The dtype or family that an object names, if it is of a type that can.
fn read_numeric(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Option<Numeric>> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Ok(Some(Numeric::Exact(dtype.get().dtype)));
    }
    if let Ok(family) = object.cast::<PyFamily>() {
        return Ok(Some(Numeric::Family(family.get().family)));
    }
    if let Ok(name) = object.cast::<PyString>() {
        return parse(op, &name.to_string_lossy()).map(Some);
    }
    if object.is_none() {
        return Ok(Some(Numeric::Exact(default_dtype())));
    }
    Ok(look_up(op, object)?.map(Numeric::Exact))
}

/// The dtype that an object of Python, NumPy or another library stands for.
pub(crate) fn look_up(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Some(dtype) = foreign::known(object) {
        return Ok(Some(dtype));
    }
    let dtype = match class_dtype(object) {
        Some(dtype) => Some(dtype),
        None => match numpy_dtype(object)? {
            Some(dtype) => Some(read_numpy_dtype(op, &dtype)?),
            None => foreign::read(object),
        },
    };
    if let Some(dtype) = dtype {
        foreign::remember(object, dtype);
    }
    Ok(dtype)
}

/// The dtype that one of Python's number classes stands for.
fn class_dtype(object: &Bound<'_, PyAny>) -> Option<DType> {
    let kind = find_number_class(object.py(), |class| object.is(class))?;
    // As in torch and NumPy, Python's float has 64 bits whatever the default dtype is.
    Some(kind.default_dtype(DType::F64))
}

/// The dtype or family with this name.
pub(crate) fn parse(op: &'static str, name: &str) -> PyResult<Numeric> {
    // Before ours: an unknown name is compared with all others to hint at the nearest.
    if let Some(numeric) = foreign::named(name) {
        return Ok(numeric);
    }
    match name.parse::<DType>() {
        Ok(dtype) => Ok(Numeric::Exact(dtype)),
        Err(error) => match name.parse() {
            Ok(family) => Ok(Numeric::Family(family)),
            Err(_) => Err(raise(error.in_op(op))),
        },
    }
}

/// The object as a `numpy.dtype`, if it is one or a NumPy scalar type.
///
/// Such an object exists only after NumPy was imported, so nothing is imported here.
fn numpy_dtype<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let Some(numpy) = numpy::loaded(py)? else {
        return Ok(None);
    };
    if object.is_instance(numpy.dtype(py))? {
        return Ok(Some(object.clone()));
    }
    let Ok(class) = object.cast::<PyType>() else {
        return Ok(None);
    };
    if !class.is_subclass(numpy.generic(py))? {
        return Ok(None);
    }
    // NumPy refuses abstract classes such as numpy.floating; its older versions answer float64.
    let dtype = numpy.dtype(py).call1((class,)).ok();
    Ok(dtype.filter(|dtype| matches!(dtype.getattr("type"), Ok(own) if own.is(class))))
}

/// A `numpy.dtype` by its name: `str` is `<V1` for every float8.
fn read_numpy_dtype(op: &'static str, dtype: DTypeLike) -> PyResult<DType> {
    let py = dtype.py();
    if !dtype.getattr(intern!(py, "isnative"))?.extract::<bool>()? {
        return Err(foreign_byte_order(op, dtype));
    }
    let name = dtype.getattr(intern!(py, "name"))?;
    exact(op, parse(op, &name.cast::<PyString>()?.to_string_lossy())?)
}
