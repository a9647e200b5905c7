//! Decompositions and solutions of matrices.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Work on each matrix of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Factorization<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
