//! Gaussian elimination with the largest pivot of each column, and what follows from it.

use super::scratch::{try_collect, try_collect_all, try_to_vec, try_vec, try_with_capacity};
use smallvec::SmallVec;

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::{Field, Real};
use super::product::add_product;
use super::triangular::Triangle;
use crate::interrupt::check_step;

/// Columns that are eliminated together; the rest is updated with their product.
const BLOCK: usize = 48;
/// Columns up to which rows are subtracted from each other one by one, without a call for each.
const FEW: usize = 12;

/// The rows that were exchanged with each other, in turn.
type Exchanged = SmallVec<[usize; FEW]>;
/// A copy of a matrix; a small one needs no memory of its own.
type Copied<T> = SmallVec<[T; 64]>;

fn copied<T: Field>(matrix: &[T]) -> Result<Copied<T>, Failure> {
    if matrix.len() <= 64 {
        return Ok(Copied::from_slice(matrix));
    }
    Ok(try_to_vec(matrix)?.into())
}

/// Eliminates in place: `L` below the diagonal, `U` from it on. The rows that were exchanged with
/// each other, in turn.
pub(super) fn eliminate<T: Field>(
    a: &mut [T],
    rows: usize,
    columns: usize,
    pivots: bool,
) -> Result<Exchanged, Failure> {
    let steps = rows.min(columns);
    let mut exchanged = Exchanged::new();
    if steps > FEW {
        exchanged = try_with_capacity(steps)?.into();
    }
    for start in (0..steps).step_by(BLOCK) {
        check_step(start);
        let end = steps.min(start + BLOCK);
        for k in start..end {
            let pivot = if pivots {
                largest_below(a, rows, columns, k)
            } else {
                k
            };
            exchanged.push(pivot);
            swap_rows(a, columns, k, pivot);
            let diagonal = a[k * columns + k];
            if diagonal == T::ZERO {
                continue;
            }
            let (top, below) = a.split_at_mut((k + 1) * columns);
            let pivot_row = &top[k * columns + k + 1..k * columns + end];
            if columns <= FEW {
                for row in below.chunks_exact_mut(columns) {
                    let factor = row[k] / diagonal;
                    row[k] = factor;
                    for (x, pivot) in row[k + 1..].iter_mut().zip(pivot_row) {
                        *x -= factor * *pivot;
                    }
                }
                continue;
            }
            let factors = below.chunks_exact_mut(columns).map(|row| {
                row[k] = row[k] / diagonal;
                -row[k]
            });
            let factors: Vec<T> = try_collect(factors)?;
            let (beside, width) = (below.get_mut(k + 1..).unwrap_or_default(), end - k - 1);
            add_product(beside, columns, &factors, 1, pivot_row, width, width)?;
        }
        if end == columns {
            continue;
        }
        // The rows of U beside the block, then everything below them.
        for k in start + 1..end {
            let (known, row) = a.split_at_mut(k * columns);
            let left: Vec<T> = try_collect(row[start..k].iter().map(|x| -*x))?;
            let right = &known[start * columns + end..];
            let width = columns - end;
            add_product(
                &mut row[end..],
                columns,
                &left,
                k - start,
                right,
                columns,
                width,
            )?;
        }
        let (top, below) = a.split_at_mut(end * columns);
        let rows_below = below.chunks_exact(columns);
        let count = rows_below.len() * (end - start);
        let left = rows_below.flat_map(|row| row[start..end].iter().map(|x| -*x));
        let left: Vec<T> = try_collect_all(count, left)?;
        if !left.is_empty() {
            let right = &top[start * columns + end..];
            let (inner, width) = (end - start, columns - end);
            add_product(
                &mut below[end..],
                columns,
                &left,
                inner,
                right,
                columns,
                width,
            )?;
        }
    }
    Ok(exchanged)
}

fn largest_below<T: Field>(a: &[T], rows: usize, columns: usize, k: usize) -> usize {
    let mut pivot = k;
    let mut largest = a[k * columns + k].abs();
    for row in k + 1..rows {
        let magnitude = a[row * columns + k].abs();
        if magnitude > largest {
            (pivot, largest) = (row, magnitude);
        }
    }
    pivot
}

