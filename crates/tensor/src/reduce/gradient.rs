//! The gradients of products and extremes; those of sums are programs.

use allotrope_dtype::{DType, Error};
use allotrope_op::Op;

use crate::Tensor;
use crate::ops::conjugate;

/// The gradient of a product: that of all other factors. Two zeros among them are kept apart, so
/// that this has a gradient in turn.
pub(super) fn product_gradient(
    items: &Tensor,
    axes: &[isize],
    gradient: &Tensor,
) -> Result<Tensor, Error> {
    let is_zero = items.detach().eq(0)?;
    let zeros = is_zero.sum(Some(axes), true, Some(DType::I64))?;
    let others = Tensor::apply(Op::Where, &[(&is_zero).into(), 1.into(), items.into()])?;
    let product = others.prod(Some(axes), true, None)?;
    let zero = Tensor::apply(Op::Where, &[(&is_zero).into(), items.into(), 0.into()])?;
    let sum = zero.sum(Some(axes), true, None)?;
    let pick = |condition: &Tensor, yes: &Tensor, no: &Tensor| {
        Tensor::apply(Op::Where, &[condition.into(), yes.into(), no.into()])
    };
    let nothing = items.new_zeros(&[], items.dtype())?;
    let (one, two) = (zeros.eq(1)?, zeros.eq(2)?);
    let at_zero = pick(
        &one,
        &product,
        &pick(&two, &sum.sub(&zero)?.mul(&product)?, &nothing)?,
    )?;
    let share = product.div(&others)?;
    let elsewhere = pick(
        &zeros.eq(0)?,
        &share,
        &pick(&one, &share.mul(&sum)?, &nothing)?,
    )?;
    let slope = pick(&is_zero, &at_zero, &elsewhere)?;
    conjugate(&slope)?.mul(gradient)
}

/// The gradient of an extreme, shared evenly by the items that are it.
pub(super) fn extreme_gradient(
    items: &Tensor,
    extreme: &Tensor,
    axes: &[isize],
    gradient: &Tensor,
) -> Result<Tensor, Error> {
    let items = items.detach();
    let found = items.eq(extreme)?.logical_or(&items.isnan()?)?;
    let shared = found.sum(Some(axes), true, Some(DType::I64))?;
    found
        .to(gradient.dtype())?
        .div(&shared.to(gradient.dtype())?)?
        .mul(gradient)
}
