//! Lines in order: stable sorting of the numbers of elements by keys, which are unsigned integers in
//! the order of the values, the CPU's.
//!
//! Short lines are sorted by counting what precedes each element. Long ones go through passes over
//! digits of four bits: chunks count their digits, a scan of `[line, digit, chunk]` says where each
//! begins, and chunks move the numbers of their elements there, one after the other.

use std::fmt::Write;

use allotrope_dtype::{DType, Error, Kind};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Layout, Scan, Shape, View};

use super::run::Part;
use super::{GROUP, MOST_GROUPS, Window, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::queue::Bound;

/// Lines up to this length are sorted by counting.
const SHORT: usize = 96;
/// Bits of a digit.
const DIGIT: usize = 4;

/// The key of NaN and of every number of a stored dtype: how many words and bits it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySize {
    pub(crate) words: usize,
    pub(crate) bits: usize,
}

impl KeySize {
    pub(crate) fn of(dtype: DType) -> Self {
        match (dtype.kind(), dtype.itemsize()) {
            (_, 8) => Self { words: 2, bits: 64 },
            // The digits of float32 that a float of eight bits has.
            (Kind::Float, 1) => Self { words: 1, bits: 12 },
            (Kind::Bool, _) => Self { words: 1, bits: 4 },
            (_, size) => Self {
                words: 1,
                bits: 8 * size,
            },
        }
    }

    /// The greatest key, word by word.
    pub(crate) fn most(self) -> [u32; 2] {
        match self.bits {
            64 => [u32::MAX; 2],
            32 => [u32::MAX, 0],
            bits => [(1 << bits) - 1, 0],
        }
    }
}

/// The text of `value`, the key of element `i`; the numbers are the offset and the bits that are
/// turned.
pub(crate) fn key_text(dtype: DType, integers: WideIntegers) -> Option<String> {
    let first = header(1);
    let (offset, turned) = (number(first), [number(first + 1), number(first + 2)]);
    let raw = Cell::Raw(dtype.itemsize());
    let load = raw.load("in0", "p", integers);
    let mut text = String::new();
    let key = match (dtype.kind(), dtype.itemsize()) {
        (Kind::Float, 8) => {
            "    let is_nan = (w.y & 0x7fffffffu) > 0x7ff00000u \
             || ((w.y & 0x7fffffffu) == 0x7ff00000u && w.x > 0u);\n    \
             var k = vec2<u32>(w.x, w.y | 0x80000000u);\n    \
             if ((w.y >> 31u) == 1u) { k = vec2<u32>(0u - w.x, ~w.y + select(0u, 1u, w.x == 0u)); }\n    \
             k = vec2<u32>(k.x - 1u, k.y - select(0u, 1u, k.x == 0u));\n    \
             if (is_nan) { k = vec2<u32>(0xffffffffu, 0xffffffffu); }\n"
        }
        (Kind::Signed, 8) => "    let k = vec2<u32>(w.x, w.y ^ 0x80000000u);\n",
        (Kind::Float, 2) => {
            let limit = match dtype {
                DType::F16 => "0x7c00u",
                _ => "0x7f80u",
            };
            writeln!(text, "const LIMIT = {limit};").ok();
            "    var k = select(w | 0x8000u, 0x10000u - w, w >= 0x8000u) - 1u;\n    \
             if ((w & 0x7fffu) > LIMIT) { k = 0xffffu; }\n"
        }
        (Kind::Float, size) => {
            if size == 1 {
                let read = Function::of_cast(dtype, DType::F32)?;
                text += &print_module_with(integers, [("decoded", &read)]);
                text += "fn bits_of(w: u32) -> u32 { return bitcast<u32>(decoded(w)); }\n\
                         const SHIFT = 20u;\n";
            } else {
                text += "fn bits_of(w: u32) -> u32 { return w; }\nconst SHIFT = 0u;\n";
            }
            "    let b = bits_of(w);\n    \
             var k = select(b | 0x80000000u, 0u - b, b >= 0x80000000u) - 1u;\n    \
             if ((b & 0x7fffffffu) > 0x7f800000u) { k = 0xffffffffu; }\n    \
             k = k >> SHIFT;\n"
        }
        (Kind::Signed, 4) => "    let k = w ^ 0x80000000u;\n",
        (Kind::Signed, 2) => "    let k = w ^ 0x8000u;\n",
        (Kind::Signed, _) => "    let k = w ^ 0x80u;\n",
        (Kind::Complex, _) => return None,
        _ => "    let k = w;\n",
    };
    let (kind, turn) = match dtype.itemsize() {
        8 => (
            "vec2<u32>",
            format!("k ^ vec2<u32>({}, {})", turned[0], turned[1]),
        ),
        _ => ("u32", format!("k ^ {}", turned[0])),
    };
    write!(
        text,
        "fn value(i: u32) -> {kind} {{\n    let p = {offset} + i;\n    let w = {load};\n{key}    \
         return {turn};\n}}\n"
    )
    .ok();
    Some(text)
}

