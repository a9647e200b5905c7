//! Attention: values weighted by the softmax of products, without the matrix of all products.
//!
//! A thread takes some queries of one head. For each block of keys it computes the products with 32
//! queries at a time, transposed: keys are rows, queries are lanes. So a softmax over keys needs no
//! sum across lanes, and its result is at once the panel that the next product reads. What has been
//! summed is corrected whenever a greater product is found.

use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};
use allotrope_op::{Number, elementary};
use rayon::prelude::*;

use super::arithmetic::{Arithmetic, Double, Single};
use super::micro::{Micro, multiply_panels};
use super::pack::{Block, Reader, Room};
use super::{Factor, Matrix};
use crate::Buffer;
use crate::simd::{self, Body};

/// Keys of a block: a multiple of the rows of every tile.
const KEYS: usize = 240;
/// Queries that a thread takes at a time: a multiple of the columns of every tile.
const QUERIES: usize = 384;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 64 * 64 * 64;

/// What queries are allowed to see: `[queries, keys]`.
#[derive(Clone, Copy)]
pub struct Mask<'a> {
    /// The mask: bool, true for what counts, or floats that are added to the products.
    pub matrix: Matrix<'a>,
}

/// Attention of several heads.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// `[queries, depth]`
    pub queries: Matrix<'a>,
    /// `[keys, depth]`
    pub keys: Matrix<'a>,
    /// `[keys, width]`
    pub values: Matrix<'a>,
    /// What counts, if not all does.
    pub mask: Option<Mask<'a>>,
    /// Where queries, keys, values and mask of each head start, in elements.
    pub offsets: &'a [[usize; 4]],
    /// Queries, keys, their length, and that of a value.
    pub sizes: [usize; 4],
    /// What products are multiplied by.
    pub scale: f64,
    /// Whether a query sees no keys after its own number.
    pub causal: bool,
    /// The float dtype that all operands are converted to.
    pub common: DType,
}

/// A float with what a softmax needs.
trait Real: Micro {
    const LOWEST: Self;
    fn from_f64(value: f64) -> Self;
    fn exp<const FUSED: bool>(self) -> Self;
    fn times(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn exceeds(self, other: Self) -> bool;
    fn is_zero(self) -> bool;
}

macro_rules! real {
    ($($T:ident, $exp:ident;)*) => {$(
        impl Real for $T {
            const LOWEST: Self = $T::NEG_INFINITY;
            fn from_f64(value: f64) -> Self { value as $T }
            #[inline(always)]
            fn exp<const FUSED: bool>(self) -> Self { elementary::$exp(Number::<$T, FUSED>(self)).0 }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self - other }
            #[inline(always)]
            fn over(self, other: Self) -> Self { self / other }
            #[inline(always)]
            fn exceeds(self, other: Self) -> bool { self > other }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0.0 }
        }
    )*};
}
real! { f32, exp32; f64, exp64; }

/// Writes the results of all heads, `[heads, queries, width]` in row-major order of `dtype`.
///
/// # Errors
/// A memory error; a dtype error for operands that are not real.
pub fn attend(
    op: &'static str,
    attention: &Attention<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    attend_at(Level::current(), op, attention, dtype, out)
}

/// [`attend`] with the kernels of a given level, or of the highest available below it.
///
/// # Errors
/// As [`attend`].
pub fn attend_at(
    level: Level,
    op: &'static str,
    attention: &Attention<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let level = level.min(Level::detected());
    if attention.common == DType::F64 {
        run::<Double>(level, op, attention, dtype, out)
    } else {
        run::<Single>(level, op, attention, dtype, out)
    }
}

/// Some queries of one head, and where their results go.
struct Piece<'a> {
    head: usize,
    first: usize,
    count: usize,
    out: &'a mut [u8],
}

