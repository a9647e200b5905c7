//! Different elements: one of each, how often it occurs, and which of them each element is.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::task::order::Beside;
use allotrope_op::task::{Made, Results};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Layout, Program, Scan, Shape, Shared, View};
use smallvec::smallvec;

use super::run::Part;
use super::sort::{KeySize, Sorted, compare_text, each_thread};
use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;
use crate::pipeline::Shader;

impl Gpu {
    /// The different elements of a line, sorted or as they are.
    pub(crate) fn unique_elements(
        &'static self,
        op: &'static str,
        dtype: DType,
        part: &Part<'_>,
        sorted: Option<Sorted>,
        beside: Beside,
    ) -> Result<Option<Results>, Error> {
        let count = part.1.shape().count();
        let stored = self.capabilities.storage(dtype);
        let size = KeySize::of(stored);
        let (keys, order) = match sorted {
            Some(sorted) => (sorted.keys, Some(sorted.order)),
            None => match self.keys(op, dtype, part, false)? {
                Some(keys) => (keys, None),
                None => return Ok(None),
            },
        };
        let whole = Shape::new(op, &[count])?;
        let layout = Layout::contiguous(whole);
        // Which elements begin a kind.
        let is_new = self.block(op, DType::Bool, count)?;
        let Some(by) = self.bind_words(&keys, count * size.words) else {
            return Ok(None);
        };
        let mut reads = vec![by];
        if let Some(order) = &order {
            let Some(order) = self.bind_words(order, count) else {
                return Ok(None);
            };
            reads.push(order);
        }
        let has_nan = stored.is_floating_point();
        let is_ordered = order.is_some();
        let most = size.most();
        let key = format!("is new {size:?} {has_nan} {is_ordered}");
        let windows = [Window::all(&is_new, Cell::Raw(1))];
        if !self.launch(op, &key, &reads, &windows, count, &most, || {
            Some(is_new_text(size.words, has_nan, is_ordered))
        })? {
            return Ok(None);
        }
        let mask = View {
            memory: &is_new,
            layout: &layout,
        };
        // Where kinds begin, among the elements in order.
        let Some((starts, kinds)) = self.true_coordinates(op, mask)? else {
            return Ok(None);
        };
        let starts = self.own(op, &*starts)?;
        let seen = [
            self.bind_words(starts, kinds * 2),
            self.bind_view(part.0, stored.itemsize(), &part.1)
                .map(|(bound, _)| bound),
        ];
        let offset = self.bind_view(part.0, stored.itemsize(), &part.1);
        let offset = offset.map_or(0, |(_, layout)| layout.offset() as u32);
        let [Some(begin), Some(source)] = seen else {
            return Ok(None);
        };
        let values = self.block(op, dtype, kinds)?;
        let mut reads = vec![begin, source];
        reads.extend(
            order
                .as_ref()
                .and_then(|order| self.bind_words(order, count)),
        );
        let bytes = stored.itemsize();
        let key = format!("kinds {bytes} {is_ordered}");
        let windows = [Window::all(&values, Cell::Raw(bytes))];
        let told = [offset];
        if !self.launch(op, &key, &reads, &windows, kinds, &told, || {
            Some(kind_text(bytes, is_ordered))
        })? {
            return Ok(None);
        }
        let mut results: Results = smallvec![Made {
            memory: Arc::new(values),
            count: kinds
        }];
        let nothing = |results: &mut Results| -> Result<(), Error> {
            let memory = Arc::new(self.block(op, DType::I64, 0)?);
            results.push(Made { memory, count: 0 });
            Ok(())
        };
        if beside.inverse {
            let program = counting();
            let sizes = [1, count, 1];
            let ends = self.scan_program(op, Scan::Sum, &program, &[mask], sizes, DType::U32)?;
            let Some(ends) = ends else {
                return Ok(None);
            };
            let Some(inverse) = self.number_kinds(op, &ends, order.as_ref(), count)? else {
                return Ok(None);
            };
            let memory = Arc::new(inverse);
            results.push(Made { memory, count });
        } else {
            nothing(&mut results)?;
        }
        if beside.counts {
            let counts = self.block(op, DType::I64, kinds)?;
            let windows = [Window::all(&counts, Cell::Raw(8))];
            let told = [kinds as u32, count as u32];
            let is_done =
                self.launch(op, "kind counts", &[begin], &windows, kinds, &told, || {
                    Some(count_text())
                })?;
            if !is_done {
                return Ok(None);
            }
            let (memory, count) = (Arc::new(counts), kinds);
            results.push(Made { memory, count });
        } else {
            nothing(&mut results)?;
        }
        Ok(Some(results))
    }

