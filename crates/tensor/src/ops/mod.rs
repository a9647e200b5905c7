//! Structured operations, one to a file: doc, signature, shape rule, dtype rule, forward.
//!
//! The dtype rule of each is its row in [`allotrope_op::structured`], its kernel is in the CPU crate.

pub(crate) mod attention;
mod columns;
mod conv;
mod conv_transpose;
mod diagonal;
mod difference;
mod distance;
mod dropout;
mod einsum;
pub mod fft;
mod grid;
mod indexing;
mod interpolate;
mod join;
pub mod linalg;
mod linear;
mod lines;
mod loss;
mod matmul;
mod norm;
mod operands;
mod pad;
mod pool;
pub(crate) mod product;
mod product_gradient;
mod quantile;
mod rank;
mod repeat;
mod roll;
mod scale;
mod scan;
mod segment;
mod select;
mod shuffle;
mod softmax;
mod sort;
mod tensordot;
mod triangle;
mod unique;
mod window;

pub use columns::Blocks;
pub use conv::{ConvolutionOptions, Padding};
pub use conv_transpose::TransposedOptions;
pub use einsum::einsum;
pub use indexing::{BagMode, Bags, Edges, Embedding, IndexReduction, Search};
pub use interpolate::{Interpolation, InterpolationOptions, Resized};
pub use loss::LossReduction;
pub use norm::{BatchNorm, BatchNormOptions};
pub use pad::PadMode;
pub use pool::AverageOptions;
pub use quantile::QuantileInterpolation;
pub use tensordot::multi_dot;
pub use unique::Unique;
pub use window::Window;
