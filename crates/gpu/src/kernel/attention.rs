//! Attention without the matrix of weights: a group of threads goes through the keys for a few
//! queries, a block at a time, and scales what it has when a greater score comes.
//!
//! A thread has the scores of one key of a block, then the sums of some columns of the values. Blocks
//! are in the order of the keys, so the result depends on the sizes alone.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error, Scalar, WeakScalar};
use allotrope_op::task::contraction::Attention;
use allotrope_op::task::{Input, Made, Output, Results};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Layout, Op, Program, Shape};
use smallvec::smallvec;

use super::rowwise::made;
use super::{GROUP, MOST_GROUPS, declarations, header};
use crate::codec::{Cell, constant, constant_len, constant_words, number};
use crate::device::Gpu;
use crate::pipeline::Shader;
use crate::places::Places;

/// Queries of a group: the components of a vector.
const QUERIES: usize = 4;
/// The widest queries and values that fit into the memory and registers of a group.
const WIDEST: usize = 256;

/// The names of what the shader is told.
const NAMES: [&str; 13] = [
    "queries",
    "keys",
    "depth",
    "width",
    "blocks",
    "query_row",
    "query_column",
    "key_row",
    "key_column",
    "value_row",
    "value_column",
    "mask_row",
    "mask_column",
];

/// What a shader depends on.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The stored dtypes of queries, keys, values and mask.
    pub(crate) dtypes: Vec<DType>,
    pub(crate) common: DType,
    pub(crate) compute: DType,
    pub(crate) causal: bool,
    /// Columns of values that a thread has.
    pub(crate) columns: usize,
}

