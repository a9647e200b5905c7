//! Constructors: numbers in a row, diagonals, and tensors like another.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{DType, Element, Error, Set, bf16, c64, c128, dispatch};
use allotrope_tensor::Tensor;
use insta::assert_snapshot;

fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn vector<T: Element>(x: Result<Tensor, Error>) -> Vec<T> {
    x.unwrap().to_vec().unwrap()
}

#[test]
fn linspace_is_exact_at_both_ends() {
    for (start, end) in [
        (0.1, 0.7),
        (-3.3, 1e-9),
        (1e300, -1e300),
        (-1.7e308, 1.7e308),
        (5.0, 5.0),
    ] {
        for steps in [2, 3, 10, 101] {
            let x: Vec<f64> = vector(Tensor::linspace(start, end, steps, DType::F64));
            assert_eq!((x.len(), x[0], x[steps - 1]), (steps, start, end));
            let up = x
                .windows(2)
                .all(|pair| (pair[0] <= pair[1]) == (start <= end) || pair[0] == pair[1]);
            assert!(up && x.iter().all(|x| x.is_finite()), "{x:?}");
        }
    }
    assert_eq!(vector::<f64>(Tensor::linspace(2, 9, 1, DType::F64)), [2.0]);
    assert_eq!(vector::<f64>(Tensor::linspace(2, 9, 0, DType::F64)), []);
    // Computed from the nearer end, so that a reversed one is the same.
    let there: Vec<f64> = vector(Tensor::linspace(0.1, 0.9, 7, DType::F64));
    let mut back: Vec<f64> = vector(Tensor::linspace(0.9, 0.1, 7, DType::F64));
    back.reverse();
    assert_eq!((there[1], there[5]), (back[1], back[5]));
    let ends: Vec<f64> = vector(Tensor::linspace(0.0, f64::INFINITY, 3, DType::F64));
    assert_eq!((ends[0], ends[2]), (0.0, f64::INFINITY));
}

#[test]
fn linspace_fills_every_dtype() {
    for dtype in DType::ALL {
        let x = Tensor::linspace(0, 1, 3, dtype).unwrap();
        assert_eq!(x.dtype(), dtype);
        let want: &[f64] = if Set::Inexact.contains(dtype) {
            &[0.0, 0.5, 1.0]
        } else {
            &[0.0, 0.0, 1.0]
        };
        let real = if dtype.is_complex() {
            vector::<c128>(x.to(DType::C128))
                .iter()
                .map(|z| z.re)
                .collect()
        } else {
            vector::<f64>(x.to(DType::F64))
        };
        assert_eq!(real, want, "{dtype}");
    }
    assert_eq!(
        vector::<i64>(Tensor::linspace(-10, 10, 4, DType::I64)),
        [-10, -3, 3, 10]
    );
    assert_eq!(
        vector::<i64>(Tensor::linspace(0.9, 3.9, 4, DType::I64)),
        [0, 1, 2, 3]
    );
    let most = i128::from(u64::MAX);
    let top: Vec<u64> = vector(Tensor::linspace(most - 2, most, 3, DType::U64));
    assert_eq!(top, [u64::MAX - 2, u64::MAX - 1, u64::MAX]);
    let all: Vec<i64> = vector(Tensor::linspace(i64::MIN, i64::MAX, 3, DType::I64));
    assert_eq!(all, [i64::MIN, 0, i64::MAX]);
    // Where a float step is inexact, the fraction is not.
    let cents: Vec<i32> = vector(Tensor::linspace(0, 29, 101, DType::I32));
    assert_eq!(cents[100], 29);
    assert!((0..=100).all(|i| cents[i] == 29 * i as i32 / 100));
    let z = c128::new(1.0, -1.0);
    let line: Vec<c64> = vector(Tensor::linspace(z, c128::new(0.0, 1.0), 3, DType::C64));
    assert_eq!(
        line,
        [c64::new(1.0, -1.0), c64::new(0.5, 0.0), c64::new(0.0, 1.0)]
    );
}

