//! Gradients of softmax and its kin, of normalisations and of dropout.

use crate::checks::{check_both, close_in_every_float, gradient_of, leaf, uniform};
use allotrope_dtype::DType;
use allotrope_tensor::{BatchNormOptions, Generator, Tensor};

#[test]
fn softmax_and_its_kin() {
    for dim in [0, 1, -1] {
        let x = leaf(&[3, 4, 2], 1);
        check_both(
            &|x| Ok(vec![x[0].softmax(dim, None)?]),
            std::slice::from_ref(&x),
            "softmax",
        );
        check_both(
            &|x| Ok(vec![x[0].log_softmax(dim, None)?]),
            std::slice::from_ref(&x),
            "log_softmax",
        );
        check_both(&|x| Ok(vec![x[0].softmin(dim, None)?]), &[x], "softmin");
    }
    let twice = |x: &[Tensor]| {
        let turned = x[0].transpose(0, 1)?;
        Ok(vec![turned.softmax(0, None)?.mul(&x[0].t()?)?])
    };
    check_both(&twice, &[leaf(&[3, 4], 2)], "softmax of a transposed");
    let repeated = |x: &[Tensor]| Ok(vec![x[0].expand(&[3, 4])?.softmax(1, None)?]);
    check_both(&repeated, &[leaf(&[1, 4], 3)], "softmax of a repeated");
    check_both(
        &|x| Ok(vec![x[0].softmax(0, None)?]),
        &[leaf(&[], 4)],
        "softmax of one number",
    );
}

#[test]
fn softmax_of_long_lines() {
    // Lines beyond a cache take another way.
    let x = leaf(&[70_000, 2], 5);
    let (y, g) = (
        x.softmax(0, None).unwrap(),
        uniform(&[70_000, 2], -1.0, 1.0, 6),
    );
    let found = gradient_of(&y, &x, &g);
    let plain = y.detach();
    let sum = plain.mul(&g).unwrap().sum(Some(&[0]), true, None).unwrap();
    let expected = plain.mul(&g.sub(&sum).unwrap()).unwrap();
    assert!(found.allclose(&expected, 1e-9, 1e-15, false).unwrap());
}

#[test]
fn gumbel_softmax_is_straight_through() {
    let x = leaf(&[3, 5], 7);
    let soft = |x: &[Tensor]| {
        Ok(vec![x[0].gumbel_softmax(
            0.7,
            false,
            1,
            Some(&Generator::new(3)),
        )?])
    };
    check_both(&soft, std::slice::from_ref(&x), "gumbel_softmax");
    let g = uniform(&[3, 5], -1.0, 1.0, 8);
    let of = |hard: bool| {
        let y = x
            .gumbel_softmax(0.7, hard, 1, Some(&Generator::new(3)))
            .unwrap();
        gradient_of(&y, &x, &g).to_vec::<f64>().unwrap()
    };
    assert_eq!(of(true), of(false));
    assert!(of(true).iter().any(|g| *g != 0.0));
}

#[test]
fn layer_and_rms_norm() {
    let inputs = [leaf(&[2, 3, 4], 1), leaf(&[3, 4], 2), leaf(&[3, 4], 3)];
    let layer = |x: &[Tensor]| {
        Ok(vec![x[0].layer_norm(
            &[3, 4],
            Some(&x[1]),
            Some(&x[2]),
            1e-3,
        )?])
    };
    check_both(&layer, &inputs, "layer_norm");
    let bare = |x: &[Tensor]| {
        Ok(vec![x[0].transpose(0, 2)?.layer_norm(
            &[2],
            None,
            None,
            1e-1,
        )?])
    };
    check_both(&bare, &inputs[..1], "layer_norm of a transposed");
    let only_bias = |x: &[Tensor]| Ok(vec![x[0].layer_norm(&[3, 4], None, Some(&x[1]), 1e-3)?]);
    check_both(
        &only_bias,
        &[inputs[0].clone(), inputs[2].clone()],
        "layer_norm with a bias",
    );
    let whole = |x: &[Tensor]| Ok(vec![x[0].layer_norm(&[3, 4], Some(&x[0]), None, 1e-3)?]);
    check_both(
        &whole,
        &[leaf(&[3, 4], 4)],
        "layer_norm with itself as the weight",
    );
    let rms = |x: &[Tensor]| Ok(vec![x[0].rms_norm(&[3, 4], Some(&x[1]), Some(1e-3))?]);
    check_both(&rms, &inputs[..2], "rms_norm");
    check_both(
        &|x| Ok(vec![x[0].rms_norm(&[4], None, None)?]),
        &inputs[..1],
        "rms_norm alone",
    );
    let weight_alone = |x: &[Tensor]| {
        Ok(vec![uniform(&[2, 3, 4], -1.0, 1.0, 9).layer_norm(
            &[3, 4],
            Some(&x[0]),
            None,
            1e-3,
        )?])
    };
    check_both(&weight_alone, &inputs[1..2], "layer_norm's weight alone");
}

