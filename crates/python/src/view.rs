//! Views: each is declared once, as a method of `Tensor` and as a function of the module.

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    self, Int, Integers, axis_or, either, integers, needed, one_of, size, spread,
};
use crate::convert;
use crate::create::operand;
use crate::error::raise;
use crate::tensor::{PyTensor, wrap};

/// Several tensors, which Python sees as a tuple.
pub(crate) struct Parts(Vec<Tensor>);

impl Parts {
    pub(crate) fn wrap(parts: Result<Vec<Tensor>, Error>) -> PyResult<Self> {
        parts.map(Self).map_err(raise)
    }
}

impl<'py> IntoPyObject<'py> for Parts {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = self
            .0
            .into_iter()
            .map(|part| Py::new(py, PyTensor::from(part)));
        PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)
    }
}

forms! {
    /// The same elements in the same order with other sizes; one may be -1.
    ///
    /// >>> al.arange(6).reshape(2, -1).shape
    /// (2, 3)
    reshape[*sizes, shape=None](
        sizes: &Bound<'_, PyTuple>,
        shape: Option<&Bound<'_, PyAny>>
    ) -> PyTensor
        |_py, op, x| wrap(x.reshape(&spread(op, sizes, shape)?));
    /// The dimensions from start_dim to end_dim as one.
    ///
    /// >>> al.zeros(2, 3, 4).flatten(1).shape
    /// (2, 12)
    flatten[start_dim=Int(0), end_dim=Int(-1)](start_dim: Int, end_dim: Int) -> PyTensor
        |_py, op, x| wrap(x.flatten(start_dim.0, end_dim.0));
    /// All elements in row-major order as one dimension.
    ///
    /// >>> al.eye(2).ravel()
    /// tensor([1., 0., 0., 1.])
    ravel[]() -> PyTensor
        |_py, op, x| wrap(x.ravel());
    /// One dimension as several, whose sizes multiply to the same; one may be -1.
    ///
    /// >>> al.zeros(2, 6).unflatten(1, (3, -1)).shape
    /// (2, 3, 2)
    unflatten[dim=None, sizes=None, *, axis=None](
        dim: Option<Int>,
        sizes: Option<&Bound<'_, PyAny>>,
        axis: Option<Int>
    ) -> PyTensor
        |_py, op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            let sizes = integers(op, needed(op, "sizes", sizes)?)?;
            wrap(x.unflatten(dim, &sizes.into_vec()))
        };
    /// Two dimensions exchanged.
    ///
    /// >>> al.zeros(2, 3).transpose(0, 1).shape
    /// (3, 2)
    transpose[dim0, dim1](dim0: Int, dim1: Int) -> PyTensor
        |_py, op, x| wrap(x.transpose(dim0.0, dim1.0));
    /// Two dimensions exchanged; another name of `transpose`.
    ///
    /// >>> al.zeros(2, 3, 4).swapdims(0, -1).shape
    /// (4, 3, 2)
    swapdims[dim0, dim1](dim0: Int, dim1: Int) -> PyTensor
        |_py, op, x| wrap(x.transpose(dim0.0, dim1.0).map_err(|error| error.in_op(op)));
    /// Two dimensions exchanged; NumPy's name of `transpose`.
    ///
    /// >>> al.zeros(2, 3, 4).swapaxes(0, -1).shape
    /// (4, 3, 2)
    swapaxes[axis0, axis1](axis0: Int, axis1: Int) -> PyTensor
        |_py, op, x| wrap(x.transpose(axis0.0, axis1.0).map_err(|error| error.in_op(op)));
    /// A matrix with its dimensions exchanged; fewer dimensions stay as they are.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).t()
    /// tensor([[1, 3],
    ///         [2, 4]])
    t[]() -> PyTensor
        |_py, op, x| wrap(x.t());
    /// The dimensions in another order.
    ///
    /// >>> al.zeros(2, 3, 4).permute(2, 0, 1).shape
    /// (4, 2, 3)
    permute[*arguments, dims=None, axes=None](
        arguments: &Bound<'_, PyTuple>,
        dims: Option<&Bound<'_, PyAny>>,
        axes: Option<&Bound<'_, PyAny>>
    ) -> PyTensor
        |_py, op, x| wrap(x.permute(&spread(op, arguments, either(op, dims, axes)?)?));
    /// The dimensions at source moved to destination, the others in the order they were.
    ///
    /// >>> al.zeros(2, 3, 4).movedim(0, -1).shape
    /// (3, 4, 2)
    movedim[source, destination](
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>
    ) -> PyTensor
        |_py, op, x| {
            let (from, to) = (integers(op, source)?, integers(op, destination)?);
            wrap(x.movedim(&from.into_vec(), &to.into_vec()))
        };
    /// The dimensions at source moved to destination; NumPy's name of `movedim`.
    ///
    /// >>> al.zeros(2, 3, 4).moveaxis((0, 1), (1, 2)).shape
    /// (4, 2, 3)
    moveaxis[source, destination](
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>
    ) -> PyTensor
        |_py, op, x| {
            let (from, to) = (integers(op, source)?, integers(op, destination)?);
            let moved = x.movedim(&from.into_vec(), &to.into_vec());
            wrap(moved.map_err(|error| error.in_op(op)))
        };
    /// Repeated along dimensions of size one and new leading ones, without a copy; -1 keeps a size.
    ///
    /// >>> al.tensor([1, 2]).broadcast_to((2, 2))
    /// tensor([[1, 2],
    ///         [1, 2]])
    broadcast_to[shape=None, *, size=None](
        shape: Option<&Bound<'_, PyAny>>,
        size: Option<&Bound<'_, PyAny>>
    ) -> PyTensor
        |_py, op, x| {
            let sizes = integers(op, one_of(op, "size", &[shape, size])?)?;
            expand(op, x, &sizes.into_vec())
        };
    /// Without the dimensions of size one: all of them, or those named.
    ///
    /// >>> al.zeros(1, 2, 1).squeeze(0).shape
    /// (2, 1)
    squeeze[dim=None, *, axis=None](
        dim: Option<&Bound<'_, PyAny>>,
        axis: Option<&Bound<'_, PyAny>>
    ) -> PyTensor
        |_py, op, x| {
            let axes = either(op, dim, axis)?.map(|axes| integers(op, axes)).transpose()?;
            wrap(x.squeeze(axes.map(Integers::into_vec).as_deref()))
        };
    /// A new dimension of size one before dim.
    ///
    /// >>> al.zeros(2, 3).unsqueeze(-1).shape
    /// (2, 3, 1)
    unsqueeze[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> PyTensor
        |_py, op, x| wrap(x.unsqueeze(arguments::axis(op, dim, axis)?));
    /// New dimensions of size one at these places of the result; NumPy's name of `unsqueeze`.
    ///
    /// >>> al.zeros(2, 3).expand_dims((0, 2)).shape
    /// (1, 2, 1, 3)
    expand_dims[axis](axis: &Bound<'_, PyAny>) -> PyTensor
        |_py, op, x| with_new_dims(op, x, &integers(op, axis)?.into_vec());
    /// One index of a dimension, which disappears.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).select(1, 0)
    /// tensor([1, 3])
    select[dim=None, index=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Int>,
        axis: Option<Int>
    ) -> PyTensor
        |_py, op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            wrap(x.select(dim, needed(op, "index", index)?.0))
        };
    /// length indices of a dimension from start on, which may count from the end.
    ///
    /// >>> al.arange(6).narrow(0, 1, 3)
    /// tensor([1, 2, 3])
    narrow[dim=None, start=None, length=None, *, axis=None](
        dim: Option<Int>,
        start: Option<Int>,
        length: Option<Int>,
        axis: Option<Int>
    ) -> PyTensor
        |_py, op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            let (start, length) = (needed(op, "start", start)?, needed(op, "length", length)?);
            wrap(x.narrow(dim, start.0, size(op, length.0)?))
        };
    /// The elements of the memory at strides of their own, from an offset on or where the tensor
    /// begins, without a copy.
    ///
    /// >>> al.arange(6).as_strided((2, 2), (1, 3))
    /// tensor([[0, 3],
    ///         [1, 4]])
    as_strided[size, stride, storage_offset=None](
        size: &Bound<'_, PyAny>,
        stride: &Bound<'_, PyAny>,
        storage_offset: Option<Int>
    ) -> PyTensor
        |_py, op, x| {
            let sizes = integers(op, size)?.into_vec().into_iter();
            let sizes = sizes.map(|given| arguments::size(op, given));
            let sizes = sizes.collect::<PyResult<Vec<_>>>()?;
            let offset = storage_offset.map(|Int(given)| arguments::size(op, given));
            let strides = integers(op, stride)?.into_vec();
            wrap(x.as_strided(&sizes, &strides, offset.transpose()?))
        };
    /// The elements whose indices in two dimensions are offset apart, as a new last dimension.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).diagonal()
    /// tensor([1, 4])
    diagonal[offset=0, dim1=None, dim2=None, *, axis1=None, axis2=None](
        offset: isize,
        dim1: Option<Int>,
        dim2: Option<Int>,
        axis1: Option<Int>,
        axis2: Option<Int>
    ) -> PyTensor
        |_py, op, x| {
            let (a, b) = (axis_or(op, dim1, axis1, 0)?, axis_or(op, dim2, axis2, 1)?);
            wrap(x.diagonal(offset, a, b))
        };
    /// The dimensions with their elements in reverse.
    ///
    /// >>> al.arange(3).flip(0)
    /// tensor([2, 1, 0])
    flip[*arguments, dims=None, axis=None](
        arguments: &Bound<'_, PyTuple>,
        dims: Option<&Bound<'_, PyAny>>,
        axis: Option<&Bound<'_, PyAny>>
    ) -> PyTensor
        |_py, op, x| {
            wrap(x.flip(&spread(op, arguments, either(op, dims, axis)?)?))
        };
    /// At most chunks parts of equal size along a dimension, the last one of those that are left.
    ///
    /// >>> al.arange(5).chunk(2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    chunk[chunks, dim=None, *, axis=None](
        chunks: Int,
        dim: Option<Int>,
        axis: Option<Int>
    ) -> Parts
        |_py, op, x| {
            let dim = axis_or(op, dim, axis, 0)?;
            Parts::wrap(x.chunk(size(op, chunks.0)?, dim))
        };
    /// So many parts along a dimension, of sizes that differ by at most one; or the parts before,
    /// between and after indices.
    ///
    /// >>> al.arange(5).tensor_split(2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    /// >>> al.arange(7).tensor_split((2, -2))
    /// (tensor([0, 1]), tensor([2, 3, 4]), tensor([5, 6]))
    tensor_split[indices_or_sections=None, dim=None, *, axis=None, sections=None, indices=None, tensor_indices_or_sections=None](
        indices_or_sections: Option<&Bound<'_, PyAny>>,
        dim: Option<Int>,
        axis: Option<Int>,
        sections: Option<&Bound<'_, PyAny>>,
        indices: Option<&Bound<'_, PyAny>>,
        tensor_indices_or_sections: Option<&Bound<'_, PyAny>>
    ) -> Parts
        |_py, op, x| {
            let dim = axis_or(op, dim, axis, 0)?;
            let places = [indices_or_sections, sections, indices, tensor_indices_or_sections];
            Parts::wrap(match integers(op, one_of(op, "indices_or_sections", &places)?)? {
                Integers::One(sections) => x.tensor_split(size(op, sections)?, dim),
                Integers::Several(indices) => x.tensor_split_at(&indices, dim),
            })
        };
    /// The tensor at each index of a dimension, which disappears.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).unbind(1)
    /// (tensor([1, 3]), tensor([2, 4]))
    unbind[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> Parts
        |_py, op, x| Parts::wrap(x.unbind(axis_or(op, dim, axis, 0)?));
}

