//! Softmax, norms and losses.

use allotrope_dtype::DType;
use allotrope_tensor::{BatchNormOptions, LossReduction, Tensor};

use crate::support::{check, check_gradients, floats, numbers};

/// Short and long lines, and lines side by side.
const SHAPES: [&[usize]; 4] = [&[3, 5], &[2, 300], &[1, 1000], &[130, 7]];

#[test]
fn softmax() {
    for dtype in floats() {
        for shape in SHAPES {
            let x = numbers(dtype, shape);
            check("softmax", &[&x], 4.0, |x| x[0].softmax(1, None));
            check("log_softmax", &[&x], 4.0, |x| x[0].log_softmax(1, None));
            check("columns", &[&x], 4.0, |x| x[0].softmax(0, None));
        }
    }
    let x = numbers(DType::F32, &[4, 200]);
    check_gradients("softmax", &[&x], 16.0, |x| x[0].softmax(1, None));
}

#[test]
fn softmax_of_what_is_not_finite() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let x = [
        1.0, nan, 2.0, inf, 1.0, 2.0, -inf, -inf, -inf, -inf, 0.0, 3.0,
    ];
    let x = Tensor::from_slice(&x, &[4, 3]).unwrap();
    check("softmax", &[&x], 4.0, |x| x[0].softmax(1, None));
    check("log_softmax", &[&x], 4.0, |x| x[0].log_softmax(1, None));
}

#[test]
fn norms() {
    for dtype in floats() {
        for shape in SHAPES {
            let x = numbers(dtype, shape);
            let (w, b) = (numbers(dtype, &shape[1..]), numbers(dtype, &shape[1..]));
            check("layer_norm", &[&x, &w, &b], 8.0, |x| {
                x[0].layer_norm(&shape[1..], Some(&x[1]), Some(&x[2]), 1e-5)
            });
            check("rms_norm", &[&x], 8.0, |x| {
                x[0].rms_norm(&shape[1..], None, Some(1e-5))
            });
        }
        let x = numbers(dtype, &[3, 6, 5, 7]);
        let w = numbers(dtype, &[6]);
        check("group_norm", &[&x, &w], 8.0, |x| {
            x[0].group_norm(3, Some(&x[1]), None, 1e-5)
        });
        check("batch_norm", &[&x, &w], 8.0, |x| {
            let options = BatchNormOptions {
                weight: Some(&x[1]),
                bias: Some(&x[1]),
                training: true,
                ..Default::default()
            };
            Ok(x[0].batch_norm(options)?.output)
        });
    }
}

#[test]
fn norms_of_numbers_far_from_zero() {
    let x = numbers(DType::F32, &[4, 500]).add(3000).unwrap();
    // The inputs have lost digits; what they are brought to has not.
    check("layer_norm", &[&x], 32.0, |x| {
        x[0].layer_norm(&[500], None, None, 1e-5)
    });
}

#[test]
fn gradients_of_norms() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let x = numbers(dtype, &[5, 200]);
        let (w, b) = (numbers(dtype, &[200]), numbers(dtype, &[200]));
        check_gradients("layer_norm", &[&x, &w, &b], 64.0, |x| {
            x[0].layer_norm(&[200], Some(&x[1]), Some(&x[2]), 1e-5)
        });
        check_gradients("rms_norm", &[&x, &w], 64.0, |x| {
            x[0].rms_norm(&[200], Some(&x[1]), Some(1e-5))
        });
        let x = numbers(dtype, &[3, 6, 5, 7]);
        let (w, b) = (numbers(dtype, &[6]), numbers(dtype, &[6]));
        check_gradients("group_norm", &[&x, &w, &b], 64.0, |x| {
            x[0].group_norm(3, Some(&x[1]), Some(&x[2]), 1e-5)
        });
        check_gradients("batch_norm", &[&x, &w, &b], 64.0, |x| {
            let options = BatchNormOptions {
                weight: Some(&x[1]),
                bias: Some(&x[2]),
                training: true,
                ..Default::default()
            };
            Ok(x[0].batch_norm(options)?.output)
        });
    }
}

#[test]
fn cross_entropy() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let x = numbers(dtype, &[20, 10]);
        let classes: Vec<i64> = (0..20)
            .map(|i| if i == 4 { -100 } else { i * 7 % 10 })
            .collect();
        let classes = Tensor::from_slice(&classes, &[20]).unwrap();
        for smoothing in [0.0, 0.1] {
            check("cross_entropy", &[&x, &classes], 8.0, |x| {
                x[0].cross_entropy(&x[1], None, -100, LossReduction::Mean, smoothing)
            });
        }
        for gpu in crate::support::devices() {
            let (x, classes) = (x.to_backend(gpu).unwrap(), classes.add(1).unwrap());
            let classes = classes.to_backend(gpu).unwrap();
            let made = x.cross_entropy(&classes, None, -100, LossReduction::Mean, 0.0);
            let text = made.unwrap().to_bytes().unwrap_err().to_string();
            assert!(text.contains("10"), "{text}");
        }
    }
}
