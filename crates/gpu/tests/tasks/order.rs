//! Sorting, selection, what is unique, searches.

use allotrope_dtype::DType;
use allotrope_tensor::{Beside, Edges, Search, Tensor};

use crate::support::{check, check_all, numbers};

fn reals() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|d| !d.is_complex())
}

/// Numbers with NaN, infinities and zeros of both signs among them, some of them twice.
fn specials(dtype: DType, shape: &[usize]) -> Tensor {
    let x = numbers(dtype, shape);
    if !dtype.is_floating_point() {
        return x;
    }
    let count: usize = shape.iter().product();
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let values: Vec<f64> = (0..count).map(|i| special[i * 5 % 7]).collect();
    let is_special: Vec<f64> = (0..count)
        .map(|i| f64::from(u8::from(i % 3 == 0)))
        .collect();
    let values = Tensor::from_slice(&values, shape).unwrap();
    let is_special = Tensor::from_slice(&is_special, shape)
        .unwrap()
        .gt(0)
        .unwrap();
    is_special.where_(&values.to(dtype).unwrap(), &x).unwrap()
}

#[test]
fn sorts() {
    for dtype in reals() {
        for shape in [[7, 10], [3, 700], [1, 5000]] {
            let x = specials(dtype, &shape);
            for descending in [false, true] {
                check_all("sort", &[&x], 0.0, |x| {
                    let (values, indices) = x[0].sort(1, descending)?;
                    Ok(vec![values, indices, x[0].argsort(1, descending)?])
                });
            }
            check_all("columns", &[&x], 0.0, |x| {
                let (values, indices) = x[0].sort(0, false)?;
                Ok(vec![values, indices, x[0].msort()?])
            });
        }
    }
}

#[test]
fn selections() {
    for dtype in reals() {
        for shape in [[7, 11], [3, 700]] {
            let x = specials(dtype, &shape);
            check_all("topk", &[&x], 0.0, |x| {
                let (a, b) = x[0].topk(5, 1, true, true)?;
                let (c, d) = x[0].topk(5, 1, false, true)?;
                Ok(vec![a, b, c, d])
            });
            check_all("kthvalue", &[&x], 0.0, |x| {
                let (a, b) = x[0].kthvalue(4, 1, false)?;
                Ok(vec![a, b])
            });
            for x in [&x, &numbers(dtype, &shape)] {
                check_all("median", &[x], 0.0, |x| {
                    let (a, b) = x[0].median(1, false)?;
                    let (c, d) = x[0].nanmedian(1, false)?;
                    Ok(vec![a, b, c, d])
                });
            }
        }
    }
}

#[test]
fn uniques() {
    for dtype in reals() {
        for shape in [[1, 20], [10, 70]] {
            let x = specials(dtype, &shape);
            check_all("unique", &[&x], 0.0, |x| {
                let unique = x[0].unique(None)?;
                let beside = Beside::default();
                let alone = x[0].unique_with(None, beside)?;
                Ok(vec![
                    unique.values,
                    unique.inverse,
                    unique.counts,
                    alone.values,
                ])
            });
            check_all("unique_consecutive", &[&x], 0.0, |x| {
                let (inverse, counts) = (true, true);
                let found = x[0].reshape(&[-1])?;
                let found = found.unique_consecutive(None, Beside { inverse, counts })?;
                Ok(vec![found.values, found.inverse, found.counts])
            });
        }
    }
}

#[test]
fn searches() {
    for dtype in reals() {
        let x = specials(dtype, &[3, 40]);
        let values = numbers(dtype, &[3, 9]);
        for right in [false, true] {
            check("searchsorted", &[&x, &values], 0.0, |x| {
                let options = Search {
                    right,
                    ..Default::default()
                };
                let sorted = x[0].sort(1, false)?.0;
                sorted.searchsorted(&x[1], None, options)
            });
        }
        for invert in [false, true] {
            check("isin", &[&x, &values], 0.0, |x| x[0].isin(&x[1], invert));
        }
    }
    let edges = Tensor::from_slice(&[-1.0_f32, 0.0, 0.5, 1.5], &[4]).unwrap();
    let x = specials(DType::F32, &[50]);
    check_all("histogram", &[&x, &edges], 0.0, |x| {
        let (counts, edges) = x[0].histogram(Edges::Given(&x[1]), None, false)?;
        Ok(vec![counts, edges])
    });
}

#[test]
fn the_greatest_so_far() {
    for dtype in reals() {
        for shape in [[7, 10], [2, 700]] {
            for x in [specials(dtype, &shape), numbers(dtype, &shape)] {
                check_all("cummax", &[&x], 0.0, |x| {
                    let (a, b) = x[0].cummax(1)?;
                    let (c, d) = x[0].cummin(1)?;
                    Ok(vec![a, b, c, d])
                });
            }
        }
    }
}
