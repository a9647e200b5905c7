//! Searching and counting, and checks of indices.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Work with places of elements.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Indexing<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
