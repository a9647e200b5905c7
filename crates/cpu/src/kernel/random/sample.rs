//! Draws of any [`Distribution`]: the loop over tiles, and the random bits that an element may ask for.
//!
//! A number is drawn in float64 and rounded to its dtype. An element has as many numbers of 64 bits
//! as it needs: number `n` is that of lanes `4 ⌊n / 2⌋ + n % 2` and two further. Those of a law's
//! first attempt are drawn for a whole tile; what is rejected draws on by itself, eight numbers
//! further for each attempt. So an element still depends on seed, offset and index alone.

use allotrope_dtype::{DType, Level, philox4x32};
use allotrope_op::Distribution;

use super::parameters::Numbers;
use super::{PURPOSE, Span, Stream, TILE, WORDS, encode, for_each_tile_of, interleave};
use super::{discrete, gamma, inverse_cdf, truncated};
use crate::simd::{self, Body};

/// Numbers of 64 bits between two attempts.
pub(super) const STRIDE: u32 = 8;
/// Attempts after which a law gives up; it accepts more than a third of them.
pub(super) const ATTEMPTS: u32 = 1000;

/// A law with `W` numbers in its first attempt and `P` parameters.
pub(super) trait Variate<const W: usize, const P: usize>: Copy + Send + Sync {
    /// Whether there is one attempt without branches, which a vector of elements can make.
    const IS_CLOSED: bool;
    /// A number of the law.
    fn draw(self, bits: &Bits<'_, W>, parameters: [f64; P]) -> f64;
}

/// The random bits of one element.
pub(super) struct Bits<'a, const W: usize> {
    first: &'a [[u64; TILE]; W],
    span: Span,
    index: usize,
}

impl<const W: usize> Bits<'_, W> {
    /// The number `n` of this element.
    #[inline(always)]
    pub(super) fn get(&self, n: u32) -> u64 {
        match self.first.get(n as usize) {
            Some(numbers) => numbers[self.index],
            None => self.further(n),
        }
    }

    /// The number `n` as a float between 0 and 1, of which it is neither.
    #[inline(always)]
    pub(super) fn fraction(&self, n: u32) -> f64 {
        open_fraction(self.get(n))
    }

    #[cold]
    fn further(&self, n: u32) -> u64 {
        let key = [self.span.seed as u32, (self.span.seed >> 32) as u32];
        let block = self.span.first.wrapping_add((self.index / WORDS) as u64);
        let word = |lane| {
            let counter = [block as u32, (block >> 32) as u32, lane, PURPOSE];
            u64::from(philox4x32(counter, key)[self.index % WORDS])
        };
        word(lane_of(n)) << 32 | word(lane_of(n) + 2)
    }
}

/// The first lane of the number `n`.
const fn lane_of(n: u32) -> u32 {
    n / 2 * 4 + n % 2
}

/// 64 bits as a float above 0 and at most 1.
#[inline(always)]
pub(super) fn open_fraction(bits: u64) -> f64 {
    const UNIT: f64 = 1.0 / u64::MAX as f64;
    bits as f64 * UNIT + UNIT / 2.0
}

/// Fills `target` with numbers of a law, rounded to a real dtype; integers saturate.
///
/// There is one of `parameters` for each of the law's, and each is of a value that it accepts.
pub fn sample(
    level: Level,
    stream: Stream,
    distribution: Distribution,
    parameters: &[Numbers<'_>],
    dtype: DType,
    target: &mut [u8],
) {
    let job = Job {
        level,
        stream,
        parameters,
        dtype,
    };
    match distribution {
        Distribution::Exponential => job.fill(inverse_cdf::Exponential, target),
        Distribution::Laplace => job.fill(inverse_cdf::Laplace, target),
        Distribution::Cauchy => job.fill(inverse_cdf::Cauchy, target),
        Distribution::LogNormal => job.fill(inverse_cdf::LogNormal, target),
        Distribution::Geometric => job.fill(inverse_cdf::Geometric, target),
        Distribution::Gamma => job.fill(gamma::Gamma, target),
        Distribution::Beta => job.fill(gamma::Beta, target),
        Distribution::ChiSquare => job.fill(gamma::ChiSquare, target),
        Distribution::StudentT => job.fill(gamma::StudentT, target),
        Distribution::Poisson => job.fill(discrete::Poisson, target),
        Distribution::Binomial => job.fill(discrete::Binomial, target),
        Distribution::TruncatedNormal => job.fill(truncated::TruncatedNormal, target),
    }
}

/// Fills `target` with logarithms of gamma numbers of these shapes and rate 1.
pub(super) fn log_gammas(level: Level, stream: Stream, shapes: &[f64], target: &mut [f64]) {
    let job = Job {
        level,
        stream,
        parameters: &[Numbers::Each(shapes)],
        dtype: DType::F64,
    };
    job.fill(gamma::LogGamma, bytemuck::cast_slice_mut(target));
}

/// Everything but the law and the target.
struct Job<'a> {
    level: Level,
    stream: Stream,
    parameters: &'a [Numbers<'a>],
    dtype: DType,
}

impl Job<'_> {
    fn fill<V: Variate<W, P>, const W: usize, const P: usize>(&self, law: V, target: &mut [u8]) {
        for_each_tile_of(
            self.level,
            self.dtype,
            self.stream,
            target,
            &|span, start, tile| {
                self.fill_tile(law, span, start, tile);
            },
        );
    }

    fn fill_tile<V: Variate<W, P>, const W: usize, const P: usize>(
        &self,
        law: V,
        span: Span,
        start: usize,
        target: &mut [u8],
    ) {
        let count = target.len() / self.dtype.itemsize();
        let mut first = [[0; TILE]; W];
        for (n, numbers) in first.iter_mut().enumerate() {
            let drawn = Drawn {
                span,
                lane: lane_of(n as u32),
                numbers: &mut numbers[..count],
            };
            simd::run(self.level, drawn);
        }
        let mut parameters = [[0.0; TILE]; P];
        for (values, given) in parameters.iter_mut().zip(self.parameters) {
            match given {
                Numbers::All(value) => values[..count].fill(*value),
                Numbers::Each(each) => values[..count].copy_from_slice(&each[start..start + count]),
            }
        }
        let mut numbers = [0.0; TILE];
        let each = Each {
            law,
            first: &first,
            parameters: &parameters,
            span,
            numbers: &mut numbers[..count],
        };
        if V::IS_CLOSED {
            simd::run(self.level, each);
        } else {
            each.run::<false>();
        }
        let numbers = bytemuck::cast_slice(&numbers[..count]);
        encode(self.level, DType::F64, numbers, self.dtype, target);
    }
}

/// Draws one number of 64 bits for every element of a tile.
struct Drawn<'a> {
    span: Span,
    lane: u32,
    numbers: &'a mut [u64],
}

impl Body for Drawn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        interleave(&self.span.wide_words(self.lane), self.numbers);
    }
}

/// Makes numbers of a law of the bits and parameters of a tile.
struct Each<'a, V, const W: usize, const P: usize> {
    law: V,
    first: &'a [[u64; TILE]; W],
    parameters: &'a [[f64; TILE]; P],
    span: Span,
    numbers: &'a mut [f64],
}

impl<V: Variate<W, P>, const W: usize, const P: usize> Body for Each<'_, V, W, P> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let count = self.numbers.len().min(TILE);
        for (index, number) in self.numbers[..count].iter_mut().enumerate() {
            let bits = Bits {
                first: self.first,
                span: self.span,
                index,
            };
            let parameters = std::array::from_fn(|p| self.parameters[p][index]);
            *number = self.law.draw(&bits, parameters);
        }
    }
}
