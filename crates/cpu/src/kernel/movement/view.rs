//! Elements from one layout to another, on all threads.

use allotrope_dtype::{DType, Level, dispatch_width};
use allotrope_op::Layout;
use bytemuck::Pod;

use super::steps::{Course, Step, Steps, copy_run, copy_steps, count};
use super::transpose::{Transposition, side};
use crate::kernel::whole_elements;
use crate::parallel::{self, CHUNK};
use crate::simd;

/// Rows of transposed work that a thread takes at most: a row of the source is read so far before the
/// next, which the prefetchers want long, and the rows of the target need pages. Measured on 4096
/// by 4096 elements of 4 bytes: 0.62 of memcpy with 1024 rows, 0.43 with 256, 0.22 with 32.
const ROWS: usize = 1024;

/// With AVX-512, results of at least this many bytes are written past the caches: a tile's lines need no
/// reads then, and lines that are a power of two apart compete for few places. Bytes of 4096 by 4096
/// take 0.8 of the time.
const STREAM_FROM: usize = 8 << 20;

/// Copies every element of one layout to where another layout of the same shape has it.
///
/// Both slices must be aligned for the dtype and contain the extents of their layouts. Of several
/// elements that share a place in the target one stays.
pub fn copy_view(dtype: DType, src: &[u8], from: &Layout, dst: &mut [u8], to: &Layout) {
    debug_assert_eq!(from.shape(), to.shape());
    if from.shape().count() == 0 {
        return;
    }
    let whole = whole_elements(dtype, dst).len();
    let dst = &mut dst[..whole];
    dispatch_width!(dtype, |Word| {
        let src: &[Word] = bytemuck::cast_slice(whole_elements(dtype, src));
        copy_words(src, bytemuck::cast_slice_mut(dst), &Course::new(from, to));
    });
}

pub(super) fn copy_words<W: Pod + Send + Sync>(src: &[W], dst: &mut [W], course: &Course) {
    let steps = &course.steps[..];
    if !course.is_nested() {
        return copy_steps(src, course.from, dst, course.to as isize, steps);
    }
    descend(src, course.from, &mut dst[course.to..], steps);
}

/// Whether a copy reads along one loop and writes along another: the place of the former.
pub(super) fn turning_point<W>(steps: &[Step]) -> Option<usize> {
    let (inner, outer) = steps.split_last()?;
    let along = inner.from.unsigned_abs() > 1 && inner.to == 1 && inner.count >= side::<W>();
    let unit = |step: &Step| step.from.unsigned_abs() == 1 && step.count >= side::<W>();
    outer.iter().position(unit).filter(|_| along)
}

/// Copies what nested loops visit, to `dst` from its start on.
fn descend<W: Pod + Send + Sync>(src: &[W], from: isize, dst: &mut [W], steps: &[Step]) {
    let total = count(steps);
    let turning = turning_point::<W>(steps);
    let [outer, inner @ ..] = steps else {
        return copy_steps(src, from, dst, 0, steps);
    };
    let per_turn = outer.to as usize;
    if turning == Some(0) {
        let bytes = total * size_of::<W>();
        let is_large = match Level::current() {
            Level::Avx512(_) => bytes >= STREAM_FROM,
            _ => simd::streams(bytes, bytes),
        };
        // Where a copy is cut does not change it, so that threads may have a say.
        let share = outer.count.div_ceil(2 * crate::parallel::thread_count());
        let block = share.min(ROWS).next_multiple_of(side::<W>());
        let copy_block = |index: usize, part: &mut [W]| {
            let first = index * block;
            let from = from + first as isize * outer.from;
            let rows = Step {
                count: block.min(outer.count - first),
                ..*outer
            };
            turn(src, from, part, &rows, inner, is_large);
            if is_large {
                simd::finish_streams();
            }
        };
        // The last row may have more room behind it than it needs.
        let blocks = outer.count.div_ceil(block);
        let room = dst.len().min(blocks * block * per_turn);
        parallel::visit_blocks(
            &mut dst[..room],
            block * per_turn,
            total > CHUNK,
            copy_block,
        );
        return;
    }
    if total <= CHUNK {
        if turning.is_none() {
            return copy_steps(src, from, dst, 0, steps);
        }
        for i in 0..outer.count {
            let from = from + i as isize * outer.from;
            descend(src, from, &mut dst[i * per_turn..], inner);
        }
        return;
    }
    let turns = (CHUNK / count(inner)).max(1);
    let blocks = outer.count.div_ceil(turns);
    let room = dst.len().min(blocks * turns * per_turn);
    parallel::for_each_part(&mut dst[..room], turns * per_turn, |index, part| {
        let first = index * turns;
        let from = from + first as isize * outer.from;
        let turns = turns.min(outer.count - first);
        let mut steps = Steps::from_slice(steps);
        steps[0].count = turns;
        if inner.is_empty() {
            return copy_run(src, from, part, &steps[0]);
        }
        if count(inner) <= CHUNK {
            return descend(src, from, part, &steps);
        }
        for i in 0..turns {
            let from = from + i as isize * outer.from;
            descend(src, from, &mut part[i * per_turn..], inner);
        }
    });
}

/// Copies a block of rows, which the source has side by side, along the inner loops.
fn turn<W: Pod>(src: &[W], from: isize, dst: &mut [W], rows: &Step, inner: &[Step], stream: bool) {
    match inner {
        [] => {}
        [run] => Transposition {
            src,
            from,
            along: run.from,
            backwards: rows.from < 0,
            rows: rows.count,
            columns: run.count,
            dst,
            row_length: rows.to as usize,
            stream,
        }
        .copy_all(),
        [outer, inner @ ..] => {
            for i in 0..outer.count {
                let from = from + i as isize * outer.from;
                turn(
                    src,
                    from,
                    &mut dst[i * outer.to as usize..],
                    rows,
                    inner,
                    stream,
                );
            }
        }
    }
}
