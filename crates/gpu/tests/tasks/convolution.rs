//! Convolution, pooling, and their gradients.

use allotrope_dtype::DType;
use allotrope_tensor::{
    AverageOptions, Blocks, ConvolutionOptions, Edge, Interpolation, Padding, Resized, Tensor,
    TransposedOptions, Window,
};

use crate::support::{check, check_all, check_gradients, numbers};

fn options<'a>() -> ConvolutionOptions<'a> {
    ConvolutionOptions {
        padding: Padding::Each(&[1]),
        ..Default::default()
    }
}

#[test]
fn convolutions_of_all_dtypes() {
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
        let (x, w) = (numbers(dtype, &[2, 4, 6, 7]), numbers(dtype, &[6, 4, 3, 3]));
        let b = numbers(dtype, &[6]);
        let units = if dtype.bits() == 8 { 2.0 } else { 40.0 };
        check("conv2d", &[&x, &w, &b], units, |x| {
            x[0].conv2d(&x[1], Some(&x[2]), &options())
        });
        let w = numbers(dtype, &[4, 3, 3, 3]);
        check("conv_transpose2d", &[&x, &w], units, |x| {
            let options = TransposedOptions {
                stride: &[2],
                padding: &[1],
                output_padding: &[1],
                ..Default::default()
            };
            x[0].conv_transpose2d(&x[1], None, &options)
        });
    }
}

#[test]
fn convolutions_of_all_forms() {
    let x = numbers(DType::F32, &[2, 4, 9, 8]);
    for groups in [1, 2, 4] {
        let w = numbers(DType::F32, &[8, 4 / groups, 3, 2]);
        for edge in [Edge::Zeros, Edge::Reflect, Edge::Replicate, Edge::Circular] {
            for (stride, dilation) in [(1, 1), (2, 1), (1, 2), (3, 2)] {
                check("conv2d", &[&x, &w], 40.0, |x| {
                    let options = ConvolutionOptions {
                        stride: &[stride],
                        dilation: &[dilation],
                        padding_mode: edge,
                        groups,
                        ..options()
                    };
                    x[0].conv2d(&x[1], None, &options)
                });
            }
        }
        let depthwise = numbers(DType::F32, &[4, 1, 3, 3]);
        check("depthwise", &[&x, &depthwise], 40.0, |x| {
            let options = ConvolutionOptions {
                groups: 4,
                ..options()
            };
            x[0].conv2d(&x[1], None, &options)
        });
        let w = numbers(DType::F32, &[4, 3, 3, 2]);
        check("conv_transpose2d", &[&x, &w], 40.0, |x| {
            let options = TransposedOptions {
                stride: &[2, 3],
                dilation: &[2, 1],
                groups,
                ..Default::default()
            };
            x[0].conv_transpose2d(&x[1], None, &options)
        });
    }
    let (x, w) = (
        numbers(DType::F32, &[2, 3, 20]),
        numbers(DType::F32, &[5, 3, 4]),
    );
    check("conv1d", &[&x, &w], 40.0, |x| {
        x[0].conv1d(&x[1], None, &ConvolutionOptions::default())
    });
    let x = numbers(DType::F32, &[1, 2, 4, 5, 6]);
    let w = numbers(DType::F32, &[3, 2, 2, 3, 3]);
    check("conv3d", &[&x, &w], 40.0, |x| {
        x[0].conv3d(&x[1], None, &options())
    });
    check("turned", &[&x, &w], 40.0, |x| {
        x[0].transpose(3, 4)?.conv3d(&x[1], None, &options())
    });
}

#[test]
fn gradients_of_convolutions() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        for (groups, stride) in [(1, 1), (2, 2)] {
            let x = numbers(dtype, &[3, 4, 16, 15]);
            let w = numbers(dtype, &[4, 4 / groups, 3, 3]);
            let b = numbers(dtype, &[4]);
            check_gradients("conv2d", &[&x, &w, &b], 400.0, |x| {
                let options = ConvolutionOptions {
                    groups,
                    stride: &[stride],
                    ..options()
                };
                x[0].conv2d(&x[1], Some(&x[2]), &options)
            });
        }
    }
}

