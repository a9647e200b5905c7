//! Transposed convolution: the way back of a convolution.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::{Axis, Convolution, Task};
use allotrope_op::{Dims, Shape};

use super::conv::{bad_filters, check_bias, common_dtype, perform};
use super::conv_gradient::{is_convolution_recorded, recorded_transposed};
use super::window::{check_rank, does_not_fit, per_axis, reach};
use crate::Tensor;
use crate::transfer::gathered;

/// How filters spread over a grid.
#[derive(Clone, Copy, Debug)]
pub struct TransposedOptions<'a> {
    /// From the place of an element to that of the next; none is 1.
    pub stride: &'a [usize],
    /// Places taken away on each side; none is 0.
    pub padding: &'a [usize],
    /// Places added at the end; none is 0.
    pub output_padding: &'a [usize],
    /// From an element of a filter to the next; none is 1.
    pub dilation: &'a [usize],
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
}

impl Default for TransposedOptions<'_> {
    fn default() -> Self {
        Self {
            stride: &[],
            padding: &[],
            output_padding: &[],
            dilation: &[],
            groups: 1,
        }
    }
}

macro_rules! convolutions {
    ($($rank:literal, $what:literal, $name:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("Transposed convolution: filters `[channels, filters / groups, window]` over ", $what, " times each element, summed where they overlap.")]
            ///
            /// Operands are promoted to their common dtype; 8- and 16-bit floats are summed in
            /// float32 and rounded once, integers wrap, truth values are joined by or.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, TransposedOptions};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet y = x.", stringify!($name), "(&x, None, &TransposedOptions::default())?;\nassert_eq!(y.shape()[2], 7);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error where promotion refuses, a value error for shapes or windows that do
            /// not fit, a memory error.
            pub fn $name(
                &self,
                weight: &Self,
                bias: Option<&Self>,
                options: &TransposedOptions<'_>,
            ) -> Result<Self, Error> {
                spread(row::$row, self, weight, bias, options, $rank)
            }
        )*}
    };
}
convolutions! {
    1, "rows", conv_transpose1d, CONV_TRANSPOSE1D;
    2, "images", conv_transpose2d, CONV_TRANSPOSE2D;
    3, "volumes", conv_transpose3d, CONV_TRANSPOSE3D;
}

fn spread(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    if let Some((x, weight, bias)) = gathered((x, weight, bias))? {
        return spread(row, &x, &weight, bias.as_ref(), options, rank);
    }
    if is_convolution_recorded(x, weight, bias) {
        return recorded_transposed(row, x, weight, bias, options, rank);
    }
    let op = row.name;
    let dtype = common_dtype(row, x, weight, bias)?;
    check_rank(op, x, rank)?;
    let channels = x.shape()[x.rank() - rank - 1];
    let groups = options.groups;
    let fits = weight.rank() == rank + 2
        && groups > 0
        && channels.is_multiple_of(groups)
        && weight.shape()[0] == channels;
    let taken = weight.shape().first().copied();
    let taken = taken.filter(|_| weight.rank() == rank + 2);
    if !fits {
        return Err(bad_filters(op, x, weight, groups, taken));
    }
    let Some(filters) = weight.shape()[1].checked_mul(groups) else {
        return Err(bad_filters(op, x, weight, groups, taken));
    };
    check_bias(op, bias, filters)?;
    let axes = axes(op, x, weight, options, rank)?;
    let sizes = axes.map(|axis| axis.output);
    let shape: Dims<usize> = x.shape()[..x.rank() - rank - 1]
        .iter()
        .copied()
        .chain([filters])
        .chain(sizes[3 - rank..].iter().copied())
        .collect();
    let shape = Shape::new(op, &shape)?;
    let task = Task::Convolution(Convolution::Transposed {
        axes,
        groups,
        has_bias: bias.is_some(),
    });
    perform(op, &task, [x, weight], bias, (dtype, &shape), rank)
}

/// The axes of a result: `input` and `output` are the sizes of the image and of the result.
pub(super) fn axes(
    op: &'static str,
    x: &Tensor,
    weight: &Tensor,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<[Axis; 3], Error> {
    let stride = per_axis(op, "stride", options.stride, rank, 1, 1)?;
    let padding = per_axis(op, "padding", options.padding, rank, 0, 0)?;
    let added = per_axis(op, "output_padding", options.output_padding, rank, 0, 0)?;
    let dilation = per_axis(op, "dilation", options.dilation, rank, 1, 1)?;
    let (grid, window) = (&x.shape()[x.rank() - rank..], &weight.shape()[2..]);
    let mut axes = [Axis::SINGLE; 3];
    for (place, axis) in axes[3 - rank..].iter_mut().enumerate() {
        let (input, kernel) = (grid[place], window[place]);
        if kernel == 0 || input == 0 {
            return Err(does_not_fit(op, kernel, stride[place], input));
        }
        if added[place] >= stride[place].max(dilation[place]) {
            let problem = Problem::OutOfRange {
                what: "output_padding",
                index: Some(place),
                value: added[place].to_string(),
                accepted: "paddings below the stride or the dilation",
            };
            return Err(Error::new(op, problem));
        }
        let reach = reach(op, kernel, dilation[place], input)?;
        let size = (input - 1)
            .checked_mul(stride[place])
            .and_then(|size| size.checked_add(reach + added[place]))
            .and_then(|size| size.checked_sub(2 * padding[place]))
            .filter(|size| *size > 0 && *size < usize::MAX / 8);
        let Some(output) = size else {
            return Err(does_not_fit(op, reach, stride[place], input));
        };
        *axis = Axis {
            padding: padding[place],
            dilation: dilation[place],
            ..Axis::sliding(input, kernel, stride[place], output)
        };
    }
    Ok(axes)
}
