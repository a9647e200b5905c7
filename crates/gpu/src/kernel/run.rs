//! Programs over views: one shader each.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Layout, Program, Shape, Shared, View};
use smallvec::SmallVec;

use super::{Bounds, MOST_GROUPS, Window, elementwise, groups_of, header, vector};
use crate::codec::{Cell, constant, constant_len, constant_words};
use crate::device::Gpu;
use crate::error::failed;
use crate::lower::{Lowered, lower};
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::places::Places;
use crate::queue::Bound;

/// A part of a program's inputs: memory, and where in it the elements are.
pub(crate) type Part<'a> = (&'a Block, Layout);

/// A program with a way to read its inputs, as text and as numbers.
pub(crate) struct Reader<'a> {
    bounds: Bounds<'a>,
    /// Which buffer each input is in.
    buffers: SmallVec<[usize; 4]>,
    places: Places,
}

impl<'a> Reader<'a> {
    /// Inputs in these buffers at these places, which may be more than the inputs.
    pub(crate) fn new(bounds: Bounds<'a>, buffers: &[usize], places: Places) -> Self {
        Self {
            bounds,
            buffers: buffers.into(),
            places,
        }
    }

    /// Inputs that lie one after the other in a buffer each, which is not there.
    pub(crate) fn of_contiguous(inputs: usize) -> Self {
        let order = Layout::contiguous(Shape::scalar());
        Self {
            bounds: Bounds::default(),
            buffers: (0..inputs).collect(),
            // bounded: as many as a program has inputs.
            places: Places::new(&Shape::scalar(), &vec![&order; inputs]),
        }
    }

    /// The buffers that are read.
    pub(crate) fn bounds(&self) -> &[Bound<'a>] {
        &self.bounds.bounds
    }

    /// What the text of [`item`] depends on.
    pub(crate) fn key(&self, lowered: &Lowered) -> String {
        let (program, places) = (&lowered.program, self.places.key());
        format!("{program}|{places}|{:?}", self.buffers)
    }

    /// The numbers that the text reads.
    pub(crate) fn numbers(&self, lowered: &Lowered) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.places.numbers(&mut numbers);
        for scalar in &lowered.constants {
            numbers.extend(constant_words(*scalar));
        }
        numbers
    }
}

/// A function of this name from the number of an element to what the program makes of it, and all
/// that it calls. Its numbers begin at `first`; gives the number after the last.
pub(crate) fn item(
    name: &str,
    lowered: &Lowered,
    reader: &Reader<'_>,
    integers: WideIntegers,
    first: usize,
    others: &[(&str, &Function)],
) -> Option<(String, usize)> {
    let program = &lowered.program;
    let function = Function::of_program(program)?;
    let mut functions = vec![("program", &function)];
    functions.extend_from_slice(others);
    let mut text = print_module_with(integers, functions);
    let mut next = reader.places.text(first, &mut text);
    let mut arguments = Vec::new();
    let mut lines = String::new();
    let inputs = program.input_dtypes().iter().zip(&reader.buffers);
    for (k, (dtype, buffer)) in inputs.enumerate() {
        writeln!(lines, "    let p{k} = place{k}(i);").ok();
        let buffer = format!("in{buffer}");
        arguments.push(Cell::Of(*dtype).load(&buffer, &format!("p{k}"), integers));
    }
    for scalar in &lowered.constants {
        arguments.push(constant(scalar.dtype(), next, integers));
        next += constant_len(scalar.dtype());
    }
    let mut outputs = program.output_dtypes();
    let result = match (outputs.next(), outputs.next()) {
        (Some(only), None) => Cell::Of(only).type_name(integers),
        _ => "program_results".to_owned(),
    };
    let arguments = arguments.join(", ");
    write!(
        text,
        "fn {name}(i: u32) -> {result} {{\n{lines}    return program({arguments});\n}}\n"
    )
    .ok();
    Some((text, next))
}

/// The shader of a program over contiguous inputs.
pub(crate) fn shader(lowered: &Lowered, integers: WideIntegers) -> Option<Shader> {
    let program = &lowered.program;
    let inputs = program.input_count() - lowered.constants.len();
    let reader = Reader::of_contiguous(inputs);
    let cells: Vec<Cell> = program.output_dtypes().map(Cell::Of).collect();
    let first = header(cells.len());
    let (text, numbers) = item("value", lowered, &reader, integers, first, &[])?;
    Some(elementwise(integers, inputs, &cells, numbers, &text))
}

