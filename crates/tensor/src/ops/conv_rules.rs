//! Convolution, its way back and the product that gives filters: all are linear in both of their
//! operands, and each is the gradient of the others, so that rules of any order are made of the three.

use allotrope_dtype::Error;
use allotrope_op::structured::matrix::MATMUL;
use allotrope_op::task::{Axis, Convolution, Edge, Task};
use allotrope_op::{Dims, Shape, Slice};
use smallvec::smallvec;

use super::contraction::{Dtypes, sum_of_products};
use super::conv::{ConvolutionOptions, Padding, as_volumes};
use super::conv_gradient::{convolve, convolve_back};
use super::conv_transpose::TransposedOptions;
use super::operands::{conjugate, saved, signed};
use crate::autograd::{Pass, is_recorded};
use crate::device::perform_or;
use crate::{Index, Tensor};

/// Windows over a grid, as a convolution from the grid to them has them.
#[derive(Clone)]
pub(super) struct Sliding {
    op: &'static str,
    grid: Dims<usize>,
    windows: Dims<usize>,
    taps: Dims<usize>,
    stride: Dims<usize>,
    padding: Dims<usize>,
    dilation: Dims<usize>,
    groups: usize,
}

/// The gradients of both operands from that of the result, each from the other operand, which is
/// there if the gradient is wanted.
type BilinearRule =
    fn(&Sliding, &Tensor, Option<&Tensor>, Option<&Tensor>) -> Result<[Option<Tensor>; 2], Error>;

impl Sliding {
    /// The windows of some axes, those of a transposed convolution if it `is_back`.
    pub(super) fn new(op: &'static str, axes: &[Axis], groups: usize, is_back: bool) -> Self {
        let each = |field: fn(&Axis) -> usize| axes.iter().map(field).collect::<Dims<usize>>();
        let (mut grid, mut windows) = (each(|axis| axis.input), each(|axis| axis.output));
        if is_back {
            std::mem::swap(&mut grid, &mut windows);
        }
        Self {
            op,
            grid,
            windows,
            taps: each(|axis| axis.kernel),
            stride: each(|axis| axis.stride),
            padding: each(|axis| axis.padding),
            dilation: each(|axis| axis.dilation),
            groups,
        }
    }

    fn rank(&self) -> usize {
        self.grid.len()
    }

    /// The windows along an axis.
    fn axis(&self, place: usize) -> Axis {
        let [grid, taps, windows] = [&self.grid, &self.taps, &self.windows].map(|all| all[place]);
        Axis {
            padding: self.padding[place],
            dilation: self.dilation[place],
            ..Axis::sliding(grid, taps, self.stride[place], windows)
        }
    }

    /// From the first tap of a window to beyond its last.
    fn reach(&self, place: usize) -> usize {
        (self.taps[place] - 1) * self.dilation[place] + 1
    }

    /// The gradient of an operand from the other one.
    pub(super) fn give(
        &self,
        pass: &Pass<'_>,
        operand: usize,
        other: &Option<Tensor>,
        make: impl FnOnce(&Tensor) -> Result<Tensor, Error>,
    ) -> Result<Option<Tensor>, Error> {
        match other {
            Some(other) => pass.give(operand, || make(other)),
            None => Ok(None),
        }
    }

