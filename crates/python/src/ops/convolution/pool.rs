//! Pooling, with torch's signatures.

use allotrope_tensor::{AverageOptions, Tensor, Window};
use pyo3::prelude::*;

use super::{Any, sizes, sizes_or_none};
use crate::arguments::{Int, Ints, MOST_ITEMS, Operand, OutputSize, items};
use crate::create::operand;
use crate::error::raise;
use crate::interrupt::detach;
use crate::operand::run;
use crate::tensor::{PyTensor, as_tensor};

/// A tensor, or a pair of them.
#[derive(IntoPyObject)]
#[allow(clippy::large_enum_variant, reason = "made once for each call")]
pub(super) enum OneOrTwo {
    One(PyTensor),
    Two(PyTensor, PyTensor),
}

/// The greatest, with places if they are asked for.
fn greatest(
    py: Python<'_>,
    x: &Tensor,
    with_places: bool,
    pool: impl FnOnce() -> Result<Tensor, allotrope_dtype::Error> + Send,
    find: impl FnOnce() -> Result<(Tensor, Tensor), allotrope_dtype::Error> + Send,
) -> PyResult<OneOrTwo> {
    if !with_places {
        return run(py, x.count(), pool).map(OneOrTwo::One);
    }
    let (values, places) = detach(py, find).map_err(raise)?;
    Ok(OneOrTwo::Two(values.into(), places.into()))
}

/// Sizes of which some may be None: those of the input.
fn sizes_with_none(op: &str, object: Any<'_, '_>) -> PyResult<Vec<Option<usize>>> {
    if object.is_none() {
        return Ok(vec![None]);
    }
    if let (None, Some(several)) = (as_tensor(object), items(op, object, MOST_ITEMS)?) {
        let one = |object: &Bound<'_, PyAny>| -> PyResult<Option<usize>> {
            if object.is_none() {
                return Ok(None);
            }
            Ok(sizes(op, object)?.first().copied())
        };
        return several.iter().map(one).collect();
    }
    Ok(sizes(op, object)?.into_iter().map(Some).collect())
}

macro_rules! max_pools {
    ($($(#[doc = $doc:literal])* $name:ident, $find:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[allow(clippy::too_many_arguments, reason = "torch's signature")]
        #[pyo3(signature = (input, kernel_size, stride=None, padding=None, dilation=None, ceil_mode=false, return_indices=false))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            kernel_size: Ints,
            stride: Option<Ints>,
            padding: Option<Ints>,
            dilation: Option<Ints>,
            ceil_mode: bool,
            return_indices: bool,
        ) -> PyResult<OneOrTwo> {
            let op = stringify!($name);
            let x = operand(op, input)?;
            let (kernel, stride) = (sizes(op, kernel_size)?, sizes_or_none(op, stride)?);
            let (padding, dilation) = (sizes_or_none(op, padding)?, sizes_or_none(op, dilation)?);
            let window = Window {
                kernel: &kernel,
                stride: &stride,
                padding: &padding,
                dilation: &dilation,
                ceil_mode,
            };
            greatest(py, &x, return_indices, || x.$name(&window), || x.$find(&window))
        }
    )*};
}
max_pools! {
    /// The maximum of each window over the last dimension; NaN if there is one. With
    /// return_indices also its place, the first of equals.
    ///
    /// >>> al.max_pool1d(al.tensor([[1, 5, 2, 4]]), 2)
    /// tensor([[5, 4]])
    max_pool1d, max_pool1d_with_indices;
    /// The maximum of each window over the last two dimensions; NaN if there is one. With
    /// return_indices also its place in the plane, the first of equals.
    ///
    /// >>> x = al.arange(16).reshape(1, 4, 4)
    /// >>> al.max_pool2d(x, 2)
    /// tensor([[[ 5,  7],
    ///          [13, 15]]])
    max_pool2d, max_pool2d_with_indices;
    /// The maximum of each window over the last three dimensions; NaN if there is one. With
    /// return_indices also its place in the volume, the first of equals.
    ///
    /// >>> al.max_pool3d(al.arange(8).reshape(1, 2, 2, 2), 2).item()
    /// 7
    max_pool3d, max_pool3d_with_indices;
}

