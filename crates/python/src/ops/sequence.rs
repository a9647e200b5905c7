//! Functions of `nn.functional` beside the tables of layers and losses: `ctc_loss`, `rrelu`, `pdist`,
//! and the triplet loss by any distance.

use allotrope_dtype::{DType, Error};
use allotrope_tensor::{LossReduction, Tensor};
use pyo3::prelude::*;

use super::activation::finish;
use crate::arguments::{Int, Integers, Operand, many_integers};
use crate::create;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::{PyTensor, wrap};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Lengths: a tensor of integers, one or several of them.
fn lengths(op: &'static str, object: Any<'_, '_>) -> PyResult<Vec<i64>> {
    let Some(tensor) = crate::tensor::as_tensor(object) else {
        let given = many_integers(op, object).map(Integers::into_vec)?;
        return Ok(given.into_iter().map(|length| length as i64).collect());
    };
    if !tensor.dtype().is_integer() {
        let set = allotrope_dtype::Set::Integer;
        return Err(raise(Error::not_in_set(op, tensor.dtype(), set, None)));
    }
    let flat = tensor.to(DType::I64).and_then(|x| x.reshape(&[-1]));
    flat.and_then(|x| x.to_vec::<i64>()).map_err(raise)
}

/// The negated logarithm of the probability that steps log_probs [time, batch, classes] spell the
/// targets: a class or the blank at each step, of which repetitions and then blanks are left out.
/// Targets are [batch, length] or one after the other, in any integer dtype. The mean divides each
/// loss by the length of its target first. With zero_infinity a target that so few steps cannot
/// spell has no loss instead of an infinite one.
///
/// >>> steps = al.full((2, 1, 2), 0.5).log()
/// >>> loss = al.nn.functional.ctc_loss(steps, al.tensor([[1]]), (2,), (1,))
/// >>> loss, -al.tensor(0.75).log()
/// (tensor(0.2877), tensor(0.2877))
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "torch's signature")]
#[pyo3(signature = (log_probs, targets, input_lengths, target_lengths, blank=Int(0), reduction="mean", zero_infinity=false))]
fn ctc_loss(
    py: Python<'_>,
    log_probs: Operand,
    targets: Operand,
    input_lengths: Operand,
    target_lengths: Operand,
    blank: Int,
    reduction: &str,
    zero_infinity: bool,
) -> PyResult<PyTensor> {
    let op = "ctc_loss";
    let (x, targets) = (
        create::operand(op, log_probs)?,
        create::operand(op, targets)?,
    );
    let (inputs, lengths) = (lengths(op, input_lengths)?, lengths(op, target_lengths)?);
    let how = reduction.parse::<LossReduction>();
    let how = how.map_err(|error| raise(error.in_op(op)))?;
    let blank = blank.0 as i64;
    run(py, usize::MAX, || {
        x.ctc_loss(&targets, &inputs, &lengths, blank, how, zero_infinity)
    })
}

/// The number, or below 0 a part of it: in training a random one from lower to upper for each, else
/// their mean.
///
/// >>> al.nn.functional.rrelu(al.tensor([-6.0, 2.0]), 0.25, 0.75)
/// tensor([-3.,  2.])
#[pyfunction]
#[pyo3(signature = (input, lower=0.125, upper=1.0 / 3.0, training=false, inplace=false))]
fn rrelu<'py>(
    input: Operand<'_, 'py>,
    lower: f64,
    upper: f64,
    training: bool,
    inplace: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let x = create::operand("rrelu", input)?;
    let py = input.py();
    let result = run(py, x.count(), || x.rrelu(lower, upper, training, None))?;
    finish(input, result, inplace)
}

/// The distance of every row of a matrix from every later one by the norm of order p: those of the
/// first row, then those of the second that remain, and so on.
///
/// >>> al.nn.functional.pdist(al.tensor([[0.0], [3.0], [7.0]]))
/// tensor([3., 7., 4.])
#[pyfunction]
#[pyo3(signature = (input, p=2.0))]
fn pdist(py: Python<'_>, input: Operand, p: f64) -> PyResult<PyTensor> {
    let x = create::operand("pdist", input)?;
    run(py, usize::MAX, || x.pdist(p))
}

/// How far the anchor is not nearer to positive than to negative by a margin, by a function of two
/// tensors; without one by pairwise_distance.
///
/// >>> near, far = al.tensor([[1.0]]), al.tensor([[1.5]])
/// >>> apart = lambda x, y: (x - y).abs().sum(-1)
/// >>> F = al.nn.functional
/// >>> F.triplet_margin_with_distance_loss(al.zeros(1, 1), near, far, distance_function=apart)
/// tensor(0.5000)
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "torch's signature")]
#[pyo3(signature = (anchor, positive, negative, *, distance_function=None, margin=1.0, swap=false, reduction="mean"))]
fn triplet_margin_with_distance_loss(
    anchor: Operand,
    positive: Operand,
    negative: Operand,
    distance_function: Option<Any<'_, '_>>,
    margin: f64,
    swap: bool,
    reduction: &str,
) -> PyResult<PyTensor> {
    let op = "triplet_margin_with_distance_loss";
    let how = reduction.parse::<LossReduction>();
    let how = how.map_err(|error| raise(error.in_op(op)))?;
    if margin.is_nan() || margin <= 0.0 {
        let problem = allotrope_dtype::Problem::OutOfRange {
            what: "margin",
            index: None,
            value: margin.to_string(),
            accepted: "numbers above 0",
        };
        return Err(raise(allotrope_dtype::Error::new(op, problem)));
    }
    let distance = |x: Operand, y: Operand| -> PyResult<Tensor> {
        match distance_function.filter(|function| !function.is_none()) {
            Some(function) => create::operand(op, &function.call1((x, y))?),
            None => {
                let (x, y) = (create::operand(op, x)?, create::operand(op, y)?);
                x.pairwise_distance(&y, 2.0, 1e-6, false).map_err(raise)
            }
        }
    };
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if swap {
        far = far.minimum(&distance(positive, negative)?).map_err(raise)?;
    }
    let losses = near.sub(&far).and_then(|x| x.add(margin)?.maximum(0.0));
    let losses = losses.map_err(raise)?;
    wrap(match how {
        LossReduction::None => Ok(losses),
        LossReduction::Mean => losses.mean(None, false, None),
        LossReduction::Sum => losses.sum(None, false, None),
    })
}

/// Adds the functions that torch has in its package too.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, ctc_loss rrelu pdist);
    Ok(())
}

/// Adds the functions of `nn.functional`.
pub(super) fn register_functional(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register(module)?;
    module.add_function(wrap_pyfunction!(triplet_margin_with_distance_loss, module)?)
}
