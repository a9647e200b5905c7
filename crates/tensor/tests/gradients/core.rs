//! Gradients of views, reductions and products against differences, and how a graph lives.

use crate::checks::{check_both, complex_leaf, leaf};
use allotrope_dtype::{DType, ErrorKind, c128};
use allotrope_op::Slice;
use allotrope_tensor::{
    BackwardOptions, Index, Tensor, backward, enable_grad, grad, inference_mode, no_grad,
};

#[test]
fn tensors_used_twice_broadcast_and_turned() {
    let (a, b) = (leaf(&[3, 1, 4], 1), leaf(&[2, 1], 2));
    let twice = |x: &[Tensor]| {
        let product = x[0].mul(&x[1])?;
        Ok(vec![product.add(&x[0].sin()?)?.mul(&product)?])
    };
    check_both(&twice, &[a, b], "broadcast");
    let turned = |x: &[Tensor]| {
        let y = x[0].transpose(0, 1)?.exp()?;
        Ok(vec![y.mul(&x[0].t()?)?, y.sum(Some(&[0]), false, None)?])
    };
    check_both(&turned, &[leaf(&[3, 4], 3)], "transposed");
    let complex = |x: &[Tensor]| {
        let y = x[0].mul(&x[1])?;
        Ok(vec![y.abs()?.mul(&x[1].real()?)?, y.angle()?, x[0].imag()?])
    };
    check_both(
        &complex,
        &[complex_leaf(&[3], 4), complex_leaf(&[3], 5)],
        "complex",
    );
    let mixed = |x: &[Tensor]| Ok(vec![x[0].mul(&x[1])?]);
    check_both(
        &mixed,
        &[leaf(&[3], 6), complex_leaf(&[3], 7)],
        "real and complex",
    );
}

#[test]
fn views_give_gradients_back_to_where_they_came_from() {
    type View = fn(&Tensor) -> Result<Tensor, allotrope_dtype::Error>;
    let every_other = Slice {
        step: 2,
        ..Slice::ALL
    };
    let views: [(&str, View); 15] = [
        ("reshape", |x| x.reshape(&[6, -1])),
        ("reshape of a transposed one", |x| {
            x.transpose(0, 2)?.reshape(&[-1])
        }),
        ("permute", |x| x.permute(&[2, 0, 1])),
        ("movedim", |x| x.movedim(&[0], &[-1])),
        ("expand", |x| x.unsqueeze(0)?.expand(&[2, 2, 3, 4])),
        ("squeeze", |x| x.unsqueeze(1)?.squeeze(None)),
        ("select", |x| x.select(1, -1)),
        ("slice", |x| {
            x.slice(
                2,
                Slice {
                    step: 2,
                    ..Slice::ALL
                },
            )
        }),
        ("slice backwards", |x| {
            x.slice(
                2,
                Slice {
                    step: -2,
                    ..Slice::ALL
                },
            )
        }),
        ("flip", |x| x.flip(&[0, 2])),
        ("diagonal", |x| x.diagonal(1, 1, 2)),
        ("unfold", |x| x.unfold(2, 3, 1)),
        ("unfold with gaps", |x| x.unfold(2, 1, 3)),
        ("contiguous", |x| x.transpose(0, 1)?.contiguous()),
        ("flatten", |x| x.flatten(1, 2)),
    ];
    for (what, view) in views {
        // Squared, so that the second gradient is not zero.
        let function = |x: &[Tensor]| Ok(vec![view(&x[0])?.square()?]);
        check_both(&function, &[leaf(&[2, 3, 4], 11)], what);
    }
    let keyed = |x: &[Tensor]| {
        let rows = Tensor::from_slice(&[2_i32, 0, 2, -1], &[4])?;
        let key = [
            Index::Array(rows),
            Index::NewAxis,
            Index::Range(every_other),
        ];
        Ok(vec![x[0].index(&key)?.square()?])
    };
    check_both(&keyed, &[leaf(&[3, 4], 12)], "index");
    let masked = |x: &[Tensor]| {
        let mask = x[0].detach().gt(0)?;
        Ok(vec![x[0].index(&[Index::Array(mask)])?.square()?])
    };
    check_both(&masked, &[leaf(&[3, 4], 13)], "mask");
    let assigned = |x: &[Tensor]| {
        let mut y = x[0].square()?;
        y.assign(&[Index::Ellipsis, Index::At(1)], &x[1].exp()?)?;
        y.assign(
            &[Index::Array(Tensor::from_slice(&[0_i64, 2], &[2])?)],
            &x[2],
        )?;
        Ok(vec![y.square()?])
    };
    let inputs = [leaf(&[3, 4], 14), leaf(&[3], 15), leaf(&[], 16)];
    check_both(&assigned, &inputs, "assignment");
}

