//! Windows over grids: pooling, interpolation, im2col, sampling and padding.

use allotrope_dtype::DType;
use allotrope_tensor::{
    AverageOptions, Beyond, Blocks, Generator, Interpolation, InterpolationOptions, PadMode,
    Resized, Sampling, Tensor, Window,
};

use crate::check;
use crate::convolution::{check_gradients, layouts, numbers};

const REAL: [DType; 7] = [
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::I8,
    DType::I64,
    DType::U64,
    DType::Bool,
];

/// Windows of which some overlap, some have holes and some end beyond the grid.
fn windows() -> [Window<'static>; 3] {
    let cut = Window {
        kernel: &[3, 2],
        stride: &[2],
        padding: &[1],
        ceil_mode: true,
        ..Window::default()
    };
    let with_holes = Window {
        kernel: &[2],
        stride: &[1],
        padding: &[1],
        dilation: &[2],
        ..Window::default()
    };
    [cut, with_holes, Window::new(&[2])]
}

#[test]
fn the_greatest_of_windows_is_the_same_there() {
    for dtype in REAL {
        for x in layouts(&numbers(&[2, 3, 7, 6], dtype)) {
            for window in windows() {
                check("max_pool2d", &[&x], |x| x[0].max_pool2d(&window));
                check("places", &[&x], |x| {
                    Ok(x[0].max_pool2d_with_indices(&window)?.1)
                });
                check("max_unpool2d", &[&x], |x| {
                    let (greatest, places) = x[0].max_pool2d_with_indices(&window)?;
                    greatest.max_unpool2d(&places, &window, Some(&[7, 6]))
                });
            }
            check("adaptive", &[&x], |x| {
                x[0].adaptive_max_pool2d(&[Some(4), None])
            });
            check("fractional", &[&x], |x| {
                let generator = Generator::new(7);
                let pooled = x[0].fractional_max_pool2d(&[2], &[4, 3], None, Some(&generator))?;
                Ok(pooled.0)
            });
        }
    }
    let (x, wrong) = (
        numbers(&[1, 1, 2, 2], DType::F32),
        Tensor::full(&[1, 1, 2, 2], 99, DType::I64).unwrap(),
    );
    check("out of range", &[&x, &wrong], |x| {
        x[0].max_unpool2d(&x[1], &Window::new(&[2]), None)
    });
}

#[test]
fn means_of_windows_are_the_same_there() {
    for dtype in REAL.into_iter().chain([DType::C64]) {
        for x in layouts(&numbers(&[2, 3, 7, 6], dtype)) {
            for window in windows() {
                let window = Window {
                    dilation: &[],
                    ..window
                };
                for count_include_pad in [true, false] {
                    let options = AverageOptions {
                        count_include_pad,
                        divisor_override: None,
                    };
                    check("avg_pool2d", &[&x], |x| x[0].avg_pool2d(&window, options));
                }
                check("lp_pool2d", &[&x], |x| x[0].lp_pool2d(2.0, &window));
            }
            check("adaptive", &[&x], |x| {
                x[0].adaptive_avg_pool2d(&[Some(4), None])
            });
        }
    }
}

#[test]
fn gradients_of_pooling_stay_there() {
    for dtype in [DType::F32, DType::BF16, DType::F64] {
        let x = numbers(&[2, 3, 7, 6], dtype);
        for window in windows() {
            check_gradients("max_pool2d", &[&x], |x| x[0].max_pool2d(&window));
            check_gradients("max_unpool2d", &[&x], |x| {
                let places = x[0].max_pool2d_with_indices(&Window::new(&[1]))?.1;
                x[0].max_unpool2d(&places, &Window::new(&[1]), Some(&[7, 6]))
            });
            let window = Window {
                dilation: &[],
                ..window
            };
            check_gradients("avg_pool2d", &[&x], |x| {
                x[0].avg_pool2d(&window, AverageOptions::default())
            });
            check_gradients("lp_pool2d", &[&x], |x| x[0].lp_pool2d(2.0, &window));
        }
        let sizes = [Some(4), Some(5)];
        check_gradients("adaptive", &[&x], |x| x[0].adaptive_avg_pool2d(&sizes));
        check_gradients("adaptive", &[&x], |x| x[0].adaptive_max_pool2d(&sizes));
    }
}

#[test]
fn grids_of_another_size_are_the_same_there() {
    for dtype in REAL.into_iter().chain([DType::C64]) {
        let is_inexact = dtype.is_floating_point() || dtype.is_complex();
        for x in layouts(&numbers(&[2, 3, 7, 6], dtype)) {
            for mode in [
                Interpolation::Nearest,
                Interpolation::NearestExact,
                Interpolation::Linear,
                Interpolation::Cubic,
                Interpolation::Area,
            ] {
                for antialias in [false, true] {
                    let options = InterpolationOptions {
                        antialias,
                        ..Default::default()
                    };
                    let resize =
                        |x: &[Tensor]| x[0].interpolate(mode, Resized::Sizes(&[4, 11]), options);
                    match is_inexact {
                        true => check_gradients("interpolate", &[&x], resize),
                        false => check("interpolate", &[&x], resize),
                    }
                }
            }
        }
    }
}

#[test]
fn windows_as_columns_are_the_same_there() {
    let blocks = Blocks {
        kernel: [3, 2],
        dilation: [1, 2],
        padding: [1, 2],
        stride: [2, 1],
    };
    for dtype in REAL.into_iter().chain([DType::C64]) {
        for x in layouts(&numbers(&[2, 3, 7, 6], dtype)) {
            check("unfold", &[&x], |x| x[0].unfold_windows(blocks));
            check("fold", &[&x], |x| {
                x[0].unfold_windows(blocks)?.fold_windows([7, 6], blocks)
            });
        }
    }
    let x = numbers(&[2, 3, 7, 6], DType::BF16);
    check_gradients("unfold", &[&x], |x| x[0].unfold_windows(blocks));
    check_gradients("fold", &[&x], |x| {
        x[0].unfold_windows(blocks)?.fold_windows([7, 6], blocks)
    });
}

#[test]
fn sampled_and_padded_images_are_the_same_there() {
    let maps = numbers(&[2, 2, 3], DType::F32).mul(0.1).unwrap();
    for dtype in [DType::F32, DType::BF16, DType::C64] {
        let x = numbers(&[2, 3, 7, 6], dtype);
        for mode in [Sampling::Nearest, Sampling::Linear, Sampling::Cubic] {
            for beyond in [Beyond::Zeros, Beyond::Border, Beyond::Reflection] {
                check_gradients("grid_sample", &[&x, &maps], |x| {
                    let grid = x[1].affine_grid(&[2, 3, 4, 5], false)?;
                    x[0].grid_sample(&grid, mode, beyond, false)
                });
            }
        }
        for mode in [
            PadMode::Constant(1.into()),
            PadMode::Reflect,
            PadMode::Replicate,
            PadMode::Circular,
        ] {
            check_gradients("pad", &[&x], |x| x[0].pad(&[1, 2, -1, 3], mode));
        }
    }
}
