//! Elementwise operations with torch's options: each is declared once, as a method of `Tensor` and
//! as a function of the module.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::Op;
use allotrope_tensor::Tensor;
use pyo3::prelude::*;

use crate::convert;
use crate::create;
use crate::elementwise::apply;
use crate::error::raise;
use crate::operand::{self, Value, float};
use crate::tensor::{PyTensor, wrap};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A method and a function from one row: documentation, name, Python's signature, Rust's arguments,
/// and what becomes of the input.
macro_rules! forms {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident[$($signature:tt)*]($($argument:ident: $type:ty),*)
            |$py:ident, $x:ident| $body:expr;
    )*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($signature)*))]
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
                #[pyo3(signature = (input, $($signature)*))]
                pub(crate) fn $name(
                    py: Python<'_>,
                    input: &Bound<'_, PyAny>
                    $(, $argument: $type)*
                ) -> PyResult<PyTensor> {
                    let ($py, $x) = (py, operand::read(stringify!($name), input)?);
                    $body
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
    /// >>> al.add(al.tensor([1, 2]), 10)
    /// tensor([11, 12])
    add[other, *, alpha=None](other: Any<'_, '_>, alpha: Option<Any<'_, '_>>) |py, x| {
        let other = scaled(py, "add", other, alpha)?;
        apply(py, Op::Add, &[x, other])
    };

    /// The difference, `x - alpha * other`.
    sub[other, *, alpha=None](other: Any<'_, '_>, alpha: Option<Any<'_, '_>>) |py, x| {
        let other = scaled(py, "sub", other, alpha)?;
        apply(py, Op::Sub, &[x, other])
    };

    /// The quotient; of integers a float. rounding_mode is None, "trunc" or "floor".
    ///
    /// >>> al.tensor([7, -7]).div(2, rounding_mode="floor")
    /// tensor([ 3, -4])
    div[other, *, rounding_mode=None](other: Any<'_, '_>, rounding_mode: Option<&str>) |py, x| {
        let op = match rounding_mode {
            None => Op::Div,
            Some("trunc") => Op::TruncDivide,
            Some("floor") => Op::FloorDivide,
            Some(given) => {
                let accepted = ["trunc", "floor"];
                return Err(raise(Error::unknown_option("div", "rounding_mode", given, &accepted)));
            }
        };
        apply(py, op, &[x, operand::read("div", other)?])
    };

    /// The nearest number with so many decimals, ties to even; negative ones round to tens.
    ///
    /// >>> al.tensor([2.5, 3.14159]).round(decimals=2)
    /// tensor([2.5000, 3.1400])
    round[*, decimals=0](decimals: i32) |py, x| {
        let whole = matches!(&x, Value::Tensor(t) if !Set::Inexact.contains(t.dtype()));
        if decimals == 0 || whole && decimals > 0 {
            return apply(py, Op::Round, &[x]);
        }
        let scale = 10_f64.powi(decimals.abs());
        let (up, down) = if decimals > 0 { (Op::Mul, Op::Div) } else { (Op::Div, Op::Mul) };
        let moved = apply(py, up, &[x, float(scale)])?;
        let rounded = apply(py, Op::Round, &[Value::Tensor(moved.tensor())])?;
        apply(py, down, &[Value::Tensor(rounded.tensor()), float(scale)])
    };

    /// The inverse of the logistic function, `log(x / (1 - x))`, of numbers within eps and 1 - eps.
    logit[eps=None](eps: Option<f64>) |py, x| match eps {
        None => apply(py, Op::Logit, &[x]),
        Some(eps) => {
            let within = apply(py, Op::Clamp, &[x, float(eps), float(1.0 - eps)])?;
            apply(py, Op::Logit, &[Value::Tensor(within.tensor())])
        }
    };

    /// x times the normal distribution function of x; approximate is "none" or "tanh".
    gelu[approximate="none"](approximate: &str) |py, x| match approximate {
        "none" => apply(py, Op::Gelu, &[x]),
        "tanh" => apply(py, Op::GeluTanh, &[x]),
        given => Err(raise(Error::unknown_option("gelu", "approximate", given, &["none", "tanh"]))),
    };

    /// The number, or negative_slope times it below 0.
    leaky_relu[negative_slope=0.01](negative_slope: f64) |py, x| apply(py, Op::LeakyRelu, &[x, float(negative_slope)]);

    /// The number, or weight times it below 0.
    prelu[weight](weight: Any<'_, '_>) |py, x| {
        apply(py, Op::LeakyRelu, &[x, operand::read("prelu", weight)?])
    };

    /// The number, or `alpha (eˣ - 1)` below 0.
    elu[alpha=1.0](alpha: f64) |py, x| apply(py, Op::Elu, &[x, float(alpha)]);

    /// The number, or `alpha (e^(x / alpha) - 1)` below 0.
    celu[alpha=1.0](alpha: f64) |py, x| apply(py, Op::Celu, &[x, float(alpha)]);

    /// `log(1 + e^(beta x)) / beta`, or x where beta x is above the threshold.
    softplus[beta=1.0, threshold=20.0](beta: f64, threshold: f64) |py, x| {
        apply(py, Op::Softplus, &[x, float(beta), float(threshold)])
    };

    /// The number moved towards 0 by lambd.
    softshrink[lambd=0.5](lambd: f64) |py, x| apply(py, Op::Softshrink, &[x, float(lambd)]);

    /// The number, or 0 within lambd of it.
    hardshrink[lambd=0.5](lambd: f64) |py, x| apply(py, Op::Hardshrink, &[x, float(lambd)]);

    /// The number where it is above the threshold, else the value.
    threshold[threshold, value](threshold: Any<'_, '_>, value: Any<'_, '_>) |py, x| {
        let op = "threshold";
        apply(py, Op::Threshold, &[x, operand::read(op, threshold)?, operand::read(op, value)?])
    };

    /// The number within min_val and max_val.
    hardtanh[min_val=-1.0, max_val=1.0](min_val: f64, max_val: f64) |py, x| {
        apply(py, Op::Clamp, &[x, float(min_val), float(max_val)])
    };

    /// The number within two bounds, each of which may be missing; NaN stays.
    ///
    /// >>> al.tensor([-5, 2, 9]).clamp(0, 4)
    /// tensor([0, 2, 4])
    clamp[min=None, max=None](min: Option<Any<'_, '_>>, max: Option<Any<'_, '_>>) |py, x| {
        match (min, max) {
            (Some(min), Some(max)) => {
                let (min, max) = (operand::read("clamp", min)?, operand::read("clamp", max)?);
                apply(py, Op::Clamp, &[x, min, max])
            }
            (Some(min), None) => apply(py, Op::Maximum, &[x, operand::read("clamp", min)?]),
            (None, Some(max)) => apply(py, Op::Minimum, &[x, operand::read("clamp", max)?]),
            (None, None) => apply(py, Op::Positive, &[x]),
        }
    };

    /// `x + weight (end - x)`, exact at both ends.
    lerp[end, weight](end: Any<'_, '_>, weight: Any<'_, '_>) |py, x| {
        apply(py, Op::Lerp, &[x, operand::read("lerp", end)?, operand::read("lerp", weight)?])
    };

    /// `x + value tensor1 tensor2`.
    addcmul[tensor1, tensor2, *, value=None](tensor1: Any<'_, '_>, tensor2: Any<'_, '_>, value: Option<Any<'_, '_>>) |py, x| {
        let (a, b) = (operand::read("addcmul", tensor1)?, operand::read("addcmul", tensor2)?);
        apply(py, Op::Addcmul, &[x, a, b, or_one("addcmul", value)?])
    };

    /// `x + value tensor1 / tensor2`.
    addcdiv[tensor1, tensor2, *, value=None](tensor1: Any<'_, '_>, tensor2: Any<'_, '_>, value: Option<Any<'_, '_>>) |py, x| {
        let (a, b) = (operand::read("addcdiv", tensor1)?, operand::read("addcdiv", tensor2)?);
        apply(py, Op::Addcdiv, &[x, a, b, or_one("addcdiv", value)?])
    };

    /// The number, or what stands for NaN and the infinities: by default 0 and the largest numbers
    /// of the dtype.
    ///
    /// >>> al.tensor([float("nan"), 1.0]).nan_to_num()
    /// tensor([0., 1.])
    nan_to_num[nan=0.0, posinf=None, neginf=None](nan: f64, posinf: Option<f64>, neginf: Option<f64>) |py, x| {
        let dtype = match &x {
            Value::Tensor(tensor) => tensor.dtype(),
            Value::Number(_) => allotrope_dtype::default_dtype(),
        };
        let (least, most) = dtype.finfo().map_or((0.0, 0.0), |info| (info.min, info.max));
        if dtype.finfo().is_err() {
            return apply(py, Op::NanToNum, &[x, float_or_zero(0), float_or_zero(0), float_or_zero(0)]);
        }
        let bounds = [nan, posinf.unwrap_or(most), neginf.unwrap_or(least)].map(float);
        let [nan, posinf, neginf] = bounds;
        apply(py, Op::NanToNum, &[x, nan, posinf, neginf])
    };

    /// Where the numbers are within `atol + rtol |other|` of each other.
    isclose[other, rtol=1e-5, atol=1e-8, equal_nan=false](other: Any<'_, '_>, rtol: f64, atol: f64, equal_nan: bool) |py, x| {
        let (x, other) = (as_tensor("isclose", &x)?, create::operand("isclose", other)?);
        operand::run(py, x.count(), || x.is_close_to(&other, rtol, atol, equal_nan))
    };
}

