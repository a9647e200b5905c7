//! Elements that are moved: copies, fills, places of a target, pieces put together. Bytes are not
//! looked at, so that every NaN keeps its bits.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Askers, Band, Layout, Piece, Program, Shape, Shared, View};

use super::run::{Reader, item};
use super::{Bounds, GROUP, MOST_GROUPS, Window, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::lower::{Lowered, lower};
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::places::Places;

/// The function `value` that gives the bytes of an element of the first view.
fn moved(size: usize, places: &Places, first: usize) -> String {
    let cell = Cell::Raw(size);
    let mut text = String::new();
    places.text(first, &mut text);
    let load = cell.load("in0", "p", WideIntegers::Pairs);
    let name = cell.type_name(WideIntegers::Pairs);
    write!(
        text,
        "fn value(i: u32) -> {name} {{\n    let p = place0(i);\n    return {load};\n}}\n"
    )
    .ok();
    text
}

/// A shader that writes values of `count` elements to where `place{to}` says.
fn placed(
    cell: Cell,
    integers: WideIntegers,
    reads: usize,
    numbers: usize,
    to: usize,
    functions: &str,
) -> Shader {
    let mut text = declarations(reads, 1, numbers);
    let code = cell.encode("v", integers);
    let size = cell.size();
    if size < 4 {
        text = text.replace("out0: array<u32>", "out0: array<atomic<u32>>");
    }
    text += functions;
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let i = id.x + id.y * {};\n    \
         if (i >= {}) {{ return; }}\n    \
         let v = value(i);\n    \
         let c = {code};\n    \
         let p = place{to}(i);\n",
        number(2),
        number(0)
    )
    .ok();
    match size {
        1 | 2 => {
            // Others write to the rest of the word, and nobody to these bits.
            let (bits, shift, low) = (8 * size, 3 - size, 4 / size - 1);
            let mask = (1_u32 << bits) - 1;
            write!(
                text,
                "    let at = (p & {low}u) * {bits}u;\n    \
                 atomicAnd(&out0[p >> {shift}u], ~({mask}u << at));\n    \
                 atomicOr(&out0[p >> {shift}u], c << at);\n",
            )
            .ok();
        }
        4 => text += "    out0[p] = c;\n",
        _ => {
            let words = size / 4;
            for (w, part) in ["x", "y", "z", "w"].iter().enumerate().take(words) {
                writeln!(text, "    out0[p * {words}u + {w}u] = c.{part};").ok();
            }
        }
    }
    text += "}\n";
    Shader {
        text,
        reads,
        writes: 1,
    }
}

impl Gpu {
    /// Writes the elements of a layout, of so many bytes each, to a block from an element on.
    pub(crate) fn move_part(
        &'static self,
        op: &'static str,
        size: usize,
        block: &Block,
        layout: &Layout,
        target: &Block,
        start: usize,
    ) -> Result<(), Error> {
        let count = layout.shape().count();
        let (first, bytes) = (layout.offset() * size, count * size);
        let is_aligned = first.is_multiple_of(4) && (start * size).is_multiple_of(4);
        // Behind the last element of a block there is nothing to overwrite.
        let is_whole = bytes.is_multiple_of(4) || start * size + bytes == target.stored;
        if layout.is_contiguous()
            && is_aligned
            && is_whole
            && count > 0
            && let (Some(from), Some(to)) = (block.buffer.get(), target.buffer.get())
        {
            let bytes = bytes.next_multiple_of(4) as u64;
            let askers = block.lineage.askers().and(Askers::this_thread());
            target.lineage.add(askers);
            return self.record(op, |encoder| {
                let place = (start * size) as u64;
                encoder.copy_buffer_to_buffer(from, first as u64, to, place, bytes);
            });
        }
        let mut program = Program::new(&[raw_dtype(size)]);
        program.output(0);
        let lowered = Lowered {
            program,
            constants: Default::default(),
        };
        let parts = [(block, layout.clone())];
        if size <= 4 {
            return self.run_parts(op, &lowered, layout.shape(), &parts, &[target], start);
        }
        let window = Window {
            block: target,
            cell: Cell::Raw(size),
            start,
        };
        self.launch_moved(op, &window, layout.shape(), &parts[0])
    }

    /// The same for elements of several words.
    fn launch_moved(
        &'static self,
        op: &'static str,
        window: &Window<'_>,
        shape: &Shape,
        (block, layout): &(&Block, Layout),
    ) -> Result<(), Error> {
        let size = window.cell.size();
        if let Some((bound, within)) = self.bind_view(block, size, layout) {
            let places = Places::new(shape, &[&within]);
            let mut numbers = Vec::new();
            places.numbers(&mut numbers);
            let key = format!("move{size}|{}", places.key());
            let functions = || Some(moved(size, &places, header(1)));
            let windows = [*window];
            let count = shape.count();
            if self.launch(op, &key, &[bound], &windows, count, &numbers, functions)? {
                return Ok(());
            }
        }
        self.halve(op, shape, layout, &mut |shape, layout, first| {
            let start = window.start + first;
            let window = Window { start, ..*window };
            self.launch_moved(op, &window, shape, &(*block, layout))
        })
    }

