//! The gradients of losses that name classes by indices: one formula over the numbers.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::Rowwise;
use allotrope_op::task::{Output, Task};
use allotrope_op::{Builder, sizes_around};
use smallvec::{SmallVec, smallvec};

use super::LossReduction;
use super::class_losses::ClassLosses;
use super::cross_entropy::Classes;
use crate::Tensor;
use crate::autograd::{Pass, is_grad_enabled};
use crate::device::perform_here;
use crate::elementwise::evaluate_one;
use crate::ops::operands::{Working, signed};

/// What the gradient of each line needs, beside the numbers.
pub(super) struct ClassRule {
    reduction: LossReduction,
    /// What the sum of losses was divided by for a mean.
    total: Tensor,
    /// The class of each line, -1 if it is ignored; this and the others have a dimension of one in
    /// the place of the classes.
    classes: Tensor,
    /// `[0, 1, …]` along the classes.
    places: Tensor,
    /// The factor of the right class, not rounded.
    right: Tensor,
    /// The factor of the softmax: that of the right class and the share of all.
    all: Tensor,
    /// The share of each class beside its weight, if labels are smoothed.
    even: Option<Tensor>,
}

impl ClassRule {
    pub(super) fn new(
        classes: &Classes,
        indices: Tensor,
        losses: &ClassLosses,
        reduction: LossReduction,
        smoothing: f64,
    ) -> Result<Self, Error> {
        let mut sizes = signed(classes.input.shape());
        sizes[1] = 1;
        let factor = |row: isize| match &losses.factors {
            Some(factors) => factors.select(0, row)?.reshape(&sizes),
            None => losses.losses.reshape(&sizes),
        };
        let mut along = vec![1; sizes.len()];
        along[1] = -1;
        let places = indices.new_arange(0, classes.count() as i64, 1, DType::I64)?;
        Ok(Self {
            reduction,
            // Where all lines are ignored, all factors are zero, and so is the gradient.
            total: losses.totals.select(0, 1)?,
            classes: indices.reshape(&sizes)?,
            places: places.reshape(&along)?,
            right: factor(0)?,
            all: factor(1)?,
            even: (smoothing > 0.0).then(|| factor(2)).transpose()?,
        })
    }

    /// The gradient of the loss of each line, in the dtype of sums.
    fn gradient(&self, pass: &Pass<'_>) -> Result<Tensor, Error> {
        let gradient = pass.gradient()?.to(self.total.dtype())?;
        match self.reduction {
            LossReduction::None => gradient.reshape(&signed(self.classes.shape())),
            LossReduction::Sum => Ok(gradient),
            LossReduction::Mean => gradient.div(&self.total),
        }
    }

    /// The negated number at each class with its rule.
    pub(super) fn remember_pick(
        self,
        op: &'static str,
        loss: Tensor,
        x: &Tensor,
        working: Working,
    ) -> Result<Tensor, Error> {
        let sizes = signed(x.shape());
        loss.with_rule(op, &[x], move |pass| {
            let right = self.gradient(pass)?.mul(&self.right)?.to(working.compute)?;
            let builder = Builder::new(&[DType::I64, DType::I64, right.dtype()]);
            let is_right = builder.input(0).eq(builder.input(1));
            let value = is_right.pick(-builder.input(2), builder.input(2).zero());
            let program = builder.finish(&[value.to(working.result)]);
            let made = evaluate_one(op, &program, &[&self.classes, &self.places, &right])?;
            Ok(smallvec![Some(made.reshape(&sizes)?)])
        })
    }

    /// The gradient of the numbers by the kernel for lines, unless it is recorded itself or the device
    /// has none for such lines.
    fn by_lines(
        &self,
        op: &'static str,
        seen: &Classes,
        logs: &Tensor,
        gradient: &Tensor,
    ) -> Result<Option<Tensor>, Error> {
        let (x, working) = (&seen.input, seen.working);
        let sizes = sizes_around(x.shape(), 1, 1);
        if sizes[2] != 1 || is_grad_enabled() {
            return Ok(None);
        }
        let scaled = |factor: &Tensor| gradient.mul(factor);
        let even = self.even.as_ref().map(scaled).transpose()?;
        let (right, all) = (scaled(&self.right)?, scaled(&self.all)?);
        let inputs: SmallVec<[&Tensor; 7]> = [x, logs, &self.classes, &right, &all]
            .into_iter()
            .chain(even.iter().flat_map(|even| [even, &seen.weights]))
            .collect();
        let program = working.reading(x.dtype());
        let task = Task::Rowwise(Rowwise::CrossEntropyBackward {
            program: &program,
            sizes,
            smooth: even.is_some(),
        });
        let output = Output {
            dtype: working.result,
            count: x.count(),
        };
        let made = perform_here(op, &task, &inputs, &[output])?;
        let made = made.and_then(|made| made.into_iter().next());
        Ok(made.map(|made| Tensor::from_memory_of(made.memory, x.shape().clone(), working.result)))
    }

    /// The cross entropy with its rule: the softmax less the target, line by line.
    pub(super) fn remember_entropy(
        self,
        op: &'static str,
        loss: Tensor,
        x: &Tensor,
        classes: Classes,
        logs: Tensor,
    ) -> Result<Tensor, Error> {
        let operand = x.clone();
        loss.with_rule(op, &[x], move |pass| {
            let seen = Classes {
                input: operand.reshape(&signed(classes.input.shape()))?,
                sizes: classes.sizes.clone(),
                weights: classes.weights.clone(),
                ..classes
            };
            let working = seen.working;
            // Recorded, the sums depend on the numbers too.
            let logs = if is_grad_enabled() {
                seen.log_of_sums(op)?
            } else {
                logs.clone()
            };
            let gradient = self.gradient(pass)?;
            if let Some(made) = self.by_lines(op, &seen, &logs, &gradient)? {
                return Ok(smallvec![Some(made.reshape(&signed(operand.shape()))?)]);
            }
            let scaled = |factor: &Tensor| gradient.mul(factor)?.to(working.compute);
            let mut inputs = vec![
                seen.input.clone(),
                logs,
                self.classes.clone(),
                self.places.clone(),
                scaled(&self.right)?,
                scaled(&self.all)?,
            ];
            if let Some(even) = &self.even {
                inputs.push(scaled(even)?);
                inputs.push(seen.weight_tensor()?.to(working.compute)?);
            }
            let inputs: Vec<&Tensor> = inputs.iter().collect();
            let dtypes: Vec<DType> = inputs.iter().map(|tensor| tensor.dtype()).collect();
            let builder = Builder::new(&dtypes);
            let below = working.read(builder.input(0)) - builder.input(1).to(working.compute);
            let is_right = builder.input(2).eq(builder.input(3));
            let right = is_right.pick(builder.input(4), below.zero());
            let value = below.exp() * builder.input(5) - right;
            let value = if self.even.is_some() {
                value - builder.input(6) * builder.input(7)
            } else {
                value
            };
            let program = builder.finish(&[value.to(working.result)]);
            let made = evaluate_one(op, &program, &inputs)?;
            Ok(smallvec![Some(made.reshape(&signed(operand.shape()))?)])
        })
    }
}
