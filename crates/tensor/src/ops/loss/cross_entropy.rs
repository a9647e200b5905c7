//! Losses of classes: dimension 1 of the numbers, or the only one, has one number per class.

use allotrope_dtype::{CastOptions, DType, Error, Overflow, Set};
use allotrope_op::structured::neural::{CROSS_ENTROPY, MULTI_MARGIN_LOSS, NLL_LOSS};
use allotrope_op::task::Task;
use allotrope_op::task::rowwise::{ClassLossKind, Rowwise};
use allotrope_op::{Builder, Fold, Structured};

use super::LossReduction;
use super::class_losses::ClassLosses;
use super::cross_entropy_gradient::ClassRule;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::{perform_one, perform_or};
use crate::ops::indexing::{Indices, Negative};
use crate::ops::operands::{Working, out_of_range, signed, wrong_shape};
use crate::reduce::Plan;
use crate::transfer::gathered;

impl Tensor {
    /// The cross entropy of the softmax over classes and a target: indices of any integer dtype, or
    /// probabilities in the shape of the numbers. Nothing of the size of the numbers is stored.
    ///
    /// Losses of the index `ignore_index` are zero and do not count for the mean, which is that
    /// weighed by the weights of the classes. `label_smoothing` is the share of the even distribution
    /// in the target. Probabilities have a gradient too, weights have none.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::zeros(&[2, 4], DType::F32)?;
    /// let classes = Tensor::from_slice(&[3_u8, 0], &[2])?;
    /// let loss = x.cross_entropy(&classes, None, -100, LossReduction::Sum, 0.0)?;
    /// assert!((loss.to_vec::<f32>()?[0] - 2.0 * 4_f32.ln()).abs() < 1e-6);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or where promotion refuses, a value error for shapes that do
    /// not fit or a smoothing outside 0 to 1, an index error for a class that there is not, a memory
    /// error.
    pub fn cross_entropy(
        &self,
        target: &Self,
        weight: Option<&Self>,
        ignore_index: i64,
        reduction: LossReduction,
        label_smoothing: f64,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight)) = gathered((self, target, weight))? {
            return x.cross_entropy(
                &target,
                weight.as_ref(),
                ignore_index,
                reduction,
                label_smoothing,
            );
        }
        let row = &CROSS_ENTROPY;
        let op = row.name;
        if !(0.0..=1.0).contains(&label_smoothing) {
            return Err(out_of_range(
                op,
                "label_smoothing",
                label_smoothing,
                "0 to 1",
            ));
        }
        if target.shape() == self.shape() && Set::Float.contains(target.dtype()) {
            let classes = Classes::new(row, self, weight)?;
            return classes.by_probabilities(op, (target, weight), label_smoothing, reduction);
        }
        let classes = Classes::new(row, &self.detach(), weight)?;
        let indices = classes.indices(op, target, ignore_index)?;
        let logs = classes.log_of_sums(op)?;
        let sums = match label_smoothing > 0.0 {
            true => Some(classes.weighted_sums(op)?),
            false => None,
        };
        let kind = ClassLossKind::CrossEntropy {
            smoothing: label_smoothing,
        };
        let is_recorded = is_recorded(&[self]);
        let lines = [Some(&logs), sums.as_ref()];
        let losses = classes.losses(op, kind, &indices, lines, is_recorded)?;
        let loss = classes.reduce(&losses, reduction)?;
        if is_recorded {
            let rule = ClassRule::new(&classes, indices, &losses, reduction, label_smoothing)?;
            return rule.remember_entropy(op, loss, self, classes, logs);
        }
        Ok(loss)
    }

    /// The negated number at each class, times the weight of the class: the cross entropy of
    /// logarithms of probabilities.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::new([[-1.0, -2.0], [-3.0, -4.0]])?;
    /// let loss = x.nll_loss(&Tensor::new([0_i64, 1])?, None, -100, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 5.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cross_entropy`](Self::cross_entropy).
    pub fn nll_loss(
        &self,
        target: &Self,
        weight: Option<&Self>,
        ignore_index: i64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight)) = gathered((self, target, weight))? {
            return x.nll_loss(&target, weight.as_ref(), ignore_index, reduction);
        }
        let row = &NLL_LOSS;
        let classes = Classes::new(row, &self.detach(), weight)?;
        let indices = classes.indices(row.name, target, ignore_index)?;
        let is_recorded = is_recorded(&[self]);
        let kind = ClassLossKind::NegativeLogLikelihood;
        let losses = classes.losses(row.name, kind, &indices, [None, None], is_recorded)?;
        let loss = classes.reduce(&losses, reduction)?;
        if is_recorded {
            let rule = ClassRule::new(&classes, indices, &losses, reduction, 0.0)?;
            return rule.remember_pick(row.name, loss, self, classes.working);
        }
        Ok(loss)
    }

    /// The mean over the other classes of `max(0, margin - x[t] + x)^p`, times the weight of the
    /// class `t`.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::new([[3.0, 1.0, 2.5]])?;
    /// let loss = x.multi_margin_loss(&Tensor::new([0_i64])?, 1, 1.0, None, LossReduction::Sum)?;
    /// assert!((loss.to_scalar::<f64>()? - 0.5 / 3.0).abs() < 1e-15);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cross_entropy`](Self::cross_entropy); a value error for an order other than 1 and 2.
    pub fn multi_margin_loss(
        &self,
        target: &Self,
        p: u32,
        margin: f64,
        weight: Option<&Self>,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight)) = gathered((self, target, weight))? {
            return x.multi_margin_loss(&target, p, margin, weight.as_ref(), reduction);
        }
        let row = &MULTI_MARGIN_LOSS;
        let op = row.name;
        if !(1..=2).contains(&p) {
            return Err(out_of_range(op, "p", p, "1 and 2"));
        }
        if self.rank() > 2 {
            return Err(wrong_shape(
                op,
                "input",
                self,
                "one of one or two dimensions",
            ));
        }
        // A single number is the only class of one line.
        let input = match self.rank() {
            0 => self.unsqueeze(0)?,
            _ => self.clone(),
        };
        let classes = Classes::new(row, &input, weight)?;
        let is_line = classes.sizes.is_empty() && target.shape()[..] == [1];
        let target = match is_line {
            true => target.reshape(&[])?,
            false => target.clone(),
        };
        let indices = classes.indices(op, &target, i64::MIN)?;
        let x = &classes.input;
        let (lines, count) = (indices.count(), classes.count());
        let right = indices.reshape(&[lines as isize, 1])?;
        let places = x.new_arange(0, count as i64, 1, DType::I64)?;
        let chosen = match is_recorded(&[x]) {
            true => classes.picked(op, &right, &places)?,
            false => classes.chosen(&right)?.to(classes.working.compute)?,
        };
        let builder = Builder::new(&[x.dtype(), chosen.dtype(), DType::I64, DType::I64]);
        let away = classes.working.read(builder.input(0)) - builder.input(1) + margin;
        let away = away.maximum(away.zero());
        let away = if p == 1 { away } else { away.square() };
        let is_right = builder.input(2).eq(builder.input(3));
        let program = builder.finish(&[is_right.pick(away.zero(), away)]);
        let plan = Plan::new(op, x, Some(&[1]))?;
        let tensors = [x, &chosen, &right, &places];
        let sums = plan.fold(op, Fold::Sum, &program, &tensors, x.shape())?;
        let weights = classes.weights_of(&right)?;
        let losses = sums.to(weights.dtype())?.mul(&weights)?.div(count as f64)?;
        let losses = losses.reshape(&signed(&classes.sizes))?;
        reduction.of_wide(&losses, lines as f64, classes.working.result)
    }
}

