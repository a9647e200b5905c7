//! Gradients of `scatter` and its kin: gathered from where elements were put.

use allotrope_dtype::{DType, Error, GradientProblem};
use allotrope_op::{Shape, compute_dtype};
use smallvec::smallvec;

use super::super::operands::{conjugate, is_any};
use super::scatter::IndexReduction;
use crate::Tensor;
use crate::autograd::is_grad_enabled;

/// Where elements of a source were put: along a dimension, an index for each.
#[derive(Clone)]
pub(super) struct Scattered {
    pub(super) op: &'static str,
    pub(super) dim: isize,
    pub(super) index: Tensor,
}

impl Scattered {
    /// Slices that were put at the indices of a vector, in a source of a shape.
    pub(super) fn slices(
        op: &'static str,
        dim: usize,
        index: &Tensor,
        shape: &Shape,
    ) -> Result<Self, Error> {
        let mut sizes = vec![1; shape.rank()];
        sizes[dim] = -1;
        let index = index.reshape(&sizes)?.expand(shape)?;
        let dim = dim as isize;
        Ok(Self { op, dim, index })
    }

    /// The elements at the places of the source.
    fn at(&self, x: &Tensor) -> Result<Tensor, Error> {
        x.gather(self.dim, &self.index)
    }

    /// Zeros at the places of the source.
    fn cleared(&self, x: &Tensor) -> Result<Tensor, Error> {
        x.scatter(self.dim, &self.index, false)
    }

    /// Which elements of the source are still there: the last of those with one place.
    fn last(&self, shape: &Shape) -> Result<Tensor, Error> {
        let count = self.index.count() as i64;
        let numbers = self.index.new_arange(0, count, 1, DType::I64)?;
        let numbers = numbers.reshape_as(&self.index)?;
        let zeros = self.index.new_zeros(shape, DType::I64)?;
        let put = zeros.scatter(self.dim, &self.index, &numbers)?;
        self.at(&put)?.eq(&numbers)
    }

    /// The rule of elements that took the place of others.
    pub(super) fn remember_replaced(
        self,
        result: Tensor,
        x: &Tensor,
        source: &Tensor,
    ) -> Result<Tensor, Error> {
        result.with_rule(self.op, &[x, source], move |pass| {
            let gradient = pass.gradient()?;
            let for_rest = pass.give(0, || self.cleared(&gradient))?;
            let for_source = pass.give(1, || {
                let last = self.last(gradient.shape())?;
                self.at(&gradient)?.masked_fill(&last.logical_not()?, false)
            })?;
            Ok(smallvec![for_rest, for_source])
        })
    }

    /// The rule of elements that were reduced into those there, or into nothing.
    pub(super) fn remember_reduced(
        self,
        result: Tensor,
        x: &Tensor,
        source: &Tensor,
        reduction: IndexReduction,
        include_self: bool,
    ) -> Result<Tensor, Error> {
        let dtype = result.dtype();
        let values = match reduction {
            IndexReduction::Sum | IndexReduction::Mean => None,
            _ => Some((x.clone(), source.clone())),
        };
        let found = match reduction {
            IndexReduction::Amax | IndexReduction::Amin => Some(result.detach()),
            _ => None,
        };
        result.with_rule(self.op, &[x, source], move |pass| {
            let gradient = pass.gradient()?;
            let gradient = gradient.to(compute_dtype(gradient.dtype()))?;
            let (for_own, for_source) = match (&values, &found) {
                (Some((x, source)), Some(found)) => {
                    let own = x.to(dtype)?.eq(found)?;
                    let put = source.to(dtype)?.eq(&self.at(found)?)?;
                    let (own, put) = self.shared(&gradient, &own, &put, include_self)?;
                    (own, Some(put))
                }
                (Some((x, source)), None) => {
                    let wide = |x: &Tensor| x.to(dtype)?.to(gradient.dtype());
                    let (x, source) = (wide(x)?, wide(source)?);
                    let (own, put) = self.products(&gradient, &x, &source, include_self)?;
                    (own, Some(put))
                }
                _ if reduction == IndexReduction::Mean => {
                    let own = gradient.new_full(&[], include_self, DType::Bool)?;
                    let counts = self.counts(&own.expand(gradient.shape())?, None)?;
                    let share = gradient.div(&counts.to(gradient.dtype())?)?;
                    (share.clone(), pass.give(1, || self.at(&share))?)
                }
                _ => (gradient.clone(), pass.give(1, || self.at(&gradient))?),
            };
            let for_own = pass.give(0, || {
                if include_self {
                    Ok(for_own)
                } else {
                    self.cleared(&gradient)
                }
            })?;
            Ok(smallvec![for_own, for_source])
        })
    }

    /// How many elements count for each place, or how many that a mask names; at least one.
    fn counts(&self, own: &Tensor, put: Option<&Tensor>) -> Result<Tensor, Error> {
        let put = match put {
            Some(put) => put.to(DType::I64)?,
            None => {
                let one = own.new_full(&[], 1, DType::I64)?;
                one.expand(self.index.shape())?
            }
        };
        let own = own.to(DType::I64)?;
        own.scatter_add(self.dim, &self.index, &put)?.maximum(1)
    }

    /// The gradient in equal parts for all that are the extreme.
    fn shared(
        &self,
        gradient: &Tensor,
        own: &Tensor,
        put: &Tensor,
        include_self: bool,
    ) -> Result<(Tensor, Tensor), Error> {
        let own = if include_self {
            own.clone()
        } else {
            own.zeros_like()?
        };
        let counts = self.counts(&own, Some(put))?.to(gradient.dtype())?;
        let share = gradient.div(&counts)?;
        let for_source = self.at(&share)?.masked_fill(&put.logical_not()?, false)?;
        Ok((share.masked_fill(&own.logical_not()?, false)?, for_source))
    }

    /// The gradient times the product of the other factors, also where some are zero.
    fn products(
        &self,
        gradient: &Tensor,
        x: &Tensor,
        source: &Tensor,
        include_self: bool,
    ) -> Result<(Tensor, Tensor), Error> {
        let own = if include_self {
            x.clone()
        } else {
            x.scatter(self.dim, &self.index, true)?
        };
        let zeros = [own.eq(0)?, source.eq(0)?];
        let none = |x: &Tensor, zeros: &Tensor| x.masked_fill(zeros, true);
        let (own, source) = (none(&own, &zeros[0])?, none(source, &zeros[1])?);
        let zeros = [zeros[0].to(DType::I64)?, zeros[1].to(DType::I64)?];
        let count = zeros[0].scatter_add(self.dim, &self.index, &zeros[1])?;
        if is_grad_enabled() && is_any(&count)? {
            // The product of all others but two has no place in what is computed here.
            let through = Some(self.op);
            let problem = GradientProblem::NotRecorded { through };
            return Err(Error::new(self.op, problem.into()).hint("no second derivative at zeros"));
        }
        let reduction = IndexReduction::Prod;
        let product = own.scatter_reduce(self.dim, &self.index, &source, reduction, true)?;
        let others = |product: &Tensor, factor: &Tensor, count: &Tensor, zeros: &Tensor| {
            let others = conjugate(&product.div(factor)?)?;
            others.masked_fill(&count.ne(zeros)?, false)
        };
        let for_own = others(&product, &own, &count, &zeros[0])?.mul(gradient)?;
        let (product, count) = (self.at(&product)?, self.at(&count)?);
        let for_source = others(&product, &source, &count, &zeros[1])?;
        Ok((for_own, for_source.mul(&self.at(gradient)?)?))
    }
}
