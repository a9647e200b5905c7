//! Functions of several tensors.

use allotrope_dtype::{Error, Problem};
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use super::renamed;
use crate::arguments::{Int, MOST_ITEMS, Out, TensorList, axis_or, iterate};
use crate::create::operand;
use crate::error::{raise, wrong_object};
use crate::in_place::{Delivered, deliver};
use crate::infer::DEEPEST;
use crate::operand::run;
use crate::tensor::{PyTensor, as_tensor, made, view};
use crate::view::Parts;

type Tensors = SmallVec<[Tensor; 4]>;

/// The tensors of a list, a tuple or anything else that has several.
fn read(op: &'static str, tensors: TensorList) -> PyResult<Tensors> {
    if let Ok(tuple) = tensors.cast::<PyTuple>() {
        return tuple
            .iter_borrowed()
            .map(|item| operand(op, &item))
            .collect();
    }
    if let Ok(list) = tensors.cast::<PyList>() {
        return list.iter().map(|item| operand(op, &item)).collect();
    }
    if let Some(tensor) = as_tensor(tensors).filter(|tensor| tensor.rank() > 0) {
        return tensor.unbind(0).map(Tensors::from_vec).map_err(raise);
    }
    let refuse = || {
        wrong_object(
            op,
            "not several tensors",
            tensors,
            "lists and tuples of them",
        )
    };
    if !tensors.hasattr("__iter__")? && !tensors.hasattr("__getitem__")? {
        return Err(refuse());
    }
    let items = iterate(op, tensors, MOST_ITEMS)?;
    items.iter().map(|item| operand(op, item)).collect()
}

/// Tensors given as arguments, or as one list of them.
fn read_spread(op: &'static str, tensors: &Bound<'_, PyTuple>) -> PyResult<Tensors> {
    match tensors.len() {
        1 => {
            let only = tensors.get_item(0)?;
            if only.is_instance_of::<PyList>() || only.is_instance_of::<PyTuple>() {
                read(op, &only)
            } else {
                Ok(std::iter::once(operand(op, &only)?).collect())
            }
        }
        _ => read(op, tensors),
    }
}

/// Refuses more tensors than a result has dimensions for, which has one for each.
fn check_count(op: &'static str, tensors: Tensors) -> PyResult<Tensors> {
    match tensors.len() {
        given if given > DEEPEST => {
            let most = DEEPEST;
            let problem = Problem::TooManyDimensions { given, most };
            Err(raise(Error::new(op, problem)))
        }
        _ => Ok(tensors),
    }
}

/// Runs work on several tensors.
fn run_all(
    py: Python<'_>,
    tensors: &[Tensor],
    work: impl FnOnce(&[&Tensor]) -> Result<Tensor, Error> + Send,
) -> PyResult<PyTensor> {
    let count = tensors.iter().map(Tensor::count).sum();
    run(py, count, || {
        let references: SmallVec<[&Tensor; 8]> = tensors.iter().collect();
        work(&references)
    })
}

/// Functions of a list of tensors and a dimension, per row.
macro_rules! along {
    ($($(#[doc = $doc:literal])* $name:ident $method:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (tensors, dim=None, *, axis=None, out=None))]
        fn $name<'py>(
            py: Python<'py>,
            tensors: TensorList<'_, 'py>,
            dim: Option<Int>,
            axis: Option<Int>,
            out: Option<Out<'_, 'py>>,
        ) -> PyResult<Delivered<'py, PyTensor>> {
            const OP: &str = stringify!($name);
            let (tensors, dim) = (read(OP, tensors)?, axis_or(OP, dim, axis, 0)?);
            let joined = run_all(py, &tensors, |tensors| {
                Tensor::$method(tensors, dim).map_err(|error| error.in_op(OP))
            });
            deliver(py, OP, joined?, out)
        }
    )*

    fn register_along(module: &Bound<'_, PyModule>) -> PyResult<()> {
        $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
        Ok(())
    }};
}
along! {
    /// Tensors side by side along a dimension, in their common dtype.
    ///
    /// >>> al.cat([al.tensor([1, 2]), al.tensor([0.5])])
    /// tensor([1.0000, 2.0000, 0.5000])
    cat cat;
    /// Tensors side by side along a dimension; another name of `cat`.
    ///
    /// >>> al.concat([al.zeros(2, 1), al.ones(2, 1)], axis=1)
    /// tensor([[0., 1.],
    ///         [0., 1.]])
    concat cat;
    /// Tensors side by side along a dimension; NumPy's name of `cat`.
    ///
    /// >>> al.concatenate((al.tensor([1]), al.tensor([2])))
    /// tensor([1, 2])
    concatenate cat;
    /// Tensors of equal sizes side by side along a new dimension, in their common dtype.
    ///
    /// >>> al.stack([al.tensor([1, 2]), al.tensor([3, 4])], dim=1)
    /// tensor([[1, 3],
    ///         [2, 4]])
    stack stack;
}

