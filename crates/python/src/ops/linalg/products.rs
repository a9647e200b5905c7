//! Products and powers that `torch.linalg` has too.

use pyo3::prelude::*;

use super::super::matrix::multiply_several;
use crate::arguments::{Int, Operand, TensorList, size};
use crate::create::operand;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

/// The product of two matrices, of vectors with them, or of each pair of several.
///
/// >>> al.linalg.matmul(al.ones(2, 3), al.ones(3))
/// tensor([3., 3.])
#[pyfunction]
fn matmul(py: Python<'_>, input: Operand, other: Operand) -> PyResult<PyTensor> {
    let (a, b) = (operand("matmul", input)?, operand("matmul", other)?);
    let work = a.count().saturating_mul(b.count());
    run(py, work, || a.matmul(&b))
}

/// The product of several matrices in the cheapest order; the first and the last may be vectors.
///
/// >>> al.linalg.multi_dot([al.ones(2, 3), al.ones(3, 4), al.ones(4)])
/// tensor([12., 12.])
#[pyfunction]
fn multi_dot(py: Python<'_>, tensors: TensorList) -> PyResult<PyTensor> {
    multiply_several(py, tensors)
}

/// The powers of each element of the last dimension as rows, from 0 up to below N, or as many as
/// there are elements.
///
/// >>> al.linalg.vander(al.tensor([2, 3]), N=3)
/// tensor([[1, 2, 4],
///         [1, 3, 9]])
#[pyfunction]
#[pyo3(signature = (x, N=None))]
#[allow(non_snake_case, reason = "torch's name")]
fn vander(py: Python<'_>, x: Operand, N: Option<Int>) -> PyResult<PyTensor> {
    let op = "vander";
    // A single number is a vector of one.
    let x = match operand(op, x)? {
        x if x.rank() == 0 => x.unsqueeze(0).map_err(raise)?,
        x => x,
    };
    let columns = N.map(|Int(columns)| size(op, columns)).transpose()?;
    let columns = columns.or(x.shape().last().copied());
    run(py, x.count(), || {
        if x.rank() < 2 {
            return x.vander(columns, true);
        }
        let sizes = x.shape().iter().map(|size| *size as isize);
        let sizes: Vec<isize> = sizes.chain(columns.map(|count| count as isize)).collect();
        x.reshape(&[-1])?.vander(columns, true)?.reshape(&sizes)
    })
}

/// Adds them all.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, matmul multi_dot vander);
    Ok(())
}