    /// The convolution of a grid with filters.
    pub(super) fn slide(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor, Error> {
        let options = ConvolutionOptions {
            stride: &self.stride,
            padding: Padding::Each(&self.padding),
            padding_mode: Edge::Zeros,
            dilation: &self.dilation,
            groups: self.groups,
        };
        let mut made = convolve(&x.detach(), &weight.detach(), None, &options, self.rank())?;
        for (place, count) in self.windows.iter().enumerate() {
            made = made.narrow(2 + place as isize, 0, *count)?;
        }
        self.remember(made, x, weight, |sliding, gradient, x, weight| {
            let of_x = weight.map(|weight| sliding.spread(gradient, &conjugate(weight)?));
            let of_weight = x.map(|x| sliding.filters(&conjugate(x)?, gradient));
            Ok([of_x.transpose()?, of_weight.transpose()?])
        })
    }

    /// Windows times filters, summed in the grid.
    pub(super) fn spread(&self, windows: &Tensor, weight: &Tensor) -> Result<Tensor, Error> {
        let added = (0..self.rank()).map(|place| {
            let reached = (self.windows[place] - 1) * self.stride[place] + self.reach(place);
            self.grid[place] + 2 * self.padding[place] - reached
        });
        let options = TransposedOptions {
            stride: &self.stride,
            padding: &self.padding,
            output_padding: &added.collect::<Dims<usize>>(),
            dilation: &self.dilation,
            groups: self.groups,
        };
        let plain = [windows.detach(), weight.detach()];
        let made = convolve_back(&plain[0], &plain[1], None, &options, self.rank())?;
        self.remember(
            made,
            windows,
            weight,
            |sliding, gradient, windows, weight| {
                let of_windows = weight.map(|weight| sliding.slide(gradient, &conjugate(weight)?));
                let of_weight =
                    windows.map(|windows| sliding.filters(gradient, &conjugate(windows)?));
                Ok([of_windows.transpose()?, of_weight.transpose()?])
            },
        )
    }

    /// The filters whose taps are the products of windows with what they see of the grid, summed.
    pub(super) fn filters(&self, x: &Tensor, windows: &Tensor) -> Result<Tensor, Error> {
        let plain = [x.detach(), windows.detach()];
        let axes: Dims<Axis> = (0..self.rank()).map(|place| self.axis(place)).collect();
        let mut all = [Axis::SINGLE; 3];
        all[3 - axes.len()..].copy_from_slice(&axes);
        let task = Task::Convolution(Convolution::Filters {
            axes: all,
            groups: self.groups,
        });
        let sizes = [windows.shape()[1], x.shape()[1] / self.groups];
        let sizes: Dims<usize> = sizes.into_iter().chain(self.taps.iter().copied()).collect();
        let shape = Shape::new(self.op, &sizes)?;
        let volumes = [
            as_volumes(&plain[0], self.rank())?,
            as_volumes(&plain[1], self.rank())?,
        ];
        let volumes = [&volumes[0], &volumes[1]];
        // A matrix of columns is worth the copy if several filters read it.
        let is_own = x.shape()[1] == self.groups && windows.shape()[1] <= 2 * self.groups;
        let compose = || match is_own {
            true => self.sum_taps(&plain[0], &plain[1]),
            false => self.sum_products(&plain[0], &plain[1]),
        };
        let made = perform_or(self.op, &task, &volumes, windows.dtype(), &shape, compose)?;
        self.remember(made, x, windows, |sliding, gradient, x, windows| {
            let of_x = windows.map(|windows| sliding.spread(&conjugate(windows)?, gradient));
            let of_windows = x.map(|x| sliding.slide(&conjugate(x)?, gradient));
            Ok([of_x.transpose()?, of_windows.transpose()?])
        })
    }

    /// A result with the rule for both of its operands, each of which is made of the other.
    fn remember(
        &self,
        made: Tensor,
        a: &Tensor,
        b: &Tensor,
        rule: BilinearRule,
    ) -> Result<Tensor, Error> {
        if !is_recorded(&[a, b]) {
            return Ok(made.inherit(&[a, b]));
        }
        let (sliding, first, second) = (self.clone(), saved(a, b), saved(b, a));
        made.with_rule(self.op, &[a, b], move |pass| {
            let first = first.as_ref().filter(|_| pass.wants(1));
            let second = second.as_ref().filter(|_| pass.wants(0));
            let [of_a, of_b] = rule(&sliding, &pass.gradient()?, first, second)?;
            Ok(smallvec![of_a, of_b])
        })
    }

    /// [`filters`](Self::filters), not recorded: products of matrices of columns, a block of images
    /// or of their rows at a time.
    fn sum_products(&self, x: &Tensor, windows: &Tensor) -> Result<Tensor, Error> {
        /// Numbers in a block of columns.
        const BLOCK: usize = 1 << 21;
        let (batch, channels, filters) = (x.shape()[0], x.shape()[1], windows.shape()[1]);
        let (groups, rank) = (self.groups, self.rank());
        let sizes = [groups, filters / groups, channels / groups];
        let taps: usize = self.taps.iter().product();
        let in_row: usize = self.windows[1..].iter().product();
        let row = (channels * taps * in_row).max(1);
        let image = row * self.windows[0];
        let (images, rows) = if image <= BLOCK {
            ((BLOCK / image).min(batch).max(1), self.windows[0])
        } else {
            (1, (BLOCK / row).max(1))
        };
        let float = windows.dtype().compute();
        let mut total = None;
        for first in (0..batch).step_by(images) {
            let count = images.min(batch - first);
            let x = self.padded(&x.narrow(0, first as isize, count)?)?;
            let windows = windows.narrow(0, first as isize, count)?;
            for start in (0..self.windows[0]).step_by(rows) {
                let block = [start, rows.min(self.windows[0] - start)];
                let columns = self.columns(&x, block, sizes)?;
                let lines = windows.narrow(2, block[0] as isize, block[1])?;
                let lines = lines.unflatten(1, &signed(&sizes[..2]))?;
                let order: Vec<isize> = [1, 2, 0].into_iter().chain(3..3 + rank as isize).collect();
                let lines = lines.permute(&order)?;
                let lines = lines.reshape(&[sizes[0] as isize, sizes[1] as isize, -1])?;
                let product = lines.matmul_in(&columns.transpose(1, 2)?, Some(float), None)?;
                total = Some(match total {
                    None => product,
                    Some(total) => product.add(&total)?,
                });
            }
        }
        let shape: Vec<usize> = [filters, sizes[2]]
            .into_iter()
            .chain(self.taps.iter().copied())
            .collect();
        match total {
            Some(total) => total.reshape(&signed(&shape))?.to(windows.dtype()),
            None => windows.new_zeros(&shape, windows.dtype()),
        }
    }

    /// [`filters`](Self::filters) of one channel each, not recorded: one sum for each tap, over all
    /// windows that have it within the grid.
    fn sum_taps(&self, x: &Tensor, windows: &Tensor) -> Result<Tensor, Error> {
        let filters = windows.shape()[1];
        let float = windows.dtype().compute();
        let dtypes = Dtypes::new(&MATMUL, &[x, windows], Some(float), None)?;
        let x = x.unsqueeze(2)?;
        let windows = windows.unflatten(1, &[self.groups as isize, -1])?;
        let summed: Vec<isize> = [0].into_iter().chain(3..3 + self.rank() as isize).collect();
        let taps: usize = self.taps.iter().product();
        // bounded: one per tap of a filter.
        let mut sums = Vec::with_capacity(taps);
        for tap in 0..taps {
            let (mut seen, mut by, mut left) = (x.clone(), windows.clone(), tap);
            for place in (0..self.rank()).rev() {
                let axis = self.axis(place);
                let (own, dim) = (left % self.taps[place], 3 + place as isize);
                left /= self.taps[place];
                let within = axis.outputs_of(own);
                by = by.narrow(dim, within.start as isize, within.len())?;
                let first = match within.is_empty() {
                    true => 0,
                    false => axis.place(within.start, own),
                };
                let every = Slice {
                    start: Some(first as isize),
                    stop: Some((first + within.len() * axis.stride).min(axis.input) as isize),
                    step: axis.stride as isize,
                };
                seen = seen.slice(dim, every)?;
            }
            let shape = by.shape().clone();
            let sum = sum_of_products(self.op, &seen, &by, &shape, &summed, dtypes)?;
            sums.push(sum.reshape(&[filters as isize])?);
        }
        // bounded: one per tap of a filter.
        let sums = Tensor::stack(&sums.iter().collect::<Vec<_>>(), 1)?;
        let shape: Vec<usize> = [filters, 1]
            .into_iter()
            .chain(self.taps.iter().copied())
            .collect();
        sums.reshape(&signed(&shape))?.to(windows.dtype())
    }

    /// Images with the zeros around them that windows see.
    fn padded(&self, x: &Tensor) -> Result<Tensor, Error> {
        if self.padding.iter().all(|padding| *padding == 0) {
            return Ok(x.clone());
        }
        let mut sizes = x.shape().to_vec();
        for (size, padding) in sizes[2..].iter_mut().zip(&self.padding) {
            *size += 2 * padding;
        }
        inside_zeros(x, &sizes, &self.padding)
    }

    /// What the windows of some rows see, as `[groups, channels * taps, windows]`.
    fn columns(
        &self,
        x: &Tensor,
        [start, rows]: [usize; 2],
        [groups, _, channels]: [usize; 3],
    ) -> Result<Tensor, Error> {
        let rank = self.rank() as isize;
        let mut view = x.unflatten(1, &signed(&[groups, channels]))?;
        for place in 0..self.rank() {
            let axis = 3 + place as isize;
            view = view.unfold(axis, self.reach(place), self.stride[place])?;
            let (first, count) = if place == 0 {
                (start, rows)
            } else {
                (0, self.windows[place])
            };
            view = view.narrow(axis, first as isize, count)?;
            let every = Slice {
                start: None,
                stop: None,
                step: self.dilation[place] as isize,
            };
            view = view.slice(-1, every)?;
        }
        // [images, groups, channels, windows…, taps…] by channels and taps, images and windows.
        let order: Vec<isize> = [1, 2]
            .into_iter()
            .chain(3 + rank..3 + 2 * rank)
            .chain([0])
            .chain(3..3 + rank)
            .collect();
        let taps: usize = self.taps.iter().product();
        let sizes = [groups as isize, (channels * taps) as isize, -1];
        view.permute(&order)?.reshape(&sizes)
    }
}

/// A tensor within zeros, so many places from the start of each dimension behind the second.
pub(super) fn inside_zeros(x: &Tensor, sizes: &[usize], before: &[usize]) -> Result<Tensor, Error> {
    let mut whole = x.new_zeros(sizes, x.dtype())?;
    let range = |(dim, size): (usize, &usize)| {
        let start = dim.checked_sub(2).and_then(|place| before.get(place));
        let start = start.copied().unwrap_or(0) as isize;
        Index::Range(Slice {
            start: Some(start),
            stop: Some(start + *size as isize),
            step: 1,
        })
    };
    let key: Vec<Index> = x.shape().iter().enumerate().map(range).collect();
    whole.assign(&key, x)?;
    Ok(whole)
}
