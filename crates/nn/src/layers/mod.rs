//! Layers: torch's, by its names, with its parameters, their order and first values.
//!
//! Each has `new` with what it cannot do without and `with` for the options, which have torch's
//! defaults. Parameters have the default dtype and are on the CPU unless options say
//! otherwise; those of a device are made there.
//!
//! | file | what is in it |
//! |---|---|
//! | `linear` | [`Linear`], [`Bilinear`] |
//! | `conv` | convolutions and transposed ones |
//! | `pool` | pooling: windows that become one number |
//! | `norm` | normalization over layers, groups, instances, batches |
//! | `embedding` | [`Embedding`], [`EmbeddingBag`] |
//! | `dropout` | what is dropped in training |
//! | `recurrent` | [`Rnn`], [`Lstm`], [`Gru`] and their cells |
//! | `attention` | [`MultiheadAttention`] |
//! | `transformer` | layers of attention, and stacks of them |
//! | `activation` | activation functions and softmax |
//! | `container` | [`Sequential`], and functions as layers |
//! | `shape` | padding, resizing, shuffling, flattening |
//! | `loss` | losses as structs |

mod activation;
mod attention;
mod container;
mod conv;
mod dropout;
mod embedding;
mod linear;
mod loss;
mod norm;
mod pool;
mod recurrent;
mod shape;
mod transformer;

use allotrope_dtype::Error;
use allotrope_tensor::{Options, Tensor};

pub use activation::*;
pub use attention::{Attended, AttentionArguments, MultiheadAttention, MultiheadAttentionOptions};
pub use container::{Func, Sequential, func};
pub use conv::*;
pub use dropout::*;
pub use embedding::{Embedding, EmbeddingBag, EmbeddingBagOptions, EmbeddingOptions};
pub use linear::{Bilinear, Identity, Linear, LinearOptions};
pub use loss::*;
pub use norm::*;
pub use pool::*;
pub use recurrent::*;
pub use shape::*;
pub use transformer::*;

use crate::Parameter;

/// One number for every dimension of a grid, or a number for each.
///
/// ```
/// use allotrope_nn::Sizes;
/// assert_eq!((Sizes::<2>::sizes(3), [3, 4].sizes()), ([3, 3], [3, 4]));
/// ```
pub trait Sizes<const RANK: usize> {
    /// A number for each.
    fn sizes(self) -> [usize; RANK];
}

impl<const RANK: usize> Sizes<RANK> for usize {
    fn sizes(self) -> [usize; RANK] {
        [self; RANK]
    }
}

impl<const RANK: usize> Sizes<RANK> for [usize; RANK] {
    fn sizes(self) -> [usize; RANK] {
        self
    }
}

/// A parameter of numbers between two bounds that are equally far from zero.
fn uniform(sizes: &[usize], bound: f64, options: impl Into<Options>) -> Result<Parameter, Error> {
    Parameter::new(Tensor::uniform(sizes, -bound, bound, options, None)?)
}

/// A parameter of ones.
fn ones(sizes: &[usize], options: impl Into<Options>) -> Result<Parameter, Error> {
    Parameter::new(Tensor::ones(sizes, options)?)
}

/// A parameter of zeros.
fn zeros(sizes: &[usize], options: impl Into<Options>) -> Result<Parameter, Error> {
    Parameter::new(Tensor::zeros(sizes, options)?)
}

/// The value of a parameter, if there is one.
fn value(parameter: Option<&Parameter>) -> Option<Tensor> {
    parameter.map(Parameter::value)
}

/// One over the root of a number, or zero for none.
fn root_share(count: usize) -> f64 {
    match count {
        0 => 0.0,
        count => 1.0 / (count as f64).sqrt(),
    }
}
