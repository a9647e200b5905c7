//! Gradients of eigenvalues, singular values and what is made of them.

use crate::checks::matrices::{SQUARE, check_matrices, hermitian, squares, strong, turned};
use crate::checks::{check, check_narrow, complex_leaf, leaf, uniform};
use allotrope_dtype::DType;
use allotrope_tensor::Tensor;
use allotrope_tensor::linalg::{self, Order, Tolerance, Triangle};

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
