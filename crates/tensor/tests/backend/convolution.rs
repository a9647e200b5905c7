//! Convolutions and their gradients.

use allotrope_dtype::{DType, ErrorKind};
use allotrope_tensor::{ConvolutionOptions, Edge, Padding, Tensor, TransposedOptions};

use crate::{Outcome, check, there};

/// Numbers of both signs, no two of them alike.
pub(crate) fn numbers(sizes: &[usize], dtype: DType) -> Tensor {
    let count: usize = sizes.iter().product();
    let x = Tensor::arange(0, count as i64, 1, DType::F64).unwrap();
    let x = x.mul(0.7391).unwrap().sin().unwrap().mul(9.0).unwrap();
    let x = match dtype {
        DType::Bool => x.gt(0.0).unwrap(),
        dtype => x.to(dtype).unwrap(),
    };
    let sizes: Vec<isize> = sizes.iter().map(|size| *size as isize).collect();
    x.reshape(&sizes).unwrap()
}

/// Checks work and the gradients of all of its operands.
pub(crate) fn check_gradients(
    what: &str,
    operands: &[&Tensor],
    work: impl Fn(&[Tensor]) -> Outcome,
) {
    check(what, operands, &work);
    for place in 0..operands.len() {
        check(&format!("gradient {place} of {what}"), operands, |x| {
            let leaves = x.iter().map(|x| x.detach().requires_grad_(true));
            let leaves = leaves.collect::<Result<Vec<Tensor>, _>>()?;
            let y = work(&leaves)?;
            // A gradient that is not the same everywhere.
            let total = y.mul(&y.detach())?.sum(None, false, None)?;
            let total = match total.dtype().is_complex() {
                true => total.abs()?,
                false => total,
            };
            total.backward()?;
            Ok(leaves[place].grad().unwrap_or_else(|| panic!("{what}")))
        });
    }
}

/// A tensor in several layouts.
pub(crate) fn layouts(x: &Tensor) -> Vec<Tensor> {
    let turned = x.transpose(-1, -2).unwrap().contiguous().unwrap();
    let last = x.movedim(&[1], &[-1]).unwrap().contiguous().unwrap();
    vec![
        x.clone(),
        turned.transpose(-1, -2).unwrap(),
        last.movedim(&[-1], &[1]).unwrap(),
        x.flip(&[-1]).unwrap(),
    ]
}

const DTYPES: [DType; 8] = [
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::I8,
    DType::U8,
    DType::I64,
    DType::Bool,
    DType::C64,
];

#[test]
fn convolutions_are_the_same_there() {
    for dtype in DTYPES {
        let bias = numbers(&[4], dtype);
        for x in layouts(&numbers(&[2, 4, 7, 6], dtype)) {
            for (channels, groups) in [(4, 1), (2, 2), (1, 4)] {
                let weight = numbers(&[4, channels, 3, 2], dtype);
                for padding_mode in [Edge::Zeros, Edge::Reflect, Edge::Replicate, Edge::Circular] {
                    let options = ConvolutionOptions {
                        stride: &[2, 1],
                        padding: Padding::Each(&[1]),
                        padding_mode,
                        dilation: &[1, 2],
                        groups,
                    };
                    check("conv2d", &[&x, &weight, &bias], |x| {
                        x[0].conv2d(&x[1], Some(&x[2]), &options)
                    });
                    check("conv2d", &[&x, &weight], |x| {
                        x[0].conv2d(&x[1], None, &options)
                    });
                }
            }
        }
        let (x, weight) = (numbers(&[3, 4, 9], dtype), numbers(&[2, 4, 3], dtype));
        check("conv1d", &[&x, &weight], |x| {
            x[0].conv1d(&x[1], None, &ConvolutionOptions::default())
        });
        let (x, weight) = (
            numbers(&[2, 3, 4, 5], dtype),
            numbers(&[2, 2, 2, 1, 3], dtype),
        );
        check("conv3d", &[&x, &weight], |x| {
            let padding = Padding::Same;
            let options = ConvolutionOptions {
                padding,
                ..Default::default()
            };
            x[0].conv3d(&x[1], None, &options)
        });
    }
}

#[test]
fn transposed_convolutions_are_the_same_there() {
    for dtype in DTYPES {
        for x in layouts(&numbers(&[2, 4, 5, 6], dtype)) {
            for (groups, stride) in [(1, 1), (2, 2), (4, 3)] {
                let weight = numbers(&[4, 3, 3, 2], dtype);
                let bias = numbers(&[3 * groups], dtype);
                let options = TransposedOptions {
                    stride: &[stride, 2],
                    padding: &[1, 0],
                    output_padding: &[0, 1],
                    dilation: &[1, 2],
                    groups,
                };
                check("conv_transpose2d", &[&x, &weight, &bias], |x| {
                    x[0].conv_transpose2d(&x[1], Some(&x[2]), &options)
                });
                check("conv_transpose2d", &[&x, &weight], |x| {
                    x[0].conv_transpose2d(&x[1], None, &options)
                });
            }
        }
    }
}

#[test]
fn gradients_of_convolutions_stay_there() {
    for dtype in [DType::F32, DType::BF16, DType::C64] {
        // Sums of small whole numbers are exact, in whatever order a device forms them.
        let numbers = |sizes: &[usize]| {
            let x = numbers(sizes, DType::F64).mul(0.3).unwrap();
            x.round().unwrap().to(dtype).unwrap()
        };
        let (x, bias) = (numbers(&[2, 4, 7, 6]), numbers(&[4]));
        for (channels, groups) in [(4, 1), (2, 2), (1, 4)] {
            for padding_mode in [Edge::Zeros, Edge::Reflect] {
                let weight = numbers(&[4, channels, 3, 2]);
                let options = ConvolutionOptions {
                    stride: &[2, 1],
                    padding: Padding::Each(&[1]),
                    padding_mode,
                    dilation: &[1, 2],
                    groups,
                };
                check_gradients("conv2d", &[&x, &weight, &bias], |x| {
                    x[0].conv2d(&x[1], Some(&x[2]), &options)
                });
            }
        }
        let (weight, bias) = (numbers(&[4, 3, 3, 2]), numbers(&[6]));
        let options = TransposedOptions {
            stride: &[2, 1],
            padding: &[1],
            output_padding: &[1, 0],
            groups: 2,
            ..Default::default()
        };
        check_gradients("conv_transpose2d", &[&x, &weight, &bias], |x| {
            x[0].conv_transpose2d(&x[1], Some(&x[2]), &options)
        });
    }
}

#[test]
fn operands_of_a_convolution_are_on_one_device() {
    let (x, weight) = (
        numbers(&[1, 2, 4, 4], DType::F32),
        numbers(&[1, 2, 2, 2], DType::F32),
    );
    let error = there(&x).conv2d(&weight, None, &Default::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Device);
}
