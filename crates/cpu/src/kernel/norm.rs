//! Lines brought to mean zero and variance one, or to mean square one.
//!
//! A line is centred by its mean in the width of its elements first, and what that mean left out is
//! made up for afterwards.
//!
//! | file | what is in it |
//! |---|---|
//! | `backward` | the gradients |
//! | `halves` | lines of float16 and bfloat16, as they are in memory |
//! | `measure` | mean and deviation from two looks |
//! | `moments` | mean and variance from one look at each number |
//! | `pieces` | long lines that are converted or gathered |
//! | `scaling` | what is done with the moments |

mod backward;
mod halves;
mod measure;
mod moments;
mod pieces;
mod scaling;

use crate::memory::{try_collect, try_vec, try_with_capacity};
use allotrope_dtype::{DType, Error, Level};

pub(crate) use self::backward::{NormGradients, normalize_lines_backward};
pub(super) use self::backward::{back, sums_of_two};
use self::halves::Halves;
pub(super) use self::measure::Measured;
use self::measure::MeasuredLines;
use super::fused::block::{Load, Store};
use super::rowwise::{
    Accumulator, Ahead, HalfLines, LineInput, Lines, for_each_line, for_each_line_or_half,
    lines_together,
};
use crate::simd::{self, Body};
use crate::tile::Source;

/// How lines are normalised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm<'a> {
    /// Whether the mean is subtracted first.
    pub centers: bool,
    /// What is added to the variance or mean square.
    pub eps: f64,
    /// Factors and summands in float64, each one or none; `period` says what they belong to.
    pub weight: Option<&'a [f64]>,
    /// As `weight`.
    pub bias: Option<&'a [f64]>,
    /// Neighbouring elements that share a factor: element `i` of all has number
    /// `i / period % weight.len()`.
    pub period: usize,
}

/// Every line normalised, as `dtype`. The lines are those of the last axis.
///
/// # Errors
/// A memory error.
pub(crate) fn normalize_lines(
    norm: Norm<'_>,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    match from.program.output_dtypes().next() {
        Some(DType::F64) => for_each_line::<f64>(from, &Prepared::new(norm)?, dtype, out),
        _ => {
            let prepared = Prepared::new(norm)?;
            let (level, [_, length, inner]) = (Level::current(), from.sizes);
            if inner == 1 && pieces::are_pieces_better(level, length, dtype) {
                let source = Source::new(level, from.program, &[from.input])?;
                let is_as_it_is = source.in_place(0, 0).is_some() || source.halves(0, 0).is_some();
                if !is_as_it_is {
                    return pieces::normalize(level, &source, length, &prepared, dtype, out);
                }
            }
            for_each_line_or_half(from, &prepared, dtype, out)
        }
    }
}

/// Factors and summands in the float that lines are worked on in.
struct Prepared<'a, C> {
    norm: Norm<'a>,
    weight: Vec<C>,
    bias: Vec<C>,
}

impl<'a, C: Accumulator> Prepared<'a, C> {
    fn new(norm: Norm<'a>) -> Result<Self, Error> {
        let narrow = |values: Option<&[f64]>, default: f64| {
            let count = norm.weight.or(norm.bias).map_or(1, <[f64]>::len);
            match values {
                Some(values) => try_collect("norm", values.iter().map(|value| C::narrow(*value))),
                None => try_vec("norm", count, C::narrow(default)),
            }
        };
        Ok(Self {
            norm,
            weight: narrow(norm.weight, 1.0)?,
            bias: narrow(norm.bias, 0.0)?,
        })
    }
}

impl<C: Accumulator + Load<C, Code = C>> Lines<C> for Prepared<'_, C> {
    fn lines(
        &self,
        level: Level,
        first: usize,
        length: usize,
        from: &[C],
        to: &mut [C],
        _ahead: Ahead<'_>,
    ) {
        simd::run(
            level,
            Whole {
                prepared: self,
                first,
                length,
                from,
                to,
            },
        );
    }

    fn block(&self, level: Level, width: usize, values: &mut [C]) -> Result<(), Error> {
        // Lines of a norm are those of the last axis; a block is worked on one by one.
        let length = values.len() / width.max(1);
        let mut lines: Vec<C> = try_with_capacity("norm", values.len())?;
        for column in 0..width {
            lines.extend(values.iter().skip(column).step_by(width));
        }
        let mut results = try_vec("norm", values.len(), C::ZERO)?;
        self.lines(level, 0, length, &lines, &mut results, Ahead::default());
        for (column, line) in results.chunks_exact(length.max(1)).enumerate() {
            for (row, value) in line.iter().enumerate() {
                values[row * width + column] = *value;
            }
        }
        Ok(())
    }
}

impl HalfLines for Prepared<'_, f32> {
    fn halves<S: Store<f32, Code = u16>>(
        &self,
        level: Level,
        first: usize,
        length: usize,
        from: &[u16],
        to: &mut [u16],
    ) -> Result<(), Error> {
        match level {
            Level::Avx512(proof) => {
                proof.run(Halves::<S::WideStore>::new(self, [first, length], from, to))
            }
            Level::Avx2(proof) => proof.run(Halves::<S>::new(self, [first, length], from, to)),
            // The baseline has no such kernel.
            Level::Scalar => {}
        }
        Ok(())
    }
}

struct Whole<'a, C> {
    prepared: &'a Prepared<'a, C>,
    first: usize,
    length: usize,
    from: &'a [C],
    to: &'a mut [C],
}

impl<C: Accumulator + Load<C, Code = C>> Body for Whole<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Prepared { norm, weight, bias } = self.prepared;
        let (length, together) = (self.length, lines_together(self.length));
        let mut measured = None;
        let lines = self.from.chunks_exact(length);
        for (line, (from, to)) in lines.zip(self.to.chunks_exact_mut(length)).enumerate() {
            if line % together == 0 {
                let end = self.from.len().min((line + together) * length);
                let from = &self.from[line * length..end];
                let all = MeasuredLines::of::<C, FUSED>(norm.centers, norm.eps, length, from);
                measured = Some(all);
            }
            let Some(measured) = measured.as_ref().map(|all| all.at(line % together)) else {
                continue;
            };
            if norm.weight.is_none() && norm.bias.is_none() {
                for (from, to) in from.iter().zip(to) {
                    *to = C::unwrap(measured.normal::<FUSED>(*from));
                }
                continue;
            }
            let pieces = from.chunks(norm.period).zip(to.chunks_mut(norm.period));
            if norm.period == 1 && weight.len() == length {
                let terms = weight.iter().zip(bias);
                for ((from, to), (weight, bias)) in from.iter().zip(to).zip(terms) {
                    let value = measured.normal::<FUSED>(*from);
                    *to = C::unwrap(value * weight.wrap() + bias.wrap());
                }
                continue;
            }
            let start = (self.first + line) * length / norm.period;
            for (place, (from, to)) in pieces.enumerate() {
                let channel = (start + place) % weight.len();
                let factor = weight[channel].wrap::<FUSED>();
                let summand = bias[channel].wrap::<FUSED>();
                for (from, to) in from.iter().zip(to) {
                    let value = measured.normal::<FUSED>(*from);
                    *to = C::unwrap(value * factor + summand);
                }
            }
        }
    }
}
