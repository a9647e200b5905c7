//! Attention: values weighted by the softmax of products, without the matrix of all products.
//!
//! A thread takes some queries of one head. For each block of keys it computes the products with 32
//! queries at a time, transposed: keys are rows, queries are lanes. So a softmax over keys needs no
//! sum across lanes, and its result is at once the panel that the next product reads. What has been
//! summed is corrected whenever a greater product is found.
#![allow(unsafe_code, reason = "rows of a shared result, one per query")]

use crate::memory::try_vec;
use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};

use super::arithmetic::{Arithmetic, Double, Single};
use super::attention_softmax::{Real, Softmax, Wide};
use super::micro::{Micro, multiply_panels};
use super::output::Target;
use super::pack::{Block, Reader, Room};
use super::queue::run_queue;
use super::{Factor, Matrix, Output};
use crate::Buffer;
use crate::interrupt;
use crate::simd;

/// Keys of a block: a multiple of the rows of every tile.
const KEYS: usize = 240;
/// Queries that a thread takes at a time: a multiple of the columns of every tile.
const QUERIES: usize = 512;
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

/// Writes the results of all heads, `[heads, queries, width]` in row-major order of `dtype`.
///
/// # Errors
/// A memory error; a dtype error for operands that are not real.
///
/// # Panics
/// If an operand does not lie within its memory, or the results do not fit.
pub fn attend(
    op: &'static str,
    attention: &Attention<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    attend_at(Level::current(), op, attention, dtype, out)
}

/// [`attend`] with the kernels of a given level.
///
/// # Errors
/// As [`attend`].
///
/// # Panics
/// As [`attend`].
pub fn attend_at(
    level: Level,
    op: &'static str,
    attention: &Attention<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let [queries, keys, depth, width] = attention.sizes;
    let operands = [
        (Some(attention.queries), [queries, depth]),
        (Some(attention.keys), [keys, depth]),
        (Some(attention.values), [keys, width]),
        (attention.mask.map(|mask| mask.matrix), [queries, keys]),
    ];
    for (number, (matrix, sizes)) in operands.into_iter().enumerate() {
        let mut offsets = attention.offsets.iter().map(|offsets| offsets[number]);
        let is_within = matrix.is_none_or(|matrix| matrix.holds(sizes, &mut offsets));
        assert!(is_within, "an operand leaves its memory");
    }
    if attention.common == DType::F64 {
        run::<Double>(level, op, attention, dtype, out)
    } else {
        run::<Single>(level, op, attention, dtype, out)
    }
}

/// Some queries of one head.
struct Piece {
    head: usize,
    first: usize,
    count: usize,
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
    if [heads, queries, width].contains(&0) {
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
    let output = Output::contiguous(dtype, out, queries, width);
    let plan = Plan {
        level,
        op,
        attention,
        target: Target::new(output, [heads, queries, width]),
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
    let threads = crate::parallel::thread_count();
    let tile = A::Sum::shape(level).1;
    let mut most = QUERIES.min(queries.next_multiple_of(tile));
    while heads * queries.div_ceil(most) < 2 * threads && most > tile {
        most = (most / 2).next_multiple_of(tile);
    }
    let parts = queries.div_ceil(most);
    let most = queries.div_ceil(parts).next_multiple_of(tile);
    let parts = queries.div_ceil(most);
    let threads = if work < SEQUENTIAL { 1 } else { threads };
    run_queue(threads, heads * parts, &|pieces| {
        while let Some(range) = pieces.take() {
            for number in range {
                let first = number % parts * most;
                let piece = Piece {
                    head: number / parts,
                    first,
                    count: most.min(queries - first),
                };
                plan.run::<A>(&piece)?;
            }
        }
        Ok(())
    })
}

struct Plan<'a> {
    level: Level,
    op: &'static str,
    attention: &'a Attention<'a>,
    target: Target<'a>,
    queries: Reader<'a>,
    keys: Reader<'a>,
    values: Reader<'a>,
    mask: Option<Reader<'a>>,
    finish: Option<Conversion>,
}

impl Plan<'_> {
    fn run<A>(&self, piece: &Piece) -> Result<(), Error>
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
        let whole_tiles = |rows: usize| rows.next_multiple_of(tile_rows);
        let block_keys = KEYS.min(whole_tiles(all_keys.max(1)));
        let parts = [
            panels * lanes * depth,
            whole_tiles(block_keys) * depth,
            whole_tiles(width) * block_keys,
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
            if first_key > 0 {
                interrupt::check();
            }
            let keys = block_keys.min(all_keys - first_key);
            let lines = block(offset_k, first_key, keys, 0, depth, tile_rows);
            self.keys
                .pack::<A, true>(lines, &mut packed_k[..whole_tiles(keys) * depth], &mut room);
            let lines = block(offset_v, 0, width, first_key, keys, tile_rows);
            self.values.pack::<A, true>(
                lines,
                &mut packed_v[..whole_tiles(width) * keys],
                &mut room,
            );
            for panel in 0..panels {
                let first = piece.first + panel * lanes;
                let count = lanes.min(piece.count - panel * lanes);
                // The last query of the panel sees so many keys of the block.
                let packed_keys = keys;
                let keys = match causal {
                    true if first_key >= first + count => continue,
                    true => keys.min(first + count - first_key),
                    false => keys,
                };
                let packed = &packed_q[panel * lanes * depth..][..lanes * depth];
                let scores = &mut scores[..keys * lanes];
                multiply_panels(
                    self.level, [depth; 2], packed_k, packed, scores, keys, false,
                );
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
                let steps = [keys, packed_keys];
                multiply_panels(self.level, steps, packed_v, scores, here, width, true);
            }
        }
        let results = Results {
            sums,
            totals,
            lanes,
            width,
        };
        self.finish(&results, piece)
    }

    /// Sums divided by the totals of their weights, in the dtype of the result.
    fn finish<T: Real>(&self, results: &Results<'_, T>, piece: &Piece) -> Result<(), Error> {
        let Results {
            sums,
            totals,
            lanes,
            width,
        } = *results;
        let mut row = try_vec("attention", width, T::default())?;
        let mut scratch = Box::<Scratch>::default();
        for (query, total) in totals.iter().enumerate().take(piece.count) {
            // SAFETY: the target has this row, and no other piece has this query.
            let out = unsafe { self.target.row(piece.head, piece.first + query, 0, width) };
            let (panel, lane) = (query / lanes, query % lanes);
            let column = sums[panel * width * lanes..]
                .iter()
                .skip(lane)
                .step_by(lanes);
            for (to, sum) in row.iter_mut().zip(column) {
                // Nothing to see gives zero, as in torch.
                *to = if total.is_zero() {
                    T::default()
                } else {
                    sum.over(*total)
                };
            }
            match &self.finish {
                None => out.copy_from_slice(bytemuck::cast_slice(&row)),
                Some(conversion) => {
                    conversion.run(self.level, bytemuck::cast_slice(&row), out, &mut scratch);
                }
            }
        }
        Ok(())
    }
}

/// What has been summed: a panel of `[width, lanes]` for every `lanes` queries.
struct Results<'a, T> {
    sums: &'a [T],
    totals: &'a [T],
    lanes: usize,
    width: usize,
}
