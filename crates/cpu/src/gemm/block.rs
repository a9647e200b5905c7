//! Blocks of a result: how they are cut, and how one of them comes about.
#![allow(unsafe_code, reason = "calls kernels that write to the block")]

use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::arithmetic::Arithmetic;
use super::micro::{Micro, Tile};
use super::pack::{Block, Reader, Room};
use super::target::Target;
use super::{Coefficient, Output, Product};
use crate::Buffer;

/// The largest block, in rows of sums and in columns: its panels fit in the second-level cache.
const TALLEST: usize = 480;
const BROADEST: usize = 1024;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 64 * 64 * 64;
/// Multiplications from which a thread should have several blocks to choose from.
const LARGE: usize = 300 * 300 * 300;
/// Multiplications that a block is worth being cut in two for.
const SMALLEST: usize = 96 * 96 * 96;

/// How a product is cut into blocks.
struct Cut {
    /// Rows and columns of a block.
    rows: usize,
    columns: usize,
    /// Blocks in each direction.
    tall: usize,
    broad: usize,
    /// Elements of the summed dimension per stretch, and stretches.
    stretch: usize,
    stretches: usize,
    is_parallel: bool,
}

impl Cut {
    fn new<A: Arithmetic>(level: Level, product: &Product<'_>) -> Self {
        let (tile_rows, tile_columns) = A::Sum::shape(level);
        let tile_rows = tile_rows / A::ROWS;
        let (m, k, n) = (product.rows, product.depth, product.columns);
        let stretches = k.div_ceil(A::STRETCH).max(1);
        // Even, since integers are packed in pairs.
        let stretch = k.div_ceil(stretches).next_multiple_of(8);
        let stretches = k.div_ceil(stretch.max(1)).max(1);
        let even = |size: usize, most: usize, tile: usize| {
            let parts = size.div_ceil(most).max(1);
            size.div_ceil(parts).max(1).next_multiple_of(tile)
        };
        let mut rows = even(m, TALLEST / A::ROWS, tile_rows);
        let mut columns = even(n, BROADEST, tile_columns);
        let work = [m, n, k, product.offsets.len()]
            .iter()
            .fold(1_usize, |work, size| work.saturating_mul(*size));
        let threads = rayon::current_num_threads();
        let is_parallel = threads > 1 && work > SEQUENTIAL;
        let blocks = |rows: usize, columns: usize| {
            m.div_ceil(rows) * n.div_ceil(columns) * product.offsets.len()
        };
        let depth = k.max(1);
        let wanted = if work < LARGE { threads } else { 3 * threads };
        while is_parallel
            && blocks(rows, columns) < wanted
            && rows.saturating_mul(columns).saturating_mul(depth) > SMALLEST
        {
            // Packed rows are usually transposed, which costs more than packing columns again.
            if rows > 8 * tile_rows || (columns <= 2 * tile_columns && rows > tile_rows) {
                rows = even(rows, rows.div_ceil(2), tile_rows);
            } else if columns > tile_columns {
                columns = even(columns, columns.div_ceil(2), tile_columns);
            } else {
                break;
            }
        }
        Self {
            rows,
            columns,
            tall: m.div_ceil(rows),
            broad: n.div_ceil(columns),
            stretch,
            stretches,
            is_parallel,
        }
    }
}

