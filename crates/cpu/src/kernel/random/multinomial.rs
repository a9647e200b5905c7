//! Indices drawn with weights, with and without replacement.

use crate::memory::try_with_capacity;
use allotrope_dtype::{Error, Level, Problem};

use super::gamma::ln;
use super::sample::open_fraction;
use super::{Given, Span, Stream, TILE, WORDS, for_each_tile, interleave};
use crate::parallel;
use crate::simd::{self, Body};

/// Numbers that are kept at once, whatever the sizes.
const KEPT: usize = 1 << 19;

/// Rows that are worked on together: their draws begin at a block, however long they are.
fn rows_at_once(size: usize) -> usize {
    (KEPT / WORDS / size.max(1)).max(1) * WORDS
}

/// An empty list with room for so many.
fn reserved<T>(count: usize) -> Result<Vec<T>, Error> {
    try_with_capacity("multinomial", count)
}

/// Fills rows of `count` with indices into rows of `size` weights, each by its weight. Every row has
/// a positive weight.
///
/// # Errors
/// A memory error.
pub fn choose(
    level: Level,
    stream: Stream,
    weights: &Given<'_>,
    size: usize,
    target: &mut [i64],
    count: usize,
) -> Result<(), Error> {
    let at_once = rows_at_once(size).min(target.len() / count);
    // Of long rows only the sum up to the end of each run is kept.
    let runs = Runs {
        weights,
        size,
        shift: (at_once * size).div_ceil(KEPT).next_power_of_two().ilog2(),
    };
    let kept = runs.kept();
    let mut sums = reserved(at_once * kept)?;
    for (batch, target) in target.chunks_mut(at_once * count).enumerate() {
        let first = batch * at_once;
        sums.clear();
        sums.resize(target.len() / count * kept, 0.0);
        parallel::for_each_block(&mut sums, kept, |row, sums| runs.add_up(first + row, sums));
        for_each_tile(
            level,
            stream.after(first * count),
            target,
            |span, start, tile| {
                let mut bits = [0; TILE];
                draw_bits(level, span, &mut bits[..tile.len()]);
                for (i, (index, bits)) in tile.iter_mut().zip(bits).enumerate() {
                    let row = (start + i) / count;
                    let sums = &sums[row * kept..(row + 1) * kept];
                    let total = sums.last().copied().unwrap_or_default();
                    // 53 bits, so that the fraction is below one.
                    let place = (bits >> 11) as f64 / (1_u64 << 53) as f64 * total;
                    let row = first + row;
                    let found = runs.find(row, sums, |sum| sum <= place);
                    // A product that was rounded up to the total belongs to the last weight.
                    let found = found.or_else(|| runs.find(row, sums, |sum| sum < total));
                    *index = found.unwrap_or_default() as i64;
                }
            },
        );
    }
    Ok(())
}

/// Rows of weights in runs of `2^shift`, at the end of each of which a sum is known.
struct Runs<'a> {
    weights: &'a Given<'a>,
    size: usize,
    shift: u32,
}

impl Runs<'_> {
    /// The sums of a row.
    fn kept(&self) -> usize {
        self.size.div_ceil(1 << self.shift)
    }

    fn add_up(&self, row: usize, sums: &mut [f64]) {
        let mut sum = 0.0;
        self.visit(row, 0, |index, weight| {
            sum += weight;
            sums[index >> self.shift] = sum;
            true
        });
    }

    /// The first index whose sum is not `before` what is looked for.
    fn find(&self, row: usize, sums: &[f64], before: impl Fn(f64) -> bool) -> Option<usize> {
        let run = sums.partition_point(|sum| before(*sum));
        if self.shift == 0 || run == sums.len() {
            return (run < sums.len()).then_some(run);
        }
        // The same sums one after the other as those that were kept.
        let mut sum = run.checked_sub(1).map_or(0.0, |last| sums[last]);
        let mut found = None;
        self.visit(row, run << self.shift, |index, weight| {
            sum += weight;
            if !before(sum) {
                found = Some(index);
            }
            found.is_none()
        });
        found
    }

    /// Calls `work` with the weights of a row from an index on, as long as it wants more.
    #[inline]
    fn visit(&self, row: usize, start: usize, mut work: impl FnMut(usize, f64) -> bool) {
        let mut tile = [0.0; TILE];
        let most = if start == 0 {
            TILE
        } else {
            TILE.min(1 << self.shift)
        };
        for start in (start..self.size).step_by(most) {
            let tile = &mut tile[..most.min(self.size - start)];
            self.weights.read_here(row * self.size + start, tile);
            for (i, weight) in tile.iter().enumerate() {
                if !work(start + i, *weight) {
                    return;
                }
            }
        }
    }
}

