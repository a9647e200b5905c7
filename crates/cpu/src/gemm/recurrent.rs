//! Recurrent layers: all steps of one direction without a call in between.
//!
//! The weight of the hidden state is packed, and decoded, once. A thread takes some rows of the batch
//! through all steps, so that none waits for another: of each step it computes some units at a time,
//! their products and what follows from them, while the sums are in the first-level cache. Sums have the
//! order of [`multiply`](super::multiply), and are rounded where a product or a state that stands alone
//! would be.
#![allow(
    unsafe_code,
    reason = "rows of results that threads share, each row one thread's"
)]

use std::ops::Range;

use allotrope_dtype::{Conversion, DType, Element, Error, Level, Scratch};
use allotrope_op::task::recurrent::Sequence;

use super::arithmetic::{Arithmetic, Double, Single};
use super::blocking::split_depth;
use super::micro::{Micro, add_rows};
use super::output::Target;
use super::pack::{Block, Reader, Room};
use super::queue::run_queue;
use super::recurrent_gates::{Backward, Forward, Gate};
use super::{Factor, Matrix, Output};
use crate::interrupt::Watch;
use crate::memory::try_vec;
use crate::parallel::{for_each_block, thread_count};
use crate::{Buffer, simd};

/// Rows of the batch that a thread takes through all steps at a time.
const ROWS: usize = 48;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 64 * 64 * 64;

/// A layer in one direction.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) op: &'static str,
    pub(crate) sequence: Sequence<'a>,
    /// What the states have, and the operands.
    pub(crate) dtype: DType,
    /// What is kept of gates, and what their gradients have.
    pub(crate) kept: DType,
    pub(crate) hidden: usize,
}

impl Layer<'_> {
    /// Rows of the first step, which no other has more of.
    fn batch(&self) -> usize {
        self.sequence.sizes.first().copied().unwrap_or(0)
    }
}

/// What a layer reads, row-major.
pub(crate) struct ForwardInputs<'a> {
    pub(crate) products: &'a [u8],
    pub(crate) hidden: &'a [u8],
    pub(crate) weight: &'a [u8],
    pub(crate) cell: &'a [u8],
    pub(crate) bias: Option<&'a [u8]>,
}

/// What a layer writes, row-major; the last two may be left out, by nothing to write to.
pub(crate) struct ForwardOutputs<'a> {
    pub(crate) states: &'a mut [u8],
    pub(crate) hidden: &'a mut [u8],
    pub(crate) cell: &'a mut [u8],
    pub(crate) gates: &'a mut [u8],
    pub(crate) cells: &'a mut [u8],
}

/// What the way back reads.
pub(crate) struct BackwardInputs<'a> {
    pub(crate) for_states: &'a [u8],
    pub(crate) for_hidden: &'a [u8],
    pub(crate) weight: &'a [u8],
    pub(crate) hidden: &'a [u8],
    pub(crate) states: &'a [u8],
    pub(crate) gates: &'a [u8],
    pub(crate) cell: &'a [u8],
    pub(crate) cells: &'a [u8],
    pub(crate) for_cell: &'a [u8],
}

/// What the way back writes.
pub(crate) struct BackwardOutputs<'a> {
    pub(crate) products: &'a mut [u8],
    pub(crate) formers: &'a mut [u8],
    pub(crate) hidden: &'a mut [u8],
    pub(crate) through: &'a mut [u8],
    pub(crate) cell: &'a mut [u8],
}

/// Takes all steps.
///
/// # Errors
/// A memory error.
pub(crate) fn forward(
    layer: Layer<'_>,
    inputs: &ForwardInputs<'_>,
    outputs: ForwardOutputs<'_>,
) -> Result<(), Error> {
    match layer.dtype {
        DType::F64 => run_forward::<Double>(layer, inputs, outputs),
        _ => run_forward::<Single>(layer, inputs, outputs),
    }
}

