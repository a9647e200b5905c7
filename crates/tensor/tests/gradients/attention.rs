//! Gradients of attention.

use crate::checks::{check_both, close_in_every_float, leaf, uniform};
use allotrope_dtype::{DType, Error};
use allotrope_tensor::{AttentionOptions, BackwardOptions, Generator, Tensor, grad};

fn attend(x: &[Tensor], options: AttentionOptions<'_>) -> Result<Vec<Tensor>, Error> {
    Ok(vec![
        x[0].scaled_dot_product_attention(&x[1], &x[2], options)?,
    ])
}

fn operands(batch: &[usize], rows: usize, count: usize) -> Vec<Tensor> {
    let sized = |sizes: [usize; 2], seed| {
        let sizes: Vec<usize> = batch.iter().copied().chain(sizes).collect();
        leaf(&sizes, seed)
    };
    vec![
        sized([rows, 3], 1),
        sized([count, 3], 2),
        sized([count, 2], 3),
    ]
}

#[test]
fn queries_keys_and_values() {
    for batch in [&[][..], &[2], &[2, 2]] {
        for (rows, count) in [(3, 3), (2, 4), (4, 2)] {
            for causal in [false, true] {
                for scale in [None, Some(0.3)] {
                    let options = AttentionOptions {
                        causal,
                        scale,
                        ..AttentionOptions::default()
                    };
                    let what = format!("{batch:?}, {rows} x {count}, causal {causal}, {scale:?}");
                    check_both(
                        &|x| attend(x, options),
                        &operands(batch, rows, count),
                        &what,
                    );
                }
            }
        }
    }
    let options = AttentionOptions::default();
    let itself = |x: &[Tensor]| attend(&[x[0].clone(), x[0].clone(), x[0].clone()], options);
    check_both(&itself, &[leaf(&[2, 3, 4], 1)], "self-attention");
    let broadcast = [
        leaf(&[2, 1, 3, 3], 1),
        leaf(&[2, 4, 3], 2),
        leaf(&[1, 1, 4, 2], 3),
    ];
    check_both(&|x| attend(x, options), &broadcast, "broadcast batches");
    let turned = |x: &[Tensor]| {
        let heads = |x: &Tensor| x.transpose(0, 1);
        attend(&[heads(&x[0])?, heads(&x[1])?, x[2].clone()], options)
    };
    check_both(
        &turned,
        &[
            leaf(&[3, 2, 3], 1),
            leaf(&[4, 2, 3], 2),
            leaf(&[2, 4, 2], 3),
        ],
        "turned",
    );
    for alone in 0..3 {
        let plain: Vec<Tensor> = operands(&[2], 3, 4).iter().map(Tensor::detach).collect();
        let one = |x: &[Tensor]| {
            let mut all = plain.clone();
            all[alone] = x[0].clone();
            attend(&all, options)
        };
        check_both(
            &one,
            &operands(&[2], 3, 4)[alone..=alone],
            "one operand alone",
        );
    }
}

#[test]
fn masks() {
    let mask = uniform(&[3, 4], -1.0, 1.0, 9).gt(0).unwrap();
    // A query that sees nothing.
    let nothing = Tensor::from_slice(&[0_u8, 1, 1], &[3, 1])
        .unwrap()
        .to(DType::Bool)
        .unwrap();
    let mask = mask.logical_and(&nothing).unwrap();
    let options = AttentionOptions {
        mask: Some(&mask),
        ..AttentionOptions::default()
    };
    check_both(&|x| attend(x, options), &operands(&[2], 3, 4), "bool mask");
    for sizes in [
        &[3, 4][..],
        &[2, 3, 4],
        &[1, 4],
        &[3, 1],
        &[4],
        &[2, 1, 4],
        &[1, 3, 4],
    ] {
        let mut inputs = operands(&[2], 3, 4);
        inputs.push(leaf(sizes, 4));
        let added = |x: &[Tensor]| {
            attend(
                x,
                AttentionOptions {
                    mask: Some(&x[3]),
                    ..AttentionOptions::default()
                },
            )
        };
        check_both(&added, &inputs, &format!("float mask {sizes:?}"));
    }
    let low = Tensor::full(&[], f64::NEG_INFINITY, DType::F64).unwrap();
    let zero = Tensor::zeros(&[], DType::F64).unwrap();
    let added = mask.where_(&zero, &low).unwrap();
    let options = AttentionOptions {
        mask: Some(&added),
        ..AttentionOptions::default()
    };
    check_both(
        &|x| attend(x, options),
        &operands(&[2], 3, 4),
        "mask of infinities",
    );
}

