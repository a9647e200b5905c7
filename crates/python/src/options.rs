//! Elementwise operations with torch's options: each is declared once, as a method of `Tensor` and
//! as a function of the module.

use allotrope_dtype::{Error, Problem, WeakScalar};
use allotrope_op::Op;
use allotrope_tensor::{Operand as Of, Tensor, add_scaled, sub_scaled};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::{Clamped, Operand, Out};
use crate::create;
use crate::elementwise::{apply, apply_as};
use crate::error::raise;
use crate::in_place::{Delivered, deliver};
use crate::operand::{self, Value, float};
use crate::ops::indexing::nonzero_tuple;
use crate::tensor::{PyTensor, made, view, wrap};

/// A method and a function from one row: documentation, name, Python's signature, Rust's arguments,
/// and what becomes of the input.
macro_rules! forms {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident[$($($signature:tt)+)?]($($argument:ident: $type:ty),*)
            |$py:ident, $x:ident| $body:expr;
    )*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($($signature)+)?))]
            fn $name(&self, py: Python<'_> $(, $argument: $type)*) -> PyResult<Self> {
                let ($py, $x) = (py, Value::Tensor(self.tensor()));
                $body
            }
        )*}

        /// The functions of the module.
        pub(crate) mod functions {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[pyfunction]
                #[pyo3(signature = (input $(, $($signature)+)?, out=None))]
                #[allow(clippy::too_many_arguments, reason = "torch's options")]
                pub(crate) fn $name<'py>(
                    py: Python<'py>,
                    input: Operand<'_, 'py>
                    $(, $argument: $type)*,
                    out: Option<Out<'_, 'py>>,
                ) -> PyResult<Delivered<'py, PyTensor>> {
                    let ($py, $x) = (py, operand::read(stringify!($name), input)?);
                    let make = || -> PyResult<PyTensor> { $body };
                    deliver(py, stringify!($name), make()?, out)
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