/// Functions that read keys in a buffer and compare them.
pub(crate) fn compare_text(words: usize, buffer: &str) -> String {
    match words {
        1 => format!(
            "fn key(i: u32) -> u32 {{ return {buffer}[i]; }}\n\
             fn is_less(a: u32, b: u32) -> bool {{ return a < b; }}\n\
             fn is_same(a: u32, b: u32) -> bool {{ return a == b; }}\n"
        ),
        _ => format!(
            "fn key(i: u32) -> vec2<u32> {{ \
             return vec2<u32>({buffer}[i * 2u], {buffer}[i * 2u + 1u]); }}\n\
             fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool {{ \
             return a.y < b.y || (a.y == b.y && a.x < b.x); }}\n\
             fn is_same(a: vec2<u32>, b: vec2<u32>) -> bool {{ \
             return a.x == b.x && a.y == b.y; }}\n"
        ),
    }
}

/// A shader whose threads do `body` for each of so many things, `t`, and write to one buffer.
pub(crate) fn each_thread(reads: usize, numbers: usize, functions: &str, body: &str) -> Shader {
    let mut text = declarations(reads, 1, numbers);
    text += functions;
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let t = id.x + id.y * {};\n    \
         if (t >= {}) {{ return; }}\n{body}}}\n",
        number(2),
        number(0)
    )
    .ok();
    Shader {
        text,
        reads,
        writes: 1,
    }
}

/// Puts the number of each element where as many precede it in its line.
pub(crate) fn rank_shader(words: usize) -> Shader {
    let length = number(header(1));
    let body = format!(
        "    let base = t / {length} * {length};\n    let own = key(t);\n    var rank = 0u;\n    \
         for (var j = base; j < base + {length}; j++) {{\n        \
         let other = key(j);\n        \
         if (is_less(other, own) || (is_same(other, own) && j < t)) {{ rank++; }}\n    }}\n    \
         out0[base + rank] = t;\n"
    );
    each_thread(1, header(1) + 1, &compare_text(words, "in0"), &body)
}

/// What both passes over digits begin with: the elements of a chunk, and the digit of one.
fn digits(words: usize) -> String {
    let [length, chunks, chunk, shift, word] = [0, 1, 2, 3, 4].map(|k| number(header(1) + k));
    format!(
        "fn digit(i: u32) -> u32 {{ return (in1[in0[i] * {words}u + {word}] >> {shift}) & 15u; }}\n\
         fn line() -> u32 {{ return {length}; }}\n\
         fn chunks() -> u32 {{ return {chunks}; }}\n\
         fn chunk() -> u32 {{ return {chunk}; }}\n"
    )
}

const CHUNK_OF: &str = "    let base = t / chunks() * line();\n    \
     let first = base + t % chunks() * chunk();\n    \
     let last = min(first + chunk(), base + line());\n    \
     let slot = t / chunks() * 16u * chunks() + t % chunks();\n";

/// Counts the digits of chunks.
pub(crate) fn count_shader(words: usize) -> Shader {
    let body = format!(
        "{CHUNK_OF}    var counts: array<u32, 16>;\n    \
         for (var i = first; i < last; i++) {{ counts[digit(i)] += 1u; }}\n    \
         for (var d = 0u; d < 16u; d++) {{ out0[slot + d * chunks()] = counts[d]; }}\n"
    );
    each_thread(2, header(1) + 5, &digits(words), &body)
}

/// Moves the numbers of elements to where their digits begin.
pub(crate) fn move_shader(words: usize) -> Shader {
    let body = format!(
        "{CHUNK_OF}    var at: array<u32, 16>;\n    \
         for (var d = 0u; d < 16u; d++) {{\n        \
         let place = slot + d * chunks();\n        \
         at[d] = select(in2[max(place, 1u) - 1u], 0u, place == 0u);\n    }}\n    \
         for (var i = first; i < last; i++) {{\n        \
         let d = digit(i);\n        out0[at[d]] = in0[i];\n        at[d] += 1u;\n    }}\n"
    );
    each_thread(3, header(1) + 5, &digits(words), &body)
}

/// Keys of elements, and the numbers of the elements in order.
pub(crate) struct Sorted {
    pub(crate) keys: Block,
    pub(crate) order: Block,
    pub(crate) size: KeySize,
}

impl Gpu {
    /// Records a shader whose threads do one thing each.
    pub(crate) fn launch_each(
        &self,
        op: &'static str,
        key: &str,
        bounds: &[Bound<'_>],
        threads: usize,
        numbers: &[u32],
        shader: impl FnOnce() -> Option<Shader>,
    ) -> Result<(), Error> {
        let pipeline = self.pipeline(op, key, shader)?;
        let [groups, row] = groups(threads);
        let mut told = vec![threads as u32, 0, row, 0];
        told.extend_from_slice(numbers);
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, bounds, &told, grid)
    }

