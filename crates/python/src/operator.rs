//! The operators of Python on tensors. Anything but tensors, numbers, arrays and lists is left to the
//! other operand.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "code that pyo3 expands from a macro here"
)]

use allotrope_op::Op;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::elementwise::{apply, apply_pair};
use crate::operand::{self, Value};
use crate::tensor::PyTensor;

/// The other operand of an operator; `None` if it has a say of its own.
fn other(op: Op, object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    match operand::quick(object) {
        Some(value) => value.map(Some),
        // NumPy's arrays and scalars have a dtype, lists and tuples what a tensor of them has.
        None if is_list(object) || object.hasattr("dtype")? => {
            operand::read_other(op.name(), object).map(Some)
        }
        None => Ok(None),
    }
}

/// Whether an object is a list or a tuple, which belongs to no device and has no operators of numbers.
pub(crate) fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

fn binary(
    py: Python<'_>,
    op: Op,
    left: &PyTensor,
    right: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    // The usual operand, which is moved to no list.
    if let Ok(right) = right.cast::<PyTensor>() {
        let result = apply_pair(py, op, &left.tensor(), &right.get().tensor())?;
        return Ok(Py::new(py, result)?.into_any());
    }
    match other(op, right)? {
        Some(value) => {
            let result = apply(py, op, &[Value::Tensor(left.tensor()), value])?;
            Ok(Py::new(py, result)?.into_any())
        }
        None => Ok(py.NotImplemented()),
    }
}

fn reflected(
    py: Python<'_>,
    op: Op,
    left: &Bound<'_, PyAny>,
    right: &PyTensor,
) -> PyResult<Py<PyAny>> {
    match other(op, left)? {
        Some(value) => {
            let result = apply(py, op, &[value, Value::Tensor(right.tensor())])?;
            Ok(Py::new(py, result)?.into_any())
        }
        None => Ok(py.NotImplemented()),
    }
}

/// Writes the result of an operation on a tensor over its elements.
fn in_place(py: Python<'_>, op: Op, left: &PyTensor, right: &Bound<'_, PyAny>) -> PyResult<()> {
    let value = match other(op, right)? {
        Some(value) => value,
        None => operand::read_other(op.name(), right)?,
    };
    left.update_row(py, op.name(), op, vec![value])
}

macro_rules! operators {
    ($($op:ident $plain:ident $reflected:ident $in_place:ident;)*) => {
        #[pymethods]
        impl PyTensor {
            $(
                fn $plain(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    binary(py, Op::$op, self, other)
                }

                fn $reflected(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    reflected(py, Op::$op, other, self)
                }

                fn $in_place(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                    in_place(py, Op::$op, self, other)
                }
            )*

            fn __pow__(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
                modulo: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<Py<PyAny>> {
                match modulo {
                    None => binary(py, Op::Pow, self, other),
                    Some(_) => Ok(py.NotImplemented()),
                }
            }

            fn __rpow__(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
                modulo: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<Py<PyAny>> {
                match modulo {
                    None => reflected(py, Op::Pow, other, self),
                    Some(_) => Ok(py.NotImplemented()),
                }
            }

            fn __ipow__(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
                _modulo: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                in_place(py, Op::Pow, self, other)
            }

            fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
                apply(py, Op::Neg, &[Value::Tensor(self.tensor())])
            }

            fn __pos__(&self, py: Python<'_>) -> PyResult<Self> {
                apply(py, Op::Positive, &[Value::Tensor(self.tensor())])
            }

            fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
                apply(py, Op::Abs, &[Value::Tensor(self.tensor())])
            }

            fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
                apply(py, Op::BitwiseNot, &[Value::Tensor(self.tensor())])
            }

            fn __richcmp__(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
                compare: CompareOp,
            ) -> PyResult<Py<PyAny>> {
                let op = match compare {
                    CompareOp::Lt => Op::Lt,
                    CompareOp::Le => Op::Le,
                    CompareOp::Eq => Op::Eq,
                    CompareOp::Ne => Op::Ne,
                    CompareOp::Gt => Op::Gt,
                    CompareOp::Ge => Op::Ge,
                };
                binary(py, op, self, other)
            }

            /// Tensors are told apart by identity, since `==` compares their elements.
            fn __hash__(this: &Bound<'_, Self>) -> isize {
                this.as_ptr().addr() as isize >> 4
            }
        }
    };
}
operators! {
    Add         __add__      __radd__      __iadd__;
    Sub         __sub__      __rsub__      __isub__;
    Mul         __mul__      __rmul__      __imul__;
    Div         __truediv__  __rtruediv__  __itruediv__;
    FloorDivide __floordiv__ __rfloordiv__ __ifloordiv__;
    Remainder   __mod__      __rmod__      __imod__;
    BitwiseAnd  __and__      __rand__      __iand__;
    BitwiseOr   __or__       __ror__       __ior__;
    BitwiseXor  __xor__      __rxor__      __ixor__;
    LeftShift   __lshift__   __rlshift__   __ilshift__;
    RightShift  __rshift__   __rrshift__   __irshift__;
}
