//! Views: each is declared once, as a method of `Tensor` and as a function of the module. What is
//! written through one is seen by all that share its memory.

use allotrope_cpu::memory;
use allotrope_dtype::{Error, Problem};
use allotrope_tensor::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    self, Clamped, Dims, Int, Integers, Ints, Operand, axis_or, either, integers, many_integers,
    needed, one_of, size, spread,
};
use crate::compose::adjoint_of;
use crate::convert;
use crate::create::operand;
use crate::error::raise;
use crate::objects;
use crate::tensor::{PyTensor, Seen, link, made};

/// Several tensors, which Python sees as a tuple.
pub(crate) struct Parts(Result<Vec<PyTensor>, Error>);

impl Parts {
    pub(crate) fn wrap(parts: Result<Vec<Tensor>, Error>) -> PyResult<Self> {
        Ok(Self::of(parts.map_err(raise)?, PyTensor::from))
    }
}

impl Parts {
    /// What `object` makes of tensors, of which there may be as many as elements.
    pub(crate) fn of(parts: Vec<Tensor>, object: impl Fn(Tensor) -> PyTensor) -> Self {
        let collect = || {
            let mut objects = memory::try_with_capacity("split", parts.len())?;
            for part in parts {
                memory::check("split")?;
                objects.push(object(part));
            }
            Ok(objects)
        };
        Self(collect())
    }
}

impl FromIterator<PyTensor> for Parts {
    fn from_iter<I: IntoIterator<Item = PyTensor>>(parts: I) -> Self {
        Self(Ok(parts.into_iter().collect()))
    }
}

impl<'py> IntoPyObject<'py> for Parts {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let parts = self.0.map_err(raise)?.into_iter();
        objects::tuple(
            py,
            parts.map(|part| Bound::new(py, part).map(Bound::into_any)),
        )
    }
}

