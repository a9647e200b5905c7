//! `_core._init`: first values of parameters, torch's `nn.init`. Tensors are written in place and
//! returned; nothing is recorded.

use allotrope_dtype::Error;
use allotrope_nn::init::{self, Fan, Nonlinearity};
use allotrope_tensor::{Variable, Written};
use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::arguments::{Int, Number, size};
use crate::create::number_of;
use crate::error::{raise, wrong_object};
use crate::generator::{PyGenerator, source};
use crate::in_place::report;
use crate::interrupt::detach;
use crate::random::real;
use crate::tensor::PyTensor;

type Tensor<'a, 'py> = &'a Bound<'py, PyTensor>;
type Source<'a, 'py> = Option<&'a Bound<'py, PyGenerator>>;

/// Adds the functions.
pub(crate) fn register(core: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(core.py(), "allotrope.nn.init")?;
    functions::register(&module)?;
    add!(module, calculate_gain _calculate_fan_in_and_fan_out);
    core.setattr("_init", module)
}

/// Writes to a tensor, and returns it.
fn write<'py>(
    tensor: Tensor<'_, 'py>,
    fill: impl FnOnce(&Variable) -> Result<Written, Error> + Send,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, variable) = (tensor.py(), tensor.get().variable());
    let written = detach(py, || fill(variable)).map_err(raise)?;
    report(py, written)?;
    Ok(tensor.clone())
}

/// Functions of a tensor that is written over and returned: documentation, name, Python's signature,
/// Rust's arguments, and what is written.
macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident [$($signature:tt)*]($($argument:ident: $type:ty),*) |$tensor:ident, $op:ident| $body:expr;
    )*) => {
        mod functions {
            use super::*;

            $(
                $(#[doc = $doc])*
                #[pyfunction]
                #[pyo3(signature = (tensor, $($signature)*))]
                fn $name<'py>(tensor: Tensor<'_, 'py>, $($argument: $type),*) -> PyResult<Bound<'py, PyTensor>> {
                    #[allow(unused_variables, reason = "some have nothing to say of themselves")]
                    let ($tensor, $op) = (tensor, stringify!($name));
                    $body
                }
            )*

            pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}

functions! {
    /// Gives a tensor numbers from a to below b, evenly.
    ///
    /// >>> x = al.nn.init.uniform_(al.empty(100), -1.0, 1.0)
    /// >>> bool((x.abs() <= 1).all())
    /// True
    uniform_[a=0.0, b=1.0, generator=None](a: f64, b: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::uniform_(x, a, b, generator))
    };

    /// Gives a tensor normal numbers.
    ///
    /// >>> al.nn.init.normal_(al.empty(2, 3, dtype="bfloat16")).dtype
    /// allotrope.bfloat16
    normal_[mean=0.0, std=1.0, generator=None](mean: f64, std: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::normal_(x, mean, std, generator))
    };

    /// Gives a tensor normal numbers between a and b: what lies beyond is drawn again.
    ///
    /// >>> x = al.nn.init.trunc_normal_(al.empty(100), std=3.0)
    /// >>> bool((x.abs() <= 2).all())
    /// True
    trunc_normal_[mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None](mean: f64, std: f64, a: f64, b: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::trunc_normal_(x, mean, std, a, b, generator))
    };

    /// Gives all elements of a tensor one value.
    ///
    /// >>> al.nn.init.constant_(al.empty(2), 0.5)
    /// tensor([0.5000, 0.5000])
    constant_[val](val: Number) |tensor, op| {
        let value = number_of(op, val, tensor.get().tensor().dtype())?;
        write(tensor, |x| init::constant_(x, value))
    };

    /// Makes all elements of a tensor one.
    ///
    /// >>> al.nn.init.ones_(al.empty(2))
    /// tensor([1., 1.])
    ones_[]() |tensor, op| write(tensor, init::ones_);

    /// Makes all elements of a tensor zero.
    ///
    /// >>> al.nn.init.zeros_(al.ones(2, requires_grad=True))
    /// tensor([0., 0.], requires_grad=True)
    zeros_[]() |tensor, op| write(tensor, init::zeros_);

    /// Makes a matrix the identity.
    ///
    /// >>> al.nn.init.eye_(al.empty(2, 2))
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    eye_[]() |tensor, op| write(tensor, init::eye_);

    /// Makes filters hand channels on: a one in the middle of each group's diagonal.
    ///
    /// >>> al.nn.init.dirac_(al.empty(2, 2, 3))[1]
    /// tensor([[0., 0., 0.],
    ///         [0., 1., 0.]])
    dirac_[groups=Int(1)](groups: Int) |tensor, op| {
        let groups = size(op, groups.0)?;
        write(tensor, |x| init::dirac_(x, groups))
    };

    /// Gives a weight Glorot's uniform numbers, of variance 2 gain² / (fan_in + fan_out).
    ///
    /// >>> x = al.nn.init.xavier_uniform_(al.empty(3, 3))
    /// >>> bool((x.abs() <= 1).all())
    /// True
    xavier_uniform_[gain=1.0, generator=None](gain: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::xavier_uniform_(x, gain, generator))
    };

    /// Gives a weight Glorot's normal numbers, of variance 2 gain² / (fan_in + fan_out).
    ///
    /// >>> al.nn.init.xavier_normal_(al.empty(3, 5)).shape
    /// (3, 5)
    xavier_normal_[gain=1.0, generator=None](gain: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::xavier_normal_(x, gain, generator))
    };

    /// Gives a weight He's uniform numbers, of variance gain² / fan, where a is the slope of a leaky
    /// nonlinearity.
    ///
    /// >>> x = al.nn.init.kaiming_uniform_(al.empty(3, 6), nonlinearity="relu")
    /// >>> bool((x.abs() <= 1).all())
    /// True
    kaiming_uniform_[a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None](a: f64, mode: &str, nonlinearity: &str, generator: Source<'_, '_>) |tensor, op| {
        let (how, fan) = scheme(op, nonlinearity, a, mode)?;
        let generator = source(generator);
        write(tensor, |x| init::kaiming_uniform_(x, how, fan, generator))
    };

    /// Gives a weight He's normal numbers, of variance gain² / fan, where a is the slope of a leaky
    /// nonlinearity.
    ///
    /// >>> al.nn.init.kaiming_normal_(al.empty(3, 5), mode="fan_out").shape
    /// (3, 5)
    kaiming_normal_[a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None](a: f64, mode: &str, nonlinearity: &str, generator: Source<'_, '_>) |tensor, op| {
        let (how, fan) = scheme(op, nonlinearity, a, mode)?;
        let generator = source(generator);
        write(tensor, |x| init::kaiming_normal_(x, how, fan, generator))
    };

    /// Makes a weight, seen as a matrix of its first dimension and the rest, one with orthonormal rows
    /// or columns, whichever are fewer, times a gain.
    ///
    /// >>> x = al.nn.init.orthogonal_(al.empty(2, 3))
    /// >>> al.allclose(x @ x.T, al.eye(2), atol=1e-6)
    /// True
    orthogonal_[gain=1.0, generator=None](gain: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::orthogonal_(x, gain, generator))
    };

    /// Gives a matrix normal numbers of which a share, the same in each column, is zero.
    ///
    /// >>> (al.nn.init.sparse_(al.empty(10, 2), 0.3) == 0).sum(0)
    /// tensor([3, 3])
    sparse_[sparsity, std=0.01, generator=None](sparsity: f64, std: f64, generator: Source<'_, '_>) |tensor, op| {
        let generator = source(generator);
        write(tensor, |x| init::sparse_(x, sparsity, std, generator))
    };
}

