//! Every prefix of lines, with a program in front.
//!
//! Lines are cut into segments, whose totals are scanned first; then a thread goes through each, on
//! from what precedes it. How they are cut depends on the sizes alone, and so does the result.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Program, Scan, Shape, Shared, View};

use super::reduce::Source;
use super::state::State;
use super::{GROUP, MOST_GROUPS, Window, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::lower::lower;
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::queue::Bound;

/// Segments of all lines together, at most.
const SEGMENTS: usize = 8192;
/// Items of a segment, at least.
const LEAST: usize = 64;

/// Items of a segment of lines of so many.
fn segment(lines: usize, items: usize) -> usize {
    if lines >= SEGMENTS / 4 || items <= 4 * LEAST {
        return items;
    }
    items.div_ceil((SEGMENTS / lines).max(1)).max(LEAST)
}

/// What one pass is told: items of a line and of a segment, segments of a line, lines side by side.
#[derive(Clone, Copy)]
struct Cut {
    items: usize,
    segment: usize,
    segments: usize,
    inner: usize,
}

impl Cut {
    fn numbers(self) -> [u32; 4] {
        [self.items, self.segment, self.segments, self.inner].map(|n| n as u32)
    }
}

/// A shader whose threads go through a segment each and write every prefix.
#[allow(
    clippy::too_many_arguments,
    reason = "each is a part of what is written"
)]
pub(crate) fn prefixes(
    cell: Cell,
    is_states: bool,
    reads: usize,
    starts: Option<usize>,
    numbers: usize,
    state: &State,
    functions: &str,
    integers: WideIntegers,
) -> Shader {
    let [items, segment, segments, inner] = [0, 1, 2, 3].map(|k| number(header(1) + k));
    let mut text = declarations(reads, 1, numbers);
    text += functions;
    let (first, load) = match starts {
        // What precedes a segment is the prefix of the one before.
        Some(buffer) => {
            let load = state
                .cell()
                .load(&format!("in{buffer}"), "before", integers);
            let join = "s = join(start, s);";
            (
                true,
                format!(
                    "        let before = t - {inner};\n        let start = {load};\n        {join}\n"
                ),
            )
        }
        None => (false, String::new()),
    };
    let value = if is_states { "s" } else { "finish(s)" };
    let code = cell.encode("v", integers);
    let words = (cell.size() / 4).max(1);
    let store = if words == 1 {
        format!("out0[at] = {code};")
    } else {
        let mut store = format!("let c = {code};");
        for (w, part) in ["x", "y", "z", "w"].iter().enumerate().take(words) {
            write!(store, " out0[at * {words}u + {w}u] = c.{part};").ok();
        }
        store
    };
    let carried = if first {
        format!("    if (part_of_line > 0u) {{\n{load}    }}\n")
    } else {
        String::new()
    };
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let t = id.x + id.y * {row};\n    \
         if (t >= {count}) {{ return; }}\n    \
         let rest = t / {inner};\n    \
         let part_of_line = rest % {segments};\n    \
         let base = (rest / {segments}) * {items} * {inner} + t % {inner};\n    \
         let first = part_of_line * {segment};\n    \
         let last = min(first + {segment}, {items});\n    \
         if (first >= last) {{ return; }}\n    \
         var s = part(base + first * {inner});\n\
         {carried}    \
         for (var k = first; k < last; k++) {{\n        \
         let at = base + k * {inner};\n        \
         if (k > first) {{ s = join(s, part(at)); }}\n        \
         let v = {value};\n        \
         {store}\n    }}\n}}\n",
        row = number(2),
        count = number(0),
    )
    .ok();
    Shader {
        text,
        reads,
        writes: 1,
    }
}

/// The text of `value` for the total of a segment.
pub(crate) fn total_text(result: &str) -> String {
    let [items, segment, segments, inner] = [0, 1, 2, 3].map(|k| number(header(1) + k));
    format!(
        "fn value(i: u32) -> {result} {{\n    \
         let rest = i / {inner};\n    \
         let first = (rest % {segments}) * {segment};\n    \
         let last = min(first + {segment}, {items});\n    \
         let base = (rest / {segments}) * {items} * {inner} + i % {inner};\n    \
         var s = part(base + min(first, {items} - 1u) * {inner});\n    \
         for (var k = first + 1u; k < last; k++) {{ s = join(s, part(base + k * {inner})); }}\n    \
         return s;\n}}\n"
    )
}

