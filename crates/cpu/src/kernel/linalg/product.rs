//! The loops that all decompositions spend their time in: products of row-major matrices, and
//! products of rows with a vector.
//!
//! Compiled up to AVX2, whose vectors fit rows that begin anywhere better. Four rows at a time or,
//! from eight steps on, in the tiles of `gemm`; a complex product is a real one of twice the sizes.

use super::batch::Failure;
use super::scratch::{try_collect, try_collect_all, try_vec, try_with_capacity};
use allotrope_dtype::Level;

use super::field::{Field, Real};
use crate::gemm::add_rows;
use crate::parallel;
use crate::simd::{Body, run};

/// Multiplications from which a product is shared out over threads.
const SHARE_FROM: usize = 1 << 20;
/// Rows of the result that are computed together: each element on the right is used that often.
const ROWS: usize = 4;
/// Columns that are computed together, so that they stay in the first-level cache.
const COLUMNS: usize = 512;
/// Steps from which sums are kept in registers, by the kernels of matrix products.
const DEEP: usize = 8;
/// Steps that are packed together, so that they stay in the first-level cache.
const STEPS: usize = 128;

/// Adds the product of `left`, whose rows of `inner` elements follow each other, and the matrix in
/// `right` to the one in `out`; both have rows of `columns` elements, `stride` apart.
///
/// A complex product is a real one of twice the sizes. `(a + b i) x` is `a` times the parts of `x`
/// plus `b` times those of `i x`: either there are rows `i x` after the rows `x`, or the products
/// with `b` are rows of their own, which are turned in the end. The fewer rows decide.
#[inline(never)]
pub(super) fn add_product<T: Field>(
    out: &mut [T],
    out_stride: usize,
    left: &[T],
    inner: usize,
    right: &[T],
    right_stride: usize,
    columns: usize,
) -> Result<(), Failure> {
    if inner == 0 || columns == 0 || left.is_empty() {
        return Ok(());
    }
    let real: &[T::Real] = bytemuck::cast_slice(right);
    let right = Right {
        elements: real,
        stride: right_stride * T::PARTS,
    };
    let rows = left.len() / inner;
    let width = columns * T::PARTS;
    if T::PARTS == 2 && rows < inner {
        let parts = left.chunks_exact(inner).flat_map(|row| {
            let re = row.iter().map(|x| x.re());
            re.chain(row.iter().map(|x| x.im()))
        });
        let parts: Vec<T::Real> = try_collect_all(rows * inner * 2, parts)?;
        let mut products = try_vec(rows * 2 * width, T::Real::ZERO)?;
        add_real_product(&mut products, width, &parts, inner, right, width);
        let products: &[T] = bytemuck::cast_slice(&products);
        for (out, products) in out.chunks_mut(out_stride).zip(products.chunks(columns * 2)) {
            let (plain, turned) = products.split_at(columns);
            for ((out, x), y) in out.iter_mut().zip(plain).zip(turned) {
                *out += *x + T::from_parts(-y.im(), y.re());
            }
        }
        return Ok(());
    }
    let turned;
    let right = if T::PARTS == 2 {
        turned = with_turned_rows(right, inner, width)?;
        Right {
            elements: &turned,
            stride: width,
        }
    } else {
        right
    };
    add_real_product(
        bytemuck::cast_slice_mut(out),
        out_stride * T::PARTS,
        bytemuck::cast_slice(left),
        inner * T::PARTS,
        right,
        width,
    );
    Ok(())
}

/// Each row of complex numbers, seen as their parts, and `i` times it after it.
#[inline(never)]
fn with_turned_rows<R: Real>(
    right: Right<'_, R>,
    rows: usize,
    width: usize,
) -> Result<Vec<R>, Failure> {
    let mut turned = try_with_capacity(rows * width * 2)?;
    for row in 0..rows {
        let row = right.part(row, 0, width);
        turned.extend_from_slice(row);
        turned.extend(
            row.as_chunks::<2>()
                .0
                .iter()
                .flat_map(|[re, im]| [-*im, *re]),
        );
    }
    Ok(turned)
}

#[inline(never)]
fn add_real_product<R: Real>(
    out: &mut [R],
    out_stride: usize,
    left: &[R],
    inner: usize,
    right: Right<'_, R>,
    columns: usize,
) {
    let rows = left.len() / inner;
    let level = Level::current();
    let together = if rows * inner * columns >= SHARE_FROM {
        // Every part packs the matrix on the right for itself.
        (SHARE_FROM / 4 / (inner * columns))
            .max(4 * ROWS)
            .next_multiple_of(ROWS)
    } else {
        rows
    };
    let end = (rows - 1) * out_stride + columns;
    let work = |block: usize, out: &mut [R]| {
        let first = block * together * inner;
        let last = (first + together * inner).min(left.len());
        let product = AddProduct {
            out,
            out_stride,
            left: &left[first..last],
            inner,
            right,
            columns,
        };
        if inner >= DEEP && last - first >= ROWS * inner {
            product.in_tiles(level);
        } else {
            run(level, product);
        }
    };
    let part = if together >= rows {
        end
    } else {
        together * out_stride
    };
    parallel::for_each_part(&mut out[..end], part, work);
}

