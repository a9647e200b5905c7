//! Singular values and vectors: a matrix is reduced to a real bidiagonal one by reflections from
//! both sides, which is made diagonal by rotations.

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::{Field, Real, ascending};
use super::product::{add_product, times_vector};
use super::reflect::{Reflections, apply_left, column, reflect};
use super::rotate::{Rotated, rotation};
use super::symmetric::{complete, eigen, equalize};

/// Sweeps per singular value before an iteration is given up; two are usual.
const SWEEPS: usize = 60;

/// A real matrix with nothing but a diagonal and the one above it.
struct Bidiagonal<R> {
    diagonal: Vec<R>,
    above: Vec<R>,
    /// What counts as nothing.
    small: R,
}

/// Reduces a matrix with no more columns than rows, which is lost.
fn reduce<T: Field>(
    a: &mut [T],
    rows: usize,
    columns: usize,
) -> (Bidiagonal<T::Real>, [Reflections<T>; 2]) {
    let (mut left, mut right) = (Reflections::new(), Reflections::new());
    let (mut diagonal, mut above) = (Vec::new(), Vec::new());
    for k in 0..columns {
        let mut v = column(a, columns, k, k);
        let (tau, beta) = reflect(&mut v);
        diagonal.push(beta);
        let width = columns - k - 1;
        if width > 0 {
            apply_left(
                &mut a[k * columns + k + 1..],
                columns,
                width,
                &v,
                tau.conj(),
            );
        }
        left.push(v, tau);
        if width == 0 {
            continue;
        }
        let row = &a[k * columns + k + 1..(k + 1) * columns];
        let mut u: Vec<T> = row.iter().map(|x| x.conj()).collect();
        let (tau, beta) = reflect(&mut u);
        above.push(beta);
        if k + 1 < rows && tau != T::ZERO {
            let below = &mut a[(k + 1) * columns + k + 1..];
            let mut products = vec![T::ZERO; rows - k - 1];
            times_vector(below, columns, &u, &mut products);
            products.iter_mut().for_each(|x| *x = -tau * *x);
            let turned: Vec<T> = u.iter().map(|x| x.conj()).collect();
            add_product(below, columns, &products, 1, &turned, width, width);
        }
        right.push(u, tau);
    }
    let mut largest = T::Real::ZERO;
    for value in diagonal.iter().chain(&above) {
        largest = largest.largest(value.abs());
    }
    let small = (T::Real::EPSILON * T::Real::of(0.5) * largest).largest(T::Real::TINY);
    let reduced = Bidiagonal {
        diagonal,
        above,
        small,
    };
    (reduced, [left, right])
}

/// Where rotations of columns are written down, if anywhere.
type Sides<'a, R> = [Option<&'a mut Rotated<R>>; 2];

fn turn<R: Real>(side: &mut Option<&mut Rotated<R>>, i: usize, j: usize, c: R, s: R) {
    if let Some(side) = side {
        side.turn(i, j, c, s);
    }
}

impl<R: Real> Bidiagonal<R> {
    fn is_small(&self, i: usize) -> bool {
        let near = self.diagonal[i].abs() + self.diagonal[i + 1].abs();
        let value = self.above[i].abs();
        value <= R::EPSILON * near || value <= R::TINY
    }

    /// Rotates until only the diagonal is left; the sides are `U` and `V`.
    fn diagonalize(&mut self, mut sides: Sides<'_, R>) -> Result<(), Failure> {
        let n = self.diagonal.len();
        let mut left = SWEEPS * n;
        let mut high = n.saturating_sub(1);
        while high > 0 {
            if self.is_small(high - 1) {
                self.above[high - 1] = R::ZERO;
                high -= 1;
                continue;
            }
            left = left.checked_sub(1).ok_or(Failure::NoConvergence)?;
            let mut low = high - 1;
            while low > 0 && !self.is_small(low - 1) {
                low -= 1;
            }
            let zero = (low..=high).find(|i| self.diagonal[*i].abs() <= self.small);
            match zero {
                Some(zero) if zero < high => self.clear_row(zero, high, &mut sides[0]),
                Some(_) => self.clear_column(low, high, &mut sides[1]),
                None => self.sweep(low, high, &mut sides),
            }
        }
        Ok(())
    }

    /// A diagonal element of zero: rotations from the left empty its row.
    fn clear_row(&mut self, zero: usize, high: usize, side: &mut Option<&mut Rotated<R>>) {
        self.diagonal[zero] = R::ZERO;
        let mut bulge = self.above[zero];
        self.above[zero] = R::ZERO;
        for k in zero + 1..=high {
            let (c, s, r) = rotation(self.diagonal[k], bulge);
            self.diagonal[k] = r;
            turn(side, k, zero, c, s);
            if k < high {
                bulge = -s * self.above[k];
                self.above[k] = c * self.above[k];
            }
        }
    }