#[test]
fn logspace_has_exact_powers() {
    let tens: Vec<f64> = vector(Tensor::logspace(0, 22, 23, 10.0, DType::F64));
    let twos: Vec<f64> = vector(Tensor::logspace(-100, 100, 201, 2.0, DType::F64));
    let mut power = 1.0_f64;
    for ten in tens {
        assert_eq!(ten, power);
        power *= 10.0;
    }
    assert!((0..201).all(|i| twos[i] == 2.0_f64.powi(i as i32 - 100)));
    assert_eq!(
        vector::<i64>(Tensor::logspace(0, 1, 3, 10.0, DType::I64)),
        [1, 3, 10]
    );
    assert_eq!(
        vector::<u8>(Tensor::logspace(0, 7, 8, 2.0, DType::U8)),
        [1, 2, 4, 8, 16, 32, 64, 128]
    );
    let halves: Vec<bf16> = vector(Tensor::logspace(-1, 1, 3, 2.0, DType::BF16));
    assert_eq!(halves, [0.5, 1.0, 2.0].map(bf16::from_f32));
    let pi = std::f64::consts::PI;
    let turn: Vec<c128> = vector(Tensor::logspace(
        0,
        c128::new(0.0, pi),
        3,
        std::f64::consts::E,
        DType::C128,
    ));
    let far = |z: c128, re: f64, im: f64| (z - c128::new(re, im)).norm();
    assert!(
        far(turn[0], 1.0, 0.0) < 1e-15
            && far(turn[1], 0.0, 1.0) < 1e-15
            && far(turn[2], -1.0, 0.0) < 1e-15
    );
}

#[test]
fn ranges_of_large_integers_are_exact() {
    let most = i128::from(u64::MAX);
    let top: Vec<u64> = vector(Tensor::arange(most - 2, most, 1, DType::U64));
    assert_eq!(top, [u64::MAX - 2, u64::MAX - 1]);
    let down: Vec<u64> = vector(Tensor::arange(most, most - 3, -2, DType::U64));
    assert_eq!(down, [u64::MAX, u64::MAX - 2]);
    let wide: Vec<f64> = vector(Tensor::arange(0, 1_i128 << 66, 1_i128 << 63, DType::F64));
    assert_eq!((wide.len(), wide[7]), (8, 7.0 * 2.0_f64.powi(63)));
    assert_eq!(
        vector::<u64>(Tensor::arange(most + 9, most, 1, DType::U64)),
        []
    );
}

#[test]
fn diagonals_and_likes_of_every_dtype() {
    for dtype in DType::ALL {
        for (rows, columns) in [(3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (1, 1)] {
            let eye = Tensor::eye(rows, columns, dtype).unwrap();
            assert_eq!(
                (eye.shape()[..].to_vec(), eye.dtype()),
                (vec![rows, columns], dtype)
            );
            let truth = eye.to(DType::Bool).unwrap().to_bytes().unwrap();
            let want = (0..rows * columns).map(|i| u8::from(i / columns == i % columns));
            assert_eq!(truth, want.collect::<Vec<_>>());
        }
        let x = Tensor::ones(&[2, 3], dtype)
            .unwrap()
            .transpose(0, 1)
            .unwrap();
        for (like, want) in [
            (x.zeros_like(), Tensor::zeros(&[3, 2], dtype)),
            (x.ones_like(), Tensor::ones(&[3, 2], dtype)),
            (x.full_like(true), Tensor::ones(&[3, 2], dtype)),
        ] {
            let (like, want) = (like.unwrap(), want.unwrap());
            assert_eq!((like.shape(), like.dtype()), (want.shape(), dtype));
            assert_eq!(like.to_bytes().unwrap(), want.to_bytes().unwrap());
        }
        let empty = x.empty_like().unwrap();
        assert_eq!((empty.shape(), empty.dtype()), (x.shape(), dtype));
        dispatch!(dtype, |T| assert_eq!(empty.to_vec::<T>().unwrap().len(), 6));
    }
}

#[test]
fn bad_arguments_are_worded_errors() {
    let x = Tensor::zeros(&[2], DType::U8).unwrap();
    let i = c128::new(0.0, 1.0);
    let lines = [
        message(Tensor::linspace(0, 300, 4, DType::U8)),
        message(Tensor::linspace(0.0, f64::NAN, 4, DType::I64)),
        message(Tensor::linspace(0, 1e40, 4, DType::I64)),
        message(Tensor::linspace(0, i, 4, DType::F32)),
        message(Tensor::linspace(0, i, 4, DType::I32)),
        message(Tensor::linspace(0, 1, 1 << 60, DType::F32)),
        message(Tensor::linspace(0, 1, usize::MAX, DType::I8)),
        message(Tensor::logspace(0, 3, 4, 10.0, DType::U8)),
        message(Tensor::logspace(0.5, 1.0, 2, -1.0, DType::I64)),
        message(Tensor::arange(0.0, 300.0, 1.0, DType::U8)),
        message(Tensor::arange(0.0, f64::NAN, 1.0, DType::F32)),
        message(Tensor::arange(0.0, f64::NEG_INFINITY, 1.0, DType::F32)),
        message(Tensor::eye(1 << 40, 1 << 40, DType::F32)),
        message(Tensor::eye(1 << 30, 1 << 30, DType::F32)),
        message(Tensor::eye(0, isize::MAX as usize, DType::F32)),
        message(Tensor::empty(&[1 << 60], DType::F32)),
        message(x.full_like(300)),
        message(x.full_like(1.5)),
    ];
    assert_snapshot!(lines.join("\n"));
}
