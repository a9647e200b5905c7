//! Losses as functions of `nn.functional`, with torch's signatures.

use std::ffi::CString;

use allotrope_op::Shape;
use allotrope_tensor::{LossReduction, Tensor};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use super::neural::optional;
use crate::arguments::{Int, Operand};
use crate::create;
use crate::error::raise;
use crate::notice::warn_user;
use crate::operand::run;
use crate::tensor::PyTensor;

/// The reduction that was named, or that torch's older arguments mean.
fn reduction_of(
    op: &'static str,
    size_average: Option<bool>,
    reduce: Option<bool>,
    reduction: &str,
) -> PyResult<LossReduction> {
    if size_average.is_none() && reduce.is_none() {
        let named = reduction.parse::<LossReduction>();
        return named.map_err(|error| raise(error.in_op(op)));
    }
    Ok(
        match (reduce.unwrap_or(true), size_average.unwrap_or(true)) {
            (false, _) => LossReduction::None,
            (true, true) => LossReduction::Mean,
            (true, false) => LossReduction::Sum,
        },
    )
}

/// Losses of differences, which broadcast; where that happens it is seldom meant.
const DIFFERENCES: [&str; 4] = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"];

/// Whether an operand is more than a number, which has no shape to be mistaken.
fn has_shape(operand: Operand) -> bool {
    !(operand.is_instance_of::<PyFloat>() || operand.is_instance_of::<PyInt>())
}

/// Warns, at the user's line, that a loss of differences broadcasts input and target.
fn warn_of_broadcast(py: Python<'_>, op: &'static str, tensors: &[&Tensor]) -> PyResult<()> {
    let &[input, target] = tensors else {
        return Ok(());
    };
    let shapes = [input.shape(), target.shape()];
    if shapes[0] == shapes[1] || !DIFFERENCES.contains(&op) {
        return Ok(());
    }
    // What does not broadcast is refused later.
    let Ok(together) = Shape::broadcast(op, &shapes) else {
        return Ok(());
    };
    let [given, wanted, together] = [shapes[1], shapes[0], &together].map(|shape| shape.to_vec());
    let text = format!(
        "{op}: target and input differ in shape: {given:?} and {wanted:?}; they are broadcast to \
         {together:?}, which likely is not the loss that is meant (hint: target.reshape(input.shape))"
    );
    let text = CString::new(text).unwrap_or_default();
    warn_user(py, &py.get_type::<PyUserWarning>(), &text)
}

/// A function per row: documentation, name, Python's signature, Rust's arguments, which of them are
/// tensors, which may be missing, how the reduction is named, and what becomes of them.
macro_rules! losses {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident[$($signature:tt)*]($($argument:ident: $type:ty),*)
            tensors [$first:ident $(, $tensor:ident)*] maybe [$($maybe:ident),*]
            by ($size_average:expr, $reduce:expr, $reduction:expr) |$how:ident| $body:expr;
    )*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[allow(clippy::too_many_arguments, reason = "torch's options")]
            #[pyo3(signature = ($($signature)*))]
            fn $name(py: Python<'_> $(, $argument: $type)*) -> PyResult<PyTensor> {
                let op = stringify!($name);
                let have_shapes = has_shape($first) $(&& has_shape($tensor))*;
                let $first: &Tensor = &create::operand(op, $first)?;
                $(let $tensor: &Tensor = &create::operand(op, $tensor)?;)*
                if have_shapes {
                    warn_of_broadcast(py, op, &[$first $(, $tensor)*])?;
                }
                $(let $maybe = optional(op, $maybe)?;
                let $maybe = $maybe.as_ref();)*
                let $how = reduction_of(op, $size_average, $reduce, $reduction)?;
                run(py, $first.count(), || $body)
            }
        )*

        /// Adds them all.
        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            module.add_function(wrap_pyfunction!(kl_div, module)?)
        }
    };
}

