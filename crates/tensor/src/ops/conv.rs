//! Convolution: sums of products of windows with filters.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::{Axis, Convolution, Edge, Task};
use allotrope_op::{Dims, Shape};

use super::conv_gradient::{is_convolution_recorded, recorded_convolution};
use super::window::{check_rank, does_not_fit, per_axis, reach};
use crate::Tensor;
use crate::call;
use crate::device::perform_one;
use crate::transfer::gathered;

/// Places around a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding<'a> {
    /// So many on each side; one number stands for all dimensions, none for 0.
    Each(&'a [usize]),
    /// None.
    Valid,
    /// As many as keep the sizes, one more at the end where their number is odd.
    Same,
}

/// How filters slide over a grid.
#[derive(Clone, Copy, Debug)]
pub struct ConvolutionOptions<'a> {
    /// From a window to the next; none is 1.
    pub stride: &'a [usize],
    /// Places around the grid.
    pub padding: Padding<'a>,
    /// What is there.
    pub padding_mode: Edge,
    /// From an element of a window to the next; none is 1.
    pub dilation: &'a [usize],
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
}

impl Default for ConvolutionOptions<'_> {
    fn default() -> Self {
        Self {
            stride: &[],
            padding: Padding::Valid,
            padding_mode: Edge::Zeros,
            dilation: &[],
            groups: 1,
        }
    }
}

macro_rules! convolutions {
    ($($rank:literal, $what:literal, $name:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("Convolution: sums of products of windows over ", $what, " with filters `[filters, channels / groups, window]`.")]
            ///
            /// Operands are promoted to their common dtype; 8- and 16-bit floats are summed in
            /// float32 and rounded once, integers wrap, truth values are joined by or.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{ConvolutionOptions, DType, Padding, Tensor};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet options = ConvolutionOptions { padding: Padding::Same, ..Default::default() };\nassert_eq!(x.", stringify!($name), "(&x, None, &options)?.shape(), x.shape());\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error where promotion refuses, a value error for shapes or windows that do
            /// not fit, a memory error.
            pub fn $name(
                &self,
                weight: &Self,
                bias: Option<&Self>,
                options: &ConvolutionOptions<'_>,
            ) -> Result<Self, Error> {
                slide(row::$row, self, weight, bias, options, $rank)
            }
        )*}
    };
}
convolutions! {
    1, "rows", conv1d, CONV1D;
    2, "images", conv2d, CONV2D;
    3, "volumes", conv3d, CONV3D;
}

fn slide(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    if let Some((x, weight, bias)) = gathered((x, weight, bias))? {
        return slide(row, &x, &weight, bias.as_ref(), options, rank);
    }
    if is_convolution_recorded(x, weight, bias) {
        return recorded_convolution(row, x, weight, bias, options, rank);
    }
    let op = row.name;
    let dtype = common_dtype(row, x, weight, bias)?;
    check_rank(op, x, rank)?;
    let channels = x.shape()[x.rank() - rank - 1];
    let filters = weight.shape().first().copied().unwrap_or(0);
    let groups = options.groups;
    let fits = weight.rank() == rank + 2
        && groups > 0
        && filters.is_multiple_of(groups)
        && weight.shape()[1].checked_mul(groups) == Some(channels);
    if !fits {
        let taken = weight
            .shape()
            .get(1)
            .map(|size| size.saturating_mul(groups));
        let taken = taken.filter(|_| weight.rank() == rank + 2);
        return Err(bad_filters(op, x, weight, groups, taken));
    }
    check_bias(op, bias, filters)?;
    let axes = axes(op, x, weight, options, rank)?;
    let outputs = axes[3 - rank..].iter().map(|axis| axis.output);
    let sizes: Dims<usize> = x.shape()[..x.rank() - rank - 1]
        .iter()
        .copied()
        .chain([filters])
        .chain(outputs)
        .collect();
    let task = Task::Convolution(Convolution::Forward {
        axes,
        groups,
        edge: options.padding_mode,
        has_bias: bias.is_some(),
    });
    let shape = Shape::new(op, &sizes)?;
    perform(op, &task, [x, weight], bias, (dtype, &shape), rank)
}

