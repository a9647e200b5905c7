//! Elements that change places: every kernel against plain index arithmetic.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{DType, ErrorKind};
use allotrope_op::Slice;
use allotrope_tensor::{Blocks, PadMode, Tensor};

/// A dtype of each width, and pairs that are aligned as their halves.
const WIDTHS: [DType; 6] = [
    DType::U8,
    DType::F16,
    DType::F32,
    DType::I64,
    DType::C64,
    DType::C128,
];

fn numbered(sizes: &[usize], dtype: DType) -> Tensor {
    let count: usize = sizes.iter().product();
    let numbers: Vec<i64> = (0..count as i64).map(|i| (i * 7 + i / 11) % 31).collect();
    let numbers = Tensor::from_slice(&numbers, sizes).unwrap();
    numbers.to(dtype).unwrap()
}

/// The bytes of each element in row-major order, read one at a time.
fn elements(x: &Tensor) -> Vec<Vec<u8>> {
    let mut index = vec![0; x.rank()];
    let mut found = Vec::new();
    for _ in 0..x.count() {
        let mut single = x.clone();
        for place in &index {
            single = single.select(0, *place as isize).unwrap();
        }
        found.push(single.to_bytes().unwrap());
        for (place, size) in index.iter_mut().zip(x.shape().iter()).rev() {
            *place += 1;
            if *place < *size {
                break;
            }
            *place = 0;
        }
    }
    found
}

fn assert_equal(got: &Tensor, want: &[Vec<u8>]) {
    assert!(got.is_contiguous());
    assert_eq!(got.to_bytes().unwrap(), want.concat());
}

#[test]
fn permuted_copies() {
    for dtype in WIDTHS {
        let x = numbered(&[67, 5, 70], dtype);
        for axes in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let view = x.permute(&axes).unwrap();
            assert_equal(&view.copied().unwrap(), &elements(&view));
            let turned = view.flip(&[0, 2]).unwrap();
            assert_equal(&turned.copied().unwrap(), &elements(&turned));
        }
        let every = Slice {
            start: Some(1),
            stop: None,
            step: 3,
        };
        let view = x.slice(2, every).unwrap().transpose(0, 2).unwrap();
        assert_equal(&view.copied().unwrap(), &elements(&view));
    }
}

/// Transposed copies that are written past the caches, with rows at lines and between them.
#[test]
fn large_transposed_copies() {
    for (rows, columns) in [(1600, 1344), (1343, 1601)] {
        let numbers = Tensor::arange(0, rows * columns, 1, DType::I64).unwrap();
        let x = numbers.reshape(&[rows as isize, columns as isize]).unwrap();
        for dtype in [DType::I32, DType::I64, DType::C128] {
            let x = x.to(dtype).unwrap();
            let there = x.transpose(0, 1).unwrap().copied().unwrap();
            let there = if dtype == DType::C128 {
                there.real().unwrap()
            } else {
                there
            };
            let found = there.to(DType::I64).unwrap().to_vec::<i64>().unwrap();
            let place = |i: i64| i % rows * columns + i / rows;
            assert!(found.iter().zip(0..).all(|(value, i)| *value == place(i)));
        }
        let x = x.to(DType::U8).unwrap();
        let wide = Tensor::cat(&[&x, &x, &x, &x], 1).unwrap();
        let found = wide.transpose(0, 1).unwrap().copied().unwrap();
        let found = found.to_vec::<u8>().unwrap();
        let place = |i: i64| i % rows * columns + i / rows % columns;
        assert!(
            found
                .iter()
                .zip(0..)
                .all(|(value, i)| *value == place(i) as u8)
        );
    }
}

#[test]
fn cat_of_views_along_each_dimension() {
    for dtype in WIDTHS {
        let x = numbered(&[40, 30, 35], dtype);
        let turned = x.transpose(0, 2).unwrap().copied().unwrap();
        let turned = turned.transpose(0, 2).unwrap();
        let flipped = x.flip(&[1]).unwrap();
        for dim in 0..3 {
            let all = Tensor::cat(&[&x, &turned, &flipped], dim).unwrap();
            let size = x.shape()[dim as usize];
            for (i, part) in [&x, &x, &flipped].into_iter().enumerate() {
                let found = all.narrow(dim, (i * size) as isize, size).unwrap();
                assert_eq!(found.to_bytes().unwrap(), part.to_bytes().unwrap());
            }
        }
    }
}

#[test]
fn roll_moves_back() {
    for dtype in WIDTHS {
        let x = numbered(&[50, 40, 30], dtype).transpose(0, 1).unwrap();
        let there = x.roll(&[3, -50, 7], &[0, 1, 2]).unwrap();
        let first = there.select(0, 3).unwrap().select(0, 0).unwrap();
        let source = x.select(0, 0).unwrap().select(0, 0).unwrap();
        assert_eq!(
            first.to_bytes().unwrap(),
            source.roll(&[7], &[0]).unwrap().to_bytes().unwrap()
        );
        let back = there.roll(&[-3, 50, -7], &[0, 1, 2]).unwrap();
        assert_eq!(back.to_bytes().unwrap(), x.to_bytes().unwrap());
    }
}

#[test]
fn padding_keeps_the_middle() {
    let modes = [
        PadMode::Constant(0.into()),
        PadMode::Reflect,
        PadMode::Replicate,
        PadMode::Circular,
    ];
    for dtype in WIDTHS {
        let x = numbered(&[60, 70, 20], dtype);
        for mode in modes {
            let padded = x.pad(&[3, 2, 0, 1, 4, 0], mode).unwrap();
            assert_eq!(padded.shape().to_string(), "[64, 71, 25]");
            let middle = padded.pad(&[-3, -2, 0, -1, -4, 0], mode).unwrap();
            assert_eq!(middle.to_bytes().unwrap(), x.to_bytes().unwrap());
        }
    }
}

#[test]
fn windows_come_back_as_often_as_they_overlap() {
    let window = Blocks {
        kernel: [2, 2],
        dilation: [1, 1],
        padding: [0, 0],
        stride: [2, 2],
    };
    for dtype in WIDTHS {
        let x = numbered(&[2, 3, 6, 8], dtype);
        let columns = x.unfold_windows(window).unwrap();
        assert_eq!(columns.shape().to_string(), "[2, 12, 12]");
        let back = columns.fold_windows([6, 8], window).unwrap();
        assert_eq!(back.to_bytes().unwrap(), x.to_bytes().unwrap());
    }
}

#[test]
fn refusals_have_kinds() {
    let (x, y) = (numbered(&[2, 3], DType::I8), numbered(&[2, 4], DType::U64));
    let kind = |result: Result<Tensor, allotrope_dtype::Error>| result.unwrap_err().kind();
    assert_eq!(kind(Tensor::cat(&[&x, &x], 2)), ErrorKind::Index);
    assert_eq!(kind(Tensor::cat(&[&x, &y], 1)), ErrorKind::Dtype);
    assert_eq!(
        kind(Tensor::cat(&[&x, &y.to(DType::I8).unwrap()], 0)),
        ErrorKind::Value
    );
    assert_eq!(kind(x.repeat(&[usize::MAX, 2])), ErrorKind::Value);
    assert_eq!(
        kind(x.pad(&[isize::MIN, isize::MIN], PadMode::Reflect)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(x.pad(&[isize::MAX, isize::MAX], PadMode::Constant(0.into()))),
        ErrorKind::Value
    );
    assert_eq!(kind(x.diag_embed(isize::MIN, 0, 1)), ErrorKind::Value);
}