views! {
    /// The dimensions from start_dim to end_dim as one.
    ///
    /// >>> al.zeros(2, 3, 4).flatten(1).shape
    /// (2, 12)
    flatten[start_dim=Int(0), end_dim=Int(-1)](start_dim: Int, end_dim: Int) -> Tensor
        |op, x| made(x.flatten(start_dim.0, end_dim.0));
    /// All elements in row-major order as one dimension.
    ///
    /// >>> al.eye(2).ravel()
    /// tensor([1., 0., 0., 1.])
    ravel[]() -> Tensor
        |op, x| made(x.ravel());
    /// One dimension as several, whose sizes multiply to the same; one may be -1.
    ///
    /// >>> al.zeros(2, 6).unflatten(1, (3, -1)).shape
    /// (2, 3, 2)
    unflatten[dim=None, sizes=None, *, axis=None](
        dim: Option<Int>,
        sizes: Option<Ints>,
        axis: Option<Int>
    ) -> Tensor
        |op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            let sizes = integers(op, needed(op, "sizes", sizes)?)?;
            made(x.unflatten(dim, &sizes.into_vec()))
        };
    /// Two dimensions exchanged.
    ///
    /// >>> al.zeros(2, 3).transpose(0, 1).shape
    /// (3, 2)
    transpose[dim0, dim1](dim0: Int, dim1: Int) -> Tensor
        |op, x| made(x.transpose(dim0.0, dim1.0));
    /// Two dimensions exchanged; another name of `transpose`.
    ///
    /// >>> al.zeros(2, 3, 4).swapdims(0, -1).shape
    /// (4, 3, 2)
    swapdims[dim0, dim1](dim0: Int, dim1: Int) -> Tensor
        |op, x| made(x.transpose(dim0.0, dim1.0).map_err(|error| error.in_op(op)));
    /// Two dimensions exchanged; NumPy's name of `transpose`.
    ///
    /// >>> al.zeros(2, 3, 4).swapaxes(0, -1).shape
    /// (4, 3, 2)
    swapaxes[axis0, axis1](axis0: Int, axis1: Int) -> Tensor
        |op, x| made(x.transpose(axis0.0, axis1.0).map_err(|error| error.in_op(op)));
    /// A matrix with its dimensions exchanged; fewer dimensions stay as they are.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).t()
    /// tensor([[1, 3],
    ///         [2, 4]])
    t[]() -> Tensor
        |op, x| made(x.t());
    /// The dimensions in another order.
    ///
    /// >>> al.zeros(2, 3, 4).permute(2, 0, 1).shape
    /// (4, 2, 3)
    permute[*arguments, dims=None, axes=None](
        arguments: &Bound<'_, PyTuple>,
        dims: Option<Dims>,
        axes: Option<Dims>
    ) -> Tensor
        |op, x| made(x.permute(&spread(op, arguments, either(op, dims, axes)?)?));
    /// The dimensions at source moved to destination, the others in the order they were.
    ///
    /// >>> al.zeros(2, 3, 4).movedim(0, -1).shape
    /// (3, 4, 2)
    movedim[source, destination](
        source: Ints,
        destination: Ints
    ) -> Tensor
        |op, x| {
            let (from, to) = (integers(op, source)?, integers(op, destination)?);
            made(x.movedim(&from.into_vec(), &to.into_vec()))
        };
    /// The dimensions at source moved to destination; NumPy's name of `movedim`.
    ///
    /// >>> al.zeros(2, 3, 4).moveaxis((0, 1), (1, 2)).shape
    /// (4, 2, 3)
    moveaxis[source, destination](
        source: Ints,
        destination: Ints
    ) -> Tensor
        |op, x| {
            let (from, to) = (integers(op, source)?, integers(op, destination)?);
            let moved = x.movedim(&from.into_vec(), &to.into_vec());
            made(moved.map_err(|error| error.in_op(op)))
        };
    /// Repeated along dimensions of size one and new leading ones, without a copy; -1 keeps a size.
    ///
    /// >>> al.tensor([1, 2]).broadcast_to((2, 2))
    /// tensor([[1, 2],
    ///         [1, 2]])
    broadcast_to[shape=None, *, size=None](
        shape: Option<Ints>,
        size: Option<Ints>
    ) -> Tensor
        |op, x| {
            let sizes = integers(op, one_of(op, "size", &[shape, size])?)?;
            expand(op, x, &sizes.into_vec())
        };
    /// Without the dimensions of size one: all of them, or those named.
    ///
    /// >>> al.zeros(1, 2, 1).squeeze(0).shape
    /// (2, 1)
    squeeze[dim=None, *, axis=None](
        dim: Option<Dims>,
        axis: Option<Dims>
    ) -> Tensor
        |op, x| {
            let axes = either(op, dim, axis)?.map(|axes| integers(op, axes)).transpose()?;
            made(x.squeeze(axes.map(Integers::into_vec).as_deref()))
        };
    /// A new dimension of size one before dim.
    ///
    /// >>> al.zeros(2, 3).unsqueeze(-1).shape
    /// (2, 3, 1)
    unsqueeze[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> Tensor
        |op, x| made(x.unsqueeze(arguments::axis(op, dim, axis)?));
    /// New dimensions of size one at these places of the result; NumPy's name of `unsqueeze`.
    ///
    /// >>> al.zeros(2, 3).expand_dims((0, 2)).shape
    /// (1, 2, 1, 3)
    expand_dims[axis](axis: Dims) -> Tensor
        |op, x| with_new_dims(op, x, &integers(op, axis)?.into_vec());
    /// One index of a dimension, which disappears.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).select(1, 0)
    /// tensor([1, 3])
    select[dim=None, index=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Int>,
        axis: Option<Int>
    ) -> Tensor
        |op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            made(x.select(dim, needed(op, "index", index)?.0))
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
    ) -> Tensor
        |op, x| {
            let dim = arguments::axis(op, dim, axis)?;
            let (start, length) = (needed(op, "start", start)?, needed(op, "length", length)?);
            made(x.narrow(dim, start.0, size(op, length.0)?))
        };
    /// The elements of the memory at strides of their own, from an offset on or where the tensor
    /// begins, without a copy.
    ///
    /// >>> al.arange(6).as_strided((2, 2), (1, 3))
    /// tensor([[0, 3],
    ///         [1, 4]])
    as_strided[size, stride, storage_offset=None](
        size: Ints,
        stride: Ints,
        storage_offset: Option<Int>
    ) -> Tensor
        |op, x| {
            let sizes = integers(op, size)?.into_vec().into_iter();
            let sizes = sizes.map(|given| arguments::size(op, given));
            let sizes = sizes.collect::<PyResult<Vec<_>>>()?;
            let offset = storage_offset.map(|Int(given)| arguments::size(op, given));
            let strides = integers(op, stride)?.into_vec();
            made(x.as_strided(&sizes, &strides, offset.transpose()?))
        };
    /// The elements whose indices in two dimensions are offset apart, as a new last dimension.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).diagonal()
    /// tensor([1, 4])
    diagonal[offset=Clamped(0), dim1=None, dim2=None, *, axis1=None, axis2=None](
        offset: Clamped,
        dim1: Option<Int>,
        dim2: Option<Int>,
        axis1: Option<Int>,
        axis2: Option<Int>
    ) -> Tensor
        |op, x| {
            let (a, b) = (axis_or(op, dim1, axis1, 0)?, axis_or(op, dim2, axis2, 1)?);
            made(x.diagonal(offset.0, a, b))
        };
    /// At most chunks parts of equal size along a dimension, the last one of those that are left.
    ///
    /// >>> al.arange(5).chunk(2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    chunk[chunks, dim=None, *, axis=None](
        chunks: Int,
        dim: Option<Int>,
        axis: Option<Int>
    ) -> Vec<Tensor>
        |op, x| {
            let dim = axis_or(op, dim, axis, 0)?;
            made(x.chunk(size(op, chunks.0)?, dim))
        };
    /// So many parts along a dimension, of sizes that differ by at most one; or the parts before,
    /// between and after indices.
    ///
    /// >>> al.arange(5).tensor_split(2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    /// >>> al.arange(7).tensor_split((2, -2))
    /// (tensor([0, 1]), tensor([2, 3, 4]), tensor([5, 6]))
    tensor_split[indices_or_sections=None, dim=None, *, axis=None, sections=None, indices=None, tensor_indices_or_sections=None](
        indices_or_sections: Option<Ints>,
        dim: Option<Int>,
        axis: Option<Int>,
        sections: Option<Ints>,
        indices: Option<Ints>,
        tensor_indices_or_sections: Option<Ints>
    ) -> Vec<Tensor>
        |op, x| {
            let dim = axis_or(op, dim, axis, 0)?;
            let places = [indices_or_sections, sections, indices, tensor_indices_or_sections];
            made(match arguments::places(op, one_of(op, "indices_or_sections", &places)?)? {
                Integers::One(sections) => x.tensor_split(size(op, sections)?, dim),
                Integers::Several(indices) => x.tensor_split_at(&indices, dim),
            })
        };
    /// Equal parts side by side, or the parts before, between and after indices.
    ///
    /// >>> al.arange(4).hsplit(2)
    /// (tensor([0, 1]), tensor([2, 3]))
    hsplit[indices_or_sections=None, *, sections=None, indices=None](
        indices_or_sections: Option<Ints>,
        sections: Option<Ints>,
        indices: Option<Ints>
    ) -> Vec<Tensor>
        |op, x| made(match places(op, [indices_or_sections, sections, indices])? {
            Integers::One(sections) => x.hsplit(size(op, sections)?),
            Integers::Several(indices) => x.hsplit_at(&indices),
        });
    /// Equal parts one below the other, or the parts before, between and after indices.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).vsplit(2)
    /// (tensor([[1, 2]]), tensor([[3, 4]]))
    vsplit[indices_or_sections=None, *, sections=None, indices=None](
        indices_or_sections: Option<Ints>,
        sections: Option<Ints>,
        indices: Option<Ints>
    ) -> Vec<Tensor>
        |op, x| made(match places(op, [indices_or_sections, sections, indices])? {
            Integers::One(sections) => x.vsplit(size(op, sections)?),
            Integers::Several(indices) => x.vsplit_at(&indices),
        });
    /// Equal parts along the third dimension, or the parts before, between and after indices.
    ///
    /// >>> [part.shape for part in al.zeros(2, 3, 4).dsplit([1])]
    /// [(2, 3, 1), (2, 3, 3)]
    dsplit[indices_or_sections=None, *, sections=None, indices=None](
        indices_or_sections: Option<Ints>,
        sections: Option<Ints>,
        indices: Option<Ints>
    ) -> Vec<Tensor>
        |op, x| made(match places(op, [indices_or_sections, sections, indices])? {
            Integers::One(sections) => x.dsplit(size(op, sections)?),
            Integers::Several(indices) => x.dsplit_at(&indices),
        });
    /// The last two dimensions exchanged, and complex numbers conjugated, which takes a copy.
    ///
    /// >>> al.tensor([[1, 2j]]).adjoint()
    /// tensor([[1.-0.j],
    ///         [0.-2.j]])
    adjoint[]() -> Tensor
        |op, x| made(adjoint_of(x).map_err(|error| error.in_op(op)));
    /// The real and imaginary parts of complex numbers along a new last dimension, without a copy.
    ///
    /// >>> al.tensor([1 + 2j]).view_as_real()
    /// tensor([[1., 2.]])
    view_as_real[]() -> Tensor
        |op, x| made(x.view_as_real());
    /// Complex numbers of the pairs along the last dimension, without a copy where they lie side by
    /// side.
    ///
    /// >>> al.tensor([[1.0, 2.0]]).view_as_complex()
    /// tensor([1.+2.j])
    view_as_complex[]() -> Tensor
        |op, x| made(x.view_as_complex());
    /// The parts along dim with sizes of their own.
    ///
    /// >>> al.arange(3).split_with_sizes((1, 2))
    /// (tensor([0]), tensor([1, 2]))
    split_with_sizes[split_sizes, dim=Int(0)](split_sizes: Ints, dim: Int) -> Vec<Tensor>
        |op, x| {
            let sizes = many_integers(op, split_sizes).map(Integers::into_vec)?.into_iter();
            let sizes = sizes.map(|given| size(op, given)).collect::<PyResult<Vec<_>>>()?;
            made(x.split_sizes(&sizes, dim.0).map_err(|error| error.in_op(op)))
        };
    /// The tensor itself: conjugation is never put off.
    ///
    /// >>> al.tensor([1]).resolve_conj()
    /// tensor([1])
    resolve_conj[]() -> Tensor
        |op, x| Ok(x.clone());
    /// The tensor itself: negation is never put off.
    ///
    /// >>> al.tensor([1]).resolve_neg()
    /// tensor([1])
    resolve_neg[]() -> Tensor
        |op, x| Ok(x.clone());
    /// The tensor at each index of a dimension, which disappears.
    ///
    /// >>> al.tensor([[1, 2], [3, 4]]).unbind(1)
    /// (tensor([1, 3]), tensor([2, 4]))
    unbind[dim=None, *, axis=None](dim: Option<Int>, axis: Option<Int>) -> Vec<Tensor>
        |op, x| made(x.unbind(axis_or(op, dim, axis, 0)?));
}

