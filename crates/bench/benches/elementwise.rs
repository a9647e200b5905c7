//! Elementwise operations against `memcpy` of the same bytes on the same threads, in one run.
//!
//! `cargo bench -p allotrope-bench --bench elementwise [-- --elements 1048576] [-- --only program]`

use std::hint::black_box;
use std::time::Instant;

use allotrope_bench::{Memory, alternate, memcpy_in_parallel};
use allotrope_dtype::DType::{self, BF16, C64, F8E4M3Fn, F16, F32, F64, I8, I32, I64, U8};
use allotrope_dtype::Level;
use allotrope_op::{Builder, Op};
use allotrope_tensor::{Tensor, evaluate};

const ROUNDS: usize = 7;
const DTYPES: [DType; 8] = [F32, F64, F16, BF16, F8E4M3Fn, I8, I32, I64];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let given = arguments.iter().position(|a| a == "--elements");
    let given = given.and_then(|i| arguments.get(i + 1)?.parse().ok());
    let sizes = given.map_or_else(|| vec![1 << 20, 1 << 24], |n| vec![n]);
    println!(
        "level {}, {} threads",
        Level::current(),
        rayon::current_num_threads()
    );
    println!(
        "speed relative to memcpy of the same bytes, on the same threads (higher is better)\n"
    );
    let only = arguments.iter().position(|a| a == "--only");
    let only = only.and_then(|i| arguments.get(i + 1));
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    for elements in sizes {
        if wanted("table") {
            print_table(elements);
        }
        if wanted("mixed") {
            print_mixed(elements);
        }
        if wanted("program") {
            print_program(elements);
        }
    }
    if wanted("latency") {
        print_latency();
    }
}

/// Numbers around one, so that no operation meets a special value.
fn sample(dtype: DType, elements: usize) -> Tensor {
    let ramp = Tensor::arange(0, 251, 1, F32).and_then(|x| x.mul(1.0 / 128.0)?.add(0.25));
    let ramp = ramp.and_then(|x| {
        if dtype.is_integer() {
            x.mul(16.0)
        } else {
            Ok(x)
        }
    });
    let ramp = ramp.and_then(|x| x.to(dtype));
    let blocks = elements.div_ceil(251);
    let tiled = ramp.and_then(|x| x.expand(&[blocks, 251])?.reshape(&[-1]));
    let cut = allotrope_op::Slice {
        start: Some(0),
        stop: Some(elements as isize),
        step: 1,
    };
    tiled
        .and_then(|x| x.slice(0, cut)?.copied())
        .unwrap_or_else(|error| fail(&error))
}

fn fail(error: &allotrope_dtype::Error) -> ! {
    eprintln!("{error}");
    std::process::exit(1)
}

/// The ratio of memcpy's time for `bytes` read and written to that of the work.
fn ratio(
    bytes: usize,
    mut work: impl FnMut() -> Result<Tensor, allotrope_dtype::Error>,
) -> (f64, f64) {
    let (src, mut dst) = (Memory::new(bytes / 2, 1), Memory::new(bytes / 2, 2));
    let [ours, copy] = alternate(
        ROUNDS,
        || match work() {
            Ok(tensor) => drop(black_box(tensor)),
            Err(error) => fail(&error),
        },
        || memcpy_in_parallel(black_box(src.as_slice()), black_box(dst.as_mut_slice())),
    );
    (copy.as_secs_f64() / ours.as_secs_f64(), ours.as_secs_f64())
}

fn print_table(elements: usize) {
    println!("{elements} elements: ratio (nanoseconds per element)");
    let ops = [Op::Add, Op::Mul, Op::Exp, Op::Tanh, Op::Sqrt];
    print!("{:>14}", "");
    ops.iter().for_each(|op| print!("{:>16}", op.name()));
    println!("{:>16}", "cast to f32");
    for dtype in DTYPES {
        let x = sample(dtype, elements);
        print!("{:>14}", dtype.name());
        for op in ops {
            let out = if dtype.is_integer() && op.arity() == 1 {
                F32
            } else {
                dtype
            };
            let bytes = elements * (op.arity() * dtype.itemsize() + out.itemsize());
            let (ratio, time) = ratio(bytes, || {
                if op.arity() == 1 {
                    Tensor::apply(op, &[(&x).into()])
                } else {
                    Tensor::apply(op, &[(&x).into(), (&x.clone()).into()])
                }
            });
            print!("{:>8.2} ({:>5.2})", ratio, time * 1e9 / elements as f64);
        }
        if dtype != F32 {
            let bytes = elements * (dtype.itemsize() + 4);
            let (ratio, time) = ratio(bytes, || x.to(F32));
            print!("{:>8.2} ({:>5.2})", ratio, time * 1e9 / elements as f64);
        }
        println!();
    }
}

fn print_mixed(elements: usize) {
    println!("\nmixed adds of {elements} elements");
    for (a, b) in [(F32, BF16), (F32, F16), (U8, F32), (I8, I64), (F32, C64)] {
        let (x, y) = (sample(a, elements), sample(b, elements));
        let out = x.add(&y).map_or(F32, |t| t.dtype());
        let bytes = elements * (a.itemsize() + b.itemsize() + out.itemsize());
        let (ratio, time) = ratio(bytes, || x.add(&y));
        println!(
            "{:>24}{:>8.2} ({:>5.2})",
            format!("{a} + {b}"),
            ratio,
            time * 1e9 / elements as f64
        );
    }
}

/// `tanh(a * b + c) * a` in one program.
fn print_program(elements: usize) {
    println!("\ntanh(a * b + c) * a as one program, {elements} elements");
    for dtype in [F32, BF16, F64] {
        let compute = dtype.compute();
        let builder = Builder::new(&[dtype; 3]);
        let [a, b, c] = [0, 1, 2].map(|i| builder.input(i).to(compute));
        let program = builder.finish(&[((a * b + c).tanh() * a).to(dtype)]);
        let inputs = [
            sample(dtype, elements),
            sample(dtype, elements),
            sample(dtype, elements),
        ];
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let bytes = elements * dtype.itemsize() * 4;
        let (ratio, time) = ratio(bytes, || {
            evaluate("eval", &program, &inputs).map(|mut outputs| outputs.remove(0))
        });
        println!(
            "{:>24}{:>8.2} ({:>5.2})",
            dtype.name(),
            ratio,
            time * 1e9 / elements as f64
        );
    }
    println!();
}

/// One operation on so few elements that only the way to it counts.
fn print_latency() {
    println!("one operation on 16 elements, nanoseconds");
    for dtype in [F32, BF16, I64] {
        let x = sample(dtype, 16);
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..10_000 {
                match x.add(&x) {
                    Ok(sum) => drop(black_box(sum)),
                    Err(error) => fail(&error),
                }
            }
            best = best.min(start.elapsed().as_secs_f64() / 1e4);
        }
        println!("{:>24}{:>8.0}", format!("add {dtype}"), best * 1e9);
    }
}
