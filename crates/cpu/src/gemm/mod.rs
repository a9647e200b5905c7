//! Matrix products of any dtype, strides and number of threads.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`multiply`]: products as they are asked for |
//! | `arithmetic` | how numbers are laid out for the kernels: floats, complex, int64 |
//! | `int` | the same for integers of up to 32 bits |
//! | `brain` | the same for bfloat16 by units of the processor |
//! | `prepare` | unsigned and small integers, factors of few elements |
//! | `pack`, `strip` | blocks of the factors, decoded into panels |
//! | `vector` | vectors of numbers for each level (unsafe) |
//! | `micro` | tiles of the result in registers (unsafe) |
//! | `gemv` | chains of sums for a single row (unsafe) |
//! | `row` | products with one row, and many products of two vectors |
//! | `panel_walk` | where a tile finds its columns, and small factors (unsafe) |
//! | `blocking` | blocks for threads and caches |
//! | `few` | products of few numbers, without a plan |
//! | `queue` | numbered pieces of work, taken by several threads |
//! | `block` | one block of the result: panels, tiles, and the way back to the dtype (unsafe) |
//! | `direct_conv` | filters that slide over planes (unsafe) |
//! | `filter_gradient` | gradients of filters (unsafe) |
//! | `tap_dots` | gradients of filters of one channel (unsafe) |
//! | `attention` | [`attend`]: softmax between two products, block by block (unsafe) |
//! | `attention_softmax` | that softmax |
//! | `recurrent` | recurrent layers, step after step (unsafe) |
//! | `recurrent_gates` | what a step does with its gates |
//! | `output` | a result that several threads write to (unsafe) |
//!
//! Every element of a result is the sum of the products of consecutive passes over the summed
//! dimension, in order; a pass is as long as the size of that dimension says. So a result depends
//! neither on the number of threads nor on how the work is blocked.

mod arithmetic;
mod attention;
mod attention_softmax;
mod block;
mod blocking;
mod brain;
mod direct_conv;
mod few;
mod filter_gradient;
mod gemv;
mod int;
mod micro;
mod output;
mod pack;
mod panel_walk;
mod prepare;
mod queue;
pub(crate) mod recurrent;
mod recurrent_gates;
mod row;
mod strip;
mod tap_dots;
#[cfg(test)]
mod tests;
mod vector;

use allotrope_dtype::{DType, Error, Level, WeakScalar, c128};
use arithmetic::{ComplexDouble, ComplexSingle, Double, Kind, Single, Whole64};
pub use attention::{Attention, Mask, attend, attend_at};
use brain::BrainPairs;
pub use brain::has_brain_units;
pub(crate) use direct_conv::{Field, Filters, Piece, can_slide, slide};
pub(crate) use filter_gradient::{FilterGradient, filter_gradient};
use int::{Whole16, Whole32};
pub(crate) use micro::{Micro, add_rows};
use row::Form;

/// A matrix in memory: element `[i, j]` is number `offset + i * row_stride + j * column_stride` of
/// its dtype in `bytes`. The offset belongs to each matrix of a [`Product`].
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    /// The dtype of the elements.
    pub dtype: DType,
    /// The memory, aligned for the dtype.
    pub bytes: &'a [u8],
    /// From one row to the next, in elements. May be negative or zero.
    pub row_stride: isize,
    /// From one column to the next.
    pub column_stride: isize,
}

impl Matrix<'_> {
    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Whether matrices of so many rows and columns lie within the memory, wherever they start.
    fn holds(&self, [rows, columns]: [usize; 2], mut offsets: impl Iterator<Item = usize>) -> bool {
        if rows == 0 || columns == 0 {
            return true;
        }
        // Exact in 128 bits, whatever the strides are.
        let last = |count: usize, stride: isize| (count - 1) as i128 * stride as i128;
        let (down, along) = (
            last(rows, self.row_stride),
            last(columns, self.column_stride),
        );
        let (lowest, highest) = (down.min(0) + along.min(0), down.max(0) + along.max(0));
        let len = (self.bytes.len() / self.dtype.itemsize()) as i128;
        let is_within = |offset| offset as i128 + lowest >= 0 && offset as i128 + highest < len;
        offsets.all(is_within)
    }
}

