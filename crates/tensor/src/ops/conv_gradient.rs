//! The gradients of convolutions. Convolution, its way back and the product that gives filters are
//! linear in both of their operands, and each is the gradient of the others: rules of any order are
//! made of the three.

use allotrope_cpu::kernel::{Axis, Edge};
use allotrope_dtype::Error;
use allotrope_op::structured::Structured;
use allotrope_op::{Dims, Slice};
use smallvec::smallvec;

use super::conv::{ConvolutionOptions, Padding, axes as convolution_axes};
use super::conv_transpose::{TransposedOptions, axes as transposed_axes};
use super::operands::signed;
use crate::autograd::{Pass, is_recorded};
use crate::{Index, Tensor};

/// Whether a convolution of these is to be recorded.
pub(super) fn is_convolution_recorded(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> bool {
    is_recorded(&[x, weight]) || bias.is_some_and(|bias| is_recorded(&[bias]))
}

/// A convolution that remembers its operands.
pub(super) fn recorded_convolution(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    if x.rank() == rank + 1 {
        let batch = x.unsqueeze(0)?;
        return convolve(&batch, weight, bias, options, rank)?.select(0, 0);
    }
    let plain = || {
        let bias = bias.map(Tensor::detach);
        convolve(&x.detach(), &weight.detach(), bias.as_ref(), options, rank)
    };
    if x.rank() != rank + 2 || weight.rank() != rank + 2 {
        return plain();
    }
    let axes = convolution_axes(row.name, x, weight, options, rank)?;
    let axes = &axes[3 - rank..];
    let mut padded = None;
    for (place, axis) in axes.iter().enumerate() {
        let after = match options.padding {
            Padding::Same => (axis.kernel - 1) * axis.dilation - axis.padding,
            _ => axis.padding,
        };
        if options.padding_mode != Edge::Zeros {
            let around = [axis.padding, after];
            let edges = with_edges(padded.as_ref().unwrap_or(x), place, around, options);
            padded = Some(edges?);
        } else if after > axis.padding {
            let more = after - axis.padding;
            padded = Some(with_zeros(padded.as_ref().unwrap_or(x), place, more)?);
        }
    }
    if let Some(padded) = padded {
        let padding: Dims<usize> = match options.padding_mode {
            Edge::Zeros => axes.iter().map(|axis| axis.padding).collect(),
            _ => Dims::from_elem(0, rank),
        };
        let options = ConvolutionOptions {
            padding: Padding::Each(&padding),
            padding_mode: Edge::Zeros,
            ..*options
        };
        return convolve(&padded, weight, bias, &options, rank);
    }
    let result = plain()?;
    let sliding = Sliding::new(row.name, axes, options.groups, false);
    let mut inputs = vec![x, weight];
    inputs.extend(bias);
    let (x, weight, has_bias) = (saved(x, weight), saved(weight, x), bias.is_some());
    result.with_rule(row.name, &inputs, move |pass| {
        let gradient = pass.gradient()?;
        let of_x = sliding.give(pass, 0, &weight, |weight| {
            sliding.spread(&gradient, &conjugate(weight)?)
        })?;
        let of_weight =
            sliding.give(pass, 1, &x, |x| sliding.filters(&conjugate(x)?, &gradient))?;
        let mut all = smallvec![of_x, of_weight];
        if has_bias {
            all.push(pass.give(2, || of_bias(&gradient))?);
        }
        Ok(all)
    })
}

/// A transposed convolution that remembers its operands.
pub(super) fn recorded_transposed(
    row: Structured,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    if x.rank() == rank + 1 {
        let batch = x.unsqueeze(0)?;
        return convolve_back(&batch, weight, bias, options, rank)?.select(0, 0);
    }
    let plain = bias.map(Tensor::detach);
    let result = convolve_back(&x.detach(), &weight.detach(), plain.as_ref(), options, rank)?;
    let axes = transposed_axes(row.name, x, weight, options, rank)?;
    let sliding = Sliding::new(row.name, &axes[3 - rank..], options.groups, true);
    let mut inputs = vec![x, weight];
    inputs.extend(bias);
    let (x, weight, has_bias) = (saved(x, weight), saved(weight, x), bias.is_some());
    result.with_rule(row.name, &inputs, move |pass| {
        let gradient = pass.gradient()?;
        let of_x = sliding.give(pass, 0, &weight, |weight| {
            sliding.slide(&gradient, &conjugate(weight)?)
        })?;
        let of_weight =
            sliding.give(pass, 1, &x, |x| sliding.filters(&gradient, &conjugate(x)?))?;
        let mut all = smallvec![of_x, of_weight];
        if has_bias {
            all.push(pass.give(2, || of_bias(&gradient))?);
        }
        Ok(all)
    })
}

/// An operand, if the other one requires a gradient.
fn saved(operand: &Tensor, other: &Tensor) -> Option<Tensor> {
    other.requires_grad().then(|| operand.clone())
}

fn conjugate(x: &Tensor) -> Result<Tensor, Error> {
    if x.dtype().is_complex() {
        x.conj()
    } else {
        Ok(x.clone())
    }
}

/// The sum over batch and grid.
fn of_bias(gradient: &Tensor) -> Result<Tensor, Error> {
    let axes: Vec<isize> = (0..gradient.rank() as isize)
        .filter(|dim| *dim != 1)
        .collect();
    gradient.sum(Some(&axes), false, None)
}

fn convolve(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    match rank {
        1 => x.conv1d(weight, bias, options),
        2 => x.conv2d(weight, bias, options),
        _ => x.conv3d(weight, bias, options),
    }
}

fn convolve_back(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &TransposedOptions<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    match rank {
        1 => x.conv_transpose1d(weight, bias, options),
        2 => x.conv_transpose2d(weight, bias, options),
        _ => x.conv_transpose3d(weight, bias, options),
    }
}

/// The grid with elements beyond its edges along a dimension.
fn with_edges(
    x: &Tensor,
    place: usize,
    [before, after]: [usize; 2],
    options: &ConvolutionOptions<'_>,
) -> Result<Tensor, Error> {
    let size = x.shape()[2 + place] as i64;
    let found = |at: i64| match options.padding_mode {
        Edge::Circular => at.rem_euclid(size),
        Edge::Reflect if at < 0 => -at,
        Edge::Reflect if at >= size => 2 * (size - 1) - at,
        _ => at.clamp(0, size - 1),
    };
    let places: Vec<i64> = (-(before as i64)..size + after as i64).map(found).collect();
    let mut key = vec![Index::Range(Slice::ALL); x.rank()];
    key[2 + place] = Index::Array(Tensor::from_slice(&places, &[places.len()])?);
    x.index(&key)
}

/// The grid with zeros behind its end along a dimension.
fn with_zeros(x: &Tensor, place: usize, more: usize) -> Result<Tensor, Error> {
    let mut sizes = x.shape().to_vec();
    sizes[2 + place] += more;
    inside_zeros(x, &sizes, &[])
}

/// A tensor within zeros, so many places from the start of each dimension behind the second.
fn inside_zeros(x: &Tensor, sizes: &[usize], before: &[usize]) -> Result<Tensor, Error> {
    let mut whole = Tensor::zeros(sizes, x.dtype())?;
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

/// Windows over a grid, as a convolution from the grid to them has them.
#[derive(Clone)]
struct Sliding {
    op: &'static str,
    grid: Dims<usize>,
    windows: Dims<usize>,
    taps: Dims<usize>,
    stride: Dims<usize>,
    padding: Dims<usize>,
    dilation: Dims<usize>,
    groups: usize,
}

impl Sliding {
    /// The windows of some axes, those of a transposed convolution if it `is_back`.
    fn new(op: &'static str, axes: &[Axis], groups: usize, is_back: bool) -> Self {
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

    /// From the first tap of a window to beyond its last.
    fn reach(&self, place: usize) -> usize {
        (self.taps[place] - 1) * self.dilation[place] + 1
    }

    /// The gradient of an operand from the other one.
    fn give(
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
    fn slide(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor, Error> {
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
    fn spread(&self, windows: &Tensor, weight: &Tensor) -> Result<Tensor, Error> {
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
    fn filters(&self, x: &Tensor, windows: &Tensor) -> Result<Tensor, Error> {
        let made = self.sum_products(&x.detach(), &windows.detach())?;
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
        rule: fn(
            &Self,
            &Tensor,
            Option<&Tensor>,
            Option<&Tensor>,
        ) -> Result<[Option<Tensor>; 2], Error>,
    ) -> Result<Tensor, Error> {
        if !is_recorded(&[a, b]) {
            return Ok(made);
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
            None => Tensor::zeros(&shape, windows.dtype()),
        }
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
