//! Elements that are moved keep their bits, whatever the layouts.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_gpu::{Gpu, hosted};
use allotrope_op::{Backend, Band, Builder, Layout, Piece, Program, Shape, Slice};

use crate::support::{Pair, alone, assert_same, bytes_of, devices, narrowed, read, target};

/// Layouts of one tensor of shape [5, 6, 7], each a different walk.
fn layouts() -> Vec<(&'static str, Layout)> {
    let whole = Layout::contiguous(Shape::new("test", &[5, 6, 7]).unwrap());
    let slice = |start, end, step| Slice {
        start: Some(start),
        stop: Some(end),
        step,
    };
    let cut = whole.slice("test", 1, slice(1, 5, 1)).unwrap();
    let row = whole.slice("test", 0, slice(2, 3, 1)).unwrap();
    let every = Slice {
        step: -2,
        ..Slice::ALL
    };
    let back = whole.slice("test", 2, every).unwrap();
    let wide = Shape::new("test", &[5, 4, 7]).unwrap();
    vec![
        ("contiguous", whole.clone()),
        ("permuted", whole.permute("test", &[2, 0, 1]).unwrap()),
        ("cut", cut),
        ("backwards", back),
        (
            "broadcast",
            row.slice("test", 1, slice(3, 4, 1))
                .unwrap()
                .broadcast_to("test", &wide)
                .unwrap(),
        ),
        ("diagonal", whole.diagonal("test", 0, 1, 2).unwrap()),
    ]
}

#[test]
fn copies_keep_their_bits() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            let bytes = bytes_of(dtype, 210, 3);
            for (name, layout) in layouts() {
                let count = layout.shape().count();
                let x = Pair::new(gpu, dtype, &[5, 6, 7], &bytes).with(layout);
                let made = gpu.copy("copy", dtype, x.on_gpu()).unwrap();
                let expected = CPU.copy("copy", dtype, x.on_cpu()).unwrap();
                let expected = read(&expected, dtype, count);
                assert_eq!(read(&made, dtype, count), expected, "{name} {dtype}");
                let mut down = vec![0; count * dtype.itemsize()];
                gpu.download("copy", dtype, x.on_gpu(), &mut down).unwrap();
                assert_eq!(down, expected, "{name} {dtype} down");
            }
        }
    }
}

#[test]
fn fills_are_one_element() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            for count in [0, 1, 3, 1000] {
                let one = narrowed(gpu, dtype, &bytes_of(dtype, 40, 4)[39 * dtype.itemsize()..]);
                let made = gpu.fill("full", dtype, &one, count).unwrap();
                assert_same(
                    "full",
                    dtype,
                    &read(&made, dtype, count),
                    &one.repeat(count),
                );
            }
        }
    }
}

#[test]
fn elements_are_placed() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            let (size, bytes) = (dtype.itemsize(), bytes_of(dtype, 400, 5));
            for (name, to) in layouts()
                .into_iter()
                .filter(|(name, _)| *name != "broadcast")
            {
                let shape: Vec<usize> = to.shape().to_vec();
                let count = to.shape().count();
                for start in [0, 1, 7] {
                    let x = Pair::new(gpu, dtype, &shape, &bytes[..count * size]);
                    let base = narrowed(gpu, dtype, &bytes[..230 * size]);
                    let mut on_gpu = gpu.upload("place", dtype, &base).unwrap();
                    let mut on_cpu = CPU.upload("place", dtype, &base).unwrap();
                    gpu.place(
                        "place",
                        dtype,
                        x.on_gpu(),
                        target(&mut on_gpu, start, 210),
                        &to,
                    )
                    .unwrap();
                    CPU.place(
                        "place",
                        dtype,
                        x.on_cpu(),
                        target(&mut on_cpu, start, 210),
                        &to,
                    )
                    .unwrap();
                    let (made, expected) = (read(&on_gpu, dtype, 230), read(&on_cpu, dtype, 230));
                    assert_eq!(made, expected, "{name} {dtype} from {start}");
                }
            }
        }
    }
}

#[test]
fn places_that_are_shared_are_the_cpus_work() {
    let _alone = alone();
    for gpu in devices() {
        let before = count_hosted(gpu, "place");
        let one = Layout::contiguous(Shape::new("test", &[1]).unwrap());
        let to = one
            .broadcast_to("test", &Shape::new("test", &[4]).unwrap())
            .unwrap();
        let x = Pair::sample(gpu, DType::I64, &[4], 6);
        let mut memory = gpu.upload("place", DType::I64, &[0; 8]).unwrap();
        gpu.place(
            "place",
            DType::I64,
            x.on_gpu(),
            target(&mut memory, 0, 1),
            &to,
        )
        .unwrap();
        assert_eq!(count_hosted(gpu, "place"), before + 1);
    }
}

fn count_hosted(gpu: &Gpu, method: &str) -> usize {
    hosted(gpu)
        .iter()
        .find(|(name, _)| *name == method)
        .map_or(0, |(_, n)| *n)
}

