//! Attention.

use allotrope_dtype::DType;
use allotrope_tensor::AttentionOptions;

use crate::support::{check, floats, numbers};

#[test]
fn attention_of_all_dtypes() {
    for dtype in floats() {
        let (q, k) = (
            numbers(dtype, &[2, 3, 10, 16]),
            numbers(dtype, &[2, 3, 70, 16]),
        );
        let v = numbers(dtype, &[2, 3, 70, 80]);
        for causal in [false, true] {
            check("attention", &[&q, &k, &v], 16.0, |x| {
                let options = AttentionOptions {
                    causal,
                    ..Default::default()
                };
                x[0].scaled_dot_product_attention(&x[1], &x[2], options)
            });
        }
    }
}

#[test]
fn attention_with_masks() {
    let q = numbers(DType::F32, &[2, 10, 16]);
    let k = numbers(DType::F32, &[2, 130, 16]);
    // One mask for all of a batch; the last query sees nothing.
    let seen = numbers(DType::Bool, &[9, 130]);
    let none = seen.zeros_like().unwrap().narrow(0, 0, 1).unwrap();
    let mask = allotrope_tensor::Tensor::cat(&[&seen, &none], 0).unwrap();
    let added = numbers(DType::F32, &[2, 10, 130]);
    for mask in [&mask, &added] {
        check("attention", &[&q, &k, mask], 16.0, |x| {
            let options = AttentionOptions {
                mask: Some(&x[2]),
                ..Default::default()
            };
            x[0].scaled_dot_product_attention(
                &x[1],
                &x[1].transpose(0, 1)?.transpose(0, 1)?,
                options,
            )
        });
    }
}
