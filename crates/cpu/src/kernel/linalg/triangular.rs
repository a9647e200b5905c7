//! Solutions of triangular systems.

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::Field;
use super::product::{add_product, multiply_and_add};
use super::scratch::try_collect_all;
use crate::interrupt::check_step;

/// Rows that are solved together; what is known before them is subtracted as a product.
const BLOCK: usize = 48;
/// The order up to which rows are subtracted from each other one by one, without a call for each.
const FEW: usize = 12;

/// Which triangle of a square matrix is meant, and what its diagonal is.
#[derive(Clone, Copy)]
pub(super) struct Triangle<'a, T> {
    pub(super) elements: &'a [T],
    pub(super) stride: usize,
    pub(super) order: usize,
    /// The diagonal is one, whatever is stored.
    pub(super) unit: bool,
}

impl<T: Field> Triangle<'_, T> {
    fn row(&self, row: usize, columns: std::ops::Range<usize>) -> &[T] {
        let start = row * self.stride;
        &self.elements[start + columns.start..start + columns.end]
    }

    #[inline(never)]
    fn negated(
        &self,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
    ) -> Result<Vec<T>, Failure> {
        let count = rows.len() * columns.len();
        let rows = rows.map(|row| self.row(row, columns.clone()));
        try_collect_all(count, rows.flat_map(|row| row.iter().map(|x| -*x)))
    }

    /// Replaces the rows of `b`, each of `width` elements, by those of `L⁻¹ b`.
    pub(super) fn solve_lower(&self, b: &mut [T], width: usize) -> Result<(), Failure> {
        if self.order <= FEW {
            for i in 0..self.order {
                let (known, rest) = b.split_at_mut(i * width);
                self.subtract(i, 0..i, known, &mut rest[..width]);
            }
            return Ok(());
        }
        if width == 1 {
            for i in 0..self.order {
                let known = multiply_and_add(&b[..i], self.row(i, 0..i))?;
                b[i] = self.divided(i, b[i] - known);
            }
            return Ok(());
        }
        for start in (0..self.order).step_by(BLOCK) {
            check_step(start);
            let end = self.order.min(start + BLOCK);
            let (known, rest) = b.split_at_mut(start * width);
            let left = self.negated(start..end, 0..start)?;
            add_product(rest, width, &left, start, known, width, width)?;
            for i in start..end {
                let (before, row) = rest.split_at_mut((i - start) * width);
                let left = self.negated(i..i + 1, start..i)?;
                add_product(row, width, &left, i - start, before, width, width)?;
                self.divide(i, &mut row[..width]);
            }
        }
        Ok(())
    }

    /// Replaces the rows of `b`, each of `width` elements, by those of `U⁻¹ b`.
    pub(super) fn solve_upper(&self, b: &mut [T], width: usize) -> Result<(), Failure> {
        let order = self.order;
        if order <= FEW {
            for i in (0..order).rev() {
                let (rest, known) = b.split_at_mut((i + 1) * width);
                self.subtract(i, i + 1..order, known, &mut rest[i * width..]);
            }
            return Ok(());
        }
        if width == 1 {
            for i in (0..order).rev() {
                let known = multiply_and_add(&b[i + 1..order], self.row(i, i + 1..order))?;
                b[i] = self.divided(i, b[i] - known);
            }
            return Ok(());
        }
        for end in (1..=order).rev().step_by(BLOCK) {
            check_step(order - end);
            let start = end.saturating_sub(BLOCK);
            let (rest, known) = b.split_at_mut(end * width);
            let left = self.negated(start..end, end..order)?;
            let place = &mut rest[start * width..];
            add_product(place, width, &left, order - end, known, width, width)?;
            for i in (start..end).rev() {
                let (rest, after) = rest.split_at_mut((i + 1) * width);
                let row = &mut rest[i * width..];
                let left = self.negated(i..i + 1, i + 1..end)?;
                add_product(row, width, &left, end - i - 1, after, width, width)?;
                self.divide(i, row);
            }
        }
        Ok(())
    }

    /// Solves for one row where others are known.
    fn subtract(&self, row: usize, columns: std::ops::Range<usize>, known: &[T], x: &mut [T]) {
        for (factor, known) in self
            .row(row, columns)
            .iter()
            .zip(known.chunks_exact(x.len().max(1)))
        {
            for (x, known) in x.iter_mut().zip(known) {
                *x -= *factor * *known;
            }
        }
        self.divide(row, x);
    }

    fn divided(&self, row: usize, value: T) -> T {
        if self.unit {
            value
        } else {
            value / self.elements[row * self.stride + row]
        }
    }

    fn divide(&self, row: usize, values: &mut [T]) {
        if !self.unit {
            let diagonal = self.elements[row * self.stride + row];
            values
                .iter_mut()
                .for_each(|value| *value = *value / diagonal);
        }
    }
}

/// The solution of `A X = B` for a triangular `A`; the other triangle is not read.
pub(crate) struct SolveTriangular {
    /// The number of rows and columns of `A`.
    pub order: usize,
    /// The number of columns of `B`.
    pub width: usize,
    /// The upper triangle rather than the lower one.
    pub upper: bool,
    /// The diagonal is one, whatever is stored.
    pub unit: bool,
}

impl FieldWork for SolveTriangular {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [a, b] = inputs else { return Ok(()) };
        let x: &mut [T] = typed_mut(outputs[0]);
        x.copy_from_slice(b);
        let triangle = Triangle {
            elements: a,
            stride: self.order,
            order: self.order,
            unit: self.unit,
        };
        if self.upper {
            triangle.solve_upper(x, self.width)?;
        } else {
            triangle.solve_lower(x, self.width)?;
        }
        Ok(())
    }
}
