//! Whole numbers: integers of a range, trials with two outcomes, permutations.

use allotrope_dtype::{DType, Level, Scalar, dispatch_width};
use bytemuck::Pod;

use super::multinomial::draw_bits;
use super::{Span, Stream, TILE, WORDS, encode, for_each_tile, for_each_tile_of, interleave};
use crate::interrupt::Watch;
use crate::parallel;
use crate::simd::{self, Body};

/// Fills `target` with integers from `low` on, `count` different ones (1 to 2^64), which the dtype
/// must hold exactly.
///
/// An integer is the upper half of the product of 64 random bits and `count`: its probability
/// differs from `1 / count` by less than 2^-64.
pub fn integers(
    level: Level,
    stream: Stream,
    low: i128,
    count: u128,
    dtype: DType,
    target: &mut [u8],
) {
    for_each_tile_of(level, dtype, stream, target, &|span, _, tile| {
        let mut drawn = [0_i64; TILE];
        let drawn = &mut drawn[..tile.len() / dtype.itemsize()];
        let multiples = Multiples {
            span,
            low,
            count,
            tile: &mut *drawn,
        };
        simd::run(level, multiples);
        encode(level, DType::I64, bytemuck::cast_slice(drawn), dtype, tile);
    });
}

/// Fills a tile with the upper halves of products, modulo 2^64.
struct Multiples<'a> {
    span: Span,
    low: i128,
    count: u128,
    tile: &'a mut [i64],
}

impl Body for Multiples<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let mut bits = [0; TILE];
        interleave(&self.span.wide_words(0), &mut bits[..self.tile.len()]);
        // Modulo 2^64 the sum is right for signed and unsigned integers alike.
        let first = self.low as i64;
        match u64::try_from(self.count) {
            // Products of 32 bits at a time, which vectors have.
            Ok(count) if count <= 1 << 32 => {
                for (x, bits) in self.tile.iter_mut().zip(&bits) {
                    let (high, low) = (bits >> 32, bits & 0xFFFF_FFFF);
                    let product = (high * count + ((low * count) >> 32)) >> 32;
                    *x = first.wrapping_add(product as i64);
                }
            }
            _ => {
                for (x, bits) in self.tile.iter_mut().zip(&bits) {
                    let product = (u128::from(*bits) * self.count) >> 64;
                    *x = first.wrapping_add(product as i64);
                }
            }
        }
    }
}

/// How probable a one is.
#[derive(Clone, Copy, Debug)]
pub enum Chances<'a> {
    /// The same for every element.
    All(f64),
    /// One for each element.
    Each(&'a [f64]),
}

/// Fills `target` with ones of these probabilities (0 to 1) and zeros.
///
/// The probability of a one is right to 2^-64: 32 random bits are compared with it, and in the case
/// of a tie another 32.
pub fn bernoulli(
    level: Level,
    stream: Stream,
    chances: Chances<'_>,
    dtype: DType,
    target: &mut [u8],
) {
    let Ok(one) = Scalar::new(true, dtype) else {
        return;
    };
    let one = one.to_bytes();
    dispatch_width!(dtype, |Word| {
        let one: Word = bytemuck::pod_read_unaligned(&one[..dtype.itemsize()]);
        for_each_tile(
            level,
            stream,
            bytemuck::cast_slice_mut(target),
            |span, start, tile| {
                let chances = match chances {
                    Chances::Each(chances) => Chances::Each(&chances[start..start + tile.len()]),
                    all @ Chances::All(_) => all,
                };
                let trials = Trials {
                    span,
                    chances,
                    one,
                    tile,
                };
                simd::run(level, trials);
            },
        );
    });
}

/// Fills a tile with ones where the random bits are below a limit, else with zeros.
struct Trials<'a, W> {
    span: Span,
    chances: Chances<'a>,
    one: W,
    tile: &'a mut [W],
}

impl<W: Pod> Body for Trials<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        match self.chances {
            Chances::All(chance) => {
                let limit = Limit::of(chance);
                self.compare(|_| limit);
            }
            Chances::Each(chances) => self.compare(|i| Limit::of(chances[i])),
        }
    }
}

impl<W: Pod> Trials<'_, W> {
    #[inline(always)]
    fn compare(self, limit: impl Fn(usize) -> Limit) {
        let mut words = [0; TILE];
        let words = &mut words[..self.tile.len()];
        interleave(&self.span.words(0), words);
        let mut is_tied = false;
        for (i, word) in words.iter().enumerate() {
            let Limit { high, low, .. } = limit(i);
            is_tied |= (*word == high) & (low > 0);
        }
        for (i, (out, word)) in self.tile.iter_mut().zip(&*words).enumerate() {
            let Limit {
                high, is_certain, ..
            } = limit(i);
            *out = if (*word < high) | is_certain {
                self.one
            } else {
                W::zeroed()
            };
        }
        if is_tied {
            let more = self.span.words(2);
            for (i, (out, word)) in self.tile.iter_mut().zip(&*words).enumerate() {
                let Limit { high, low, .. } = limit(i);
                if *word == high && more[i % WORDS][i / WORDS] < low {
                    *out = self.one;
                }
            }
        }
    }
}

