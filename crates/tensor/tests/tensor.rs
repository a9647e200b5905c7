//! The tensor as a value: creation, views, casts, printing, for every dtype.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{
    CastOptions, Casting, DType, Element, ErrorKind, Overflow, WeakScalar, bf16, c64, can_cast,
    dispatch,
};
use allotrope_op::Slice;
use allotrope_tensor::Tensor;
use insta::assert_snapshot;

/// 0 to 23 (0 and 1 for bool) as [2, 3, 4].
fn sample(dtype: DType) -> Tensor {
    let numbers = Tensor::arange(0, 24, 1, DType::I64).unwrap();
    numbers.to(dtype).unwrap().reshape(&[2, 3, 4]).unwrap()
}

fn integers(x: &Tensor) -> Vec<i64> {
    let real = if x.dtype().is_complex() {
        x.view_dtype(x.dtype().to_real()).unwrap()
    } else {
        x.clone()
    };
    let all = real.to(DType::I64).unwrap().to_vec::<i64>().unwrap();
    // Real parts of complex numbers.
    let step = if x.dtype().is_complex() { 2 } else { 1 };
    all.into_iter().step_by(step).collect()
}

#[test]
fn views_show_the_same_elements_for_every_dtype() {
    for dtype in DType::ALL {
        let x = sample(dtype);
        // What the dtype makes of 0 to 23, which 8-bit floats round.
        let all = integers(&x);
        let pick = |places: &[usize]| places.iter().map(|i| all[*i]).collect::<Vec<_>>();
        let shown = |view: &Tensor| integers(&view.contiguous().unwrap());
        let turned = x.transpose(0, 2).unwrap();
        assert!(turned.shares_storage_with(&x) && !turned.is_contiguous());
        assert_eq!(shown(&turned)[..6], pick(&[0, 12, 4, 16, 8, 20]), "{dtype}");
        let last = x.select(1, -1).unwrap();
        assert_eq!(
            shown(&last),
            pick(&[8, 9, 10, 11, 20, 21, 22, 23]),
            "{dtype}"
        );
        let odd = x
            .slice(
                2,
                Slice {
                    start: Some(1),
                    stop: None,
                    step: 2,
                },
            )
            .unwrap();
        assert_eq!(
            shown(&odd.flip(&[0]).unwrap())[..3],
            pick(&[13, 15, 17]),
            "{dtype}"
        );
        let flat = x.permute(&[1, 0, 2]).unwrap().flatten(1, 2).unwrap();
        assert_eq!(flat.shape().to_string(), "[3, 8]");
        assert_eq!(
            integers(&flat)[..8],
            pick(&[0, 1, 2, 3, 12, 13, 14, 15]),
            "{dtype}"
        );
    }
}

#[test]
fn casts_of_any_layout_equal_casts_of_its_copy() {
    for from in DType::ALL {
        let x = sample(from).transpose(0, 2).unwrap().flip(&[1]).unwrap();
        for to in DType::ALL
            .into_iter()
            .filter(|to| can_cast(from, *to, Casting::Any))
        {
            let direct = x.to(to).unwrap();
            let copied = x.contiguous().unwrap().to(to).unwrap();
            assert_eq!(direct.dtype(), to);
            dispatch!(to, |T| {
                assert_eq!(direct.to_vec::<T>().unwrap(), copied.to_vec::<T>().unwrap());
            });
        }
    }
    let x = sample(DType::F32);
    assert!(x.to(DType::F32).unwrap().shares_storage_with(&x));
}

