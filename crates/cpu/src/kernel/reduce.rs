//! One number of many, along any axes, with a program in front.
//!
//! The elements are seen as `[outer, reduced, inner]`. Where nothing is inside the reduced axes each
//! result folds a run of elements; else whole rows are folded into a row of results. How the work
//! is cut depends on the sizes alone, and so does the result.
//!
//! Lanes fold blocks of 2048 elements, blocks are joined in a wider accumulator (float64 for
//! float32, compensated for float64), segments in a tree. Results are rounded once, from that
//! accumulator to the dtype; a variance or a logsumexp stores no temporary.

use crate::memory::{try_resize, try_vec};
use allotrope_dtype::{DType, Error, Level, Problem};
use allotrope_op::{Fold, Program, Shape};
use bytemuck::{Pod, Zeroable};

use super::fold::{Folding, Max, Min, Narrow, Prod, Sum};
#[cfg(target_arch = "x86_64")]
use super::fused::block::Half;
use super::fused::block::{Brain, Itself, Load, Truth};
use crate::Buffer;
use crate::parallel;
use crate::simd::{self, Body};
use crate::tile::{Input, Source};

/// Lanes of a loop: four vectors of float32 at the widest level.
const LANES: usize = 64;
/// Items that a loop folds before its lanes are joined.
const BLOCK: usize = 2048;
/// Items that are made at once where they are not read in place.
const AT_ONCE: usize = 2 * BLOCK;
/// Items of one piece of work.
const SEGMENT: usize = 64 << 10;
/// Columns of a row of results that stay in the first-level cache.
const COLUMNS: usize = 1024;
/// Rows that are folded before the lanes are widened.
const ROWS: usize = 128;

/// The elements of a program's one output, folded along the middle of three sizes.
///
/// `shape` is that of the inputs' layouts and has `sizes[0] * sizes[1] * sizes[2]` elements. The
/// results are of the output's dtype, which must be a [`Fold::item`]; sums of float32 and complex64
/// come as float64 and complex128, to be rounded once.
///
/// # Errors
/// A memory error.
pub fn reduce(
    fold: Fold,
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    sizes: [usize; 3],
) -> Result<Buffer, Error> {
    reduce_at(Level::current(), fold, program, shape, inputs, sizes)
}

/// [`reduce`] with the kernels of a given level, or of the highest available below it.
///
/// # Errors
/// As [`reduce`].
pub fn reduce_at(
    level: Level,
    fold: Fold,
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    sizes: [usize; 3],
) -> Result<Buffer, Error> {
    debug_assert_eq!(shape.count(), sizes.iter().product::<usize>());
    let item = program.output_dtypes().next().unwrap_or(DType::Bool);
    let whole = whole_run(program, inputs, sizes);
    macro_rules! kernels {
        ($($fold:ident: $($dtype:ident $ty:ty),*;)*) => {
            match (fold, item) {
                $($((Fold::$fold, DType::$dtype) => match whole {
                    Some(items) => fold_whole::<$fold<$ty>>(level, items),
                    None => fold_all::<$fold<$ty>>(level, &Source::new(level, program, inputs)?, sizes),
                },)*)*
                _ => Err(Error::not_in_set("reduce", item, allotrope_dtype::Set::Real, None)),
            }
        };
    }
    use allotrope_dtype::{c64, c128};
    // Sums and products of integers wrap, and then their sign makes no difference to the bits.
    kernels! {
        Sum: F32 f32, F64 f64, C64 c64, C128 c128, I64 i64, U64 i64;
        Prod: F64 f64, C128 c128, I64 i64, U64 i64;
        Max: F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, Bool u8;
        Min: F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, Bool u8;
    }
}

/// The items, if they are one run that is read in place and no longer than a piece of work: what is to be
/// set out for longer ones takes longer than they do.
fn whole_run<'a>(
    program: &Program,
    inputs: &[Input<'a>],
    [outer, reduced, inner]: [usize; 3],
) -> Option<&'a [u8]> {
    let ([], [0], [input]) = (program.steps(), program.outputs(), inputs) else {
        return None;
    };
    let is_one = outer * inner == 1 && (1..=SEGMENT).contains(&reduced);
    let size = program.dtype(0).itemsize();
    let start = input.layout.offset() * size;
    (is_one && input.layout.is_contiguous()).then(|| &input.bytes[start..start + reduced * size])
}

fn fold_whole<F: Folding>(level: Level, items: &[u8]) -> Result<Buffer, Error> {
    let mut buffer = Buffer::for_overwrite("reduce", size_of::<F::Out>())?;
    let out: &mut [F::Out] = bytemuck::cast_slice_mut(&mut buffer);
    out.fill(F::finish(fold_run::<F, Itself>(
        level,
        None,
        bytemuck::cast_slice(items),
    )));
    Ok(buffer)
}

