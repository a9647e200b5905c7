//! Random tensors of distributions, and indices drawn by weights.
//!
//! Those that torch has are functions of the package and in-place methods; all are in `al.random`.

use allotrope_dtype::DType;
use allotrope_tensor::{Distribution, Options as Placement, Parameter, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyTuple};

use crate::arguments::{
    DTypeOrFamily, Int, Ints, Operand, Real, needed, size as read_size, sizes as read_sizes,
};
use crate::create::{operand, placed, resolve};
use crate::device::device_or_default;
use crate::error::raise;
use crate::generator::{PyGenerator, source};
use crate::interrupt::detach;
use crate::random::{real, redraw};
use crate::scopes;
use crate::tensor::{PyTensor, as_tensor, wrap};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Source<'a, 'py> = Option<&'a Bound<'py, PyGenerator>>;

/// A parameter that owns what it refers to.
enum Given {
    Number(f64),
    Tensor(Tensor),
}

impl Given {
    fn read(op: &'static str, object: Any<'_, '_>) -> PyResult<Self> {
        if let Some(tensor) = as_tensor(object) {
            return Ok(Self::Tensor(tensor));
        }
        match object.extract::<f64>() {
            Ok(number) => Ok(Self::Number(number)),
            Err(_) => operand(op, object).map(Self::Tensor),
        }
    }

    fn as_parameter(&self) -> Parameter<'_> {
        match self {
            Self::Number(number) => Parameter::Number(*number),
            Self::Tensor(tensor) => Parameter::Tensor(tensor),
        }
    }
}

/// What every function takes beside its parameters.
struct Options<'a, 'py> {
    size: Option<Any<'a, 'py>>,
    generator: Source<'a, 'py>,
    dtype: Option<Any<'a, 'py>>,
    device: Option<&'a str>,
}

/// Draws from a law, whose parameters may have defaults.
fn sample(
    py: Python<'_>,
    law: Distribution,
    given: &[(Option<Any<'_, '_>>, Option<f64>)],
    options: &Options<'_, '_>,
) -> PyResult<PyTensor> {
    let op = law.name();
    let mut values = Vec::with_capacity(given.len());
    for ((object, default), parameter) in given.iter().zip(law.parameters()) {
        values.push(match (object, default) {
            (Some(object), _) => Given::read(op, object)?,
            (None, default) => Given::Number(needed(op, parameter.name, *default)?),
        });
    }
    let sizes = options
        .size
        .map(|size| read_sizes(op, &PyTuple::empty(py), Some(size)))
        .transpose()?;
    let parameters: Vec<Parameter<'_>> = values.iter().map(Given::as_parameter).collect();
    let wanted = match options.dtype {
        Some(dtype) => {
            let own = law.is_integer().then_some(DType::I64);
            Some(resolve(op, Some(dtype), options.device, || Ok(own))?)
        }
        None => None,
    };
    let beside = values.iter().find_map(|given| match given {
        Given::Tensor(tensor) => Some(tensor.device()),
        Given::Number(_) => None,
    });
    let generator = source(options.generator);
    scopes::sync();
    let dtype = wanted.map(|wanted| wanted.dtype);
    let device = match (options.device, beside) {
        (None, Some(beside)) => beside,
        (given, _) => device_or_default(op, given)?,
    };
    // Beside its parameters, if there are tensors among them.
    let at = beside.unwrap_or(device);
    let drawn = detach(py, || {
        Tensor::sample_on(at, law, &parameters, sizes.as_deref(), dtype, generator)
    });
    let drawn = drawn.map_err(raise)?;
    let wanted = wanted.unwrap_or_else(|| Placement::new(drawn.dtype(), device));
    Ok(placed(op, Ok(drawn), Placement { device, ..wanted })?.into())
}

