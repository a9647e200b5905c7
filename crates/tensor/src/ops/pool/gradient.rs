//! The gradients of pooling: back to the places that windows took their results from.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::task::window::{Divisor, Window};
use allotrope_op::task::{Axis, Task};
use allotrope_op::{Program, Shape};
use smallvec::smallvec;

use super::super::operands::signed;
use super::super::window_backward::{Tap, spread_along};
use super::shape_of;
use crate::autograd::{Pass, differentiable, is_recorded};
use crate::device::{perform_one, perform_or};
use crate::host::memory::try_collect;
use crate::reduce::reading;
use crate::{Tensor, TransposedOptions};

/// The sums of numbers in the places of each plane that windows took their results from: what
/// windows that overlap took from one place adds up.
pub(super) fn put_to_places(
    op: &'static str,
    x: &Tensor,
    places: &Tensor,
    shape: &Shape,
    rank: usize,
) -> Result<Tensor, Error> {
    let outer = shape.rank() - rank;
    let planes: usize = shape[..outer].iter().product();
    let plane: usize = shape[outer..].iter().product();
    let (numbers, places) = (x.detach(), places.contiguous()?);
    let task = Task::Window(Window::MaxPoolBackward { rank, plane });
    let made = perform_or(op, &task, &[&numbers, &places], x.dtype(), shape, || {
        let (from, index) = (by_planes(&numbers, rank)?, by_planes(&places, rank)?);
        let zeros = x.new_zeros(&[planes, plane], x.dtype())?;
        let made = zeros.scatter_add(1, &index, &from)?;
        made.reshape(&signed(shape))
    })?;
    if !is_recorded(&[x]) {
        return Ok(made.inherit(&[x]));
    }
    made.with_rule(op, &[x], move |pass| {
        let gradient = pass.gradient()?;
        Ok(smallvec![Some(take_from_places(
            op, &gradient, &places, rank
        )?)])
    })
}

/// The numbers in the places of each plane that windows took their results from.
pub(super) fn take_from_places(
    op: &'static str,
    x: &Tensor,
    places: &Tensor,
    rank: usize,
) -> Result<Tensor, Error> {
    let made = by_planes(&x.detach(), rank)?.gather(1, &by_planes(places, rank)?)?;
    let made = made.reshape(&signed(places.shape()))?;
    if !is_recorded(&[x]) {
        return Ok(made.inherit(&[x]));
    }
    let (places, shape) = (places.clone(), x.shape().clone());
    made.with_rule(op, &[x], move |pass| {
        let gradient = pass.gradient()?;
        Ok(smallvec![Some(put_to_places(
            op, &gradient, &places, &shape, rank
        )?)])
    })
}

/// The planes of a tensor as rows.
fn by_planes(x: &Tensor, rank: usize) -> Result<Tensor, Error> {
    let (outer, grid) = x.shape().split_at(x.rank() - rank);
    let sizes = [outer.iter().product(), grid.iter().product()];
    x.reshape(&signed(&sizes))
}

/// Which of several elements with one place stayed there: the last.
pub(super) fn stayed(places: &Tensor, plane: usize, rank: usize) -> Result<Tensor, Error> {
    let index = by_planes(places, rank)?;
    let (planes, count) = (index.shape()[0], index.shape()[1]);
    let order = places
        .new_arange(0, count as i64, 1, DType::I64)?
        .expand(&[planes, count])?;
    let last = places.new_zeros(&[planes, plane], DType::I64)?;
    let last = last.scatter(1, &index, &order)?;
    let stayed = last.gather(1, &index)?.eq(&order)?;
    stayed.reshape(&signed(places.shape()))
}

/// Means of windows, as average pooling takes them.
#[derive(Clone, Copy)]
pub(super) struct Means {
    pub(super) op: &'static str,
    pub(super) axes: [Axis; 3],
    pub(super) divisor: Divisor,
    pub(super) rank: usize,
}