#[test]
fn layer_norm_of_long_lines_is_that_of_short_ones() {
    let (x, g) = (leaf(&[1, 70_000], 5), uniform(&[1, 70_000], -1.0, 1.0, 6));
    let y = x.layer_norm(&[70_000], None, None, 1e-5).unwrap();
    let found = gradient_of(&y, &x, &g);
    let plain = x.detach();
    let scale = plain
        .var(None, 0.0, false)
        .unwrap()
        .add(1e-5)
        .unwrap()
        .rsqrt()
        .unwrap();
    let n = plain
        .sub(&plain.mean(None, false, None).unwrap())
        .unwrap()
        .mul(&scale)
        .unwrap();
    let along = n.mul(&g).unwrap().mean(None, false, None).unwrap();
    let away = g.sub(&g.mean(None, false, None).unwrap()).unwrap();
    let expected = away
        .sub(&n.mul(&along).unwrap())
        .unwrap()
        .mul(&scale)
        .unwrap();
    assert!(found.allclose(&expected, 1e-8, 1e-10, false).unwrap());
}

#[test]
fn group_and_instance_norm() {
    let inputs = [leaf(&[2, 4, 3], 1), leaf(&[4], 2), leaf(&[4], 3)];
    for groups in [1, 2, 4] {
        let group = |x: &[Tensor]| {
            Ok(vec![x[0].group_norm(
                groups,
                Some(&x[1]),
                Some(&x[2]),
                1e-3,
            )?])
        };
        check_both(&group, &inputs, "group_norm");
    }
    let bare = |x: &[Tensor]| Ok(vec![x[0].group_norm(2, None, None, 1e-3)?]);
    check_both(&bare, &inputs[..1], "group_norm alone");
    let flat = |x: &[Tensor]| Ok(vec![x[0].group_norm(2, None, Some(&x[1]), 1e-3)?]);
    check_both(
        &flat,
        &[leaf(&[3, 4], 4), leaf(&[4], 5)],
        "group_norm of rows",
    );
    let running = (uniform(&[4], -1.0, 1.0, 6), uniform(&[4], 0.5, 2.0, 7));
    for training in [true, false] {
        let instance = |x: &[Tensor]| {
            let options = BatchNormOptions {
                running: Some((&running.0, &running.1)),
                weight: Some(&x[1]),
                bias: Some(&x[2]),
                training,
                momentum: 0.1,
                eps: 1e-3,
            };
            Ok(vec![x[0].instance_norm(options)?.output])
        };
        check_both(&instance, &inputs, "instance_norm");
    }
}

