//! Decompositions and solutions of matrices on a second device, and their gradients.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::Backend;
use allotrope_tensor::{Tensor, linalg};
use allotrope_testing::{APART, take_calls};
use linalg::{Order, QrMode, Tolerance, Triangle};

use crate::{Outcome, check, there};

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::BF16, DType::C64];

/// Two matrices of these sizes, far from singular where they are square.
fn matrices(rows: usize, columns: usize, dtype: DType) -> Tensor {
    let count = 2 * rows * columns;
    let x = Tensor::arange(0, count as i64, 1, DType::F64).unwrap();
    let x = x.mul(1.7).unwrap().sin().unwrap();
    let x = x
        .reshape(&[2, rows as isize, columns as isize])
        .unwrap()
        .add(
            &Tensor::eye(rows, columns, DType::F64)
                .unwrap()
                .mul(4)
                .unwrap(),
        )
        .unwrap();
    if !dtype.is_complex() {
        return x.to(dtype).unwrap();
    }
    let imaginary = x.cos().unwrap().to(DType::F32).unwrap();
    Tensor::complex(&x.to(DType::F32).unwrap(), &imaginary).unwrap()
}

/// Hermitian matrices with positive eigenvalues.
fn positive(order: usize, dtype: DType) -> Tensor {
    let x = matrices(order, order, dtype);
    let turned = x.transpose(-2, -1).unwrap();
    let turned = if dtype.is_complex() {
        turned.conj().unwrap()
    } else {
        turned
    };
    let eye = Tensor::eye(order, order, dtype).unwrap();
    let sum = x.add(&turned).unwrap();
    sum.add(&eye.mul(8).unwrap()).unwrap()
}

/// Checks work on matrices of all dtypes, as they are and with turned strides.
fn check_matrices(what: &str, rows: usize, columns: usize, work: impl Fn(&Tensor) -> Outcome) {
    for dtype in DTYPES {
        let x = matrices(rows, columns, dtype);
        check(what, &[&x], |x| work(&x[0]));
        let turned = matrices(columns, rows, dtype);
        check(what, &[&turned], |x| work(&x[0].transpose(1, 2)?));
        check(what, &[&x], |x| work(&x[0].select(0, 1)?));
    }
}

fn check_positive(what: &str, work: impl Fn(&Tensor) -> Outcome) {
    for dtype in DTYPES {
        check(what, &[&positive(4, dtype)], |x| work(&x[0]));
    }
}

#[test]
fn solutions_are_the_same_there() {
    let inverse = |x: &Tensor| linalg::inv(x);
    check_matrices("inv", 3, 3, inverse);
    check_matrices("det", 4, 4, linalg::det);
    check_matrices("sign", 3, 3, |x| Ok(linalg::slogdet(x)?.0));
    check_matrices("logarithm", 3, 3, |x| Ok(linalg::slogdet(x)?.1));
    check_matrices("solve", 3, 3, |x| linalg::solve(x, &x.flip(&[-1])?, true));
    check_matrices("solve from the right", 3, 3, |x| {
        linalg::solve(x, &x.narrow(-2, 0, 2)?, false)
    });
    check_matrices("solve a vector", 3, 3, |x| {
        linalg::solve(x, &x.select(-1, 0)?, true)
    });
    check_matrices("solve_triangular", 3, 3, |x| {
        linalg::solve_triangular(x, &x.flip(&[-1])?, true, true, false)
    });
    check_matrices("lu, P", 4, 3, |x| Ok(linalg::lu(x, true)?.0));
    check_matrices("lu, L", 4, 3, |x| Ok(linalg::lu(x, true)?.1));
    check_matrices("lu, U", 3, 4, |x| Ok(linalg::lu(x, true)?.2));
    check_matrices("lu_factor", 3, 4, |x| Ok(linalg::lu_factor(x, true)?.0));
    check_matrices("pivots", 3, 4, |x| Ok(linalg::lu_factor(x, true)?.1));
    check_matrices("lu_factor_ex", 3, 4, |x| {
        Ok(linalg::lu_factor_ex(x, true)?.2)
    });
    check_matrices("lu_unpack", 4, 3, |x| {
        let (factors, pivots) = linalg::lu_factor(x, true)?;
        Ok(linalg::lu_unpack(&factors, &pivots)?.0)
    });
    check_matrices("lu_solve", 3, 3, |x| {
        let (factors, pivots) = linalg::lu_factor(x, true)?;
        linalg::lu_solve(&factors, &pivots, &x.flip(&[-1])?, true, true)
    });
    check_matrices("inv_ex", 3, 3, |x| Ok(linalg::inv_ex(x)?.1));
    check_matrices("matrix_power", 3, 3, |x| linalg::matrix_power(x, -3));
    check_matrices("matrix_exp", 3, 3, linalg::matrix_exp);
    check_matrices("tensorinv", 3, 3, |x| {
        linalg::tensorinv(&x.select(0, 0)?, 1)
    });
    check_positive("cholesky", |x| linalg::cholesky(x, false));
    check_positive("cholesky, upper", |x| linalg::cholesky(x, true));
    check_positive("cholesky_ex", |x| {
        Ok(linalg::cholesky_ex(&x.neg()?, false)?.1)
    });
    check_positive("cholesky_solve", |x| {
        linalg::cholesky_solve(&x.flip(&[-1])?, &linalg::cholesky(x, false)?, false)
    });
    check_positive("cholesky_inverse", |x| {
        linalg::cholesky_inverse(&linalg::cholesky(x, false)?, false)
    });
}

