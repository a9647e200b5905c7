//! Orthogonal bases by reflections.

use super::batch::{Failure, FieldWork, typed_mut};
use super::blocked::is_large;
use super::field::{Field, Real};
use super::reflect::{BLOCK, Block, apply_left, column, form_product, reflect};
use super::scratch::{try_to_vec, try_with_capacity};
use crate::interrupt::check_step;

/// Replaces a matrix by `R` on and above the diagonal and the vectors of so many reflections below
/// it; gives their `τ`.
#[inline(never)]
pub(super) fn decompose<T: Field>(
    a: &mut [T],
    rows: usize,
    columns: usize,
    steps: usize,
) -> Result<Vec<T>, Failure> {
    let mut taus = try_with_capacity(steps)?;
    for start in (0..steps).step_by(BLOCK) {
        check_step(start);
        let end = steps.min(start + BLOCK);
        for k in start..end {
            let mut x = column(a, columns, k, k)?;
            let (tau, beta) = reflect(&mut x);
            taus.push(tau);
            let width = end - k - 1;
            if width > 0 {
                let beside = &mut a[k * columns + k + 1..];
                apply_left(beside, columns, width, &x, tau.conj())?;
            }
            for (row, value) in a[k * columns..].chunks_exact_mut(columns).zip(x) {
                row[k] = value;
            }
            a[k * columns + k] = T::from_real(beta);
        }
        if end < columns {
            let vectors = &a[start * columns + start..];
            let block = Block::new(vectors, columns, rows - start, &taus[start..end])?;
            let beside = &mut a[start * columns + end..];
            block.apply(beside, columns, columns - end, true)?;
        }
    }
    Ok(taus)
}

/// `A = Q R`: `Q` with as many columns as asked for (none leaves it out), and as many rows of `R`.
pub(crate) struct Qr {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The number of columns of `Q`.
    pub basis: usize,
    /// The number of rows of `R`.
    pub kept: usize,
}

/// Whether all numbers are finite, and the squares of the greatest within the range.
fn is_moderate<T: Field>(a: &[T]) -> bool {
    let mut largest = T::Real::ZERO;
    for value in a {
        largest = largest.largest(value.re().abs()).largest(value.im().abs());
    }
    let safe = (T::Real::HUGE.sqrt() * T::Real::EPSILON).wide();
    // A NaN is in no range.
    (1.0 / safe..safe).contains(&largest.wide()) && a.iter().all(|value| value.is_finite())
}

impl Qr {
    /// Whether it could be done in blocks.
    fn run_blocked<T: Field>(&self, a: &[T], outputs: &mut [&mut [u8]]) -> Result<bool, Failure> {
        let (rows, columns) = (self.rows, self.columns);
        let Some((q, r)) = T::qr(try_to_vec(a)?, [rows, columns], self.basis)? else {
            return Ok(false);
        };
        if self.basis > 0 {
            typed_mut::<T>(outputs[0]).copy_from_slice(&q);
        }
        let kept = typed_mut::<T>(outputs[1]);
        kept.fill(T::ZERO);
        for (to, from) in kept.chunks_exact_mut(columns).zip(r.chunks_exact(columns)) {
            to.copy_from_slice(from);
        }
        Ok(true)
    }
}

impl FieldWork for Qr {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let (rows, columns) = (self.rows, self.columns);
        // The signs of complex factors depend on the reflections themselves, and ours are LAPACK's.
        if T::PARTS == 1
            && is_large(rows, columns)
            && is_moderate(inputs[0])
            && self.run_blocked(inputs[0], outputs)?
        {
            return Ok(());
        }
        let mut a = try_to_vec(inputs[0])?;
        let taus = decompose(&mut a, rows, columns, rows.min(columns))?;
        if self.basis > 0 {
            let q = form_product(&a, columns, rows, &taus, self.basis)?;
            typed_mut::<T>(outputs[0]).copy_from_slice(&q);
        }
        let r = typed_mut::<T>(outputs[1]);
        r.fill(T::ZERO);
        for i in 0..self.kept.min(columns).min(rows) {
            let row = i * columns;
            r[row + i..row + columns].copy_from_slice(&a[row + i..row + columns]);
        }
        Ok(())
    }
}

/// The first columns of the product of reflections: vectors below the diagonal of the first input,
/// `τ` in the second.
pub(crate) struct HouseholderProduct {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

impl FieldWork for HouseholderProduct {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [vectors, taus] = inputs else {
            return Ok(());
        };
        let q = form_product(vectors, self.columns, self.rows, taus, self.columns)?;
        typed_mut::<T>(outputs[0]).copy_from_slice(&q);
        Ok(())
    }
}
