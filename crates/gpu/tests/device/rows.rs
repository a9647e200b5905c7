//! Every row of the op tables in every dtype that it has a formula for.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_gpu::Gpu;
use allotrope_op::table::Cell;
use allotrope_op::{Backend, Layout, Op, Program, Signature, Slot};

use crate::support::{Pair, alone, assert_same, cast, devices, numbers, read, stored};

/// A row over operands of a compute dtype, or of bool where it takes them.
fn program_of(op: Op, dtype: DType) -> Option<(Program, Vec<DType>)> {
    let row = op.row();
    let dtypes = match row.signature {
        Signature::Select => vec![DType::Bool, dtype, dtype],
        Signature::Logic => vec![DType::Bool; op.arity()],
        _ => vec![dtype; op.arity()],
    };
    let is_logic = row.signature == Signature::Logic;
    let has_formula = row.cell(dtype.kind()) == Cell::Formula || row.signature == Signature::Select;
    if !has_formula || (is_logic && dtype != DType::Bool) {
        return None;
    }
    let mut program = Program::new(&dtypes);
    let slots: Vec<Slot> = (0..dtypes.len() as Slot).collect();
    let result = program.apply(op, &slots);
    program.output(result);
    program.is_valid().then_some((program, dtypes))
}

/// The distance of two numbers in units in the last place of the wider.
fn ulps(dtype: DType, a: f64, b: f64, scale: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    if !(a - b).is_finite() {
        return f64::INFINITY;
    }
    let digits = match dtype.to_real() {
        DType::F64 => 52,
        _ => 23,
    };
    let least = if digits == 52 { -1022 } else { -126 };
    let exponent = b.abs().max(scale).log2().floor().max(f64::from(least));
    (a - b).abs() / f64::exp2(exponent - f64::from(digits))
}

/// How far results may lie apart: both devices round as the row allows.
fn allowed(op: Op) -> f64 {
    2.0 * op.row().ulp.max(1.0) + 1.0
}

fn compare(gpu: &Gpu, op: Op, dtype: DType, made: &[u8], expected: &[u8], wrong: &mut Vec<String>) {
    let result = stored(gpu, dtype);
    let (a, b) = (numbers(dtype, made), numbers(dtype, expected));
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let least = if result.to_real() == DType::F64 {
        f64::MIN_POSITIVE
    } else {
        f64::from(f32::MIN_POSITIVE)
    };
    let mut worst = (0.0, 0);
    for i in 0..a.len() {
        // The parts of a complex number share their last place.
        let scale = if parts == 2 {
            b[i ^ 1].abs().min(f64::MAX)
        } else {
            0.0
        };
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let distance = ulps(result, a[i], b[i], scale);
        // Subnormal numbers may be flushed.
        let flushed = a[i].abs() <= least && b[i].abs() <= least;
        if distance > worst.0 && !flushed {
            worst = (distance, i);
        }
    }
    if worst.0 > allowed(op) {
        let i = worst.1;
        let (name, distance) = (op.name(), worst.0);
        wrong.push(format!(
            "{name} {dtype}: {distance:.1} at {i}: gpu {}, cpu {}",
            a[i], b[i]
        ));
    }
}

#[test]
fn rows_of_all_dtypes() {
    let _alone = alone();
    for gpu in devices() {
        let mut wrong = Vec::new();
        for &op in Op::ALL {
            for dtype in DType::ALL {
                let Some((program, dtypes)) = program_of(op, dtype) else {
                    continue;
                };
                let count = 301;
                let operands: Vec<Pair> = dtypes
                    .iter()
                    .zip(1..)
                    .map(|(dtype, seed)| Pair::sample(gpu, *dtype, &[count], seed))
                    .collect();
                let shape = operands[0].layout.shape();
                let on_gpu: Vec<_> = operands.iter().map(Pair::on_gpu).collect();
                let on_cpu: Vec<_> = operands.iter().map(Pair::on_cpu).collect();
                let made = gpu.run(op.name(), &program, shape, &on_gpu).unwrap();
                let result = program.output_dtypes().next().unwrap();
                let made = read(&made[0], result, count);
                // A dtype that is stored as a narrower one computes as that.
                let expected = if stored(gpu, dtype) == dtype {
                    let expected = CPU.run(op.name(), &program, shape, &on_cpu).unwrap();
                    read(&expected[0], result, count)
                } else {
                    let narrow = program_of(op, stored(gpu, dtype)).unwrap();
                    let operands: Vec<Pair> = operands
                        .iter()
                        .zip(&narrow.1)
                        .map(|(x, to)| {
                            let bytes = cast(x.dtype, &read(&x.cpu, x.dtype, count), *to);
                            Pair::new(gpu, *to, &[count], &bytes)
                        })
                        .collect();
                    let on_cpu: Vec<_> = operands.iter().map(Pair::on_cpu).collect();
                    let expected = CPU.run(op.name(), &narrow.0, shape, &on_cpu).unwrap();
                    let narrow = narrow.0.output_dtypes().next().unwrap();
                    cast(narrow, &read(&expected[0], narrow, count), result)
                };
                let is_float = result.is_floating_point() || result.is_complex();
                if is_float && op.row().signature != Signature::Select {
                    compare(gpu, op, result, &made, &expected, &mut wrong);
                } else if made != expected {
                    let is_same = std::panic::catch_unwind(|| {
                        assert_same(op.name(), result, &made, &expected);
                    });
                    if let Err(text) = is_same {
                        wrong.push(text.downcast_ref::<String>().cloned().unwrap_or_default());
                    }
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "{gpu:?}: {} wrong\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}

#[test]
fn one_row_is_one_program() {
    let _alone = alone();
    for gpu in devices() {
        let (x, y) = (
            Pair::sample(gpu, DType::I16, &[65], 1),
            Pair::sample(gpu, DType::I16, &[65], 2),
        );
        let layout = Layout::contiguous(x.layout.shape().clone());
        let (x, y) = (x.with(layout.clone()), y.with(layout));
        let made = gpu
            .apply(Op::Add, DType::I16, DType::I16, &[x.on_gpu(), y.on_gpu()])
            .unwrap();
        let expected = CPU
            .apply(Op::Add, DType::I16, DType::I16, &[x.on_cpu(), y.on_cpu()])
            .unwrap();
        assert_same(
            "add",
            DType::I16,
            &read(&made, DType::I16, 65),
            &read(&expected, DType::I16, 65),
        );
    }
}