/// The rows of a matrix that exists nowhere: elements are made when they are packed.
pub trait Rows: Sync {
    /// Writes the elements of a row from column `first` on, as many as fit in `out`, in the dtype
    /// that the [`Factor`] says. `batch` is the number of the matrix.
    fn read(&self, batch: usize, row: usize, first: usize, out: &mut [u8]);

    /// Elements in memory that all that are not zero are among, if there are not many others.
    fn memory(&self) -> Option<&[u8]> {
        None
    }
}

/// One of the two matrices of a product.
#[derive(Clone, Copy)]
pub enum Factor<'a> {
    /// In memory.
    Stored(Matrix<'a>),
    /// Made on demand.
    Made {
        /// The dtype of the elements.
        dtype: DType,
        /// What makes them.
        rows: &'a dyn Rows,
        /// Whether the matrix is the transpose of what is made.
        transposed: bool,
    },
}

impl Factor<'_> {
    /// The same elements with rows and columns exchanged.
    fn exchanged(self) -> Self {
        match self {
            Self::Stored(matrix) => Self::Stored(matrix.transposed()),
            Self::Made {
                dtype,
                rows,
                transposed,
            } => Self::Made {
                dtype,
                rows,
                transposed: !transposed,
            },
        }
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::Stored(matrix) => matrix.dtype,
            Self::Made { dtype, .. } => *dtype,
        }
    }
}

/// What `alpha` and `beta` are: a number for every kind of sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// For floats and complex numbers.
    pub number: c128,
    /// For integers, modulo 2^64.
    pub whole: i64,
}

impl Coefficient {
    /// 0.
    pub const ZERO: Self = Self {
        number: c128::new(0.0, 0.0),
        whole: 0,
    };
    /// 1.
    pub const ONE: Self = Self {
        number: c128::new(1.0, 0.0),
        whole: 1,
    };
}

impl From<WeakScalar> for Coefficient {
    fn from(value: WeakScalar) -> Self {
        let (number, whole) = match value {
            WeakScalar::Bool(value) => (c128::from(f64::from(u8::from(value))), i64::from(value)),
            WeakScalar::Int(value) => (c128::from(value as f64), value as i64),
            WeakScalar::Float(value) => (c128::from(value), value as i64),
            WeakScalar::Complex(value) => (value, value.re as i64),
        };
        Self { number, whole }
    }
}

/// Products `alpha * a @ b + beta * c` of as many matrices as there are offsets.
#[derive(Clone, Copy)]
pub struct Product<'a> {
    /// Rows of `a` and of the result.
    pub rows: usize,
    /// Columns of `a` and rows of `b`.
    pub depth: usize,
    /// Columns of `b` and of the result.
    pub columns: usize,
    /// The left factor.
    pub a: Factor<'a>,
    /// The right factor.
    pub b: Factor<'a>,
    /// Where each matrix of `a` and `b` starts, in elements; one pair per product.
    pub offsets: &'a [(usize, usize)],
    /// The dtype in which the factors meet: elements are converted to it before anything else.
    pub common: DType,
    /// The dtype of sums; 8- and 16-bit floats are summed in float32. Integers wrap in it, bool
    /// is true if any of the products is.
    pub sum: DType,
    /// What products are multiplied by.
    pub alpha: Coefficient,
    /// What the former contents of the result are multiplied by; with zero they are not read.
    pub beta: Coefficient,
    /// Whether units of the processor for bfloat16 may be used, which round in a way of their own.
    pub fast: bool,
}

impl<'a> Product<'a> {
    /// The product of `[rows, depth]` and `[depth, columns]` in a dtype, of matrices that start at
    /// `offsets`.
    #[must_use]
    pub fn new(
        [rows, depth, columns]: [usize; 3],
        a: Factor<'a>,
        b: Factor<'a>,
        offsets: &'a [(usize, usize)],
        dtype: DType,
    ) -> Self {
        Self {
            rows,
            depth,
            columns,
            a,
            b,
            offsets,
            common: dtype,
            sum: dtype,
            alpha: Coefficient::ONE,
            beta: Coefficient::ZERO,
            fast: false,
        }
    }
}

