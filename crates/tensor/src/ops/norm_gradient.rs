//! The gradients of normalisations, from the operand alone: mean and deviation are measured again,
//! so that nothing of the size of the operand is saved beside it.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::{ChannelNorm, Norm, Rowwise};
use allotrope_op::task::{Output, Task};
use allotrope_op::{Builder, Fold, Shape, Var};
use smallvec::SmallVec;

use super::norm::{BatchNorm, BatchNormOptions, Statistics, around_channels, rounded, with_terms};
use super::operands::{Working, signed};
use crate::Tensor;
use crate::autograd::{Gradients, is_recorded};
use crate::device::perform_here;
use crate::elementwise::evaluate_one;
use crate::reduce::Plan;

/// A normalisation over the last dimensions that remembers its operands.
pub(super) fn recorded_last(
    op: &'static str,
    working: Working,
    x: &Tensor,
    sizes: &[usize],
    affine: [Option<&Tensor>; 2],
    eps: f64,
    centers: bool,
) -> Result<Tensor, Error> {
    let plain = affine.map(|term| term.map(Tensor::detach));
    let plain = [plain[0].as_ref(), plain[1].as_ref()];
    let result = x.detach();
    let result = result.normalize_last(op, working, sizes, plain, eps, centers)?;
    let last = sizes.len() as isize;
    let count = sizes.iter().product();
    let norm = Normalized {
        op,
        working,
        view: signed(x.shape()),
        term: signed(sizes),
        axes: (-last..0).collect(),
        within: Vec::new(),
        outer: (-(x.rank() as isize)..-last).collect(),
        lines: Some([count, count, 1]),
        channels: None,
        given: None,
        centers,
        eps,
    };
    norm.remember(result, x, affine)
}

