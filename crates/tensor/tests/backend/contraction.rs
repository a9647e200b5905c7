//! Matrix products, attention and distances: a device without their kernels leaves the products to the
//! CPU and composes the others.

use allotrope_dtype::DType;
use allotrope_tensor::{AttentionOptions, Tensor, einsum};

use crate::convolution::numbers;
use crate::rowwise::{check_close, check_close_gradients};
use crate::{check, there};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::BF16, DType::F16];
const OTHERS: [DType; 6] = [
    DType::I8,
    DType::U8,
    DType::I32,
    DType::I64,
    DType::U64,
    DType::Bool,
];

#[test]
fn integers_and_bool_are_multiplied_there() {
    for dtype in OTHERS {
        let (a, b) = (numbers(&[3, 1, 4, 5], dtype), numbers(&[2, 5, 3], dtype));
        let (bias, row) = (numbers(&[3], dtype), numbers(&[5], dtype));
        let what = |name: &str| format!("{name} of {dtype}");
        check(&what("matmul"), &[&a, &b], |x| x[0].matmul(&x[1]));
        check(&what("turned"), &[&a, &b], |x| {
            x[0].flip(&[3])?
                .matmul(&x[1].transpose(0, 2)?.flip(&[0])?.transpose(0, 2)?)
        });
        check(&what("vector"), &[&a, &row], |x| x[0].matmul(&x[1]));
        check(&what("addmm"), &[&bias, &a, &b], |x| {
            let (a, b) = (x[1].select(0, 1)?.select(0, 0)?, x[2].select(0, 1)?);
            x[0].addmm(&a, &b, 1, 1)
        });
        check(&what("linear"), &[&a, &b, &bias], |x| {
            x[0].linear(&x[1].select(0, 0)?.t()?, Some(&x[2]))
        });
        check(&what("einsum"), &[&a, &b], |x| {
            einsum("apij,bjk->bik", &[&x[0], &x[1]], None, None)
        });
        if dtype.is_integer() {
            check(&what("scaled"), &[&bias, &a, &b], |x| {
                let (a, b) = (x[1].select(0, 1)?.select(0, 0)?, x[2].select(0, 1)?);
                x[0].addmm(&a, &b, 3, 2)
            });
            check(&what("wide sums"), &[&a, &b], |x| {
                x[0].matmul_in(&x[1], None, Some(DType::I32))
            });
        }
    }
}

#[test]
fn floats_and_complex_numbers_are_multiplied_there() {
    for dtype in FLOATS.into_iter().chain([DType::C64, DType::C128]) {
        let (a, b) = (numbers(&[3, 1, 4, 5], dtype), numbers(&[2, 5, 3], dtype));
        let (bias, weight) = (numbers(&[3], dtype), numbers(&[3, 5], dtype));
        let what = |name: &str| format!("{name} of {dtype}");
        check_close_gradients(&what("matmul"), &[&a, &b], |x| x[0].matmul(&x[1]));
        check_close_gradients(&what("turned"), &[&a, &b], |x| {
            x[0].flip(&[2])?.matmul(&x[1].flip(&[1])?)
        });
        check_close_gradients(&what("linear"), &[&a, &weight, &bias], |x| {
            x[0].linear(&x[1], Some(&x[2]))
        });
        check_close_gradients(&what("addmm"), &[&bias, &a, &b], |x| {
            let (a, b) = (x[1].select(0, 1)?.select(0, 0)?, x[2].select(0, 1)?);
            x[0].addmm(&a, &b, 0.5, 2.5)
        });
        check_close_gradients(&what("former not read"), &[&bias, &a, &b], |x| {
            let (a, b) = (x[1].select(0, 1)?.select(0, 0)?, x[2].select(0, 1)?);
            x[0].addmm(&a, &b, 0, 1)
        });
        check_close(&what("bilinear"), &[&a, &numbers(&[2, 5, 5], dtype)], |x| {
            x[0].bilinear(&x[0], &x[1], None)
        });
        check_close(&what("tensordot"), &[&a, &b], |x| {
            x[0].tensordot(&x[1], &[3], &[1], None, None)
        });
    }
    let (a, b) = (numbers(&[4, 5], DType::BF16), numbers(&[5, 3], DType::I32));
    check_close("two dtypes", &[&a, &b], |x| x[0].matmul(&x[1]));
    let refused = a.matmul(&there(&b)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "matmul: operands on two devices: cpu and apart; one device is accepted"
    );
}

#[test]
fn attention_is_composed_there() {
    for dtype in FLOATS {
        let queries = numbers(&[2, 4, 6], dtype).mul(0.02).unwrap();
        let (keys, values) = (numbers(&[2, 5, 6], dtype), numbers(&[2, 5, 3], dtype));
        let operands = [&queries, &keys, &values];
        let what = |name: &str| format!("{name} of {dtype}");
        let attend = |x: &[Tensor], options: AttentionOptions<'_>| {
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        };
        check_close_gradients(&what("attention"), &operands, |x| {
            attend(x, Default::default())
        });
        check_close_gradients(&what("causal attention"), &operands, |x| {
            let causal = true;
            attend(
                x,
                AttentionOptions {
                    causal,
                    ..Default::default()
                },
            )
        });
        let masks = [
            numbers(&[5], DType::Bool),
            numbers(&[4, 5], dtype),
            numbers(&[4, 5], DType::Bool),
        ];
        for mask in &masks {
            check_close(
                &what("masked attention"),
                &[&queries, &keys, &values, mask],
                |x| {
                    let mask = Some(&x[3]);
                    attend(
                        x,
                        AttentionOptions {
                            mask,
                            ..Default::default()
                        },
                    )
                },
            );
        }
    }
}

#[test]
fn distances_are_measured_there() {
    for dtype in FLOATS {
        let (x, y) = (numbers(&[2, 4, 3], dtype), numbers(&[5, 3], dtype));
        for p in [0.0, 1.0, 2.0, 3.0, f64::INFINITY] {
            let what = |name: &str| format!("{name} of {dtype} by {p}");
            check_close_gradients(&what("cdist"), &[&x, &y], |x| x[0].cdist(&x[1], p));
            check_close_gradients(&what("pdist"), &[&y], |x| x[0].pdist(p));
            check_close(&what("pairwise_distance"), &[&x, &y], |x| {
                x[0].pairwise_distance(&x[1].narrow(0, 0, 4)?, p, 1e-6, true)
            });
        }
        check_close("cosine_similarity", &[&x, &y], |x| {
            x[0].cosine_similarity(&x[1].narrow(0, 0, 4)?, -1, 1e-8)
        });
    }
}
