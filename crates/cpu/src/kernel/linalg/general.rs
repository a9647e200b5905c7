//! Eigenvalues and eigenvectors of any square matrix, from its Schur form, or by `blocked`. All in float64: they
//! react to the smallest error, and float32 results are rounded once.

use super::scratch::{try_collect, try_vec};
use allotrope_dtype::c128;

use super::batch::{Failure, FieldWork, typed_mut};
use super::blocked::{eig_complex, eig_real, is_large};
use super::field::{Field, Real};
use super::product::add_product;
use super::schur::Schur;
use super::symmetric::equalize;
use crate::interrupt::check_step;

/// A triangular matrix, and the basis it is seen from.
struct Triangular {
    form: Schur<c128>,
    /// Whether the vectors come in conjugate pairs: first and second of one, and none.
    pairs: Vec<Pair>,
}

/// What is known of an eigenvalue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pair {
    /// Nothing.
    Complex,
    /// It is real, as its vector.
    Real,
    /// The next one is its conjugate.
    First,
    /// It is the conjugate of the one before.
    Second,
}

fn complex_form(a: Vec<c128>, n: usize, wants_vectors: bool) -> Result<Triangular, Failure> {
    let mut form = Schur::reduced(a, n, wants_vectors)?;
    form.triangularize()?;
    let pairs = try_vec(n, Pair::Complex)?;
    Ok(Triangular { form, pairs })
}

/// The real form, its blocks of two made triangular in complex numbers.
fn real_form(a: Vec<f64>, n: usize, wants_vectors: bool) -> Result<Triangular, Failure> {
    let mut real = Schur::reduced(a, n, wants_vectors)?;
    real.triangularize()?;
    let wide = |x: &[f64]| try_collect(x.iter().map(|x| c128::new(*x, 0.0)));
    let mut form = Schur {
        t: wide(&real.t)?,
        z: wide(&real.z)?,
        order: n,
    };
    let mut pairs = try_vec(n, Pair::Real)?;
    let mut k = 0;
    while k + 1 < n {
        let (a, b, c, d) = real.block(k);
        if c == 0.0 {
            k += 1;
            continue;
        }
        let half = 0.5 * (a - d);
        let imaginary = (-(half * half + b * c)).max(0.0).sqrt();
        let value = c128::new(d + half, imaginary);
        // The vector (b, λ - a) of the block, as the first column of a unitary one.
        let (x, y) = (c128::new(b, 0.0), value - a);
        let length = x.norm().hypot(y.norm());
        let (x, y) = (x / length, y / length);
        form.combine(k, k, k + 2, &[[x.conj(), y.conj()], [-y, x]]);
        form.t[(k + 1) * n + k] = c128::ZERO;
        form.t[k * n + k] = value;
        form.t[(k + 1) * n + k + 1] = value.conj();
        (pairs[k], pairs[k + 1]) = (Pair::First, Pair::Second);
        k += 2;
    }
    Ok(Triangular { form, pairs })
}

impl Triangular {
    fn values(&self) -> impl Iterator<Item = c128> {
        (0..self.form.order).map(|i| self.form.at(i, i))
    }

    /// The eigenvectors as columns, of norm one.
    fn vectors(&self) -> Result<Vec<c128>, Failure> {
        let n = self.form.order;
        let mut solutions = try_vec(n * n, c128::ZERO)?;
        let largest = self.form.t.iter().map(|x| x.norm()).fold(0.0, f64::max);
        let least = (f64::EPSILON * largest).max(f64::MIN_POSITIVE);
        let mut x = try_vec(n, c128::ZERO)?;
        for k in 0..n {
            check_step(n);
            let value = self.form.at(k, k);
            x.fill(c128::ZERO);
            x[k] = c128::ONE;
            for i in (0..k).rev() {
                let row = &self.form.t[i * n + i + 1..i * n + k + 1];
                let sum = row.iter().zip(&x[i + 1..=k]).map(|(t, x)| t * x);
                let sum: c128 = sum.sum();
                let mut difference = self.form.at(i, i) - value;
                if difference.norm() < least {
                    difference = c128::new(least, 0.0);
                }
                x[i] = -sum / difference;
                let size = x[i].norm();
                if size > 1e100 {
                    x[i..=k].iter_mut().for_each(|x| *x /= size);
                }
            }
            for (i, x) in x[..=k].iter().enumerate() {
                solutions[i * n + k] = *x;
            }
        }
        let mut vectors = try_vec(n * n, c128::ZERO)?;
        add_product(&mut vectors, n, &self.form.z, n, &solutions, n, n)?;
        for k in 0..n {
            check_step(n);
            self.normalize(&mut vectors, k);
        }
        Ok(vectors)
    }

