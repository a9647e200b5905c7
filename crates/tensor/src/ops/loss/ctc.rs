//! `ctc_loss`: the probability that a sequence of classes and blanks spells a shorter one.
//!
//! All ways to spell a target are summed from the first step of time to the last, over its classes
//! with a blank before, between and after them, in logarithms and in float64.

use crate::host::memory::{try_collect, try_vec};
use crate::transfer::gathered;
use allotrope_dtype::{Bool8, DType, Error, Problem, Set};
use allotrope_op::structured::neural::CTC_LOSS;
use allotrope_op::{Builder, Op, Program};

use super::LossReduction;
use crate::autograd::with_rule_of;
use crate::elementwise::evaluate_one;
use crate::ops::indexing::{Indices, Negative, chooser_beside};
use crate::ops::operands::{Working, signed, wrong_shape};
use crate::{Operand, Tensor};

/// The logarithm of a probability of zero: finite, so that no difference of two is NaN.
const NEVER: f64 = -1e30;

impl Tensor {
    /// The negated logarithm of the probability that steps `[time, batch, classes]` of logarithms of
    /// probabilities spell the targets, with blanks and repetitions left out; `[time, classes]` is
    /// one item. Targets are `[batch, length]` or one after the other, in any integer dtype. The
    /// mean divides each loss by the length of its target first. A target that so few steps cannot
    /// spell has an infinite loss, or none with `zero_infinity`.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{LossReduction, Tensor};
    /// // Two steps, a blank and one class, each as probable: three of four sequences spell it.
    /// let steps = Tensor::full(&[2, 1, 2], 0.5_f64.ln(), DType::F64)?;
    /// let target = Tensor::ones(&[1, 1], DType::U8)?;
    /// let loss = steps.ctc_loss(&target, &[2], &[1], 0, LossReduction::Sum, false)?;
    /// assert!((loss.to_vec::<f64>()?[0] + 0.75_f64.ln()).abs() < 1e-12);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or targets that are not integers, an index error for a class
    /// that there is not, a value error for shapes and lengths that do not fit, a memory error.
    pub fn ctc_loss(
        &self,
        targets: &Self,
        input_lengths: &[i64],
        target_lengths: &[i64],
        blank: i64,
        reduction: LossReduction,
        zero_infinity: bool,
    ) -> Result<Self, Error> {
        if let Some((x, targets)) = gathered((self, targets))? {
            return x.ctc_loss(
                &targets,
                input_lengths,
                target_lengths,
                blank,
                reduction,
                zero_infinity,
            );
        }
        let op = CTC_LOSS.name;
        if self.rank() == 2 {
            let loss = self.unsqueeze(1)?.ctc_loss(
                &targets.reshape(&[-1])?,
                input_lengths,
                target_lengths,
                blank,
                reduction,
                zero_infinity,
            )?;
            return loss.reshape(&[]);
        }
        let working = Working::of(&CTC_LOSS, &[self])?;
        let [time, batch, classes] = self.shape()[..] else {
            let accepted = "[time, batch, classes] or [time, classes]";
            return Err(wrong_shape(op, "log_probs", self, accepted));
        };
        check_class(blank, classes)?;
        check_lengths("input length", input_lengths, batch, time)?;
        let targets = &*chooser_beside(targets, self)?;
        let labels = Labels::new(targets, target_lengths, batch, classes, blank)?;
        let width = labels.width;
        let emitted = self
            .to(working.result)?
            .gather(2, &labels.classes.expand(&[time, batch, width])?)?;
        let steps = steps_of(&emitted)?;
        let skips = labels.skips;
        let lengths = self.new_from_slice(input_lengths, &[batch, 1])?;
        let wide = working.wide(self).compute;
        let before = self.new_full(&[batch, 2], NEVER, wide)?;
        let step = step_program(emitted.dtype(), wide);
        let first = first_program(emitted.dtype(), wide);
        let state = self.new_from_slice(&labels.start, &[batch, width])?;
        let mut state = state.to(wide)?;
        for (t, emission) in steps.iter().enumerate() {
            let runs = lengths.gt(t as i64)?;
            state = if t == 0 {
                evaluate_one(op, &first, &[&state, emission, &runs])?
            } else {
                let padded = Self::cat(&[&before, &state], 1)?;
                let one = padded.narrow(1, 1, width)?;
                let two = padded.narrow(1, 0, width)?;
                evaluate_one(op, &step, &[&state, &one, &two, &skips, emission, &runs])?
            };
        }
        let ends = |places: &[i64]| {
            let places = self.new_from_slice(places, &[batch, 1])?;
            state.gather(1, &places)?.squeeze(Some(&[1]))
        };
        // A target without classes ends in its only blank.
        let empty = target_lengths
            .iter()
            .map(|length| Bool8::from(*length == 0));
        let empty: Vec<Bool8> = try_collect(op, empty)?;
        let empty = self.new_from_slice(&empty, &[batch])?;
        let class = choose(&empty, NEVER, &ends(&labels.ends[1])?)?;
        let total = ends(&labels.ends[0])?.logaddexp(&class)?;
        let never: Vec<Bool8> = try_collect(
            op,
            input_lengths
                .iter()
                .zip(target_lengths)
                .map(|(input, target)| Bool8::from(*input == 0 && *target > 0)),
        )?;
        let never = self.new_from_slice(&never, &[batch])?;
        let never = never.logical_or(&total.le(NEVER / 10.0)?)?;
        let worst = if zero_infinity { 0.0 } else { f64::INFINITY };
        let losses = choose(&never, worst, &total.neg()?)?;
        if reduction == LossReduction::Mean {
            let lengths: Vec<f64> =
                try_collect(op, target_lengths.iter().map(|l| (*l).max(1) as f64))?;
            let lengths = self.new_from_slice(&lengths, &[batch])?.to(wide)?;
            let losses = losses.div(&lengths)?;
            return reduction.of_wide(&losses, batch as f64, working.result);
        }
        reduction.of_wide(&losses, batch as f64, working.result)
    }
}

