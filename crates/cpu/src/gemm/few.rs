//! Products of so few numbers that a plan for them would take longer than they do. Each element is
//! summed as by the other kernels: in order, from zero.

use allotrope_dtype::Level;

use super::arithmetic::Arithmetic;
use super::micro::Micro;
use super::row::Form;
use super::{Coefficient, Factor, Matrix, Output, Product};
use crate::simd::{self, Body};

/// Multiplications of the largest such product.
const MOST: usize = 512;
/// The most steps, fewer than the shortest pass has.
const MOST_STEPS: usize = 64;

/// Writes a product of few numbers that are summed as they are; whether it is one.
pub(super) fn multiply<A: Arithmetic>(
    level: Level,
    product: &Product<'_>,
    form: Form,
    output: &mut Output<'_>,
) -> bool {
    let (Factor::Stored(a), Factor::Stored(b), [places]) = (product.a, product.b, product.offsets)
    else {
        return false;
    };
    // Products of two vectors each are no product of their columns.
    if form == Form::Dots {
        return false;
    }
    let [first_a, first_b] = form.places(*places);
    let [rows, steps, columns] = [product.rows, product.depth, product.columns];
    let count = rows.saturating_mul(columns).saturating_mul(steps);
    let dtype = <A::Sum as allotrope_dtype::Element>::DTYPE;
    let all = [a.dtype, b.dtype, product.common, product.sum, output.dtype];
    let is_few = A::IS_PLAIN && steps <= MOST_STEPS && (1..=MOST).contains(&count);
    let is_plain = product.alpha == Coefficient::ONE && product.beta == Coefficient::ZERO;
    if !is_few || !is_plain || all.iter().any(|other| *other != dtype) {
        return false;
    }
    let Some(out) = bytemuck::cast_slice_mut(output.bytes).get_mut(output.offset..) else {
        return false;
    };
    let row_stride = output.row_stride;
    let few = Few::<A::Sum> {
        sizes: [rows, steps, columns],
        a: (first_a, a),
        b: (first_b, b),
        out,
        row_stride,
    };
    simd::run(level, few);
    true
}

struct Few<'a, T> {
    sizes: [usize; 3],
    a: (usize, Matrix<'a>),
    b: (usize, Matrix<'a>),
    out: &'a mut [T],
    row_stride: usize,
}

impl<T: Micro> Body for Few<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let [rows, steps, columns] = self.sizes;
        let ((first_a, a), (first_b, b)) = (self.a, self.b);
        let numbers: [&[T]; 2] = [a.bytes, b.bytes].map(bytemuck::cast_slice);
        let place = |first: usize, across: isize, along: isize| {
            first.wrapping_add_signed(across.wrapping_add(along))
        };
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = T::default();
                for step in 0..steps {
                    let at = step as isize;
                    let x = place(first_a, row as isize * a.row_stride, at * a.column_stride);
                    let y = place(
                        first_b,
                        at * b.row_stride,
                        column as isize * b.column_stride,
                    );
                    sum = sum.plus_product::<FUSED>(numbers[0][x], numbers[1][y]);
                }
                self.out[row * self.row_stride + column] = sum;
            }
        }
    }
}
