//! Gradients of losses, with every reduction.

use crate::checks::{check_both, close_in_every_float, gradient_of, leaf, uniform};
use allotrope_dtype::{DType, Error};
use allotrope_tensor::{LossReduction, Tensor};

const REDUCTIONS: [LossReduction; 3] =
    [LossReduction::None, LossReduction::Mean, LossReduction::Sum];

fn required(x: Tensor) -> Tensor {
    x.requires_grad_(true).unwrap()
}

fn signs(sizes: &[usize], seed: u64) -> Tensor {
    let truth = uniform(sizes, -1.0, 1.0, seed)
        .gt(0)
        .unwrap()
        .to(DType::F64)
        .unwrap();
    truth.mul(2.0).unwrap().sub(1.0).unwrap()
}

type Loss<'a> = &'a dyn Fn(&[Tensor], LossReduction) -> Result<Tensor, Error>;

/// Checks a loss of some tensors with every reduction.
fn check(what: &str, inputs: &[Tensor], loss: Loss<'_>) {
    for reduction in REDUCTIONS {
        let what = format!("{what}, {reduction:?}");
        check_both(&|x| Ok(vec![loss(x, reduction)?]), inputs, &what);
    }
}

#[test]
fn losses_of_differences() {
    let inputs = [leaf(&[3, 4], 1), leaf(&[3, 4], 2)];
    let broadcast = [leaf(&[3, 4], 1), leaf(&[4], 2)];
    for inputs in [&inputs, &broadcast] {
        check("mse_loss", inputs, &|x, r| x[0].mse_loss(&x[1], r));
        check("l1_loss", inputs, &|x, r| x[0].l1_loss(&x[1], r));
        check("smooth_l1_loss", inputs, &|x, r| {
            x[0].smooth_l1_loss(&x[1], 0.7, r)
        });
        check("smooth_l1_loss of 0", inputs, &|x, r| {
            x[0].smooth_l1_loss(&x[1], 0.0, r)
        });
        check("huber_loss", inputs, &|x, r| x[0].huber_loss(&x[1], 0.9, r));
    }
    check("mse_loss of itself", &inputs[..1], &|x, r| {
        x[0].mse_loss(&x[0].square()?, r)
    });
}

#[test]
fn losses_of_two_classes() {
    let probabilities = || required(uniform(&[3, 4], 0.1, 0.9, 1));
    let weight = || required(uniform(&[4], 0.5, 1.5, 3));
    let target = || required(uniform(&[3, 4], 0.1, 0.9, 2));
    check("bce", &[probabilities(), target()], &|x, r| {
        x[0].binary_cross_entropy(&x[1], None, r)
    });
    check(
        "bce with a weight",
        &[probabilities(), target(), weight()],
        &|x, r| x[0].binary_cross_entropy(&x[1], Some(&x[2]), r),
    );
    check("bce with logits", &[leaf(&[3, 4], 1), target()], &|x, r| {
        x[0].binary_cross_entropy_with_logits(&x[1], None, None, r)
    });
    check(
        "bce with logits and weights",
        &[leaf(&[3, 4], 1), target(), weight(), weight()],
        &|x, r| x[0].binary_cross_entropy_with_logits(&x[1], Some(&x[2]), Some(&x[3]), r),
    );
    check(
        "soft_margin_loss",
        &[leaf(&[3, 4], 1), signs(&[3, 4], 5)],
        &|x, r| x[0].soft_margin_loss(&x[1], r),
    );
    check(
        "multilabel_soft_margin_loss",
        &[leaf(&[3, 4], 1), target(), weight()],
        &|x, r| x[0].multilabel_soft_margin_loss(&x[1], Some(&x[2]), r),
    );
    check(
        "hinge_embedding_loss",
        &[leaf(&[3, 4], 1), signs(&[3, 4], 5)],
        &|x, r| x[0].hinge_embedding_loss(&x[1], 1.0, r),
    );
    let ranked = [leaf(&[3, 4], 1), leaf(&[3, 4], 6), signs(&[3, 4], 5)];
    check("margin_ranking_loss", &ranked, &|x, r| {
        x[0].margin_ranking_loss(&x[1], &x[2], 0.3, r)
    });
}