/// Takes all steps back.
///
/// # Errors
/// A memory error.
pub(crate) fn backward(
    layer: Layer<'_>,
    inputs: &BackwardInputs<'_>,
    outputs: BackwardOutputs<'_>,
) -> Result<(), Error> {
    match layer.dtype {
        DType::F64 => run_backward::<Double>(layer, inputs, outputs),
        _ => run_backward::<Single>(layer, inputs, outputs),
    }
}

/// Between a dtype and the one that is computed in.
struct Codec {
    level: Level,
    /// From and to the dtype, if it is another.
    conversions: Option<[Conversion; 2]>,
    size: usize,
}

impl Codec {
    fn new(level: Level, dtype: DType, wide: DType) -> Result<Self, Error> {
        let conversions = match dtype == wide {
            true => None,
            false => Some([Conversion::new(dtype, wide)?, Conversion::new(wide, dtype)?]),
        };
        let size = dtype.itemsize();
        Ok(Self {
            level,
            conversions,
            size,
        })
    }

    fn is_copy(&self) -> bool {
        self.conversions.is_none()
    }

    fn decode<T: Element>(&self, codes: &[u8], out: &mut [T], scratch: &mut Scratch) {
        let out = bytemuck::cast_slice_mut(out);
        match &self.conversions {
            Some([decode, _]) => decode.run(self.level, codes, out, scratch),
            None => out.copy_from_slice(codes),
        }
    }

    fn encode<T: Element>(&self, values: &[T], out: &mut [u8], scratch: &mut Scratch) {
        let values = bytemuck::cast_slice(values);
        match &self.conversions {
            Some([_, encode]) => encode.run(self.level, values, out, scratch),
            None => out.copy_from_slice(values),
        }
    }

    /// Rounds numbers to the dtype, with room for as many of its elements.
    fn round<T: Element>(&self, values: &mut [T], room: &mut [T], scratch: &mut Scratch) {
        if !self.is_copy() {
            let codes = bytemuck::cast_slice_mut::<T, u8>(room);
            let codes = &mut codes[..values.len() * self.size];
            self.encode(values, codes, scratch);
            self.decode(codes, values, scratch);
        }
    }
}

/// A matrix of the layer's results, or none if it is not asked for.
///
/// # Panics
/// If it does not fit.
fn target(dtype: DType, bytes: &mut [u8], [rows, columns]: [usize; 2], asked: bool) -> Target<'_> {
    let rows = if asked { rows } else { 0 };
    let output = Output::contiguous(dtype, bytes, rows, columns);
    Target::new(output, [1, rows, columns])
}

/// Whole rows of a matrix.
///
/// # Safety
/// The matrix must have the rows, and no other reference to any of them may exist.
#[allow(
    clippy::mut_from_ref,
    reason = "the caller promises to be the only one"
)]
unsafe fn rows_of<'a>(
    target: &'a Target<'_>,
    first: usize,
    rows: usize,
    columns: usize,
) -> &'a mut [u8] {
    // SAFETY: the caller's promise.
    unsafe { target.rows(0, first, rows, columns) }.unwrap_or_default()
}

/// The bytes of some rows.
fn rows_in(bytes: &[u8], first: usize, rows: usize, row_bytes: usize) -> &[u8] {
    &bytes[first * row_bytes..(first + rows) * row_bytes]
}

/// Parts of a memory, one behind the other.
fn split<const N: usize, T>(memory: &mut [T], sizes: [usize; N]) -> [&mut [T]; N] {
    let mut rest = memory;
    sizes.map(|size| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(size);
        rest = others;
        part
    })
}

/// A matrix as panels, each of all its passes.
struct Panels<'a, T> {
    level: Level,
    numbers: &'a [T],
    depth: usize,
    kc: usize,
}

impl<T: Gate> Panels<'_, T> {
    /// Adds the product of rows of `a` with a panel to as many rows.
    fn add(
        &self,
        panel: usize,
        (a, a_row): (&[T], usize),
        (c, c_stride): (&mut [T], usize),
        sizes: [usize; 2],
    ) {
        let wide = T::shape(self.level).1;
        let panel = &self.numbers[panel * self.depth * wide..][..self.depth * wide];
        for (pass, numbers) in panel.chunks(self.kc * wide).enumerate() {
            let (first, steps) = (pass * self.kc, numbers.len() / wide);
            let a = (&a[first..], a_row);
            add_rows(self.level, a, (numbers, steps), (&mut *c, c_stride), sizes);
        }
    }
}

