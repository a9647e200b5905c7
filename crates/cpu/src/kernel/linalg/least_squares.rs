//! Least squares: from the bidiagonal form where all singular values count, which needs no singular
//! vectors, else from the singular value decomposition.

use super::batch::{Failure, FieldWork, typed_mut};
use super::bidiagonal::reduce;
use super::blocked::is_large;
use super::field::Field;
use super::product::add_product;
use super::qr::decompose as triangularize;
use super::scratch::{try_collect, try_to_vec, try_vec, try_with_capacity};
use super::singular::{Parts, adjoint, cutoff, decompose};
use super::symmetric::equalize;

/// The singular values of a matrix with no more columns than rows, and `P B⁻¹ Qᴴ b` for `A = Q B Pᴴ`:
/// the solution if none of them is zero.
fn solve_tall<T: Field>(
    a: &[T],
    b: &[T],
    x: &mut [T],
    [rows, columns, width]: [usize; 3],
) -> Result<Vec<T::Real>, Failure> {
    let (mut a, mut y) = (try_to_vec(a)?, try_to_vec(b)?);
    let scale = equalize(&mut a)?;
    // Reflections from one side alone are applied in blocks: first to a square matrix.
    let is_square = 2 * rows < 3 * columns;
    if !is_square {
        let mut both = try_with_capacity(a.len() + y.len())?;
        for (a, y) in a.chunks_exact(columns).zip(y.chunks_exact(width)) {
            both.extend_from_slice(a);
            both.extend_from_slice(y);
        }
        triangularize(&mut both, rows, columns + width, columns)?;
        a.clear();
        y.clear();
        for (i, row) in both.chunks_exact(columns + width).take(columns).enumerate() {
            // bounded: no more than it had room for before.
            a.resize(a.len() + i, T::ZERO);
            a.extend_from_slice(&row[i..columns]);
            y.extend_from_slice(&row[columns..]);
        }
    }
    let (mut form, [left, right]) = reduce(&mut a, y.len() / width, columns)?;
    left.apply_adjoint(&mut y, width)?;
    form.solve(&mut y, width);
    right.apply(&mut y[width..], width)?;
    for (x, y) in x.iter_mut().zip(y) {
        *x = y / T::from_real(scale);
    }
    form.diagonalize([None, None])?;
    Ok(form.sorted(scale)?.0)
}

/// [`solve_tall`] of a large matrix, and whether there is a solution: none of a matrix whose rank is
/// seen to be less than full.
fn solve_tall_blocked<T: Field>(
    a: &[T],
    b: &[T],
    x: &mut [T],
    sizes: [usize; 3],
) -> Result<(Vec<T::Real>, bool), Failure> {
    let mut a = try_to_vec(a)?;
    let scale = equalize(&mut a)?;
    let (values, solution) = T::lstsq(a, try_to_vec(b)?, sizes)?;
    let values = try_collect(values.iter().map(|value| value.re() * scale))?;
    for (x, y) in x.iter_mut().zip(solution.iter().flatten()) {
        *x = *y / T::from_real(scale);
    }
    Ok((values, solution.is_some()))
}

/// `V S⁺ Uᴴ B`.
fn combine<T: Field>(
    parts: &Parts<T>,
    least: T::Real,
    b: &[T],
    x: &mut [T],
    [rows, columns, width]: [usize; 3],
) -> Result<(), Failure> {
    let inner = rows.min(columns);
    let mut products = try_vec(inner * width, T::ZERO)?;
    let turned = adjoint(&parts.left, rows, inner)?;
    add_product(&mut products, width, &turned, rows, b, width, width)?;
    for (row, value) in products.chunks_exact_mut(width.max(1)).zip(&parts.values) {
        for x in row {
            *x = if *value > least {
                x.scale(T::Real::ONE / *value)
            } else {
                T::ZERO
            };
        }
    }
    x.fill(T::ZERO);
    let back = adjoint(&parts.right, inner, columns)?;
    add_product(x, width, &back, inner, &products, width, width)?;
    Ok(())
}

/// The `X` of least norm among those for which `A X - B` is least. The other inputs are the
/// absolute and the relative tolerance; results are `X`, the sums of squares that are left, the rank
/// and the singular values.
pub(crate) struct LeastSquares {
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
        let x = typed_mut::<T>(x);
        let all = [rows, columns, width];
        let least_of = |values: &[T::Real]| {
            let largest = values.first().copied().unwrap_or(T::Real::ZERO);
            cutoff(largest, absolute, relative)
        };
        // Small complex numbers go the longer way.
        let is_blocked = is_large(rows, columns);
        let is_tall = (T::PARTS == 1 || is_blocked) && rows >= columns && columns * width > 0;
        let mut values = Vec::new();
        let mut is_solved = is_tall;
        if is_tall && is_blocked {
            (values, is_solved) = solve_tall_blocked(a, b, x, all)?;
        } else if is_tall {
            values = solve_tall(a, b, x, all)?;
        }
        let least = least_of(&values);
        if !is_solved || values.iter().any(|value| *value <= least) {
            let parts = decompose(a, rows, columns, [inner, inner])?;
            combine(&parts, least_of(&parts.values), b, x, all)?;
            values = parts.values;
        }
        let least = least_of(&values);
        let counted = values.iter().filter(|value| **value > least).count();
        let mut rest: Vec<T> = try_collect(b.iter().map(|b| -*b))?;
        add_product(&mut rest, width, a, columns, x, width, width)?;
        let squares = typed_mut::<T::Real>(residuals);
        squares.fill(T::Real::ZERO);
        for row in rest.chunks_exact(width.max(1)) {
            for (square, x) in squares.iter_mut().zip(row) {
                *square += x.square_abs();
            }
        }
        typed_mut::<i64>(rank).fill(counted as i64);
        typed_mut::<T::Real>(singular).copy_from_slice(&values);
        Ok(())
    }
}
