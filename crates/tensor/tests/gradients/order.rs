//! Gradients of what is found by order, and of running totals.

use crate::checks::{check, check_all, check_narrow, check_real, leaf};
use allotrope_tensor::{QuantileInterpolation, Tensor};

#[test]
fn elements_by_their_rank() {
    check_real(
        &[2, 5, 3],
        &[
            ("sort", |x| {
                let values = [x[0].sort(1, false)?.0, x[0].sort(-1, true)?.0];
                Ok(vec![values[0].clone(), values[1].clone(), x[0].msort()?])
            }),
            ("sort of a turned one", |x| {
                Ok(vec![x[0].transpose(0, 1)?.sort(0, false)?.0])
            }),
            ("topk", |x| {
                Ok(vec![
                    x[0].topk(2, 1, true, true)?.0,
                    x[0].topk(1, -1, false, false)?.0,
                    x[0].topk(0, 0, true, true)?.0,
                ])
            }),
            ("kthvalue", |x| {
                Ok(vec![
                    x[0].kthvalue(2, 1, false)?.0,
                    x[0].kthvalue(1, -1, true)?.0,
                ])
            }),
            ("median", |x| {
                Ok(vec![
                    x[0].median(1, false)?.0,
                    x[0].median(0, true)?.0,
                    x[0].nanmedian(2, false)?.0,
                    x[0].median_of_all()?,
                    x[0].nanmedian_of_all()?,
                ])
            }),
            ("mode", |x| {
                Ok(vec![x[0].mode(1, false)?.0, x[0].mode(-1, true)?.0])
            }),
            ("cummax and cummin", |x| {
                Ok(vec![x[0].cummax(1)?.0, x[0].cummin(0)?.0])
            }),
        ],
    );
    let single = |x: &[Tensor]| {
        Ok(vec![
            x[0].sort(0, false)?.0,
            x[0].topk(1, 0, true, true)?.0,
            x[0].median(0, true)?.0,
            x[0].cummax(0)?.0,
            x[0].cumsum(0, None)?,
            x[0].cumprod(0, None)?,
        ])
    };
    check("of one element", single, &[leaf(&[], 1)]);
}

/// Equal elements: each gradient goes to the place that is given with the value.
#[test]
fn equal_elements() {
    let x = Tensor::from_slice(&[2.0_f32, 1.0, 2.0, 2.0], &[4]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let weights = Tensor::from_slice(&[1.0_f32, 2.0, 4.0, 8.0], &[4]).unwrap();
    let sum = |values: Tensor| {
        values
            .mul(&weights)
            .unwrap()
            .sum(None, false, None)
            .unwrap()
    };
    for (values, expected) in [
        (x.sort(0, false).unwrap().0, [2.0, 1.0, 4.0, 8.0]),
        (x.cummax(0).unwrap().0, [3.0, 0.0, 4.0, 8.0]),
        (x.cummin(0).unwrap().0, [1.0, 14.0, 0.0, 0.0]),
    ] {
        x.set_grad(None).unwrap();
        sum(values).backward().unwrap();
        assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), expected);
    }
    let rows = leaf(&[3], 1);
    let repeated = rows.unsqueeze(1).unwrap().expand(&[3, 4]).unwrap();
    let sorted = repeated.sort(1, true).unwrap().0;
    let total = sorted.sum(None, false, None).unwrap();
    total.backward().unwrap();
    assert_eq!(rows.grad().unwrap().to_vec::<f64>().unwrap(), [4.0; 3]);
}

#[test]
fn quantiles() {
    for interpolation in [
        QuantileInterpolation::Linear,
        QuantileInterpolation::Lower,
        QuantileInterpolation::Higher,
        QuantileInterpolation::Midpoint,
        QuantileInterpolation::Nearest,
    ] {
        let several = Tensor::from_slice(&[0.1_f64, 0.52, 0.77], &[3]).unwrap();
        let several = several.requires_grad_(true).unwrap();
        let one = Tensor::from_slice(&[0.3_f64], &[]).unwrap();
        let function = |x: &[Tensor]| {
            Ok(vec![
                x[0].quantile(&x[1], Some(1), false, interpolation)?,
                x[0].quantile(&x[1], Some(0), true, interpolation)?,
                x[0].quantile(&one, None, true, interpolation)?,
                x[0].nanquantile(&x[1], Some(-1), false, interpolation)?,
            ])
        };
        let what = format!("quantile {interpolation:?}");
        check(&what, function, &[leaf(&[3, 4, 2], 1), several]);
        let narrow = |x: &[Tensor]| Ok(vec![x[0].quantile(&one, Some(0), false, interpolation)?]);
        check_narrow(&what, narrow, &[leaf(&[6, 2], 2)]);
    }
}