/// What all rows of the batch have in common.
struct Plan<'a, T> {
    layer: Layer<'a>,
    level: Level,
    /// Where the rows of each step begin, and how many there are.
    starts: Vec<usize>,
    rows: usize,
    panels: Panels<'a, T>,
    codec: Codec,
    kept: Codec,
}

/// The rows of a step that a thread takes.
#[derive(Clone, Copy)]
struct Rows {
    first: usize,
    count: usize,
    /// Those that the step before had too, and where.
    former: usize,
    continued: usize,
}

impl<T> Plan<'_, T> {
    /// Some rows of the batch, step by step as they are taken.
    fn steps(&self, batch: Range<usize>) -> impl DoubleEndedIterator<Item = Rows> {
        let sizes = self.layer.sequence.sizes;
        let is_reverse = self.layer.sequence.is_reverse;
        (0..sizes.len()).filter_map(move |step| {
            let last = sizes.len() - 1;
            let place = if is_reverse { last - step } else { step };
            let count_of = |size: usize| size.min(batch.end).saturating_sub(batch.start);
            let before = match (is_reverse, step) {
                (_, 0) => None,
                (true, _) => Some(place + 1),
                (false, _) => Some(place - 1),
            };
            let count = count_of(sizes[place]);
            let first = self.starts[place] + batch.start;
            (count > 0).then_some(Rows {
                first,
                count,
                former: before.map_or(0, |before| self.starts[before] + batch.start),
                continued: before
                    .map_or(0, |before| count_of(sizes[before]))
                    .min(count),
            })
        })
    }

    /// Calls `work` with parts of the batch on all threads.
    fn run(&self, work: &(dyn Fn(Range<usize>) -> Result<(), Error> + Sync)) -> Result<(), Error> {
        let Layer {
            sequence, hidden, ..
        } = self.layer;
        let (sizes, batch) = (sequence.sizes, self.layer.batch());
        let each = hidden.saturating_mul(hidden * sequence.kind.gates());
        let threads = match self.rows.saturating_mul(each) > SEQUENTIAL {
            true => thread_count(),
            false => 1,
        };
        // Sequences of several lengths are cut finer, since their rows take different times.
        let finer = if sizes.last() == Some(&batch) { 1 } else { 2 };
        let blocks = batch.div_ceil(ROWS).next_multiple_of(threads) * finer;
        let each = batch.div_ceil(blocks.max(1)).max(1);
        run_queue(threads, batch.div_ceil(each), &|queue| {
            while let Some(range) = queue.take() {
                for block in range {
                    work(block * each..batch.min((block + 1) * each))?;
                }
            }
            Ok(())
        })
    }
}

