//! Long runs, each of one channel.

use std::marker::PhantomData;

use allotrope_dtype::{Error, Scratch};

use super::super::norm::{Measured, back, sums_of_two};
use super::super::rowwise::{Accumulator, Ahead, read, sums};
use super::{ChannelStatistics, Job, Sums};
use crate::memory::{try_collect, try_vec};
use crate::parallel;
use crate::simd::{self, Body};
use crate::tile::Source;

/// Fewer channels than this are shared out in parts of some runs of all of them.
const CHANNELS: usize = 16;
/// The parts of those.
const PARTS: usize = 64;

pub(super) struct Runs<'a, 's, C> {
    job: &'a Job<'a, 's>,
    compute: PhantomData<C>,
}

/// A run by its number among all, and room for what becomes of it.
type Run<'o> = (usize, Option<&'o mut [u8]>);

impl<'a, 's, C: Accumulator> Runs<'a, 's, C> {
    pub(super) fn new(job: &'a Job<'a, 's>) -> Self {
        Self {
            job,
            compute: PhantomData,
        }
    }

    /// The runs of each channel, or of each part of all.
    fn parts<'o>(&self, out: Option<&'o mut [u8]>) -> Vec<Vec<Run<'o>>> {
        let [outer, channels, inner] = self.job.sizes;
        let bytes = inner * self.job.dtype.itemsize();
        let mut out = out.map(|out| out.chunks_exact_mut(bytes));
        let runs = (0..outer * channels).map(|run| (run, out.as_mut().and_then(Iterator::next)));
        let mut parts: Vec<Vec<Run<'o>>> = Vec::new();
        if self.is_by_channel() {
            parts.resize_with(channels, || Vec::with_capacity(outer));
            runs.for_each(|run| parts[run.0 % channels].push(run));
        } else {
            let each = (outer * channels).div_ceil(PARTS).max(1);
            parts.resize_with((outer * channels).div_ceil(each), Vec::new);
            runs.for_each(|run| parts[run.0 / each].push(run));
        }
        parts
    }

    /// Whether channels are worked on one by one, each from its first look to its last.
    fn is_by_channel(&self) -> bool {
        let [outer, channels, _] = self.job.sizes;
        channels >= CHANNELS || outer == 1
    }

    fn source(&self) -> &Source<'s> {
        &self.job.numbers
    }

    /// The sums for each channel over the runs of a part.
    fn sums<const N: usize>(
        &self,
        runs: &[Run<'_>],
        of: impl Fn(usize) -> Result<[f64; N], Error>,
    ) -> Result<Vec<[f64; N]>, Error> {
        let channels = self.job.sizes[1];
        let count = if self.is_by_channel() { 1 } else { channels };
        let mut sums = try_vec("batch_norm", count, [0.0; N])?;
        for (run, _) in runs {
            for (sum, more) in sums[run % channels % count].iter_mut().zip(of(*run)?) {
                *sum += more;
            }
        }
        Ok(sums)
    }

    /// The same over all parts, for all channels.
    fn sums_of_parts<const N: usize>(
        &self,
        parts: &[Vec<Run<'_>>],
        of: impl Fn(usize, &mut [Vec<C>; 2]) -> Result<[f64; N], Error> + Sync + Send,
    ) -> Result<Vec<[f64; N]>, Error> {
        let partial = parallel::try_map(parts.len(), |part| {
            let room = std::cell::RefCell::new([Vec::new(), Vec::new()]);
            self.sums(&parts[part], |run| of(run, &mut room.borrow_mut()))
        })?;
        let mut all = vec![[0.0; N]; self.job.sizes[1]];
        for partial in &partial {
            for (all, partial) in all.iter_mut().zip(partial) {
                for (all, partial) in all.iter_mut().zip(partial) {
                    *all += partial;
                }
            }
        }
        Ok(all)
    }

    fn count(&self) -> f64 {
        let [outer, _, inner] = self.job.sizes;
        (outer * inner) as f64
    }

    pub(super) fn forward(&self, out: &mut [u8]) -> Result<ChannelStatistics, Error> {
        let (norm, channels) = (self.job.norm, self.job.sizes[1]);
        let mut parts = self.parts(Some(out));
        if let Some(given) = norm.given {
            parallel::try_for_each_part(&mut parts, 1, |_, parts| {
                let runs = parts.iter_mut().flatten();
                self.apply(runs, |channel| given.measured(channel, norm.eps))
            })?;
            return Ok(given.clone());
        }
        if self.is_by_channel() {
            let mut measured: Vec<(Vec<Run<'_>>, [f64; 2])> =
                parts.into_iter().map(|part| (part, [0.0; 2])).collect();
            parallel::try_for_each_part(&mut measured, 1, |_, channels| {
                for (runs, statistics) in channels {
                    let room = std::cell::RefCell::new(Vec::new());
                    let total = self.sums(runs, |run| self.total(run, &mut room.borrow_mut()))?;
                    let mean = self.mean(total[0]);
                    let of = |run| self.spread(run, mean, &mut room.borrow_mut());
                    let spread = self.sums(runs, of)?;
                    let made = self.statistics(&[mean], &spread);
                    *statistics = [made.mean[0], made.variance[0]];
                    let measured = made.measured(0, norm.eps);
                    self.apply(runs.iter_mut(), |_| measured)?;
                }
                Ok(())
            })?;
            let (mean, variance) = measured.iter().map(|(_, [m, v])| (*m, *v)).unzip();
            return Ok(ChannelStatistics { mean, variance });
        }
        let totals = self.sums_of_parts(&parts, |run, [room, _]| self.total(run, room))?;
        let means = totals.into_iter().map(|total| self.mean(total));
        let means: Vec<C> = try_collect("batch_norm", means)?;
        let spread = self.sums_of_parts(&parts, |run, [room, _]| {
            self.spread(run, means[run % channels], room)
        })?;
        let statistics = self.statistics(&means, &spread);
        parallel::try_for_each_part(&mut parts, 1, |_, parts| {
            let runs = parts.iter_mut().flatten();
            self.apply(runs, |channel| statistics.measured(channel, norm.eps))
        })?;
        Ok(statistics)
    }

    fn mean(&self, [total]: [f64; 1]) -> C {
        C::narrow(total / self.count())
    }

    /// From means, and the sums of the squares of distances from them and of the distances.
    fn statistics(&self, means: &[C], spread: &[[f64; 2]]) -> ChannelStatistics {
        let each = means.iter().zip(spread);
        let each = each.map(|(mean, sums)| statistics_of(*mean, sums.map(|x| x / self.count())));
        let (mean, variance) = each.unzip();
        ChannelStatistics { mean, variance }
    }

    fn total(&self, run: usize, room: &mut Vec<C>) -> Result<[f64; 1], Error> {
        let inner = self.job.sizes[2];
        let values = read(self.source(), run * inner, inner, room)?;
        Ok(simd::run(self.job.level, Total(values)))
    }

    fn spread(&self, run: usize, mean: C, room: &mut Vec<C>) -> Result<[f64; 2], Error> {
        let inner = self.job.sizes[2];
        let values = read(self.source(), run * inner, inner, room)?;
        Ok(simd::run(self.job.level, Spread { mean, values }))
    }

    /// Runs as they come out.
    fn apply<'r, 'o: 'r>(
        &self,
        runs: impl Iterator<Item = &'r mut Run<'o>>,
        measured: impl Fn(usize) -> Measured<C>,
    ) -> Result<(), Error> {
        let [_, channels, inner] = self.job.sizes;
        let (mut room, mut to, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        for (run, out) in runs {
            let Some(out) = out else { continue };
            let channel = *run % channels;
            let values = read(self.source(), *run * inner, inner, &mut room)?;
            let (measured, norm) = (measured(channel), &self.job.norm);
            let (weight, bias) = (norm.weight(channel), norm.bias(channel));
            self.write(out, &mut to, &mut scratch, |to| {
                let scale = Scale {
                    measured,
                    weight,
                    bias,
                    values,
                    to,
                };
                simd::run(self.job.level, scale);
            });
        }
        Ok(())
    }

    /// Makes the values of a run where they belong, or encodes them.
    fn write(
        &self,
        out: &mut [u8],
        to: &mut Vec<C>,
        scratch: &mut Scratch,
        make: impl FnOnce(&mut [C]),
    ) {
        if self.job.dtype == C::DTYPE {
            make(bytemuck::cast_slice_mut(out));
            return;
        }
        to.resize(self.job.sizes[2], C::ZERO);
        make(to);
        let bytes = bytemuck::cast_slice(to);
        self.job.encode.run(self.job.level, bytes, out, scratch);
    }

    /// Writes the gradient of the numbers, if there is room, and gives the sums of each channel.
    pub(super) fn backward(
        &self,
        gradient: &Source<'_>,
        statistics: &ChannelStatistics,
        out: Option<&mut [u8]>,
    ) -> Result<Vec<Sums>, Error> {
        let norm = self.job.norm;
        let channels = self.job.sizes[1];
        let mut parts = self.parts(out);
        let measured: Vec<Measured<C>> = (0..channels)
            .map(|channel| statistics.measured(channel, norm.eps))
            .collect();
        let of = |run: usize, [x, g]: &mut [Vec<C>; 2]| {
            self.two(gradient, run, measured[run % channels], [x, g])
        };
        let is_by_channel = self.is_by_channel();
        let sums = if is_by_channel {
            let mut whole: Vec<(&mut Vec<Run<'_>>, Sums)> =
                parts.iter_mut().map(|part| (part, [0.0; 2])).collect();
            parallel::try_for_each_part(&mut whole, 1, |channel, whole| {
                for (runs, sums) in whole {
                    let room = std::cell::RefCell::new([Vec::new(), Vec::new()]);
                    *sums = self.sums(runs, |run| of(run, &mut room.borrow_mut()))?[0];
                    let sums = *sums;
                    self.slope(gradient, runs.iter_mut(), measured[channel], |_| sums)?;
                }
                Ok(())
            })?;
            whole.into_iter().map(|(_, sums)| sums).collect()
        } else {
            let sums = self.sums_of_parts(&parts, of)?;
            parallel::try_for_each_part(&mut parts, 1, |_, parts| {
                for run in parts.iter_mut().flatten() {
                    let measured = measured[run.0 % channels];
                    let runs = std::iter::once(run);
                    self.slope(gradient, runs, measured, |channel| sums[channel])?;
                }
                Ok(())
            })?;
            sums
        };
        Ok(sums)
    }

    fn two(
        &self,
        gradient: &Source<'_>,
        run: usize,
        measured: Measured<C>,
        [x, g]: [&mut Vec<C>; 2],
    ) -> Result<Sums, Error> {
        let inner = self.job.sizes[2];
        let x = read(self.source(), run * inner, inner, x)?;
        let g = read(gradient, run * inner, inner, g)?;
        Ok(simd::run(self.job.level, Two { measured, x, g }))
    }

    /// The gradients of the numbers of runs.
    fn slope<'r, 'o: 'r>(
        &self,
        gradient: &Source<'_>,
        runs: impl Iterator<Item = &'r mut Run<'o>>,
        measured: Measured<C>,
        sums: impl Fn(usize) -> Sums,
    ) -> Result<(), Error> {
        let [_, channels, inner] = self.job.sizes;
        let (mut x, mut g, mut to) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = Scratch::default();
        for (run, out) in runs {
            let Some(out) = out else { continue };
            let channel = *run % channels;
            let x = read(self.source(), *run * inner, inner, &mut x)?;
            let g = read(gradient, *run * inner, inner, &mut g)?;
            let weight: C = self.job.norm.weight(channel);
            let means = match self.job.norm.given {
                Some(_) => None,
                None => Some(means_of(sums(channel), weight, self.count())),
            };
            self.write(out, &mut to, &mut scratch, |to| {
                let slope = Slope {
                    measured,
                    weight,
                    means,
                    x,
                    g,
                    to,
                };
                simd::run(self.job.level, slope);
            });
        }
        Ok(())
    }
}

/// The mean and variance of a channel: a mean, and the means of the squares of distances from it and of
/// the distances.
pub(super) fn statistics_of<C: Accumulator>(mean: C, [squares, rest]: [f64; 2]) -> (f64, f64) {
    (mean.widen() + rest, squares - rest * rest)
}

/// The means of the weighed gradients of a channel, and of their products with its numbers.
pub(super) fn means_of<C: Accumulator>(sums: Sums, weight: C, count: f64) -> [C; 2] {
    sums.map(|sum| C::narrow(weight.widen() * sum / count))
}

struct Total<'a, C>(&'a [C]);

impl<C: Accumulator> Body for Total<'_, C> {
    type Output = [f64; 1];
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [f64; 1] {
        sums::<C, FUSED, 1>(self.0, Ahead::default(), |x| [x])
    }
}

