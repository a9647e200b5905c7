//! Convolutions that remember their operands; what the gradients are made of is in `conv_rules`.

use allotrope_dtype::Error;
use allotrope_op::structured::Structured;
use allotrope_op::task::Edge;
use allotrope_op::{Dims, Slice};
use smallvec::smallvec;

use super::conv::{ConvolutionOptions, Padding, axes as convolution_axes};
use super::conv_rules::{Sliding, inside_zeros};
use super::conv_transpose::{TransposedOptions, axes as transposed_axes};
use super::operands::{conjugate, saved};
use crate::autograd::is_recorded;
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
    let sliding = Sliding::new(row.name, axes, options.groups, false);
    with_sliding_rule(plain()?, row.name, [x, weight], bias, (sliding, false))
}

/// The rule of a convolution, plain or transposed: each is what gradients of the other go through.
fn with_sliding_rule(
    result: Tensor,
    op: &'static str,
    [x, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    (sliding, is_transposed): (Sliding, bool),
) -> Result<Tensor, Error> {
    let mut inputs = vec![x, weight];
    inputs.extend(bias);
    let (x, weight, has_bias) = (saved(x, weight), saved(weight, x), bias.is_some());
    result.with_rule(op, &inputs, move |pass| {
        let gradient = pass.gradient()?;
        let of_x = sliding.give(pass, 0, &weight, |weight| {
            let weight = conjugate(weight)?;
            if is_transposed {
                sliding.slide(&gradient, &weight)
            } else {
                sliding.spread(&gradient, &weight)
            }
        })?;
        let of_weight = sliding.give(pass, 1, &x, |x| {
            let x = conjugate(x)?;
            if is_transposed {
                sliding.filters(&gradient, &x)
            } else {
                sliding.filters(&x, &gradient)
            }
        })?;
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
    with_sliding_rule(result, row.name, [x, weight], bias, (sliding, true))
}

/// The sum over batch and grid.
fn of_bias(gradient: &Tensor) -> Result<Tensor, Error> {
    let axes: Vec<isize> = (0..gradient.rank() as isize)
        .filter(|dim| *dim != 1)
        .collect();
    gradient.sum(Some(&axes), false, None)
}

pub(super) fn convolve(
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

pub(super) fn convolve_back(
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
    key[2 + place] = Index::Array(x.new_from_slice(&places, &[places.len()])?);
    x.index(&key)
}

/// The grid with zeros behind its end along a dimension.
fn with_zeros(x: &Tensor, place: usize, more: usize) -> Result<Tensor, Error> {
    let mut sizes = x.shape().to_vec();
    sizes[2 + place] += more;
    inside_zeros(x, &sizes, &[])
}
