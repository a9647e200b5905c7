//! Random numbers whose parameters are tensors, and those of distributions without a
//! [`Draw`](crate::Draw) of their own.
//!
//! Parameters are real tensors of any dtype, in the shape of the output. A value that has no meaning
//! is an error about values, and then nothing is drawn. Which random bits an element is made of is the
//! contract of [`Stream`].

use crate::{Distribution, Stream};

/// A draw of random numbers, from a place in a generator's sequence on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sampling {
    /// Numbers of a distribution. Reads a tensor for each parameter that is no number here, in their
    /// order; writes numbers rounded once, to a float or an integer dtype, where they saturate.
    Distribution {
        /// The distribution.
        distribution: Distribution,
        /// The parameters that are the same for every element, checked; at most as many as there are.
        parameters: [Option<f64>; MAX_PARAMETERS],
        /// Where the draw begins.
        stream: Stream,
    },
    /// A normal number for each element. Reads means and standard deviations; writes floats.
    Normal {
        /// Where the draw begins.
        stream: Stream,
    },
    /// A one or a zero for each element. Reads the probabilities of ones; writes any dtype.
    Bernoulli {
        /// Where the draw begins.
        stream: Stream,
    },
    /// Shares that sum up to one along the last dimension. Reads concentrations; writes floats.
    Dirichlet {
        /// Where the draw begins.
        stream: Stream,
    },
    /// Indices into the last dimension. Reads weights `[…, n]`; writes int64 `[…, samples]`.
    Multinomial {
        /// The indices of each row.
        samples: usize,
        /// Whether an index may be drawn twice.
        replacement: bool,
        /// Where the draw begins: an element for each index with replacement, else for each weight.
        stream: Stream,
    },
    /// The integers from 0 on in random order. Reads nothing; writes int64.
    Permutation {
        /// Where the draw begins.
        stream: Stream,
    },
}

/// The most parameters that a distribution has.
pub const MAX_PARAMETERS: usize = 4;