#[test]
fn pools() {
    for dtype in DType::ALL {
        let x = numbers(dtype, &[2, 3, 9, 8]);
        let window = Window {
            kernel: &[3, 2],
            stride: &[2],
            padding: &[1],
            ..Default::default()
        };
        if !dtype.is_complex() {
            check_all("max_pool2d", &[&x], 0.0, |x| {
                let (greatest, places) = x[0].max_pool2d_with_indices(&window)?;
                Ok(vec![greatest, places, x[0].max_pool2d(&window)?])
            });
            check("adaptive_max_pool2d", &[&x], 0.0, |x| {
                x[0].adaptive_max_pool2d(&[Some(4), Some(3)])
            });
        }
        if dtype.is_floating_point() || dtype.is_complex() {
            for count_include_pad in [true, false] {
                check("avg_pool2d", &[&x], 4.0, |x| {
                    let options = AverageOptions {
                        count_include_pad,
                        ..Default::default()
                    };
                    x[0].avg_pool2d(&window, options)
                });
            }
            check("adaptive_avg_pool2d", &[&x], 4.0, |x| {
                x[0].adaptive_avg_pool2d(&[Some(4), Some(3)])
            });
        }
    }
    let x = [1.0, f32::NAN, 2.0, f32::NAN, -0.0, 0.0, f32::INFINITY, 1.0];
    let x = Tensor::from_slice(&x, &[1, 8]).unwrap();
    check_all("nan", &[&x], 0.0, |x| {
        let (greatest, places) = x[0].max_pool1d_with_indices(&Window::new(&[2]))?;
        Ok(vec![greatest, places])
    });
}

#[test]
fn gradients_of_pools() {
    let x = numbers(DType::F32, &[2, 3, 9, 8]);
    let window = Window {
        kernel: &[3, 2],
        stride: &[2],
        padding: &[1],
        ..Default::default()
    };
    check_gradients("max_pool2d", &[&x], 4.0, |x| x[0].max_pool2d(&window));
    check_gradients("avg_pool2d", &[&x], 8.0, |x| {
        x[0].avg_pool2d(&window, AverageOptions::default())
    });
    check_gradients("adaptive_avg_pool2d", &[&x], 8.0, |x| {
        x[0].adaptive_avg_pool2d(&[Some(4), Some(3)])
    });
}

#[test]
fn windows_added_up() {
    for dtype in DType::ALL {
        let blocks = Blocks {
            kernel: [3, 2],
            stride: [2, 1],
            padding: [1, 1],
            ..Default::default()
        };
        // Rows (7 + 2 - 3) / 2 + 1, columns 6 + 2 - 2 + 1.
        let x = numbers(dtype, &[2, 3 * 6, 4 * 7]);
        check("fold", &[&x], 8.0, |x| x[0].fold_windows([7, 6], blocks));
    }
}

#[test]
fn grids_of_other_sizes() {
    for dtype in DType::ALL {
        let x = numbers(dtype, &[2, 3, 5, 4]);
        for sizes in [[9, 7], [3, 8]] {
            let sizes = Resized::Sizes(&sizes);
            check("nearest", &[&x], 0.0, |x| {
                x[0].interpolate(Interpolation::Nearest, sizes, Default::default())
            });
            if !dtype.is_floating_point() && !dtype.is_complex() {
                continue;
            }
            for mode in [
                Interpolation::Linear,
                Interpolation::Cubic,
                Interpolation::Area,
            ] {
                check("interpolate", &[&x], 8.0, |x| {
                    x[0].interpolate(mode, sizes, Default::default())
                });
            }
        }
    }
}