struct AddProduct<'a, R> {
    out: &'a mut [R],
    out_stride: usize,
    left: &'a [R],
    inner: usize,
    right: Right<'a, R>,
    columns: usize,
}

impl<R: Real> Body for AddProduct<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for start in (0..self.columns).step_by(COLUMNS) {
            let width = COLUMNS.min(self.columns - start);
            let right = |row| self.right.part(row, start, width);
            let mut rows = self.left.chunks_exact(self.inner * ROWS);
            let mut first = 0;
            for left in rows.by_ref() {
                let out = &mut self.out[first * self.out_stride + start..];
                let (a, rest) = out.split_at_mut(self.out_stride);
                let (b, rest) = rest.split_at_mut(self.out_stride);
                let (c, d) = rest.split_at_mut(self.out_stride);
                let out = [a, b, c, d].map(|row| &mut row[..width]);
                let left = [0, 1, 2, 3].map(|row| &left[row * self.inner..(row + 1) * self.inner]);
                four_rows::<R, FUSED>(out, left, right);
                first += ROWS;
            }
            for left in rows.remainder().chunks_exact(self.inner) {
                let place = first * self.out_stride + start;
                let out = &mut self.out[place..place + width];
                one_row::<R, FUSED>(out, left, right);
                first += 1;
            }
        }
    }
}

impl<R: Real> AddProduct<'_, R> {
    /// The product of few columns at a time, which are packed.
    #[inline(never)]
    fn in_tiles(self, level: Level) {
        let wide = R::shape(level).1;
        let rows = self.left.len() / self.inner;
        // bounded: 64 columns at the most, of 128 steps.
        let mut panel = vec![R::ZERO; wide * STEPS.min(self.inner)];
        for first in (0..self.inner).step_by(STEPS) {
            let steps = STEPS.min(self.inner - first);
            for start in (0..self.columns).step_by(wide) {
                let width = wide.min(self.columns - start);
                for (step, place) in panel.chunks_exact_mut(wide).take(steps).enumerate() {
                    let part = self.right.part(first + step, start, width);
                    let (fours, rest) = part.as_chunks::<4>();
                    let (places, others) = place.as_chunks_mut::<4>();
                    for (place, four) in places.iter_mut().zip(fours) {
                        *place = *four;
                    }
                    // What is beyond the last column is multiplied, but nowhere added.
                    let after = places.get_mut(fours.len());
                    let after = after.map_or(others, |place| &mut place[..]);
                    for (place, x) in after.iter_mut().zip(rest) {
                        *place = *x;
                    }
                }
                let left = (&self.left[first..], self.inner);
                let out = (&mut self.out[start..], self.out_stride);
                add_rows(level, left, (&panel, steps), out, [rows, width]);
            }
        }
    }
}

/// The matrix on the right.
#[derive(Clone, Copy)]
struct Right<'a, R> {
    elements: &'a [R],
    stride: usize,
}

impl<'a, R> Right<'a, R> {
    /// Some of a row.
    #[inline(always)]
    fn part(&self, row: usize, start: usize, width: usize) -> &'a [R] {
        let place = row * self.stride + start;
        &self.elements[place..place + width]
    }
}

#[inline(always)]
fn four_rows<'a, R: Real, const FUSED: bool>(
    [a, b, c, d]: [&mut [R]; ROWS],
    left: [&[R]; ROWS],
    right: impl Fn(usize) -> &'a [R],
) {
    let inner = left[0].len();
    for step in (0..inner - inner % 2).step_by(2) {
        let l = left.map(|left| [left[step], left[step + 1]]);
        let right = right(step).iter().zip(right(step + 1));
        let out = a.iter_mut().zip(&mut *b).zip(&mut *c).zip(&mut *d);
        for ((((a, b), c), d), (x, y)) in out.zip(right) {
            *a = l[0][0].mul_add::<FUSED>(*x, l[0][1].mul_add::<FUSED>(*y, *a));
            *b = l[1][0].mul_add::<FUSED>(*x, l[1][1].mul_add::<FUSED>(*y, *b));
            *c = l[2][0].mul_add::<FUSED>(*x, l[2][1].mul_add::<FUSED>(*y, *c));
            *d = l[3][0].mul_add::<FUSED>(*x, l[3][1].mul_add::<FUSED>(*y, *d));
        }
    }
    if inner % 2 == 1 {
        let l = left.map(|left| left[inner - 1]);
        let out = a.iter_mut().zip(b).zip(c).zip(d);
        for ((((a, b), c), d), x) in out.zip(right(inner - 1)) {
            *a = l[0].mul_add::<FUSED>(*x, *a);
            *b = l[1].mul_add::<FUSED>(*x, *b);
            *c = l[2].mul_add::<FUSED>(*x, *c);
            *d = l[3].mul_add::<FUSED>(*x, *d);
        }
    }
}

