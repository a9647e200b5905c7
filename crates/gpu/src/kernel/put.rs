//! Elements put to where indices say, in the order of the source, whatever order threads run in.
//!
//! Every element of the target gets the list of what is put to it: how long each is, is counted;
//! where each begins, is a scan of that; the numbers of the elements are written in any order and
//! then sorted, list by list. What becomes of the target depends on the lists alone.

use std::fmt::Write;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Combine, Layout, Op, Program, Put, Scan, Shape, Target, View};

use super::{GROUP, MOST_GROUPS, Window, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::places::Places;
use crate::queue::Bound;

/// Numbers that the first two passes are told before those of places.
const FIRST: usize = header(1) + 1;

/// A shader whose threads do `body` for each of so many things, `t`.
pub(crate) fn each_thread(
    reads: usize,
    writes: [&str; 2],
    numbers: usize,
    functions: &str,
    body: &str,
) -> Shader {
    let mut text = declarations(reads, 2, numbers);
    for (k, kind) in writes.iter().enumerate() {
        text = text.replace(&format!("out{k}: array<u32>"), &format!("out{k}: {kind}"));
    }
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
        writes: 2,
    }
}

/// The function `goal`: where element `i` of the source goes. Its index is in the first buffer.
pub(crate) fn goal(places: &Places) -> String {
    let mut text = String::new();
    places.text(FIRST, &mut text);
    let step = number(header(1));
    text + &format!(
        "fn goal(i: u32) -> u32 {{ return place2(i) + in0[place1(i) * 2u] * {step}; }}\n"
    )
}

/// Sorts the list of element `t` by a heap, where it lies: no list is too long for that.
pub(crate) const SORT: &str = "    \
    let first = select(in0[max(t, 1u) - 1u], 0u, t == 0u);
    let count = in0[t] - first;
    if (count < 2u) { return; }
    var start = count / 2u;
    var end = count;
    while (end > 1u) {
        if (start > 0u) {
            start--;
        } else {
            end--;
            let last = out0[first + end];
            out0[first + end] = out0[first];
            out0[first] = last;
        }
        var root = start;
        while (root * 2u + 1u < end) {
            var child = root * 2u + 1u;
            if (child + 1u < end && out0[first + child] < out0[first + child + 1u]) { child++; }
            if (out0[first + root] >= out0[first + child]) { break; }
            let moved = out0[first + root];
            out0[first + root] = out0[first + child];
            out0[first + child] = moved;
            root = child;
        }
    }
";

/// The function `combined`, from what is there and what is put there, and all that it calls.
fn combined(combine: Combine, dtype: DType, integers: WideIntegers) -> Option<String> {
    let name = Cell::Of(dtype).type_name(integers);
    let is_float = dtype.is_floating_point();
    let row = match combine {
        Combine::Replace => return None,
        Combine::Add => Op::Add,
        Combine::Multiply => Op::Mul,
        Combine::Max => Op::Maximum,
        Combine::Min => Op::Minimum,
    };
    let row = match (dtype, row) {
        (DType::Bool, Op::Add | Op::Maximum) => Op::LogicalOr,
        (DType::Bool, _) => Op::LogicalAnd,
        (_, row) => row,
    };
    if is_float && matches!(row, Op::Maximum | Op::Minimum) {
        // Of equal numbers what is there stays, and NaN once it is.
        let sign = if row == Op::Maximum { ">" } else { "<" };
        let is_nan = match dtype {
            DType::F64 => "(bitcast<u64>(x) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu",
            _ => "(bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u",
        };
        return Some(format!(
            "fn combined(to: {name}, x: {name}) -> {name} {{ \
             return select(to, x, x {sign} to || {is_nan}); }}\n"
        ));
    }
    let function = Function::of_row(row, dtype)?;
    Some(print_module_with(integers, [("combined", &function)]))
}

/// The text of `value`: an element of the target with all that is put to it.
pub(crate) fn value(
    combine: Combine,
    dtype: DType,
    places: &Places,
    integers: WideIntegers,
) -> Option<String> {
    let is_moved = combine == Combine::Replace;
    let cell = if is_moved {
        Cell::Raw(dtype.itemsize())
    } else {
        Cell::Of(dtype)
    };
    let first = header(1);
    let mut text = String::new();
    if !is_moved {
        text += &combined(combine, dtype, integers)?;
    }
    places.text(first + 1, &mut text);
    let name = cell.type_name(integers);
    let (old, new) = (
        cell.load("out0", "q", integers),
        cell.load("in2", "p", integers),
    );
    let own = number(first);
    let from = if is_moved { "last - 1u" } else { "first" };
    let becomes = if is_moved {
        new
    } else {
        format!("combined(x, {new})")
    };
    write!(
        text,
        "fn value(i: u32) -> {name} {{\n    \
         let first = select(in1[max(i, 1u) - 1u], 0u, i == 0u);\n    \
         let last = in1[i];\n    \
         let q = {own} + i;\n    \
         var x = {old};\n    \
         if (first >= last) {{ return x; }}\n    \
         for (var k = {from}; k < last; k++) {{\n        \
         let p = place0(in0[k]);\n        \
         x = {becomes};\n    }}\n    \
         return x;\n}}\n"
    )
    .ok();
    Some(text)
}

/// A program that reads counts as what they are summed in.
pub(crate) fn widening() -> Program {
    let mut program = Program::new(&[DType::U32]);
    let item = program.convert(0, DType::U64);
    program.output(item);
    program
}

