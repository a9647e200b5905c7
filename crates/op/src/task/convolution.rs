//! Filters over grids: convolution and its gradients.

use std::convert::Infallible;
use std::marker::PhantomData;

/// A convolution.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Convolution<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
