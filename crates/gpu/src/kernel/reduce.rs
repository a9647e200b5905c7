//! One number of many, with a program in front.
//!
//! Each thread folds items that are as far apart as there are threads for a line, then threads fold
//! what these have left, until one is left. How many there are depends on the sizes alone, and so
//! does the result.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Fold, Program, Shape, Shared, View};

use super::run::{Reader, item};
use super::state::State;
use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::lower::{Lowered, lower};
use crate::memory::Block;

/// Lines from this number on have a thread each.
const MANY: usize = 4096;
/// Items that a thread folds at most where there are several threads for a line, and at least.
const THREADS: usize = 8192;
const LEAST: usize = 64;

/// Threads for a line of so many items.
fn threads(lines: usize, items: usize) -> usize {
    if lines >= MANY || items <= 2 * LEAST {
        return 1;
    }
    items.div_ceil(LEAST).min((THREADS / lines).max(1))
}

/// Where the items of a pass are from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, 'b> {
    /// What a program makes of its inputs.
    Program(&'a Lowered, &'a Reader<'b>),
    /// States of an earlier pass, in the first buffer.
    States,
}

impl Source<'_, '_> {
    /// The function `part` from the number of an item to the state of it, and all that folds need.
    /// Numbers of the source begin at `first`.
    pub(crate) fn text(
        self,
        state: &State,
        to: DType,
        integers: WideIntegers,
        first: usize,
    ) -> Option<String> {
        let functions = state.functions(to)?;
        let functions: Vec<(&str, &Function)> = functions.iter().map(|(n, f)| (*n, f)).collect();
        let name = state.cell().type_name(integers);
        let mut text = match self {
            Self::Program(lowered, reader) => {
                item("item", lowered, reader, integers, first, &functions)?.0
            }
            Self::States => print_module_with(integers, functions),
        };
        text += &state.text(to, integers);
        let part = match self {
            Self::Program(..) => "lift(item(i))".to_owned(),
            Self::States => state.cell().load("in0", "i", integers),
        };
        writeln!(text, "fn part(i: u32) -> {name} {{ return {part}; }}").ok();
        Some(text)
    }

    pub(crate) fn key(self) -> String {
        match self {
            Self::Program(lowered, reader) => reader.key(lowered),
            Self::States => "states".to_owned(),
        }
    }

    pub(crate) fn numbers(self) -> Vec<u32> {
        match self {
            Self::Program(lowered, reader) => reader.numbers(lowered),
            Self::States => Vec::new(),
        }
    }
}

/// The text of `value`, which folds every so manieth item of a line.
pub(crate) fn fold_text(result: &str, is_last: bool) -> String {
    let first = header(1);
    let [items, threads, inner] = [0, 1, 2].map(|k| number(first + k));
    let last = if is_last { "finish(s)" } else { "s" };
    format!(
        "fn value(i: u32) -> {result} {{\n    \
         let rest = i / {inner};\n    \
         let thread = rest % {threads};\n    \
         let base = (rest / {threads}) * {items} * {inner} + i % {inner};\n    \
         var s = part(base + thread * {inner});\n    \
         for (var k = thread + {threads}; k < {items}; k += {threads}) {{\n        \
         s = join(s, part(base + k * {inner}));\n    }}\n    \
         return {last};\n}}\n"
    )
}

impl Gpu {
    /// Items folded along the middle of three sizes; nothing if a shader may not see all of them.
    #[allow(clippy::too_many_arguments, reason = "as the method of the trait")]
    pub(crate) fn reduce_program(
        &'static self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        shape: &Shape,
        views: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Option<Shared>, Error> {
        let [outer, items, inner] = sizes;
        if shape.count() > u32::MAX as usize {
            return Ok(None);
        }
        let lowered = lower(program, &self.capabilities)?;
        let item = lowered
            .program
            .output_dtypes()
            .next()
            .unwrap_or(DType::Bool);
        let state = State::of_fold(fold, item, self.numerics.float64);
        let parts = self.parts(op, views)?;
        let Some(reader) = self.reader(lowered.program.input_dtypes(), shape, &parts) else {
            return Ok(None);
        };
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        if reader.bounds().len() + 1 > most {
            return Ok(None);
        }
        let lines = outer * inner;
        let mut left = items;
        let mut states: Option<Block> = None;
        loop {
            let now = threads(lines, left);
            let is_last = now == 1;
            let sizes = [left, now, inner];
            let source = match &states {
                None => Source::Program(&lowered, &reader),
                Some(_) => Source::States,
            };
            let count = lines * now;
            let block = if is_last {
                self.block(op, to, count)?
            } else {
                self.block(op, DType::U8, count * state.cell().size())?
            };
            let stored = self.capabilities.storage(to);
            let cell = if is_last {
                Cell::Of(stored)
            } else {
                state.cell()
            };
            let mut bounds = Vec::new();
            match &states {
                None => bounds.extend_from_slice(reader.bounds()),
                Some(states) => {
                    let bytes = states.buffer.size() as usize;
                    match self.bind(states, 1, [0, bytes]) {
                        Some((bound, _)) => bounds.push(bound),
                        None => return Ok(None),
                    }
                }
            }
            let mut numbers: Vec<u32> = sizes.iter().map(|n| *n as u32).collect();
            numbers.extend(source.numbers());
            let key = format!("fold {}|{}|{is_last}", state.key(), source.key());
            let window = Window::all(&block, cell);
            let is_done = self.launch(op, &key, &bounds, &[window], count, &numbers, || {
                let integers = self.integers;
                let mut text = source.text(&state, stored, integers, header(1) + 3)?;
                text += &fold_text(&cell.type_name(integers), is_last);
                Some(text)
            })?;
            if !is_done {
                return Ok(None);
            }
            if is_last {
                return Ok(Some(Arc::new(block)));
            }
            left = now;
            states = Some(block);
        }
    }
}
