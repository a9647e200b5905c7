//! The gradient of a softmax, a line at a time: `y (g - Σ g y)` of shares, `g - e^y Σ g` of their
//! logarithms. A line is read once, and written while it is in the first-level cache.

use allotrope_dtype::{DType, Error, Level};
use allotrope_op::task::rowwise::Softmax;

use super::rowwise::{ADDED, Accumulator, Ahead, LANES, LineInput, join_few, read, sums};
use super::softmax::exp;
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};
use crate::tile::Source;

/// Elements of lines that are read together.
const GROUP: usize = 2048;
/// Lanes of a sum of two slices.
const FEW: usize = LANES / 2;

/// The gradient of whole lines from the results and their gradient, in the dtype that both are read in.
///
/// # Errors
/// A memory error.
pub(crate) fn softmax_backward(
    kind: Softmax,
    [results, gradient]: [LineInput<'_>; 2],
    out: &mut [u8],
) -> Result<(), Error> {
    match results.program.output_dtypes().next() {
        Some(DType::F64) => run::<f64>(kind, [results, gradient], bytemuck::cast_slice_mut(out)),
        _ => run::<f32>(kind, [results, gradient], bytemuck::cast_slice_mut(out)),
    }
}

fn run<C: Accumulator>(
    kind: Softmax,
    [results, gradient]: [LineInput<'_>; 2],
    out: &mut [C],
) -> Result<(), Error> {
    let (level, length) = (Level::current(), results.sizes[1]);
    if out.is_empty() || length == 0 {
        return Ok(());
    }
    let results = Source::new(level, results.program, &[results.input])?;
    let gradient = Source::new(level, gradient.program, &[gradient.input])?;
    let each = (CHUNK / length).max(1) * length;
    let together = (GROUP / length).max(1) * length;
    parallel::try_for_each_part(out, each, |index, out| {
        let mut room = [Vec::new(), Vec::new()];
        for (group, to) in out.chunks_mut(together).enumerate() {
            let (first, count) = (index * each + group * together, to.len());
            let [y_room, g_room] = &mut room;
            let y = read(&results, first, count, y_room)?;
            let g = read(&gradient, first, count, g_room)?;
            let ahead = [&results, &gradient].map(|source| {
                let (bytes, size) = source.ahead(first + count, count);
                Ahead::new(bytes, size)
            });
            let back = Back {
                kind,
                length,
                y,
                g,
                to,
                ahead,
            };
            simd::run(level, back);
        }
        Ok(())
    })
}

/// Some lines.
struct Back<'a, C> {
    kind: Softmax,
    length: usize,
    y: &'a [C],
    g: &'a [C],
    to: &'a mut [C],
    ahead: [Ahead<'a>; 2],
}

impl<C: Accumulator> Body for Back<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let length = self.length;
        let lines = self.y.chunks_exact(length).zip(self.g.chunks_exact(length));
        for (line, ((y, g), to)) in lines.zip(self.to.chunks_exact_mut(length)).enumerate() {
            let [y_ahead, g_ahead] = self.ahead.map(|ahead| ahead.after(line * length));
            match self.kind {
                Softmax::Softmax => {
                    let total = C::narrow(dot::<C, FUSED>([y, g], [y_ahead, g_ahead]));
                    for ((to, y), g) in to.iter_mut().zip(y).zip(g) {
                        *to = C::unwrap(y.wrap::<FUSED>() * (g.wrap() - total.wrap()));
                    }
                }
                Softmax::LogSoftmax => {
                    let [total] = sums::<C, FUSED, 1>(g, g_ahead, |g| [g]);
                    let total = C::narrow(total);
                    for ((to, y), g) in to.iter_mut().zip(y).zip(g) {
                        let share = exp::<_, false>(y.wrap::<FUSED>());
                        *to = C::unwrap(g.wrap::<FUSED>() - share * total.wrap());
                    }
                }
            }
        }
    }
}

/// The sum of the products of a line: lanes add up some, float64 joins them.
#[inline(always)]
fn dot<C: Accumulator, const FUSED: bool>([y, g]: [&[C]; 2], ahead: [Ahead<'_>; 2]) -> f64 {
    let mut total = 0.0;
    for (part, (y, g)) in y.chunks(ADDED).zip(g.chunks(ADDED)).enumerate() {
        let mut lanes = [C::ZERO; FEW];
        let ((ys, y_rest), (gs, g_rest)) = (y.as_chunks::<FEW>(), g.as_chunks::<FEW>());
        for (block, (y, g)) in ys.iter().zip(gs).enumerate() {
            for ahead in ahead {
                ahead.fetch(part * ADDED + block * FEW, FEW);
            }
            for i in 0..FEW {
                let sum = lanes[i].wrap::<FUSED>() + y[i].wrap() * g[i].wrap();
                lanes[i] = C::unwrap(sum);
            }
        }
        let mut last = [C::ZERO; FEW];
        for (i, (y, g)) in y_rest.iter().zip(g_rest).enumerate() {
            last[i] = C::unwrap(y.wrap::<FUSED>() * g.wrap());
        }
        total += join_few::<C, FUSED>(lanes, last);
    }
    total
}
