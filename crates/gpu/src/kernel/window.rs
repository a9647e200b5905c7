//! Tasks of `allotrope_op::task::window`: pooling, and windows added up to images. A thread goes
//! through the elements of its windows, or through the windows of its elements.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error, Scalar, WeakScalar};
use allotrope_op::task::window::Divisor;
use allotrope_op::task::{Axis, Input, Made, Output, Results, Window as Task};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Builder, Fold, Op, Program, Shape};
use smallvec::smallvec;

use super::rowwise::made;
use super::run::item;
use super::state::State;
use super::{Window, header};
use crate::codec::{Cell, constant, constant_len, constant_words, number};
use crate::device::Gpu;
use crate::lower::{Lowered, lower};

/// Numbers of each axis that a shader is told.
const OF_AXIS: usize = 6;

/// The numbers of axes.
fn axis_numbers(axes: &[Axis]) -> impl Iterator<Item = u32> {
    axes.iter().flat_map(|axis| {
        let Axis {
            input,
            output,
            kernel,
            stride,
            padding,
            dilation,
            ..
        } = *axis;
        [input, output, kernel, stride, padding, dilation].map(|n| n as u32)
    })
}

/// Whether places and windows can be counted in 31 bits.
fn are_near(axes: &[Axis]) -> bool {
    axes.iter().all(|axis| {
        let most = axis.input.max(axis.output).max(axis.kernel) as u64 + axis.padding as u64;
        let factor = (axis.stride.max(axis.dilation) as u64).max(1);
        let shares = axis.input as u64 * (axis.output as u64 + 1);
        most.saturating_mul(factor) < 1 << 31 && (!axis.is_adaptive || shares < 1 << 32)
    })
}

/// Functions of each axis: where a window begins, and its taps that lie within the grid.
fn axes_text(is_adaptive: &[bool], first: usize) -> String {
    let mut text = String::new();
    for (axis, is_adaptive) in is_adaptive.iter().enumerate() {
        let names = ["input", "output", "kernel", "stride", "padding", "dilation"];
        for (k, name) in names.iter().enumerate() {
            let value = number(first + axis * OF_AXIS + k);
            writeln!(text, "fn {name}{axis}() -> u32 {{ return {value}; }}").ok();
        }
        let body = match is_adaptive {
            true => format!(
                "fn begin{axis}(o: u32) -> i32 {{ return i32(o * input{axis}() / output{axis}()); }}\n\
                 fn low{axis}(o: u32) -> u32 {{ return 0u; }}\n\
                 fn high{axis}(o: u32) -> u32 {{\n    \
                 return input{axis}() - (output{axis}() - o - 1u) * input{axis}() / output{axis}() \
                 - u32(begin{axis}(o));\n}}\n"
            ),
            false => format!(
                "fn begin{axis}(o: u32) -> i32 {{ \
                 return i32(o * stride{axis}()) - i32(padding{axis}()); }}\n\
                 fn high{axis}(o: u32) -> u32 {{\n    \
                 let room = max(i32(input{axis}()) - begin{axis}(o), 0);\n    \
                 return min((u32(room) + dilation{axis}() - 1u) / dilation{axis}(), kernel{axis}());\n}}\n\
                 fn low{axis}(o: u32) -> u32 {{\n    \
                 let before = u32(max(-begin{axis}(o), 0));\n    \
                 return min((before + dilation{axis}() - 1u) / dilation{axis}(), high{axis}(o));\n}}\n"
            ),
        };
        text += &body;
    }
    text
}

/// What a thread does with every element of window `i`, whose number among all elements is `e`, and
/// within its plane `p`.
fn each_element(work: &str) -> String {
    format!(
        "    let rest = i / output2();\n    let o2 = i % output2();\n    \
         let o1 = rest % output1();\n    let o0 = (rest / output1()) % output0();\n    \
         let plane = rest / output1() / output0();\n    \
         let base = plane * input0() * input1() * input2();\n    \
         for (var t0 = low0(o0); t0 < high0(o0); t0++) {{\n    \
         let p0 = u32(begin0(o0) + i32(t0 * dilation0()));\n    \
         for (var t1 = low1(o1); t1 < high1(o1); t1++) {{\n    \
         let p1 = p0 * input1() + u32(begin1(o1) + i32(t1 * dilation1()));\n    \
         for (var t2 = low2(o2); t2 < high2(o2); t2++) {{\n        \
         let p = p1 * input2() + u32(begin2(o2) + i32(t2 * dilation2()));\n        \
         let e = base + p;\n{work}    }}}}}}\n"
    )
}

