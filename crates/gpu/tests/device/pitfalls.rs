//! What shading languages and their compilers are known to get wrong.

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Scalar, WeakScalar};
use allotrope_gpu::Gpu;
use allotrope_op::{Backend, Builder, Op, Program, Shape, Step};

use crate::support::{Pair, alone, assert_same, devices, numbers, read};

/// The outputs of a program on a device and on the CPU are the same.
fn same(gpu: &Gpu, what: &str, program: &Program, inputs: &[&Pair]) {
    let on_gpu: Vec<_> = inputs.iter().map(|x| x.on_gpu()).collect();
    let on_cpu: Vec<_> = inputs.iter().map(|x| x.on_cpu()).collect();
    let shape = inputs[0].layout.shape();
    let made = gpu.run("test", program, shape, &on_gpu).unwrap();
    let expected = CPU.run("test", program, shape, &on_cpu).unwrap();
    for (k, dtype) in program.output_dtypes().enumerate() {
        let count = shape.count();
        let (made, expected) = (
            read(&made[k], dtype, count),
            read(&expected[k], dtype, count),
        );
        assert_same(&format!("{what} {gpu:?}"), dtype, &made, &expected);
    }
}

fn pair(gpu: &Gpu, values: &[f32]) -> Pair {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
    Pair::new(gpu, DType::F32, &[values.len()], &bytes)
}

fn rows(dtype: DType, ops: &[Op]) -> Program {
    let mut program = Program::new(&[dtype, dtype]);
    for op in ops {
        let slots: &[u16] = if op.arity() == 1 { &[0] } else { &[0, 1] };
        let result = program.apply(*op, slots);
        program.output(result);
    }
    program
}

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn the_two_devices_are_different() {
    let _alone = alone();
    let devices = devices();
    let [all, portable] = devices[..] else {
        return;
    };
    // Else the tests of the first would say nothing about float64 and int64 of a driver.
    let numerics = all.numerics();
    assert_eq!([numerics.float64, numerics.int64], all.offers(), "{all:?}");
    let none = portable.numerics();
    assert!(!none.float64 && !none.int64 && !none.halves);
    for (dtype, narrow) in [(DType::F64, DType::F32), (DType::C128, DType::C64)] {
        assert_eq!(portable.capabilities().storage(dtype), narrow);
    }
    // Integers are as wide as they say, as pairs of words.
    assert_eq!(portable.capabilities().storage(DType::I64), DType::I64);
}

#[test]
fn comparisons_and_extremes_know_nan() {
    let _alone = alone();
    for gpu in devices() {
        let x = pair(gpu, &[NAN, 1.0, NAN, 0.0, -0.0, INF, -INF, 2.0]);
        let y = pair(gpu, &[1.0, NAN, NAN, -0.0, 0.0, NAN, INF, 1.0]);
        for ops in [
            &[Op::Ne, Op::Eq, Op::Lt][..],
            &[Op::Le, Op::Gt, Op::Ge],
            &[Op::Maximum, Op::Minimum],
        ] {
            same(gpu, "compare", &rows(DType::F32, ops), &[&x, &y]);
        }
    }
}

#[test]
fn sums_are_not_simplified() {
    let _alone = alone();
    for gpu in devices() {
        let x = pair(gpu, &[1.0, 1e8, NAN, INF, 0.1, 16_777_216.0, -0.0, 3.0]);
        let y = pair(gpu, &[1e-9, 1.0, 1.0, INF, 0.2, 1.5, 0.0, NAN]);
        let builder = Builder::new(&[DType::F32, DType::F32]);
        let (a, b) = (builder.input(0), builder.input(1));
        let program = builder.finish(&[(a + b) - a, a - a, (a + b) - (a + b)]);
        same(gpu, "two-sum", &program, &[&x, &y]);
        // Times zero and plus zero, by a constant that the shader is told.
        let mut program = Program::new(&[DType::F32]);
        for value in [0.0, -0.0] {
            let zero = Scalar::new(WeakScalar::Float(value), DType::F32).unwrap();
            let zero = program.push(Step::Constant(zero));
            for op in [Op::Mul, Op::Add, Op::Sub] {
                let result = program.apply(op, &[0, zero]);
                program.output(result);
            }
        }
        same(gpu, "zero", &program, &[&x]);
    }
}

