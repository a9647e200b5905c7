//! Numbers about lines: a group of threads, or one thread, goes through the items of each line, with
//! a program in front.
//!
//! Threads of a group fold items that are a group apart, then a tree folds what they have: the order
//! depends on the sizes alone. What is made of the numbers is a program behind, over views in which
//! the elements of a line share them.

use std::fmt::Write;

use allotrope_dtype::{DType, Error, Scalar, WeakScalar};
use allotrope_op::wgsl::{Function, WideIntegers};
use allotrope_op::{Builder, Fold, Layout, Op, Program, Shape};

use super::run::{Part, item};
use super::state::State;
use super::{GROUP, MOST_GROUPS, declarations, groups, header};
use crate::codec::{Cell, constant, constant_len, constant_words, number};
use crate::device::Gpu;
use crate::lower::{Lowered, lower};
use crate::memory::Block;
use crate::pipeline::Shader;

/// Items from which on a group of threads works on a line.
const LONG: usize = 128;
/// Lines side by side from which on each has one thread: neighbours read neighbours.
const MANY: usize = 4096;

/// Lines among elements: item `j` of line `l` is element `l / inner * block + l % inner * lane +
/// j / run * jump + j % run * step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) count: usize,
    pub(crate) items: usize,
    inner: usize,
    block: usize,
    lane: usize,
    run: usize,
    jump: usize,
    step: usize,
}

impl Lines {
    /// Lines along the middle of three sizes.
    pub(crate) fn along([outer, length, inner]: [usize; 3]) -> Self {
        Self {
            count: outer * inner,
            items: length,
            inner,
            block: length * inner,
            lane: 1,
            run: 1,
            jump: inner,
            step: 0,
        }
    }

    /// A line for each place in the middle of three sizes, with all else.
    pub(crate) fn across([outer, channels, inner]: [usize; 3]) -> Self {
        Self {
            count: channels,
            items: outer * inner,
            inner: 1,
            block: inner,
            lane: 0,
            run: inner,
            jump: channels * inner,
            step: 1,
        }
    }

    /// Threads for a line.
    fn lanes(&self) -> usize {
        let is_side_by_side = self.inner > 1 && self.count >= MANY;
        if self.items < LONG || is_side_by_side {
            1
        } else {
            GROUP
        }
    }

    fn numbers(&self) -> [u32; 7] {
        [
            self.items, self.inner, self.block, self.lane, self.run, self.jump, self.step,
        ]
        .map(|n| n as u32)
    }
}

/// What is found out about a line; all of it in the dtype of sums.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// The greatest item, and one divided by the sum of the exponentials of items less that, or the
    /// logarithm of the sum.
    Exponentials { logarithm: bool },
    /// The mean, what it is off by, one divided by the root of the variance and `eps`, the mean
    /// corrected, the variance. Without a mean all is around zero.
    Moments { centers: bool, eps: f64 },
    /// The sum of each output of the program, which are of the dtype of sums.
    Sums(usize),
}

impl Measure {
    /// How many numbers there are of a line.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Exponentials { .. } => 2,
            Self::Moments { .. } => 5,
            Self::Sums(count) => count,
        }
    }

    fn eps(self) -> f64 {
        match self {
            Self::Moments { eps, .. } => eps,
            _ => 0.0,
        }
    }

    fn key(self) -> String {
        match self {
            Self::Moments { centers, .. } => format!("moments {centers}"),
            other => format!("{other:?}"),
        }
    }
}

/// A fold in a loop over the items of a line.
struct Folded<'a> {
    name: &'a str,
    kind: String,
    start: String,
    term: String,
    join: &'a str,
}