/// What He's schemes are told.
fn scheme(
    op: &'static str,
    nonlinearity: &str,
    slope: f64,
    mode: &str,
) -> PyResult<(Nonlinearity, Fan)> {
    let how = Nonlinearity::parse(op, nonlinearity, Some(slope)).map_err(raise)?;
    // torch has any case.
    let fan = Fan::parse(op, &mode.to_lowercase()).map_err(raise)?;
    Ok((how, fan))
}

/// What weights before a nonlinearity are multiplied by, so that it keeps the variance; param is the
/// slope of a leaky one, 0.01 if none is given.
///
/// >>> al.nn.init.calculate_gain("tanh")
/// 1.6666666666666667
#[pyfunction]
#[pyo3(signature = (nonlinearity, param=None))]
fn calculate_gain(nonlinearity: &str, param: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    let op = "calculate_gain";
    let slope = param.map(|param| {
        let is_truth = param.is_instance_of::<pyo3::types::PyBool>();
        match is_truth {
            true => Err(wrong_object(op, "not a slope", param, "real numbers")),
            false => real(op, param),
        }
    });
    let how = Nonlinearity::parse(op, nonlinearity, slope.transpose()?);
    Ok(how.map_err(raise)?.gain())
}

/// How many inputs an output of a weight is made of, and how many outputs an input goes to.
///
/// >>> al.nn.init._calculate_fan_in_and_fan_out(al.empty(8, 3, 5, 5))
/// (75, 200)
#[pyfunction]
fn _calculate_fan_in_and_fan_out(tensor: Tensor<'_, '_>) -> PyResult<(usize, usize)> {
    init::fans(tensor.get().tensor().shape()).map_err(raise)
}