#[test]
fn reductions() {
    type Reduction = fn(&Tensor) -> Result<Tensor, allotrope_dtype::Error>;
    let reductions: [(&str, Reduction); 13] = [
        ("sum", |x| x.sum(Some(&[1]), false, None)),
        ("sum of all", |x| x.sum(None, false, None)),
        ("mean", |x| x.mean(Some(&[0, 2]), true, None)),
        ("prod", |x| x.prod(Some(&[1]), false, None)),
        ("var", |x| x.var(Some(&[2]), 1.0, false)),
        ("std", |x| x.std(Some(&[0]), 0.0, true)),
        ("amax", |x| x.amax(Some(&[1]), false)),
        ("amin", |x| x.amin(None, false)),
        ("norm", |x| x.norm(2.0, Some(&[1]), false)),
        ("norm 3", |x| x.norm(3.0, None, false)),
        ("norm 1", |x| x.norm(1.0, Some(&[0]), false)),
        ("norm inf", |x| x.norm(f64::INFINITY, Some(&[2]), false)),
        ("logsumexp", |x| x.logsumexp(Some(&[2, 0]), false)),
    ];
    for (what, reduction) in reductions {
        let function = |x: &[Tensor]| Ok(vec![reduction(&x[0])?.square()?]);
        check_both(&function, &[leaf(&[2, 3, 4], 21)], what);
    }
    let complex = |x: &[Tensor]| {
        Ok(vec![
            x[0].sum(Some(&[0]), false, None)?,
            x[0].prod(Some(&[1]), false, None)?,
            x[0].norm(2.0, None, false)?,
            x[0].var(None, 1.0, false)?,
        ])
    };
    check_both(&complex, &[complex_leaf(&[2, 3], 22)], "complex reductions");
}

/// `Π x` has a gradient where factors are zero, and that has one where two are.
#[test]
fn products_with_zeros() {
    let rows = [[1.5, 0.0, -2.0], [0.0, 0.0, 3.0], [0.5, 2.0, 4.0]].concat();
    let x = Tensor::from_slice(&rows, &[3, 3])
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    check_both(
        &|x| Ok(vec![x[0].prod(Some(&[1]), false, None)?]),
        &[x],
        "prod",
    );
}

#[test]
fn extremes_share_their_gradient() {
    let x = Tensor::from_slice(&[1.0_f32, 3.0, 3.0, 2.0], &[4]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    x.amax(None, false).unwrap().backward().unwrap();
    assert_eq!(
        x.grad().unwrap().to_vec::<f32>().unwrap(),
        [0.0, 0.5, 0.5, 0.0]
    );
}

#[test]
fn matrix_products() {
    let product = |x: &[Tensor]| Ok(vec![x[0].matmul(&x[1])?]);
    for (a, b) in [
        (vec![3, 4], vec![4, 2]),
        (vec![2, 3, 4], vec![4, 2]),
        (vec![4], vec![4, 2]),
        (vec![2, 3, 4], vec![4]),
        (vec![4], vec![4]),
        (vec![2, 1, 3, 4], vec![3, 4, 2]),
        (vec![1, 40], vec![40, 1]),
    ] {
        let what = format!("matmul {a:?} {b:?}");
        check_both(&product, &[leaf(&a, 31), leaf(&b, 32)], &what);
        check_both(
            &product,
            &[complex_leaf(&a, 33), complex_leaf(&b, 34)],
            &what,
        );
    }
    let added = |x: &[Tensor]| Ok(vec![x[0].addmm(&x[1], &x[2], 0.5, -2.0)?]);
    let inputs = [leaf(&[2], 35), leaf(&[3, 4], 36), leaf(&[4, 2], 37)];
    check_both(&added, &inputs, "addmm");
}

#[test]
fn gradients_have_the_dtype_of_their_leaf() {
    for dtype in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F8E4M3Fn,
        DType::C64,
    ] {
        let x = Tensor::ones(&[8], dtype)
            .unwrap()
            .requires_grad_(true)
            .unwrap();
        let wide = x
            .mul(&Tensor::full(&[2, 8], 2, DType::F64).unwrap())
            .unwrap();
        let (sum, inputs) = (wide.sum(None, false, None).unwrap(), [&x]);
        backward(
            &[&sum.real().unwrap()],
            &[None],
            Some(&inputs),
            BackwardOptions::default(),
        )
        .unwrap();
        let gradient = x.grad().unwrap();
        assert_eq!(gradient.dtype(), dtype);
        let values = gradient.to(DType::C128).unwrap().to_vec::<c128>().unwrap();
        assert_eq!(values, [c128::new(4.0, 0.0); 8], "{dtype}");
    }
}

