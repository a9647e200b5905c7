//! Casts of all pairs of dtypes, bit for bit.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::{Backend, Program};

use crate::support::{Pair, alone, assert_same, devices, narrowed, read, stored};

#[test]
fn casts_of_all_pairs() {
    let _alone = alone();
    for gpu in devices() {
        for from in DType::ALL {
            for to in DType::ALL {
                if from.is_complex() && !(to.is_complex() || to == DType::Bool) {
                    continue;
                }
                let count = 517;
                let x = Pair::sample(gpu, from, &[count], 1);
                let mut program = Program::new(&[from]);
                let result = program.convert(0, to);
                program.output(result);
                let shape = x.layout.shape();
                let made = gpu.run("to", &program, shape, &[x.on_gpu()]).unwrap();
                let expected = CPU.run("to", &program, shape, &[x.on_cpu()]).unwrap();
                let expected = narrowed(gpu, to, &read(&expected[0], to, count));
                // An integer that is rounded to float64 and then to float32 is rounded twice.
                if stored(gpu, to) != to && from.is_integer() && from.bits() == 64 {
                    continue;
                }
                let name = format!("{} to", from.name());
                assert_same(&name, to, &read(&made[0], to, count), &expected);
            }
        }
    }
}