/// An operand times a factor, if there is one.
fn scaled(
    py: Python<'_>,
    op: &'static str,
    other: &Bound<'_, PyAny>,
    alpha: Option<&Bound<'_, PyAny>>,
) -> PyResult<Value> {
    let other = operand::read(op, other)?;
    match alpha {
        None => Ok(other),
        Some(alpha) => {
            let product = apply(py, Op::Mul, &[other, operand::read(op, alpha)?])?;
            Ok(Value::Tensor(product.tensor()))
        }
    }
}

fn or_one(op: &'static str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Value> {
    value.map_or(Ok(Value::Number(WeakScalar::Int(1))), |value| {
        operand::read(op, value)
    })
}

fn float_or_zero(value: i64) -> Value {
    Value::Number(WeakScalar::Int(value.into()))
}

/// A tensor of an operand: a number as a tensor of its default dtype.
pub(crate) fn as_tensor(op: &'static str, value: &Value) -> PyResult<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor.clone()),
        Value::Number(number) => {
            let dtype = number
                .kind()
                .default_dtype(allotrope_dtype::default_dtype());
            Tensor::full(&[], *number, dtype).map_err(|error| raise(error.in_op(op)))
        }
    }
}

/// `x` where the condition is true, else `other`.
///
/// >>> al.where(al.tensor([True, False]), 1, 2)
/// tensor([1, 2])
#[pyfunction(name = "where")]
#[pyo3(signature = (condition, input=None, other=None))]
pub(crate) fn where_(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    input: Option<&Bound<'_, PyAny>>,
    other: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    let op = "where";
    let condition = operand::read(op, condition)?;
    match (input, other) {
        (Some(input), Some(other)) => {
            let values = [
                condition,
                operand::read(op, input)?,
                operand::read(op, other)?,
            ];
            // Numbers alone need a tensor to be a tensor.
            if let [Value::Number(_), Value::Number(_), Value::Number(_)] = values {
                let condition = Value::Tensor(as_tensor(op, &values[0])?);
                let [_, x, y] = values;
                return apply(py, Op::Where, &[condition, x, y]);
            }
            apply(py, Op::Where, &values)
        }
        _ => {
            let problem = Problem::LengthMismatch { from: 1, to: 3 };
            Err(raise(Error::new(op, problem)))
        }
    }
}