/// A number where a mask is true, else what stands there.
fn choose(mask: &Tensor, number: f64, other: &Tensor) -> Result<Tensor, Error> {
    let operands: [Operand<'_>; 3] = [mask.into(), number.into(), other.into()];
    Tensor::apply(Op::Where, &operands)
}

/// The steps of a tensor along its first dimension, whose gradients come back together.
fn steps_of(x: &Tensor) -> Result<Vec<Tensor>, Error> {
    let plain = x.detach();
    let steps = (0..x.shape()[0]).map(|t| plain.select(0, t as isize));
    let steps = steps.collect::<Result<_, Error>>()?;
    let count = x.shape()[0];
    let steps = with_rule_of(CTC_LOSS.name, &[x], steps, move |pass| {
        let gradients = (0..count).map(|t| pass.gradient_of(t));
        let gradients = gradients.collect::<Result<Vec<_>, Error>>()?;
        let all = Tensor::stack(&gradients.iter().collect::<Vec<_>>(), 0)?;
        Ok(smallvec::smallvec![Some(all)])
    })?;
    Ok(steps.into_vec())
}

/// One step: stay, come from the place before, or from the one before that, and emit.
fn step_program(emission: DType, wide: DType) -> Program {
    let builder = Builder::new(&[wide, wide, wide, DType::Bool, emission, DType::Bool]);
    let (state, one, two) = (builder.input(0), builder.input(1), builder.input(2));
    let two = builder.input(3).pick(two, two.lit(NEVER));
    let emission = builder.input(4).to(wide);
    let emission = emission.maximum(emission.lit(NEVER));
    let next = state.logaddexp(one).logaddexp(two) + emission;
    builder.finish(&[builder.input(5).pick(next, state)])
}

/// The first step, which only emits.
fn first_program(emission: DType, wide: DType) -> Program {
    let builder = Builder::new(&[wide, emission, DType::Bool]);
    let (state, emission) = (builder.input(0), builder.input(1).to(wide));
    let next = state + emission.maximum(emission.lit(NEVER));
    builder.finish(&[builder.input(2).pick(next, state)])
}

/// Targets with blanks around their classes, a line of `width` places each.
struct Labels {
    width: usize,
    classes: Tensor,
    /// Whether a place may follow the one two before: neither a blank nor a repetition.
    skips: Tensor,
    /// The logarithm of how probable each place is before the first step.
    start: Vec<f64>,
    /// The last blank of each line, and the last class.
    ends: [Vec<i64>; 2],
}

impl Labels {
    fn new(
        targets: &Tensor,
        lengths: &[i64],
        batch: usize,
        classes: usize,
        blank: i64,
    ) -> Result<Self, Error> {
        let op = CTC_LOSS.name;
        if !Set::Integer.contains(targets.dtype()) {
            let hint = Some("x.to(int64)");
            return Err(Error::not_in_set(op, targets.dtype(), Set::Integer, hint));
        }
        let longest = match targets.shape()[..] {
            [_] => targets.count(),
            [given, longest] if given == batch => longest,
            _ => {
                let accepted = format!("[{batch}, length], or one dimension");
                return Err(wrong_shape(op, "targets", targets, accepted));
            }
        };
        check_lengths("target length", lengths, batch, longest)?;
        let total: i64 = lengths.iter().sum();
        if targets.rank() == 1 && total as usize != targets.count() {
            let accepted = format!("[{total}], as the lengths have it");
            return Err(wrong_shape(op, "targets", targets, accepted));
        }
        let most = lengths.iter().max().map_or(0, |most| *most as usize);
        let width = 2 * most + 1;
        let mut places = try_vec(op, batch * most, 0_i64)?;
        let mut used = try_vec(op, batch * most, Bool8::from(false))?;
        let mut start = try_vec(op, batch * width, NEVER)?;
        let mut ends = [Vec::new(), Vec::new()];
        let mut begin = 0;
        for (item, length) in lengths.iter().enumerate() {
            let length = *length as usize;
            let line = item * most..item * most + length;
            for (place, index) in places[line.clone()].iter_mut().zip(begin..) {
                *place = index as i64;
            }
            used[line].fill(Bool8::from(true));
            begin += if targets.rank() == 1 { length } else { longest };
            let first = item * width..(item + 1) * width;
            let possible = if length > 0 { 2 } else { 1 };
            for start in start[first].iter_mut().take(possible) {
                *start = 0.0;
            }
            let last = 2 * length as i64;
            ends[0].push(last);
            ends[1].push((last - 1).max(0));
        }
        // Of targets only the device has to know the values.
        let lines = [batch, most];
        let (classes, skips) = if most == 0 {
            let blanks = targets.new_full(&[batch, 1], blank, DType::I64)?;
            (blanks, targets.new_full(&[batch, 1], false, DType::Bool)?)
        } else {
            let used = targets.new_from_slice(&used, &lines)?;
            let places = targets.new_from_slice(&places, &[batch * most])?;
            let given = targets.detach().to(DType::I64)?.ravel()?;
            let given = given.index_select(0, &places)?.reshape(&signed(&lines))?;
            let given = used.where_(&given, blank)?;
            let known = Indices::new(op, &given, 2, classes, Negative::Refuse)?.into_tensor();
            let after = known.narrow(1, 1, most - 1)?;
            let differs = after.ne(&known.narrow(1, 0, most - 1)?)?;
            let first = used.narrow(1, 0, 1)?.zeros_like()?;
            let skips = Tensor::cat(&[&first, &differs], 1)?.logical_and(&used)?;
            let blanks = known.full_like(blank)?;
            (
                between(&known, &blanks, width)?,
                between(&skips, &skips.zeros_like()?, width)?,
            )
        };
        Ok(Self {
            width,
            classes,
            skips,
            start,
            ends,
        })
    }
}

/// Lines with the elements of others, all alike, before, between and after theirs.
fn between(lines: &Tensor, others: &Tensor, width: usize) -> Result<Tensor, Error> {
    let batch = lines.shape()[0];
    let pairs = Tensor::stack(&[others, lines], 2)?.reshape(&signed(&[batch, width - 1]))?;
    Tensor::cat(&[&pairs, &others.narrow(1, 0, 1)?], 1)
}

/// Refuses lengths that are not one per item, or out of range.
fn check_lengths(
    what: &'static str,
    lengths: &[i64],
    batch: usize,
    most: usize,
) -> Result<(), Error> {
    let op = CTC_LOSS.name;
    if lengths.len() != batch {
        let (from, to) = (lengths.len(), batch);
        return Err(Error::new(op, Problem::LengthMismatch { from, to }));
    }
    let wrong = |length: &i64| usize::try_from(*length).map_or(true, |length| length > most);
    match lengths.iter().position(wrong) {
        None => Ok(()),
        Some(index) => {
            let problem = Problem::OutOfRange {
                what,
                index: Some(index),
                value: lengths[index].to_string(),
                accepted: "0 to what the tensor has",
            };
            Err(Error::new(op, problem))
        }
    }
}

/// Refuses a class that there is not.
fn check_class(class: i64, classes: usize) -> Result<(), Error> {
    if usize::try_from(class).is_ok_and(|class| class < classes) {
        return Ok(());
    }
    let problem = Problem::IndexOutOfRange {
        index: class as isize,
        dim: 2,
        size: classes,
    };
    Err(Error::new(CTC_LOSS.name, problem))
}