/// The text for the greatest of windows; its numbers begin at `first`, with an offset.
pub(crate) fn max_text(
    dtype: DType,
    has_places: bool,
    is_adaptive: [bool; 3],
    first: usize,
    integers: WideIntegers,
) -> Option<String> {
    let compared = match dtype {
        DType::Bool => DType::I32,
        dtype => dtype.compute(),
    };
    let builder = Builder::new(&[dtype, dtype]);
    let [x, y] = [0, 1].map(|k| builder.input(k).to(compared));
    let better = match dtype.is_floating_point() {
        // Of several NaN the first stays.
        true => {
            let is_new = x.isnan().logical_and(y.isnan().logical_not());
            x.gt(y).logical_or(is_new)
        }
        false => x.gt(y),
    };
    let better = Function::of_program(&builder.finish(&[better]))?;
    let mut text = print_module_with(integers, [("better", &better)]);
    text += &axes_text(&is_adaptive, first + 1);
    let kind = Cell::Of(dtype).type_name(integers);
    let raw = Cell::Raw(dtype.itemsize());
    let offset = number(first);
    let load = Cell::Of(dtype).load("in0", "q", integers);
    let copy = raw.load("in0", "found", integers);
    let raw = raw.type_name(integers);
    let (result, give) = match has_places {
        true => {
            writeln!(text, "struct Found {{ r0: {raw}, r1: vec2<u32> }}").ok();
            (
                "Found".to_owned(),
                format!("Found({copy}, vec2<u32>(best, 0u))"),
            )
        }
        false => (raw, copy),
    };
    let body = each_element(
        "        let v = element(e);\n        \
         if (is_first || better(v, most)) { most = v; best = p; is_first = false; }\n",
    );
    write!(
        text,
        "fn element(e: u32) -> {kind} {{ let q = {offset} + e; return {load}; }}\n\
         fn value(i: u32) -> {result} {{\n    \
         var most: {kind};\n    var best = 0u;\n    var is_first = true;\n{body}    \
         let found = {offset} + base + best;\n    return {give};\n}}\n"
    )
    .ok();
    Some(text)
}

/// What the sums of windows are divided by, as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    Elements,
    Places,
    Constant,
}

/// The text for means of windows: items of one stored dtype, sums in another.
#[allow(clippy::too_many_arguments, reason = "each is a part of a shader")]
pub(crate) fn mean_text(
    [item_dtype, sum, to]: [DType; 3],
    float64: bool,
    division: Division,
    is_adaptive: [bool; 3],
    lowered: &Lowered,
    reader: &super::run::Reader<'_>,
    integers: WideIntegers,
) -> Option<String> {
    let first = header(1);
    let real = sum.to_real();
    let state = State::of_fold(Fold::Sum, item_dtype, float64);
    let mut functions = state.functions(sum)?;
    functions.push(("over", Function::of_row(Op::Div, real)?));
    functions.push(("last", Function::of_cast(sum, to)?));
    let functions: Vec<(&str, &Function)> = functions.iter().map(|(n, f)| (*n, f)).collect();
    let told = first + 3 * OF_AXIS;
    let next = told + 3 + constant_len(real);
    let (mut text, _) = item("item", lowered, reader, integers, next, &functions)?;
    text += &state.text(sum, integers);
    text += &axes_text(&is_adaptive, first);
    let kind = state.cell().type_name(integers);
    let result = Cell::Of(to).type_name(integers);
    let real_name = Cell::Of(real).type_name(integers);
    let width = |axis: usize| match division {
        Division::Elements => format!("(high{axis}(o{axis}) - low{axis}(o{axis}))"),
        _ => format!(
            "u32(min(i32(input{axis}() + {}), begin{axis}(o{axis}) + i32(kernel{axis}())) \
             - begin{axis}(o{axis}))",
            number(told + axis)
        ),
    };
    let divisor = match division {
        Division::Constant => constant(real, told + 3, integers),
        _ => format!("{real_name}({} * {} * {})", width(0), width(1), width(2)),
    };
    let quotient = match sum.is_complex() {
        true => {
            let name = Cell::Of(sum).type_name(integers);
            format!("{name}(over(total.x, divisor), over(total.y, divisor))")
        }
        false => "over(total, divisor)".to_owned(),
    };
    let body = each_element(
        "        let v = lift(item(e));\n        \
         if (is_first) { s = v; is_first = false; } else { s = join(s, v); }\n",
    );
    let zero = Cell::Of(item_dtype).type_name(integers);
    write!(
        text,
        "fn value(i: u32) -> {result} {{\n    \
         var s: {kind} = lift({zero}());\n    var is_first = true;\n{body}    \
         let total = finish(s);\n    let divisor = {divisor};\n    \
         return last({quotient});\n}}\n"
    )
    .ok();
    Some(text)
}

