//! Eigenvalues and eigenvectors of Hermitian matrices: reduced to a real tridiagonal one by
//! reflections, which is made diagonal by rotations.

use super::batch::{Failure, FieldWork, typed_mut};
use super::blocked::{energy, is_large, is_spectrum};
use super::field::{Field, Real, ascending};
use super::product::{add_product, times_vector};
use super::reflect::{Reflections, column, reflect};
use super::rotate::{Rotated, rotation};
use super::scratch::{try_collect, try_collect_all, try_to_vec, try_vec, try_with_capacity};
use crate::interrupt::check_step;

/// Sweeps per eigenvalue before an iteration is given up; two are usual.
const SWEEPS: usize = 60;

/// A real symmetric matrix with nothing but a diagonal and the one beside it.
struct Tridiagonal<R> {
    diagonal: Vec<R>,
    beside: Vec<R>,
}

/// Reduces a full Hermitian matrix, which is lost.
fn reduce<T: Field>(
    a: &mut [T],
    n: usize,
) -> Result<(Tridiagonal<T::Real>, Reflections<T>), Failure> {
    let mut beside = try_with_capacity(n)?;
    let mut reflections = Reflections::new(n)?;
    for k in 0..n.saturating_sub(1) {
        check_step(n);
        let mut v = column(a, n, k + 1, k)?;
        let (tau, beta) = reflect(&mut v);
        beside.push(beta);
        let rest = &mut a[(k + 1) * n + k + 1..];
        if tau != T::ZERO {
            let mut w = try_vec(v.len(), T::ZERO)?;
            times_vector(rest, n, &v, &mut w)?;
            w.iter_mut().for_each(|x| *x = tau * *x);
            let product = w
                .iter()
                .zip(&v)
                .fold(T::ZERO, |sum, (x, v)| sum + x.conj() * *v);
            let half = (tau * product).scale(T::Real::of(-0.5));
            for (x, v) in w.iter_mut().zip(&v) {
                *x += half * *v;
            }
            let left: Vec<T> =
                try_collect_all(v.len() * 2, v.iter().zip(&w).flat_map(|(v, w)| [-*v, -*w]))?;
            let right: Vec<T> = try_collect(w.iter().chain(&v).map(|x| x.conj()))?;
            add_product(rest, n, &left, 2, &right, v.len(), v.len())?;
        }
        reflections.push(v, tau);
    }
    let diagonal = try_collect((0..n).map(|i| a[i * n + i].re()))?;
    Ok((Tridiagonal { diagonal, beside }, reflections))
}

impl<R: Real> Tridiagonal<R> {
    /// Whether an element beside the diagonal is nothing to its neighbours.
    fn is_small(&self, i: usize) -> bool {
        let (d, e) = (&self.diagonal, &self.beside);
        let near = d[i].abs() + d[i + 1].abs();
        e[i].abs() <= R::EPSILON * near || e[i].abs() <= R::TINY
    }

    /// Rotates until only the diagonal is left.
    fn diagonalize(&mut self, mut vectors: Option<&mut Rotated<R>>) -> Result<(), Failure> {
        let n = self.diagonal.len();
        let mut left = SWEEPS * n;
        let mut high = n.saturating_sub(1);
        while high > 0 {
            if self.is_small(high - 1) {
                self.beside[high - 1] = R::ZERO;
                high -= 1;
                continue;
            }
            left = left.checked_sub(1).ok_or(Failure::NoConvergence)?;
            check_step(high);
            let mut low = high - 1;
            while low > 0 && !self.is_small(low - 1) {
                low -= 1;
            }
            self.sweep(low, high, vectors.as_deref_mut());
        }
        Ok(())
    }

    /// One step of the implicit QR iteration with Wilkinson's shift.
    fn sweep(&mut self, low: usize, high: usize, mut vectors: Option<&mut Rotated<R>>) {
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let last = e[high - 1];
        let half = (d[high - 1] - d[high]).scale(R::of(0.5));
        let step = last / (half + half.hypot(last).with_sign_of(half));
        let mut x = d[low] - (d[high] - last * step);
        let mut y = e[low];
        for k in low..high {
            let (c, s, r) = rotation(x, y);
            if k > low {
                e[k - 1] = r;
            }
            let (a, b, f) = (d[k], d[k + 1], e[k]);
            let t = (b - a) * s + R::of(2.0) * c * f;
            d[k] = a + s * t;
            d[k + 1] = b - s * t;
            e[k] = c * t - f;
            x = e[k];
            if k + 1 < high {
                y = s * e[k + 1];
                e[k + 1] = c * e[k + 1];
            }
            if let Some(vectors) = vectors.as_deref_mut() {
                vectors.turn(k, k + 1, c, s);
            }
        }
    }
}

