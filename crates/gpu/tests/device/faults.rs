//! What goes wrong is an error with a reason, and nothing else is harmed.

use allotrope_dtype::{DType, ErrorKind, Problem};
use allotrope_gpu::{Features, Options, open};
use allotrope_op::{Backend, Layout, Op, Program, Shape, View};

use crate::support::{Pair, alone, devices, read};

#[test]
fn a_device_that_is_not_there() {
    let options = Options {
        ordinal: 99,
        software: true,
        ..Options::default()
    };
    let error = open(options).expect_err("there are not so many");
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(
        error.to_string().contains("no such device: 'gpu:99'"),
        "{error}"
    );
}

#[test]
fn a_lost_device_gives_no_bytes() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let options = Options {
        software: true,
        features: Features::Portable,
        ..Options::default()
    };
    let gpu = open(options).unwrap();
    let x = Pair::sample(gpu, DType::F32, &[100], 71);
    assert_eq!(read(&x.gpu, DType::F32, 100), read(&x.cpu, DType::F32, 100));
    gpu.lose();
    assert!(gpu.is_lost());
    let mut bytes = [0x55; 400];
    let error = gpu
        .download("item", DType::F32, x.on_gpu(), &mut bytes)
        .expect_err("it is lost");
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.to_string().contains("lost"), "{error}");
    assert_eq!(bytes, [0x55; 400], "nothing was written");
    assert!(gpu.finish().is_err());
    assert!(gpu.upload("tensor", DType::F32, &[0; 4]).is_err());
    assert!(gpu.copy("copy", DType::F32, x.on_gpu()).is_err());
    drop(x);
    // Another one is as good as new.
    let other = open(options).unwrap();
    let y = Pair::sample(other, DType::F32, &[100], 72);
    assert_eq!(read(&y.gpu, DType::F32, 100), read(&y.cpu, DType::F32, 100));
}

#[test]
fn memory_has_a_budget() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let options = Options {
        software: true,
        budget: Some(8 << 20),
        ..Options::default()
    };
    let gpu = open(options).unwrap();
    let first = gpu.allocate("empty", DType::U8, 6 << 20).unwrap();
    let error = gpu
        .allocate("empty", DType::U8, 6 << 20)
        .expect_err("too much");
    assert!(
        matches!(error.problem(), Problem::OutOfMemory { .. }),
        "{error}"
    );
    drop(first);
    // What was given back serves again, in another size too.
    let second = gpu.allocate("empty", DType::U8, 7 << 20).unwrap();
    assert!(gpu.memory_allocated() >= 7 << 20);
    drop(second);
    assert_eq!(gpu.memory_allocated(), 0);
    assert!(gpu.max_memory_allocated() >= 7 << 20);
}

#[test]
fn buffers_have_a_limit() {
    let _alone = alone();
    for gpu in devices() {
        let error = gpu
            .allocate("empty", DType::F64, 1 << 40)
            .expect_err("too much");
        assert!(
            matches!(error.problem(), Problem::OutOfMemory { .. }),
            "{error}"
        );
        assert!(gpu.allocate("empty", DType::F64, usize::MAX).is_err());
    }
}

#[test]
fn tensors_dropped_in_flight() {
    let _alone = alone();
    for gpu in devices() {
        let shape = Shape::new("test", &[1000]).unwrap();
        let layout = Layout::contiguous(shape.clone());
        let mut program = Program::new(&[DType::I32, DType::I32]);
        let sum = program.apply(Op::Add, &[0, 1]);
        program.output(sum);
        let one = gpu
            .fill("ones", DType::I32, &1_i32.to_ne_bytes(), 1000)
            .unwrap();
        let mut total = gpu.fill("zeros", DType::I32, &[0; 4], 1000).unwrap();
        let [submits, _] = gpu.submits();
        for _ in 0..500 {
            let views = [&total, &one].map(|memory| View {
                memory: &**memory,
                layout: &layout,
            });
            let made = gpu.run("add", &program, &shape, &views).unwrap();
            total = made[0].clone();
        }
        let bytes = read(&total, DType::I32, 1000);
        assert!(bytes.chunks_exact(4).all(|b| b == 500_i32.to_ne_bytes()));
        let [after, _] = gpu.submits();
        assert!(after - submits < 10, "{} submits", after - submits);
    }
}

#[test]
fn constants_share_a_shader() {
    let _alone = alone();
    for gpu in devices() {
        let x = Pair::sample(gpu, DType::F32, &[10], 73);
        let run = |value: f64| {
            let mut program = Program::new(&[DType::F32]);
            let scalar = allotrope_dtype::Scalar::new(value, DType::F32).unwrap();
            let scalar = program.push(allotrope_op::Step::Constant(scalar));
            let product = program.apply(Op::Mul, &[0, scalar]);
            program.output(product);
            gpu.run("mul", &program, x.layout.shape(), &[x.on_gpu()])
                .unwrap();
        };
        run(0.5);
        let before = gpu.pipeline_count();
        (0..100).for_each(|i| run(f64::from(i)));
        assert_eq!(gpu.pipeline_count(), before);
    }
}