/// Calls `work` with the plan of a layer, whose weight of the hidden state is a right factor of
/// `depth` rows: turned, where steps are taken forward.
fn with_plan<A>(
    layer: Layer<'_>,
    weight: &[u8],
    is_forward: bool,
    work: impl FnOnce(&Plan<'_, A::Sum>) -> Result<(), Error>,
) -> Result<(), Error>
where
    A: Arithmetic<Line = <A as Arithmetic>::Sum>,
    A::Sum: Gate,
{
    let level = Level::current();
    let Layer {
        op, dtype, hidden, ..
    } = layer;
    let gates = layer.sequence.kind.gates();
    let (line, wide) = (A::Line::DTYPE, A::Sum::shape(level).1);
    let (depth, parts) = if is_forward {
        (hidden, gates)
    } else {
        (gates * hidden, 1)
    };
    let matrix = Matrix {
        dtype,
        bytes: weight,
        row_stride: hidden as isize,
        column_stride: 1,
    };
    let matrix = if is_forward {
        matrix.transposed()
    } else {
        matrix
    };
    let reader = Reader::new(level, Factor::Stored(matrix), false, [dtype, line], line)?;
    let (kc, _) = split_depth(depth, A::KC);
    // A panel for some units of each gate, so that all gates of a unit come at once.
    let chunks = hidden.div_ceil(wide);
    let bytes = (parts * chunks * depth * wide).saturating_mul(line.itemsize());
    let mut memory = Buffer::zeroed(op, bytes)?;
    let panels = memory.elements_mut::<A::Sum>();
    for_each_block(panels, (depth * wide).max(1), |number, panel| {
        let (mut room, unit) = (Room::new(), number % chunks * wide);
        for (pass, numbers) in panel.chunks_mut(kc * wide).enumerate() {
            let block = Block {
                batch: 0,
                offset: 0,
                first_line: number / chunks * hidden + unit,
                lines: wide.min(hidden - unit),
                first: pass * kc,
                count: numbers.len() / wide,
                wide,
            };
            reader.pack::<A, false>(block, numbers, &mut room);
        }
    });
    let mut starts = try_vec(op, layer.sequence.sizes.len(), 0)?;
    let mut rows = 0;
    for (start, size) in starts.iter_mut().zip(layer.sequence.sizes) {
        *start = rows;
        rows += size;
    }
    work(&Plan {
        layer,
        level,
        starts,
        rows,
        panels: Panels {
            level,
            numbers: memory.elements(),
            depth,
            kc,
        },
        codec: Codec::new(level, dtype, line)?,
        kept: Codec::new(level, layer.kept, line)?,
    })
}

fn run_forward<A>(
    layer: Layer<'_>,
    inputs: &ForwardInputs<'_>,
    outputs: ForwardOutputs<'_>,
) -> Result<(), Error>
where
    A: Arithmetic<Line = <A as Arithmetic>::Sum>,
    A::Sum: Gate,
{
    with_plan::<A>(layer, inputs.weight, true, |plan| {
        let Layer {
            op,
            sequence: Sequence { kind, .. },
            dtype,
            kept,
            hidden,
        } = layer;
        let (codec, gates, size) = (&plan.codec, kind.gates(), plan.codec.size);
        let wide = A::Sum::shape(plan.level).1;
        let saves = !outputs.gates.is_empty();
        let saves_cells = !outputs.cells.is_empty();
        let saved = if saves { kind.saved() } else { 0 };
        let (rows, batch) = ([plan.rows, hidden], [layer.batch(), hidden]);
        let states = target(dtype, outputs.states, rows, true);
        let last = target(dtype, outputs.hidden, batch, true);
        let last_cell = target(dtype, outputs.cell, batch, kind.has_cell());
        let all_gates = target(kept, outputs.gates, [plan.rows, saved * hidden], saves);
        let all_cells = target(dtype, outputs.cells, rows, saves_cells);
        let zero = A::Sum::ZERO;
        let mut bias = try_vec(op, inputs.bias.map_or(0, |_| gates * hidden), zero)?;
        if let Some(codes) = inputs.bias {
            codec.decode(codes, &mut bias, &mut Scratch::default());
        }
        plan.run(&|batch| {
            let count = batch.len();
            let all = count * hidden;
            let cells = if kind.has_cell() { all } else { 0 };
            let unless = |is_there: bool, size: usize| if is_there { 0 } else { size };
            let sizes = [
                all,
                cells,
                all,
                unless(codec.is_copy(), gates * all),
                unless(codec.is_copy(), count * (4 * wide).max(hidden)),
                unless(plan.kept.is_copy(), saved * all),
                4 * count * wide,
            ];
            let bytes = sizes.iter().sum::<usize>() * size_of::<A::Sum>();
            let mut memory = Buffer::zeroed(op, bytes)?;
            let [state, cell, new, products, codes, kept_gates, sums] =
                split(memory.elements_mut::<A::Sum>(), sizes);
            let scratch = &mut *Box::<Scratch>::default();
            let first = rows_in(inputs.hidden, batch.start, count, hidden * size);
            codec.decode(first, state, scratch);
            if kind.has_cell() {
                let first = rows_in(inputs.cell, batch.start, count, hidden * size);
                codec.decode(first, cell, scratch);
            }
            let mut watch = Watch::new();
            for rows in plan.steps(batch.clone()) {
                watch.check();
                let all = rows.count * hidden;
                let codes_in = rows_in(
                    inputs.products,
                    rows.first,
                    rows.count,
                    gates * hidden * size,
                );
                // SAFETY: the target has the rows of all steps, and no other thread has these; so it is with
                // gates and cells.
                let states = unsafe { rows_of(&states, rows.first, rows.count, hidden) };
                let own_gates = match saves {
                    // SAFETY: as above.
                    true => unsafe { rows_of(&all_gates, rows.first, rows.count, saved * hidden) },
                    false => &mut [],
                };
                let products: &[A::Sum] = if codec.is_copy() {
                    bytemuck::cast_slice(codes_in)
                } else {
                    codec.decode(codes_in, &mut products[..gates * all], scratch);
                    &*products
                };
                let new = &mut new[..all];
                let sums = &mut sums[..4 * rows.count * wide];
                for (chunk, first) in (0..hidden).step_by(wide).enumerate() {
                    let units = wide.min(hidden - first);
                    let place = |gate: usize, row: usize| (row * gates + gate) * hidden + first;
                    // Stretches of rows that lie far apart are asked for before the sums they wait for.
                    for row in 0..rows.count * gates {
                        let next = products.as_ptr().wrapping_add(row * hidden + first + wide);
                        simd::prefetch_line(next.cast());
                        simd::prefetch_line(next.wrapping_add(wide / 2).cast());
                    }
                    let sums_of = |gate: usize| gate * rows.count * wide..;
                    for gate in 0..gates {
                        let sums = &mut sums[sums_of(gate)][..rows.count * wide];
                        for (row, sums) in sums.chunks_exact_mut(wide).enumerate() {
                            let sums = &mut sums[..units];
                            // What is added to sums of the dtype is there before them.
                            match (codec.is_copy(), kind.keeps_products_apart()) {
                                (true, false) => {
                                    sums.copy_from_slice(&products[place(gate, row)..][..units]);
                                }
                                (true, true) if !bias.is_empty() => {
                                    sums.copy_from_slice(&bias[gate * hidden + first..][..units]);
                                }
                                _ => sums.fill(zero),
                            }
                        }
                        let panel = gate * hidden.div_ceil(wide) + chunk;
                        let sizes = [rows.count, units];
                        plan.panels.add(panel, (state, hidden), (sums, wide), sizes);
                        if codec.is_copy() {
                            continue;
                        }
                        for (row, sums) in sums.chunks_exact_mut(wide).enumerate() {
                            let former = match kind.keeps_products_apart() {
                                true if bias.is_empty() => break,
                                true => &bias[gate * hidden + first..][..units],
                                false => &products[place(gate, row)..][..units],
                            };
                            let sums = sums.iter_mut().zip(former);
                            sums.for_each(|(sum, former)| *sum = *sum + *former);
                        }
                    }
                    codec.round(&mut sums[..gates * rows.count * wide], codes, scratch);
                    let step = Forward {
                        kind,
                        sums: &mut *sums,
                        products,
                        former: &*state,
                        new: &mut *new,
                        cell: &mut *cell,
                        hidden,
                        wide,
                        first,
                        count: units,
                    };
                    simd::run(plan.level, step);
                    if !saves {
                        continue;
                    }
                    let to: &mut [A::Sum] = if plan.kept.is_copy() {
                        bytemuck::cast_slice_mut(&mut *own_gates)
                    } else {
                        &mut *kept_gates
                    };
                    // The hidden state's part of the third gate comes last.
                    let order = if kind.keeps_products_apart() {
                        [0, 1, 3, 2]
                    } else {
                        [0, 1, 2, 3]
                    };
                    for (region, gate) in order.into_iter().enumerate() {
                        for row in 0..rows.count {
                            let from = &sums[sums_of(gate)][row * wide..][..units];
                            let place = (row * saved + region) * hidden + first;
                            to[place..place + units].copy_from_slice(from);
                        }
                    }
                }
                codec.encode(new, states, scratch);
                codec.decode(states, &mut state[..all], scratch);
                if kind.has_cell() {
                    codec.round(&mut cell[..all], codes, scratch);
                }
                if saves_cells {
                    // SAFETY: as above.
                    let cells = unsafe { rows_of(&all_cells, rows.first, rows.count, hidden) };
                    codec.encode(&cell[..all], cells, scratch);
                }
                if saves && !plan.kept.is_copy() {
                    plan.kept
                        .encode(&kept_gates[..saved * all], own_gates, scratch);
                }
            }
            // SAFETY: the target has the batch, whose rows from here on are this thread's.
            let last = unsafe { rows_of(&last, batch.start, count, hidden) };
            codec.encode(state, last, scratch);
            if kind.has_cell() {
                // SAFETY: as above.
                let last = unsafe { rows_of(&last_cell, batch.start, count, hidden) };
                codec.encode(cell, last, scratch);
            }
            Ok(())
        })
    })
}

fn run_backward<A>(
    layer: Layer<'_>,
    inputs: &BackwardInputs<'_>,
    outputs: BackwardOutputs<'_>,
) -> Result<(), Error>
where
    A: Arithmetic<Line = <A as Arithmetic>::Sum>,
    A::Sum: Gate,
{
    with_plan::<A>(layer, inputs.weight, false, |plan| {
        let Layer {
            op,
            sequence: Sequence { kind, .. },
            dtype,
            kept,
            hidden,
        } = layer;
        let (codec, size) = (&plan.codec, plan.codec.size);
        let wide = A::Sum::shape(plan.level).1;
        let (gates, regions) = (kind.gates(), kind.saved().max(1));
        let apart = kind.keeps_products_apart();
        let is_in_place = plan.kept.is_copy() && !apart;
        let line = A::Line::DTYPE;
        let rows = [plan.rows, gates * hidden];
        let for_products = target(kept, outputs.products, rows, true);
        let for_through = target(kept, outputs.through, rows, apart);
        let formers = target(dtype, outputs.formers, [plan.rows, hidden], true);
        let batch = [layer.batch(), hidden];
        let for_first = target(line, outputs.hidden, batch, true);
        let for_first_cell = target(line, outputs.cell, batch, kind.has_cell());
        plan.run(&|batch| {
            let count = batch.len();
            let all = count * hidden;
            let cells = if kind.has_cell() { all } else { 0 };
            let sizes = [
                all,
                all,
                cells,
                cells,
                all,
                if is_in_place { 0 } else { regions * all },
                if apart { gates * all } else { 0 },
            ];
            let bytes = sizes.iter().sum::<usize>() * size_of::<A::Sum>();
            let mut memory = Buffer::for_overwrite(op, bytes)?;
            let [gradient, carried, cell, for_cell, former, saved, part] =
                split(memory.elements_mut::<A::Sum>(), sizes);
            let scratch = &mut *Box::<Scratch>::default();
            let line_size = size_of::<A::Sum>();
            let given = rows_in(inputs.for_hidden, batch.start, count, hidden * line_size);
            carried.copy_from_slice(bytemuck::cast_slice(given));
            if kind.has_cell() {
                let given = rows_in(inputs.for_cell, batch.start, count, hidden * line_size);
                for_cell.copy_from_slice(bytemuck::cast_slice(given));
            }
            let mut watch = Watch::new();
            for rows in plan.steps(batch.clone()).rev() {
                watch.check();
                let all = rows.count * hidden;
                let own = |bytes| rows_in(bytes, rows.first, rows.count, hidden * size);
                let began = hidden * rows.continued;
                // What the step began with: states of the step before, then those at the beginning.
                let before = |bytes, first| {
                    let joining = rows.count - rows.continued;
                    [
                        rows_in(bytes, rows.former, rows.continued, hidden * size),
                        rows_in(first, batch.start + rows.continued, joining, hidden * size),
                    ]
                };
                // SAFETY: the target has the rows of all steps, and no other thread has these; so it is with
                // the others below.
                let formers = unsafe { rows_of(&formers, rows.first, rows.count, hidden) };
                let (old, joining) = formers.split_at_mut(began * size);
                let [states, first] = before(inputs.states, inputs.hidden);
                old.copy_from_slice(states);
                joining.copy_from_slice(first);
                let gradient = &mut gradient[..all];
                codec.decode(own(inputs.for_states), gradient, scratch);
                for (gradient, carried) in gradient.iter_mut().zip(&*carried) {
                    *gradient = *gradient + *carried;
                }
                let row = gates * hidden;
                // SAFETY: as above.
                let products = unsafe { rows_of(&for_products, rows.first, rows.count, row) };
                let former = &mut former[..all];
                // Gradients take the place of gates, in the result itself if it is what is computed in.
                let (saved, products): (&mut [A::Sum], &mut [u8]) = if is_in_place {
                    (bytemuck::cast_slice_mut(products), &mut [])
                } else {
                    (&mut saved[..regions * all], products)
                };
                if kind.saved() == 0 {
                    codec.decode(own(inputs.states), saved, scratch);
                } else {
                    let row_bytes = regions * hidden * plan.kept.size;
                    let codes = rows_in(inputs.gates, rows.first, rows.count, row_bytes);
                    plan.kept.decode(codes, saved, scratch);
                }
                if kind.has_cell() {
                    codec.decode(own(inputs.cells), &mut cell[..all], scratch);
                    let (old, joining) = former.split_at_mut(began);
                    let [cells, first] = before(inputs.cells, inputs.cell);
                    codec.decode(cells, old, scratch);
                    codec.decode(first, joining, scratch);
                } else {
                    codec.decode(formers, former, scratch);
                }
                let cells = if kind.has_cell() { all } else { 0 };
                let step = Backward {
                    kind,
                    gates: &mut *saved,
                    gradient: &mut *gradient,
                    former: &*former,
                    cell: &mut cell[..cells],
                    for_cell: &mut for_cell[..cells],
                    hidden,
                };
                simd::run(plan.level, step);
                let through = if apart {
                    let part = &mut part[..rows.count * row];
                    let each = saved.chunks_exact(regions * hidden);
                    for (to, from) in part.chunks_exact_mut(row).zip(each.clone()) {
                        to.copy_from_slice(&from[..row]);
                    }
                    plan.kept.encode(part, products, scratch);
                    for (to, from) in part.chunks_exact_mut(row).zip(each) {
                        to[row - hidden..].copy_from_slice(&from[row..]);
                    }
                    // SAFETY: as above.
                    let codes = unsafe { rows_of(&for_through, rows.first, rows.count, row) };
                    plan.kept.encode(part, codes, scratch);
                    if !plan.kept.is_copy() {
                        plan.kept.decode(codes, part, scratch);
                    }
                    part
                } else {
                    if !is_in_place {
                        plan.kept.encode(saved, products, scratch);
                        plan.kept.decode(products, saved, scratch);
                    }
                    saved
                };
                let carried = &mut carried[..all];
                carried.fill(A::Sum::ZERO);
                for (chunk, first) in (0..hidden).step_by(wide).enumerate() {
                    let sizes = [rows.count, wide.min(hidden - first)];
                    let c = (&mut carried[first..], hidden);
                    plan.panels.add(chunk, (through, row), c, sizes);
                }
                if apart {
                    for (carried, gradient) in carried.iter_mut().zip(&*gradient) {
                        *carried = *carried + *gradient;
                    }
                }
            }
            // SAFETY: the target has the batch, whose rows from here on are this thread's.
            let first = unsafe { rows_of(&for_first, batch.start, count, hidden) };
            first.copy_from_slice(bytemuck::cast_slice(carried));
            if kind.has_cell() {
                // SAFETY: as above.
                let first = unsafe { rows_of(&for_first_cell, batch.start, count, hidden) };
                first.copy_from_slice(bytemuck::cast_slice(for_cell));
            }
            Ok(())
        })
    })
}
