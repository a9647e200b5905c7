//! Products with one row or column, and many products of two vectors: nothing is packed, and elements
//! are summed in the order of larger products.
#![allow(
    unsafe_code,
    reason = "writes to the row of the result that is this thread's"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use allotrope_dtype::{DType, Level};
use bytemuck::Zeroable;

use super::arithmetic::Arithmetic;
use super::block::Worker;
use super::gemv::{Kernels, Lines, NarrowLines};
use super::pack::{Block, Reader};
use super::{Factor, Output, Product};
use crate::memory::try_collect;
use crate::parallel::for_each_part;

/// What a product is summed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Tiles of packed factors.
    Tiles,
    /// One row. `exchanged` if it was a column: the factors have changed places.
    Row { exchanged: bool },
    /// A row of products of two vectors each.
    Dots,
}

impl Form {
    /// Where the left and the right factor begin.
    pub(super) fn places(self, (a, b): (usize, usize)) -> [usize; 2] {
        match self {
            Self::Row { exchanged: true } => [b, a],
            _ => [a, b],
        }
    }
}

/// Lines that are decoded at a time, where they are not read in place: vectors of any level.
const LINES: usize = 32;
/// Steps that are decoded at a time, where lines lie side by side.
const STEPS: usize = 8;

/// The form of a product of floats or complex numbers. A column is made a row, and so are products of
/// two vectors that lie evenly; `first` is where the first of those begin.
pub(super) fn arrange<'a>(
    product: &mut Product<'a>,
    first: &'a [(usize, usize); 1],
    output: &mut Output<'_>,
) -> Form {
    let count = product.offsets.len();
    if (product.rows, product.columns) == (1, 1) && count > 1 && output.batch_stride == 1 {
        let (Factor::Stored(a), Factor::Stored(b)) = (&mut product.a, &mut product.b) else {
            return Form::Row { exchanged: false };
        };
        if let Some([left, right]) = even_steps(product.offsets) {
            (a.row_stride, b.column_stride) = (left, right);
            (product.columns, product.offsets) = (count, first);
            (output.row_stride, output.batch_stride) = (count, count);
            return Form::Dots;
        }
    }
    if product.rows == 1 {
        return Form::Row { exchanged: false };
    }
    if product.columns != 1 || output.row_stride != 1 {
        return Form::Tiles;
    }
    (product.a, product.b) = (product.b.exchanged(), product.a.exchanged());
    (product.rows, product.columns) = (1, product.rows);
    output.row_stride = product.columns;
    Form::Row { exchanged: true }
}

/// How far factors are apart, if that is always as far.
fn even_steps(offsets: &[(usize, usize)]) -> Option<[isize; 2]> {
    let step = |pair: &[(usize, usize)]| {
        let [left, right] = [(pair[0].0, pair[1].0), (pair[0].1, pair[1].1)];
        [left, right].map(|(from, to)| to.wrapping_sub(from) as isize)
    };
    let first = step(offsets.get(..2)?);
    offsets
        .windows(2)
        .all(|pair| step(pair) == first)
        .then_some(first)
}

/// Where lines of a factor are: the first line and its first index, and from there to the next.
#[derive(Clone, Copy)]
struct Course {
    offset: usize,
    line: usize,
    index: usize,
    line_step: usize,
    index_step: usize,
}

impl Course {
    /// The elements if they are read where they are, from one line to the next, and along a line.
    fn in_place<'a, A: Arithmetic>(
        &self,
        reader: &Reader<'a>,
        lines: usize,
    ) -> Option<(&'a [A::Line], usize, isize)> {
        let (source, across, along) = reader.in_place::<A::Line>()?;
        let start =
            self.offset as isize + self.line as isize * across + self.index as isize * along;
        let across = self.line_step as isize * across + self.index_step as isize * along;
        let across = if lines == 1 {
            0
        } else {
            across.try_into().ok()?
        };
        Some((source.get(start as usize..)?, across, along))
    }
}

