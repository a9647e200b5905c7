//! Transforms of every kind against the sum that defines them.

use rustfft::FftDirection::{self, Forward, Inverse};
use rustfft::num_complex::Complex;

use allotrope_dtype::Level;

use super::plan::{Planner, RealTransform, Transform, root};

/// Powers, products of small primes, and primes that no pass has.
const LENGTHS: [usize; 22] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 30, 34, 49, 64, 97, 100, 128, 143,
];

fn numbers(length: usize) -> Vec<Complex<f64>> {
    let part = |k: usize| (k * 7919 % 1013) as f64 / 1013.0 - 0.5;
    (0..length)
        .map(|k| Complex::new(part(k + 1), part(3 * k + 5)))
        .collect()
}

fn defined(x: &[Complex<f64>], direction: FftDirection) -> Vec<Complex<f64>> {
    let term = |j: usize, k: usize| x[j] * root::<f64>(j * k, x.len(), direction);
    (0..x.len())
        .map(|k| (0..x.len()).map(|j| term(j, k)).sum())
        .collect()
}

fn assert_near(found: &[Complex<f64>], expected: &[Complex<f64>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).norm();
        assert!(error < 1e-12, "{what} at {place}: {found}, not {expected}");
    }
}

#[test]
fn transforms_are_the_sums_that_define_them() {
    for (length, direction) in LENGTHS
        .into_iter()
        .flat_map(|n| [(n, Forward), (n, Inverse)])
    {
        let x = numbers(length);
        let expected = [defined(&x, direction), defined(&x, direction)].concat();
        for level in Level::available() {
            let (what, mut planner) = (
                format!("{direction:?} {length} at {level}"),
                Planner::new(level),
            );
            let transform = Transform::new(&mut planner, length, direction);
            let mut workspace = vec![Complex::default(); transform.workspace()];
            let mut lines = [&x[..], &x[..]].concat();
            transform.run(&mut lines, &mut workspace);
            assert_near(&lines, &expected, &what);
        }
    }
}

#[test]
fn real_transforms_are_halves_of_complex_ones() {
    for length in LENGTHS {
        let real: Vec<f64> = numbers(length).iter().map(|x| x.re).collect();
        let complex: Vec<Complex<f64>> = real.iter().map(|x| Complex::from(*x)).collect();
        let expected = &defined(&complex, Forward)[..length / 2 + 1];
        for level in Level::available() {
            let (what, mut planner) = (format!("{length} at {level}"), Planner::new(level));
            let there = RealTransform::new(&mut planner, length, Forward);
            let mut workspace = vec![Complex::default(); there.workspace()];
            let mut spectrum = vec![Complex::default(); length / 2 + 1];
            there.forward(&real, &mut spectrum, &mut workspace);
            assert_near(&spectrum, expected, &what);

            let back = RealTransform::new(&mut planner, length, Inverse);
            let mut workspace = vec![Complex::default(); back.workspace()];
            let mut found = vec![0.0; length];
            back.inverse(&mut spectrum, &mut found, &mut workspace);
            let times: Vec<Complex<f64>> = complex.iter().map(|x| x * length as f64).collect();
            let found: Vec<Complex<f64>> = found.into_iter().map(Complex::from).collect();
            assert_near(&found, &times, &what);
        }
    }
}
