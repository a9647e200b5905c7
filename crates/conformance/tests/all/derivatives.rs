//! Derivatives of every row against differences of the references, which have digits enough for a
//! small step.

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cell::run_program;
use allotrope_conformance::column::Column;
use allotrope_conformance::double::Double;
use allotrope_conformance::oracle::{Pair, complex_map, real};
use allotrope_conformance::report::Report;
use allotrope_conformance::sample::{self, Random};
use allotrope_cpu::Input;
use allotrope_dtype::{DType, Level, WeakScalar, c128};
use allotrope_op::{Builder, Cell, Op, Signature, Var, gradients};

const COUNT: usize = 300;

/// The gradients of all operands as the product computes them, given that of the result.
fn gradients_of(op: Op, dtypes: &[DType], columns: &[Column]) -> Option<Vec<Column>> {
    let builder = Builder::new(dtypes);
    let count = dtypes.len() - 1;
    let operands: Vec<Var<'_>> = (0..count).map(|i| builder.input(i)).collect();
    let result = builder.apply(op, &operands);
    let gradients = gradients(op, &operands, result, builder.input(count))?;
    let program = builder.finish(&gradients);
    assert!(program.is_valid(), "{program}");
    let sizes = [1, columns[0].len()];
    let arranged = columns
        .iter()
        .map(|column| Arranged::matrix(Arrangement::Contiguous, column, sizes).unwrap());
    let arranged: Vec<Arranged> = arranged.collect();
    let inputs: Vec<Input<'_>> = arranged.iter().map(Arranged::input).collect();
    let outputs = run_program(Level::detected(), &program, arranged[0].shape(), &inputs);
    let outputs = outputs.unwrap().into_iter().zip(program.output_dtypes());
    Some(
        outputs
            .map(|(bytes, dtype)| Column::from_bytes(dtype, bytes).unwrap())
            .collect(),
    )
}

/// A step that is small beside the number and large beside the digits of [`Double`].
const STEP: f64 = 1.0 / (1_u64 << 27) as f64;

/// The difference quotient and that from one side only, which differ at a kink.
fn slope(f: impl Fn(Double) -> Double, x: f64, size: f64) -> (f64, f64) {
    let h = Double::new(STEP * size.max(1e-9));
    let (here, below, above) = (Double::new(x), Double::new(x) - h, Double::new(x) + h);
    let central = (f(above) - f(below)) / (h + h);
    let forward = (f(above) - f(here)) / h;
    (central.hi, forward.hi)
}

/// What the error of the difference quotient and of the derivative may come to.
fn tolerance(dtype: DType, want: f64) -> f64 {
    let eps = dtype.finfo().unwrap().eps;
    eps.cbrt().powi(2) * (1.0 + want.abs())
}

fn floats(column: &Column) -> Vec<f64> {
    let float = |value: &WeakScalar| match value {
        WeakScalar::Float(x) => *x,
        other => panic!("{other:?} is not a float"),
    };
    column.values.iter().map(float).collect()
}

#[test]
fn of_float64() {
    check_real(DType::F64);
}

#[test]
fn of_float32() {
    check_real(DType::F32);
}