#[pymethods]
impl PyTensor {
    /// Repeated along dimensions of size one and new leading ones, without a copy; -1 keeps a size.
    ///
    /// >>> al.zeros(3, 1).expand(-1, 4).shape
    /// (3, 4)
    #[pyo3(signature = (*arguments, size=None))]
    fn expand(
        &self,
        arguments: &Bound<'_, PyTuple>,
        size: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        expand(
            "expand",
            &self.tensor(),
            &spread("expand", arguments, size)?,
        )
    }

    /// Repeated to the sizes of another tensor, without a copy.
    fn expand_as(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        wrap(self.tensor().expand_as(&operand("expand_as", other)?))
    }

    /// With the sizes of another tensor, in the same order.
    fn reshape_as(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        wrap(self.tensor().reshape_as(&operand("reshape_as", other)?))
    }

    /// With the sizes of another tensor, in the same order.
    fn view_as(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = self.tensor().reshape_as(&operand("view_as", other)?);
        wrap(view.map_err(|error| error.in_op("view_as")))
    }

    /// Parts of split_size indices of a dimension, the last one of those that are left; or parts of
    /// these sizes.
    ///
    /// >>> al.arange(5).split(3)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    /// >>> al.arange(5).split([2, 3])
    /// (tensor([0, 1]), tensor([2, 3, 4]))
    #[pyo3(signature = (split_size, dim=None, *, axis=None))]
    fn split(
        &self,
        split_size: &Bound<'_, PyAny>,
        dim: Option<Int>,
        axis: Option<Int>,
    ) -> PyResult<Parts> {
        let op = "split";
        let dim = axis_or(op, dim, axis, 0)?;
        match integers(op, split_size)? {
            Integers::One(size) => {
                Parts::wrap(self.tensor().split(arguments::size(op, size)?, dim))
            }
            Integers::Several(sizes) => {
                let sizes = sizes.into_iter().map(|size| arguments::size(op, size));
                let sizes = sizes.collect::<PyResult<Vec<_>>>()?;
                Parts::wrap(self.tensor().split_sizes(&sizes, dim))
            }
        }
    }

