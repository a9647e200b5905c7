//! Gradients of linear algebra.

mod gradient_checks;

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_tensor::linalg::{self, Order, QrMode, Tolerance, Triangle};
use allotrope_tensor::{GradcheckOptions, Tensor, gradcheck};
use gradient_checks::{Function, check, check_narrow, complex_leaf, leaf, uniform};

/// Matrices with a large diagonal, whose inverses are small.
fn strong(x: &Tensor) -> Result<Tensor, Error> {
    let (rows, columns) = (x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]);
    x.add(&Tensor::eye(rows, columns, x.dtype())?.mul(4.0)?)
}

fn turned(x: &Tensor) -> Result<Tensor, Error> {
    x.transpose(-2, -1)?.conj()
}

/// Hermitian matrices with positive eigenvalues that differ.
fn hermitian(x: &Tensor) -> Result<Tensor, Error> {
    let steps = Tensor::arange(0, x.shape()[x.rank() - 1] as i64, 1, x.dtype())?.mul(2.0)?;
    let sum = x.add(&turned(x)?)?.mul(0.5)?;
    sum.add(&steps.add(6.0)?.diag(0)?)
}

/// The squares of magnitudes, which have no phase.
fn squares(x: &Tensor) -> Result<Tensor, Error> {
    if x.dtype().is_complex() {
        x.mul(&x.conj()?)?.real()
    } else {
        x.square()
    }
}

fn check_matrices(sizes: &[&[usize]], cases: &[(&str, Function)]) {
    for (what, function) in cases {
        for sizes in sizes {
            check(what, function, &[leaf(sizes, 1)]);
            check(what, function, &[complex_leaf(sizes, 2)]);
        }
    }
}

const SQUARE: [&[usize]; 2] = [&[3, 3], &[2, 2, 2]];

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

#[test]
fn spectra() {
    check_matrices(
        &SQUARE,
        &[
            ("eigh", |x| {
                let a = hermitian(&x[0])?;
                let (values, vectors) = linalg::eigh(&a, Triangle::Lower)?;
                let again = vectors.mul(&values.square()?.unsqueeze(-2)?)?;
                Ok(vec![
                    values,
                    squares(&vectors)?,
                    again.matmul(&turned(&vectors)?)?,
                ])
            }),
            ("eigvalsh", |x| {
                let a = hermitian(&x[0])?;
                Ok(vec![
                    linalg::eigvalsh(&a, Triangle::Upper)?,
                    linalg::eigh(&a, Triangle::Upper)?.0,
                ])
            }),
            ("eig", |x| {
                let steps = Tensor::arange(0, x[0].shape()[x[0].rank() - 1] as i64, 1, DType::F64)?;
                let a = x[0].mul(0.5)?.add(&steps.mul(3.0)?.diag(0)?)?;
                let (values, vectors) = linalg::eig(&a)?;
                Ok(vec![values, squares(&vectors)?, linalg::eigvals(&a)?])
            }),
        ],
    );
    let every: [&[usize]; 4] = [&[3, 3], &[2, 4], &[4, 2], &[2, 2, 3]];
    check_matrices(
        &every,
        &[
            ("svd", |x| {
                let (u, s, vh) = linalg::svd(&x[0], false)?;
                let again = u.mul(&s.square()?.unsqueeze(-2)?)?.matmul(&vh)?;
                Ok(vec![squares(&u)?, s, squares(&vh)?, again])
            }),
            ("singular values", |x| {
                let s = linalg::svd(&x[0], true)?.1;
                Ok(vec![linalg::svdvals(&x[0])?, s])
            }),
        ],
    );
    let function = |x: &[Tensor]| {
        let (values, vectors) = linalg::eigh(&hermitian(&x[0])?, Triangle::Lower)?;
        Ok(vec![values, squares(&vectors)?])
    };
    check_narrow("eigh", function, &[leaf(&[3, 3], 3)]);
    let values = |x: &[Tensor]| Ok(vec![linalg::svdvals(&x[0])?]);
    check_narrow("svdvals", values, &[leaf(&[3, 4], 4)]);
}

