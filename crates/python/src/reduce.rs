//! Reductions: each is declared once, as a method of `Tensor` and as a function of the module, with
//! torch's names of arguments and NumPy's beside them.

use allotrope_dtype::{DType, Error};
use allotrope_tensor::Tensor;
use allotrope_tensor::linalg::{self, Order};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::arguments::{self, DTypeOrFamily, Dims, NormOrder, Operand, either};
use crate::error::raise;
use crate::named::named;
use crate::operand;
use crate::ops::linalg::order;
use crate::tensor::{PyTensor, wrap};
use crate::wanted::Wanted;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The axes and whether they stay, from torch's or NumPy's names.
pub(crate) struct Axes {
    axes: Option<Vec<isize>>,
    keepdim: bool,
}

impl Axes {
    pub(crate) fn read(
        op: &'static str,
        dim: Option<Dims>,
        axis: Option<Dims>,
        keepdim: Option<bool>,
        keepdims: Option<bool>,
    ) -> PyResult<Self> {
        let axes = match either(op, dim, axis)? {
            Some(given) if !given.is_none() => Some(arguments::integers(op, given)?.into_vec()),
            _ => None,
        };
        Ok(Self {
            axes,
            keepdim: either(op, keepdim, keepdims)?.unwrap_or(false),
        })
    }

    /// Whether reduced dimensions stay.
    pub(crate) fn keepdim(&self) -> bool {
        self.keepdim
    }

    pub(crate) fn axes(&self) -> Option<&[isize]> {
        self.axes.as_deref()
    }

    /// The one axis, for reductions that give a place.
    fn single(&self, op: &'static str) -> PyResult<Option<isize>> {
        match self.axes() {
            None => Ok(None),
            Some([axis]) => Ok(Some(*axis)),
            Some(axes) => {
                let problem = allotrope_dtype::Problem::WrongAxisCount {
                    given: axes.len(),
                    rank: 1,
                };
                Err(raise(Error::new(op, problem)))
            }
        }
    }
}

/// The axes of a variance, and what is taken from the count: `var(dim, correction=0)`, NumPy's `ddof`, or torch's
/// older `var(unbiased)` and `var(dim, unbiased)`.
fn spread(
    op: &'static str,
    [dim, axis]: [Option<Any<'_, '_>>; 2],
    unbiased: Option<bool>,
    [correction, ddof]: [Option<f64>; 2],
    [keepdim, keepdims]: [Option<bool>; 2],
) -> PyResult<(Axes, f64)> {
    let first = dim.and_then(|dim| dim.cast::<PyBool>().ok());
    let (dim, unbiased) = match first {
        Some(first) => (None, either(op, Some(first.is_true()), unbiased)?),
        None => (dim, unbiased),
    };
    let correction = either(op, correction, ddof)?;
    let correction = either(op, correction, unbiased.map(f64::from))?.unwrap_or(1.0);
    Ok((Axes::read(op, dim, axis, keepdim, keepdims)?, correction))
}

fn run(
    py: Python<'_>,
    x: &Tensor,
    work: impl FnOnce() -> Result<Tensor, Error> + Send,
) -> PyResult<PyTensor> {
    operand::run(py, x.count(), work)
}

