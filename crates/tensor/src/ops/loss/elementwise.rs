//! Losses of numbers one by one.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::neural::{
    BINARY_CROSS_ENTROPY, BINARY_CROSS_ENTROPY_WITH_LOGITS, GAUSSIAN_NLL_LOSS,
    HINGE_EMBEDDING_LOSS, HUBER_LOSS, KL_DIV, L1_LOSS, MARGIN_RANKING_LOSS, MSE_LOSS,
    POISSON_NLL_LOSS, SMOOTH_L1_LOSS, SOFT_MARGIN_LOSS,
};
use allotrope_op::task::values::Refusal;
use allotrope_op::{Shape, Var};

use super::{LossReduction, reduce_formula, reduce_weighted};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;
use crate::elementwise::evaluate_one;
use crate::ops::operands::{Working, dtypes_of, out_of_range, refuse, wrong_shape};
use crate::transfer::gathered;

/// The greater of two numbers.
fn above<'b>(x: Var<'b>, least: f64) -> Var<'b> {
    x.maximum(x.lit(least))
}

/// The least and the greatest of some numbers; NaN is none of them.
fn extremes(x: &Tensor) -> Result<[f64; 2], Error> {
    let x = x.detach();
    let one = |extreme: Tensor| Ok::<f64, Error>(extreme.to(DType::F64)?.to_vec::<f64>()?[0]);
    let both = [one(x.amin(None, false)?)?, one(x.amax(None, false)?)?];
    if !both[0].is_nan() {
        return Ok(both);
    }
    let without = |instead: f64| x.isnan()?.where_(instead, &x);
    Ok([
        one(without(f64::INFINITY)?.amin(None, false)?)?,
        one(without(f64::NEG_INFINITY)?.amax(None, false)?)?,
    ])
}

/// Refuses numbers outside a range, but not NaN. Whether all are at least `enough`, if that was read.
fn check_range(
    op: &'static str,
    x: &Tensor,
    (what, accepted): (&'static str, &'static str),
    range: RangeInclusive<f64>,
    enough: f64,
) -> Result<Option<bool>, Error> {
    if x.count() == 0 {
        return Ok(Some(true));
    }
    if x.host_address().is_some() {
        let both = extremes(x)?;
        let wrong = |value: &&f64| !(value.is_nan() || range.contains(*value));
        return match both.iter().find(wrong) {
            Some(value) => Err(out_of_range(op, what, format!("{value:?}"), accepted)),
            None => Ok(Some(both[0] >= enough)),
        };
    }
    // Nothing is read: NaN counts as a number that is accepted.
    let x = x.detach();
    let known = x.isnan()?.where_(*range.start(), &x)?;
    let both = [known.amin(None, false)?, known.amax(None, false)?];
    let both = Tensor::stack(&[&both[0], &both[1]], 0)?;
    let wrong = both.lt(*range.start())?;
    let wrong = wrong.logical_or(&both.gt(*range.end())?)?;
    let refusal = Refusal {
        what,
        value: None,
        first: None,
        accepted,
    };
    refuse(op, refusal, &wrong, Some(&both))?;
    Ok(None)
}

/// Refuses a target of another shape: broadcast, each element would meet the targets of others.
fn check_target(op: &'static str, x: &Tensor, target: &Tensor) -> Result<(), Error> {
    if x.shape() == target.shape() {
        return Ok(());
    }
    let accepted = format!("the input's, {:?}", x.shape().to_vec());
    Err(wrong_shape(op, "target", target, accepted))
}

fn check_delta(delta: f64) -> Result<(), Error> {
    if delta.is_nan() || delta <= 0.0 {
        return Err(out_of_range(
            HUBER_LOSS.name,
            "delta",
            delta,
            "numbers above 0",
        ));
    }
    Ok(())
}

/// Half the square of a difference, and above `delta` the line that goes on from there.
fn huber(difference: Var<'_>, delta: f64) -> Var<'_> {
    let away = difference.abs();
    let line = (away - 0.5 * delta) * delta;
    away.le(away.lit(delta)).pick(away.square() * 0.5, line)
}

/// Refuses weights of another shape than that of the losses.
fn check_weight(op: &'static str, [x, target, weight]: [&Tensor; 3]) -> Result<(), Error> {
    let shape = Shape::broadcast(op, &[x.shape(), target.shape()])?;
    if weight.shape() == &shape {
        return Ok(());
    }
    let accepted = format!("that of the losses, {shape}");
    Err(wrong_shape(op, "weight", weight, accepted))
}

/// The binary cross entropy of a probability and a target, times a weight if there is one.
fn entropy<'b>(v: &[Var<'b>]) -> Var<'b> {
    let (x, t) = (v[0], v[1]);
    let loss = -(t * logarithm(x) + (1.0 - t) * logarithm_of_rest(x));
    v.get(2).map_or(loss, |weight| loss * *weight)
}

