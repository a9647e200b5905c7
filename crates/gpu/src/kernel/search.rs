//! Searches of `allotrope_op::task::indexing`: places in sorted sequences, bins, membership.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::task::{Indexing, Input, Made, Output, Results};
use allotrope_op::{Layout, Program, Shape};
use smallvec::{SmallVec, smallvec};

use super::sort::{KeySize, compare_text};
use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;

/// What is looked for in sorted keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The first that is not less, or the first that is greater.
    Place { right: bool },
    /// The bin between edges, whose number stands for outside.
    Bin { has_nan: bool },
    /// Whether there is an equal; NaN has none.
    Equal { invert: bool, has_nan: bool },
}

/// The text of `value`, which looks for key `i` of the second buffer among those of the first, in the
/// order of the third. Numbers: length of a sequence, values of each, the greatest key.
pub(crate) fn look_text(look: Look, words: usize, is_ordered: bool) -> String {
    let first = header(1);
    let [length, each] = [0, 1].map(|k| number(first + k));
    let most = match words {
        1 => number(first + 2),
        _ => format!("vec2<u32>({}, {})", number(first + 2), number(first + 3)),
    };
    let mut text = compare_text(words, "in0");
    let own = compare_text(words, "in1");
    let own = own.lines().next().unwrap_or_default();
    writeln!(text, "{}", own.replace("fn key(", "fn wanted(")).ok();
    let place = if is_ordered { "in2[at]" } else { "at" };
    write!(
        text,
        "fn sorted(base: u32, k: u32) -> {kind} {{ let at = base + k; return key({place}); }}\n\
         fn search(base: u32, x: {kind}, right: bool) -> u32 {{\n    \
         var low = 0u;\n    var high = {length};\n    \
         while (low < high) {{\n        \
         let middle = (low + high) / 2u;\n        \
         let other = sorted(base, middle);\n        \
         if (is_less(other, x) || (right && is_same(other, x))) {{ low = middle + 1u; }} \
         else {{ high = middle; }}\n    }}\n    return low;\n}}\n",
        kind = if words == 1 { "u32" } else { "vec2<u32>" },
    )
    .ok();
    let start = format!("    let base = i / {each} * {length};\n    let x = wanted(i);\n");
    text += &match look {
        Look::Place { right } => format!(
            "fn value(i: u32) -> vec2<u32> {{\n{start}    \
             return vec2<u32>(search(base, x, {right}), 0u);\n}}\n"
        ),
        Look::Bin { has_nan } => {
            let is_nan = match has_nan {
                true => format!("is_same(x, {most})"),
                false => "false".to_owned(),
            };
            format!(
                "fn value(i: u32) -> vec2<u32> {{\n{start}    \
                 let bins = {length} - 1u;\n    \
                 var bin = search(base, x, true);\n    \
                 if (bin == {length} && is_same(x, sorted(base, bins))) {{ bin = bins; }}\n    \
                 if (bin == 0u || bin > bins || {is_nan}) {{ bin = bins + 1u; }}\n    \
                 return vec2<u32>(bin - 1u, 0u);\n}}\n"
            )
        }
        Look::Equal { invert, has_nan } => {
            let is_number = match has_nan {
                true => format!("!is_same(x, {most})"),
                false => "true".to_owned(),
            };
            format!(
                "fn value(i: u32) -> u32 {{\n{start}    \
                 let at = search(base, x, false);\n    \
                 var is_there = at < {length} && {is_number};\n    \
                 if (is_there) {{ is_there = is_same(sorted(base, at), x); }}\n    \
                 return u32(is_there != {invert});\n}}\n"
            )
        }
    };
    text
}

/// A dtype that holds all numbers of two.
fn common(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    let all = [DType::I32, DType::I64, DType::U64, DType::F32, DType::F64];
    all.into_iter().find(|c| a.fits_in(*c) && b.fits_in(*c))
}

impl Gpu {
    /// Places of values in sorted sequences, bins, and whether elements are among others; nothing
    /// where the dtypes have no common one.
    pub(crate) fn look_up(
        &'static self,
        op: &'static str,
        task: &Indexing,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([first, second], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let (sequence, values, look) = match *task {
            Indexing::Search { right } => (first, second, Look::Place { right }),
            Indexing::FindBins => (first, second, Look::Bin { has_nan: false }),
            Indexing::IsIn { invert } => {
                let has_nan = false;
                (second, first, Look::Equal { invert, has_nan })
            }
            _ => return Ok(None),
        };
        let Some(dtype) = common(sequence.dtype, values.dtype) else {
            return Ok(None);
        };
        let stored = self.capabilities.storage(dtype);
        let is_exact = stored == dtype || sequence.dtype == values.dtype;
        let elements = [sequence, values].map(|input| input.view.layout.shape().count());
        let is_small = elements.iter().all(|n| *n > 0 && *n < i32::MAX as usize);
        if dtype.is_complex() || !is_exact || !is_small || output.count != elements[1] {
            return Ok(None);
        }
        let is_equal = matches!(look, Look::Equal { .. });
        // Bins are those of one vector.
        let length = match is_equal {
            true => elements[0],
            false => sequence.view.layout.shape().last().copied().unwrap_or(1),
        };
        let each = elements[1].div_ceil((elements[0] / length.max(1)).max(1));
        let size = KeySize::of(stored);
        let mut order = None;
        let mut keys: SmallVec<[Block; 2]> = SmallVec::new();
        for (k, (input, count)) in [sequence, values].into_iter().zip(elements).enumerate() {
            let whole = Shape::new(op, &[count])?;
            let converted;
            let ordered;
            let part = if input.dtype == dtype {
                ordered = self.ordered(op, input)?;
                ordered.part(&whole)
            } else {
                let mut program = Program::new(&[input.dtype]);
                let slot = program.convert(0, dtype);
                program.output(slot);
                let parts = self.parts(op, &[input.view])?;
                let shape = input.view.layout.shape();
                converted = self.run_behind(op, &program, shape, &parts)?;
                (&converted, Layout::contiguous(whole))
            };
            if is_equal && k == 0 {
                let Some(sorted) = self.sort_lines(op, dtype, &part, [1, count], false)? else {
                    return Ok(None);
                };
                order = Some(sorted.order);
                keys.push(sorted.keys);
                continue;
            }
            let Some(made) = self.keys(op, dtype, &part, false)? else {
                return Ok(None);
            };
            keys.push(made);
        }
        let has_nan = dtype.is_floating_point();
        let look = match look {
            Look::Equal { invert, .. } => Look::Equal { invert, has_nan },
            Look::Bin { .. } => Look::Bin { has_nan },
            look => look,
        };
        let mut reads = Vec::new();
        for (keys, count) in keys.iter().zip(elements) {
            reads.extend(self.bind_words(keys, count * size.words));
        }
        if let Some(order) = &order {
            reads.extend(self.bind_words(order, elements[0]));
        }
        if reads.len() != 2 + usize::from(order.is_some()) {
            return Ok(None);
        }
        let most = size.most();
        let numbers = [length as u32, each as u32, most[0], most[1]];
        let block = self.block(op, output.dtype, output.count)?;
        let cell = Cell::Raw(output.dtype.itemsize());
        let windows = [Window::all(&block, cell)];
        let key = format!("look {look:?} {} {}", size.words, order.is_some());
        let count = output.count;
        let is_done = self.launch(op, &key, &reads, &windows, count, &numbers, || {
            Some(look_text(look, size.words, order.is_some()))
        })?;
        let memory = Arc::new(block);
        Ok(is_done.then(|| smallvec![Made { memory, count }]))
    }
}