forms! {
    /// The sum along dim, or of everything. Integers accumulate in 64 bits, halves in wider floats.
    ///
    /// >>> al.ones(70000, dtype=al.float16).sum(dtype=al.float32)
    /// tensor(70000.)
    sum[dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let (at, wanted) = (Axes::read("sum", dim, axis, keepdim, keepdims)?, Wanted::total("sum", dtype, x)?);
        run(py, x, || wanted.run(|dtype| x.sum(at.axes(), at.keepdim, dtype)))
    };

    /// The product along dim, or of everything.
    ///
    /// Integers accumulate in 64 bits.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).prod(1)
    /// tensor([ 2, 12])
    /// >>> al.tensor([100, 100], dtype=al.int8).prod()
    /// tensor(10000)
    prod[dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let (at, wanted) = (Axes::read("prod", dim, axis, keepdim, keepdims)?, Wanted::total("prod", dtype, x)?);
        run(py, x, || wanted.run(|dtype| x.prod(at.axes(), at.keepdim, dtype)))
    };

    /// The mean along dim, or of everything; of integers the default float, without overflow.
    ///
    /// >>> al.tensor([1, 2]).mean()
    /// tensor(1.5000)
    mean[dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let (at, wanted) = (Axes::read("mean", dim, axis, keepdim, keepdims)?, Wanted::like("mean", dtype, x)?);
        run(py, x, || wanted.run(|dtype| x.mean(at.axes(), at.keepdim, dtype)))
    };

    /// The variance along dim, or of everything; correction is taken from the count.
    ///
    /// >>> al.tensor([1.0, 3.0]).var()
    /// tensor(2.)
    var[dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None, ddof=None](dim: Option<Dims>, unbiased: Option<bool>, keepdim: Option<bool>, correction: Option<f64>, axis: Option<Dims>, keepdims: Option<bool>, ddof: Option<f64>) -> PyTensor |py, _op, x| {
        let (at, correction) = spread("var", [dim, axis], unbiased, [correction, ddof], [keepdim, keepdims])?;
        run(py, x, || x.var(at.axes(), correction, at.keepdim))
    };

    /// The standard deviation along dim, or of everything: the root of the variance.
    ///
    /// >>> al.tensor([1.0, 3.0]).std()
    /// tensor(1.4142)
    /// >>> al.tensor([1.0, 3.0]).std(correction=0)
    /// tensor(1.)
    deviation as "std" [dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None, ddof=None](dim: Option<Dims>, unbiased: Option<bool>, keepdim: Option<bool>, correction: Option<f64>, axis: Option<Dims>, keepdims: Option<bool>, ddof: Option<f64>) -> PyTensor |py, _op, x| {
        let (at, correction) = spread("std", [dim, axis], unbiased, [correction, ddof], [keepdim, keepdims])?;
        run(py, x, || x.std(at.axes(), correction, at.keepdim))
    };

    /// The greatest along dim, or of everything; NaN if there is one.
    ///
    /// >>> al.tensor([[1, 5], [7, 2]]).amax(1)
    /// tensor([5, 7])
    /// >>> al.tensor([1.0, al.nan]).amax()
    /// tensor(nan)
    amax[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("amax", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.amax(at.axes(), at.keepdim))
    };

    /// The least along dim, or of everything; NaN if there is one.
    ///
    /// >>> al.tensor([[1, 5], [7, 2]]).amin(1, keepdim=True)
    /// tensor([[1],
    ///         [2]])
    amin[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("amin", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.amin(at.axes(), at.keepdim))
    };

    /// The place of the greatest along dim, or in the flattened tensor; that of the first NaN.
    ///
    /// >>> al.tensor([[1, 5], [7, 2]]).argmax()
    /// tensor(2)
    /// >>> al.tensor([[1, 5], [7, 2]]).argmax(1)
    /// tensor([1, 0])
    argmax[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("argmax", dim, axis, keepdim, keepdims)?;
        let axis = at.single("argmax")?;
        run(py, x, || x.argmax(axis, at.keepdim))
    };

    /// The place of the least along dim, or in the flattened tensor; that of the first NaN.
    ///
    /// >>> al.tensor([[1, 5], [7, 2]]).argmin(0)
    /// tensor([0, 1])
    argmin[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("argmin", dim, axis, keepdim, keepdims)?;
        let axis = at.single("argmin")?;
        run(py, x, || x.argmin(axis, at.keepdim))
    };

    /// Whether one is not zero, along dim or in everything: a bool for every dtype, uint8 too.
    ///
    /// >>> al.tensor([[0, 0], [0, 3]]).any(1)
    /// tensor([False,  True])
    any[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("any", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.any(at.axes(), at.keepdim))
    };

    /// Whether none is zero, along dim or in everything: a bool for every dtype, uint8 too.
    ///
    /// >>> al.tensor([[1, 2], [0, 3]]).all(1)
    /// tensor([ True, False])
    all[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("all", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.all(at.axes(), at.keepdim))
    };

    /// How many are not zero, along dim or in everything.
    ///
    /// >>> al.tensor([[0, 2], [3, 4]]).count_nonzero(1)
    /// tensor([1, 2])
    count_nonzero[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("count_nonzero", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.count_nonzero(at.axes(), at.keepdim))
    };

    /// The norm of order p along dim, or of everything; p is a number, 'fro', which is 2, or 'nuc', the
    /// sum of the singular values of matrices.
    ///
    /// >>> al.tensor([3.0, 4.0]).norm()
    /// tensor(5.)
    norm[p=None, dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](p: Option<NormOrder>, dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("norm", dim, axis, keepdim, keepdims)?;
        let (order, wanted) = (order("norm", p)?.unwrap_or(Order::Frobenius), Wanted::like("norm", dtype, x)?);
        run(py, x, || wanted.run(|dtype| norm_of(x, order, &at, dtype)))
    };

    /// The logarithm of the sum of exponentials along dim, or of everything, without overflow.
    ///
    /// >>> al.tensor([1000.0, 1000.0]).logsumexp(0)
    /// tensor(1000.6932)
    logsumexp[dim=None, keepdim=None, *, axis=None, keepdims=None](dim: Option<Dims>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, _op, x| {
        let at = Axes::read("logsumexp", dim, axis, keepdim, keepdims)?;
        run(py, x, || x.logsumexp(at.axes(), at.keepdim))
    };

    /// The greatest of everything; along dim the pair of values and indices; with a tensor the
    /// greater of two, element by element.
    ///
    /// >>> al.tensor([[1, 5], [7, 2]]).max(1).indices
    /// tensor([1, 0])
    max[dim=None, keepdim=None, *, axis=None, keepdims=None, other=None](dim: Option<Any<'_, '_>>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>, other: Option<Operand>) -> Py<PyAny> |py, _op, x| {
        extreme(py, "max", x, either("max", dim, other)?, axis, keepdim, keepdims)
    };

    /// The least of everything; along dim the pair of values and indices; with a tensor the lesser
    /// of two, element by element.
    ///
    /// >>> al.tensor([[4, 1], [2, 7]]).min()
    /// tensor(1)
    /// >>> al.tensor([[4, 1], [2, 7]]).min(1)
    /// min(values=tensor([1, 2]), indices=tensor([1, 0]))
    min[dim=None, keepdim=None, *, axis=None, keepdims=None, other=None](dim: Option<Any<'_, '_>>, keepdim: Option<bool>, axis: Option<Dims>, keepdims: Option<bool>, other: Option<Operand>) -> Py<PyAny> |py, _op, x| {
        extreme(py, "min", x, either("min", dim, other)?, axis, keepdim, keepdims)
    };

    /// The variance and the mean along dim, or of everything.
    ///
    /// >>> al.tensor([1.0, 3.0]).var_mean()
    /// (tensor(2.), tensor(2.))
    var_mean[dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None, ddof=None](dim: Option<Dims>, unbiased: Option<bool>, keepdim: Option<bool>, correction: Option<f64>, axis: Option<Dims>, keepdims: Option<bool>, ddof: Option<f64>) -> (PyTensor, PyTensor) |_py, _op, x| {
        let (at, correction) = spread("var_mean", [dim, axis], unbiased, [correction, ddof], [keepdim, keepdims])?;
        Ok((wrap(x.var(at.axes(), correction, at.keepdim))?, wrap(x.mean(at.axes(), at.keepdim, None))?))
    };

    /// The standard deviation and the mean along dim, or of everything.
    ///
    /// >>> al.tensor([1.0, 3.0]).std_mean()
    /// (tensor(1.4142), tensor(2.))
    std_mean[dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None, ddof=None](dim: Option<Dims>, unbiased: Option<bool>, keepdim: Option<bool>, correction: Option<f64>, axis: Option<Dims>, keepdims: Option<bool>, ddof: Option<f64>) -> (PyTensor, PyTensor) |_py, _op, x| {
        let (at, correction) = spread("std_mean", [dim, axis], unbiased, [correction, ddof], [keepdim, keepdims])?;
        Ok((wrap(x.std(at.axes(), correction, at.keepdim))?, wrap(x.mean(at.axes(), at.keepdim, None))?))
    };

    /// The least and the greatest along dim, or of everything.
    ///
    /// >>> al.tensor([[4, 1], [2, 7]]).aminmax(dim=1)
    /// aminmax(min=tensor([1, 2]), max=tensor([4, 7]))
    aminmax[*, dim=None, keepdim=None](dim: Option<Dims>, keepdim: Option<bool>) -> Py<PyAny> |py, _op, x| {
        let at = Axes::read("aminmax", dim, None, keepdim, None)?;
        let (min, max) = (wrap(x.amin(at.axes(), at.keepdim))?, wrap(x.amax(at.axes(), at.keepdim))?);
        named(py, "aminmax", [min, max])
    };
}

/// A norm of numbers, or the sum of the singular values of matrices.
fn norm_of(x: &Tensor, order: Order, at: &Axes, dtype: Option<DType>) -> Result<Tensor, Error> {
    let p = match order {
        Order::Nuclear => {
            let all: Vec<isize> = (0..x.rank() as isize).collect();
            let dims = at.axes().unwrap_or(&all);
            let norm = linalg::matrix_norm(x, order, dims, at.keepdim, dtype);
            return norm.map_err(|error| error.in_op("norm"));
        }
        Order::Frobenius => 2.0,
        Order::Number(p) => p,
    };
    match dtype {
        Some(dtype) => x.to(dtype)?.norm(p, at.axes(), at.keepdim),
        None => x.norm(p, at.axes(), at.keepdim),
    }
}

fn extreme(
    py: Python<'_>,
    op: &'static str,
    x: &Tensor,
    dim: Option<Dims>,
    axis: Option<Dims>,
    keepdim: Option<bool>,
    keepdims: Option<bool>,
) -> PyResult<Py<PyAny>> {
    let greatest = op == "max";
    if let Some(other) = dim.and_then(|dim| dim.cast::<PyTensor>().ok()) {
        let other = other.get().tensor();
        let result = run(py, x, || {
            let result = if greatest {
                x.maximum(&other)
            } else {
                x.minimum(&other)
            };
            result.map_err(|error| error.in_op(op))
        })?;
        return Ok(Py::new(py, result)?.into_any());
    }
    let at = Axes::read(op, dim, axis, keepdim, keepdims)?;
    let Some(axis) = at.single(op)? else {
        let values = run(py, x, || {
            let result = if greatest {
                x.amax(at.axes(), at.keepdim)
            } else {
                x.amin(at.axes(), at.keepdim)
            };
            result.map_err(|error| error.in_op(op))
        })?;
        return Ok(Py::new(py, values)?.into_any());
    };
    let mut indices = None;
    let values = run(py, x, || {
        let (values, places) = if greatest {
            x.max_dim(axis, at.keepdim)?
        } else {
            x.min_dim(axis, at.keepdim)?
        };
        indices = Some(places);
        Ok(values)
    })?;
    match indices {
        Some(indices) => named(py, op, [values, PyTensor::from(indices)]),
        None => Ok(Py::new(py, values)?.into_any()),
    }
}
