//! Figures of the adapter that is found: elementwise work of each width against a copy on the same
//! adapter, work on tiny tensors, folds, and how long it takes to begin.
#![allow(clippy::expect_used, reason = "a measurement ends where it fails")]

use std::time::Instant;

use allotrope_dtype::DType;
use allotrope_gpu::{Gpu, device};
use allotrope_op::{Backend, Fold, Layout, Op, Program, Shape, View};

/// The shortest of several runs, in seconds.
fn time(gpu: &Gpu, mut work: impl FnMut()) -> f64 {
    let run = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        gpu.finish().expect("finish");
        start.elapsed().as_secs_f64()
    };
    run(&mut work);
    (0..7).map(|_| run(&mut work)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let start = Instant::now();
    let gpu = device(0).expect("a device");
    let opened = start.elapsed();
    let shape = Shape::new("test", &[4]).expect("shape");
    let layout = Layout::contiguous(shape.clone());
    let x = gpu.upload("test", DType::F32, &[0; 16]).expect("upload");
    let view = View {
        memory: &*x,
        layout: &layout,
    };
    let mut sum = Program::new(&[DType::F32, DType::F32]);
    let result = sum.apply(Op::Add, &[0, 1]);
    sum.output(result);
    gpu.run("add", &sum, &shape, &[view, view]).expect("run");
    gpu.finish().expect("finish");
    println!("{gpu:?}\n{:?}", gpu.numerics());
    println!("opened {opened:.0?}, first result {:.0?}", start.elapsed());

    let bytes = 64 << 20;
    for dtype in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::U8,
        DType::I64,
        DType::F64,
    ] {
        let count = bytes / dtype.itemsize();
        let shape = Shape::new("test", &[count]).expect("shape");
        let layout = Layout::contiguous(shape.clone());
        let x = gpu.fill("full", dtype, &[1; 16], count).expect("fill");
        let view = View {
            memory: &*x,
            layout: &layout,
        };
        let copied = time(gpu, || {
            gpu.copy("copy", dtype, view).expect("copy");
        });
        let compute = allotrope_op::compute_dtype(dtype);
        let mut program = Program::new(&[dtype]);
        let wide = program.convert(0, compute);
        let negated = program.apply(Op::Neg, &[wide]);
        let back = program.convert(negated, dtype);
        program.output(back);
        let negative = time(gpu, || {
            gpu.run("neg", &program, &shape, &[view]).expect("run");
        });
        let gigabytes = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
        println!(
            "{:>8}: copy {:5.2} GB/s, neg {:5.2} GB/s, ratio {:.2}",
            dtype.name(),
            gigabytes(copied),
            gigabytes(negative),
            copied / negative
        );
    }
    let tiny = time(gpu, || {
        for _ in 0..1000 {
            gpu.run("add", &sum, &shape, &[view, view]).expect("run");
        }
    });
    println!("add of 4 numbers: {:.1} us, queued", tiny * 1e3);
    let alone = time(gpu, || {
        gpu.run("add", &sum, &shape, &[view, view]).expect("run");
    });
    println!("add of 4 numbers: {:.1} us, waited for", alone * 1e6);
    let count = 1 << 24;
    let shape = Shape::new("test", &[count]).expect("shape");
    let layout = Layout::contiguous(shape.clone());
    let x = gpu
        .fill("full", DType::F32, &1.0_f32.to_ne_bytes(), count)
        .expect("fill");
    let view = View {
        memory: &*x,
        layout: &layout,
    };
    let mut item = Program::new(&[DType::F32]);
    item.output(0);
    for sizes in [[1, count, 1], [4096, 4096, 1], [1, 4096, 4096]] {
        let seconds = time(gpu, || {
            gpu.reduce("sum", Fold::Sum, &item, &shape, &[view], sizes, DType::F32)
                .expect("sum");
        });
        println!(
            "sum of float32 {sizes:?}: {:.2} GB/s",
            4.0 * count as f64 / seconds / 1e9
        );
    }
}