macro_rules! average_pools {
    ($($(#[doc = $doc:literal])* $name:ident ($($divisor:ident)?);)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[allow(clippy::too_many_arguments, reason = "torch's signature")]
        #[pyo3(signature = (input, kernel_size, stride=None, padding=None, ceil_mode=false, count_include_pad=true $(, $divisor=None)?))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            kernel_size: Ints,
            stride: Option<Ints>,
            padding: Option<Ints>,
            ceil_mode: bool,
            count_include_pad: bool,
            $($divisor: Option<Int>,)?
        ) -> PyResult<PyTensor> {
            let op = stringify!($name);
            let x = operand(op, input)?;
            let (kernel, stride) = (sizes(op, kernel_size)?, sizes_or_none(op, stride)?);
            let padding = sizes_or_none(op, padding)?;
            let window = Window {
                kernel: &kernel,
                stride: &stride,
                padding: &padding,
                dilation: &[],
                ceil_mode,
            };
            let options = AverageOptions {
                count_include_pad,
                divisor_override: [$($divisor.map(|Int(divisor)| divisor as i64),)? None][0],
            };
            run(py, x.count(), || x.$name(&window, options))
        }
    )*};
}
average_pools! {
    /// The mean of each window over the last dimension. Integers and bool give the default float.
    ///
    /// >>> al.nn.functional.avg_pool1d(al.tensor([[1., 5., 2., 4.]]), 2)
    /// tensor([[3., 3.]])
    avg_pool1d();
    /// The mean of each window over the last two dimensions. Integers and bool give the default
    /// float.
    ///
    /// >>> x = al.arange(16.).reshape(1, 4, 4)
    /// >>> al.nn.functional.avg_pool2d(x, 2)
    /// tensor([[[ 2.5000,  4.5000],
    ///          [10.5000, 12.5000]]])
    avg_pool2d(divisor_override);
    /// The mean of each window over the last three dimensions. Integers and bool give the default
    /// float.
    ///
    /// >>> al.nn.functional.avg_pool3d(al.arange(8).reshape(1, 2, 2, 2), 2).item()
    /// 3.5
    avg_pool3d(divisor_override);
}

macro_rules! adaptive_pools {
    ($($(#[doc = $max_doc:literal])* $max:ident, $find:ident; $(#[doc = $doc:literal])* $average:ident;)*) => {$(
        $(#[doc = $max_doc])*
        #[pyfunction]
        #[pyo3(signature = (input, output_size, return_indices=false))]
        fn $max(
            py: Python<'_>,
            input: Operand,
            output_size: OutputSize,
            return_indices: bool,
        ) -> PyResult<OneOrTwo> {
            let op = stringify!($max);
            let (x, sizes) = (operand(op, input)?, sizes_with_none(op, output_size)?);
            greatest(py, &x, return_indices, || x.$max(&sizes), || x.$find(&sizes))
        }

        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, output_size))]
        fn $average(
            py: Python<'_>,
            input: Operand,
            output_size: OutputSize,
        ) -> PyResult<PyTensor> {
            let op = stringify!($average);
            let (x, sizes) = (operand(op, input)?, sizes_with_none(op, output_size)?);
            run(py, x.count(), || x.$average(&sizes))
        }
    )*};
}
adaptive_pools! {
    /// The maximum of each of output_size windows over the last dimension.
    ///
    /// >>> al.nn.functional.adaptive_max_pool1d(al.tensor([[1, 5, 2]]), 2)
    /// tensor([[5, 5]])
    adaptive_max_pool1d, adaptive_max_pool1d_with_indices;
    /// The mean of each of output_size windows over the last dimension.
    ///
    /// >>> al.nn.functional.adaptive_avg_pool1d(al.tensor([[1., 5., 2.]]), 2)
    /// tensor([[3.0000, 3.5000]])
    adaptive_avg_pool1d;
    /// The maximum of each of output_size windows over the last two dimensions; None
    /// keeps a size.
    ///
    /// >>> x = al.arange(6).reshape(1, 2, 3)
    /// >>> al.nn.functional.adaptive_max_pool2d(x, (None, 1))
    /// tensor([[[2],
    ///          [5]]])
    adaptive_max_pool2d, adaptive_max_pool2d_with_indices;
    /// The mean of each of output_size windows over the last two dimensions; None keeps
    /// a size.
    ///
    /// >>> x = al.arange(6.).reshape(1, 2, 3)
    /// >>> al.nn.functional.adaptive_avg_pool2d(x, 1).item()
    /// 2.5
    adaptive_avg_pool2d;
    /// The maximum of each of output_size windows over the last three dimensions; None
    /// keeps a size.
    ///
    /// >>> x = al.arange(8).reshape(1, 2, 2, 2)
    /// >>> al.nn.functional.adaptive_max_pool3d(x, 1).item()
    /// 7
    adaptive_max_pool3d, adaptive_max_pool3d_with_indices;
    /// The mean of each of output_size windows over the last three dimensions; None keeps
    /// a size.
    ///
    /// >>> x = al.arange(8.).reshape(1, 2, 2, 2)
    /// >>> al.nn.functional.adaptive_avg_pool3d(x, 1).item()
    /// 3.5
    adaptive_avg_pool3d;
}