fn run<A>(
    level: Level,
    op: &'static str,
    attention: &Attention<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error>
where
    A: Arithmetic<Line = <A as Arithmetic>::Sum>,
    A::Sum: Real,
{
    let [queries, keys, depth, width] = attention.sizes;
    let heads = attention.offsets.len();
    if heads * queries * width == 0 {
        return Ok(());
    }
    let through = [attention.common, attention.common.compute()];
    let line = A::Line::DTYPE;
    // Truth values become 0 and 1 without the dtype of the floats.
    let mask_through = match attention.mask {
        Some(mask) if mask.matrix.dtype == DType::Bool => [DType::Bool; 2],
        _ => through,
    };
    let new = Reader::new;
    let stored = Factor::Stored;
    let mask = attention.mask.map(|mask| mask.matrix.transposed());
    let (queries_t, values_t) = (
        attention.queries.transposed(),
        attention.values.transposed(),
    );
    let plan = Plan {
        level,
        op,
        attention,
        queries: new(level, stored(queries_t), false, through, line)?,
        keys: new(level, stored(attention.keys), true, through, line)?,
        values: new(level, stored(values_t), true, through, line)?,
        mask: mask
            .map(|mask| new(level, stored(mask), false, mask_through, line))
            .transpose()?,
        finish: if dtype == line {
            None
        } else {
            Some(Conversion::new(line, dtype)?)
        },
    };
    let work = [heads, queries, keys, depth + width]
        .iter()
        .fold(1_usize, |work, size| work.saturating_mul(*size));
    let threads = rayon::current_num_threads();
    let tile = A::Sum::shape(level).1;
    let mut share = QUERIES.min(queries.next_multiple_of(tile));
    while heads * queries.div_ceil(share) < 2 * threads && share > tile {
        share = (share / 2).next_multiple_of(tile);
    }
    let mut pieces = Vec::new();
    let mut rest = out;
    for head in 0..heads {
        for first in (0..queries).step_by(share) {
            let count = share.min(queries - first);
            let (out, others) = rest.split_at_mut(count * width * dtype.itemsize());
            rest = others;
            pieces.push(Piece {
                head,
                first,
                count,
                out,
            });
        }
    }
    let run = |piece: &mut Piece<'_>| plan.run::<A>(piece);
    if work < SEQUENTIAL || threads == 1 {
        pieces.iter_mut().try_for_each(run)
    } else {
        pieces.par_iter_mut().with_max_len(1).try_for_each(run)
    }
}

struct Plan<'a> {
    level: Level,
    op: &'static str,
    attention: &'a Attention<'a>,
    queries: Reader<'a>,
    keys: Reader<'a>,
    values: Reader<'a>,
    mask: Option<Reader<'a>>,
    finish: Option<Conversion>,
}

impl Plan<'_> {
    fn run<A>(&self, piece: &mut Piece<'_>) -> Result<(), Error>
    where
        A: Arithmetic<Line = <A as Arithmetic>::Sum>,
        A::Sum: Real,
    {
        let Attention { sizes, causal, .. } = *self.attention;
        let [_, all_keys, depth, width] = sizes;
        let (tile_rows, lanes) = A::Sum::shape(self.level);
        let [offset_q, offset_k, offset_v, offset_m] = self.attention.offsets[piece.head];
        let panels = piece.count.div_ceil(lanes);
        // Whole tiles of keys and of values.
        let tall = |rows: usize| rows.next_multiple_of(tile_rows);
        let block_keys = KEYS.min(tall(all_keys.max(1)));
        let parts = [
            panels * lanes * depth,
            tall(block_keys) * depth,
            tall(width) * block_keys,
            block_keys * lanes,
            block_keys * lanes,
            panels * width * lanes,
            panels * lanes,
            panels * lanes,
        ];
        let total: usize = parts.iter().sum();
        let mut memory = Buffer::for_overwrite(self.op, total * size_of::<A::Sum>())?;
        let mut rest = memory.elements_mut::<A::Sum>();
        let [
            packed_q,
            packed_k,
            packed_v,
            scores,
            allowed,
            sums,
            greatest,
            totals,
        ] = parts.map(|part| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(part);
            rest = later;
            now
        });
        let mut room = Room::new();
        let block = |offset, first_line, lines, first, count, wide| Block {
            batch: 0,
            offset,
            first_line,
            lines,
            first,
            count,
            wide,
        };
        let queries = block(offset_q, piece.first, piece.count, 0, depth, lanes);
        self.queries.pack::<A, false>(queries, packed_q, &mut room);
        sums.fill(A::Sum::default());
        greatest.fill(A::Sum::LOWEST);
        totals.fill(A::Sum::default());
        // A causal query sees no key after itself.
        let seen = if causal {
            all_keys.min(piece.first + piece.count)
        } else {
            all_keys
        };
        for first_key in (0..seen).step_by(block_keys) {
            let keys = block_keys.min(all_keys - first_key);
            let lines = block(offset_k, first_key, keys, 0, depth, tile_rows);
            self.keys
                .pack::<A, true>(lines, &mut packed_k[..tall(keys) * depth], &mut room);
            let lines = block(offset_v, 0, width, first_key, keys, tile_rows);
            self.values
                .pack::<A, true>(lines, &mut packed_v[..tall(width) * keys], &mut room);
            for panel in 0..panels {
                let first = piece.first + panel * lanes;
                let count = lanes.min(piece.count - panel * lanes);
                if causal && first_key >= first + count {
                    continue;
                }
                let packed = &packed_q[panel * lanes * depth..][..lanes * depth];
                let scores = &mut scores[..keys * lanes];
                multiply_panels(self.level, depth, packed_k, packed, scores, keys, false);
                let allowed = &mut allowed[..keys * lanes];
                if let Some(mask) = &self.mask {
                    let lines = block(offset_m, first, count, first_key, keys, lanes);
                    mask.pack::<A, false>(lines, allowed, &mut room);
                }
                let here = &mut sums[panel * width * lanes..][..width * lanes];
                let softmax = Softmax {
                    scores: &mut *scores,
                    mask: self.mask.is_some().then_some(&*allowed),
                    is_truth: self
                        .attention
                        .mask
                        .is_some_and(|mask| mask.matrix.dtype == DType::Bool),
                    scale: A::Sum::from_f64(self.attention.scale),
                    greatest: &mut greatest[panel * lanes..][..lanes],
                    totals: &mut totals[panel * lanes..][..lanes],
                    sums: &mut *here,
                    diagonal: causal.then(|| first as isize - first_key as isize),
                };
                match lanes {
                    32 => simd::run(self.level, Wide::<A::Sum, 32>(softmax)),
                    16 => simd::run(self.level, Wide::<A::Sum, 16>(softmax)),
                    8 => simd::run(self.level, Wide::<A::Sum, 8>(softmax)),
                    _ => simd::run(self.level, Wide::<A::Sum, 4>(softmax)),
                }
                multiply_panels(self.level, keys, packed_v, scores, here, width, true);
            }
        }
        let results = Results {
            sums,
            totals,
            lanes,
            width,
        };
        self.finish(&results, piece);
        Ok(())
    }

    /// Sums divided by the totals of their weights, in the dtype of the result.
    fn finish<T: Real>(&self, results: &Results<'_, T>, piece: &mut Piece<'_>) {
        let Results {
            sums,
            totals,
            lanes,
            width,
        } = *results;
        let mut row = vec![T::default(); width];
        let mut scratch = Box::<Scratch>::default();
        let size = piece.out.len() / piece.count;
        for (query, out) in piece.out.chunks_exact_mut(size).enumerate() {
            let (panel, lane) = (query / lanes, query % lanes);
            let total = totals[query];
            let column = sums[panel * width * lanes..]
                .iter()
                .skip(lane)
                .step_by(lanes);
            for (to, sum) in row.iter_mut().zip(column) {
                // Nothing to see gives zero, as in torch.
                *to = if total.is_zero() {
                    T::default()
                } else {
                    sum.over(total)
                };
            }
            match &self.finish {
                None => out.copy_from_slice(bytemuck::cast_slice(&row)),
                Some(conversion) => {
                    conversion.run(self.level, bytemuck::cast_slice(&row), out, &mut scratch);
                }
            }
        }
    }
}