fn check_real(dtype: DType) {
    let mut rows = 0;
    for op in Op::ALL
        .iter()
        .copied()
        .filter(|op| op.row().is_differentiable)
    {
        // A choice has no formula of floats, and the format of nextafter_in no slope.
        if op.row().signature == Signature::Select || op == Op::NextafterIn || op == Op::Nextafter {
            continue;
        }
        assert_eq!(op.row().float, Cell::Formula, "{}", op.name());
        let mut columns = sample::domain(op, dtype, COUNT).unwrap();
        let mut random = Random::new(op, dtype);
        let weights = (0..COUNT).map(|_| WeakScalar::Float(random.unit() * 2.0 - 1.0));
        columns.push(Column::new(dtype, weights).unwrap());
        let dtypes = vec![dtype; columns.len()];
        let gradients = gradients_of(op, &dtypes, &columns).unwrap();
        assert_eq!(gradients.len(), op.arity(), "{}", op.name());
        let values: Vec<Vec<f64>> = columns.iter().map(floats).collect();
        let known = usize::from(op.row().lacks_first);
        for (operand, gradient) in gradients.iter().enumerate().skip(known) {
            let what = format!("derivative of {} {dtype} by operand {operand}", op.name());
            let mut report = Report::new(what);
            let mut smooth = 0;
            for (i, got) in floats(gradient).into_iter().enumerate() {
                let args: Vec<f64> = values[..op.arity()].iter().map(|v| v[i]).collect();
                let weight = values[op.arity()][i];
                let f = |x: Double| {
                    let mut wide: Vec<Double> = args.iter().map(|x| Double::new(*x)).collect();
                    wide[operand] = x;
                    reference(op, &wide)
                };
                let (central, forward) = slope(f, args[operand], args[operand].abs());
                if (central - forward).abs() > 1e-3 * (1.0 + central.abs()) {
                    continue;
                }
                smooth += 1;
                let want = weight * central;
                if (got - want).abs() > tolerance(dtype, want) || got.is_nan() {
                    report.fail(format!("at {i}: {args:?} got {got}, want {want}"));
                }
            }
            assert!(report.is_good(), "{report}");
            assert!(smooth > COUNT / 2, "{}: {smooth}", op.name());
        }
        rows += 1;
    }
    assert!(rows > 70, "{rows}");
}

/// The row, where the references in doubles are those of float64.
fn reference(op: Op, args: &[Double]) -> Double {
    match op {
        // Whole numbers by the parts of doubles, which floor and its kin do not look at.
        Op::Frac => args[0] - Double::new(args[0].hi.trunc()),
        Op::Fmod | Op::Remainder => {
            let quotient = args[0].hi / args[1].hi;
            let whole = match op {
                Op::Fmod => quotient.trunc(),
                _ => quotient.floor(),
            };
            args[0] - args[1] * Double::new(whole)
        }
        Op::TruncDivide => Double::new((args[0].hi / args[1].hi).trunc()),
        Op::FloorDivide => Double::new((args[0].hi / args[1].hi).floor()),
        _ => real(op, args),
    }
}

