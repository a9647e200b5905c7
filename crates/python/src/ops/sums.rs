//! Tensors plus products that are summed or spread.

use pyo3::prelude::*;

use super::matrix::{coefficient, work};
use crate::create::operand;
use crate::operand::run;
use crate::tensor::PyTensor;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

forms! {
    /// beta times the tensor plus alpha times the sum of the products of pairs of matrices, rounded
    /// once.
    ///
    /// >>> al.zeros(1, 1).addbmm(al.ones(2, 1, 3), al.ones(2, 3, 1))
    /// tensor([[6.]])
    addbmm[batch1, batch2, *, beta=None, alpha=None](
        batch1: Any<'_, '_>,
        batch2: Any<'_, '_>,
        beta: Option<Any<'_, '_>>,
        alpha: Option<Any<'_, '_>>
    ) -> PyTensor |py, op, x| {
        let (a, b) = (operand(op, batch1)?, operand(op, batch2)?);
        let (beta, alpha) = (coefficient(op, beta)?, coefficient(op, alpha)?);
        run(py, work(&a, &b), || x.addbmm(&a, &b, beta, alpha))
    };
    /// beta times the tensor plus alpha times the products of each element of a vector with each of
    /// another, rounded once.
    ///
    /// >>> al.zeros(2, 2).addr(al.tensor([1.0, 2.0]), al.tensor([10.0, 20.0]))
    /// tensor([[10., 20.],
    ///         [20., 40.]])
    addr[vec1, vec2, *, beta=None, alpha=None](
        vec1: Any<'_, '_>,
        vec2: Any<'_, '_>,
        beta: Option<Any<'_, '_>>,
        alpha: Option<Any<'_, '_>>
    ) -> PyTensor |py, op, x| {
        let (a, b) = (operand(op, vec1)?, operand(op, vec2)?);
        let (beta, alpha) = (coefficient(op, beta)?, coefficient(op, alpha)?);
        run(py, work(&a, &b), || x.addr(&a, &b, beta, alpha))
    };
}
