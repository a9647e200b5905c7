//! Convolution and its way back, as matrix products whose right factor is found while it is read: row
//! `(tap, channel)`, column `window`. No matrix of windows ever exists.
//!
//! A thread sums four by four results. Where there are few results and many taps, as for gradients of
//! filters, taps are cut into segments that the sizes decide, whose sums are then added.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::task::{Axis, Convolution, Edge, Input, Made, Output, Results};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Builder, Op, Shape};
use smallvec::smallvec;

use super::lines::strided;
use super::product::accumulator;
use super::rowwise::made;
use super::run::Part;
use super::{GROUP, MOST_GROUPS, declarations, groups, header, store_code};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::pipeline::Shader;

/// Windows that a thread sums results of, and filters where there are several.
const TILE: usize = 4;
/// Threads that are enough to keep a device busy.
const BUSY: usize = 4096;
/// Products that a thread sums at least before taps are cut.
const LEAST: usize = 512;

/// Which way a convolution goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Forward(Edge),
    Transposed,
}

/// The names of the numbers that the shader is told.
const NAMES: [&str; 32] = [
    "filters",
    "channels",
    "groups",
    "windows",
    "taps",
    "segment",
    "batches",
    "kernel1",
    "kernel2",
    "output0",
    "output1",
    "output2",
    "input0",
    "input1",
    "input2",
    "stride0",
    "stride1",
    "stride2",
    "padding0",
    "padding1",
    "padding2",
    "dilation0",
    "dilation1",
    "dilation2",
    "weights",
    "of_group",
    "of_filter",
    "of_channel",
    "of_image",
    "of_plane",
    "of_depth",
    "of_row",
];

/// The text that finds where along an axis a tap of a window is, or less than zero.
fn place_text(way: Way, axis: usize) -> String {
    let body = match way {
        Way::Forward(edge) => {
            let place = format!(
                "    let size = i32(input{axis}());\n    \
                 let place = i32(window * stride{axis}() + tap * dilation{axis}()) \
                 - i32(padding{axis}());\n"
            );
            let rest = match edge {
                Edge::Zeros => "    return select(-1, place, place >= 0 && place < size);\n",
                Edge::Replicate => "    return clamp(place, 0, size - 1);\n",
                Edge::Circular => "    return ((place % size) + size) % size;\n",
                Edge::Reflect => {
                    "    if (size == 1) { return 0; }\n    \
                     let period = 2 * (size - 1);\n    \
                     let folded = ((place % period) + period) % period;\n    \
                     return min(folded, period - folded);\n"
                }
            };
            place + rest
        }
        Way::Transposed => format!(
            "    let distance = i32(window + padding{axis}()) - i32(tap * dilation{axis}());\n    \
             let step = i32(stride{axis}());\n    \
             if (distance < 0 || distance % step != 0) {{ return -1; }}\n    \
             let place = distance / step;\n    \
             return select(-1, place, place < i32(input{axis}()));\n"
        ),
    };
    format!("fn place{axis}(window: u32, tap: u32) -> i32 {{\n{body}}}\n")
}