#[pymethods]
impl PyTensor {
    /// Repeated along dimensions of size one and new leading ones, without a copy; -1 keeps a size.
    ///
    /// >>> al.zeros(3, 1).expand(-1, 4).shape
    /// (3, 4)
    #[pyo3(signature = (*arguments, size=None))]
    fn expand(&self, arguments: &Bound<'_, PyTuple>, size: Option<Ints>) -> PyResult<Self> {
        let sizes = spread("expand", arguments, size)?;
        self.see(|x| expand("expand", x, &sizes))
    }

    /// Repeated to the sizes of another tensor, without a copy.
    ///
    /// >>> al.tensor([1, 2]).expand_as(al.zeros(2, 2))
    /// tensor([[1, 2],
    ///         [1, 2]])
    fn expand_as(&self, other: Operand) -> PyResult<Self> {
        let other = operand("expand_as", other)?;
        self.see(|x| made(x.expand_as(&other)))
    }

    /// With the sizes of another tensor, in the same order.
    ///
    /// >>> al.arange(4).reshape_as(al.zeros(2, 2))
    /// tensor([[0, 1],
    ///         [2, 3]])
    fn reshape_as(&self, other: Operand) -> PyResult<Self> {
        let other = operand("reshape_as", other)?;
        self.see(|x| made(x.reshape_as(&other)))
    }

