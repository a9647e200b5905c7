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

use allotrope_cpu::kernel::{Axis, Grid, Pooled};
use allotrope_dtype::{DType, Error, Level, Problem};
use allotrope_op::{Program, Shape};

use super::window::check_rank;
use crate::Tensor;

/// The grid of a tensor with windows, and the shape of the results.
fn lay_out(
    op: &'static str,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<(Grid, Shape), Error> {
    let sizes = x.shape();
    let outer = &sizes[..sizes.len() - rank];
    let planes = outer.iter().product();
    let outputs = axes[3 - rank..].iter().map(|axis| axis.output);
    let shape: Vec<usize> = outer.iter().copied().chain(outputs).collect();
    Ok((Grid { planes, axes }, Shape::new(op, &shape)?))
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

/// Runs a kernel over what a program makes of a tensor.
fn pool(
    op: &'static str,
    x: &Tensor,
    program: &Program,
    kernel: impl FnOnce(&Pooled<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let input = x.as_input(op)?;
    kernel(&Pooled {
        level: Level::current(),
        program,
        inputs: &[input],
    })
}

/// A program that only converts.
fn convert(from: DType, to: DType) -> Program {
    let mut program = Program::new(&[from]);
    let result = program.convert(0, to);
    program.output(result);
    program
}