    /// Windows of size elements every step along a dimension, as a new last dimension.
    ///
    /// >>> al.arange(4).unfold(0, 2, 1)
    /// tensor([[0, 1],
    ///         [1, 2],
    ///         [2, 3]])
    fn unfold(&self, dimension: Int, size: Int, step: Int) -> PyResult<Self> {
        let op = "unfold";
        let (size, step) = (arguments::size(op, size.0)?, arguments::size(op, step.0)?);
        wrap(self.tensor().unfold(dimension.0, size, step))
    }

    /// The same bits as another dtype, or the same elements with other sizes.
    ///
    /// >>> al.tensor([1.0, 2.0]).view(al.int32)
    /// tensor([1065353216, 1073741824], dtype=int32)
    #[pyo3(signature = (*sizes_or_dtype, size=None))]
    fn view(
        &self,
        sizes_or_dtype: &Bound<'_, PyTuple>,
        size: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        match spread("view", sizes_or_dtype, size) {
            Ok(sizes) => {
                let viewed = self.tensor().reshape(&sizes);
                wrap(viewed.map_err(|error| error.in_op("view")))
            }
            Err(error) if size.is_some() => Err(error),
            Err(_) => {
                let dtype = sizes_or_dtype.get_item(0)?;
                wrap(self.tensor().view_dtype(convert::to_dtype("view", &dtype)?))
            }
        }
    }
}