/// The text for windows added up: elements of one stored dtype, sums in another.
pub(crate) fn fold_text(dtype: DType, float64: bool, integers: WideIntegers) -> Option<String> {
    let first = header(1);
    let item_dtype = match dtype {
        DType::Bool => DType::I32,
        dtype => dtype.compute(),
    };
    let state = State::of_fold(Fold::Sum, item_dtype, float64);
    let mut functions = state.functions(dtype)?;
    functions.push(("decoded", Function::of_cast(dtype, item_dtype)?));
    let functions = functions.iter().map(|(n, f)| (*n, f));
    let mut text = print_module_with(integers, functions);
    text += &state.text(dtype, integers);
    text += &axes_text(&[false, false], first + 1);
    let load = Cell::Of(dtype).load("in0", "q", integers);
    let zero = Cell::Of(item_dtype).type_name(integers);
    let kind = state.cell().type_name(integers);
    let result = Cell::Of(dtype).type_name(integers);
    let offset = number(first);
    for axis in 0..2 {
        write!(
            text,
            "fn window{axis}(place: u32, tap: u32) -> i32 {{\n    \
             let distance = i32(place + padding{axis}()) - i32(tap * dilation{axis}());\n    \
             let step = i32(stride{axis}());\n    \
             if (distance < 0 || distance % step != 0) {{ return -1; }}\n    \
             let window = distance / step;\n    \
             return select(-1, window, window < i32(output{axis}()));\n}}\n"
        )
        .ok();
    }
    write!(
        text,
        "fn value(i: u32) -> {result} {{\n    \
         let column = i % input1();\n    let row = (i / input1()) % input0();\n    \
         let plane = i / input1() / input0();\n    \
         var s: {kind} = lift({zero}());\n    \
         for (var t0 = 0u; t0 < kernel0(); t0++) {{\n        \
         let w0 = window0(row, t0);\n        if (w0 < 0) {{ continue; }}\n        \
         for (var t1 = 0u; t1 < kernel1(); t1++) {{\n            \
         let w1 = window1(column, t1);\n            if (w1 < 0) {{ continue; }}\n            \
         let tap = (plane * kernel0() + t0) * kernel1() + t1;\n            \
         let q = {offset} + (tap * output0() + u32(w0)) * output1() + u32(w1);\n            \
         s = join(s, lift(decoded({load})));\n        }}\n    }}\n    \
         return finish(s);\n}}\n"
    )
    .ok();
    Some(text)
}

impl Gpu {
    /// Work on windows; nothing where there is no shader.
    pub(crate) fn work_on_windows(
        &'static self,
        op: &'static str,
        task: &Task<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let [input, ..] = inputs else {
            return Ok(None);
        };
        let most = outputs.iter().map(|output| output.count).max().unwrap_or(0);
        let elements = input.view.layout.shape().count();
        if most == 0 || elements == 0 || most.max(elements) > i32::MAX as usize {
            return Ok(None);
        }
        match *task {
            Task::MaxPool { axes, has_places } if are_near(&axes) => {
                self.pool_greatest(op, axes, has_places, input, outputs)
            }
            Task::AvgPool {
                program,
                axes,
                divisor,
            } if are_near(&axes) => self.pool_means(op, program, axes, divisor, input, outputs),
            Task::Nearest { places } => self.take_nearest(op, places, input, &outputs[0]),
            Task::Interpolate { weights } => self.interpolate(op, weights, input, &outputs[0]),
            Task::Fold { axes } if are_near(&axes) => self.fold_windows(op, axes, input, outputs),
            _ => Ok(None),
        }
    }

