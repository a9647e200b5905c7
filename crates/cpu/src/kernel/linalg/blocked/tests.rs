#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
//! What a decomposition is: its parts multiply to the matrix, and bases are orthonormal.

use allotrope_dtype::{c64, c128};

use super::super::field::Field;
use super::super::singular::decompose;
use super::{Blocked, eig_complex, eig_real};

trait Number: Field + Blocked + PartialEq + std::fmt::Debug {
    const EPSILON: f64;
    fn of(re: f64, im: f64) -> Self;
    fn wide(self) -> c128;
}

macro_rules! number {
    ($($number:ty, $epsilon:expr, ($re:ident, $im:ident) $of:expr, $x:ident $wide:expr;)*) => {$(
        impl Number for $number {
            const EPSILON: f64 = $epsilon;
            fn of($re: f64, $im: f64) -> Self { $of }
            fn wide(self) -> c128 { let $x = self; $wide }
        }
    )*};
}
number! {
    f32, 1.2e-7, (re, _im) re as f32, x c128::new(f64::from(x), 0.0);
    f64, 2.2e-16, (re, _im) re, x c128::new(x, 0.0);
    c64, 1.2e-7, (re, im) c64::new(re as f32, im as f32), x c128::new(f64::from(x.re), f64::from(x.im));
    c128, 2.2e-16, (re, im) c128::new(re, im), x x;
}