#[test]
fn batch_norm_in_training_and_evaluation() {
    for sizes in [&[5, 3][..], &[3, 3, 4], &[2, 3, 2, 2]] {
        let inputs = [leaf(sizes, 1), leaf(&[3], 2), leaf(&[3], 3)];
        // Statistics that require a gradient get none.
        let running = (
            leaf(&[3], 6),
            uniform(&[3], 0.5, 2.0, 7).requires_grad_(true).unwrap(),
        );
        for training in [true, false] {
            let batch = |x: &[Tensor]| {
                let options = BatchNormOptions {
                    running: Some((&running.0, &running.1)),
                    weight: x.get(1),
                    bias: x.get(2),
                    training,
                    momentum: 0.1,
                    eps: 1e-3,
                };
                let made = x[0].batch_norm(options)?;
                assert!(made.running.is_none_or(|(mean, _)| !mean.requires_grad()));
                Ok(vec![made.output])
            };
            check_both(&batch, &inputs, "batch_norm");
            check_both(&batch, &inputs[..1], "batch_norm alone");
            check_both(&batch, &inputs[..2], "batch_norm with a weight");
            let made = batch(&inputs)
                .unwrap()
                .remove(0)
                .sum(None, false, None)
                .unwrap();
            made.backward().unwrap();
            assert!(running.0.grad().is_none() && running.1.grad().is_none());
        }
    }
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    close_in_every_float("softmax", &[leaf(&[4, 9], 1)], &|x| x[0].softmax(1, None));
    close_in_every_float("log_softmax", &[leaf(&[4, 9], 1)], &|x| {
        x[0].log_softmax(1, None)
    });
    let inputs = [leaf(&[6, 8], 1), leaf(&[8], 2), leaf(&[8], 3)];
    close_in_every_float("layer_norm", &inputs, &|x| {
        x[0].layer_norm(&[8], Some(&x[1]), Some(&x[2]), 1e-3)
    });
    close_in_every_float("rms_norm", &inputs[..2], &|x| {
        x[0].rms_norm(&[8], Some(&x[1]), Some(1e-3))
    });
    close_in_every_float("group_norm", &inputs, &|x| {
        x[0].group_norm(2, Some(&x[1]), Some(&x[2]), 1e-3)
    });
    close_in_every_float("batch_norm", &inputs, &|x| {
        let options = BatchNormOptions {
            running: None,
            weight: Some(&x[1]),
            bias: Some(&x[2]),
            training: true,
            momentum: 0.1,
            eps: 1e-3,
        };
        Ok(x[0].batch_norm(options)?.output)
    });
}

#[test]
fn a_result_of_another_dtype_sends_back_that_of_the_operand() {
    let x = leaf(&[2, 3], 1).detach().to(DType::BF16).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let y = x.softmax(1, Some(DType::F64)).unwrap();
    y.square()
        .unwrap()
        .sum(None, false, None)
        .unwrap()
        .backward()
        .unwrap();
    assert_eq!(x.grad().unwrap().dtype(), DType::BF16);
}

#[test]
fn dropout_drops_the_same_on_the_way_back() {
    let x = leaf(&[2, 3, 4], 1);
    type Drop = fn(&Tensor, f64, Option<&Generator>) -> Result<Tensor, allotrope_dtype::Error>;
    let all: [(&str, Drop); 5] = [
        ("dropout", Tensor::dropout),
        ("dropout1d", Tensor::dropout1d),
        ("dropout2d", Tensor::dropout2d),
        ("alpha_dropout", Tensor::alpha_dropout),
        ("feature_alpha_dropout", Tensor::feature_alpha_dropout),
    ];
    for (name, drop) in all {
        for p in [0.0, 0.4, 1.0] {
            let dropped = |x: &[Tensor]| Ok(vec![drop(&x[0], p, Some(&Generator::new(5)))?]);
            check_both(&dropped, std::slice::from_ref(&x), name);
        }
    }
    let y = x.dropout(0.5, Some(&Generator::new(1))).unwrap();
    let g = gradient_of(&y, &x, &x.detach().ones_like().unwrap())
        .to_vec::<f64>()
        .unwrap();
    let y = y.detach().to_vec::<f64>().unwrap();
    assert!(g.contains(&0.0) && g.contains(&2.0));
    assert!(g.iter().zip(y).all(|(g, y)| (*g == 0.0) == (y == 0.0)));
    for dtype in [DType::F32, DType::BF16] {
        let x = x.detach().to(dtype).unwrap().requires_grad_(true).unwrap();
        let y = x.dropout(1.0, None).unwrap();
        let g = gradient_of(&y, &x, &y.detach().ones_like().unwrap());
        assert_eq!(
            g.to(DType::F64).unwrap().to_vec::<f64>().unwrap(),
            [0.0; 24]
        );
    }
}

#[test]
fn tensors_without_elements() {
    let (x, weight) = (leaf(&[0, 4], 1), leaf(&[4], 2));
    let normal = x.layer_norm(&[4], Some(&weight), None, 1e-5).unwrap();
    let grouped = normal.group_norm(2, Some(&weight), None, 1e-5).unwrap();
    let y = grouped
        .softmax(1, None)
        .unwrap()
        .log_softmax(0, None)
        .unwrap();
    y.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().shape(), x.shape());
    assert_eq!(weight.grad().unwrap().to_vec::<f64>().unwrap(), [0.0; 4]);
}
