//! The losses of single lines by their classes: the kernel of the device, or a composition.

use allotrope_dtype::{DType, Error};
use allotrope_op::Shape;
use allotrope_op::task::rowwise::{ClassLoss, ClassLossKind, Rowwise};
use allotrope_op::task::{Output, Task};
use smallvec::SmallVec;

use super::cross_entropy::Classes;
use crate::Tensor;
use crate::device::perform_here;
use crate::ops::operands::signed;

/// Losses that are not reduced yet, none of them rounded.
pub(super) struct ClassLosses {
    /// The loss of each line, zero where it is ignored.
    pub(super) losses: Tensor,
    /// The sum of the weights of the lines that count; and the same, or one if none does.
    pub(super) totals: Tensor,
    /// `[3, lines]`, if they were asked for: the factors of the class, of the softmax, of all classes.
    pub(super) factors: Option<Tensor>,
}

impl Classes {
    /// The loss of each line of a class, -1 if it is ignored. Logarithms of the sums of exponentials and
    /// weighted sums are those that the kind of loss needs.
    pub(super) fn losses(
        &self,
        op: &'static str,
        kind: ClassLossKind,
        indices: &Tensor,
        lines: [Option<&Tensor>; 2],
        factors: bool,
    ) -> Result<ClassLosses, Error> {
        let task = Task::Rowwise(Rowwise::ClassLoss(ClassLoss {
            common: self.working.result,
            kind,
        }));
        let inputs: SmallVec<[&Tensor; 5]> = [&self.input, indices, &self.weights]
            .into_iter()
            .chain(lines.into_iter().flatten())
            .collect();
        let (count, dtype) = (indices.count(), self.wide());
        let outputs = [count, 2, 3 * count].map(|count| Output { dtype, count });
        let outputs = &outputs[..if factors { 3 } else { 2 }];
        let Some(made) = perform_here(op, &task, &inputs, outputs)? else {
            return self.composed_losses(kind, indices, lines, factors);
        };
        let shapes = [
            Shape::new(op, &self.sizes)?,
            Shape::new(op, &[2])?,
            Shape::new(op, &[3, count])?,
        ];
        let made = made.into_iter().zip(shapes);
        let mut made = made.map(|(made, shape)| Tensor::from_memory_of(made.memory, shape, dtype));
        let (Some(losses), Some(totals)) = (made.next(), made.next()) else {
            return self.composed_losses(kind, indices, lines, factors);
        };
        let factors = made.next();
        Ok(ClassLosses {
            losses,
            totals,
            factors,
        })
    }

    fn composed_losses(
        &self,
        kind: ClassLossKind,
        indices: &Tensor,
        [logs, sums]: [Option<&Tensor>; 2],
        factors: bool,
    ) -> Result<ClassLosses, Error> {
        let wide = self.wide();
        let mut sizes = self.input.shape().to_vec();
        sizes[1] = 1;
        let right = indices.reshape(&signed(&sizes))?;
        let chosen = self.chosen(&right)?.to(wide)?;
        let weights = self.weights_of(&right)?;
        let ignored = right.lt(0)?;
        let (total, count) = (self.weights.sum(None, false, None)?, self.count() as f64);
        let smoothing = match kind {
            ClassLossKind::NegativeLogLikelihood => 0.0,
            ClassLossKind::CrossEntropy { smoothing } => smoothing,
        };
        let losses = match (logs, sums) {
            (None, _) => weights.neg()?.mul(&chosen)?,
            (Some(logs), None) => weights.mul(&logs.sub(&chosen)?)?,
            (Some(logs), Some(sums)) => {
                let plain = weights.mul(&logs.sub(&chosen)?)?.mul(1.0 - smoothing)?;
                let even = logs.mul(&total)?.sub(sums)?.div(count)?;
                plain.add(&even.mul(smoothing)?)?
            }
        };
        let losses = losses.masked_fill(&ignored, 0)?;
        let all = weights.sum(None, false, None)?;
        let is_none = ignored.all(None, false)?;
        let totals = Tensor::stack(&[&all, &all.masked_fill(&is_none, 1)?], 0)?;
        let factors = match factors {
            false => None,
            true => {
                let right = weights.mul(1.0 - smoothing)?;
                let share = total.mul(smoothing)?.div(count)?;
                let each = right.add(&share)?.masked_fill(&ignored, 0)?;
                let even = ignored.logical_not()?.to(wide)?.mul(smoothing / count)?;
                let flat = |x: &Tensor| x.reshape(&[-1]);
                let rows = [flat(&right)?, flat(&each)?, flat(&even)?];
                Some(Tensor::stack(&[&rows[0], &rows[1], &rows[2]], 0)?)
            }
        };
        Ok(ClassLosses {
            losses: losses.reshape(&signed(&self.sizes))?,
            totals,
            factors,
        })
    }

    /// The number at the class of each line, which `right` names in the place of the classes; anything
    /// where it is ignored.
    pub(super) fn chosen(&self, right: &Tensor) -> Result<Tensor, Error> {
        if self.count() == 0 {
            return right.zeros_like()?.to(self.working.result);
        }
        let place = right.maximum(0)?;
        self.input.gather(1, &place)?.to(self.working.result)
    }

    /// The weight of the class of each line, as [`chosen`](Self::chosen); zero where it is ignored.
    pub(super) fn weights_of(&self, right: &Tensor) -> Result<Tensor, Error> {
        if self.count() == 0 {
            return right.zeros_like()?.to(self.wide());
        }
        let place = right.maximum(0)?.reshape(&[-1])?;
        let weights = self.weights.index_select(0, &place)?;
        let weights = weights.reshape(&signed(right.shape()))?;
        weights.masked_fill(&right.lt(0)?, 0)
    }

    /// How many classes there are.
    pub(super) fn count(&self) -> usize {
        self.weights.count()
    }

    /// The dtype of sums.
    pub(super) fn wide(&self) -> DType {
        self.weights.dtype()
    }
}
