//! Elements that change places.
//!
//! | file | what is in it |
//! |---|---|
//! | here | methods that are functions too |
//! | `join` | functions of several tensors |
//! | `functional` | functions of `nn.functional` |

pub(super) mod functional;
mod join;

use allotrope_dtype::{DType, Error};
use allotrope_op::Slice;
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    self, Clamped, DTypeOrFamily, Dims, Int, Integers, Ints, Modulo, Operand, axis, axis_or,
    either, integer_of, integers, many_integers, needed, size, spread,
};
use crate::create::{operand, placed, resolve};
use crate::error::raise;
use crate::operand::run;
use crate::tensor::{PyTensor, as_tensor};

/// Adds the functions of the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    join::register(module)?;
    add!(module, repeat_interleave tile tril_indices triu_indices vander combinations);
    Ok(())
}

forms! {
    /// The dimensions with their elements in reverse.
    ///
    /// >>> al.arange(3).flip(0)
    /// tensor([2, 1, 0])
    flip[*arguments, dims=None, axis=None](
        arguments: &Bound<'_, PyTuple>,
        dims: Option<Dims>,
        axis: Option<Dims>
    ) -> PyTensor
        |py, op, x| {
            let axes = spread(op, arguments, either(op, dims, axis)?)?;
            run(py, x.count(), || x.flip(&axes)?.contiguous())
        };
    /// The elements moved by shifts along dims, those that leave at one end entering at the other.
    /// Without dims the elements move in row-major order.
    ///
    /// >>> al.arange(4).roll(1)
    /// tensor([3, 0, 1, 2])
    roll[shifts, dims=None, *, axis=None](
        shifts: Ints,
        dims: Option<Dims>,
        axis: Option<Dims>
    ) -> PyTensor |py, op, x| {
        let dims = either(op, dims, axis)?.filter(|dims| !dims.is_none());
        let dims = dims.map(|dims| many_integers(op, dims)).transpose()?;
        let dims = dims.map_or_else(Vec::new, Integers::into_vec);
        let shifts = arguments::shifts(op, shifts, |place| turn(x, &dims, place))?;
        run(py, x.count(), || x.roll(&shifts, &dims))
    };
    /// The second dimension in reverse.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).fliplr()
    /// tensor([[2, 1],
    ///         [4, 3]])
    fliplr[]() -> PyTensor |py, op, x| run(py, x.count(), || x.fliplr()?.contiguous());
    /// The first dimension in reverse.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).flipud()
    /// tensor([[3, 4],
    ///         [1, 2]])
    flipud[]() -> PyTensor |py, op, x| run(py, x.count(), || x.flipud()?.contiguous());
    /// The tensor turned k times by a quarter, from the first of two dimensions to the second.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).rot90()
    /// tensor([[2, 4],
    ///         [1, 3]])
    rot90[k=Modulo(1), dims=None, *, axes=None](
        k: Modulo<4>,
        dims: Option<Dims>,
        axes: Option<Dims>
    ) -> PyTensor |py, op, x| {
        let dims = either(op, dims, axes)?.map(|dims| integers(op, dims)).transpose()?;
        let dims = dims.map_or_else(|| vec![0, 1], Integers::into_vec);
        run(py, x.count(), || x.rot90(k.0, &dims)?.contiguous())
    };
    /// Matrices with zero above a diagonal.
    ///
    /// >>> al.ones(2, 3).tril()
    /// tensor([[1., 0., 0.],
    ///         [1., 1., 0.]])
    tril[diagonal=Clamped(0)](diagonal: Clamped) -> PyTensor
        |py, op, x| run(py, x.count(), || x.tril(diagonal.0));
    /// Matrices with zero below a diagonal.
    ///
    /// >>> al.ones(2, 3).triu(1)
    /// tensor([[0., 1., 1.],
    ///         [0., 0., 1.]])
    triu[diagonal=Clamped(0)](diagonal: Clamped) -> PyTensor
        |py, op, x| run(py, x.count(), || x.triu(diagonal.0));
    /// A matrix with the elements of one dimension on a diagonal, or the diagonal of a matrix.
    ///
    /// >>> al.tensor([1, 2]).diag()
    /// tensor([[1, 0],
    ///         [0, 2]])
    diag[diagonal=Int(0)](diagonal: Int) -> PyTensor
        |py, op, x| run(py, x.count(), || x.diag(diagonal.0));
    /// A matrix with all elements on a diagonal.
    ///
    /// >>> al.tensor([1, 2]).diagflat(1)
    /// tensor([[0, 1, 0],
    ///         [0, 0, 2],
    ///         [0, 0, 0]])
    diagflat[offset=Int(0)](offset: Int) -> PyTensor
        |py, op, x| run(py, x.count(), || x.diagflat(offset.0));
    /// Matrices in two dimensions of the result, with the last dimension on a diagonal.
    ///
    /// >>> al.ones(2, 3).diag_embed().shape
    /// (2, 3, 3)
    diag_embed[offset=Int(0), dim1=Int(-2), dim2=Int(-1)](
        offset: Int,
        dim1: Int,
        dim2: Int
    ) -> PyTensor
        |py, op, x| run(py, x.count(), || x.diag_embed(offset.0, dim1.0, dim2.0));
    /// The tensor with other elements on a diagonal.
    ///
    /// >>> al.zeros(2, 2).diagonal_scatter(al.ones(2))
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    diagonal_scatter[src, offset=Clamped(0), dim1=Int(0), dim2=Int(1)](
        src: Operand,
        offset: Clamped,
        dim1: Int,
        dim2: Int
    ) -> PyTensor |py, op, x| {
        let src = operand(op, src)?;
        run(py, x.count(), || x.diagonal_scatter(&src, offset.0, dim1.0, dim2.0))
    };
    /// The tensor with other elements at an index of a dimension.
    ///
    /// >>> al.zeros(2, 2).select_scatter(al.ones(2), 0, 1)
    /// tensor([[0., 0.],
    ///         [1., 1.]])
    select_scatter[src, dim=None, index=None, *, axis=None](
        src: Operand,
        dim: Option<Int>,
        index: Option<Int>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (src, dim) = (operand(op, src)?, self::axis(op, dim, axis)?);
        let index = needed(op, "index", index)?;
        run(py, x.count(), || x.select_scatter(&src, dim, index.0))
    };
    /// The tensor with other elements in a range of a dimension.
    ///
    /// >>> al.zeros(4).slice_scatter(al.ones(2), start=0, step=2, end=4)
    /// tensor([1., 0., 1., 0.])
    slice_scatter[src, dim=None, start=None, end=None, step=Clamped(1), *, axis=None](
        src: Operand,
        dim: Option<Int>,
        start: Option<Clamped>,
        end: Option<Clamped>,
        step: Clamped,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (src, dim) = (operand(op, src)?, axis_or(op, dim, axis, 0)?);
        let bound = |bound: Option<Clamped>| bound.map(|Clamped(bound)| bound);
        let slice = Slice { start: bound(start), stop: bound(end), step: step.0 };
        run(py, x.count(), || x.slice_scatter(&src, dim, slice))
    };
    /// The sum of the diagonal of a matrix.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).trace()
    /// tensor(5)
    trace[]() -> PyTensor |py, op, x| run(py, x.count(), || x.trace());
}

