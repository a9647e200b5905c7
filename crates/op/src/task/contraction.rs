//! Sums of products: matrix products, attention, distances of rows.

use std::convert::Infallible;
use std::marker::PhantomData;

/// A sum of products.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Contraction<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