forms! {
    /// The sum, `x + alpha * other`; the logical or of bool.
    ///
    /// >>> al.tensor([1, 2]).add(10)
    /// tensor([11, 12])
    add[other, *, alpha=None](other: Operand, alpha: Option<Operand>) |py, x| {
        let other = operand::read_other("add", other)?;
        match alpha {
            None => apply(py, Op::Add, &[x, other]),
            Some(alpha) => scaled(py, "add", |x, y, a| add_scaled(x, y, a), [x, other], alpha),
        }
    };

    /// The difference, `x - alpha * other`.
    ///
    /// >>> al.tensor([5, 7]).sub(al.tensor([1, 2]), alpha=2)
    /// tensor([3, 3])
    sub[other, *, alpha=None](other: Operand, alpha: Option<Operand>) |py, x| {
        let other = operand::read_other("sub", other)?;
        match alpha {
            None => apply(py, Op::Sub, &[x, other]),
            Some(alpha) => scaled(py, "sub", |x, y, a| sub_scaled(x, y, a), [x, other], alpha),
        }
    };

    /// The quotient; of integers a float. rounding_mode is None, "trunc" or "floor".
    ///
    /// >>> al.tensor([7, -7]).div(2, rounding_mode="floor")
    /// tensor([ 3, -4])
    div[other, *, rounding_mode=None](other: Operand, rounding_mode: Option<&str>) |py, x| {
        let op = match rounding_mode {
            None => Op::Div,
            Some("trunc") => Op::TruncDivide,
            Some("floor") => Op::FloorDivide,
            Some(given) => {
                let accepted = ["trunc", "floor"];
                return Err(raise(Error::unknown_option("div", "rounding_mode", given, &accepted)));
            }
        };
        apply(py, op, &[x, operand::read_other("div", other)?])
    };

    /// The nearest number with so many decimals, ties to even; negative ones round to tens.
    ///
    /// >>> al.tensor([2.5, 3.14159]).round(decimals=2)
    /// tensor([2.5000, 3.1400])
    round[*, decimals=Clamped(0)](decimals: Clamped) |py, x| {
        let decimals = i32::try_from(decimals.0).unwrap_or(if decimals.0 < 0 { i32::MIN } else { i32::MAX });
        let x = as_tensor("round", &x)?;
        operand::run(py, x.count(), || x.round_decimals(decimals))
    };

    /// The inverse of the logistic function, `log(x / (1 - x))`, of numbers within eps and 1 - eps.
    ///
    /// >>> al.tensor([0.5, 0.9]).logit()
    /// tensor([0.0000, 2.1972])
    /// >>> al.tensor([0.0, 1.0]).logit(eps=0.1)
    /// tensor([-2.1972,  2.1972])
    logit[eps=None](eps: Option<f64>) |py, x| match eps {
        None => apply(py, Op::Logit, &[x]),
        Some(eps) => {
            let within = apply(py, Op::Clamp, &[x, float(eps), float(1.0 - eps)])?;
            apply(py, Op::Logit, &[Value::Tensor(within.tensor())])
        }
    };

    /// x times the normal distribution function of x; approximate is "none" or "tanh".
    ///
    /// >>> al.tensor([-1.0, 2.0]).gelu()
    /// tensor([-0.1587,  1.9545])
    /// >>> al.tensor([-1.0, 2.0]).gelu(approximate="tanh")
    /// tensor([-0.1588,  1.9546])
    gelu[approximate="none"](approximate: &str) |py, x| match approximate {
        "none" => apply(py, Op::Gelu, &[x]),
        "tanh" => apply(py, Op::GeluTanh, &[x]),
        given => Err(raise(Error::unknown_option("gelu", "approximate", given, &["none", "tanh"]))),
    };

    /// The number, or negative_slope times it below 0.
    ///
    /// >>> al.tensor([-1.0, 2.0]).leaky_relu(0.1)
    /// tensor([-0.1000,  2.0000])
    leaky_relu[negative_slope=0.01](negative_slope: f64) |py, x| apply(py, Op::LeakyRelu, &[x, float(negative_slope)]);

    /// The number, or weight times it below 0: one weight, or one per channel (dimension 1).
    ///
    /// >>> al.tensor([[-1.0, -1.0]]).prelu(al.tensor([0.5, 0.25]))
    /// tensor([[-0.5000, -0.2500]])
    prelu[weight](weight: Operand) |py, x| {
        let weight = operand::read("prelu", weight)?;
        let weight = match (&x, weight) {
            (Value::Tensor(x), Value::Tensor(weight)) => Value::Tensor(x.prelu_slopes(&weight).map_err(raise)?),
            (_, weight) => weight,
        };
        apply_as(py, "prelu", Op::LeakyRelu, &[x, weight])
    };

    /// The number, or `alpha (eˣ - 1)` below 0.
    ///
    /// >>> al.tensor([-1.0, 2.0]).elu()
    /// tensor([-0.6321,  2.0000])
    elu[alpha=1.0](alpha: f64) |py, x| apply(py, Op::Elu, &[x, float(alpha)]);

    /// The number, or `alpha (e^(x / alpha) - 1)` below 0.
    ///
    /// >>> al.tensor([-1.0, 2.0]).celu(2.0)
    /// tensor([-0.7869,  2.0000])
    celu[alpha=1.0](alpha: f64) |py, x| apply(py, Op::Celu, &[x, float(alpha)]);

    /// `log(1 + e^(beta x)) / beta`, or x where beta x is above the threshold.
    ///
    /// >>> al.tensor([-1.0, 0.0, 100.0]).softplus()
    /// tensor([  0.3133,   0.6931, 100.0000])
    softplus[beta=1.0, threshold=20.0](beta: f64, threshold: f64) |py, x| {
        apply(py, Op::Softplus, &[x, float(beta), float(threshold)])
    };

    /// The number moved towards 0 by lambd.
    ///
    /// >>> al.tensor([-2.0, 0.25, 2.0]).softshrink()
    /// tensor([-1.5000,  0.0000,  1.5000])
    softshrink[lambd=0.5](lambd: f64) |py, x| {
        if lambd.is_nan() || lambd < 0.0 {
            return Err(out_of_range("softshrink", "lambd", lambd, "0 and above"));
        }
        apply(py, Op::Softshrink, &[x, float(lambd)])
    };

    /// The number, or 0 within lambd of it.
    ///
    /// >>> al.tensor([-2.0, 0.25, 2.0]).hardshrink()
    /// tensor([-2.,  0.,  2.])
    hardshrink[lambd=0.5](lambd: f64) |py, x| apply(py, Op::Hardshrink, &[x, float(lambd)]);

    /// The number where it is above the threshold, else the value.
    ///
    /// >>> al.tensor([-1.0, 2.0]).threshold(0.5, 9.0)
    /// tensor([9., 2.])
    threshold[threshold, value](threshold: Operand, value: Operand) |py, x| {
        let op = "threshold";
        apply(py, Op::Threshold, &[x, operand::read_other(op, threshold)?, operand::read_other(op, value)?])
    };

    /// The number within min_val and max_val. No gradient goes back at the bounds, as in torch;
    /// that of clamp does.
    ///
    /// >>> al.tensor([-3.0, 0.5, 3.0]).hardtanh()
    /// tensor([-1.0000,  0.5000,  1.0000])
    hardtanh[min_val=-1.0, max_val=1.0](min_val: f64, max_val: f64) |py, x| {
        check_bounds(min_val, max_val)?;
        apply(py, Op::Hardtanh, &[x, float(min_val), float(max_val)])
    };

    /// The number within two bounds, each of which may be missing; NaN stays.
    ///
    /// >>> al.tensor([-5, 2, 9]).clamp(0, 4)
    /// tensor([0, 2, 4])
    clamp[min=None, max=None](min: Option<Operand>, max: Option<Operand>) |py, x| {
        match (min, max) {
            (Some(min), Some(max)) => {
                let (min, max) = (operand::read_other("clamp", min)?, operand::read_other("clamp", max)?);
                apply(py, Op::Clamp, &[x, min, max])
            }
            (Some(min), None) => apply_as(py, "clamp", Op::Maximum, &[x, operand::read_other("clamp", min)?]),
            (None, Some(max)) => apply_as(py, "clamp", Op::Minimum, &[x, operand::read_other("clamp", max)?]),
            (None, None) => wrap(Ok(as_tensor("clamp", &x)?)),
        }
    };

    /// `x + weight (end - x)`, exact at both ends.
    ///
    /// >>> al.tensor([0.0, 10.0]).lerp(al.tensor([1.0, 20.0]), 0.25)
    /// tensor([ 0.2500, 12.5000])
    lerp[end, weight](end: Operand, weight: Operand) |py, x| {
        apply(py, Op::Lerp, &[x, operand::read_other("lerp", end)?, operand::read_other("lerp", weight)?])
    };

    /// `x + value tensor1 tensor2`.
    ///
    /// >>> al.tensor([1.0, 1.0]).addcmul(al.tensor([2.0, 3.0]), al.tensor([4.0, 5.0]), value=0.5)
    /// tensor([5.0000, 8.5000])
    addcmul[tensor1, tensor2, *, value=None](tensor1: Operand, tensor2: Operand, value: Option<Operand>) |py, x| {
        let (a, b) = (operand::read_other("addcmul", tensor1)?, operand::read_other("addcmul", tensor2)?);
        apply(py, Op::Addcmul, &[x, a, b, or_one("addcmul", value)?])
    };

    /// `x + value tensor1 / tensor2`.
    ///
    /// >>> al.tensor([1.0, 1.0]).addcdiv(al.tensor([2.0, 9.0]), al.tensor([4.0, 3.0]))
    /// tensor([1.5000, 4.0000])
    addcdiv[tensor1, tensor2, *, value=None](tensor1: Operand, tensor2: Operand, value: Option<Operand>) |py, x| {
        let (a, b) = (operand::read_other("addcdiv", tensor1)?, operand::read_other("addcdiv", tensor2)?);
        apply(py, Op::Addcdiv, &[x, a, b, or_one("addcdiv", value)?])
    };

    /// The number, or what stands for NaN and the infinities: by default 0 and the largest numbers
    /// of the dtype.
    ///
    /// >>> al.tensor([float("nan"), 1.0]).nan_to_num()
    /// tensor([0., 1.])
    nan_to_num[nan=0.0, posinf=None, neginf=None](nan: f64, posinf: Option<f64>, neginf: Option<f64>) |py, x| {
        let tensor = as_tensor("nan_to_num", &x)?;
        let Ok(info) = tensor.dtype().finfo() else {
            return wrap(Ok(tensor));
        };
        let bounds = [nan, posinf.unwrap_or(info.max), neginf.unwrap_or(info.min)].map(float);
        let [nan, posinf, neginf] = bounds;
        apply(py, Op::NanToNum, &[Value::Tensor(tensor), nan, posinf, neginf])
    };

    /// Where the numbers are within `atol + rtol |other|` of each other.
    ///
    /// >>> al.tensor([1.0, 2.0]).isclose(al.tensor([1.000001, 2.1]))
    /// tensor([ True, False])
    isclose[other, rtol=1e-5, atol=1e-8, equal_nan=false](other: Operand, rtol: f64, atol: f64, equal_nan: bool) |py, x| {
        let (x, other) = (as_tensor("isclose", &x)?, create::operand("isclose", other)?);
        operand::run(py, x.count(), || x.is_close_to(&other, rtol, atol, equal_nan))
    };
}

