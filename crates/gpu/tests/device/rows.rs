//! One row of the op tables as a program.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::{Backend, Layout, Op};

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