#[test]
fn certain_probabilities_have_finite_gradients() {
    let x = required(Tensor::from_slice(&[0.0, 1.0, 0.0, 1.0], &[4]).unwrap());
    let t = Tensor::from_slice(&[0.0, 1.0, 1.0, 0.0], &[4]).unwrap();
    let loss = x
        .binary_cross_entropy(&t, None, LossReduction::Sum)
        .unwrap();
    let g = gradient_of(&loss, &x, &Tensor::ones(&[], DType::F64).unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [0.0, 0.0, -1e12, 1e12]);
    let x = required(Tensor::from_slice(&[0.0, 800.0, -800.0], &[3]).unwrap());
    let t = Tensor::from_slice(&[1.0, 1.0, 0.0], &[3]).unwrap();
    let loss = x
        .binary_cross_entropy_with_logits(&t, None, None, LossReduction::Sum)
        .unwrap();
    let g = gradient_of(&loss, &x, &Tensor::ones(&[], DType::F64).unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [-0.5, 0.0, 0.0]);
}

#[test]
fn losses_of_distributions() {
    let (x, positive) = (leaf(&[3, 4], 1), required(uniform(&[3, 4], 0.2, 3.0, 2)));
    check("kl_div", &[x.clone(), positive.clone()], &|x, r| {
        x[0].kl_div(&x[1], false, r)
    });
    check(
        "kl_div of logarithms",
        &[x.clone(), leaf(&[3, 4], 3)],
        &|x, r| x[0].kl_div(&x[1], true, r),
    );
    for full in [true, false] {
        check(
            "poisson_nll_loss",
            &[x.clone(), positive.clone()],
            &|x, r| x[0].poisson_nll_loss(&x[1], true, full, 1e-8, r),
        );
        let gaussian = [
            x.clone(),
            leaf(&[3, 4], 4),
            required(uniform(&[3], 0.5, 2.0, 5)),
        ];
        check("gaussian_nll_loss", &gaussian, &|x, r| {
            x[0].gaussian_nll_loss(&x[1], &x[2], full, 1e-6, r)
        });
    }
    check(
        "poisson_nll_loss of rates",
        &[positive.clone(), positive],
        &|x, r| x[0].poisson_nll_loss(&x[1], false, false, 1e-8, r),
    );
}

#[test]
fn cross_entropy_of_indices() {
    let weight = uniform(&[4], 0.5, 1.5, 3);
    let rows = Tensor::from_slice(&[1_i64, 3, -1, 0, 3], &[5]).unwrap();
    let images = Tensor::from_slice(&[1_u8, 3, 2, 2, 0, 3], &[2, 3]).unwrap();
    let one = Tensor::full(&[], 2, DType::I64).unwrap();
    for (sizes, target) in [(&[5, 4][..], &rows), (&[2, 4, 3], &images), (&[4], &one)] {
        for smoothing in [0.0, 0.2] {
            for weight in [None, Some(&weight)] {
                check("cross_entropy", &[leaf(sizes, 1)], &|x, r| {
                    x[0].cross_entropy(target, weight, -1, r, smoothing)
                });
            }
        }
        for weight in [None, Some(&weight)] {
            check("nll_loss", &[leaf(sizes, 1)], &|x, r| {
                x[0].log_softmax(usize::min(1, x[0].rank() - 1) as isize, None)?
                    .nll_loss(target, weight, -1, r)
            });
            check("nll_loss alone", &[leaf(sizes, 1)], &|x, r| {
                x[0].nll_loss(target, weight, -1, r)
            });
        }
    }
    let turned = |x: &[Tensor], r: LossReduction| {
        x[0].transpose(1, 2)?
            .cross_entropy(&images, None, -1, r, 0.0)
    };
    check(
        "cross_entropy of a transposed",
        &[leaf(&[2, 3, 4], 1)],
        &turned,
    );
}

