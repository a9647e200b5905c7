//! The shaders. All but a few have one form: a function `value` from the number of an element to
//! what it is, and threads that write whole words of the results, so that no two write to one.
//!
//! | file | what is in it |
//! |---|---|
//! | `catalog` | the shaders of all templates, for a check without a device |
//! | `check` | checks of values: the first that is refused |
//! | `run` | programs over views |
//! | `rewrite` | programs whose results are written over memory |
//! | `vector` | short programs over contiguous views, sixteen bytes at a time |
//! | `packed` | those of narrow integers, whole words at once |
//! | `movement` | copies, fills, pieces put together |
//! | `state` | what folds hold while they are at it |
//! | `reduce` | one number of many, in a tree that the sizes decide |
//! | `scan` | every prefix, in segments that the sizes decide |
//! | `index` | elements by indices and masks |
//! | `put` | elements put to where indices say |
//! | `product` | matrix products |
//! | `attention` | attention without the matrix of weights |
//! | `convolution` | convolutions and their way back |
//! | `window` | pooling, windows added up to images |
//! | `resample` | grids of other sizes |
//! | `sort` | elements in order, by keys |
//! | `cummax` | the greatest or least so far |
//! | `order` | sorting and selection |
//! | `unique` | different elements |
//! | `search` | places in sorted sequences, bins, membership |
//! | `lines` | numbers about lines: sums, moments, exponentials |
//! | `rowwise` | softmax, classes, exact casts |
//! | `norm` | norms of lines |
//! | `batch_norm` | norms of channels |
//! | `random` | draws with the CPU's bits |

pub(crate) mod attention;
pub(crate) mod batch_norm;
pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod convolution;
pub(crate) mod cummax;
pub(crate) mod index;
pub(crate) mod lines;
pub(crate) mod movement;
pub(crate) mod norm;
pub(crate) mod order;
pub(crate) mod packed;
pub(crate) mod product;
pub(crate) mod put;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod rewrite;
pub(crate) mod rowwise;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod sort;
pub(crate) mod state;
pub(crate) mod unique;
pub(crate) mod vector;
pub(crate) mod window;

use std::fmt::Write;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Layout, Program};

use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::queue::Bound;

/// Threads of a group.
pub(crate) const GROUP: usize = 64;

/// Groups in a row of them: what every device has.
pub(crate) const MOST_GROUPS: u32 = 65535;

/// Numbers that every dispatch is told before its own: how many elements, how many before them in
/// the first word, threads in a row of groups, and the first word of each output.
pub(crate) const fn header(outputs: usize) -> usize {
    3 + outputs
}

/// Elements that a thread makes: as many as fill a word of every output.
pub(crate) fn each(outputs: &[Cell]) -> usize {
    let fill = |cell: &Cell| 4 / cell.size().min(4);
    outputs.iter().map(fill).max().unwrap_or(1)
}

/// The declarations of buffers and numbers.
pub(crate) fn declarations(reads: usize, writes: usize, numbers: usize) -> String {
    let mut text = format!(
        "@group(0) @binding(0) var<uniform> P: array<vec4<u32>, {}>;\n",
        numbers.div_ceil(4)
    );
    for k in 0..reads {
        let binding = k + 1;
        writeln!(
            text,
            "@group(0) @binding({binding}) var<storage, read> in{k}: array<u32>;"
        )
        .ok();
    }
    for k in 0..writes {
        let binding = reads + k + 1;
        writeln!(
            text,
            "@group(0) @binding({binding}) var<storage, read_write> out{k}: array<u32>;"
        )
        .ok();
    }
    text
}