#[test]
fn spectra_are_the_same_there() {
    check_matrices("qr, Q", 4, 3, |x| Ok(linalg::qr(x, QrMode::Complete)?.0));
    check_matrices("qr, R", 4, 3, |x| Ok(linalg::qr(x, QrMode::R)?.1));
    check_matrices("qr, no Q", 4, 3, |x| Ok(linalg::qr(x, QrMode::R)?.0));
    check_matrices("householder_product", 4, 3, |x| {
        linalg::householder_product(x, &x.select(-2, 0)?)
    });
    check_matrices("svd, U", 4, 3, |x| Ok(linalg::svd(x, true)?.0));
    check_matrices("svd, S", 3, 4, |x| Ok(linalg::svd(x, false)?.1));
    check_matrices("svd, Vh", 3, 4, |x| Ok(linalg::svd(x, false)?.2));
    check_matrices("svdvals", 3, 4, linalg::svdvals);
    check_matrices("eig", 3, 3, |x| Ok(linalg::eig(x)?.1));
    check_matrices("eigvals", 3, 3, linalg::eigvals);
    check_positive("eigh", |x| Ok(linalg::eigh(x, Triangle::Upper)?.1));
    check_positive("eigvalsh", |x| linalg::eigvalsh(x, Triangle::Lower));
    let tolerance = Tolerance::relative(0.1).unwrap();
    check_matrices("pinv", 4, 3, |x| linalg::pinv(x, &tolerance, false));
    check_matrices("usual pinv", 3, 4, |x| {
        linalg::pinv(x, &Tolerance::default(), false)
    });
    check_positive("Hermitian pinv", |x| linalg::pinv(x, &tolerance, true));
    check_matrices("matrix_rank", 4, 3, |x| {
        linalg::matrix_rank(x, &tolerance, false)
    });
    check_matrices("rank of nothing", 0, 3, |x| {
        linalg::matrix_rank(x, &tolerance, false)
    });
    check_matrices("cond", 3, 3, |x| linalg::cond(x, None));
    check_matrices("cond of sums", 3, 3, |x| {
        linalg::cond(x, Some(Order::Number(1.0)))
    });
    for part in 0..4 {
        check_matrices("lstsq", 4, 3, |x| {
            let found = linalg::lstsq(x, &x.flip(&[-1])?, Some(1e-3))?;
            let parts = [
                found.solution,
                found.residuals,
                found.rank,
                found.singular_values,
            ];
            Ok(parts[part].clone())
        });
    }
    for order in [Order::Nuclear, Order::Number(-2.0), Order::Frobenius] {
        check_matrices("matrix_norm", 4, 3, |x| {
            linalg::matrix_norm(x, order, &[-2, -1], false, None)
        });
    }
    check_matrices("cross", 3, 3, |x| linalg::cross(x, &x.flip(&[-1])?, -1));
    check_matrices("vecdot", 3, 3, |x| linalg::vecdot(x, &x.flip(&[-1])?, -1));
}

#[test]
fn matrices_without_an_answer_are_named() {
    let x = Tensor::zeros(&[2, 3, 3], DType::F32).unwrap();
    check("inv", &[&x], |x| linalg::inv(&x[0]));
    check("inv of one", &[&x], |x| linalg::inv(&x[0].select(0, 0)?));
    check("cholesky", &[&x], |x| linalg::cholesky(&x[0], false));
    let nan = x.full_like(f64::NAN).unwrap();
    check("svdvals", &[&nan], |x| linalg::svdvals(&x[0]));
    let pivots = Tensor::from_slice(&[1_i32, 4, 1, 1, 2, 3], &[2, 3]).unwrap();
    check("lu_unpack", &[&x, &pivots], |x| {
        Ok(linalg::lu_unpack(&x[0], &x[1])?.0)
    });
    let apart = there(&x);
    let error = linalg::solve(&apart, &x, true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "linalg.solve: operands on two devices: apart and cpu; one device is accepted"
    );
}

