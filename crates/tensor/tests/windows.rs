//! Windows over signals against SciPy's recorded answers, and their arguments.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::DType;
use allotrope_tensor::{SignalWindow, Tensor};

/// The window that a line of the records is of.
fn window(name: &str) -> SignalWindow<'static> {
    match name {
        "bartlett" => SignalWindow::Bartlett,
        "blackman" => SignalWindow::Blackman,
        "cosine" => SignalWindow::Cosine,
        "exponential" => SignalWindow::Exponential {
            center: None,
            tau: 1.5,
        },
        "off_center" => SignalWindow::Exponential {
            center: Some(2.0),
            tau: 1.5,
        },
        "gaussian" => SignalWindow::Gaussian { std: 1.7 },
        "general_cosine" => SignalWindow::GeneralCosine(&[0.46, 0.23, 0.31]),
        "general_hamming" => SignalWindow::general_hamming(0.7),
        "hamming" => SignalWindow::general_hamming(0.54),
        "hann" => SignalWindow::Hann,
        "kaiser" => SignalWindow::Kaiser { beta: 8.6 },
        "nuttall" => SignalWindow::Nuttall,
        other => panic!("an unknown window: {other}"),
    }
}

#[test]
fn windows_are_those_of_scipy() {
    let lines: Vec<&str> = include_str!("data/windows.txt").lines().collect();
    assert_eq!(lines.len(), 11 * 6 + 1);
    for line in lines {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let length: usize = words.next().unwrap().parse().unwrap();
        let periodic = words.next() == Some("periodic");
        let wanted: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        let made = Tensor::signal_window(window(name), length, periodic, DType::F64).unwrap();
        let made = made.to_vec::<f64>().unwrap();
        assert_eq!(made.len(), wanted.len(), "{line}");
        for (made, wanted) in made.iter().zip(&wanted) {
            assert!((made - wanted).abs() < 1e-15, "{line}: {made}");
        }
        // Narrow floats are the same numbers, rounded once.
        let half = Tensor::signal_window(window(name), length, periodic, DType::F16).unwrap();
        let rounded = Tensor::new(made).unwrap().to(DType::F16).unwrap();
        assert_eq!(half, rounded, "{line}");
    }
}

#[test]
fn windows_of_nothing_and_of_one_point() {
    let make = |window, length, periodic| {
        let made = Tensor::signal_window(window, length, periodic, DType::F64).unwrap();
        made.to_vec::<f64>().unwrap()
    };
    for periodic in [false, true] {
        assert_eq!(make(SignalWindow::Nuttall, 0, periodic), []);
        assert_eq!(make(SignalWindow::Cosine, 1, periodic), [1.0]);
    }
    let center = Some(2.0);
    let off = make(SignalWindow::Exponential { center, tau: 4.0 }, 1, true);
    assert_eq!(off, [(-0.5_f64).exp()]);
}

#[test]
fn bad_arguments_are_worded_errors() {
    let refused = |window, periodic, dtype| {
        let made = Tensor::signal_window(window, 5, periodic, dtype);
        made.unwrap_err().to_string()
    };
    let exponential = |center, tau| SignalWindow::Exponential { center, tau };
    let texts = [
        refused(SignalWindow::Gaussian { std: 0.0 }, true, DType::F32),
        refused(exponential(None, f64::NAN), true, DType::F32),
        refused(exponential(Some(1.0), 1.0), false, DType::F32),
        refused(SignalWindow::Nuttall, true, DType::I32),
    ];
    assert_eq!(
        texts,
        [
            "gaussian: std out of range: 0; numbers above 0 are accepted",
            "exponential: tau out of range: NaN; numbers above 0 are accepted",
            "exponential: center out of range: 1; centers of periodic windows are accepted",
            "nuttall: wrong dtype: int32; a floating dtype is accepted",
        ]
    );
}