    /// A column of norm one whose largest element is real.
    fn normalize(&self, vectors: &mut [c128], k: usize) {
        let n = self.form.order;
        if self.pairs[k] == Pair::Second {
            for row in vectors.chunks_exact_mut(n) {
                row[k] = row[k - 1].conj();
            }
            return;
        }
        let column = || vectors.chunks_exact(n).map(|row| row[k]);
        let largest = column().fold(c128::ZERO, |most, x| {
            if x.norm_sqr() > most.norm_sqr() {
                x
            } else {
                most
            }
        });
        let size = largest.norm();
        let length = size * column().map(|x| (x / size).norm_sqr()).sum::<f64>().sqrt();
        let factor = largest.conj() / size / length;
        for row in vectors.chunks_exact_mut(n) {
            row[k] *= factor;
            if self.pairs[k] == Pair::Real {
                row[k].im = 0.0;
            }
        }
    }
}

/// Eigenvalues, and eigenvectors as columns, in complex128.
pub(crate) struct Eigen {
    /// The number of rows and columns.
    pub order: usize,
    /// Computes the vectors.
    pub vectors: bool,
}

impl Eigen {
    fn run_blocked<T: Field>(&self, a: &[T], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let n = self.order;
        let (scale, (values, vectors)) = if T::PARTS == 1 {
            let mut a: Vec<f64> = try_collect(a.iter().map(|x| x.re().wide()))?;
            (equalize(&mut a)?, eig_real(a, n, self.vectors)?)
        } else {
            let wide = |x: &T| c128::new(x.re().wide(), x.im().wide());
            let mut a: Vec<c128> = try_collect(a.iter().map(wide))?;
            (equalize(&mut a)?, eig_complex(a, n, self.vectors)?)
        };
        let places = typed_mut::<c128>(outputs[0]);
        for (place, value) in places.iter_mut().zip(values) {
            *place = value * scale;
        }
        if self.vectors {
            typed_mut::<c128>(outputs[1]).copy_from_slice(&vectors);
        }
        Ok(())
    }
}

impl FieldWork for Eigen {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let n = self.order;
        if is_large(n, n) {
            match self.run_blocked(inputs[0], outputs) {
                // Our own iteration takes longer, and gives less up.
                Err(Failure::NoConvergence) => {}
                done => return done,
            }
        }
        let (scale, found) = if T::PARTS == 1 {
            let mut a: Vec<f64> = try_collect(inputs[0].iter().map(|x| x.re().wide()))?;
            (equalize(&mut a)?, real_form(a, n, self.vectors)?)
        } else {
            let wide = |x: &T| c128::new(x.re().wide(), x.im().wide());
            let mut a: Vec<c128> = try_collect(inputs[0].iter().map(wide))?;
            (equalize(&mut a)?, complex_form(a, n, self.vectors)?)
        };
        let values = typed_mut::<c128>(outputs[0]);
        for (place, value) in values.iter_mut().zip(found.values()) {
            *place = value * scale;
        }
        if self.vectors {
            typed_mut::<c128>(outputs[1]).copy_from_slice(&found.vectors()?);
        }
        Ok(())
    }
}
