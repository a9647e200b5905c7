//! Windows over grids: pooling, interpolation, im2col and its way back.

use std::convert::Infallible;
use std::marker::PhantomData;

/// Work on windows of a grid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Window<'a> {
    /// No task yet.
    None(Infallible, PhantomData<&'a ()>),
}