/// Numbers with a class dimension, number 1.
pub(super) struct Classes {
    pub(super) input: Tensor,
    /// The shape of the losses.
    pub(super) sizes: Vec<usize>,
    pub(super) working: Working,
    /// A weight per class, ones if none are given, in the dtype of sums.
    pub(super) weights: Tensor,
}

impl Classes {
    fn new(row: &Structured, input: &Tensor, weight: Option<&Tensor>) -> Result<Self, Error> {
        let op = row.name;
        let tensors: Vec<&Tensor> = [input].into_iter().chain(weight).collect();
        let working = Working::of(row, &tensors)?;
        let (input, sizes) = match input.rank() {
            0 => {
                return Err(wrong_shape(
                    op,
                    "input",
                    input,
                    "one of a dimension of classes",
                ));
            }
            1 => (input.unsqueeze(0)?, Vec::new()),
            _ => {
                let mut sizes = input.shape().to_vec();
                sizes.remove(1);
                (input.clone(), sizes)
            }
        };
        let count = input.shape()[1];
        let wide = working.wide(&input).compute;
        let weights = match weight {
            None => input.new_ones(&[count], wide)?,
            Some(weight) if weight.shape()[..] == [count] => {
                weight.detach().to(working.result)?.to(wide)?
            }
            Some(weight) => return Err(wrong_shape(op, "weight", weight, format!("[{count}]"))),
        };
        Ok(Self {
            input,
            sizes,
            working,
            weights,
        })
    }

