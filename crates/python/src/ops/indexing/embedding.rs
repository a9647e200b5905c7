//! Rows that indices name. As in torch these are functions of `nn.functional`, and `embedding` one
//! of the module too, with its arguments the other way round.

use allotrope_dtype::DType;
use allotrope_tensor::{BagMode, Bags, Embedding};
use pyo3::prelude::*;

use super::read_index;
use crate::arguments::{DTypeOrFamily, Int, Operand, size};
use crate::create;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;
use crate::wanted::Wanted;

/// Adds the function of the package.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(embedding_of, module)?)
}

/// Adds the functions of `nn.functional`.
pub(in crate::ops) fn register_functional(functional: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(functional, one_hot embedding embedding_bag);
    Ok(())
}

/// One at the place that each index names in a new last dimension, zero elsewhere. Without
/// num_classes there are as many as the greatest index needs.
///
/// >>> al.nn.functional.one_hot(al.tensor([0, 2]), num_classes=3)
/// tensor([[1, 0, 0],
///         [0, 0, 1]])
#[pyfunction]
#[pyo3(signature = (input, num_classes=Int(-1), *, dtype=None))]
fn one_hot(
    py: Python<'_>,
    input: Operand,
    num_classes: Int,
    dtype: Option<DTypeOrFamily>,
) -> PyResult<PyTensor> {
    let op = "one_hot";
    let index = read_index(op, Some(input))?;
    let classes = match num_classes.0 {
        -1 => None,
        given => Some(size(op, given)?),
    };
    // Indices have no say.
    let wanted = Wanted::new(op, dtype, index.device(), || Ok(None))?;
    let largest = index.count().saturating_mul(classes.unwrap_or(1));
    run(py, largest, || {
        wanted.run(|dtype| index.one_hot(classes, dtype.unwrap_or(DType::I64)))
    })
}

/// The rows of a matrix at indices. Rows whose norm is above max_norm are scaled to it in the
/// result; the matrix stays as it is. The row at padding_idx is not learned. With scale_grad_by_freq
/// the gradient of a row is divided by how often it is read.
///
/// >>> weight = al.arange(6).reshape(3, 2)
/// >>> al.nn.functional.embedding(al.tensor([2, 0]), weight)
/// tensor([[4, 5],
///         [0, 1]])
#[pyfunction]
#[pyo3(signature = (input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=false, sparse=false))]
#[allow(clippy::too_many_arguments, reason = "torch's")]
fn embedding(
    py: Python<'_>,
    input: Operand,
    weight: Operand,
    padding_idx: Option<Int>,
    max_norm: Option<f64>,
    norm_type: f64,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> PyResult<PyTensor> {
    // How gradients are stored is no part of the value.
    let _ = sparse;
    let op = "embedding";
    let (index, weight) = (read_index(op, Some(input))?, create::operand(op, weight)?);
    let options = Embedding {
        padding_idx: padding_idx.map(|Int(index)| index),
        max_norm,
        norm_type,
        scale_grad_by_freq,
    };
    let columns = weight.shape().last().copied().unwrap_or(1);
    let largest = index.count().saturating_mul(columns);
    run(py, largest, || weight.embedding(&index, options))
}

/// The rows of a matrix at indices: nn.functional.embedding with the matrix first.
///
/// >>> al.embedding(al.arange(6).reshape(3, 2), al.tensor([2, 0]))
/// tensor([[4, 5],
///         [0, 1]])
#[pyfunction(name = "embedding")]
#[pyo3(signature = (weight, indices, padding_idx=Int(-1), scale_grad_by_freq=false, sparse=false))]
fn embedding_of(
    py: Python<'_>,
    weight: Operand,
    indices: Operand,
    padding_idx: Int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> PyResult<PyTensor> {
    // Here -1 is no padding, as in torch.
    let padding_idx = Some(padding_idx).filter(|Int(index)| *index != -1);
    embedding(
        py,
        indices,
        weight,
        padding_idx,
        None,
        2.0,
        scale_grad_by_freq,
        sparse,
    )
}

/// The mean, sum or greatest (mode="mean", "sum", "max") of the rows of a matrix at the indices of
/// each bag; zero for an empty bag. Bags are the rows of a matrix of indices, or begin at offsets in
/// a vector of them. Indices equal to padding_idx belong to no bag.
///
/// >>> weight = al.tensor([[1., 2.], [3., 4.], [5., 6.]])
/// >>> index, offsets = al.tensor([0, 2, 1]), al.tensor([0, 2])
/// >>> al.nn.functional.embedding_bag(index, weight, offsets, mode="sum")
/// tensor([[6., 8.],
///         [3., 4.]])
#[pyfunction]
#[pyo3(signature = (
    input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=false,
    mode="mean", sparse=false, per_sample_weights=None, include_last_offset=false, padding_idx=None
))]
#[allow(clippy::too_many_arguments, reason = "torch's")]
fn embedding_bag(
    py: Python<'_>,
    input: Operand,
    weight: Operand,
    offsets: Option<Operand>,
    max_norm: Option<f64>,
    norm_type: f64,
    scale_grad_by_freq: bool,
    mode: &str,
    sparse: bool,
    per_sample_weights: Option<Operand>,
    include_last_offset: bool,
    padding_idx: Option<Int>,
) -> PyResult<PyTensor> {
    let _ = sparse;
    let op = "embedding_bag";
    let (index, weight) = (read_index(op, Some(input))?, create::operand(op, weight)?);
    let offsets = offsets
        .map(|offsets| read_index(op, Some(offsets)))
        .transpose()?;
    let weights = per_sample_weights
        .map(|weights| create::operand(op, weights))
        .transpose()?;
    let bags = Bags {
        offsets: offsets.as_ref(),
        include_last_offset,
        mode: BagMode::parse(mode).map_err(raise)?,
        per_sample_weights: weights.as_ref(),
        embedding: Embedding {
            padding_idx: padding_idx.map(|Int(index)| index),
            max_norm,
            norm_type,
            scale_grad_by_freq,
        },
    };
    let columns = weight.shape().last().copied().unwrap_or(1);
    let largest = index.count().saturating_mul(columns);
    run(py, largest, || weight.embedding_bag(&index, bags))
}
