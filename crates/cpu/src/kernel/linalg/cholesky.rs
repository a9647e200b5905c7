//! Triangular roots of positive definite matrices.

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::{Field, Real};
use super::product::add_product;
use super::scratch::{try_vec, try_with_capacity};
use super::triangular::Triangle;
use crate::interrupt::check_step;

/// Columns that are computed together; the rest is updated with their product.
const BLOCK: usize = 32;
/// Rows that are updated together, up to the diagonal.
const ROWS: usize = 48;

/// Replaces the lower triangle by `L` with `A = L Lᴴ`, and the upper one by zeros.
pub(super) fn decompose<T: Field>(a: &mut [T], n: usize) -> Result<(), Failure> {
    for start in (0..n).step_by(BLOCK) {
        check_step(start);
        let end = n.min(start + BLOCK);
        for j in start..end {
            let square = a[j * n + j].re();
            let is_positive = square > T::Real::ZERO;
            if !is_positive {
                return Err(Failure::NotPositive { row: j });
            }
            let diagonal = square.sqrt();
            a[j * n + j] = T::from_real(diagonal);
            let inverse = T::Real::ONE / diagonal;
            let mut turned = [T::ZERO; BLOCK];
            for i in j + 1..end {
                let row = &mut a[i * n + j..=i * n + i];
                if let Some((first, rest)) = row.split_first_mut() {
                    *first = first.scale(inverse);
                    turned[i - j - 1] = first.conj();
                    for (x, turned) in rest.iter_mut().zip(&turned) {
                        *x -= *first * *turned;
                    }
                }
            }
        }
        if end < n {
            solve_below(a, n, start, end)?;
        }
    }
    clear_upper(a, n);
    Ok(())
}

/// Replaces what is above the diagonal by zeros.
fn clear_upper<T: Field>(a: &mut [T], n: usize) {
    for i in 0..n {
        a[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
}

/// Divides what is below a block by the adjoint of its root, and takes the product of that with its
/// own adjoint from what is right of it, up to the diagonal.
fn solve_below<T: Field>(a: &mut [T], n: usize, start: usize, end: usize) -> Result<(), Failure> {
    let (inner, order) = (end - start, n - end);
    let mut right = try_vec(order * inner, T::ZERO)?;
    for (i, row) in a[end * n..].chunks_exact(n).enumerate() {
        for (p, x) in row[start..end].iter().enumerate() {
            right[p * order + i] = x.conj();
        }
    }
    let root = Triangle {
        elements: &a[start * n + start..],
        stride: n,
        order: inner,
        unit: false,
    };
    root.solve_lower(&mut right, order)?;
    let mut left = try_with_capacity(order * inner)?;
    for (i, row) in a[end * n..].chunks_exact_mut(n).enumerate() {
        for (p, x) in row[start..end].iter_mut().enumerate() {
            *x = right[p * order + i].conj();
            left.push(-*x);
        }
    }
    for first in (0..order).step_by(ROWS) {
        let last = order.min(first + ROWS);
        let out = &mut a[(end + first) * n + end..];
        let left = &left[first * inner..last * inner];
        add_product(out, n, left, inner, &right, order, last)?;
    }
    Ok(())
}

/// The lower triangular root; only the lower triangle is read.
pub(crate) struct Cholesky {
    /// The number of rows and columns.
    pub order: usize,
    /// A row without a root is no failure: its number, counted from one, is written.
    pub reports: bool,
}

impl FieldWork for Cholesky {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let a: &mut [T] = typed_mut(outputs[0]);
        a.copy_from_slice(inputs[0]);
        let answer = decompose(a, self.order);
        let row = match answer {
            Err(Failure::NotPositive { row }) if self.reports => {
                clear_upper(a, self.order);
                row as i32 + 1
            }
            answer => answer.map(|()| 0)?,
        };
        typed_mut::<i32>(outputs[1]).fill(row);
        Ok(())
    }
}

/// The solution of `A X = B` from the lower triangular root of `A`.
pub(crate) struct CholeskySolve {
    /// The number of rows and columns of `A`.
    pub order: usize,
    /// The number of columns of `B`.
    pub width: usize,
}

impl FieldWork for CholeskySolve {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [root, b] = inputs else { return Ok(()) };
        let x: &mut [T] = typed_mut(outputs[0]);
        x.copy_from_slice(b);
        let order = self.order;
        let mut turned = try_vec(order * order, T::ZERO)?;
        for i in 0..order {
            for j in 0..=i {
                turned[j * order + i] = root[i * order + j].conj();
            }
        }
        let triangle = |elements| Triangle {
            elements,
            stride: order,
            order,
            unit: false,
        };
        triangle(*root).solve_lower(x, self.width)?;
        triangle(&turned).solve_upper(x, self.width)?;
        Ok(())
    }
}