struct Spread<'a, C> {
    mean: C,
    values: &'a [C],
}

impl<C: Accumulator> Body for Spread<'_, C> {
    type Output = [f64; 2];
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [f64; 2] {
        let center = self.mean.wrap::<FUSED>();
        sums::<C, FUSED, 2>(self.values, Ahead::default(), |x| {
            let below = x - center;
            [below * below, below]
        })
    }
}

struct Scale<'a, C> {
    measured: Measured<C>,
    weight: C,
    bias: C,
    values: &'a [C],
    to: &'a mut [C],
}

impl<C: Accumulator> Body for Scale<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (weight, bias) = (self.weight.wrap::<FUSED>(), self.bias.wrap::<FUSED>());
        for (to, x) in self.to.iter_mut().zip(self.values) {
            *to = C::unwrap(self.measured.normal::<FUSED>(*x) * weight + bias);
        }
    }
}

struct Two<'a, C> {
    measured: Measured<C>,
    x: &'a [C],
    g: &'a [C],
}

impl<C: Accumulator> Body for Two<'_, C> {
    type Output = Sums;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Sums {
        let weigh = |g: C, _| g.wrap::<FUSED>();
        sums_of_two::<C, FUSED>(self.measured, [self.x, self.g], weigh, Ahead::default())
    }
}

struct Slope<'a, C> {
    measured: Measured<C>,
    weight: C,
    /// None where mean and deviation do not depend on the numbers.
    means: Option<[C; 2]>,
    x: &'a [C],
    g: &'a [C],
    to: &'a mut [C],
}

impl<C: Accumulator> Body for Slope<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let weight = self.weight.wrap::<FUSED>();
        match self.means {
            Some(means) => {
                for ((to, x), g) in self.to.iter_mut().zip(self.x).zip(self.g) {
                    *to = back(self.measured, *x, g.wrap::<FUSED>() * weight, means);
                }
            }
            None => {
                let scale = self.measured.scale.wrap::<FUSED>();
                for (to, g) in self.to.iter_mut().zip(self.g) {
                    *to = C::unwrap(g.wrap::<FUSED>() * weight * scale);
                }
            }
        }
    }
}
