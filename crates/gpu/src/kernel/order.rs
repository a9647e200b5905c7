//! Tasks of `allotrope_op::task::order`: lines are sorted by keys, and elements taken from them.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::Error;
use allotrope_op::Shape;
use allotrope_op::task::order::Rank;
use allotrope_op::task::{Input, Made, Order, Output, Results};
use allotrope_op::wgsl::WideIntegers;
use smallvec::SmallVec;

use super::run::Part;
use super::sort::{Sorted, compare_text};
use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;

/// Which elements of sorted lines are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taken {
    /// So many of each line, from a place on.
    Some { count: usize, first: usize },
    /// The middle one; if NaN counts, the first of them where there is one.
    Middle { skips_nan: bool },
}

/// The text of `place`: which of the sorted elements result `i` is. Keys are in the second buffer,
/// numbers of elements in the first; the numbers are length, count, first, and the greatest key.
pub(crate) fn place_text(taken: Taken, words: usize, first: usize) -> String {
    let [length, count, start] = [0, 1, 2].map(|k| number(first + k));
    match taken {
        Taken::Some { .. } => format!(
            "fn place(i: u32) -> u32 {{ \
             return i / {count} * {length} + i % {count} + {start}; }}\n"
        ),
        Taken::Middle { skips_nan } => {
            let most = match words {
                1 => number(first + 3),
                _ => format!("vec2<u32>({}, {})", number(first + 3), number(first + 4)),
            };
            let last = match skips_nan {
                true => "    if (low == 0u) { return base; }\n    return base + (low - 1u) / 2u;\n",
                false => {
                    "    if (low < line) { return base + low; }\n    \
                     return base + (line - 1u) / 2u;\n"
                }
            };
            // How many are numbers: those before the keys of NaN.
            format!(
                "{}fn place(i: u32) -> u32 {{\n    \
                 let line = {length};\n    let base = i * line;\n    \
                 var low = 0u;\n    var high = line;\n    \
                 while (low < high) {{\n        \
                 let middle = (low + high) / 2u;\n        \
                 if (is_less(key(in0[base + middle]), {most})) {{ low = middle + 1u; }} \
                 else {{ high = middle; }}\n    }}\n{last}}}\n",
                compare_text(words, "in1")
            )
        }
    }
}

impl Gpu {
    /// Lines in order; nothing where there is no shader.
    pub(crate) fn put_in_order(
        &'static self,
        op: &'static str,
        task: &Order,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let [input, ..] = inputs else {
            return Ok(None);
        };
        let shape = input.view.layout.shape();
        let (count, length) = (shape.count(), shape.last().copied().unwrap_or(1));
        if count == 0 || count > i32::MAX as usize {
            return Ok(None);
        }
        let lines = count / length.max(1);
        let x = self.ordered(op, input)?;
        let whole = Shape::new(op, &[count])?;
        let part = x.part(&whole);
        let sort =
            |descending: bool| self.sort_lines(op, input.dtype, &part, [lines, length], descending);
        let (descending, taken, wanted) = match *task {
            Order::Sort {
                descending,
                values,
                indices,
            } => {
                let (count, first) = (length, 0);
                (descending, Taken::Some { count, first }, [values, indices])
            }
            Order::Cummax { .. } => {
                let (count, first) = (length, 0);
                (false, Taken::Some { count, first }, [true; 2])
            }
            Order::Topk { k, largest, .. } => {
                let (count, first) = (k, 0);
                (largest, Taken::Some { count, first }, [true; 2])
            }
            Order::Nth(Rank::Place(first)) => (false, Taken::Some { count: 1, first }, [true; 2]),
            // Without NaN the middle is a place.
            Order::Nth(_) if !input.dtype.is_floating_point() => {
                let (count, first) = (1, (length - 1) / 2);
                (false, Taken::Some { count, first }, [true; 2])
            }
            Order::Nth(rank) => {
                let skips_nan = rank == Rank::NanMedian;
                (false, Taken::Middle { skips_nan }, [true; 2])
            }
            Order::Unique { sorted, beside } => {
                let sorted = if sorted {
                    let Some(sorted) =
                        self.sort_lines(op, input.dtype, &part, [1, count], false)?
                    else {
                        return Ok(None);
                    };
                    Some(sorted)
                } else {
                    None
                };
                return self.unique_elements(op, input.dtype, &part, sorted, beside);
            }
            _ => return Ok(None),
        };
        if outputs.iter().any(|output| output.count == 0) {
            return Ok(None);
        }
        let sorted = match *task {
            Order::Cummax { greatest } => {
                self.best_so_far(op, input.dtype, &part, [lines, length], greatest)?
            }
            _ => sort(descending)?,
        };
        let Some(sorted) = sorted else {
            return Ok(None);
        };
        let mut results: Results = SmallVec::new();
        for (is_wanted, is_value) in wanted.into_iter().zip([true, false]) {
            if !is_wanted {
                continue;
            }
            let Some(output) = outputs.get(results.len()) else {
                return Ok(None);
            };
            let values = is_value.then_some(&part);
            let block = self.take_sorted(op, output, &sorted, taken, values, length)?;
            let Some(block) = block else {
                return Ok(None);
            };
            let (memory, count) = (Arc::new(block), output.count);
            results.push(Made { memory, count });
        }
        Ok(Some(results))
    }