    fn pool_greatest(
        &'static self,
        op: &'static str,
        axes: [Axis; 3],
        has_places: bool,
        input: &Input<'_>,
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        // A window without elements gives the least number there is.
        let is_whole =
            |axis: &Axis| (0..axis.output).all(|window| !axis.taps_inside(window).is_empty());
        if !axes.iter().all(is_whole) {
            return Ok(None);
        }
        let dtype = self.capabilities.storage(input.dtype);
        let size = dtype.itemsize();
        let x = self.ordered(op, input)?;
        let whole = Shape::new(op, &[input.view.layout.shape().count()])?;
        let (block, layout) = x.part(&whole);
        let Some((bound, layout)) = self.bind_view(block, size, &layout) else {
            return Ok(None);
        };
        let count = outputs[0].count;
        let greatest = self.block(op, input.dtype, count)?;
        let places = match has_places {
            true => Some(self.block(op, DType::I64, count)?),
            false => None,
        };
        let mut windows = vec![Window::all(&greatest, Cell::Raw(size))];
        windows.extend(places.iter().map(|block| Window::all(block, Cell::Raw(8))));
        let mut numbers = vec![layout.offset() as u32];
        numbers.extend(axis_numbers(&axes));
        let is_adaptive = axes.map(|axis| axis.is_adaptive);
        let key = format!("max_pool {dtype} {has_places} {is_adaptive:?}");
        let first = header(windows.len());
        let is_done = self.launch(op, &key, &[bound], &windows, count, &numbers, || {
            max_text(dtype, has_places, is_adaptive, first, self.integers)
        })?;
        if !is_done {
            return Ok(None);
        }
        drop(windows);
        let mut results = made(greatest, count);
        if let Some(places) = places {
            let memory = Arc::new(places);
            results.push(Made { memory, count });
        }
        Ok(Some(results))
    }

    fn pool_means(
        &'static self,
        op: &'static str,
        program: &Program,
        axes: [Axis; 3],
        divisor: Divisor,
        input: &Input<'_>,
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let lowered = lower(program, &self.capabilities)?;
        let dtype = program.output_dtypes().next().unwrap_or(DType::F32);
        let stored = |dtype| self.capabilities.storage(dtype);
        let item_dtype = stored(dtype);
        let sum = stored(allotrope_op::Backend::wide(self, dtype));
        let output = outputs[0];
        let to = stored(output.dtype);
        let shape = input.view.layout.shape();
        let parts = self.parts(op, &[input.view])?;
        let Some(reader) = self.reader(lowered.program.input_dtypes(), shape, &parts) else {
            return Ok(None);
        };
        let mut numbers: Vec<u32> = axis_numbers(&axes).collect();
        let (division, after, value) = match divisor {
            Divisor::Elements => (Division::Elements, [0; 3], 1.0),
            Divisor::Places(after) => (Division::Places, after, 1.0),
            Divisor::Constant(value) => (Division::Constant, [0; 3], value),
        };
        numbers.extend(after.map(|n| n as u32));
        let value = Scalar::new(WeakScalar::Float(value), sum.to_real())?;
        numbers.extend(constant_words(value));
        numbers.extend(reader.numbers(&lowered));
        let is_adaptive = axes.map(|axis| axis.is_adaptive);
        let reads = reader.key(&lowered);
        let key = format!("avg_pool {item_dtype} {sum} {division:?} {is_adaptive:?}|{reads}");
        let block = self.block(op, output.dtype, output.count)?;
        let windows = [Window::all(&block, Cell::Of(to))];
        let (bounds, count) = (reader.bounds(), output.count);
        let is_done = self.launch(op, &key, bounds, &windows, count, &numbers, || {
            mean_text(
                [item_dtype, sum, to],
                self.numerics.float64,
                division,
                is_adaptive,
                &lowered,
                &reader,
                self.integers,
            )
        })?;
        Ok(is_done.then(|| made(block, count)))
    }

    fn fold_windows(
        &'static self,
        op: &'static str,
        axes: [Axis; 2],
        input: &Input<'_>,
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let dtype = self.capabilities.storage(input.dtype);
        let block = self.own(op, input.view.memory)?;
        let seen = self.bind_view(block, dtype.itemsize(), input.view.layout);
        let Some((bound, layout)) = seen else {
            return Ok(None);
        };
        let count = outputs[0].count;
        let result = self.block(op, input.dtype, count)?;
        let mut numbers = vec![layout.offset() as u32];
        numbers.extend(axis_numbers(&axes));
        let windows = [Window::all(&result, Cell::Of(dtype))];
        let key = format!("col2im {dtype}");
        let is_done = self.launch(op, &key, &[bound], &windows, count, &numbers, || {
            fold_text(dtype, self.numerics.float64, self.integers)
        })?;
        let memory = Arc::new(result);
        Ok(is_done.then(|| smallvec![Made { memory, count }]))
    }
}
