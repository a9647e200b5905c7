//! Indices drawn with weights, with and without replacement.

use std::cmp::Ordering;

use allotrope_dtype::Level;

use super::gamma::ln;
use super::sample::open_fraction;
use super::{Span, Stream, TILE, for_each_tile, interleave};
use crate::parallel;
use crate::simd::{self, Body};

/// Fills rows of `count` with indices into rows of `size` weights, each by its weight: those that
/// stay behind in `weights` are their sums. Every row has a positive weight.
pub fn choose(
    level: Level,
    stream: Stream,
    weights: &mut [f64],
    size: usize,
    target: &mut [i64],
    count: usize,
) {
    for_each_row(weights, size, |row| {
        let mut sum = 0.0;
        for weight in row {
            sum += *weight;
            *weight = sum;
        }
    });
    let sums = &*weights;
    for_each_tile(level, stream, target, |span, start, tile| {
        let mut bits = [0; TILE];
        draw_bits(level, span, &mut bits[..tile.len()]);
        for (i, (index, bits)) in tile.iter_mut().zip(bits).enumerate() {
            let row = (start + i) / count * size;
            let row = &sums[row..row + size];
            let total = row.last().copied().unwrap_or_default();
            // 53 bits, so that the fraction is below one.
            let place = (bits >> 11) as f64 / (1_u64 << 53) as f64 * total;
            let found = row.partition_point(|sum| *sum <= place);
            // A product that was rounded up to the total belongs to the last weight.
            *index = if found < size {
                found as i64
            } else {
                row.partition_point(|sum| *sum < total) as i64
            };
        }
    });
}

/// Fills rows of `count` with different indices into rows of `size` weights, in the order in which
/// they are drawn one after the other. Every row has that many positive weights.
///
/// The first of exponential clocks that run at the speed of the weights (Efraimidis and Spirakis
/// 2006). The times stay behind in `weights`.
pub fn choose_different(
    level: Level,
    stream: Stream,
    weights: &mut [f64],
    size: usize,
    target: &mut [i64],
    count: usize,
) {
    // Times of the least weights would all be beyond float64: what they mean does not depend on a factor.
    for_each_row(weights, size, |row| {
        let (least, factor) = (2_f64.powi(-900), 2_f64.powi(900));
        if row.iter().all(|weight| *weight < least) {
            row.iter_mut().for_each(|weight| *weight *= factor);
        }
    });
    for_each_tile(level, stream, weights, |span, _, tile| {
        let mut bits = [0; TILE];
        draw_bits(level, span, &mut bits[..tile.len()]);
        for (weight, bits) in tile.iter_mut().zip(bits) {
            // Nothing comes after an endless time.
            *weight = if *weight > 0.0 {
                (-ln(open_fraction(bits)) / *weight).min(f64::MAX)
            } else {
                f64::INFINITY
            };
        }
    });
    let times = &*weights;
    let work = |row: usize, chosen: &mut [i64]| {
        let times = &times[row * size..(row + 1) * size];
        let order = |a: &usize, b: &usize| match times[*a].total_cmp(&times[*b]) {
            Ordering::Equal => a.cmp(b),
            other => other,
        };
        let mut indices: Vec<usize> = (0..size).collect();
        if count < size {
            indices.select_nth_unstable_by(count, order);
        }
        indices[..count].sort_unstable_by(order);
        for (place, index) in chosen.iter_mut().zip(indices) {
            *place = index as i64;
        }
    };
    parallel::visit_blocks(target, count, times.len() > parallel::CHUNK, work);
}

fn for_each_row(weights: &mut [f64], size: usize, work: impl Fn(&mut [f64]) + Send + Sync) {
    parallel::for_each_block(weights, size, |_, row| work(row));
}

/// 64 bits for each element of a tile.
fn draw_bits(level: Level, span: Span, bits: &mut [u64]) {
    struct Wide<'a>(Span, &'a mut [u64]);

    impl Body for Wide<'_> {
        type Output = ();

        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            interleave(&self.0.wide_words(0), self.1);
        }
    }

    simd::run_narrow(level, Wide(span, bits));
}
