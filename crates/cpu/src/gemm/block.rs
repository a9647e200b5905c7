//! How a block of a result comes about.
#![allow(unsafe_code, reason = "calls kernels that write to the block")]

use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};
use smallvec::SmallVec;

use super::arithmetic::Arithmetic;
use super::blocking::Blocking;
use super::few;
use super::micro::{Micro, Tile};
use super::output::Target;
use super::pack::{Block, Reader, Room};
use super::panel_walk::InPlace;
use super::prepare::Few;
use super::queue::run_queue;
use super::row::Form;
use super::{Coefficient, Output, Product};
use crate::Buffer;
use crate::interrupt::{self, Watch};

/// Sums that are encoded at a time.
const TOGETHER: usize = 4096;

/// Everything that blocks have in common.
pub(super) struct Plan<'a> {
    pub(super) level: Level,
    op: &'static str,
    pub(super) product: &'a Product<'a>,
    pub(super) target: Target<'a>,
    pub(super) blocking: Blocking,
    pub(super) form: Form,
    /// Whether kernels write to the result itself.
    pub(super) direct: bool,
    /// From former contents to values, if they are read.
    former: Option<Conversion>,
    /// From values to the dtype of the result, with the width of what comes out.
    finish: SmallVec<[(Conversion, usize); 2]>,
}

/// Writes the products in one arithmetic.
pub(super) fn run<A: Arithmetic>(
    level: Level,
    op: &'static str,
    product: &Product<'_>,
    form: Form,
    mut output: Output<'_>,
) -> Result<(), Error> {
    let count = product.offsets.len();
    if count == 0 || product.rows == 0 || product.columns == 0 {
        return Ok(());
    }
    if few::multiply::<A>(level, product, form, &mut output) {
        return Ok(());
    }
    let target = Target::new(output, [count, product.rows, product.columns]);
    let through = [product.common, product.sum.compute()];
    let line = A::Line::DTYPE;
    let value = A::Value::DTYPE;
    let mut finish = SmallVec::new();
    let mut dtype = value;
    for stop in [product.sum.compute(), target.dtype] {
        if stop != dtype && (stop == target.dtype || !dtype.fits_in(stop)) {
            finish.push((Conversion::new(dtype, stop)?, stop.itemsize()));
            dtype = stop;
        }
    }
    let keeps = product.beta != Coefficient::ZERO;
    let direct = A::ROWS == 1
        && product.alpha == Coefficient::ONE
        && (!keeps || product.beta == Coefficient::ONE)
        && is_same(A::Sum::DTYPE, product.sum)
        && is_same(A::Sum::DTYPE, target.dtype);
    let [m, k, n] = [product.rows, product.depth, product.columns];
    let a = Reader::new(level, product.a, true, through, line)?;
    let b = Reader::new(level, product.b, false, through, line)?;
    let factors = Factors {
        readers: [a, b],
        origins: [0; 2],
    };
    let plan = Plan {
        level,
        op,
        product,
        form,
        blocking: Blocking::new::<A>(level, product, direct),
        direct,
        former: if keeps {
            Some(Conversion::new(target.dtype, value)?)
        } else {
            None
        },
        target,
        finish,
    };
    let blocks = plan.blocking.row_blocks * plan.blocking.column_blocks * count;
    run_queue(plan.blocking.threads, blocks, &|pieces| {
        let Some(first) = pieces.take() else {
            return Ok(());
        };
        let starts = product.offsets.iter().map(|pair| form.places(*pair));
        let [a, b] = &factors.readers;
        let lines = if form == Form::Dots { n } else { m };
        let few = [
            Few::of(op, a, [lines, k], starts.clone().map(|pair| pair[0]), line)?,
            Few::of(op, b, [k, n], starts.map(|pair| pair[1]), line)?,
        ];
        let mut worker = Worker::<A>::new(&plan, factors.decoded(&few, line))?;
        worker.run(first);
        while let Some(range) = pieces.take() {
            worker.run(range);
        }
        Ok(())
    })
}

