//! Fourier transforms of lines.

use std::convert::Infallible;
use std::marker::PhantomData;

/// A Fourier transform.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fourier<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
