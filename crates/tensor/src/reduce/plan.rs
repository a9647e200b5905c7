//! What a reduction folds: dimensions in the order of memory, and the rules of what was folded.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{
    Dims, Fold, Layout, Program, Shape, View, normalize_axes_or_none, sort_few_by_key,
};
use smallvec::smallvec;

use super::gradient::{extreme_gradient, product_gradient};
use super::reading;
use crate::Tensor;
use crate::autograd::{is_recorded, record_program};
use crate::device::common_backend;
use crate::elementwise::{evaluate, evaluate_one};
use crate::overflow::{self, Shadow};

/// What is reduced and what stays, in the order of memory.
pub(crate) struct Plan {
    op: &'static str,
    /// The dimensions outside the reduced ones, the reduced ones, those inside.
    order: Dims<isize>,
    sizes: [usize; 3],
    /// The dimensions that stay, in that order.
    pub(super) kept: Dims<usize>,
    pub(super) reduced: Dims<usize>,
}

impl Plan {
    /// The plan for a tensor; no axes mean all of them.
    pub(crate) fn new(
        op: &'static str,
        tensor: &Tensor,
        axes: Option<&[isize]>,
    ) -> Result<Self, Error> {
        let rank = tensor.rank();
        let reduced: Dims<usize> = match axes {
            None => (0..rank).collect(),
            Some(axes) => normalize_axes_or_none(op, axes, rank)?,
        };
        let strides = tensor.layout().strides();
        let mut by_stride: Dims<usize> = (0..rank).collect();
        sort_few_by_key(&mut by_stride, |dim| {
            std::cmp::Reverse(strides[*dim].unsigned_abs())
        });
        let is_reduced = |dim: &usize| reduced.contains(dim);
        let last = by_stride.iter().rposition(is_reduced).unwrap_or(0);
        let (before, inner) = by_stride.split_at((last + 1).min(rank));
        let outer = before.iter().filter(|dim| !is_reduced(dim));
        let middle = before.iter().filter(|dim| is_reduced(dim));
        let size = |dims: &mut dyn Iterator<Item = &usize>| -> usize {
            dims.map(|dim| tensor.shape()[*dim]).product()
        };
        let inner: Dims<usize> = if reduced.is_empty() {
            Dims::new()
        } else {
            inner.into()
        };
        let outer: Dims<usize> = if reduced.is_empty() {
            by_stride.clone()
        } else {
            outer.copied().collect()
        };
        let middle: Dims<usize> = if reduced.is_empty() {
            Dims::new()
        } else {
            middle.copied().collect()
        };
        let all = outer.iter().chain(&middle).chain(&inner);
        Ok(Self {
            op,
            order: all.map(|dim| *dim as isize).collect(),
            sizes: [
                size(&mut outer.iter()),
                size(&mut middle.iter()),
                size(&mut inner.iter()),
            ],
            kept: outer.iter().chain(&inner).copied().collect(),
            reduced,
        })
    }

    /// How many elements become one.
    pub(crate) fn count(&self) -> usize {
        self.sizes[1]
    }

    /// [`fold`](Self::fold), rounded once to a dtype.
    pub(crate) fn fold_to(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        inputs: &[&Tensor],
        shape: &Shape,
        to: DType,
    ) -> Result<Tensor, Error> {
        if is_recorded(inputs) {
            return self.fold(op, fold, program, inputs, shape)?.to(to);
        }
        let folded = self.folded(op, fold, program, inputs, shape, Some(to))?;
        Ok(folded.inherit(inputs))
    }

    /// What a program makes of inputs, folded; sums are not rounded from what they are formed in. The dimensions that stay keep their order, and
    /// reduced ones stay with size one. The inputs have the tensor's shape or broadcast to it.
    pub(crate) fn fold(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        inputs: &[&Tensor],
        shape: &Shape,
    ) -> Result<Tensor, Error> {
        if !is_recorded(inputs) {
            let folded = self.folded(op, fold, program, inputs, shape, None)?;
            return Ok(folded.inherit(inputs));
        }
        if fold == Fold::Sum {
            let sums = self.folded(op, fold, program, inputs, shape, None)?;
            let spare = sums.clone();
            let sums = record_program(op, program, inputs, smallvec![sums], shape)?;
            return Ok(sums.into_iter().next().unwrap_or(spare));
        }
        // The others ask for the items themselves when gradients come back.
        let items = evaluate(op, program, inputs)?.remove(0).expand(shape)?;
        let plain = reading(items.dtype(), items.dtype(), items.dtype());
        let result = self.folded(op, fold, &plain, &[&items], shape, None)?;
        self.with_fold_rule(op, fold, items, result)
    }

    /// The rule of a product or an extreme.
    fn with_fold_rule(
        &self,
        op: &'static str,
        fold: Fold,
        items: Tensor,
        result: Tensor,
    ) -> Result<Tensor, Error> {
        let axes: Vec<isize> = self.reduced.iter().map(|dim| *dim as isize).collect();
        let (saved, input) = (result.detach(), items.clone());
        result.with_rule(op, &[&input], move |pass| {
            let gradient = pass.gradient()?;
            Ok(smallvec![Some(match fold {
                Fold::Prod => product_gradient(&items, &axes, &gradient)?,
                _ => extreme_gradient(&items, &saved, &axes, &gradient)?,
            })])
        })
    }