/// The text of a loop over items, and of the tree behind it; and the memory that the tree is in.
fn fold_items(before: &str, folds: &[Folded<'_>], lanes: usize) -> [String; 2] {
    let items = number(header(1));
    let (mut text, mut memory) = (String::new(), String::new());
    for fold in folds {
        writeln!(text, "    var {} = {};", fold.name, fold.start).ok();
    }
    writeln!(
        text,
        "    for (var j = lane; j < {items}; j += {lanes}u) {{\n        \
         let i = element(line, j);\n{before}"
    )
    .ok();
    for Folded {
        name, term, join, ..
    } in folds
    {
        writeln!(text, "        {name} = {join}({name}, {term});").ok();
    }
    text += "    }\n";
    if lanes == 1 {
        return [text, memory];
    }
    for Folded {
        name, kind, join, ..
    } in folds
    {
        writeln!(memory, "var<workgroup> all_{name}: array<{kind}, {lanes}>;").ok();
        write!(
            text,
            "    all_{name}[lane] = {name};\n    workgroupBarrier();\n    \
             for (var half = {}u; half > 0u; half = half / 2u) {{\n        \
             if (lane < half) {{\n            \
             all_{name}[lane] = {join}(all_{name}[lane], all_{name}[lane + half]);\n        }}\n        \
             workgroupBarrier();\n    }}\n    \
             {name} = all_{name}[0];\n",
            lanes / 2
        )
        .ok();
    }
    [text, memory]
}

/// A function of a program without constants.
fn function<const N: usize>(
    dtypes: [DType; N],
    make: impl for<'b> Fn([allotrope_op::Var<'b>; N]) -> allotrope_op::Var<'b>,
) -> Option<Function> {
    let builder = Builder::new(&dtypes);
    let inputs = std::array::from_fn(|k| builder.input(k));
    Function::of_program(&builder.finish(&[make(inputs)]))
}

/// How numbers about lines are computed: items of one stored dtype, sums in another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinds {
    pub(crate) item: DType,
    pub(crate) sum: DType,
    pub(crate) float64: bool,
}