#[test]
fn constants_may_be_infinite() {
    let _alone = alone();
    for gpu in devices() {
        let x = pair(gpu, &[1.0, -1.0, NAN, INF, 0.0]);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e-45] {
            let mut program = Program::new(&[DType::F32]);
            let scalar = Scalar::new(WeakScalar::Float(value), DType::F32).unwrap();
            let slot = program.push(Step::Constant(scalar));
            let product = program.apply(Op::Mul, &[0, slot]);
            program.output(slot);
            program.output(product);
            same(gpu, "constant", &program, &[&x]);
        }
    }
}

#[test]
fn a_narrow_float_in_between_rounds() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in [DType::F16, DType::BF16, DType::F8E4M3Fn, DType::F8E5M2] {
            let x = pair(
                gpu,
                &[0.1, 1.0 / 3.0, 65519.0, 1e-7, 2049.0, NAN, -INF, 449.0],
            );
            let builder = Builder::new(&[DType::F32]);
            let there = builder.input(0).to(dtype).to(DType::F32);
            let program = builder.finish(&[there, there - builder.input(0)]);
            same(gpu, "there and back", &program, &[&x]);
        }
    }
}

#[test]
fn integers_divide_shift_and_saturate() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            let x = Pair::sample(gpu, dtype, &[64], 61);
            let size = dtype.itemsize();
            let counts: Vec<u8> = (0..64_i64)
                .flat_map(|i| [0, 1, -1, 7, 31, 32, 63, 64][i as usize % 8].to_ne_bytes_of(size))
                .collect();
            let y = Pair::new(gpu, dtype, &[64], &counts);
            for ops in [
                &[Op::FloorDivide, Op::Remainder][..],
                &[Op::LeftShift, Op::RightShift],
                &[Op::Mul, Op::Sub],
            ] {
                same(gpu, "integers", &rows(dtype, ops), &[&x, &y]);
            }
            let floats = pair(
                gpu,
                &[
                    INF,
                    -INF,
                    NAN,
                    3e9,
                    -3e9,
                    1e20,
                    -1e20,
                    2147483648.0,
                    0.99,
                    -0.99,
                    255.5,
                ],
            );
            let mut program = Program::new(&[DType::F32]);
            let result = program.convert(0, dtype);
            program.output(result);
            same(gpu, "saturate", &program, &[&floats]);
        }
    }
}

trait Bytes {
    fn to_ne_bytes_of(self, size: usize) -> Vec<u8>;
}

impl Bytes for i64 {
    fn to_ne_bytes_of(self, size: usize) -> Vec<u8> {
        self.to_ne_bytes()[..size].to_vec()
    }
}

#[test]
fn subnormal_numbers_stay_where_the_probe_says_so() {
    let _alone = alone();
    for gpu in devices()
        .into_iter()
        .filter(|gpu| gpu.numerics().subnormals)
    {
        let x = pair(gpu, &[1e-40, -1e-45, 1.5e-38, 3e-39]);
        let y = pair(gpu, &[2e-40, 1.0, 0.5, 2.0]);
        same(
            gpu,
            "subnormal",
            &rows(DType::F32, &[Op::Add, Op::Mul]),
            &[&x, &y],
        );
    }
}

#[test]
fn bits_of_nan_survive_movement() {
    let _alone = alone();
    for gpu in devices() {
        let bits = [0x7fc0_1234_u32, 0xffc0_0001, 0x7f80_0001, 0x8000_0000, 1];
        let bytes: Vec<u8> = bits.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let x = Pair::new(gpu, DType::F32, &[5], &bytes);
        let made = gpu.copy("copy", DType::F32, x.on_gpu()).unwrap();
        assert_eq!(read(&made, DType::F32, 5), bytes);
    }
}

#[test]
fn one_tensor_may_be_every_operand() {
    let _alone = alone();
    for gpu in devices() {
        let x = Pair::sample(gpu, DType::F32, &[100], 62);
        same(
            gpu,
            "twice",
            &rows(DType::F32, &[Op::Add, Op::Mul]),
            &[&x, &x],
        );
    }
}

#[test]
fn sizes_need_not_fill_words() {
    let _alone = alone();
    for gpu in devices() {
        for count in 1..10 {
            for dtype in [DType::I8, DType::BF16, DType::Bool] {
                let x = Pair::sample(gpu, dtype, &[count], 63);
                assert_same(
                    "odd",
                    dtype,
                    &read(&x.gpu, dtype, count),
                    &read(&x.cpu, dtype, count),
                );
                let mut program = Program::new(&[dtype]);
                let result = program.convert(0, DType::U8);
                program.output(result);
                same(gpu, "odd", &program, &[&x]);
            }
        }
    }
}