/// Refuses a number.
#[cold]
fn out_of_range(op: &'static str, what: &'static str, value: f64, accepted: &'static str) -> PyErr {
    let problem = Problem::OutOfRange {
        what,
        index: None,
        value: value.to_string(),
        accepted,
    };
    raise(Error::new(op, problem))
}

/// Refuses bounds of `hardtanh` that no number is within.
pub(crate) fn check_bounds(min_val: f64, max_val: f64) -> PyResult<()> {
    match min_val > max_val {
        true => Err(out_of_range(
            "hardtanh",
            "min_val",
            min_val,
            "numbers up to max_val",
        )),
        false => Ok(()),
    }
}

/// A sum or a difference whose second operand has a factor.
pub(crate) fn scaled(
    py: Python<'_>,
    op: &'static str,
    combine: impl for<'a> FnOnce(Of<'a>, Of<'a>, Of<'a>) -> Result<Tensor, Error> + Send,
    operands: [Value; 2],
    alpha: Operand,
) -> PyResult<PyTensor> {
    let [x, y] = operands;
    let values = [x, y, operand::read_other(op, alpha)?];
    operand::check_ints(op, &values)?;
    let largest = values.iter().map(operand::count).max().unwrap_or(0);
    let [x, y, alpha] = values.each_ref().map(Value::as_operand);
    operand::run(py, largest, || combine(x, y, alpha))
}