/// The shader that writes the numbers of all lines: the first of each line, then the second.
#[allow(clippy::too_many_arguments, reason = "each is a part of a shader")]
pub(crate) fn shader(
    measure: Measure,
    kinds: Kinds,
    lanes: usize,
    lowered: &Lowered,
    reader: &super::run::Reader<'_>,
    reads: usize,
    integers: WideIntegers,
) -> Option<Shader> {
    let Kinds {
        item: c, sum: w, ..
    } = kinds;
    let state = State::of_fold(Fold::Sum, c, kinds.float64);
    let mut functions = state.functions(w)?;
    functions.extend([
        ("widened", Function::of_cast(c, w)?),
        ("narrowed", Function::of_cast(w, c)?),
        ("less", Function::of_row(Op::Sub, c)?),
        ("inverse", Function::of_row(Op::Reciprocal, w)?),
        ("greater", Function::of_row(Op::Maximum, c)?),
        ("at_least", Function::of_row(Op::Maximum, w)?),
        ("away", function([c, c], |[x, y]| (x - y).exp())?),
        ("logarithm", Function::of_row(Op::Log, w)?),
        ("plus", Function::of_row(Op::Add, w)?),
        ("minus", Function::of_row(Op::Sub, w)?),
        ("times", Function::of_row(Op::Mul, w)?),
        ("over", Function::of_row(Op::Div, w)?),
        ("scaled", function([w, w], |[x, y]| (x + y).rsqrt())?),
    ]);
    let called: Vec<(&str, &Function)> = functions.iter().map(|(n, f)| (*n, f)).collect();
    let first = header(1) + 7;
    let (length, eps) = (
        constant(w, first, integers),
        constant(w, first + constant_len(w), integers),
    );
    let (items, numbers) = item(
        "item",
        lowered,
        reader,
        integers,
        first + 2 * constant_len(w),
        &called,
    )?;
    let (wide, sum) = (
        Cell::Of(w).type_name(integers),
        state.cell().type_name(integers),
    );
    let narrow = Cell::Of(c).type_name(integers);
    let mut text = declarations(reads, 1, numbers);
    text += &items;
    text += &state.text(w, integers);
    let [inner, block, lane, run, jump, step] = [1, 2, 3, 4, 5, 6].map(|k| number(header(1) + k));
    let lift = if c == w { "lift(x)" } else { "x" };
    write!(
        text,
        "fn lift_wide(x: {wide}) -> {sum} {{ return {lift}; }}\n\
         fn element(line: u32, j: u32) -> u32 {{\n    \
         return (line / {inner}) * {block} + (line % {inner}) * {lane} + (j / {run}) * {jump} \
         + (j % {run}) * {step};\n}}\n"
    )
    .ok();
    let sums = |name: &'static str, term: String| Folded {
        name,
        kind: sum.clone(),
        start: format!("lift({narrow}())"),
        term,
        join: "join",
    };
    let mut body = String::new();
    let mut fold = |body: &mut String, before: &str, folds: &[Folded<'_>]| {
        let [loops, memory] = fold_items(before, folds, lanes);
        text += &memory;
        *body += &loops;
    };
    let results: Vec<String> = match measure {
        Measure::Exponentials { logarithm } => {
            let most = Folded {
                name: "most",
                kind: narrow.clone(),
                start: "item(element(line, 0u))".to_owned(),
                term: "item(i)".to_owned(),
                join: "greater",
            };
            fold(&mut body, "", &[most]);
            let total = sums("total", "lift(away(item(i), most))".to_owned());
            fold(&mut body, "", &[total]);
            let total = if logarithm {
                "logarithm(finish(total))"
            } else {
                "inverse(finish(total))"
            };
            vec!["widened(most)".to_owned(), total.to_owned()]
        }
        Measure::Moments { centers, .. } => {
            let away = if centers {
                let total = sums("total", "lift(item(i))".to_owned());
                fold(&mut body, "", &[total]);
                // The mean that elements are compared with is one of theirs; the rest is found next.
                write!(
                    body,
                    "    let near = narrowed(over(finish(total), {length}));\n    \
                     let mean = widened(near);\n"
                )
                .ok();
                "widened(less(item(i), near))"
            } else {
                writeln!(body, "    let mean = {wide}();").ok();
                "widened(item(i))"
            };
            let before = format!("        let away_from = {away};\n");
            let squares = sums(
                "squares",
                "lift_wide(times(away_from, away_from))".to_owned(),
            );
            if centers {
                let rest = sums("rest", "lift_wide(away_from)".to_owned());
                fold(&mut body, &before, &[squares, rest]);
                writeln!(body, "    let off = over(finish(rest), {length});").ok();
            } else {
                fold(&mut body, &before, &[squares]);
                writeln!(body, "    let off = {wide}();").ok();
            }
            write!(
                body,
                "    let spread = minus(over(finish(squares), {length}), times(off, off));\n    \
                 let variance = at_least(spread, {wide}());\n    \
                 let scale = scaled(variance, {eps});\n    \
                 let center = plus(mean, off);\n"
            )
            .ok();
            ["mean", "off", "scale", "center", "variance"]
                .map(str::to_owned)
                .into()
        }
        Measure::Sums(count) => {
            const NAMES: [&str; 4] = ["sum0", "sum1", "sum2", "sum3"];
            let names = NAMES.get(..count)?;
            let value = |k: usize| match count {
                1 => "made".to_owned(),
                _ => format!("made.r{k}"),
            };
            let folds = names.iter().enumerate();
            let folds: Vec<Folded<'_>> = folds
                .map(|(k, name)| sums(name, format!("lift_wide({})", value(k))))
                .collect();
            fold(&mut body, "        let made = item(i);\n", &folds);
            names.iter().map(|name| format!("finish({name})")).collect()
        }
    };
    let line = match lanes {
        1 => format!(
            "    let line = (group.x + group.y * {MOST_GROUPS}u) * {GROUP}u + local.x;\n    \
             let lane = 0u;\n"
        ),
        _ => {
            format!("    let line = group.x + group.y * {MOST_GROUPS}u;\n    let lane = local.x;\n")
        }
    };
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(workgroup_id) group: vec3<u32>, \
         @builtin(local_invocation_id) local: vec3<u32>) {{\n\
         {line}    if (line >= {count}) {{ return; }}\n{body}    \
         if (lane > 0u) {{ return; }}\n",
        count = number(0)
    )
    .ok();
    let cell = Cell::Of(w);
    let words = cell.size() / 4;
    for (k, result) in results.iter().enumerate() {
        writeln!(text, "    let result{k} = {result};").ok();
        let code = cell.encode(&format!("result{k}"), integers);
        let at = format!("({k}u * {} + line) * {words}u", number(0));
        match words {
            1 => writeln!(text, "    out0[{at}] = {code};").ok(),
            _ => writeln!(
                text,
                "    let code{k} = {code};\n    out0[{at}] = code{k}.x;\n    \
                 out0[{at} + 1u] = code{k}.y;"
            )
            .ok(),
        };
    }
    text += "}\n";
    Some(Shader {
        text,
        reads,
        writes: 1,
    })
}