impl Gpu {
    /// Views as parts of blocks of this device.
    pub(crate) fn parts<'a>(
        &self,
        op: &'static str,
        views: &[View<'a>],
    ) -> Result<SmallVec<[Part<'a>; 4]>, Error> {
        let part = |view: &View<'a>| Ok((self.own(op, view.memory)?, view.layout.clone()));
        views.iter().map(part).collect()
    }

    /// A way to read inputs of a shape; nothing if they are more than a shader may see.
    pub(crate) fn reader<'a>(
        &self,
        dtypes: &[DType],
        shape: &Shape,
        parts: &[Part<'a>],
    ) -> Option<Reader<'a>> {
        let mut bounds = Bounds::default();
        let mut buffers = SmallVec::new();
        let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
        for ((block, layout), dtype) in parts.iter().zip(dtypes) {
            let (bound, layout) = self.bind_view(block, dtype.itemsize(), layout)?;
            buffers.push(bounds.add(bound));
            layouts.push(layout);
        }
        let layouts: SmallVec<[&Layout; 4]> = layouts.iter().collect();
        let places = Places::new(shape, &layouts);
        Some(Reader {
            bounds,
            buffers,
            places,
        })
    }

    /// The outputs of a program for every element of a shape.
    pub(crate) fn run_program(
        &'static self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        views: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        let lowered = lower(program, &self.capabilities)?;
        let parts = self.parts(op, views)?;
        let mut blocks: SmallVec<[Block; 2]> = SmallVec::new();
        for dtype in program.output_dtypes() {
            blocks.push(self.block(op, dtype, shape.count())?);
        }
        let targets: SmallVec<[&Block; 2]> = blocks.iter().collect();
        self.run_parts(op, &lowered, shape, &parts, &targets, 0)?;
        drop(targets);
        Ok(blocks
            .into_iter()
            .map(|block| Arc::new(block) as Shared)
            .collect())
    }

    /// Writes the outputs of a program to targets, from an element on.
    pub(crate) fn run_parts(
        &'static self,
        op: &'static str,
        lowered: &Lowered,
        shape: &Shape,
        parts: &[Part<'_>],
        targets: &[&Block],
        start: usize,
    ) -> Result<(), Error> {
        let count = shape.count();
        if count == 0 {
            return Ok(());
        }
        let program = &lowered.program;
        let cells = program.output_dtypes().map(Cell::Of);
        let windows: SmallVec<[Window<'_>; 2]> = targets
            .iter()
            .zip(cells)
            .map(|(block, cell)| Window { block, cell, start })
            .collect();
        if let Some(reader) = self.reader(program.input_dtypes(), shape, parts) {
            let most = self.limits.max_storage_buffers_per_shader_stage as usize;
            if reader.bounds.len() + targets.len() > most {
                return self.run_stacked(op, lowered, shape, parts, targets, start);
            }
            if start == 0 && self.run_vectors(op, lowered, &reader, targets, count)? {
                return Ok(());
            }
            let key = format!("run|{}", reader.key(lowered));
            let numbers = reader.numbers(lowered);
            let bounds = reader.bounds();
            let is_done = self.launch(op, &key, bounds, &windows, count, &numbers, || {
                let first = header(targets.len());
                let text = item("value", lowered, &reader, self.integers, first, &[])?;
                Some(text.0)
            })?;
            if is_done {
                return Ok(());
            }
        }
        // Half of it at a time, where a shader may not see all.
        let Some(dim) = shape.iter().position(|size| *size > 1) else {
            return Err(failed(op, self.name, "an element that no shader may see"));
        };
        let half = shape[dim] / 2;
        for (first, size) in [(0, half), (half, shape[dim] - half)] {
            let mut sizes = shape.to_vec();
            sizes[dim] = size;
            let part_shape = Shape::new(op, &sizes)?;
            let mut shifted: SmallVec<[Part<'_>; 4]> = SmallVec::new();
            for (block, layout) in parts {
                let stride = layout.strides()[dim];
                let offset = layout.offset() as isize + first as isize * stride;
                let strides = layout.strides().into();
                let layout = Layout::from_parts(part_shape.clone(), strides, offset as usize);
                shifted.push((*block, layout));
            }
            let rest: usize = shape[dim + 1..].iter().product();
            let start = start + first * rest;
            self.run_parts(op, lowered, &part_shape, &shifted, targets, start)?;
        }
        Ok(())
    }

    /// The same by vectors, where all of it is one after the other; whether it was.
    fn run_vectors(
        &self,
        op: &'static str,
        lowered: &Lowered,
        reader: &Reader<'_>,
        targets: &[&Block],
        count: usize,
    ) -> Result<bool, Error> {
        let Some(simple) = reader.places.simple() else {
            return Ok(false);
        };
        let walk = |(_, is_line): &(u32, bool)| match is_line {
            true => vector::Walk::Contiguous,
            false => vector::Walk::Scalar,
        };
        let walks: SmallVec<[vector::Walk; 4]> = simple.iter().map(walk).collect();
        let Some(elements) = vector::elements(lowered, &walks) else {
            return Ok(false);
        };
        let dtypes = lowered.program.input_dtypes();
        let mut offsets: SmallVec<[u32; 4]> = SmallVec::new();
        let mut bounds: SmallVec<[Bound<'_>; 4]> = SmallVec::new();
        let mut reads: SmallVec<[vector::Walk; 4]> = SmallVec::new();
        let mut buffers: SmallVec<[usize; 4]> = SmallVec::new();
        for (k, (offset, is_line)) in simple.iter().enumerate() {
            let byte = *offset as usize * dtypes[k].itemsize();
            if *is_line && !byte.is_multiple_of(16) {
                return Ok(false);
            }
            offsets.push(if *is_line {
                (byte / 16) as u32
            } else {
                *offset
            });
            let bound = reader.bounds()[reader.buffers[k]];
            let same = |j: &usize| reader.buffers[*j] == reader.buffers[k] && walks[*j] == walks[k];
            match (0..k).find(same) {
                Some(j) => buffers.push(buffers[j]),
                None => {
                    buffers.push(bounds.len());
                    bounds.push(bound);
                    reads.push(walks[k]);
                }
            }
        }
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        if bounds.len() + targets.len() > most {
            return Ok(false);
        }
        let [groups, row] = groups_of(vector::GROUP, count.div_ceil(elements));
        let mut numbers = vec![count as u32, 0, row];
        for (block, dtype) in targets.iter().zip(lowered.program.output_dtypes()) {
            // Whole vectors are written: behind the last element there must be nothing.
            let is_whole = block.stored == count * dtype.itemsize();
            let bound = self.bind(block, dtype.itemsize(), [0, count]);
            let Some((bound, _)) = bound.filter(|_| is_whole) else {
                return Ok(false);
            };
            numbers.push(0);
            bounds.push(bound);
        }
        numbers.extend(offsets);
        for scalar in &lowered.constants {
            numbers.extend(constant_words(*scalar));
        }
        let integers = self.integers;
        let program = &lowered.program;
        let key = format!("vector|{program}|{walks:?}|{buffers:?}");
        let found = self.pipeline_if(op, &key, || {
            vector::shader(lowered, &walks, &buffers, &reads, elements, integers)
        })?;
        let Some(pipeline) = found else {
            return Ok(false);
        };
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        Ok(true)
    }

    /// The same for more buffers than a shader may see: inputs are copied into one.
    fn run_stacked(
        &'static self,
        op: &'static str,
        lowered: &Lowered,
        shape: &Shape,
        parts: &[Part<'_>],
        targets: &[&Block],
        start: usize,
    ) -> Result<(), Error> {
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        // Several outputs one after the other, until each has room enough.
        if targets.len() + 2 > most {
            return Err(failed(
                op,
                self.name,
                "more outputs than a shader may write",
            ));
        }
        let free = most - targets.len() - 1;
        let dtypes = lowered.program.input_dtypes();
        let size_of = |k: usize| (shape.count() * dtypes[k].itemsize()).next_multiple_of(256);
        let stacked: usize = (free..parts.len()).map(size_of).sum();
        let scratch = self.block(op, DType::U8, stacked)?;
        let mut others: SmallVec<[Part<'_>; 4]> = parts[..free].into();
        let mut byte = 0;
        for (k, (block, layout)) in parts.iter().enumerate().skip(free) {
            let size = dtypes[k].itemsize();
            let first = byte / size;
            self.move_part(op, size, block, layout, &scratch, first)?;
            let strides = shape.contiguous_strides();
            others.push((&scratch, Layout::from_parts(shape.clone(), strides, first)));
            byte += size_of(k);
        }
        self.run_parts(op, lowered, shape, &others, targets, start)
    }
}