fn or_one(op: &'static str, value: Option<Operand>) -> PyResult<Value> {
    // Of the lowest kind, so that it changes no dtype.
    value.map_or(Ok(Value::Number(WeakScalar::Bool(true))), |value| {
        operand::read_other(op, value)
    })
}

/// A tensor of an operand: a number as a tensor of its default dtype.
pub(crate) fn as_tensor(op: &'static str, value: &Value) -> PyResult<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor.clone()),
        Value::Number(number) => {
            let dtype = number.kind().default_dtype(crate::scopes::default_dtype());
            Tensor::full(&[], *number, dtype).map_err(|error| raise(error.in_op(op)))
        }
    }
}

/// `x` where the condition is true, else `other`; of a condition alone the indices where it is true,
/// a vector per dimension.
///
/// >>> al.where(al.tensor([True, False]), 1, 2)
/// tensor([1, 2])
/// >>> al.where(al.tensor([True, False, True]))
/// (tensor([0, 2]),)
#[pyfunction(name = "where")]
#[pyo3(signature = (condition, input=None, other=None))]
pub(crate) fn where_(
    py: Python<'_>,
    condition: Operand,
    input: Option<Operand>,
    other: Option<Operand>,
) -> PyResult<Py<PyAny>> {
    let op = "where";
    let (x, y) = match (input, other) {
        (Some(input), Some(other)) => (operand::read(op, input)?, operand::read(op, other)?),
        (None, None) => {
            let condition = create::operand(op, condition)?;
            return Ok(nonzero_tuple(py, &condition)?.into_any());
        }
        _ => {
            return Err(PyTypeError::new_err(
                "where: one of two values is missing; both or none are accepted",
            ));
        }
    };
    // Numbers alone need a tensor to be a tensor.
    let condition = match operand::read(op, condition)? {
        number @ Value::Number(_) => Value::Tensor(as_tensor(op, &number)?),
        tensor => tensor,
    };
    let result = apply(py, Op::Where, &[condition, x, y])?;
    Ok(Py::new(py, result)?.into_any())
}