    /// The last diagonal element is zero: rotations from the right empty its column.
    fn clear_column(&mut self, low: usize, high: usize, side: &mut Option<&mut Rotated<R>>) {
        self.diagonal[high] = R::ZERO;
        let mut bulge = self.above[high - 1];
        self.above[high - 1] = R::ZERO;
        for k in (low..high).rev() {
            let (c, s, r) = rotation(self.diagonal[k], bulge);
            self.diagonal[k] = r;
            turn(side, k, high, c, s);
            if k > low {
                bulge = -s * self.above[k - 1];
                self.above[k - 1] = c * self.above[k - 1];
            }
        }
    }

    /// One step of Golub and Kahan's iteration, shifted by the lower of the last two.
    fn sweep(&mut self, low: usize, high: usize, sides: &mut Sides<'_, R>) {
        let (d, e) = (&mut self.diagonal, &mut self.above);
        let before = if high - 1 > low { e[high - 2] } else { R::ZERO };
        let shift = {
            let (a, b) = (d[high - 1], d[high]);
            let f = e[high - 1];
            let top = a * a + before * before;
            let (bottom, beside) = (b * b + f * f, a * f);
            let half = (top - bottom).scale(R::of(0.5));
            let length = half.hypot(beside).with_sign_of(half);
            let divisor = half + length;
            if divisor == R::ZERO {
                bottom
            } else {
                bottom - beside * beside / divisor
            }
        };
        let first = d[low];
        let mut x = first - shift / first;
        let mut y = e[low];
        for k in low..high {
            let (c, s, r) = rotation(x, y);
            if k > low {
                e[k - 1] = r;
            }
            x = c * d[k] + s * e[k];
            e[k] = c * e[k] - s * d[k];
            y = s * d[k + 1];
            d[k + 1] = c * d[k + 1];
            turn(&mut sides[1], k, k + 1, c, s);
            let (c, s, r) = rotation(x, y);
            d[k] = r;
            x = c * e[k] + s * d[k + 1];
            d[k + 1] = c * d[k + 1] - s * e[k];
            if k + 1 < high {
                y = s * e[k + 1];
                e[k + 1] = c * e[k + 1];
            }
            turn(&mut sides[0], k, k + 1, c, s);
        }
        e[high - 1] = x;
    }
}

/// `A = U S Vᴴ` with the singular values from the greatest.
pub(super) struct Parts<T: Field> {
    pub(super) values: Vec<T::Real>,
    /// Row-major, `rows` by as many columns as were asked for; empty if none were.
    pub(super) left: Vec<T>,
    /// `Vᴴ`: row-major, as many rows as were asked for.
    pub(super) right: Vec<T>,
}

/// The decomposition with `bases` columns of `U` and rows of `Vᴴ`; 0 for values alone.
pub(super) fn decompose<T: Field>(
    a: &[T],
    rows: usize,
    columns: usize,
    bases: [usize; 2],
) -> Result<Parts<T>, Failure> {
    if rows < columns {
        // A = U S Vᴴ is Aᴴ = V S Uᴴ.
        let turned = adjoint(a, rows, columns);
        let parts = decompose(&turned, columns, rows, [bases[1], bases[0]])?;
        return Ok(Parts {
            values: parts.values,
            left: adjoint(&parts.right, bases[0], rows),
            right: adjoint(&parts.left, columns, bases[1]),
        });
    }
    let mut a = a.to_vec();
    let scale = equalize(&mut a)?;
    let (mut small, [left, right]) = reduce(&mut a, rows, columns);
    let wants_vectors = bases[0] > 0 || bases[1] > 0;
    let mut sides = wants_vectors.then(|| {
        let u = left.product(rows, bases[0]);
        let v = right.product_after_one(columns);
        [
            Rotated::new(&u, rows, bases[0]),
            Rotated::new(&v, columns, columns),
        ]
    });
    match &mut sides {
        Some([u, v]) => small.diagonalize([Some(u), Some(v)])?,
        None => small.diagonalize([None, None])?,
    }
    let values = &small.diagonal;
    let order = ascending(values.iter().map(|value| -value.abs().wide()).collect());
    let sorted: Vec<T::Real> = order.iter().map(|i| values[*i].abs() * scale).collect();
    let Some([u, v]) = sides else {
        return Ok(Parts {
            values: sorted,
            left: Vec::new(),
            right: Vec::new(),
        });
    };
    let (u, v) = (u.into_matrix::<T>(), v.into_matrix::<T>());
    let mut left = u.clone();
    for (to, from) in left
        .chunks_exact_mut(bases[0].max(1))
        .zip(u.chunks_exact(bases[0].max(1)))
    {
        for (place, i) in to.iter_mut().zip(&order) {
            *place = from[*i];
        }
    }
    let mut right = vec![T::ZERO; columns * columns];
    for (row, i) in right.chunks_exact_mut(columns.max(1)).zip(&order) {
        for (j, place) in row.iter_mut().enumerate() {
            let value = v[j * columns + i].conj();
            *place = if values[*i] < T::Real::ZERO {
                -value
            } else {
                value
            };
        }
    }
    Ok(Parts {
        values: sorted,
        left,
        right,
    })
}