    /// Two halves of a layout, each with its shape and its first element.
    fn halve(
        &self,
        op: &'static str,
        shape: &Shape,
        layout: &Layout,
        work: &mut dyn FnMut(&Shape, Layout, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(dim) = shape.iter().position(|size| *size > 1) else {
            let reason = "an element that no shader may see";
            return Err(crate::error::failed(op, self.name, reason));
        };
        let half = shape[dim] / 2;
        let rest: usize = shape[dim + 1..].iter().product();
        for (first, size) in [(0, half), (half, shape[dim] - half)] {
            let mut sizes = shape.to_vec();
            sizes[dim] = size;
            let part = Shape::new(op, &sizes)?;
            let offset = layout.offset() as isize + first as isize * layout.strides()[dim];
            let strides = layout.strides().into();
            let layout = Layout::from_parts(part.clone(), strides, offset as usize);
            work(&part, layout, first * rest)?;
        }
        Ok(())
    }

    /// The elements of a view in row-major order.
    pub(crate) fn copy_view(
        &'static self,
        op: &'static str,
        dtype: DType,
        view: View<'_>,
    ) -> Result<Block, Error> {
        let from = self.own(op, view.memory)?;
        let block = self.block(op, dtype, view.layout.shape().count())?;
        let size = self.capabilities.storage(dtype).itemsize();
        self.move_part(op, size, from, view.layout, &block, 0)?;
        Ok(block)
    }

    /// One element many times; its bytes are those that the device stores.
    pub(crate) fn fill_block(
        &'static self,
        op: &'static str,
        block: &Block,
        element: &[u8],
        count: usize,
    ) -> Result<(), Error> {
        let size = element.len();
        if element.iter().all(|byte| *byte == 0)
            && let Some(buffer) = block.buffer.get()
        {
            let bytes = (count * size).next_multiple_of(4) as u64;
            block.lineage.add(Askers::this_thread());
            return self.record(op, |encoder| encoder.clear_buffer(buffer, 0, Some(bytes)));
        }
        let mut words = [0_u8; 16];
        words[..size].copy_from_slice(element);
        let word = |word: &[u8]| {
            word.iter()
                .rev()
                .fold(0, |bits, b| bits << 8 | u32::from(*b))
        };
        let numbers: Vec<u32> = words.chunks_exact(4).map(word).collect();
        let cell = Cell::Raw(size);
        let name = cell.type_name(WideIntegers::Pairs);
        let functions = move || {
            let words: Vec<String> = (0..size.div_ceil(4))
                .map(|k| number(header(1) + k))
                .collect();
            let words = words.join(", ");
            Some(format!(
                "fn value(i: u32) -> {name} {{ return {name}({words}); }}\n"
            ))
        };
        let key = format!("fill{size}");
        let most = self.most_bound() as usize / size;
        for start in (0..count).step_by(most) {
            let window = Window { block, cell, start };
            let now = most.min(count - start);
            self.launch(op, &key, &[], &[window], now, &numbers, &functions)?;
        }
        Ok(())
    }

    /// Writes what a program makes of a part to where a layout has it in a target, which no two
    /// elements share; whether a shader may see all of it.
    pub(crate) fn place_program(
        &'static self,
        op: &'static str,
        lowered: &Lowered,
        (block, layout): (&Block, &Layout),
        target: &Block,
        to: &Layout,
    ) -> Result<bool, Error> {
        let (shape, program) = (layout.shape(), &lowered.program);
        let Some(output) = program.output_dtypes().next() else {
            return Ok(true);
        };
        let input = program.input_dtypes().first().copied().unwrap_or(output);
        if shape.count() == 0 {
            return Ok(true);
        }
        if to.is_contiguous() {
            let parts = [(block, layout.clone())];
            self.run_parts(op, lowered, shape, &parts, &[target], to.offset())?;
            return Ok(true);
        }
        let from = self.bind_view(block, input.itemsize(), layout);
        let into = self.bind_view(target, output.itemsize(), to);
        let (Some((from, layout)), Some((into, to))) = (from, into) else {
            return Ok(false);
        };
        let mut bounds = Bounds::default();
        let buffer = bounds.add(from);
        let places = Places::new(shape, &[&layout, &to]);
        let reader = Reader::new(bounds, &[buffer], places);
        let count = shape.count();
        let [groups, row] = groups(count);
        let mut numbers = vec![count as u32, 0, row, 0];
        numbers.extend(reader.numbers(lowered));
        let key = format!("place|{}", reader.key(lowered));
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            let integers = self.integers;
            let (text, _) = item("value", lowered, &reader, integers, header(1), &[])?;
            Some(placed(Cell::Of(output), integers, 1, total, 1, &text))
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &[from, into], &numbers, grid)?;
        Ok(true)
    }

