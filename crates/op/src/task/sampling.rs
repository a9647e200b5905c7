//! Random numbers whose parameters are tensors.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Draws of random numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Sampling<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
