//! Gradients of pooling and of resizing.

use crate::checks::{check_both, close_in_every_float, complex_leaf, gradient_of, leaf, uniform};
use allotrope_dtype::{DType, Error};
use allotrope_tensor::{
    AverageOptions, Interpolation, InterpolationOptions, Resized, Tensor, Window,
};

fn window<'a>(kernel: &'a [usize], stride: &'a [usize], padding: &'a [usize]) -> Window<'a> {
    Window {
        stride,
        padding,
        ..Window::new(kernel)
    }
}

fn one(result: Result<Tensor, Error>) -> Result<Vec<Tensor>, Error> {
    Ok(vec![result?])
}

/// Windows that touch, overlap, leave gaps and end beyond the grid.
fn windows() -> Vec<Window<'static>> {
    let mut all = vec![
        window(&[2], &[], &[]),
        window(&[3, 2], &[2, 1], &[1]),
        window(&[3], &[1], &[1]),
        window(&[2], &[3], &[1]),
        window(&[5], &[], &[]),
    ];
    for index in 0..all.len() {
        all.push(Window {
            ceil_mode: true,
            ..all[index]
        });
    }
    all
}

#[test]
fn greatest_of_windows() {
    for base in windows() {
        for dilation in [&[][..], &[1, 2]] {
            let window = Window { dilation, ..base };
            if window.kernel == [5] && !dilation.is_empty() {
                continue;
            }
            let what = format!("{window:?}");
            check_both(
                &|x| one(x[0].max_pool2d(&window)),
                &[leaf(&[2, 2, 6, 7], 1)],
                &what,
            );
            let both = |x: &[Tensor]| {
                let (values, places) = x[0].transpose(2, 3)?.max_pool2d_with_indices(&window)?;
                assert!(!places.requires_grad());
                Ok(vec![values])
            };
            check_both(&both, &[leaf(&[2, 7, 6], 2).unsqueeze(0).unwrap()], &what);
        }
    }
    let pairs = window(&[2], &[1], &[]);
    check_both(
        &|x| one(x[0].max_pool1d(&pairs)),
        &[leaf(&[2, 3, 5], 1)],
        "max_pool1d",
    );
    check_both(
        &|x| one(x[0].max_pool3d(&pairs)),
        &[leaf(&[1, 1, 3, 3, 4], 1)],
        "max_pool3d",
    );
    for sizes in [[Some(2), Some(3)], [Some(5), None], [Some(1), Some(1)]] {
        let what = format!("adaptive_max_pool2d to {sizes:?}");
        check_both(
            &|x| one(x[0].adaptive_max_pool2d(&sizes)),
            &[leaf(&[2, 2, 6, 7], 1)],
            &what,
        );
    }
}

#[test]
fn the_first_of_equals_gets_the_gradient_of_every_window() {
    let x = Tensor::from_slice(&[1.0, 3.0, 3.0, 0.0], &[1, 4]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let y = x.max_pool1d(&window(&[3], &[1], &[])).unwrap();
    let given = Tensor::from_slice(&[2.0, 5.0], &[1, 2]).unwrap();
    assert_eq!(
        gradient_of(&y, &x, &given).to_vec::<f64>().unwrap(),
        [0.0, 7.0, 0.0, 0.0]
    );
}

#[test]
fn means_of_windows() {
    for window in windows() {
        for count_include_pad in [true, false] {
            for divisor_override in [None, Some(3)] {
                let options = AverageOptions {
                    count_include_pad,
                    divisor_override,
                };
                let pool = |x: &[Tensor]| one(x[0].avg_pool2d(&window, options));
                let what = format!("{window:?}, {options:?}");
                check_both(&pool, &[leaf(&[2, 2, 6, 7], 1)], &what);
            }
        }
    }
    let (pairs, plain) = (window(&[2], &[1], &[1]), AverageOptions::default());
    check_both(
        &|x| one(x[0].avg_pool1d(&pairs, plain)),
        &[leaf(&[3, 5], 1)],
        "avg_pool1d",
    );
    check_both(
        &|x| one(x[0].avg_pool3d(&pairs, plain)),
        &[leaf(&[1, 1, 3, 3, 4], 1)],
        "avg_pool3d",
    );
    let complex = complex_leaf(&[1, 2, 4, 4], 1);
    check_both(
        &|x| one(x[0].avg_pool2d(&pairs, plain)),
        std::slice::from_ref(&complex),
        "complex means",
    );
    let turned = |x: &[Tensor]| one(x[0].transpose(1, 3)?.avg_pool2d(&pairs, plain));
    check_both(&turned, &[leaf(&[1, 4, 3, 2], 1)], "means of a transposed");
    for sizes in [
        [Some(2), Some(3)],
        [Some(5), None],
        [Some(1), Some(1)],
        [Some(3), Some(7)],
    ] {
        let what = format!("adaptive_avg_pool2d to {sizes:?}");
        check_both(
            &|x| one(x[0].adaptive_avg_pool2d(&sizes)),
            &[leaf(&[2, 2, 6, 7], 1)],
            &what,
        );
    }
    let sizes = [Some(3)];
    check_both(
        &|x| one(x[0].adaptive_avg_pool1d(&sizes)),
        &[leaf(&[2, 2, 7], 1)],
        "adaptive rows",
    );
    check_both(
        &|x| one(x[0].adaptive_avg_pool2d(&sizes)),
        &[complex],
        "complex adaptive means",
    );
}

#[test]
fn norms_of_windows() {
    for window in windows() {
        for p in [1.0, 2.0, 3.0, 2.5] {
            // Padding is not what a norm knows.
            let window = Window {
                padding: &[],
                ..window
            };
            let x = uniform(&[2, 2, 6, 7], 0.2, 2.0, 1)
                .requires_grad_(true)
                .unwrap();
            let pool = |x: &[Tensor]| one(x[0].lp_pool2d(p, &window));
            check_both(
                &pool,
                std::slice::from_ref(&x),
                &format!("order {p}, {window:?}"),
            );
            let recorded = x.lp_pool2d(p, &window).unwrap().detach();
            let plain = x.detach().lp_pool2d(p, &window).unwrap();
            assert!(recorded.allclose(&plain, 1e-12, 0.0, false).unwrap());
        }
    }
    let x = Tensor::zeros(&[1, 4], DType::F64)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let y = x.lp_pool1d(2.0, &Window::new(&[2])).unwrap();
    let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [0.0; 4]);
}

