//! Losses of vectors, and of several labels.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::structured::neural::{
    COSINE_EMBEDDING_LOSS, MULTILABEL_MARGIN_LOSS, MULTILABEL_SOFT_MARGIN_LOSS, TRIPLET_MARGIN_LOSS,
};
use allotrope_op::task::Task;
use allotrope_op::task::rowwise::Rowwise;
use allotrope_op::{Builder, Fold, Shape};

use super::LossReduction;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::{perform_one, perform_or};
use crate::elementwise::evaluate_one;
use crate::ops::distance::{products, wide_distance};
use crate::ops::operands::{Working, dtypes_of, out_of_range, wrong_shape};
use crate::reduce::Plan;
use crate::transfer::gathered;

impl Tensor {
    /// `1 - cos` of the angle between vectors where the target is 1, and `max(0, cos - margin)`
    /// where it is -1. Vectors are the last dimension, and there is a target for each.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, one) = (Tensor::new([[3.0, 4.0]])?, Tensor::new([1.0])?);
    /// let loss = x.cosine_embedding_loss(&x, &one, 0.0, LossReduction::Sum)?;
    /// assert!(loss.to_scalar::<f64>()?.abs() < 1e-9);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or where promotion refuses, a value error for shapes that do
    /// not fit, a memory error.
    pub fn cosine_embedding_loss(
        &self,
        other: &Self,
        target: &Self,
        margin: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, other, target)) = gathered((self, other, target))? {
            return x.cosine_embedding_loss(&other, &target, margin, reduction);
        }
        /// What torch adds to squared lengths.
        const LEAST: f64 = 1e-12;
        let op = COSINE_EMBEDDING_LOSS.name;
        let working = Working::of(&COSINE_EMBEDDING_LOSS, &[self, other])?;
        let accepted = COSINE_EMBEDDING_LOSS.accepted;
        if !accepted.contains(target.dtype()) {
            return Err(Error::not_in_set(
                op,
                target.dtype(),
                accepted,
                Some("x.real or x.abs()"),
            ));
        }
        let [dot, left, right] = products(op, self, other, working, -1)?;
        let lengths = left.add(LEAST)?.mul(&right.add(LEAST)?)?.sqrt()?;
        let cosine = dot.div(&lengths)?.squeeze(Some(&[-1]))?;
        let builder = Builder::new(&[cosine.dtype(), cosine.dtype()]);
        let (cosine_var, target_var) = (builder.input(0), builder.input(1));
        let apart = (cosine_var - margin).maximum(cosine_var.zero());
        let apart = target_var
            .eq(target_var.lit(-1.0))
            .pick(apart, cosine_var.zero());
        let alike = target_var
            .eq(target_var.one())
            .pick(1.0 - cosine_var, apart);
        let program = builder.finish(&[alike]);
        let losses = evaluate_one(op, &program, &[&cosine, &target.to(cosine.dtype())?])?;
        reduction.of_wide(&losses, losses.count() as f64, working.result)
    }

    /// `max(0, d(x, positive) - d(x, negative) + margin)` by the norm of order `p` along the last
    /// dimension. `swap` takes the distance of the two others if that is the smaller negative one.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, far) = (Tensor::new([[0.0, 0.0]])?, Tensor::new([[30.0, 40.0]])?);
    /// let loss = x.triplet_margin_loss(&x, &far, 1.0, 2.0, 1e-6, false, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 0.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where promotion refuses, a value error for a margin that is not above 0 or
    /// shapes that do not fit, a memory error.
    #[allow(clippy::too_many_arguments, reason = "torch's options")]
    pub fn triplet_margin_loss(
        &self,
        positive: &Self,
        negative: &Self,
        margin: f64,
        p: f64,
        eps: f64,
        swap: bool,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, positive, negative)) = gathered((self, positive, negative))? {
            return x.triplet_margin_loss(&positive, &negative, margin, p, eps, swap, reduction);
        }
        let op = TRIPLET_MARGIN_LOSS.name;
        if margin.is_nan() || margin <= 0.0 {
            return Err(out_of_range(op, "margin", margin, "numbers above 0"));
        }
        let tensors = [self, positive, negative];
        let (working, result) = Working::and_result(&TRIPLET_MARGIN_LOSS, &tensors)?;
        let near = wide_distance(op, self, positive, working, p, eps)?;
        let mut far = wide_distance(op, self, negative, working, p, eps)?;
        if swap {
            far = far.minimum(&wide_distance(op, positive, negative, working, p, eps)?)?;
        }
        let losses = near.sub(&far)?.add(margin)?.maximum(0.0)?;
        let losses = losses.squeeze(Some(&[-1]))?;
        reduction.of_wide(&losses, losses.count() as f64, result)
    }

    /// The mean over the labels (last dimension) of the binary cross entropies of the logistic
    /// functions of the numbers, times a weight per label.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([[0.0, 0.0]])?, Tensor::new([[1.0, 0.0]])?);
    /// let loss = x.multilabel_soft_margin_loss(&target, None, LossReduction::Sum)?;
    /// assert!((loss.to_scalar::<f64>()? - std::f64::consts::LN_2).abs() < 1e-15);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cosine_embedding_loss`](Self::cosine_embedding_loss).
    pub fn multilabel_soft_margin_loss(
        &self,
        target: &Self,
        weight: Option<&Self>,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight)) = gathered((self, target, weight))? {
            return x.multilabel_soft_margin_loss(&target, weight.as_ref(), reduction);
        }
        let op = MULTILABEL_SOFT_MARGIN_LOSS.name;
        let tensors: Vec<&Self> = [self, target].into_iter().chain(weight).collect();
        let working = Working::of(&MULTILABEL_SOFT_MARGIN_LOSS, &tensors)?;
        let program = working.program(&dtypes_of(&tensors), |v| {
            let (x, t) = (v[0], v[1]);
            let loss = -(t * x.log_sigmoid() + (1.0 - t) * (-x).log_sigmoid());
            v.get(2).map_or(loss, |weight| loss * *weight)
        });
        let shapes: Vec<&Shape> = tensors.iter().map(|tensor| tensor.shape()).collect();
        let shape = Shape::broadcast(op, &shapes)?;
        let plan = Plan::new(op, &self.expand(&shape)?, Some(&[-1]))?;
        let sums = plan.fold(op, Fold::Sum, &program, &tensors, &shape)?;
        let losses = sums.div(plan.count() as f64)?.squeeze(Some(&[-1]))?;
        reduction.of_wide(&losses, losses.count() as f64, working.result)
    }

    /// The sum over right classes `t` and wrong ones of `max(0, 1 - (x[t] - x))`, divided by the
    /// number of classes. A line of the target names the right classes, up to the first -1; one that
    /// is named twice counts twice.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([[0.0, 2.0]])?, Tensor::new([[1_i64, -1]])?);
    /// assert_eq!(x.multilabel_margin_loss(&target, LossReduction::Sum)?.to_scalar::<f64>()?, 0.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cosine_embedding_loss`](Self::cosine_embedding_loss); an index error for a class that
    /// there is not.
    pub fn multilabel_margin_loss(
        &self,
        target: &Self,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target)) = gathered((self, target))? {
            return x.multilabel_margin_loss(&target, reduction);
        }
        let op = MULTILABEL_MARGIN_LOSS.name;
        if self.rank() == 0 && target.rank() == 0 {
            // A single number is the only class of one line.
            let (x, target) = (self.unsqueeze(0)?, target.unsqueeze(0)?);
            return x.multilabel_margin_loss(&target, reduction);
        }
        let working = Working::of(&MULTILABEL_MARGIN_LOSS, &[self])?;
        if !Set::Integer.contains(target.dtype()) {
            return Err(Error::not_in_set(
                op,
                target.dtype(),
                Set::Integer,
                Some("x.to(int64)"),
            ));
        }
        if self.rank() > 2 {
            return Err(wrong_shape(
                op,
                "input",
                self,
                "one of up to two dimensions",
            ));
        }
        if target.shape() != self.shape() {
            let accepted = format!("{:?}", self.shape().to_vec());
            return Err(wrong_shape(op, "target", target, accepted));
        }
        let count = self.shape()[self.rank() - 1];
        let labels = target.to(DType::I64)?;
        let task = Task::Rowwise(Rowwise::LabelCounts);
        // How often each class is named.
        let counts = perform_one(op, &task, &[&labels], DType::I64, target.shape())?;
        let compose = || {
            let losses = pairs_of_labels(op, self, &counts, working)?;
            losses.div(count as f64)
        };
        let losses = if is_recorded(&[self]) && count > 0 {
            compose()?
        } else {
            let x = self.detach().to(working.result)?;
            let sizes = Shape::new(op, &self.shape()[..self.rank() - 1])?;
            let task = Task::Rowwise(Rowwise::MultilabelMargin { classes: count });
            let wide = working.wide(self).compute;
            perform_or(op, &task, &[&x, &counts], wide, &sizes, || match count {
                0 => self.new_zeros(&sizes, wide),
                _ => compose(),
            })?
        };
        reduction.of_wide(&losses, losses.count() as f64, working.result)
    }
}

