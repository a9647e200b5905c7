//! Elements chosen by indices and masks.
//!
//! | file | what is in it |
//! |---|---|
//! | `pick` | elements read from where indices say |
//! | `put` | elements written, added, … to where indices say |
//! | `mask` | elements where something is true |
//! | `search` | numbers looked up among others, and indices in several dimensions |
//! | `count` | how many elements fall into each bin |
//! | `embedding` | rows that indices name |

mod count;
mod embedding;
mod mask;
mod pick;
mod put;
mod search;

use crate::objects;
use allotrope_dtype::DType;
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arguments::needed;
use crate::create;
use crate::error::raise;
use crate::interrupt::detach;
use crate::operand::RELEASE_FROM;
use crate::tensor::PyTensor;

pub(crate) use mask::nonzero_tuple;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Adds the functions of every file.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    pick::functions::register(module)?;
    put::functions::register(module)?;
    mask::functions::register(module)?;
    count::functions::register(module)?;
    search::register(module)?;
    embedding::register(module)
}

pub(super) use embedding::register_functional;

/// An index: a tensor, or anything that a tensor of integers can be made of.
fn read_index(op: &'static str, object: Option<Any<'_, '_>>) -> PyResult<Tensor> {
    let object = needed(op, "index", object)?;
    let index = create::operand(op, object)?;
    // An empty list has no dtype of its own.
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if index.count() == 0 && is_list {
        return index.to(DType::I64).map_err(raise);
    }
    Ok(index)
}

/// Runs work with several results; for large tensors other Python threads run meanwhile.
fn run_several<T: Send>(
    py: Python<'_>,
    largest: usize,
    work: impl FnOnce() -> Result<T, allotrope_dtype::Error> + Send,
) -> PyResult<T> {
    let result = if largest > RELEASE_FROM {
        detach(py, work)
    } else {
        work()
    };
    result.map_err(raise)
}

/// Tensors as a tuple.
fn tuple(py: Python<'_>, tensors: Vec<Tensor>) -> PyResult<Py<PyTuple>> {
    let tensors = tensors.into_iter().map(PyTensor::from);
    let items = tensors.map(|tensor| Bound::new(py, tensor).map(Bound::into_any));
    Ok(objects::tuple(py, items)?.unbind())
}
