//! Gradients of norms, distances, gates and layers that are products.

use crate::checks::{check_both, close_in_every_float, complex_leaf, gradient_of, leaf, uniform};
use allotrope_dtype::DType;
use allotrope_tensor::{Tensor, linalg};

const ORDERS: [f64; 7] = [0.5, 1.0, 1.7, 2.0, 3.0, f64::INFINITY, f64::NEG_INFINITY];

#[test]
fn norms() {
    for p in ORDERS {
        let norm = |x: &[Tensor]| {
            Ok(vec![
                x[0].norm(p, Some(&[1]), false)?,
                x[0].norm(p, None, true)?,
            ])
        };
        check_both(&norm, &[leaf(&[3, 4], 1)], &format!("norm of order {p}"));
        check_both(
            &norm,
            &[complex_leaf(&[3, 4], 1)],
            &format!("complex norm of order {p}"),
        );
    }
}

#[test]
fn a_vector_of_zeros_has_the_gradient_zero() {
    for dtype in [DType::F64, DType::F32, DType::C128] {
        for p in [0.5, 1.0, 1.7, 2.0, 3.0] {
            let x = Tensor::zeros(&[2, 3], dtype)
                .unwrap()
                .requires_grad_(true)
                .unwrap();
            let y = x.norm(p, Some(&[1]), false).unwrap();
            let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
            let most = g.abs().unwrap().sum(None, false, Some(DType::F64)).unwrap();
            assert_eq!(most.to_vec::<f64>().unwrap(), [0.0], "{p} of {dtype}");
        }
    }
    let x = Tensor::zeros(&[3], DType::F64)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let y = linalg::vector_norm(&x, 2.0, None, false, None).unwrap();
    let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [0.0; 3]);
    // One zero among others.
    let x = Tensor::from_slice(&[0.0, 4.0], &[2])
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let y = x.norm(0.5, None, false).unwrap();
    let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [0.0, 1.0]);
}

#[test]
fn distances() {
    for p in [0.5, 1.0, 1.7, 2.0, 3.0, f64::INFINITY] {
        let what = format!("order {p}");
        let inputs = [leaf(&[3, 4], 1), leaf(&[2, 4], 2)];
        check_both(
            &|x| Ok(vec![x[0].cdist(&x[1], p)?]),
            &inputs,
            &format!("cdist, {what}"),
        );
        let pair = |x: &[Tensor]| Ok(vec![x[0].pairwise_distance(&x[1], p, 1e-6, true)?]);
        check_both(
            &pair,
            &[leaf(&[3, 4], 1), leaf(&[4], 2)],
            &format!("pairwise_distance, {what}"),
        );
    }
    let batched = |x: &[Tensor]| Ok(vec![x[0].cdist(&x[1], 2.0)?]);
    check_both(
        &batched,
        &[leaf(&[2, 3, 4], 1), leaf(&[2, 4], 2)],
        "cdist of batches",
    );
    let cosine = |x: &[Tensor]| Ok(vec![x[0].cosine_similarity(&x[1], 1, 1e-8)?]);
    check_both(
        &cosine,
        &[leaf(&[3, 4], 1), leaf(&[3, 4], 2)],
        "cosine_similarity",
    );
    check_both(
        &cosine,
        &[leaf(&[3, 4], 1), leaf(&[1, 4], 2)],
        "cosine_similarity, broadcast",
    );
}

#[test]
fn no_distance_has_the_gradient_zero() {
    for p in [0.5, 1.0, 2.0, 3.0] {
        // Every row is at no distance from itself.
        let x = leaf(&[3, 4], 1);
        let y = x.cdist(&x.detach(), p).unwrap().diagonal(0, 0, 1).unwrap();
        let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
        assert_eq!(g.to_vec::<f64>().unwrap(), [0.0; 12], "{p}");
    }
    // A number of differences does not vary.
    let x = leaf(&[3, 4], 1);
    let y = x.cdist(&uniform(&[2, 4], -1.0, 1.0, 2), 0.0).unwrap();
    if y.requires_grad() {
        y.sum(None, false, None).unwrap().backward().unwrap();
        let gradient = x.grad().map(|g| g.to_vec::<f64>().unwrap());
        assert!(gradient.is_none_or(|g| g == [0.0; 12]));
    }
    let x = Tensor::zeros(&[1, 3], DType::F64)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let other = uniform(&[1, 3], 0.5, 1.0, 2);
    let y = x.cosine_similarity(&other, 1, 1e-8).unwrap();
    let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
    assert!(g.to_vec::<f64>().unwrap().iter().all(|g| g.is_finite()));
}

