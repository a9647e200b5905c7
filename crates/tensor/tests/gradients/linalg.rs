//! Gradients of linear algebra.

use crate::checks::matrices::{SQUARE, check_matrices, hermitian, strong};
use crate::checks::{Function, check, check_narrow, complex_leaf, leaf};
use allotrope_dtype::ErrorKind;
use allotrope_tensor::linalg::{self, QrMode};
use allotrope_tensor::{GradcheckOptions, Tensor, gradcheck};

#[test]
fn solutions() {
    type Sizes<'a> = (&'a [usize], &'a [usize], bool);
    let cases: [Sizes<'_>; 6] = [
        (&[3, 3], &[3, 2], true),
        (&[3, 3], &[2, 3], false),
        (&[3, 3], &[3], true),
        (&[2, 1, 2, 2], &[3, 2, 1], true),
        (&[2, 2, 2], &[2, 2], true),
        (&[2, 2], &[3, 1, 2], false),
    ];
    for (a, b, left) in cases {
        let function = |x: &[Tensor]| {
            let a = strong(&x[0])?;
            Ok(vec![
                linalg::solve(&a, &x[1], left)?,
                linalg::solve_ex(&a, &x[1], left)?.0,
            ])
        };
        let what = format!("solve {a:?} {b:?}");
        check(&what, function, &[leaf(a, 1), leaf(b, 2)]);
        check(&what, function, &[complex_leaf(a, 3), complex_leaf(b, 4)]);
        check(&what, function, &[leaf(a, 5), complex_leaf(b, 6)]);
    }
    let function = |x: &[Tensor]| Ok(vec![linalg::solve(&strong(&x[0])?, &x[1], true)?]);
    check_narrow("solve", function, &[leaf(&[3, 3], 7), leaf(&[3, 2], 8)]);
}

#[test]
fn triangular_solutions() {
    for upper in [true, false] {
        for left in [true, false] {
            for unit in [true, false] {
                let function = |x: &[Tensor]| {
                    let a = strong(&x[0])?;
                    Ok(vec![linalg::solve_triangular(
                        &a, &x[1], upper, left, unit,
                    )?])
                };
                let what = format!("solve_triangular {upper} {left} {unit}");
                check(&what, function, &[leaf(&[3, 3], 1), leaf(&[2, 3, 3], 2)]);
                let inputs = [complex_leaf(&[2, 2, 2], 3), complex_leaf(&[2, 2], 4)];
                check(&what, function, &inputs);
            }
        }
    }
}

#[test]
fn inverses_and_determinants() {
    check_matrices(
        &SQUARE,
        &[
            ("inv", |x| {
                let a = strong(&x[0])?;
                Ok(vec![linalg::inv(&a)?, linalg::inv_ex(&a)?.0])
            }),
            ("det", |x| {
                Ok(vec![linalg::det(&x[0])?, linalg::det(&strong(&x[0])?)?])
            }),
            ("slogdet", |x| {
                let (sign, logarithm) = linalg::slogdet(&x[0])?;
                Ok(vec![sign.mul(1)?, logarithm])
            }),
            ("matrix_power", |x| {
                let a = strong(&x[0])?.mul(0.25)?;
                Ok(vec![
                    linalg::matrix_power(&a, 3)?,
                    linalg::matrix_power(&a, -2)?,
                    linalg::matrix_power(&a, 1)?,
                    linalg::matrix_power(&a, 0)?.mul(&x[0])?,
                ])
            }),
            ("matrix_exp", |x| {
                Ok(vec![linalg::matrix_exp(&x[0].mul(0.5)?)?])
            }),
        ],
    );
    let narrow: [(&str, Function); 4] = [
        ("inv", |x| Ok(vec![linalg::inv(&strong(&x[0])?)?])),
        ("det", |x| Ok(vec![linalg::det(&strong(&x[0])?)?])),
        ("slogdet", |x| Ok(vec![linalg::slogdet(&strong(&x[0])?)?.1])),
        ("matrix_exp", |x| {
            Ok(vec![linalg::matrix_exp(&x[0].mul(0.5)?)?])
        }),
    ];
    for (what, function) in narrow {
        check_narrow(what, function, &[leaf(&[3, 3], 7)]);
    }
}