/// The shader for images and filters of two dtypes that meet in one and are summed in another, which
/// writes sums of segments of taps.
pub(crate) fn shader(
    way: Way,
    [image, filter]: [DType; 2],
    common: DType,
    sum: DType,
    rows: usize,
    integers: WideIntegers,
) -> Option<Shader> {
    let functions = [
        ("first", Function::of_cast(filter, common)?),
        ("second", Function::of_cast(image, common)?),
        ("wide", Function::of_cast(common, sum)?),
        ("times", Function::of_row(Op::Mul, sum)?),
        ("plus", Function::of_row(Op::Add, sum)?),
    ];
    let start = header(1);
    let mut text = declarations(2, 1, start + NAMES.len() + 2);
    text += &print_module_with(integers, functions.iter().map(|(name, f)| (*name, f)));
    let told = NAMES.iter().chain(&["of_column", "images"]).enumerate();
    for (k, name) in told {
        let value = number(start + k);
        writeln!(text, "fn {name}() -> u32 {{ return {value}; }}").ok();
    }
    for axis in 0..3 {
        text += &place_text(way, axis);
    }
    let cell = Cell::Of(sum);
    let name = cell.type_name(integers);
    let load_filter = Cell::Of(filter).load("in1", "p", integers);
    let load_image = Cell::Of(image).load("in0", "p", integers);
    write!(
        text,
        "fn left(p: u32) -> {name} {{ return wide(first({load_filter})); }}\n\
         fn right(p: u32) -> {name} {{ return wide(second({load_image})); }}\n\
         fn find(base: u32, window: vec3<u32>, tap: vec3<u32>) -> i32 {{\n    \
         let d = place0(window.x, tap.x);\n    \
         let r = place1(window.y, tap.y);\n    \
         let c = place2(window.z, tap.z);\n    \
         if (d < 0 || r < 0 || c < 0) {{ return -1; }}\n    \
         return i32(base + u32(d) * of_depth() + u32(r) * of_row() + u32(c) * of_column());\n}}\n\
         fn window_of(column: u32) -> vec3<u32> {{\n    \
         let rest = column / output2();\n    \
         return vec3<u32>(rest / output1(), rest % output1(), column % output2());\n}}\n\
         @compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let t = id.x + id.y * {};\n    \
         if (t >= {}) {{ return; }}\n    \
         let across = (windows() + {TILE}u - 1u) / {TILE}u;\n    \
         let down = (filters() + {rows}u - 1u) / {rows}u;\n    \
         let column = (t % across) * {TILE}u;\n    \
         let row = ((t / across) % down) * {rows}u;\n    \
         let both = t / (across * down);\n    \
         let batch = both % batches();\n    \
         let part = both / batches();\n    \
         let group = batch % groups();\n    \
         let base = images() + (batch / groups()) * of_image() \
         + group * channels() * of_plane();\n    \
         let matrix = weights() + group * of_group();\n",
        number(2),
        number(0)
    )
    .ok();
    for j in 0..TILE {
        // Beyond the last window that is read once more, and not written.
        writeln!(
            text,
            "    let window{j} = window_of(min(column + {j}u, windows() - 1u));"
        )
        .ok();
    }
    for i in 0..rows {
        writeln!(
            text,
            "    let filter{i} = matrix + min(row + {i}u, filters() - 1u) * of_filter();"
        )
        .ok();
        for j in 0..TILE {
            writeln!(text, "    var c{i}{j} = {name}();").ok();
        }
    }
    text += "    let last = min((part + 1u) * segment(), taps());\n    \
             for (var k = part * segment(); k < last; k++) {\n        \
             let rest = k / kernel2();\n        \
             let tap = vec3<u32>(rest / kernel1(), rest % kernel1(), k % kernel2());\n";
    for j in 0..TILE {
        writeln!(text, "        let p{j} = find(base, window{j}, tap);").ok();
    }
    text += "        for (var c = 0u; c < channels(); c++) {\n";
    for j in 0..TILE {
        writeln!(
            text,
            "            var y{j} = {name}();\n            \
             if (p{j} >= 0) {{ y{j} = right(u32(p{j}) + c * of_plane()); }}"
        )
        .ok();
    }
    for i in 0..rows {
        writeln!(
            text,
            "            let x{i} = left(filter{i} + c * of_channel() + k);"
        )
        .ok();
        for j in 0..TILE {
            let sum = format!("c{i}{j} = plus(c{i}{j}, times(x{i}, y{j}));");
            match way {
                Way::Forward(_) => writeln!(text, "            {sum}").ok(),
                // Nothing is multiplied by what lies between elements: an infinite filter stays apart.
                Way::Transposed => writeln!(text, "            if (p{j} >= 0) {{ {sum} }}").ok(),
            };
        }
    }
    text += "        }\n    }\n";
    let words = cell.size() / 4;
    for i in 0..rows {
        for j in 0..TILE {
            let code = cell.encode(&format!("c{i}{j}"), integers);
            write!(
                text,
                "    if (row + {i}u < filters() && column + {j}u < windows()) {{\n        \
                 let at = ((both * filters() + row + {i}u) * windows() + column + {j}u) \
                 * {words}u;\n        \
                 let code = {code};\n"
            )
            .ok();
            text += &store_code(words);
            text += "    }\n";
        }
    }
    text += "}\n";
    Some(Shader {
        text,
        reads: 2,
        writes: 1,
    })
}

