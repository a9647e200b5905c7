//! Channels brought to mean zero and variance one over everything else, and the gradients of that.
//!
//! Elements are seen as `[outer, channels, inner]`. Runs of `inner` elements, where they are long
//! enough, are visited channel by channel, so that a channel stays in the cache from one look at it to
//! the next; else rows of all channels are, in parts whose bounds depend on the sizes alone.
//!
//! | file | what is in it |
//! |---|---|
//! | `columns` | rows of all channels: sums down their columns |
//! | `runs` | long runs, each of one channel |

mod columns;
mod runs;

use allotrope_dtype::{Conversion, DType, Error, Level};

use self::columns::Columns;
use self::runs::Runs;
use super::norm::{Measured, NormGradients};
use super::rowwise::{Accumulator, LANES, LineInput};
use crate::tile::Source;

/// The mean and variance of each channel.
#[derive(Clone, Debug)]
pub(crate) struct ChannelStatistics {
    /// Means.
    pub mean: Vec<f64>,
    /// Variances, of the numbers as a whole and not as a sample.
    pub variance: Vec<f64>,
}

impl ChannelStatistics {
    /// What makes the numbers of a channel normal.
    fn measured<C: Accumulator>(&self, channel: usize, eps: f64) -> Measured<C> {
        let (mean, variance) = (self.mean[channel], self.variance[channel]);
        let center = C::narrow(mean);
        // A mean beyond all numbers leaves nothing out.
        let rest = mean - center.widen();
        Measured {
            center,
            rest: C::narrow(if mean.is_finite() { rest } else { 0.0 }),
            scale: C::narrow(1.0 / (variance + eps).sqrt()),
        }
    }
}

/// How channels are normalised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelNorm<'a> {
    /// What is added to the variance.
    pub eps: f64,
    /// A factor for each channel.
    pub weight: Option<&'a [f64]>,
    /// A summand for each channel.
    pub bias: Option<&'a [f64]>,
    /// Mean and variance, where they are not those of the numbers.
    pub given: Option<&'a ChannelStatistics>,
}

impl ChannelNorm<'_> {
    fn weight<C: Accumulator>(&self, channel: usize) -> C {
        C::narrow(self.weight.map_or(1.0, |weight| weight[channel]))
    }

    fn bias<C: Accumulator>(&self, channel: usize) -> C {
        C::narrow(self.bias.map_or(0.0, |bias| bias[channel]))
    }
}

/// Every channel normalised, as `dtype`, and the mean and variance that this was done with. The sizes
/// of `from` are outer, channels, inner.
///
/// # Errors
/// A memory error.
pub(crate) fn normalize_channels(
    norm: ChannelNorm<'_>,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<ChannelStatistics, Error> {
    match from.program.output_dtypes().next() {
        Some(DType::F64) => forward::<f64>(norm, from, dtype, out),
        _ => forward::<f32>(norm, from, dtype, out),
    }
}

fn forward<C: Accumulator>(
    norm: ChannelNorm<'_>,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<ChannelStatistics, Error> {
    let level = Level::current();
    let job = Job {
        level,
        sizes: from.sizes,
        numbers: Source::new(level, from.program, &[from.input])?,
        encode: Conversion::new(C::DTYPE, dtype)?,
        dtype,
        norm,
    };
    if from.sizes[2] >= LANES {
        Runs::<C>::new(&job).forward(out)
    } else {
        Columns::<C>::new(&job).forward(out)
    }
}

/// The gradients of channels that were normalised with these means and variances, from the numbers and
/// the gradient of the results; that of the numbers as `dtype`. Means and variances that were given do
/// not depend on the numbers.
///
/// # Errors
/// A memory error.
pub(crate) fn normalize_channels_backward(
    norm: ChannelNorm<'_>,
    statistics: &ChannelStatistics,
    [numbers, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    wanted: NormGradients<'_>,
) -> Result<(), Error> {
    match numbers.program.output_dtypes().next() {
        Some(DType::F64) => backward::<f64>(norm, statistics, [numbers, gradient], dtype, wanted),
        _ => backward::<f32>(norm, statistics, [numbers, gradient], dtype, wanted),
    }
}

fn backward<C: Accumulator>(
    norm: ChannelNorm<'_>,
    statistics: &ChannelStatistics,
    [numbers, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    wanted: NormGradients<'_>,
) -> Result<(), Error> {
    let level = Level::current();
    let job = Job {
        level,
        sizes: numbers.sizes,
        numbers: Source::new(level, numbers.program, &[numbers.input])?,
        encode: Conversion::new(C::DTYPE, dtype)?,
        dtype,
        norm,
    };
    let gradient = Source::new(level, gradient.program, &[gradient.input])?;
    let sums = if numbers.sizes[2] >= LANES {
        Runs::<C>::new(&job).backward(&gradient, statistics, wanted.numbers)?
    } else {
        Columns::<C>::new(&job).backward(&gradient, statistics, wanted.numbers)?
    };
    for (out, place) in [(wanted.bias, 0), (wanted.weight, 1)] {
        if let Some(out) = out {
            for (out, sums) in out.iter_mut().zip(&sums) {
                *out = sums[place];
            }
        }
    }
    Ok(())
}

/// What is read and written, and how.
struct Job<'a, 's> {
    level: Level,
    sizes: [usize; 3],
    numbers: Source<'s>,
    encode: Conversion,
    dtype: DType,
    norm: ChannelNorm<'a>,
}

/// The sums of a channel's gradients, and of their products with its normalised numbers.
type Sums = [f64; 2];