#[inline(always)]
fn one_row<'a, R: Real, const FUSED: bool>(
    out: &mut [R],
    left: &[R],
    right: impl Fn(usize) -> &'a [R],
) {
    let (fours, rest) = left.as_chunks::<4>();
    for (step, l) in fours.iter().enumerate() {
        let [w, x, y, z] = [0, 1, 2, 3].map(|i| right(step * 4 + i));
        for ((((out, w), x), y), z) in out.iter_mut().zip(w).zip(x).zip(y).zip(z) {
            let late = l[2].mul_add::<FUSED>(*y, l[3].mul_add::<FUSED>(*z, *out));
            *out = l[0].mul_add::<FUSED>(*w, l[1].mul_add::<FUSED>(*x, late));
        }
    }
    for (step, l) in rest.iter().enumerate() {
        for (out, x) in out.iter_mut().zip(right(fours.len() * 4 + step)) {
            *out = l.mul_add::<FUSED>(*x, *out);
        }
    }
}

/// Numbers that others are multiplied with and summed up.
pub(super) struct Factors<T: Field> {
    /// Of the real parts of the products: the numbers, or the parts of their conjugates.
    plain: Vec<T::Real>,
    /// Of the imaginary parts: the parts of `i` times the conjugates.
    turned: Vec<T::Real>,
}

impl<T: Field> Factors<T> {
    pub(super) fn new(numbers: &[T]) -> Result<Self, Failure> {
        let plain = numbers.iter();
        if T::PARTS == 1 {
            return Ok(Self {
                plain: try_collect(plain.map(|x| x.re()))?,
                turned: Vec::new(),
            });
        }
        let (count, turned) = (numbers.len() * 2, numbers.iter());
        Ok(Self {
            plain: try_collect_all(count, plain.flat_map(|x| [x.re(), -x.im()]))?,
            turned: try_collect_all(count, turned.flat_map(|x| [x.im(), x.re()]))?,
        })
    }

    /// The sum of products with as many numbers.
    pub(super) fn dot(&self, numbers: &[T]) -> T {
        let dots = Dots {
            numbers: bytemuck::cast_slice(numbers),
            plain: &self.plain,
            turned: &self.turned,
        };
        let [re, im] = run(Level::current(), dots);
        T::from_parts(re, im)
    }
}

/// The sum of products of as many numbers.
pub(super) fn multiply_and_add<T: Field>(a: &[T], b: &[T]) -> Result<T, Failure> {
    if T::PARTS == 2 {
        return Ok(Factors::new(a)?.dot(b));
    }
    let dots = Dots {
        numbers: bytemuck::cast_slice(b),
        plain: bytemuck::cast_slice(a),
        turned: &[],
    };
    let [re, im]: [T::Real; 2] = run(Level::current(), dots);
    Ok(T::from_parts(re, im))
}

/// Sums of products with two lists of numbers, of which the second may be empty.
struct Dots<'a, R> {
    numbers: &'a [R],
    plain: &'a [R],
    turned: &'a [R],
}

impl<R: Real> Body for Dots<'_, R> {
    type Output = [R; 2];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [R; 2] {
        let re = dot::<R, FUSED>(self.numbers, self.plain);
        if self.turned.is_empty() {
            return [re, R::ZERO];
        }
        [re, dot::<R, FUSED>(self.numbers, self.turned)]
    }
}

/// The sum of products, in lanes.
#[inline(always)]
fn dot<R: Real, const FUSED: bool>(x: &[R], y: &[R]) -> R {
    const LANES: usize = 32;
    let mut lanes = [R::ZERO; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            lanes[lane] = x[lane].mul_add::<FUSED>(y[lane], lanes[lane]);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    let mut sum = lanes[0];
    for (x, y) in x_rest.iter().zip(y_rest) {
        sum = x.mul_add::<FUSED>(*y, sum);
    }
    sum
}

/// The product of a matrix with rows `stride` apart and a vector.
#[inline(never)]
pub(super) fn times_vector<T: Field>(
    matrix: &[T],
    stride: usize,
    vector: &[T],
    out: &mut [T],
) -> Result<(), Failure> {
    let factors = Factors::new(vector)?;
    let together = (SHARE_FROM / 4 / vector.len().max(1)).max(1);
    let work = |block: usize, out: &mut [T]| {
        for (row, out) in out.iter_mut().enumerate() {
            let start = (block * together + row) * stride;
            *out = factors.dot(&matrix[start..start + vector.len()]);
        }
    };
    parallel::for_each_part(out, together, work);
    Ok(())
}