/// Equal eigenvalues have no gradient of their vectors, but one of their own.
#[test]
fn equal_eigenvalues() {
    let a = Tensor::eye(3, 3, DType::F64)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let sum = linalg::eigh(&a, Triangle::Lower).unwrap().0;
    sum.sum(None, false, None).unwrap().backward().unwrap();
    let eye = Tensor::eye(3, 3, DType::F64).unwrap();
    assert!(a.grad().unwrap().allclose(&eye, 0.0, 1e-12, false).unwrap());
}

#[test]
fn least_squares_and_norms() {
    let every: [&[usize]; 3] = [&[3, 3], &[2, 3], &[2, 3, 2]];
    check_matrices(
        &every,
        &[
            ("pinv", |x| {
                Ok(vec![linalg::pinv(
                    &strong(&x[0])?,
                    &Tolerance::default(),
                    false,
                )?])
            }),
            ("cond", |x| Ok(vec![linalg::cond(&x[0], None)?])),
            ("matrix_norm", |x| {
                let orders = [
                    Order::Frobenius,
                    Order::Nuclear,
                    Order::Number(1.0),
                    Order::Number(-1.0),
                    Order::Number(2.0),
                    Order::Number(-2.0),
                    Order::Number(f64::INFINITY),
                ];
                let norm = |order| linalg::matrix_norm(&x[0], order, &[-1, -2], false, None);
                orders.into_iter().map(norm).collect()
            }),
            ("vector_norm", |x| {
                Ok(vec![
                    linalg::vector_norm(&x[0], 2.0, None, false, None)?,
                    linalg::vector_norm(&x[0], 3.5, Some(&[-1]), true, None)?,
                    linalg::norm(&x[0], None, Some(&[0]), false, None)?,
                ])
            }),
        ],
    );
    check_matrices(
        &SQUARE,
        &[
            ("cond by inverses", |x| {
                let a = strong(&x[0])?;
                let orders = [Order::Frobenius, Order::Number(1.0)];
                orders
                    .into_iter()
                    .map(|order| linalg::cond(&a, Some(order)))
                    .collect()
            }),
            ("pinv of Hermitian ones", |x| {
                Ok(vec![linalg::pinv(
                    &hermitian(&x[0])?,
                    &Tolerance::default(),
                    true,
                )?])
            }),
        ],
    );
    for (a, b) in [
        (&[4, 2][..], &[4, 3][..]),
        (&[2, 3], &[2]),
        (&[2, 3, 2], &[2, 3, 1]),
    ] {
        let function = |x: &[Tensor]| {
            let found = linalg::lstsq(&strong(&x[0])?, &x[1], None)?;
            Ok(vec![found.solution, found.residuals, found.singular_values])
        };
        check("lstsq", function, &[leaf(a, 1), leaf(b, 2)]);
        check("lstsq", function, &[complex_leaf(a, 3), complex_leaf(b, 4)]);
    }
    let equations = |x: &[Tensor]| {
        let a = x[0]
            .add(&Tensor::eye(4, 4, DType::F64)?.mul(4.0)?)?
            .reshape(&[2, 2, 4])?;
        Ok(vec![
            linalg::tensorsolve(&a, &x[1], None)?,
            linalg::tensorinv(&a, 2)?,
        ])
    };
    let inputs = [leaf(&[4, 4], 5), leaf(&[2, 2], 6)];
    check("tensorsolve and tensorinv", equations, &inputs);
    let wide = uniform(&[3, 2], -2.0, 2.0, 9).requires_grad_(true).unwrap();
    let function = |x: &[Tensor]| {
        Ok(vec![linalg::pinv(
            &strong(&x[0])?,
            &Tolerance::default(),
            false,
        )?])
    };
    check_narrow("pinv", function, &[wide]);
}
