//! Tensors on the device: what is composed of its primitives, and what the CPU does for it, gives what
//! the CPU gives.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::OnceLock;

use allotrope_dtype::{DType, Error};
use allotrope_gpu::{Features, Gpu, Options, open};
use allotrope_op::Backend;
use allotrope_tensor::Tensor;

fn devices() -> Vec<&'static Gpu> {
    static ALL: OnceLock<Vec<&'static Gpu>> = OnceLock::new();
    let found = ALL.get_or_init(|| {
        let options = |features| Options {
            software: true,
            features,
            ..Options::default()
        };
        let open = |features| match open(options(features)) {
            Ok(gpu) => Some(gpu),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        };
        [Features::All, Features::Portable]
            .into_iter()
            .filter_map(open)
            .collect()
    });
    found.clone()
}

fn numbers(dtype: DType) -> Tensor {
    let x = Tensor::arange(-30, 30, 1, DType::I64).unwrap();
    let x = x.mul(0.37).unwrap().to(dtype).unwrap();
    x.reshape(&[6, 10]).unwrap()
}

/// Work on a tensor gives the same on both, to a few units in the last place of a float.
fn check(what: &str, x: &Tensor, work: impl Fn(&Tensor) -> Result<Tensor, Error>) {
    for gpu in devices() {
        let there = x.to_backend(gpu).unwrap();
        let got = work(&there).unwrap_or_else(|error| panic!("{what}: {error}"));
        let want = work(x).unwrap();
        assert_eq!(got.backend().name(), "gpu", "{what}");
        assert_eq!(got.dtype(), want.dtype(), "{what}");
        assert_eq!(got.shape(), want.shape(), "{what}");
        let dtype = got.dtype();
        let got = got.to_backend(&allotrope_cpu::CPU).unwrap();
        if !dtype.is_floating_point() {
            assert_eq!(
                got.to_bytes().unwrap(),
                want.to_bytes().unwrap(),
                "{what} {gpu:?}"
            );
            continue;
        }
        let unit = match gpu.capabilities().storage(dtype) {
            DType::F64 => 1e-13,
            DType::F32 => 4e-6,
            _ => 2e-2,
        };
        let wide = |x: &Tensor| x.to(DType::F64).unwrap().to_bytes().unwrap();
        let (got, want) = (wide(&got), wide(&want));
        for (a, b) in got.chunks_exact(8).zip(want.chunks_exact(8)) {
            let [a, b] = [a, b].map(|x| f64::from_ne_bytes(x.try_into().unwrap()));
            let is_near = (a - b).abs() <= unit * b.abs().max(1.0) || a.is_nan() && b.is_nan();
            assert!(
                is_near || a == b,
                "{what} {dtype} {gpu:?}: {a} instead of {b}"
            );
        }
    }
}

#[test]
fn work_on_tensors() {
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64] {
        let x = numbers(dtype);
        check("arithmetic", &x, |x| x.mul(3)?.add(x)?.sub(1));
        check("transposed", &x, |x| x.transpose(0, 1)?.add(1));
        check("sum", &x, |x| x.sum(Some(&[1]), false, None));
        check("max", &x, |x| x.amax(Some(&[0]), false));
        check("cumsum", &x, |x| x.cumsum(1, None));
        check("flip", &x, |x| x.flip(&[1]));
        check("matmul", &x, |x| x.matmul(&x.transpose(0, 1)?));
        check("sort", &x, |x| Ok(x.sort(1, true)?.0));
        check("cat", &x, |x| Tensor::cat(&[x, x], 0));
        check("compare", &x, |x| x.gt(0));
        if dtype.is_floating_point() {
            check("exp", &x, |x| x.exp());
            check("mean", &x, |x| x.mean(Some(&[1]), false, None));
            check("softmax", &x, |x| x.softmax(1, None));
            check("tanh", &x, |x| x.tanh());
        }
    }
}

#[test]
fn matrices_of_all_dtypes() {
    for dtype in [
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ] {
        // Sizes that no tile divides, batches, turned factors, one matrix for all.
        let x = Tensor::arange(0, 2 * 5 * 7, 1, DType::I64).unwrap();
        let x = x.remainder(9).unwrap().sub(4).unwrap().to(dtype).unwrap();
        let x = x.reshape(&[2, 5, 7]).unwrap();
        check("batch", &x, |x| x.matmul(&x.transpose(1, 2)?));
        check("turned", &x, |x| x.transpose(1, 2)?.matmul(x));
        check("one for all", &x, |x| x.matmul(&x.i(0)?.transpose(0, 1)?));
        check("vector", &x, |x| x.matmul(&x.i((0, 0))?));
    }
}

#[test]
fn float64_comes_back_as_float64() {
    for gpu in devices() {
        let x = numbers(DType::F64);
        let back = x
            .to_backend(gpu)
            .unwrap()
            .to_backend(&allotrope_cpu::CPU)
            .unwrap();
        assert_eq!(back.dtype(), DType::F64);
        let expected = if gpu.capabilities().storage(DType::F64) == DType::F64 {
            x
        } else {
            x.to(DType::F32).unwrap().to(DType::F64).unwrap()
        };
        assert_eq!(back.to_bytes().unwrap(), expected.to_bytes().unwrap());
    }
}