/// `log(1 + e^z)` of complex numbers. On the right it is `log(e^-a + e^(z - a)) + a` with the real part
/// `a`; each formula gets 0 where the other holds, so that no gradient of it overflows.
fn log_one_plus_exp(z: Var<'_>) -> Var<'_> {
    let is_right = z.real().gt(z.real().zero());
    let (left, right) = (is_right.pick(z.zero(), z), is_right.pick(z, z.zero()));
    let a = right.real();
    let beyond = ((-a).exp() + (right - a).exp()).log() + a;
    is_right.pick(beyond, left.exp().log1p())
}

fn logarithm(x: Var<'_>) -> Var<'_> {
    above(x.log(), -100.0)
}

fn logarithm_of_rest(x: Var<'_>) -> Var<'_> {
    above((-x).log1p(), -100.0)
}

/// The binary cross entropy of probability, target and weight, with torch's gradients: they are
/// finite at 0 and 1, where that of the logarithm is not.
fn recorded_entropy(tensors: &[&Tensor], reduction: LossReduction) -> Result<Tensor, Error> {
    /// What the variance of a probability counts as at least.
    const LEAST: f64 = 1e-12;
    let row = &BINARY_CROSS_ENTROPY;
    let plain: Vec<Tensor> = tensors.iter().map(|tensor| tensor.detach()).collect();
    let plain: Vec<&Tensor> = plain.iter().collect();
    let loss = reduce_formula(row, &plain, reduction, entropy)?;
    let shapes: Vec<&Shape> = tensors.iter().map(|tensor| tensor.shape()).collect();
    let count = Shape::broadcast(row.name, &shapes)?.count() as f64;
    let working = Working::expected(row, tensors)?;
    let saved: Vec<Tensor> = tensors.iter().map(|tensor| (*tensor).clone()).collect();
    loss.with_rule(row.name, tensors, move |pass| {
        let gradient = match reduction {
            LossReduction::Mean => pass.gradient()?.to(working.compute)?.div(count)?,
            _ => pass.gradient()?,
        };
        let mut inputs: Vec<&Tensor> = saved.iter().collect();
        inputs.insert(2, &gradient);
        let dtypes = dtypes_of(&inputs);
        let each = (0..saved.len()).map(|place| {
            pass.give(place, || {
                let program = working.result_program(&dtypes, |v| {
                    let (x, t, gradient) = (v[0], v[1], v[2]);
                    let weighted = v.get(3).map_or(gradient, |weight| gradient * *weight);
                    match place {
                        0 => weighted * (x - t) / above(x * (1.0 - x), LEAST),
                        1 => weighted * (logarithm_of_rest(x) - logarithm(x)),
                        _ => gradient * entropy(&v[..2]),
                    }
                });
                evaluate_one(row.name, &program, &inputs)
            })
        });
        each.collect()
    })
}

/// Losses of numbers one by one.
///
/// All broadcast their operands, but for the targets of binary cross entropies, and promote dtypes by the policy in force; integers and bool give
/// the default float. They fail with a dtype error for complex numbers (but for `l1_loss`, which is
/// real, and `soft_margin_loss`) or where promotion refuses, a value error for shapes that do not broadcast or an argument out of range, and a memory error.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
impl Tensor {
    /// The squared error: the squared difference from a target, or its mean or sum.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::from_slice(&[1.0_f32, 3.0], &[2])?;
    /// let y = Tensor::from_slice(&[1_u8, 1], &[2])?;
    /// assert_eq!(x.mse_loss(&y, LossReduction::Mean)?.to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    pub fn mse_loss(&self, target: &Self, reduction: LossReduction) -> Result<Self, Error> {
        reduce_formula(&MSE_LOSS, &[self, target], reduction, |v| {
            (v[0] - v[1]).square()
        })
    }

    /// The absolute error: the magnitude of the difference from a target, or its mean or sum.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([1.0, 2.0])?, Tensor::new([2.0, 5.0])?);
    /// assert_eq!(x.l1_loss(&target, LossReduction::Mean)?.to_scalar::<f64>()?, 2.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn l1_loss(&self, target: &Self, reduction: LossReduction) -> Result<Self, Error> {
        reduce_formula(&L1_LOSS, &[self, target], reduction, |v| {
            (v[0] - v[1]).abs()
        })
    }

    /// [`mse_loss`](Self::mse_loss) with a weight for each loss; a mean is over the sum of the weights.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::from_slice(&[1.0_f32, 3.0], &[2])?;
    /// let y = Tensor::from_slice(&[0.0_f32, 1.0], &[2])?;
    /// let weight = Tensor::from_slice(&[3.0_f32, 1.0], &[2])?;
    /// let loss = x.weighted_mse_loss(&y, &weight, LossReduction::Mean)?;
    /// assert_eq!(loss.to_vec::<f32>()?, [1.75]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    pub fn weighted_mse_loss(
        &self,
        target: &Self,
        weight: &Self,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        let tensors = [self, target, weight];
        check_weight(MSE_LOSS.name, tensors)?;
        reduce_weighted(&MSE_LOSS, &tensors, reduction, Some(2), |v| {
            (v[0] - v[1]).square() * v[2]
        })
    }

    /// [`l1_loss`](Self::l1_loss) with a weight for each loss; a mean is over the sum of the weights.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, y) = (Tensor::new([1.0, 3.0])?, Tensor::new([0.0, 1.0])?);
    /// let loss = x.weighted_l1_loss(&y, &Tensor::new([3.0, 1.0])?, LossReduction::Mean)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 1.25);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn weighted_l1_loss(
        &self,
        target: &Self,
        weight: &Self,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        let tensors = [self, target, weight];
        check_weight(L1_LOSS.name, tensors)?;
        reduce_weighted(&L1_LOSS, &tensors, reduction, Some(2), |v| {
            // Weights of complex numbers have met them.
            let weight = if v[2].dtype().is_complex() {
                v[2].real()
            } else {
                v[2]
            };
            (v[0] - v[1]).abs() * weight
        })
    }

    /// [`huber_loss`](Self::huber_loss) with a weight for each loss; a mean is over all of them,
    /// whatever their weights.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, y) = (Tensor::new([1.0, 3.0])?, Tensor::new([0.0, 1.0])?);
    /// let loss = x.weighted_huber_loss(&y, &Tensor::new([3.0, 1.0])?, 1.0, LossReduction::Mean)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 1.5);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn weighted_huber_loss(
        &self,
        target: &Self,
        weight: &Self,
        delta: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        check_delta(delta)?;
        let tensors = [self, target, weight];
        check_weight(HUBER_LOSS.name, tensors)?;
        reduce_formula(&HUBER_LOSS, &tensors, reduction, |v| {
            huber(v[0] - v[1], delta) * v[2]
        })
    }

    /// The smooth L1 loss: the absolute error minus `beta / 2`, and below `beta` its square over
    /// `2 beta`.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([1.0, 2.0])?, Tensor::new([2.0, 5.0])?);
    /// assert_eq!(x.smooth_l1_loss(&target, 1.0, LossReduction::Sum)?.to_scalar::<f64>()?, 3.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn smooth_l1_loss(
        &self,
        target: &Self,
        beta: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        let row = &SMOOTH_L1_LOSS;
        if beta.is_nan() || beta < 0.0 {
            return Err(out_of_range(row.name, "beta", beta, "0 and above"));
        }
        reduce_formula(row, &[self, target], reduction, |v| {
            let away = (v[0] - v[1]).abs();
            if beta == 0.0 {
                return away;
            }
            let square = away.square() * (0.5 / beta);
            away.lt(away.lit(beta)).pick(square, away - 0.5 * beta)
        })
    }

    /// The Huber loss: half the squared error, and above `delta` the line that goes on from there.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([1.0, 2.0])?, Tensor::new([2.0, 5.0])?);
    /// assert_eq!(x.huber_loss(&target, 1.0, LossReduction::Sum)?.to_scalar::<f64>()?, 3.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn huber_loss(
        &self,
        target: &Self,
        delta: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        check_delta(delta)?;
        reduce_formula(&HUBER_LOSS, &[self, target], reduction, |v| {
            huber(v[0] - v[1], delta)
        })
    }

    /// `-(t log x + (1 - t) log(1 - x))` of probabilities, times a weight; logarithms are at least
    /// -100.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let x = Tensor::new([0.5])?;
    /// let loss = x.binary_cross_entropy(&Tensor::new([1.0])?, None, LossReduction::Sum)?;
    /// assert!((loss.to_scalar::<f64>()? - std::f64::consts::LN_2).abs() < 1e-15);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn binary_cross_entropy(
        &self,
        target: &Self,
        weight: Option<&Self>,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight)) = gathered((self, target, weight))? {
            return x.binary_cross_entropy(&target, weight.as_ref(), reduction);
        }
        let row = &BINARY_CROSS_ENTROPY;
        call::expected_dtype(row, self.dtype())?;
        check_target(row.name, self, target)?;
        check_range(row.name, self, ("probability", "0 to 1"), 0.0..=1.0, 0.0)?;
        let tensors: Vec<&Self> = [self, target].into_iter().chain(weight).collect();
        if is_recorded(&tensors) {
            return recorded_entropy(&tensors, reduction);
        }
        reduce_formula(row, &tensors, reduction, entropy)
    }

    /// The binary cross entropy of the logistic function of the numbers, without overflow, times a
    /// weight; `pos_weight` weighs the positive cases.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([0.0])?, Tensor::new([1.0])?);
    /// let loss = x.binary_cross_entropy_with_logits(&target, None, None, LossReduction::Sum)?;
    /// assert!((loss.to_scalar::<f64>()? - std::f64::consts::LN_2).abs() < 1e-15);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn binary_cross_entropy_with_logits(
        &self,
        target: &Self,
        weight: Option<&Self>,
        pos_weight: Option<&Self>,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, weight, pos_weight)) = gathered((self, target, weight, pos_weight))?
        {
            return x.binary_cross_entropy_with_logits(
                &target,
                weight.as_ref(),
                pos_weight.as_ref(),
                reduction,
            );
        }
        let row = &BINARY_CROSS_ENTROPY_WITH_LOGITS;
        check_target(row.name, self, target)?;
        let tensors: Vec<&Self> = [self, target]
            .into_iter()
            .chain(weight)
            .chain(pos_weight)
            .collect();
        reduce_formula(row, &tensors, reduction, |v| {
            let (x, t) = (v[0], v[1]);
            let positive = pos_weight.and(v.last().copied());
            // (1 - t) x - log σ(x), which is max(x, 0) (1 - t) + max(-x, 0) t + log(1 + e^-|x|): infinite
            // numbers are multiplied by what is zero only if they are certain.
            let loss = match positive {
                Some(positive) => {
                    let share = (positive - 1.0) * t + 1.0;
                    (1.0 - t) * x - share * x.log_sigmoid()
                }
                None => {
                    let wrong = above(x, 0.0) * (1.0 - t) + above(-x, 0.0) * t;
                    wrong + (-x.abs()).exp().log1p()
                }
            };
            if weight.is_some() { loss * v[2] } else { loss }
        })
    }

    /// `t (log t - x)` of the logarithms of probabilities; `log_target` says that the target are
    /// logarithms too.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let target = Tensor::new([0.5, 0.5])?;
    /// let loss = target.log()?.kl_div(&target, false, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 0.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn kl_div(
        &self,
        target: &Self,
        log_target: bool,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        reduce_formula(&KL_DIV, &[self, target], reduction, |v| {
            let (x, t) = (v[0], v[1]);
            if log_target {
                t.exp() * (t - x)
            } else {
                t.xlogy(t) - t * x
            }
        })
    }

    /// `eˣ - t x`, or without `log_input` `x - t log(x + eps)`: the negated logarithm of a Poisson
    /// probability but for a constant, which `full` adds by Stirling's formula.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([0.0])?, Tensor::new([3.0])?);
    /// let loss = x.poisson_nll_loss(&target, true, false, 1e-8, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 1.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn poisson_nll_loss(
        &self,
        target: &Self,
        log_input: bool,
        full: bool,
        eps: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        reduce_formula(&POISSON_NLL_LOSS, &[self, target], reduction, |v| {
            let (x, t) = (v[0], v[1]);
            let loss = if log_input {
                x.exp() - t * x
            } else {
                x - t * (x + eps).log()
            };
            if !full {
                return loss;
            }
            let stirling = t * t.log() - t + (t * TAU).log() * 0.5;
            loss + t.gt(t.one()).pick(stirling, t.zero())
        })
    }

    /// `(log v + (x - t)² / v) / 2` with a variance of at least `eps`; `full` adds the constant of
    /// the normal density. The variance has the shape of the numbers, or one less dimension.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target, one) = (Tensor::new([1.0])?, Tensor::new([3.0])?, Tensor::new([1.0])?);
    /// let loss = x.gaussian_nll_loss(&target, &one, false, 1e-6, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 2.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn gaussian_nll_loss(
        &self,
        target: &Self,
        variance: &Self,
        full: bool,
        eps: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        if let Some((x, target, variance)) = gathered((self, target, variance))? {
            return x.gaussian_nll_loss(&target, &variance, full, eps, reduction);
        }
        let row = &GAUSSIAN_NLL_LOSS;
        let sizes = &self.shape()[..];
        let given = &variance.shape()[..];
        let variance = match sizes.split_last() {
            _ if given == sizes || given.is_empty() => variance.clone(),
            Some((_, outer)) if given == outer => variance.unsqueeze(-1)?,
            Some((_, outer)) if given.split_last() == Some((&1, outer)) => variance.clone(),
            _ => {
                let accepted = format!("{sizes:?}, or the same without the last size");
                return Err(wrong_shape(row.name, "var", variance, accepted));
            }
        };
        call::expected_dtype(row, variance.dtype())?;
        let (about, range) = (("var", "0 and above"), 0.0..=f64::INFINITY);
        // Where it is not known, variances are lifted, which changes none that is large enough.
        let is_small = check_range(row.name, &variance, about, range, eps)? != Some(true);
        let (fixed, mut operands) = (variance.detach(), vec![self, target, &variance]);
        if is_small {
            operands.push(&fixed);
        }
        reduce_formula(row, &operands, reduction, |v| {
            // What lifts small variances is no part of the gradient.
            let spread = v.get(3).map_or(v[2], |fixed| {
                fixed.lt(fixed.lit(eps)).pick(v[2] - *fixed + eps, v[2])
            });
            let loss = (spread.log() + (v[0] - v[1]).square() / spread) * 0.5;
            if full { loss + 0.5 * TAU.ln() } else { loss }
        })
    }

    /// The number where the target is 1, and `max(0, margin - x)` where it is -1.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, target) = (Tensor::new([0.5, 0.25])?, Tensor::new([1.0, -1.0])?);
    /// let loss = x.hinge_embedding_loss(&target, 1.0, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 1.25);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn hinge_embedding_loss(
        &self,
        target: &Self,
        margin: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        reduce_formula(&HINGE_EMBEDDING_LOSS, &[self, target], reduction, |v| {
            let (x, t) = (v[0], v[1]);
            let apart = t.ne(t.one()).pick(above(margin - x, 0.0), x.zero());
            let alike = t.ne(t.lit(-1.0)).pick(x, x.zero());
            apart + alike
        })
    }

    /// `max(0, -t (x - y) + margin)`: where the target is 1, the first number should be the greater.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let (x, y) = (Tensor::new([1.0])?, Tensor::new([3.0])?);
    /// let loss = x.margin_ranking_loss(&y, &Tensor::new([1.0])?, 0.5, LossReduction::Sum)?;
    /// assert_eq!(loss.to_scalar::<f64>()?, 2.5);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn margin_ranking_loss(
        &self,
        other: &Self,
        target: &Self,
        margin: f64,
        reduction: LossReduction,
    ) -> Result<Self, Error> {
        let row = &MARGIN_RANKING_LOSS;
        reduce_formula(row, &[self, other, target], reduction, |v| {
            above(-v[2] * (v[0] - v[1]) + margin, 0.0)
        })
    }

    /// `log(1 + e^(-t x))`, without overflow; of complex numbers with an imaginary part from -π to π.
    ///
    /// ```
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// let loss = Tensor::new([0.0])?.soft_margin_loss(&Tensor::new([1.0])?, LossReduction::Sum)?;
    /// assert!((loss.to_scalar::<f64>()? - std::f64::consts::LN_2).abs() < 1e-15);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    pub fn soft_margin_loss(&self, target: &Self, reduction: LossReduction) -> Result<Self, Error> {
        reduce_formula(&SOFT_MARGIN_LOSS, &[self, target], reduction, |v| {
            let z = v[0] * v[1];
            match z.dtype().is_complex() {
                true => log_one_plus_exp(-z),
                false => -z.log_sigmoid(),
            }
        })
    }
}
