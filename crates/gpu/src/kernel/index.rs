//! Elements by indices and masks.
//!
//! Where the true elements of a mask are is found in chunks: how many each has, counted by the
//! device; how many precede it, summed by the CPU, which needs the last sum in any case; then their
//! places.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Shape, Shared, Target, View};

use super::{GROUP, MOST_GROUPS, Window, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::memory::{Block, try_bytes};
use crate::pipeline::Shader;
use crate::places::Places;
use crate::queue::Bound;

/// Elements of a mask that one thread goes through.
const CHUNK: usize = 256;

/// The byte of element `i` of a mask in the first buffer, whose place is the first number.
fn is_true() -> String {
    let load = Cell::Of(DType::Bool).load("in0", "p", WideIntegers::Pairs);
    format!(
        "fn is_true(i: u32) -> bool {{\n    let p = {} + i;\n    return {load};\n}}\n",
        number(header(1))
    )
}

/// A shader whose threads go through a chunk of a mask each, from `at` on, which is what precedes it.
fn chunks(body: &str) -> Shader {
    let mut text = declarations(2, 1, header(1) + 2);
    text += &is_true();
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let t = id.x + id.y * {row};\n    \
         if (t >= {count}) {{ return; }}\n    \
         var at = in1[t];\n    \
         let first = t * {CHUNK}u;\n    \
         let last = min(first + {CHUNK}u, {len});\n    \
         for (var i = first; i < last; i++) {{\n        {body}\n    }}\n}}\n",
        row = number(2),
        count = number(0),
        len = number(header(1) + 1),
    )
    .ok();
    Shader {
        text,
        reads: 2,
        writes: 1,
    }
}

/// A mask that a shader sees, and what precedes its chunks.
struct Mask<'a> {
    bound: Bound<'a>,
    place: usize,
    len: usize,
    before: Block,
    /// How many elements are true.
    count: usize,
}

impl Gpu {
    /// The elements that lie `index * step` behind their places; nothing if a shader may not see all.
    pub(crate) fn pick_elements(
        &'static self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        step: isize,
        indices: View<'_>,
    ) -> Result<Option<Shared>, Error> {
        let (block, chosen) = (self.own(op, from.memory)?, self.own(op, indices.memory)?);
        let size = self.capabilities.storage(dtype).itemsize();
        let shape = from.layout.shape();
        let count = shape.count();
        let target = self.block(op, dtype, count)?;
        if count == 0 {
            return Ok(Some(Arc::new(target)));
        }
        // Indices lead anywhere in the memory.
        let all = [0, block.buffer.size() as usize];
        let (Some((bound, _)), Some((chosen, layout))) = (
            self.bind(block, 1, all),
            self.bind_view(chosen, 8, indices.layout),
        ) else {
            return Ok(None);
        };
        let places = Places::new(shape, &[from.layout, &layout]);
        let mut numbers = vec![step as u32];
        places.numbers(&mut numbers);
        let key = format!("pick{size}|{}", places.key());
        let window = Window::all(&target, Cell::Raw(size));
        let functions = || {
            let first = header(1);
            let mut text = String::new();
            places.text(first + 1, &mut text);
            let cell = Cell::Raw(size);
            let load = cell.load("in0", "p", WideIntegers::Pairs);
            let name = cell.type_name(WideIntegers::Pairs);
            // The lower word of an index is all of it.
            write!(
                text,
                "fn value(i: u32) -> {name} {{\n    \
                 let p = place0(i) + in1[place1(i) * 2u] * {};\n    return {load};\n}}\n",
                number(first)
            )
            .ok();
            Some(text)
        };
        let reads = [bound, chosen];
        let is_done = self.launch(op, &key, &reads, &[window], count, &numbers, functions)?;
        Ok(is_done.then(|| Arc::new(target) as Shared))
    }