    /// With the sizes of another tensor, in the same order.
    ///
    /// >>> al.arange(4).view_as(al.zeros(2, 2))
    /// tensor([[0, 1],
    ///         [2, 3]])
    fn view_as(&self, other: Operand) -> PyResult<Self> {
        let other = operand("view_as", other)?;
        self.see(|x| viewed("view_as", x, x.reshape_as(&other)))
    }

    /// Parts of split_size indices of a dimension, the last one of those that are left; or parts of
    /// these sizes.
    ///
    /// >>> al.arange(5).split(3)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    /// >>> al.arange(5).split([2, 3])
    /// (tensor([0, 1]), tensor([2, 3, 4]))
    #[pyo3(signature = (split_size, dim=None, *, axis=None))]
    fn split(&self, split_size: Ints, dim: Option<Int>, axis: Option<Int>) -> PyResult<Parts> {
        let op = "split";
        let dim = axis_or(op, dim, axis, 0)?;
        match many_integers(op, split_size)? {
            Integers::One(size) => {
                let size = arguments::size(op, size)?;
                self.see(|x| made(x.split(size, dim)))
            }
            Integers::Several(sizes) => {
                let sizes = sizes.into_iter().map(|size| arguments::size(op, size));
                let sizes = sizes.collect::<PyResult<Vec<_>>>()?;
                self.see(|x| made(x.split_sizes(&sizes, dim)))
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
        self.see(|x| made(x.unfold(dimension.0, size, step)))
    }

    /// The same bits as another dtype, or the same elements with other sizes.
    ///
    /// >>> al.tensor([1.0, 2.0]).view(al.int32)
    /// tensor([1065353216, 1073741824], dtype=int32)
    #[pyo3(signature = (*sizes_or_dtype, size=None))]
    fn view(
        &self,
        py: Python<'_>,
        sizes_or_dtype: &Bound<'_, PyTuple>,
        size: Option<Ints>,
    ) -> PyResult<Self> {
        match spread("view", sizes_or_dtype, size) {
            Ok(sizes) => self.see(|x| viewed("view", x, x.reshape(&sizes))),
            Err(error) if size.is_some() || !error.is_instance_of::<PyTypeError>(py) => Err(error),
            Err(_) => {
                let dtype = convert::to_dtype("view", &sizes_or_dtype.get_item(0)?)?;
                self.see(|x| made(x.view_dtype(dtype)))
            }
        }
    }
}

#[pymethods]
impl PyTensor {
    /// The same elements in the same order with other sizes; one may be -1.
    ///
    /// >>> al.arange(6).reshape(2, -1).shape
    /// (2, 3)
    #[pyo3(signature = (*sizes, shape=None))]
    fn reshape(&self, sizes: &Bound<'_, PyTuple>, shape: Option<Ints>) -> PyResult<Self> {
        let sizes = spread("reshape", sizes, shape)?;
        match self.variable().reshape(&sizes).map_err(raise)? {
            Some(view) => Ok(view.into()),
            None => self.see(|x| made(x.reshape(&sizes))),
        }
    }
}

/// The same elements in the same order with other sizes; one may be -1.
///
/// >>> al.arange(6).reshape(2, -1).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (input, *sizes, shape=None))]
pub(crate) fn reshape(
    input: Operand,
    sizes: &Bound<'_, PyTuple>,
    shape: Option<Ints>,
) -> PyResult<PyTensor> {
    const OP: &str = "reshape";
    crate::tensor::view(OP, input, |x| made(x.reshape(&spread(OP, sizes, shape)?)))
}

/// Parts of so many indices of a dimension, the last one of those that are left; or parts of these
/// sizes.
///
/// >>> al.split(al.arange(5), [2, 3])
/// (tensor([0, 1]), tensor([2, 3, 4]))
#[pyfunction]
#[pyo3(signature = (tensor, split_size_or_sections, dim=None, *, axis=None))]
pub(crate) fn split(
    tensor: Operand,
    split_size_or_sections: Ints,
    dim: Option<Int>,
    axis: Option<Int>,
) -> PyResult<Parts> {
    match tensor.cast::<PyTensor>() {
        Ok(tensor) => tensor.get().split(split_size_or_sections, dim, axis),
        Err(_) => {
            PyTensor::from(operand("split", tensor)?).split(split_size_or_sections, dim, axis)
        }
    }
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
    let links = tensors.iter().map(|tensor| link(op, &tensor));
    let links = links.collect::<PyResult<Vec<_>>>()?;
    let values: Vec<&Tensor> = links.iter().map(|link| &link.value).collect();
    let views = made(allotrope_tensor::broadcast_tensors(&values))?;
    let views = links.iter().zip(views).map(|(link, view)| view.seen(link));
    Ok(views.collect())
}

/// A view with other sizes; where none is one, the error says so instead of a copy that nobody asked for.
fn viewed(op: &'static str, x: &Tensor, made: Result<Tensor, Error>) -> PyResult<Tensor> {
    let view = made.map_err(|error| raise(error.in_op(op)))?;
    if view.shares_storage_with(x) || x.count() == 0 {
        return Ok(view);
    }
    let problem = Problem::NoView {
        strides: x.layout().strides().to_vec(),
        from: x.shape().to_vec(),
        to: view.shape().to_vec(),
    };
    Err(raise(Error::new(op, problem).hint("x.reshape() copies")))
}

/// Repeated to sizes, of which -1 keeps that of an old dimension.
fn expand(op: &'static str, x: &Tensor, sizes: &[isize]) -> PyResult<Tensor> {
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
    made(x.expand(&sizes).map_err(|error| error.in_op(op)))
}

/// New dimensions of size one at places of the result.
fn with_new_dims(op: &'static str, x: &Tensor, axes: &[isize]) -> PyResult<Tensor> {
    let rank = x.rank() + axes.len();
    let mut dims = allotrope_op::normalize_axes(op, axes, rank).map_err(raise)?;
    dims.sort_unstable();
    let mut places = dims.into_iter();
    made(places.try_fold(x.clone(), |x, dim| x.unsqueeze(dim as isize)))
}

/// How many parts there are, or the indices between them, by one of three names.
fn places(op: &'static str, spellings: [Option<&Bound<'_, PyAny>>; 3]) -> PyResult<Integers> {
    arguments::places(op, one_of(op, "indices_or_sections", &spellings)?)
}