/// Functions of a list of tensors, per row.
macro_rules! of_list {
    ($($(#[doc = $doc:literal])* $name:ident $method:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (tensors, *, out=None))]
        fn $name<'py>(
            py: Python<'py>,
            tensors: TensorList<'_, 'py>,
            out: Option<Out<'_, 'py>>,
        ) -> PyResult<Delivered<'py, PyTensor>> {
            const OP: &str = stringify!($name);
            let joined = run_all(py, &read(OP, tensors)?, |tensors| {
                Tensor::$method(tensors).map_err(|error| error.in_op(OP))
            });
            deliver(py, OP, joined?, out)
        }
    )*

    fn register_lists(module: &Bound<'_, PyModule>) -> PyResult<()> {
        $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
        Ok(())
    }};
}
of_list! {
    /// Tensors side by side in columns: along the second dimension, or the first of those that have
    /// one.
    ///
    /// >>> al.hstack([al.tensor([1]), al.tensor([2, 3])])
    /// tensor([1, 2, 3])
    hstack hstack;
    /// Tensors one below the other in rows.
    ///
    /// >>> al.vstack([al.tensor([1, 2]), al.tensor([3, 4])])
    /// tensor([[1, 2],
    ///         [3, 4]])
    vstack vstack;
    /// Tensors one below the other in rows; another name of `vstack`.
    ///
    /// >>> al.row_stack([al.tensor([1, 2]), al.tensor([3, 4])]).shape
    /// (2, 2)
    row_stack vstack;
    /// Tensors side by side along the third dimension.
    ///
    /// >>> al.dstack([al.zeros(2, 3), al.ones(2, 3)]).shape
    /// (2, 3, 2)
    dstack dstack;
    /// Tensors of one dimension as columns, others side by side.
    ///
    /// >>> al.column_stack([al.tensor([1, 2]), al.tensor([3, 4])])
    /// tensor([[1, 3],
    ///         [2, 4]])
    column_stack column_stack;
}

/// Functions of tensors as arguments, per row.
macro_rules! of_arguments {
    ($($(#[doc = $doc:literal])* $name:ident $($check:ident)?;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*tensors))]
        fn $name(py: Python<'_>, tensors: &Bound<'_, PyTuple>) -> PyResult<PyTensor> {
            let tensors = read_spread(stringify!($name), tensors)?;
            $(let tensors = $check(stringify!($name), tensors)?;)?
            run_all(py, &tensors, Tensor::$name)
        }
    )*

    fn register_arguments(module: &Bound<'_, PyModule>) -> PyResult<()> {
        $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
        Ok(())
    }};
}
of_arguments! {
    /// Matrices along the diagonal of a larger one that is zero elsewhere.
    ///
    /// >>> al.block_diag(al.tensor([[1, 2]]), al.tensor([[3]]))
    /// tensor([[1, 2, 0],
    ///         [0, 0, 3]])
    block_diag;
    /// Every choice of one element of each tensor, as rows, the last varying fastest.
    ///
    /// >>> al.cartesian_prod(al.tensor([1, 2]), al.tensor([3, 4]))
    /// tensor([[1, 3],
    ///         [1, 4],
    ///         [2, 3],
    ///         [2, 4]])
    cartesian_prod check_count;
}

/// One tensor as a tensor, several as a tuple.
macro_rules! of_one_or_several {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*tensors))]
        fn $name<'py>(
            py: Python<'py>,
            tensors: &Bound<'py, PyTuple>,
        ) -> PyResult<Bound<'py, PyAny>> {
            const OP: &str = stringify!($name);
            let several = tensors.len() != 1 || {
                let only = tensors.get_item(0)?;
                only.is_instance_of::<PyTuple>() || only.is_instance_of::<PyList>()
            };
            if !several {
                let view = view(OP, &tensors.get_item(0)?, |x| made(x.$name()))?;
                return view.into_pyobject(py).map(Bound::into_any);
            }
            let only = tensors.get_item(0).ok().filter(|_| tensors.len() == 1);
            let items: Vec<Bound<'_, PyAny>> = match only {
                Some(only) => only.try_iter()?.collect::<PyResult<_>>()?,
                None => tensors.iter().collect(),
            };
            let views = items.iter().map(|item| view(OP, item, |x| made(x.$name())));
            // bounded: as many as the caller lists.
            let views: Parts = views.collect::<PyResult<Vec<_>>>()?.into_iter().collect();
            views.into_pyobject(py).map(Bound::into_any)
        }
    )*

    fn register_ranks(module: &Bound<'_, PyModule>) -> PyResult<()> {
        $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
        Ok(())
    }};
}
of_one_or_several! {
    /// The tensor, or a single element as one dimension; several as a tuple.
    ///
    /// >>> al.atleast_1d(al.tensor(7))
    /// tensor([7])
    atleast_1d;
    /// The tensor, or fewer than two dimensions as a row; several as a tuple.
    ///
    /// >>> al.atleast_2d(al.tensor([7, 8]))
    /// tensor([[7, 8]])
    atleast_2d;
    /// The tensor, or fewer than three dimensions with new ones of size one; several as a tuple.
    ///
    /// >>> al.atleast_3d(al.zeros(2, 3)).shape
    /// (2, 3, 1)
    atleast_3d;
}

/// The coordinates of a grid, one tensor per dimension. indexing="xy" has the first two dimensions
/// the other way round.
///
/// >>> x, y = al.meshgrid(al.tensor([1, 2]), al.tensor([3, 4, 5]), indexing="ij")
/// >>> x
/// tensor([[1, 1, 1],
///         [2, 2, 2]])
#[pyfunction]
#[pyo3(signature = (*tensors, indexing="ij"))]
fn meshgrid(tensors: &Bound<'_, PyTuple>, indexing: &str) -> PyResult<Parts> {
    let op = "meshgrid";
    let tensors = check_count(op, read_spread(op, tensors)?)?;
    let swapped = match indexing {
        "ij" => false,
        "xy" => true,
        _ => {
            let error = Error::unknown_option(op, "indexing", indexing, &["ij", "xy"]);
            return Err(raise(error));
        }
    };
    let references: Vec<&Tensor> = tensors.iter().collect();
    Parts::wrap(Ok(renamed(op, Tensor::meshgrid(&references, swapped))?))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register_along(module)?;
    register_lists(module)?;
    register_arguments(module)?;
    register_ranks(module)?;
    module.add_function(wrap_pyfunction!(meshgrid, module)?)
}
