//! Normalisation over dimensions: layers, groups, instances, batches.

use allotrope_dtype::Error;
use allotrope_op::structured::neural::{
    BATCH_NORM, GROUP_NORM, INSTANCE_NORM, LAYER_NORM, RMS_NORM,
};
use allotrope_op::task::rowwise::{ChannelNorm, Norm, Rowwise};
use allotrope_op::task::{Output, Task};
use allotrope_op::{Builder, Fold, Shape, sizes_around};
use smallvec::SmallVec;

use super::norm_gradient::{recorded_batch, recorded_groups, recorded_last};
use super::operands::{Working, out_of_range, signed, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::{perform_here, perform_or};
use crate::elementwise::evaluate_one;
use crate::reduce::Plan;
use crate::transfer::gathered;

/// What a normalisation over a batch gives.
///
/// ```
/// use allotrope_tensor::{BatchNormOptions, Tensor};
/// let options = BatchNormOptions { training: true, eps: 0.0, ..Default::default() };
/// let x = Tensor::new([[1.0], [3.0]])?;
/// assert_eq!(x.batch_norm(options)?.output, Tensor::new([[-1.0], [1.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// The normalised numbers.
    pub output: Tensor,
    /// The new running mean and variance, if there were any and the batch was measured.
    pub running: Option<(Tensor, Tensor)>,
}

/// How a batch is normalised.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormOptions<'a> {
    /// The running mean and variance, one number per channel.
    pub running: Option<(&'a Tensor, &'a Tensor)>,
    /// A factor per channel.
    pub weight: Option<&'a Tensor>,
    /// A summand per channel.
    pub bias: Option<&'a Tensor>,
    /// Whether the batch itself is measured, instead of the running numbers being used.
    pub training: bool,
    /// The share of the batch in the new running numbers.
    pub momentum: f64,
    /// What is added to the variance.
    pub eps: f64,
}

/// Torch's: running numbers are used, momentum is 0.1, and 1e-5 is added.
impl Default for BatchNormOptions<'_> {
    fn default() -> Self {
        Self {
            running: None,
            weight: None,
            bias: None,
            training: false,
            momentum: 0.1,
            eps: 1e-5,
        }
    }
}

impl BatchNormOptions<'_> {
    /// The norm of a batch with its operands, if some of them were free to follow the others.
    fn follow(
        &self,
        x: &Tensor,
        norm: impl FnOnce(&Tensor, BatchNormOptions<'_>) -> Result<BatchNorm, Error>,
    ) -> Result<Option<BatchNorm>, Error> {
        let (mean, variance) = self.running.unzip();
        let operands = (x, mean, variance, self.weight, self.bias);
        let Some((x, mean, variance, weight, bias)) = gathered(operands)? else {
            return Ok(None);
        };
        let options = BatchNormOptions {
            running: mean.as_ref().zip(variance.as_ref()),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            ..*self
        };
        norm(&x, options).map(Some)
    }
}

impl Tensor {
    /// The last dimensions brought to mean 0 and variance 1, times `weight` plus `bias`, which have
    /// their sizes. Mean and variance are formed in float32 or wider whatever the dtype.
    ///
    /// ```
    /// use allotrope_dtype::{DType, f16};
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::full(&[2, 4], 60000.0, DType::F16)?;
    /// let y = x.layer_norm(&[4], None, None, 1e-5)?;
    /// assert_eq!(y.to_vec::<f16>()?, [f16::from_f32(0.0); 8]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or where promotion refuses, a value error if the sizes are
    /// not those of the last dimensions, a memory error.
    pub fn layer_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self, Error> {
        if let Some((x, weight, bias)) = gathered((self, weight, bias))? {
            return x.layer_norm(normalized_shape, weight.as_ref(), bias.as_ref(), eps);
        }
        let affine = [weight, bias];
        let working = Working::of(&LAYER_NORM, &with_terms(self, affine))?;
        let op = LAYER_NORM.name;
        self.normalize_last(op, working, normalized_shape, affine, eps, true)
    }