impl Gpu {
    /// Combines elements with those of a target, in the order of the source; whether there is a shader
    /// for it that may see all.
    pub(crate) fn put_elements(
        &'static self,
        op: &'static str,
        dtype: DType,
        combine: Combine,
        job: &Put<'_>,
        target: &Target<'_>,
    ) -> Result<bool, Error> {
        let stored = self.capabilities.storage(dtype);
        // The CPU's product of complex numbers is another formula where they are not finite.
        if stored.is_complex() && combine == Combine::Multiply {
            return Ok(false);
        }
        let size = stored.itemsize();
        let shape = job.source.layout.shape();
        let (count, room) = (shape.count(), target.count);
        if count == 0 || room == 0 {
            return Ok(true);
        }
        let most = u32::MAX as usize / 4;
        let into = self.own(op, &*target.memory)?;
        let (source, chosen) = (
            self.own(op, job.source.memory)?,
            self.own(op, job.indices.memory)?,
        );
        let source = self.bind_view(source, size, job.source.layout);
        let chosen = self.bind_view(chosen, 8, job.indices.layout);
        let own = self.bind(into, size, [target.start, target.start + room]);
        let (Some((source, from)), Some((chosen, indices)), Some((_, first))) =
            (source, chosen, own)
        else {
            return Ok(false);
        };
        if count > most || room > most {
            return Ok(false);
        }
        let counts = self.block(op, DType::U32, room)?;
        let list = self.block(op, DType::U32, count)?;
        let (Some((counts_bound, _)), Some((list_bound, _))) = (
            self.bind(&counts, 4, [0, room]),
            self.bind(&list, 4, [0, count]),
        ) else {
            return Ok(false);
        };
        self.fill_block(op, &counts, &[0; 4], room)?;
        let places = Places::new(shape, &[&from, &indices, job.base]);
        let step = job.step as u32;
        let told = |threads: usize, numbers: &mut Vec<u32>| {
            let mut told = vec![threads as u32, 0, groups(threads)[1], 0, step];
            places.numbers(&mut told);
            *numbers = told;
        };
        let mut numbers = Vec::new();
        told(count, &mut numbers);
        let total = numbers.len();
        let key = format!("put count|{}", places.key());
        let kinds = ["array<atomic<u32>>", "array<u32>"];
        let shader = || {
            let body = "    atomicAdd(&out0[goal(t)], 1u);\n";
            Some(each_thread(1, kinds, total, &goal(&places), body))
        };
        let bounds = [chosen, counts_bound, list_bound];
        self.launch_threads(op, &key, &bounds, &numbers, count, shader)?;
        let Some(ends) = self.sum_counts(op, &counts, room)? else {
            return Ok(false);
        };
        let ends = self.own(op, &*ends)?;
        let Some((ends_bound, _)) = self.bind(ends, 4, [0, room]) else {
            return Ok(false);
        };
        let key = format!("put list|{}", places.key());
        let shader = || {
            let body = "    let g = goal(t);\n    \
                        out1[in1[g] - atomicSub(&out0[g], 1u)] = t;\n";
            Some(each_thread(2, kinds, total, &goal(&places), body))
        };
        let bounds = [chosen, ends_bound, counts_bound, list_bound];
        self.launch_threads(op, &key, &bounds, &numbers, count, shader)?;
        // One element has nothing to be sorted with.
        if count > 1 {
            let numbers = [room as u32, 0, groups(room)[1], 0];
            let bounds = [ends_bound, list_bound, counts_bound];
            let kinds = ["array<u32>", "array<u32>"];
            let shader = || Some(each_thread(1, kinds, header(1), "", SORT));
            self.launch_threads(op, "put sort", &bounds, &numbers, room, shader)?;
        }
        let source_places = Places::new(shape, &[&from]);
        let mut numbers = vec![(target.start - first) as u32];
        source_places.numbers(&mut numbers);
        let cell = match combine {
            Combine::Replace => Cell::Raw(size),
            _ => Cell::Of(stored),
        };
        let window = Window {
            block: into,
            cell,
            start: target.start,
        };
        let key = format!("put {combine:?} {}|{}", stored.name(), source_places.key());
        let reads = [list_bound, ends_bound, source];
        self.launch(op, &key, &reads, &[window], room, &numbers, || {
            value(combine, stored, &source_places, self.integers)
        })
    }

    /// Records a shader of [`each_thread`].
    fn launch_threads(
        &self,
        op: &'static str,
        key: &str,
        bounds: &[Bound<'_>],
        numbers: &[u32],
        threads: usize,
        shader: impl FnOnce() -> Option<Shader>,
    ) -> Result<(), Error> {
        let pipeline = self.pipeline(op, key, shader)?;
        let [groups, _] = groups(threads);
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, bounds, numbers, grid)
    }

    /// Where the list of each element ends.
    fn sum_counts(
        &'static self,
        op: &'static str,
        counts: &Block,
        room: usize,
    ) -> Result<Option<allotrope_op::Shared>, Error> {
        let layout = Layout::contiguous(Shape::new(op, &[room])?);
        let program = widening();
        let view = View {
            memory: counts,
            layout: &layout,
        };
        self.scan_program(op, Scan::Sum, &program, &[view], [1, room, 1], DType::U32)
    }
}
