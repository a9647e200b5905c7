//! Elements written, added, … to where indices say.

use allotrope_dtype::WeakScalar;
use allotrope_op::Slice;
use allotrope_tensor::{Index, IndexReduction};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::{Any, read_index};
use crate::arguments::{Int, Number, Operand, axis as read_axis, either, needed};
use crate::create;
use crate::error::{raise, wrong_object};
use crate::index::read_key;
use crate::operand::{self, count, run};
use crate::tensor::PyTensor;

forms! {
    /// The tensor with elements replaced along a dimension at an index for each:
    /// `out[index[i][j]][j] = src[i][j]` for dimension 0. The source is a tensor or one number;
    /// reduce="add" or "multiply" combines them with the elements there. Of several for one place the
    /// last stays.
    ///
    /// >>> al.zeros(2, 3).scatter(1, al.tensor([[2], [0]]), 1.5)
    /// tensor([[0.0000, 0.0000, 1.5000],
    ///         [1.5000, 0.0000, 0.0000]])
    scatter[dim=None, index=None, src=None, *, value=None, reduce=None, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        src: Option<Operand>,
        value: Option<Operand>,
        reduce: Option<&str>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = needed(op, "src", either(op, src, value)?)?;
        let source = operand::read_beside(op, x, source)?;
        run(py, x.count().max(index.count()), || match reduce {
            Some(reduce) => x.scatter_with(dim, &index, source.as_operand(), reduce),
            None => x.scatter(dim, &index, source.as_operand()),
        })
    };

    /// The tensor with elements added along a dimension at an index for each. Sums are formed in the
    /// order of the source, in float32 for narrower floats.
    ///
    /// >>> al.zeros(3).scatter_add(0, al.tensor([0, 2, 0]), al.ones(3))
    /// tensor([2., 0., 1.])
    scatter_add[dim=None, index=None, src=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        src: Option<Operand>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = create::operand(op, needed(op, "src", src)?)?;
        run(py, x.count().max(index.count()), || x.scatter_add(dim, &index, &source))
    };

    /// The tensor with elements reduced into it along a dimension at an index for each: reduce is
    /// "sum", "prod", "mean", "amax" or "amin". With include_self=False the elements that others are
    /// reduced into do not count. The mean of integers is the default float.
    ///
    /// >>> x = al.tensor([1., 2., 3.])
    /// >>> x.scatter_reduce(0, al.tensor([0, 0, 2]), al.tensor([5., 7., 1.]), "amax")
    /// tensor([7., 2., 3.])
    scatter_reduce[dim=None, index=None, src=None, reduce=None, *, include_self=true, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        src: Option<Operand>,
        reduce: Option<&str>,
        include_self: bool,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = create::operand(op, needed(op, "src", src)?)?;
        let reduction = IndexReduction::parse(op, needed(op, "reduce", reduce)?).map_err(raise)?;
        run(py, x.count().max(index.count()), || {
            x.scatter_reduce(dim, &index, &source, reduction, include_self)
        })
    };

    /// The tensor with alpha times the slices of a source added along a dimension at the indices of a
    /// vector.
    ///
    /// >>> al.zeros(3).index_add(0, al.tensor([0, 2, 0]), al.ones(3), alpha=2)
    /// tensor([4., 0., 2.])
    index_add[dim=None, index=None, source=None, *, alpha=None, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        source: Option<Operand>,
        alpha: Option<Number>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = create::operand(op, needed(op, "source", source)?)?;
        let alpha = alpha.map_or(Ok(WeakScalar::Int(1)), |alpha| create::number(op, alpha))?;
        run(py, x.count().max(source.count()), || x.index_add(dim, &index, &source, alpha))
    };

    /// The tensor with slices replaced along a dimension at the indices of a vector.
    ///
    /// >>> al.zeros(3).index_copy(0, al.tensor([0, 2]), al.tensor([1., 2.]))
    /// tensor([1., 0., 2.])
    index_copy[dim=None, index=None, source=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        source: Option<Operand>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = create::operand(op, needed(op, "source", source)?)?;
        run(py, x.count().max(source.count()), || x.index_copy(dim, &index, &source))
    };

    /// The tensor with slices along a dimension at the indices of a vector filled with one value.
    ///
    /// >>> al.zeros(3, dtype=al.int8).index_fill(0, al.tensor([0, -1]), 7)
    /// tensor([7, 0, 7], dtype=int8)
    index_fill[dim=None, index=None, value=None, *, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        value: Option<Operand>,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let value = operand::read_beside(op, x, needed(op, "value", value)?)?;
        run(py, x.count(), || x.index_fill(dim, &index, value.as_operand()))
    };

    /// The tensor with slices reduced into it along a dimension at the indices of a vector, as
    /// scatter_reduce.
    ///
    /// >>> al.ones(2).index_reduce(0, al.tensor([1, 1]), al.tensor([3., 5.]), "prod")
    /// tensor([ 1., 15.])
    index_reduce[dim=None, index=None, source=None, reduce=None, *, include_self=true, axis=None](
        dim: Option<Int>,
        index: Option<Operand>,
        source: Option<Operand>,
        reduce: Option<&str>,
        include_self: bool,
        axis: Option<Int>
    ) -> PyTensor |py, op, x| {
        let (dim, index) = (read_axis(op, dim, axis)?, read_index(op, index)?);
        let source = create::operand(op, needed(op, "source", source)?)?;
        let reduction = IndexReduction::parse(op, needed(op, "reduce", reduce)?).map_err(raise)?;
        run(py, x.count().max(source.count()), || {
            x.index_reduce(dim, &index, &source, reduction, include_self)
        })
    };

    /// The tensor with elements replaced, or with accumulate=True added to, at indices into the
    /// flattened tensor.
    ///
    /// >>> al.zeros(2, 2).put(al.tensor([0, -1]), al.tensor([1., 2.]))
    /// tensor([[1., 0.],
    ///         [0., 2.]])
    put[index, source, accumulate=false](
        index: Operand,
        source: Operand,
        accumulate: bool
    ) -> PyTensor |py, op, x| {
        let (index, source) = (read_index(op, Some(index))?, create::operand(op, source)?);
        run(py, x.count().max(index.count()), || x.put(&index, &source, accumulate))
    };

    /// The tensor with the elements that a tuple of indices and masks means replaced by values, or
    /// with accumulate=True added to. None stands for a whole dimension.
    ///
    /// >>> al.zeros(3).index_put((al.tensor([0, 0, 2]),), 1.0, accumulate=True)
    /// tensor([2., 0., 1.])
    index_put[indices, values, accumulate=false](
        indices: Any<'_, '_>,
        values: Operand,
        accumulate: bool
    ) -> PyTensor |py, op, x| {
        let (key, values) = (read_indices(op, indices)?, operand::read_beside(op, x, values)?);
        run(py, x.count().max(count(&values)), || {
            x.index_put(&key, values.as_operand(), accumulate)
        })
    };
}

/// The items of a tuple or list of indices, where None is a whole dimension.
fn read_indices(op: &'static str, indices: Operand) -> PyResult<Vec<Index>> {
    let items: Vec<Bound<'_, PyAny>> = match (indices.cast::<PyTuple>(), indices.cast::<PyList>()) {
        (Ok(tuple), _) => tuple.iter().collect(),
        (_, Ok(list)) => list.iter().collect(),
        _ => {
            let accepted = "a tuple of tensors";
            return Err(wrong_object(op, "not indices", indices, accepted));
        }
    };
    let mut key = Vec::new();
    for item in items {
        if item.is_none() {
            key.push(Index::Range(Slice::ALL));
        } else {
            key.extend(read_key(&item)?);
        }
    }
    Ok(key)
}
