//! Matrices as faer has them: column-major, and aligned, since sums of vectors that begin elsewhere
//! would be rounded otherwise.

use faer::traits::ComplexField;
use faer::{MatMut, MatRef};

use super::super::batch::Failure;
use super::super::scratch::try_vec;

/// Bytes that the widest vectors are aligned to.
const ALIGNMENT: usize = 128;
/// Rows and columns that are transposed together.
const TILE: usize = 16;

/// A column-major matrix.
pub(super) struct Columns<T> {
    data: Vec<T>,
    start: usize,
    rows: usize,
    columns: usize,
}

impl<T: ComplexField + Copy> Columns<T> {
    /// Zeros.
    pub(super) fn zeros(rows: usize, columns: usize) -> Result<Self, Failure> {
        let spare = ALIGNMENT / size_of::<T>();
        let data = try_vec(rows * columns + spare, T::zero_impl())?;
        // Memory that cannot be aligned is taken as it is.
        let start = match data.as_ptr().align_offset(ALIGNMENT) {
            start if start <= spare => start,
            _ => 0,
        };
        Ok(Self {
            data,
            start,
            rows,
            columns,
        })
    }

    /// The first columns of the unit matrix.
    pub(super) fn identity(rows: usize, columns: usize) -> Result<Self, Failure> {
        let mut made = Self::zeros(rows, columns)?;
        for i in 0..rows.min(columns) {
            made.elements_mut()[i * rows + i] = T::one_impl();
        }
        Ok(made)
    }

    pub(super) fn from_row_major(a: &[T], rows: usize, columns: usize) -> Result<Self, Failure> {
        let mut made = Self::zeros(rows, columns)?;
        transpose(a, columns, made.elements_mut(), rows);
        Ok(made)
    }

    /// The first rows of it, row-major.
    pub(super) fn to_row_major(&self, rows: usize) -> Result<Vec<T>, Failure> {
        let mut made = try_vec(self.rows * self.columns, T::zero_impl())?;
        transpose(self.elements(), self.rows, &mut made, self.columns);
        made.truncate(rows * self.columns);
        Ok(made)
    }

    pub(super) fn elements(&self) -> &[T] {
        &self.data[self.start..][..self.rows * self.columns]
    }

    pub(super) fn elements_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..][..self.rows * self.columns]
    }

    pub(super) fn as_ref(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(self.elements(), self.rows, self.columns)
    }

    pub(super) fn as_mut(&mut self) -> MatMut<'_, T> {
        let (rows, columns) = (self.rows, self.columns);
        MatMut::from_column_major_slice_mut(self.elements_mut(), rows, columns)
    }
}

/// Lines of `width` elements become lines of `height`.
pub(super) fn transpose<T: Copy>(from: &[T], width: usize, to: &mut [T], height: usize) {
    for i in (0..height).step_by(TILE) {
        for j in (0..width).step_by(TILE) {
            for i in i..height.min(i + TILE) {
                for j in j..width.min(j + TILE) {
                    to[j * height + i] = from[i * width + j];
                }
            }
        }
    }
}