#[test]
fn running_totals() {
    check_all(
        &[3, 5, 2],
        &[
            ("cumsum", |x| {
                Ok(vec![
                    x[0].cumsum(1, None)?,
                    x[0].transpose(0, 2)?.cumsum(-1, None)?,
                ])
            }),
            ("cumprod", |x| {
                Ok(vec![x[0].cumprod(1, None)?, x[0].cumprod(0, None)?])
            }),
            ("cumulative_sum", |x| {
                Ok(vec![
                    x[0].cumulative_sum(Some(1), None, true)?,
                    x[0].cumulative_prod(Some(2), None, true)?,
                ])
            }),
        ],
    );
    check_real(
        &[3, 5, 2],
        &[("logcumsumexp", |x| {
            Ok(vec![
                x[0].logcumsumexp(1)?,
                x[0].mul(20.0)?.logcumsumexp(-1)?,
            ])
        })],
    );
    check_real(
        &[2, 20],
        &[("along rows", |x| {
            let x = x[0].t()?;
            Ok(vec![
                x.cumprod(0, None)?,
                x.cumsum(0, None)?,
                x.logcumsumexp(0)?,
            ])
        })],
    );
    check_real(
        &[1, 17],
        &[("of rows", |x| Ok(vec![x[0].cumprod(0, None)?]))],
    );
    let long = leaf(&[2, 40], 4);
    check_narrow(
        "cumsum",
        |x| Ok(vec![x[0].cumsum(1, None)?]),
        std::slice::from_ref(&long),
    );
    check_narrow("logcumsumexp", |x| Ok(vec![x[0].logcumsumexp(1)?]), &[long]);
    let few = leaf(&[2, 6], 5);
    check_narrow("cumprod", |x| Ok(vec![x[0].cumprod(1, None)?]), &[few]);
}

#[test]
fn running_products_with_zeros() {
    let values = [1.5, 0.0, -2.0, 3.0, 0.0, 0.0, 4.0, 2.0];
    let x = Tensor::from_slice(&values, &[2, 4]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let function = |x: &[Tensor]| Ok(vec![x[0].cumprod(1, None)?, x[0].cumprod(0, None)?]);
    check("cumprod", function, &[x]);
}

/// Steps that are too far apart for the exponential function.
#[test]
fn logarithms_of_far_sums() {
    let x = Tensor::from_slice(&[1000.0_f64, -1000.0, f64::NEG_INFINITY, 0.0], &[4]).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let sums = x.logcumsumexp(0).unwrap().sum(None, false, None).unwrap();
    sums.backward().unwrap();
    assert_eq!(
        x.grad().unwrap().to_vec::<f64>().unwrap(),
        [4.0, 0.0, 0.0, 0.0]
    );
}

#[test]
fn differences_and_integrals() {
    check_all(
        &[3, 5],
        &[
            ("diff", |x| {
                let row = x[0].narrow(1, 0, 2)?;
                Ok(vec![
                    x[0].diff(1, 1, None, None)?,
                    x[0].diff(2, 0, None, None)?,
                    x[0].diff(1, -1, Some(&row), Some(&x[0]))?,
                ])
            }),
            ("trapezoid", |x| {
                Ok(vec![
                    x[0].trapezoid(None, 0.5, 1)?,
                    x[0].cumulative_trapezoid(None, 2.0, 0)?,
                    x[0].trapezoid(Some(&x[0].select(0, 0)?), 1.0, 1)?,
                ])
            }),
        ],
    );
    check_real(
        &[3, 3],
        &[("unique", |x| Ok(vec![x[0].unique(None)?.values]))],
    );
}
