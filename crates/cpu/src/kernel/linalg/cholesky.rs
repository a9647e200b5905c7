//! Triangular roots of positive definite matrices.

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::{Field, Real};
use super::product::{Factors, add_product};
use super::triangular::Triangle;

/// Columns that are computed together; the rest is updated with their product.
const BLOCK: usize = 48;
/// Rows that are updated together, up to the diagonal.
const ROWS: usize = 128;

/// Replaces the lower triangle by `L` with `A = L Lᴴ`, and the upper one by zeros.
pub(super) fn decompose<T: Field>(a: &mut [T], n: usize) -> Result<(), Failure> {
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        for j in start..end {
            let row = &a[j * n + start..j * n + j];
            let known: Vec<T> = row.iter().map(|x| x.conj()).collect();
            let known = Factors::new(&known);
            let square = a[j * n + j].re() - known.dot(row).re();
            let is_positive = square > T::Real::ZERO;
            if !is_positive {
                return Err(Failure::NotPositive { row: j });
            }
            let diagonal = square.sqrt();
            a[j * n + j] = T::from_real(diagonal);
            for i in j + 1..n {
                let place = i * n + j;
                let below = known.dot(&a[i * n + start..place]);
                a[place] = (a[place] - below).scale(T::Real::ONE / diagonal);
            }
        }
        subtract_square(a, n, start, end);
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

/// Takes the product of the columns from `start` to `end` with their conjugates from what is right
/// of them and below, up to the diagonal.
fn subtract_square<T: Field>(a: &mut [T], n: usize, start: usize, end: usize) {
    let (inner, order) = (end - start, n - end);
    let mut left = Vec::with_capacity(order * inner);
    let mut right = vec![T::ZERO; order * inner];
    for i in 0..order {
        for (p, x) in a[(end + i) * n + start..(end + i) * n + end]
            .iter()
            .enumerate()
        {
            left.push(-*x);
            right[p * order + i] = x.conj();
        }
    }
    for first in (0..order).step_by(ROWS) {
        let last = order.min(first + ROWS);
        let out = &mut a[(end + first) * n + end..];
        let left = &left[first * inner..last * inner];
        add_product(out, n, left, inner, &right, order, last);
    }
}

/// The lower triangular root; only the lower triangle is read.
pub struct Cholesky {
    /// The number of rows and columns.
    pub order: usize,
    /// Writes the number of the first row without a root, counted from one, or zero, instead of
    /// failing.
    pub reports: bool,
}

impl FieldWork for Cholesky {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let a: &mut [T] = typed_mut(outputs[0]);
        a.copy_from_slice(inputs[0]);
        let answer = decompose(a, self.order);
        if !self.reports {
            return answer;
        }
        let row = match answer {
            Err(Failure::NotPositive { row }) => {
                clear_upper(a, self.order);
                row as i32 + 1
            }
            _ => 0,
        };
        typed_mut::<i32>(outputs[1]).fill(row);
        Ok(())
    }
}

/// The solution of `A X = B` from the lower triangular root of `A`.
pub struct CholeskySolve {
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
        let mut turned = vec![T::ZERO; order * order];
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
        triangle(*root).solve_lower(x, self.width);
        triangle(&turned).solve_upper(x, self.width);
        Ok(())
    }
}
