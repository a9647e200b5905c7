//! `scatter` and its kin, `put`, `index_put`: elements written, added, … to
//! where indices say. All promote the tensor and what is put into it.
//!
//! Of several elements for one place the last stays; sums are formed in the order of the source, in
//! float32 for narrower floats, and rounded once. Negative indices count from the end.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::structured::Structured;
use allotrope_op::structured::indexing::{INDEX_PUT, PUT, SCATTER, SCATTER_ADD, SCATTER_REDUCE};
use allotrope_op::{Combine, compute_dtype, float_of};
use allotrope_op::{Shape, normalize_axis};
use smallvec::smallvec;

use super::gather::check_fits;
use super::scatter_core::{Target, accumulator};
use super::scatter_gradient::Scattered;
use super::{Indices, Negative, as_tensor, chooser_beside, wrong_shape};
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::elementwise::Operand;
use crate::transfer::{Chooser, gathered};
use crate::{Index, Tensor};

/// How elements that meet in one place become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexReduction {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// Their mean; of integers and truth values in the default float.
    Mean,
    /// The greatest; NaN if there is one.
    Amax,
    /// The least; NaN if there is one.
    Amin,
}

impl IndexReduction {
    /// Every reduction with its name.
    const NAMES: [(&'static str, Self); 5] = [
        ("sum", Self::Sum),
        ("prod", Self::Prod),
        ("mean", Self::Mean),
        ("amax", Self::Amax),
        ("amin", Self::Amin),
    ];

    /// The reduction of a name: sum, prod, mean, amax or amin.
    ///
    /// # Errors
    /// A value error for any other.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, reduction)| *reduction).ok_or_else(|| {
            Error::unknown_option(op, "reduction", name, &Self::NAMES.map(|(name, _)| name))
        })
    }

    fn combine(self) -> Combine {
        match self {
            Self::Sum | Self::Mean => Combine::Add,
            Self::Prod => Combine::Multiply,
            Self::Amax => Combine::Max,
            Self::Amin => Combine::Min,
        }
    }

    /// The dtype of the result for operands of a common dtype.
    pub(super) fn result(self, op: &'static str, dtype: DType) -> Result<DType, Error> {
        match self {
            Self::Amax | Self::Amin if dtype.is_complex() => Err(Error::not_in_set(
                op,
                dtype,
                Set::Real,
                Some("x.real or x.abs()"),
            )),
            Self::Mean if !Set::Inexact.contains(dtype) => float_of(op, dtype),
            _ => Ok(dtype),
        }
    }
}

