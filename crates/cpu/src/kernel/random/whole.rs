//! Whole numbers: integers of a range, trials with two outcomes, permutations.

use allotrope_dtype::{DType, Error, Level, Problem, Scalar, dispatch_width};
use bytemuck::Pod;
use rayon::prelude::*;

use super::{Span, Stream, TILE, WORDS, encode, for_each_tile, for_each_tile_of, interleave};
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
        simd::run_narrow(level, multiples);
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
                simd::run_narrow(level, trials);
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

/// Fills `target` with the numbers from 0 on in random order: that of 64 random bits for each.
///
/// # Errors
/// A memory error: sorting takes 16 bytes per number.
pub fn permutation(
    level: Level,
    op: &'static str,
    stream: Stream,
    target: &mut [i64],
) -> Result<(), Error> {
    let mut keys: Vec<(u64, i64)> = Vec::new();
    if keys.try_reserve_exact(target.len()).is_err() {
        let bytes = target.len().saturating_mul(size_of::<(u64, i64)>());
        return Err(Error::new(op, Problem::OutOfMemory { bytes }));
    }
    keys.resize(target.len(), (0, 0));
    for_each_tile(level, stream, &mut keys, |span, start, tile| {
        let mut bits = [0; TILE];
        let all = Multiples {
            span,
            low: 0,
            count: 1 << 64,
            tile: &mut bits[..tile.len()],
        };
        simd::run_narrow(level, all);
        for ((i, key), bits) in tile.iter_mut().enumerate().zip(bits) {
            *key = (bits as u64, (start + i) as i64);
        }
    });
    // No two are equal, since each has its number: any way of sorting gives one order.
    keys.par_sort_unstable();
    for (place, (_, number)) in target.iter_mut().zip(keys) {
        *place = number;
    }
    Ok(())
}
