//! Norms, powers, products of vectors.

use allotrope_tensor::linalg::{self, Order};
use pyo3::prelude::*;

use super::{compute, dimensions, order};
use crate::arguments::{DTypeOrFamily, Dims, Int, NormOrder, Operand, axis_or, either};
use crate::create::operand;
use crate::operand::run;
use crate::tensor::PyTensor;
use crate::wanted::Wanted;

functions! {
    /// The norm of order ord along dim, or of everything.
    ///
    /// >>> al.linalg.vector_norm(al.tensor([3.0, 4.0]))
    /// tensor(5.)
    vector_norm "linalg.vector_norm" [ord=2.0, dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](x, ord: f64, dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, x| {
        let op = "linalg.vector_norm";
        let (dims, wanted) = (dimensions(op, either(op, dim, axis)?)?, Wanted::like(op, dtype, x)?);
        let keepdim = either(op, keepdim, keepdims)?.unwrap_or(false);
        run(py, x.count(), || wanted.run(|dtype| linalg::vector_norm(x, ord, dims.as_deref(), keepdim, dtype)))
    };

    /// A norm of the matrices in the dimensions dim: 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf.
    ///
    /// >>> al.linalg.matrix_norm(al.tensor([[1.0, -2.0], [3.0, 4.0]]), 1)
    /// tensor(6.)
    matrix_norm "linalg.matrix_norm" [ord=None, dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](A, ord: Option<NormOrder>, dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, a| {
        let op = "linalg.matrix_norm";
        let order = order(op, ord)?.unwrap_or(Order::Frobenius);
        let dims = dimensions(op, either(op, dim, axis)?)?.unwrap_or_else(|| vec![-2, -1]);
        let (keepdim, wanted) = (either(op, keepdim, keepdims)?.unwrap_or(false), Wanted::like(op, dtype, a)?);
        compute(py, a, || wanted.run(|dtype| linalg::matrix_norm(a, order, &dims, keepdim, dtype))).map(PyTensor::from)
    };

    /// A norm of everything, of the vectors along one dimension, or of the matrices in two.
    ///
    /// >>> al.linalg.norm(al.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0, ord=1)
    /// tensor([4., 6.])
    norm "linalg.norm" [ord=None, dim=None, keepdim=None, *, dtype=None, axis=None, keepdims=None](A, ord: Option<NormOrder>, dim: Option<Dims>, keepdim: Option<bool>, dtype: Option<DTypeOrFamily>, axis: Option<Dims>, keepdims: Option<bool>) -> PyTensor |py, a| {
        let op = "linalg.norm";
        let (order, dims) = (order(op, ord)?, dimensions(op, either(op, dim, axis)?)?);
        let (keepdim, wanted) = (either(op, keepdim, keepdims)?.unwrap_or(false), Wanted::like(op, dtype, a)?);
        compute(py, a, || wanted.run(|dtype| linalg::norm(a, order, dims.as_deref(), keepdim, dtype))).map(PyTensor::from)
    };

    /// Square matrices times themselves n times: the identity for 0, the inverse for -1.
    ///
    /// >>> al.linalg.matrix_power(al.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    /// tensor([[1., 3.],
    ///         [0., 1.]])
    matrix_power "linalg.matrix_power" [n](A, n: Int) -> PyTensor |py, a| {
        compute(py, a, || linalg::matrix_power(a, n.0 as i64)).map(PyTensor::from)
    };

    /// The exponential of square matrices.
    ///
    /// >>> al.linalg.matrix_exp(al.zeros(2, 2))
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    matrix_exp "linalg.matrix_exp" [](A) -> PyTensor |py, a| compute(py, a, || linalg::matrix_exp(a)).map(PyTensor::from);

    /// The vector product of the vectors of three elements along dim.
    ///
    /// >>> al.linalg.cross(al.tensor([1, 0, 0]), al.tensor([0, 1, 0]))
    /// tensor([0, 0, 1])
    cross "linalg.cross" [other, *, dim=None, axis=None](input, other: Operand, dim: Option<Int>, axis: Option<Int>) -> PyTensor |py, x| {
        let op = "linalg.cross";
        let (other, dim) = (operand(op, other)?, axis_or(op, dim, axis, -1)?);
        run(py, x.count(), || linalg::cross(x, &other, dim))
    };

    /// The sum of products of conj(x) with y along dim.
    ///
    /// >>> al.linalg.vecdot(al.tensor([1, 2]), al.tensor([3, 4]))
    /// tensor(11)
    vecdot "linalg.vecdot" [y, *, dim=None, axis=None](x, y: Operand, dim: Option<Int>, axis: Option<Int>) -> PyTensor |py, x| {
        let op = "linalg.vecdot";
        let (y, dim) = (operand(op, y)?, axis_or(op, dim, axis, -1)?);
        run(py, x.count(), || linalg::vecdot(x, &y, dim))
    };
}
