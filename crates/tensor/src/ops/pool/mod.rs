//! Pooling: windows over grids, each of which becomes one number.
//!
//! | file | what is in it |
//! |---|---|
//! | `max` | the greatest, and where it was |
//! | `average` | the mean |
//! | `fractional` | the greatest of windows at random places |
//! | `norm` | the root of the sum of powers |
//! | `unpool` | the greatest back to where it was |
//! | `gradient` | gradients back to where results came from |

mod average;
mod fractional;
mod gradient;
mod max;
mod norm;
mod unpool;

pub use average::AverageOptions;

use allotrope_dtype::{Error, Problem};
use allotrope_op::task::Axis;
use allotrope_op::{Dims, Shape};

use super::window::check_rank;
use crate::Tensor;

/// The shape of the results of windows over a tensor.
fn shape_of(op: &'static str, x: &Tensor, axes: &[Axis; 3], rank: usize) -> Result<Shape, Error> {
    let outer = &x.shape()[..x.rank() - rank];
    let outputs = axes[3 - rank..].iter().map(|axis| axis.output);
    let sizes: Dims<usize> = outer.iter().copied().chain(outputs).collect();
    Shape::new(op, &sizes)
}

/// The windows that share the last dimensions of a tensor out; no size keeps that of the tensor.
fn share_out(
    op: &'static str,
    x: &Tensor,
    output: &[Option<usize>],
    rank: usize,
) -> Result<[Axis; 3], Error> {
    check_rank(op, x, rank)?;
    if output.is_empty() {
        let problem = Problem::LengthMismatch { from: 0, to: rank };
        return Err(Error::new(op, problem).hint("one output size, or one per dimension"));
    }
    let given: Vec<usize> = output.iter().map(|size| size.unwrap_or(0)).collect();
    let sizes = super::window::per_axis(op, "output size", &given, rank, 0, 0)?;
    let mut axes = [Axis::SINGLE; 3];
    let grid = &x.shape()[x.rank() - rank..];
    for (place, axis) in axes[3 - rank..].iter_mut().enumerate() {
        let asked = if output.len() == 1 {
            output[0]
        } else {
            output[place]
        };
        let size = if asked.is_none() {
            grid[place]
        } else {
            sizes[place]
        };
        if grid[place] == 0 {
            return Err(super::window::does_not_fit(op, 1, 1, 0));
        }
        Shape::new(op, &[x.count().max(1) / grid[place].max(1), size])?;
        *axis = Axis::adaptive(grid[place], size);
    }
    Ok(axes)
}
