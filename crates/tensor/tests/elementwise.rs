//! Elementwise operations and reductions through the tensor: dtypes, broadcasting, errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{DType, ErrorKind, WeakScalar};
use allotrope_op::Op;
use allotrope_tensor::{Index, Tensor};

fn floats(values: &[f64], dtype: DType) -> Tensor {
    Tensor::from_slice(values, &[values.len()])
        .unwrap()
        .to(dtype)
        .unwrap()
}

fn to_f64(tensor: &Tensor) -> Vec<f64> {
    tensor.to(DType::F64).unwrap().to_vec().unwrap()
}

#[test]
fn comparisons_are_exact_across_dtypes() {
    let wide = Tensor::from_slice(&[16_777_217_i64, i64::MAX, -1], &[3]).unwrap();
    let float = floats(
        &[16_777_216.0, 9_223_372_036_854_775_808.0, -1.0],
        DType::F32,
    );
    let bits = |t: Tensor| t.to(DType::U8).unwrap().to_vec::<u8>().unwrap();
    assert_eq!(bits(wide.eq(&float).unwrap()), [0, 0, 1]);
    assert_eq!(bits(wide.gt(&float).unwrap()), [1, 0, 0]);
    assert_eq!(bits(float.gt(&wide).unwrap()), [0, 1, 0]);
    assert_eq!(bits(float.ge(&wide).unwrap()), [0, 1, 1]);
    let huge = Tensor::from_slice(&[u64::MAX, 5, 0], &[3]).unwrap();
    let signed = Tensor::from_slice(&[-1_i8, 5, 1], &[3]).unwrap();
    assert_eq!(bits(huge.eq(&signed).unwrap()), [0, 1, 0]);
    assert_eq!(bits(huge.gt(&signed).unwrap()), [1, 0, 0]);
    assert_eq!(bits(signed.lt(&huge).unwrap()), [1, 0, 0]);
    assert_eq!(bits(signed.ne(&huge).unwrap()), [1, 0, 1]);
    let bytes = Tensor::from_slice(&[0_u8, 255], &[2]).unwrap();
    assert_eq!(bits(bytes.lt(-1).unwrap()), [0, 0]);
    assert_eq!(bits(bytes.lt(1000).unwrap()), [1, 1]);
    assert_eq!(bits(bytes.lt(WeakScalar::Int(1 << 100)).unwrap()), [1, 1]);
    assert_eq!(bits(bytes.eq(0.5).unwrap()), [0, 0]);
    let complex = floats(&[16_777_216.0], DType::C64);
    let one = Tensor::from_slice(&[16_777_217_i64], &[1]).unwrap();
    assert_eq!(bits(complex.eq(&one).unwrap()), [0]);
    assert_eq!(complex.lt(&one).unwrap_err().kind(), ErrorKind::Dtype);
}

#[test]
fn scalars_are_weak_and_checked() {
    let bytes = Tensor::from_slice(&[250_u8, 10], &[2]).unwrap();
    assert_eq!(bytes.add(10).unwrap().to_vec::<u8>().unwrap(), [4, 20]);
    assert_eq!(bytes.add(300).unwrap_err().kind(), ErrorKind::Overflow);
    assert_eq!(bytes.add(0.5).unwrap().dtype(), DType::F32);
    assert_eq!(
        floats(&[1.0], DType::F16).mul(2).unwrap().dtype(),
        DType::F16
    );
}

