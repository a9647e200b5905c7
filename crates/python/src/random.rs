//! Random tensors.

use allotrope_dtype::{DType, Error};
use allotrope_tensor::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    DTypeOrFamily, Format, Int, Integer, Ints, Operand, needed, size, sizes as read_sizes,
};
use crate::create::{as_leaf, operand, placed, resolve, resolve_like};
use crate::error::{raise, wrong_object};
use crate::generator::{PyGenerator, integer, source};
use crate::in_place::report;
use crate::interrupt::detach;
use crate::memory_format::arrange;
use crate::tensor::{PyTensor, as_tensor, wrap};

/// A function of sizes, a dtype and a generator per row.
macro_rules! of_sizes {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*sizes, size=None, generator=None, dtype=None, device=None, requires_grad=false))]
        pub(crate) fn $name(
            py: Python<'_>,
            sizes: &Bound<'_, PyTuple>,
            size: Option<Ints>,
            generator: Option<&Bound<'_, PyGenerator>>,
            dtype: Option<DTypeOrFamily>,
            device: Option<&str>,
            requires_grad: bool,
        ) -> PyResult<PyTensor> {
            const OP: &str = stringify!($name);
            let options = resolve(OP, dtype, device, || Ok(None))?;
            let (sizes, generator) = (read_sizes(OP, sizes, size)?, source(generator));
            let drawn = detach(py, || Tensor::$name(&sizes, options, generator));
            as_leaf(Ok(placed(OP, drawn, options)?.into()), requires_grad)
        }
    )*};
}
of_sizes! {
    /// Numbers from 0 to below 1, evenly; both parts of complex numbers.
    ///
    /// float32 has 24 random bits, float64 has 53; narrower floats are rounded down from float32.
    ///
    /// >>> al.rand(2, 3, dtype="bfloat16").shape
    /// (2, 3)
    rand;
    /// Normal numbers with mean 0 and variance 1; the parts of complex numbers have 1/2 each.
    ///
    /// >>> al.randn(3, dtype="complex64").dtype
    /// allotrope.complex64
    randn;
}