/// What a task makes of images, filters and a bias, which is rounded to the dtype first.
pub(super) fn perform(
    op: &'static str,
    task: &Task<'_>,
    [x, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    (dtype, shape): (DType, &Shape),
    rank: usize,
) -> Result<Tensor, Error> {
    let (images, filters) = (as_volumes(x, rank)?, as_volumes(weight, rank)?);
    match bias {
        None => perform_one(op, task, &[&images, &filters], dtype, shape),
        Some(bias) => {
            let bias = bias.to(dtype)?;
            perform_one(op, task, &[&images, &filters, &bias], dtype, shape)
        }
    }
}

/// The dtype that image, filters and bias meet in, if the operation accepts it.
pub(super) fn common_dtype(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<DType, Error> {
    let operands = [Some(x), Some(weight), bias];
    call::result_of(&row, operands.into_iter().flatten())
}

/// Filters that do not fit the channels.
#[cold]
pub(super) fn bad_filters(
    op: &'static str,
    x: &Tensor,
    weight: &Tensor,
    groups: usize,
    taken: Option<usize>,
) -> Error {
    let problem = Problem::BadFilters {
        input: x.shape().to_vec(),
        weight: weight.shape().to_vec(),
        groups,
        taken,
    };
    Error::new(op, problem)
}

/// Refuses a bias that has not one number per filter.
pub(super) fn check_bias(
    op: &'static str,
    bias: Option<&Tensor>,
    filters: usize,
) -> Result<(), Error> {
    match bias {
        Some(bias) if bias.shape()[..] != [filters] => {
            let problem = Problem::NotBroadcastable {
                lhs: vec![filters],
                rhs: bias.shape().to_vec(),
            };
            Err(Error::new(op, problem).hint("a bias with one number per filter"))
        }
        _ => Ok(()),
    }
}

/// A tensor with a batch and three dimensions of grid.
pub(super) fn as_volumes(x: &Tensor, rank: usize) -> Result<Tensor, Error> {
    let mut view = x.clone();
    if x.rank() == rank + 1 {
        view = view.unsqueeze(0)?;
    }
    for _ in rank..3 {
        view = view.unsqueeze(2)?;
    }
    Ok(view)
}

pub(super) fn axes(
    op: &'static str,
    x: &Tensor,
    weight: &Tensor,
    options: &ConvolutionOptions<'_>,
    rank: usize,
) -> Result<[Axis; 3], Error> {
    let stride = per_axis(op, "stride", options.stride, rank, 1, 1)?;
    let dilation = per_axis(op, "dilation", options.dilation, rank, 1, 1)?;
    let padding = match options.padding {
        Padding::Each(padding) => per_axis(op, "padding", padding, rank, 0, 0)?,
        _ => Dims::from_elem(0, rank),
    };
    let (grid, window) = (&x.shape()[x.rank() - rank..], &weight.shape()[2..]);
    let mut axes = [Axis::SINGLE; 3];
    for (place, axis) in axes[3 - rank..].iter_mut().enumerate() {
        let (input, kernel, step) = (grid[place], window[place], stride[place]);
        if kernel == 0 || input == 0 {
            return Err(does_not_fit(op, kernel, step, input));
        }
        let reach = reach(op, kernel, dilation[place], input)?;
        let (before, after) = match options.padding {
            Padding::Same if step != 1 => {
                let problem = Problem::OutOfRange {
                    what: "stride",
                    index: Some(place),
                    value: step.to_string(),
                    accepted: "strides of 1 with padding 'same'",
                };
                return Err(Error::new(op, problem));
            }
            Padding::Same => ((reach - 1) / 2, reach - 1 - (reach - 1) / 2),
            _ => (padding[place], padding[place]),
        };
        let most = match options.padding_mode {
            Edge::Zeros | Edge::Replicate => usize::MAX,
            Edge::Reflect => input - 1,
            Edge::Circular => input,
        };
        if before.max(after) > most {
            let problem = Problem::OutOfRange {
                what: "padding",
                index: Some(place),
                value: before.max(after).to_string(),
                accepted: match options.padding_mode {
                    Edge::Reflect => "paddings below the size of the dimension",
                    _ => "paddings up to the size of the dimension",
                },
            };
            return Err(Error::new(op, problem));
        }
        let available = input + before + after;
        if reach > available {
            return Err(does_not_fit(op, reach, step, available));
        }
        *axis = Axis {
            padding: before,
            dilation: dilation[place],
            ..Axis::sliding(input, kernel, step, (available - reach) / step + 1)
        };
    }
    Ok(axes)
}