#[test]
fn integers_divide_by_zero_with_an_error() {
    let x = Tensor::from_slice(&[7_i32, -7, 7], &[3]).unwrap();
    let y = Tensor::from_slice(&[2_i32, 2, -2], &[3]).unwrap();
    assert_eq!(
        x.floor_divide(&y).unwrap().to_vec::<i32>().unwrap(),
        [3, -4, -4]
    );
    assert_eq!(
        x.remainder(&y).unwrap().to_vec::<i32>().unwrap(),
        [1, 1, -1]
    );
    assert_eq!(x.fmod(&y).unwrap().to_vec::<i32>().unwrap(), [1, -1, 1]);
    let zeros = Tensor::from_slice(&[1_i32, 0, 2], &[3]).unwrap();
    for op in [Op::FloorDivide, Op::Remainder, Op::Fmod, Op::TruncDivide] {
        let error = Tensor::apply(op, &[(&x).into(), (&zeros).into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ZeroDivision);
        assert!(error.to_string().contains("at index 1"), "{error}");
    }
    assert_eq!(
        x.floor_divide(0).unwrap_err().kind(),
        ErrorKind::ZeroDivision
    );
    assert_eq!(x.pow(-1).unwrap_err().kind(), ErrorKind::Value);
    assert!(x.div(&zeros).unwrap().dtype() == DType::F32);
}

#[test]
fn sums_keep_their_digits() {
    for dtype in [DType::F16, DType::BF16, DType::F8E4M3Fn, DType::F32] {
        let ones = Tensor::ones(&[1 << 15, 4], dtype).unwrap();
        let sum = ones.sum(Some(&[0]), false, Some(DType::F32)).unwrap();
        assert_eq!(to_f64(&sum), [32768.0; 4], "{dtype}");
        assert_eq!(
            to_f64(&ones.mean(None, false, None).unwrap()),
            [1.0],
            "{dtype}"
        );
    }
    let most = Tensor::full(&[1000], i64::from(i32::MAX), DType::I32).unwrap();
    let mean = most.mean(None, false, Some(DType::F64)).unwrap();
    assert_eq!(to_f64(&mean), [f64::from(i32::MAX)]);
}

#[test]
fn reductions_follow_any_layout() {
    let x = Tensor::arange(0, 24, 1, DType::F64)
        .unwrap()
        .reshape(&[2, 3, 4])
        .unwrap();
    let turned = x.permute(&[2, 0, 1]).unwrap();
    assert_eq!(
        to_f64(&x.sum(Some(&[1]), false, None).unwrap()),
        [12.0, 15.0, 18.0, 21.0, 48.0, 51.0, 54.0, 57.0]
    );
    let sums = turned.sum(Some(&[-1]), true, None).unwrap();
    assert_eq!(sums.shape()[..], [4, 2, 1]);
    assert_eq!(
        to_f64(&sums),
        [12.0, 48.0, 15.0, 51.0, 18.0, 54.0, 21.0, 57.0]
    );
    assert_eq!(
        to_f64(&x.sum(Some(&[0, 2]), false, None).unwrap()),
        [60.0, 92.0, 124.0]
    );
    assert_eq!(
        to_f64(&x.amax(Some(&[2, 0]), false).unwrap()),
        [15.0, 19.0, 23.0]
    );
    assert_eq!(
        x.argmax(Some(1), false).unwrap().to_vec::<i64>().unwrap(),
        [2; 8]
    );
    assert_eq!(x.argmin(None, false).unwrap().to_vec::<i64>().unwrap(), [0]);
    assert_eq!(
        to_f64(&x.var(Some(&[2]), 1.0, false).unwrap()),
        [5.0 / 3.0; 6]
    );
    assert_eq!(
        to_f64(&x.flip(&[2]).unwrap().norm(2.0, None, false).unwrap()),
        [4324_f64.sqrt()]
    );
    assert_eq!(
        x.gt(11)
            .unwrap()
            .count_nonzero(None, false)
            .unwrap()
            .to_vec::<i64>()
            .unwrap(),
        [12]
    );
    assert_eq!(
        x.amax(Some(&[3]), false).unwrap_err().kind(),
        ErrorKind::Index
    );
    let empty = Tensor::zeros(&[0, 3], DType::F32).unwrap();
    assert_eq!(
        empty.amax(Some(&[0]), false).unwrap_err().kind(),
        ErrorKind::Value
    );
    assert_eq!(
        to_f64(&empty.sum(Some(&[0]), false, None).unwrap()),
        [0.0; 3]
    );
    assert_eq!(empty.amax(Some(&[1]), false).unwrap().shape()[..], [0]);
}

#[test]
fn assignment_gives_a_new_value_and_leaves_the_old() {
    let mut x = Tensor::zeros(&[2, 3], DType::I16).unwrap();
    let view = x.transpose(0, 1).unwrap();
    x.assign(&[Index::Ellipsis, Index::At(-1)], 5).unwrap();
    assert_eq!(x.to_vec::<i16>().unwrap(), [0, 0, 5, 0, 0, 5]);
    assert_eq!(view.to_vec::<i16>().unwrap(), [0; 6]);
    let address = x.address();
    let mask = x.eq(5).unwrap();
    x.assign(&[Index::Array(mask)], -1).unwrap();
    assert_eq!(x.to_vec::<i16>().unwrap(), [0, 0, -1, 0, 0, -1]);
    assert_eq!(x.address(), address, "memory that nobody shares is reused");
    let indices = Tensor::from_slice(&[1_u8, 1], &[2]).unwrap();
    let values = Tensor::from_slice(&[1_i16, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    x.assign(&[Index::Array(indices)], &values).unwrap();
    assert_eq!(x.to_vec::<i16>().unwrap(), [0, 0, -1, 4, 5, 6]);
    let flat = values.flatten(0, -1).unwrap();
    assert_eq!(
        x.assign(&[], 1 << 20).unwrap_err().kind(),
        ErrorKind::Overflow
    );
    assert_eq!(x.assign(&[], &flat).unwrap_err().kind(), ErrorKind::Value);
    assert_eq!(x.to_vec::<i16>().unwrap(), [0, 0, -1, 4, 5, 6]);
    let mut turned = x.transpose(0, 1).unwrap();
    turned.assign(&[Index::At(0)], 9).unwrap();
    assert_eq!(turned.to_vec::<i16>().unwrap(), [9, 9, 0, 5, -1, 6]);
    // The dtype stays: a number of a higher kind is refused unless it is one of the dtype's.
    let half = turned.assign(&[Index::At(0)], 0.5);
    assert_eq!(half.unwrap_err().kind(), ErrorKind::Dtype);
    turned.assign(&[Index::At(0)], 3.0).unwrap();
    assert_eq!(turned.to_vec::<i16>().unwrap(), [3, 3, 0, 5, -1, 6]);
}
