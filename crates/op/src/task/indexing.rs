//! Searching and counting, and checks of indices.
//!
//! Numbers are compared exactly whatever their dtypes; NaN is greater than any number, and equal to
//! none.

use allotrope_dtype::{DType, Problem};

/// Work with places of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Indexing {
    /// Indices as int64 from zero on. Reads integers of any dtype; writes as many int64 in row-major
    /// order, or nothing at all where the input is contiguous int64 or uint64 that serves as it is.
    ///
    /// An index outside the size, which is not zero, is an error; a device that queues its work notes it,
    /// and writes indices within the size all the same.
    CheckIndices {
        /// The dimension that is indexed, for errors.
        dim: usize,
        /// Its size.
        size: usize,
        /// What negative indices mean.
        negative: Negative,
    },
    /// Places where values enter sorted sequences. Reads sequences, which are the last dimension of
    /// the first input, and values of any shape: one sequence is for all of them, several for as many
    /// equal parts. Both are of real dtypes. Writes an int64 for each value.
    Search {
        /// Behind numbers that are equal instead of before them.
        right: bool,
    },
    /// The bin between neighbours of a sorted vector that each value falls into, or the number of bins
    /// for those outside. Reads edges and values of real dtypes; writes an int64 for each value.
    FindBins,
    /// Whether elements are among others. Reads the elements and the others, of any dtypes; writes a
    /// truth value for each element.
    IsIn {
        /// Whether they are not.
        invert: bool,
    },
    /// How often each index occurs. Reads contiguous int64 from zero on, below the size of the output;
    /// writes int64.
    CountIndices,
    /// How many numbers fall into each of as many bins of one width as the output has elements; those
    /// outside and NaN are left out. Reads real numbers; writes int64.
    CountBins {
        /// The lower bound of the first bin.
        low: f64,
        /// The upper bound of the last, which includes it.
        high: f64,
    },
    /// Sums of the rows of a matrix in bags. Reads the matrix, the rows that are added and the bag of
    /// each, in order: contiguous int64 in range. Writes the sums, row by row, in the dtype of the
    /// output, float32, float64, complex or an integer of 64 bits, and the number of rows of each bag.
    EmbeddingBag,
}

/// What negative indices mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negative {
    /// They count from the end.
    FromEnd,
    /// They are out of range.
    Refuse,
    /// They are no indices: a value error that names the least of them.
    Invalid,
}

impl Negative {
    /// What is wrong with indices of a dtype of which one is out of range: the first such, and the least
    /// of all, as int64.
    #[must_use]
    pub fn fault(self, dtype: DType, first: i64, least: i64, dim: usize, size: usize) -> Problem {
        let is_unsigned = dtype == DType::U64;
        if self == Self::Invalid && least < 0 && !is_unsigned {
            return Problem::OutOfRange {
                what: "index",
                index: None,
                value: least.to_string(),
                accepted: "indices from 0 on",
            };
        }
        // What is beyond int64, which only uint64 has, looks negative.
        let index = match first {
            ..0 if is_unsigned => isize::MAX,
            first => first as isize,
        };
        Problem::IndexOutOfRange { index, dim, size }
    }
}
