//! Sums and means without NaN, covariances, slopes, and parts scaled to a norm.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_tensor::{Spacing, Tensor};
use pyo3::prelude::*;

use super::super::neural::optional;
use crate::arguments::{
    DTypeOrFamily, Dims, Int, Integers, MOST_ITEMS, Operand, either, integers, items, needed, size,
};
use crate::create;
use crate::error::raise;
use crate::interrupt::detach;
use crate::operand::{self, run};
use crate::reduce::Axes;
use crate::tensor::PyTensor;
use crate::view::Parts;
use crate::wanted::Wanted;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

forms! {
    /// The sum along dim, or of everything, of what is not NaN.
    ///
    /// >>> al.tensor([1.0, float("nan"), 2.0]).nansum()
    /// tensor(3.)
    nansum[dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, op, x| {
        let (at, wanted) = (Axes::read(op, dim, axis, keepdim, keepdims)?, Wanted::total(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.nansum(at.axes(), at.keepdim(), dtype)))
    };

    /// The mean along dim, or of everything, of what is not NaN; NaN where there is nothing else.
    ///
    /// >>> al.tensor([1.0, float("nan"), 2.0]).nanmean()
    /// tensor(1.5000)
    nanmean[dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, op, x| {
        let (at, wanted) = (Axes::read(op, dim, axis, keepdim, keepdims)?, Wanted::like(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.nanmean(at.axes(), at.keepdim(), dtype)))
    };

    /// The covariances of the rows of a matrix, whose columns are observations, or the variance of a
    /// vector. An observation counts fweights times (integers), and by aweights (floats).
    ///
    /// >>> al.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).cov()
    /// tensor([[ 1., -1.],
    ///         [-1.,  1.]])
    cov[*, correction=1.0, fweights=None, aweights=None](correction: f64, fweights: Option<Operand>, aweights: Option<Operand>) -> PyTensor |py, op, x| {
        let (f, a) = (optional(op, fweights)?, optional(op, aweights)?);
        run(py, x.count(), || x.cov(correction, f.as_ref(), a.as_ref()))
    };

    /// The correlations of the rows of a matrix, whose columns are observations.
    ///
    /// >>> al.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]).corrcoef()
    /// tensor([[ 1., -1.],
    ///         [-1.,  1.]])
    corrcoef[]() -> PyTensor |py, _op, x| run(py, x.count(), || x.corrcoef());

    /// Each part along dim whose norm of order p is above maxnorm, scaled down to it.
    ///
    /// >>> al.tensor([[3.0, 4.0], [0.5, 0.0]]).renorm(2, 0, 1.0)
    /// tensor([[0.6000, 0.8000],
    ///         [0.5000, 0.0000]])
    renorm[p, dim=None, maxnorm=None, *, axis=None](p: f64, dim: Option<Int>, maxnorm: Option<f64>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (dim, most) = (crate::arguments::axis(op, dim, axis)?, needed(op, "maxnorm", maxnorm)?);
        run(py, x.count(), || x.renorm(p, dim, most))
    };
}

/// A number, or the places of elements.
fn spacing_of(op: &'static str, object: Any<'_, '_>) -> PyResult<Spacing> {
    match operand::read(op, object)? {
        operand::Value::Tensor(places) if places.rank() > 0 => Ok(Spacing::Places(places)),
        _ => {
            let refuse = || {
                let accepted = "numbers and tensors of places";
                crate::error::wrong_object(op, "not a spacing", object, accepted)
            };
            if let Ok(step) = object.extract::<f64>() {
                return Ok(Spacing::Step(step.into()));
            }
            match create::number(op, object).map_err(|_| refuse())? {
                step @ WeakScalar::Complex(_) => Ok(Spacing::Step(step)),
                _ => Err(refuse()),
            }
        }
    }
}

/// The slopes along dimensions, a tuple with a tensor for each: by default along all of them.
/// spacing is how far elements are apart: one number for all, or a list with a number or a tensor of
/// places for each dimension. Complex spacing makes the slopes complex. edge_order is 1 or 2, the
/// order of the slopes at the ends.
///
/// >>> al.gradient(al.tensor([0.0, 1.0, 4.0, 9.0]))
/// (tensor([1., 2., 4., 5.]),)
#[pyfunction]
#[pyo3(signature = (input, *, spacing=None, dim=None, edge_order=Int(1), axis=None))]
fn gradient(
    py: Python<'_>,
    input: Operand,
    spacing: Option<Any<'_, '_>>,
    dim: Option<Dims>,
    edge_order: Int,
    axis: Option<Dims>,
) -> PyResult<Parts> {
    let op = "gradient";
    let x = create::operand(op, input)?;
    let dims = either(op, dim, axis)?.filter(|dims| !dims.is_none());
    let dims = dims.map(|dims| integers(op, dims)).transpose()?;
    let all = || (0..x.rank() as isize).collect();
    let dims = dims.map_or_else(all, Integers::into_vec);
    let order = size(op, edge_order.0)?;
    let spacing = match spacing.filter(|spacing| !spacing.is_none()) {
        None => vec![Spacing::Step(1.into()); dims.len()],
        Some(given) => match items(op, given, MOST_ITEMS)? {
            Some(each) if !given.is_instance_of::<PyTensor>() => {
                let each = each.iter().map(|one| spacing_of(op, one));
                each.collect::<PyResult<_>>()?
            }
            _ => match spacing_of(op, given)? {
                step @ Spacing::Step(_) => vec![step; dims.len()],
                places @ Spacing::Places(_) => vec![places],
            },
        },
    };
    let work = || -> Result<Vec<Tensor>, Error> { x.gradient(&spacing, &dims, order) };
    Parts::wrap(Ok(detach(py, work).map_err(raise)?))
}

/// Adds them all.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    module.add_function(wrap_pyfunction!(gradient, module)?)
}