impl<A: Arithmetic> Worker<'_, A> {
    /// Sums of columns of a product of one row.
    pub(super) fn row(
        &mut self,
        kernels: &Kernels<A::Sum>,
        batch: usize,
        offsets: [usize; 2],
        first_column: usize,
        columns: usize,
    ) {
        let plan = self.plan;
        let (blocking, depth) = (&plan.blocking, plan.product.depth);
        let keeps = plan.product.beta != super::Coefficient::ZERO;
        let has_own = plan.form == Form::Dots;
        let courses = |pass: usize| {
            let index = pass * blocking.kc;
            let [line, line_step] = if has_own { [first_column, 1] } else { [0, 0] };
            let left = Course {
                offset: offsets[0],
                line,
                index,
                line_step,
                index_step: 0,
            };
            let right = Course {
                offset: offsets[1],
                line: first_column,
                line_step: 1,
                ..left
            };
            [left, right]
        };
        // Passes over one column are chains of their own: lanes of a vector.
        let side_by_side = if columns == 1 && blocking.passes > 2 {
            depth / blocking.kc
        } else {
            0
        };
        let along = |first: usize| {
            courses(first).map(|course| Course {
                line_step: 0,
                index_step: blocking.kc,
                ..course
            })
        };
        let apart = self.chains_apart(kernels, batch, side_by_side, &along);
        for first in (0..side_by_side).step_by(LINES) {
            let passes = LINES.min(side_by_side - first);
            let pairs = match apart.get(first / LINES) {
                Some((pairs, chains)) => {
                    self.chains.clone_from(chains);
                    *pairs
                }
                None => self.chains(kernels, batch, along(first), passes, blocking.kc),
            };
            for pass in 0..passes {
                self.merge(
                    batch,
                    first_column,
                    (first + pass > 0 || (plan.direct && keeps), pairs),
                    (pass, passes),
                    1,
                );
            }
        }
        for pass in side_by_side..blocking.passes {
            let count = blocking.kc.min(depth - pass * blocking.kc);
            let pairs = self.chains(kernels, batch, courses(pass), columns, count);
            let adds = pass > 0 || (plan.direct && keeps);
            self.merge(batch, first_column, (adds, pairs), (0, columns), columns);
        }
    }

    /// The chains of many passes over one column, [`LINES`] at a time, by all threads; none where they are few,
    /// or memory is short.
    fn chains_apart(
        &self,
        kernels: &Kernels<A::Sum>,
        batch: usize,
        passes: usize,
        along: &(dyn Fn(usize) -> [Course; 2] + Sync),
    ) -> Vec<(bool, Vec<A::Sum>)> {
        /// Passes that are worth another thread.
        const MANY: usize = 256;
        let threads = crate::parallel::thread_count();
        if passes < MANY || threads == 1 {
            return Vec::new();
        }
        let groups = passes.div_ceil(LINES);
        let room = try_collect("dot", (0..groups).map(|_| (false, Vec::new())));
        let mut groups = room.unwrap_or_default();
        let (plan, factors, is_short) = (self.plan, &self.factors, AtomicBool::new(false));
        let part = groups.len().div_ceil(4 * threads).max(1);
        for_each_part(&mut groups, part, |index, groups| {
            let Ok(mut worker) = Worker::<A>::new(plan, factors.clone()) else {
                return is_short.store(true, Ordering::Relaxed);
            };
            for (number, (pairs, chains)) in groups.iter_mut().enumerate() {
                let first = (index * part + number) * LINES;
                let count = LINES.min(passes - first);
                *pairs = worker.chains(kernels, batch, along(first), count, plan.blocking.kc);
                chains.clone_from(&worker.chains);
            }
        });
        match is_short.into_inner() {
            true => Vec::new(),
            false => groups,
        }
    }

    /// Writes the chains from number `first` of `chains` on to as many columns of the row, or adds them.
    fn merge(
        &mut self,
        batch: usize,
        first_column: usize,
        (adds, pairs): (bool, bool),
        (first, chains): (usize, usize),
        columns: usize,
    ) {
        let plan = self.plan;
        let put = |to: &mut [A::Sum], from: &mut dyn Iterator<Item = A::Sum>| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = if adds {
                    super::Micro::plus(*to, from)
                } else {
                    from
                };
            }
        };
        if plan.direct {
            // SAFETY: the columns are part of this block, which only this thread writes to.
            let row = unsafe { plan.target.row(batch, 0, first_column, columns) };
            let row = bytemuck::cast_slice_mut(row);
            return put(row, &mut self.chains[first..].iter().copied());
        }
        let sums = self.memory.elements_mut::<A::Sum>();
        for (part, row) in sums
            .chunks_mut(plan.blocking.columns)
            .enumerate()
            .take(A::ROWS)
        {
            let row = &mut row[..columns];
            if pairs {
                put(
                    row,
                    &mut self.chains[A::ROWS * first + part..]
                        .iter()
                        .copied()
                        .step_by(A::ROWS),
                );
            } else {
                put(
                    row,
                    &mut self.chains[part * chains + first..].iter().copied(),
                );
            }
        }
    }

    /// Makes the chains of so many lines and steps. Whether the parts of complex numbers are pairs.
    fn chains(
        &mut self,
        kernels: &Kernels<A::Sum>,
        batch: usize,
        [left, right]: [Course; 2],
        lines: usize,
        count: usize,
    ) -> bool {
        let (level, form) = (self.plan.level, self.plan.form);
        let block = |course: Course| Block {
            batch,
            offset: course.offset,
            first_line: course.line,
            lines,
            first: course.index,
            count,
            wide: 1,
        };
        let Self {
            factors,
            room,
            lines: decoded,
            chains,
            ..
        } = self;
        let [left_reader, right_reader] = &factors.readers;
        let zero = <A::Sum as Zeroable>::zeroed();
        chains.clear();
        // bounded: the columns of a block.
        chains.resize(A::ROWS * lines, zero);
        if count == 0 {
            return false;
        }
        let is_shared = left.line_step + left.index_step == 0;
        let [left_lines, right_lines] = decoded;
        // The left vector, if all lines have the same.
        if is_shared {
            // bounded: a pass.
            left_lines.resize(count, Zeroable::zeroed());
            left_reader.read(block(left), left.line, left.index, true, left_lines, room);
        }
        let exchanged = form == Form::Row { exchanged: true };
        let parts = A::ROWS;
        if is_shared && right.line_step == 1 {
            let shared = (cast::<A>(left_lines), 0);
            match right.in_place::<A>(right_reader, lines) {
                Some((source, 1, along)) if along > 1 && lines > 1 => {
                    let work = work::<A>(
                        exchanged,
                        (cast::<A>(source), parts * along as usize),
                        shared,
                        count,
                        lines,
                    );
                    (kernels.adjacent)(level, &work, chains);
                    return parts > 1;
                }
                Some((source, across, 1)) => {
                    let work = work::<A>(
                        exchanged,
                        (cast::<A>(source), parts * across),
                        shared,
                        count,
                        lines,
                    );
                    (kernels.turned)(level, &work, chains);
                    return false;
                }
                None if turn_narrow::<A>(
                    kernels,
                    level,
                    (right_reader, right),
                    cast::<A>(left_lines),
                    chains,
                ) =>
                {
                    return false;
                }
                _ if right_reader.lies_across() => {
                    // bounded: the columns of a block.
                    right_lines.resize(STEPS * lines, Zeroable::zeroed());
                    for first in (0..count).step_by(STEPS) {
                        let steps = STEPS.min(count - first);
                        for (step, line) in
                            right_lines.chunks_exact_mut(lines).enumerate().take(steps)
                        {
                            let index = right.index + first + step;
                            right_reader.read(block(right), right.line, index, false, line, room);
                        }
                        let left = (cast::<A>(&left_lines[first..]), 0);
                        let work = work::<A>(
                            exchanged,
                            (cast::<A>(right_lines), parts * lines),
                            left,
                            steps,
                            lines,
                        );
                        (kernels.adjacent)(level, &work, chains);
                    }
                    return parts > 1;
                }
                _ => {}
            }
        }
        if let (false, Some((source, across, 1)), Some((own, own_across, 1))) = (
            is_shared,
            right.in_place::<A>(right_reader, lines),
            left.in_place::<A>(left_reader, lines),
        ) {
            let own = (cast::<A>(own), parts * own_across);
            let work = work::<A>(
                exchanged,
                (cast::<A>(source), parts * across),
                own,
                count,
                lines,
            );
            (kernels.turned)(level, &work, chains);
            return false;
        }
        let mut some = [zero; 2 * LINES];
        for first in (0..lines).step_by(LINES) {
            let now = LINES.min(lines - first);
            let mut decode = |reader: &Reader<'_>, course: Course, to: &mut Vec<A::Line>| {
                // bounded: `LINES` of a pass.
                to.resize(now * count, Zeroable::zeroed());
                for (number, line) in to.chunks_exact_mut(count).enumerate() {
                    let number = first + number;
                    let (at, index) = (
                        course.line + number * course.line_step,
                        course.index + number * course.index_step,
                    );
                    reader.read_line(block(course), at, index, line, room);
                }
            };
            decode(right_reader, right, right_lines);
            if !is_shared {
                decode(left_reader, left, left_lines);
            }
            let left = (
                cast::<A>(left_lines),
                if is_shared { 0 } else { parts * count },
            );
            let work = work::<A>(
                exchanged,
                (cast::<A>(right_lines), parts * count),
                left,
                count,
                now,
            );
            let some = &mut some[..parts * now];
            (kernels.turned)(level, &work, some);
            for (part, some) in some.chunks_exact(now).enumerate() {
                chains[part * lines + first..][..now].copy_from_slice(some);
            }
        }
        false
    }
}

