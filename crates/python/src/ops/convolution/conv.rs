//! Convolutions, with torch's signatures.

use allotrope_tensor::{ConvolutionOptions, Edge, Padding, Tensor, TransposedOptions};
use pyo3::prelude::*;

use super::{Any, sizes_or_none};
use crate::arguments::{Int, Ints, Operand, SizesOrName};
use crate::create::operand;
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

/// A tensor, if one is given.
fn optional(op: &'static str, object: Option<Any<'_, '_>>) -> PyResult<Option<Tensor>> {
    object.map(|object| operand(op, object)).transpose()
}

/// The spelling of an option that none of the accepted ones is.
#[cold]
fn unknown(op: &'static str, what: &'static str, given: &str, accepted: &str) -> PyErr {
    let problem = allotrope_dtype::Problem::UnknownOption {
        what,
        given: given.to_owned(),
        accepted: accepted.to_owned(),
    };
    raise(allotrope_dtype::Error::new(op, problem))
}

fn edge(op: &'static str, mode: &str) -> PyResult<Edge> {
    match mode {
        "zeros" => Ok(Edge::Zeros),
        "reflect" => Ok(Edge::Reflect),
        "replicate" => Ok(Edge::Replicate),
        "circular" => Ok(Edge::Circular),
        _ => {
            let accepted = "'zeros', 'reflect', 'replicate', 'circular'";
            Err(unknown(op, "padding_mode", mode, accepted))
        }
    }
}

macro_rules! convolutions {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[allow(clippy::too_many_arguments, reason = "torch's signature")]
        #[pyo3(signature = (input, weight, bias=None, stride=None, padding=None, dilation=None, groups=Int(1), *, padding_mode="zeros"))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            weight: Operand,
            bias: Option<Operand>,
            stride: Option<Ints>,
            padding: Option<SizesOrName>,
            dilation: Option<Ints>,
            groups: Int,
            padding_mode: &str,
        ) -> PyResult<PyTensor> {
            let op = stringify!($name);
            let (x, weight) = (operand(op, input)?, operand(op, weight)?);
            let bias = optional(op, bias)?;
            let (stride, dilation) = (sizes_or_none(op, stride)?, sizes_or_none(op, dilation)?);
            let word = padding.and_then(|padding| padding.extract::<String>().ok());
            let each = match &word {
                None => sizes_or_none(op, padding)?,
                Some(_) => Vec::new(),
            };
            let padding = match word.as_deref() {
                None => Padding::Each(&each),
                Some("valid") => Padding::Valid,
                Some("same") => Padding::Same,
                Some(word) => return Err(unknown(op, "padding", word, "'valid', 'same'")),
            };
            let options = ConvolutionOptions {
                stride: &stride,
                padding,
                padding_mode: edge(op, padding_mode)?,
                dilation: &dilation,
                groups: crate::arguments::size(op, groups.0)?,
            };
            // Few elements may be much work.
            run(py, usize::MAX, || x.$name(&weight, bias.as_ref(), &options))
        }
    )*};
}
convolutions! {
    /// Convolution: sums of products of windows over the last dimension with filters
    /// `[filters, channels / groups, length]`. padding is a number or 'same' or 'valid'.
    ///
    /// >>> x = al.tensor([[1, 2, 3, 4]])
    /// >>> al.conv1d(x, al.tensor([[[1, 10]]]))
    /// tensor([[21, 32, 43]])
    conv1d;
    /// Convolution: sums of products of windows over the last two dimensions with filters
    /// `[filters, channels / groups, height, width]`. padding is numbers or 'same' or 'valid'.
    ///
    /// >>> x = al.ones(1, 3, 3)
    /// >>> al.conv2d(x, al.ones(1, 1, 3, 3), padding="same")
    /// tensor([[[4., 6., 4.],
    ///          [6., 9., 6.],
    ///          [4., 6., 4.]]])
    conv2d;
    /// Convolution: sums of products of windows over the last three dimensions with filters
    /// `[filters, channels / groups, depth, height, width]`. padding is numbers or 'same' or
    /// 'valid'.
    ///
    /// >>> al.conv3d(al.ones(1, 2, 2, 2), al.ones(1, 1, 2, 2, 2)).item()
    /// 8.0
    conv3d;
}

macro_rules! transposed {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[allow(clippy::too_many_arguments, reason = "torch's signature")]
        #[pyo3(signature = (input, weight, bias=None, stride=None, padding=None, output_padding=None, groups=Int(1), dilation=None))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            weight: Operand,
            bias: Option<Operand>,
            stride: Option<Ints>,
            padding: Option<Ints>,
            output_padding: Option<Ints>,
            groups: Int,
            dilation: Option<Ints>,
        ) -> PyResult<PyTensor> {
            let op = stringify!($name);
            let (x, weight) = (operand(op, input)?, operand(op, weight)?);
            let bias = optional(op, bias)?;
            let (stride, dilation) = (sizes_or_none(op, stride)?, sizes_or_none(op, dilation)?);
            let padding = sizes_or_none(op, padding)?;
            let output_padding = sizes_or_none(op, output_padding)?;
            let options = TransposedOptions {
                stride: &stride,
                padding: &padding,
                output_padding: &output_padding,
                dilation: &dilation,
                groups: crate::arguments::size(op, groups.0)?,
            };
            run(py, usize::MAX, || x.$name(&weight, bias.as_ref(), &options))
        }
    )*};
}
transposed! {
    /// Transposed convolution, the way back of conv1d: filters `[channels, filters / groups, length]`
    /// times each element, summed where they overlap.
    ///
    /// >>> al.conv_transpose1d(al.tensor([[1, 2]]), al.tensor([[[1, 10]]]))
    /// tensor([[ 1, 12, 20]])
    conv_transpose1d;
    /// Transposed convolution, the way back of conv2d: filters
    /// `[channels, filters / groups, height, width]` times each element, summed where they overlap.
    ///
    /// >>> al.conv_transpose2d(al.tensor([[[1, 2]]]), al.ones(1, 1, 2, 1, dtype="int8"), stride=2)
    /// tensor([[[1, 0, 2],
    ///          [1, 0, 2]]])
    conv_transpose2d;
    /// Transposed convolution, the way back of conv3d: filters
    /// `[channels, filters / groups, depth, height, width]` times each element, summed where they
    /// overlap.
    ///
    /// >>> al.conv_transpose3d(al.ones(1, 1, 1, 1), al.ones(1, 1, 2, 2, 2)).sum().item()
    /// 8.0
    conv_transpose3d;
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d);
    Ok(())
}
