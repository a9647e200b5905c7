//! The gradients of losses that name classes by indices: one formula over the numbers.

use crate::host::memory::try_collect;
use allotrope_cpu::kernel::{ClassTargets, LineInput, are_lines_short, entropy_backward};
use allotrope_dtype::{DType, Error};
use allotrope_op::Builder;
use allotrope_op::sizes_around;
use smallvec::smallvec;

use super::LossReduction;
use super::class::Classes;
use crate::Tensor;
use crate::autograd::{Pass, is_grad_enabled};
use crate::elementwise::{evaluate_one, room};
use crate::ops::operands::{Working, signed};

/// What the gradient of each line needs, beside the numbers.
pub(super) struct ClassLines {
    reduction: LossReduction,
    /// What the sum of losses was divided by for a mean.
    total: f64,
    /// The class of each line, -1 if it is ignored; this and the others have a dimension of one in
    /// the place of the classes.
    classes: Tensor,
    /// `[0, 1, …]` along the classes.
    places: Tensor,
    /// The factor of the right class, float64.
    right: Tensor,
    /// The factor of the softmax: that of the right class and the share of all.
    all: Tensor,
    /// The share of each class beside its weight, if labels are smoothed.
    even: Option<Tensor>,
}

impl ClassLines {
    pub(super) fn new(
        classes: &Classes,
        indices: &[Option<i64>],
        reduction: LossReduction,
        smoothing: f64,
    ) -> Result<Self, Error> {
        let mut sizes = classes.input.shape().to_vec();
        sizes[1] = 1;
        let weights = &classes.weights;
        let (sum, count) = (weights.iter().sum::<f64>(), weights.len() as f64);
        let column = |value: &dyn Fn(usize) -> f64| {
            let of = |index: &Option<i64>| index.map_or(0.0, |class| value(class as usize));
            Tensor::from_slice(&try_collect("loss", indices.iter().map(of))?, &sizes)
        };
        let names: Vec<i64> = try_collect("loss", indices.iter().map(|index| index.unwrap_or(-1)))?;
        let mut along = vec![1; sizes.len()];
        along[1] = -1;
        let right = |class: usize| (1.0 - smoothing) * weights[class];
        let counted = indices.iter().flatten();
        // Where all lines are ignored, all factors are zero, and so is the gradient.
        let total = match counted.clone().next() {
            Some(_) => counted.map(|class| weights[*class as usize]).sum(),
            None => 1.0,
        };
        Ok(Self {
            reduction,
            total,
            classes: Tensor::from_slice(&names, &sizes)?,
            places: Tensor::arange(0, weights.len() as i64, 1, DType::I64)?.reshape(&along)?,
            right: column(&right)?,
            all: column(&|class| right(class) + smoothing * sum / count)?,
            even: (smoothing > 0.0)
                .then(|| column(&|_| smoothing / count))
                .transpose()?,
        })
    }

    /// The gradient of the loss of each line, float64.
    fn gradient(&self, pass: &Pass<'_>) -> Result<Tensor, Error> {
        let gradient = pass.gradient()?.to(DType::F64)?;
        match self.reduction {
            LossReduction::None => gradient.reshape(&signed(self.classes.shape())),
            LossReduction::Sum => Ok(gradient),
            LossReduction::Mean => gradient.div(self.total),
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

    /// The gradient of the numbers by the kernel for lines, unless it is recorded itself or lines are not
    /// those of the last axis.
    fn by_lines(
        &self,
        op: &'static str,
        seen: &Classes,
        logs: &Tensor,
        gradient: &Tensor,
    ) -> Result<Option<Tensor>, Error> {
        let (x, working) = (&seen.input, seen.working);
        let sizes = sizes_around(x.shape(), 1, 1);
        let are_lines = sizes[2] == 1 && are_lines_short(sizes[1], 1) && x.storage(op).is_ok();
        if !are_lines || is_grad_enabled() {
            return Ok(None);
        }
        let scaled = |factor: &Tensor| gradient.mul(factor)?.to_vec::<f64>();
        let even = self.even.as_ref().map(scaled).transpose()?;
        let (right, all) = (scaled(&self.right)?, scaled(&self.all)?);
        let (logs, classes) = (logs.to_vec::<f64>()?, self.classes.to_vec::<i64>()?);
        let targets = ClassTargets {
            logs: &logs,
            classes: &classes,
            right: &right,
            all: &all,
            even: even.as_deref().map(|even| (even, &seen.weights[..])),
        };
        let program = working.reading(x.dtype());
        let from = LineInput {
            program: &program,
            input: x.as_input(op)?,
            sizes,
        };
        let mut out = room(op, x.shape(), working.result)?;
        entropy_backward(targets, from, working.result, &mut out)?;
        let made = Tensor::from_buffer(out, x.shape().clone(), working.result);
        Ok(Some(made))
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