impl Gpu {
    /// What is found out about every line of what a program makes of parts of a shape, in dtype `sum`:
    /// the first number of all lines, then the second and so on. Nothing if a shader may not see all.
    #[allow(clippy::too_many_arguments, reason = "each is a part of what is asked")]
    pub(crate) fn measure_lines(
        &'static self,
        op: &'static str,
        measure: Measure,
        lines: Lines,
        program: &Program,
        shape: &Shape,
        parts: &[Part<'_>],
        [item, sum]: [DType; 2],
    ) -> Result<Option<Block>, Error> {
        let lowered = lower(program, &self.capabilities)?;
        let stored = |dtype| self.capabilities.storage(dtype);
        let kinds = Kinds {
            item: stored(item),
            sum: stored(sum),
            float64: self.numerics.float64,
        };
        let Some(reader) = self.reader(lowered.program.input_dtypes(), shape, parts) else {
            return Ok(None);
        };
        let results = lines.count * measure.count();
        let most = self.limits.max_storage_buffers_per_shader_stage as usize;
        let is_small = shape.count() < u32::MAX as usize && results < u32::MAX as usize;
        if reader.bounds().len() + 1 > most || !is_small || results == 0 || lines.items == 0 {
            return Ok(None);
        }
        let block = self.block(op, sum, results)?;
        let Some((into, _)) = self.bind(&block, kinds.sum.itemsize(), [0, results]) else {
            return Ok(None);
        };
        let lanes = lines.lanes();
        let mut numbers = vec![lines.count as u32, 0, 0, 0];
        numbers.extend(lines.numbers());
        for value in [lines.items as f64, measure.eps()] {
            numbers.extend(constant_words(Scalar::new(
                WeakScalar::Float(value),
                kinds.sum,
            )?));
        }
        numbers.extend(reader.numbers(&lowered));
        let key = format!(
            "lines {} {:?} {lanes}|{}",
            measure.key(),
            kinds,
            reader.key(&lowered)
        );
        let reads = reader.bounds().len();
        let pipeline = self.pipeline(op, &key, || {
            let integers = self.integers;
            shader(measure, kinds, lanes, &lowered, &reader, reads, integers)
        })?;
        let groups = match lanes {
            1 => groups(lines.count)[0],
            _ => lines.count as u32,
        };
        let mut bounds = reader.bounds().to_vec();
        bounds.push(into);
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        Ok(Some(block))
    }

    /// What a program of one output makes of parts of a shape, in new memory.
    pub(crate) fn run_behind(
        &'static self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        parts: &[Part<'_>],
    ) -> Result<Block, Error> {
        let dtype = program.output_dtypes().next().unwrap_or(DType::Bool);
        let lowered = lower(program, &self.capabilities)?;
        let block = self.block(op, dtype, shape.count())?;
        self.run_parts(op, &lowered, shape, parts, &[&block], 0)?;
        Ok(block)
    }
}

/// A layout of these strides from an element on.
pub(crate) fn strided(shape: &Shape, strides: &[usize], offset: usize) -> Layout {
    let strides = strides.iter().map(|stride| *stride as isize).collect();
    Layout::from_parts(shape.clone(), strides, offset)
}