#[test]
fn gates_and_scales() {
    let x = leaf(&[2, 4, 3], 1);
    check_both(&|x| Ok(vec![x[0].glu(1)?]), std::slice::from_ref(&x), "glu");
    for (p, dim) in [(2.0, 1), (1.0, 0), (3.0, -1)] {
        check_both(
            &|x| Ok(vec![x[0].normalize(p, &[dim], 1e-12)?]),
            std::slice::from_ref(&x),
            "normalize",
        );
    }
    let zeros = Tensor::zeros(&[1, 2], DType::F64)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let y = zeros.normalize(2.0, &[1], 0.5).unwrap();
    let g = gradient_of(&y, &zeros, &y.detach().ones_like().unwrap());
    assert_eq!(g.to_vec::<f64>().unwrap(), [2.0, 2.0]);
    for size in [1, 2, 3] {
        let norm = |x: &[Tensor]| Ok(vec![x[0].local_response_norm(size, 0.3, 0.75, 1.5)?]);
        check_both(&norm, std::slice::from_ref(&x), "local_response_norm");
    }
    check_both(
        &|x| Ok(vec![x[0].pixel_shuffle(2)?]),
        &[leaf(&[1, 4, 2, 3], 2)],
        "pixel_shuffle",
    );
    check_both(
        &|x| Ok(vec![x[0].pixel_unshuffle(2)?]),
        &[leaf(&[1, 2, 4, 2], 2)],
        "pixel_unshuffle",
    );
    check_both(
        &|x| Ok(vec![x[0].channel_shuffle(2)?.square()?]),
        &[leaf(&[2, 4, 3], 2)],
        "channel_shuffle",
    );
}

#[test]
fn layers_of_products() {
    let inputs = [leaf(&[2, 3, 4], 1), leaf(&[5, 4], 2), leaf(&[5], 3)];
    let linear = |x: &[Tensor]| Ok(vec![x[0].linear(&x[1], x.get(2))?]);
    check_both(&linear, &inputs, "linear");
    check_both(&linear, &inputs[..2], "linear without a bias");
    check_both(
        &linear,
        &[leaf(&[4], 1), leaf(&[5, 4], 2), leaf(&[5], 3)],
        "linear of a vector",
    );
    check_both(
        &linear,
        &[leaf(&[3, 4], 1), leaf(&[4], 2)],
        "linear with a vector",
    );
    check_both(
        &linear,
        &[leaf(&[3, 4], 1), leaf(&[4], 2), leaf(&[], 3)],
        "linear to numbers",
    );
    let complex = [
        complex_leaf(&[3, 4], 1),
        complex_leaf(&[2, 4], 2),
        complex_leaf(&[2], 3),
    ];
    check_both(&linear, &complex, "complex linear");
    let twice = |x: &[Tensor]| Ok(vec![x[0].linear(&x[0], None)?]);
    check_both(&twice, &[leaf(&[3, 4], 4)], "linear of itself");
    let bilinear = |x: &[Tensor]| Ok(vec![x[0].bilinear(&x[1], &x[2], x.get(3))?]);
    let inputs = [
        leaf(&[3, 4], 1),
        leaf(&[3, 2], 2),
        leaf(&[5, 4, 2], 3),
        leaf(&[5], 4),
    ];
    check_both(&bilinear, &inputs, "bilinear");
    check_both(&bilinear, &inputs[..3], "bilinear without a bias");
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    close_in_every_float("norm", &[leaf(&[4, 5], 1)], &|x| {
        x[0].norm(2.0, Some(&[1]), false)
    });
    close_in_every_float("cdist", &[leaf(&[4, 5], 1), leaf(&[3, 5], 2)], &|x| {
        x[0].cdist(&x[1], 2.0)
    });
    let inputs = [leaf(&[4, 6], 1), leaf(&[5, 6], 2), leaf(&[5], 3)];
    close_in_every_float("linear", &inputs, &|x| x[0].linear(&x[1], Some(&x[2])));
}