#[pymethods]
impl PyTensor {
    /// The tensor so many times along each dimension; more counts than dimensions are for new
    /// leading ones.
    ///
    /// >>> al.tensor([1, 2]).repeat(2, 2)
    /// tensor([[1, 2, 1, 2],
    ///         [1, 2, 1, 2]])
    #[pyo3(signature = (*arguments, repeats=None))]
    fn repeat(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        repeats: Option<Ints>,
    ) -> PyResult<Self> {
        let op = "repeat";
        let counts = counts(op, &spread(op, arguments, repeats)?)?;
        let x = self.tensor();
        run(py, volume(&x, &counts), || x.repeat(&counts))
    }

    /// The tensor so many times along the last dimensions.
    ///
    /// >>> al.tensor([[1], [2]]).tile(2)
    /// tensor([[1, 1],
    ///         [2, 2]])
    #[pyo3(signature = (*arguments, dims=None))]
    fn tile(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        dims: Option<Dims>,
    ) -> PyResult<Self> {
        let op = "tile";
        let counts = counts(op, &spread(op, arguments, dims)?)?;
        let x = self.tensor();
        run(py, volume(&x, &counts), || x.tile(&counts))
    }

    /// Each index of a dimension so many times, or as often as the integer at its place says.
    /// Without a dimension each element, in row-major order.
    ///
    /// >>> al.tensor([5, 7]).repeat_interleave(2)
    /// tensor([5, 5, 7, 7])
    /// >>> al.tensor([5, 7, 9]).repeat_interleave(al.tensor([2, 0, 1]))
    /// tensor([5, 5, 9])
    #[pyo3(signature = (repeats, dim=None, *, output_size=None, axis=None))]
    fn repeat_interleave(
        &self,
        py: Python<'_>,
        repeats: Ints,
        dim: Option<Int>,
        output_size: Option<Int>,
        axis: Option<Int>,
    ) -> PyResult<Self> {
        let op = "repeat_interleave";
        let x = self.tensor();
        let axis = either(op, dim, axis)?.map(|Int(axis)| axis);
        let total = output_size.map(|Int(total)| size(op, total)).transpose()?;
        let count = match as_tensor(repeats) {
            None => integer_of(op, repeats)?,
            Some(_) => None,
        };
        let counts = match count {
            Some(count) => {
                let count = size(op, count)?;
                if total.is_none() {
                    let result = volume(&x, &[count]);
                    return run(py, result, || x.repeat_interleave(count, axis));
                }
                x.new_full(&[], count as i64, DType::I64).map_err(raise)?
            }
            None => operand(op, repeats)?,
        };
        run(py, x.count(), || {
            x.repeat_interleave_each(&counts, axis, total)
        })
    }
}