/// A normalisation of groups of channels that remembers its operands.
pub(super) fn recorded_groups(
    op: &'static str,
    working: Working,
    x: &Tensor,
    groups: Option<usize>,
    affine: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<Tensor, Error> {
    let plain = affine.map(|term| term.map(Tensor::detach));
    let plain = [plain[0].as_ref(), plain[1].as_ref()];
    let result = x.detach();
    let result = result.normalize_groups(op, working, groups, plain, eps)?;
    let (items, channels) = (x.shape()[0], x.shape()[1]);
    let groups = groups.unwrap_or(channels.max(1));
    let of_group = channels / groups;
    let spatial: usize = x.shape()[2..].iter().product();
    let norm = Normalized {
        op,
        working,
        view: signed(&[items, groups, of_group, spatial]),
        term: signed(&[groups, of_group, 1]),
        axes: vec![2, 3],
        within: vec![3],
        outer: vec![0],
        lines: Some([of_group * spatial, channels, spatial.max(1)]),
        channels: None,
        given: None,
        centers: true,
        eps,
    };
    norm.remember(result, x, affine)
}

/// A normalisation over a batch, which is measured, that remembers its operands.
pub(super) fn recorded_batch(
    op: &'static str,
    working: Working,
    x: &Tensor,
    options: BatchNormOptions<'_>,
) -> Result<BatchNorm, Error> {
    let affine = [options.weight, options.bias];
    let plain = affine.map(|term| term.map(Tensor::detach));
    let options = BatchNormOptions {
        weight: plain[0].as_ref(),
        bias: plain[1].as_ref(),
        ..options
    };
    let (made, taken) = x
        .detach()
        .batch_norm_with_statistics(op, working, options)?;
    let given = match options.training {
        true => None,
        false => Some(Statistics::running(op, x, working, options.running)?),
    };
    let axes: Vec<isize> = (0..x.rank() as isize).filter(|dim| *dim != 1).collect();
    let mut term = vec![1; x.rank() - 1];
    term[0] = x.shape()[1] as isize;
    let norm = Normalized {
        op,
        working,
        view: signed(x.shape()),
        term,
        within: axes.clone(),
        axes,
        outer: Vec::new(),
        lines: None,
        channels: taken,
        given,
        centers: true,
        eps: options.eps,
    };
    let output = norm.remember(made.output, x, affine)?;
    Ok(BatchNorm { output, ..made })
}

/// What was normalised, and how.
struct Normalized {
    op: &'static str,
    working: Working,
    /// The sizes in which the operand is seen, and weight and bias beside it.
    view: Vec<isize>,
    term: Vec<isize>,
    /// The dimensions that have one mean and deviation.
    axes: Vec<isize>,
    /// Those of them along which weight and bias are the same.
    within: Vec<isize>,
    /// The others along which they are the same.
    outer: Vec<isize>,
    /// The length of lines in memory that have one mean and deviation, the number of weights, and how
    /// many neighbours share one; none where there are no such lines.
    lines: Option<[usize; 3]>,
    /// The mean and variance of each channel, where channels were normalised by their kernel.
    channels: Option<Statistics>,
    /// Mean and variance that were given: they do not depend on the operand.
    given: Option<Statistics>,
    centers: bool,
    eps: f64,
}

/// An operand as it was seen, with what was measured.
struct Seen {
    x: Tensor,
    gradient: Tensor,
    mean: Tensor,
    /// One over the deviation.
    scale: Tensor,
    weight: Tensor,
}

impl Normalized {
    /// The result with its rule.
    fn remember(
        self,
        result: Tensor,
        x: &Tensor,
        affine: [Option<&Tensor>; 2],
    ) -> Result<Tensor, Error> {
        let (operand, weight) = (x.clone(), affine[0].cloned());
        let has_bias = affine[1].is_some();
        let sizes = affine.iter().flatten().next();
        let sizes = sizes.map(|term| signed(term.shape())).unwrap_or_default();
        result.with_rule(self.op, &with_terms(x, affine), move |pass| {
            let mut places = 1..;
            let for_weight = weight.as_ref().and_then(|_| places.next());
            let for_bias = has_bias.then(|| places.next()).flatten();
            let wants = |place: Option<usize>| place.is_some_and(|place| pass.wants(place));
            let wanted = [pass.wants(0), wants(for_weight), wants(for_bias)];
            let gradient = pass.gradient()?;
            let made = self.by_kernel(&operand, weight.as_ref(), &gradient, wanted)?;
            let [of_x, of_weight, of_bias] = match made {
                Some(made) => made,
                None => self.back(&self.see(gradient, &operand, weight.as_ref())?, wanted)?,
            };
            let shaped = |made: Option<Tensor>, sizes: &[isize]| {
                made.map(|made| made.reshape(sizes)).transpose()
            };
            let mut all: Gradients = SmallVec::new();
            all.push(shaped(of_x, &signed(operand.shape()))?);
            if for_weight.is_some() {
                all.push(shaped(of_weight, &sizes)?);
            }
            if for_bias.is_some() {
                all.push(shaped(of_bias, &sizes)?);
            }
            Ok(all)
        })
    }

    /// The gradients by a kernel of their own, unless they are recorded themselves or the device has
    /// none for lines so long.
    fn by_kernel(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        gradient: &Tensor,
        wanted: [bool; 3],
    ) -> Result<Option<[Option<Tensor>; 3]>, Error> {
        let is_weight_recorded = weight.is_some_and(|weight| is_recorded(&[weight]));
        if is_recorded(&[x, gradient]) || is_weight_recorded {
            return Ok(None);
        }
        let programs = [x, gradient].map(|tensor| self.working.reading(tensor.dtype()));
        let [program, of_gradient] = &programs;
        let affine = [weight.is_some(), false];
        let (task, count) = match (&self.channels, self.lines) {
            (Some(_), _) => {
                let norm = ChannelNorm {
                    program,
                    sizes: around_channels(x),
                    eps: self.eps,
                    affine,
                    given: self.given.is_some(),
                };
                let task = Rowwise::ChannelNormBackward {
                    norm,
                    gradient: of_gradient,
                    wanted,
                };
                (task, norm.sizes[1])
            }
            (None, Some([length, terms, period])) => {
                let norm = Norm {
                    program,
                    length,
                    centers: self.centers,
                    eps: self.eps,
                    affine,
                    period,
                };
                let task = Rowwise::NormBackward {
                    norm,
                    gradient: of_gradient,
                    terms,
                    wanted,
                };
                (task, terms)
            }
            (None, None) => return Ok(None),
        };
        let weight = rounded([weight, None], self.working)?;
        let taken = self.channels.as_ref();
        let taken = taken.map(|taken| [&taken.mean, &taken.variance]);
        let inputs: SmallVec<[&Tensor; 5]> = [x, gradient]
            .into_iter()
            .chain(taken.into_iter().flatten())
            .chain(&weight)
            .collect();
        let (result, wide) = (self.working.result, self.working.wide(x).compute);
        let terms = Shape::new(self.op, &[count])?;
        let each = [(result, x.shape()), (wide, &terms), (wide, &terms)];
        let asked = || each.iter().zip(wanted).filter(|(_, wanted)| *wanted);
        let outputs: SmallVec<[Output; 3]> = asked()
            .map(|((dtype, shape), _)| Output {
                dtype: *dtype,
                count: shape.count(),
            })
            .collect();
        let task = Task::Rowwise(task);
        let Some(made) = perform_here(self.op, &task, &inputs, &outputs)? else {
            return Ok(None);
        };
        let mut made = made.into_iter();
        let mut gradients = [None, None, None];
        for (((dtype, shape), wanted), gradient) in each.iter().zip(wanted).zip(&mut gradients) {
            if wanted {
                let memory = made.next().map(|made| made.memory);
                *gradient =
                    memory.map(|memory| Tensor::from_memory_of(memory, (*shape).clone(), *dtype));
            }
        }
        Ok(Some(gradients))
    }

    fn see(&self, gradient: Tensor, x: &Tensor, weight: Option<&Tensor>) -> Result<Seen, Error> {
        let Working { result, compute } = self.working;
        let x = x.reshape(&self.view)?;
        let measured = match &self.given {
            Some(given) => given.clone(),
            None => Statistics::measure(self.op, &x, self.working, &self.axes, self.centers)?,
        };
        let weight = match weight {
            Some(weight) => weight.reshape(&self.term)?.to(result)?.to(compute)?,
            None => x.new_full(&[], 1, compute)?,
        };
        Ok(Seen {
            gradient: gradient.reshape(&self.view)?,
            mean: measured.mean.to(compute)?,
            scale: measured.variance.add(self.eps)?.rsqrt()?.to(compute)?,
            weight,
            x,
        })
    }

    /// The gradients of operand, weight and bias. With `n` the normalised numbers, that of the
    /// operand is `(g w - mean(g w) - n mean(g w n)) / deviation`.
    fn back(&self, seen: &Seen, wanted: [bool; 3]) -> Result<[Option<Tensor>; 3], Error> {
        let [wants_x, wants_weight, wants_bias] = wanted;
        let whole = Plan::new(self.op, &seen.x, Some(&self.axes))?;
        let count = whole.count() as f64;
        // Where weights are the same along dimensions, one sum along these serves all.
        let is_shared = !self.within.is_empty();
        let narrow = if is_shared { &self.within } else { &self.outer };
        let partial = |wanted: bool, normalized: bool| {
            if !wanted {
                return Ok(None);
            }
            self.sum(seen, narrow, |g, n, _| if normalized { g * n } else { g })
                .map(Some)
        };
        let depends = wants_x && self.given.is_none();
        let plain = partial(wants_bias || (is_shared && depends && self.centers), false)?;
        let along = partial(wants_weight || (is_shared && depends), true)?;
        let of_x = if wants_x && !depends {
            let (scale, weight) = (&seen.scale, &seen.weight);
            let made = seen.gradient.to(self.working.compute)?.mul(weight)?;
            Some(made.mul(scale)?.to(self.working.result)?)
        } else if wants_x {
            let mean =
                |partial: &Option<Tensor>, normalized: bool| -> Result<Tensor, Error> {
                    let total =
                        match partial {
                            Some(partial) if is_shared => {
                                let weighted = partial.mul(&seen.weight)?;
                                weighted.sum(Some(&self.axes), true, None)?
                            }
                            _ => self.sum(seen, &self.axes, |g, n, w| {
                                if normalized { g * w * n } else { g * w }
                            })?,
                        };
                    total.div(count)?.to(self.working.compute)
                };
            let middle = if self.centers {
                mean(&plain, false)?
            } else {
                seen.x.new_full(&[], 0, self.working.compute)?
            };
            Some(self.combine(seen, &middle, &mean(&along, true)?)?)
        } else {
            None
        };
        let finish = |partial: Option<Tensor>, wanted: bool| match partial {
            Some(partial) if wanted && is_shared => {
                partial.sum(Some(&self.outer), true, None).map(Some)
            }
            partial => Ok(partial.filter(|_| wanted)),
        };
        Ok([
            of_x,
            finish(along, wants_weight)?,
            finish(plain, wants_bias)?,
        ])
    }

    fn dtypes(&self, seen: &Seen) -> [DType; 5] {
        let compute = self.working.compute;
        [
            seen.x.dtype(),
            seen.gradient.dtype(),
            compute,
            compute,
            compute,
        ]
    }

    /// The sum along dimensions of a formula of gradient, normalised number and weight, not rounded.
    fn sum(
        &self,
        seen: &Seen,
        axes: &[isize],
        formula: impl for<'b> Fn(Var<'b>, Var<'b>, Var<'b>) -> Var<'b>,
    ) -> Result<Tensor, Error> {
        let builder = Builder::new(&self.dtypes(seen));
        let x = self.working.read(builder.input(0));
        let gradient = self.working.read(builder.input(1));
        let normalized = (x - builder.input(2)) * builder.input(3);
        let program = builder.finish(&[formula(gradient, normalized, builder.input(4))]);
        let plan = Plan::new(self.op, &seen.x, Some(axes))?;
        let Seen {
            x,
            gradient,
            mean,
            scale,
            weight,
        } = seen;
        let inputs = [x, gradient, mean, scale, weight];
        let shape: &Shape = seen.x.shape();
        plan.fold(self.op, Fold::Sum, &program, &inputs, shape)
    }

    /// The gradient of the operand from two means.
    fn combine(&self, seen: &Seen, middle: &Tensor, along: &Tensor) -> Result<Tensor, Error> {
        let compute = self.working.compute;
        let dtypes: Vec<DType> = [&self.dtypes(seen)[..], &[compute, compute]].concat();
        let builder = Builder::new(&dtypes);
        let x = self.working.read(builder.input(0));
        let gradient = self.working.read(builder.input(1));
        let scale = builder.input(3);
        let normalized = (x - builder.input(2)) * scale;
        let away = gradient * builder.input(4) - builder.input(5);
        let value = (away - normalized * builder.input(6)) * scale;
        let program = builder.finish(&[value.to(self.working.result)]);
        let Seen {
            x,
            gradient,
            mean,
            scale,
            weight,
        } = seen;
        evaluate_one(
            self.op,
            &program,
            &[x, gradient, mean, scale, weight, middle, along],
        )
    }
}