/// The left and the right factor, and the numbers of the first elements in the memory that is read.
#[derive(Clone)]
pub(super) struct Factors<'a> {
    pub(super) readers: [Reader<'a>; 2],
    origins: [usize; 2],
}

impl<'a> Factors<'a> {
    /// The same factors, with few elements decoded.
    fn decoded<'f>(&'f self, few: &'f [Option<Few>; 2], line: DType) -> Factors<'f> {
        let mut factors: Factors<'f> = self.clone();
        for (i, few) in few.iter().enumerate() {
            if let Some(few) = few {
                (factors.readers[i], factors.origins[i]) = few.reader(&self.readers[i], line);
            }
        }
        factors
    }

    /// Both factors, if kernels read them where they are.
    fn both_in_place<A: Arithmetic>(&self, plan: &Plan<'_>) -> Option<InPlace<'a, A::Sum>> {
        let (product, blocking) = (plan.product, &plan.blocking);
        if !A::IS_PLAIN
            || !plan.direct
            || blocking.row_blocks * blocking.column_blocks * blocking.passes > 1
        {
            return None;
        }
        let sizes = [product.rows, product.depth, product.columns];
        let [a, b] = &self.readers;
        InPlace::new(plan.level, sizes, a.in_place()?, b.in_place()?)
    }

    /// The left factor and how far its rows are apart, if kernels read it where it is: rows that
    /// are near each other, for few columns.
    fn rows_in_place<A: Arithmetic>(&self, blocking: &Blocking) -> Option<(&'a [A::Sum], usize)> {
        /// Bytes from one row to the next beyond which rows compete for few lines of the cache.
        const NEAR: usize = 2048;
        /// Columns beyond which packing pays.
        const FEW: usize = 512;
        if !A::IS_PLAIN || blocking.columns > FEW {
            return None;
        }
        let (source, across, along) = self.readers[0].in_place::<A::Sum>()?;
        let near = 1..=(NEAR / size_of::<A::Sum>()) as isize;
        // Rows of no elements have no place.
        let is_near = along == 1 && near.contains(&across) && !source.is_empty();
        is_near.then_some((source, across as usize))
    }

    /// The right factor and how far its steps are apart, if kernels read it where it is: neighbouring
    /// columns of steps in the same or the next page, for few rows.
    fn columns_in_place<A: Arithmetic>(&self, rows: usize) -> Option<(&'a [A::Sum], usize)> {
        /// Bytes from one step to the next beyond which each waits for a page.
        const NEAR: usize = 4096;
        /// Rows beyond which packing pays.
        const FEW: usize = 48;
        if !A::IS_PLAIN || rows > FEW {
            return None;
        }
        let (source, across, along) = self.readers[1].in_place::<A::Sum>()?;
        let near = 1..=(NEAR / size_of::<A::Sum>()) as isize;
        let is_near = across == 1 && near.contains(&along) && !source.is_empty();
        is_near.then_some((source, along as usize))
    }
}

/// Whether sums of one dtype are the elements of another, bit by bit.
fn is_same(sum: DType, other: DType) -> bool {
    let signed = match other {
        DType::U32 => DType::I32,
        DType::U64 => DType::I64,
        other => other,
    };
    sum == signed
}

/// What a thread needs to make blocks.
pub(super) struct Worker<'a, A: Arithmetic> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) factors: Factors<'a>,
    /// The factors of products that nothing is packed for.
    in_place: Option<InPlace<'a, A::Sum>>,
    pub(super) memory: Buffer,
    /// Numbers of packed rows and columns; sums come after them.
    sizes: [usize; 2],
    pub(super) room: Room<A::Line>,
    /// Lines that are decoded for a single row, and its chains.
    pub(super) lines: [Vec<A::Line>; 2],
    pub(super) chains: Vec<A::Sum>,
    scratch: Option<Box<Scratch>>,
    /// What is packed: the offset, the first line and the first step.
    packed_a: Option<(usize, usize, usize)>,
    packed_b: Option<(usize, usize, usize)>,
    /// Whether all numbers that are packed are small.
    small_a: bool,
    small_b: bool,
    values: Vec<A::Value>,
    former: Vec<A::Value>,
    raw: Vec<u128>,
}

