//! Variables: what is written through one view is seen by all, and by nobody who took a value.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_op::Slice;
use allotrope_tensor::{
    BackwardOptions, Index, Tensor, Variable, Written, backward, gradcheck, gradgradcheck, no_grad,
};

fn counting(sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product::<usize>() as i64;
    let sizes: Vec<isize> = sizes.iter().map(|size| *size as isize).collect();
    let x = Tensor::arange(0, count, 1, DType::F64).unwrap();
    x.reshape(&sizes).unwrap()
}

fn values(variable: &Variable) -> Vec<f64> {
    variable.value().detach().to_vec::<f64>().unwrap()
}

fn doubled(variable: &Variable) -> Result<Written, Error> {
    variable.update("mul", |x| x.mul(2))
}

#[test]
fn every_view_sees_a_write_and_a_value_does_not() {
    let x = Variable::new(counting(&[2, 3]));
    let row = x.view(|x| x.select(0, 1)).unwrap();
    let turned = x.view(|x| x.transpose(0, 1)).unwrap();
    let (before, place) = (x.value(), x.value().address());
    row.assign("fill_", &[], 9).unwrap();
    assert_eq!(values(&x), [0.0, 1.0, 2.0, 9.0, 9.0, 9.0]);
    assert_eq!(values(&turned), [0.0, 9.0, 1.0, 9.0, 2.0, 9.0]);
    assert_eq!(
        before.to_vec::<f64>().unwrap(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    assert_ne!(x.value().address(), place, "the value kept the memory");
    // Nobody holds it any more.
    drop(before);
    let place = x.value().address();
    turned.assign("setitem", &[Index::At(0)], 7).unwrap();
    doubled(&row).unwrap();
    assert_eq!(values(&x), [7.0, 1.0, 2.0, 14.0, 18.0, 18.0]);
    assert_eq!(x.value().address(), place);
}

#[test]
fn a_reshape_that_copies_is_a_variable_of_its_own() {
    let x = Variable::new(counting(&[2, 3]));
    let flat = x.view(|x| x.transpose(0, 1)?.reshape(&[-1])).unwrap();
    doubled(&flat).unwrap();
    assert_eq!(values(&x), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn large_tensors_are_changed_a_piece_at_a_time() {
    for sizes in [
        vec![700_000],
        vec![3, 200_000],
        vec![5, 7, 9001],
        vec![400, 1, 1000],
    ] {
        let x = Variable::new(counting(&sizes));
        let turned = x
            .view(|x| x.permute(&(0..sizes.len() as isize).rev().collect::<Vec<_>>()))
            .unwrap();
        let step = Tensor::full(&[1], 3, DType::F64).unwrap();
        let add = |variable: &Variable| {
            variable.update_with("add", vec![step.clone()], true, |own, rest| {
                own.add(&rest[0])
            })
        };
        add(&x).unwrap();
        add(&turned).unwrap();
        // Itself as an operand, element by element.
        let itself = x.value();
        x.update_with("add", vec![itself], true, |own, rest| own.add(&rest[0]))
            .unwrap();
        let want: Vec<f64> = (0..sizes.iter().product::<usize>())
            .map(|i| (i as f64 + 6.0) * 2.0)
            .collect();
        assert_eq!(values(&x), want, "{sizes:?}");
    }
}

#[test]
fn what_is_read_in_another_order_is_read_beforehand() {
    let n = 600;
    let x = Variable::new(counting(&[n, n]));
    let turned = x.value().transpose(0, 1).unwrap();
    x.update_with("add", vec![turned], true, |own, rest| own.add(&rest[0]))
        .unwrap();
    let want: Vec<f64> = (0..n * n)
        .map(|i| (i + (i % n) * n + i / n) as f64)
        .collect();
    assert_eq!(values(&x), want);
}

#[test]
fn elements_that_share_memory_are_not_written() {
    let x = Variable::new(counting(&[3, 1]));
    let repeated = x.view(|x| x.expand(&[3, 4])).unwrap();
    let error = repeated.assign("fill_", &[], 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert_eq!(values(&x), [0.0, 1.0, 2.0]);
}

#[test]
fn dtype_and_shape_stay() {
    let x = Variable::new(Tensor::arange(0, 3, 1, DType::I32).unwrap());
    let kind = |error: Error| error.kind();
    let float = x.update("div", |x| x.div(2)).map_err(kind);
    assert_eq!(float.unwrap_err(), ErrorKind::Dtype);
    let wider = x.update("expand", |x| x.expand(&[2, 3])).map_err(kind);
    assert_eq!(wider.unwrap_err(), ErrorKind::Value);
    x.update("add", |x| x.to(DType::I64)?.add(1_i64 << 32))
        .unwrap();
    assert_eq!(x.value().dtype(), DType::I32);
    assert_eq!(x.value().to_vec::<i32>().unwrap(), [0, 1, 2]);
}

#[test]
fn threads_lose_no_write() {
    for count in [10, 300_000] {
        let x = Arc::new(Variable::new(Tensor::zeros(&[count], DType::F32).unwrap()));
        let half = x.view(|x| x.narrow(0, 0, count / 2)).map(Arc::new).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        x.update_with("add", vec![], true, |x, _| x.add(1)).unwrap();
                        half.update_with("add", vec![], true, |x, _| x.add(1))
                            .unwrap();
                    }
                });
            }
        });
        let got = x.value().to_vec::<f32>().unwrap();
        assert!(got[..count / 2].iter().all(|value| *value == 400.0));
        assert!(got[count / 2..].iter().all(|value| *value == 200.0));
    }
}

