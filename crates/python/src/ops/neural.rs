//! Layers as functions: softmax, normalisation, distances, dropout.

use std::ffi::CString;

use allotrope_dtype::Error;
use allotrope_tensor::{BatchNorm, BatchNormOptions, Generator, Tensor, Variable};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::activation::finish;
use crate::arguments::{
    DTypeOrFamily, Dims, Int, Integers, Ints, Operand, TensorObject, axis_or, either, integers,
    needed, size,
};
use crate::create;
use crate::error::raise;
use crate::in_place::report;
use crate::interrupt::detach;
use crate::notice::warn_user;
use crate::operand::run;
use crate::tensor::PyTensor;
use crate::wanted::Wanted;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Adds what torch has in the package as well.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    module.add_function(wrap_pyfunction!(cdist, module)?)?;
    register_shared(module)
}

/// Adds the functions of `nn.functional`.
pub(super) fn register_functional(module: &Bound<'_, PyModule>) -> PyResult<()> {
    shares::register(module)?;
    register_shared(module)?;
    add!(module, gumbel_softmax local_response_norm normalize glu);
    register_dropouts(module)
}

/// Adds what is in both.
fn register_shared(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(
        module, layer_norm rms_norm group_norm batch_norm instance_norm cosine_similarity
        pairwise_distance
    );
    Ok(())
}

/// A tensor, if one is given.
pub(super) fn optional(op: &'static str, given: Option<Any<'_, '_>>) -> PyResult<Option<Tensor>> {
    let given = given.filter(|given| !given.is_none());
    given.map(|given| create::operand(op, given)).transpose()
}

forms! {
    /// Probabilities along dim: exponentials divided by their sum. Integers and bool give the default
    /// float; with dtype the numbers are converted first.
    ///
    /// >>> al.tensor([2, 2], dtype="uint8").softmax(0)
    /// tensor([0.5000, 0.5000])
    softmax[dim=None, dtype=None, *, axis=None](dim: Option<Int>, dtype: Option<DTypeOrFamily>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let Int(dim) = needed(op, "dim", either(op, dim, axis)?)?;
        let wanted = Wanted::like(op, dtype, x)?;
        run(py, x.count(), || wanted.run(|dtype| x.softmax(dim, dtype)))
    };

    /// The logarithms of the softmax, log-probabilities, without its loss of digits.
    ///
    /// >>> al.tensor([0.0, 1000.0]).log_softmax(0)
    /// tensor([-1000.,     0.])
    log_softmax[dim=None, dtype=None, *, axis=None](dim: Option<Int>, dtype: Option<DTypeOrFamily>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let Int(dim) = needed(op, "dim", either(op, dim, axis)?)?;
        let wanted = Wanted::like(op, dtype, x)?;
        run(py, x.count(), || wanted.run(|dtype| x.log_softmax(dim, dtype)))
    };
}

/// The dimension of shares; without one torch's choice of old, with a warning.
fn shared_dim(
    py: Python<'_>,
    op: &'static str,
    given: Option<Int>,
    rank: usize,
) -> PyResult<isize> {
    if let Some(Int(dim)) = given {
        return Ok(dim);
    }
    let dim = isize::from(!matches!(rank, 0 | 1 | 3));
    let text = format!("{op}: dim is missing; dimension {dim} is taken (hint: dim={dim})");
    warn_user(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?)?;
    Ok(dim)
}

