//! Gradients of sampled grids, alignments, statistics, short transforms and complex parts.

use crate::checks::{check, check_all, check_real, complex_leaf, integers, leaf, uniform};
use allotrope_dtype::DType;
use allotrope_tensor::fft::{Frames, istft, stft};
use allotrope_tensor::{Beyond, LossReduction, PadMode, Sampling, Spacing, Tensor, linalg};

#[test]
fn sampled_grids() {
    for (rank, sizes) in [(2, vec![1, 2, 3, 3]), (3, vec![1, 1, 3, 2, 2])] {
        let mut places = vec![sizes[0]];
        places.extend(vec![2; rank]);
        places.push(rank);
        let grid = uniform(&places, -1.4, 1.4, 7);
        let grid = grid.requires_grad_(true).unwrap();
        for mode in [Sampling::Nearest, Sampling::Linear, Sampling::Cubic] {
            if rank == 3 && mode == Sampling::Cubic {
                continue;
            }
            for beyond in [Beyond::Zeros, Beyond::Border, Beyond::Reflection] {
                for aligns in [false, true] {
                    let sample =
                        |x: &[Tensor]| Ok(vec![x[0].grid_sample(&x[1], mode, beyond, aligns)?]);
                    let what = format!("{mode:?}, {beyond:?}, {aligns}, {rank} dimensions");
                    check(&what, sample, &[leaf(&sizes, 1), grid.clone()]);
                    if beyond == Beyond::Zeros && !aligns {
                        let images = complex_leaf(&sizes, 1);
                        check(&what, sample, &[images, grid.clone()]);
                    }
                }
            }
        }
    }
}

#[test]
fn affine_grids() {
    let grid = |x: &[Tensor]| Ok(vec![x[0].affine_grid(&[2, 1, 2, 3], false)?]);
    check("affine_grid", grid, &[leaf(&[2, 2, 3], 1)]);
}

#[test]
fn alignments() {
    let targets = integers(&[1, 2, 2, 1, 1, 0], &[2, 3]);
    for reduction in [LossReduction::None, LossReduction::Mean] {
        let loss = |x: &[Tensor]| {
            let lengths = (&[5, 4], &[3, 2]);
            let steps = x[0].log_softmax(2, None)?;
            Ok(vec![
                steps.ctc_loss(&targets, lengths.0, lengths.1, 0, reduction, false)?,
                x[0].ctc_loss(&targets, lengths.0, lengths.1, 2, reduction, true)?,
            ])
        };
        check("ctc_loss", loss, &[leaf(&[5, 2, 3], 1)]);
    }
}

#[test]
fn steps_that_never_happen_have_no_gradient() {
    let mut steps = vec![-0.7; 8];
    steps[2] = f64::NEG_INFINITY;
    let x = Tensor::from_slice(&steps, &[4, 1, 2]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let targets = integers(&[1], &[1, 1]);
    let loss = x.ctc_loss(&targets, &[4], &[1], 0, LossReduction::Sum, false);
    let loss = loss.unwrap();
    assert!(loss.to_vec::<f64>().unwrap()[0].is_finite());
    let gradient = crate::checks::gradient_of(&loss, &x, &loss.detach().ones_like().unwrap());
    let gradient = gradient.to_vec::<f64>().unwrap();
    assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
    assert_eq!(gradient[2], 0.0);
}

#[test]
fn distances_of_rows() {
    for p in [0.5, 1.0, 1.7, 2.0, 3.0, f64::INFINITY] {
        let distances = |x: &[Tensor]| Ok(vec![x[0].pdist(p)?]);
        check(&format!("pdist {p}"), distances, &[leaf(&[4, 3], 1)]);
    }
}

#[test]
fn random_windows_and_parts() {
    let samples = uniform(&[1, 2, 3], 0.0, 1.0, 4);
    let pool = |x: &[Tensor]| {
        let (greatest, _) = x[0].fractional_max_pool3d(&[2], &[2], Some(&samples), None)?;
        Ok(vec![greatest])
    };
    check("fractional_max_pool3d", pool, &[leaf(&[1, 2, 4, 4, 3], 1)]);
    let mean = |x: &[Tensor]| Ok(vec![x[0].rrelu(0.25, 0.75, false, None)?]);
    check("rrelu", mean, &[leaf(&[3, 4], 1)]);
}

#[test]
fn statistics() {
    check_all(
        &[3, 5],
        &[
            ("cov", |x| Ok(vec![x[0].cov(1.0, None, None)?])),
            ("renorm", |x| Ok(vec![x[0].renorm(2.0, 0, 1.0)?])),
            ("gradient", |x| {
                x[0].gradient(
                    &[Spacing::Step(0.5.into()), Spacing::Step(2.into())],
                    &[0, 1],
                    2,
                )
            }),
        ],
    );
    check_real(
        &[3, 5],
        &[
            ("corrcoef", |x| Ok(vec![x[0].corrcoef()?])),
            ("nanmean", |x| {
                Ok(vec![x[0].nanmean(Some(&[1]), false, None)?])
            }),
            ("nansum", |x| Ok(vec![x[0].nansum(None, true, None)?])),
        ],
    );
    let places = Tensor::from_slice(&[0.0, 1.0, 1.5, 4.0], &[4]).unwrap();
    let slopes = |x: &[Tensor]| x[0].gradient(&[Spacing::Places(x[1].clone())], &[1], 2);
    let places = places.requires_grad_(true).unwrap();
    check("gradient by places", slopes, &[leaf(&[2, 4], 1), places]);
    let weights = uniform(&[5], 0.5, 2.0, 3).requires_grad_(true).unwrap();
    let cov = |x: &[Tensor]| Ok(vec![x[0].cov(1.0, None, Some(&x[1]))?]);
    check("cov by weights", cov, &[leaf(&[2, 5], 1), weights]);
}

fn frames(window: &Tensor) -> Frames<'_> {
    Frames {
        n_fft: 6,
        hop_length: Some(2),
        win_length: None,
        window: Some(window),
        center: true,
        normalized: true,
        onesided: true,
    }
}