    /// [`fold`](Self::fold), not recorded, in a dtype or unrounded, by the policy of overflow.
    fn folded(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        inputs: &[&Tensor],
        shape: &Shape,
        to: Option<DType>,
    ) -> Result<Tensor, Error> {
        if !overflow::is_watched() || matches!(fold, Fold::Max | Fold::Min) {
            return self.unwatched(op, fold, program, inputs, shape, to);
        }
        let result = if overflow::narrows(program) {
            let items = evaluate_one(op, program, inputs)?.expand(shape)?;
            let plain = reading(items.dtype(), items.dtype(), items.dtype());
            self.watched(op, fold, &plain, &[&items], shape)?
        } else {
            self.watched(op, fold, program, inputs, shape)?
        };
        let Some(to) = to else {
            return Ok(result);
        };
        // As the user sees its indices.
        // bounded: one for each dimension.
        let sizes: Vec<isize> = result.shape().iter().map(|size| *size as isize).collect();
        let seen = self.without_reduced(&result)?;
        seen.to_in(op, to)?.reshape(&sizes)
    }

    /// The fold of a program that converts nothing to a dtype that does not hold it.
    fn watched(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        inputs: &[&Tensor],
        shape: &Shape,
    ) -> Result<Tensor, Error> {
        let result = self.unwatched(op, fold, program, inputs, shape, None)?;
        let item = program.output_dtypes().next().unwrap_or(DType::Bool);
        if item.is_integer() {
            let copies = inputs.iter().map(|tensor| tensor.on_cpu(op));
            // bounded: one per operand.
            let copies = copies.collect::<Result<Vec<_>, Error>>()?;
            // bounded: one per operand.
            let copies: Vec<&Tensor> = copies.iter().collect();
            let wide = overflow::in_float64(program);
            let truth = self.unwatched(op, fold, &wide, &copies, shape, None)?;
            let shadow = Shadow {
                op,
                truth: &truth,
                bits: result.dtype().bits(),
                hidden: &self.reduced,
            };
            return shadow.settle(result);
        }
        let is_finite = {
            let _quiet = overflow::quiet();
            overflow::is_finite(op, &result)?
        };
        if is_finite {
            return Ok(result);
        }
        let mut finite: Option<Tensor> = None;
        for input in inputs {
            let program = overflow::finite_program(input.dtype());
            let lines = self.unwatched(op, Fold::Min, &program, &[*input], shape, None)?;
            finite = Some(match finite {
                Some(finite) => finite.logical_and(&lines)?,
                None => lines,
            });
        }
        overflow::settle_floats(op, result, finite.as_ref(), &self.reduced)
    }

    /// [`folded`](Self::folded) without a look at what is lost.
    fn unwatched(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        inputs: &[&Tensor],
        shape: &Shape,
        to: Option<DType>,
    ) -> Result<Tensor, Error> {
        let turned = |tensor: &&Tensor| -> Result<Layout, Error> {
            let layout = tensor.layout().broadcast_to(op, shape)?;
            layout.permute(op, &self.order)
        };
        let layouts = inputs
            .iter()
            .map(turned)
            // bounded: one per operand.
            .collect::<Result<Vec<Layout>, Error>>()?;
        let views = inputs.iter().zip(&layouts);
        let views: Vec<View<'_>> = views
            .map(|(tensor, layout)| tensor.seen_as(layout))
            .collect();
        let turned_sizes: Vec<usize> = self.order.iter().map(|d| shape[*d as usize]).collect();
        let turned_shape = Shape::new(op, &turned_sizes)?;
        let item = program.output_dtypes().next().unwrap_or(DType::Bool);
        let backend = common_backend(op, inputs)?;
        let to = to.unwrap_or_else(|| match fold {
            Fold::Sum => backend.wide(item),
            _ => item,
        });
        let sizes = self.sizes;
        let memory = backend.reduce(op, fold, program, &turned_shape, &views, sizes, to)?;
        let sizes: Vec<usize> = self.kept.iter().map(|dim| shape[*dim]).collect();
        let result = Tensor::from_memory_of(memory, Shape::new(op, &sizes)?, to);
        // From the order of memory to that of the dimensions.
        let mut places: Vec<isize> = (0..self.kept.len() as isize).collect();
        sort_few_by_key(&mut places, |place| self.kept[*place as usize]);
        let mut result = result.permute(&places)?;
        let mut reduced = self.reduced.clone();
        reduced.sort_unstable();
        for dim in reduced {
            result = result.unsqueeze(dim as isize)?;
        }
        Ok(result)
    }

    /// A result without the reduced dimensions.
    fn without_reduced(&self, result: &Tensor) -> Result<Tensor, Error> {
        let axes: Vec<isize> = self.reduced.iter().map(|dim| *dim as isize).collect();
        result.squeeze(Some(&axes))
    }

    /// The result without the reduced dimensions, unless they are to stay. What it was cast and
    /// viewed by is a part of the reduction.
    pub(crate) fn finish(&self, mut result: Tensor, keepdim: bool) -> Result<Tensor, Error> {
        if !keepdim {
            result = self.without_reduced(&result)?;
        }
        result.rename_history(self.op);
        Ok(result)
    }

    /// [`finish`](Self::finish) in a dtype.
    pub(crate) fn finish_in(
        &self,
        result: Tensor,
        keepdim: bool,
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let mut result = self.finish(result, keepdim)?.to_in(self.op, dtype)?;
        result.rename_history(self.op);
        Ok(result)
    }

    /// Refuses a reduction of nothing.
    pub(super) fn need_elements(&self, op: &'static str, tensor: &Tensor) -> Result<(), Error> {
        if self.count() == 0 {
            let shape = tensor.shape().to_vec();
            return Err(Error::new(op, Problem::NothingToReduce { shape }));
        }
        Ok(())
    }
}