#[test]
fn the_greatest_back_in_their_places() {
    let pairs = Window::new(&[2]);
    let (_, places) = uniform(&[2, 2, 4, 6], 0.0, 1.0, 3)
        .max_pool2d_with_indices(&pairs)
        .unwrap();
    let back = |x: &[Tensor]| one(x[0].max_unpool2d(&places, &pairs, None));
    check_both(&back, &[leaf(&[2, 2, 2, 3], 1)], "max_unpool2d");
    // Of two elements with one place the last stays, and only it gets a gradient.
    let twice = Tensor::from_slice(&[1_i64, 1, 2], &[1, 3]).unwrap();
    let back = |x: &[Tensor]| one(x[0].max_unpool1d(&twice, &pairs, None));
    check_both(&back, &[leaf(&[1, 3], 1)], "max_unpool1d of one place");
}

#[test]
fn grids_of_another_size() {
    let modes = [
        Interpolation::Nearest,
        Interpolation::NearestExact,
        Interpolation::Linear,
        Interpolation::Cubic,
        Interpolation::Area,
    ];
    let resized = [
        Resized::Sizes(&[8, 9]),
        Resized::Sizes(&[2, 3]),
        Resized::Sizes(&[7, 2]),
        Resized::Sizes(&[1, 1]),
        Resized::Factors {
            factors: &[1.7, 0.6],
            recompute: false,
        },
        Resized::Factors {
            factors: &[2.0],
            recompute: true,
        },
    ];
    for mode in modes {
        let blends = matches!(mode, Interpolation::Linear | Interpolation::Cubic);
        for resized in resized {
            for (align_corners, antialias) in [(false, false), (true, false), (false, true)] {
                if (align_corners || antialias) && !blends {
                    continue;
                }
                let options = InterpolationOptions {
                    align_corners,
                    antialias,
                };
                let resize = |x: &[Tensor]| one(x[0].interpolate(mode, resized, options));
                let what = format!("{mode:?}, {resized:?}, {options:?}");
                check_both(&resize, &[leaf(&[2, 1, 4, 5], 1)], &what);
            }
        }
        if mode != Interpolation::Cubic {
            let plain = InterpolationOptions::default();
            let rows = |x: &[Tensor]| one(x[0].interpolate(mode, Resized::Sizes(&[5]), plain));
            check_both(&rows, &[leaf(&[1, 2, 3], 1)], &format!("{mode:?} of rows"));
            let volumes = |x: &[Tensor]| one(x[0].interpolate(mode, Resized::Sizes(&[3]), plain));
            check_both(
                &volumes,
                &[leaf(&[1, 1, 2, 4, 3], 1)],
                &format!("{mode:?} of volumes"),
            );
        }
    }
    let linear = |x: &[Tensor]| {
        let turned = x[0].transpose(2, 3)?;
        one(turned.interpolate(
            Interpolation::Linear,
            Resized::Sizes(&[6]),
            InterpolationOptions::default(),
        ))
    };
    check_both(
        &linear,
        &[complex_leaf(&[1, 1, 3, 4], 1)],
        "complex and transposed",
    );
}

#[test]
fn repeated_elements_add_up() {
    let x = leaf(&[1, 1, 2], 1);
    let plain = InterpolationOptions::default();
    let y = x
        .interpolate(Interpolation::Nearest, Resized::Sizes(&[6]), plain)
        .unwrap();
    let given = Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 1, 6]).unwrap();
    assert_eq!(
        gradient_of(&y, &x, &given).to_vec::<f64>().unwrap(),
        [6.0, 15.0]
    );
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    let x = [leaf(&[2, 3, 6, 7], 1)];
    let overlapping = window(&[3], &[2], &[1]);
    close_in_every_float("avg_pool2d", &x, &|x| {
        x[0].avg_pool2d(&overlapping, AverageOptions::default())
    });
    close_in_every_float("adaptive_avg_pool2d", &x, &|x| {
        x[0].adaptive_avg_pool2d(&[Some(4)])
    });
    close_in_every_float("max_pool2d", &x, &|x| x[0].max_pool2d(&overlapping));
    close_in_every_float("lp_pool2d", &x, &|x| {
        x[0].lp_pool2d(2.0, &window(&[3], &[2], &[]))
    });
    close_in_every_float("interpolate", &x, &|x| {
        x[0].interpolate(
            Interpolation::Linear,
            Resized::Sizes(&[11, 4]),
            InterpolationOptions::default(),
        )
    });
}
