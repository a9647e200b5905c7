//! Windows over grids: sizes, strides and paddings per dimension, checked, and what they make.

use allotrope_dtype::{Error, Problem};
use allotrope_op::Dims;
use allotrope_op::task::Axis;

use crate::Tensor;

/// Windows that slide over the last dimensions of a tensor.
///
/// One number stands for all dimensions. Without strides windows touch each other, as in torch's
/// pooling.
///
/// ```
/// use allotrope_tensor::{Tensor, Window};
/// let window = Window { kernel: &[2], stride: &[2], padding: &[0], dilation: &[1], ceil_mode: false };
/// assert_eq!(Tensor::new([[1.0, 3.0, 5.0, 4.0]])?.max_pool1d(&window)?, Tensor::new([[3.0, 5.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Window<'a> {
    /// The elements of a window.
    pub kernel: &'a [usize],
    /// From the start of a window to that of the next; none is the size of the window.
    pub stride: &'a [usize],
    /// Places on each side of the grid; none is 0.
    pub padding: &'a [usize],
    /// From an element of a window to the next; none is 1.
    pub dilation: &'a [usize],
    /// Whether windows that begin within the grid may end beyond it.
    pub ceil_mode: bool,
}

impl<'a> Window<'a> {
    /// Windows that touch each other.
    #[must_use]
    pub fn new(kernel: &'a [usize]) -> Self {
        Self {
            kernel,
            ..Self::default()
        }
    }

    /// The windows over the last `rank` dimensions of sizes.
    pub(crate) fn axes(
        &self,
        op: &'static str,
        sizes: &[usize],
        rank: usize,
    ) -> Result<[Axis; 3], Error> {
        let kernel = per_axis(op, "kernel size", self.kernel, rank, 0, 1)?;
        let stride = if self.stride.is_empty() {
            kernel.clone()
        } else {
            per_axis(op, "stride", self.stride, rank, 1, 1)?
        };
        let padding = per_axis(op, "padding", self.padding, rank, 0, 0)?;
        let dilation = per_axis(op, "dilation", self.dilation, rank, 1, 1)?;
        let mut axes = [Axis::SINGLE; 3];
        let grid = &sizes[sizes.len() - rank..];
        for (place, axis) in axes[3 - rank..].iter_mut().enumerate() {
            let (input, padding) = (grid[place], padding[place]);
            let (kernel, stride, dilation) = (kernel[place], stride[place], dilation[place]);
            let reach = reach(op, kernel, dilation, input)?;
            if padding > reach / 2 {
                let problem = Problem::OutOfRange {
                    what: "padding",
                    index: Some(place),
                    value: padding.to_string(),
                    accepted: "paddings up to half of the window",
                };
                return Err(Error::new(op, problem));
            }
            let available = input + 2 * padding;
            let beyond = reach.saturating_sub(available);
            // A single window may end beyond the grid, too, by less than a step.
            let is_single = self.ceil_mode && beyond < stride;
            if input == 0 || beyond > 0 && !is_single {
                return Err(does_not_fit(op, reach, stride, available));
            }
            let steps = available.saturating_sub(reach);
            let mut output = steps / stride + 1;
            // One more window that begins within the grid or the padding before it.
            let is_cut = !steps.is_multiple_of(stride);
            if self.ceil_mode && is_cut && output * stride < input + padding {
                output += 1;
            }
            *axis = Axis {
                padding,
                dilation,
                ..Axis::sliding(input, kernel, stride, output)
            };
        }
        Ok(axes)
    }
}

/// From the first element of a window to beyond its last.
pub(crate) fn reach(
    op: &'static str,
    kernel: usize,
    dilation: usize,
    input: usize,
) -> Result<usize, Error> {
    let reach = (kernel - 1).checked_mul(dilation).map(|reach| reach + 1);
    // Half of what can be counted leaves room for paddings and sums of both.
    reach
        .filter(|reach| *reach < usize::MAX / 8)
        .ok_or_else(|| does_not_fit(op, usize::MAX, dilation, input))
}

#[cold]
pub(crate) fn does_not_fit(op: &'static str, size: usize, step: usize, available: usize) -> Error {
    let problem = Problem::BadWindow {
        size,
        step,
        available,
    };
    Error::new(op, problem)
}

/// A number per dimension, where one stands for all and none for a default.
pub(crate) fn per_axis(
    op: &'static str,
    what: &'static str,
    given: &[usize],
    rank: usize,
    default: usize,
    least: usize,
) -> Result<Dims<usize>, Error> {
    let values: Dims<usize> = match given {
        [] => Dims::from_elem(default, rank),
        [one] => Dims::from_elem(*one, rank),
        several if several.len() == rank => Dims::from_slice(several),
        several => {
            let problem = Problem::LengthMismatch {
                from: several.len(),
                to: rank,
            };
            return Err(Error::new(op, problem).hint(format!("one {what}, or one per dimension")));
        }
    };
    if let Some(index) = values
        .iter()
        .position(|value| *value < least || *value > usize::MAX / 16)
    {
        let problem = Problem::OutOfRange {
            what,
            index: Some(index),
            value: values[index].to_string(),
            accepted: if least == 0 {
                "numbers from 0 on"
            } else {
                "numbers from 1 on"
            },
        };
        return Err(Error::new(op, problem));
    }
    Ok(values)
}

/// Refuses tensors that are not channels of grids, with or without a batch.
pub(crate) fn check_rank(op: &'static str, x: &Tensor, rank: usize) -> Result<(), Error> {
    if x.rank() == rank + 1 || x.rank() == rank + 2 {
        return Ok(());
    }
    let problem = Problem::OutOfRange {
        what: "number of dimensions",
        index: None,
        value: x.rank().to_string(),
        accepted: match rank {
            1 => "2 (channels, length) and 3 (batch, channels, length)",
            2 => "3 (channels, height, width) and 4 (batch, channels, height, width)",
            _ => "4 (channels, depth, height, width) and 5 (batch, channels, depth, height, width)",
        },
    };
    Err(Error::new(op, problem))
}
