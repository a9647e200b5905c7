//! Lines in order: sorting, selection, what is unique.
//!
//! A line is the last dimension of the first input, which is contiguous and of a real dtype. NaN is
//! the greatest number, -0 and 0 are equal, and of equals the earlier comes first. Indices are int64
//! and count along the line.

use std::str::FromStr;

use allotrope_dtype::{Error, Problem};

use crate::structured::order::QUANTILE;

/// Work on lines that puts their elements in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Every line sorted, stably. Writes the values, if they are asked for, then the indices, if they
    /// are: as many as elements.
    Sort {
        /// From the greatest to the least.
        descending: bool,
        /// Whether values are written.
        values: bool,
        /// Whether indices are written.
        indices: bool,
    },
    /// The greatest or least of every line. Writes values and indices, `k` for each line.
    Topk {
        /// How many, no more than a line has.
        k: usize,
        /// The greatest instead of the least.
        largest: bool,
        /// Whether they are in order.
        sorted: bool,
    },
    /// One element of every line. Writes values and indices, one for each line.
    Nth(Rank),
    /// The most frequent of every line, the least of several, and its last index; each NaN is unlike
    /// any other. Writes values and indices, one for each line.
    Mode,
    /// The extreme up to each element of its line, the latest of equals; from the first NaN on, NaN.
    /// Writes values and indices, as many as elements.
    Cummax {
        /// The greatest instead of the least.
        greatest: bool,
    },
    /// The place of the greatest or least of every line, of equals the first; of the first NaN, if there
    /// is one. Writes indices, one for each line.
    Extreme {
        /// The greatest instead of the least.
        greatest: bool,
    },
    /// The different elements of one line; each NaN is unlike any other. Writes the values, the place
    /// of each element among them, and how often each occurs: at most as many as elements, and none of
    /// what is not asked for.
    Unique {
        /// In order; else only neighbours are compared.
        sorted: bool,
        /// What is asked for beside the values.
        beside: Beside,
    },
    /// The different lines of a matrix, ordered by their first elements, then their second ones and so
    /// on; complex numbers by their real parts, then by their imaginary ones. Writes the number of the first line of each kind, the kind of each line, and how many lines
    /// each kind has: int64, at most as many as lines.
    UniqueRows {
        /// In order; else only neighbours are compared.
        sorted: bool,
    },
    /// Numbers at fractions of the order of every line of a matrix, rounded once to the dtype of the
    /// first output. The second input has the fractions, from 0 to 1. Writes the numbers of all lines
    /// for the first fraction, then for the second and so on; if the neighbours are asked for, also
    /// what they are, for as many: the index of the lower one among all elements, that of the upper
    /// one, and the share that the upper one has; at last how many steps each line has from a fraction
    /// of 0 to one of 1.
    Quantile {
        /// Leaves NaN out; else a line with one gives NaN.
        skips_nan: bool,
        /// What stands between neighbours.
        interpolation: QuantileInterpolation,
        /// Whether neighbours are written.
        neighbours: bool,
    },
}

/// Which element of a line, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The one that this many precede.
    Place(usize),
    /// The middle one, the lower of two; the first NaN if there is one.
    Median,
    /// The middle one of those that are not NaN; the first NaN if all are.
    NanMedian,
}

/// What is wanted beside different values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The place of each element among the values.
    pub inverse: bool,
    /// How often each value occurs.
    pub counts: bool,
}

/// What stands between two neighbours in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantileInterpolation {
    /// The point as far between them as the fraction is.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// The point halfway.
    Midpoint,
    /// The nearer one; of both the one with the even place.
    Nearest,
}

impl FromStr for QuantileInterpolation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "linear" => Self::Linear,
            "lower" => Self::Lower,
            "higher" => Self::Higher,
            "midpoint" => Self::Midpoint,
            "nearest" => Self::Nearest,
            _ => {
                let problem = Problem::UnknownOption {
                    what: "interpolation",
                    given: name.to_owned(),
                    accepted: "linear, lower, higher, midpoint, nearest".to_owned(),
                };
                return Err(Error::new(QUANTILE.name, problem));
            }
        })
    }
}