#[test]
fn integers_beyond_32_bits() {
    let _alone = alone();
    for gpu in devices() {
        let values = [
            i64::MIN,
            i64::MAX,
            1 << 33,
            -(1 << 40),
            5_000_000_007,
            -1,
            0,
        ];
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let x = Pair::new(gpu, DType::I64, &[7], &bytes);
        let turned: Vec<u8> = values.iter().rev().flat_map(|x| x.to_ne_bytes()).collect();
        let y = Pair::new(gpu, DType::I64, &[7], &turned);
        for ops in [
            &[Op::Add, Op::Mul][..],
            &[Op::FloorDivide, Op::Remainder],
            &[Op::Lt, Op::Maximum],
            &[Op::Gcd],
        ] {
            same(gpu, "int64", &rows(DType::I64, ops), &[&x, &y]);
        }
    }
}

#[test]
fn exact_comparisons_of_integers_with_floats() {
    let _alone = alone();
    for gpu in devices() {
        let values = [
            i64::MAX,
            i64::MIN,
            (1 << 53) + 1,
            1 << 53,
            0,
            -7,
            (1 << 40) + 1,
        ];
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let x = Pair::new(gpu, DType::I64, &[7], &bytes);
        let floats = values.map(|x| x as f64);
        let y = Pair::new(gpu, DType::F64, &[7], bytemuck::bytes_of(&floats));
        for op in [Op::Eq, Op::Lt, Op::Ge] {
            let shape = x.layout.shape().clone();
            let mut program = Program::new(&[DType::I64, DType::F64]);
            // As an exact comparison is set out: the float64 of the integer, and what that left out.
            let float = program.convert(0, DType::F64);
            let rest = program.push(Step::ConversionRest { from: 0 });
            let zero = Scalar::new(WeakScalar::Float(0.0), DType::F64).unwrap();
            let zero = program.push(Step::Constant(zero));
            let (near, exact) = (
                program.apply(op, &[float, 1]),
                program.apply(op, &[rest, zero]),
            );
            program.output(near);
            program.output(exact);
            let made = gpu
                .run("test", &program, &shape, &[x.on_gpu(), y.on_gpu()])
                .unwrap();
            let exact = read(&made[1], DType::Bool, 7);
            // What is left out has the sign of the integer without its float, in float64 or float32.
            let narrow = crate::support::stored(gpu, DType::F64) == DType::F32;
            for (i, value) in values.into_iter().enumerate() {
                let float = if narrow {
                    i128::from((value as f32) as i64)
                } else {
                    i128::from((value as f64) as i64)
                };
                let float = if value == i64::MAX { 1 << 63 } else { float };
                let rest = i128::from(value) - float;
                let expected = match op {
                    Op::Eq => rest == 0,
                    Op::Lt => rest < 0,
                    _ => rest >= 0,
                };
                assert_eq!(exact[i] != 0, expected, "{op:?} {value} {gpu:?}");
            }
        }
    }
}

#[test]
fn more_groups_than_fit_in_a_row() {
    let _alone = alone();
    for gpu in devices() {
        let count = 65535 * 64 + 1000;
        let shape = Shape::new("test", &[count]).unwrap();
        let three = gpu
            .fill("full", DType::F32, &3.0_f32.to_ne_bytes(), count)
            .unwrap();
        let layout = allotrope_op::Layout::contiguous(shape.clone());
        let view = allotrope_op::View {
            memory: &*three,
            layout: &layout,
        };
        let made = gpu
            .run("add", &rows(DType::F32, &[Op::Add]), &shape, &[view, view])
            .unwrap();
        let sums = numbers(DType::F32, &read(&made[0], DType::F32, count));
        assert!(sums.iter().all(|x| *x == 6.0));
    }
}

#[test]
fn more_bytes_than_a_shader_sees() {
    let _alone = alone();
    // The device without features: the other has the same limits.
    for gpu in devices().into_iter().skip(1) {
        let count = 140 << 20;
        let shape = Shape::new("test", &[count]).unwrap();
        let layout = allotrope_op::Layout::contiguous(shape.clone());
        let seven = gpu.fill("full", DType::U8, &[7], count).unwrap();
        let view = allotrope_op::View {
            memory: &*seven,
            layout: &layout,
        };
        let made = gpu
            .run("add", &rows(DType::U8, &[Op::Add]), &shape, &[view, view])
            .unwrap();
        assert!(read(&made[0], DType::U8, count).iter().all(|x| *x == 14));
    }
}