impl Gpu {
    /// Prefixes along the middle of three sizes; nothing if a shader may not see all of them.
    pub(crate) fn scan_program(
        &'static self,
        op: &'static str,
        scan: Scan,
        program: &Program,
        views: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Option<Shared>, Error> {
        let [outer, items, inner] = sizes;
        let (count, lines) = (outer * items * inner, outer * inner);
        if count > u32::MAX as usize {
            return Ok(None);
        }
        let target = self.block(op, to, count)?;
        if count == 0 {
            return Ok(Some(Arc::new(target)));
        }
        let lowered = lower(program, &self.capabilities)?;
        let item = lowered
            .program
            .output_dtypes()
            .next()
            .unwrap_or(DType::Bool);
        let state = State::of_scan(scan, item, self.numerics.float64);
        let shape = match views.first() {
            Some(view) => view.layout.shape().clone(),
            None => Shape::new(op, &[count])?,
        };
        let parts = self.parts(op, views)?;
        let Some(reader) = self.reader(lowered.program.input_dtypes(), &shape, &parts) else {
            return Ok(None);
        };
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        if reader.bounds().len() + 2 > most {
            return Ok(None);
        }
        // A product of a segment may leave the numbers where its prefixes come back to them.
        let is_whole = scan == Scan::Prod && !item.is_integer();
        let segment = if is_whole {
            items
        } else {
            segment(lines, items)
        };
        let segments = items.div_ceil(segment);
        let cut = Cut {
            items,
            segment,
            segments,
            inner,
        };
        let source = Source::Program(&lowered, &reader);
        let stored = self.capabilities.storage(to);
        let mut starts = None;
        if segments > 1 {
            let bytes = lines * segments * state.cell().size();
            let totals = self.block(op, DType::U8, bytes)?;
            let mut numbers = cut.numbers().to_vec();
            numbers.extend(source.numbers());
            let key = format!("total {}|{}", state.key(), source.key());
            let window = Window::all(&totals, state.cell());
            let count = lines * segments;
            let bounds = reader.bounds();
            let is_done = self.launch(op, &key, bounds, &[window], count, &numbers, || {
                let integers = self.integers;
                let mut text = source.text(&state, stored, integers, header(1) + 4)?;
                text += &total_text(&state.cell().type_name(integers));
                Some(text)
            })?;
            if !is_done {
                return Ok(None);
            }
            let sums = self.block(op, DType::U8, bytes)?;
            let cut = Cut {
                items: segments,
                segment: segments,
                segments: 1,
                inner,
            };
            let Some((bound, _)) = self.bind(&totals, 1, [0, bytes]) else {
                return Ok(None);
            };
            let cell = state.cell();
            let job = (Source::States, cut, &state, stored, lines);
            if !self.launch_prefixes(op, job, &[bound], None, &sums, cell)? {
                return Ok(None);
            }
            starts = Some(sums);
        }
        let job = (source, cut, &state, stored, lines * segments);
        let start = match &starts {
            None => None,
            Some(sums) => match self.bind(sums, 1, [0, sums.buffer.size() as usize]) {
                Some((bound, _)) => Some(bound),
                None => return Ok(None),
            },
        };
        let (cell, bounds) = (Cell::Of(stored), reader.bounds());
        if stored.itemsize() >= 4 {
            let is_done = self.launch_prefixes(op, job, bounds, start, &target, cell)?;
            return Ok(is_done.then(|| Arc::new(target) as Shared));
        }
        // A word each, which threads that own words put together.
        let words = self.block(op, DType::U32, count)?;
        if !self.launch_prefixes(op, job, bounds, start, &words, cell)? {
            return Ok(None);
        }
        let Some((bound, _)) = self.bind(&words, 4, [0, count]) else {
            return Ok(None);
        };
        let window = Window::all(&target, Cell::Raw(stored.itemsize()));
        let text = || Some("fn value(i: u32) -> u32 { return in0[i]; }\n".to_owned());
        let is_done = self.launch(op, "pack", &[bound], &[window], count, &[], text)?;
        Ok(is_done.then(|| Arc::new(target) as Shared))
    }

    /// Records a pass that writes prefixes of a cell; whether a shader may see all.
    fn launch_prefixes(
        &'static self,
        op: &'static str,
        (source, cut, state, to, threads): (Source<'_, '_>, Cut, &State, DType, usize),
        reads: &[Bound<'_>],
        starts: Option<Bound<'_>>,
        target: &Block,
        cell: Cell,
    ) -> Result<bool, Error> {
        let bytes = target.buffer.size() as usize;
        let Some((into, _)) = self.bind(target, 1, [0, bytes]) else {
            return Ok(false);
        };
        let is_states = matches!(source, Source::States);
        let [groups, row] = groups(threads);
        let mut numbers = vec![threads as u32, 0, row, 0];
        numbers.extend(cut.numbers());
        numbers.extend(source.numbers());
        let mut bounds = reads.to_vec();
        let place = starts.map(|bound| {
            bounds.push(bound);
            bounds.len() - 1
        });
        let reads = bounds.len();
        bounds.push(into);
        let key = format!(
            "scan {}|{}|{}|{place:?}",
            state.key(),
            source.key(),
            cell.name()
        );
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            let integers = self.integers;
            let text = source.text(state, to, integers, header(1) + 4)?;
            Some(prefixes(
                cell, is_states, reads, place, total, state, &text, integers,
            ))
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        Ok(true)
    }
}