fn noise(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

/// A matrix of some rank; every second one of equal rows where that is less than full.
fn sample<T: Number>(rows: usize, columns: usize, rank: usize) -> Vec<T> {
    let mut state = 88_172_645_463_325_252 + (rows * 1000 + columns) as u64;
    let mut a: Vec<T> = Vec::new();
    for i in 0..rows {
        for j in 0..columns {
            let value = match i < rank {
                true => T::of(noise(&mut state), noise(&mut state)),
                false => a[(i % rank.max(1)) * columns + j],
            };
            a.push(value);
        }
    }
    a
}

fn wide<T: Number>(a: &[T]) -> Vec<c128> {
    a.iter().map(|x| x.wide()).collect()
}

fn adjoint(a: &[c128], columns: usize) -> Vec<c128> {
    let rows = a.len() / columns;
    let places = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
    places.map(|(i, j)| a[i * columns + j].conj()).collect()
}

fn product(a: &[c128], inner: usize, b: &[c128]) -> Vec<c128> {
    let columns = b.len() / inner;
    let mut out = vec![c128::new(0.0, 0.0); a.len() / inner * columns];
    for (row, out) in a.chunks_exact(inner).zip(out.chunks_exact_mut(columns)) {
        for (x, b) in row.iter().zip(b.chunks_exact(columns)) {
            for (out, b) in out.iter_mut().zip(b) {
                *out += x * b;
            }
        }
    }
    out
}

fn assert_near<T: Number>(x: &[c128], y: &[c128], what: &str, n: usize) {
    assert_eq!(x.len(), y.len(), "{what} {n}");
    let worst = x
        .iter()
        .zip(y)
        .map(|(x, y)| (x - y).norm())
        .fold(0.0, f64::max);
    let all_numbers = x.iter().all(|x| x.is_finite());
    let bound = 40.0 * n as f64 * T::EPSILON;
    assert!(all_numbers && worst < bound, "{what} {n}: {worst:e}");
}

fn assert_orthonormal<T: Number>(columns: &[c128], width: usize, what: &str) {
    let mut unit = vec![c128::new(0.0, 0.0); width * width];
    for i in 0..width {
        unit[i * width + i] = c128::new(1.0, 0.0);
    }
    let rows = columns.len() / width;
    let found = product(&adjoint(columns, width), rows, columns);
    assert_near::<T>(&found, &unit, what, rows);
}

fn scaled(columns: &[c128], values: &[c128]) -> Vec<c128> {
    let rows = columns.chunks_exact(values.len());
    rows.flat_map(|row| row.iter().zip(values).map(|(x, value)| x * value))
        .collect()
}

const ORDERS: [usize; 9] = [2, 3, 5, 16, 33, 64, 70, 130, 257];
const SHAPES: [[usize; 2]; 8] = [
    [2, 2],
    [7, 3],
    [3, 8],
    [64, 64],
    [70, 64],
    [64, 70],
    [140, 65],
    [65, 257],
];

fn self_adjoint<T: Number>(n: usize, rank: usize) {
    let a = wide(&sample::<T>(n, n, rank));
    let turned = adjoint(&a, n);
    let sum = a.iter().zip(&turned).map(|(x, y)| x + y);
    let a: Vec<T> = sum.map(|x| T::of(x.re, x.im)).collect();
    let (values, vectors) = T::eigh(a.clone(), n, true).unwrap();
    let (alone, none) = T::eigh(a.clone(), n, false).unwrap();
    assert!(none.is_empty());
    let (a, values, vectors) = (wide(&a), wide(&values), wide(&vectors));
    assert!(values.is_sorted_by(|x, y| x.re <= y.re));
    assert_near::<T>(&wide(&alone), &values, "eigenvalues alone", n);
    assert_orthonormal::<T>(&vectors, n, "eigenvectors");
    let found = product(&scaled(&vectors, &values), n, &adjoint(&vectors, n));
    assert_near::<T>(&found, &a, "eigh", n);
}

fn singular<T: Number>([rows, columns]: [usize; 2], rank: usize) {
    let a = sample::<T>(rows, columns, rank);
    let inner = rows.min(columns);
    let svd = |bases| {
        let found = decompose(&a, rows, columns, bases).unwrap();
        let values: Vec<T> = found.values.iter().map(|x| T::from_real(*x)).collect();
        (values, found.left, found.right)
    };
    let (alone, ..) = svd([0, 0]);
    for bases in [[inner, inner], [rows, columns]] {
        let (values, u, v) = svd(bases);
        let (values, u, v) = (wide(&values), wide(&u), wide(&v));
        assert!(values.is_sorted_by(|x, y| x.re >= y.re) && values[inner - 1].re >= 0.0);
        assert_near::<T>(
            &wide(&alone),
            &values,
            "singular values alone",
            rows.max(columns),
        );
        assert_orthonormal::<T>(&u, bases[0], "u");
        assert_orthonormal::<T>(&adjoint(&v, columns), bases[1], "v");
        let thin = u
            .chunks_exact(bases[0])
            .flat_map(|row| row[..inner].to_vec());
        let left = scaled(&thin.collect::<Vec<_>>(), &values);
        let found = product(&left, inner, &v[..inner * columns]);
        assert_near::<T>(&found, &wide(&a), "svd", rows.max(columns));
    }
}

fn orthogonal<T: Number>([rows, columns]: [usize; 2]) {
    let a = sample::<T>(rows, columns, rows);
    let inner = rows.min(columns);
    for basis in [0, inner, rows] {
        let (q, r) = T::qr(a.clone(), [rows, columns], basis)
            .unwrap()
            .expect("full rank");
        let (q, r) = (wide(&q), wide(&r));
        assert!((0..inner).all(|i| r[i * columns..][..i].iter().all(|x| x.norm() == 0.0)));
        if basis == 0 {
            continue;
        }
        assert_orthonormal::<T>(&q, basis, "q");
        let thin = q.chunks_exact(basis).flat_map(|row| row[..inner].to_vec());
        let found = product(&thin.collect::<Vec<_>>(), inner, &r);
        assert_near::<T>(&found, &wide(&a), "qr", rows.max(columns));
    }
}

fn least<T: Number>(rows: usize, columns: usize) {
    let (a, b) = (sample::<T>(rows, columns, rows), sample::<T>(rows, 3, rows));
    let (values, x) = T::lstsq(a.clone(), b.clone(), [rows, columns, 3]).unwrap();
    let svd = |bases| {
        let found = decompose(&a, rows, columns, bases).unwrap();
        let values: Vec<T> = found.values.iter().map(|x| T::from_real(*x)).collect();
        (values, found.left, found.right)
    };
    let (alone, ..) = svd([0, 0]);
    assert_near::<T>(&wide(&values), &wide(&alone), "values", rows);
    let (a, b, x) = (wide(&a), wide(&b), wide(&x.expect("full rank")));
    let found = product(&a, columns, &x);
    let rest: Vec<c128> = found.iter().zip(&b).map(|(x, b)| x - b).collect();
    // What is left is orthogonal to the columns.
    let nothing = product(&adjoint(&a, columns), rows, &rest);
    assert_near::<T>(
        &nothing,
        &vec![c128::new(0.0, 0.0); columns * 3],
        "lstsq",
        10 * rows,
    );
}

fn all<T: Number>() {
    for n in ORDERS {
        self_adjoint::<T>(n, n);
    }
    self_adjoint::<T>(70, 20);
    self_adjoint::<T>(150, 1);
    for shape in SHAPES {
        singular::<T>(shape, shape[0]);
        orthogonal::<T>(shape);
    }
    singular::<T>([80, 70], 20);
    singular::<T>([150, 140], 1);
    least::<T>(70, 70);
    least::<T>(300, 65);
}

#[test]
fn float32() {
    all::<f32>();
}

#[test]
fn float64() {
    all::<f64>();
}

#[test]
fn complex64() {
    all::<c64>();
}

#[test]
fn complex128() {
    all::<c128>();
}

#[test]
fn matrices_of_zeros() {
    let a = vec![0.0_f64; 70 * 70];
    let (values, vectors) = f64::eigh(a.clone(), 70, true).unwrap();
    assert!(values.iter().all(|value| *value == 0.0));
    assert_orthonormal::<f64>(&wide(&vectors), 70, "eigenvectors of zero");
    let (values, u, v) = f64::svd(a.clone(), [70, 70], [70, 70]).unwrap();
    assert!(values.iter().all(|value| *value == 0.0));
    assert_orthonormal::<f64>(&wide(&u), 70, "u of zero");
    assert_orthonormal::<f64>(&wide(&v), 70, "v of zero");
    let (values, _) = eig_real(a.clone(), 70, true).unwrap();
    assert!(values.iter().all(|value| value.norm() == 0.0));
    assert!(f64::qr(a.clone(), [70, 70], 70).unwrap().is_none());
    let (_, x) = f64::lstsq(a, vec![1.0; 70], [70, 70, 1]).unwrap();
    assert!(x.is_none());
}

#[test]
fn eigenvectors_of_any_matrix() {
    for n in ORDERS {
        let real = sample::<f64>(n, n, n);
        let complex = sample::<c128>(n, n, n);
        let found = eig_real(real.clone(), n, true).unwrap();
        let alone = eig_real(real.clone(), n, false).unwrap();
        assert_eq!((alone.0.len(), alone.1.len()), (n, 0));
        for (a, (values, vectors)) in [
            (wide(&real), found),
            (complex.clone(), eig_complex(complex, n, true).unwrap()),
        ] {
            let left = product(&a, n, &vectors);
            let norms = adjoint(&vectors, n);
            let norm = |x: &[c128]| x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
            let largest = norms.chunks_exact(n).map(norm).fold(0.0, f64::max);
            let shrink = |x: Vec<c128>| x.iter().map(|x| x / largest).collect::<Vec<_>>();
            let right = shrink(scaled(&vectors, &values));
            assert_near::<f64>(&shrink(left), &right, "eig", 10 * n);
        }
    }
}

#[test]
fn a_thread_aside_gives_the_same_bits() {
    let a = sample::<f64>(300, 260, 300);
    let here = f64::svd(a.clone(), [300, 260], [260, 260]).unwrap();
    let there = crate::interrupt::catch(|| f64::svd(a, [300, 260], [260, 260]));
    assert_eq!(there.unwrap().unwrap(), here);
}