/// A probability as the number that 64 random bits must be below.
#[derive(Clone, Copy)]
struct Limit {
    high: u32,
    low: u32,
    is_certain: bool,
}

impl Limit {
    #[inline(always)]
    fn of(chance: f64) -> Self {
        const ALL: f64 = 2.0 * (1_u64 << 63) as f64;
        let limit = (chance * ALL) as u64;
        Self {
            high: (limit >> 32) as u32,
            low: limit as u32,
            is_certain: chance >= 1.0,
        }
    }
}

/// Elements of a bucket of keys, which is sorted in the cache.
const BUCKET: usize = 2 << 10;
/// Bits of a key that tell its bucket, at most.
const TOP: u32 = 12;

/// Fills `target` with the numbers from 0 on in random order: that of 64 random bits for each, and
/// of the numbers where these are equal.
///
/// Numbers go to the buckets of their uppermost bits with as many of the next bits above them as
/// there is room for: keys are drawn twice and never stored.
pub fn permutation(level: Level, stream: Stream, target: &mut [i64]) {
    let count = target.len();
    let low = (usize::BITS - count.leading_zeros()).max(1);
    let top = (count / BUCKET).max(1).ilog2().min(TOP);
    let bucket_of = |bits: u64| (bits >> 1 >> (63 - top)) as usize;
    let draw = |start: usize, end: usize, visit: &mut dyn FnMut(usize, &[u64])| {
        let (mut bits, mut watch) = ([0; TILE], Watch::new());
        for start in (start..end).step_by(TILE) {
            watch.check();
            let bits = &mut bits[..TILE.min(end - start)];
            draw_bits(level, Span::at(level, stream, start, bits.len()), bits);
            visit(start, bits);
        }
    };
    let part = count.div_ceil(64).next_multiple_of(parallel::CHUNK);
    let counts = parallel::map(count.div_ceil(part.max(1)), |index| {
        // bounded: a count for each of 4096 buckets.
        let mut counts = vec![0_usize; 1 << top];
        let start = index * part;
        draw(start, count.min(start + part), &mut |_, bits| {
            bits.iter().for_each(|bits| counts[bucket_of(*bits)] += 1);
        });
        counts
    });
    let sizes = (0..1_usize << top).map(|bucket| counts.iter().map(|part| part[bucket]).sum());
    let sizes: Vec<usize> = sizes.collect();
    // Every thread draws all keys, and keeps those of its buckets.
    let each = sizes.len().div_ceil(crate::parallel::thread_count());
    let mut shares: Vec<(&[usize], &mut [i64])> = Vec::new();
    let mut rest = target;
    for sizes in sizes.chunks(each) {
        let (now, later) = rest.split_at_mut(sizes.iter().sum());
        shares.push((sizes, now));
        rest = later;
    }
    parallel::visit_blocks(&mut shares, 1, count > parallel::CHUNK, |share, shares| {
        for (sizes, target) in shares {
            let target: &mut [u64] = bytemuck::cast_slice_mut(target);
            let first = share * each;
            let mut next: Vec<usize> = Vec::with_capacity(sizes.len());
            next.extend(sizes.iter().scan(0, |end, size| {
                let start = *end;
                *end += size;
                Some(start)
            }));
            draw(0, count, &mut |start, bits| {
                for (number, bits) in (start..).zip(bits) {
                    if let Some(place) = next.get_mut(bucket_of(*bits).wrapping_sub(first)) {
                        target[*place] = bits << top >> low << low | number as u64;
                        *place += 1;
                    }
                }
            });
            let (mut rest, mut watch) = (target, Watch::new());
            for size in *sizes {
                watch.check();
                let (bucket, later) = rest.split_at_mut(*size);
                bucket.sort_unstable();
                order_equals(level, stream, low, bucket);
                rest = later;
            }
        }
    });
}

/// Numbers in order whose keys have as many bits in common as there was room for, by the other bits;
/// and the numbers without their keys.
fn order_equals(level: Level, stream: Stream, low: u32, bucket: &mut [u64]) {
    let number = |word: u64| word & ((1 << low) - 1);
    for run in bucket.chunk_by_mut(|a, b| a >> low == b >> low) {
        if run.len() > 1 {
            // bounded: keys of a bucket that are equal in most of their bits.
            let mut whole: Vec<u128> = Vec::with_capacity(run.len());
            whole.extend(run.iter().map(|word| {
                let (mut bits, number) = ([0; WORDS], number(*word));
                let start = number as usize / WORDS * WORDS;
                draw_bits(level, Span::at(level, stream, start, WORDS), &mut bits);
                u128::from(bits[number as usize % WORDS]) << 64 | u128::from(number)
            }));
            whole.sort_unstable();
            for (word, whole) in run.iter_mut().zip(whole) {
                *word = whole as u64;
            }
        }
        run.iter_mut().for_each(|word| *word = number(*word));
    }
}