#[test]
fn short_transforms() {
    let window = uniform(&[6], 0.5, 1.0, 3).requires_grad_(true).unwrap();
    let there = |x: &[Tensor]| Ok(vec![stft(&x[0], &frames(&x[1]), PadMode::Reflect)?]);
    check("stft", there, &[leaf(&[2, 9], 1), window.clone()]);
    let back = |x: &[Tensor]| Ok(vec![istft(&x[0], &frames(&x[1]), None, false)?]);
    check("istft", back, &[complex_leaf(&[2, 4, 5], 1), window]);
}

#[test]
fn parts_of_complex_numbers() {
    let join = |x: &[Tensor]| Ok(vec![x[0].complex(&x[1])?, x[0].polar(&x[1])?]);
    check("complex", join, &[leaf(&[3, 1], 1), leaf(&[2], 2)]);
    let pairs = |x: &[Tensor]| Ok(vec![x[0].view_as_complex()?]);
    check("view_as_complex", pairs, &[leaf(&[3, 2], 1)]);
    let apart = |x: &[Tensor]| Ok(vec![x[0].view_as_real()?, x[0].t()?.view_as_real()?]);
    check("view_as_real", apart, &[complex_leaf(&[3, 2], 1)]);
}

#[test]
fn sums_of_products_and_unpacked_factors() {
    let sums = |x: &[Tensor]| {
        Ok(vec![
            x[0].addbmm(&x[1], &x[2], 2.0, 0.5)?,
            x[0].addr(&x[3], &x[4], 2.0, 0.5)?,
        ])
    };
    let leaves = [
        leaf(&[2, 3], 1),
        leaf(&[4, 2, 2], 2),
        leaf(&[4, 2, 3], 3),
        leaf(&[2], 4),
        leaf(&[3], 5),
    ];
    check("addbmm and addr", sums, &leaves);
    let pivots = Tensor::from_slice(&[2_i32, 2], &[2]).unwrap();
    let parts = |x: &[Tensor]| {
        let (_, lower, upper) = linalg::lu_unpack(&x[0], &pivots)?;
        Ok(vec![lower, upper])
    };
    check("lu_unpack", parts, &[leaf(&[3, 2], 1)]);
    let near = uniform(&[2, 3, 3], 0.0, 1.0, 1);
    let near = near.add(&Tensor::eye(3, 3, DType::F64).unwrap()).unwrap();
    let near = near.requires_grad_(true).unwrap();
    let factors = |x: &[Tensor]| Ok(vec![linalg::lu_factor_ex(&x[0], true)?.0]);
    check("lu_factor_ex", factors, &[near]);
}