/// The shader, whose numbers of places come last.
pub(crate) fn shader(
    form: &Form,
    places: &Places,
    numbers: usize,
    integers: WideIntegers,
) -> Option<Shader> {
    let (common, compute) = (form.common, form.compute);
    let mut functions = vec![
        ("wide", Function::of_cast(common, compute)?),
        ("power", Function::of_row(Op::Exp, compute)?),
        ("greater", Function::of_row(Op::Maximum, compute)?),
    ];
    let names = ["query", "key", "value", "added"];
    let mut loads = String::new();
    let real = Cell::Of(compute).type_name(integers);
    for (k, dtype) in form.dtypes.iter().enumerate() {
        let name = ["query_cast", "key_cast", "value_cast", "mask_cast"][k];
        let load = Cell::Of(*dtype).load(&format!("in{k}"), "p", integers);
        if k == 3 && *dtype == DType::Bool {
            writeln!(loads, "fn is_seen(p: u32) -> bool {{ return {load}; }}").ok();
            continue;
        }
        let to = if k == 3 { compute } else { common };
        functions.push((name, Function::of_cast(*dtype, to)?));
        let given = match k {
            3 => format!("{name}({load})"),
            _ => format!("wide({name}({load}))"),
        };
        writeln!(
            loads,
            "fn {}_at(p: u32) -> {real} {{ return {given}; }}",
            names[k]
        )
        .ok();
    }
    let reads = form.dtypes.len();
    let mut text = declarations(reads, 1, numbers);
    text += &print_module_with(integers, functions.iter().map(|(n, f)| (*n, f)));
    text += &loads;
    let first = header(1);
    for (k, name) in NAMES.iter().enumerate() {
        let value = number(first + k);
        writeln!(text, "fn {name}() -> u32 {{ return {value}; }}").ok();
    }
    let constants = first + NAMES.len();
    let scale = constant(compute, constants, integers);
    let lowest = constant(compute, constants + constant_len(compute), integers);
    places.text(constants + 2 * constant_len(compute), &mut text);
    let each = |make: &dyn Fn(&str) -> String| {
        let parts = ["x", "y", "z", "w"].map(make);
        format!("vec4<{real}>({})", parts.join(", "))
    };
    let masked = match form.dtypes.get(3) {
        Some(DType::Bool) => {
            "            let p = place3(batch) + (first + r) * mask_row() + j * mask_column();\n            \
             if (!is_seen(p)) { score[r] = lowest; }\n"
        }
        Some(_) => {
            "            let p = place3(batch) + (first + r) * mask_row() + j * mask_column();\n            \
             score[r] = score[r] + added_at(p);\n"
        }
        None => "",
    };
    let (seen, last) = match form.causal {
        true => (
            "            if (j > first + r) { score[r] = lowest; }\n",
            format!("min(keys(), first + {QUERIES}u)"),
        ),
        false => ("", "keys()".to_owned()),
    };
    write!(
        text,
        "var<workgroup> rows: array<{real}, {}>;\n\
         var<workgroup> scores: array<vec4<{real}>, {GROUP}>;\n\
         var<workgroup> weights: array<vec4<{real}>, {GROUP}>;\n\
         fn powers(x: vec4<{real}>) -> vec4<{real}> {{ return {}; }}\n\
         fn greatest(x: vec4<{real}>, y: vec4<{real}>) -> vec4<{real}> {{ return {}; }}\n",
        QUERIES * WIDEST,
        each(&|part| format!("power(x.{part})")),
        each(&|part| format!("greater(x.{part}, y.{part})")),
    )
    .ok();
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_id) local: vec3<u32>) {{\n    \
         let t = group.x + group.y * {MOST_GROUPS}u;\n    \
         if (t >= {count}) {{ return; }}\n    \
         let lane = local.x;\n    let batch = t / blocks();\n    \
         let first = (t % blocks()) * {QUERIES}u;\n    \
         let lowest = {lowest};\n    let scale = {scale};\n    \
         let q = place0(batch);\n    let k = place1(batch);\n    let v = place2(batch);\n    \
         for (var i = lane; i < {QUERIES}u * depth(); i += {GROUP}u) {{\n        \
         let row = min(first + i / depth(), queries() - 1u);\n        \
         rows[i] = query_at(q + row * query_row() + (i % depth()) * query_column());\n    }}\n    \
         workgroupBarrier();\n    \
         var most = vec4<{real}>(lowest);\n    var total = vec4<{real}>();\n",
        count = number(0),
    )
    .ok();
    for c in 0..form.columns {
        writeln!(text, "    var sum{c} = vec4<{real}>();").ok();
    }
    write!(
        text,
        "    let last = {last};\n    \
         for (var start = 0u; start < last; start += {GROUP}u) {{\n        \
         let j = start + lane;\n        \
         var score = vec4<{real}>(lowest);\n        \
         if (j < last) {{\n            \
         var dot = vec4<{real}>();\n            \
         for (var i = 0u; i < depth(); i++) {{\n                \
         let x = key_at(k + j * key_row() + i * key_column());\n                \
         dot = dot + x * vec4<{real}>(rows[i], rows[depth() + i], rows[2u * depth() + i], \
         rows[3u * depth() + i]);\n            }}\n            \
         score = dot * scale;\n            \
         for (var r = 0u; r < {QUERIES}u; r++) {{\n            \
         if (first + r < queries()) {{\n{masked}{seen}            }}\n            }}\n        }}\n        \
         scores[lane] = score;\n        workgroupBarrier();\n        \
         var now = most;\n        \
         let count = min({GROUP}u, last - start);\n        \
         for (var i = 0u; i < count; i++) {{ now = greatest(now, scores[i]); }}\n        \
         let shift = select(now, vec4<{real}>(), now == vec4<{real}>(lowest));\n        \
         let kept = powers(most - shift);\n        \
         let weight = powers(score - shift);\n        \
         weights[lane] = weight;\n        workgroupBarrier();\n        \
         total = total * kept + weight;\n        most = now;\n"
    )
    .ok();
    for c in 0..form.columns {
        writeln!(text, "        sum{c} = sum{c} * kept;").ok();
    }
    text += "        for (var i = 0u; i < count; i++) {\n            let row = v + (start + i) * value_row();\n";
    for c in 0..form.columns {
        writeln!(
            text,
            "            if (lane + {at}u < width()) {{ sum{c} = sum{c} \
             + weights[i] * value_at(row + (lane + {at}u) * value_column()); }}",
            at = c * GROUP
        )
        .ok();
    }
    write!(
        text,
        "        }}\n        workgroupBarrier();\n    }}\n    \
         scores[lane] = total;\n    workgroupBarrier();\n    \
         var all = vec4<{real}>();\n    \
         for (var i = 0u; i < {GROUP}u; i++) {{ all = all + scores[i]; }}\n    \
         for (var r = 0u; r < {QUERIES}u; r++) {{\n        \
         if (first + r >= queries()) {{ break; }}\n        \
         let base = (batch * queries() + first + r) * width();\n        \
         let is_nothing = all[r] == {real}();\n"
    )
    .ok();
    let cell = Cell::Of(compute);
    let words = cell.size() / 4;
    let code = cell.encode("made", integers);
    for c in 0..form.columns {
        write!(
            text,
            "        if (lane + {at}u < width()) {{\n            \
             var made = {real}();\n            \
             if (!is_nothing) {{ made = sum{c}[r] / all[r]; }}\n            \
             let at = (base + lane + {at}u) * {words}u;\n            let code = {code};\n",
            at = c * GROUP
        )
        .ok();
        text += match words {
            1 => "            out0[at] = code;\n        }\n",
            _ => "            out0[at] = code.x;\n            out0[at + 1u] = code.y;\n        }\n",
        };
    }
    text += "    }\n}\n";
    Some(Shader {
        text,
        reads,
        writes: 1,
    })
}

