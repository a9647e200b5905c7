//! Numbers looked up among others, and indices in several dimensions.

use allotrope_tensor::{Search, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::{read_index, run_several, tuple};
use crate::arguments::{Dims, Integers, Ints, Operand, integers, one_of, size};
use crate::create;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

/// Adds the functions.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, searchsorted bucketize isin unravel_index ravel_multi_index);
    Ok(())
}

/// The places where values enter sorted sequences, the last dimension of sorted_sequence: before
/// the first number that is not less, or with right=True (side="right") before the first that is
/// greater. Comparisons are exact whatever the dtypes.
///
/// >>> al.searchsorted(al.tensor([1, 3, 5]), al.tensor([3, 4]))
/// tensor([1, 2])
#[pyfunction]
#[pyo3(signature = (sorted_sequence, input, *, out_int32=false, right=None, side=None, sorter=None))]
fn searchsorted(
    py: Python<'_>,
    sorted_sequence: Operand,
    input: Operand,
    out_int32: bool,
    right: Option<bool>,
    side: Option<&str>,
    sorter: Option<Operand>,
) -> PyResult<PyTensor> {
    let op = "searchsorted";
    let right = match (right, side) {
        (right, None) => right.unwrap_or(false),
        (None | Some(true), Some("right")) => true,
        (None | Some(false), Some("left")) => false,
        (Some(right), Some(side @ ("left" | "right"))) => {
            return Err(PyValueError::new_err(format!(
                "{op}: side and right differ: side='{side}', right={right}; one of them is accepted"
            )));
        }
        (_, Some(side)) => {
            let error =
                allotrope_dtype::Error::unknown_option(op, "side", side, &["left", "right"]);
            return Err(raise(error));
        }
    };
    let (sorted, values) = (
        create::operand(op, sorted_sequence)?,
        create::operand(op, input)?,
    );
    let sorter = sorter
        .map(|sorter| read_index(op, Some(sorter)))
        .transpose()?;
    let options = Search { right, out_int32 };
    run(py, values.count(), || {
        sorted.searchsorted(&values, sorter.as_ref(), options)
    })
}

/// The number of the bucket between sorted boundaries that each element falls into: above one and
/// not above the next, or with right=True from one to below the next.
///
/// >>> al.bucketize(al.tensor([1, 3, 6]), al.tensor([1, 3, 5]))
/// tensor([0, 1, 3])
#[pyfunction]
#[pyo3(signature = (input, boundaries, *, out_int32=false, right=false))]
fn bucketize(
    py: Python<'_>,
    input: Operand,
    boundaries: Operand,
    out_int32: bool,
    right: bool,
) -> PyResult<PyTensor> {
    let op = "bucketize";
    let (values, boundaries) = (
        create::operand(op, input)?,
        create::operand(op, boundaries)?,
    );
    let options = Search { right, out_int32 };
    run(py, values.count(), || {
        values.bucketize(&boundaries, options)
    })
}

/// Whether each element is one of test_elements, or with invert=True whether it is none of them.
///
/// >>> al.isin(al.tensor([1, 2, 3]), al.tensor([2.0, 3.5]))
/// tensor([False,  True, False])
#[pyfunction]
#[pyo3(signature = (elements=None, test_elements=None, *, assume_unique=false, invert=false, element=None, test_element=None))]
fn isin(
    py: Python<'_>,
    elements: Option<Operand>,
    test_elements: Option<Operand>,
    assume_unique: bool,
    invert: bool,
    element: Option<Operand>,
    test_element: Option<Operand>,
) -> PyResult<PyTensor> {
    // Repeated elements cost nothing here.
    let _ = assume_unique;
    let op = "isin";
    let x = one_of(op, "elements", &[elements, element])?;
    let others = one_of(op, "test_elements", &[test_elements, test_element])?;
    let (x, others) = (create::operand(op, x)?, create::operand(op, others)?);
    run(py, x.count().max(others.count()), || {
        x.isin(&others, invert)
    })
}

/// The index in every dimension of a shape of indices into its elements in row-major order.
///
/// >>> al.unravel_index(al.tensor([5, 2]), (2, 3))
/// (tensor([1, 0]), tensor([2, 2]))
#[pyfunction]
fn unravel_index(py: Python<'_>, indices: Operand, shape: Ints) -> PyResult<Py<PyTuple>> {
    let op = "unravel_index";
    let (indices, sizes) = (read_index(op, Some(indices))?, read_sizes(op, shape)?);
    tuple(
        py,
        run_several(py, indices.count(), || indices.unravel_index(&sizes))?,
    )
}

/// The indices into the elements of a shape in row-major order of an index in every dimension.
///
/// >>> al.ravel_multi_index((al.tensor([1, 0]), al.tensor([2, 2])), (2, 3))
/// tensor([5, 2])
#[pyfunction]
fn ravel_multi_index(py: Python<'_>, multi_index: Operand, dims: Dims) -> PyResult<PyTensor> {
    let op = "ravel_multi_index";
    let is_several =
        multi_index.is_instance_of::<PyTuple>() || multi_index.is_instance_of::<PyList>();
    let indices: Vec<Tensor> = if is_several {
        let items = multi_index.try_iter()?;
        items
            .map(|item| read_index(op, Some(&item?)))
            .collect::<PyResult<_>>()?
    } else {
        read_index(op, Some(multi_index))?
            .unbind(0)
            .map_err(raise)?
    };
    let sizes = read_sizes(op, dims)?;
    let indices: Vec<&Tensor> = indices.iter().collect();
    let largest = indices.iter().map(|index| index.count()).max();
    run(py, largest.unwrap_or(0), || {
        Tensor::ravel_multi_index(&indices, &sizes)
    })
}

fn read_sizes(op: &'static str, shape: Ints) -> PyResult<Vec<usize>> {
    let sizes = match integers(op, shape)? {
        Integers::One(size) => vec![size],
        Integers::Several(sizes) => sizes,
    };
    sizes.into_iter().map(|given| size(op, given)).collect()
}
