//! Real bidiagonal matrices: how a matrix is reduced to one by reflections from both sides, and how
//! one is made diagonal by rotations.

use super::batch::Failure;
use super::field::{Field, Real, ascending};
use super::product::{add_product, times_vector};
use super::reflect::{Reflections, apply_left, column, reflect};
use super::rotate::{Rotated, rotation};
use super::scratch::{try_collect, try_vec, try_with_capacity};
use crate::interrupt::check_step;

/// Sweeps per singular value before an iteration is given up; two are usual.
const SWEEPS: usize = 60;

/// A real matrix with nothing but a diagonal and the one above it.
#[derive(Clone)]
pub(super) struct Bidiagonal<R> {
    pub(super) diagonal: Vec<R>,
    pub(super) above: Vec<R>,
    /// What counts as nothing.
    small: R,
}

/// A matrix, reduced, and the reflections from the left and from the right.
type Reduced<T> = (Bidiagonal<<T as Field>::Real>, [Reflections<T>; 2]);

/// Reduces a matrix with no more columns than rows, which is lost.
#[inline(never)]
pub(super) fn reduce<T: Field>(
    a: &mut [T],
    rows: usize,
    columns: usize,
) -> Result<Reduced<T>, Failure> {
    let (mut left, mut right) = (Reflections::new(columns)?, Reflections::new(columns)?);
    let (mut diagonal, mut above) = (try_with_capacity(columns)?, try_with_capacity(columns)?);
    for k in 0..columns {
        check_step(columns);
        let mut v = column(a, columns, k, k)?;
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
            )?;
        }
        left.push(v, tau);
        if width == 0 {
            continue;
        }
        let row = &a[k * columns + k + 1..(k + 1) * columns];
        let mut u: Vec<T> = try_collect(row.iter().map(|x| x.conj()))?;
        let (tau, beta) = reflect(&mut u);
        above.push(beta);
        if k + 1 < rows && tau != T::ZERO {
            let below = &mut a[(k + 1) * columns + k + 1..];
            let mut products = try_vec(rows - k - 1, T::ZERO)?;
            times_vector(below, columns, &u, &mut products)?;
            products.iter_mut().for_each(|x| *x = -tau * *x);
            let turned: Vec<T> = try_collect(u.iter().map(|x| x.conj()))?;
            add_product(below, columns, &products, 1, &turned, width, width)?;
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
    Ok((reduced, [left, right]))
}

/// Where rotations of columns are written down, if anywhere.
type Sides<'a, R> = [Option<&'a mut Rotated<R>>; 2];

fn turn<R: Real>(side: &mut Option<&mut Rotated<R>>, i: usize, j: usize, c: R, s: R) {
    if let Some(side) = side {
        side.turn(i, j, c, s);
    }
}

impl<R: Real> Bidiagonal<R> {
    /// The magnitudes from the greatest, once it is diagonal, and the places where they were.
    pub(super) fn sorted(&self, scale: R) -> Result<(Vec<R>, Vec<usize>), Failure> {
        let values = &self.diagonal;
        let order = ascending(&try_collect(
            values.iter().map(|value| -value.abs().wide()),
        )?)?;
        Ok((
            try_collect(order.iter().map(|i| values[*i].abs() * scale))?,
            order,
        ))
    }

    /// Replaces rows of `width` numbers by those of the solution.
    pub(super) fn solve<T: Field<Real = R>>(&self, x: &mut [T], width: usize) {
        for k in (0..self.diagonal.len()).rev() {
            for place in k * width..(k + 1) * width {
                let mut value = x[place];
                if let Some(above) = self.above.get(k) {
                    value -= x[place + width].scale(*above);
                }
                x[place] = value / T::from_real(self.diagonal[k]);
            }
        }
    }

    fn is_small(&self, i: usize) -> bool {
        let near = self.diagonal[i].abs() + self.diagonal[i + 1].abs();
        let value = self.above[i].abs();
        value <= R::EPSILON * near || value <= R::TINY
    }

    /// Rotates until only the diagonal is left; the sides are `U` and `V`.
    pub(super) fn diagonalize(&mut self, mut sides: Sides<'_, R>) -> Result<(), Failure> {
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
            check_step(high);
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
                // In this order: the square, a fourth power of elements, may leave the range.
                bottom - beside * (beside / divisor)
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