/// Eigenvalues from the least, and the matrix whose columns are the eigenvectors, if wanted; `a` is
/// a full Hermitian matrix.
pub(super) fn eigen<T: Field>(
    mut a: Vec<T>,
    n: usize,
    wants_vectors: bool,
) -> Result<(Vec<T::Real>, Vec<T>), Failure> {
    let scale = equalize(&mut a)?;
    if is_large(n, n) {
        let energy = energy(&a);
        match T::eigh(try_to_vec(&a)?, n, wants_vectors) {
            Ok((values, vectors)) if is_spectrum(&values, energy, false) => {
                let values = try_collect(values.iter().map(|value| value.re() * scale))?;
                return Ok((values, vectors));
            }
            // Our own iteration takes longer, and gives nothing up.
            Ok(_) | Err(Failure::NoConvergence) => {}
            Err(failure) => return Err(failure),
        }
    }
    let (mut small, reflections) = reduce(&mut a, n)?;
    let mut vectors = if wants_vectors {
        Some(Rotated::new(&reflections.product_after_one(n)?, n, n)?)
    } else {
        None
    };
    small.diagonalize(vectors.as_mut())?;
    let values = &small.diagonal;
    let order = ascending(&try_collect(values.iter().map(|value| value.wide()))?)?;
    let sorted = try_collect(order.iter().map(|i| values[*i] * scale))?;
    let vectors = match vectors {
        Some(vectors) => vectors.into_matrix::<T>()?,
        None => Vec::new(),
    };
    let rows = vectors.chunks_exact(n.max(1));
    let turned = rows.flat_map(|row| order.iter().map(|i| row[*i]));
    let turned = try_collect_all(vectors.len(), turned)?;
    Ok((sorted, turned))
}

/// Divides a matrix by a power of two if its squares could leave the range of the dtype; gives that
/// power.
#[inline(never)]
pub(super) fn equalize<T: Field>(a: &mut [T]) -> Result<T::Real, Failure> {
    let mut largest = T::Real::ZERO;
    for value in a.iter() {
        if !value.is_finite() {
            return Err(Failure::NotFinite);
        }
        largest = largest.largest(value.re().abs()).largest(value.im().abs());
    }
    let safe = (T::Real::HUGE.sqrt() * T::Real::EPSILON).wide();
    let magnitude = largest.wide();
    if magnitude == 0.0 || (1.0 / safe..safe).contains(&magnitude) {
        return Ok(T::Real::ONE);
    }
    let power = T::Real::of(magnitude.log2().floor().exp2());
    // In two steps: the inverse of a tiny power is infinite.
    let (half, other) = {
        let exponent = power.wide().log2() as i32;
        (
            T::Real::of(2.0_f64.powi(-(exponent / 2))),
            T::Real::of(2.0_f64.powi(-(exponent - exponent / 2))),
        )
    };
    for value in a.iter_mut() {
        *value = value.scale(half).scale(other);
    }
    Ok(power)
}

/// The whole matrix of one of its triangles.
pub(super) fn complete<T: Field>(a: &[T], n: usize, upper: bool) -> Result<Vec<T>, Failure> {
    let mut full = try_vec(n * n, T::ZERO)?;
    for i in 0..n {
        full[i * n + i] = T::from_real(a[i * n + i].re());
        for j in 0..i {
            let value = if upper {
                a[j * n + i].conj()
            } else {
                a[i * n + j]
            };
            full[i * n + j] = value;
            full[j * n + i] = value.conj();
        }
    }
    Ok(full)
}

/// Eigenvalues from the least, and eigenvectors as columns; one triangle is read.
pub(crate) struct SelfAdjoint {
    /// The number of rows and columns.
    pub order: usize,
    /// Reads the upper triangle.
    pub upper: bool,
    /// Computes the vectors.
    pub vectors: bool,
}

impl FieldWork for SelfAdjoint {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let a = complete(inputs[0], self.order, self.upper)?;
        let (values, vectors) = eigen(a, self.order, self.vectors)?;
        typed_mut::<T::Real>(outputs[0]).copy_from_slice(&values);
        if self.vectors {
            typed_mut::<T>(outputs[1]).copy_from_slice(&vectors);
        }
        Ok(())
    }
}
