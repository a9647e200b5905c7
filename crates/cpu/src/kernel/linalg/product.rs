//! The loops that all decompositions spend their time in: products of row-major matrices, and
//! products of rows with a vector.

use allotrope_dtype::Level;

use super::field::Field;
use crate::parallel;
use crate::simd::{Body, run, run_narrow};

/// Multiplications from which a product is shared out over threads.
const SHARE_FROM: usize = 1 << 18;
/// Rows of the result that are computed together: each element on the right is used that often.
const ROWS: usize = 4;
/// Columns that are computed together, so that they stay in the first-level cache.
const COLUMNS: usize = 512;

/// Adds the product of `left`, whose rows of `inner` elements follow each other, and the matrix in
/// `right` to the one in `out`; both have rows of `columns` elements, `stride` apart.
pub(super) fn add_product<T: Field>(
    out: &mut [T],
    out_stride: usize,
    left: &[T],
    inner: usize,
    right: &[T],
    right_stride: usize,
    columns: usize,
) {
    if inner == 0 || columns == 0 || left.is_empty() {
        return;
    }
    let rows = left.len() / inner;
    let level = Level::current();
    let together = if rows * inner * columns >= SHARE_FROM {
        (SHARE_FROM / 4 / (inner * columns)).next_multiple_of(ROWS)
    } else {
        rows
    };
    let end = (rows - 1) * out_stride + columns;
    let work = |block: usize, out: &mut [T]| {
        let first = block * together * inner;
        let last = (first + together * inner).min(left.len());
        let product = AddProduct {
            out,
            out_stride,
            left: &left[first..last],
            inner,
            right,
            right_stride,
            columns,
        };
        if T::PARTS == 1 {
            run(level, product);
        } else {
            run_narrow(level, product);
        }
    };
    let part = if together >= rows {
        end
    } else {
        together * out_stride
    };
    parallel::for_each_part(&mut out[..end], part, work);
}

struct AddProduct<'a, T> {
    out: &'a mut [T],
    out_stride: usize,
    left: &'a [T],
    inner: usize,
    right: &'a [T],
    right_stride: usize,
    columns: usize,
}

impl<T: Field> Body for AddProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for start in (0..self.columns).step_by(COLUMNS) {
            let width = COLUMNS.min(self.columns - start);
            let right = Right {
                elements: self.right,
                stride: self.right_stride,
                start,
                width,
            };
            let mut rows = self.left.chunks_exact(self.inner * ROWS);
            let mut first = 0;
            for left in rows.by_ref() {
                let out = &mut self.out[first * self.out_stride + start..];
                let (a, rest) = out.split_at_mut(self.out_stride);
                let (b, rest) = rest.split_at_mut(self.out_stride);
                let (c, d) = rest.split_at_mut(self.out_stride);
                let left = [0, 1, 2, 3].map(|row| &left[row * self.inner..(row + 1) * self.inner]);
                four_rows::<T, FUSED>([a, b, c, d], left, right);
                first += ROWS;
            }
            for left in rows.remainder().chunks_exact(self.inner) {
                let place = first * self.out_stride + start;
                let out = &mut self.out[place..place + width];
                one_row::<T, FUSED>(out, left, right);
                first += 1;
            }
        }
    }
}

/// Some columns of a matrix.
#[derive(Clone, Copy)]
struct Right<'a, T> {
    elements: &'a [T],
    stride: usize,
    start: usize,
    width: usize,
}

impl<'a, T> Right<'a, T> {
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [T] {
        let place = row * self.stride + self.start;
        &self.elements[place..place + self.width]
    }
}

#[inline(always)]
fn four_rows<T: Field, const FUSED: bool>(
    out: [&mut [T]; ROWS],
    left: [&[T]; ROWS],
    right: Right<'_, T>,
) {
    let width = right.width;
    let [a, b, c, d] = out.map(|row| &mut row[..width]);
    let inner = left[0].len();
    for step in (0..inner - inner % 2).step_by(2) {
        let (x, y) = (right.row(step), right.row(step + 1));
        let l = left.map(|left| (left[step], left[step + 1]));
        for j in 0..width {
            a[j] = l[0]
                .0
                .mul_add::<FUSED>(x[j], l[0].1.mul_add::<FUSED>(y[j], a[j]));
            b[j] = l[1]
                .0
                .mul_add::<FUSED>(x[j], l[1].1.mul_add::<FUSED>(y[j], b[j]));
            c[j] = l[2]
                .0
                .mul_add::<FUSED>(x[j], l[2].1.mul_add::<FUSED>(y[j], c[j]));
            d[j] = l[3]
                .0
                .mul_add::<FUSED>(x[j], l[3].1.mul_add::<FUSED>(y[j], d[j]));
        }
    }
    if inner % 2 == 1 {
        let x = right.row(inner - 1);
        let l = left.map(|left| left[inner - 1]);
        for j in 0..width {
            a[j] = l[0].mul_add::<FUSED>(x[j], a[j]);
            b[j] = l[1].mul_add::<FUSED>(x[j], b[j]);
            c[j] = l[2].mul_add::<FUSED>(x[j], c[j]);
            d[j] = l[3].mul_add::<FUSED>(x[j], d[j]);
        }
    }
}

#[inline(always)]
fn one_row<T: Field, const FUSED: bool>(out: &mut [T], left: &[T], right: Right<'_, T>) {
    let (fours, rest) = left.as_chunks::<4>();
    for (step, l) in fours.iter().enumerate() {
        let [w, x, y, z] = [0, 1, 2, 3].map(|i| right.row(step * 4 + i));
        for (j, out) in out.iter_mut().enumerate() {
            let late = l[2].mul_add::<FUSED>(y[j], l[3].mul_add::<FUSED>(z[j], *out));
            *out = l[0].mul_add::<FUSED>(w[j], l[1].mul_add::<FUSED>(x[j], late));
        }
    }
    for (step, l) in rest.iter().enumerate() {
        for (out, x) in out.iter_mut().zip(right.row(fours.len() * 4 + step)) {
            *out = l.mul_add::<FUSED>(*x, *out);
        }
    }
}

/// The sum of products of elements, in lanes.
pub(super) fn dot<T: Field>(x: &[T], y: &[T]) -> T {
    run(Level::current(), Dot { x, y })
}

struct Dot<'a, T> {
    x: &'a [T],
    y: &'a [T],
}

impl<T: Field> Body for Dot<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> T {
        const LANES: usize = 16;
        let mut lanes = [T::ZERO; LANES];
        let ((x, x_rest), (y, y_rest)) = (self.x.as_chunks::<LANES>(), self.y.as_chunks::<LANES>());
        for (x, y) in x.iter().zip(y) {
            for lane in 0..LANES {
                lanes[lane] = x[lane].mul_add::<FUSED>(y[lane], lanes[lane]);
            }
        }
        let mut rest = T::ZERO;
        for (x, y) in x_rest.iter().zip(y_rest) {
            rest = x.mul_add::<FUSED>(*y, rest);
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        lanes[0] + rest
    }
}

/// The product of a matrix with rows `stride` apart and a vector.
pub(super) fn times_vector<T: Field>(matrix: &[T], stride: usize, vector: &[T], out: &mut [T]) {
    let together = (SHARE_FROM / 4 / vector.len().max(1)).max(1);
    let work = |block: usize, out: &mut [T]| {
        for (row, out) in out.iter_mut().enumerate() {
            let start = (block * together + row) * stride;
            *out = dot(&matrix[start..start + vector.len()], vector);
        }
    };
    parallel::for_each_part(out, together, work);
}