/// Everything that blocks have in common.
struct Plan<'a> {
    level: Level,
    op: &'static str,
    product: &'a Product<'a>,
    target: Target<'a>,
    cut: Cut,
    a: Reader<'a>,
    b: Reader<'a>,
    /// Whether kernels write to the result itself.
    direct: bool,
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
    output: Output<'_>,
) -> Result<(), Error> {
    let count = product.offsets.len();
    if count == 0 || product.rows == 0 || product.columns == 0 {
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
    let plan = Plan {
        level,
        op,
        product,
        cut: Cut::new::<A>(level, product),
        a: Reader::new(level, product.a, true, through, line)?,
        b: Reader::new(level, product.b, false, through, line)?,
        direct: A::ROWS == 1
            && product.alpha == Coefficient::ONE
            && (!keeps || product.beta == Coefficient::ONE)
            && is_same(A::Sum::DTYPE, product.sum)
            && is_same(A::Sum::DTYPE, target.dtype),
        former: if keeps {
            Some(Conversion::new(target.dtype, value)?)
        } else {
            None
        },
        target,
        finish,
    };
    let blocks = plan.cut.tall * plan.cut.broad * count;
    let groups = if plan.cut.is_parallel {
        blocks.min(8 * rayon::current_num_threads())
    } else {
        1
    };
    let group = |number: usize| {
        let range = number * blocks / groups..(number + 1) * blocks / groups;
        Worker::<A>::new(&plan)?.run(range);
        Ok(())
    };
    if groups == 1 {
        group(0)
    } else {
        (0..groups)
            .into_par_iter()
            .with_max_len(1)
            .try_for_each(group)
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
struct Worker<'a, A: Arithmetic> {
    plan: &'a Plan<'a>,
    memory: Buffer,
    /// Numbers of packed rows and columns; sums come after them.
    sizes: [usize; 2],
    room: Room<A::Line>,
    scratch: Option<Box<Scratch>>,
    /// What is packed: the offset, the first line and the stretch.
    packed_a: Option<(usize, usize, usize)>,
    packed_b: Option<(usize, usize, usize)>,
    values: Vec<A::Value>,
    former: Vec<A::Value>,
    raw: Vec<u128>,
}

impl<'a, A: Arithmetic> Worker<'a, A> {
    fn new(plan: &'a Plan<'a>) -> Result<Self, Error> {
        let Cut {
            rows,
            columns,
            stretch,
            ..
        } = plan.cut;
        let depth = A::depth(stretch);
        let sums = if plan.direct {
            0
        } else {
            rows * A::ROWS * columns
        };
        let sizes = [rows * A::ROWS * depth, columns * depth];
        let bytes = (sizes[0] + sizes[1] + sums) * size_of::<A::Sum>();
        Ok(Self {
            plan,
            memory: Buffer::for_overwrite(plan.op, bytes)?,
            sizes,
            room: Room::new(),
            scratch: None,
            packed_a: None,
            packed_b: None,
            values: Vec::new(),
            former: Vec::new(),
            raw: Vec::new(),
        })
    }

    /// Blocks of consecutive numbers: down the rows first, so that packed columns are used again.
    fn run(&mut self, blocks: Range<usize>) {
        let Cut { tall, broad, .. } = self.plan.cut;
        for block in blocks {
            let (row, rest) = (block % tall, block / tall);
            self.block(rest / broad, row, rest % broad);
        }
    }

    fn block(&mut self, batch: usize, row_block: usize, column_block: usize) {
        let plan = self.plan;
        let (cut, product) = (&plan.cut, plan.product);
        let (first_row, first_column) = (row_block * cut.rows, column_block * cut.columns);
        let rows = cut.rows.min(product.rows - first_row);
        let columns = cut.columns.min(product.columns - first_column);
        let (tile_rows, tile_columns) = A::Sum::shape(plan.level);
        let (offset_a, offset_b) = product.offsets[batch];
        let keeps = product.beta != Coefficient::ZERO;
        let memory = self.memory.elements_mut::<A::Sum>();
        let (panels_a, rest) = memory.split_at_mut(self.sizes[0]);
        let (panels_b, sums) = rest.split_at_mut(self.sizes[1]);
        let (c, c_stride) = if plan.direct {
            let (start, stride) = plan.target.place(batch, first_row, first_column);
            (start.cast::<A::Sum>(), stride)
        } else {
            (sums.as_mut_ptr(), cut.columns)
        };
        for stretch in 0..cut.stretches {
            let first = stretch * cut.stretch;
            let count = cut.stretch.min(product.depth - first);
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
            // Made rows may differ between matrices that start at the same place.
            let key_b = (offset_b, first_column, first);
            if self.packed_b != Some(key_b) || plan.b.is_made() {
                let used = columns.div_ceil(tile_columns) * size_b;
                plan.b
                    .pack::<A, false>(block, &mut panels_b[..used], &mut self.room);
                self.packed_b = Some(key_b);
            }
            let block = Block {
                offset: offset_a,
                first_line: first_row,
                lines: rows,
                wide: tile_rows,
                ..block
            };
            let size_a = A::depth(count) * tile_rows;
            let key_a = (offset_a, first_row, first);
            if self.packed_a != Some(key_a) || plan.a.is_made() {
                let used = (rows * A::ROWS).div_ceil(tile_rows) * size_a;
                plan.a
                    .pack::<A, true>(block, &mut panels_a[..used], &mut self.room);
                self.packed_a = Some(key_a);
            }
            let adds = stretch > 0 || (plan.direct && keeps);
            for column in (0..columns).step_by(tile_columns) {
                let b = &panels_b[column / tile_columns * size_b..][..size_b];
                for row in (0..rows * A::ROWS).step_by(tile_rows) {
                    let a = &panels_a[row / tile_rows * size_a..][..size_a];
                    for (pass, (start, steps, shifted)) in A::passes(count).into_iter().enumerate()
                    {
                        if pass > 0 && steps == 0 {
                            continue;
                        }
                        let tile = Tile {
                            steps,
                            a: &a[start * tile_rows..],
                            b: &b[start * tile_columns..],
                            b_step: tile_columns,
                            c: c.wrapping_add(row * c_stride + column),
                            c_stride,
                            rows: tile_rows.min(rows * A::ROWS - row),
                            columns: tile_columns.min(columns - column),
                            accumulate: adds || pass > 0,
                            shifted,
                        };
                        // SAFETY: the tile is part of this block, which only this thread writes to;
                        // the level was detected.
                        unsafe { A::Sum::run(plan.level, tile) };
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
        let stride = plan.cut.columns;
        let sums = &self.memory.elements::<A::Sum>()[self.sizes[0] + self.sizes[1]..];
        self.values
            .resize(columns, <A::Value as bytemuck::Zeroable>::zeroed());
        self.former
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
