//! The gradient of a cross entropy whose classes are indices: the softmax of each line less the target.

use allotrope_dtype::{DType, Error, Level};

use super::rowwise::{Accumulator, Ahead, LANES, LineInput, Lines, for_each_line};
use super::softmax::{exp, exp_near};
use crate::simd::{self, Body};

/// What the gradient of each line is made of, beside the numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassTargets<'a> {
    /// The logarithm of the sum of the exponentials of each line.
    pub logs: &'a [f64],
    /// The class of each line, or a number that is none.
    pub classes: &'a [i64],
    /// What is taken from the right class of each line.
    pub right: &'a [f64],
    /// The factor of the softmax of each line.
    pub all: &'a [f64],
    /// What is taken from all classes of each line, and the weight of each class.
    pub even: Option<(&'a [f64], &'a [f64])>,
}

/// `exp(x - log) all - even weight`, less `right` at the class of each line, as `dtype`.
///
/// # Errors
/// A memory error.
pub(crate) fn entropy_backward(
    targets: ClassTargets<'_>,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    match from.program.output_dtypes().next() {
        Some(DType::F64) => for_each_line(from, &Slopes::<f64>::new(targets, dtype), dtype, out),
        _ => for_each_line(from, &Slopes::<f32>::new(targets, dtype), dtype, out),
    }
}

struct Slopes<'a, C> {
    targets: ClassTargets<'a>,
    weights: Vec<C>,
    /// Whether exponentials may be those for results of 16 bits.
    is_rough: bool,
}

impl<'a, C: Accumulator> Slopes<'a, C> {
    fn new(targets: ClassTargets<'a>, dtype: DType) -> Self {
        let weights = targets.even.map_or(&[][..], |(_, weights)| weights);
        Self {
            targets,
            weights: weights.iter().map(|weight| C::narrow(*weight)).collect(),
            is_rough: dtype.bits() <= 16,
        }
    }
}

impl<C: Accumulator> Lines<C> for Slopes<'_, C> {
    fn lines(
        &self,
        level: Level,
        first: usize,
        length: usize,
        from: &[C],
        to: &mut [C],
        ahead: Ahead<'_>,
    ) {
        let slope = Slope {
            slopes: self,
            first,
            length,
            from,
            to,
            ahead,
        };
        simd::run(level, slope);
    }

    fn block(&self, _level: Level, _width: usize, values: &mut [C]) -> Result<(), Error> {
        debug_assert!(values.is_empty(), "classes are those of the last axis");
        Ok(())
    }
}

struct Slope<'a, C> {
    slopes: &'a Slopes<'a, C>,
    first: usize,
    length: usize,
    from: &'a [C],
    to: &'a mut [C],
    ahead: Ahead<'a>,
}

impl<C: Accumulator> Body for Slope<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        if C::DTYPE == DType::F32 && FUSED && self.slopes.is_rough {
            self.work::<FUSED, true>();
        } else {
            self.work::<FUSED, false>();
        }
    }
}

impl<C: Accumulator> Slope<'_, C> {
    #[inline(always)]
    fn work<const FUSED: bool, const ROUGH: bool>(self) {
        let ClassTargets {
            logs,
            classes,
            right,
            all,
            even,
        } = self.slopes.targets;
        let lines = self.from.chunks_exact(self.length);
        let lines = lines.zip(self.to.chunks_exact_mut(self.length));
        for (index, (from, to)) in lines.enumerate() {
            let ahead = self.ahead.after(index * self.length);
            let line = self.first + index;
            let log = C::narrow(logs[line]).wrap::<FUSED>();
            let factor = C::narrow(all[line]).wrap::<FUSED>();
            let ((whole, rest), (to_whole, to_rest)) =
                (from.as_chunks::<LANES>(), to.as_chunks_mut::<LANES>());
            for (place, (from, to)) in whole.iter().zip(to_whole).enumerate() {
                ahead.fetch(place * LANES, LANES);
                let mut below = *from;
                for below in &mut below {
                    *below = C::unwrap(below.wrap::<FUSED>() - log);
                }
                // False for NaN, and for numbers so large that the softmax is no softmax.
                let is_near = |near: bool, below: &C| {
                    near & (*below > C::EXP_LEAST) & (*below < C::narrow(1.0))
                };
                if below.iter().fold(true, is_near) {
                    for (to, below) in to.iter_mut().zip(below) {
                        *to = C::unwrap(exp_near::<_, ROUGH>(below.wrap::<FUSED>()) * factor);
                    }
                } else {
                    for (to, below) in to.iter_mut().zip(below) {
                        *to = C::unwrap(exp::<_, ROUGH>(below.wrap::<FUSED>()) * factor);
                    }
                }
            }
            for (to, from) in to_rest.iter_mut().zip(rest) {
                *to = C::unwrap(exp::<_, ROUGH>(from.wrap::<FUSED>() - log) * factor);
            }
            let is_class = |class: &usize| *class < to.len();
            let class = usize::try_from(classes[line]).ok().filter(is_class);
            if let Some(class) = class {
                let right = C::narrow(right[line]).wrap::<FUSED>();
                to[class] = C::unwrap(to[class].wrap::<FUSED>() - right);
            }
            if let Some((even, _)) = even {
                let even = C::narrow(even[line]).wrap::<FUSED>();
                for (to, weight) in to.iter_mut().zip(&self.slopes.weights) {
                    *to = C::unwrap(to.wrap::<FUSED>() - even * weight.wrap());
                }
            }
        }
    }
}