    /// Elements of sorted lines, or their places in them.
    fn take_sorted(
        &'static self,
        op: &'static str,
        output: &Output,
        sorted: &Sorted,
        taken: Taken,
        values: Option<&Part<'_>>,
        length: usize,
    ) -> Result<Option<Block>, Error> {
        let words = sorted.size.words;
        let most = sorted.size.most();
        let size = self.capabilities.storage(output.dtype).itemsize();
        let (each, first) = match taken {
            Taken::Some { count, first } => (count, first),
            Taken::Middle { .. } => (1, 0),
        };
        let all = sorted.order.stored / 4;
        let bounds = [
            self.bind_words(&sorted.order, all),
            self.bind_words(&sorted.keys, all * words),
        ];
        let [Some(order), Some(keys)] = bounds else {
            return Ok(None);
        };
        let mut reads = vec![order, keys];
        let mut offset = 0;
        if let Some((block, layout)) = values {
            let Some((bound, layout)) = self.bind_view(block, size, layout) else {
                return Ok(None);
            };
            offset = layout.offset();
            reads.push(bound);
        }
        let numbers = [
            length,
            each,
            first,
            most[0] as usize,
            most[1] as usize,
            offset,
        ];
        let numbers = numbers.map(|n| n as u32);
        let block = self.block(op, output.dtype, output.count)?;
        let windows = [Window::all(&block, Cell::Raw(size))];
        let kind = match taken {
            Taken::Some { .. } => "some".to_owned(),
            taken => format!("{taken:?} {words}"),
        };
        let is_value = values.is_some();
        let key = format!("take {kind} {size} {is_value}");
        let count = output.count;
        let is_done = self.launch(op, &key, &reads, &windows, count, &numbers, || {
            Some(take_text(taken, words, is_value.then_some(size)))
        })?;
        Ok(is_done.then_some(block))
    }
}

/// The text of `value` for elements of sorted lines of so many bytes, or their places in the lines.
pub(crate) fn take_text(taken: Taken, words: usize, size: Option<usize>) -> String {
    let first = header(1);
    let mut text = place_text(taken, words, first);
    let [length, offset] = [number(first), number(first + 5)];
    match size {
        Some(size) => {
            let cell = Cell::Raw(size);
            let load = cell.load("in2", "p", WideIntegers::Pairs);
            let name = cell.type_name(WideIntegers::Pairs);
            write!(
                text,
                "fn value(i: u32) -> {name} {{\n    \
                 let p = {offset} + in0[place(i)];\n    return {load};\n}}\n"
            )
        }
        None => writeln!(
            text,
            "fn value(i: u32) -> vec2<u32> {{ \
             return vec2<u32>(in0[place(i)] % {length}, 0u); }}"
        ),
    }
    .ok();
    text
}