/// The same in the shape of another tensor, and in its dtype if none is given, per row.
macro_rules! of_likes {
    ($($(#[doc = $doc:literal])* $name:ident $plain:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, generator=None, dtype=None, device=None, requires_grad=false, memory_format=None))]
        pub(crate) fn $name(
            py: Python<'_>,
            input: Operand,
            generator: Option<&Bound<'_, PyGenerator>>,
            dtype: Option<DTypeOrFamily>,
            device: Option<&str>,
            requires_grad: bool,
            memory_format: Option<Format>,
        ) -> PyResult<PyTensor> {
            const OP: &str = stringify!($name);
            let like = operand(OP, input)?;
            let options = resolve_like(OP, dtype, device, &like)?;
            let generator = source(generator);
            let drawn = detach(py, || Tensor::$plain(like.shape(), options, generator));
            let drawn = placed(OP, drawn, options)?;
            as_leaf(wrap(Ok(arrange(OP, drawn, memory_format)?)), requires_grad)
        }
    )*};
}
of_likes! {
    /// `rand` in the shape of another tensor, and in its dtype if none is given.
    ///
    /// >>> al.rand_like(al.zeros(2, 3)).shape
    /// (2, 3)
    rand_like rand;
    /// `randn` in the shape of another tensor, and in its dtype if none is given.
    ///
    /// >>> al.randn_like(al.zeros(2, dtype="float16")).dtype
    /// allotrope.float16
    randn_like randn;
}

/// Numbers from low to below high, evenly; both parts of complex numbers.
///
/// >>> al.uniform(-1, 1, (2, 3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (low=0.0, high=1.0, size=None, *, generator=None, dtype=None, device=None))]
pub(crate) fn uniform(
    py: Python<'_>,
    low: f64,
    high: f64,
    size: Option<Ints>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    const OP: &str = "uniform";
    let options = resolve(OP, dtype, device, || Ok(None))?;
    let sizes = read_sizes(OP, &PyTuple::empty(py), size)?;
    let generator = source(generator);
    let drawn = detach(py, || {
        Tensor::uniform(&sizes, low, high, options, generator)
    });
    Ok(placed(OP, drawn, options)?.into())
}

/// Normal numbers with these means and standard deviations: numbers with a size, or tensors, which
/// are broadcast.
///
/// >>> al.normal(0.0, 1.0, (2, 3)).shape
/// (2, 3)
/// >>> al.normal(al.tensor([1.0, 100.0]), 0.0)
/// tensor([  1., 100.])
#[pyfunction]
#[pyo3(signature = (mean=None, std=None, size=None, *, generator=None, dtype=None, device=None))]
pub(crate) fn normal(
    py: Python<'_>,
    mean: Option<Operand>,
    std: Option<Operand>,
    size: Option<Ints>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    const OP: &str = "normal";
    let generator = source(generator);
    let tensors = (mean.and_then(as_tensor), std.and_then(as_tensor));
    let moment = |given: Option<&Bound<'_, PyAny>>, default| {
        given.map_or(Ok(default), |given| real(OP, given))
    };
    // A number beside a tensor has its dtype.
    let like = |number: f64, tensor: &Tensor| tensor.new_full(&[], number, tensor.dtype());
    let (means, deviations) = match tensors {
        (None, None) => {
            let options = resolve(OP, dtype, device, || Ok(None))?;
            let (mean, std) = (moment(mean, 0.0)?, moment(std, 1.0)?);
            let size = needed(OP, "size", size)?;
            let sizes = read_sizes(OP, &PyTuple::empty(py), Some(size))?;
            let drawn = detach(py, || Tensor::normal(&sizes, mean, std, options, generator));
            return Ok(placed(OP, drawn, options)?.into());
        }
        (Some(means), None) => {
            let deviations = like(moment(std, 1.0)?, &means);
            (means, deviations.map_err(|error| raise(error.in_op(OP)))?)
        }
        (None, Some(deviations)) => {
            let means = like(moment(mean, 0.0)?, &deviations);
            (means.map_err(|error| raise(error.in_op(OP)))?, deviations)
        }
        (Some(means), Some(deviations)) => (means, deviations),
    };
    if size.is_some() {
        return Err(PyTypeError::new_err(
            "normal: a size beside tensors; they have sizes of their own",
        ));
    }
    let drawn = detach(py, || Tensor::normal_each(&means, &deviations, generator));
    let drawn = drawn.map_err(raise)?;
    let options = resolve_like(OP, dtype, device, &drawn)?;
    Ok(placed(OP, drawn.to(options.dtype), options)?.into())
}

/// Integers from low to below high, equally probable: randint(high, size) or
/// randint(low, high, size).
///
/// >>> al.randint(1, 7, (100,)).dtype
/// allotrope.int64
/// >>> al.randint(2, (3,), dtype=bool).shape
/// (3,)
#[pyfunction]
#[pyo3(signature = (
    *bounds_and_size, low=None, high=None, size=None, generator=None, dtype=None, device=None
))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
pub(crate) fn randint(
    py: Python<'_>,
    bounds_and_size: &Bound<'_, PyTuple>,
    low: Option<Integer>,
    high: Option<Integer>,
    size: Option<Ints>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    const OP: &str = "randint";
    // bounded: arguments of a call.
    let mut bounds: Vec<Bound<'_, PyAny>> = bounds_and_size.iter().collect();
    let size = match size {
        Some(size) => size.clone(),
        None => needed(OP, "size", bounds.pop())?,
    };
    let (low, high) = read_bounds(OP, &bounds, low, high)?;
    let sizes = read_sizes(OP, &PyTuple::empty(py), Some(&size))?;
    let options = resolve(OP, dtype, device, || Ok(Some(DType::I64)))?;
    let generator = source(generator);
    let drawn = detach(py, || {
        Tensor::randint(low, high, &sizes, options, generator)
    });
    Ok(placed(OP, drawn, options)?.into())
}

