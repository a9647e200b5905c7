//! Convolutions as matrix products whose right factor is made while it is packed: row `(channel,
//! tap)`, column `window`. No matrix of windows ever exists.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`convolve`]: what is multiplied with what |
//! | `layer` | [`Layer`]: operands made ready, and which kernel takes them |
//! | `transposed` | [`Transposed`]: the way back, as convolutions |
//! | `filters` | [`FilterGradients`]: what filters are multiplied with, summed over all windows |
//! | `planes` | planes that filters slide over |
//! | `im2col` | the matrix of windows, which exists nowhere, for a product of matrices |
//! | `depthwise` | one channel per filter, where a product would have one row |

mod depthwise;
mod filters;
mod im2col;
mod layer;
mod planes;
mod transposed;

use crate::memory::try_collect;
use allotrope_dtype::{DType, Error};
use allotrope_op::Layout;
use allotrope_op::task::{Axis, Edge};

use crate::gemm::{
    Coefficient, Factor, Filters, Matrix, Output, Product, can_slide, multiply, slide,
};
use depthwise::{Depthwise, convolve_depthwise};
pub(crate) use filters::FilterGradients;
use im2col::{Im2col, Images};
pub(crate) use layer::{Layer, Operand};
use planes::Planes;
pub(crate) use transposed::Transposed;

/// Images with filters.
struct Convolution<'a> {
    /// The name of the operation.
    op: &'static str,
    /// The dtype in which both meet, in which sums wrap and which they are rounded to.
    dtype: DType,
    /// The dtype and memory of the images, `[batch, channels, depth, height, width]`.
    image: (DType, &'a [u8], &'a Layout),
    /// The dtype and memory of the filters, row-major
    /// `[groups, filters of a group, channels of a group, taps]`.
    weight: (DType, &'a [u8]),
    /// Groups of channels that know nothing of each other.
    groups: usize,
    /// The filters of all groups.
    filters: usize,
    /// The windows.
    axes: [Axis; 3],
    /// What lies beyond the grid.
    edge: Edge,
    /// Whether `out` has what results are added to.
    adds: bool,
}

/// Writes convolutions of images with filters: `[batch, filters, windows]`.
fn convolve(convolution: &Convolution<'_>, out: &mut [u8]) -> Result<(), Error> {
    let images = Images::new(convolution);
    let is_plain = images.is_matrix && convolution.axes.iter().all(is_identity);
    if is_plain {
        let (dtype, bytes, layout) = convolution.image;
        let strides = layout.strides();
        let matrix = Matrix {
            dtype,
            bytes,
            row_stride: strides[1],
            column_stride: 1,
        };
        return multiply_all(convolution, Factor::Stored(matrix), out);
    }
    if can_slide(convolution.dtype)
        && let Some(planes) = Planes::new(images, convolution)
    {
        return slide_all(convolution, &planes, out);
    }
    let made = Factor::Made {
        dtype: convolution.image.0,
        rows: &Im2col::new(images, convolution),
        transposed: false,
    };
    multiply_all(convolution, made, out)
}

/// Whether filters slide over planes.
fn slides(convolution: &Convolution<'_>) -> bool {
    can_slide(convolution.dtype) && Planes::new(Images::new(convolution), convolution).is_some()
}

/// Whether windows are the elements themselves.
fn is_identity(axis: &Axis) -> bool {
    axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.input == axis.output
}

/// Slides filters of floats over the images.
fn slide_all(
    convolution: &Convolution<'_>,
    planes: &Planes<'_>,
    out: &mut [u8],
) -> Result<(), Error> {
    let Convolution {
        groups, filters, ..
    } = *convolution;
    let (field, _, layout) = convolution.image;
    let (batch, channels) = (layout.shape()[0], layout.shape()[1] / groups);
    let sizes = convolution.axes.map(|axis| (axis.kernel, axis.output));
    let (taps, windows) = sizes.iter().fold((1, 1), |(taps, windows), size| {
        (taps * size.0, windows * size.1)
    });
    let (dtype, bytes) = convolution.weight;
    let rows = filters / groups;
    let filters = Filters {
        weight: Matrix {
            dtype,
            bytes,
            row_stride: (channels * taps) as isize,
            column_stride: 1,
        },
        groups,
        rows,
        channels,
        field,
        common: convolution.dtype,
        adds: convolution.adds,
    };
    let output = Output::contiguous(convolution.dtype, out, rows, windows);
    let batches = [batch * groups, windows];
    slide(convolution.op, &filters, planes, output, batches)
}

fn multiply_all(
    convolution: &Convolution<'_>,
    windows: Factor<'_>,
    out: &mut [u8],
) -> Result<(), Error> {
    let Convolution {
        groups, filters, ..
    } = *convolution;
    let (_, _, layout) = convolution.image;
    let (shape, strides) = (layout.shape(), layout.strides());
    let (batch, channels) = (shape[0], shape[1] / groups);
    let taps: usize = convolution.axes.iter().map(|axis| axis.kernel).product();
    let depth = channels * taps;
    let rows = filters / groups;
    let results = batch * filters;
    let columns = out.len() / convolution.dtype.itemsize() / results.max(1);
    let offsets = (0..batch * groups).map(|index| {
        let (image, group) = (index / groups, index % groups);
        let start = layout.offset() as isize
            + image as isize * strides[0]
            + (group * channels) as isize * strides[1];
        (group * rows * depth, start as usize)
    });
    let offsets: Vec<(usize, usize)> = try_collect("conv", offsets)?;
    let (dtype, bytes) = convolution.weight;
    let weight = Matrix {
        dtype,
        bytes,
        row_stride: depth as isize,
        column_stride: 1,
    };
    let mut product = Product::new(
        [rows, depth, columns],
        Factor::Stored(weight),
        windows,
        &offsets,
        convolution.dtype,
    );
    if convolution.adds {
        product.beta = Coefficient::ONE;
    }
    let output = Output::contiguous(convolution.dtype, out, rows, columns);
    multiply(convolution.op, &product, output)
}
