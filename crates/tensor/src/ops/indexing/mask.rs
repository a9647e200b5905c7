//! `masked_fill`, `masked_select`, `masked_scatter`, `nonzero`, `argwhere`: elements where something
//! is true.

use std::borrow::Cow;

use allotrope_dtype::{DType, Error, Scalar, Set};
use allotrope_op::structured::indexing::{
    ARGWHERE, MASKED_FILL, MASKED_SCATTER, MASKED_SELECT, NONZERO,
};
use allotrope_op::task::values::Refusal;
use allotrope_op::{Op, Shape};
use smallvec::smallvec;

use super::super::operands::{out_of_range, refuse};
use super::super::scan::scan_lines;
use super::{chooser_beside, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::common_backend;
use crate::elementwise::{Operand, record};
use crate::reduce::reading;
use crate::transfer::{Chooser, gathered};

/// What `masked_scatter` counts, and how far it may go.
const SELECTED: &str = "number of selected elements";
const IN_SOURCE: &str = "as many as the source has";

impl Tensor {
    /// The tensor with a value where a mask is true; both are broadcast. The dtype is that of
    /// promotion.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, -2.0])?;
    /// assert_eq!(x.masked_fill(&x.lt(0)?, 0.0)?, Tensor::new([1.0, 0.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the mask is bool or where promotion refuses, a value error for shapes
    /// that do not broadcast or a value of more than one element, an overflow error for a number
    /// that the dtype cannot hold, a memory error.
    pub fn masked_fill<'a>(
        &'a self,
        mask: &'a Self,
        value: impl Into<Operand<'a>>,
    ) -> Result<Self, Error> {
        let (op, value) = (MASKED_FILL.name, value.into());
        if let Some(moved) = gathered((self, Chooser(mask)))? {
            return moved.0.masked_fill(&moved.1, value);
        }
        Call::begin(&MASKED_FILL, &[self])?;
        let mask = &*check_mask(op, mask, self)?;
        if let Operand::Tensor(tensor) = value
            && tensor.rank() > 0
        {
            let accepted = "a number or a tensor without dimensions";
            return Err(wrong_shape(op, "value", tensor.shape(), accepted));
        }
        let operands = [mask.into(), value, self.into()];
        let filled = record(Op::Where, &operands).map_err(|error| error.in_op(op))?;
        if let Operand::Scalar(number) = value {
            Scalar::assigned(number, filled.dtype()).map_err(|error| error.in_op(op))?;
        }
        Ok(filled)
    }

    /// The elements where a mask is true, as a vector in row-major order; both are broadcast.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 4, 1, DType::I32)?;
    /// let odd = x.bitwise_and(1)?.to(DType::Bool)?;
    /// assert_eq!(x.masked_select(&odd)?.to_vec::<i32>()?, [1, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the mask is bool, a value error for shapes that do not broadcast, a
    /// memory error.
    pub fn masked_select(&self, mask: &Self) -> Result<Self, Error> {
        let op = MASKED_SELECT.name;
        if let Some(moved) = gathered((self, Chooser(mask)))? {
            return moved.0.masked_select(&moved.1);
        }
        Call::begin(&MASKED_SELECT, &[self])?;
        let mask = &*check_mask(op, mask, self)?;
        if is_recorded(&[self]) {
            let selected = self.detach().masked_select(mask)?;
            let (shape, mask) = (self.shape().clone(), mask.clone());
            return selected.with_rule(op, &[self], move |pass| {
                let gradient = pass.gradient()?;
                let zeros = gradient.new_full(&[], false, gradient.dtype())?;
                let zeros = zeros.expand(&shape)?;
                Ok(smallvec![Some(zeros.masked_scatter(&mask, &gradient)?)])
            });
        }
        let shape = Shape::broadcast(op, &[self.shape(), mask.shape()])?;
        let (x, mask) = (
            self.expand(&shape)?.contiguous()?,
            mask.expand(&shape)?.settled()?,
        );
        let backend = common_backend(op, &[&x, &mask])?;
        let (memory, count) = backend.compress(op, x.dtype(), x.view_of(), mask.view_of())?;
        let shape = Shape::new(op, &[count])?;
        Ok(Self::from_memory_of(memory, shape, x.dtype()))
    }

    /// The tensor with elements of a source, one after the other in row-major order, where a mask is
    /// true; tensor and mask are broadcast. The dtype is that of promotion.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, mask) = (Tensor::new([1, 2, 3])?, Tensor::new([true, false, true])?);
    /// assert_eq!(x.masked_scatter(&mask, &Tensor::new([8, 9])?)?, Tensor::new([8, 2, 9])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the mask is bool or where promotion refuses, a value error for shapes
    /// that do not broadcast or a source with fewer elements than the mask selects, a memory error.
    pub fn masked_scatter(&self, mask: &Self, source: &Self) -> Result<Self, Error> {
        let op = MASKED_SCATTER.name;
        if let Some(moved) = gathered((self, Chooser(mask), source))? {
            return moved.0.masked_scatter(&moved.1, &moved.2);
        }
        let dtype = Call::begin(&MASKED_SCATTER, &[self, source])?.result;
        let mask = &*check_mask(op, mask, self)?;
        if is_recorded(&[self, source]) {
            let put = self.detach().masked_scatter(mask, &source.detach())?;
            let (mask, sizes) = (mask.clone(), source.shape().clone());
            return put.with_rule(op, &[self, source], move |pass| {
                let gradient = pass.gradient()?;
                let for_rest = pass.give(0, || gradient.masked_fill(&mask, false))?;
                let for_source = pass.give(1, || {
                    let used = gradient.masked_select(&mask)?;
                    used.placed_along(0, 0, sizes.count())?.in_shape(&sizes)
                })?;
                Ok(smallvec![for_rest, for_source])
            });
        }
        let shape = Shape::broadcast(op, &[self.shape(), mask.shape()])?;
        let mask = mask.expand(&shape)?.settled()?;
        let backend = common_backend(op, &[self, source, &mask])?;
        if self.host_address().is_none() && source.count().min(mask.count()) > 0 {
            return self.taking(op, &mask, source, dtype);
        }
        let count = mask.true_count(op)?;
        if source.count() < count {
            return Err(out_of_range(op, SELECTED, count, IN_SOURCE));
        }
        let used = source.ravel()?.narrow(0, 0, count)?;
        let used = used.to(dtype)?.contiguous()?;
        let mut result = self.expand(&shape)?;
        result.rewrite(op, dtype, |target| {
            backend.expand(op, dtype, used.view_of(), mask.view_of(), target)
        })?;
        Ok(result)
    }

    /// [`masked_scatter`](Self::masked_scatter) in a dtype on a device, where nobody waits for how many
    /// elements the mask selects; it has the shape of the result, and the source elements.
    fn taking(
        &self,
        op: &'static str,
        mask: &Self,
        source: &Self,
        dtype: DType,
    ) -> Result<Self, Error> {
        let selected = mask.ravel()?;
        let program = reading(DType::Bool, DType::I64, DType::I64);
        let counts = scan_lines(op, &program, &[&selected], 0, DType::I64)?;
        let most = source.count() as i64;
        let count = counts.amax(None, false)?;
        let refusal = Refusal {
            what: SELECTED,
            value: None,
            first: None,
            accepted: IN_SOURCE,
        };
        refuse(op, refusal, &count.gt(most)?, Some(&count))?;
        let places = counts.sub(1)?.clamp(0, most - 1)?;
        let taken = source.ravel()?.select_known(op, 0, &places)?.to(dtype)?;
        let taken = taken.reshape_as(mask)?;
        mask.where_(&taken, &self.expand(mask.shape())?.to(dtype)?)
    }

    /// How many elements of a mask are true.
    pub(crate) fn true_count(&self, op: &'static str) -> Result<usize, Error> {
        let count = self.count_nonzero(None, false)?;
        let count: i64 = bytemuck::pod_read_unaligned(&count.read(op)?);
        Ok(count as usize)
    }

    /// For each dimension, the indices of the elements that are not zero, in row-major order; a
    /// tensor without dimensions counts as one with one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let places = Tensor::new([[0, 7], [8, 0]])?.nonzero()?;
    /// assert_eq!(places, [Tensor::new([0_i64, 1])?, Tensor::new([1_i64, 0])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn nonzero(&self) -> Result<Vec<Self>, Error> {
        Call::begin(&NONZERO, &[self])?;
        self.true_places()
    }

    /// [`nonzero`](Self::nonzero) inside of another operation.
    pub(crate) fn true_places(&self) -> Result<Vec<Self>, Error> {
        let x = self.at_least_one_dim()?;
        let found = x.coordinates(NONZERO.name)?;
        if x.rank() == 1 {
            return Ok(vec![found.select(1, 0)?]);
        }
        (0..x.rank())
            .map(|dim| found.select(1, dim as isize))
            .collect()
    }

    /// The indices of the elements that are not zero, a row for each in row-major order, with a
    /// column per dimension.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::eye(2, 2, DType::BF16)?;
    /// assert_eq!(x.argwhere()?.to_vec::<i64>()?, [0, 0, 1, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn argwhere(&self) -> Result<Self, Error> {
        Call::begin(&ARGWHERE, &[self])?;
        self.coordinates(ARGWHERE.name)
    }

    fn coordinates(&self, op: &'static str) -> Result<Self, Error> {
        let truth = self.to(DType::Bool)?.settled()?;
        let (memory, count) = truth.backend().coordinates(op, truth.view_of())?;
        let shape = Shape::new(op, &[count, self.rank()])?;
        Ok(Self::from_memory_of(memory, shape, DType::I64))
    }
}

/// A mask beside a tensor; those of numbers are refused.
fn check_mask<'a>(
    op: &'static str,
    mask: &'a Tensor,
    x: &Tensor,
) -> Result<Cow<'a, Tensor>, Error> {
    if mask.dtype() == DType::Bool {
        chooser_beside(mask, x)
    } else {
        let hint = Some("mask.to(bool), or index_put for indices");
        Err(Error::not_in_set(op, mask.dtype(), Set::Bool, hint))
    }
}