/// The functions of `al.random`: documentation, name, law, parameters with their defaults.
macro_rules! laws {
    ($($(#[doc = $doc:literal])* $name:ident $law:ident ($($parameter:ident $default:expr),*);)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[allow(clippy::too_many_arguments, reason = "the arguments of Python's function")]
            #[pyo3(signature = ($($parameter=None,)* size=None, *, generator=None, dtype=None, device=None))]
            fn $name(
                py: Python<'_>,
                $($parameter: Option<Operand>,)*
                size: Option<Ints>,
                generator: Source<'_, '_>,
                dtype: Option<DTypeOrFamily>,
                device: Option<&str>,
            ) -> PyResult<PyTensor> {
                let options = Options { size, generator, dtype, device };
                sample(py, Distribution::$law, &[$(($parameter, $default)),*], &options)
            }
        )*

        /// Adds the functions of `al.random`, in a module of their own.
        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            let own = PyModule::new(module.py(), "_distributions")?;
            $(own.add_function(wrap_pyfunction!($name, &own)?)?;)*
            add!(own, dirichlet categorical);
            module.add_submodule(&own)
        }
    };
}
laws! {
    /// Times to the next of events that come at a rate: numbers with mean 1 / rate.
    ///
    /// Here and in the other distributions, parameters are numbers, or tensors, which are broadcast
    /// to the size if one is given. Numbers are drawn in float64 and rounded to the dtype: by default
    /// that of the tensors, or the default dtype.
    ///
    /// >>> al.random.exponential(2.0, (2, 3)).shape
    /// (2, 3)
    exponential Exponential (rate Some(1.0));
    /// Exponential numbers to both sides of loc, with standard deviation √2 scale.
    ///
    /// >>> al.random.laplace(0.0, al.tensor([0.0, 0.0]))
    /// tensor([0., 0.])
    laplace Laplace (loc Some(0.0), scale Some(1.0));
    /// Numbers without a mean, half of which are within sigma of the median.
    ///
    /// >>> al.random.cauchy(size=3, dtype="bfloat16").dtype
    /// allotrope.bfloat16
    cauchy Cauchy (median Some(0.0), sigma Some(1.0));
    /// Exponentials of normal numbers with this mean and standard deviation.
    ///
    /// >>> al.random.log_normal(0.0, 0.0, 2)
    /// tensor([1., 1.])
    log_normal LogNormal (mean Some(0.0), std Some(1.0));
    /// The trials up to the first success, each of which has probability p: integers from 1 on.
    ///
    /// >>> al.random.geometric(1.0, 3)
    /// tensor([1, 1, 1])
    geometric Geometric (p None);
    /// Gamma numbers: times to the shape-th of events that come at a rate.
    ///
    /// >>> al.random.gamma(al.tensor([0.5, 5.0]), 2.0).shape
    /// (2,)
    gamma Gamma (shape None, rate Some(1.0));
    /// Numbers between 0 and 1 with mean a / (a + b).
    ///
    /// >>> 0 <= al.random.beta(0.5, 2.0, ()).item() <= 1
    /// True
    beta Beta (a None, b None);
    /// Sums of df squares of normal numbers.
    ///
    /// >>> al.random.chi2(3, (4,)).shape
    /// (4,)
    chi2 ChiSquare (df None);
    /// Student's t with df degrees of freedom.
    ///
    /// >>> al.random.student_t(5.0, (4,)).shape
    /// (4,)
    student_t StudentT (df None);
    /// Numbers of events in a unit of time, which come at a rate: integers from 0 on.
    ///
    /// >>> al.random.poisson(0.0, (2,))
    /// tensor([0, 0])
    poisson Poisson (rate None);
    /// Successes of count trials, each of which has probability prob.
    ///
    /// >>> al.random.binomial(5, 1.0, (2,), dtype="uint8")
    /// tensor([5, 5], dtype=uint8)
    binomial Binomial (count None, prob None);
    /// Normal numbers with this mean and standard deviation that lie between a and b: far from the
    /// mean, too.
    ///
    /// >>> x = al.random.truncated_normal(0.0, 1.0, 20.0, 21.0, (100,))
    /// >>> 20 <= x.min().item() and x.max().item() <= 21
    /// True
    truncated_normal TruncatedNormal (mean Some(0.0), std Some(1.0), a Some(-2.0), b Some(2.0));
}

/// Shares that sum up to one along the last dimension, by Dirichlet's distribution of these
/// concentrations.
///
/// >>> al.random.dirichlet(al.ones(2, 3, dtype="float64")).sum(-1).float()
/// tensor([1., 1.])
#[pyfunction]
#[pyo3(signature = (concentration, *, generator=None))]
fn dirichlet(
    py: Python<'_>,
    concentration: Operand,
    generator: Source<'_, '_>,
) -> PyResult<PyTensor> {
    let (tensor, generator) = (operand("dirichlet", concentration)?, source(generator));
    wrap(detach(py, || tensor.dirichlet(generator)))
}

/// One index into the last dimension for each row of weights there: `multinomial` of one sample.
///
/// >>> al.random.categorical(al.tensor([[0.0, 1.0], [3.0, 0.0]]))
/// tensor([1, 0])
#[pyfunction]
#[pyo3(signature = (probs, *, generator=None))]
fn categorical(py: Python<'_>, probs: Operand, generator: Source<'_, '_>) -> PyResult<PyTensor> {
    let (tensor, generator) = (operand("categorical", probs)?, source(generator));
    let drawn = detach(py, || {
        let drawn = tensor.multinomial(1, true, generator)?;
        drawn.squeeze(Some(&[-1]))
    });
    wrap(drawn.map_err(|error| error.in_op("categorical")))
}

/// Numbers of events at the rates that stand in input, in its shape and dtype.
///
/// >>> al.poisson(al.tensor([0.0, 0.0], dtype="bfloat16"))
/// tensor([0., 0.], dtype=bfloat16)
#[pyfunction]
#[pyo3(name = "poisson", signature = (input, generator=None))]
pub(crate) fn poisson_of(
    py: Python<'_>,
    input: Operand,
    generator: Source<'_, '_>,
) -> PyResult<PyTensor> {
    let input = operand("poisson", input)?;
    let generator = source(generator);
    let rates = [Parameter::Tensor(&input)];
    wrap(detach(py, || {
        Tensor::sample(Distribution::Poisson, &rates, None, None, generator)
    }))
}