losses! {
    /// The mean squared error, times a weight if there is one; reduction is "mean", "sum" or "none".
    /// A mean with weights is divided by their sum.
    ///
    /// >>> al.nn.functional.mse_loss(al.tensor([1.0, 3.0]), al.tensor([1.0, 1.0]))
    /// tensor(2.)
    mse_loss[input, target, size_average=None, reduce=None, reduction="mean", weight=None](input: Operand, target: Operand, size_average: Option<bool>, reduce: Option<bool>, reduction: &str, weight: Option<Operand>)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| match weight {
            None => input.mse_loss(target, how),
            Some(weight) => input.weighted_mse_loss(target, weight, how),
        };

    /// The mean absolute error, times a weight if there is one; reduction is "mean", "sum" or "none".
    ///
    /// >>> al.nn.functional.l1_loss(al.tensor([1.0, 2.0]), al.tensor([1.0, 5.0]))
    /// tensor(1.5000)
    l1_loss[input, target, size_average=None, reduce=None, reduction="mean", weight=None](input: Operand, target: Operand, size_average: Option<bool>, reduce: Option<bool>, reduction: &str, weight: Option<Operand>)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| match weight {
            None => input.l1_loss(target, how),
            Some(weight) => input.weighted_l1_loss(target, weight, how),
        };

    /// The absolute error minus beta / 2, and below beta the squared error over 2 beta.
    ///
    /// >>> al.nn.functional.smooth_l1_loss(al.tensor([0.5, 3.0]), al.zeros(2), reduction="none")
    /// tensor([0.1250, 2.5000])
    smooth_l1_loss[input, target, size_average=None, reduce=None, reduction="mean", beta=1.0](input: Operand, target: Operand, size_average: Option<bool>, reduce: Option<bool>, reduction: &str, beta: f64)
        tensors [input, target] maybe [] by (size_average, reduce, reduction) |how| input.smooth_l1_loss(target, beta, how);

    /// Half the squared error, and above delta the line that goes on from there, times a weight
    /// if there is one. A mean is over all elements, whatever their weights.
    ///
    /// >>> al.nn.functional.huber_loss(al.tensor([1.0, 5.0]), al.zeros(2), reduction="none", delta=2.0)
    /// tensor([0.5000, 8.0000])
    huber_loss[input, target, reduction="mean", delta=1.0, weight=None](input: Operand, target: Operand, reduction: &str, delta: f64, weight: Option<Operand>)
        tensors [input, target] maybe [weight] by (None, None, reduction) |how| match weight {
            None => input.huber_loss(target, delta, how),
            Some(weight) => input.weighted_huber_loss(target, weight, delta, how),
        };

    /// The cross entropy of the softmax over classes (dimension 1) and a target: classes in any
    /// integer dtype, or probabilities in the shape of the input.
    ///
    /// >>> classes = al.tensor([1, 0], dtype="uint8")
    /// >>> al.nn.functional.cross_entropy(al.zeros(2, 4), classes)
    /// tensor(1.3863)
    cross_entropy[input, target, weight=None, size_average=None, ignore_index=Int(-100), reduce=None, reduction="mean", label_smoothing=0.0](input: Operand, target: Operand, weight: Option<Operand>, size_average: Option<bool>, ignore_index: Int, reduce: Option<bool>, reduction: &str, label_smoothing: f64)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| input.cross_entropy(target, weight, ignore_index.0 as i64, how, label_smoothing);

    /// The negative log-likelihood: the negated log-probability at each class.
    ///
    /// >>> logarithms = al.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    /// >>> al.nn.functional.nll_loss(logarithms, al.tensor([1, 0]), reduction="none")
    /// tensor([0.2877, 0.6931])
    nll_loss[input, target, weight=None, size_average=None, ignore_index=Int(-100), reduce=None, reduction="mean"](input: Operand, target: Operand, weight: Option<Operand>, size_average: Option<bool>, ignore_index: Int, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| input.nll_loss(target, weight, ignore_index.0 as i64, how);

    /// The cross entropy of probabilities: `-(t log x + (1 - t) log(1 - x))`.
    ///
    /// >>> al.nn.functional.binary_cross_entropy(al.tensor([0.5, 0.9]), al.tensor([1.0, 1.0]), reduction="none")
    /// tensor([0.6931, 0.1054])
    binary_cross_entropy[input, target, weight=None, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, weight: Option<Operand>, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| input.binary_cross_entropy(target, weight, how);

    /// The binary cross entropy of the logistic function of the numbers, without overflow.
    ///
    /// >>> al.nn.functional.binary_cross_entropy_with_logits(al.tensor([0.0, 100.0]), al.tensor([1.0, 0.0]), reduction="none")
    /// tensor([  0.6931, 100.0000])
    binary_cross_entropy_with_logits[input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None](input: Operand, target: Operand, weight: Option<Operand>, size_average: Option<bool>, reduce: Option<bool>, reduction: &str, pos_weight: Option<Operand>)
        tensors [input, target] maybe [weight, pos_weight] by (size_average, reduce, reduction) |how| input.binary_cross_entropy_with_logits(target, weight, pos_weight, how);

    /// The negated logarithm of a Poisson probability, but for a constant that full adds.
    ///
    /// >>> al.nn.functional.poisson_nll_loss(al.tensor([0.0, 1.0]), al.tensor([2.0, 2.0]), reduction="none")
    /// tensor([1.0000, 0.7183])
    poisson_nll_loss[input, target, log_input=true, full=false, size_average=None, eps=1e-8, reduce=None, reduction="mean"](input: Operand, target: Operand, log_input: bool, full: bool, size_average: Option<bool>, eps: f64, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [] by (size_average, reduce, reduction) |how| input.poisson_nll_loss(target, log_input, full, eps, how);

    /// The negated logarithm of a normal density with variance var, but for a constant that full adds.
    ///
    /// >>> al.nn.functional.gaussian_nll_loss(al.tensor([0.0]), al.tensor([2.0]), al.tensor([4.0]))
    /// tensor(1.1931)
    gaussian_nll_loss[input, target, var, full=false, eps=1e-6, reduction="mean"](input: Operand, target: Operand, var: Operand, full: bool, eps: f64, reduction: &str)
        tensors [input, target, var] maybe [] by (None, None, reduction) |how| input.gaussian_nll_loss(target, var, full, eps, how);

    /// The number where the target is 1, and how far it is below the margin where it is -1.
    ///
    /// >>> al.nn.functional.hinge_embedding_loss(al.tensor([0.25, 0.25]), al.tensor([1, -1]), reduction="none")
    /// tensor([0.2500, 0.7500])
    hinge_embedding_loss[input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, margin: f64, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [] by (size_average, reduce, reduction) |how| input.hinge_embedding_loss(target, margin, how);

    /// How far input1 is not above input2 by a margin where the target is 1, and not below it where
    /// it is -1.
    ///
    /// >>> al.nn.functional.margin_ranking_loss(al.tensor([1.0, 1.0]), al.tensor([3.0, 3.0]), al.tensor([1, -1]), reduction="none")
    /// tensor([2., 0.])
    margin_ranking_loss[input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"](input1: Operand, input2: Operand, target: Operand, margin: f64, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input1, input2, target] maybe [] by (size_average, reduce, reduction) |how| input1.margin_ranking_loss(input2, target, margin, how);

    /// `log(1 + e^(-target input))`, without overflow.
    ///
    /// >>> al.nn.functional.soft_margin_loss(al.tensor([0.0, 1000.0]), al.tensor([1, -1]), reduction="none")
    /// tensor([6.9315e-01, 1.0000e+03])
    soft_margin_loss[input, target, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [] by (size_average, reduce, reduction) |how| input.soft_margin_loss(target, how);

    /// `1 - cos` of vectors where the target is 1, and `max(0, cos - margin)` where it is -1.
    ///
    /// >>> x = al.tensor([[1.0, 0.0], [1.0, 0.0]])
    /// >>> y = al.tensor([[0.0, 2.0], [3.0, 0.0]])
    /// >>> al.nn.functional.cosine_embedding_loss(x, y, al.tensor([1, -1]), reduction="none")
    /// tensor([1., 1.])
    cosine_embedding_loss[input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"](input1: Operand, input2: Operand, target: Operand, margin: f64, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input1, input2, target] maybe [] by (size_average, reduce, reduction) |how| input1.cosine_embedding_loss(input2, target, margin, how);

    /// How far the anchor is not nearer to positive than to negative by a margin.
    ///
    /// >>> anchor, positive, negative = al.tensor([[0.0, 0.0]]), al.tensor([[3.0, 4.0]]), al.tensor([[0.0, 2.0]])
    /// >>> al.nn.functional.triplet_margin_loss(anchor, positive, negative)
    /// tensor(4.0000)
    triplet_margin_loss[anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=false, size_average=None, reduce=None, reduction="mean"](anchor: Operand, positive: Operand, negative: Operand, margin: f64, p: f64, eps: f64, swap: bool, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [anchor, positive, negative] maybe [] by (size_average, reduce, reduction) |how| anchor.triplet_margin_loss(positive, negative, margin, p, eps, swap, how);

    /// How far other classes are within a margin of the right one.
    ///
    /// >>> al.nn.functional.multi_margin_loss(al.tensor([[0.5, 1.0, 0.0, 0.0]]), al.tensor([1]))
    /// tensor(0.1250)
    multi_margin_loss[input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, p: u32, margin: f64, weight: Option<Operand>, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| input.multi_margin_loss(target, p, margin, weight, how);

    /// How far wrong classes are within 1 of right ones; a line of the target names the right ones, up
    /// to the first -1.
    ///
    /// >>> al.nn.functional.multilabel_margin_loss(al.tensor([[0.5, 1.0, 0.0]]), al.tensor([[1, -1, 0]]))
    /// tensor(0.1667)
    multilabel_margin_loss[input, target, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [] by (size_average, reduce, reduction) |how| input.multilabel_margin_loss(target, how);

    /// The mean over labels of the binary cross entropies of the logistic functions of the numbers.
    ///
    /// >>> al.nn.functional.multilabel_soft_margin_loss(al.tensor([[0.0, 0.0]]), al.tensor([[1.0, 0.0]]))
    /// tensor(0.6931)
    multilabel_soft_margin_loss[input, target, weight=None, size_average=None, reduce=None, reduction="mean"](input: Operand, target: Operand, weight: Option<Operand>, size_average: Option<bool>, reduce: Option<bool>, reduction: &str)
        tensors [input, target] maybe [weight] by (size_average, reduce, reduction) |how| input.multilabel_soft_margin_loss(target, weight, how);
}

/// `t (log t - x)` of logarithms of probabilities; log_target says that the target are logarithms
/// too. The reduction "batchmean" divides the sum by the size of the first dimension.
///
/// >>> probabilities = al.tensor([0.5, 0.5])
/// >>> al.nn.functional.kl_div(probabilities.log(), probabilities, reduction="sum")
/// tensor(0.)
#[pyfunction]
#[pyo3(signature = (input, target, size_average=None, reduce=None, reduction="mean", log_target=false))]
fn kl_div(
    py: Python<'_>,
    input: Operand,
    target: Operand,
    size_average: Option<bool>,
    reduce: Option<bool>,
    reduction: &str,
    log_target: bool,
) -> PyResult<PyTensor> {
    let op = "kl_div";
    let (x, target) = (create::operand(op, input)?, create::operand(op, target)?);
    let is_batchmean = reduction == "batchmean";
    let how = if is_batchmean { "sum" } else { reduction };
    let how = reduction_of(op, size_average, reduce, how)?;
    run(py, x.count(), || {
        let loss = x.kl_div(&target, log_target, how)?;
        match x.shape().first() {
            Some(batch) if is_batchmean => loss.div(*batch as f64),
            _ => Ok(loss),
        }
    })
}