/// Parts of so many indices of a dimension, the last one of those that are left; or parts of these
/// sizes.
///
/// >>> al.split(al.arange(5), [2, 3])
/// (tensor([0, 1]), tensor([2, 3, 4]))
#[pyfunction]
#[pyo3(signature = (tensor, split_size_or_sections, dim=None, *, axis=None))]
pub(crate) fn split(
    tensor: &Bound<'_, PyAny>,
    split_size_or_sections: &Bound<'_, PyAny>,
    dim: Option<Int>,
    axis: Option<Int>,
) -> PyResult<Parts> {
    PyTensor::from(operand("split", tensor)?).split(split_size_or_sections, dim, axis)
}

/// Tensors repeated to the shape that they broadcast to, without a copy.
///
/// >>> x, y = al.broadcast_tensors(al.zeros(2, 1), al.zeros(3))
/// >>> x.shape, y.shape
/// ((2, 3), (2, 3))
#[pyfunction]
#[pyo3(signature = (*tensors))]
pub(crate) fn broadcast_tensors(tensors: &Bound<'_, PyTuple>) -> PyResult<Parts> {
    let op = "broadcast_tensors";
    let tensors = tensors.iter().map(|tensor| operand(op, &tensor));
    let tensors = tensors.collect::<PyResult<Vec<Tensor>>>()?;
    let references: Vec<&Tensor> = tensors.iter().collect();
    Parts::wrap(allotrope_tensor::broadcast_tensors(&references))
}

/// Repeated to sizes, of which -1 keeps that of an old dimension.
fn expand(op: &'static str, x: &Tensor, sizes: &[isize]) -> PyResult<PyTensor> {
    let missing = sizes.len().saturating_sub(x.rank());
    let kept = |dim: usize| dim.checked_sub(missing).and_then(|dim| x.shape().get(dim));
    let sizes = sizes
        .iter()
        .enumerate()
        .map(|(dim, given)| match kept(dim) {
            Some(size) if *given == -1 => Ok(*size),
            _ => size(op, *given),
        });
    let sizes = sizes.collect::<PyResult<Vec<usize>>>()?;
    wrap(x.expand(&sizes).map_err(|error| error.in_op(op)))
}

/// New dimensions of size one at places of the result.
fn with_new_dims(op: &'static str, x: &Tensor, axes: &[isize]) -> PyResult<PyTensor> {
    let rank = x.rank() + axes.len();
    let mut dims = allotrope_op::normalize_axes(op, axes, rank).map_err(raise)?;
    dims.sort_unstable();
    let mut places = dims.into_iter();
    wrap(places.try_fold(x.clone(), |x, dim| x.unsqueeze(dim as isize)))
}