/// Successes of count trials, each of which has probability prob: tensors, which are broadcast.
///
/// >>> al.binomial(al.tensor([3.0, 5.0]), al.tensor(1.0))
/// tensor([3., 5.])
#[pyfunction]
#[pyo3(name = "binomial", signature = (count, prob, generator=None))]
pub(crate) fn binomial_of(
    py: Python<'_>,
    count: Operand,
    prob: Operand,
    generator: Source<'_, '_>,
) -> PyResult<PyTensor> {
    let (count, prob) = (operand("binomial", count)?, operand("binomial", prob)?);
    let generator = source(generator);
    let parameters = [Parameter::Tensor(&count), Parameter::Tensor(&prob)];
    wrap(detach(py, || {
        Tensor::sample(Distribution::Binomial, &parameters, None, None, generator)
    }))
}

/// Indices into the last dimension, drawn by the weights that stand there: num_samples in its place.
///
/// Weights are of any real dtype and need not sum up to one; there may be any number of dimensions
/// before them. Without replacement no index is drawn twice.
///
/// >>> al.multinomial(al.tensor([0, 3, 0, 1]), 5, replacement=True).shape
/// (5,)
/// >>> sorted(al.multinomial(al.tensor([0.0, 3.0, 0.0, 1.0]), 2).tolist())
/// [1, 3]
#[pyfunction]
#[pyo3(signature = (input, num_samples, replacement=false, *, generator=None))]
pub(crate) fn multinomial(
    py: Python<'_>,
    input: Operand,
    num_samples: Int,
    replacement: bool,
    generator: Source<'_, '_>,
) -> PyResult<PyTensor> {
    let input = PyTensor::from(operand("multinomial", input)?);
    input.multinomial(py, num_samples, replacement, generator)
}

#[pymethods]
impl PyTensor {
    /// Indices into the last dimension, drawn by the weights that stand there.
    ///
    /// >>> al.tensor([0.0, 1.0]).multinomial(3, replacement=True)
    /// tensor([1, 1, 1])
    #[pyo3(signature = (num_samples, replacement=false, *, generator=None))]
    fn multinomial(
        &self,
        py: Python<'_>,
        num_samples: Int,
        replacement: bool,
        generator: Source<'_, '_>,
    ) -> PyResult<Self> {
        let count = read_size("multinomial", num_samples.0)?;
        let (tensor, generator) = (self.tensor(), source(generator));
        wrap(detach(py, || {
            tensor.multinomial(count, replacement, generator)
        }))
    }
}

/// In-place methods: documentation, name, law, parameters with their defaults.
macro_rules! in_place {
    ($($(#[doc = $doc:literal])* $name:ident $law:ident ($($parameter:ident $default:expr),*);)*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = ($($parameter=None,)* *, generator=None))]
            fn $name<'py>(
                this: &Bound<'py, Self>,
                $($parameter: Option<Real>,)*
                generator: Source<'_, '_>,
            ) -> PyResult<Bound<'py, Self>> {
                const OP: &str = stringify!($name);
                let generator = source(generator);
                let parameters = [$({
                    let number = $parameter.map(|given| real(OP, given)).transpose()?;
                    let default: Option<f64> = $default;
                    Parameter::Number(needed(OP, stringify!($parameter), number.or(default))?)
                }),*];
                redraw(this, OP, |x| x.sample_like(Distribution::$law, &parameters, generator))
            }
        )*}
    };
}
in_place! {
    /// Gives this tensor exponential numbers, which have mean 1 / lambd.
    ///
    /// >>> x = al.empty(1000).exponential_(2.0)
    /// >>> x.min().item() >= 0, x.shape
    /// (True, (1000,))
    exponential_ Exponential (lambd Some(1.0));
    /// Gives this tensor numbers of Cauchy's distribution.
    ///
    /// >>> al.empty(3, dtype="float16").cauchy_().dtype
    /// allotrope.float16
    cauchy_ Cauchy (median Some(0.0), sigma Some(1.0));
    /// Gives this tensor exponentials of normal numbers with this mean and standard deviation.
    ///
    /// >>> al.empty(2).log_normal_(0.0, 0.0)
    /// tensor([1., 1.])
    log_normal_ LogNormal (mean Some(1.0), std Some(2.0));
    /// Gives this tensor numbers of trials up to the first success, which has probability p.
    ///
    /// >>> al.empty(3).geometric_(1.0)
    /// tensor([1., 1., 1.])
    geometric_ Geometric (p None);
    /// Gives this tensor normal numbers between a and b.
    ///
    /// >>> x = al.empty(1000).trunc_normal_(std=3.0)
    /// >>> -2 <= x.min().item() and x.max().item() <= 2
    /// True
    trunc_normal_ TruncatedNormal (mean Some(0.0), std Some(1.0), a Some(-2.0), b Some(2.0));
}
