//! What a backend is told to do beside programs, as plain data: how numbers are folded, where
//! elements go, which numbers are drawn. How it is done belongs to the backends.

use allotrope_dtype::DType;

use crate::backend::{Memory, View};
use crate::{Dims, Layout};

/// How numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The greatest; NaN if there is one.
    Max,
    /// The least; NaN if there is one.
    Min,
}

impl Fold {
    /// The dtype that items must have to fold values of a compute dtype.
    ///
    /// Products are formed in float64, whose range those of float32 do not leave soon.
    #[must_use]
    pub fn item(self, dtype: DType) -> DType {
        match (self, dtype) {
            (Self::Max | Self::Min, DType::Bool) => DType::Bool,
            (Self::Max | Self::Min, _) => dtype.compute(),
            (_, DType::Bool) => DType::I64,
            (_, d) if d.is_integer() && d.is_signed() => DType::I64,
            (_, d) if d.is_integer() => DType::U64,
            (Self::Sum, d) => d.compute(),
            (Self::Prod, d) if d.is_complex() => DType::C128,
            (Self::Prod, _) => DType::F64,
        }
    }
}

/// How the numbers of a prefix become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// The logarithm of the sum of their exponentials.
    LogSumExp,
}

impl Scan {
    /// The dtype that items must have to scan values of a dtype.
    #[must_use]
    pub fn item(self, dtype: DType) -> DType {
        match dtype {
            d if self == Self::LogSumExp && d.is_complex() => DType::C128,
            _ if self == Self::LogSumExp => DType::F64,
            DType::Bool => DType::I64,
            d if d.is_integer() && d.is_signed() => DType::I64,
            d if d.is_integer() => DType::U64,
            d => d.compute(),
        }
    }
}

/// The part of matrices that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The diagonal and what is below it.
    Lower,
    /// The diagonal and what is above it.
    Upper,
}

impl Band {
    /// The columns of a row that are kept, where the diagonal begins at column `diagonal`.
    #[must_use]
    pub fn kept(self, row: usize, columns: usize, diagonal: isize) -> std::ops::Range<usize> {
        let place = (row as isize).saturating_add(diagonal);
        let bound = |place: isize| place.clamp(0, columns as isize) as usize;
        match self {
            Self::Lower => 0..bound(place.saturating_add(1)),
            Self::Upper => bound(place)..columns,
        }
    }
}

/// Elements of a layout, and the index in the target of the first of them.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// The memory that the layout points into.
    pub memory: &'a dyn Memory,
    /// The dtype of the elements, from which they are converted to that of the target.
    pub dtype: DType,
    /// Which elements, in the shape that they fill.
    pub layout: Layout,
    /// Where they begin in each dimension of the target.
    pub start: Dims<usize>,
}

/// What becomes of an element and of one that is put to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The new one stays.
    Replace,
    /// Their sum; integers wrap.
    Add,
    /// Their product; integers wrap.
    Multiply,
    /// The greater; NaN if one is.
    Max,
    /// The lesser; NaN if one is.
    Min,
}

/// Which elements are put where.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// The elements that are put.
    pub source: View<'a>,
    /// The index of each, an int64 that is checked and not negative.
    pub indices: View<'a>,
    /// Where index zero of each lies in the target.
    pub base: &'a Layout,
    /// How far apart indices lie in the target.
    pub step: usize,
    /// Into how many blocks the target falls that no index leads out of.
    pub blocks: usize,
    /// How many of those blocks are written to, from the first on.
    pub used: usize,
}

/// Where a draw of random numbers begins: the key of the generator and the first block.
///
/// Which bits an element is made of is the contract of every backend: element `i` has word `i % 4` of
/// block `offset + i / 4` of Philox 4x32-10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The key.
    pub seed: u64,
    /// The first block.
    pub offset: u64,
}

/// Elements that one block of the generator serves.
const WORDS: usize = 4;

impl Stream {
    /// The stream from one of its elements on, the first of a block.
    #[must_use]
    pub const fn after(self, elements: usize) -> Self {
        let offset = self.offset.wrapping_add((elements / WORDS) as u64);
        Self { offset, ..self }
    }
}

/// The blocks that a draw of so many elements takes: `⌈count / 4⌉`.
#[must_use]
pub const fn blocks_of(count: usize) -> u64 {
    count.div_ceil(WORDS) as u64
}

/// Random numbers whose parameters are the same for every element, and known to fit the dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Evenly between two bounds, of which the upper is left out.
    Uniform(f64, f64),
    /// Normal numbers of a mean and a standard deviation.
    Normal(f64, f64),
    /// Integers from the first on, as many as the second says.
    Integers(i128, u128),
    /// Ones of a probability, and zeros.
    Bernoulli(f64),
}
