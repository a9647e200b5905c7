//! Lines of exponentials that add up to one.

use allotrope_dtype::{DType, Error, Level};
use allotrope_op::elementary::Elementary;

use super::rows::{Accumulator, Ahead, LANES, LineInput, Lines, fold, for_each_line, join};
use crate::simd::{self, Body};

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// The shares of the exponentials in their sum.
    Shares,
    /// The logarithms of the shares.
    Logarithms,
}

/// The softmax of every line, as `dtype`.
///
/// # Errors
/// A memory error.
pub fn softmax(
    kind: Softmax,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    match from.program.output_dtypes().next() {
        Some(DType::F64) => for_each_line::<f64>(from, &kind, dtype, out),
        _ => for_each_line::<f32>(from, &kind, dtype, out),
    }
}

impl<C: Accumulator> Lines<C> for Softmax {
    fn lines(
        &self,
        level: Level,
        _first: usize,
        length: usize,
        from: &[C],
        to: &mut [C],
        ahead: Ahead<'_>,
    ) {
        let kind = *self;
        simd::run(
            level,
            Whole {
                kind,
                length,
                from,
                to,
                ahead,
            },
        );
    }

    fn block(&self, level: Level, width: usize, values: &mut [C]) {
        let kind = *self;
        simd::run(
            level,
            Block {
                kind,
                width,
                values,
            },
        );
    }
}

/// Whole lines.
struct Whole<'a, C> {
    kind: Softmax,
    length: usize,
    from: &'a [C],
    to: &'a mut [C],
    ahead: Ahead<'a>,
}

impl<C: Accumulator> Body for Whole<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let lines = self.from.chunks_exact(self.length);
        for (line, (from, to)) in lines.zip(self.to.chunks_exact_mut(self.length)).enumerate() {
            let ahead = self.ahead.after(line * self.length);
            let most = greatest(from);
            let shift = most.wrap::<FUSED>();
            let total = exponentials::<C, FUSED>(most, from, to, ahead);
            match self.kind {
                Softmax::Shares => {
                    let share = C::narrow(1.0 / total).wrap::<FUSED>();
                    for to in to {
                        *to = C::unwrap(to.wrap::<FUSED>() * share);
                    }
                }
                Softmax::Logarithms => {
                    let log = C::narrow(f64::unwrap(total.wrap::<FUSED>().log()));
                    for (to, from) in to.iter_mut().zip(from) {
                        let below = from.wrap::<FUSED>() - shift;
                        *to = C::unwrap(below - log.wrap());
                    }
                }
            }
        }
    }
}

/// The greatest number. NaN is left out: it comes out of the exponentials.
#[inline(always)]
fn greatest<C: Accumulator>(values: &[C]) -> C {
    let greater = |a: C, b: C| if b > a { b } else { a };
    let mut lanes = [C::LEAST; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    // Four at a time: lanes that wait for their own last store take three times as long.
    let (fours, whole) = whole.as_chunks::<4>();
    for [a, b, c, d] in fours {
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = greater(greater(*lane, a[i]), greater(greater(b[i], c[i]), d[i]));
        }
    }
    for values in whole {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane = greater(*lane, *value);
        }
    }
    let most = rest.iter().copied().fold(C::LEAST, greater);
    greater(fold::<C>(lanes, greater), most)
}

/// The exponentials of the distances from the greatest, and their sum.
#[inline(always)]
fn exponentials<C: Accumulator, const FUSED: bool>(
    most: C,
    from: &[C],
    to: &mut [C],
    ahead: Ahead<'_>,
) -> f64 {
    /// Elements that lanes add up before they are joined in float64.
    const ADDED: usize = 2048;
    let shift = most.wrap::<FUSED>();
    let mut total = 0.0;
    let parts = from.chunks(ADDED).zip(to.chunks_mut(ADDED));
    for (part, (from, to)) in parts.enumerate() {
        let ahead = ahead.after(part * ADDED);
        let mut lanes = [C::ZERO; LANES];
        let ((whole, rest), (to_whole, to_rest)) =
            (from.as_chunks::<LANES>(), to.as_chunks_mut::<LANES>());
        for (place, (from, to)) in whole.iter().zip(to_whole).enumerate() {
            ahead.fetch(place * LANES, LANES);
            let mut below = [C::ZERO; LANES];
            for (below, from) in below.iter_mut().zip(from) {
                *below = C::unwrap(from.wrap::<FUSED>() - shift);
            }
            // False for NaN.
            let is_near = |near: bool, below: &C| near & (*below > C::EXP_LEAST);
            if below.iter().fold(true, is_near) {
                for (to, below) in to.iter_mut().zip(below) {
                    *to = C::unwrap(below.wrap::<FUSED>().exp_near());
                }
            } else {
                for (to, below) in to.iter_mut().zip(below) {
                    *to = C::unwrap(below.wrap::<FUSED>().exp());
                }
            }
            for (lane, to) in lanes.iter_mut().zip(to) {
                *lane = C::unwrap(lane.wrap::<FUSED>() + to.wrap());
            }
        }
        // Apart from the lanes, which stay in registers as long as no loop counts through them.
        let mut last = [C::ZERO; LANES];
        for ((from, to), last) in rest.iter().zip(to_rest).zip(&mut last) {
            let exponential = (from.wrap::<FUSED>() - shift).exp();
            *to = C::unwrap(exponential);
            *last = C::unwrap(exponential);
        }
        total += join::<C, FUSED>(lanes, last);
    }
    total
}

/// Neighbouring lines, row by row.
struct Block<'a, C> {
    kind: Softmax,
    width: usize,
    values: &'a mut [C],
}

impl<C: Accumulator> Body for Block<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        /// Rows that lanes add up before they are widened.
        const ROWS: usize = 128;
        let width = self.width;
        let mut most = vec![C::LEAST; width];
        for row in self.values.chunks_exact(width) {
            for (most, value) in most.iter_mut().zip(row) {
                *most = if *value > *most { *value } else { *most };
            }
        }
        let mut totals = vec![0.0; width];
        let mut lanes = vec![C::ZERO; width];
        for rows in self.values.chunks_mut(width * ROWS) {
            for row in rows.chunks_exact_mut(width) {
                for ((value, most), lane) in row.iter_mut().zip(&most).zip(&mut lanes) {
                    let below = value.wrap::<FUSED>() - most.wrap();
                    let exponential = below.exp();
                    *lane = C::unwrap(lane.wrap::<FUSED>() + exponential);
                    *value = C::unwrap(match self.kind {
                        Softmax::Shares => exponential,
                        Softmax::Logarithms => below,
                    });
                }
            }
            for (total, lane) in totals.iter_mut().zip(&mut lanes) {
                *total += std::mem::replace(lane, C::ZERO).widen();
            }
        }
        for (lane, total) in lanes.iter_mut().zip(&totals) {
            *lane = C::narrow(match self.kind {
                Softmax::Shares => 1.0 / total,
                Softmax::Logarithms => f64::unwrap(total.wrap::<FUSED>().log()),
            });
        }
        for row in self.values.chunks_exact_mut(width) {
            for (value, last) in row.iter_mut().zip(&lanes) {
                let (value_lane, last) = (value.wrap::<FUSED>(), last.wrap());
                *value = C::unwrap(match self.kind {
                    Softmax::Shares => value_lane * last,
                    Softmax::Logarithms => value_lane - last,
                });
            }
        }
    }
}
