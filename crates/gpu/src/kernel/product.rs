//! Matrix products: each thread sums four by four results in registers, or four in a row where there
//! is one row or column.
//!
//! The order of a sum is that of the inner dimension. Where there are few results and a long inner
//! size, that is cut into segments, which the sizes decide, and the sums of these are added.

use std::fmt::Write;
use std::sync::Arc;

use allotrope_dtype::{DType, Error, Scalar, WeakScalar};
use allotrope_op::task::contraction::MatrixProduct;
use allotrope_op::task::{Input, Made, Output, Results};
use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};
use allotrope_op::{Builder, Fold, Layout, Op, Shape, Shared, View};
use smallvec::smallvec;

use super::rowwise::same;
use super::{GROUP, MOST_GROUPS, declarations, groups, header, store_code};
use crate::codec::{Cell, number};
use crate::device::Gpu;
use crate::pipeline::Shader;
use crate::places::Places;

/// Rows and columns of results that a thread sums.
const TILE: usize = 4;
/// Threads that are enough to keep a device busy.
const BUSY: usize = 2048;
/// Products that a thread sums at least before the inner size is cut.
const LEAST: usize = 1024;

/// What a device sums products of a stored dtype in: words at least, so that every result has its own.
pub(crate) fn accumulator(sum: DType) -> Option<DType> {
    match sum {
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => Some(sum),
        // How many products are true; a sum is true if there are any.
        DType::Bool => Some(DType::U32),
        d if d.is_integer() && d.bits() == 64 => Some(sum),
        d if d.is_integer() && d.is_signed() => Some(DType::I32),
        d if d.is_integer() => Some(DType::U32),
        _ => None,
    }
}

/// The numbers that the shader is told before those of places: sizes, the strides of a row and a
/// column of both factors, the inner size of a segment, and how many matrices there are.
const NUMBERS: usize = 9;

