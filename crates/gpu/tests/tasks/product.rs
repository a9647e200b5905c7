//! Matrix products beyond the plain ones, and programs written over memory.

use std::sync::Arc;

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::{Backend, Builder, Layout, Origin, Rewrite, Shape, Target, View};
use allotrope_tensor::Tensor;
use smallvec::smallvec;

use crate::support::{check, devices, numbers};

#[test]
fn products_with_factors() {
    for dtype in [
        DType::I8,
        DType::I64,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
    ] {
        let (a, b) = (numbers(dtype, &[5, 7]), numbers(dtype, &[7, 6]));
        let c = numbers(dtype, &[6]);
        for (alpha, beta) in [(1, 1), (2, 1), (1, 3), (-2, 3)] {
            check("addmm", &[&a, &b, &c], 32.0, |x| {
                x[2].addmm(&x[0], &x[1], beta, alpha)
            });
        }
    }
}

#[test]
fn products_of_long_and_flat_factors() {
    for dtype in [DType::U8, DType::I64, DType::F16, DType::F32, DType::F64] {
        for [m, k, n] in [[1, 5000, 1], [1, 70, 300], [300, 70, 1], [3, 9000, 2]] {
            let (a, b) = (numbers(dtype, &[m, k]), numbers(dtype, &[k, n]));
            check("matmul", &[&a, &b], 400.0, |x| x[0].matmul(&x[1]));
        }
    }
}

#[test]
fn programs_over_memory() {
    for gpu in devices() {
        for dtype in [DType::F32, DType::BF16, DType::I8, DType::F64] {
            let builder = Builder::new(&[dtype, dtype]);
            let [x, y] = [0, 1].map(|k| builder.input(k).to(dtype.compute()));
            let program = builder.finish(&[(x + y).to(dtype), (x - y).to(dtype)]);
            let x = numbers(dtype, &[10]);
            let run = |backend: &'static dyn Backend| -> Vec<Tensor> {
                let bytes = x.to_bytes().unwrap();
                let mut memories = [0, 1].map(|_| backend.upload("test", dtype, &bytes).unwrap());
                let given = backend.upload("test", dtype, &bytes).unwrap();
                let shape = Shape::new("test", &[7]).unwrap();
                let layout = Layout::contiguous(shape.clone());
                let [first, second] = &mut memories;
                // All of one, a part of the other.
                let mut targets: Vec<Target<'_>> = vec![
                    Target::new("test", first, 7).unwrap(),
                    Target::new("test", second, 7).unwrap(),
                ];
                targets[1].start = 3;
                let rewrite = Rewrite {
                    shape: &shape,
                    inputs: smallvec![
                        Origin::Target(1),
                        Origin::View(View {
                            memory: &*given,
                            layout: &layout
                        })
                    ],
                    targets: targets.into_iter().collect(),
                };
                assert!(backend.run_into("test", &program, vec![rewrite]).unwrap());
                let read = |memory: &allotrope_op::Shared| {
                    let layout = Layout::contiguous(Shape::new("test", &[10]).unwrap());
                    let mut bytes = vec![0; 10 * dtype.itemsize()];
                    let view = View {
                        memory: &**memory,
                        layout: &layout,
                    };
                    backend.download("test", dtype, view, &mut bytes).unwrap();
                    Tensor::from_bytes(&bytes, &[10], dtype).unwrap()
                };
                let made = memories.iter().map(read).collect();
                assert!(
                    memories
                        .iter_mut()
                        .all(|memory| Arc::get_mut(memory).is_some())
                );
                made
            };
            for (got, want) in run(gpu).iter().zip(run(&CPU)) {
                let (got, want) = (got.to(DType::F32).unwrap(), want.to(DType::F32).unwrap());
                let (got, want) = (got.to_bytes().unwrap(), want.to_bytes().unwrap());
                assert_eq!(got, want, "{dtype} {gpu:?}");
            }
        }
    }
}