    /// The class of each line, or -1 if it is to be ignored.
    fn indices(
        &self,
        op: &'static str,
        target: &Tensor,
        ignore_index: i64,
    ) -> Result<Tensor, Error> {
        if !Set::Integer.contains(target.dtype()) {
            let hint = Some("x.to(int64), or probabilities in the shape of the input");
            return Err(Error::not_in_set(op, target.dtype(), Set::Integer, hint));
        }
        if target.shape()[..] != self.sizes {
            let accepted = format!("{:?}", self.sizes);
            return Err(wrong_shape(op, "target", target, accepted));
        }
        // Unsigned integers beyond the signed ones must not come out as small ones.
        let wide = target.to_with(DType::I64, CastOptions::overflow(Overflow::Saturate))?;
        let task = Task::Rowwise(Rowwise::ClassIndices {
            classes: self.count(),
            ignored: ignore_index,
        });
        if self.count() == 0 {
            return perform_one(op, &task, &[&wide], DType::I64, target.shape());
        }
        perform_or(op, &task, &[&wide], DType::I64, target.shape(), || {
            let is_ignored = wide.eq(ignore_index)?;
            let known = wide.masked_fill(&is_ignored, 0)?;
            let known = Indices::new(op, &known, 1, self.count(), Negative::Refuse)?;
            known.into_tensor().masked_fill(&is_ignored, -1)
        })
    }

    /// The number at the class of each line as a sum along it, which has a gradient; zero where it is
    /// ignored.
    fn picked(&self, op: &'static str, right: &Tensor, places: &Tensor) -> Result<Tensor, Error> {
        let x = &self.input;
        let builder = Builder::new(&[x.dtype(), DType::I64, DType::I64]);
        let number = self.working.read(builder.input(0));
        let is_right = builder.input(1).eq(builder.input(2));
        let program = builder.finish(&[is_right.pick(number, number.zero())]);
        let plan = Plan::new(op, x, Some(&[1]))?;
        let picked = plan.fold(op, Fold::Sum, &program, &[x, right, places], x.shape())?;
        picked.to(self.working.compute)
    }

    /// The logarithm of the sum of exponentials of each line, not rounded.
    pub(super) fn log_of_sums(&self, op: &'static str) -> Result<Tensor, Error> {
        let x = &self.input;
        let plan = Plan::new(op, x, Some(&[1]))?;
        let program = self.working.reading(x.dtype());
        // What is subtracted and added again has no gradient.
        let most = plan.fold(op, Fold::Max, &program, &[&x.detach()], x.shape())?;
        let builder = Builder::new(&[x.dtype(), self.working.compute]);
        let below = self.working.read(builder.input(0)) - builder.input(1);
        let program = builder.finish(&[below.exp()]);
        let total = plan.fold(op, Fold::Sum, &program, &[x, &most], x.shape())?;
        let wide = self.wide();
        total.to(wide)?.log()?.add(&most.to(wide)?)
    }

    /// The weights of the classes as a tensor that is broadcast to the numbers.
    pub(super) fn weight_tensor(&self) -> Result<Tensor, Error> {
        let mut sizes = vec![1; self.input.rank()];
        sizes[1] = -1;
        self.weights.reshape(&sizes)
    }

    /// The sum of the numbers of each line, each times the weight of its class.
    fn weighted_sums(&self, op: &'static str) -> Result<Tensor, Error> {
        let x = &self.input;
        let plan = Plan::new(op, x, Some(&[1]))?;
        let builder = Builder::new(&[x.dtype(), self.wide()]);
        let term = self.working.read(builder.input(0)).to(self.wide()) * builder.input(1);
        let program = builder.finish(&[term]);
        plan.fold(
            op,
            Fold::Sum,
            &program,
            &[x, &self.weight_tensor()?],
            x.shape(),
        )
    }

    /// The cross entropy of the softmax and probabilities.
    fn by_probabilities(
        &self,
        op: &'static str,
        (target, weight): (&Tensor, Option<&Tensor>),
        smoothing: f64,
        reduction: LossReduction,
    ) -> Result<Tensor, Error> {
        let x = &self.input;
        let operands: Vec<&Tensor> = [x, target].into_iter().chain(weight).collect();
        let working = Working::expected(&CROSS_ENTROPY, &operands)?;
        let target = target.reshape(&signed(x.shape()))?;
        let logs = self.log_of_sums(op)?;
        let wide = self.wide();
        let builder = Builder::new(&[x.dtype(), target.dtype(), wide, wide]);
        let below = builder.input(2) - working.read(builder.input(0)).to(wide);
        let share = working.read(builder.input(1)).to(wide);
        let even = smoothing / self.count() as f64;
        let share = if smoothing > 0.0 {
            share * (1.0 - smoothing) + even
        } else {
            share
        };
        let program = builder.finish(&[below * share * builder.input(3)]);
        let plan = Plan::new(op, x, Some(&[1]))?;
        let tensors = [x, &target, &logs, &self.weight_tensor()?];
        let losses = plan.fold(op, Fold::Sum, &program, &tensors, x.shape())?;
        let losses = losses.reshape(&signed(&self.sizes))?;
        reduction.of_wide(&losses, losses.count() as f64, working.result)
    }

    /// The losses of the lines, reduced; the mean is weighed by the classes.
    fn reduce(&self, losses: &ClassLosses, reduction: LossReduction) -> Result<Tensor, Error> {
        let total = losses.totals.select(0, 0)?;
        reduction.of_wide(&losses.losses, &total, self.working.result)
    }
}
