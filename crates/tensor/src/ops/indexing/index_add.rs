//! `index_add` and its kin: slices written, added, … along a dimension at the indices of a vector,
//! by the rules of `put`.

use allotrope_dtype::{DType, Error, WeakScalar};
use allotrope_op::Combine;
use allotrope_op::structured::indexing::{INDEX_ADD, INDEX_COPY, INDEX_FILL, INDEX_REDUCE};
use allotrope_op::{Layout, Shape, normalize_axis};
use smallvec::smallvec;

use super::scatter::{IndexReduction, reduced};
use super::scatter_core::{Target, accumulator};
use super::scatter_gradient::Scattered;
use super::{Indices, Negative, as_tensor, chooser_beside, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::elementwise::Operand;
use crate::transfer::{Chooser, gathered};

impl Tensor {
    /// The tensor with `alpha` times the slices of a source added along a dimension at the indices
    /// of a vector.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let index = Tensor::from_slice(&[0_u8, 2, 0], &[3])?;
    /// let ones = Tensor::ones(&[3], DType::I16)?;
    /// let x = Tensor::zeros(&[3], DType::I16)?.index_add(0, &index, &ones, 2)?;
    /// assert_eq!(x.to_vec::<i16>()?, [4, 0, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn index_add(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        let (op, alpha) = (INDEX_ADD.name, alpha.into());
        if let Some(moved) = gathered((self, Chooser(index), source))? {
            return moved.0.index_add(dim, &moved.1, &moved.2, alpha);
        }
        // One is no operand: a sum of truth values stays one.
        let is_one = alpha == WeakScalar::Int(1);
        let mut operands: Vec<Operand<'_>> = vec![self.into(), source.into()];
        if !is_one {
            operands.push(alpha.into());
        }
        let dtype = call::result_of(&INDEX_ADD, operands)?;
        if is_recorded(&[self, source]) {
            let sum = self
                .detach()
                .index_add(dim, index, &source.detach(), alpha)?;
            let index = index.clone();
            let is_single = source.rank() == 0;
            return sum.with_rule(op, &[self, source], move |pass| {
                let gradient = pass.gradient()?;
                let for_source = pass.give(1, || {
                    let slices = gradient.at_least_one_dim()?.index_select(dim, &index)?;
                    let slices = if is_single {
                        slices.squeeze(None)?
                    } else {
                        slices
                    };
                    match alpha {
                        _ if is_one => Ok(slices),
                        WeakScalar::Complex(alpha) => slices.mul(WeakScalar::Complex(alpha.conj())),
                        alpha => slices.mul(alpha),
                    }
                })?;
                Ok(smallvec![Some(gradient), for_source])
            });
        }
        self.along(op, dtype, dim, index, source, |target, source| {
            if is_one {
                target.combine(Combine::Add, source)?;
            } else {
                target.add_scaled(source, alpha)?;
            }
            Ok(())
        })
    }

    /// The tensor with slices replaced along a dimension at the indices of a vector.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros(3, DType::I32)?;
    /// let y = x.index_copy(0, &Tensor::new([2_i64, 0])?, &Tensor::new([5, 6])?)?;
    /// assert_eq!(y, Tensor::new([6, 0, 5])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    pub fn index_copy(&self, dim: isize, index: &Self, source: &Self) -> Result<Self, Error> {
        let op = INDEX_COPY.name;
        if let Some(moved) = gathered((self, Chooser(index), source))? {
            return moved.0.index_copy(dim, &moved.1, &moved.2);
        }
        let dtype = Call::begin(&INDEX_COPY, &[self, source])?.result;
        if is_recorded(&[self, source]) {
            let copied = self.detach().index_copy(dim, index, &source.detach())?;
            let (x, source) = (self.at_least_one_dim()?, source.at_least_one_dim()?);
            let dim = normalize_axis(op, dim, x.rank())?;
            let index = chooser_beside(index, &x)?;
            let places = Scattered::slices(op, dim, &index, source.shape())?;
            let copied = copied.in_shape(x.shape())?;
            let copied = places.remember_replaced(copied, &x, &source)?;
            return copied.in_shape(self.shape());
        }
        self.along(op, dtype, dim, index, source, |target, source| {
            target.combine(Combine::Replace, source)
        })
    }

    /// The tensor with slices along a dimension at the indices of a vector filled with one value.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2, 3])?.index_fill(0, &Tensor::new([0_i64, 2])?, 9)?;
    /// assert_eq!(x, Tensor::new([9, 2, 9])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter); a value error for a value of more than one element.
    pub fn index_fill<'a>(
        &self,
        dim: isize,
        index: &Self,
        value: impl Into<Operand<'a>>,
    ) -> Result<Self, Error> {
        let (op, value) = (INDEX_FILL.name, value.into());
        let dtype = call::result_of(&INDEX_FILL, [self.into(), value])?;
        let value = as_tensor(op, value, dtype, self)?;
        if value.rank() > 0 {
            let accepted = "a number or a tensor without dimensions";
            return Err(wrong_shape(op, "value", value.shape(), accepted));
        }
        if is_recorded(&[self, &value]) {
            let filled = self.detach().index_fill(dim, index, &value.detach())?;
            let index = index.clone();
            return filled.with_rule(op, &[self, &value], move |pass| {
                let gradient = pass.gradient()?;
                let rest = gradient.index_fill(dim, &index, false)?;
                let for_value = pass.give(1, || gradient.sub(&rest)?.sum(None, false, None))?;
                Ok(smallvec![Some(rest), for_value])
            });
        }
        let x = self.at_least_one_dim()?;
        let place = normalize_axis(op, dim, x.rank())?;
        let mut sizes = x.shape().to_vec();
        sizes[place] = index.count();
        self.along(
            op,
            dtype,
            dim,
            index,
            &value.expand(&sizes)?,
            |target, value| target.combine(Combine::Replace, value),
        )
    }

    /// The tensor with slices reduced into it along a dimension at the indices of a vector; unless
    /// `include_self`, the elements that others are reduced into do not count.
    ///
    /// ```
    /// use allotrope_tensor::{IndexReduction, Tensor};
    /// let (x, index) = (Tensor::new([1, 2])?, Tensor::new([0_i64, 0])?);
    /// let y = x.index_reduce(0, &index, &Tensor::new([3, 4])?, IndexReduction::Prod, true)?;
    /// assert_eq!(y, Tensor::new([12, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`scatter_reduce`](Self::scatter_reduce).
    pub fn index_reduce(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        reduction: IndexReduction,
        include_self: bool,
    ) -> Result<Self, Error> {
        let op = INDEX_REDUCE.name;
        if let Some(moved) = gathered((self, Chooser(index), source))? {
            return moved
                .0
                .index_reduce(dim, &moved.1, &moved.2, reduction, include_self);
        }
        let call = Call::begin(&INDEX_REDUCE, &[self, source])?;
        let dtype = reduction.result(op, call.result)?;
        let (x, source) = (self.at_least_one_dim()?, source.at_least_one_dim()?);
        let (dim, indices, places) = slices(op, &x, dim, index, &source)?;
        let target = Target::new(op, &x.detach(), dtype, dim, &indices, places)?;
        let mut result = reduced(target, &source.detach(), reduction, include_self)?;
        if is_recorded(&[&x, &source]) {
            let index = chooser_beside(index, &x)?;
            let places = Scattered::slices(op, dim, &index, source.shape())?;
            result = places.remember_reduced(result, &x, &source, reduction, include_self)?;
        }
        result.in_shape(self.shape())
    }

    /// Slices of a source put along a dimension at the indices of a vector.
    fn along(
        &self,
        op: &'static str,
        dtype: DType,
        dim: isize,
        index: &Self,
        source: &Self,
        put: impl FnOnce(&mut Target<'_>, &Self) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (x, source) = (self.at_least_one_dim()?, source.at_least_one_dim()?);
        let (dim, indices, places) = slices(op, &x, dim, index, &source)?;
        let mut target = Target::new(op, &x, dtype, dim, &indices, places)?;
        put(&mut target, &source)?;
        target.finish()?.in_shape(self.shape())
    }
}

