//! Running totals and extremes, differences, integrals.

use allotrope_tensor::Tensor;
use pyo3::prelude::*;

use super::run_pair;
use crate::arguments::{DTypeOrFamily, Int, Operand, axis_or, either, one_of, size};
use crate::create;
use crate::operand::{self, Value, run};
use crate::tensor::PyTensor;
use crate::wanted::Wanted;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A tensor among the arguments, if there is one.
fn given(op: &'static str, object: Option<Any<'_, '_>>) -> PyResult<Option<Tensor>> {
    let object = object.filter(|object| !object.is_none());
    object.map(|object| create::operand(op, object)).transpose()
}

/// The points and the distance of an integral.
fn points(
    op: &'static str,
    x: Option<Operand>,
    dx: Option<Operand>,
) -> PyResult<(Option<Tensor>, Value)> {
    let dx = dx.filter(|dx| !dx.is_none());
    let dx = dx.map_or(Ok(operand::float(1.0)), |dx| operand::read(op, dx))?;
    Ok((given(op, x)?, dx))
}

forms! {
    /// The sum of the elements up to each one along dim. Integers accumulate in 64 bits, halves in
    /// wider floats, and every sum is rounded once.
    ///
    /// >>> al.tensor([100, 100, 100], dtype=al.int8).cumsum(0)
    /// tensor([100, 200, 300])
    cumsum[dim=None, *, dtype=None, axis=None](dim: Option<Int>, dtype: Option<DTypeOrFamily>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (dim, wanted) = (crate::arguments::axis(op, dim, axis)?, Wanted::total(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.cumsum(dim, dtype)))
    };

    /// The product of the elements up to each one along dim.
    ///
    /// >>> al.tensor([1, 2, 3, 4]).cumprod(0)
    /// tensor([ 1,  2,  6, 24])
    cumprod[dim=None, *, dtype=None, axis=None](dim: Option<Int>, dtype: Option<DTypeOrFamily>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (dim, wanted) = (crate::arguments::axis(op, dim, axis)?, Wanted::total(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.cumprod(dim, dtype)))
    };

    /// The sum of the elements up to each one along axis, which only a tensor of one dimension
    /// may leave out; with include_initial a 0 stands before the sums.
    ///
    /// >>> al.tensor([1, 2, 3]).cumulative_sum(include_initial=True)
    /// tensor([0, 1, 3, 6])
    cumulative_sum[*, axis=None, dtype=None, include_initial=false](axis: Option<Int>, dtype: Option<DTypeOrFamily>, include_initial: bool) -> PyTensor |py, op, x| {
        let (axis, wanted) = (axis.map(|Int(axis)| axis), Wanted::total(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.cumulative_sum(axis, dtype, include_initial)))
    };

    /// The product of the elements up to each one along axis; with include_initial a 1 stands
    /// before the products.
    ///
    /// >>> al.tensor([2, 3, 4]).cumulative_prod(include_initial=True)
    /// tensor([ 1,  2,  6, 24])
    cumulative_prod[*, axis=None, dtype=None, include_initial=false](axis: Option<Int>, dtype: Option<DTypeOrFamily>, include_initial: bool) -> PyTensor |py, op, x| {
        let (axis, wanted) = (axis.map(|Int(axis)| axis), Wanted::total(op, dtype, x)?);
        run(py, x.count(), || wanted.run(|dtype| x.cumulative_prod(axis, dtype, include_initial)))
    };

    /// The logarithm of the sum of exponentials up to each element along dim, without overflow.
    ///
    /// >>> al.tensor([1000.0, 1000.0]).logcumsumexp(0)
    /// tensor([1000.0000, 1000.6932])
    logcumsumexp[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let dim = crate::arguments::axis(op, dim, axis)?;
        run(py, x.count(), || x.logcumsumexp(dim))
    };

    /// The greatest element up to each one along dim and its place, the latest of equals; from the
    /// first NaN on, NaN.
    ///
    /// >>> al.tensor([1, 3, 2]).cummax(0).values
    /// tensor([1, 3, 3])
    cummax[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let dim = crate::arguments::axis(op, dim, axis)?;
        run_pair(py, op, x, || x.cummax(dim))
    };

    /// The least element up to each one along dim and its place, the latest of equals; from the
    /// first NaN on, NaN.
    ///
    /// >>> al.tensor([3, 1, 2]).cummin(0)
    /// cummin(values=tensor([3, 1, 1]), indices=tensor([0, 1, 1]))
    cummin[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> Py<PyAny> |py, op, x| {
        let dim = crate::arguments::axis(op, dim, axis)?;
        run_pair(py, op, x, || x.cummin(dim))
    };

    /// The n-th differences of neighbours along dim, after prepend and append were put to its ends;
    /// of truth values whether they differ.
    ///
    /// >>> al.tensor([1, 4, 9]).diff(prepend=al.tensor([0]))
    /// tensor([1, 3, 5])
    diff[n=Int(1), dim=None, prepend=None, append=None, *, axis=None](n: Int, dim: Option<Int>, prepend: Option<Operand>, append: Option<Operand>, axis: Option<Int>) -> PyTensor |py, op, x| {
        let (n, dim) = (size(op, n.0)?, axis_or(op, dim, axis, -1)?);
        let (prepend, append) = (given(op, prepend)?, given(op, append)?);
        run(py, x.count(), || x.diff(n, dim, prepend.as_ref(), append.as_ref()))
    };
}

/// Integrals as methods and as functions, whose operand torch calls y.
macro_rules! integrals {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = (x=None, *, dx=None, dim=None, axis=None))]
            fn $name(
                &self,
                py: Python<'_>,
                x: Option<Operand>,
                dx: Option<Operand>,
                dim: Option<Int>,
                axis: Option<Int>,
            ) -> PyResult<Self> {
                let (op, y) = (stringify!($name), self.tensor());
                let dim = axis_or(op, dim, axis, -1)?;
                either(op, x, dx)?;
                let (x, dx) = points(op, x, dx)?;
                run(py, y.count(), || y.$name(x.as_ref(), dx.as_operand(), dim))
            }
        )*}

        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input=None, x=None, *, dx=None, dim=None, axis=None, y=None))]
            fn $name(
                py: Python<'_>,
                input: Option<Operand>,
                x: Option<Operand>,
                dx: Option<Operand>,
                dim: Option<Int>,
                axis: Option<Int>,
                y: Option<Operand>,
            ) -> PyResult<PyTensor> {
                let op = stringify!($name);
                let y = create::operand(op, one_of(op, "y", &[input, y])?)?;
                PyTensor::from(y).$name(py, x, dx, dim, axis)
            }
        )*

        /// Adds them all.
        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            functions::register(module)?;
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}
integrals! {
    /// The integral along dim by the trapezoidal rule: over points x, or points dx apart.
    ///
    /// >>> al.tensor([1.0, 2.0, 3.0]).trapezoid()
    /// tensor(4.)
    trapezoid;
    /// The integral up to each element but the first along dim by the trapezoidal rule.
    ///
    /// >>> al.tensor([1.0, 2.0, 3.0]).cumulative_trapezoid()
    /// tensor([1.5000, 4.0000])
    cumulative_trapezoid;
}
