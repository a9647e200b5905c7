//! The special cases that the array API standard 2024.12 spells out, word by word.

use allotrope_conformance::column::Column;
use allotrope_dtype::{DType, WeakScalar};
use allotrope_op::Op;
use allotrope_tensor::{Operand, Tensor};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const PI: f64 = std::f64::consts::PI;

/// A row on one or two numbers, and the answer.
type Case = (Op, &'static [f64], f64);

/// Whole numbers, zeros, infinities and NaN, whose answers every float dtype holds.
const CASES: &[Case] = &[
    // Arithmetic.
    (Op::Add, &[NAN, 1.0], NAN),
    (Op::Add, &[1.0, NAN], NAN),
    (Op::Add, &[INF, -INF], NAN),
    (Op::Add, &[-INF, INF], NAN),
    (Op::Add, &[INF, INF], INF),
    (Op::Add, &[-INF, -INF], -INF),
    (Op::Add, &[INF, 2.0], INF),
    (Op::Add, &[2.0, -INF], -INF),
    (Op::Add, &[-0.0, -0.0], -0.0),
    (Op::Add, &[-0.0, 0.0], 0.0),
    (Op::Add, &[0.0, -0.0], 0.0),
    (Op::Add, &[2.0, -2.0], 0.0),
    (Op::Sub, &[-0.0, 0.0], -0.0),
    (Op::Sub, &[0.0, 0.0], 0.0),
    (Op::Sub, &[INF, INF], NAN),
    (Op::Mul, &[INF, 0.0], NAN),
    (Op::Mul, &[0.0, -INF], NAN),
    (Op::Mul, &[NAN, 0.0], NAN),
    (Op::Mul, &[INF, -2.0], -INF),
    (Op::Mul, &[-INF, -INF], INF),
    (Op::Mul, &[-0.0, 3.0], -0.0),
    (Op::Mul, &[-0.0, -3.0], 0.0),
    (Op::Div, &[INF, INF], NAN),
    (Op::Div, &[0.0, -0.0], NAN),
    (Op::Div, &[0.0, 3.0], 0.0),
    (Op::Div, &[-0.0, 3.0], -0.0),
    (Op::Div, &[3.0, 0.0], INF),
    (Op::Div, &[3.0, -0.0], -INF),
    (Op::Div, &[-3.0, 0.0], -INF),
    (Op::Div, &[3.0, INF], 0.0),
    (Op::Div, &[-3.0, INF], -0.0),
    (Op::Div, &[INF, -3.0], -INF),
    (Op::FloorDivide, &[INF, INF], NAN),
    (Op::FloorDivide, &[0.0, -0.0], NAN),
    (Op::FloorDivide, &[NAN, 1.0], NAN),
    (Op::FloorDivide, &[0.0, 3.0], 0.0),
    (Op::FloorDivide, &[-0.0, 3.0], -0.0),
    (Op::FloorDivide, &[0.0, -3.0], -0.0),
    (Op::FloorDivide, &[3.0, 0.0], INF),
    (Op::FloorDivide, &[-3.0, 0.0], -INF),
    (Op::FloorDivide, &[3.0, -0.0], -INF),
    (Op::FloorDivide, &[INF, 3.0], INF),
    (Op::FloorDivide, &[INF, -3.0], -INF),
    (Op::FloorDivide, &[-INF, 3.0], -INF),
    (Op::FloorDivide, &[3.0, INF], 0.0),
    (Op::FloorDivide, &[3.0, -INF], -0.0),
    (Op::FloorDivide, &[-3.0, INF], -0.0),
    (Op::FloorDivide, &[-3.0, -INF], 0.0),
    (Op::FloorDivide, &[7.0, -2.0], -4.0),
    (Op::FloorDivide, &[1.0, 2.0], 0.0),
    (Op::FloorDivide, &[-1.0, -2.0], 0.0),
    (Op::Remainder, &[NAN, 1.0], NAN),
    (Op::Remainder, &[INF, 3.0], NAN),
    (Op::Remainder, &[-INF, INF], NAN),
    (Op::Remainder, &[0.0, 0.0], NAN),
    (Op::Remainder, &[3.0, -0.0], NAN),
    (Op::Remainder, &[0.0, 3.0], 0.0),
    (Op::Remainder, &[-0.0, 3.0], 0.0),
    (Op::Remainder, &[0.0, -3.0], -0.0),
    (Op::Remainder, &[-0.0, -3.0], -0.0),
    (Op::Remainder, &[4.0, 2.0], 0.0),
    (Op::Remainder, &[4.0, -2.0], -0.0),
    (Op::Remainder, &[3.0, INF], 3.0),
    (Op::Remainder, &[3.0, -INF], -INF),
    (Op::Remainder, &[-3.0, INF], INF),
    (Op::Remainder, &[-3.0, -INF], -3.0),
    (Op::Remainder, &[-7.0, 4.0], 1.0),
    (Op::Remainder, &[7.0, -4.0], -1.0),
    (Op::Fmod, &[-7.0, 4.0], -3.0),
    (Op::Fmod, &[-0.0, 4.0], -0.0),
    (Op::Fmod, &[3.0, INF], 3.0),
    // Powers.
    (Op::Pow, &[1.0, NAN], 1.0),
    (Op::Pow, &[NAN, 0.0], 1.0),
    (Op::Pow, &[NAN, -0.0], 1.0),
    (Op::Pow, &[NAN, 2.0], NAN),
    (Op::Pow, &[2.0, NAN], NAN),
    (Op::Pow, &[2.0, INF], INF),
    (Op::Pow, &[2.0, -INF], 0.0),
    (Op::Pow, &[-2.0, INF], INF),
    (Op::Pow, &[1.0, INF], 1.0),
    (Op::Pow, &[-1.0, -INF], 1.0),
    (Op::Pow, &[0.5, INF], 0.0),
    (Op::Pow, &[0.5, -INF], INF),
    (Op::Pow, &[INF, 2.0], INF),
    (Op::Pow, &[INF, -2.0], 0.0),
    (Op::Pow, &[-INF, 3.0], -INF),
    (Op::Pow, &[-INF, 2.0], INF),
    (Op::Pow, &[-INF, -3.0], -0.0),
    (Op::Pow, &[-INF, -2.0], 0.0),
    (Op::Pow, &[0.0, 2.0], 0.0),
    (Op::Pow, &[0.0, -2.0], INF),
    (Op::Pow, &[-0.0, 3.0], -0.0),
    (Op::Pow, &[-0.0, 2.0], 0.0),
    (Op::Pow, &[-0.0, -3.0], -INF),
    (Op::Pow, &[-0.0, -2.0], INF),
    (Op::Pow, &[-2.0, 0.5], NAN),
    (Op::Pow, &[-2.0, 3.0], -8.0),
    (Op::Sqrt, &[-0.0], -0.0),
    (Op::Sqrt, &[-1.0], NAN),
    (Op::Sqrt, &[INF], INF),
    (Op::Reciprocal, &[-0.0], -INF),
    (Op::Reciprocal, &[-INF], -0.0),
    // Exponentials and logarithms.
    (Op::Exp, &[-INF], 0.0),
    (Op::Exp, &[INF], INF),
    (Op::Exp, &[-0.0], 1.0),
    (Op::Exp, &[NAN], NAN),
    (Op::Expm1, &[-0.0], -0.0),
    (Op::Expm1, &[0.0], 0.0),
    (Op::Expm1, &[-INF], -1.0),
    (Op::Expm1, &[INF], INF),
    (Op::Log, &[0.0], -INF),
    (Op::Log, &[-0.0], -INF),
    (Op::Log, &[1.0], 0.0),
    (Op::Log, &[-1.0], NAN),
    (Op::Log, &[INF], INF),
    (Op::Log1p, &[-1.0], -INF),
    (Op::Log1p, &[-0.0], -0.0),
    (Op::Log1p, &[-2.0], NAN),
    (Op::Log1p, &[INF], INF),
    (Op::Log2, &[-0.0], -INF),
    (Op::Log2, &[1.0], 0.0),
    (Op::Log2, &[8.0], 3.0),
    (Op::Log2, &[-1.0], NAN),
    (Op::Log10, &[0.0], -INF),
    (Op::Log10, &[1.0], 0.0),
    (Op::Log10, &[10.0], 1.0),
    (Op::Logaddexp, &[NAN, INF], NAN),
    (Op::Logaddexp, &[INF, NAN], NAN),
    (Op::Logaddexp, &[INF, 1.0], INF),
    (Op::Logaddexp, &[-INF, INF], INF),
    (Op::Logaddexp, &[-INF, -INF], -INF),
    (Op::Logaddexp, &[-INF, 2.0], 2.0),
    // Trigonometric and hyperbolic.
    (Op::Sin, &[-0.0], -0.0),
    (Op::Sin, &[INF], NAN),
    (Op::Cos, &[-0.0], 1.0),
    (Op::Cos, &[-INF], NAN),
    (Op::Tan, &[-0.0], -0.0),
    (Op::Tan, &[INF], NAN),
    (Op::Asin, &[-0.0], -0.0),
    (Op::Asin, &[2.0], NAN),
    (Op::Asin, &[-1.0], -PI / 2.0),
    (Op::Acos, &[1.0], 0.0),
    (Op::Acos, &[-1.0], PI),
    (Op::Acos, &[-2.0], NAN),
    (Op::Atan, &[-0.0], -0.0),
    (Op::Atan, &[INF], PI / 2.0),
    (Op::Atan, &[-INF], -PI / 2.0),
    (Op::Sinh, &[-0.0], -0.0),
    (Op::Sinh, &[-INF], -INF),
    (Op::Cosh, &[-0.0], 1.0),
    (Op::Cosh, &[-INF], INF),
    (Op::Tanh, &[-0.0], -0.0),
    (Op::Tanh, &[INF], 1.0),
    (Op::Tanh, &[-INF], -1.0),
    (Op::Asinh, &[-0.0], -0.0),
    (Op::Asinh, &[-INF], -INF),
    (Op::Acosh, &[1.0], 0.0),
    (Op::Acosh, &[0.5], NAN),
    (Op::Acosh, &[INF], INF),
    (Op::Atanh, &[1.0], INF),
    (Op::Atanh, &[-1.0], -INF),
    (Op::Atanh, &[-0.0], -0.0),
    (Op::Atanh, &[2.0], NAN),
    (Op::Atan2, &[NAN, 1.0], NAN),
    (Op::Atan2, &[1.0, NAN], NAN),
    (Op::Atan2, &[3.0, 0.0], PI / 2.0),
    (Op::Atan2, &[3.0, -0.0], PI / 2.0),
    (Op::Atan2, &[0.0, 3.0], 0.0),
    (Op::Atan2, &[0.0, 0.0], 0.0),
    (Op::Atan2, &[0.0, -0.0], PI),
    (Op::Atan2, &[0.0, -3.0], PI),
    (Op::Atan2, &[-0.0, 3.0], -0.0),
    (Op::Atan2, &[-0.0, 0.0], -0.0),
    (Op::Atan2, &[-0.0, -0.0], -PI),
    (Op::Atan2, &[-0.0, -3.0], -PI),
    (Op::Atan2, &[-3.0, 0.0], -PI / 2.0),
    (Op::Atan2, &[3.0, INF], 0.0),
    (Op::Atan2, &[3.0, -INF], PI),
    (Op::Atan2, &[-3.0, INF], -0.0),
    (Op::Atan2, &[-3.0, -INF], -PI),
    (Op::Atan2, &[INF, 3.0], PI / 2.0),
    (Op::Atan2, &[-INF, 3.0], -PI / 2.0),
    (Op::Atan2, &[INF, INF], PI / 4.0),
    (Op::Atan2, &[INF, -INF], 3.0 * PI / 4.0),
    (Op::Atan2, &[-INF, INF], -PI / 4.0),
    (Op::Atan2, &[-INF, -INF], -3.0 * PI / 4.0),
    (Op::Hypot, &[INF, NAN], INF),
    (Op::Hypot, &[NAN, -INF], INF),
    (Op::Hypot, &[NAN, 1.0], NAN),
    (Op::Hypot, &[-0.0, -0.0], 0.0),
    (Op::Hypot, &[3.0, -4.0], 5.0),
    // Signs, rounding, order.
    (Op::Sign, &[-0.0], 0.0),
    (Op::Sign, &[-INF], -1.0),
    (Op::Sign, &[NAN], NAN),
    (Op::Floor, &[-0.0], -0.0),
    (Op::Floor, &[-INF], -INF),
    (Op::Floor, &[-0.5], -1.0),
    (Op::Floor, &[NAN], NAN),
    (Op::Ceil, &[-0.0], -0.0),
    (Op::Ceil, &[-0.5], -0.0),
    (Op::Ceil, &[INF], INF),
    (Op::Trunc, &[-0.5], -0.0),
    (Op::Trunc, &[-0.0], -0.0),
    (Op::Trunc, &[NAN], NAN),
    (Op::Round, &[-0.5], -0.0),
    (Op::Round, &[0.5], 0.0),
    (Op::Round, &[1.5], 2.0),
    (Op::Round, &[2.5], 2.0),
    (Op::Round, &[-2.5], -2.0),
    (Op::Round, &[-INF], -INF),
    (Op::Maximum, &[NAN, 1.0], NAN),
    (Op::Maximum, &[1.0, NAN], NAN),
    (Op::Maximum, &[-INF, 1.0], 1.0),
    (Op::Minimum, &[NAN, INF], NAN),
    (Op::Minimum, &[INF, NAN], NAN),
    (Op::Fmax, &[NAN, 1.0], 1.0),
    (Op::Fmin, &[1.0, NAN], 1.0),
    (Op::Fmax, &[NAN, NAN], NAN),
    (Op::Copysign, &[1.0, -0.0], -1.0),
    (Op::Copysign, &[0.0, -2.0], -0.0),
    (Op::Copysign, &[-2.0, 0.0], 2.0),
    (Op::Copysign, &[NAN, 1.0], NAN),
    (Op::Nextafter, &[NAN, 1.0], NAN),
    (Op::Nextafter, &[1.0, NAN], NAN),
    (Op::Nextafter, &[0.0, -0.0], -0.0),
    (Op::Nextafter, &[-0.0, 0.0], 0.0),
    (Op::Nextafter, &[2.0, 2.0], 2.0),
    (Op::Relu, &[NAN], NAN),
    (Op::Relu, &[-INF], 0.0),
    (Op::Relu6, &[NAN], NAN),
    (Op::LeakyRelu, &[NAN, 0.5], NAN),
    (Op::Clamp, &[NAN, -1.0, 1.0], NAN),
    (Op::Clamp, &[0.0, NAN, 1.0], NAN),
    (Op::Clamp, &[0.0, -1.0, NAN], NAN),
    (Op::Clamp, &[INF, -1.0, 1.0], 1.0),
    (Op::Clamp, &[-0.0, -1.0, 1.0], -0.0),
    (Op::Hardtanh, &[NAN, -1.0, 1.0], NAN),
    (Op::Hardtanh, &[INF, -1.0, 1.0], 1.0),
    (Op::Hardtanh, &[-0.0, -1.0, 1.0], -0.0),
    (Op::Hardshrink, &[NAN, 0.5], NAN),
    (Op::Softshrink, &[NAN, 0.5], NAN),
    (Op::Threshold, &[NAN, 0.0, 1.0], NAN),
    (Op::Heaviside, &[NAN, 1.0], NAN),
    (Op::Heaviside, &[-0.0, 0.5], 0.5),
    (Op::Xlogy, &[0.0, 0.0], 0.0),
    (Op::Xlogy, &[0.0, NAN], NAN),
    (Op::Xlog1py, &[0.0, -1.0], 0.0),
];

/// Comparisons: false with NaN, zeros are equal.
const TESTS: &[(Op, &[f64], bool)] = &[
    (Op::Eq, &[NAN, NAN], false),
    (Op::Ne, &[NAN, NAN], true),
    (Op::Lt, &[NAN, 1.0], false),
    (Op::Ge, &[NAN, 1.0], false),
    (Op::Le, &[1.0, NAN], false),
    (Op::Gt, &[1.0, NAN], false),
    (Op::Eq, &[0.0, -0.0], true),
    (Op::Lt, &[-0.0, 0.0], false),
    (Op::Le, &[0.0, -0.0], true),
    (Op::Eq, &[INF, INF], true),
    (Op::Lt, &[-INF, INF], true),
    (Op::Signbit, &[-0.0], true),
    (Op::Signbit, &[0.0], false),
    (Op::IsFinite, &[NAN], false),
    (Op::IsInf, &[-INF], true),
    (Op::LogicalAnd, &[NAN, 1.0], true),
    (Op::LogicalNot, &[-0.0], true),
    (Op::IsClose, &[INF, INF, 0.1, 0.1], true),
    (Op::IsClose, &[INF, -INF, 0.1, 0.1], false),
    (Op::IsClose, &[NAN, NAN, 0.1, 0.1], false),
    (Op::IsClose, &[INF, 1.0, 0.1, 0.1], false),
];

fn apply(op: Op, args: &[f64], dtype: DType) -> Tensor {
    // In a vector as long as the widest registers and a tail.
    let tensors = args
        .iter()
        .map(|arg| Tensor::full(&[67], *arg, dtype).unwrap());
    let tensors: Vec<Tensor> = tensors.collect();
    let operands: Vec<Operand<'_>> = tensors.iter().map(Operand::from).collect();
    Tensor::apply(op, &operands).unwrap()
}

#[test]
fn special_cases_of_the_array_api() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_floating_point()) {
        let limits = dtype.finfo().unwrap();
        let holds = |x: &f64| {
            (limits.has_inf || x.is_finite() || x.is_nan()) && {
                limits.has_negative_zero || x.to_bits() != (-0.0_f64).to_bits()
            }
        };
        let mut compared = 0;
        for (op, args, want) in CASES {
            if !args.iter().all(holds) || !holds(want) {
                continue;
            }
            let got = apply(*op, args, dtype).to_bytes().unwrap();
            let got = Column::from_bytes(dtype, got).unwrap();
            // The answer rounded to the dtype.
            let want = Column::new(dtype, [WeakScalar::Float(*want)])
                .unwrap()
                .values[0];
            let WeakScalar::Float(want) = want else {
                panic!("a float");
            };
            for got in got.values {
                let WeakScalar::Float(got) = got else {
                    panic!("a float");
                };
                let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                // Multiples of π may be off by the bound of the row.
                let near = (got - want).abs() <= op.row().ulp * limits.eps * want.abs();
                assert!(
                    same || (near && want != 0.0),
                    "{}{args:?} of {dtype}: got {got}, want {want}",
                    op.name()
                );
            }
            compared += 1;
        }
        assert!(compared > 60, "{dtype}: {compared}");
        for (op, args, want) in TESTS {
            if args.iter().all(holds) {
                let got = apply(*op, args, dtype).to_bytes().unwrap();
                assert_eq!(
                    got,
                    [u8::from(*want); 67],
                    "{}{args:?} of {dtype}",
                    op.name()
                );
            }
        }
    }
}