impl Tensor {
    /// The tensor with elements replaced along a dimension at an index for each:
    /// `out[index[i][j]][j] = source[i][j]` for dimension 0. The source is a tensor at least as large
    /// as the index, or one number.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let index = Tensor::from_slice(&[1_i32, -1], &[2])?;
    /// let x = Tensor::zeros(&[4], DType::U8)?.scatter(0, &index, 7)?;
    /// assert_eq!(x.to_vec::<u8>()?, [0, 7, 0, 7]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension or index out of range, a dtype error unless indices are
    /// integers or where promotion refuses, a value error for shapes that do not fit, an overflow
    /// error for a number that the dtype cannot hold, a memory error.
    pub fn scatter<'a>(
        &self,
        dim: isize,
        index: &Self,
        source: impl Into<Operand<'a>>,
    ) -> Result<Self, Error> {
        self.scattered(&SCATTER, dim, index, source.into(), Combine::Replace)
    }

    /// The tensor with elements combined with those there by torch's names: `add` or `multiply`.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, index) = (Tensor::new([1, 2])?, Tensor::new([0_i64, 0])?);
    /// let y = x.scatter_with(0, &index, &Tensor::new([3, 4])?, "multiply")?;
    /// assert_eq!(y, Tensor::new([12, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter); a value error for another name.
    pub fn scatter_with<'a>(
        &self,
        dim: isize,
        index: &Self,
        source: impl Into<Operand<'a>>,
        reduce: &str,
    ) -> Result<Self, Error> {
        let how = match reduce {
            "add" => Combine::Add,
            "multiply" => Combine::Multiply,
            _ => {
                let accepted = ["add", "multiply"];
                return Err(Error::unknown_option(
                    SCATTER.name,
                    "reduction",
                    reduce,
                    &accepted,
                ));
            }
        };
        self.scattered(&SCATTER, dim, index, source.into(), how)
    }

    /// The tensor with elements added along a dimension at an index for each.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, index) = (Tensor::new([1, 2])?, Tensor::new([0_i64, 0])?);
    /// assert_eq!(x.scatter_add(0, &index, &Tensor::new([3, 4])?)?, Tensor::new([8, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn scatter_add(&self, dim: isize, index: &Self, source: &Self) -> Result<Self, Error> {
        self.scattered(&SCATTER_ADD, dim, index, source.into(), Combine::Add)
    }

    fn scattered(
        &self,
        row: &Structured,
        dim: isize,
        index: &Self,
        source: Operand<'_>,
        how: Combine,
    ) -> Result<Self, Error> {
        let op = row.name;
        let tensor = match source {
            Operand::Tensor(tensor) => Some(tensor),
            Operand::Scalar(_) => None,
        };
        if let Some((x, index, tensor)) = gathered((self, Chooser(index), tensor))? {
            let source = tensor.as_ref().map_or(source, Operand::Tensor);
            return x.scattered(row, dim, &index, source, how);
        }
        let dtype = call::result_of(row, [self.into(), source])?;
        let source = as_tensor(op, source, dtype, self)?;
        let (x, index, source) = fit(op, self, dim, index, &source)?;
        put_along(op, dtype, &x, dim, &index, &source, how)?.in_shape(self.shape())
    }

    /// The tensor with elements reduced into it along a dimension at an index for each; unless
    /// `include_self`, the elements that others are reduced into do not count.
    ///
    /// Products have gradients where factors are zero, but none of second order there.
    ///
    /// ```
    /// use allotrope_tensor::{IndexReduction, Tensor};
    /// let (x, index) = (Tensor::new([1, 2])?, Tensor::new([0_i64, 0])?);
    /// let y = x.scatter_reduce(0, &index, &Tensor::new([3, 4])?, IndexReduction::Prod, true)?;
    /// assert_eq!(y, Tensor::new([12, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter); a dtype error for extremes of complex numbers.
    pub fn scatter_reduce(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        reduction: IndexReduction,
        include_self: bool,
    ) -> Result<Self, Error> {
        let op = SCATTER_REDUCE.name;
        if let Some(moved) = gathered((self, Chooser(index), source))? {
            return moved
                .0
                .scatter_reduce(dim, &moved.1, &moved.2, reduction, include_self);
        }
        let call = Call::begin(&SCATTER_REDUCE, &[self, source])?;
        let dtype = reduction.result(op, call.result)?;
        let (x, index, source) = fit(op, self, dim, index, source)?;
        let axis = normalize_axis(op, dim, x.rank())?;
        let indices = Indices::new(op, &index, axis, x.shape()[axis], Negative::FromEnd)?;
        let places = indices.layout.clone();
        let target = Target::new(op, &x.detach(), dtype, axis, &indices, places)?;
        let mut result = reduced(target, &source.detach(), reduction, include_self)?;
        if is_recorded(&[&x, &source]) {
            let scattered = Scattered { op, dim, index };
            result = scattered.remember_reduced(result, &x, &source, reduction, include_self)?;
        }
        result.in_shape(self.shape())
    }

    /// The tensor with elements replaced, or added to, at indices into the flattened tensor. The
    /// source has as many elements as the index.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 2), DType::I32)?;
    /// let y = x.put(&Tensor::new([3_i64])?, &Tensor::new([5])?, false)?;
    /// assert_eq!(y, Tensor::new([[0, 0], [0, 5]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn put(&self, index: &Self, source: &Self, accumulate: bool) -> Result<Self, Error> {
        let op = PUT.name;
        if let Some(moved) = gathered((self, Chooser(index), source))? {
            return moved.0.put(&moved.1, &moved.2, accumulate);
        }
        let dtype = Call::begin(&PUT, &[self, source])?.result;
        if source.count() != index.count() {
            let accepted = format!("as many elements as the index has, {}", index.count());
            return Err(wrong_shape(op, "source", source.shape(), accepted));
        }
        let index = chooser_beside(index, self)?;
        self.put_flat(op, dtype, &index.ravel()?, &source.ravel()?, accumulate)
    }

    /// The tensor with the elements that a key of indices and masks means replaced by values, which
    /// are broadcast to them, or with the values added to them.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2, 3])?;
    /// let y = x.index_put(&[Tensor::new([0_i64, 0])?.into()], &Tensor::new([10, 20])?, true)?;
    /// assert_eq!(y, Tensor::new([31, 2, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`index`](Self::index) for the key, as [`scatter`](Self::scatter) for the values.
    pub fn index_put<'a>(
        &self,
        key: &[Index],
        values: impl Into<Operand<'a>>,
        accumulate: bool,
    ) -> Result<Self, Error> {
        let (op, values) = (INDEX_PUT.name, values.into());
        if let Operand::Tensor(tensor) = values
            && let Some(moved) = gathered((self, tensor))?
        {
            return moved.0.index_put(key, &moved.1, accumulate);
        }
        let dtype = call::result_of(&INDEX_PUT, [self.into(), values])?;
        if !accumulate {
            let mut result = self.to(dtype)?;
            result
                .assign(key, values)
                .map_err(|error| error.in_op(op))?;
            return Ok(result);
        }
        let values = as_tensor(op, values, dtype, self)?;
        if is_recorded(&[self, &values]) {
            let sum = self.detach().index_put(key, &values.detach(), true)?;
            let key = key.to_vec();
            return sum.with_rule(op, &[self, &values], move |pass| {
                let gradient = pass.gradient()?;
                let for_values = pass.give(1, || gradient.index(&key))?;
                Ok(smallvec![Some(gradient), for_values])
            });
        }
        let selection = self.row_major().select_by(key);
        let selection = selection.map_err(|error| error.in_op(op))?;
        if selection.arrays.is_empty() {
            drop(selection);
            let sum = self.index(key)?.to(dtype)?.add(&values)?;
            return self.index_put(key, &sum, false);
        }
        // Truth values are combined as such.
        let compute = match dtype {
            DType::Bool => DType::Bool,
            dtype => compute_dtype(dtype),
        };
        let mut sum = self.to(dtype)?.to(compute)?;
        sum.combine(op, compute, Combine::Add, selection, &values.to(compute)?)
            .map_err(|error| error.in_op(op))?;
        sum.to(dtype)
    }

    fn put_flat(
        &self,
        op: &'static str,
        dtype: DType,
        index: &Self,
        source: &Self,
        accumulate: bool,
    ) -> Result<Self, Error> {
        let how = if accumulate {
            Combine::Add
        } else {
            Combine::Replace
        };
        let flat = put_along(op, dtype, &self.ravel()?, 0, index, source, how)?;
        flat.in_shape(self.shape())
    }
}