#[test]
fn pieces_fill_a_tensor() {
    let _alone = alone();
    for gpu in devices() {
        for (from, dtype) in [
            (DType::F32, DType::F32),
            (DType::Bool, DType::Bool),
            (DType::I16, DType::I16),
            (DType::C128, DType::C128),
            (DType::I8, DType::BF16),
            (DType::BF16, DType::F64),
            (DType::U8, DType::I64),
            (DType::F64, DType::F8E4M3Fn),
        ] {
            let a = Pair::sample(gpu, from, &[3, 5], 7);
            let b = Pair::sample(gpu, dtype, &[3, 4], 8);
            let shape = Shape::new("cat", &[3, 9]).unwrap();
            let pieces = |on_gpu: bool| {
                [(&a, 0), (&b, 5)].map(|(x, column)| Piece {
                    memory: if on_gpu { &*x.gpu } else { &*x.cpu },
                    dtype: x.dtype,
                    layout: x.layout.clone(),
                    start: [0, column].as_slice().into(),
                })
            };
            let made = gpu.assemble("cat", dtype, &shape, &pieces(true)).unwrap();
            let expected = CPU.assemble("cat", dtype, &shape, &pieces(false)).unwrap();
            let expected = narrowed(gpu, dtype, &read(&expected, dtype, 27));
            assert_same("cat", dtype, &read(&made, dtype, 27), &expected);
        }
    }
}

#[test]
fn bands_are_kept() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            let x = Pair::sample(gpu, dtype, &[2, 5, 7], 9);
            let turned = x.layout.permute("test", &[0, 2, 1]).unwrap();
            let x = x.with(turned);
            for band in [Band::Lower, Band::Upper] {
                for diagonal in [-9, -1, 0, 2, 9] {
                    let made = gpu
                        .keep_band("tril", dtype, band, diagonal, x.on_gpu())
                        .unwrap();
                    let expected = CPU
                        .keep_band("tril", dtype, band, diagonal, x.on_cpu())
                        .unwrap();
                    let (made, expected) = (read(&made, dtype, 70), read(&expected, dtype, 70));
                    assert_eq!(made, expected, "{band:?} {diagonal} {dtype}");
                }
            }
        }
    }
}

#[test]
fn programs_read_any_layout() {
    let _alone = alone();
    for gpu in devices() {
        for (name, layout) in layouts() {
            for dtype in [DType::BF16, DType::I8, DType::F32, DType::I64] {
                let count = layout.shape().count();
                let x = Pair::sample(gpu, dtype, &[5, 6, 7], 10).with(layout.clone());
                let row = Pair::sample(gpu, dtype, &[7, 6, 5], 11);
                let rank = layout.rank();
                let ones: Vec<usize> = (0..rank)
                    .map(|d| if d + 1 == rank { layout.shape()[d] } else { 1 })
                    .collect();
                let last: usize = ones.iter().product();
                let line = Layout::contiguous(Shape::new("test", &ones).unwrap());
                let line = line.broadcast_to("test", layout.shape()).unwrap();
                assert!(last <= 210);
                let row = row.with(line);
                // Two outputs of different widths, and a constant.
                let builder = Builder::new(&[dtype, dtype]);
                let (a, b) = (
                    builder.input(0).to(DType::F32),
                    builder.input(1).to(DType::F32),
                );
                let program =
                    builder.finish(&[(a + b).to(DType::F16), a.lt(b), (a * b).to(DType::F32)]);
                let shape = layout.shape();
                let made = gpu
                    .run("test", &program, shape, &[x.on_gpu(), row.on_gpu()])
                    .unwrap();
                let expected = CPU
                    .run("test", &program, shape, &[x.on_cpu(), row.on_cpu()])
                    .unwrap();
                for (k, dtype) in [DType::F16, DType::Bool, DType::F32]
                    .into_iter()
                    .enumerate()
                {
                    let (made, expected) = (
                        read(&made[k], dtype, count),
                        read(&expected[k], dtype, count),
                    );
                    assert_same(name, dtype, &made, &expected);
                }
            }
        }
    }
}

#[test]
fn programs_of_many_inputs() {
    let _alone = alone();
    for gpu in devices() {
        let inputs: Vec<Pair> = (0..40)
            .map(|k| Pair::sample(gpu, DType::I32, &[37], k + 50))
            .collect();
        let mut program = Program::new(&[DType::I32; 40]);
        let mut sum = 0;
        for k in 1..40 {
            sum = program.apply(allotrope_op::Op::Add, &[sum, k]);
        }
        program.output(sum);
        let on_gpu: Vec<_> = inputs.iter().map(Pair::on_gpu).collect();
        let on_cpu: Vec<_> = inputs.iter().map(Pair::on_cpu).collect();
        let shape = inputs[0].layout.shape();
        let made = gpu.run("sum", &program, shape, &on_gpu).unwrap();
        let expected = CPU.run("sum", &program, shape, &on_cpu).unwrap();
        assert_same(
            "sum",
            DType::I32,
            &read(&made[0], DType::I32, 37),
            &read(&expected[0], DType::I32, 37),
        );
    }
}