/// Functions of `nn.functional`, whose third argument torch keeps for itself.
macro_rules! shares {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        mod shares {
            use super::*;

            $(
                $(#[doc = $doc])*
                #[pyfunction]
                #[pyo3(signature = (input, dim=None, _stacklevel=None, dtype=None, *, axis=None))]
                fn $name(
                    py: Python<'_>,
                    input: Operand,
                    dim: Option<Int>,
                    _stacklevel: Option<Int>,
                    dtype: Option<DTypeOrFamily>,
                    axis: Option<Int>,
                ) -> PyResult<PyTensor> {
                    let op = stringify!($name);
                    let x = create::operand(op, input)?;
                    let wanted = Wanted::like(op, dtype, &x)?;
                    let dim = shared_dim(py, op, either(op, dim, axis)?, x.rank())?;
                    run(py, x.count(), || wanted.run(|dtype| x.$name(dim, dtype)))
                }
            )*

            pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}
shares! {
    /// Probabilities along dim: exponentials divided by their sum. Integers and bool give the default
    /// float; with dtype the numbers are converted first.
    ///
    /// >>> al.nn.functional.softmax(al.tensor([2, 2], dtype="uint8"), 0)
    /// tensor([0.5000, 0.5000])
    softmax;
    /// The logarithms of the softmax, log-probabilities, without its loss of digits.
    ///
    /// >>> al.nn.functional.log_softmax(al.tensor([0.0, 1000.0]), 0)
    /// tensor([-1000.,     0.])
    log_softmax;
    /// The softmax of the negated numbers.
    ///
    /// >>> al.nn.functional.softmin(al.tensor([3, 3]), 0)
    /// tensor([0.5000, 0.5000])
    softmin;
}

/// Random probabilities along dim, whose greatest is distributed as the softmax; with hard=True a
/// random choice: one where the greatest is, else zero. eps is there for torch's sake and changes nothing.
///
/// >>> al.nn.functional.gumbel_softmax(al.zeros(2, 3), hard=True).sum(-1)
/// tensor([1., 1.])
#[pyfunction]
#[pyo3(signature = (logits, tau=1.0, hard=false, eps=1e-10, dim=None, *, axis=None))]
fn gumbel_softmax(
    py: Python<'_>,
    logits: Operand,
    tau: f64,
    hard: bool,
    eps: f64,
    dim: Option<Int>,
    axis: Option<Int>,
) -> PyResult<PyTensor> {
    let op = "gumbel_softmax";
    let _ = eps;
    let dim = axis_or(op, dim, axis, -1)?;
    let x = create::operand(op, logits)?;
    run(py, x.count(), || x.gumbel_softmax(tau, hard, dim, None))
}

/// The sizes of the dimensions that are normalised.
fn sizes(op: &'static str, given: Any<'_, '_>) -> PyResult<Vec<usize>> {
    let sizes = integers(op, given)?.into_vec().into_iter();
    sizes.map(|given| size(op, given)).collect()
}

/// The last dimensions, whose sizes are normalized_shape, brought to mean 0 and variance 1, times
/// weight plus bias. Mean and variance of half precision are formed in float32.
///
/// >>> al.nn.functional.layer_norm(al.tensor([-1.0, 1.0]), (2,), eps=0.0)
/// tensor([-1.,  1.])
#[pyfunction]
#[pyo3(signature = (input, normalized_shape, weight=None, bias=None, eps=1e-5))]
fn layer_norm(
    py: Python<'_>,
    input: Operand,
    normalized_shape: Ints,
    weight: Option<Operand>,
    bias: Option<Operand>,
    eps: f64,
) -> PyResult<PyTensor> {
    let op = "layer_norm";
    let (x, sizes) = (create::operand(op, input)?, sizes(op, normalized_shape)?);
    let (weight, bias) = (optional(op, weight)?, optional(op, bias)?);
    run(py, x.count(), || {
        x.layer_norm(&sizes, weight.as_ref(), bias.as_ref(), eps)
    })
}

/// The last dimensions, whose sizes are normalized_shape, divided by the root of their mean square
/// plus eps (that of the dtype if none is given), times weight.
///
/// >>> al.nn.functional.rms_norm(al.tensor([-3.0, 3.0]), (2,))
/// tensor([-1.,  1.])
#[pyfunction]
#[pyo3(signature = (input, normalized_shape, weight=None, eps=None))]
fn rms_norm(
    py: Python<'_>,
    input: Operand,
    normalized_shape: Ints,
    weight: Option<Operand>,
    eps: Option<f64>,
) -> PyResult<PyTensor> {
    let op = "rms_norm";
    let (x, sizes) = (create::operand(op, input)?, sizes(op, normalized_shape)?);
    let weight = optional(op, weight)?;
    run(py, x.count(), || x.rms_norm(&sizes, weight.as_ref(), eps))
}

/// Groups of neighbouring channels (dimension 1) brought to mean 0 and variance 1, item by item, then
/// times weight plus bias, one number per channel.
///
/// >>> al.nn.functional.group_norm(al.tensor([[-1.0, 1.0, -2.0, 2.0]]), 2, eps=0.0)
/// tensor([[-1.,  1., -1.,  1.]])
#[pyfunction]
#[pyo3(signature = (input, num_groups, weight=None, bias=None, eps=1e-5))]
fn group_norm(
    py: Python<'_>,
    input: Operand,
    num_groups: Int,
    weight: Option<Operand>,
    bias: Option<Operand>,
    eps: f64,
) -> PyResult<PyTensor> {
    let op = "group_norm";
    let (x, groups) = (create::operand(op, input)?, size(op, num_groups.0)?);
    let (weight, bias) = (optional(op, weight)?, optional(op, bias)?);
    run(py, x.count(), || {
        x.group_norm(groups, weight.as_ref(), bias.as_ref(), eps)
    })
}

/// Tensors per channel, as Python gives them.
struct Channels<'a, 'py> {
    mean: Option<Any<'a, 'py>>,
    variance: Option<Any<'a, 'py>>,
    weight: Option<Any<'a, 'py>>,
    bias: Option<Any<'a, 'py>>,
}

impl Channels<'_, '_> {
    /// Runs a normalisation; the objects of the running numbers take the new ones.
    fn normalize(
        &self,
        py: Python<'_>,
        op: &'static str,
        numbers: (bool, f64, f64),
        work: impl Fn(BatchNormOptions<'_>) -> Result<BatchNorm, Error> + Sync,
    ) -> PyResult<PyTensor> {
        let (mean_before, variance_before) =
            (optional(op, self.mean)?, optional(op, self.variance)?);
        let (weight, bias) = (optional(op, self.weight)?, optional(op, self.bias)?);
        let (training, momentum, eps) = numbers;
        let options = BatchNormOptions {
            running: mean_before.as_ref().zip(variance_before.as_ref()),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            training,
            momentum,
            eps,
        };
        let result = detach(py, || work(options)).map_err(raise)?;
        if let Some((mean, variance)) = result.running {
            let mut writes = Vec::new();
            for (object, value) in [(self.mean, mean), (self.variance, variance)] {
                if let Some(Ok(object)) = object.map(|object| object.cast::<PyTensor>()) {
                    writes.push((object.get().variable(), value));
                }
            }
            // They hold the numbers that are written over.
            drop((mean_before, variance_before));
            let written = detach(py, || Variable::write_all(op, &writes)).map_err(raise)?;
            report(py, written)?;
        }
        Ok(result.output.into())
    }
}

/// Each channel (dimension 1) brought to mean 0 and variance 1, times weight plus bias: with
/// training=True over the batch, and running_mean and running_var take new values; else with those.
///
/// >>> mean, var = al.zeros(1), al.ones(1)
/// >>> al.nn.functional.batch_norm(al.tensor([[1.0], [3.0]]), mean, var, training=True, eps=0.0)
/// tensor([[-1.],
///         [ 1.]])
/// >>> mean
/// tensor([0.2000])
#[pyfunction]
#[pyo3(signature = (input, running_mean=None, running_var=None, weight=None, bias=None, training=false, momentum=0.1, eps=1e-5))]
#[allow(clippy::too_many_arguments, reason = "torch's options")]
fn batch_norm(
    py: Python<'_>,
    input: Operand,
    running_mean: Option<TensorObject>,
    running_var: Option<TensorObject>,
    weight: Option<Operand>,
    bias: Option<Operand>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> PyResult<PyTensor> {
    let op = "batch_norm";
    let x = create::operand(op, input)?;
    let channels = Channels {
        mean: running_mean,
        variance: running_var,
        weight,
        bias,
    };
    channels.normalize(py, op, (training, momentum, eps), |options| {
        x.batch_norm(options)
    })
}

/// Each channel of each item brought to mean 0 and variance 1, times weight plus bias; running_mean
/// and running_var take new values, or are used if use_input_stats is False.
///
/// >>> al.nn.functional.instance_norm(al.tensor([[[1.0, 3.0]]]), eps=0.0)
/// tensor([[[-1.,  1.]]])
#[pyfunction]
#[pyo3(signature = (input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=true, momentum=0.1, eps=1e-5))]
#[allow(clippy::too_many_arguments, reason = "torch's options")]
fn instance_norm(
    py: Python<'_>,
    input: Operand,
    running_mean: Option<TensorObject>,
    running_var: Option<TensorObject>,
    weight: Option<Operand>,
    bias: Option<Operand>,
    use_input_stats: bool,
    momentum: f64,
    eps: f64,
) -> PyResult<PyTensor> {
    let op = "instance_norm";
    let x = create::operand(op, input)?;
    let channels = Channels {
        mean: running_mean,
        variance: running_var,
        weight,
        bias,
    };
    let numbers = (use_input_stats, momentum, eps);
    channels.normalize(py, op, numbers, |options| x.instance_norm(options))
}

/// The numbers divided by `(k + alpha s)^beta`, where s is the mean square of size neighbouring
/// channels (dimension 1).
///
/// >>> al.nn.functional.local_response_norm(al.ones(1, 2, 1), 1, alpha=3.0, beta=0.5)
/// tensor([[[0.5000],
///          [0.5000]]])
#[pyfunction]
#[pyo3(signature = (input, size, alpha=1e-4, beta=0.75, k=1.0))]
fn local_response_norm(
    py: Python<'_>,
    input: Operand,
    size: Int,
    alpha: f64,
    beta: f64,
    k: f64,
) -> PyResult<PyTensor> {
    let op = "local_response_norm";
    let x = create::operand(op, input)?;
    let size = crate::arguments::size(op, size.0)?;
    run(py, x.count(), || {
        x.local_response_norm(size, alpha, beta, k)
    })
}

/// The numbers divided by their norm of order p along dim, one or several, or by eps if that is
/// greater.
///
/// >>> al.nn.functional.normalize(al.tensor([[3.0, 4.0]]))
/// tensor([[0.6000, 0.8000]])
#[pyfunction]
#[pyo3(signature = (input, p=2.0, dim=None, eps=1e-12, *, axis=None))]
fn normalize(
    py: Python<'_>,
    input: Operand,
    p: f64,
    dim: Option<Dims>,
    eps: f64,
    axis: Option<Dims>,
) -> PyResult<PyTensor> {
    let op = "normalize";
    let x = create::operand(op, input)?;
    let dims = either(op, dim, axis)?.map(|dims| integers(op, dims));
    let dims = dims
        .transpose()?
        .map_or_else(|| vec![1], Integers::into_vec);
    run(py, x.count(), || x.normalize(p, &dims, eps))
}

/// The first half of dim times the logistic function of the second.
///
/// >>> al.nn.functional.glu(al.tensor([4.0, 0.0]))
/// tensor([2.])
#[pyfunction]
#[pyo3(signature = (input, dim=None, *, axis=None))]
fn glu(py: Python<'_>, input: Operand, dim: Option<Int>, axis: Option<Int>) -> PyResult<PyTensor> {
    let op = "glu";
    let (x, dim) = (create::operand(op, input)?, axis_or(op, dim, axis, -1)?);
    run(py, x.count(), || x.glu(dim))
}

/// The cosine of the angle between vectors along dim; lengths below eps count as it.
///
/// >>> al.cosine_similarity(al.tensor([[1.0, 0.0]]), al.tensor([[1.0, 1.0]]))
/// tensor([0.7071])
#[pyfunction]
#[pyo3(signature = (x1, x2, dim=None, eps=1e-8, *, axis=None))]
fn cosine_similarity(
    py: Python<'_>,
    x1: Operand,
    x2: Operand,
    dim: Option<Int>,
    eps: f64,
    axis: Option<Int>,
) -> PyResult<PyTensor> {
    let op = "cosine_similarity";
    let (x, y) = (create::operand(op, x1)?, create::operand(op, x2)?);
    let dim = axis_or(op, dim, axis, 1)?;
    run(py, x.count(), || x.cosine_similarity(&y, dim, eps))
}

/// The norm of order p of the difference of vectors, to whose numbers eps is added, along the last
/// dimension.
///
/// >>> al.pairwise_distance(al.tensor([3.0, 4.0]), al.tensor([0.0, 0.0]), eps=0.0)
/// tensor(5.)
#[pyfunction]
#[pyo3(signature = (x1, x2, p=2.0, eps=1e-6, keepdim=false))]
fn pairwise_distance(
    py: Python<'_>,
    x1: Operand,
    x2: Operand,
    p: f64,
    eps: f64,
    keepdim: bool,
) -> PyResult<PyTensor> {
    let op = "pairwise_distance";
    let (x, y) = (create::operand(op, x1)?, create::operand(op, x2)?);
    run(py, x.count(), || x.pairwise_distance(&y, p, eps, keepdim))
}

/// The distance of every row of x1 from every row of x2 by the norm of order p. compute_mode is there
/// for torch's sake: no distance is formed by a matrix product, which loses digits.
///
/// >>> al.cdist(al.tensor([[0.0, 0.0]]), al.tensor([[3.0, 4.0], [0.0, 1.0]]))
/// tensor([[5., 1.]])
#[pyfunction]
#[pyo3(signature = (x1, x2, p=2.0, compute_mode=None))]
fn cdist(
    py: Python<'_>,
    x1: Operand,
    x2: Operand,
    p: f64,
    compute_mode: Option<&str>,
) -> PyResult<PyTensor> {
    let op = "cdist";
    let _ = compute_mode;
    let (x, y) = (create::operand(op, x1)?, create::operand(op, x2)?);
    run(py, x.count().saturating_mul(y.count()), || x.cdist(&y, p))
}

/// Dropouts: with training=False the numbers stay.
macro_rules! dropouts {
    ($($(#[doc = $doc:literal])* $name:ident $training:tt;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input, p=0.5, training=$training, inplace=false))]
            fn $name<'py>(
                input: Operand<'_, 'py>,
                p: f64,
                training: bool,
                inplace: bool,
            ) -> PyResult<Bound<'py, PyTensor>> {
                // Without training nothing is dropped, but the arguments are checked all the same.
                let p = if training || !(0.0..=1.0).contains(&p) { p } else { 0.0 };
                drop_some(input, stringify!($name), p, inplace, Tensor::$name)
            }
        )*

        fn register_dropouts(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}
dropouts! {
    /// Zeros in the place of random numbers, each with probability p, and the others divided by
    /// `1 - p`. Which ones depends on the seed alone, on every device.
    ///
    /// >>> generator = al.manual_seed(0)
    /// >>> sorted(set(al.nn.functional.dropout(al.ones(1000), 0.5).tolist()))
    /// [0.0, 2.0]
    dropout true;
    /// Zeros in the place of whole channels of `[N, C, L]` or `[C, L]`, each with probability p.
    ///
    /// >>> y = al.nn.functional.dropout1d(al.ones(1000, 3), 0.5)
    /// >>> sorted(set(y.sum(-1).tolist()))
    /// [0.0, 6.0]
    dropout1d true;
    /// Zeros in the place of whole channels of `[N, C, H, W]` or `[C, H, W]`.
    ///
    /// >>> y = al.nn.functional.dropout2d(al.ones(1000, 2, 2), 0.5)
    /// >>> sorted(set(y.sum((-2, -1)).tolist()))
    /// [0.0, 8.0]
    dropout2d true;
    /// Zeros in the place of whole channels of `[N, C, D, H, W]` or `[C, D, H, W]`.
    ///
    /// >>> y = al.nn.functional.dropout3d(al.ones(1000, 2, 2, 2), 0.5)
    /// >>> sorted(set(y.sum((-3, -2, -1)).tolist()))
    /// [0.0, 16.0]
    dropout3d true;
    /// The lower bound of selu in the place of random numbers, all scaled and moved so that mean 0
    /// and variance 1 stay.
    ///
    /// >>> al.nn.functional.alpha_dropout(al.ones(1000), 0.5, training=True).unique().shape
    /// (2,)
    /// >>> al.nn.functional.alpha_dropout(al.ones(2), 0.5)
    /// tensor([1., 1.])
    alpha_dropout false;
    /// alpha_dropout of whole channels (dimension 1).
    ///
    /// >>> y = al.nn.functional.feature_alpha_dropout(al.ones(1, 100, 5), 0.5, training=True)
    /// >>> al.equal(y.amax(-1), y.amin(-1))
    /// True
    feature_alpha_dropout false;
}

fn drop_some<'py>(
    input: Operand<'_, 'py>,
    op: &'static str,
    p: f64,
    inplace: bool,
    work: fn(&Tensor, f64, Option<&Generator>) -> Result<Tensor, Error>,
) -> PyResult<Bound<'py, PyTensor>> {
    let x = create::operand(op, input)?;
    let result = run(input.py(), x.count(), || work(&x, p, None))?;
    finish(input, result, inplace)
}