#[pymethods]
impl PyTensor {
    /// The number where the condition is true, else other.
    #[pyo3(name = "where")]
    fn where_method(
        &self,
        py: Python<'_>,
        condition: &Bound<'_, PyAny>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (condition, other) = (
            operand::read("where", condition)?,
            operand::read("where", other)?,
        );
        apply(
            py,
            Op::Where,
            &[condition, Value::Tensor(self.tensor()), other],
        )
    }

    /// The real part.
    #[getter]
    fn real(&self, py: Python<'_>) -> PyResult<Self> {
        apply(py, Op::RealPart, &[Value::Tensor(self.tensor())])
    }

    /// The imaginary part; 0 for real numbers.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<Self> {
        apply(py, Op::ImagPart, &[Value::Tensor(self.tensor())])
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = crate::index::read_key(key)?;
        let value = operand::read("setitem", value)?;
        self.change(|tensor| tensor.assign(&key, value.as_operand()))
            .map_err(raise)
    }

    /// Gives this object another value and returns it.
    fn _replace<'py>(this: &Bound<'py, Self>, value: &Bound<'_, Self>) -> Bound<'py, Self> {
        this.get().replace(value.get().tensor());
        this.clone()
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
        this.get().replace(result.tensor());
        Ok(this.clone())
    }

    /// Whether the other tensor has the same shape and equal elements.
    fn equal(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = create::operand("equal", other)?;
        self.tensor().equal(&other).map_err(raise)
    }

    /// Whether all numbers are within `atol + rtol |other|` of each other.
    #[pyo3(signature = (other, rtol=1e-5, atol=1e-8, equal_nan=false))]
    fn allclose(
        &self,
        other: &Bound<'_, PyAny>,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> PyResult<bool> {
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
pub(crate) fn equal(input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (x, y) = (
        create::operand("equal", input)?,
        create::operand("equal", other)?,
    );
    x.equal(&y).map_err(raise)
}

/// Whether all numbers are within `atol + rtol |other|` of each other.
#[pyfunction]
#[pyo3(signature = (input, other, rtol=1e-5, atol=1e-8, equal_nan=false))]
pub(crate) fn allclose(
    input: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
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

/// The real part.
#[pyfunction]
pub(crate) fn real(py: Python<'_>, input: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    apply(py, Op::RealPart, &[operand::read("real", input)?])
}

/// The imaginary part; 0 for real numbers.
#[pyfunction]
pub(crate) fn imag(py: Python<'_>, input: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    apply(py, Op::ImagPart, &[operand::read("imag", input)?])
}

/// A complex tensor of its parts.
///
/// >>> al.complex(al.tensor([1.0]), al.tensor([2.0]))
/// tensor([1.+2.j])
#[pyfunction]
pub(crate) fn complex(real: &Bound<'_, PyAny>, imag: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    let (re, im) = (
        create::operand("complex", real)?,
        create::operand("complex", imag)?,
    );
    let unit = WeakScalar::Complex(allotrope_dtype::c128::new(0.0, 1.0));
    wrap(im.mul(unit).and_then(|im| re.add(&im)))
}