impl Gpu {
    /// A convolution; nothing where a shader may not see all.
    pub(crate) fn convolve(
        &'static self,
        op: &'static str,
        task: &Convolution,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let (way, axes, groups, has_bias) = match *task {
            Convolution::Forward {
                axes,
                groups,
                edge,
                has_bias,
            } => (Way::Forward(edge), axes, groups, has_bias),
            Convolution::Transposed {
                axes,
                groups,
                has_bias,
            } => (Way::Transposed, axes, groups, has_bias),
            _ => return Ok(None),
        };
        let ([image, filter, bias @ ..], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let stored = |dtype: DType| self.capabilities.storage(dtype);
        let common = output.dtype;
        let Some(sum) = accumulator(stored(common.compute())) else {
            return Ok(None);
        };
        let (of_images, of_filters) = (image.view.layout, filter.view.layout);
        let ([batch, planes, ..], [of_first, of_second, ..]) =
            (&of_images.shape()[..], &of_filters.shape()[..])
        else {
            return Ok(None);
        };
        let taps: usize = axes.iter().map(|axis| axis.kernel).product();
        let windows: usize = axes.iter().map(|axis| axis.output).product();
        if output.count == 0 || groups == 0 || taps == 0 || of_images.shape().count() == 0 {
            return Ok(None);
        }
        let channels = planes / groups;
        let filters = match way {
            Way::Forward(_) => of_first / groups,
            Way::Transposed => *of_second,
        };
        let [of_group, of_filter, of_channel] = match way {
            Way::Forward(_) => [filters * channels * taps, channels * taps, taps],
            Way::Transposed => [channels * filters * taps, taps, filters * taps],
        };
        let batches = batch * groups;
        let rows = if filters == 1 { 1 } else { TILE };
        let tiles = batches * filters.div_ceil(rows) * windows.div_ceil(TILE);
        // Taps of a segment: all, or so many that there are enough threads.
        let wanted = BUSY.div_ceil(tiles).min((taps * channels).div_ceil(LEAST));
        let segment = taps.div_ceil(wanted.clamp(1, taps));
        let segments = taps.div_ceil(segment);
        let (threads, results) = (tiles * segments, output.count);
        let is_small = [threads, results * segments, of_images.shape().count()];
        let is_near = |axis: &Axis| {
            let reach = axis.output.max(axis.input) * axis.stride + axis.kernel * axis.dilation;
            reach + axis.padding < i32::MAX as usize && !axis.is_adaptive
        };
        if is_small.iter().any(|n| *n > i32::MAX as usize) || !axes.iter().all(is_near) {
            return Ok(None);
        }
        let dtypes = [stored(image.dtype), stored(filter.dtype)];
        let weights = self.ordered(op, filter)?;
        let whole = Shape::new(op, &[of_filters.shape().count()])?;
        let (weight_block, weight_layout) = weights.part(&whole);
        let image_block = self.own(op, image.view.memory)?;
        let seen = [
            self.bind_view(image_block, dtypes[0].itemsize(), of_images),
            self.bind_view(weight_block, dtypes[1].itemsize(), &weight_layout),
        ];
        let [
            Some((bound_image, of_images)),
            Some((bound_filter, of_weights)),
        ] = seen
        else {
            return Ok(None);
        };
        let block = self.block(op, sum, results * segments)?;
        let Some((into, _)) = self.bind(&block, sum.itemsize(), [0, results * segments]) else {
            return Ok(None);
        };
        let strides = of_images.strides();
        let mut numbers = vec![threads as u32, 0, groups_row(), 0];
        let each = |of: fn(&Axis) -> usize| axes.iter().map(of).collect::<Vec<usize>>();
        numbers.extend(
            [
                vec![filters, channels, groups, windows, taps, segment, batches],
                vec![axes[1].kernel, axes[2].kernel],
                each(|axis| axis.output),
                each(|axis| axis.input),
                each(|axis| axis.stride),
                each(|axis| axis.padding),
                each(|axis| axis.dilation),
                vec![of_weights.offset(), of_group, of_filter, of_channel],
            ]
            .concat()
            .iter()
            .map(|n| *n as u32),
        );
        numbers.extend(strides.iter().map(|stride| *stride as u32));
        numbers.push(of_images.offset() as u32);
        let stored_common = stored(common);
        let key = format!("convolution {way:?} {dtypes:?} {stored_common:?} {sum:?} {rows}");
        let pipeline = self.pipeline(op, &key, || {
            shader(way, dtypes, stored_common, sum, rows, self.integers)
        })?;
        let [many, _] = super::groups(threads);
        let grid = [many.min(MOST_GROUPS), many.div_ceil(MOST_GROUPS)];
        let bounds = [bound_image, bound_filter, into];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        let sums = self.add_segments(op, Arc::new(block), sum, segments, results)?;
        let Some(sums) = sums else {
            return Ok(None);
        };
        let bias = match (bias, has_bias) {
            ([bias], true) => Some((self.ordered(op, bias)?, bias.dtype)),
            _ => None,
        };
        if bias.is_none() && sum == common {
            let (memory, count) = (sums, results);
            return Ok(Some(smallvec![Made { memory, count }]));
        }
        let shape = Shape::new(op, &[*batch, groups * filters, windows])?;
        let mut dtypes = vec![sum];
        let strides = [groups * filters * windows, windows, 1];
        let mut parts: Vec<Part<'_>> = vec![(self.own(op, &*sums)?, strided(&shape, &strides, 0))];
        if let Some((bias, dtype)) = &bias {
            dtypes.push(*dtype);
            parts.push(bias.strided(&shape, &[0, 1, 0]));
        }
        let builder = Builder::new(&dtypes);
        let mut value = builder.input(0);
        if bias.is_some() {
            value = value + builder.input(1).to(sum);
        }
        let program = builder.finish(&[value.to(common)]);
        let result = self.run_behind(op, &program, &shape, &parts)?;
        Ok(Some(made(result, results)))
    }
}

/// Threads in a row of groups.
fn groups_row() -> u32 {
    groups(1)[1]
}