/// The gradient of a determinant is that of its cofactors, of which a singular matrix may have some.
#[test]
fn determinants_of_singular_matrices() {
    let first = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0]].concat();
    let second = [[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 3.0, 1.0]].concat();
    let a = Tensor::from_slice(&[first, second].concat(), &[2, 3, 3]).unwrap();
    assert_eq!(linalg::det(&a).unwrap().to_vec::<f64>().unwrap(), [0.0; 2]);
    let a = a.requires_grad_(true).unwrap();
    let options = GradcheckOptions::default();
    gradcheck(&|x| Ok(vec![linalg::det(&x[0])?]), &[a], options).unwrap();
}

#[test]
fn triangular_roots() {
    check_matrices(
        &SQUARE,
        &[
            ("cholesky", |x| {
                let a = hermitian(&x[0])?;
                Ok(vec![
                    linalg::cholesky(&a, false)?,
                    linalg::cholesky(&a, true)?,
                    linalg::cholesky_ex(&a, false)?.0,
                ])
            }),
            ("cholesky_solve", |x| {
                let root = strong(&x[0])?;
                Ok(vec![
                    linalg::cholesky_solve(&x[0], &root.tril(0)?, false)?,
                    linalg::cholesky_solve(&x[0], &root.triu(0)?, true)?,
                    linalg::cholesky_inverse(&root.tril(0)?, false)?,
                ])
            }),
        ],
    );
    let function = |x: &[Tensor]| Ok(vec![linalg::cholesky(&hermitian(&x[0])?, false)?]);
    check_narrow("cholesky", function, &[leaf(&[3, 3], 3)]);
}

#[test]
fn triangles_and_bases() {
    let every: [&[usize]; 4] = [&[3, 3], &[2, 4], &[4, 2], &[2, 2, 3]];
    check_matrices(
        &every,
        &[
            ("lu", |x| {
                let (_, l, u) = linalg::lu(&strong(&x[0])?, true)?;
                let (_, plain, other) = linalg::lu(&strong(&x[0])?, false)?;
                Ok(vec![l, u, plain, other])
            }),
            ("lu of exchanged rows", |x| {
                let (_, l, u) = linalg::lu(&strong(&x[0])?.flip(&[-2])?, true)?;
                Ok(vec![l, u])
            }),
            ("lu_factor", |x| {
                Ok(vec![
                    linalg::lu_factor(&strong(&x[0])?.flip(&[-2])?, true)?.0,
                ])
            }),
            ("qr", |x| {
                let (q, r) = linalg::qr(&strong(&x[0])?, QrMode::Reduced)?;
                let only = linalg::qr(&strong(&x[0])?, QrMode::R)?.1;
                Ok(vec![q, r, only])
            }),
        ],
    );
    check_matrices(
        &SQUARE,
        &[
            ("complete qr", |x| {
                let (q, r) = linalg::qr(&strong(&x[0])?, QrMode::Complete)?;
                Ok(vec![q, r])
            }),
            ("lu_solve", |x| {
                let a = strong(&x[0])?.flip(&[-2])?;
                let (factors, pivots) = linalg::lu_factor(&a, true)?;
                let fixed = strong(&x[0].zeros_like()?.add(0.3)?)?;
                let (fixed, rows) = linalg::lu_factor(&fixed.flip(&[-2])?, true)?;
                let mut all = Vec::new();
                for left in [true, false] {
                    for adjoint in [true, false] {
                        for (factors, pivots) in [(&factors, &pivots), (&fixed, &rows)] {
                            let b = &x[0];
                            all.push(linalg::lu_solve(factors, pivots, b, left, adjoint)?);
                        }
                    }
                }
                Ok(all)
            }),
        ],
    );
    check_matrices(
        &[&[3, 2], &[2, 3, 3]],
        &[("householder_product", |x| {
            let scales = x[0].select(-2, 0)?;
            Ok(vec![linalg::householder_product(&x[0], &scales)?])
        })],
    );
    let tall = leaf(&[3, 2], 1);
    let (q, _) = linalg::qr(&tall, QrMode::Complete).unwrap();
    let error = q.sum(None, false, None).unwrap().backward().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gradient);
    let function = |x: &[Tensor]| {
        let (q, r) = linalg::qr(&strong(&x[0])?, QrMode::Reduced)?;
        Ok(vec![q, r])
    };
    check_narrow("qr", function, &[leaf(&[3, 3], 2)]);
}
