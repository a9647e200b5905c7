//! `al.linalg`: linear algebra.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | what the others share: tolerances, orders of norms |
//! | `solutions` | solutions, inverses, determinants, elimination, Cholesky's roots |
//! | `spectra` | QR, eigenvalues, singular values, least squares |
//! | `norms` | norms, powers, products of vectors |
//! | `methods` | what torch has as methods of tensors too |

/// Functions of `al.linalg`: documentation, name, Python's name in messages, Python's signature,
/// Rust's arguments, and what becomes of the first operand.
macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $op:literal [$($($signature:tt)+)?]($first:ident $(, $argument:ident: $type:ty)*) -> $result:ty
            |$py:ident, $x:ident| $body:expr;
    )*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[allow(clippy::too_many_arguments, reason = "torch's arguments")]
            #[allow(non_snake_case, reason = "torch's names of arguments")]
            #[pyo3(signature = ($first $(, $($signature)+)?, out=None))]
            fn $name<'py>(
                py: Python<'py>,
                $first: Operand<'_, 'py>
                $(, $argument: $type)*,
                out: Option<$crate::arguments::Out<'_, 'py>>,
            ) -> PyResult<$crate::in_place::Delivered<'py, $result>> {
                let ($py, $x) = (py, &crate::create::operand($op, $first)?);
                let make = || -> PyResult<$result> { $body };
                $crate::in_place::deliver(py, $op, make()?, out)
            }
        )*

        /// Adds them all.
        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

mod methods;
mod norms;
mod products;
mod solutions;
mod spectra;

use allotrope_dtype::{DType, Error};
use allotrope_tensor::{Tensor, linalg};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use crate::arguments::{Int, Integers, Operand, integers};
use crate::create::operand;
use crate::error::{linear_algebra_error, raise};
use crate::interrupt::detach;
use crate::named::named;
use crate::tensor::{PyTensor, made, view};

/// Adds the submodule, and the methods' functions to the package.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    solutions::register(module)?;
    spectra::register(module)?;
    norms::register(module)?;
    products::register(module)?;
    module.add_function(wrap_pyfunction!(diagonal, module)?)?;
    module.add("LinAlgError", linear_algebra_error(module.py())?)
}

/// The elements whose indices in two dimensions are offset apart: a view.
///
/// >>> al.linalg.diagonal(al.tensor([[1, 2], [3, 4]]))
/// tensor([1, 4])
#[pyfunction]
#[pyo3(signature = (A, *, offset=Int(0), dim1=Int(-2), dim2=Int(-1)))]
#[allow(non_snake_case, reason = "torch's name of the argument")]
fn diagonal(A: Operand, offset: Int, dim1: Int, dim2: Int) -> PyResult<PyTensor> {
    view("linalg.diagonal", A, |a| {
        made(a.diagonal(offset.0, dim1.0, dim2.0))
    })
}

/// Adds the functions that the package has without a module.
pub(super) fn register_plain(core: &Bound<'_, PyModule>) -> PyResult<()> {
    methods::functions::register(core)
}

/// Elements from which Python's lock is given to other threads meanwhile.
const RELEASE_FROM: usize = 1024;

/// Runs work on matrices; for large ones other Python threads run meanwhile.
fn compute<R: Send>(
    py: Python<'_>,
    x: &Tensor,
    work: impl FnOnce() -> Result<R, Error> + Send,
) -> PyResult<R> {
    let result = if x.count() > RELEASE_FROM {
        detach(py, work)
    } else {
        work()
    };
    result.map_err(raise)
}

/// A tolerance: a number, or a tensor of them.
fn tolerance(op: &'static str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Tensor>> {
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(None);
    };
    let is_number = given.is_instance_of::<PyFloat>() || given.is_instance_of::<PyInt>();
    if is_number {
        let value = given.extract::<f64>()?;
        return Tensor::full(&[], value, DType::F64)
            .map(Some)
            .map_err(raise);
    }
    operand(op, given).map(Some)
}

/// The order of a norm: a number or a name.
pub(crate) fn order(
    op: &'static str,
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<linalg::Order>> {
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(None);
    };
    if let Ok(name) = given.cast::<PyString>() {
        let order = linalg::Order::parse(op, &name.to_string_lossy());
        return order.map(Some).map_err(raise);
    }
    let number = given.extract::<f64>().map_err(|_| {
        let accepted = "a number, 'fro', 'nuc', 'inf' and '-inf'";
        crate::error::wrong_object(op, "not an order", given, accepted)
    })?;
    Ok(Some(linalg::Order::Number(number)))
}

/// Dimensions or None.
fn dimensions(op: &'static str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<isize>>> {
    let given = given.filter(|given| !given.is_none());
    let given = given.map(|given| integers(op, given)).transpose()?;
    Ok(given.map(Integers::into_vec))
}
