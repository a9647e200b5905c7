//! Householder's reflections `I - τ v vᴴ`, one by one and in blocks `I - V T Vᴴ`.

use super::batch::Failure;
use super::field::{Field, Real};
use super::product::{add_product, multiply_and_add};
use super::scratch::{try_collect, try_to_vec, try_vec, try_with_capacity};
use crate::interrupt::check_step;

/// Reflections that are applied together.
pub(super) const BLOCK: usize = 32;

/// The norm, without overflow or underflow.
pub(super) fn norm<T: Field>(x: &[T]) -> T::Real {
    let mut largest = T::Real::ZERO;
    for value in x {
        largest = value.re().abs().largest(value.im().abs()).largest(largest);
    }
    let largest = largest.wide();
    if !largest.is_finite() || largest == 0.0 {
        return T::Real::of(largest);
    }
    // Squares of float64 leave its range where those of float32 never do.
    let scale = if (1e-140..1e140).contains(&largest) {
        1.0
    } else {
        largest
    };
    let square = |part: T::Real| (part.wide() / scale) * (part.wide() / scale);
    let total: f64 = x.iter().map(|x| square(x.re()) + square(x.im())).sum();
    T::Real::of(total.sqrt() * scale)
}

/// Replaces `x` by the vector of a reflection, whose first element is one, and gives `τ` and `β`:
/// the adjoint of the reflection takes `x` to `β` and zeros. `β` is real.
#[inline(never)]
pub(super) fn reflect<T: Field>(x: &mut [T]) -> (T, T::Real) {
    let Some((first, rest)) = x.split_first_mut() else {
        return (T::ZERO, T::Real::ZERO);
    };
    let tail = norm(rest);
    let alpha = *first;
    *first = T::ONE;
    if tail == T::Real::ZERO && alpha.im() == T::Real::ZERO {
        return (T::ZERO, alpha.re());
    }
    let length = alpha.abs().hypot(tail);
    if let Some(steps) = powers_to_one(length) {
        *first = alpha;
        for value in x.iter_mut() {
            *value = value.scale(steps[0].0).scale(steps[1].0);
        }
        let (tau, beta) = reflect(x);
        return (tau, beta * steps[0].1 * steps[1].1);
    }
    let beta = -length.with_sign_of(alpha.re());
    let tau = (T::from_real(beta) - alpha).scale(T::Real::ONE / beta);
    let divisor = alpha - T::from_real(beta);
    for value in rest {
        *value = *value / divisor;
    }
    (tau, beta)
}

/// Two powers of two and their inverses, whose product takes a length near one; none are needed
/// where its square and its inverse are within the range. Twice, as one alone may leave the range.
fn powers_to_one<R: Real>(length: R) -> Option<[(R, R); 2]> {
    let safe = (R::HUGE.sqrt() * R::EPSILON).wide();
    let wide = length.wide();
    if !wide.is_finite() || wide == 0.0 || (1.0 / safe..safe).contains(&wide) {
        return None;
    }
    let exponent = wide.log2().floor() as i32;
    let half = exponent / 2;
    Some([half, exponent - half].map(|part| {
        let power = |exponent: i32| R::of(2.0_f64.powi(exponent));
        (power(-part), power(part))
    }))
}

/// The element of a column from a row on.
#[inline(never)]
pub(super) fn column<T: Field>(
    a: &[T],
    stride: usize,
    row: usize,
    column: usize,
) -> Result<Vec<T>, Failure> {
    try_collect(
        a[row * stride..]
            .chunks_exact(stride)
            .map(|row| row[column]),
    )
}

/// Applies `I - τ v vᴴ` from the left to the rows of a matrix, whose other rows do not matter.
#[inline(never)]
pub(super) fn apply_left<T: Field>(
    out: &mut [T],
    stride: usize,
    columns: usize,
    v: &[T],
    tau: T,
) -> Result<(), Failure> {
    if columns == 0 || tau == T::ZERO {
        return Ok(());
    }
    let turned: Vec<T> = try_collect(v.iter().map(|x| x.conj()))?;
    if columns == 1 && stride == 1 {
        let factor = tau * multiply_and_add(&turned, &out[..v.len()])?;
        for (x, v) in out.iter_mut().zip(v) {
            *x -= factor * *v;
        }
        return Ok(());
    }
    let mut products = try_vec(columns, T::ZERO)?;
    add_product(
        &mut products,
        columns,
        &turned,
        v.len(),
        out,
        stride,
        columns,
    )?;
    let left: Vec<T> = try_collect(v.iter().map(|x| -tau * *x))?;
    add_product(out, stride, &left, 1, &products, columns, columns)?;
    Ok(())
}

/// Reflections in one: `I - V T Vᴴ`, the product of all in their order.
pub(super) struct Block<T> {
    vectors: Vec<T>,
    turned: Vec<T>,
    /// `-T`.
    upper: Vec<T>,
    rows: usize,
    count: usize,
}