/// Each index of a dimension so many times, or as often as the integer at its place says. Without
/// a dimension each element, in row-major order. Of counts alone, each index as often as its count.
///
/// >>> al.repeat_interleave(al.tensor([[1], [2]]), 2, dim=1)
/// tensor([[1, 1],
///         [2, 2]])
/// >>> al.repeat_interleave(al.tensor([1, 0, 2]))
/// tensor([0, 2, 2])
#[pyfunction]
#[pyo3(signature = (input, repeats=None, dim=None, *, output_size=None, axis=None))]
fn repeat_interleave(
    py: Python<'_>,
    input: Operand,
    repeats: Option<Ints>,
    dim: Option<Int>,
    output_size: Option<Int>,
    axis: Option<Int>,
) -> PyResult<PyTensor> {
    let op = "repeat_interleave";
    let x = operand(op, input)?;
    let Some(repeats) = repeats else {
        let total = output_size.map(|Int(total)| size(op, total)).transpose()?;
        // torch's own integers keep their dtype.
        let dtype = if x.dtype() == DType::I32 {
            DType::I32
        } else {
            DType::I64
        };
        return run(py, x.count(), || {
            let places = x.new_arange(0, x.count() as i64, 1, dtype)?;
            places.repeat_interleave_each(&x, None, total)
        });
    };
    PyTensor::from(x).repeat_interleave(py, repeats, dim, output_size, axis)
}

/// The tensor so many times along the last dimensions.
///
/// >>> al.tile(al.tensor([1, 2]), (2, 1))
/// tensor([[1, 2],
///         [1, 2]])
#[pyfunction]
fn tile(py: Python<'_>, input: Operand, dims: Dims) -> PyResult<PyTensor> {
    PyTensor::from(operand("tile", input)?).tile(py, &PyTuple::empty(py), Some(dims))
}