#[test]
fn heads_in_groups() {
    let inputs = [
        leaf(&[2, 4, 3, 3], 1),
        leaf(&[2, 2, 3, 3], 2),
        leaf(&[2, 2, 3, 2], 3),
        leaf(&[4, 3, 3], 4),
    ];
    for causal in [false, true] {
        let options = AttentionOptions {
            grouped: true,
            causal,
            ..AttentionOptions::default()
        };
        check_both(&|x| attend(x, options), &inputs[..3], "groups");
    }
    let masked = |x: &[Tensor]| {
        let mask = Some(&x[3]);
        attend(
            x,
            AttentionOptions {
                grouped: true,
                mask,
                ..AttentionOptions::default()
            },
        )
    };
    check_both(&masked, &inputs, "groups with a mask");
}

#[test]
fn dropped_weights() {
    let options = AttentionOptions {
        dropout: 0.4,
        causal: true,
        ..AttentionOptions::default()
    };
    let dropped = |x: &[Tensor]| {
        Generator::of_process().manual_seed(3);
        attend(x, options)
    };
    check_both(&dropped, &operands(&[2], 3, 4), "dropout");
}

/// Attention by way of the matrix of weights.
fn composed(x: &[Tensor], causal: bool) -> Tensor {
    let scale = 1.0 / (x[0].shape()[x[0].rank() - 1] as f64).sqrt();
    let scores = x[0]
        .matmul(&x[1].transpose(-1, -2).unwrap())
        .unwrap()
        .mul(scale)
        .unwrap();
    let [rows, count] = [2, 1].map(|back| scores.shape()[scores.rank() - back] as i64);
    let row = Tensor::arange(0, rows, 1, DType::I64)
        .unwrap()
        .unsqueeze(1)
        .unwrap();
    let column = Tensor::arange(0, count, 1, DType::I64).unwrap();
    let low = Tensor::full(&[], f64::NEG_INFINITY, DType::F64).unwrap();
    let scores = match x.get(3) {
        Some(mask) => scores.add(mask).unwrap(),
        None => scores,
    };
    let scores = if causal {
        column.le(&row).unwrap().where_(&scores, &low).unwrap()
    } else {
        scores
    };
    scores.softmax(-1, None).unwrap().matmul(&x[2]).unwrap()
}

#[test]
fn gradients_from_many_blocks() {
    // Blocks of rows of one item, and blocks of items; masks that repeat along some of them.
    type Case<'a> = (&'a [usize], usize, usize, bool, Option<&'a [usize]>);
    let cases: [Case<'_>; 7] = [
        (&[2, 2], 1100, 1100, false, None),
        (&[], 1100, 1300, true, None),
        (&[5], 500, 600, true, None),
        (&[5], 500, 600, false, Some(&[500, 600])),
        (&[2], 1100, 1000, false, Some(&[2, 1, 1000])),
        (&[2], 1100, 1000, false, Some(&[1100, 1])),
        (&[2], 1100, 1000, false, Some(&[2, 1100, 1000])),
    ];
    for (batch, rows, count, causal, mask) in cases {
        let mut inputs = operands(batch, rows, count);
        inputs.extend(mask.map(|sizes| leaf(sizes, 4)));
        let options = AttentionOptions {
            causal,
            mask: inputs.get(3),
            ..AttentionOptions::default()
        };
        let all = |y: &Tensor| {
            let given = uniform(y.shape(), -1.0, 1.0, 7);
            let (inputs, options): (Vec<&Tensor>, _) =
                (inputs.iter().collect(), BackwardOptions::default());
            grad(&[y], &inputs, &[Some(&given)], options, false).unwrap()
        };
        let found = all(&attend(&inputs, options).unwrap()[0]);
        let expected = all(&composed(&inputs, causal));
        for (found, expected) in found.into_iter().zip(expected) {
            let (found, expected) = (found.unwrap(), expected.unwrap());
            assert!(
                found.allclose(&expected, 1e-8, 1e-10, false).unwrap(),
                "{mask:?}"
            );
        }
    }
}

#[test]
fn nothing_to_attend_to() {
    for (rows, count) in [(0, 3), (3, 0)] {
        let inputs = operands(&[2], rows, count);
        let y = attend(&inputs, AttentionOptions::default())
            .unwrap()
            .remove(0);
        let total = y.sum(None, false, None).unwrap();
        total.backward().unwrap();
        for input in &inputs {
            let gradient = input.grad().unwrap();
            assert_eq!(gradient.shape(), input.shape());
            assert!(gradient.to_vec::<f64>().unwrap().iter().all(|g| *g == 0.0));
        }
    }
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    let inputs = operands(&[2], 5, 6);
    close_in_every_float("attention", &inputs, &|x| {
        x[0].scaled_dot_product_attention(&x[1], &x[2], AttentionOptions::default())
    });
}