/// `randint` in the shape of another tensor, and in its dtype if none is given.
///
/// >>> al.randint_like(al.zeros(3, dtype="uint8"), 10).dtype
/// allotrope.uint8
#[pyfunction]
#[pyo3(signature = (
    input, *bounds, low=None, high=None, generator=None, dtype=None, device=None,
    memory_format=None
))]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
pub(crate) fn randint_like(
    py: Python<'_>,
    input: Operand,
    bounds: &Bound<'_, PyTuple>,
    low: Option<Integer>,
    high: Option<Integer>,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    memory_format: Option<Format>,
) -> PyResult<PyTensor> {
    const OP: &str = "randint_like";
    let like = operand(OP, input)?;
    // bounded: arguments of a call.
    let bounds: Vec<Bound<'_, PyAny>> = bounds.iter().collect();
    let (low, high) = read_bounds(OP, &bounds, low, high)?;
    let options = resolve_like(OP, dtype, device, &like)?;
    let generator = source(generator);
    let drawn = detach(py, || {
        Tensor::randint(low, high, like.shape(), options, generator)
    });
    let drawn = placed(OP, drawn, options)?;
    wrap(Ok(arrange(OP, drawn, memory_format)?))
}

/// The integers from 0 to below n in random order.
///
/// >>> sorted(al.randperm(4).tolist())
/// [0, 1, 2, 3]
#[pyfunction]
#[pyo3(signature = (n, *, generator=None, dtype=None, device=None))]
pub(crate) fn randperm(
    py: Python<'_>,
    n: Int,
    generator: Option<&Bound<'_, PyGenerator>>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    const OP: &str = "randperm";
    let options = resolve(OP, dtype, device, || Ok(Some(DType::I64)))?;
    let (count, generator) = (size(OP, n.0)?, source(generator));
    let drawn = detach(py, || Tensor::randperm(count, options, generator));
    Ok(placed(OP, drawn, options)?.into())
}

