//! Grids of other sizes: one element for each result, or sums of elements with weights. Places and
//! weights along each axis are tables that the CPU makes.

use std::fmt::Write;

use allotrope_cpu::memory::try_collect;
use allotrope_dtype::{DType, Error};
use allotrope_op::Shape;
use allotrope_op::task::window::AxisWeights;
use allotrope_op::task::{Input, Output, Results};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};

use super::rowwise::made;
use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;

/// Numbers that the shaders are told: an offset, and of each axis the size, how many results there
/// are, taps, and where its tables begin.
const NUMBERS: [&str; 13] = [
    "offset", "size0", "size1", "size2", "results0", "results1", "results2", "taps0", "taps1",
    "taps2", "table0", "table1", "table2",
];

fn numbers_text() -> String {
    let mut text = String::new();
    for (k, name) in NUMBERS.iter().enumerate() {
        let value = number(header(1) + k);
        writeln!(text, "fn {name}() -> u32 {{ return {value}; }}").ok();
    }
    text
}

const RESULT: &str = "    let rest = i / results2();\n    let o2 = i % results2();\n    \
     let o1 = rest % results1();\n    let o0 = (rest / results1()) % results0();\n    \
     let plane = rest / results1() / results0();\n    \
     let base = offset() + plane * size0() * size1() * size2();\n";

/// The text of `value`: one element for each result, of so many bytes.
pub(crate) fn nearest_text(size: usize) -> String {
    let cell = Cell::Raw(size);
    let load = cell.load("in0", "p", WideIntegers::Pairs);
    let name = cell.type_name(WideIntegers::Pairs);
    format!(
        "{}fn value(i: u32) -> {name} {{\n{RESULT}    \
         let row = in1[table0() + o0] * size1() + in1[table1() + o1];\n    \
         let p = base + row * size2() + in1[table2() + o2];\n    return {load};\n}}\n",
        numbers_text()
    )
}

/// The text of `value`: the sum of elements with weights, computed in another stored dtype.
pub(crate) fn weighted_text(
    dtype: DType,
    compute: DType,
    integers: WideIntegers,
) -> Option<String> {
    let functions = [
        ("decoded", Function::of_cast(dtype, compute)?),
        ("rounded", Function::of_cast(compute, dtype)?),
    ];
    let mut text = print_module_with(integers, functions.iter().map(|(n, f)| (*n, f)));
    text += &numbers_text();
    let name = Cell::Of(compute).type_name(integers);
    let result = Cell::Of(dtype).type_name(integers);
    let real = Cell::Of(compute.to_real());
    let weight = real.load("in2", "k", integers);
    let load = Cell::Of(dtype).load("in0", "p", integers);
    write!(
        text,
        "fn weight(k: u32) -> {real} {{ return {weight}; }}\n\
         fn element(p: u32) -> {name} {{ return decoded({load}); }}\n\
         fn value(i: u32) -> {result} {{\n{RESULT}    \
         var sum = {name}();\n    \
         for (var t0 = 0u; t0 < taps0(); t0++) {{\n        \
         let k0 = table0() + o0 * taps0() + t0;\n        \
         var plane_sum = {name}();\n        \
         for (var t1 = 0u; t1 < taps1(); t1++) {{\n            \
         let k1 = table1() + o1 * taps1() + t1;\n            \
         let row = base + (in1[k0] * size1() + in1[k1]) * size2();\n            \
         var row_sum = {name}();\n            \
         for (var t2 = 0u; t2 < taps2(); t2++) {{\n                \
         let k2 = table2() + o2 * taps2() + t2;\n                \
         row_sum = row_sum + element(row + in1[k2]) * weight(k2);\n            }}\n            \
         plane_sum = plane_sum + row_sum * weight(k1);\n        }}\n        \
         sum = sum + plane_sum * weight(k0);\n    }}\n    \
         return rounded(sum);\n}}\n",
        real = real.type_name(integers)
    )
    .ok();
    Some(text)
}

