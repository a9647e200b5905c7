//! Sorted lines, and elements by their rank.

use allotrope_tensor::{QuantileInterpolation, Tensor};
use pyo3::intern;
use pyo3::prelude::*;

use super::run_pair;
use crate::arguments::{Int, Operand, axis_or, either, floats, size};
use crate::create;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

/// Where a median is looked for: nowhere in particular if no dimension is named.
struct Where {
    dim: Option<isize>,
    keepdim: bool,
}

impl Where {
    fn read(
        op: &'static str,
        dim: Option<Int>,
        axis: Option<Int>,
        keepdim: Option<bool>,
        keepdims: Option<bool>,
    ) -> PyResult<Self> {
        Ok(Self {
            dim: either(op, dim, axis)?.map(|Int(dim)| dim),
            keepdim: either(op, keepdim, keepdims)?.unwrap_or(false),
        })
    }

    /// The dimension, the last one if none is named.
    fn or_last(&self) -> isize {
        self.dim.unwrap_or(-1)
    }
}

/// Fractions and what stands between neighbours.
fn fractions(
    op: &'static str,
    q: Operand,
    interpolation: &str,
) -> PyResult<(Tensor, QuantileInterpolation)> {
    let interpolation = interpolation.parse::<QuantileInterpolation>();
    let interpolation = interpolation.map_err(|error| raise(error.in_op(op)))?;
    // Arrays keep their dimensions and history, Python's floats their digits.
    let q = if q.hasattr(intern!(q.py(), "dtype"))? {
        return Ok((create::operand(op, q)?, interpolation));
    } else if q.hasattr(intern!(q.py(), "__float__"))? {
        Tensor::from_slice(&[q.extract::<f64>()?], &[])
    } else if let Some(several) = floats(op, q)? {
        Tensor::from_slice(&several, &[several.len()])
    } else {
        return Ok((create::operand(op, q)?, interpolation));
    };
    Ok((q.map_err(raise)?, interpolation))
}