/// Ones and zeros in the shape and dtype of input: a one with the probability that stands there, or
/// with probability p.
///
/// >>> al.bernoulli(al.tensor([0.0, 1.0, 1.0]))
/// tensor([0., 1., 1.])
/// >>> al.bernoulli(al.zeros(3, dtype="int64"), p=1)
/// tensor([1, 1, 1])
#[pyfunction]
#[pyo3(signature = (input, p=None, *, generator=None))]
pub(crate) fn bernoulli(
    py: Python<'_>,
    input: Operand,
    p: Option<f64>,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<PyTensor> {
    PyTensor::from(operand("bernoulli", input)?).bernoulli(py, p, generator)
}

#[pymethods]
impl PyTensor {
    /// Ones and zeros in the same shape and dtype: a one with the probability that stands there, or
    /// with probability p.
    ///
    /// >>> al.tensor([0.0, 1.0]).bernoulli()
    /// tensor([0., 1.])
    #[pyo3(signature = (p=None, *, generator=None))]
    fn bernoulli(
        &self,
        py: Python<'_>,
        p: Option<f64>,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<Self> {
        let (tensor, generator) = (&self.tensor(), source(generator));
        wrap(detach(py, || match p {
            Some(p) => tensor.bernoulli_like(p, generator),
            None => tensor.bernoulli(generator),
        }))
    }

    /// Gives this tensor numbers between from and to, each as likely as the others.
    ///
    /// >>> x = al.empty(1000).uniform_(-1, 1)
    /// >>> -1 <= x.min().item() and x.max().item() <= 1
    /// True
    #[pyo3(signature = (from=0.0, to=1.0, *, generator=None))]
    fn uniform_<'py>(
        this: &Bound<'py, Self>,
        from: f64,
        to: f64,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        redraw(this, "uniform_", |x| {
            x.uniform_like(from, to, source(generator))
        })
    }

    /// Gives this tensor numbers of a normal distribution.
    ///
    /// >>> al.empty(2, dtype="bfloat16").normal_(3.0, 0.0)
    /// tensor([3., 3.], dtype=bfloat16)
    #[pyo3(signature = (mean=0.0, std=1.0, *, generator=None))]
    fn normal_<'py>(
        this: &Bound<'py, Self>,
        mean: f64,
        std: f64,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        redraw(this, "normal_", |x| {
            x.normal_like(mean, std, source(generator))
        })
    }

    /// Gives this tensor integers from one number up to another: by default all that the dtype holds.
    ///
    /// >>> sorted(set(al.zeros(100, dtype="int8").random_(1, 3).tolist()))
    /// [1, 2]
    #[pyo3(signature = (from=None, to=None, *, generator=None))]
    fn random_<'py>(
        this: &Bound<'py, Self>,
        from: Option<Integer>,
        to: Option<Integer>,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        // One number is the end, as in torch.
        let (from, to) = if to.is_none() {
            (None, from)
        } else {
            (from, to)
        };
        let bound = |object: Option<&Bound<'_, PyAny>>| {
            object.map(|object| integer("random_", object)).transpose()
        };
        let (from, to) = (bound(from)?, bound(to)?);
        redraw(this, "random_", |x| {
            x.random_like(from, to, source(generator))
        })
    }

    /// Gives this tensor ones with a probability, or with one of its own for each, and zeros.
    ///
    /// >>> al.empty(3).bernoulli_(1.0)
    /// tensor([1., 1., 1.])
    /// >>> al.empty(2).bernoulli_(al.tensor([0.0, 1.0]))
    /// tensor([0., 1.])
    #[pyo3(signature = (p=None, *, generator=None))]
    fn bernoulli_<'py>(
        this: &Bound<'py, Self>,
        p: Option<Operand>,
        generator: Option<&Bound<'_, PyGenerator>>,
    ) -> PyResult<Bound<'py, Self>> {
        let generator = source(generator);
        match p {
            Some(each) if each.is_instance_of::<Self>() => {
                let each = operand("bernoulli_", each)?;
                redraw(this, "bernoulli_", |x| {
                    x.bernoulli_like_each(&each, generator)
                })
            }
            Some(p) => {
                let p = real("bernoulli_", p)?;
                redraw(this, "bernoulli_", |x| x.bernoulli_like(p, generator))
            }
            None => redraw(this, "bernoulli_", |x| x.bernoulli_like(0.5, generator)),
        }
    }
}

/// Writes random numbers over the elements of a tensor.
pub(crate) fn redraw<'py>(
    this: &Bound<'py, PyTensor>,
    op: &'static str,
    draw: impl Fn(&Tensor) -> Result<Tensor, Error>,
) -> PyResult<Bound<'py, PyTensor>> {
    let written = this.get().variable().update(op, |x| draw(&x.detach()));
    let written = written.map_err(|error: Error| raise(error.in_op(op)))?;
    report(this.py(), written)?;
    Ok(this.clone())
}

/// A real number.
pub(crate) fn real(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<f64> {
    let accepted = "real numbers and tensors";
    if let Some(tensor) = as_tensor(object) {
        // Of one element, or the error says so.
        tensor.item().map_err(|error| raise(error.in_op(op)))?;
    }
    let number = object.extract::<f64>();
    number.map_err(|_| wrong_object(op, "not a real number", object, accepted))
}

/// The bounds of integers: one is the upper, two are both, and either may be a keyword.
fn read_bounds<'py>(
    op: &'static str,
    bounds: &[Bound<'py, PyAny>],
    low: Option<Integer<'_, 'py>>,
    high: Option<Integer<'_, 'py>>,
) -> PyResult<(i128, i128)> {
    let (low, high) = match (bounds, low, high) {
        ([], low, high) => (low, high),
        ([high], low, None) => (low, Some(high)),
        ([low], None, high) => (Some(low), high),
        ([low, high], None, None) => (Some(low), Some(high)),
        _ => {
            return Err(PyTypeError::new_err(format!(
                "{op}: too many arguments; a lower and an upper bound are accepted"
            )));
        }
    };
    let high = integer(op, needed(op, "high", high)?)?;
    Ok((low.map_or(Ok(0), |low| integer(op, low))?, high))
}
