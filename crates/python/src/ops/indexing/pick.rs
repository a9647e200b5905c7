//! Elements read from where indices say.

use pyo3::prelude::*;

use super::read_index;
use crate::arguments::{Int, Operand, axis as read_axis, either};
use crate::operand::run;
use crate::tensor::PyTensor;

forms! {
    /// The elements along a dimension at an index for each: `out[i][j] = x[index[i][j]][j]` for
    /// dimension 0. The result has the shape of the index; negative indices count from the end.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).gather(1, al.tensor([[0, 0], [-1, 0]]))
    /// tensor([[1, 1],
    ///         [4, 3]])
    gather[dim=None, index=None, *, axis=None, sparse_grad=false](
        dim: Option<Int>,
        index: Option<Operand>,
        axis: Option<Int>,
        sparse_grad: bool
    ) -> PyTensor |py, op, x| {
        // How gradients are stored is no part of the value.
        let _ = sparse_grad;
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        run(py, x.count().max(index.count()), || x.gather(dim, &index))
    };

    /// The slices along a dimension at the indices of a vector; negative ones count from the end.
    ///
    /// >>> al.tensor([[1, 2], [3, 4], [5, 6]]).index_select(0, al.tensor([2, 0]))
    /// tensor([[5, 6],
    ///         [1, 2]])
    index_select[dim=None, index=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        run(py, x.count().max(index.count()), || x.index_select(dim, &index))
    };

    /// The elements at indices into the flattened tensor, in the shape of the indices; with dim the
    /// slices along it, whose place the dimensions of the indices take.
    ///
    /// >>> al.tensor([[4, 3, 5], [6, 7, 8]]).take(al.tensor([0, 2, -1]))
    /// tensor([4, 5, 8])
    take[index, dim=None, *, axis=None](
        index: Operand,
        dim: Option<Int>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let index = read_index(op, Some(index))?;
        let dim = either(op, dim, axis)?.map(|Int(dim)| dim);
        run(py, x.count().max(index.count()), || x.take(&index, dim))
    };

    /// The elements along dim at an index for each; tensor and indices are broadcast in the other
    /// dimensions. Without dim both are flattened.
    ///
    /// >>> x = al.tensor([[10, 30, 20], [60, 40, 50]])
    /// >>> x.take_along_dim(x.argmax(1, keepdim=True), 1)
    /// tensor([[30],
    ///         [60]])
    take_along_dim[indices, dim=None, *, axis=None](
        indices: Operand,
        dim: Option<Int>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let index = read_index(op, Some(indices))?;
        let dim = either(op, dim, axis)?.map(|Int(dim)| dim);
        run(py, x.count().max(index.count()), || x.take_along_dim(&index, dim))
    };
}
