//! Whole numbers: integers of a range, trials with two outcomes, permutations.

use allotrope_dtype::{
    CastOptions, DType, Error, Problem, Scalar, cast_slice, dispatch, dispatch_width,
};
use bytemuck::Pod;
use rayon::prelude::*;

use super::{Span, Stream, TILE, WORDS, for_each_tile, interleave};
use crate::parallel::CHUNK;

/// Fills `target` with integers from `low` on, `count` different ones (1 to 2^64), which the dtype
/// must hold exactly.
///
/// An integer is the upper half of the product of 64 random bits and `count`: its probability
/// differs from `1 / count` by less than 2^-64.
pub fn integers(stream: Stream, low: i128, count: u128, dtype: DType, target: &mut [u8]) {
    dispatch!(dtype, |T| {
        for_each_tile(
            stream,
            bytemuck::cast_slice_mut::<u8, T>(target),
            |span, _, tile| {
                let mut bits = [0; TILE];
                interleave(&span.wide_words(0), &mut bits[..tile.len()]);
                let mut drawn = [0; TILE];
                let places = drawn.iter_mut().zip(&bits);
                match u64::try_from(count) {
                    // Products of 32 bits at a time, which vectors have.
                    Ok(count) if count <= 1 << 32 => places.for_each(|(x, bits)| {
                        let (high, low) = (bits >> 32, bits & 0xFFFF_FFFF);
                        *x = (high * count + ((low * count) >> 32)) >> 32;
                    }),
                    _ => {
                        places.for_each(|(x, bits)| *x = ((u128::from(*bits) * count) >> 64) as u64)
                    }
                }
                // Modulo 2^64 the sum is right for signed and unsigned integers alike.
                let drawn = drawn.map(|x| x.wrapping_add(low as u64) as i64);
                let cast = cast_slice(&drawn[..tile.len()], tile, CastOptions::default());
                debug_assert!(cast.is_ok(), "a tile has one length");
            },
        );
    });
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
pub fn bernoulli(stream: Stream, chances: Chances<'_>, dtype: DType, target: &mut [u8]) {
    let Ok(one) = Scalar::new(true, dtype) else {
        return;
    };
    let one = one.to_bytes();
    dispatch_width!(dtype, |Word| {
        let one: Word = bytemuck::pod_read_unaligned(&one[..dtype.itemsize()]);
        fill_trials(stream, chances, one, bytemuck::cast_slice_mut(target));
    });
}

fn fill_trials<W: Pod + Send + Sync>(
    stream: Stream,
    chances: Chances<'_>,
    one: W,
    target: &mut [W],
) {
    for_each_tile(stream, target, |span, start, tile| {
        let mut words = [0; TILE];
        let words = &mut words[..tile.len()];
        interleave(&span.words(0), words);
        match chances {
            Chances::All(chance) => {
                let limit = Limit::of(chance);
                compare(span, words, |_| limit, one, tile);
            }
            Chances::Each(chances) => {
                let chances = &chances[start..start + tile.len()];
                compare(span, words, |i| Limit::of(chances[i]), one, tile);
            }
        }
    });
}

/// Ones where the random bits are below a limit, else zeros.
#[inline(always)]
fn compare<W: Pod>(
    span: Span,
    words: &[u32],
    limit: impl Fn(usize) -> Limit,
    one: W,
    tile: &mut [W],
) {
    let mut is_tied = false;
    for (i, word) in words.iter().enumerate() {
        let Limit { high, low, .. } = limit(i);
        is_tied |= (*word == high) & (low > 0);
    }
    for (i, (out, word)) in tile.iter_mut().zip(words).enumerate() {
        let Limit {
            high, is_certain, ..
        } = limit(i);
        *out = if (*word < high) | is_certain {
            one
        } else {
            W::zeroed()
        };
    }
    if is_tied {
        let more = span.words(2);
        for (i, (out, word)) in tile.iter_mut().zip(words).enumerate() {
            let Limit { high, low, .. } = limit(i);
            if *word == high && more[i % WORDS][i / WORDS] < low {
                *out = one;
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
pub fn permutation(op: &'static str, stream: Stream, target: &mut [i64]) -> Result<(), Error> {
    let mut keys: Vec<(u64, i64)> = Vec::new();
    if keys.try_reserve_exact(target.len()).is_err() {
        let bytes = target.len().saturating_mul(size_of::<(u64, i64)>());
        return Err(Error::new(op, Problem::OutOfMemory { bytes }));
    }
    keys.resize(target.len(), (0, 0));
    for_each_tile(stream, &mut keys, |span, start, tile| {
        let mut bits = [0; TILE];
        interleave(&span.wide_words(0), &mut bits[..tile.len()]);
        for ((i, key), bits) in tile.iter_mut().enumerate().zip(bits) {
            *key = (bits, (start + i) as i64);
        }
    });
    // No two are equal, since each has its number: any way of sorting gives one order.
    if keys.len() <= CHUNK {
        keys.sort_unstable();
    } else {
        keys.par_sort_unstable();
    }
    for (place, (_, number)) in target.iter_mut().zip(keys) {
        *place = number;
    }
    Ok(())
}
