//! The gradients of pooling: back to the places that windows took their results from.

use crate::host::memory::try_collect;
use allotrope_cpu::kernel::{Axis, Divisor, add_to_places};
use allotrope_dtype::{DType, Error};
use allotrope_op::Shape;
use allotrope_op::structured::Structured;
use smallvec::smallvec;

use super::super::operands::signed;
use super::super::spread::{Tap, spread_along};
use super::average::take_average;
use super::{convert, pool};
use crate::autograd::is_recorded;
use crate::elementwise::room;
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
    let made = if x.dtype().is_floating_point() && planes * plane > 0 {
        let places = places.contiguous()?;
        let count: usize = x.shape()[outer..].iter().product();
        let mut out = room(op, shape, x.dtype())?;
        let program = convert(x.dtype(), x.dtype().compute());
        let taken = bytemuck::cast_slice(places.ordered_bytes(op)?);
        pool(op, &x.detach(), &program, |numbers| {
            add_to_places(numbers, taken, [count, plane], x.dtype(), &mut out)
        })?;
        Tensor::from_buffer(out, shape.clone(), x.dtype())
    } else {
        let (from, index) = (by_planes(&x.detach(), rank)?, by_planes(places, rank)?);
        let made = Tensor::zeros(&[planes, plane], x.dtype())?;
        made.scatter_add(1, &index, &from)?
            .reshape(&signed(shape))?
    };
    if !is_recorded(&[x]) {
        return Ok(made);
    }
    let places = places.clone();
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
        return Ok(made);
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
    let order = Tensor::arange(0, count as i64, 1, DType::I64)?.expand(&[planes, count])?;
    let last = Tensor::zeros(&[planes, plane], DType::I64)?.scatter(1, &index, &order)?;
    let stayed = last.gather(1, &index)?.eq(&order)?;
    stayed.reshape(&signed(places.shape()))
}

/// Means of windows, as average pooling takes them.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) row: Structured,
    pub(super) axes: [Axis; 3],
    pub(super) divisor: Divisor,
    pub(super) rank: usize,
}

impl Means {
    /// The means of a tensor, which remember it.
    pub(super) fn recorded(self, x: &Tensor) -> Result<Tensor, Error> {
        let result = self.forward(&x.detach())?;
        let shape = x.shape().clone();
        result.with_rule(self.row.name, &[x], move |pass| {
            Ok(smallvec![Some(self.back(&pass.gradient()?, &shape)?)])
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor, Error> {
        take_average(self.row, x, self.axes, self.divisor, self.rank)
    }

    /// The gradient of the grids from that of their means.
    fn back(&self, gradient: &Tensor, shape: &Shape) -> Result<Tensor, Error> {
        let dtype = gradient.dtype();
        let shares = gradient.detach().to(dtype.compute())?;
        let shares = shares.mul(&self.shares()?.to(dtype.to_real().compute())?)?;
        let made = self.sum_windows(&shares)?.reshape(&signed(shape))?;
        let made = made.to(dtype)?;
        if !is_recorded(&[gradient]) {
            return Ok(made);
        }
        let means = self.clone();
        made.with_rule(self.row.name, &[gradient], move |pass| {
            Ok(smallvec![Some(means.forward(&pass.gradient()?)?)])
        })
    }

    /// One over the divisor of each window: the mean of ones over their sum.
    fn shares(&self) -> Result<Tensor, Error> {
        let grid = self.axes[3 - self.rank..].iter().map(|axis| axis.input);
        let sizes: Vec<usize> = [1].into_iter().chain(grid).collect();
        let ones = Tensor::ones(&sizes, DType::F64)?;
        let of = |divisor: Divisor| {
            take_average(self.row, &ones, self.axes, divisor, self.rank)?.select(0, 0)
        };
        // A window of padding alone has no elements.
        let sums = of(Divisor::Constant(1.0))?.maximum(1.0)?;
        of(self.divisor)?.div(&sums)
    }

    /// The sums of windows' numbers in every place that they see, `[1, planes, grid]`.
    fn sum_windows(&self, x: &Tensor) -> Result<Tensor, Error> {
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
    fn spread_windows(&self, x: &Tensor, planes: usize) -> Result<Tensor, Error> {
        let each = |field: fn(&Axis) -> usize| self.axes.map(|axis| field(&axis));
        // Windows that end beyond the padding see more than the grid, which is cut off.
        let reached =
            each(|axis| (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1);
        let wanted = each(|axis| axis.input + 2 * axis.padding);
        let added = [0, 1, 2].map(|place| wanted[place].saturating_sub(reached[place]));
        let taps = each(|axis| axis.kernel);
        let ones = Tensor::ones(&[], x.dtype())?;
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
