//! Numbers into scalars and out of them, against Rust's own conversions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::eq_op, reason = "NaN is not equal to itself")]

use allotrope_dtype::{
    Bool8, DType, Element, Error, ErrorKind, Scalar, WeakScalar, bf16, c64, c128, f8e4m3fnuz, f16,
    for_each_dtype,
};
use proptest::prelude::*;

/// Every code of a dtype of up to 16 bits, or a few thousand of a wider one.
fn codes(dtype: DType) -> impl Iterator<Item = Vec<u8>> {
    let size = dtype.itemsize();
    let count = if size == 1 { 1_u64 << 8 } else { 1 << 16 };
    (0..count).map(move |code| {
        let code = if size > 2 { code << 48 | code } else { code };
        code.to_le_bytes()
            .into_iter()
            .cycle()
            .take(size.min(8) * size.div_ceil(8))
            .collect()
    })
}

/// There and back with every code; a bool may have another byte for the same truth.
fn survives<T: Element>() {
    for bytes in codes(T::DTYPE) {
        let element: T = bytemuck::pod_read_unaligned(&bytes);
        let scalar = Scalar::from(element);
        assert_eq!(scalar.dtype(), T::DTYPE);
        let back = T::try_from(scalar).unwrap();
        // NaN is not equal to itself, but stays one.
        if element == element {
            assert_eq!(back, element);
        } else {
            assert!(back != back);
        }
    }
}

macro_rules! survival {
    ($({ $variant:ident, $ty:ty, $($rest:tt)* })*) => {
        #[test]
        fn every_element_survives() {
            $(survives::<$ty>();)*
        }
    };
}
for_each_dtype!((survival));

proptest! {
    #[test]
    fn floats_are_exact_or_refused(value in any::<f64>()) {
        let narrow = f32::try_from(Scalar::from(value));
        if f64::from(value as f32) == value {
            prop_assert_eq!(narrow.unwrap(), value as f32);
        } else {
            prop_assert_eq!(narrow.unwrap_err().kind(), ErrorKind::Overflow);
        }
        let half = f16::try_from(Scalar::from(value));
        prop_assert_eq!(half.is_ok(), f16::from_f64(value).to_f64() == value);
    }

    #[test]
    fn integers_are_exact_or_refused(value in any::<i128>(), shift in 0_u32..128) {
        let value = value >> shift;
        let weak = WeakScalar::from(value);
        prop_assert_eq!(i8::try_from(weak).ok(), i8::try_from(value).ok());
        prop_assert_eq!(i64::try_from(weak).ok(), i64::try_from(value).ok());
        prop_assert_eq!(u64::try_from(weak).ok(), u64::try_from(value).ok());
        prop_assert_eq!(usize::try_from(weak).ok(), usize::try_from(value).ok());
        prop_assert_eq!(bool::try_from(weak).is_ok(), value == 0 || value == 1);
        // An integer is a float if it has no more digits than the float.
        let odd = value.unsigned_abs() >> value.trailing_zeros().min(127);
        prop_assert_eq!(f64::try_from(weak).is_ok(), odd < 1 << 53);
        prop_assert_eq!(bf16::try_from(weak).is_ok(), odd < 1 << 8);
    }
}

#[test]
fn whole_floats_are_integers() -> Result<(), Error> {
    assert_eq!(i64::try_from(Scalar::from(-3.0_f32))?, -3);
    assert_eq!(u8::try_from(Scalar::from(255.0))?, 255);
    assert_eq!(isize::try_from(Scalar::from(-0.0))?, 0);
    assert_eq!(i128_of(2_f64.powi(63)), None);
    assert_eq!(i128_of(-(2_f64.powi(63))), Some(i64::MIN));
    for refused in [1.5, f64::NAN, f64::INFINITY, 1e300] {
        assert!(i64::try_from(Scalar::from(refused)).is_err(), "{refused}");
    }
    assert!(u8::try_from(Scalar::from(-1)).is_err());
    assert!(f64::try_from(WeakScalar::Int(i128::MAX)).is_err());
    Ok(())
}

fn i128_of(value: f64) -> Option<i64> {
    i64::try_from(Scalar::from(value)).ok()
}

#[test]
fn truth_and_complex_numbers() -> Result<(), Error> {
    let i = c64::new(0.0, 1.0);
    assert!(bool::try_from(Scalar::from(1.0))?);
    assert!(!bool::try_from(Scalar::from(c64::new(0.0, 0.0)))?);
    assert!(bool::try_from(Scalar::from(2)).is_err());
    assert!(bool::try_from(Scalar::from(i)).is_err());
    assert_eq!(f32::try_from(Scalar::from(true))?, 1.0);
    assert_eq!(Bool8::try_from(Scalar::from(1_u8))?, Bool8::TRUE);
    assert_eq!(c128::try_from(Scalar::from(i))?, c128::new(0.0, 1.0));
    assert_eq!(c64::try_from(Scalar::from(2))?, c64::new(2.0, 0.0));
    assert!(c64::try_from(Scalar::from(c128::new(0.0, 0.1))).is_err());
    let refused = f64::try_from(Scalar::from(c64::new(1.0, 0.0)));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Dtype);
    Ok(())
}

#[test]
fn special_floats() -> Result<(), Error> {
    assert!(f32::try_from(Scalar::from(f64::NAN))?.is_nan());
    assert_eq!(
        f16::try_from(Scalar::from(f32::NEG_INFINITY))?,
        f16::NEG_INFINITY
    );
    assert!(f32::try_from(Scalar::from(-0.0))?.is_sign_negative());
    // A format without infinities refuses them.
    let refused = f8e4m3fnuz::try_from(Scalar::from(f32::INFINITY));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Overflow);
    Ok(())
}