/// The shader for factors of two dtypes, converted to one, summed in another, so many rows and columns
/// of results by a thread.
#[allow(clippy::too_many_arguments, reason = "each is a part of a shader")]
pub(crate) fn shader(
    [a, b]: [DType; 2],
    common: DType,
    sum: DType,
    [rows, columns]: [usize; 2],
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
    let [m, k, n, a_row, a_column, b_row, b_column, segment, batches] =
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|place| number(first + place));
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
         let across = ({n} + {columns}u - 1u) / {columns}u;\n    \
         let down = ({m} + {rows}u - 1u) / {rows}u;\n    \
         let column = (t % across) * {columns}u;\n    \
         let row = ((t / across) % down) * {rows}u;\n    \
         let both = t / (across * down);\n    \
         let batch = both % {batches};\n    \
         let start = (both / {batches}) * {segment};\n    \
         let a = place0(batch);\n    let b = place1(batch);\n",
        number(2),
        number(0)
    )
    .ok();
    for i in 0..rows {
        // Beyond the matrix the last row or column is read once more, and not written.
        writeln!(
            text,
            "    let a{i} = a + min(row + {i}u, {m} - 1u) * {a_row};"
        )
        .ok();
        for j in 0..columns {
            writeln!(text, "    var c{i}{j} = {name}();").ok();
        }
    }
    for j in 0..columns {
        writeln!(
            text,
            "    let b{j} = b + min(column + {j}u, {n} - 1u) * {b_column};"
        )
        .ok();
    }
    writeln!(
        text,
        "    let last = min(start + {segment}, {k});\n    \
         for (var step = start; step < last; step++) {{"
    )
    .ok();
    for i in 0..rows {
        writeln!(text, "        let x{i} = left(a{i} + step * {a_column});").ok();
    }
    for j in 0..columns {
        writeln!(text, "        let y{j} = right(b{j} + step * {b_row});").ok();
    }
    for i in 0..rows {
        for j in 0..columns {
            writeln!(text, "        c{i}{j} = plus(c{i}{j}, times(x{i}, y{j}));").ok();
        }
    }
    text += "    }\n";
    let words = cell.size() / 4;
    for i in 0..rows {
        for j in 0..columns {
            let code = cell.encode(&format!("c{i}{j}"), integers);
            write!(
                text,
                "    if (row + {i}u < {m} && column + {j}u < {n}) {{\n        \
                 let at = ((both * {m} + row + {i}u) * {n} + column + {j}u) * {words}u;\n        \
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
    /// A product of matrices; nothing where another way is better, or a shader may not see all.
    pub(crate) fn multiply_matrices(
        &'static self,
        op: &'static str,
        task: &MatrixProduct,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([left, right, former @ ..], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let stored = |dtype: DType| self.capabilities.storage(dtype);
        let Some(sum) = accumulator(stored(task.sum.compute())) else {
            return Ok(None);
        };
        let (a, b) = (left.view.layout, right.view.layout);
        let outer = a.rank().saturating_sub(2);
        let ([.., m, k], [.., n]) = (&a.shape()[..], &b.shape()[..]) else {
            return Ok(None);
        };
        let [m, k, n] = [*m, *k, *n];
        let batch = Shape::new(op, &a.shape()[..outer])?;
        let Some(after) = After::of(task, sum) else {
            return Ok(None);
        };
        let tile = [m, n].map(|size| if size == 1 { 1 } else { TILE });
        let results = batch.count() * m * n;
        let tiles = batch.count() * m.div_ceil(tile[0]) * n.div_ceil(tile[1]);
        if results == 0 || k == 0 || output.count != results {
            return Ok(None);
        }
        let wanted = BUSY.div_ceil(tiles).min(k.div_ceil(LEAST));
        let segment = k.div_ceil(wanted.max(1));
        let segments = k.div_ceil(segment);
        let (threads, sums) = (tiles * segments, results * segments);
        if sums.max(threads) >= u32::MAX as usize {
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
        let block = self.block(op, sum, sums)?;
        let Some((into, _)) = self.bind(&block, sum.itemsize(), [0, sums]) else {
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
        numbers.extend([segment as u32, batch.count() as u32]);
        places.numbers(&mut numbers);
        let common = stored(task.common);
        let key = format!(
            "product {dtypes:?} {common:?} {sum:?} {tile:?}|{}",
            places.key()
        );
        let total = numbers.len();
        let pipeline = self.pipeline(op, &key, || {
            shader(dtypes, common, sum, tile, &places, total, self.integers)
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &[bound_a, bound_b, into], &numbers, grid)?;
        let sums = self.add_segments(op, Arc::new(block), sum, segments, results)?;
        let Some(sums) = sums else {
            return Ok(None);
        };
        let shape = Shape::new(op, &[results])?;
        let whole = Layout::contiguous(shape.clone());
        let mut parts = vec![(self.own(op, &*sums)?, whole.clone())];
        let mut inputs = vec![sum];
        let ordered = match (former, after.beta) {
            ([former], Some(_)) => Some(self.ordered(op, former)?),
            (_, Some(_)) => return Ok(None),
            (_, None) => None,
        };
        if let (Some(ordered), [former]) = (&ordered, former) {
            parts.push(ordered.part(&shape));
            inputs.push(former.dtype);
        }
        let count = results;
        if inputs.len() == 1 && after.alpha.is_none() && sum == output.dtype {
            drop(parts);
            return Ok(Some(smallvec![Made {
                memory: sums,
                count
            }]));
        }
        let builder = Builder::new(&inputs);
        let mut value = builder.input(0);
        if let Some(alpha) = after.alpha {
            value = value * builder.constant(alpha);
        }
        if let Some(beta) = after.beta {
            let former = builder.input(1).to(sum);
            value = match after.is_plain {
                true => value + former,
                false => value + former * builder.constant(beta),
            };
        }
        let program = builder.finish(&[value.to(output.dtype)]);
        let memory = Arc::new(self.run_behind(op, &program, &shape, &parts)?);
        Ok(Some(smallvec![Made { memory, count }]))
    }

    /// The sums of so many segments, each with results of all; nothing if a shader may not see them.
    pub(crate) fn add_segments(
        &'static self,
        op: &'static str,
        sums: Shared,
        dtype: DType,
        segments: usize,
        results: usize,
    ) -> Result<Option<Shared>, Error> {
        if segments == 1 {
            return Ok(Some(sums));
        }
        let layout = Layout::contiguous(Shape::new(op, &[segments, results])?);
        let view = View {
            memory: &*sums,
            layout: &layout,
        };
        let (shape, sizes) = (layout.shape(), [1, segments, results]);
        let program = same(dtype);
        self.reduce_program(op, Fold::Sum, &program, shape, &[view], sizes, dtype)
    }
}

/// What becomes of sums of products.
struct After {
    /// What they are multiplied by, but one.
    alpha: Option<Scalar>,
    /// What is multiplied with the third operand.
    beta: Option<Scalar>,
    /// Whether that is one.
    is_plain: bool,
}

impl After {
    /// Nothing where a factor is no number of the dtype of sums.
    fn of(task: &MatrixProduct, sum: DType) -> Option<Self> {
        let is = |scalar: WeakScalar, value: i8| match scalar {
            WeakScalar::Int(given) => given == i128::from(value),
            WeakScalar::Float(given) => given == f64::from(value),
            _ => false,
        };
        let is_truth = task.sum == DType::Bool;
        let alpha = match task.alpha {
            alpha if is(alpha, 1) => None,
            alpha => Some(Scalar::new(alpha, sum).ok()?),
        };
        let beta = match task.beta {
            // What is multiplied by zero does not count, NaN included: the CPU knows how.
            Some(beta) if is(beta, 0) => return None,
            Some(beta) => Some(Scalar::new(beta, sum).ok()?),
            None => None,
        };
        if is_truth && (alpha.is_some() || beta.is_some()) {
            return None;
        }
        Some(Self {
            alpha,
            beta,
            is_plain: task.beta.is_some_and(|beta| is(beta, 1)),
        })
    }
}