/// The sums of `max(0, 1 - (x[t] - x))` over pairs of a right and a wrong class of each line, as one
/// formula over all pairs, which has a gradient.
fn pairs_of_labels(
    op: &'static str,
    x: &Tensor,
    counts: &Tensor,
    working: Working,
) -> Result<Tensor, Error> {
    let named = counts.to(working.compute)?;
    let (right, wrong) = (x.unsqueeze(-1)?, x.unsqueeze(-2)?);
    let masks = [named.unsqueeze(-1)?, named.unsqueeze(-2)?];
    let builder = Builder::new(&[x.dtype(), x.dtype(), working.compute, working.compute]);
    let away = working.read(builder.input(0)) - working.read(builder.input(1));
    let loss = (1.0 - away).maximum(away.zero());
    let (times, other) = (builder.input(2), builder.input(3));
    // No product with zero, which an infinite loss would make NaN.
    let is_pair = times.gt(times.zero()) & other.eq(other.zero());
    let program = builder.finish(&[is_pair.pick(loss * times, away.zero())]);
    let shape = Shape::broadcast(op, &[right.shape(), wrong.shape()])?;
    let plan = Plan::new(op, &right.expand(&shape)?, Some(&[-2, -1]))?;
    let inputs = [&right, &wrong, &masks[0], &masks[1]];
    let sums = plan.fold(op, Fold::Sum, &program, &inputs, &shape)?;
    sums.squeeze(Some(&[-2, -1]))
}
