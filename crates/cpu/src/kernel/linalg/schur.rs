//! Schur's form `A = Z T Zᴴ`: Hessenberg's by reflections, then the QR iteration. `T` is triangular
//! for complex matrices; for real ones pairs of eigenvalues stay as blocks of two on its diagonal.

use super::scratch::{try_collect, try_vec};
use allotrope_dtype::{Level, c128};

use super::batch::Failure;
use super::field::Field;
use super::product::{add_product, times_vector};
use super::reflect::{Reflections, apply_left, column, reflect};
use crate::interrupt::check_step;
use crate::simd::{Body, run};

/// Sweeps per eigenvalue before an iteration is given up; three are usual.
const SWEEPS: usize = 60;
/// Sweeps without a result after which another shift is tried.
const PATIENCE: usize = 10;

/// A square matrix and the basis it is seen from, which is empty if nobody wants it.
pub(super) struct Schur<T> {
    pub(super) t: Vec<T>,
    pub(super) z: Vec<T>,
    pub(super) order: usize,
}

impl<T: Field> Schur<T> {
    /// Hessenberg's form: zeros below the diagonal under the main one.
    pub(super) fn reduced(mut a: Vec<T>, n: usize, wants_basis: bool) -> Result<Self, Failure> {
        let mut reflections = Reflections::new(n)?;
        for k in 0..n.saturating_sub(1) {
            check_step(n);
            let mut v = column(&a, n, k + 1, k)?;
            let (tau, beta) = reflect(&mut v);
            let width = n - k - 1;
            apply_left(&mut a[(k + 1) * n + k + 1..], n, width, &v, tau.conj())?;
            let beside = &mut a[k + 1..];
            let mut products = try_vec(n, T::ZERO)?;
            times_vector(beside, n, &v, &mut products)?;
            products.iter_mut().for_each(|x| *x = -tau * *x);
            let turned: Vec<T> = try_collect(v.iter().map(|x| x.conj()))?;
            add_product(beside, n, &products, 1, &turned, width, width)?;
            for row in a[(k + 1) * n..].chunks_exact_mut(n) {
                row[k] = T::ZERO;
            }
            a[(k + 1) * n + k] = T::from_real(beta);
            reflections.push(v, tau);
        }
        let z = if wants_basis {
            reflections.product_after_one(n)?
        } else {
            Vec::new()
        };
        Ok(Self { t: a, z, order: n })
    }

    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.t[i * self.order + j]
    }

    fn set(&mut self, i: usize, j: usize, value: T) {
        self.t[i * self.order + j] = value;
    }

    /// Whether the element below a diagonal one is nothing to its neighbours.
    fn is_small(&self, i: usize) -> bool {
        let near = self.at(i, i).abs() + self.at(i + 1, i + 1).abs();
        let value = self.at(i + 1, i).abs();
        let epsilon = <T::Real as super::field::Real>::EPSILON;
        let tiny = <T::Real as super::field::Real>::TINY;
        value <= epsilon * near || value <= tiny
    }

    /// Where the block that ends at `high` begins.
    fn block_start(&self, high: usize) -> usize {
        let mut low = high;
        while low > 0 && !self.is_small(low - 1) {
            low -= 1;
        }
        low
    }

    /// Combines neighbouring rows from a column on, and the same columns up to a row: `Q A Qᴴ` for
    /// the rows of `q`.
    pub(super) fn combine<const N: usize>(
        &mut self,
        k: usize,
        from: usize,
        to: usize,
        q: &[[T; N]; N],
    ) {
        let (n, level) = (self.order, Level::current());
        let mut rows = self.t[k * n..].chunks_exact_mut(n);
        let rows = std::array::from_fn(|_| rows.next().map_or(&mut [][..], |row| &mut row[from..]));
        run(level, CombineRows { rows, q });
        let q = q.map(|row| row.map(Field::conj));
        for matrix in [&mut self.t[..to * n], &mut self.z[..]] {
            run(level, CombineColumns { matrix, n, k, q });
        }
    }
}

/// A matrix times some numbers.
#[inline(always)]
fn product<T: Field, const FUSED: bool, const N: usize>(q: &[[T; N]; N], x: [T; N]) -> [T; N] {
    let mut sums = [T::ZERO; N];
    for (sum, q) in sums.iter_mut().zip(q) {
        for (q, x) in q.iter().zip(x) {
            *sum = q.mul_add::<FUSED>(x, *sum);
        }
    }
    sums
}

/// `Q` times some rows.
struct CombineRows<'a, T, const N: usize> {
    rows: [&'a mut [T]; N],
    q: &'a [[T; N]; N],
}

impl<T: Field, const N: usize> Body for CombineRows<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        for j in 0..self.rows[0].len() {
            let old = std::array::from_fn(|i| self.rows[i][j]);
            let new = product::<T, FUSED, N>(self.q, old);
            for (row, new) in self.rows.iter_mut().zip(new) {
                row[j] = new;
            }
        }
    }
}

/// Columns from `k` on times the transpose of `q`.
struct CombineColumns<'a, T, const N: usize> {
    matrix: &'a mut [T],
    n: usize,
    k: usize,
    q: [[T; N]; N],
}

impl<T: Field, const N: usize> Body for CombineColumns<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for row in self.matrix.chunks_exact_mut(self.n) {
            if let Some(row) = row[self.k..].first_chunk_mut::<N>() {
                *row = product::<T, FUSED, N>(&self.q, *row);
            }
        }
    }
}

