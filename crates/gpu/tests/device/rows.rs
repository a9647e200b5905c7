//! One row of the op tables as a program.

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Scalar, WeakScalar};
use allotrope_gpu::Gpu;
use allotrope_op::{Backend, Layout, Op, Program, Step};

use crate::support::{Pair, alone, assert_same, devices, read};

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

/// The outputs of a program on a device and on the CPU are the same.
fn same(gpu: &Gpu, what: &str, program: &Program, [x, y]: [&Pair; 2]) {
    let shape = x.layout.shape();
    let made = gpu.run("test", program, shape, &[x.on_gpu(), y.on_gpu()]);
    let expected = CPU.run("test", program, shape, &[x.on_cpu(), y.on_cpu()]);
    let (made, expected) = (made.unwrap(), expected.unwrap());
    for (k, dtype) in program.output_dtypes().enumerate() {
        let count = shape.count();
        let (made, expected) = (
            read(&made[k], dtype, count),
            read(&expected[k], dtype, count),
        );
        assert_same(&format!("{what} {k} {gpu:?}"), dtype, &made, &expected);
    }
}

#[test]
fn integers_that_share_a_word_do_not_touch_each_other() {
    let _alone = alone();
    for gpu in devices() {
        for (dtype, other) in [
            (DType::I8, DType::U8),
            (DType::U8, DType::I8),
            (DType::I16, DType::U16),
            (DType::U16, DType::I16),
        ] {
            let size = dtype.itemsize();
            // All pairs of bytes, each beside others; of two bytes a walk through pairs.
            let words = (0..1_u64 << 16).map(|k| match size {
                1 => [k, k >> 8],
                _ => [k.wrapping_mul(40_503), k.wrapping_mul(k)],
            });
            let bytes = |side: usize| -> Vec<u8> {
                let words = words.clone();
                words
                    .flat_map(|pair| pair[side].to_le_bytes().into_iter().take(size))
                    .collect()
            };
            let (x, y) = (bytes(0), bytes(1));
            // One that fills no vector is cut off behind.
            for count in [1 << 16, 61] {
                let pair = |bytes: &[u8]| Pair::new(gpu, dtype, &[count], &bytes[..count * size]);
                let (x, y) = (pair(&x), pair(&y));
                let mut sums = Program::new(&[dtype, dtype]);
                let three = Scalar::new(WeakScalar::Int(3), dtype).unwrap();
                let three = sums.push(Step::Constant(three));
                for (op, slots) in [
                    (Op::Add, &[0, 1][..]),
                    (Op::Sub, &[0, 1]),
                    (Op::Neg, &[0]),
                    (Op::Sub, &[three, 1]),
                ] {
                    let result = sums.apply(op, slots);
                    sums.output(result);
                }
                let mut bits = Program::new(&[dtype, dtype]);
                for op in [Op::BitwiseAnd, Op::BitwiseOr, Op::BitwiseXor] {
                    let result = bits.apply(op, &[0, 1]);
                    bits.output(result);
                }
                let not = bits.apply(Op::BitwiseNot, &[1]);
                let turned = bits.convert(not, other);
                let negated = bits.apply(Op::Neg, &[turned]);
                bits.output(negated);
                for program in [&sums, &bits] {
                    same(gpu, "both in lines", program, [&x, &y]);
                }
                // One number for all.
                let shape = x.layout.shape().clone();
                let y = y.with(Layout::from_parts(shape, [0].as_slice().into(), 60));
                for program in [&sums, &bits] {
                    same(gpu, "one for all", program, [&x, &y]);
                }
            }
        }
    }
}