#[test]
fn ignored_lines_have_no_gradient() {
    let x = leaf(&[2, 3], 1);
    let target = Tensor::from_slice(&[1_i64, -100], &[2]).unwrap();
    let loss = x
        .cross_entropy(&target, None, -100, LossReduction::Mean, 0.1)
        .unwrap();
    let g = gradient_of(&loss, &x, &Tensor::ones(&[], DType::F64).unwrap());
    let g = g.to_vec::<f64>().unwrap();
    assert!(g[..3].iter().all(|g| *g != 0.0));
    assert_eq!(g[3..], [0.0; 3]);
}

#[test]
fn cross_entropy_of_probabilities() {
    let weight = uniform(&[4], 0.5, 1.5, 3);
    for sizes in [&[3, 4][..], &[2, 4, 3], &[4]] {
        let inputs = [leaf(sizes, 1), required(uniform(sizes, 0.0, 1.0, 2))];
        for smoothing in [0.0, 0.3] {
            for weight in [None, Some(&weight)] {
                check("cross_entropy", &inputs, &|x, r| {
                    x[0].cross_entropy(&x[1], weight, -100, r, smoothing)
                });
            }
        }
    }
}

#[test]
fn losses_of_margins() {
    let weight = uniform(&[4], 0.5, 1.5, 3);
    let target = Tensor::from_slice(&[1_i64, 3, 0], &[3]).unwrap();
    for p in [1, 2] {
        for weight in [None, Some(&weight)] {
            check("multi_margin_loss", &[leaf(&[3, 4], 1)], &|x, r| {
                x[0].multi_margin_loss(&target, p, 0.9, weight, r)
            });
        }
    }
    let labels = [3_i64, 0, -1, 1, 2, -1, 0, 0, 1, 3, 2, 0];
    let labels = Tensor::from_slice(&labels, &[3, 4]).unwrap();
    check("multilabel_margin_loss", &[leaf(&[3, 4], 1)], &|x, r| {
        x[0].multilabel_margin_loss(&labels, r)
    });
    let line = labels.select(0, 0).unwrap();
    check(
        "multilabel_margin_loss of a line",
        &[leaf(&[4], 1)],
        &|x, r| x[0].multilabel_margin_loss(&line, r),
    );
    let x = leaf(&[3, 4], 9);
    let recorded = x
        .multilabel_margin_loss(&labels, LossReduction::None)
        .unwrap();
    let plain = x
        .detach()
        .multilabel_margin_loss(&labels, LossReduction::None)
        .unwrap();
    assert!(
        recorded
            .detach()
            .allclose(&plain, 1e-12, 1e-12, false)
            .unwrap()
    );
}

#[test]
fn losses_of_vectors() {
    let inputs = [leaf(&[3, 4], 1), leaf(&[3, 4], 2), leaf(&[3, 4], 3)];
    let target = signs(&[3], 5);
    check("cosine_embedding_loss", &inputs[..2], &|x, r| {
        x[0].cosine_embedding_loss(&x[1], &target, -0.5, r)
    });
    for (p, swap) in [(2.0, false), (2.0, true), (1.0, false), (3.0, true)] {
        check("triplet_margin_loss", &inputs, &|x, r| {
            x[0].triplet_margin_loss(&x[1], &x[2], 4.0, p, 1e-6, swap, r)
        });
    }
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    let mean = LossReduction::Mean;
    let target = Tensor::from_slice(&[1_i64, 3, 0, 2], &[4]).unwrap();
    close_in_every_float("cross_entropy", &[leaf(&[4, 5], 1)], &|x| {
        x[0].cross_entropy(&target, None, -100, LossReduction::None, 0.1)
    });
    close_in_every_float("nll_loss", &[leaf(&[4, 5], 1)], &|x| {
        x[0].nll_loss(&target, None, -100, mean)
    });
    close_in_every_float("mse_loss", &[leaf(&[4, 5], 1), leaf(&[4, 5], 2)], &|x| {
        x[0].mse_loss(&x[1], mean)
    });
    close_in_every_float("bce", &[required(uniform(&[4, 5], 0.2, 0.8, 1))], &|x| {
        x[0].binary_cross_entropy(&uniform(&[4, 5], 0.0, 1.0, 2).to(x[0].dtype())?, None, mean)
    });
}
