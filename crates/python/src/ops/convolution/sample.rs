//! Images read at the places of a grid, and windows at random places, with torch's signatures.

use allotrope_tensor::{Beyond, Sampling, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::pool::OneOrTwo;
use super::{Any, sizes};
use crate::arguments::{Floats, Ints, Operand, OutputSize, floats};
use crate::create::operand;
use crate::error::{raise, wrong_object};
use crate::interrupt::detach;
use crate::operand::run;
use crate::tensor::{PyTensor, as_tensor};

/// Images [batch, channels, height, width] at the places of a grid [batch, ..., 2], or volumes at
/// those of a grid [batch, ..., 3]. The last dimension of the grid has the place along the width
/// first, from -1 to 1: the centres of the corner pixels with align_corners, else their outer edges.
/// mode is "bilinear", "nearest" or "bicubic", padding_mode "zeros", "border" or "reflection". NaN in
/// the grid counts as -1.
///
/// >>> x = al.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
/// >>> al.nn.functional.grid_sample(x, al.zeros(1, 1, 1, 2), align_corners=True)
/// tensor([[[[1.5000]]]])
#[pyfunction]
#[pyo3(signature = (input, grid, mode="bilinear", padding_mode="zeros", align_corners=None))]
fn grid_sample(
    py: Python<'_>,
    input: Operand,
    grid: Operand,
    mode: &str,
    padding_mode: &str,
    align_corners: Option<bool>,
) -> PyResult<PyTensor> {
    let op = "grid_sample";
    let (x, grid) = (operand(op, input)?, operand(op, grid)?);
    let mode: Sampling = mode.parse().map_err(raise)?;
    let beyond: Beyond = padding_mode.parse().map_err(raise)?;
    let aligns = align_corners.unwrap_or(false);
    run(py, usize::MAX, || {
        x.grid_sample(&grid, mode, beyond, aligns)
    })
}

/// The places that the maps theta [batch, 2, 3] send the pixels of images of a size (batch, channels,
/// height, width) to, as [batch, height, width, 2]; maps [batch, 3, 4] those of volumes.
///
/// >>> same = al.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
/// >>> al.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=True)
/// tensor([[[[-1.,  0.],
///           [ 1.,  0.]]]])
#[pyfunction]
#[pyo3(signature = (theta, size, align_corners=None))]
fn affine_grid(
    py: Python<'_>,
    theta: Operand,
    size: Ints,
    align_corners: Option<bool>,
) -> PyResult<PyTensor> {
    let op = "affine_grid";
    let (theta, sizes) = (operand(op, theta)?, sizes(op, size)?);
    let aligns = align_corners.unwrap_or(false);
    run(py, usize::MAX, || theta.affine_grid(&sizes, aligns))
}

/// The sizes of results: as asked for, or parts of those of the input.
fn output_sizes(
    op: &'static str,
    x: &Tensor,
    rank: usize,
    output_size: Option<OutputSize>,
    output_ratio: Option<Floats>,
) -> PyResult<Vec<usize>> {
    let given = |object: Option<Any<'_, '_>>| object.is_some_and(|object| !object.is_none());
    let refuse = |text: &str| Err(PyValueError::new_err(format!("{op}: {text}")));
    match (output_size, output_ratio) {
        (Some(size), ratio) if given(output_size) && !given(ratio) => sizes(op, size),
        (size, Some(ratio)) if given(output_ratio) && !given(size) => {
            let wrong = || wrong_object(op, "not a ratio", ratio, "numbers and sequences of them");
            let ratios = match floats(op, ratio)?.ok_or_else(wrong)?[..] {
                [one] => vec![one; rank],
                // bounded: one per dimension.
                ref several => several.to_vec(),
            };
            let within = |ratio: &f64| *ratio > 0.0 && *ratio < 1.0;
            if ratios.len() != rank || !ratios.iter().all(within) || x.rank() < rank {
                return refuse("output_ratio out of range; numbers between 0 and 1 are accepted");
            }
            let grid = &x.shape()[x.rank() - rank..];
            let sizes = grid.iter().zip(ratios);
            Ok(sizes
                .map(|(size, ratio)| (*size as f64 * ratio) as usize)
                .collect())
        }
        _ => refuse("one of output_size and output_ratio is needed"),
    }
}

macro_rules! fractional_pools {
    ($($(#[doc = $doc:literal])* $name:ident $rank:literal;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input, kernel_size, output_size=None, output_ratio=None, return_indices=false, _random_samples=None))]
            fn $name(
                py: Python<'_>,
                input: Operand,
                kernel_size: Ints,
                output_size: Option<OutputSize>,
                output_ratio: Option<Floats>,
                return_indices: bool,
                _random_samples: Option<Operand>,
            ) -> PyResult<OneOrTwo> {
                let op = stringify!($name);
                let (x, kernel) = (operand(op, input)?, sizes(op, kernel_size)?);
                let output = output_sizes(op, &x, $rank, output_size, output_ratio)?;
                let samples = _random_samples.and_then(as_tensor);
                let work = || x.$name(&kernel, &output, samples.as_ref(), None);
                let (values, places) = detach(py, work).map_err(raise)?;
                Ok(if return_indices {
                    OneOrTwo::Two(values.into(), places.into())
                } else {
                    OneOrTwo::One(values.into())
                })
            }
        )*

        fn register_pools(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}
fractional_pools! {
    /// The greatest of each of output_size windows over the last two dimensions, or of output_ratio
    /// times as many as there are elements, which begin at random. With return_indices also its
    /// place in the plane.
    ///
    /// >>> al.nn.functional.fractional_max_pool2d(al.zeros(1, 1, 6, 6), 2, output_ratio=0.5).shape
    /// (1, 1, 3, 3)
    fractional_max_pool2d 2;
    /// The greatest of each of output_size windows over the last three dimensions, or of
    /// output_ratio times as many as there are elements, which begin at random. With return_indices
    /// also its place in the volume.
    ///
    /// >>> al.nn.functional.fractional_max_pool3d(al.zeros(1, 1, 6, 6, 6), 2, (2, 3, 4)).shape
    /// (1, 1, 2, 3, 4)
    fractional_max_pool3d 3;
}

/// Adds them all.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, grid_sample affine_grid);
    register_pools(module)
}