/// A shader of the usual form, given the text of `value` and all that it calls. Of several outputs
/// `value` gives the members `r0`, `r1` …
pub(crate) fn elementwise(
    integers: WideIntegers,
    reads: usize,
    outputs: &[Cell],
    numbers: usize,
    functions: &str,
) -> Shader {
    let each = each(outputs);
    let mut text = declarations(reads, outputs.len(), numbers);
    text += functions;
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let thread = id.x + id.y * {row};\n    \
         if (thread * {each}u >= {count} + {shift}) {{ return; }}\n",
        row = number(2),
        count = number(0),
        shift = number(1),
    )
    .ok();
    let member = |k: usize| match outputs.len() {
        1 => "v".to_owned(),
        _ => format!("v.r{k}"),
    };
    if each == 1 {
        text += "    let v = value(thread);\n";
        for (k, cell) in outputs.iter().enumerate() {
            text += &store_whole(*cell, k, "thread", &member(k), integers);
        }
        text += "}\n";
        return Shader {
            text,
            reads,
            writes: outputs.len(),
        };
    }
    let words = |cell: &Cell| each * cell.size() / 4;
    for (k, cell) in outputs.iter().enumerate().filter(|(_, c)| c.size() < 4) {
        for w in 0..words(cell) {
            writeln!(text, "    var w{k}_{w} = 0u;\n    var m{k}_{w} = 0u;").ok();
        }
    }
    write!(
        text,
        "    for (var e = 0u; e < {each}u; e++) {{\n        \
         let i = thread * {each}u + e - {shift};\n        \
         if (i >= {count}) {{ continue; }}\n        \
         let v = value(i);\n",
        count = number(0),
        shift = number(1),
    )
    .ok();
    for (k, cell) in outputs.iter().enumerate() {
        if cell.size() >= 4 {
            text += &store_whole(*cell, k, "i", &member(k), integers);
            continue;
        }
        let (bits, per_word) = (8 * cell.size(), 4 / cell.size());
        let mask = (1_u32 << bits) - 1;
        let code = cell.encode(&member(k), integers);
        writeln!(text, "        let b{k} = {code};").ok();
        for w in 0..words(cell) {
            let first = w * per_word;
            let at = format!("((e - {first}u) * {bits}u)");
            writeln!(
                text,
                "        if (e >= {first}u && e < {}u) {{ w{k}_{w} |= b{k} << {at}; \
                 m{k}_{w} |= {mask}u << {at}; }}",
                first + per_word
            )
            .ok();
        }
    }
    text += "    }\n";
    for (k, cell) in outputs.iter().enumerate().filter(|(_, c)| c.size() < 4) {
        let count = words(cell);
        for w in 0..count {
            let place = format!("{} + thread * {count}u + {w}u", number(3 + k));
            // A word that is not all ours keeps the rest.
            write!(
                text,
                "    if (m{k}_{w} == 0xffffffffu) {{ out{k}[{place}] = w{k}_{w}; }}\n    \
                 else if (m{k}_{w} != 0u) {{ \
                 out{k}[{place}] = (out{k}[{place}] & ~m{k}_{w}) | w{k}_{w}; }}\n"
            )
            .ok();
        }
    }
    text += "}\n";
    Shader {
        text,
        reads,
        writes: outputs.len(),
    }
}

/// Writes a value of whole words to its place, which counts from the first word of the output.
fn store_whole(cell: Cell, k: usize, place: &str, value: &str, integers: WideIntegers) -> String {
    let words = cell.size() / 4;
    let code = cell.encode(value, integers);
    let first = number(3 + k);
    if words == 1 {
        return format!("    out{k}[{first} + {place}] = {code};\n");
    }
    let mut text = format!("    let c{k} = {code};\n");
    for w in 0..words {
        let part = ["x", "y", "z", "w"][w % 4];
        writeln!(
            text,
            "    out{k}[{first} + {place} * {words}u + {w}u] = c{k}.{part};"
        )
        .ok();
    }
    text
}

/// Writes the words of `code` from the place `at` of the output on.
fn store_code(words: usize) -> String {
    if words == 1 {
        return "        out0[at] = code;\n".to_owned();
    }
    let parts = ["x", "y", "z", "w"].into_iter().enumerate().take(words);
    let lines = parts.map(|(w, part)| format!("        out0[at + {w}u] = code.{part};\n"));
    lines.collect()
}

/// Buffers that a shader reads, each once, and those that it writes.
#[derive(Debug, Default)]
pub(crate) struct Bounds<'a> {
    bounds: Vec<Bound<'a>>,
}

impl<'a> Bounds<'a> {
    /// The number of a part of a buffer among those that are read.
    fn add(&mut self, bound: Bound<'a>) -> usize {
        let same = |b: &Bound<'_>| std::ptr::eq(b.buffer, bound.buffer) && b.range == bound.range;
        match self.bounds.iter().position(same) {
            Some(known) => known,
            None => {
                self.bounds.push(bound);
                self.bounds.len() - 1
            }
        }
    }

    fn len(&self) -> usize {
        self.bounds.len()
    }
}

/// Where a dispatch writes: elements of a block from one on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) block: &'a Block,
    pub(crate) cell: Cell,
    pub(crate) start: usize,
}

impl<'a> Window<'a> {
    /// All elements of a block.
    pub(crate) fn all(block: &'a Block, cell: Cell) -> Self {
        Self {
            block,
            cell,
            start: 0,
        }
    }
}

impl Gpu {
    /// The most bytes of a buffer that a shader may see.
    pub(crate) fn most_bound(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size / 256 * 256
    }

