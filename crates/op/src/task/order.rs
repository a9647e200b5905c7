//! Lines in order: sorting, selection, what is unique.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Work on lines that puts their elements in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Order<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
