//! Functions of floats where the device's own are known to be wrong: near zero, at zero, of float64.

use allotrope_dtype::DType;
use allotrope_gpu::Gpu;
use allotrope_op::{Backend, Op, Program};

use crate::support::{Pair, alone, devices, numbers, read};

/// What a row makes of numbers of a dtype, as float64.
fn apply(gpu: &Gpu, op: Op, dtype: DType, operands: &[&[f64]]) -> Vec<f64> {
    let count = operands[0].len();
    let pairs: Vec<Pair> = operands
        .iter()
        .map(|values| {
            let bytes = crate::support::cast(DType::F64, bytemuck::cast_slice(values), dtype);
            Pair::new(gpu, dtype, &[count], &bytes)
        })
        .collect();
    let mut program = Program::new(&vec![dtype; pairs.len()]);
    let slots: Vec<u16> = (0..pairs.len() as u16).collect();
    let result = program.apply(op, &slots);
    program.output(result);
    let views: Vec<_> = pairs.iter().map(Pair::on_gpu).collect();
    let made = gpu.run("test", &program, pairs[0].layout.shape(), &views);
    numbers(dtype, &read(&made.unwrap()[0], dtype, count))
}

#[test]
fn powers_at_the_edges() {
    let _alone = alone();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let bases = [0.0, -2.0, -2.0, 0.0, -0.0, inf, 1.0, nan, -1.0, 2.0, -inf];
    let exponents = [0.0, 3.0, 2.0, -1.0, -3.0, 0.0, nan, 0.0, inf, -inf, 3.0];
    for gpu in devices() {
        for dtype in [DType::F32, DType::F64] {
            let made = apply(gpu, Op::Pow, dtype, &[&bases, &exponents]);
            for (i, made) in made.into_iter().enumerate() {
                let expected = bases[i].powf(exponents[i]);
                let same = made == expected || made.is_nan() && expected.is_nan();
                let (x, y) = (bases[i], exponents[i]);
                assert!(
                    same,
                    "pow({x}, {y}) = {made}, not {expected}: {dtype} {gpu:?}"
                );
            }
        }
    }
}

#[test]
fn functions_near_zero_and_of_float64() {
    let _alone = alone();
    type Known = (Op, fn(f64) -> f64);
    let known: [Known; 9] = [
        (Op::Exp, f64::exp),
        (Op::Expm1, f64::exp_m1),
        (Op::Log1p, f64::ln_1p),
        (Op::Sin, f64::sin),
        (Op::Tan, f64::tan),
        (Op::Tanh, f64::tanh),
        (Op::Asinh, f64::asinh),
        (Op::Atan, f64::atan),
        (Op::Atanh, f64::atanh),
    ];
    let values = [
        1e-7, -1e-5, 3e-4, -2e-3, 0.01, -0.05, 0.1, 0.3, -0.49, 0.7, -0.9, 1e-12,
    ];
    for gpu in devices() {
        for (op, function) in known {
            for dtype in [DType::F32, DType::F64] {
                let is_wide = dtype == DType::F64 && gpu.numerics().float64;
                let tolerance = if is_wide { 2e-15 } else { 1e-6 };
                let given = if is_wide {
                    values
                } else {
                    values.map(|x| f64::from(x as f32))
                };
                let made = apply(gpu, op, dtype, &[&given]);
                for (x, made) in given.into_iter().zip(made) {
                    let expected = function(x);
                    let error = ((made - expected) / expected).abs();
                    let name = op.name();
                    assert!(error <= tolerance, "{name}({x}) = {made}: {dtype} {gpu:?}");
                }
            }
        }
    }
}

#[test]
fn bounds_know_nan() {
    let _alone = alone();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let x = [nan, 1.0, 5.0, -5.0, nan, inf, 2.0, -0.0];
    let y = [1.0, nan, 2.0, nan, nan, 3.0, -inf, 0.0];
    for gpu in devices() {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            for (op, is_least) in [(Op::Maximum, false), (Op::Minimum, true)] {
                let compute = allotrope_op::compute_dtype(dtype);
                let made = apply(gpu, op, compute, &[&x, &y]);
                for (i, made) in made.into_iter().enumerate() {
                    if x[i].is_nan() || y[i].is_nan() {
                        assert!(made.is_nan(), "{dtype} {i} {gpu:?}");
                        continue;
                    }
                    let expected = if is_least {
                        x[i].min(y[i])
                    } else {
                        x[i].max(y[i])
                    };
                    assert_eq!(made, expected, "{dtype} {i} {gpu:?}");
                }
            }
        }
    }
}