#[test]
fn constructors_fill_every_dtype() {
    for dtype in DType::ALL {
        let ones = Tensor::ones(&[3, 2], dtype).unwrap();
        let truth = ones.to(DType::Bool).unwrap();
        assert!(
            truth
                .to_vec::<allotrope_dtype::Bool8>()
                .unwrap()
                .iter()
                .all(|b| b.get())
        );
        let zeros = Tensor::zeros(&[0, 5], dtype).unwrap();
        assert_eq!(
            (zeros.count(), zeros.shape().to_string().as_str()),
            (0, "[0, 5]")
        );
        let scalar = Tensor::full(&[], true, dtype).unwrap();
        assert_eq!((scalar.rank(), scalar.count()), (0, 1));
        assert_eq!(scalar.item().unwrap().dtype(), dtype);
    }
    assert_eq!(
        Tensor::full(&[2], 7, DType::I8)
            .unwrap()
            .to_vec::<i8>()
            .unwrap(),
        [7, 7]
    );
    let halves = Tensor::arange(0.0, 2.0, 0.5, DType::BF16).unwrap();
    assert_eq!(
        halves.to_vec::<bf16>().unwrap(),
        [0.0, 0.5, 1.0, 1.5].map(bf16::from_f32)
    );
    assert_eq!(
        Tensor::arange(5, -1, -2, DType::I32)
            .unwrap()
            .to_vec::<i32>()
            .unwrap(),
        [5, 3, 1]
    );
    assert_eq!(Tensor::arange(5, 5, 1, DType::I32).unwrap().count(), 0);
    let tenths = Tensor::arange(0.0, 1.0, 0.1, DType::F64)
        .unwrap()
        .to_vec::<f64>()
        .unwrap();
    // Multiplied out, not added up.
    assert_eq!((tenths.len(), tenths[9]), (10, 0.1 * 9.0));
    let top = Tensor::arange(i64::MAX - 2, i64::MAX, 1, DType::I64).unwrap();
    assert_eq!(top.to_vec::<i64>().unwrap(), [i64::MAX - 2, i64::MAX - 1]);
}

#[test]
fn bits_are_reinterpreted_by_the_ratio_of_widths() {
    let x = Tensor::from_slice(&[1.0_f32, -2.0, 0.5, 4.0], &[2, 2]).unwrap();
    let bytes = x.view_dtype(DType::U8).unwrap();
    assert_eq!(bytes.shape().to_string(), "[2, 8]");
    assert!(bytes.shares_storage_with(&x));
    assert_eq!(
        bytes
            .view_dtype(DType::F32)
            .unwrap()
            .to_vec::<f32>()
            .unwrap(),
        [1.0, -2.0, 0.5, 4.0]
    );
    assert_eq!(
        x.view_dtype(DType::I32).unwrap().to_vec::<i32>().unwrap()[0],
        0x3F80_0000
    );
    let complex = x.view_dtype(DType::C64).unwrap();
    assert_eq!(
        complex.to_vec::<c64>().unwrap(),
        [c64::new(1.0, -2.0), c64::new(0.5, 4.0)]
    );
    let row = x.select(0, 1).unwrap().view_dtype(DType::U16).unwrap();
    assert_eq!(row.to_vec::<u16>().unwrap(), [0, 0x3F00, 0, 0x4080]);
}

