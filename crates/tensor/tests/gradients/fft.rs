//! Gradients of Fourier transforms.

use crate::checks::{check, complex_leaf, leaf};
use allotrope_dtype::{DType, Error};
use allotrope_tensor::Tensor;
use allotrope_tensor::fft::{self, Norm};

type Along = fn(&Tensor, Option<usize>, isize, Norm) -> Result<Tensor, Error>;
type Several = fn(&Tensor, Option<&[isize]>, Option<&[isize]>, Norm) -> Result<Tensor, Error>;

const NORMS: [Norm; 3] = [Norm::Backward, Norm::Forward, Norm::Ortho];

#[test]
fn along_one_dimension() {
    let transforms: [(&str, Along, bool); 6] = [
        ("fft", fft::fft, true),
        ("ifft", fft::ifft, true),
        ("irfft", fft::irfft, true),
        ("hfft", fft::hfft, true),
        ("rfft", fft::rfft, false),
        ("ihfft", fft::ihfft, false),
    ];
    for (name, transform, takes_complex) in transforms {
        for (place, n) in [None, Some(3), Some(4), Some(7), Some(1)]
            .into_iter()
            .enumerate()
        {
            let (norm, dim) = (NORMS[place % 3], [1, -2, 0][place % 3]);
            let function = |x: &[Tensor]| Ok(vec![transform(&x[0], n, dim, norm)?]);
            let what = format!("{name} {n:?} {norm:?}");
            check(&what, function, &[leaf(&[4, 5], 1)]);
            if takes_complex {
                check(&what, function, &[complex_leaf(&[5, 4], 2)]);
            }
        }
        let turned = |x: &[Tensor]| {
            let wide = x[0].unsqueeze(0)?.expand(&[2, 4])?;
            Ok(vec![transform(&wide.t()?, None, 0, Norm::Ortho)?])
        };
        check(name, turned, &[leaf(&[4], 3)]);
    }
}

#[test]
fn along_several_dimensions() {
    let transforms: [(&str, Several, bool); 12] = [
        ("fft2", fft::fft2, true),
        ("ifft2", fft::ifft2, true),
        ("irfft2", fft::irfft2, true),
        ("hfft2", fft::hfft2, true),
        ("rfft2", fft::rfft2, false),
        ("ihfft2", fft::ihfft2, false),
        ("fftn", fft::fftn, true),
        ("ifftn", fft::ifftn, true),
        ("irfftn", fft::irfftn, true),
        ("hfftn", fft::hfftn, true),
        ("rfftn", fft::rfftn, false),
        ("ihfftn", fft::ihfftn, false),
    ];
    for (place, (name, transform, takes_complex)) in transforms.into_iter().enumerate() {
        let norm = NORMS[place % 3];
        let function = |x: &[Tensor]| {
            Ok(vec![
                transform(&x[0], None, None, norm)?,
                transform(&x[0], Some(&[3, -1]), Some(&[-1, 0]), norm)?,
            ])
        };
        check(name, function, &[leaf(&[3, 2, 4], 1)]);
        if takes_complex {
            check(name, function, &[complex_leaf(&[3, 2, 4], 2)]);
        }
    }
}

#[test]
fn frequencies_in_order() {
    let function = |x: &[Tensor]| {
        Ok(vec![
            fft::fftshift(&x[0], None)?,
            fft::ifftshift(&x[0], Some(&[1]))?,
        ])
    };
    check("fftshift", function, &[complex_leaf(&[3, 4], 1)]);
}

/// The power of a spectrum is that of the signal: its gradient is twice the signal.
#[test]
fn halves_keep_their_dtype() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let x = Tensor::arange(-3, 5, 1, dtype)
            .unwrap()
            .requires_grad_(true)
            .unwrap();
        let spectrum = fft::fft(&x, None, -1, Norm::Ortho).unwrap();
        let power = spectrum
            .mul(&spectrum.conj().unwrap())
            .unwrap()
            .real()
            .unwrap();
        power.sum(None, false, None).unwrap().backward().unwrap();
        let gradient = x.grad().unwrap();
        assert_eq!(gradient.dtype(), dtype);
        let twice = x.detach().mul(2).unwrap();
        assert!(gradient.allclose(&twice, 1e-2, 1e-5, false).unwrap());
    }
}