fn fold_all<F: Folding>(
    level: Level,
    source: &Source<'_>,
    sizes: [usize; 3],
) -> Result<Buffer, Error> {
    let [outer, reduced, inner] = sizes;
    let bytes = (outer * inner).checked_mul(size_of::<F::Out>());
    let bytes =
        bytes.ok_or_else(|| Error::new("reduce", Problem::OutOfMemory { bytes: usize::MAX }))?;
    let mut buffer = Buffer::for_overwrite("reduce", bytes)?;
    let out: &mut [F::Out] = bytemuck::cast_slice_mut(&mut buffer);
    if out.is_empty() {
        return Ok(buffer);
    }
    if reduced == 0 {
        out.fill(F::finish(F::widen(F::start())));
    } else if inner == 1 {
        fold_runs::<F>(level, source, reduced, out)?;
    } else {
        fold_rows::<F>(level, source, [reduced, inner], out)?;
    }
    Ok(buffer)
}

/// Each result is a run of `reduced` items.
fn fold_runs<F: Folding>(
    level: Level,
    source: &Source<'_>,
    reduced: usize,
    out: &mut [F::Out],
) -> Result<(), Error> {
    let segments = reduced.div_ceil(SEGMENT);
    if segments == 1 {
        // Whole runs, several to a piece of work, and to what is read at once.
        let each = (SEGMENT / reduced).max(1);
        let at_once = (AT_ONCE / reduced).max(1);
        return parallel::try_for_each_part(out, each, |index, out| {
            let mut items = Items::new();
            let mut first = index * each * reduced;
            for out in out.chunks_mut(at_once) {
                let narrow = narrow::<F>(level, source, first, out.len() * reduced);
                if let Some((fold, dtype, codes)) = narrow {
                    let runs = codes.chunks_exact(reduced * dtype.itemsize());
                    for (out, codes) in out.iter_mut().zip(runs) {
                        *out = F::finish((fold.run)(level, dtype, codes));
                    }
                } else if let [out] = out {
                    let run = fold_source::<F>(level, source, &mut items, [first, reduced])?;
                    *out = F::finish(run);
                } else {
                    let items = items.read::<F::Item>(source, first, out.len() * reduced)?;
                    for (out, run) in out.iter_mut().zip(items.chunks_exact(reduced)) {
                        *out = F::finish(fold_run::<F, Itself>(level, None, run));
                    }
                }
                first += out.len() * reduced;
            }
            Ok(())
        });
    }
    let pieces = parallel::try_map(out.len() * segments, |piece| {
        let (run, segment) = (piece / segments, piece % segments);
        let start = segment * SEGMENT;
        let place = [run * reduced + start, SEGMENT.min(reduced - start)];
        fold_source::<F>(level, source, &mut Items::new(), place)
    })?;
    for (out, pieces) in out.iter_mut().zip(pieces.chunks_exact(segments)) {
        *out = F::finish(merge_pairwise::<F>(pieces));
    }
    Ok(())
}

/// Items that the fold converts by itself, before that, and how it does.
fn narrow<'a, F: Folding>(
    level: Level,
    source: &'a Source<'_>,
    first: usize,
    count: usize,
) -> Option<(Narrow<F>, DType, &'a [u8])> {
    let fold = F::NARROW?;
    let (dtype, codes) = source.converted(first, count)?;
    (fold.reads)(level, dtype).then_some((fold, dtype, codes))
}

/// A run of items of a source, of which no more are made at once than stay in the first-level cache.
fn fold_source<F: Folding>(
    level: Level,
    source: &Source<'_>,
    items: &mut Items,
    [first, count]: [usize; 2],
) -> Result<F::Wide, Error> {
    if let Some(bytes) = source.in_place(first, count) {
        let items = bytemuck::cast_slice(bytes);
        return Ok(fold_run::<F, Itself>(level, None, items));
    }
    if let Some((fold, dtype, codes)) = narrow::<F>(level, source, first, count) {
        return Ok((fold.run)(level, dtype, codes));
    }
    let mut folded = None;
    for start in (0..count).step_by(AT_ONCE) {
        let len = AT_ONCE.min(count - start);
        let items = items.read::<F::Item>(source, first + start, len)?;
        folded = Some(fold_run::<F, Itself>(level, folded, items));
    }
    Ok(folded.unwrap_or_else(|| F::widen(F::start())))
}

