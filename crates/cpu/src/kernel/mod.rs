//! The kernels: safe code over slices of bytes and layouts.

mod batch_norm;
pub(crate) mod check;
mod class_loss;
mod conv;
mod copy;
mod cross_entropy_backward;
mod distance;
pub(crate) mod elementwise;
mod fold;
pub(crate) mod fourier;
pub(crate) mod fused;
pub(crate) mod indexing;
pub(crate) mod linalg;
mod movement;
mod norm;
pub(crate) mod pair;
mod pool;
mod prefix;
pub mod random;
mod reduce;
mod resample;
mod rowwise;
mod scan;
mod softmax;
mod softmax_backward;
pub(crate) mod sort;
pub(crate) mod ties;

pub use allotrope_op::{Fold, Scan};
pub(crate) use batch_norm::{
    ChannelNorm, ChannelStatistics, normalize_channels, normalize_channels_backward,
};
pub(crate) use class_loss::{ClassLines, class_indices, label_counts, multilabel_margin};
pub(crate) use conv::{FilterGradients, Layer, Operand, Transposed};
pub(crate) use copy::scatter;
pub use copy::{copy, copy_into, fill, whole_elements};
pub(crate) use cross_entropy_backward::{ClassTargets, entropy_backward};
pub(crate) use distance::distances;
pub(crate) use movement::col2im;
pub use movement::{assemble, copy_view, keep_band};
pub(crate) use norm::{Norm, NormGradients, normalize_lines, normalize_lines_backward};
pub(crate) use pool::{
    Grid, Pooled, avg_pool, max_pool, max_pool_backward, max_pool_with_places, max_unpool,
};
pub use reduce::{reduce, reduce_at};
pub(crate) use resample::{interpolate, nearest};
pub(crate) use rowwise::{LineInput, are_lines_short, pick};
pub use scan::scan;
pub(crate) use softmax::softmax;
pub(crate) use softmax_backward::softmax_backward;