pub(super) fn swap_rows<T: Field>(a: &mut [T], width: usize, i: usize, j: usize) {
    if i != j {
        let (i, j) = (i.min(j), i.max(j));
        let (top, bottom) = a.split_at_mut(j * width);
        top[i * width..(i + 1) * width].swap_with_slice(&mut bottom[..width]);
    }
}

/// The first pivot that is zero.
fn check_pivots<T: Field>(factors: &[T], order: usize) -> Result<(), Failure> {
    let zero = (0..order).find(|i| factors[i * order + i] == T::ZERO);
    zero.map_or(Ok(()), |pivot| Err(Failure::Singular { pivot }))
}

/// Replaces `b` by `U⁻¹ L⁻¹ b`, its rows exchanged already.
pub(super) fn substitute<T: Field>(
    factors: &[T],
    order: usize,
    b: &mut [T],
    width: usize,
) -> Result<(), Failure> {
    let mut triangle = Triangle {
        elements: factors,
        stride: order,
        order,
        unit: true,
    };
    triangle.solve_lower(b, width)?;
    triangle.unit = false;
    triangle.solve_upper(b, width)?;
    Ok(())
}

/// Replaces `b` by the solution of `A X = B`; `a` by its factors.
pub(super) fn solve_in_place<T: Field>(
    a: &mut [T],
    order: usize,
    b: &mut [T],
    width: usize,
) -> Result<(), Failure> {
    let exchanged = eliminate(a, order, order, true)?;
    check_pivots(a, order)?;
    for (i, j) in exchanged.into_iter().enumerate() {
        swap_rows(b, width, i, j);
    }
    substitute(a, order, b, width)?;
    Ok(())
}

/// The factors of a matrix in one, and the rows exchanged, counted from one as LAPACK does.
pub(crate) struct Lu {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// Looks for the largest pivot.
    pub pivot: bool,
}

impl FieldWork for Lu {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [factors, pivots] = outputs else {
            return Ok(());
        };
        let a: &mut [T] = typed_mut(factors);
        a.copy_from_slice(inputs[0]);
        let exchanged = eliminate(a, self.rows, self.columns, self.pivot)?;
        for (place, row) in typed_mut::<i32>(pivots).iter_mut().zip(exchanged) {
            *place = row as i32 + 1;
        }
        Ok(())
    }
}

/// `A = P L U`, each by itself.
pub(crate) struct LuParts {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// Looks for the largest pivot.
    pub pivot: bool,
}

impl FieldWork for LuParts {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [permutation, lower, upper] = outputs else {
            return Ok(());
        };
        let (rows, columns) = (self.rows, self.columns);
        let inner = rows.min(columns);
        let mut a = try_to_vec(inputs[0])?;
        let exchanged = eliminate(&mut a, rows, columns, self.pivot)?;
        let mut order: Vec<usize> = try_collect(0..rows)?;
        for (i, j) in exchanged.into_iter().enumerate() {
            order.swap(i, j);
        }
        let permutation = typed_mut::<T>(permutation);
        permutation.fill(T::ZERO);
        for (i, row) in order.into_iter().enumerate() {
            permutation[row * rows + i] = T::ONE;
        }
        let (lower, upper) = (typed_mut::<T>(lower), typed_mut::<T>(upper));
        lower.fill(T::ZERO);
        upper.fill(T::ZERO);
        for (i, row) in a.chunks_exact(columns.max(1)).enumerate() {
            let below = i.min(inner);
            lower[i * inner..i * inner + below].copy_from_slice(&row[..below]);
            if i < inner {
                lower[i * inner + i] = T::ONE;
                upper[i * columns + i..(i + 1) * columns].copy_from_slice(&row[i..]);
            }
        }
        Ok(())
    }
}

/// The solution of `A X = B`.
pub(crate) struct Solve {
    /// The number of rows and columns of `A`.
    pub order: usize,
    /// The number of columns of `B`.
    pub width: usize,
    /// A pivot that is zero is no failure: its number, counted from one, is written.
    pub reports: bool,
}

