//! Lines along an axis: softmax, norms and their gradients.
//!
//! The elements are seen as `[outer, length, inner]`, which is the order of the layout of the input.

use crate::Program;

/// Work on every line.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rowwise<'a> {
    /// The softmax of every line of what a program reads. Reads the input of the program; writes as
    /// many elements, in the dtype of the output.
    Softmax {
        /// Shares or their logarithms.
        kind: Softmax,
        /// What is worked on; its output is float32 or float64.
        program: &'a Program,
        /// Outer, length, inner.
        sizes: [usize; 3],
    },
}

/// What becomes of the exponentials of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Softmax {
    /// Their shares of their sum.
    Softmax,
    /// The logarithms of the shares.
    LogSoftmax,
}
