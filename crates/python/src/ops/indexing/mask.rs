//! Elements where something is true.

use allotrope_dtype::WeakScalar;
use allotrope_tensor::{PadMode, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{run_several, tuple};
use crate::arguments::{self, Int, Operand};
use crate::create;
use crate::operand::{self, run};
use crate::tensor::PyTensor;

forms! {
    /// The tensor with a value where a mask is true; both are broadcast.
    ///
    /// >>> al.tensor([1, 2, 3]).masked_fill(al.tensor([True, False, True]), 0)
    /// tensor([0, 2, 0])
    masked_fill[mask, value](mask: Operand, value: Operand) -> PyTensor |py, op, x| {
        let (mask, value) = (create::operand(op, mask)?, operand::read_beside(op, x, value)?);
        run(py, x.count().max(mask.count()), || x.masked_fill(&mask, value.as_operand()))
    };

    /// The elements where a mask is true, as a vector in row-major order; both are broadcast.
    ///
    /// >>> x = al.tensor([[1, 2], [3, 4]])
    /// >>> x.masked_select(x > 2)
    /// tensor([3, 4])
    masked_select[mask](mask: Operand) -> PyTensor |py, op, x| {
        let mask = create::operand(op, mask)?;
        run(py, x.count().max(mask.count()), || x.masked_select(&mask))
    };

    /// The tensor with elements of a source, one after the other in row-major order, where a mask is
    /// true.
    ///
    /// >>> mask = al.tensor([True, False, True])
    /// >>> al.zeros(3).masked_scatter(mask, al.tensor([5., 6., 7.]))
    /// tensor([5., 0., 6.])
    masked_scatter[mask, source](mask: Operand, source: Operand) -> PyTensor |py, op, x| {
        let (mask, source) = (create::operand(op, mask)?, create::operand(op, source)?);
        run(py, x.count().max(mask.count()), || x.masked_scatter(&mask, &source))
    };

    /// The indices of the elements that are not zero, in row-major order: a row for each with a
    /// column per dimension, or with as_tuple=True a vector per dimension.
    ///
    /// >>> al.tensor([[1, 0], [0, 2]]).nonzero()
    /// tensor([[0, 0],
    ///         [1, 1]])
    nonzero[*, as_tuple=false](as_tuple: bool) -> Py<PyAny> |py, _op, x| {
        if as_tuple {
            return Ok(nonzero_tuple(py, x)?.into_any());
        }
        let result = run(py, x.count(), || x.argwhere().map_err(|error| error.in_op("nonzero")))?;
        Ok(Py::new(py, result)?.into_any())
    };

    /// The indices of the first size elements that are not zero, a row for each with a column per
    /// dimension, and rows of fill_value where there are fewer.
    ///
    /// >>> al.tensor([0, 3, 0, 4]).nonzero_static(size=3)
    /// tensor([[ 1],
    ///         [ 3],
    ///         [-1]])
    nonzero_static[*, size, fill_value=Int(-1)](size: Int, fill_value: Int) -> PyTensor |py, op, x| {
        let rows = arguments::size(op, size.0)?;
        run(py, x.count(), || {
            let found = x.argwhere()?;
            let kept = found.narrow(0, 0, found.shape()[0].min(rows))?;
            let missing = (rows - kept.shape()[0]) as isize;
            let filled = PadMode::Constant(WeakScalar::Int(fill_value.0 as i128));
            kept.pad(&[0, 0, 0, missing], filled).map_err(|error| error.in_op(op))
        })
    };

    /// The indices of the elements that are not zero, a row for each with a column per dimension.
    ///
    /// >>> al.tensor([0, 3, 0, 4]).argwhere()
    /// tensor([[1],
    ///         [3]])
    argwhere[](
    ) -> PyTensor |py, _op, x| run(py, x.count(), || x.argwhere());
}

/// For each dimension, the indices of the elements that are not zero.
pub(crate) fn nonzero_tuple(py: Python<'_>, x: &Tensor) -> PyResult<Py<PyTuple>> {
    tuple(py, run_several(py, x.count(), || x.nonzero())?)
}
