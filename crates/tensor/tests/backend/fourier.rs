//! Fourier transforms.

use allotrope_dtype::DType;
use allotrope_tensor::fft::{self, Frames, Norm};
use allotrope_tensor::{PadMode, Tensor};

use crate::check;
use crate::convolution::{check_gradients, layouts, numbers};

#[test]
fn transforms_are_the_same_there() {
    let all = [
        fft::fft,
        fft::ifft,
        fft::rfft,
        fft::irfft,
        fft::hfft,
        fft::ihfft,
    ];
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I16, DType::C64] {
        let is_inexact = dtype.is_floating_point() || dtype.is_complex();
        for x in layouts(&numbers(&[2, 3, 7, 6], dtype)) {
            // As long as they are, cut and padded.
            for (length, dim) in [(None, -1), (Some(4), 2), (Some(9), -1), (None, 0)] {
                for transform in all {
                    let work = |x: &[Tensor]| transform(&x[0], length, dim, Norm::Ortho);
                    match is_inexact {
                        true if work(std::slice::from_ref(&x)).is_ok() => {
                            check_gradients("a transform", &[&x], work);
                        }
                        _ => check("a transform", &[&x], work),
                    }
                }
            }
        }
        let x = numbers(&[2, 3, 7, 6], dtype);
        for transform in [fft::fftn, fft::rfftn, fft::irfftn, fft::fft2] {
            check("of several dimensions", &[&x], |x| {
                transform(&x[0], None, None, Norm::Backward)
            });
        }
        check("fftshift", &[&x], |x| fft::fftshift(&x[0], None));
    }
}

#[test]
fn short_transforms_are_the_same_there() {
    for dtype in [DType::F32, DType::BF16] {
        let (x, window) = (numbers(&[2, 90], dtype), numbers(&[16], DType::F32));
        for onesided in [true, false] {
            check("stft", &[&x, &window], |x| {
                let frames = Frames {
                    n_fft: 20,
                    hop_length: Some(5),
                    win_length: Some(16),
                    window: Some(&x[1]),
                    center: true,
                    normalized: true,
                    onesided,
                };
                let spectra = fft::stft(&x[0], &frames, PadMode::Reflect)?;
                fft::istft(&spectra, &frames, None, false)
            });
        }
        check_gradients("stft", &[&x], |x| {
            let frames = Frames {
                n_fft: 20,
                hop_length: None,
                win_length: Some(16),
                window: None,
                center: false,
                normalized: false,
                onesided: true,
            };
            fft::stft(&x[0], &frames, PadMode::Reflect)
        });
    }
}