/// The gradient of the sum of squares of what work gives.
fn gradient(x: &Tensor, work: impl Fn(&Tensor) -> Outcome) -> Outcome {
    let x = x.detach().requires_grad_(true)?;
    let y = work(&x)?.abs()?.square()?;
    y.sum(None, false, None)?.backward()?;
    Ok(x.grad().unwrap_or_else(|| panic!("a gradient")))
}

/// Checks that gradients are the same on both devices but for the order of sums in products, and
/// where their tensors are.
fn check_gradient(what: &str, x: &Tensor, work: impl Fn(&Tensor) -> Outcome) {
    let want = gradient(x, &work).unwrap();
    let got = gradient(&there(x), &work).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(got.backend().name(), APART.name(), "{what}");
    assert_eq!(
        (got.dtype(), got.shape()),
        (want.dtype(), want.shape()),
        "{what}"
    );
    let tolerance = match got.dtype() {
        DType::F64 => 1e-10,
        DType::BF16 => 2e-2,
        _ => 1e-3,
    };
    let wide = |x: &Tensor| x.to_backend(&CPU).unwrap().to(DType::C128).unwrap();
    let norm = |x: &Tensor| {
        let norm = x.norm(2.0, None, false).unwrap();
        norm.to_vec::<f64>().unwrap()[0]
    };
    let (want, got) = (wide(&want), wide(&got));
    let away = norm(&got.sub(&want).unwrap());
    let is_near = away <= tolerance * (1.0 + norm(&want));
    assert!(is_near, "{what}: {got} instead of {want}");
}

#[test]
fn gradients_of_matrices_stay_there() {
    let all = |what: &str, rows: usize, columns: usize, work: &dyn Fn(&Tensor) -> Outcome| {
        for dtype in DTYPES {
            check_gradient(what, &matrices(rows, columns, dtype), work);
        }
    };
    all("inv", 3, 3, &|x| linalg::inv(x));
    all("det", 3, 3, &|x| linalg::det(x));
    all("det of zero", 3, 3, &|x| linalg::det(&x.mul(0)?));
    all("slogdet", 3, 3, &|x| Ok(linalg::slogdet(x)?.1));
    all("solve", 3, 3, &|x| linalg::solve(x, &x.flip(&[-1])?, true));
    all("lu", 3, 4, &|x| Ok(linalg::lu(x, true)?.2));
    all("lu_factor", 4, 3, &|x| Ok(linalg::lu_factor(x, true)?.0));
    all("qr", 4, 3, &|x| Ok(linalg::qr(x, QrMode::R)?.1));
    all("householder_product", 4, 3, &|x| {
        linalg::householder_product(x, &x.select(-2, 0)?)
    });
    all("svd", 4, 3, &|x| linalg::svd(x, false)?.0.abs());
    all("svdvals", 4, 3, &linalg::svdvals);
    all("eig", 3, 3, &|x| linalg::eig(x)?.1.abs());
    all("pinv", 4, 3, &|x| {
        linalg::pinv(x, &Tolerance::default(), false)
    });
    all("lstsq", 4, 3, &|x| {
        Ok(linalg::lstsq(x, &x.flip(&[-1])?, Some(1e-3))?.solution)
    });
    all("matrix_power", 3, 3, &|x| linalg::matrix_power(x, 3));
    all("no power", 3, 3, &|x| linalg::matrix_power(x, 0));
    all("matrix_exp", 3, 3, &linalg::matrix_exp);
    all("cond", 3, 3, &|x| linalg::cond(x, Some(Order::Number(1.0))));
    for dtype in DTYPES {
        let x = positive(3, dtype);
        check_gradient("cholesky", &x, |x| linalg::cholesky(x, true));
        check_gradient("eigh", &x, |x| linalg::eigh(x, Triangle::Lower)?.1.abs());
        check_gradient("eigvalsh", &x, |x| linalg::eigvalsh(x, Triangle::Lower));
    }
}

#[test]
fn decompositions_are_counted_as_hosted() {
    let x = there(&matrices(3, 3, DType::F32));
    take_calls();
    linalg::inv(&x).unwrap();
    let hosted = allotrope_tensor::hosted_operations(x.device());
    assert!(
        hosted.iter().any(|(op, _)| *op == "linalg.inv"),
        "{hosted:?}"
    );
    assert_eq!(x.backend().name(), APART.name());
}