#[pymethods]
impl PyTensor {
    /// The number where the condition is true, else other.
    ///
    /// >>> al.tensor([1, 2]).where(al.tensor([True, False]), 0)
    /// tensor([1, 0])
    #[pyo3(name = "where")]
    fn where_method(&self, py: Python<'_>, condition: Operand, other: Operand) -> PyResult<Self> {
        let (condition, other) = (
            operand::read("where", condition)?,
            operand::read_other("where", other)?,
        );
        apply(
            py,
            Op::Where,
            &[condition, Value::Tensor(self.tensor()), other],
        )
    }

    /// The real part, without a copy.
    ///
    /// >>> al.tensor([1 + 2j, 3j]).real
    /// tensor([1., 0.])
    #[getter]
    fn real(&self) -> PyResult<Self> {
        self.see(|x| made(x.real_view()))
    }

    #[setter(real)]
    fn set_real(&self, value: Operand) -> PyResult<()> {
        self.real()?.set_item(&[], value)
    }

    /// The imaginary part, without a copy; 0 for real numbers.
    ///
    /// >>> al.tensor([1 + 2j, 3j]).imag
    /// tensor([2., 3.])
    #[getter]
    fn imag(&self) -> PyResult<Self> {
        self.see(|x| made(x.imag_view()))
    }

    #[setter(imag)]
    fn set_imag(&self, value: Operand) -> PyResult<()> {
        if !self.tensor().dtype().is_complex() {
            return Err(PyTypeError::new_err(
                "imag: real numbers have no imaginary part to set (hint: x.to(complex64))",
            ));
        }
        self.imag()?.set_item(&[], value)
    }

    /// Whether the other tensor has the same shape and equal elements.
    ///
    /// >>> al.tensor([1, 2]).equal(al.tensor([1.0, 2.0]))
    /// True
    fn equal(&self, other: Operand) -> PyResult<bool> {
        let other = create::operand("equal", other)?;
        self.tensor().equal(&other).map_err(raise)
    }

    /// Whether all numbers are within `atol + rtol |other|` of each other.
    ///
    /// >>> al.tensor([1.0]).allclose(al.tensor([1.000001]))
    /// True
    #[pyo3(signature = (other, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn allclose(&self, other: Operand, rtol: f64, atol: f64, equal_nan: bool) -> PyResult<bool> {
        let other = create::operand("allclose", other)?;
        self.tensor()
            .allclose(&other, rtol, atol, equal_nan)
            .map_err(raise)
    }
}

/// Whether two tensors have the same shape and equal elements.
///
/// >>> al.equal(al.tensor([1, 2]), al.tensor([1.0, 2.0]))
/// True
#[pyfunction]
pub(crate) fn equal(input: Operand, other: Operand) -> PyResult<bool> {
    let (x, y) = (
        create::operand("equal", input)?,
        create::operand("equal", other)?,
    );
    x.equal(&y).map_err(raise)
}

/// Whether all numbers are within `atol + rtol |other|` of each other.
///
/// >>> al.allclose(al.tensor([1.0]), al.tensor([1.000001]))
/// True
#[pyfunction]
#[pyo3(signature = (input, other, rtol=1e-5, atol=1e-8, equal_nan=false))]
pub(crate) fn allclose(
    input: Operand,
    other: Operand,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> PyResult<bool> {
    let (x, y) = (
        create::operand("allclose", input)?,
        create::operand("allclose", other)?,
    );
    x.allclose(&y, rtol, atol, equal_nan).map_err(raise)
}

/// The real part, without a copy.
///
/// >>> al.real(al.tensor([1 + 2j, 3j]))
/// tensor([1., 0.])
#[pyfunction]
pub(crate) fn real(input: Operand) -> PyResult<PyTensor> {
    view("real", input, |x| made(x.real_view()))
}

/// The imaginary part, without a copy; 0 for real numbers.
///
/// >>> al.imag(al.tensor([1 + 2j, 3j]))
/// tensor([2., 3.])
#[pyfunction]
pub(crate) fn imag(input: Operand) -> PyResult<PyTensor> {
    view("imag", input, |x| made(x.imag_view()))
}

/// A complex tensor of its parts.
///
/// >>> al.complex(al.tensor([1.0]), al.tensor([2.0]))
/// tensor([1.+2.j])
#[pyfunction]
pub(crate) fn complex(real: Operand, imag: Operand) -> PyResult<PyTensor> {
    let (re, im) = (
        create::operand("complex", real)?,
        create::operand("complex", imag)?,
    );
    wrap(re.complex(&im))
}
