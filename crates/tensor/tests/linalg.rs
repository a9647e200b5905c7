//! Linear algebra from Rust: values that are known, shapes, errors.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "a test fails by panicking; exact results are exact"
)]

use allotrope_dtype::{DType, Error, ErrorKind, c128};
use allotrope_tensor::{Tensor, linalg};

fn matrix(elements: &[f64], rows: usize) -> Tensor {
    Tensor::from_slice(elements, &[rows, elements.len() / rows]).unwrap()
}

fn assert_near(x: &Tensor, expected: &[f64]) {
    let given = x.to(DType::F64).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(given.len(), expected.len());
    for (given, expected) in given.iter().zip(expected) {
        assert!((given - expected).abs() < 1e-12, "{given} {expected}");
    }
}

#[test]
fn solutions() -> Result<(), Error> {
    let a = matrix(&[4.0, 1.0, 2.0, 3.0], 2);
    let b = matrix(&[6.0, 8.0], 2);
    assert_near(&linalg::solve(&a, &b, true)?, &[1.0, 2.0]);
    assert_near(&linalg::inv(&a)?, &[0.3, -0.1, -0.2, 0.4]);
    assert_near(&linalg::det(&a)?, &[10.0]);
    let (_, info) = linalg::solve_ex(&matrix(&[1.0, 1.0, 1.0, 1.0], 2), &b, true)?;
    assert_eq!(info.to_vec::<i32>()?, [2]);
    Ok(())
}

#[test]
fn errors_have_their_kind() {
    let singular = Tensor::zeros(&[3, 2, 2], DType::F32).unwrap();
    let error = linalg::inv(&singular).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LinearAlgebra);
    assert_eq!(
        error.to_string(),
        "linalg.inv: singular matrix at index 0: pivot 0 is zero; invertible ones are accepted \
         (hint: linalg.lstsq or linalg.pinv)"
    );
    let wide = Tensor::zeros(&[2, 3], DType::F32).unwrap();
    assert_eq!(linalg::det(&wide).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn spectra() -> Result<(), Error> {
    let a = matrix(&[2.0, 1.0, 1.0, 2.0], 2);
    let (values, _) = linalg::eigh(&a, linalg::Triangle::Lower)?;
    assert_near(&values, &[1.0, 3.0]);
    assert_near(&linalg::svdvals(&a)?, &[3.0, 1.0]);
    let turn = matrix(&[0.0, -1.0, 1.0, 0.0], 2);
    let values = linalg::eigvals(&turn)?.to_vec::<c128>()?;
    assert_eq!(values, [c128::new(0.0, 1.0), c128::new(0.0, -1.0)]);
    Ok(())
}

#[test]
fn halves_are_rounded_once() -> Result<(), Error> {
    let a = matrix(&[3.0, 0.0, 0.0, 7.0], 2).to(DType::BF16)?;
    let inverse = linalg::inv(&a)?;
    assert_eq!(inverse.dtype(), DType::BF16);
    let expected = matrix(&[1.0 / 3.0, 0.0, 0.0, 1.0 / 7.0], 2).to(DType::BF16)?;
    assert_eq!(inverse.to_bytes()?, expected.to_bytes()?);
    Ok(())
}
