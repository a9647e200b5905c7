//! Checks and casts that look at values.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Work that looks at values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Values<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