impl<'a, A: Arithmetic> Worker<'a, A> {
    pub(super) fn new(plan: &'a Plan<'a>, factors: Factors<'a>) -> Result<Self, Error> {
        let Blocking {
            rows,
            columns,
            mc,
            kc,
            ..
        } = plan.blocking;
        let depth = A::depth(kc);
        let sums = if plan.direct {
            0
        } else {
            rows * A::ROWS * columns
        };
        let sizes = match plan.form {
            Form::Tiles => [mc * A::ROWS * depth, columns * depth],
            _ => [0; 2],
        };
        let bytes = (sizes[0] + sizes[1] + sums) * size_of::<A::Sum>();
        Ok(Self {
            plan,
            in_place: factors.both_in_place::<A>(plan),
            factors,
            memory: Buffer::for_overwrite(plan.op, bytes)?,
            sizes,
            room: Room::new(),
            lines: [const { Vec::new() }; 2],
            chains: Vec::new(),
            scratch: None,
            packed_a: None,
            packed_b: None,
            small_a: false,
            small_b: false,
            values: Vec::new(),
            former: Vec::new(),
            raw: Vec::new(),
        })
    }

    /// Blocks of consecutive numbers: down the rows first, so that packed columns are used again.
    fn run(&mut self, blocks: Range<usize>) {
        let Blocking {
            row_blocks,
            column_blocks,
            ..
        } = self.plan.blocking;
        let mut watch = Watch::new();
        for block in blocks {
            watch.check();
            let (row, rest) = (block % row_blocks, block / row_blocks);
            self.block(rest / column_blocks, row, rest % column_blocks);
        }
    }