#[test]
fn integers_wrap() {
    fn check(op: Op, args: &[i128], want: i128, dtype: DType) {
        let columns = args
            .iter()
            .map(|x| Column::new(dtype, [WeakScalar::Int(*x)]).unwrap());
        let tensors = columns.map(|c| Tensor::from_bytes(&c.bytes, &[1], dtype).unwrap());
        let tensors: Vec<Tensor> = tensors.collect();
        let operands: Vec<Operand<'_>> = tensors.iter().map(Operand::from).collect();
        let got = Tensor::apply(op, &operands)
            .unwrap()
            .item()
            .unwrap()
            .value();
        assert_eq!(
            got,
            WeakScalar::Int(want),
            "{}{args:?} of {dtype}",
            op.name()
        );
    }
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        let (least, most) = dtype.integer_range().unwrap();
        check(Op::Add, &[most, 1], least, dtype);
        check(Op::Sub, &[least, 1], most, dtype);
        check(
            Op::Mul,
            &[most, 2],
            if dtype.is_signed() { -2 } else { most - 1 },
            dtype,
        );
        check(Op::Maximum, &[least, most], most, dtype);
        if dtype.is_signed() {
            check(Op::Abs, &[least], least, dtype);
            check(Op::Neg, &[least], least, dtype);
            check(Op::FloorDivide, &[least, -1], least, dtype);
            check(Op::TruncDivide, &[least, -1], least, dtype);
            check(Op::Remainder, &[least, -1], 0, dtype);
            check(Op::Fmod, &[least, -1], 0, dtype);
            check(Op::FloorDivide, &[-7, 2], -4, dtype);
            check(Op::Remainder, &[-7, 2], 1, dtype);
        }
    }
}

/// A tile takes a faster formula for numbers of a moderate size: a large neighbour changes nothing.
#[test]
fn neighbours_do_not_matter() {
    for op in [Op::Sin, Op::Cos, Op::Tan] {
        for dtype in [DType::F32, DType::F64] {
            let values = (0..2000).map(|i| f64::from(i - 1000) * 3.7);
            let small: Vec<f64> = values.collect();
            let mut mixed = small.clone();
            for place in (0..mixed.len()).step_by(300) {
                mixed[place] = 1e30;
            }
            let run = |values: &[f64]| {
                let x = Tensor::from_slice(values, &[values.len()]).unwrap();
                Tensor::apply(op, &[(&x.to(dtype).unwrap()).into()])
                    .unwrap()
                    .to_bytes()
                    .unwrap()
            };
            let (small, mixed) = (run(&small), run(&mixed));
            let size = dtype.itemsize();
            let pairs = small.chunks(size).zip(mixed.chunks(size)).enumerate();
            for (i, (alone, beside)) in pairs.filter(|(i, _)| i % 300 != 0) {
                assert_eq!(alone, beside, "{} {dtype} at {i}", op.name());
            }
        }
    }
}