macro_rules! norm_pools {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, norm_type, kernel_size, stride=None, ceil_mode=false))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            norm_type: f64,
            kernel_size: Ints,
            stride: Option<Ints>,
            ceil_mode: bool,
        ) -> PyResult<PyTensor> {
            let op = stringify!($name);
            let x = operand(op, input)?;
            let (kernel, stride) = (sizes(op, kernel_size)?, sizes_or_none(op, stride)?);
            let window = Window {
                stride: &stride,
                ceil_mode,
                ..Window::new(&kernel)
            };
            run(py, x.count(), || x.$name(norm_type, &window))
        }
    )*};
}
norm_pools! {
    /// The root of the sum of powers of each window over the last dimension.
    ///
    /// >>> al.nn.functional.lp_pool1d(al.tensor([[3., 4., 6., 8.]]), 2, 2)
    /// tensor([[ 5., 10.]])
    lp_pool1d;
    /// The root of the sum of powers of each window over the last two dimensions.
    ///
    /// >>> al.nn.functional.lp_pool2d(al.ones(1, 2, 2), 2, 2)
    /// tensor([[[2.]]])
    lp_pool2d;
    /// The root of the sum of powers of each window over the last three dimensions.
    ///
    /// >>> al.nn.functional.lp_pool3d(al.ones(1, 2, 2, 2), 3, 2)
    /// tensor([[[[2.]]]])
    lp_pool3d;
}

macro_rules! unpools {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[allow(clippy::too_many_arguments, reason = "torch's signature")]
        #[pyo3(signature = (input, indices, kernel_size, stride=None, padding=None, output_size=None))]
        fn $name(
            py: Python<'_>,
            input: Operand,
            indices: Operand,
            kernel_size: Ints,
            stride: Option<Ints>,
            padding: Option<Ints>,
            output_size: Option<OutputSize>,
        ) -> PyResult<PyTensor> {
            let op = stringify!($name);
            let (x, indices) = (operand(op, input)?, operand(op, indices)?);
            let (kernel, stride) = (sizes(op, kernel_size)?, sizes_or_none(op, stride)?);
            let padding = sizes_or_none(op, padding)?;
            let output = output_size.map(|size| sizes(op, size)).transpose()?;
            let window = Window {
                stride: &stride,
                padding: &padding,
                ..Window::new(&kernel)
            };
            run(py, x.count(), || x.$name(&indices, &window, output.as_deref()))
        }
    )*};
}
unpools! {
    /// The elements at the places that max_pool1d took them from, zero elsewhere.
    ///
    /// >>> values, places = al.max_pool1d(al.tensor([[1, 5, 2, 4]]), 2, return_indices=True)
    /// >>> al.nn.functional.max_unpool1d(values, places, 2)
    /// tensor([[0, 5, 0, 4]])
    max_unpool1d;
    /// The elements at the places that max_pool2d took them from, zero elsewhere.
    ///
    /// >>> x = al.arange(4).reshape(1, 2, 2)
    /// >>> values, places = al.max_pool2d(x, 2, return_indices=True)
    /// >>> al.nn.functional.max_unpool2d(values, places, 2)
    /// tensor([[[0, 0],
    ///          [0, 3]]])
    max_unpool2d;
    /// The elements at the places that max_pool3d took them from, zero elsewhere.
    ///
    /// >>> x = al.arange(8).reshape(1, 2, 2, 2)
    /// >>> values, places = al.max_pool3d(x, 2, return_indices=True)
    /// >>> al.nn.functional.max_unpool3d(values, places, 2).sum().item()
    /// 7
    max_unpool3d;
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, max_pool1d max_pool2d max_pool3d avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d);
    Ok(())
}

pub(super) fn register_functional(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register(module)?;
    add!(module, avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d);
    add!(module, adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d lp_pool3d);
    add!(module, max_unpool1d max_unpool2d max_unpool3d);
    Ok(())
}