    /// The part of a block that holds elements `low..high`, and the first element of the part; nothing
    /// if that is more than a shader may see.
    pub(crate) fn bind<'a>(
        &self,
        block: &'a Block,
        size: usize,
        [low, high]: [usize; 2],
    ) -> Option<(Bound<'a>, usize)> {
        let (buffer, lineage) = (block.buffer.get()?, &block.lineage);
        let whole = block.buffer.size();
        let bound = |range| Bound {
            buffer,
            range,
            lineage,
        };
        if whole <= self.most_bound() {
            let range = [0, whole];
            return Some((bound(range), 0));
        }
        let first = (low * size) as u64 / 256 * 256;
        let end = ((high * size) as u64).next_multiple_of(256).min(whole);
        let range = [first, end - first];
        let is_small = range[1] <= self.most_bound();
        is_small.then_some((bound(range), first as usize / size))
    }

    /// The part that a layout reaches, and the layout within it.
    pub(crate) fn bind_view<'a>(
        &self,
        block: &'a Block,
        size: usize,
        layout: &Layout,
    ) -> Option<(Bound<'a>, Layout)> {
        let (low, high) = layout.extent().unwrap_or_default();
        let (bound, first) = self.bind(block, size, [low, high])?;
        let (shape, strides) = (layout.shape().clone(), layout.strides().into());
        let offset = layout.offset().saturating_sub(first);
        Some((bound, Layout::from_parts(shape, strides, offset)))
    }

    /// Records a shader of the usual form, which writes `count` elements to windows of one start;
    /// whether the windows are small enough.
    #[allow(clippy::too_many_arguments, reason = "each is a part of a dispatch")]
    pub(crate) fn launch(
        &self,
        op: &'static str,
        key: &str,
        reads: &[Bound<'_>],
        windows: &[Window<'_>],
        count: usize,
        numbers: &[u32],
        functions: impl FnOnce() -> Option<String>,
    ) -> Result<bool, Error> {
        if count == 0 {
            return Ok(true);
        }
        let cells: Vec<Cell> = windows.iter().map(|window| window.cell).collect();
        let (each, header) = (each(&cells), header(cells.len()));
        let start = windows.first().map_or(0, |window| window.start);
        let shift = start % each;
        let threads = (count + shift).div_ceil(each);
        let [groups, row] = groups(threads);
        let mut told = vec![count as u32, shift as u32, row];
        let mut bounds = reads.to_vec();
        for window in windows {
            let size = window.cell.size();
            let Some((bound, first)) = self.bind(window.block, size, [start, start + count]) else {
                return Ok(false);
            };
            told.push(((start - shift - first) * size / 4) as u32);
            bounds.push(bound);
        }
        told.extend_from_slice(numbers);
        if count + shift > u32::MAX as usize {
            return Ok(false);
        }
        let names: Vec<String> = cells.iter().map(|cell| cell.name()).collect();
        let key = format!("{key}>{}", names.join(","));
        let total = header + numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            let functions = functions()?;
            let integers = self.integers;
            Some(elementwise(
                integers,
                reads.len(),
                &cells,
                total,
                &functions,
            ))
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &told, grid)?;
        Ok(true)
    }
}

/// Groups for so many threads, and the threads in a row of them.
pub(crate) fn groups(threads: usize) -> [u32; 2] {
    groups_of(GROUP, threads)
}

/// The same for groups of another size.
pub(crate) fn groups_of(size: usize, threads: usize) -> [u32; 2] {
    let groups = threads.div_ceil(size) as u32;
    [groups, MOST_GROUPS * size as u32]
}

/// The shaders of a program in every form that takes one, as a device with or without integers and
/// floats of 64 bits would compile them: what a check without a device validates.
#[doc(hidden)]
pub fn shaders(program: &Program, wide: bool) -> Result<Vec<String>, Error> {
    let (integers, answers) = device_like(wide);
    let lowered = crate::lower::lower(program, &answers)?;
    let run = run::shader(&lowered, integers);
    let inputs = lowered.program.input_count() - lowered.constants.len();
    // bounded: the inputs of a program.
    let walks = vec![vector::Walk::Contiguous; inputs];
    let buffers: Vec<usize> = (0..inputs).collect();
    let vectors = vector::elements(&lowered, &walks).and_then(|elements| {
        vector::shader(&lowered, &walks, &buffers, &walks, elements, integers)
    });
    let shaders = run.into_iter().chain(vectors);
    Ok(shaders.map(|shader| shader.text).collect())
}

/// How a device has integers, and its answers.
fn device_like(wide: bool) -> (WideIntegers, allotrope_dtype::Capabilities) {
    use allotrope_dtype::{Capabilities, Capability};
    if wide {
        return (WideIntegers::Native, Capabilities::CPU);
    }
    let answers = Capabilities::probed(|dtype| matches!(dtype, DType::C64));
    let answers = answers.with(DType::I64, Capability::Emulated);
    let answers = answers.with(DType::U64, Capability::Emulated);
    (WideIntegers::Pairs, answers)
}