impl Gpu {
    /// One element of a grid for each result.
    pub(crate) fn take_nearest(
        &'static self,
        op: &'static str,
        places: [&[usize]; 3],
        input: &Input<'_>,
        output: &Output,
    ) -> Result<Option<Results>, Error> {
        let results = places.map(<[usize]>::len);
        self.resample(op, places, [1; 3], results, None, input, output)
    }

    /// Sums of elements of a grid with weights.
    pub(crate) fn interpolate(
        &'static self,
        op: &'static str,
        weights: [AxisWeights<'_>; 3],
        input: &Input<'_>,
        output: &Output,
    ) -> Result<Option<Results>, Error> {
        let all = weights.map(|axis| axis.weights);
        let results = weights.map(|axis| axis.results());
        let (places, taps) = (
            weights.map(|axis| axis.places),
            weights.map(|axis| axis.taps),
        );
        self.resample(op, places, taps, results, Some(all), input, output)
    }

    #[allow(clippy::too_many_arguments, reason = "each is a part of what is asked")]
    fn resample(
        &'static self,
        op: &'static str,
        places: [&[usize]; 3],
        taps: [usize; 3],
        results: [usize; 3],
        weights: Option<[&[f64]; 3]>,
        input: &Input<'_>,
        output: &Output,
    ) -> Result<Option<Results>, Error> {
        let shape = input.view.layout.shape();
        let [_, _, sizes @ ..] = &shape[..] else {
            return Ok(None);
        };
        let stored = self.capabilities.storage(input.dtype);
        let x = self.ordered(op, input)?;
        let whole = Shape::new(op, &[shape.count()])?;
        let (block, layout) = x.part(&whole);
        let Some((bound, layout)) = self.bind_view(block, stored.itemsize(), &layout) else {
            return Ok(None);
        };
        let list = places.iter().flat_map(|places| places.iter());
        let list: Vec<u32> = try_collect(op, list.map(|place| *place as u32))?;
        let table = self.put_up(op, DType::U32, bytemuck::cast_slice(&list))?;
        let Some(table) = self.bind_words(self.own(op, &*table)?, list.len()) else {
            return Ok(None);
        };
        let mut reads = vec![bound, table];
        let compute = self.capabilities.storage(input.dtype.compute());
        let factors;
        if let Some(weights) = weights {
            let real = compute.to_real();
            let list = weights.iter().flat_map(|weights| weights.iter());
            factors = if real == DType::F64 {
                let list: Vec<f64> = try_collect(op, list.copied())?;
                self.put_up(op, real, bytemuck::cast_slice(&list))?
            } else {
                let list: Vec<f32> = try_collect(op, list.map(|weight| *weight as f32))?;
                self.put_up(op, real, bytemuck::cast_slice(&list))?
            };
            let factors = self.own(op, &*factors)?;
            let Some(bound) = self.bind_words(factors, factors.stored / 4) else {
                return Ok(None);
            };
            reads.push(bound);
        }
        let starts = [0, places[0].len(), places[0].len() + places[1].len()];
        let mut numbers = vec![layout.offset() as u32];
        for list in [sizes, &results, &taps, &starts] {
            numbers.extend(list.iter().map(|n| *n as u32));
        }
        let (size, count) = (stored.itemsize(), output.count);
        let result = self.block(op, input.dtype, count)?;
        let (cell, key) = match weights {
            Some(_) => (Cell::Of(stored), format!("interpolate {stored}")),
            None => (Cell::Raw(size), format!("nearest {size}")),
        };
        let windows = [Window::all(&result, cell)];
        let is_weighted = weights.is_some();
        let is_done = self.launch(
            op,
            &key,
            &reads,
            &windows,
            count,
            &numbers,
            || match is_weighted {
                true => weighted_text(stored, compute, self.integers),
                false => Some(nearest_text(size)),
            },
        )?;
        Ok(is_done.then(|| made(result, count)))
    }
}