/// Fills rows of `count` with different indices into rows of `size` weights, in the order in which
/// they are drawn one after the other. Every row has that many positive weights.
///
/// The first of exponential clocks that run at the speed of the weights (Efraimidis and Spirakis
/// 2006).
///
/// # Errors
/// A memory error.
pub fn choose_different(
    level: Level,
    stream: Stream,
    weights: &Given<'_>,
    size: usize,
    target: &mut [i64],
    count: usize,
) -> Result<(), Error> {
    if size > KEPT / WORDS {
        for (row, chosen) in target.chunks_mut(count).enumerate() {
            choose_of_long(level, stream, weights, row * size..(row + 1) * size, chosen)?;
        }
        return Ok(());
    }
    let at_once = rows_at_once(size).min(target.len() / count);
    let mut times = reserved(at_once * size)?;
    for (batch, target) in target.chunks_mut(at_once * count).enumerate() {
        let first = batch * at_once * size;
        times.clear();
        times.resize(target.len() / count * size, 0.0);
        weights.read(first, &mut times);
        parallel::for_each_block(&mut times, size, |_, row| {
            if row.iter().all(|weight| *weight < LEAST) {
                row.iter_mut().for_each(|weight| *weight *= FACTOR);
            }
        });
        run_clocks(level, stream.after(first), &mut times);
        let work = |row: usize, chosen: &mut [i64]| {
            let times = &times[row * size..(row + 1) * size];
            let mut clocks: Vec<u128> = reserved(size)?;
            clocks.extend(
                times
                    .iter()
                    .zip(0..)
                    .map(|(time, index)| clock(*time, index)),
            );
            keep_first(&mut clocks, count);
            write_first(&mut clocks, chosen);
            Ok(())
        };
        parallel::try_visit_blocks(target, count, times.len() > parallel::CHUNK, work)?;
    }
    Ok(())
}

/// Times of rows whose weights are all less would be beyond float64: what weights mean does not
/// depend on a factor.
const LEAST: f64 = f64::from_bits((1023 - 900) << 52);
const FACTOR: f64 = f64::from_bits((1023 + 900) << 52);

/// A time that is not negative above an index: of equal times the earlier index is the first.
fn clock(time: f64, index: usize) -> u128 {
    u128::from(time.to_bits()) << 64 | index as u128
}

/// The first so many, in any order, and the last of them.
fn keep_first(clocks: &mut Vec<u128>, count: usize) -> Option<u128> {
    if clocks.len() <= count {
        return None;
    }
    let last = *clocks.select_nth_unstable(count - 1).1;
    clocks.truncate(count);
    Some(last)
}

fn write_first(clocks: &mut [u128], chosen: &mut [i64]) {
    clocks.sort_unstable();
    for (place, clock) in chosen.iter_mut().zip(clocks) {
        *place = *clock as u64 as i64;
    }
}

/// Weights as the times of their clocks.
fn run_clocks(level: Level, stream: Stream, weights: &mut [f64]) {
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
}