impl Schur<c128> {
    /// Makes it triangular.
    pub(super) fn triangularize(&mut self) -> Result<(), Failure> {
        let mut left = SWEEPS * self.order;
        let mut high = self.order.saturating_sub(1);
        let mut tries = 0;
        while high > 0 {
            let low = self.block_start(high);
            if low == high {
                self.set(high, high - 1, c128::ZERO);
                (high, tries) = (high - 1, 0);
                continue;
            }
            left = left.checked_sub(1).ok_or(Failure::NoConvergence)?;
            check_step(high);
            tries += 1;
            let shift = if tries % PATIENCE == 0 {
                let size = self.at(high, high - 1).abs();
                self.at(high, high) + c128::new(size, 0.0)
            } else {
                self.shift(high)
            };
            let mut x = self.at(low, low) - shift;
            let mut y = self.at(low + 1, low);
            for k in low..high {
                let q = unitary(x, y);
                let from = if k > low { k - 1 } else { low };
                self.combine(k, from, (k + 3).min(high + 1), &q);
                if k + 1 < high {
                    x = self.at(k + 1, k);
                    y = self.at(k + 2, k);
                }
                if k > low {
                    self.set(k + 1, k - 1, c128::ZERO);
                }
            }
        }
        Ok(())
    }

    /// The eigenvalue of the last block of two that is nearer to its last element.
    fn shift(&self, high: usize) -> c128 {
        let (a, d) = (self.at(high - 1, high - 1), self.at(high, high));
        let product = self.at(high - 1, high) * self.at(high, high - 1);
        let half = (a - d) * 0.5;
        let root = (half * half + product).sqrt();
        let divisor = if (half + root).norm_sqr() >= (half - root).norm_sqr() {
            half + root
        } else {
            half - root
        };
        if divisor == c128::ZERO {
            d
        } else {
            d - product / divisor
        }
    }
}

/// The rotation that takes `(x, y)` to `(r, 0)`.
fn unitary(x: c128, y: c128) -> [[c128; 2]; 2] {
    let length = x.norm().hypot(y.norm());
    if length == 0.0 {
        return [[c128::ONE, c128::ZERO], [c128::ZERO, c128::ONE]];
    }
    let (c, s) = (x.conj() / length, y.conj() / length);
    [[c, s], [-s.conj(), c.conj()]]
}

impl Schur<f64> {
    /// Makes it triangular but for blocks of two whose eigenvalues are not real.
    pub(super) fn triangularize(&mut self) -> Result<(), Failure> {
        let mut left = SWEEPS * self.order;
        let mut size = self.order;
        let mut tries = 0;
        while size > 1 {
            let high = size - 1;
            let low = self.block_start(high);
            if low > 0 {
                self.set(low, low - 1, 0.0);
            }
            if low + 1 >= high {
                if low < high {
                    self.split(low);
                }
                (size, tries) = (low, 0);
                continue;
            }
            left = left.checked_sub(1).ok_or(Failure::NoConvergence)?;
            check_step(high);
            tries += 1;
            self.sweep(low, high, tries % PATIENCE == 0);
        }
        Ok(())
    }

    /// A block of two with real eigenvalues becomes triangular.
    fn split(&mut self, k: usize) {
        let (a, b, c, d) = self.block(k);
        let half = 0.5 * (a - d);
        let discriminant = half * half + b * c;
        if discriminant < 0.0 {
            return;
        }
        let root = half + discriminant.sqrt().copysign(half);
        let length = root.hypot(c);
        if length > 0.0 {
            let (cosine, sine) = (root / length, c / length);
            let q = [[cosine, sine], [-sine, cosine]];
            self.combine(k, k, k + 2, &q);
        }
        self.set(k + 1, k, 0.0);
    }

    /// The elements of a block of two.
    pub(super) fn block(&self, k: usize) -> (f64, f64, f64, f64) {
        (
            self.at(k, k),
            self.at(k, k + 1),
            self.at(k + 1, k),
            self.at(k + 1, k + 1),
        )
    }

    /// One step of Francis' iteration with two shifts at a time, the eigenvalues of the last block.
    fn sweep(&mut self, low: usize, high: usize, exceptional: bool) {
        let (a, b, c, d) = self.block(high - 1);
        let (sum, product) = if exceptional {
            let size = c.abs() + self.at(high - 1, high - 2).abs();
            (1.5 * size, size * size)
        } else {
            (a + d, a * d - b * c)
        };
        let (p, q, r, s) = self.block(low);
        let mut start = [
            p * p + q * r - sum * p + product,
            r * (p + s - sum),
            r * self.at(low + 2, low + 1),
        ];
        for k in low..high - 1 {
            let from = if k > low { k - 1 } else { low };
            let turn = reflection(start);
            self.combine(k, from, (k + 4).min(high + 1), &turn);
            if k > low {
                self.set(k + 1, k - 1, 0.0);
                self.set(k + 2, k - 1, 0.0);
            }
            start = [
                self.at(k + 1, k),
                self.at(k + 2, k),
                if k + 3 <= high {
                    self.at(k + 3, k)
                } else {
                    0.0
                },
            ];
        }
        let turn = reflection([start[0], start[1]]);
        self.combine(high - 1, high - 2, high + 1, &turn);
        self.set(high, high - 2, 0.0);
    }
}

/// The reflection that leaves only the first element of a vector.
fn reflection<const N: usize>(mut v: [f64; N]) -> [[f64; N]; N] {
    let (tau, _) = reflect(&mut v);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| f64::from(u8::from(i == j)) - tau * v[i] * v[j])
    })
}
