//! Objects that are given another value: assignment, and the methods with an underscore that are not
//! rows of a table.

use allotrope_dtype::{DType, Error, Problem, Scalar, WeakScalar};
use allotrope_op::Slice;
use allotrope_tensor::{Index, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::convert;
use crate::error::raise;
use crate::operand::{self, Value};
use crate::tensor::PyTensor;

#[pymethods]
impl PyTensor {
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = crate::index::read_key(key)?;
        let value = operand::read("setitem", value)?;
        let operands = [Value::Tensor(self.tensor()), value];
        operand::check_ints("setitem", &operands)?;
        // Nobody else may have the value, for it to be changed where it is.
        let [own, value] = operands;
        drop(own);
        self.assign("setitem", &key, value.as_operand())
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "delitem: elements cannot be deleted; a tensor keeps its shape (hint: index what stays)",
        ))
    }

    /// Gives this object the result of an operation on it, which keeps its shape, and returns it.
    fn _update<'py>(
        this: &Bound<'py, Self>,
        op: &str,
        result: &Bound<'_, Self>,
    ) -> PyResult<Bound<'py, Self>> {
        this.get().update(op, result.get().tensor())?;
        Ok(this.clone())
    }

    /// Gives this object another value, of any shape, and returns it.
    fn _replace<'py>(
        this: &Bound<'py, Self>,
        value: &Bound<'_, Self>,
    ) -> PyResult<Bound<'py, Self>> {
        this.get().replace("in place", value.get().tensor())?;
        Ok(this.clone())
    }

    /// Zeros as the new value of this object.
    fn zero_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        this.get().assign("zero_", &[], false.into())?;
        Ok(this.clone())
    }

    /// One number everywhere, as the new value of this object; its dtype must hold it.
    fn fill_<'py>(this: &Bound<'py, Self>, value: &Bound<'_, PyAny>) -> PyResult<Bound<'py, Self>> {
        let dtype = this.get().tensor().dtype();
        let number = crate::create::number_of("fill_", value, dtype)?;
        Scalar::new(number, dtype).map_err(|error| raise(error.in_op("fill_")))?;
        this.get().assign("fill_", &[], number.into())?;
        Ok(this.clone())
    }

    /// One number on the diagonal of all dimensions, as the new value of this object. With wrap=True
    /// the diagonal of a tall matrix begins again after each square.
    ///
    /// >>> al.zeros(3, 2).fill_diagonal_(5)
    /// tensor([[5., 0.],
    ///         [0., 5.],
    ///         [0., 0.]])
    #[pyo3(signature = (fill_value, wrap=false))]
    fn fill_diagonal_<'py>(
        this: &Bound<'py, Self>,
        fill_value: &Bound<'_, PyAny>,
        wrap: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let op = "fill_diagonal_";
        let tensor = this.get().tensor();
        let number = crate::create::number_of(op, fill_value, tensor.dtype())?;
        let filled = with_diagonal(op, &tensor, number, wrap);
        let filled = filled.map_err(|error| raise(error.in_op(op)))?;
        this.get().replace(op, filled)?;
        Ok(this.clone())
    }

    /// The values of another tensor, broadcast and in this one's dtype, as the new value of this
    /// object.
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(
        this: &Bound<'py, Self>,
        src: &Bound<'_, PyAny>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, Self>> {
        // There is nothing to wait for on the CPU.
        let _ = non_blocking;
        let source = crate::create::operand("copy_", src)?;
        let fitted = {
            let own = this.get().tensor();
            let cast = source.to(own.dtype());
            cast.and_then(|source| source.expand(own.shape()))
        };
        let source = fitted.map_err(|error| raise(error.in_op("copy_")))?;
        this.get().assign("copy_", &[], (&source).into())?;
        Ok(this.clone())
    }

    /// The values in another dtype, as the new value of this object.
    fn to_<'py>(
        this: &Bound<'py, Self>,
        py: Python<'py>,
        dtype: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let dtype: DType = convert::to_dtype("to_", dtype)?;
        let tensor = this.get().tensor();
        let result = operand::run(py, tensor.count(), || tensor.to(dtype))?;
        this.get().replace("to_", result.tensor())?;
        Ok(this.clone())
    }
}

/// A tensor with a number where the indices of all dimensions are equal.
fn with_diagonal(
    op: &'static str,
    x: &Tensor,
    number: WeakScalar,
    wrap: bool,
) -> Result<Tensor, Error> {
    let sizes: Vec<isize> = x.shape().iter().map(|size| *size as isize).collect();
    let is_square = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    if sizes.len() < 2 || !(is_square || sizes.len() == 2) {
        let problem = Problem::WrongShape {
            what: "input",
            given: x.shape().to_vec(),
            accepted: "a matrix, or more dimensions of one size".to_owned(),
        };
        return Err(Error::new(op, problem));
    }
    // Neighbours on the diagonal are one apart in every dimension.
    let step = sizes.iter().rev().scan(1, |stride: &mut isize, size| {
        let own = *stride;
        *stride = stride.saturating_mul(*size);
        Some(own)
    });
    let columns = sizes[1];
    let slice = Slice {
        start: None,
        stop: (sizes.len() == 2 && !wrap).then_some(columns.saturating_mul(columns)),
        step: step.fold(0, isize::saturating_add).max(1),
    };
    let mut flat = x.ravel()?;
    let number = Tensor::full(&[], number, x.dtype())?;
    flat.assign(&[Index::Range(slice)], &number)?;
    flat.reshape(&sizes)
}
