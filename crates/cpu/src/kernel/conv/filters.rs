//! Gradients of filters, with operands made ready.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::{Axis, Edge};

use super::im2col::Images;
use super::layer::{copied_in_order, in_order};
use super::planes::Planes;
use super::{Convolution, Operand};
use crate::gemm::{FilterGradient, can_slide, filter_gradient};

/// Gradients of filters `[filters, channels of a group, depth, height, width]`.
pub(crate) struct FilterGradients<'a> {
    pub(crate) op: &'static str,
    /// The dtype of the gradients.
    pub(crate) dtype: DType,
    /// `[batch, channels, depth, height, width]`
    pub(crate) image: Operand<'a>,
    /// Gradients of the windows, `[batch, filters, windows]`.
    pub(crate) windows: Operand<'a>,
    pub(crate) groups: usize,
    pub(crate) axes: [Axis; 3],
}

impl FilterGradients<'_> {
    /// Writes them; false, and nothing, where there is no kernel for such operands.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn run(&self, out: &mut [u8]) -> Result<bool, Error> {
        let sum = self.windows.dtype.compute();
        if !can_slide(self.dtype) || !can_slide(sum) || !self.image.dtype.fits_in(sum) {
            return Ok(false);
        }
        if out.is_empty() {
            return Ok(true);
        }
        let (seen, given) = (self.image.layout.shape(), self.windows.layout.shape());
        if given.count() == 0 {
            out.fill(0);
            return Ok(true);
        }
        let convolution = Convolution {
            op: self.op,
            dtype: sum,
            image: (self.image.dtype, self.image.bytes, self.image.layout),
            weight: (sum, &[]),
            groups: self.groups,
            filters: given[1],
            axes: self.axes,
            edge: Edge::Zeros,
            adds: false,
        };
        let Some(planes) = Planes::of_sums(Images::new(&convolution), &convolution) else {
            return Ok(false);
        };
        let copied;
        let windows = match in_order(self.windows) {
            Some(bytes) => bytes,
            None => {
                copied = copied_in_order(self.op, self.windows)?;
                &copied
            }
        };
        let task = FilterGradient {
            windows: (self.windows.dtype, windows),
            images: given[0],
            count: self.axes.iter().map(|axis| axis.output).product(),
            groups: self.groups,
            rows: given[1] / self.groups,
            channels: seen[1] / self.groups,
            field: self.image.dtype,
            sum,
            dtype: self.dtype,
        };
        filter_gradient(self.op, &task, &planes, out)?;
        Ok(true)
    }
}
