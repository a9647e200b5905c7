//! The greatest of each window, and where it was.

use allotrope_cpu::kernel::{Axis, greatest, greatest_with_places};
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::{Structured, convolution as row};
use smallvec::smallvec;

use super::super::window::{Window, check_rank};
use super::gradient::put_to_places;
use super::{convert, lay_out, pool, share_out};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;
use crate::elementwise::room;

macro_rules! max_pools {
    ($($rank:literal, $what:literal,
       $pool:ident, $indices:ident, $adaptive:ident, $adaptive_indices:ident,
       $row:ident, $adaptive_row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("The greatest of each window over ", $what, "; NaN if there is one. The dtype stays.")]
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for windows that do not fit, a
            /// memory error.
            pub fn $pool(&self, window: &Window<'_>) -> Result<Self, Error> {
                check_rank(row::$row.name, self, $rank)?;
                let axes = window.axes(row::$row.name, self.shape(), $rank)?;
                take_greatest(row::$row, self, axes, $rank)
            }

            #[doc = concat!("The greatest of each window over ", $what, ", and its place in the plane, int64:")]
            /// the first of equals, the first NaN.
            ///
            /// # Errors
            /// As without places.
            pub fn $indices(&self, window: &Window<'_>) -> Result<(Self, Self), Error> {
                check_rank(row::$row.name, self, $rank)?;
                let axes = window.axes(row::$row.name, self.shape(), $rank)?;
                find_greatest(row::$row, self, axes, $rank)
            }

            #[doc = concat!("The greatest of each of as many windows as asked for, which share ", $what, " out.")]
            /// No size keeps that of the tensor.
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for a grid without elements, a
            /// memory error.
            pub fn $adaptive(&self, output: &[Option<usize>]) -> Result<Self, Error> {
                let axes = share_out(row::$adaptive_row.name, self, output, $rank)?;
                take_greatest(row::$adaptive_row, self, axes, $rank)
            }

            #[doc = concat!("The greatest of each of as many windows as asked for, which share ", $what, " out,")]
            /// and its place in the plane, int64.
            ///
            /// # Errors
            /// As without places.
            pub fn $adaptive_indices(&self, output: &[Option<usize>]) -> Result<(Self, Self), Error> {
                let axes = share_out(row::$adaptive_row.name, self, output, $rank)?;
                find_greatest(row::$adaptive_row, self, axes, $rank)
            }
        )*}
    };
}
max_pools! {
    1, "rows", max_pool1d, max_pool1d_with_indices, adaptive_max_pool1d,
        adaptive_max_pool1d_with_indices, MAX_POOL1D, ADAPTIVE_MAX_POOL1D;
    2, "images", max_pool2d, max_pool2d_with_indices, adaptive_max_pool2d,
        adaptive_max_pool2d_with_indices, MAX_POOL2D, ADAPTIVE_MAX_POOL2D;
    3, "volumes", max_pool3d, max_pool3d_with_indices, adaptive_max_pool3d,
        adaptive_max_pool3d_with_indices, MAX_POOL3D, ADAPTIVE_MAX_POOL3D;
}

/// The dtype in which a dtype is compared: integers in few, since each is a set of loops.
fn compared(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::I32,
        _ if dtype.fits_in(DType::I32) => DType::I32,
        _ if dtype.fits_in(DType::I64) => DType::I64,
        _ => dtype.compute(),
    }
}

fn take_greatest(
    row: Structured,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<Tensor, Error> {
    let (dtype, axes) = (
        call::result_dtype(&row, x.dtype())?,
        axes.map(|axis| axis.trimmed()),
    );
    if is_recorded(&[x]) {
        // The way back asks where it was.
        return find_greatest(row, x, axes, rank).map(|(greatest, _)| greatest);
    }
    let (grid, shape) = lay_out(row.name, x, axes, rank)?;
    let mut out = room(row.name, &shape, dtype)?;
    let program = convert(x.dtype(), compared(dtype));
    if shape.count() > 0 {
        pool(row.name, x, &program, |pooled| {
            greatest(pooled, &grid, dtype, &mut out)
        })?;
    }
    Ok(Tensor::from_buffer(out, shape, dtype))
}

fn find_greatest(
    row: Structured,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<(Tensor, Tensor), Error> {
    let (dtype, axes) = (
        call::result_dtype(&row, x.dtype())?,
        axes.map(|axis| axis.trimmed()),
    );
    if is_recorded(&[x]) {
        let (greatest, places) = find_greatest(row, &x.detach(), axes, rank)?;
        let (saved, shape) = (places.clone(), x.shape().clone());
        let greatest = greatest.with_rule(row.name, &[x], move |pass| {
            let gradient = pass.gradient()?;
            let made = put_to_places(row.name, &gradient, &saved, &shape, rank)?;
            Ok(smallvec![Some(made)])
        })?;
        return Ok((greatest, places));
    }
    let (grid, shape) = lay_out(row.name, x, axes, rank)?;
    let mut out = room(row.name, &shape, dtype)?;
    let mut places = room(row.name, &shape, DType::I64)?;
    let program = convert(x.dtype(), compared(dtype));
    if shape.count() > 0 {
        pool(row.name, x, &program, |pooled| {
            greatest_with_places(pooled, &grid, dtype, &mut out, &mut places)
        })?;
    }
    Ok((
        Tensor::from_buffer(out, shape.clone(), dtype),
        Tensor::from_buffer(places, shape, DType::I64),
    ))
}
