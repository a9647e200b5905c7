//! Singular values and vectors: a matrix is reduced to a real bidiagonal one by reflections from
//! both sides, which is made diagonal by rotations.

use super::batch::{Failure, FieldWork, typed_mut};
use super::bidiagonal::reduce;
use super::blocked::{energy, is_large, is_spectrum};
use super::field::{Field, Real};
use super::product::add_product;
use super::rotate::Rotated;
use super::scratch::{try_collect, try_to_vec, try_vec};
use super::symmetric::{complete, eigen, equalize};

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
    let is_even = (bases[0] == 0) == (bases[1] == 0);
    if is_even && is_large(rows, columns) {
        let mut scaled = try_to_vec(a)?;
        let scale = equalize(&mut scaled)?;
        let energy = energy(&scaled);
        match T::svd(scaled, [rows, columns], bases) {
            Ok((values, left, right)) if is_spectrum(&values, energy, true) => {
                let values = try_collect(values.iter().map(|value| value.re() * scale))?;
                return Ok(Parts {
                    values,
                    left,
                    right,
                });
            }
            // It gives some matrices of low rank up; our own iteration takes longer, and does not.
            Ok(_) | Err(Failure::NoConvergence) => {}
            Err(failure) => return Err(failure),
        }
    }
    if rows < columns {
        // A = U S Vᴴ is Aᴴ = V S Uᴴ.
        let turned = adjoint(a, rows, columns)?;
        let parts = decompose(&turned, columns, rows, [bases[1], bases[0]])?;
        return Ok(Parts {
            values: parts.values,
            left: adjoint(&parts.right, bases[0], rows)?,
            right: adjoint(&parts.left, columns, bases[1])?,
        });
    }
    let mut a = try_to_vec(a)?;
    let scale = equalize(&mut a)?;
    let (mut small, [left, right]) = reduce(&mut a, rows, columns)?;
    let wants_vectors = bases[0] > 0 || bases[1] > 0;
    let mut sides = if wants_vectors {
        let u = left.product(rows, bases[0])?;
        let v = right.product_after_one(columns)?;
        Some([
            Rotated::new(&u, rows, bases[0])?,
            Rotated::new(&v, columns, columns)?,
        ])
    } else {
        None
    };
    match &mut sides {
        Some([u, v]) => small.diagonalize([Some(u), Some(v)])?,
        None => small.diagonalize([None, None])?,
    }
    let (sorted, order) = small.sorted(scale)?;
    let Some([u, v]) = sides else {
        return Ok(Parts {
            values: sorted,
            left: Vec::new(),
            right: Vec::new(),
        });
    };
    let (u, v) = (u.into_matrix::<T>()?, v.into_matrix::<T>()?);
    let mut left = try_to_vec(&u)?;
    for (to, from) in left
        .chunks_exact_mut(bases[0].max(1))
        .zip(u.chunks_exact(bases[0].max(1)))
    {
        for (place, i) in to.iter_mut().zip(&order) {
            *place = from[*i];
        }
    }
    let mut right = try_vec(columns * columns, T::ZERO)?;
    for (row, i) in right.chunks_exact_mut(columns.max(1)).zip(&order) {
        for (j, place) in row.iter_mut().enumerate() {
            let value = v[j * columns + i].conj();
            *place = if small.diagonal[*i] < T::Real::ZERO {
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
#[inline(never)]
pub(super) fn adjoint<T: Field>(a: &[T], rows: usize, columns: usize) -> Result<Vec<T>, Failure> {
    let mut turned = try_vec(a.len(), T::ZERO)?;
    for (i, row) in a.chunks_exact(columns.max(1)).enumerate().take(rows) {
        for (j, value) in row.iter().enumerate() {
            turned[j * rows + i] = value.conj();
        }
    }
    Ok(turned)
}

/// `U`, `S` and `Vᴴ`, or `S` alone.
pub(crate) struct Svd {
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
pub(super) fn cutoff<T: Field>(largest: T::Real, absolute: &[T], relative: &[T]) -> T::Real {
    match (absolute, relative) {
        ([absolute], [relative]) => absolute.re().largest(relative.re() * largest),
        _ => T::Real::ZERO,
    }
}

/// `V S⁺ Uᴴ`: the inverse of what a matrix does not take to nothing. The other inputs
/// are the absolute and the relative tolerance.
pub(crate) struct PseudoInverse {
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
            let a = complete(inputs[0], rows, false)?;
            let (values, vectors) = eigen(a, rows, true)?;
            let turned = adjoint(&vectors, rows, rows)?;
            (values, vectors, turned)
        } else {
            let parts = decompose(inputs[0], rows, columns, [inner, inner])?;
            let left = adjoint(&parts.right, inner, columns)?;
            (parts.values, left, adjoint(&parts.left, rows, inner)?)
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
        add_product(out, rows, &left, inner, &turned, rows, rows)?;
        Ok(())
    }
}