impl FieldWork for Solve {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let (order, width) = (self.order, self.width);
        let mut a = copied(inputs[0])?;
        let exchanged = eliminate(&mut a, order, order, true)?;
        let check = check_pivots(&a, order);
        let answer = match check {
            Err(Failure::Singular { pivot }) if self.reports => pivot as i32 + 1,
            check => check.map(|()| 0)?,
        };
        typed_mut::<i32>(outputs[1]).fill(answer);
        let x: &mut [T] = typed_mut(outputs[0]);
        match inputs.get(1) {
            Some(b) => x.copy_from_slice(b),
            None => {
                for (i, row) in x.chunks_exact_mut(order.max(1)).enumerate() {
                    row.fill(T::ZERO);
                    row[i] = T::ONE;
                }
            }
        }
        for (i, j) in exchanged.into_iter().enumerate() {
            swap_rows(x, width, i, j);
        }
        substitute(&a, order, x, width)?;
        Ok(())
    }
}

/// The solution of `A X = B`, or of `Aᴴ X = B`, from the factors of `A`. The second input has the
/// exchanged rows as real numbers of the working dtype.
pub(crate) struct LuSolve {
    /// The number of rows and columns of `A`.
    pub order: usize,
    /// The number of columns of `B`.
    pub width: usize,
    /// The conjugate transpose of `A` instead.
    pub adjoint: bool,
}

impl FieldWork for LuSolve {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let [factors, pivots, b] = inputs else {
            return Ok(());
        };
        let (order, width) = (self.order, self.width);
        let x: &mut [T] = typed_mut(outputs[0]);
        x.copy_from_slice(b);
        let row_of = |pivot: &T| (pivot.re().wide() as usize).clamp(1, order.max(1)) - 1;
        let exchanged: Vec<usize> = try_collect(pivots.iter().map(row_of))?;
        if !self.adjoint {
            for (i, j) in exchanged.into_iter().enumerate() {
                swap_rows(x, width, i, j);
            }
            substitute(factors, order, x, width)?;
            return Ok(());
        }
        let mut turned = try_vec(order * order, T::ZERO)?;
        for (i, row) in factors.chunks_exact(order.max(1)).enumerate() {
            for (j, value) in row.iter().enumerate() {
                turned[j * order + i] = value.conj();
            }
        }
        let mut triangle = Triangle {
            elements: &turned,
            stride: order,
            order,
            unit: false,
        };
        triangle.solve_lower(x, width)?;
        triangle.unit = true;
        triangle.solve_upper(x, width)?;
        for (i, j) in exchanged.into_iter().enumerate().rev() {
            swap_rows(x, width, i, j);
        }
        Ok(())
    }
}

/// The determinant; with a second result its sign, and the logarithm of its magnitude.
pub(crate) struct Determinant {
    /// The number of rows and columns.
    pub order: usize,
    /// Sign and logarithm instead.
    pub logarithm: bool,
}

impl FieldWork for Determinant {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let mut a = copied(inputs[0])?;
        let exchanged = eliminate(&mut a, self.order, self.order, true)?;
        let mut sign = T::ONE;
        for (i, j) in exchanged.into_iter().enumerate() {
            if i != j {
                sign = -sign;
            }
        }
        let diagonal = (0..self.order).map(|i| a[i * self.order + i]);
        if !self.logarithm {
            let product = diagonal.fold(sign, |product, x| product * x);
            typed_mut::<T>(outputs[0]).fill(product);
            return Ok(());
        }
        let mut total = 0.0;
        for x in diagonal {
            let magnitude = x.abs();
            if x == T::ZERO {
                sign = T::ZERO;
            } else {
                sign = sign * x.scale(T::Real::ONE / magnitude);
            }
            total += magnitude.wide().ln();
        }
        typed_mut::<T>(outputs[0]).fill(sign);
        typed_mut::<T::Real>(outputs[1]).fill(T::Real::of(total));
        Ok(())
    }
}

/// Where each of so many rows comes from, after they were exchanged in turn with those that `pivots`
/// has, counted from one: `size` of them for each matrix.
///
/// # Errors
/// The first pivot that is no row.
pub(crate) fn order_rows(
    pivots: &[i64],
    size: usize,
    rows: usize,
    order: &mut [i64],
) -> Result<(), i64> {
    for (item, order) in order.chunks_exact_mut(rows.max(1)).enumerate() {
        for (row, place) in order.iter_mut().enumerate() {
            *place = row as i64;
        }
        for (row, pivot) in pivots[item * size..(item + 1) * size].iter().enumerate() {
            match usize::try_from(pivot - 1) {
                Ok(other) if other < rows => order.swap(row, other),
                _ => return Err(*pivot),
            }
        }
    }
    Ok(())
}