/// Where a product goes: rows of neighbouring elements.
pub struct Output<'a> {
    /// The dtype, which sums are rounded to once.
    pub dtype: DType,
    /// The memory, aligned for the dtype.
    pub bytes: &'a mut [u8],
    /// The first element.
    pub offset: usize,
    /// From one row to the next, in elements.
    pub row_stride: usize,
    /// From one matrix to the next.
    pub batch_stride: usize,
}

impl<'a> Output<'a> {
    /// Row-major matrices that follow each other.
    pub fn contiguous(dtype: DType, bytes: &'a mut [u8], rows: usize, columns: usize) -> Self {
        Self {
            dtype,
            bytes,
            offset: 0,
            row_stride: columns,
            // What leaves the numbers is beyond every memory, and is refused where it is used.
            batch_stride: rows.saturating_mul(columns),
        }
    }
}

/// Writes products of matrices.
///
/// ```
/// use allotrope_cpu::gemm::{Factor, Matrix, Output, Product, multiply};
/// use allotrope_dtype::DType;
/// let a = [1.0_f32, 2.0, 3.0, 4.0];
/// let matrix = Matrix {
///     dtype: DType::F32,
///     bytes: bytemuck::cast_slice(&a),
///     row_stride: 2,
///     column_stride: 1,
/// };
/// // The product with its own transpose.
/// let transposed = Matrix { row_stride: 1, column_stride: 2, ..matrix };
/// let (a, b) = (Factor::Stored(matrix), Factor::Stored(transposed));
/// let product = Product::new([2, 2, 2], a, b, &[(0, 0)], DType::F32);
/// let mut out = [0.0_f32; 4];
/// let output = Output::contiguous(DType::F32, bytemuck::cast_slice_mut(&mut out), 2, 2);
/// multiply("matmul", &product, output)?;
/// assert_eq!(out, [5.0, 11.0, 11.0, 25.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error where a cast has no meaning (complex to real), a memory error.
///
/// # Panics
/// If a matrix does not lie within its memory, or rows of the result overlap.
pub fn multiply(op: &'static str, product: &Product<'_>, output: Output<'_>) -> Result<(), Error> {
    multiply_at(Level::current(), op, product, output)
}

/// [`multiply`] with the kernels of a given level.
///
/// # Errors
/// As [`multiply`].
///
/// # Panics
/// As [`multiply`].
pub fn multiply_at(
    level: Level,
    op: &'static str,
    product: &Product<'_>,
    output: Output<'_>,
) -> Result<(), Error> {
    let Product {
        rows,
        depth,
        columns,
        offsets,
        ..
    } = *product;
    if let Factor::Stored(a) = product.a {
        let is_within = a.holds([rows, depth], offsets.iter().map(|offset| offset.0));
        assert!(is_within, "the left matrix leaves its memory");
    }
    if let Factor::Stored(b) = product.b {
        let is_within = b.holds([depth, columns], offsets.iter().map(|offset| offset.1));
        assert!(is_within, "the right matrix leaves its memory");
    }
    let signed = prepare::signed(product);
    let product = &prepare::narrowed(&signed).unwrap_or(signed);
    let kind = Kind::of(product.common, product.sum);
    if kind == Kind::Single && brain::serves(level, product) {
        return block::run::<BrainPairs>(level, op, product, Form::Tiles, output);
    }
    let (mut product, mut output) = (*product, output);
    let first = [product.offsets.first().copied().unwrap_or_default()];
    let form = match kind.rounds() {
        true => row::arrange(&mut product, &first, &mut output),
        false => Form::Tiles,
    };
    let product = &product;
    match kind {
        Kind::Single => block::run::<Single>(level, op, product, form, output),
        Kind::Double => block::run::<Double>(level, op, product, form, output),
        Kind::ComplexSingle => block::run::<ComplexSingle>(level, op, product, form, output),
        Kind::ComplexDouble => block::run::<ComplexDouble>(level, op, product, form, output),
        Kind::Whole16 => block::run::<Whole16>(level, op, product, form, output),
        Kind::Whole32 => block::run::<Whole32>(level, op, product, form, output),
        Kind::Whole64 => block::run::<Whole64>(level, op, product, form, output),
    }
}