/// Zeros of a shape with the elements of a source, of the shape of an index, added along a dimension.
pub(crate) fn sum_elements(
    op: &'static str,
    shape: &Shape,
    dim: isize,
    index: &Tensor,
    source: &Tensor,
) -> Result<Tensor, Error> {
    let dtype = source.dtype();
    let zeros = source.new_zeros(shape, accumulator(dtype))?;
    let axis = normalize_axis(op, dim, zeros.rank())?;
    let indices = Indices::new(op, index, axis, shape[axis], Negative::FromEnd)?;
    let places = indices.layout.clone();
    let mut target = Target::new(op, &zeros, accumulator(dtype), axis, &indices, places)?;
    // The memory is then nobody else's, and written in place.
    drop(zeros);
    target.combine(Combine::Add, &source.detach())?;
    let index = index.clone();
    let sums = target.finish()?.to(dtype)?;
    sums.with_rule(op, &[source], move |pass| {
        Ok(smallvec![Some(pass.gradient()?.gather(dim, &index)?)])
    })
}

/// The tensor with a source that fits an index put into it along a dimension.
fn put_along(
    op: &'static str,
    dtype: DType,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    source: &Tensor,
    how: Combine,
) -> Result<Tensor, Error> {
    let axis = normalize_axis(op, dim, x.rank())?;
    let indices = Indices::new(op, index, axis, x.shape()[axis], Negative::FromEnd)?;
    let places = indices.layout.clone();
    let mut target = Target::new(op, &x.detach(), dtype, axis, &indices, places)?;
    target.combine(how, &source.detach())?;
    let result = target.finish()?;
    if !is_recorded(&[x, source]) {
        return Ok(result.inherit(&[x, source]));
    }
    let index = index.clone();
    let scattered = Scattered { op, dim, index };
    let reduction = match how {
        Combine::Replace => return scattered.remember_replaced(result, x, source),
        Combine::Add => IndexReduction::Sum,
        Combine::Multiply => IndexReduction::Prod,
        Combine::Max => IndexReduction::Amax,
        Combine::Min => IndexReduction::Amin,
    };
    scattered.remember_reduced(result, x, source, reduction, true)
}

/// The target with a source reduced into it.
pub(super) fn reduced(
    mut target: Target<'_>,
    source: &Tensor,
    reduction: IndexReduction,
    include_self: bool,
) -> Result<Tensor, Error> {
    let how = reduction.combine();
    if !include_self {
        target.forget(how)?;
    }
    target.combine(how, source)?;
    match reduction {
        IndexReduction::Mean => target.finish_mean(include_self),
        _ => target.finish(),
    }
}

/// Tensor, index and source with at least one dimension, the source cut to the shape of the index.
fn fit(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    source: &Tensor,
) -> Result<(Tensor, Tensor, Tensor), Error> {
    let index = chooser_beside(index, x)?;
    let (x, index) = (x.at_least_one_dim()?, index.at_least_one_dim()?);
    let dim = normalize_axis(op, dim, x.rank())?;
    if index.count() == 0 {
        // No index, no element: what shape the index has concerns nobody else.
        let none = vec![0; x.rank()];
        let source = source.ravel()?.narrow(0, 0, 0)?.reshape(&none)?;
        let index = index.to(DType::I64)?.reshape(&none)?;
        return Ok((x, index, source));
    }
    check_fits(op, &index, x.shape(), dim)?;
    if source.rank() == 0 {
        let source = source.expand(index.shape())?;
        return Ok((x, index, source));
    }
    let mut cut = source.clone();
    let fits = source.rank() == index.rank()
        && source
            .shape()
            .iter()
            .zip(&index.shape()[..])
            .all(|(a, b)| a >= b);
    if !fits {
        let accepted = format!("sizes of at least those of the index, {}", index.shape());
        return Err(wrong_shape(op, "source", source.shape(), accepted));
    }
    for (dim, size) in index.shape().iter().enumerate() {
        cut = cut.narrow(dim as isize, 0, *size)?;
    }
    Ok((x, index, cut))
}
