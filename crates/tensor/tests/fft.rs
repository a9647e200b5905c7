//! Fourier transforms from Rust: values that are known, shapes, errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{DType, Error, ErrorKind, c64, c128};
use allotrope_tensor::{Tensor, fft, fft::Norm};

#[test]
fn a_wave_has_one_frequency() -> Result<(), Error> {
    let wave: Vec<f64> = (0..8)
        .map(|j| (std::f64::consts::TAU * 3.0 * f64::from(j) / 8.0).cos())
        .collect();
    let x = Tensor::from_slice(&wave, &[8])?;
    let spectrum = fft::rfft(&x, None, -1, Norm::Forward)?.to_vec::<c128>()?;
    for (frequency, value) in spectrum.iter().enumerate() {
        let expected = if frequency == 3 { 0.5 } else { 0.0 };
        assert!((value - expected).norm() < 1e-15, "{frequency}: {value}");
    }
    let back = fft::irfft(
        &fft::rfft(&x, None, -1, Norm::Ortho)?,
        Some(8),
        -1,
        Norm::Ortho,
    )?;
    for (given, expected) in back.to_vec::<f64>()?.iter().zip(&wave) {
        assert!((given - expected).abs() < 1e-15);
    }
    Ok(())
}

#[test]
fn integers_and_halves_give_complex64() -> Result<(), Error> {
    for dtype in [DType::I8, DType::Bool, DType::F16, DType::F8E5M2] {
        let x = Tensor::ones(&[4], dtype)?;
        let spectrum = fft::fft(&x, None, 0, Norm::Backward)?;
        assert_eq!(spectrum.to_vec::<c64>()?[0], c64::new(4.0, 0.0));
    }
    Ok(())
}

#[test]
fn errors() {
    let x = Tensor::zeros(&[3], DType::F32).unwrap();
    let kind = |result: Result<Tensor, Error>| result.unwrap_err().kind();
    assert_eq!(
        kind(fft::fft(&x, Some(0), 0, Norm::Backward)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(fft::fft(&x, None, 1, Norm::Backward)),
        ErrorKind::Index
    );
    let complex = x.to(DType::C64).unwrap();
    assert_eq!(
        kind(fft::rfft(&complex, None, 0, Norm::Backward)),
        ErrorKind::Dtype
    );
}