    fn block(&mut self, batch: usize, row_block: usize, column_block: usize) {
        let plan = self.plan;
        let (blocking, product) = (&plan.blocking, plan.product);
        let Factors { readers, origins } = &self.factors;
        let (first_row, first_column) =
            (row_block * blocking.rows, column_block * blocking.columns);
        let rows = blocking.rows.min(product.rows - first_row);
        let columns = blocking.columns.min(product.columns - first_column);
        let (tile_rows, tile_columns) = A::Sum::shape(plan.level);
        let [offset_a, offset_b] = plan.form.places(product.offsets[batch]);
        let (offset_a, offset_b) = (offset_a - origins[0], offset_b - origins[1]);
        let keeps = product.beta != Coefficient::ZERO;
        if let Some(in_place) = &self.in_place {
            let (start, stride) = plan.target.place(batch, 0, 0);
            let (places, target) = ([offset_a, offset_b], (start.cast(), stride));
            // SAFETY: the block is the whole matrix, which only this thread writes to; the level was
            // detected.
            if unsafe { in_place.multiply(plan.level, places, target, keeps) } {
                return;
            }
        }
        if let (Some(kernels), true) = (A::CHAINS, plan.form != Form::Tiles) {
            self.row(&kernels, batch, [offset_a, offset_b], first_column, columns);
            if !plan.direct {
                self.finish([batch, 0, first_column], 1, columns);
            }
            return;
        }
        let memory = self.memory.elements_mut::<A::Sum>();
        let (panels_a, rest) = memory.split_at_mut(self.sizes[0]);
        let (panels_b, sums) = rest.split_at_mut(self.sizes[1]);
        let (c, c_stride) = if plan.direct {
            let (start, stride) = plan.target.place(batch, first_row, first_column);
            (start.cast::<A::Sum>(), stride)
        } else {
            (sums.as_mut_ptr(), blocking.columns)
        };
        for pass in 0..blocking.passes {
            let first = pass * blocking.kc;
            let count = blocking.kc.min(product.depth - first);
            let block = Block {
                batch,
                offset: offset_b,
                first_line: first_column,
                lines: columns,
                first,
                count,
                wide: tile_columns,
            };
            let size_b = A::depth(count) * tile_columns;
            // Of no steps nothing is read, and a matrix of none may lie anywhere.
            let columns_in_place = self
                .factors
                .columns_in_place::<A>(product.rows)
                .filter(|_| count > 0);
            // Whole tiles are read where they are, the columns after them are packed.
            let packed_columns = columns_in_place.map_or(0, |_| columns - columns % tile_columns);
            let block = Block {
                first_line: first_column + packed_columns,
                lines: columns - packed_columns,
                ..block
            };
            // Made rows may differ between matrices that start at the same place.
            let key_b = (offset_b, block.first_line, first);
            if block.lines > 0 && (self.packed_b != Some(key_b) || readers[1].is_made()) {
                let used = block.lines.div_ceil(tile_columns) * size_b;
                readers[1].pack::<A, false>(block, &mut panels_b[..used], &mut self.room);
                self.packed_b = Some(key_b);
                self.small_b = A::is_small::<false>(&panels_b[..used], tile_columns, count);
            }
            let adds = pass > 0 || (plan.direct && keeps);
            let depth = A::depth(count);
            for part in (0..rows).step_by(blocking.mc) {
                if pass + part > 0 {
                    interrupt::check();
                }
                let part_rows = blocking.mc.min(rows - part);
                let in_place = self
                    .factors
                    .rows_in_place::<A>(blocking)
                    .filter(|_| count > 0);
                // Whole tiles are read where they are, the rows after them are packed.
                let packed_from = in_place.map_or(0, |_| part_rows - part_rows % tile_rows);
                let block = Block {
                    offset: offset_a,
                    first_line: first_row + part + packed_from,
                    lines: part_rows - packed_from,
                    wide: tile_rows,
                    ..block
                };
                let key = (offset_a, block.first_line, first);
                if block.lines > 0 && (self.packed_a != Some(key) || readers[0].is_made()) {
                    let used = (block.lines * A::ROWS).div_ceil(tile_rows) * tile_rows * depth;
                    let panels = &mut panels_a[..used];
                    readers[0].pack::<A, true>(block, panels, &mut self.room);
                    self.packed_a = Some(key);
                    self.small_a = A::is_small::<true>(panels, tile_rows, count);
                }
                let skipped = if self.small_a && self.small_b {
                    A::shifted(count)
                } else {
                    0
                };
                for column in (0..columns).step_by(tile_columns) {
                    let (b, b_step) = match columns_in_place {
                        Some((source, along)) if column < packed_columns => {
                            let place = offset_b + first * along + first_column + column;
                            (&source[place..], along)
                        }
                        _ => {
                            let panel = (column - packed_columns) / tile_columns;
                            let skipped = skipped * tile_columns;
                            (&panels_b[panel * size_b..][skipped..size_b], tile_columns)
                        }
                    };
                    for row in (0..part_rows * A::ROWS).step_by(tile_rows) {
                        let (a, a_row, a_step) = match in_place {
                            Some((source, across)) if row < packed_from => {
                                let place = offset_a + (first_row + part + row) * across + first;
                                (&source[place..], across, 1)
                            }
                            _ => {
                                let place = (row - packed_from) * depth + skipped * tile_rows;
                                (&panels_a[place..], 1, tile_rows)
                            }
                        };
                        let tile = Tile {
                            steps: depth - skipped,
                            a,
                            a_row,
                            a_step,
                            b,
                            b_step,
                            c: c.wrapping_add((part * A::ROWS + row) * c_stride + column),
                            c_stride,
                            rows: tile_rows.min(part_rows * A::ROWS - row),
                            columns: tile_columns.min(columns - column),
                            accumulate: adds,
                            shifted: A::shifted(count) - skipped,
                        };
                        // SAFETY: the tile is part of this block, which only this thread writes
                        // to; the level was detected.
                        unsafe { A::multiply(plan.level, tile) };
                    }
                }
            }
            if product.sum == DType::Bool {
                // A count that wraps must not become false.
                for sum in bytemuck::cast_slice_mut::<A::Sum, i32>(sums) {
                    *sum = i32::from(*sum != 0);
                }
            }
        }
        if !plan.direct {
            self.finish([batch, first_row, first_column], rows, columns);
        }
    }