    /// All of a block of words, if a shader may see it.
    pub(crate) fn bind_words<'a>(&self, block: &'a Block, words: usize) -> Option<Bound<'a>> {
        self.bind(block, 4, [0, words]).map(|(bound, _)| bound)
    }

    /// The keys of elements of a dtype that lie one after the other; nothing where there are none, or
    /// a shader may not see all.
    pub(crate) fn keys(
        &'static self,
        op: &'static str,
        dtype: DType,
        (block, layout): &Part<'_>,
        descending: bool,
    ) -> Result<Option<Block>, Error> {
        let stored = self.capabilities.storage(dtype);
        if stored.is_complex() {
            return Ok(None);
        }
        let (size, count) = (KeySize::of(stored), layout.shape().count());
        let Some((bound, layout)) = self.bind_view(block, stored.itemsize(), layout) else {
            return Ok(None);
        };
        let keys = self.block(op, DType::U32, count * size.words)?;
        let mut numbers = vec![layout.offset() as u32, 0, 0];
        if descending {
            let most = size.most();
            numbers[1..].copy_from_slice(&most);
        }
        let windows = [Window::all(&keys, Cell::Raw(4 * size.words))];
        let key = format!("keys {stored}");
        let is_done = self.launch(op, &key, &[bound], &windows, count, &numbers, || {
            key_text(stored, self.integers)
        })?;
        Ok(is_done.then_some(keys))
    }

    /// The elements of lines in order.
    pub(crate) fn sort_lines(
        &'static self,
        op: &'static str,
        dtype: DType,
        part: &Part<'_>,
        [lines, length]: [usize; 2],
        descending: bool,
    ) -> Result<Option<Sorted>, Error> {
        let count = lines * length;
        let size = KeySize::of(self.capabilities.storage(dtype));
        if count == 0 || count * size.words.max(16) > u32::MAX as usize {
            return Ok(None);
        }
        let Some(keys) = self.keys(op, dtype, part, descending)? else {
            return Ok(None);
        };
        let words = size.words;
        let mut order = self.block(op, DType::U32, count)?;
        if length <= SHORT {
            let bounds = [
                self.bind_words(&keys, count * words),
                self.bind_words(&order, count),
            ];
            let [Some(from), Some(to)] = bounds else {
                return Ok(None);
            };
            let key = format!("sort short {words}");
            let numbers = [length as u32];
            self.launch_each(op, &key, &[from, to], count, &numbers, || {
                Some(rank_shader(words))
            })?;
            return Ok(Some(Sorted { keys, order, size }));
        }
        let text = || Some("fn value(i: u32) -> u32 { return i; }\n".to_owned());
        let windows = [Window::all(&order, Cell::Raw(4))];
        if !self.launch(op, "numbers", &[], &windows, count, &[], text)? {
            return Ok(None);
        }
        let chunk = (count / 4096).clamp(32, 1024);
        let chunks = length.div_ceil(chunk);
        let (threads, table) = (lines * chunks, (lines * chunks) << DIGIT);
        let mut other = self.block(op, DType::U32, count)?;
        for bit in (0..size.bits).step_by(DIGIT) {
            let counts = self.block(op, DType::U32, table)?;
            let numbers = [length, chunks, chunk, bit % 32, bit / 32].map(|n| n as u32);
            let bounds = [
                self.bind_words(&order, count),
                self.bind_words(&keys, count * words),
                self.bind_words(&counts, table),
                self.bind_words(&other, count),
            ];
            let [Some(now), Some(by), Some(to), Some(next)] = bounds else {
                return Ok(None);
            };
            let key = format!("sort count {words}");
            self.launch_each(op, &key, &[now, by, to], threads, &numbers, || {
                Some(count_shader(words))
            })?;
            let layout = Layout::contiguous(Shape::new(op, &[table])?);
            let view = View {
                memory: &counts,
                layout: &layout,
            };
            let program = super::put::widening();
            let sizes = [1, table, 1];
            let ends = self.scan_program(op, Scan::Sum, &program, &[view], sizes, DType::U32)?;
            let Some(ends) = ends else {
                return Ok(None);
            };
            let ends = self.own(op, &*ends)?;
            let Some(ends) = self.bind_words(ends, table) else {
                return Ok(None);
            };
            let key = format!("sort move {words}");
            self.launch_each(op, &key, &[now, by, ends, next], threads, &numbers, || {
                Some(move_shader(words))
            })?;
            std::mem::swap(&mut order, &mut other);
        }
        Ok(Some(Sorted { keys, order, size }))
    }
}