/// Writes the chains of lines of 16-bit floats that lie along memory; false where they do not, or the
/// level has no kernel.
fn turn_narrow<A: Arithmetic>(
    kernels: &Kernels<A::Sum>,
    level: Level,
    (reader, course): (&Reader<'_>, Course),
    left: &[A::Sum],
    chains: &mut [A::Sum],
) -> bool {
    let (Some(narrow), Some((dtype, codes, across))) = (kernels.narrow, reader.narrow_lines())
    else {
        return false;
    };
    let place = (course.offset + course.index).checked_add_signed(course.line as isize * across);
    let stride = if chains.len() == 1 {
        Some(0)
    } else {
        usize::try_from(across).ok()
    };
    let (Some(right), Some(stride)) = (place.and_then(|place| codes.get(place..)), stride) else {
        return false;
    };
    let work = NarrowLines {
        right,
        stride,
        brain: dtype == DType::BF16,
        left,
        lines: chains.len(),
    };
    A::ROWS == 1 && narrow(level, &work, chains)
}

/// Lines of numbers with their strides.
fn work<'a, A: Arithmetic>(
    exchanged: bool,
    (right, stride): (&'a [A::Sum], usize),
    (left, left_stride): (&'a [A::Sum], usize),
    steps: usize,
    lines: usize,
) -> Lines<'a, A::Sum> {
    Lines {
        right,
        stride,
        left,
        left_stride,
        steps,
        lines,
        complex: A::ROWS > 1,
        exchanged,
    }
}

/// Elements as the numbers they are made of.
fn cast<A: Arithmetic>(elements: &[A::Line]) -> &[A::Sum] {
    bytemuck::cast_slice(elements)
}