    /// From sums to the elements of the result.
    fn finish(&mut self, place: [usize; 3], rows: usize, columns: usize) {
        let plan = self.plan;
        let [batch, first_row, first_column] = place;
        let stride = plan.blocking.columns;
        let sums = &self.memory.elements::<A::Sum>()[self.sizes[0] + self.sizes[1]..];
        let (is_plain, is_one) = (A::ROWS == 1, plan.product.alpha == Coefficient::ONE);
        if let ([(only, size)], None, true, true) =
            (&plan.finish[..], &plan.former, is_plain, is_one)
        {
            // Sums are values, and short rows of them are encoded together: a row of 64 takes less
            // time than to set out.
            let at_once = if columns == stride {
                (TOGETHER / columns).max(1)
            } else {
                1
            };
            let scratch = &mut **self.scratch.get_or_insert_default();
            for first in (0..rows).step_by(at_once) {
                let count = at_once.min(rows - first);
                let sums = bytemuck::cast_slice(&sums[first * stride..][..count * columns]);
                // SAFETY: the rows are part of this block, which only this thread writes to.
                let rows = unsafe { plan.target.rows(batch, first_row + first, count, columns) };
                if let Some(rows) = rows {
                    only.run(plan.level, sums, rows, scratch);
                    continue;
                }
                let codes = super::pack::bytes_of(&mut self.raw, count * columns * size);
                only.run(plan.level, sums, codes, scratch);
                for (row, codes) in codes.chunks_exact(columns * size).enumerate() {
                    let row = first_row + first + row;
                    // SAFETY: the row is part of this block, which only this thread writes to.
                    let out = unsafe { plan.target.row(batch, row, first_column, columns) };
                    out.copy_from_slice(codes);
                }
            }
            return;
        }
        self.values
            // bounded: the columns of a block.
            .resize(columns, <A::Value as bytemuck::Zeroable>::zeroed());
        self.former
            // bounded: the columns of a block.
            .resize(columns, <A::Value as bytemuck::Zeroable>::zeroed());
        let (alpha, beta) = (plan.product.alpha, plan.product.beta);
        let scratch = &mut **self.scratch.get_or_insert_default();
        for row in 0..rows {
            A::collect(&sums[row * A::ROWS * stride..], stride, &mut self.values);
            // SAFETY: the row is part of this block, which only this thread writes to.
            let out = unsafe {
                plan.target
                    .row(batch, first_row + row, first_column, columns)
            };
            if let Some(former) = &plan.former {
                let decoded: &mut [u8] = bytemuck::cast_slice_mut(&mut self.former);
                former.run(plan.level, out, decoded, scratch);
            }
            if plan.former.is_none() && alpha != Coefficient::ONE {
                // Without a former value, whose zero would turn -0 into 0.
                for value in &mut self.values {
                    *value = A::scale(*value, alpha);
                }
            } else if plan.former.is_some() {
                for (value, former) in self.values.iter_mut().zip(&self.former) {
                    *value = A::combine(*value, alpha, beta, *former);
                }
            }
            let values: &[u8] = bytemuck::cast_slice(&self.values);
            match &plan.finish[..] {
                [] => out.copy_from_slice(values),
                [(only, _)] => only.run(plan.level, values, out, scratch),
                [(first, size), second, ..] => {
                    let stop = super::pack::bytes_of(&mut self.raw, columns * size);
                    first.run(plan.level, values, stop, scratch);
                    second.0.run(plan.level, stop, out, scratch);
                }
            }
        }
    }
}