    /// The same for elements as they are.
    pub(crate) fn place_part(
        &'static self,
        op: &'static str,
        size: usize,
        (block, layout): (&Block, &Layout),
        target: &Block,
        to: &Layout,
    ) -> Result<bool, Error> {
        let shape = layout.shape();
        if size <= 4 {
            let mut program = Program::new(&[raw_dtype(size)]);
            program.output(0);
            let constants = Default::default();
            let lowered = Lowered { program, constants };
            return self.place_program(op, &lowered, (block, layout), target, to);
        }
        if to.is_contiguous() {
            self.move_part(op, size, block, layout, target, to.offset())?;
            return Ok(true);
        }
        let from = self.bind_view(block, size, layout);
        let into = self.bind_view(target, size, to);
        let (Some((from, layout)), Some((into, to))) = (from, into) else {
            return Ok(false);
        };
        let places = Places::new(shape, &[&layout, &to]);
        let count = shape.count();
        if count == 0 {
            return Ok(true);
        }
        let [groups, row] = groups(count);
        let mut numbers = vec![count as u32, 0, row, 0];
        places.numbers(&mut numbers);
        let key = format!("place{size}|{}", places.key());
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            let text = moved(size, &places, header(1));
            let cell = Cell::Raw(size);
            Some(placed(cell, WideIntegers::Pairs, 1, total, 1, &text))
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &[from, into], &numbers, grid)?;
        Ok(true)
    }

    /// A tensor of pieces, each converted to a dtype; nothing if a shader may not see all of one.
    pub(crate) fn assemble_pieces(
        &'static self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        pieces: &[Piece<'_>],
    ) -> Result<Option<Shared>, Error> {
        let target = self.block(op, dtype, shape.count())?;
        let strides = shape.contiguous_strides();
        for piece in pieces {
            if piece.layout.rank() != shape.rank() {
                return Ok(None);
            }
            let steps = piece.start.iter().zip(&strides);
            let offset: isize = steps.map(|(start, stride)| *start as isize * stride).sum();
            let sizes = piece.layout.shape().clone();
            let to = Layout::from_parts(sizes, strides.clone(), offset as usize);
            let part = (self.own(op, piece.memory)?, &piece.layout);
            let is_done = if piece.dtype == dtype {
                let size = self.capabilities.storage(dtype).itemsize();
                self.place_part(op, size, part, &target, &to)?
            } else {
                let mut program = Program::new(&[piece.dtype]);
                let result = program.convert(0, dtype);
                program.output(result);
                let lowered = lower(&program, &self.capabilities)?;
                self.place_program(op, &lowered, part, &target, &to)?
            };
            if !is_done {
                return Ok(None);
            }
        }
        Ok(Some(Arc::new(target)))
    }

    /// Matrices with zero outside a band; nothing if a shader may not see all of them.
    pub(crate) fn keep_band_of(
        &'static self,
        op: &'static str,
        dtype: DType,
        band: Band,
        diagonal: isize,
        view: View<'_>,
    ) -> Result<Option<Shared>, Error> {
        let (from, shape) = (self.own(op, view.memory)?, view.layout.shape());
        let [.., rows, columns] = shape[..] else {
            return Ok(Some(Arc::new(self.copy_view(op, dtype, view)?)));
        };
        let size = self.capabilities.storage(dtype).itemsize();
        let target = self.block(op, dtype, shape.count())?;
        let Some((bound, layout)) = self.bind_view(from, size, view.layout) else {
            return Ok(None);
        };
        let places = Places::new(shape, &[&layout]);
        let limit = (rows.max(columns)) as isize + 1;
        let diagonal = diagonal.clamp(-limit, limit) as i32;
        let mut numbers = vec![rows as u32, columns as u32, diagonal as u32];
        places.numbers(&mut numbers);
        let key = format!("band{size}{band:?}|{}", places.key());
        let sign = match band {
            Band::Lower => "<=",
            Band::Upper => ">=",
        };
        let functions = || {
            let first = header(1);
            let [rows, columns, diagonal] = [0, 1, 2].map(|k| number(first + k));
            let text = moved(size, &places, first + 3).replace("fn value(", "fn element(");
            let name = Cell::Raw(size).type_name(WideIntegers::Pairs);
            Some(format!(
                "{text}fn value(i: u32) -> {name} {{\n    \
                 let row = i32((i / {columns}) % {rows});\n    \
                 let column = i32(i % {columns});\n    \
                 if (column {sign} row + bitcast<i32>({diagonal})) {{ return element(i); }}\n    \
                 return {name}();\n}}\n"
            ))
        };
        let window = Window::all(&target, Cell::Raw(size));
        let count = shape.count();
        let is_done = self.launch(op, &key, &[bound], &[window], count, &numbers, functions)?;
        Ok(is_done.then(|| Arc::new(target) as Shared))
    }
}

/// An unsigned integer of so many bytes, whose bits no shader changes.
fn raw_dtype(size: usize) -> DType {
    match size {
        1 => DType::U8,
        2 => DType::U16,
        _ => DType::U32,
    }
}