impl<T: Field> Block<T> {
    /// The reflections whose vectors are in the first columns of a matrix, below a diagonal of ones
    /// that is not read.
    pub(super) fn new(
        matrix: &[T],
        stride: usize,
        rows: usize,
        taus: &[T],
    ) -> Result<Self, Failure> {
        let count = taus.len();
        let mut vectors = try_vec(rows * count, T::ZERO)?;
        let mut turned = try_vec(rows * count, T::ZERO)?;
        for i in 0..rows {
            for j in 0..count.min(i + 1) {
                let value = if i == j {
                    T::ONE
                } else {
                    matrix[i * stride + j]
                };
                vectors[i * count + j] = value;
                turned[j * rows + i] = value.conj();
            }
        }
        let mut products = try_vec(count * count, T::ZERO)?;
        add_product(&mut products, count, &turned, rows, &vectors, count, count)?;
        let mut upper = try_vec(count * count, T::ZERO)?;
        for j in 0..count {
            upper[j * count + j] = -taus[j];
            for i in 0..j {
                let sum = (i..j).fold(T::ZERO, |sum, p| {
                    sum + upper[i * count + p] * products[p * count + j]
                });
                upper[i * count + j] = -taus[j] * sum;
            }
        }
        Ok(Self {
            vectors,
            turned,
            upper,
            rows,
            count,
        })
    }

    /// Applies the product of the reflections, or its adjoint, to the first rows of a matrix.
    pub(super) fn apply(
        &self,
        out: &mut [T],
        stride: usize,
        columns: usize,
        adjoint: bool,
    ) -> Result<(), Failure> {
        if columns == 0 || self.count == 0 {
            return Ok(());
        }
        let (rows, count) = (self.rows, self.count);
        let mut products = try_vec(count * columns, T::ZERO)?;
        add_product(
            &mut products,
            columns,
            &self.turned,
            rows,
            out,
            stride,
            columns,
        )?;
        let left: Vec<T> = if adjoint {
            let turned = |place: usize| self.upper[place % count * count + place / count].conj();
            try_collect((0..count * count).map(turned))?
        } else {
            try_to_vec(&self.upper)?
        };
        let mut combined = try_vec(count * columns, T::ZERO)?;
        add_product(
            &mut combined,
            columns,
            &left,
            count,
            &products,
            columns,
            columns,
        )?;
        add_product(
            out,
            stride,
            &self.vectors,
            count,
            &combined,
            columns,
            columns,
        )?;
        Ok(())
    }
}

/// The first columns of the product of reflections whose vectors are in the columns of a matrix,
/// below a diagonal of ones that is not read.
#[inline(never)]
pub(super) fn form_product<T: Field>(
    matrix: &[T],
    stride: usize,
    rows: usize,
    taus: &[T],
    columns: usize,
) -> Result<Vec<T>, Failure> {
    let mut q = try_vec(rows * columns, T::ZERO)?;
    for i in 0..rows.min(columns) {
        q[i * columns + i] = T::ONE;
    }
    let starts = (0..taus.len()).step_by(BLOCK);
    for start in starts.rev() {
        check_step(rows);
        let end = taus.len().min(start + BLOCK);
        let vectors = &matrix[start * stride + start..];
        let block = Block::new(vectors, stride, rows - start, &taus[start..end])?;
        let place = start * columns + start.min(columns);
        if start < columns {
            block.apply(&mut q[place..], columns, columns - start, false)?;
        }
    }
    Ok(q)
}

/// The vectors of reflections, each of them one shorter than the one before, and their `τ`.
pub(super) struct Reflections<T> {
    vectors: Vec<Vec<T>>,
    taus: Vec<T>,
}

impl<T: Field> Reflections<T> {
    /// None yet, with room for so many.
    pub(super) fn new(count: usize) -> Result<Self, Failure> {
        Ok(Self {
            vectors: try_with_capacity(count)?,
            taus: try_with_capacity(count)?,
        })
    }

    /// One more, which is applied before the others.
    pub(super) fn push(&mut self, vector: Vec<T>, tau: T) {
        self.vectors.push(vector);
        self.taus.push(tau);
    }

    /// Applies their product to rows of `width` elements.
    pub(super) fn apply(&self, out: &mut [T], width: usize) -> Result<(), Failure> {
        for (k, (vector, tau)) in self.vectors.iter().zip(&self.taus).enumerate().rev() {
            apply_left(&mut out[k * width..], width, width, vector, *tau)?;
        }
        Ok(())
    }

    /// Applies the adjoint of their product.
    pub(super) fn apply_adjoint(&self, out: &mut [T], width: usize) -> Result<(), Failure> {
        for (k, (vector, tau)) in self.vectors.iter().zip(&self.taus).enumerate() {
            apply_left(&mut out[k * width..], width, width, vector, tau.conj())?;
        }
        Ok(())
    }

    /// The first columns of their product, whose rows are as many as the first vector is long.
    pub(super) fn product(&self, rows: usize, columns: usize) -> Result<Vec<T>, Failure> {
        let count = self.taus.len();
        let mut matrix = try_vec(rows * count, T::ZERO)?;
        for (k, vector) in self.vectors.iter().enumerate() {
            for (i, value) in vector.iter().enumerate() {
                matrix[(k + i) * count + k] = *value;
            }
        }
        form_product(&matrix, count, rows, &self.taus, columns)
    }

    /// Their product in all rows and columns but the first, which are those of the identity.
    pub(super) fn product_after_one(&self, order: usize) -> Result<Vec<T>, Failure> {
        let mut q = try_vec(order * order, T::ZERO)?;
        if let Some(first) = q.first_mut() {
            *first = T::ONE;
        }
        if order > 1 {
            let inner = self.product(order - 1, order - 1)?;
            let inner = inner.chunks_exact(order - 1);
            for (row, inner) in q[order..].chunks_exact_mut(order).zip(inner) {
                row[1..].copy_from_slice(inner);
            }
        }
        Ok(q)
    }
}
