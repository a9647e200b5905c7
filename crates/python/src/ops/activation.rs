//! Elementwise activations as functions of `nn.functional`, with torch's signatures.

use allotrope_op::{Op, for_each_activation};
use pyo3::prelude::*;

use crate::arguments::Operand;
use crate::elementwise::apply_as;
use crate::operand::{self, float};
use crate::options::check_bounds;
use crate::options::functions::{gelu, hardshrink, prelu, softplus, softshrink};
use crate::tensor::PyTensor;

/// The result of a row; if it is to be in place, it is written over the elements of the operand.
fn activate<'py>(
    name: &'static str,
    op: Op,
    input: Operand<'_, 'py>,
    options: &[f64],
    inplace: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    if let (Op::Hardtanh, &[min_val, max_val]) = (op, options) {
        check_bounds(min_val, max_val)?;
    }
    let py = input.py();
    let options = options.iter().copied().map(float);
    if inplace && let Ok(tensor) = input.cast::<PyTensor>() {
        tensor.get().update_row(py, name, op, options.collect())?;
        return Ok(tensor.clone());
    }
    let mut values = vec![operand::read(name, input)?];
    values.extend(options);
    Bound::new(py, apply_as(py, name, op, &values)?)
}

/// A result, or the operand with the result written over its elements.
pub(super) fn finish<'py>(
    input: Operand<'_, 'py>,
    result: PyTensor,
    inplace: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    match input.cast::<PyTensor>() {
        Ok(tensor) if inplace => {
            let value = result.tensor();
            tensor
                .get()
                .update(input.py(), "in place", |_| Ok(value.clone()))?;
            Ok(tensor.clone())
        }
        _ => Bound::new(input.py(), result),
    }
}

/// Rows without options: skips those that are spelled out below.
macro_rules! plain {
    (@ [$($kept:tt)*]) => { functions! { $($kept)* } };
    (@ [$($kept:tt)*] { Gelu, $($row:tt)* } $($rest:tt)*) => { plain!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { GeluTanh, $($row:tt)* } $($rest:tt)*) => { plain!(@ [$($kept)*] $($rest)*); };
    (@ [$($kept:tt)*] { $variant:ident, $name:ident, ($x:ident) -> $out:ident, $s:ident, $a:ident, $doc:literal,
        $($row:tt)* } $($rest:tt)*) => {
        plain!(@ [$($kept)* #[doc = $doc] $name $variant [] ();] $($rest)*);
    };
    (@ [$($kept:tt)*] { $($row:tt)* } $($rest:tt)*) => { plain!(@ [$($kept)*] $($rest)*); };
    ($($rows:tt)*) => {
        plain!(@ [
            /// The number, or negative_slope times it below 0.
            leaky_relu LeakyRelu [negative_slope=0.01,] (negative_slope);
            /// The number, or `alpha (eˣ - 1)` below 0.
            elu Elu [alpha=1.0,] (alpha);
            /// The number, or `alpha (e^(x / alpha) - 1)` below 0.
            celu Celu [alpha=1.0,] (alpha);
            /// The number where it is above the threshold, else the value.
            threshold Threshold [threshold, value,] (threshold, value);
            /// The number within min_val and max_val. No gradient goes back at the bounds, as in torch;
            /// that of clamp does.
            hardtanh Hardtanh [min_val=-1.0, max_val=1.0,] (min_val, max_val);
        ] $($rows)*);
    };
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident $variant:ident [$($signature:tt)*] ($($option:ident),*);)*) => {
        $(
            $(#[doc = $doc])*
            #[doc = ""]
            #[doc = "With inplace=True the input takes the result as its new value."]
            #[doc = ""]
            #[doc = example!(functional $name)]
            #[pyfunction]
            #[pyo3(signature = (input, $($signature)* inplace=false))]
            fn $name<'py>(input: Operand<'_, 'py>, $($option: f64,)* inplace: bool) -> PyResult<Bound<'py, PyTensor>> {
                activate(stringify!($name), Op::$variant, input, &[$($option),*], inplace)
            }
        )*

        /// Adds them all.
        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            add!(module, sigmoid tanh logsigmoid gelu softplus softshrink hardshrink prelu);
            Ok(())
        }
    };
}
for_each_activation! { (plain) }

/// Activations that are functions of the package under another name or signature.
macro_rules! named {
    ($($(#[doc = $doc:literal])* $name:ident $variant:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        fn $name<'py>(input: Operand<'_, 'py>) -> PyResult<Bound<'py, PyTensor>> {
            activate(stringify!($name), Op::$variant, input, &[], false)
        }
    )*};
}
named! {
    /// The logistic function, `1 / (1 + e^-x)`.
    ///
    /// >>> al.nn.functional.sigmoid(al.tensor([0.0, 2.0]))
    /// tensor([0.5000, 0.8808])
    sigmoid Sigmoid;
    /// The hyperbolic tangent.
    ///
    /// >>> al.nn.functional.tanh(al.tensor([0.0, 1.0]))
    /// tensor([0.0000, 0.7616])
    tanh Tanh;
    /// The logarithm of the logistic function.
    ///
    /// >>> al.nn.functional.logsigmoid(al.tensor([0.0]))
    /// tensor([-0.6931])
    logsigmoid LogSigmoid;
}