    /// The kind of each element, from how many kinds there are up to each in order.
    fn number_kinds(
        &'static self,
        op: &'static str,
        ends: &Shared,
        order: Option<&Block>,
        count: usize,
    ) -> Result<Option<Block>, Error> {
        let Some(up_to) = self.bind_words(self.own(op, &**ends)?, count) else {
            return Ok(None);
        };
        let inverse = self.block(op, DType::I64, count)?;
        let Some(order) = order else {
            let windows = [Window::all(&inverse, Cell::Raw(8))];
            let text = "fn value(i: u32) -> vec2<u32> { return vec2<u32>(in0[i] - 1u, 0u); }\n";
            let is_done = self.launch(op, "kind", &[up_to], &windows, count, &[], || {
                Some(text.to_owned())
            })?;
            return Ok(is_done.then_some(inverse));
        };
        let bounds = [
            self.bind_words(order, count),
            self.bind_words(&inverse, count * 2),
        ];
        let [Some(order), Some(to)] = bounds else {
            return Ok(None);
        };
        self.launch_each(op, "kinds back", &[up_to, order, to], count, &[], || {
            Some(back_shader())
        })?;
        Ok(Some(inverse))
    }
}

/// The text of `value`: whether element `i` in order is unlike the one before.
pub(crate) fn is_new_text(words: usize, has_nan: bool, is_ordered: bool) -> String {
    let first = header(1);
    let mut text = compare_text(words, "in0");
    let place = |i: &str| match is_ordered {
        true => format!("in1[{i}]"),
        false => i.to_owned(),
    };
    let most = match words {
        1 => number(first),
        _ => format!("vec2<u32>({}, {})", number(first), number(first + 1)),
    };
    let nan = match has_nan {
        true => format!(" || is_same(own, {most})"),
        false => String::new(),
    };
    write!(
        text,
        "fn value(i: u32) -> u32 {{\n    if (i == 0u) {{ return 1u; }}\n    \
         let own = key({});\n    let before = i - 1u;\n    \
         return u32(!is_same(own, key({})){nan});\n}}\n",
        place("i"),
        place("before")
    )
    .ok();
    text
}

/// The text of `value`: the first element of kind `i`.
pub(crate) fn kind_text(size: usize, is_ordered: bool) -> String {
    let cell = Cell::Raw(size);
    let load = cell.load("in1", "p", WideIntegers::Pairs);
    let name = cell.type_name(WideIntegers::Pairs);
    let start = match is_ordered {
        true => "in2[in0[i * 2u]]",
        false => "in0[i * 2u]",
    };
    format!(
        "fn value(i: u32) -> {name} {{\n    let p = {} + {start};\n    return {load};\n}}\n",
        number(header(1))
    )
}

/// The text of `value`: how many elements kind `i` has.
pub(crate) fn count_text() -> String {
    let [kinds, count] = [0, 1].map(|k| number(header(1) + k));
    format!(
        "fn value(i: u32) -> vec2<u32> {{\n    var end = {count};\n    \
         if (i + 1u < {kinds}) {{ end = in0[(i + 1u) * 2u]; }}\n    \
         return vec2<u32>(end - in0[i * 2u], 0u);\n}}\n"
    )
}

/// Writes the kind of each element to where the element was.
pub(crate) fn back_shader() -> Shader {
    let body = "    let to = in1[t] * 2u;\n    out0[to] = in0[t] - 1u;\n    out0[to + 1u] = 0u;\n";
    each_thread(2, header(1), "", body)
}

/// A program that counts truth values.
fn counting() -> Program {
    let mut program = Program::new(&[DType::Bool]);
    let item = program.convert(0, DType::I64);
    program.output(item);
    program
}