/// The first of the clocks of one long row, a piece of it at a time.
fn choose_of_long(
    level: Level,
    stream: Stream,
    weights: &Given<'_>,
    row: std::ops::Range<usize>,
    chosen: &mut [i64],
) -> Result<(), Error> {
    let count = chosen.len();
    let mut times = reserved(KEPT)?;
    let most = count + (count / 4).max(KEPT / 8);
    let mut best: Vec<u128> = reserved(most.min(row.len()))?;
    // The blocks of a row begin before it where it does not begin with a block.
    let pieces = || (row.start / WORDS * WORDS..row.end).step_by(KEPT);
    let read = |start: usize, times: &mut Vec<f64>| {
        times.clear();
        // bounded: `KEPT`.
        times.resize(KEPT.min(row.end - start), 0.0);
        weights.read(start, times);
        row.start.saturating_sub(start)
    };
    let mut is_small = true;
    for start in pieces() {
        let skipped = read(start, &mut times);
        is_small &= times[skipped..].iter().all(|weight| *weight < LEAST);
        if !is_small {
            break;
        }
    }
    let mut worst = clock(f64::INFINITY, 0);
    for start in pieces() {
        let skipped = read(start, &mut times);
        if is_small {
            times.iter_mut().for_each(|weight| *weight *= FACTOR);
        }
        run_clocks(level, stream.after(start), &mut times);
        for (i, time) in times.iter().enumerate().skip(skipped) {
            let clock = clock(*time, start + i - row.start);
            if clock < worst {
                best.push(clock);
                if best.len() == most {
                    worst = keep_first(&mut best, count).unwrap_or(worst);
                }
            }
        }
    }
    write_first(&mut best, chosen);
    Ok(())
}

/// 64 bits for each element of a tile.
pub(super) fn draw_bits(level: Level, span: Span, bits: &mut [u64]) {
    struct Wide<'a>(Span, &'a mut [u64]);

    impl Body for Wide<'_> {
        type Output = ();

        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            interleave(&self.0.wide_words(0), self.1);
        }
    }

    simd::run(level, Wide(span, bits));
}

/// Refuses weights that are none, and rows of `size` that have too few for so many samples.
pub(crate) fn check_weights(
    op: &'static str,
    weights: &Given<'_>,
    size: usize,
    count: usize,
    replacement: bool,
) -> Result<(), Error> {
    let refuse = |what, index, value: String, accepted| {
        let index = Some(index);
        let problem = Problem::OutOfRange {
            what,
            index,
            value,
            accepted,
        };
        Error::new(op, problem)
    };
    let (mut sum, mut positive, mut left) = (0.0, 0, size);
    // What a row lacks is said after what is no weight at all, wherever that stands.
    let (mut row, mut lack) = (0, None);
    let mut finish_row = |sum: f64, positive: usize| {
        let most = if replacement {
            positive.min(1) * count
        } else {
            positive
        };
        if lack.is_none() && !sum.is_finite() {
            lack = Some(refuse(
                "sum of weights",
                row,
                format!("{sum:?}"),
                "finite sums",
            ));
        } else if lack.is_none() && count > most {
            let accepted = if replacement {
                "rows with a positive weight"
            } else {
                "as many as a row has positive weights"
            };
            let given = count.to_string();
            lack = Some(refuse("number of samples", row, given, accepted));
        }
        row += 1;
    };
    weights.for_each_piece(op, &mut |start, mut weights| {
        let is_weight = |x: &f64| *x >= 0.0 && x.is_finite();
        if let Some(index) = weights.iter().position(|x| !is_weight(x)) {
            let value = format!("{:?}", weights[index]);
            let accepted = "finite numbers from 0 on";
            return Err(refuse("weight", start + index, value, accepted));
        }
        while !weights.is_empty() {
            let (now, later) = weights.split_at(left.min(weights.len()));
            sum = now.iter().fold(sum, |sum, weight| sum + weight);
            positive += now.iter().filter(|weight| **weight > 0.0).count();
            (left, weights) = (left - now.len(), later);
            if left == 0 {
                finish_row(sum, positive);
                (sum, positive, left) = (0.0, 0, size);
            }
        }
        Ok(())
    })?;
    if count == 0 {
        return Ok(());
    }
    // A dimension of size zero has rows too, but no weights.
    if size == 0 {
        let given = count.to_string();
        return Err(refuse("number of samples", 0, given, "0 of no weights"));
    }
    lack.map_or(Ok(()), Err)
}