/// What has been summed: a panel of `[width, lanes]` for every `lanes` queries.
struct Results<'a, T> {
    sums: &'a [T],
    totals: &'a [T],
    lanes: usize,
    width: usize,
}

/// One block of products on its way to weights.
struct Softmax<'a, T> {
    /// `[keys, lanes]`: products, which become weights.
    scores: &'a mut [T],
    mask: Option<&'a [T]>,
    is_truth: bool,
    scale: T,
    /// Per lane: the greatest product so far, the sum of weights, the weighted values.
    greatest: &'a mut [T],
    totals: &'a mut [T],
    sums: &'a mut [T],
    /// The number of the first query minus that of the first key, if later keys do not count.
    diagonal: Option<isize>,
}

/// The same for a known number of lanes.
struct Wide<'a, T, const LANES: usize>(Softmax<'a, T>);

impl<T: Real, const LANES: usize> Body for Wide<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Softmax {
            scores,
            mask,
            is_truth,
            scale,
            greatest,
            totals,
            sums,
            diagonal,
        } = self.0;
        let rows = scores.as_chunks_mut::<LANES>().0;
        if let (Some(greatest), Some(totals)) = (
            greatest.first_chunk_mut::<LANES>(),
            totals.first_chunk_mut::<LANES>(),
        ) {
            let former = *greatest;
            let mut best = former;
            for (key, row) in rows.iter_mut().enumerate() {
                for score in row.iter_mut() {
                    *score = score.times(scale);
                }
                if let Some(mask) = mask {
                    let allowed = &mask[key * LANES..][..LANES];
                    for (score, allowed) in row.iter_mut().zip(allowed) {
                        *score = if !is_truth {
                            score.plus(*allowed)
                        } else if allowed.is_zero() {
                            T::LOWEST
                        } else {
                            *score
                        };
                    }
                }
                if let Some(diagonal) = diagonal {
                    let hidden = (key as isize - diagonal).clamp(0, LANES as isize) as usize;
                    row[..hidden].fill(T::LOWEST);
                }
                for (best, score) in best.iter_mut().zip(&*row) {
                    *best = if score.exceeds(*best) { *score } else { *best };
                }
            }
            // Nothing seen yet: weights of exp(-inf) without exp(inf - inf).
            let mut base = best;
            for base in &mut base {
                *base = if *base == T::LOWEST {
                    T::default()
                } else {
                    *base
                };
            }
            let mut total = [T::default(); LANES];
            for row in rows.iter_mut() {
                for ((score, base), total) in row.iter_mut().zip(&base).zip(&mut total) {
                    *score = score.minus(*base).exp::<FUSED>();
                    *total = total.plus(*score);
                }
            }
            let mut correction = [T::default(); LANES];
            for ((correction, former), base) in correction.iter_mut().zip(&former).zip(&base) {
                *correction = former.minus(*base).exp::<FUSED>();
            }
            for ((old, new), correction) in totals.iter_mut().zip(&total).zip(&correction) {
                *old = old.times(*correction).plus(*new);
            }
            for row in sums.as_chunks_mut::<LANES>().0 {
                for (sum, correction) in row.iter_mut().zip(&correction) {
                    *sum = sum.times(*correction);
                }
            }
            *greatest = best;
        }
    }
}
