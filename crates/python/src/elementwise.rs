//! Elementwise operations: rows of the op tables as methods of `Tensor` and functions of the module.
//!
//! Rows that are called with their operands alone are expanded here; those with options of torch's
//! are spelled out in `options`.

use allotrope_op::{
    IN_PLACE, Op, VIEWED_IN_PLACE, for_each_activation, for_each_binary, for_each_compare,
    for_each_unary,
};
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::arguments::{Operand, Out};
use crate::error::raise;
use crate::in_place::{Delivered, deliver};
use crate::operand::{self, RELEASE_FROM, Value};
use crate::tensor::PyTensor;

/// The result of a row.
pub(crate) fn apply(py: Python<'_>, op: Op, values: &[Value]) -> PyResult<PyTensor> {
    apply_as(py, op.name(), op, values)
}

/// The result of a row that is called by another name.
pub(crate) fn apply_as(
    py: Python<'_>,
    name: &'static str,
    op: Op,
    values: &[Value],
) -> PyResult<PyTensor> {
    operand::check_ints(name, values)?;
    let operands: SmallVec<[_; 4]> = values.iter().map(Value::as_operand).collect();
    let largest = values.iter().map(operand::count).max().unwrap_or(0);
    apply_operands(py, name, op, &operands, largest)
}

/// The result of a row on two tensors.
pub(crate) fn apply_pair(py: Python<'_>, op: Op, x: &Tensor, y: &Tensor) -> PyResult<PyTensor> {
    let operands = [operand::Operand::Tensor(x), operand::Operand::Tensor(y)];
    apply_operands(py, op.name(), op, &operands, x.count().max(y.count()))
}

