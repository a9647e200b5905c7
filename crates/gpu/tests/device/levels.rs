//! The levels by which arithmetic is kept as it is written, and what the probe says of them.

use allotrope_dtype::DType;
use allotrope_gpu::{Level, Options, open};
use allotrope_op::{Backend, Builder};

use crate::support::{Pair, alone, assert_same, devices, levels, options, read};

#[test]
fn strict_arithmetic_is_as_written() {
    let _alone = alone();
    for gpu in levels() {
        let numerics = gpu.numerics();
        println!("{:?} {gpu:?} {numerics:?}", gpu.level());
        // The text that insists is exact in both; a plain one only where the driver listens.
        assert!(numerics.exact, "{:?}", gpu.level());
        if gpu.level() == Level::Strict {
            assert!(numerics.plain && numerics.nans && numerics.zeros);
        }
    }
}

#[test]
fn the_probe_chooses_the_level() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let chosen = open(options()).unwrap();
    let is_strict = levels()
        .iter()
        .any(|gpu| gpu.level() == Level::Strict && gpu.numerics().plain);
    let expected = if is_strict {
        Level::Strict
    } else {
        Level::Portable
    };
    assert_eq!(chosen.level(), expected);
    let asked = Options {
        level: Some(Level::Portable),
        ..options()
    };
    assert_eq!(open(asked).unwrap().level(), Level::Portable);
}

#[test]
fn both_levels_have_the_same_bits() {
    let _alone = alone();
    let levels = levels();
    let made: Vec<Vec<u8>> = levels
        .iter()
        .map(|gpu| {
            let x = Pair::sample(gpu, DType::F32, &[2000], 91);
            let y = Pair::sample(gpu, DType::F32, &[2000], 92);
            let builder = Builder::new(&[DType::F32, DType::F32]);
            let (a, b) = (builder.input(0), builder.input(1));
            let (sum, product) = (a + b, a * b);
            let program = builder.finish(&[(sum - a) * b + product, product - sum, a / b]);
            let views = [x.on_gpu(), y.on_gpu()];
            let made = gpu.run("test", &program, x.layout.shape(), &views).unwrap();
            (0..3)
                .flat_map(|k| read(&made[k], DType::F32, 2000))
                .collect()
        })
        .collect();
    if let [strict, portable] = made.as_slice() {
        assert_same("levels", DType::F32, strict, portable);
    }
}
