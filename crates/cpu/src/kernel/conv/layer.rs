//! Filters over images with everything checked: operands made ready, and which kernel takes them.

use allotrope_dtype::{DType, Error, Kind, Level};
use allotrope_op::task::{Axis, Edge};
use allotrope_op::{Dims, Layout, Program, Shape};

use super::{Convolution, Depthwise, convolve, convolve_depthwise, slides};
use crate::kernel::copy;
use crate::kernel::pool::{Grid, Pooled};
use crate::{Buffer, Input, run};

/// Elements in memory.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) dtype: DType,
    /// Whole elements, aligned for the dtype.
    pub(crate) bytes: &'a [u8],
    pub(crate) layout: &'a Layout,
}

/// Filters over volumes.
pub(crate) struct Layer<'a> {
    pub(crate) op: &'static str,
    /// The dtype in which operands meet, and that of the results.
    pub(crate) dtype: DType,
    /// Filters, channels of a group, taps, in that order.
    pub(crate) weight: Operand<'a>,
    /// One number of the dtype per filter.
    pub(crate) bias: Option<Operand<'a>>,
    pub(crate) filters: usize,
    pub(crate) groups: usize,
    pub(crate) axes: [Axis; 3],
    pub(crate) edge: Edge,
}

impl Layer<'_> {
    /// Writes `[batch, filters, windows]` of images `[batch, channels, depth, height, width]`.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn run(&self, image: Operand<'_>, out: &mut [u8]) -> Result<(), Error> {
        /// Filters per channel beyond which a product of matrices reads the images less often.
        const FEW: usize = 4;
        if out.is_empty() {
            return Ok(());
        }
        let copied;
        let weight = match in_order(self.weight) {
            Some(bytes) => bytes,
            None => {
                copied = copied_in_order(self.op, self.weight)?;
                &copied
            }
        };
        let convolution = Convolution {
            op: self.op,
            dtype: self.dtype,
            image: (image.dtype, image.bytes, image.layout),
            weight: (self.weight.dtype, weight),
            groups: self.groups,
            filters: self.filters,
            axes: self.axes,
            edge: self.edge,
            adds: self.bias.is_some(),
        };
        let is_depthwise = image.layout.shape()[1] == self.groups
            && self.groups > 1
            && self.filters / self.groups <= FEW;
        // Where they can slide, tiles of a few rows take their columns for each tap from the same planes.
        if is_depthwise && self.edge == Edge::Zeros && !slides(&convolution) {
            return self.run_depthwise(image, out);
        }
        if let Some(bias) = self.bias {
            let batch = image.layout.shape()[0];
            let windows = self.axes.iter().map(|axis| axis.output).product();
            fill_with_bias(self.op, bias, [batch, self.filters, windows], out)?;
        }
        convolve(&convolution, out)
    }

    fn run_depthwise(&self, image: Operand<'_>, out: &mut [u8]) -> Result<(), Error> {
        let sum = sum_dtype(self.dtype);
        let convert = |operand: Operand<'_>| -> Result<Buffer, Error> {
            let shape = operand.layout.shape();
            let mut buffer = Buffer::for_elements(self.op, sum, shape.count())?;
            let program = reading(operand.dtype, self.dtype, sum);
            run(&program, shape, &[operand.into()], &mut [&mut buffer[..]])?;
            Ok(buffer)
        };
        let weight = convert(self.weight)?;
        let bias = self.bias.map(convert).transpose()?;
        let depthwise = Depthwise {
            images: Pooled {
                level: Level::current(),
                program: &reading(image.dtype, self.dtype, sum),
                inputs: &[image.into()],
            },
            weight: &weight,
            bias: bias.as_deref(),
            grid: Grid { axes: self.axes },
            filters: self.filters,
            multiplier: self.filters / self.groups,
        };
        convolve_depthwise(&depthwise, self.dtype, out)
    }
}

impl<'a> From<Operand<'a>> for Input<'a> {
    fn from(operand: Operand<'a>) -> Self {
        Self {
            bytes: operand.bytes,
            layout: operand.layout,
        }
    }
}

/// The program that reads a dtype, rounded to another, in a third.
fn reading(from: DType, through: DType, to: DType) -> Program {
    let mut program = Program::new(&[from]);
    let common = program.convert(0, through);
    let result = program.convert(common, to);
    program.output(result);
    program
}

/// The dtype in which products of a dtype are summed one by one; integers wrap in it.
fn sum_dtype(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Float | Kind::Complex => dtype.compute(),
        _ if dtype.itemsize() == 8 => DType::I64,
        _ => DType::I32,
    }
}

/// The bytes of elements that lie in row-major order.
pub(super) fn in_order<'a>(operand: Operand<'a>) -> Option<&'a [u8]> {
    let size = operand.dtype.itemsize();
    let start = operand.layout.offset() * size;
    let end = start + operand.layout.shape().count() * size;
    let is_contiguous = operand.layout.is_contiguous();
    is_contiguous.then(|| &operand.bytes[start..end])
}

pub(super) fn copied_in_order(op: &'static str, operand: Operand<'_>) -> Result<Buffer, Error> {
    let Operand {
        dtype,
        bytes,
        layout,
    } = operand;
    let mut buffer = Buffer::for_elements(op, dtype, layout.shape().count())?;
    copy(dtype, bytes, layout, &mut buffer);
    Ok(buffer)
}

/// Writes the bias of each filter to all of its results, `[batch, filters, results]`.
pub(super) fn fill_with_bias(
    op: &'static str,
    bias: Operand<'_>,
    sizes: [usize; 3],
    out: &mut [u8],
) -> Result<(), Error> {
    let strides = [0, bias.layout.strides()[0], 0];
    let all = Layout::from_parts(
        Shape::new(op, &sizes)?,
        Dims::from_slice(&strides),
        bias.layout.offset(),
    );
    copy(bias.dtype, bias.bytes, &all, out);
    Ok(())
}
