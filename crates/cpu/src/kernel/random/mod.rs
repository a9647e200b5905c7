//! Random numbers by Philox 4x32-10: an element depends on the seed, the offset and its index alone.
//!
//! | file | what is in it |
//! |---|---|
//! | `uniform` | [`uniform()`]: evenly between two bounds |
//! | `normal` | [`normal()`], by Box and Muller |
//! | `uniform_bits` | from random bits to the floats that both are made of |
//! | `int` | [`integers`], [`bernoulli`] and [`permutation`] |
//! | `sample` | [`sample()`]: draws of any [`Distribution`](allotrope_op::Distribution) |
//! | `inverse_cdf` | distributions of one formula: exponential, Laplace, Cauchy, log-normal, geometric |
//! | `gamma` | gamma, beta, chi-square, Student's t, and [`dirichlet`] |
//! | `discrete` | Poisson and binomial |
//! | `truncated` | normal numbers between bounds |
//! | `parameters` | [`Given`]: weights and parameters, read a piece at a time and checked |
//! | `multinomial` | [`choose`] and [`choose_different`]: indices by weights |
//!
//! **Which bits an element is made of.** A draw begins at a block, the [`Stream`]'s offset. Element
//! `i` has word `i % 4` of block `offset + i / 4`, in as many *lanes* as it needs: a lane is an
//! independent sequence of blocks. Lane 0 has 32 bits for the element, lane 1 those of the
//! imaginary part, lanes 2 and 3 the lower halves where 64 bits are needed. So every draw of `n`
//! elements takes [`blocks_of`]`(n)` blocks, whatever its function and dtype, and the same draw in
//! another float dtype gives the same numbers to the precision of both.
//!
//! Loops are compiled for each instruction set, and all of them give the same bits.

mod discrete;
mod gamma;
mod int;
mod inverse_cdf;
mod multinomial;
mod normal;
mod parameters;
mod sample;
mod truncated;
mod uniform;
mod uniform_bits;

use allotrope_dtype::{CastOptions, DType, Level, cast_bytes_at, philox4x32};

pub use allotrope_op::{Stream, blocks_of};
pub use gamma::dirichlet;
pub use int::{Chances, bernoulli, integers, permutation};
pub(crate) use multinomial::check_weights;
pub use multinomial::{choose, choose_different};
pub use normal::{Moments, normal};
pub use parameters::{Given, Numbers};
pub(crate) use parameters::{Source, check_bounds, draw_pieces};
pub use sample::sample;
pub use uniform::uniform;

use crate::parallel;
use crate::simd::{self, Body};

/// Elements that one block of the generator serves.
const WORDS: usize = 4;
/// Blocks that are drawn together: loops over them are long enough for vectors.
const BLOCKS: usize = 128;
/// Elements of that many blocks.
const TILE: usize = BLOCKS * WORDS;
/// The fourth word of the counter: stochastic rounding has 0, so that no draw shares its numbers.
const PURPOSE: u32 = 1;

/// Something per element of consecutive blocks: `columns[w][b]` belongs to word `w` of block `b`.
type Columns<T> = [[T; BLOCKS]; WORDS];

/// Consecutive blocks of a stream, at most [`BLOCKS`] of them.
#[derive(Clone, Copy)]
struct Span {
    level: Level,
    seed: u64,
    first: u64,
    count: usize,
}

impl Span {
    /// The blocks of `count` elements from `start` on.
    fn at(level: Level, stream: Stream, start: usize, count: usize) -> Self {
        Self {
            level,
            seed: stream.seed,
            first: stream.offset.wrapping_add((start / WORDS) as u64),
            count: count.div_ceil(WORDS),
        }
    }

    /// The words of one lane; those beyond the span are zero.
    ///
    /// A loop of its own, not a part of each that asks for words: its rounds take kilobytes.
    #[inline(never)]
    fn words(self, lane: u32) -> Columns<u32> {
        simd::run(self.level, Words { span: self, lane })
    }

    /// 64 bits per element: the words of a lane above those of the lane after the next.
    #[inline(never)]
    fn wide_words(self, lane: u32) -> Columns<u64> {
        let (high, low) = (self.words(lane), self.words(lane + 2));
        let mut wide = [[0; BLOCKS]; WORDS];
        for ((column, high), low) in wide.iter_mut().zip(&high).zip(&low) {
            for ((bits, high), low) in column.iter_mut().zip(high).zip(low) {
                *bits = u64::from(*high) << 32 | u64::from(*low);
            }
        }
        wide
    }
}

/// The words of one lane of a span.
struct Words {
    span: Span,
    lane: u32,
}

impl Body for Words {
    type Output = Columns<u32>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Columns<u32> {
        let Self { span, lane } = self;
        let key = [span.seed as u32, (span.seed >> 32) as u32];
        let mut words = [[0; BLOCKS]; WORDS];
        let [a, b, c, d] = words.each_mut().map(|column| &mut column[..span.count]);
        for (i, (((a, b), c), d)) in a.iter_mut().zip(b).zip(c).zip(d).enumerate() {
            let block = span.first.wrapping_add(i as u64);
            let counter = [block as u32, (block >> 32) as u32, lane, PURPOSE];
            [*a, *b, *c, *d] = philox4x32(counter, key);
        }
        words
    }
}

/// Calls `work` with the tiles of a target, the blocks that serve each, and the index of its first
/// element.
fn for_each_tile<T: Send>(
    level: Level,
    stream: Stream,
    target: &mut [T],
    work: impl Fn(Span, usize, &mut [T]) + Send + Sync,
) {
    parallel::for_each_chunk(target, |first, chunk| {
        for (i, tile) in chunk.chunks_mut(TILE).enumerate() {
            let start = first + i * TILE;
            work(Span::at(level, stream, start, tile.len()), start, tile);
        }
    });
}

/// [`for_each_tile`] of elements of a dtype as bytes.
fn for_each_tile_of(
    level: Level,
    dtype: DType,
    stream: Stream,
    target: &mut [u8],
    work: &(dyn Fn(Span, usize, &mut [u8]) + Sync),
) {
    let size = dtype.itemsize();
    let work = |chunk: usize, bytes: &mut [u8]| {
        for (i, tile) in bytes.chunks_mut(TILE * size).enumerate() {
            let start = chunk * parallel::CHUNK + i * TILE;
            let span = Span::at(level, stream, start, tile.len() / size);
            work(span, start, tile);
        }
    };
    parallel::for_each_part(target, parallel::CHUNK * size, work);
}

/// Numbers of a tile rounded to their dtype.
fn encode(level: Level, from: DType, numbers: &[u8], dtype: DType, tile: &mut [u8]) {
    let options = CastOptions::default();
    let cast = cast_bytes_at(level, from, numbers, dtype, tile, options);
    debug_assert!(cast.is_ok(), "a tile has one length");
}

/// Columns as elements in order: `columns[w][b]` goes to place `4 b + w`.
#[inline(always)]
fn interleave<T: Copy>(columns: &Columns<T>, target: &mut [T]) {
    let whole = target.len() / WORDS;
    let [a, b, c, d] = columns;
    let sources = a.iter().zip(b).zip(c).zip(d);
    for (four, (((a, b), c), d)) in target.chunks_exact_mut(WORDS).zip(sources) {
        four.copy_from_slice(&[*a, *b, *c, *d]);
    }
    let rest = target.chunks_exact_mut(WORDS).into_remainder();
    for (place, column) in rest.iter_mut().zip(columns) {
        *place = column[whole];
    }
}