/// The rows and columns of what tril keeps of a matrix, in row-major order.
///
/// >>> al.tril_indices(2, 2)
/// tensor([[0, 1, 1],
///         [0, 0, 1]])
#[pyfunction]
#[pyo3(signature = (row, col, offset=Clamped(0), *, dtype=None, device=None))]
fn tril_indices(
    row: Int,
    col: Int,
    offset: Clamped,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    indices(
        "tril_indices",
        Tensor::tril_indices,
        [row, col],
        offset,
        dtype,
        device,
    )
}

/// The rows and columns of what triu keeps of a matrix, in row-major order.
///
/// >>> al.triu_indices(2, 2)
/// tensor([[0, 0, 1],
///         [0, 1, 1]])
#[pyfunction]
#[pyo3(signature = (row, col, offset=Clamped(0), *, dtype=None, device=None))]
fn triu_indices(
    row: Int,
    col: Int,
    offset: Clamped,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    indices(
        "triu_indices",
        Tensor::triu_indices,
        [row, col],
        offset,
        dtype,
        device,
    )
}

fn indices(
    op: &'static str,
    make: impl Fn(usize, usize, isize, DType) -> Result<Tensor, Error>,
    [row, col]: [Int; 2],
    offset: Clamped,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<PyTensor> {
    let options = resolve(op, dtype, device, || Ok(Some(DType::I64)))?;
    let made = make(size(op, row.0)?, size(op, col.0)?, offset.0, options.dtype);
    Ok(placed(op, made, options)?.into())
}

/// The powers of each element as rows, from the highest down to 0, or from 0 up.
///
/// >>> al.vander(al.tensor([2, 3]), 3)
/// tensor([[4, 2, 1],
///         [9, 3, 1]])
#[pyfunction]
#[pyo3(signature = (x, N=None, increasing=false))]
#[allow(non_snake_case, reason = "torch's and NumPy's name")]
fn vander(py: Python<'_>, x: Operand, N: Option<Int>, increasing: bool) -> PyResult<PyTensor> {
    let op = "vander";
    let x = operand(op, x)?;
    let columns = N.map(|Int(columns)| size(op, columns)).transpose()?;
    run(py, x.count(), || x.vander(columns, increasing))
}

/// Every choice of r elements of a tensor of one dimension, in their order, as rows.
///
/// >>> al.combinations(al.tensor([1, 2, 3]))
/// tensor([[1, 2],
///         [1, 3],
///         [2, 3]])
#[pyfunction]
#[pyo3(signature = (input, r=Int(2), with_replacement=false))]
fn combinations(
    py: Python<'_>,
    input: Operand,
    r: Int,
    with_replacement: bool,
) -> PyResult<PyTensor> {
    let op = "combinations";
    let (x, length) = (operand(op, input)?, size(op, r.0)?);
    run(py, x.count(), || x.combinations(length, with_replacement))
}

/// After how many steps elements are back where they were: the size of the dimension at a place, or
/// the number of all without dimensions.
fn turn(x: &Tensor, dims: &[isize], place: usize) -> usize {
    let Some(dim) = dims.get(place) else {
        return x.count();
    };
    // A dimension out of range is refused later.
    let dim = allotrope_op::normalize_axis("roll", *dim, x.rank());
    dim.map_or(1, |dim| x.shape()[dim])
}

/// Counts from zero on.
fn counts(op: &'static str, given: &[isize]) -> PyResult<Vec<usize>> {
    given.iter().map(|count| size(op, *count)).collect()
}

/// About how many elements come of so many repetitions.
fn volume(x: &Tensor, counts: &[usize]) -> usize {
    counts
        .iter()
        .fold(x.count(), |volume, count| volume.saturating_mul(*count))
}

/// A Python exception in place of an error that another operation made.
fn renamed<T>(op: &'static str, result: Result<T, Error>) -> PyResult<T> {
    result.map_err(|error| raise(error.in_op(op)))
}