impl Means {
    /// The means of a tensor, in a dtype.
    pub(super) fn forward(self, x: &Tensor, dtype: DType) -> Result<Tensor, Error> {
        differentiable(
            self.op,
            [x],
            |[x]| self.of(x, &summed(x), dtype),
            |_| {
                let shape = x.shape().clone();
                move |pass: &Pass<'_>| {
                    let gradient = self.backward(&pass.gradient()?, &shape)?;
                    Ok(smallvec![Some(gradient)])
                }
            },
        )
    }

    /// The means of what a program makes of a tensor, without a record.
    pub(super) fn of(self, x: &Tensor, program: &Program, dtype: DType) -> Result<Tensor, Error> {
        let Self {
            op,
            axes,
            divisor,
            rank,
        } = self;
        let shape = shape_of(op, x, &axes, rank)?;
        let task = Task::Window(Window::AvgPool {
            program,
            axes,
            divisor,
        });
        perform_one(op, &task, &[x], dtype, &shape)
    }

    /// The gradient of the grids from that of their means.
    fn backward(self, gradient: &Tensor, shape: &Shape) -> Result<Tensor, Error> {
        let dtype = gradient.dtype();
        differentiable(
            self.op,
            [gradient],
            |[gradient]| {
                let shares = self.shares(gradient)?.to(dtype.to_real().compute())?;
                let shares = gradient.to(dtype.compute())?.mul(&shares)?;
                let made = self.sum_windows(&shares)?.reshape(&signed(shape))?;
                made.to(dtype)
            },
            |_| {
                move |pass: &Pass<'_>| {
                    let gradient = self.forward(&pass.gradient()?, dtype)?;
                    Ok(smallvec![Some(gradient)])
                }
            },
        )
    }

    /// One over the divisor of each window: the mean of ones over their sum.
    fn shares(self, like: &Tensor) -> Result<Tensor, Error> {
        let grid = self.axes[3 - self.rank..].iter().map(|axis| axis.input);
        let sizes: Vec<usize> = [1].into_iter().chain(grid).collect();
        let wide = like.backend().wide(DType::F32);
        let ones = like.new_ones(&sizes, wide)?;
        let of = |divisor: Divisor| {
            let means = Self { divisor, ..self };
            means.of(&ones, &summed(&ones), wide)?.select(0, 0)
        };
        // A window of padding alone has no elements.
        let sums = of(Divisor::Constant(1.0))?.maximum(1.0)?;
        of(self.divisor)?.div(&sums)
    }

    /// The sums of windows' numbers in every place that they see, `[1, planes, grid]`.
    fn sum_windows(self, x: &Tensor) -> Result<Tensor, Error> {
        let [depth, height, width] = self.axes.map(|axis| axis.output);
        let planes: usize = x.shape()[..x.rank() - self.rank].iter().product();
        let x = x.reshape(&signed(&[1, planes, depth, height, width]))?;
        let is_adaptive = self.axes.iter().any(|axis| axis.is_adaptive);
        if is_adaptive || x.count() == 0 {
            let mut made = x;
            for (place, axis) in self.axes.iter().enumerate() {
                made = spread_along(&made, 2 + place, axis.input, &taps_of(axis)?)?;
            }
            return Ok(made);
        }
        let touch = |axis: &Axis| {
            let is_plain = axis.padding == 0 && axis.dilation == 1 && axis.stride == axis.kernel;
            is_plain && axis.output * axis.kernel == axis.input
        };
        if self.axes.iter().all(touch) {
            let [(d, kd), (h, kh), (w, kw)] = self.axes.map(|axis| (axis.output, axis.kernel));
            let split = x.reshape(&signed(&[planes, d, 1, h, 1, w, 1]))?;
            return split.expand(&[planes, d, kd, h, kh, w, kw]);
        }
        self.spread_windows(&x, planes)
    }

    /// Windows that slide: a transposed convolution with ones.
    fn spread_windows(self, x: &Tensor, planes: usize) -> Result<Tensor, Error> {
        let each = |field: fn(&Axis) -> usize| self.axes.map(|axis| field(&axis));
        // Windows that end beyond the padding see more than the grid, which is cut off.
        let reached =
            each(|axis| (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
        let wanted = each(|axis| axis.input + 2 * axis.padding);
        let added = [0, 1, 2].map(|place| wanted[place].saturating_sub(reached[place]));
        let taps = each(|axis| axis.kernel);
        let ones = x.new_ones(&[], x.dtype())?;
        let ones = ones.expand(&[planes, 1, taps[0], taps[1], taps[2]])?;
        let options = TransposedOptions {
            stride: &each(|axis| axis.stride),
            padding: &each(|axis| axis.padding),
            output_padding: &added,
            dilation: &each(|axis| axis.dilation),
            groups: planes,
        };
        let mut made = x.conv_transpose3d(&ones, None, &options)?;
        for (place, axis) in self.axes.iter().enumerate() {
            made = made.narrow(2 + place as isize, 0, axis.input)?;
        }
        Ok(made)
    }
}

/// What is summed of a tensor: floats as they are computed with, integers as floats that keep them.
fn summed(x: &Tensor) -> Program {
    let dtype = x.dtype();
    let to = if Set::Inexact.contains(dtype) {
        dtype.compute()
    } else {
        x.backend().wide(DType::F32)
    };
    reading(dtype, to, to)
}

/// The elements of windows at each place within them.
fn taps_of(axis: &Axis) -> Result<Vec<Tap>, Error> {
    let op = "pool";
    let tap = |tap: usize| {
        let has = |output: &usize| axis.taps_inside(*output).contains(&tap);
        let results: Vec<usize> = try_collect(op, (0..axis.output).filter(has))?;
        let places = results.iter().map(|output| axis.place(*output, tap) as i64);
        let places = try_collect(op, places)?;
        let results = results.iter().map(|output| *output as i64);
        let results: Vec<i64> = try_collect(op, results)?;
        Ok(Tap {
            results: (results.len() < axis.output).then_some(results),
            places,
            weights: None,
        })
    };
    (0..axis.kernel).map(tap).collect()
}