    /// The last dimensions divided by the root of their mean square plus `eps` (that of the dtype if
    /// there is none), times `weight`. The squares of complex numbers are complex, as torch's are.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[3.0, 3.0]])?;
    /// assert_eq!(x.rms_norm(&[2], None, Some(0.0))?, Tensor::new([[1.0, 1.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm), but for complex numbers.
    pub fn rms_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Self>,
        eps: Option<f64>,
    ) -> Result<Self, Error> {
        if let Some((x, weight)) = gathered((self, weight))? {
            return x.rms_norm(normalized_shape, weight.as_ref(), eps);
        }
        let working = Working::of(&RMS_NORM, &with_terms(self, [weight, None]))?;
        let real = working.result.to_real();
        let eps = eps.map_or_else(|| real.finfo().map(|info| info.eps), Ok)?;
        if working.result.is_complex() {
            return self.complex_rms_norm(working, normalized_shape, weight, eps);
        }
        let (op, affine) = (RMS_NORM.name, [weight, None]);
        self.normalize_last(op, working, normalized_shape, affine, eps, false)
    }

    /// `rms_norm` as recorded operations, for complex numbers.
    fn complex_rms_norm(
        &self,
        working: Working,
        sizes: &[usize],
        weight: Option<&Self>,
        eps: f64,
    ) -> Result<Self, Error> {
        let first = self.first_normalized(RMS_NORM.name, sizes, [weight, None])?;
        let axes: Vec<isize> = (first as isize..self.rank() as isize).collect();
        let x = self.to(working.result)?.to(working.compute)?;
        let wide = x.backend().wide(working.compute);
        let mean = x.square()?.mean(Some(&axes), true, Some(wide))?;
        let scaled = x.mul(&mean.add(eps)?.rsqrt()?.to(working.compute)?)?;
        let scaled = match weight {
            Some(weight) => scaled.mul(&weight.to(working.result)?.to(working.compute)?)?,
            None => scaled,
        };
        scaled.to(working.result)
    }

    /// The first of the last dimensions, which must have these sizes, as the terms must.
    fn first_normalized(
        &self,
        op: &'static str,
        sizes: &[usize],
        affine: [Option<&Self>; 2],
    ) -> Result<usize, Error> {
        let first = self.rank().checked_sub(sizes.len());
        let Some(first) =
            first.filter(|first| !sizes.is_empty() && self.shape()[*first..] == *sizes)
        else {
            let accepted = format!("one that ends in {sizes:?}");
            return Err(wrong_shape(op, "input", self, accepted));
        };
        for (what, term) in ["weight", "bias"].into_iter().zip(affine) {
            if let Some(term) = term.filter(|term| term.shape()[..] != *sizes) {
                return Err(wrong_shape(op, what, term, format!("{sizes:?}")));
            }
        }
        Ok(first)
    }

    pub(super) fn normalize_last(
        &self,
        op: &'static str,
        working: Working,
        sizes: &[usize],
        affine: [Option<&Self>; 2],
        eps: f64,
        centers: bool,
    ) -> Result<Self, Error> {
        if is_recorded(&with_terms(self, affine)) {
            return recorded_last(op, working, self, sizes, affine, eps, centers);
        }
        let first = self.first_normalized(op, sizes, affine)?;
        let length = Shape::new(op, sizes)?.count();
        let x = self.contiguous()?;
        let lines = Lines {
            length,
            terms: length,
            period: 1,
            centers,
            eps,
        };
        lines.normalize(op, &x, working, affine, || {
            let axes: Vec<isize> = (first as isize..self.rank() as isize).collect();
            let statistics = Statistics::measure(op, &x, working, &axes, centers)?;
            statistics.apply(op, &x, working, affine, eps)
        })
    }

    /// Groups of neighbouring channels (dimension 1) brought to mean 0 and variance 1, item by item;
    /// then times `weight` plus `bias`, one number per channel.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[[1.0], [3.0]]])?;
    /// assert_eq!(x.group_norm(1, None, None, 0.0)?, Tensor::new([[[-1.0], [1.0]]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a number of groups that does not divide the channels, and otherwise as
    /// [`layer_norm`](Self::layer_norm).
    pub fn group_norm(
        &self,
        num_groups: usize,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self, Error> {
        if let Some((x, weight, bias)) = gathered((self, weight, bias))? {
            return x.group_norm(num_groups, weight.as_ref(), bias.as_ref(), eps);
        }
        let affine = [weight, bias];
        let working = Working::of(&GROUP_NORM, &with_terms(self, affine))?;
        self.normalize_groups(GROUP_NORM.name, working, Some(num_groups), affine, eps)
    }

    pub(super) fn normalize_groups(
        &self,
        op: &'static str,
        working: Working,
        groups: Option<usize>,
        affine: [Option<&Self>; 2],
        eps: f64,
    ) -> Result<Self, Error> {
        if is_recorded(&with_terms(self, affine)) {
            return recorded_groups(op, working, self, groups, affine, eps);
        }
        let channels = channels(op, self, affine)?;
        let groups = groups.unwrap_or(channels.max(1));
        if groups == 0 || !channels.is_multiple_of(groups) {
            let accepted = "divisors of the number of channels";
            return Err(out_of_range(op, "number of groups", groups, accepted));
        }
        let x = self.contiguous()?;
        let items = self.shape()[0];
        let spatial: usize = self.shape()[2..].iter().product();
        let lines = Lines {
            length: x.count() / (items * groups).max(1),
            terms: channels,
            period: spatial.max(1),
            centers: true,
            eps,
        };
        lines.normalize(op, &x, working, affine, || {
            let view = [items, groups, channels / groups, spatial];
            let view = x.reshape(&signed(&view))?;
            let term = |term: Option<&Self>| {
                let sizes = [groups as isize, (channels / groups) as isize, 1];
                term.map(|term| term.reshape(&sizes)).transpose()
            };
            let affine = [term(affine[0])?, term(affine[1])?];
            let statistics = Statistics::measure(op, &view, working, &[2, 3], true)?;
            let affine = [affine[0].as_ref(), affine[1].as_ref()];
            let result = statistics.apply(op, &view, working, affine, eps)?;
            result.reshape(&signed(self.shape()))
        })
    }

    /// Each channel (dimension 1) brought to mean 0 and variance 1 over the batch, or with the
    /// running mean and variance; then times a weight plus a bias. Running numbers stay as they are:
    /// the new ones are returned. No gradient goes to them.
    ///
    /// ```
    /// use allotrope_tensor::{BatchNormOptions, Tensor};
    /// let x = Tensor::new([[1.0], [3.0]])?;
    /// let training = BatchNormOptions { training: true, eps: 0.0, ..Default::default() };
    /// assert_eq!(x.batch_norm(training)?.output, Tensor::new([[-1.0], [1.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm); a value error for a batch of one number per channel, and
    /// without running numbers where they are needed.
    pub fn batch_norm(&self, options: BatchNormOptions<'_>) -> Result<BatchNorm, Error> {
        if let Some(norm) = options.follow(self, Self::batch_norm)? {
            return Ok(norm);
        }
        let affine = [options.weight, options.bias];
        let working = Working::of(&BATCH_NORM, &with_terms(self, affine))?;
        if self.shape()[..] == [0] {
            // Nothing, of no channels: torch takes it for an empty batch.
            let nothing = self.reshape(&[0, 0])?;
            let made = nothing.normalize_batch(BATCH_NORM.name, working, options)?;
            return Ok(BatchNorm {
                output: made.output.reshape(&[0])?,
                ..made
            });
        }
        self.normalize_batch(BATCH_NORM.name, working, options)
    }

    fn normalize_batch(
        &self,
        op: &'static str,
        working: Working,
        options: BatchNormOptions<'_>,
    ) -> Result<BatchNorm, Error> {
        if is_recorded(&with_terms(self, [options.weight, options.bias])) {
            return recorded_batch(op, working, self, options);
        }
        Ok(self.batch_norm_with_statistics(op, working, options)?.0)
    }

    /// `batch_norm`, not recorded, with the mean and variance that it took if a kernel told them.
    pub(super) fn batch_norm_with_statistics(
        &self,
        op: &'static str,
        working: Working,
        options: BatchNormOptions<'_>,
    ) -> Result<(BatchNorm, Option<Statistics>), Error> {
        let affine = [options.weight, options.bias];
        let channels = channels(op, self, affine)?;
        check_running(op, options.running, channels)?;
        let given = match options.training {
            true => None,
            false => Some(Statistics::running(op, self, working, options.running)?),
        };
        let count = self.count() / channels.max(1);
        if given.is_none() && count == 1 {
            return Err(out_of_range(op, "numbers per channel", count, "2 and more"));
        }
        let running = |statistics: &Statistics| {
            let updated = options.running.filter(|_| options.training).map(|running| {
                let flat = |x: &Self| x.reshape(&[channels as isize]);
                let (mean, variance) = (flat(&statistics.mean)?, flat(&statistics.variance)?);
                update(running, &mean, &variance, count, options.momentum)
            });
            updated.transpose()
        };
        let made = normalize_channels(op, self, working, affine, options.eps, given.as_ref())?;
        if let Some((output, taken)) = made {
            let running = running(&taken)?;
            return Ok((BatchNorm { output, running }, Some(taken)));
        }
        let terms = [per_channel(self, affine[0])?, per_channel(self, affine[1])?];
        let terms = [terms[0].as_ref(), terms[1].as_ref()];
        let axes: Vec<isize> = (0..self.rank() as isize).filter(|dim| *dim != 1).collect();
        let statistics = match given {
            Some(given) => given,
            None => Statistics::measure(op, self, working, &axes, true)?,
        };
        let output = statistics.apply(op, self, working, terms, options.eps)?;
        let running = running(&statistics)?;
        Ok((BatchNorm { output, running }, None))
    }

    /// Each channel of each item brought to mean 0 and variance 1, or with the running mean and
    /// variance; then times a weight plus a bias.
    ///
    /// ```
    /// use allotrope_tensor::{BatchNormOptions, Tensor};
    /// let options = BatchNormOptions { training: true, eps: 0.0, ..Default::default() };
    /// let x = Tensor::new([[[1.0, 3.0]]])?;
    /// assert_eq!(x.instance_norm(options)?.output, Tensor::new([[[-1.0, 1.0]]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`batch_norm`](Self::batch_norm).
    pub fn instance_norm(&self, options: BatchNormOptions<'_>) -> Result<BatchNorm, Error> {
        if let Some(norm) = options.follow(self, Self::instance_norm)? {
            return Ok(norm);
        }
        let op = INSTANCE_NORM.name;
        let affine = [options.weight, options.bias];
        let working = Working::of(&INSTANCE_NORM, &with_terms(self, affine))?;
        let channels = channels(op, self, affine)?;
        check_running(op, options.running, channels)?;
        if !options.training {
            return self.normalize_batch(op, working, options);
        }
        let count: usize = self.shape()[2..].iter().product();
        if count <= 1 {
            return Err(out_of_range(op, "numbers per channel", count, "2 and more"));
        }
        let running = options.running.map(|running| {
            let axes: Vec<isize> = (2..self.rank() as isize).collect();
            let statistics = Statistics::measure(op, &self.detach(), working, &axes, true)?;
            // The mean over the items of what each would make of the running numbers.
            let over_items = |x: &Self| -> Result<Self, Error> {
                let sizes = [self.shape()[0] as isize, channels as isize];
                x.reshape(&sizes)?.mean(Some(&[0]), false, None)
            };
            let mean = over_items(&statistics.mean)?;
            let variance = over_items(&statistics.variance)?;
            update(running, &mean, &variance, count, options.momentum)
        });
        Ok(BatchNorm {
            output: self.normalize_groups(op, working, None, affine, options.eps)?,
            running: running.transpose()?,
        })
    }
}