impl Gpu {
    /// Attention; nothing for what does not fit into a group, or where a shader may not see all.
    pub(crate) fn attend(
        &'static self,
        op: &'static str,
        task: &Attention,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([q, k, v, mask @ ..], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let layouts = [q, k, v].map(|input| input.view.layout);
        let outer = layouts[0].rank().saturating_sub(2);
        let size = |layout: &Layout, dim: usize| layout.shape().get(outer + dim).copied();
        let sizes = [
            size(layouts[0], 0),
            size(layouts[1], 0),
            size(layouts[0], 1),
            size(layouts[2], 1),
        ];
        let [Some(queries), Some(keys), Some(depth), Some(width)] = sizes else {
            return Ok(None);
        };
        let batch = Shape::new(op, &layouts[0].shape()[..outer])?;
        let results = batch.count() * queries * width;
        let is_empty = [queries, keys, depth, width, batch.count()].contains(&0);
        let fits = depth <= WIDEST && width <= WIDEST && output.count == results;
        if is_empty || !fits || results >= u32::MAX as usize || task.mask == mask.is_empty() {
            return Ok(None);
        }
        let stored = |dtype| self.capabilities.storage(dtype);
        let form = Form {
            dtypes: inputs.iter().map(|input| stored(input.dtype)).collect(),
            common: stored(task.common),
            compute: stored(task.common.compute()),
            causal: task.causal,
            columns: width.div_ceil(GROUP),
        };
        let mut bounds = Vec::new();
        let mut begins = Vec::new();
        let mut strides = Vec::new();
        for (input, dtype) in inputs.iter().zip(&form.dtypes) {
            let block = self.own(op, input.view.memory)?;
            let seen = self.bind_view(block, dtype.itemsize(), input.view.layout);
            let Some((bound, layout)) = seen else {
                return Ok(None);
            };
            bounds.push(bound);
            let outer_strides = layout.strides()[..outer].into();
            begins.push(Layout::from_parts(
                batch.clone(),
                outer_strides,
                layout.offset(),
            ));
            let inner = &layout.strides()[outer..];
            strides.extend(inner.iter().map(|stride| *stride as u32));
        }
        // bounded: the strides of four matrices.
        strides.resize(8, 0);
        let compute = form.compute;
        let block = self.block(op, compute, results)?;
        let Some((into, _)) = self.bind(&block, compute.itemsize(), [0, results]) else {
            return Ok(None);
        };
        bounds.push(into);
        let begins: Vec<&Layout> = begins.iter().collect();
        let places = Places::new(&batch, &begins);
        let blocks = queries.div_ceil(QUERIES);
        let groups = (batch.count() * blocks) as u32;
        let mut numbers = vec![groups, 0, 0, 0];
        numbers.extend([queries, keys, depth, width, blocks].map(|n| n as u32));
        numbers.extend(strides);
        for value in [task.scale, f64::NEG_INFINITY] {
            let scalar = Scalar::new(WeakScalar::Float(value), compute)?;
            numbers.extend(constant_words(scalar));
        }
        places.numbers(&mut numbers);
        let key = format!("attention {form:?}|{}", places.key());
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || shader(&form, &places, total, self.integers))?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        if compute == output.dtype {
            let (memory, count) = (Arc::new(block), results);
            return Ok(Some(smallvec![Made { memory, count }]));
        }
        let mut program = Program::new(&[compute]);
        let slot = program.convert(0, output.dtype);
        program.output(slot);
        let shape = Shape::new(op, &[results])?;
        let parts = [(&block, Layout::contiguous(shape.clone()))];
        let result = self.run_behind(op, &program, &shape, &parts)?;
        Ok(Some(made(result, results)))
    }
}