/// 4096 uses of one half: their gradients are added in float32.
#[test]
fn halves_add_up_in_float32() {
    let x = Tensor::ones(&[], DType::BF16)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let mut total = x.mul(1).unwrap();
    for _ in 1..600 {
        total = total.add(&x.mul(1).unwrap()).unwrap();
    }
    let gradient = Tensor::ones(&[], DType::BF16).unwrap();
    total
        .backward_with(&gradient, BackwardOptions::default())
        .unwrap();
    let sum = x
        .grad()
        .unwrap()
        .to(DType::F32)
        .unwrap()
        .to_vec::<f32>()
        .unwrap();
    assert_eq!(sum, [600.0]);
}

#[test]
fn gradients_add_up_and_leave_those_alone_that_someone_holds() {
    for dtype in [DType::F32, DType::F64, DType::C64, DType::BF16] {
        let leaf = || Tensor::ones(&[3000], dtype).unwrap().requires_grad_(true);
        let (a, b) = (leaf().unwrap(), leaf().unwrap());
        let back = |y: Tensor| y.sum(None, false, None).unwrap().real().unwrap().backward();
        let is_all = |x: &Tensor, value: f64| {
            let values = x.real().unwrap().to(DType::F64).unwrap().to_vec::<f64>();
            assert_eq!(values.unwrap(), [value; 3000], "{dtype}");
        };
        let mut held = Vec::new();
        for _ in 0..3 {
            // The gradient of a sum is one tensor for both operands.
            back(a.add(&b).unwrap()).unwrap();
            held.push((a.grad().unwrap(), b.grad().unwrap()));
        }
        for (times, (of_a, of_b)) in held.iter().enumerate() {
            is_all(of_a, (times + 1) as f64);
            is_all(of_b, (times + 1) as f64);
        }
        drop(held);
        back(b.mul(3.0).unwrap()).unwrap();
        is_all(&b.grad().unwrap(), 6.0);
        is_all(&a.grad().unwrap(), 3.0);
    }
}

#[test]
fn long_graphs_are_walked_and_dropped() {
    let x = Tensor::ones(&[2], DType::F32)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let mut y = x.clone();
    for _ in 0..100_000 {
        y = y.add(1).unwrap();
    }
    y.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [1.0; 2]);
    let mut y = x.clone();
    for _ in 0..100_000 {
        y = y.mul(&y).unwrap();
    }
    drop(y);
}

#[test]
fn modes_and_mistakes() {
    let x = leaf(&[3], 41);
    {
        let _off = no_grad();
        assert!(!x.exp().unwrap().requires_grad());
        let _on = enable_grad();
        assert!(x.exp().unwrap().requires_grad());
    }
    let message = |result: Result<(), allotrope_dtype::Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Gradient);
        error.to_string()
    };
    let y = x.exp().unwrap();
    assert_eq!(
        message(y.backward()),
        "backward: no gradient given: a result of shape [3] needs one; a single element does not \
         (hint: y.backward(gradient))"
    );
    let total = y.sum(None, false, None).unwrap();
    total.backward().unwrap();
    assert!(message(total.backward()).contains("retain_graph=True"));
    assert!(message(x.detach().backward()).contains("does not require a gradient"));
    let integers = Tensor::ones(&[2], DType::I64).unwrap();
    assert!(message(integers.requires_grad_(true).map(drop)).contains("int64"));
    let wrong = Tensor::ones(&[2], DType::F64).unwrap();
    let y = x.exp().unwrap();
    let options = BackwardOptions::default();
    assert!(message(y.backward_with(&wrong, options)).contains("[2]"));
    let unused = leaf(&[1], 42);
    let found = grad(
        &[&x.exp().unwrap().sum(None, false, None).unwrap()],
        &[&unused],
        &[None],
        options,
        false,
    );
    assert!(message(found.map(drop)).contains("input 0 is not used"));
    let _mode = inference_mode(true);
    assert!(message(y.backward_with(&x.detach(), options)).contains("inference"));
}

#[test]
fn hooks_and_kept_gradients() {
    use std::sync::Arc;
    let x = leaf(&[2], 51);
    let y = x.mul(3.0).unwrap();
    y.retain_grad().unwrap();
    let number = y.register_hook(Arc::new(|g| g.mul(2.0).map(Some))).unwrap();
    y.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(y.grad().unwrap().to_vec::<f64>().unwrap(), [2.0; 2]);
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [6.0; 2]);
    y.remove_hook(number);
    x.set_grad(None).unwrap();
    let z = x.mul(3.0).unwrap();
    z.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [3.0; 2]);
}