/// Zeros of a shape with the slices of a source added along a dimension at the indices of a vector.
pub(crate) fn sum_slices(
    op: &'static str,
    shape: &Shape,
    dim: usize,
    index: &Tensor,
    source: &Tensor,
) -> Result<Tensor, Error> {
    let dtype = source.dtype();
    let zeros = source.new_zeros(shape, accumulator(dtype))?;
    let (dim, indices, places) = slices(op, &zeros, dim as isize, index, source)?;
    let mut target = Target::new(op, &zeros, accumulator(dtype), dim, &indices, places)?;
    // The memory is then nobody else's, and written in place.
    drop(zeros);
    target.combine(Combine::Add, &source.detach())?;
    let index = index.clone();
    let sums = target.finish()?.to(dtype)?;
    sums.with_rule(op, &[source], move |pass| {
        let slices = pass.gradient()?.index_select(dim as isize, &index)?;
        Ok(smallvec![Some(slices)])
    })
}

/// The dimension, its indices, and which of them each element of a source of slices has.
fn slices(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    source: &Tensor,
) -> Result<(usize, Indices, Layout), Error> {
    let dim = normalize_axis(op, dim, x.rank())?;
    if index.rank() > 1 {
        return Err(wrong_shape(op, "index", index.shape(), "a vector"));
    }
    let index = chooser_beside(index, x)?.at_least_one_dim()?;
    let indices = Indices::new(op, &index, dim, x.shape()[dim], Negative::FromEnd)?;
    let (before, after) = (&x.shape()[..dim], &x.shape()[dim + 1..]);
    let places = indices.layout_between(op, before, after)?;
    if source.shape() != places.shape() {
        let accepted = places.shape().to_string();
        return Err(wrong_shape(op, "source", source.shape(), accepted));
    }
    Ok((dim, indices, places))
}
