//! Matrix products: each thread sums four by four results in registers, along the whole inner size.
//!
//! The order of a sum is that of the inner dimension, and depends on nothing else.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error, WeakScalar};
use allotrope_op::task::contraction::MatrixProduct;
use allotrope_op::task::{Input, Made, Output, Results};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Layout, Op, Program, Shape, Shared};
use smallvec::smallvec;

use super::{GROUP, MOST_GROUPS, declarations, groups, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::lower::lower;
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::places::Places;

/// Rows and columns of results that a thread sums.
const TILE: usize = 4;
/// Inner sizes beyond this are too long for one thread where there are few of them.
const LONG: usize = 4096;

/// What a device sums products of a stored dtype in: words at least, so that every result has its own.
fn accumulator(sum: DType) -> Option<DType> {
    match sum {
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => Some(sum),
        d if d.is_integer() && d.bits() == 64 => Some(sum),
        d if d.is_integer() && d.is_signed() => Some(DType::I32),
        d if d.is_integer() => Some(DType::U32),
        _ => None,
    }
}

/// The numbers that the shader is told before those of places: sizes, then the strides of a row and a
/// column of both factors.
const NUMBERS: usize = 7;

/// The shader for factors of two dtypes, converted to one, summed in another.
fn shader(
    [a, b]: [DType; 2],
    common: DType,
    sum: DType,
    places: &Places,
    numbers: usize,
    integers: WideIntegers,
) -> Option<Shader> {
    let casts = [
        ("first", Function::of_cast(a, common)?),
        ("second", Function::of_cast(b, common)?),
        ("wide", Function::of_cast(common, sum)?),
        ("times", Function::of_row(Op::Mul, sum)?),
        ("plus", Function::of_row(Op::Add, sum)?),
    ];
    let mut text = declarations(2, 1, numbers);
    text += &print_module_with(integers, casts.iter().map(|(name, f)| (*name, f)));
    let first = header(1);
    places.text(first + NUMBERS, &mut text);
    let [m, k, n, a_row, a_column, b_row, b_column] =
        [0, 1, 2, 3, 4, 5, 6].map(|place| number(first + place));
    let cell = Cell::Of(sum);
    let name = cell.type_name(integers);
    let (load_a, load_b) = (
        Cell::Of(a).load("in0", "p", integers),
        Cell::Of(b).load("in1", "p", integers),
    );
    write!(
        text,
        "fn left(p: u32) -> {name} {{ return wide(first({load_a})); }}\n\
         fn right(p: u32) -> {name} {{ return wide(second({load_b})); }}\n\
         @compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let t = id.x + id.y * {};\n    \
         if (t >= {}) {{ return; }}\n    \
         let across = ({n} + {TILE}u - 1u) / {TILE}u;\n    \
         let down = ({m} + {TILE}u - 1u) / {TILE}u;\n    \
         let column = (t % across) * {TILE}u;\n    \
         let row = ((t / across) % down) * {TILE}u;\n    \
         let batch = t / (across * down);\n    \
         let a = place0(batch);\n    let b = place1(batch);\n",
        number(2),
        number(0)
    )
    .ok();
    for i in 0..TILE {
        // Beyond the matrix the last row or column is read once more, and not written.
        writeln!(
            text,
            "    var a{i} = a + min(row + {i}u, {m} - 1u) * {a_row};"
        )
        .ok();
        writeln!(
            text,
            "    var b{i} = b + min(column + {i}u, {n} - 1u) * {b_column};"
        )
        .ok();
        for j in 0..TILE {
            writeln!(text, "    var c{i}{j} = {name}();").ok();
        }
    }
    writeln!(text, "    for (var step = 0u; step < {k}; step++) {{").ok();
    for i in 0..TILE {
        writeln!(text, "        let x{i} = left(a{i} + step * {a_column});").ok();
        writeln!(text, "        let y{i} = right(b{i} + step * {b_row});").ok();
    }
    for i in 0..TILE {
        for j in 0..TILE {
            writeln!(text, "        c{i}{j} = plus(c{i}{j}, times(x{i}, y{j}));").ok();
        }
    }
    text += "    }\n";
    let words = cell.size() / 4;
    for i in 0..TILE {
        for j in 0..TILE {
            let code = cell.encode(&format!("c{i}{j}"), integers);
            write!(
                text,
                "    if (row + {i}u < {m} && column + {j}u < {n}) {{\n        \
                 let at = ((batch * {m} + row + {i}u) * {n} + column + {j}u) * {words}u;\n        \
                 let code = {code};\n"
            )
            .ok();
            match words {
                1 => text += "        out0[at] = code;\n",
                _ => {
                    for (w, part) in ["x", "y", "z", "w"].iter().enumerate().take(words) {
                        writeln!(text, "        out0[at + {w}u] = code.{part};").ok();
                    }
                }
            }
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
    /// A product of matrices; nothing where another way is better, or a shader may not see all.
    pub(crate) fn multiply_matrices(
        &'static self,
        op: &'static str,
        task: &MatrixProduct,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let is_one = match task.alpha {
            WeakScalar::Int(alpha) => alpha == 1,
            WeakScalar::Float(alpha) => alpha == 1.0,
            _ => false,
        };
        let ([left, right], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let stored = |dtype: DType| self.capabilities.storage(dtype);
        let Some(sum) = accumulator(stored(task.sum)) else {
            return Ok(None);
        };
        let (a, b) = (left.view.layout, right.view.layout);
        let outer = a.rank().saturating_sub(2);
        let ([.., m, k], [.., n]) = (&a.shape()[..], &b.shape()[..]) else {
            return Ok(None);
        };
        let [m, k, n] = [*m, *k, *n];
        let batch = Shape::new(op, &a.shape()[..outer])?;
        let (results, threads) = (
            batch.count() * m * n,
            batch.count() * m.div_ceil(TILE) * n.div_ceil(TILE),
        );
        let is_long = k > LONG && threads < 4 * GROUP;
        let fits = output.count == results && results < u32::MAX as usize;
        if !is_one || task.beta.is_some() || results == 0 || k == 0 || is_long || !fits {
            return Ok(None);
        }
        let dtypes = [stored(left.dtype), stored(right.dtype)];
        let blocks = [
            self.own(op, left.view.memory)?,
            self.own(op, right.view.memory)?,
        ];
        let seen = [
            self.bind_view(blocks[0], dtypes[0].itemsize(), a),
            self.bind_view(blocks[1], dtypes[1].itemsize(), b),
        ];
        let [Some((bound_a, a)), Some((bound_b, b))] = seen else {
            return Ok(None);
        };
        let block = self.block(op, sum, results)?;
        let Some((into, _)) = self.bind(&block, sum.itemsize(), [0, results]) else {
            return Ok(None);
        };
        // Where the matrices of a batch begin.
        let begin = |layout: &Layout| {
            let strides = layout.strides()[..outer].into();
            Layout::from_parts(batch.clone(), strides, layout.offset())
        };
        let places = Places::new(&batch, &[&begin(&a), &begin(&b)]);
        let [groups, row] = groups(threads);
        let mut numbers = vec![threads as u32, 0, row, 0, m as u32, k as u32, n as u32];
        for layout in [&a, &b] {
            let strides = &layout.strides()[outer..];
            numbers.extend(strides.iter().map(|stride| *stride as u32));
        }
        places.numbers(&mut numbers);
        let common = stored(task.common);
        let key = format!("product {dtypes:?} {common:?} {sum:?}|{}", places.key());
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            shader(dtypes, common, sum, &places, total, self.integers)
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &[bound_a, bound_b, into], &numbers, grid)?;
        let memory = self.converted(op, block, sum, output.dtype, results)?;
        let count = results;
        Ok(Some(smallvec![Made { memory, count }]))
    }

    /// The elements of a block in another dtype, rounded once.
    fn converted(
        &'static self,
        op: &'static str,
        block: Block,
        from: DType,
        to: DType,
        count: usize,
    ) -> Result<Shared, Error> {
        if from == to {
            return Ok(Arc::new(block));
        }
        let mut program = Program::new(&[from]);
        let result = program.convert(0, to);
        program.output(result);
        let lowered = lower(&program, &self.capabilities)?;
        let shape = Shape::new(op, &[count])?;
        let target = self.block(op, to, count)?;
        let parts = [(&block, Layout::contiguous(shape.clone()))];
        self.run_parts(op, &lowered, &shape, &parts, &[&target], 0)?;
        Ok(Arc::new(target))
    }
}