forms! {
    /// The elements in order along dim and their places. NaN is the greatest, -0 and 0 are equal,
    /// and equals keep their order whether or not stable is asked for.
    ///
    /// >>> al.tensor([3, 1, 2]).sort().indices
    /// tensor([1, 2, 0])
    sort[dim=None, descending=false, *, stable=false, axis=None](dim: Option<Int>, descending: bool, stable: bool, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let (dim, _always) = (axis_or(op, dim, axis, -1)?, stable);
        run_pair(py, op, x, || x.sort(dim, descending))
    };

    /// The places of the elements in order along dim.
    ///
    /// >>> al.tensor([3, 1, 2]).argsort()
    /// tensor([1, 2, 0])
    argsort[dim=None, descending=false, stable=false, *, axis=None](dim: Option<Int>, descending: bool, stable: bool, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (dim, _always) = (axis_or(op, dim, axis, -1)?, stable);
        run(py, x.count(), || x.argsort(dim, descending))
    };

    /// The elements in order along the first dimension.
    ///
    /// >>> al.tensor([[3, 1], [2, 4]]).msort()
    /// tensor([[2, 1],
    ///         [3, 4]])
    msort[]() -> PyTensor |py, _op, x| {
        run(py, x.count(), || x.msort())
    };

    /// The k greatest elements along dim, or the least, and their places; of equals the earliest.
    ///
    /// >>> al.tensor([3, 1, 2]).topk(2).values
    /// tensor([3, 2])
    topk[k, dim=None, largest=true, sorted=true, *, axis=None](k: Int, dim: Option<Int>, largest: bool, sorted: bool, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let (k, dim) = (size(op, k.0)?, axis_or(op, dim, axis, -1)?);
        run_pair(py, op, x, || x.topk(k, dim, largest, sorted))
    };

    /// The k-th least element along dim, counted from 1, and its place.
    ///
    /// >>> al.tensor([3, 1, 2]).kthvalue(2).values
    /// tensor(2)
    kthvalue[k, dim=None, keepdim=None, *, axis=None, keepdims=None](k: Int, dim: Option<Int>, keepdim: Option<bool>, axis: Option<Int>, keepdims: Option<bool>) -> Py<PyAny> |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        run_pair(py, op, x, || x.kthvalue(k.0, at.or_last(), at.keepdim))
    };

    /// The middle element in order; along dim with its place. Of an even number of elements it is
    /// the lower of the two in the middle; NaN if there is one.
    ///
    /// >>> al.tensor([4, 1, 3, 2]).median()
    /// tensor(2)
    ///
    /// >>> al.tensor([[4, 1, 3]]).median(1)
    /// median(values=tensor([3]), indices=tensor([2]))
    median[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Int>, keepdim: Option<bool>, axis: Option<Int>, keepdims: Option<bool>) -> Py<PyAny> |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        match at.dim {
            Some(dim) => run_pair(py, op, x, || x.median(dim, at.keepdim)),
            None => Ok(Py::new(py, run(py, x.count(), || x.median_of_all())?)?.into_any()),
        }
    };

    /// The middle element in order of those that are not NaN; along dim with its place. Of an even
    /// number of elements it is the lower of the two in the middle.
    ///
    /// >>> al.tensor([1.0, al.nan, 3.0, 2.0]).nanmedian()
    /// tensor(2.)
    ///
    /// >>> al.tensor([[1.0, al.nan, 3.0]]).nanmedian(1)
    /// nanmedian(values=tensor([1.]), indices=tensor([0]))
    nanmedian[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Int>, keepdim: Option<bool>, axis: Option<Int>, keepdims: Option<bool>) -> Py<PyAny> |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        match at.dim {
            Some(dim) => run_pair(py, op, x, || x.nanmedian(dim, at.keepdim)),
            None => Ok(Py::new(py, run(py, x.count(), || x.nanmedian_of_all())?)?.into_any()),
        }
    };

    /// The elements at fractions q of the order along dim, or of everything; NaN where there is one.
    /// Between neighbours the interpolation is linear, lower, higher, midpoint or nearest.
    ///
    /// >>> al.tensor([4.0, 1.0, 3.0, 2.0]).quantile(0.5)
    /// tensor(2.5000)
    quantile[q, dim=None, keepdim=None, *, interpolation="linear", axis=None, keepdims=None](q: Operand, dim: Option<Int>, keepdim: Option<bool>, interpolation: &str, axis: Option<Int>, keepdims: Option<bool>) -> PyTensor |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        let (q, interpolation) = fractions(op, q, interpolation)?;
        run(py, x.count(), || x.quantile(&q, at.dim, at.keepdim, interpolation))
    };

    /// The elements at fractions q of the order of those that are not NaN.
    ///
    /// >>> al.tensor([1.0, al.nan, 3.0]).nanquantile(0.5)
    /// tensor(2.)
    nanquantile[q, dim=None, keepdim=None, *, interpolation="linear", axis=None, keepdims=None](q: Operand, dim: Option<Int>, keepdim: Option<bool>, interpolation: &str, axis: Option<Int>, keepdims: Option<bool>) -> PyTensor |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        let (q, interpolation) = fractions(op, q, interpolation)?;
        run(py, x.count(), || x.nanquantile(&q, at.dim, at.keepdim, interpolation))
    };

    /// The most frequent element along dim, the least of several, and its last place. Each NaN is
    /// unlike any other.
    ///
    /// >>> al.tensor([3, 1, 3]).mode().values
    /// tensor(3)
    mode[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Int>, keepdim: Option<bool>, axis: Option<Int>, keepdims: Option<bool>) -> Py<PyAny> |py, op, x| {
        let at = Where::read(op, dim, axis, keepdim, keepdims)?;
        run_pair(py, op, x, || x.mode(at.or_last(), at.keepdim))
    };
}