#[test]
fn leaves_and_their_views_are_written_without_recording_only() {
    let x = Variable::new(counting(&[3]));
    x.requires_grad_(true).unwrap();
    let part = x.view(|x| x.narrow(0, 1, 2)).unwrap();
    for variable in [&x, &part] {
        assert_eq!(doubled(variable).unwrap_err().kind(), ErrorKind::Gradient);
    }
    let unrecorded = {
        let _off = no_grad();
        let unrecorded = x.view(|x| x.narrow(0, 0, 1)).unwrap();
        doubled(&part).unwrap();
        unrecorded
    };
    assert_eq!(values(&x), [0.0, 2.0, 4.0]);
    assert!(x.value().is_leaf() && x.value().requires_grad());
    assert_eq!(
        doubled(&unrecorded).unwrap_err().kind(),
        ErrorKind::Gradient
    );
    // What is detached is seen, and not recorded.
    doubled(&x.detach().unwrap()).unwrap();
    assert_eq!(values(&x), [0.0, 4.0, 8.0]);
}

/// Writes through views of views, of values that depend on both, as a function of two leaves.
fn rewritten(inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let x = Variable::new(inputs[0].mul(1.0)?);
    let step = |start, stop, step| Index::Range(Slice { start, stop, step });
    let turned = x.view(|x| x.transpose(0, 1))?;
    let odd = turned.view(|x| x.index(&[step(Some(1), None, 2)]))?;
    let _ = odd.update("mul", |odd| odd.mul(&inputs[1]))?;
    let row = x.view(|x| x.select(0, -1))?;
    let _ = row.assign(
        "setitem",
        &[step(None, Some(2), 1)],
        &x.value().select(1, 0)?,
    )?;
    let early = turned.value().square()?;
    let _ = x.update("sin", Tensor::sin)?;
    let diagonal = x.view(|x| x.diagonal(0, 0, 1))?;
    let _ = diagonal.update("mul", |d| d.mul(&row.value().select(0, 1)?))?;
    Ok(vec![x.value(), turned.value(), early, row.value()])
}

#[test]
fn gradients_of_both_orders_are_those_of_differences() {
    let leaf = |sizes: &[usize], by: f64| {
        let x = counting(sizes).mul(by).unwrap().add(0.3).unwrap();
        x.requires_grad_(true).unwrap()
    };
    let inputs = [leaf(&[2, 4], 0.17), leaf(&[2], 0.4)];
    gradcheck(&rewritten, &inputs, Default::default()).unwrap();
    gradgradcheck(&rewritten, &inputs, Default::default()).unwrap();
}

#[test]
fn real_and_imaginary_parts_are_views() {
    let parts = |inputs: &[Tensor]| {
        let z = Variable::new(inputs[0].mul(1.0)?);
        let real = z.view(Tensor::real_view)?;
        let _ = real.update("mul", |x| x.mul(x))?;
        let pairs = z.view(|z| z.view_as_real())?;
        let _ = pairs.assign("setitem", &[Index::At(0)], &inputs[1])?;
        let back = pairs.view(|x| x.view_as_complex())?;
        let _ = back.update("exp", Tensor::exp)?;
        Ok(vec![z.value().view_as_real()?, real.value()])
    };
    let z = counting(&[3, 2])
        .mul(0.3)
        .unwrap()
        .view_as_complex()
        .unwrap();
    let inputs = [
        z.copied().unwrap().requires_grad_(true).unwrap(),
        counting(&[2]).requires_grad_(true).unwrap(),
    ];
    gradcheck(&parts, &inputs, Default::default()).unwrap();
}

#[test]
fn gradients_are_added_up_where_they_are_seen() {
    let w = counting(&[3]).requires_grad_(true).unwrap();
    let pass = || {
        let loss = w.mul(&w).unwrap().sum(None, false, None).unwrap();
        backward(&[&loss], &[None], None, BackwardOptions::default()).unwrap();
    };
    pass();
    let gradient = w.grad_variable().unwrap().unwrap();
    doubled(&gradient.view(|g| g.narrow(0, 2, 1)).unwrap()).unwrap();
    pass();
    assert_eq!(values(&gradient), [0.0, 4.0, 12.0]);
    assert_eq!(w.grad().unwrap().to_vec::<f64>().unwrap(), [0.0, 4.0, 12.0]);
}

#[test]
fn passes_at_once_lose_no_gradient() {
    let w = Tensor::ones(&[4], DType::F32)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let loss = w.mul(2).unwrap().sum(None, false, None).unwrap();
                    backward(&[&loss], &[None], None, BackwardOptions::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(w.grad().unwrap().to_vec::<f32>().unwrap(), [800.0; 4]);
}
