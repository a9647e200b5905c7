//! Tensors plus products that are summed or spread.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_tensor::Tensor;
use pyo3::prelude::*;

use super::matrix::work;
use crate::arguments::Operand;
use crate::create::{number, operand};
use crate::operand::run;
use crate::tensor::PyTensor;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
/// A tensor plus a product of two others, with the factors of both.
type Add = fn(&Tensor, &Tensor, &Tensor, [WeakScalar; 2]) -> Result<Tensor, Error>;

fn added(
    py: Python<'_>,
    op: &'static str,
    x: &Tensor,
    factors: [Any<'_, '_>; 2],
    coefficients: [Option<Any<'_, '_>>; 2],
    add: Add,
) -> PyResult<PyTensor> {
    let [a, b] = factors;
    let (a, b) = (operand(op, a)?, operand(op, b)?);
    let [beta, alpha] = coefficients;
    let coefficients = [coefficient(op, beta)?, coefficient(op, alpha)?];
    run(py, work(&a, &b), || add(x, &a, &b, coefficients))
}

fn coefficient(op: &'static str, value: Option<Operand>) -> PyResult<WeakScalar> {
    match value {
        Some(value) => number(op, value),
        None => Ok(WeakScalar::Int(1)),
    }
}

forms! {
    /// beta times the tensor plus alpha times the product of two matrices, rounded once.
    ///
    /// >>> al.ones(1, 1).addmm(al.ones(1, 3), al.ones(3, 1), beta=10)
    /// tensor([[13.]])
    addmm[mat1, mat2, *, beta=None, alpha=None](
        mat1: Operand,
        mat2: Operand,
        beta: Option<Operand>,
        alpha: Option<Operand>
    ) -> PyTensor |py, op, x| {
        let add: Add = |x, a, b, [beta, alpha]| x.addmm(a, b, beta, alpha);
        added(py, op, x, [mat1, mat2], [beta, alpha], add)
    };
    /// beta times the tensor plus alpha times the product of a matrix and a vector, rounded once.
    ///
    /// >>> al.ones(2).addmv(al.ones(2, 3), al.ones(3), alpha=2)
    /// tensor([7., 7.])
    addmv[mat, vec, *, beta=None, alpha=None](
        mat: Operand,
        vec: Operand,
        beta: Option<Operand>,
        alpha: Option<Operand>
    ) -> PyTensor |py, op, x| {
        let add: Add = |x, a, b, [beta, alpha]| x.addmv(a, b, beta, alpha);
        added(py, op, x, [mat, vec], [beta, alpha], add)
    };
    /// beta times the tensor plus alpha times the products of pairs of matrices, rounded once.
    ///
    /// >>> al.zeros(1, 1, 1).baddbmm(al.ones(1, 1, 3), al.ones(1, 3, 1))
    /// tensor([[[3.]]])
    baddbmm[batch1, batch2, *, beta=None, alpha=None](
        batch1: Operand,
        batch2: Operand,
        beta: Option<Operand>,
        alpha: Option<Operand>
    ) -> PyTensor |py, op, x| {
        let add: Add = |x, a, b, [beta, alpha]| x.baddbmm(a, b, beta, alpha);
        added(py, op, x, [batch1, batch2], [beta, alpha], add)
    };
    /// beta times the tensor plus alpha times the sum of the products of pairs of matrices, rounded
    /// once.
    ///
    /// >>> al.zeros(1, 1).addbmm(al.ones(2, 1, 3), al.ones(2, 3, 1))
    /// tensor([[6.]])
    addbmm[batch1, batch2, *, beta=None, alpha=None](
        batch1: Operand,
        batch2: Operand,
        beta: Option<Operand>,
        alpha: Option<Operand>
    ) -> PyTensor |py, op, x| {
        let add: Add = |x, a, b, [beta, alpha]| x.addbmm(a, b, beta, alpha);
        added(py, op, x, [batch1, batch2], [beta, alpha], add)
    };
    /// beta times the tensor plus alpha times the products of each element of a vector with each of
    /// another, rounded once.
    ///
    /// >>> al.zeros(2, 2).addr(al.tensor([1.0, 2.0]), al.tensor([10.0, 20.0]))
    /// tensor([[10., 20.],
    ///         [20., 40.]])
    addr[vec1, vec2, *, beta=None, alpha=None](
        vec1: Operand,
        vec2: Operand,
        beta: Option<Operand>,
        alpha: Option<Operand>
    ) -> PyTensor |py, op, x| {
        let add: Add = |x, a, b, [beta, alpha]| x.addr(a, b, beta, alpha);
        added(py, op, x, [vec1, vec2], [beta, alpha], add)
    };
}
