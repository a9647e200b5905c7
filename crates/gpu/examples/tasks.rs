//! How long work with a shader of its own takes on the device that there is, and on the CPU.
//!
//! `ALLOTROPE_GPU=software cargo run --release -p allotrope-gpu --example tasks`
#![allow(clippy::print_stdout, reason = "a table for a person")]

use std::time::Instant;

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Error};
use allotrope_op::Backend;
use allotrope_tensor::{ConvolutionOptions, LossReduction, Padding, Tensor, Window};

/// The best of a few runs, in milliseconds, after one that compiles.
fn time(backend: &dyn Backend, work: &dyn Fn() -> Result<Tensor, Error>) -> Result<f64, Error> {
    work()?;
    backend.finish()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        backend.finish()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

fn numbers(shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
    let count: usize = shape.iter().product();
    let sizes: Vec<isize> = shape.iter().map(|size| *size as isize).collect();
    let x = Tensor::arange(0, count as i64, 1, DType::I64)?;
    let x = x
        .mul(7919)?
        .remainder(10007)?
        .to(DType::F32)?
        .mul(2e-4)?
        .sub(1)?;
    x.to(dtype)?.reshape(&sizes)
}

type Work = fn(&[Tensor]) -> Result<Tensor, Error>;

fn main() -> Result<(), Error> {
    let gpu = allotrope_gpu::device(0)?;
    let f32 = DType::F32;
    let square = numbers(&[1000, 1000], f32)?;
    let (images, filters) = (
        numbers(&[8, 16, 32, 32], f32)?,
        numbers(&[16, 16, 3, 3], f32)?,
    );
    let line = numbers(&[100_000], f32)?;
    let weight = numbers(&[1000], f32)?;
    let (q, half) = (
        numbers(&[8, 256, 64], f32)?,
        numbers(&[512, 512], DType::BF16)?,
    );
    let logits = numbers(&[256, 1000], f32)?;
    let classes = Tensor::arange(0, 256, 1, DType::I64)?;
    let list: [(&str, Vec<Tensor>, Work); 11] = [
        ("softmax 1000x1000", vec![square.clone()], |x| {
            x[0].softmax(1, None)
        }),
        ("softmax 1000x1000, columns", vec![square.clone()], |x| {
            x[0].softmax(0, None)
        }),
        ("layer_norm 1000x1000", vec![square.clone(), weight], |x| {
            x[0].layer_norm(&[1000], Some(&x[1]), Some(&x[1]), 1e-5)
        }),
        ("cross_entropy 256x1000", vec![logits, classes], |x| {
            x[0].cross_entropy(&x[1], None, -100, LossReduction::Mean, 0.0)
        }),
        (
            "conv2d 8x16x32x32, 16 of 3x3",
            vec![images.clone(), filters],
            |x| {
                let options = ConvolutionOptions {
                    padding: Padding::Each(&[1]),
                    ..Default::default()
                };
                x[0].conv2d(&x[1], None, &options)
            },
        ),
        ("max_pool2d 8x16x32x32", vec![images], |x| {
            x[0].max_pool2d(&Window::new(&[2]))
        }),
        ("sort 100k", vec![line.clone()], |x| {
            Ok(x[0].sort(0, false)?.0)
        }),
        ("sort 1000x1000", vec![square.clone()], |x| {
            Ok(x[0].sort(1, false)?.0)
        }),
        ("topk 10 of 100k", vec![line], |x| {
            Ok(x[0].topk(10, 0, true, true)?.0)
        }),
        ("attention 8x256x64", vec![q], |x| {
            x[0].scaled_dot_product_attention(&x[0], &x[0], Default::default())
        }),
        ("matmul 512 bfloat16", vec![half], |x| x[0].matmul(&x[0])),
    ];
    println!("{:<32}{:>12}{:>12}", "", gpu.name(), "cpu");
    for (what, tensors, work) in list {
        let there: Vec<Tensor> = tensors
            .iter()
            .map(|x| x.to_backend(gpu))
            .collect::<Result<_, Error>>()?;
        let on_gpu = time(gpu, &|| work(&there))?;
        let on_cpu = time(&CPU, &|| work(&tensors))?;
        println!("{what:<32}{on_gpu:>9.2} ms{on_cpu:>9.2} ms");
    }
    Ok(())
}