/// The tensor with the terms that there are, for promotion.
pub(super) fn with_terms<'a>(x: &'a Tensor, terms: [Option<&'a Tensor>; 2]) -> Vec<&'a Tensor> {
    [Some(x)].into_iter().chain(terms).flatten().collect()
}

/// The number of channels, which the terms must have too.
fn channels(op: &'static str, x: &Tensor, terms: [Option<&Tensor>; 2]) -> Result<usize, Error> {
    if x.rank() < 2 {
        return Err(wrong_shape(op, "input", x, "one of two or more dimensions"));
    }
    let channels = x.shape()[1];
    for (what, term) in ["weight", "bias"].into_iter().zip(terms) {
        if let Some(term) = term.filter(|term| term.shape()[..] != [channels]) {
            return Err(wrong_shape(op, what, term, format!("[{channels}]")));
        }
    }
    Ok(channels)
}

fn check_running(
    op: &'static str,
    running: Option<(&Tensor, &Tensor)>,
    channels: usize,
) -> Result<(), Error> {
    let running =
        running.map(|(mean, variance)| [("running_mean", mean), ("running_var", variance)]);
    for (what, given) in running.into_iter().flatten() {
        if given.shape()[..] != [channels] {
            return Err(wrong_shape(op, what, given, format!("[{channels}]")));
        }
    }
    Ok(())
}

/// Numbers per channel in the place of dimension 1.
fn per_channel(x: &Tensor, term: Option<&Tensor>) -> Result<Option<Tensor>, Error> {
    let mut sizes = vec![1; x.rank()];
    sizes[1] = -1;
    term.map(|term| term.reshape(&sizes)).transpose()
}

/// The new running numbers; the variance of a batch is that of a sample.
fn update(
    (mean, variance): (&Tensor, &Tensor),
    batch_mean: &Tensor,
    batch_variance: &Tensor,
    count: usize,
    momentum: f64,
) -> Result<(Tensor, Tensor), Error> {
    let sampled = batch_variance.mul(count as f64 / (count as f64 - 1.0))?;
    let mix = |old: &Tensor, new: &Tensor| -> Result<Tensor, Error> {
        let wide = old.detach().to(new.dtype())?;
        let mixed = wide.mul(1.0 - momentum)?.add(&new.mul(momentum)?)?;
        mixed.to(old.dtype())
    };
    Ok((mix(mean, batch_mean)?, mix(variance, &sampled)?))
}

/// Lines in memory that have one mean and deviation each.
struct Lines {
    length: usize,
    /// How many weights and biases there are, if any.
    terms: usize,
    /// Neighbours that share one.
    period: usize,
    centers: bool,
    eps: f64,
}

impl Lines {
    /// A contiguous tensor normalised by the kernel of its device, or in passes over all lines.
    fn normalize(
        &self,
        op: &'static str,
        x: &Tensor,
        working: Working,
        affine: [Option<&Tensor>; 2],
        in_passes: impl FnOnce() -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        let program = working.reading(x.dtype());
        let terms = rounded(affine, working)?;
        let task = Task::Rowwise(Rowwise::Norm(Norm {
            program: &program,
            length: self.length,
            centers: self.centers,
            eps: self.eps,
            affine: affine.map(|term| term.is_some()),
            period: if terms.is_empty() {
                self.terms.max(1)
            } else {
                self.period
            },
        }));
        let inputs: SmallVec<[&Tensor; 3]> = [x].into_iter().chain(&terms).collect();
        perform_or(op, &task, &inputs, working.result, x.shape(), in_passes)
    }
}

/// The terms that there are, in the common dtype.
pub(super) fn rounded(
    terms: [Option<&Tensor>; 2],
    working: Working,
) -> Result<SmallVec<[Tensor; 2]>, Error> {
    let terms = terms.into_iter().flatten();
    terms.map(|term| term.to(working.result)).collect()
}

/// The sizes of a tensor around its channels.
pub(super) fn around_channels(x: &Tensor) -> [usize; 3] {
    sizes_around(x.shape(), 1, 1)
}

/// Channels by the kernel for them, and the mean and variance that it took; none without a kernel.
fn normalize_channels(
    op: &'static str,
    x: &Tensor,
    working: Working,
    affine: [Option<&Tensor>; 2],
    eps: f64,
    given: Option<&Statistics>,
) -> Result<Option<(Tensor, Statistics)>, Error> {
    let program = working.reading(x.dtype());
    let sizes = around_channels(x);
    let task = Task::Rowwise(Rowwise::ChannelNorm(ChannelNorm {
        program: &program,
        sizes,
        eps,
        affine: affine.map(|term| term.is_some()),
        given: given.is_some(),
    }));
    let terms = rounded(affine, working)?;
    let given = given.map(|given| [&given.mean, &given.variance]);
    let inputs: SmallVec<[&Tensor; 5]> = [x]
        .into_iter()
        .chain(&terms)
        .chain(given.into_iter().flatten())
        .collect();
    let (result, wide) = (working.result, working.wide(x).compute);
    let output = |dtype, count| Output { dtype, count };
    let outputs = [
        output(result, x.count()),
        output(wide, sizes[1]),
        output(wide, sizes[1]),
    ];
    let Some(made) = perform_here(op, &task, &inputs, &outputs)? else {
        return Ok(None);
    };
    let channels = Shape::new(op, &[sizes[1]])?;
    let shapes = [x.shape(), &channels, &channels];
    let mut made = made.into_iter().zip(shapes).zip([result, wide, wide]);
    let mut next = || {
        let ((made, shape), dtype) = made.next()?;
        Some(Tensor::from_memory_of(made.memory, shape.clone(), dtype))
    };
    let (Some(normalized), Some(mean), Some(variance)) = (next(), next(), next()) else {
        return Ok(None);
    };
    Ok(Some((normalized, Statistics { mean, variance })))
}

/// Mean and variance, not rounded, with the reduced dimensions or one number per channel.
#[derive(Clone)]
pub(super) struct Statistics {
    pub(super) mean: Tensor,
    pub(super) variance: Tensor,
}

impl Statistics {
    /// Those of some dimensions; the mean square around zero unless it centers.
    pub(super) fn measure(
        op: &'static str,
        x: &Tensor,
        working: Working,
        axes: &[isize],
        centers: bool,
    ) -> Result<Self, Error> {
        let plan = Plan::new(op, x, Some(axes))?;
        let count = plan.count() as f64;
        let wide = working.wide(x);
        let mean = plan.fold(op, Fold::Sum, &wide.reading(x.dtype()), &[x], x.shape())?;
        let mean = if centers {
            mean.div(count)?
        } else {
            mean.zeros_like()?
        };
        let builder = Builder::new(&[x.dtype(), mean.dtype()]);
        let away = wide.read(builder.input(0)) - builder.input(1);
        let program = builder.finish(&[away.square()]);
        let variance = plan.fold(op, Fold::Sum, &program, &[x, &mean], x.shape())?;
        Ok(Self {
            mean,
            variance: variance.div(count)?,
        })
    }

    /// Those that were given, one per channel.
    pub(super) fn running(
        op: &'static str,
        x: &Tensor,
        working: Working,
        running: Option<(&Tensor, &Tensor)>,
    ) -> Result<Self, Error> {
        let Some((mean, variance)) = running else {
            let accepted = "running_mean and running_var, or training";
            return Err(out_of_range(op, "running statistics", "none", accepted));
        };
        let dtype = working.wide(x).compute;
        let wide = |given: &Tensor| -> Result<Tensor, Error> {
            let placed = per_channel(x, Some(given))?;
            placed.map_or_else(|| given.to(dtype), |placed| placed.to(dtype))
        };
        Ok(Self {
            mean: wide(&mean.detach())?,
            variance: wide(&variance.detach())?,
        })
    }

    /// `(x - mean) / √(variance + eps) · weight + bias` in one pass.
    fn apply(
        &self,
        op: &'static str,
        x: &Tensor,
        working: Working,
        terms: [Option<&Tensor>; 2],
        eps: f64,
    ) -> Result<Tensor, Error> {
        let Working { result, compute } = working;
        let scale = self.variance.add(eps)?.rsqrt()?.to(compute)?;
        let mean = self.mean.to(compute)?;
        let term = |term: Option<&Tensor>, default: f64| match term {
            Some(term) => term.to(result)?.to(compute),
            None => x.new_full(&[], default, compute),
        };
        let (weight, bias) = (term(terms[0], 1.0)?, term(terms[1], 0.0)?);
        let builder = Builder::new(&[x.dtype(), compute, compute, compute, compute]);
        let [mean_var, scale_var, weight_var, bias_var] = [1, 2, 3, 4].map(|i| builder.input(i));
        let value = (working.read(builder.input(0)) - mean_var) * scale_var;
        let program = builder.finish(&[(value * weight_var + bias_var).to(result)]);
        evaluate_one(op, &program, &[x, &mean, &scale, &weight, &bias])
    }
}