/// Rows of `inner` items, `reduced` of them for each row of results.
fn fold_rows<F: Folding>(
    level: Level,
    source: &Source<'_>,
    [reduced, inner]: [usize; 2],
    out: &mut [F::Out],
) -> Result<(), Error> {
    let columns = inner.div_ceil(COLUMNS);
    let width = inner.min(COLUMNS);
    let rows = (SEGMENT / width).max(ROWS);
    let segments = reduced.div_ceil(rows);
    let outer = out.len() / inner;
    let mut pieces = parallel::try_map(outer * columns * segments, |piece| {
        let segment = piece % segments;
        let column = piece / segments % columns * COLUMNS;
        let row = piece / segments / columns * reduced + segment * rows;
        let count = rows.min(reduced - segment * rows);
        let width = COLUMNS.min(inner - column);
        fold_row_block::<F>(level, source, [row, count], [column, width, inner])
    })?;
    for (index, pieces) in pieces.chunks_exact_mut(segments).enumerate() {
        let start = index / columns * inner + index % columns * COLUMNS;
        merge_rows_pairwise::<F>(pieces);
        for (out, wide) in out[start..].iter_mut().zip(&pieces[0]) {
            *out = F::finish(*wide);
        }
    }
    Ok(())
}

/// Some columns of some rows, as one row of wide accumulators.
fn fold_row_block<F: Folding>(
    level: Level,
    source: &Source<'_>,
    [first, count]: [usize; 2],
    [column, width, inner]: [usize; 3],
) -> Result<Vec<F::Wide>, Error> {
    let mut wide: Vec<F::Wide> = try_vec("reduce", width, F::widen(F::start()))?;
    let mut lanes = try_vec("reduce", width, F::start())?;
    let mut items = Items::new();
    // Narrow rows are read several at a time.
    let at_once = if width == inner {
        (COLUMNS * 2 / inner).clamp(1, ROWS)
    } else {
        1
    };
    let mut row = 0;
    while row < count {
        let block = ROWS.min(count - row);
        let mut done = 0;
        while done < block {
            let rows = at_once.min(block - done);
            let start = (first + row + done) * inner + column;
            let lanes = &mut lanes[..];
            let narrow = narrow::<F>(level, source, start, rows * width);
            if let Some((fold, dtype, codes)) = narrow {
                (fold.rows)(level, dtype, lanes, codes);
            } else {
                let codes = items.read::<F::Item>(source, start, rows * width)?;
                simd::run(level, Rows::<F, Itself> { lanes, codes });
            }
            done += rows;
        }
        for (wide, lane) in wide.iter_mut().zip(&mut lanes) {
            *wide = F::merge(*wide, F::widen(std::mem::replace(lane, F::start())));
        }
        row += block;
    }
    Ok(wide)
}

/// Items of a source, read in place or into memory of its own.
pub(super) struct Items(Vec<u64>);

impl Items {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn read<'a, T: Pod>(
        &'a mut self,
        source: &'a Source<'_>,
        first: usize,
        count: usize,
    ) -> Result<&'a [T], Error> {
        if let Some(bytes) = source.in_place(first, count) {
            return Ok(bytemuck::cast_slice(bytes));
        }
        let words = (count * size_of::<T>()).div_ceil(8);
        if self.0.len() < words {
            try_resize("reduce", &mut self.0, words, 0)?;
        }
        let bytes = &mut bytemuck::cast_slice_mut(&mut self.0)[..count * size_of::<T>()];
        source.read(first, count, bytes)?;
        Ok(bytemuck::cast_slice(bytes))
    }
}

/// A run of items in blocks, after what has been folded before.
fn fold_run<F: Folding, S: Load<F::Item>>(
    level: Level,
    before: Option<F::Wide>,
    codes: &[S::Code],
) -> F::Wide {
    let blocks = codes.chunks(BLOCK).map(|codes| {
        let lane = if codes.len() < LANES {
            let items = padded::<F::Item, S>(codes);
            let items = items[..codes.len()].iter();
            items.fold(F::start(), |lane, item| F::step(lane, *item))
        } else {
            simd::run(level, Run::<F, S> { codes })
        };
        F::widen(lane)
    });
    let mut blocks = before.into_iter().chain(blocks);
    let first = blocks.next().unwrap_or_else(|| F::widen(F::start()));
    blocks.fold(first, F::merge)
}

/// [`fold_run`] of float16 or bfloat16.
pub(super) fn fold_run_of_halves<F: Folding<Item = f32>>(
    level: Level,
    dtype: DType,
    codes: &[u8],
) -> F::Wide {
    let codes = bytemuck::cast_slice(codes);
    match dtype {
        #[cfg(target_arch = "x86_64")]
        DType::F16 => fold_run::<F, Half>(level, None, codes),
        _ => fold_run::<F, Brain>(level, None, codes),
    }
}