    /// What precedes each chunk of a mask; nothing if a shader may not see all of it.
    fn count_true<'a>(
        &'static self,
        op: &'static str,
        view: View<'a>,
    ) -> Result<Option<Mask<'a>>, Error> {
        let block = self.own(op, view.memory)?;
        let Some((bound, layout)) = self.bind_view(block, 1, view.layout) else {
            return Ok(None);
        };
        let (place, len) = (layout.offset(), layout.shape().count());
        let chunks = len.div_ceil(CHUNK);
        let counts = self.block(op, DType::U32, chunks)?;
        let window = Window::all(&counts, Cell::Raw(4));
        let functions = || {
            let len = number(header(1) + 1);
            Some(format!(
                "{}fn value(t: u32) -> u32 {{\n    \
                 var n = 0u;\n    \
                 let last = min((t + 1u) * {CHUNK}u, {len});\n    \
                 for (var i = t * {CHUNK}u; i < last; i++) {{ n += u32(is_true(i)); }}\n    \
                 return n;\n}}\n",
                is_true()
            ))
        };
        let numbers = [place as u32, len as u32];
        if !self.launch(
            op,
            "count",
            &[bound],
            &[window],
            chunks,
            &numbers,
            functions,
        )? {
            return Ok(None);
        }
        let mut bytes = try_bytes(op, chunks * 4)?;
        self.bring_down(op, DType::U32, &counts, 0, &mut bytes)?;
        let mut count = 0;
        for word in bytes.as_chunks_mut::<4>().0 {
            let now = u32::from_ne_bytes(*word);
            *word = (count as u32).to_ne_bytes();
            count += now as usize;
        }
        let before = self.block(op, DType::U32, chunks)?;
        self.write_all(op, DType::U32, &bytes, &before)?;
        Ok(Some(Mask {
            bound,
            place,
            len,
            before,
            count,
        }))
    }

    /// Goes through the chunks of a mask.
    fn visit_mask(
        &'static self,
        op: &'static str,
        key: &str,
        mask: &Mask<'_>,
        target: &Block,
        body: &str,
    ) -> Result<bool, Error> {
        let chunks_of = mask.len.div_ceil(CHUNK);
        if chunks_of == 0 {
            return Ok(true);
        }
        let before = self.bind(&mask.before, 4, [0, chunks_of]);
        let into = self.bind(target, 1, [0, target.buffer.size() as usize]);
        let (Some((before, _)), Some((into, _))) = (before, into) else {
            return Ok(false);
        };
        let [groups, row] = groups(chunks_of);
        let numbers = [
            chunks_of as u32,
            0,
            row,
            0,
            mask.place as u32,
            mask.len as u32,
        ];
        let pipeline = self.pipeline(op, key, || Some(chunks(body)))?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &[mask.bound, before, into], &numbers, grid)?;
        Ok(true)
    }

    /// The places of the true elements of a mask, as words.
    fn true_places(
        &'static self,
        op: &'static str,
        mask: &Mask<'_>,
    ) -> Result<Option<Block>, Error> {
        let places = self.block(op, DType::U32, mask.count)?;
        let body = "if (is_true(i)) { out0[at] = i; at++; }";
        let is_done = self.visit_mask(op, "true places", mask, &places, body)?;
        Ok(is_done.then_some(places))
    }

    /// The elements of a contiguous view where a mask is true, and how many.
    pub(crate) fn compress_elements(
        &'static self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<Option<(Shared, usize)>, Error> {
        let block = self.own(op, from.memory)?;
        let size = self.capabilities.storage(dtype).itemsize();
        let Some(mask) = self.count_true(op, mask)? else {
            return Ok(None);
        };
        let target = self.block(op, dtype, mask.count)?;
        let (Some(places), Some((bound, layout))) = (
            self.true_places(op, &mask)?,
            self.bind_view(block, size, from.layout),
        ) else {
            return Ok(None);
        };
        let Some((places, _)) = self.bind(&places, 4, [0, mask.count]) else {
            return Ok(None);
        };
        let window = Window::all(&target, Cell::Raw(size));
        let functions = || {
            let cell = Cell::Raw(size);
            let load = cell.load("in0", "p", WideIntegers::Pairs);
            let name = cell.type_name(WideIntegers::Pairs);
            let place = number(header(1));
            Some(format!(
                "fn value(i: u32) -> {name} {{\n    \
                 let p = {place} + in1[i];\n    return {load};\n}}\n"
            ))
        };
        let (key, numbers) = (format!("compress{size}"), [layout.offset() as u32]);
        let reads = [bound, places];
        let is_done = self.launch(op, &key, &reads, &[window], mask.count, &numbers, functions)?;
        Ok(is_done.then(|| (Arc::new(target) as Shared, mask.count)))
    }

    /// The coordinates of the true elements of a mask, and how many rows.
    pub(crate) fn true_coordinates(
        &'static self,
        op: &'static str,
        view: View<'_>,
    ) -> Result<Option<(Shared, usize)>, Error> {
        let shape: &Shape = view.layout.shape();
        let Some(mask) = self.count_true(op, view)? else {
            return Ok(None);
        };
        let (rank, count) = (shape.rank(), mask.count);
        let target = self.block(op, DType::I64, count * rank)?;
        let Some(places) = self.true_places(op, &mask)? else {
            return Ok(None);
        };
        let Some((places, _)) = self.bind(&places, 4, [0, count]) else {
            return Ok(None);
        };
        let strides = shape.contiguous_strides();
        let mut numbers: Vec<u32> = shape.iter().map(|size| *size as u32).collect();
        numbers.extend(strides.iter().map(|stride| (*stride as u32).max(1)));
        let window = Window::all(&target, Cell::Raw(8));
        let functions = || {
            let first = header(1);
            let mut text = "fn value(i: u32) -> vec2<u32> {\n    var n = 0u;\n".to_owned();
            write!(
                text,
                "    let p = in0[i / {rank}u];\n    switch (i % {rank}u) {{\n"
            )
            .ok();
            for dim in 0..rank {
                let (size, stride) = (number(first + dim), number(first + rank + dim));
                writeln!(
                    text,
                    "        case {dim}u: {{ n = (p / {stride}) % {size}; }}"
                )
                .ok();
            }
            text += "        default: {}\n    }\n    return vec2<u32>(n, 0u);\n}\n";
            Some(text)
        };
        let key = format!("coordinates{rank}");
        let total = count * rank;
        let is_done = self.launch(op, &key, &[places], &[window], total, &numbers, functions)?;
        Ok(is_done.then(|| (Arc::new(target) as Shared, count)))
    }

    /// Writes elements to a target where a mask is true: one after the other, or one for all.
    pub(crate) fn expand_elements(
        &'static self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        view: View<'_>,
        target: &Target<'_>,
    ) -> Result<bool, Error> {
        let (block, into) = (self.own(op, from.memory)?, self.own(op, &*target.memory)?);
        let size = self.capabilities.storage(dtype).itemsize();
        let is_one = from.layout.shape().count() == 1;
        let Some(mask) = self.count_true(op, view)? else {
            return Ok(false);
        };
        let Some((bound, layout)) = self.bind_view(block, size, from.layout) else {
            return Ok(false);
        };
        // The number of each among the true ones; of one for all, anything.
        let ranks = self.block(op, DType::U32, mask.len)?;
        let body = "out0[i] = at; at += u32(is_true(i));";
        if !is_one && !self.visit_mask(op, "ranks", &mask, &ranks, body)? {
            return Ok(false);
        }
        let Some((ranks, _)) = self.bind(&ranks, 4, [0, mask.len]) else {
            return Ok(false);
        };
        let cell = Cell::Raw(size);
        let window = Window {
            block: into,
            cell,
            start: target.start,
        };
        let functions = || {
            let first = header(1);
            let name = cell.type_name(WideIntegers::Pairs);
            let [place, own] = [1, 2].map(|k| number(first + k));
            let new = cell.load("in1", "p", WideIntegers::Pairs);
            let old = cell.load("out0", "q", WideIntegers::Pairs);
            let rank = if is_one { "0u" } else { "in2[i]" };
            Some(format!(
                "{}fn value(i: u32) -> {name} {{\n    \
                 let p = {place} + {rank};\n    let q = {own} + i;\n    \
                 if (is_true(i)) {{ return {new}; }}\n    return {old};\n}}\n",
                is_true()
            ))
        };
        let Some((_, first)) = self.bind(into, size, [target.start, target.start + target.count])
        else {
            return Ok(false);
        };
        let numbers = [
            mask.place as u32,
            layout.offset() as u32,
            (target.start - first) as u32,
        ];
        let key = format!("expand{size}{is_one}");
        let reads = [mask.bound, bound, ranks];
        self.launch(
            op,
            &key,
            &reads,
            &[window],
            target.count,
            &numbers,
            functions,
        )
    }
}
