//! The greatest of each window, and where it was.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::{self, Axis, Output, Task};
use smallvec::smallvec;

use super::super::window::{Window, check_rank};
use super::gradient::put_to_places;
use super::{shape_of, share_out};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::{perform, perform_one};

macro_rules! max_pools {
    ($($rank:literal, $what:literal,
       $pool:ident, $indices:ident, $adaptive:ident, $adaptive_indices:ident,
       $row:ident, $adaptive_row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("Max pooling: the maximum of each window over ", $what, "; NaN if there is one. The dtype stays.")]
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, Window};\nlet window = Window { kernel: &[2; ", $rank, "], stride: &[2; ", $rank, "], padding: &[0; ", $rank, "], dilation: &[1; ", $rank, "], ceil_mode: false };\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nassert_eq!(x.", stringify!($pool), "(&window)?.shape()[2], 2);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for windows that do not fit, a
            /// memory error.
            pub fn $pool(&self, window: &Window<'_>) -> Result<Self, Error> {
                check_rank(row::$row.name, self, $rank)?;
                let axes = window.axes(row::$row.name, self.shape(), $rank)?;
                take_greatest(row::$row, self, axes, $rank)
            }

            #[doc = concat!("Max pooling: the maximum of each window over ", $what, ", and its place in the plane, int64:")]
            /// the first of equals, the first NaN.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, Window};\nlet window = Window { kernel: &[2; ", $rank, "], stride: &[2; ", $rank, "], padding: &[0; ", $rank, "], dilation: &[1; ", $rank, "], ceil_mode: false };\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet (values, places) = x.", stringify!($indices), "(&window)?;\nassert_eq!((values.shape(), places.dtype()), (places.shape(), DType::I64));\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// As without places.
            pub fn $indices(&self, window: &Window<'_>) -> Result<(Self, Self), Error> {
                check_rank(row::$row.name, self, $rank)?;
                let axes = window.axes(row::$row.name, self.shape(), $rank)?;
                find_greatest(row::$row, self, axes, $rank)
            }

            #[doc = concat!("Adaptive max pooling: the maximum of each of as many windows over ", $what, " as asked for.")]
            /// No size keeps that of the tensor.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nassert_eq!(x.", stringify!($adaptive), "(&[Some(3); ", $rank, "])?.shape()[2], 3);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for a grid without elements, a
            /// memory error.
            pub fn $adaptive(&self, output: &[Option<usize>]) -> Result<Self, Error> {
                let axes = share_out(row::$adaptive_row.name, self, output, $rank)?;
                take_greatest(row::$adaptive_row, self, axes, $rank)
            }

            #[doc = concat!("Adaptive max pooling: the maximum of each of as many windows over ", $what, " as asked for,")]
            /// and its place in the plane, int64.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet (values, places) = x.", stringify!($adaptive_indices), "(&[Some(3); ", $rank, "])?;\nassert_eq!((values.shape(), places.dtype()), (places.shape(), DType::I64));\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
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

fn take_greatest(
    row: Structured,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<Tensor, Error> {
    let (op, dtype) = (row.name, Call::begin(&row, &[x])?.result);
    if is_recorded(&[x]) {
        // The way back asks where it was.
        return find(op, x, axes, rank).map(|(greatest, _)| greatest);
    }
    let axes = axes.map(|axis| axis.trimmed());
    let shape = shape_of(op, x, &axes, rank)?;
    let has_places = false;
    let task = Task::Window(task::Window::MaxPool { axes, has_places });
    perform_one(op, &task, &[x], dtype, &shape)
}

fn find_greatest(
    row: Structured,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<(Tensor, Tensor), Error> {
    Call::begin(&row, &[x])?;
    find(row.name, x, axes, rank)
}

/// The greatest of each window and where it was.
fn find(
    op: &'static str,
    x: &Tensor,
    axes: [Axis; 3],
    rank: usize,
) -> Result<(Tensor, Tensor), Error> {
    let axes = axes.map(|axis| axis.trimmed());
    let shape = shape_of(op, x, &axes, rank)?;
    let (has_places, count) = (true, shape.count());
    let task = Task::Window(task::Window::MaxPool { axes, has_places });
    let outputs = [x.dtype(), DType::I64].map(|dtype| Output { dtype, count });
    let mut made = perform(op, &task, &[x], &outputs)?;
    let (places, greatest) = (made.remove(1).memory, made.remove(0).memory);
    let places = Tensor::from_memory_of(places, shape.clone(), DType::I64);
    let greatest = Tensor::from_memory_of(greatest, shape, x.dtype());
    let (saved, shape) = (places.clone(), x.shape().clone());
    let greatest = greatest.with_rule(op, &[x], move |pass| {
        let made = put_to_places(op, &pass.gradient()?, &saved, &shape, rank)?;
        Ok(smallvec![Some(made)])
    })?;
    Ok((greatest, places))
}
