//! Work that has a kernel of its own, as plain data: what to do, without the memory it is done in.
//!
//! A [`Task`] is offered to a device by [`Backend::perform`](crate::Backend::perform), with the
//! elements that it reads and the sizes of what it writes. A device that has no kernel for it
//! answers `None`, and whoever asked composes the operation of primitives or lets the CPU do it. So
//! each family says, for every task, which [`Input`]s it reads in which order, and which [`Output`]s
//! it writes; no task holds memory, since then all of them are moved from one device to another in
//! one place.
//!
//! | file | tasks |
//! |---|---|
//! | [`rowwise`] | lines along an axis: softmax, norms, losses of classes |
//! | [`contraction`] | sums of products: matrix products, attention, distances |
//! | [`convolution`] | filters over grids |
//! | [`window`] | windows over grids: pooling, interpolation, im2col |
//! | [`order`] | lines in order: sorting, selection, unique |
//! | [`indexing`] | searching, counting, and checks of indices |
//! | [`fourier`] | Fourier transforms of lines |
//! | [`factorization`] | decompositions and solutions of matrices |
//! | [`recurrent`] | steps of recurrent networks |
//! | [`sampling`] | random numbers whose parameters are tensors |
//! | [`values`] | checks and casts that look at values |

mod axis;
pub mod contraction;
pub mod convolution;
pub mod factorization;
pub mod fourier;
pub mod indexing;
pub mod order;
pub mod recurrent;
pub mod rowwise;
pub mod sampling;
pub mod values;
pub mod window;

use allotrope_dtype::DType;
use smallvec::SmallVec;

use crate::Shared;
use crate::backend::View;

pub use axis::Axis;
pub use contraction::Contraction;
pub use convolution::{Convolution, Edge};
pub use factorization::Factorization;
pub use fourier::Fourier;
pub use indexing::Indexing;
pub use order::Order;
pub use recurrent::{Recurrence, Recurrent};
pub use rowwise::Rowwise;
pub use sampling::Sampling;
pub use values::Values;
pub use window::Window;

/// One piece of work, by families.
///
/// More families and more tasks may come: a backend answers `None` to those that it does not know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Task<'a> {
    /// Lines along an axis.
    Rowwise(Rowwise<'a>),
    /// Sums of products.
    Contraction(Contraction),
    /// Filters over grids.
    Convolution(Convolution),
    /// Windows over grids.
    Window(Window<'a>),
    /// Lines in order.
    Order(Order),
    /// Searching, counting, and checks of indices.
    Indexing(Indexing),
    /// Fourier transforms of lines.
    Fourier(Fourier),
    /// Decompositions and solutions of matrices.
    Factorization(Factorization),
    /// Steps of recurrent networks.
    Recurrent(Recurrent<'a>),
    /// Random numbers whose parameters are tensors.
    Sampling(Sampling),
    /// Checks and casts that look at values.
    Values(Values),
}

impl Task<'_> {
    /// Whether the task looks for values that an operation refuses: on a device that queues its work
    /// what it finds is a fault, which the next reading raises.
    #[must_use]
    pub fn is_check(&self) -> bool {
        matches!(
            self,
            Self::Indexing(Indexing::CheckIndices { .. })
                | Self::Rowwise(Rowwise::ClassIndices { .. })
                | Self::Values(Values::CheckIntegers(_) | Values::Refuse(_))
        )
    }
}

/// Elements that a task reads, in any layout.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Where they are.
    pub view: View<'a>,
}

/// Elements that a task writes, in row-major order: so many, or at most so many where their number
/// depends on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The dtype of the elements.
    pub dtype: DType,
    /// How many there are.
    pub count: usize,
}

/// What became of an [`Output`].
#[derive(Clone, Debug)]
pub struct Made {
    /// New memory of the device.
    pub memory: Shared,
    /// How many elements it has.
    pub count: usize,
}

/// What a task made, in the order of its outputs.
pub type Results = SmallVec<[Made; 2]>;