#[test]
fn of_complex_numbers() {
    let mut rows = 0;
    for op in Op::ALL
        .iter()
        .copied()
        .filter(|op| op.row().is_differentiable)
    {
        if op.row().complex != Cell::Formula || op.row().signature == Signature::Select {
            continue;
        }
        let mut columns = sample::domain(op, DType::C128, COUNT).unwrap();
        let mut random = Random::new(op, DType::C128);
        // The result of a magnitude is real, and so is its gradient.
        let result = match op.row().signature {
            Signature::Real => DType::F64,
            _ => DType::C128,
        };
        let weights = (0..COUNT).map(|_| {
            let weight = c128::new(random.unit() * 2.0 - 1.0, random.unit() * 2.0 - 1.0);
            match result {
                DType::F64 => WeakScalar::Float(weight.re),
                _ => WeakScalar::Complex(weight),
            }
        });
        columns.push(Column::new(result, weights).unwrap());
        let mut dtypes = vec![DType::C128; op.arity()];
        dtypes.push(result);
        let gradients = gradients_of(op, &dtypes, &columns).unwrap();
        let values: Vec<Vec<c128>> = columns.iter().map(complexes).collect();
        for (operand, gradient) in gradients.iter().enumerate() {
            let what = format!("complex derivative of {} by operand {operand}", op.name());
            let mut report = Report::new(what);
            for (i, got) in complexes(gradient).into_iter().enumerate() {
                let args: Vec<c128> = values[..op.arity()].iter().map(|v| v[i]).collect();
                let weight = values[op.arity()][i];
                // The loss Re(conj(g) f), whose gradient is its slope along both axes.
                let along = |x: Double, imaginary: bool| {
                    let pair = |z: &c128| Pair::new(Double::new(z.re), Double::new(z.im));
                    let mut wide: Vec<Pair<Double>> = args.iter().map(pair).collect();
                    let place = &mut wide[operand];
                    if imaginary {
                        place.im = x;
                    } else {
                        place.re = x;
                    }
                    let f = complex_map(op, &wide);
                    Double::new(weight.re) * f.re + Double::new(weight.im) * f.im
                };
                let z = args[operand];
                // Too near to what may be a pole or a kink for the step.
                if z.norm() < 1e-9 {
                    continue;
                }
                let (re, re_forward) = slope(|x| along(x, false), z.re, z.norm());
                let (im, im_forward) = slope(|x| along(x, true), z.im, z.norm());
                let kink = (re - re_forward).abs().max((im - im_forward).abs());
                let want = c128::new(re, im);
                if kink > 1e-3 * (1.0 + want.norm()) {
                    continue;
                }
                let allowed = tolerance(DType::C128, want.norm());
                // The error of both sides together is about the square of that of one: near a pole
                // the step is too wide.
                if kink * kink > allowed * (1.0 + want.norm()) {
                    continue;
                }
                let off = (got - want).norm();
                if off > allowed || off.is_nan() {
                    report.fail(format!("at {i}: {args:?} got {got}, want {want}"));
                }
            }
            assert!(report.is_good(), "{report}");
        }
        rows += 1;
    }
    assert!(rows > 30, "{rows}");
}

fn complexes(column: &Column) -> Vec<c128> {
    let complex = |value: &WeakScalar| match value {
        WeakScalar::Complex(z) => *z,
        WeakScalar::Float(x) => c128::new(*x, 0.0),
        other => panic!("{other:?} is not a number"),
    };
    column.values.iter().map(complex).collect()
}

#[test]
fn of_a_choice() {
    let dtypes = [DType::Bool, DType::F64, DType::F64, DType::F64];
    let columns = sample::domain(Op::Where, DType::F64, COUNT).unwrap();
    let weights = (0..COUNT).map(|i| WeakScalar::Float(i as f64 + 1.0));
    let weights = Column::new(DType::F64, weights).unwrap();
    let condition = columns[0].bytes.clone();
    let all: Vec<Column> = columns.into_iter().chain([weights]).collect();
    let gradients = gradients_of(Op::Where, &dtypes, &all).unwrap();
    let (yes, no) = (floats(&gradients[1]), floats(&gradients[2]));
    for (i, truth) in condition.iter().enumerate() {
        let weight = i as f64 + 1.0;
        let want = if *truth == 1 {
            (weight, 0.0)
        } else {
            (0.0, weight)
        };
        assert_eq!((yes[i], no[i]), want);
    }
}

/// Rows without a derivative have none, and the others one for every operand.
#[test]
fn exist_where_the_rows_say() {
    for op in Op::ALL {
        let dtype = match op.row().signature {
            _ if op.row().float == Cell::Formula => DType::F64,
            Signature::Logic => DType::Bool,
            Signature::Select => DType::F64,
            _ => DType::I64,
        };
        let mut dtypes: Vec<DType> = (0..op.arity())
            .map(|operand| sample::dtype_of(*op, dtype, operand))
            .collect();
        dtypes.push(DType::F64);
        let builder = Builder::new(&dtypes);
        let operands: Vec<Var<'_>> = (0..op.arity()).map(|i| builder.input(i)).collect();
        let result = builder.apply(*op, &operands);
        let found = gradients(*op, &operands, result, builder.input(op.arity()));
        assert_eq!(found.is_some(), op.row().is_differentiable, "{}", op.name());
        assert!(
            found.is_none_or(|found| found.len() == op.arity()),
            "{}",
            op.name()
        );
    }
}
