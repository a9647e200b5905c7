//! The Rust of the four documents in `tests/documents`, in a crate outside of the workspace: what they write,
//! but for the names that the book's page "Names of the four documents" gives instead.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::{Add, Mul};

use allotrope::{
    DType, Element, Error, Policy, Problem, Real, Tensor, WithDType, bf16, c64, f8e4m3fn, f16,
    scoped_promotion,
};

/// Cobalt's generic kernel.
fn add_typed<T: Element + Add<Output = T>>(a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let (a_data, b_data) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    let mut out_data = Vec::with_capacity(a_data.len());
    for (x, y) in a_data.iter().zip(b_data.iter()) {
        out_data.push(*x + *y);
    }
    Tensor::from_slice(&out_data, a.shape())
}

/// Cobalt's first pattern.
fn scale_tensor<T: Element + Mul<Output = T>>(t: &Tensor, factor: T) -> Result<Tensor, Error> {
    let scaled: Vec<T> = t.as_slice::<T>()?.iter().map(|&x| x * factor).collect();
    Tensor::from_vec(scaled, t.shape())
}

/// Cobalt's second pattern.
fn promote_to_float(t: &Tensor) -> Result<Tensor, Error> {
    match t.dtype() {
        DType::F32 | DType::F64 => Ok(t.clone()),
        DType::I32 => {
            let floats = t.as_slice::<i32>()?.iter().map(|&x| x as f32).collect();
            Tensor::from_f32(floats, t.shape())
        }
        _ => t.to(DType::F32),
    }
}

#[test]
fn cobalt() -> Result<(), Error> {
    let weights = Tensor::from_f32(vec![0.5, -0.3, 0.8], &[3])?;
    assert_eq!(
        (weights.dtype(), weights.dtype().itemsize()),
        (DType::F32, 4)
    );
    assert_eq!(weights.as_f32_slice()?, [0.5, -0.3, 0.8]);
    assert_eq!(
        Tensor::from_slice(&[127i8, -128, 0, 64], &[4])?.dtype(),
        DType::I8
    );
    let half = Tensor::from_slice(&[f16::from_f32(1.0)], &[1])?;
    assert_eq!(half.to(DType::F32)?.as_f32_slice()?, [1.0]);
    let doubled = add_typed::<f32>(&weights, &weights)?;
    assert_eq!(doubled, scale_tensor(&weights, 2.0_f32)?);
    let integers = Tensor::from_slice(&[1_i32, 2], &[2])?;
    assert_eq!(promote_to_float(&integers)?.as_f32_slice()?, [1.0, 2.0]);
    assert_eq!(scale_tensor(&integers, 2_i32)?.as_slice::<i32>()?, [2, 4]);
    Ok(())
}

/// A `bool` is read and made like the other elements.
#[test]
fn truth_values() -> Result<(), Error> {
    fn reversed<T: WithDType>(x: &Tensor) -> Result<Tensor, Error> {
        let elements: Vec<T> = x.as_slice::<T>()?.iter().rev().copied().collect();
        Tensor::from_vec(elements, x.shape())
    }
    let mask = Tensor::from_slice(&[true, false, true, true], &[4])?;
    assert_eq!(mask.dtype(), DType::Bool);
    assert_eq!(mask.as_slice::<bool>()?, [true, false, true, true]);
    assert_eq!(
        reversed::<bool>(&mask)?.to_vec::<bool>()?,
        [true, true, false, true]
    );
    assert_eq!(
        reversed::<u8>(&Tensor::from_slice(&[1_u8, 2], &[2])?)?.to_vec::<u8>()?,
        [2, 1]
    );
    assert_eq!(Vec::<bool>::try_from(&mask)?, [true, false, true, true]);
    assert_eq!(
        mask.as_slice::<f32>().unwrap_err().to_string(),
        "as_slice: wrong element type: float32; the tensor has bool (hint: x.to(float32))"
    );
    // Bytes from outside, of which all but zero are true, are no slice of Rust's.
    let loose = Tensor::from_bytes(&[2, 0, 1], &[3], DType::Bool)?;
    assert_eq!(loose.to_vec::<bool>()?, [true, false, true]);
    assert!(loose.as_slice::<bool>().is_err());
    Ok(())
}

/// Cobalt's `InvalidBuffer` and `DTypeMismatch`.
#[test]
fn payloads() {
    for bytes in [0, 3, 5, 7, 8] {
        let error = Tensor::from_bytes(&vec![0; bytes], &[1], DType::F32).unwrap_err();
        let told = Problem::InvalidBuffer {
            bytes,
            needed: 4,
            count: 1,
            dtype: DType::F32,
        };
        assert_eq!(error.problem(), &told, "{error}");
    }
    let (a, b) = (
        Tensor::new([1.0_f32]).unwrap(),
        Tensor::new([1_i32]).unwrap(),
    );
    let _scope = scoped_promotion(Policy::Strict);
    for (x, y) in [(&a, &b), (&b, &a)] {
        let error = x.add(y).unwrap_err();
        assert!(
            matches!(error.problem(), Problem::NoPromotion { lhs, rhs, .. }
                if (*lhs, *rhs) == (x.dtype(), y.dtype())),
            "{error}"
        );
    }
}

/// TenfloweRS's `DTypeSupport`, whose `dtype()` is `Element::DTYPE`.
#[test]
fn dtype_support() {
    fn round_trip<T: Real>(value: f64) -> (DType, f64) {
        assert_eq!(T::default().to_f64(), 0.0);
        (T::DTYPE, T::from_f64(value).to_f64())
    }
    assert_eq!(round_trip::<f32>(0.1), (DType::F32, f64::from(0.1_f32)));
    assert_eq!(round_trip::<f64>(0.1), (DType::F64, 0.1));
    assert_eq!(round_trip::<i32>(-2.9), (DType::I32, -2.0));
    assert_eq!(round_trip::<u8>(300.0), (DType::U8, 255.0));
    assert_eq!(round_trip::<i64>(f64::NAN), (DType::I64, 0.0));
    assert_eq!(round_trip::<f16>(65504.0), (DType::F16, 65504.0));
    // One rounding: by way of float32 it would be a tie that goes the other way.
    let above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    assert_eq!(
        round_trip::<bf16>(above_tie),
        (DType::BF16, 1.0 + 2f64.powi(-7))
    );
    assert_eq!(round_trip::<f8e4m3fn>(448.0), (DType::F8E4M3Fn, 448.0));
    assert_eq!(c64::default(), c64::new(0.0, 0.0));
    let mixed = [(DType::F32, DType::I32), (DType::F16, DType::BF16)];
    for (lhs, rhs) in mixed {
        assert_eq!(Policy::Standard.promote(lhs, rhs), Some(DType::F32));
    }
}