fn message<T>(result: Result<T, allotrope_dtype::Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn bad_input_is_a_worded_error() {
    let x = sample(DType::F32);
    let turned = x.transpose(0, 2).unwrap();
    let raise = CastOptions::overflow(Overflow::Raise);
    let lines = [
        message(Tensor::zeros(&[usize::MAX, 2], DType::F32)),
        message(Tensor::zeros(&[1 << 60], DType::C128)),
        message(Tensor::zeros(&[1 << 58], DType::F32)),
        message(Tensor::full(&[2], 300, DType::U8)),
        message(Tensor::full(&[2], 1.5, DType::I64)),
        message(Tensor::from_slice(&[1_i32, 2, 3], &[2])),
        message(Tensor::arange(0, 10, 0, DType::I64)),
        message(Tensor::arange(0.0, f64::INFINITY, 1.0, DType::F32)),
        message(Tensor::arange(0, 300, 1, DType::U8)),
        message(Tensor::arange(0, i128::MAX, 1, DType::F32)),
        message(x.reshape(&[5, -1])),
        message(x.reshape(&[-1, -1])),
        message(x.reshape(&[-2, 12])),
        message(x.flatten(2, 0)),
        message(x.flatten(0, 3)),
        message(x.select(0, 2)),
        message(x.expand(&[5, 3, 4])),
        message(x.to_vec::<f64>()),
        message(x.item()),
        message(turned.view_dtype(DType::U8)),
        message(
            x.slice(
                2,
                Slice {
                    stop: Some(3),
                    ..Slice::ALL
                },
            )
            .unwrap()
            .view_dtype(DType::F64),
        ),
        message(Tensor::ones(&[], DType::F32).unwrap().view_dtype(DType::U8)),
        message(x.to_with(DType::F8E4M3Fn, raise).and_then(|_| {
            Tensor::full(&[2], 1e9, DType::F32).and_then(|y| y.to_with(DType::U8, raise))
        })),
    ];
    assert_snapshot!(lines.join("\n"));
    assert_eq!(x.select(0, 9).unwrap_err().kind(), ErrorKind::Index);
}

#[test]
fn every_dtype_prints_well() {
    let mut text = String::new();
    for dtype in DType::ALL {
        let x = Tensor::arange(-2, 4, 1, DType::I64).unwrap();
        let x = if dtype.is_signed() {
            x
        } else {
            x.slice(
                0,
                Slice {
                    start: Some(2),
                    ..Slice::ALL
                },
            )
            .unwrap()
        };
        text += &format!("{}\n", x.to(dtype).unwrap());
    }
    assert_snapshot!(text);
}

#[test]
fn shapes_and_ranges_print_as_in_torch() {
    let special = [f32::NAN, f32::INFINITY, -1.5, 0.25];
    let wide = [1e-6_f64, 1.0, 123_456.0];
    let complex = [c64::new(1.0, -2.5), c64::new(0.25, 3.0)];
    let show = |x: Result<Tensor, allotrope_dtype::Error>| format!("{}\n", x.unwrap());
    let lines = [
        show(Tensor::full(&[], 3.5, DType::F32)),
        show(Tensor::from_slice(&special, &[2, 2])),
        show(Tensor::from_slice(&wide, &[3])),
        show(Tensor::from_slice(&complex, &[2])),
        show(Tensor::from_slice(&[1.0_f32, 10_000.0], &[2])),
        show(Tensor::zeros(&[0], DType::F32)),
        show(Tensor::zeros(&[2, 0], DType::I64)),
        show(Tensor::arange(0, 24, 1, DType::I64).and_then(|x| x.reshape(&[2, 3, 4]))),
        show(Tensor::arange(0, 40, 1, DType::I32)),
        show(Tensor::arange(0, 2000, 1, DType::I64)),
        show(Tensor::arange(0.0, 10_000.0, 1.0, DType::F32).and_then(|x| x.reshape(&[100, 100]))),
    ];
    assert_snapshot!(lines.concat());
    assert_eq!(
        format!("{:?}", Tensor::ones(&[1], DType::Bool).unwrap()),
        "tensor([True])"
    );
}

#[test]
fn items_have_the_kind_of_their_dtype() {
    let item = |x: Tensor| x.item().unwrap().value();
    assert_eq!(
        item(Tensor::full(&[1, 1], u64::MAX, DType::U64).unwrap()),
        WeakScalar::Int(u64::MAX.into())
    );
    assert_eq!(
        item(Tensor::full(&[], -1, DType::I8).unwrap()),
        WeakScalar::Int(-1)
    );
    assert_eq!(
        item(Tensor::full(&[], 0.5, DType::F8E5M2).unwrap()),
        WeakScalar::Float(0.5)
    );
    assert_eq!(<f32 as Element>::DTYPE, DType::F32);
}
