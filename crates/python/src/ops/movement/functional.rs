//! Functions of `nn.functional`.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_tensor::{Blocks, PadMode};
use pyo3::prelude::*;

use crate::arguments::{Int, Integers, Ints, Number, Operand, OutputSize, integers, size};
use crate::create::{number_of, operand};
use crate::error::{raise, wrong_object};
use crate::operand::run;
use crate::tensor::PyTensor;

/// The tensor with elements added before and after dimensions; negative sizes take elements away.
/// pad has two sizes for each dimension, the last dimension first. mode is "constant", "reflect",
/// "replicate" or "circular".
///
/// >>> al.nn.functional.pad(al.tensor([1, 2, 3]), (1, 2))
/// tensor([0, 1, 2, 3, 0, 0])
/// >>> al.nn.functional.pad(al.tensor([1, 2, 3]), (2, -1), mode="reflect")
/// tensor([3, 2, 1, 2])
#[pyfunction]
#[pyo3(signature = (input, pad, mode="constant", value=None))]
fn pad(
    py: Python<'_>,
    input: Operand,
    pad: Ints,
    mode: &str,
    value: Option<Number>,
) -> PyResult<PyTensor> {
    let op = "pad";
    let (x, sizes) = (operand(op, input)?, integers(op, pad)?.into_vec());
    let padding = match mode {
        "constant" => PadMode::Constant(match value {
            Some(value) => number_of(op, value, x.dtype())?,
            None => WeakScalar::Bool(false),
        }),
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        _ => {
            let accepted = ["constant", "reflect", "replicate", "circular"];
            return Err(raise(Error::unknown_option(op, "mode", mode, &accepted)));
        }
    };
    run(py, x.count(), || x.pad(&sizes, padding))
}

/// One size for rows and columns, or one for each.
fn pair(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<[usize; 2]> {
    match integers(op, object)? {
        Integers::One(both) => Ok([size(op, both)?; 2]),
        Integers::Several(sizes) => match sizes[..] {
            [both] => Ok([size(op, both)?; 2]),
            [rows, columns] => Ok([size(op, rows)?, size(op, columns)?]),
            _ => Err(wrong_object(
                op,
                "not a pair",
                object,
                "an integer and two integers",
            )),
        },
    }
}

/// How windows move, from torch's arguments.
fn window(op: &'static str, arguments: [Option<&Bound<'_, PyAny>>; 4]) -> PyResult<Blocks> {
    let read = |place: usize, default| {
        arguments[place].map_or(Ok([default; 2]), |object| pair(op, object))
    };
    Ok(Blocks {
        kernel: read(0, 1)?,
        dilation: read(1, 1)?,
        padding: read(2, 0)?,
        stride: read(3, 1)?,
    })
}

/// The windows of images [N, C, H, W] or [C, H, W] as columns.
///
/// >>> x = al.arange(9).reshape(1, 1, 3, 3)
/// >>> al.nn.functional.unfold(x, 2)
/// tensor([[[0, 1, 3, 4],
///          [1, 2, 4, 5],
///          [3, 4, 6, 7],
///          [4, 5, 7, 8]]])
#[pyfunction]
#[pyo3(signature = (input, kernel_size, dilation=None, padding=None, stride=None))]
fn unfold(
    py: Python<'_>,
    input: Operand,
    kernel_size: Ints,
    dilation: Option<Ints>,
    padding: Option<Ints>,
    stride: Option<Ints>,
) -> PyResult<PyTensor> {
    let op = "unfold";
    let x = operand(op, input)?;
    let window = window(op, [Some(kernel_size), dilation, padding, stride])?;
    run(py, x.count(), || x.unfold_windows(window))
}

/// Images of which each place is the sum of what windows have there: the reverse of unfold.
///
/// >>> al.nn.functional.fold(al.ones(1, 4, 4), (3, 3), 2)
/// tensor([[[[1., 2., 1.],
///           [2., 4., 2.],
///           [1., 2., 1.]]]])
#[pyfunction]
#[pyo3(signature = (input, output_size, kernel_size, dilation=None, padding=None, stride=None))]
fn fold(
    py: Python<'_>,
    input: Operand,
    output_size: OutputSize,
    kernel_size: Ints,
    dilation: Option<Ints>,
    padding: Option<Ints>,
    stride: Option<Ints>,
) -> PyResult<PyTensor> {
    let op = "fold";
    let (x, sizes) = (operand(op, input)?, pair(op, output_size)?);
    let window = window(op, [Some(kernel_size), dilation, padding, stride])?;
    run(py, x.count(), || x.fold_windows(sizes, window))
}

/// Functions of a tensor and a size, per row.
macro_rules! of_size {
    ($($(#[doc = $doc:literal])* $name:ident($argument:ident);)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        fn $name(
            py: Python<'_>,
            input: Operand,
            $argument: Int,
        ) -> PyResult<PyTensor> {
            const OP: &str = stringify!($name);
            let (x, size) = (operand(OP, input)?, size(OP, $argument.0)?);
            run(py, x.count(), || x.$name(size))
        }
    )*

    fn register_sized(module: &Bound<'_, PyModule>) -> PyResult<()> {
        $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
        Ok(())
    }};
}
of_size! {
    /// Channels spread over squares of pixels: from [..., C * r * r, H, W] to [..., C, H * r, W * r].
    ///
    /// >>> al.nn.functional.pixel_shuffle(al.zeros(8, 2, 3), 2).shape
    /// (2, 4, 6)
    pixel_shuffle(upscale_factor);
    /// Squares of pixels gathered into channels: from [..., C, H * r, W * r] to [..., C * r * r, H, W].
    ///
    /// >>> al.nn.functional.pixel_unshuffle(al.zeros(2, 4, 6), 2).shape
    /// (8, 2, 3)
    pixel_unshuffle(downscale_factor);
    /// The channels of groups in turns: the first of each group, then the second of each.
    ///
    /// >>> al.nn.functional.channel_shuffle(al.arange(4).reshape(1, 4, 1), 2).ravel()
    /// tensor([0, 2, 1, 3])
    channel_shuffle(groups);
}

/// Adds them all to the module of functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, pad unfold fold);
    register_sized(module)
}