/// The conjugate transpose.
pub(super) fn adjoint<T: Field>(a: &[T], rows: usize, columns: usize) -> Vec<T> {
    let mut turned = vec![T::ZERO; a.len()];
    for (i, row) in a.chunks_exact(columns.max(1)).enumerate().take(rows) {
        for (j, value) in row.iter().enumerate() {
            turned[j * rows + i] = value.conj();
        }
    }
    turned
}

/// `U`, `S` and `Vᴴ`, or `S` alone.
pub struct Svd {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The number of columns of `U` and of rows of `Vᴴ`; zeros leave them out.
    pub bases: [usize; 2],
}

impl FieldWork for Svd {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let parts = decompose(inputs[0], self.rows, self.columns, self.bases)?;
        typed_mut::<T::Real>(outputs[0]).copy_from_slice(&parts.values);
        if let [_, u, v] = outputs {
            typed_mut::<T>(u).copy_from_slice(&parts.left);
            typed_mut::<T>(v).copy_from_slice(&parts.right);
        }
        Ok(())
    }
}

/// The singular values that count: those above a tolerance.
fn cutoff<T: Field>(largest: T::Real, absolute: &[T], relative: &[T]) -> T::Real {
    match (absolute, relative) {
        ([absolute], [relative]) => absolute.re().largest(relative.re() * largest),
        _ => T::Real::ZERO,
    }
}

/// `V S⁺ Uᴴ`: the inverse of what a matrix does not take to nothing. The other inputs
/// are the absolute and the relative tolerance.
pub struct PseudoInverse {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The matrix is Hermitian, and its lower triangle is read.
    pub hermitian: bool,
}

impl FieldWork for PseudoInverse {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let (rows, columns) = (self.rows, self.columns);
        let inner = rows.min(columns);
        let out = typed_mut::<T>(outputs[0]);
        out.fill(T::ZERO);
        if inner == 0 {
            return Ok(());
        }
        let (values, left, turned) = if self.hermitian {
            let mut a = complete(inputs[0], rows, false);
            let (values, vectors) = eigen(&mut a, rows, true)?;
            let turned = adjoint(&vectors, rows, rows);
            (values, vectors, turned)
        } else {
            let parts = decompose(inputs[0], rows, columns, [inner, inner])?;
            let left = adjoint(&parts.right, inner, columns);
            (parts.values, left, adjoint(&parts.left, rows, inner))
        };
        let mut largest = T::Real::ZERO;
        for value in &values {
            largest = largest.largest(value.abs());
        }
        let least = cutoff(largest, inputs[1], inputs[2]);
        let mut left = left;
        for row in left.chunks_exact_mut(inner) {
            for (x, value) in row.iter_mut().zip(&values) {
                *x = if value.abs() > least {
                    x.scale(T::Real::ONE / *value)
                } else {
                    T::ZERO
                };
            }
        }
        add_product(out, rows, &left, inner, &turned, rows, rows);
        Ok(())
    }
}

/// The `X` of least norm among those for which `A X - B` is least. The other inputs are the
/// absolute and the relative tolerance; results are `X`, the sums of squares that are left, the rank and the singular values.
pub struct LeastSquares {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns of `A`.
    pub columns: usize,
    /// The number of columns of `B`.
    pub width: usize,
}

impl FieldWork for LeastSquares {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let ([a, b, absolute, relative], [x, residuals, rank, singular]) = (inputs, outputs) else {
            return Ok(());
        };
        let (rows, columns, width) = (self.rows, self.columns, self.width);
        let inner = rows.min(columns);
        let parts = decompose(a, rows, columns, [inner, inner])?;
        let largest = parts.values.first().copied().unwrap_or(T::Real::ZERO);
        let least = cutoff(largest, absolute, relative);
        let counted = parts.values.iter().filter(|value| **value > least).count();
        let x = typed_mut::<T>(x);
        x.fill(T::ZERO);
        let mut products = vec![T::ZERO; inner * width];
        let turned = adjoint(&parts.left, rows, inner);
        add_product(&mut products, width, &turned, rows, b, width, width);
        for (row, value) in products.chunks_exact_mut(width.max(1)).zip(&parts.values) {
            for x in row {
                *x = if *value > least {
                    x.scale(T::Real::ONE / *value)
                } else {
                    T::ZERO
                };
            }
        }
        let back = adjoint(&parts.right, inner, columns);
        add_product(x, width, &back, inner, &products, width, width);
        let mut rest: Vec<T> = b.iter().map(|b| -*b).collect();
        add_product(&mut rest, width, a, columns, x, width, width);
        let squares = typed_mut::<T::Real>(residuals);
        squares.fill(T::Real::ZERO);
        for row in rest.chunks_exact(width.max(1)) {
            for (square, x) in squares.iter_mut().zip(row) {
                *square += x.square_abs();
            }
        }
        typed_mut::<i64>(rank).fill(counted as i64);
        typed_mut::<T::Real>(singular).copy_from_slice(&parts.values);
        Ok(())
    }
}