/// Rows of float16 or bfloat16 into a row of lanes.
pub(super) fn fold_rows_of_halves<F: Folding<Item = f32>>(
    level: Level,
    dtype: DType,
    lanes: &mut [F::Lane],
    codes: &[u8],
) {
    let codes = bytemuck::cast_slice(codes);
    match dtype {
        #[cfg(target_arch = "x86_64")]
        DType::F16 => simd::run(level, Rows::<F, Half> { lanes, codes }),
        _ => simd::run(level, Rows::<F, Brain> { lanes, codes }),
    }
}

/// The folds of integers that are summed as int64: converted first, they take five times as long.
macro_rules! small_integers {
    ($($dtype:ident $code:ty;)*) => {
        /// Whether integers of a dtype are converted on the way.
        pub(super) fn is_small_integer(dtype: DType) -> bool {
            matches!(dtype, $(DType::$dtype)|*)
        }

        /// [`fold_run`] of them.
        pub(super) fn fold_run_of_integers<F: Folding<Item = i64>>(
            level: Level,
            dtype: DType,
            codes: &[u8],
        ) -> F::Wide {
            match dtype {
                $(DType::$dtype => fold_run::<F, $code>(level, None, bytemuck::cast_slice(codes)),)*
                _ => F::widen(F::start()),
            }
        }

        /// Rows of them into a row of lanes.
        pub(super) fn fold_rows_of_integers<F: Folding<Item = i64>>(
            level: Level,
            dtype: DType,
            lanes: &mut [F::Lane],
            codes: &[u8],
        ) {
            match dtype {
                $(DType::$dtype => {
                    let codes = bytemuck::cast_slice(codes);
                    simd::run(level, Rows::<F, $code> { lanes, codes });
                })*
                _ => {}
            }
        }
    };
}
small_integers! {
    Bool Truth;
    I8 i8;
    U8 u8;
    I16 i16;
    U16 u16;
    I32 i32;
    U32 u32;
}

/// Less than a block of items, and something behind them.
#[inline(always)]
fn padded<T: Pod, S: Load<T>>(codes: &[S::Code]) -> [T; LANES] {
    let mut all = [S::Code::zeroed(); LANES];
    all[..codes.len()].copy_from_slice(codes);
    S::load(&all)
}

/// Joined in a tree, so that the error grows with the logarithm of their number.
fn merge_pairwise<F: Folding>(values: &[F::Wide]) -> F::Wide {
    match values {
        [] => F::widen(F::start()),
        [only] => *only,
        _ => {
            let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
            F::merge(merge_pairwise::<F>(left), merge_pairwise::<F>(right))
        }
    }
}

/// The same for rows of them, into the first.
fn merge_rows_pairwise<F: Folding>(rows: &mut [Vec<F::Wide>]) {
    if rows.len() > 1 {
        let (left, right) = rows.split_at_mut(rows.len().next_power_of_two() / 2);
        merge_rows_pairwise::<F>(left);
        merge_rows_pairwise::<F>(right);
        for (a, b) in left[0].iter_mut().zip(&right[0]) {
            *a = F::merge(*a, *b);
        }
    }
}

/// One block of a run.
struct Run<'a, F: Folding, S: Load<F::Item>> {
    codes: &'a [S::Code],
}

impl<F: Folding, S: Load<F::Item>> Body for Run<'_, F, S> {
    type Output = F::Lane;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> F::Lane {
        let mut lanes = [F::start(); LANES];
        let (whole, rest) = self.codes.as_chunks::<LANES>();
        for codes in whole {
            simd::prefetch(codes);
            for (lane, item) in lanes.iter_mut().zip(S::load(codes)) {
                *lane = F::step(*lane, item);
            }
        }
        let items = padded::<F::Item, S>(rest);
        for (lane, item) in lanes.iter_mut().zip(items).take(rest.len()) {
            *lane = F::step(*lane, item);
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for place in 0..width {
                lanes[place] = F::join(lanes[place], lanes[place + width]);
            }
        }
        lanes[0]
    }
}

/// Rows of items into a row of lanes.
struct Rows<'a, F: Folding, S: Load<F::Item>> {
    lanes: &'a mut [F::Lane],
    codes: &'a [S::Code],
}

impl<F: Folding, S: Load<F::Item>> Body for Rows<'_, F, S> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for row in self.codes.chunks_exact(self.lanes.len()) {
            let (lanes, lanes_left) = self.lanes.as_chunks_mut::<LANES>();
            let (whole, rest) = row.as_chunks::<LANES>();
            for (lanes, codes) in lanes.iter_mut().zip(whole) {
                simd::prefetch(codes);
                for (lane, item) in lanes.iter_mut().zip(S::load(codes)) {
                    *lane = F::step(*lane, item);
                }
            }
            for (lane, item) in lanes_left.iter_mut().zip(padded::<F::Item, S>(rest)) {
                *lane = F::step(*lane, item);
            }
        }
    }
}