/// The result of a row, called by a name; for large operands other Python threads run meanwhile.
#[inline]
fn apply_operands(
    py: Python<'_>,
    name: &'static str,
    op: Op,
    operands: &[operand::Operand<'_>],
    largest: usize,
) -> PyResult<PyTensor> {
    if largest > RELEASE_FROM {
        return operand::run(py, largest, || {
            Tensor::apply(op, operands).map_err(|error| error.in_op(name))
        });
    }
    // A result is moved as seldom as can be: that takes as long as a small one is computed in.
    match Tensor::apply(op, operands) {
        Ok(tensor) => Ok(PyTensor::from(tensor)),
        Err(error) => Err(raise(error.in_op(name))),
    }
}

/// Rows of one operand without options: skips those that `options` spells out.
macro_rules! plain_unary {
    (@ [$($kept:tt)*]) => { unary! { $($kept)* } };
    (@ [$($kept:tt)*] { Round, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { Logit, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { Gelu, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { GeluTanh, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    // Attributes, as in torch and NumPy.
    (@ [$($kept:tt)*] { RealPart, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { ImagPart, $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { $variant:ident, $name:ident, ($x:ident) -> $out:ident, $s:ident, $a:ident, $doc:literal,
        $($row:tt)* } $($rest:tt)*) => {
        plain_unary!(@ [$($kept)* { $variant $name $doc }] $($rest)*);
    };
    (@ [$($kept:tt)*] { $($row:tt)* } $($rest:tt)*) => { plain_unary!(@ [$($kept)*] $($rest)*); };
    ($($rows:tt)*) => { plain_unary!(@ [] $($rows)*); };
}

macro_rules! unary {
    ($({ $variant:ident $name:ident $doc:literal })*) => {
        /// Rows of one operand without options.
        const PLAIN_UNARY: &[Op] = &[$(Op::$variant),*];

        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = ""]
            #[doc = example!(method $name)]
            fn $name(&self, py: Python<'_>) -> PyResult<Self> {
                apply(py, Op::$variant, &[Value::Tensor(self.tensor())])
            }
        )*}

        /// The functions of the module.
        pub(crate) mod unary_functions {
            use super::*;
            $(
                #[doc = $doc]
                #[doc = ""]
                #[doc = example!(function $name)]
                #[pyfunction]
                #[pyo3(signature = (input, *, out=None))]
                pub(crate) fn $name<'py>(
                    py: Python<'py>,
                    input: Operand<'_, 'py>,
                    out: Option<Out<'_, 'py>>,
                ) -> PyResult<Delivered<'py, PyTensor>> {
                    let op = stringify!($name);
                    deliver(py, op, apply(py, Op::$variant, &[operand::read(op, input)?])?, out)
                }
            )*

            /// Adds them all.
            pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}
for_each_unary! { (for_each_activation) (plain_unary) }

/// Rows of two operands without options.
macro_rules! plain_binary {
    (@ [$($kept:tt)*]) => { binary! { $($kept)* } };
    (@ [$($kept:tt)*] { Add, $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { Sub, $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { Div, $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ [$($kept)*] $($rest)*); };
    // Where torch does not call the second operand `other`.
    (@ [$($kept:tt)*] { Pow, $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ exponent [$($kept)*] { Pow, $($row)* } $($rest)*); };
    (@ [$($kept:tt)*] { Heaviside, $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ values [$($kept)*] { Heaviside, $($row)* } $($rest)*); };
    (@ [$($kept:tt)*] { $($row:tt)* } $($rest:tt)*) => { plain_binary!(@ other [$($kept)*] { $($row)* } $($rest)*); };
    (@ $second:ident [$($kept:tt)*] { $variant:ident, $name:ident, ($x:ident, $y:ident) -> $out:ident, $s:ident, $a:ident, $doc:literal,
        $($row:tt)* } $($rest:tt)*) => {
        plain_binary!(@ [$($kept)* { $variant $name $second $doc }] $($rest)*);
    };
    ($($rows:tt)*) => { plain_binary!(@ [] $($rows)*); };
}

macro_rules! binary {
    ($({ $variant:ident $name:ident $second:ident $doc:literal })*) => {
        /// Rows of two operands without options.
        const PLAIN_BINARY: &[Op] = &[$(Op::$variant),*];

        #[pymethods]
        impl PyTensor {$(
            #[doc = $doc]
            #[doc = ""]
            #[doc = example!(method $name)]
            fn $name(&self, py: Python<'_>, $second: Operand) -> PyResult<Self> {
                let second = operand::read_other(stringify!($name), $second)?;
                apply(py, Op::$variant, &[Value::Tensor(self.tensor()), second])
            }
        )*}

        /// The functions of the module.
        pub(crate) mod binary_functions {
            use super::*;
            $(
                #[doc = $doc]
                #[doc = ""]
                #[doc = example!(function $name)]
                #[pyfunction]
                #[pyo3(signature = (input, $second, *, out=None))]
                pub(crate) fn $name<'py>(
                    py: Python<'py>,
                    input: Operand<'_, 'py>,
                    $second: Operand<'_, 'py>,
                    out: Option<Out<'_, 'py>>,
                ) -> PyResult<Delivered<'py, PyTensor>> {
                    let op = stringify!($name);
                    let operands = [operand::read(op, input)?, operand::read_other(op, $second)?];
                    deliver(py, op, apply(py, Op::$variant, &operands)?, out)
                }
            )*

            /// Adds them all.
            pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}
for_each_binary! { (for_each_compare) (plain_binary) }

/// The row that a method is if it is called with so many arguments and no options.
pub(crate) fn plain_row(name: &str, arguments: usize) -> Option<Op> {
    let row = Op::from_name(name).filter(|row| row.arity() == arguments + 1)?;
    let is_default = matches!(row, Op::Add | Op::Sub | Op::Div | Op::Round | Op::Gelu);
    (is_default || PLAIN_UNARY.contains(&row) || PLAIN_BINARY.contains(&row)).then_some(row)
}

/// The names of the elementwise methods.
#[pyfunction]
pub(crate) fn _elementwise_methods(py: Python<'_>) -> PyResult<Vec<&'static str>> {
    let class = py.get_type::<PyTensor>();
    let mut names = Vec::new();
    for op in Op::ALL {
        let method = class.getattr_opt(op.name())?;
        if method.is_some_and(|method| method.is_callable()) {
            names.push(op.name());
        }
    }
    Ok(names)
}

/// The names of the methods that have a form with an underscore: those of single elements, others
/// that keep the shape of a tensor, and those that do not.
#[pyfunction]
pub(crate) fn _in_place_methods(
    py: Python<'_>,
) -> PyResult<(
    Vec<&'static str>,
    &'static [&'static str],
    &'static [&'static str],
)> {
    Ok((_elementwise_methods(py)?, IN_PLACE, VIEWED_IN_PLACE))
}
