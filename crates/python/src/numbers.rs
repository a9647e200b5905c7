//! A tensor as Python's numbers and lists of them.

use allotrope_dtype::{DType, Error, Kind, Scalar, Set, WeakScalar, c128};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex};

use crate::error::raise;
use crate::objects;
use crate::tensor::PyTensor;

impl PyTensor {
    /// The value of the only element, for an operation.
    pub(crate) fn number<'py>(
        &self,
        py: Python<'py>,
        op: &'static str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let item = self.tensor().item();
        to_python(py, item.map_err(|error| raise(error.in_op(op)))?)
    }

    /// The same unless it is complex.
    fn real_number<'py>(&self, py: Python<'py>, op: &'static str) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.tensor().dtype();
        if dtype.is_complex() {
            return Err(raise(Error::not_in_set(
                op,
                dtype,
                Set::Real,
                Some("x.real"),
            )));
        }
        self.number(py, op)
    }
}

#[pymethods]
impl PyTensor {
    /// The value of a tensor with one element, as a Python number.
    ///
    /// >>> al.tensor([1.5]).item()
    /// 1.5
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.tensor().item().map_err(raise)?)
    }

    /// The values as nested lists of Python numbers.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).tolist()
    /// [[1, 2], [3, 4]]
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
            Kind::Bool => of_kind!(U8, u8, |x: &u8| Ok(PyBool::new(py, *x != 0)
                .to_owned()
                .into_any())),
            Kind::Signed => of_kind!(I64, i64, |x: &i64| objects::signed(py, *x)),
            Kind::Unsigned => of_kind!(U64, u64, |x: &u64| objects::unsigned(py, *x)),
            Kind::Float => of_kind!(F64, f64, |x: &f64| objects::float(py, *x)),
            Kind::Complex => of_kind!(C128, c128, |x: &c128| objects::complex(py, x.re, x.im)),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let hint = "x.any() or x.all()";
        let item = self.tensor().item();
        let item = item.map_err(|error| raise(error.in_op("bool").hint(hint)))?;
        to_python(py, item)?.is_truthy()
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number = self.number(py, "complex")?;
        py.get_type::<PyComplex>().call1((number,))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.real_number(py, "int")?
            .call_method0(intern!(py, "__int__"))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number = self.real_number(py, "float")?;
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
            Err(error) if error.is_late() => Err(raise(error)),
            Err(error) => Err(PyTypeError::new_err(error.to_string())),
        }
    }
}

/// Elements in row-major order as lists within lists.
fn nested<'py, T>(
    py: Python<'py>,
    elements: &[T],
    sizes: &[usize],
    number: &impl Fn(&T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = match sizes {
        [] | [_] => objects::list(py, elements.iter().map(number))?,
        [size, inner @ ..] => {
            let row = elements.len().checked_div(*size).unwrap_or(0);
            let rows = (0..*size).map(|i| nested(py, &elements[i * row..][..row], inner, number));
            objects::list(py, rows)?
        }
    };
    Ok(list.into_any())
}

/// The Python number of a scalar.
fn to_python(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar.value() {
        WeakScalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        WeakScalar::Int(value) => value.into_pyobject(py)?.into_any(),
        WeakScalar::Float(value) => objects::float(py, value)?,
        WeakScalar::Complex(value) => objects::complex(py, value.re, value.im)?,
    })
}
