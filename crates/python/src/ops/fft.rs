//! `al.fft`: Fourier transforms.

use allotrope_dtype::Error;
use allotrope_tensor::{Options, Tensor, fft as fourier};
use pyo3::prelude::*;

use crate::arguments::{
    DTypeOrFamily, Dims, Int, Integers, Ints, Operand, axis_or, either, integers, size,
};
use crate::create::{as_leaf, operand, placed, resolve};
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A transform along one dimension.
type Single = fn(&Tensor, Option<usize>, isize, fourier::Norm) -> Result<Tensor, Error>;
/// A transform along several.
type Several =
    fn(&Tensor, Option<&[isize]>, Option<&[isize]>, fourier::Norm) -> Result<Tensor, Error>;

fn norm_of(op: &'static str, norm: Option<&str>) -> PyResult<fourier::Norm> {
    norm.map_or(Ok(fourier::Norm::Backward), |norm| {
        fourier::Norm::parse(op, norm).map_err(raise)
    })
}

/// Integers or None.
fn several(op: &'static str, given: Option<Any<'_, '_>>) -> PyResult<Option<Vec<isize>>> {
    let given = given.filter(|given| !given.is_none());
    let given = given.map(|given| integers(op, given)).transpose()?;
    Ok(given.map(Integers::into_vec))
}

macro_rules! single {
    ($($(#[doc = $doc:literal])* $name:ident $op:literal;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input, n=None, dim=None, norm=None, *, axis=None))]
            fn $name(
                py: Python<'_>,
                input: Operand,
                n: Option<Int>,
                dim: Option<Int>,
                norm: Option<&str>,
                axis: Option<Int>,
            ) -> PyResult<PyTensor> {
                let transform: Single = fourier::$name;
                let x = operand($op, input)?;
                let dim = axis_or($op, dim, axis, -1)?;
                let n = n.map(|Int(n)| size($op, n)).transpose()?;
                let norm = norm_of($op, norm)?;
                run(py, x.count().max(n.unwrap_or(0)), || transform(&x, n, dim, norm))
            }
        )*

        fn add_single(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

single! {
    /// The discrete Fourier transform along dim, of any length n: more elements are left out, fewer
    /// are followed by zeros. norm says what is divided by n: "backward" the inverse, "forward" the
    /// transform, "ortho" both by its root.
    ///
    /// >>> al.fft.fft(al.tensor([1.0, 2.0]))
    /// tensor([ 3.+0.j, -1.+0.j])
    fft "fft.fft";
    /// The inverse of fft.
    ///
    /// >>> al.fft.ifft(al.tensor([3.0, 0.0, 0.0])).real
    /// tensor([1., 1., 1.])
    ifft "fft.ifft";
    /// The first n // 2 + 1 numbers of the transform of real numbers; the others are their
    /// conjugates.
    ///
    /// >>> al.fft.rfft(al.ones(10)).shape
    /// (6,)
    rfft "fft.rfft";
    /// The real numbers whose rfft is given: n of them, 2 (m - 1) for m numbers if n is not said.
    ///
    /// >>> al.fft.irfft(al.fft.rfft(al.tensor([1.0, 2.0, 3.0])), n=3)
    /// tensor([1., 2., 3.])
    irfft "fft.irfft";
    /// The real transform of a Hermitian signal whose first half is given.
    ///
    /// >>> al.fft.hfft(al.tensor([1.0, 0.0]))
    /// tensor([1., 1.])
    hfft "fft.hfft";
    /// The first half of the Hermitian signal whose hfft is given.
    ///
    /// >>> al.fft.ihfft(al.tensor([1.0, 1.0])).real
    /// tensor([1., 0.])
    ihfft "fft.ihfft";
}

macro_rules! several {
    ($($(#[doc = $doc:literal])* $name:ident $op:literal;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input, s=None, dim=None, norm=None, *, axes=None))]
            fn $name(
                py: Python<'_>,
                input: Operand,
                s: Option<Ints>,
                dim: Option<Dims>,
                norm: Option<&str>,
                axes: Option<Dims>,
            ) -> PyResult<PyTensor> {
                let transform: Several = fourier::$name;
                let x = operand($op, input)?;
                let (s, dims) = (several($op, s)?, several($op, either($op, dim, axes)?)?);
                let norm = norm_of($op, norm)?;
                run(py, x.count(), || transform(&x, s.as_deref(), dims.as_deref(), norm))
            }
        )*

        fn add_several(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

several! {
    /// The Fourier transform along two dimensions, the last two if dim is not said; s has their
    /// lengths.
    ///
    /// >>> al.fft.fft2(al.ones(2, 2)).real
    /// tensor([[4., 0.],
    ///         [0., 0.]])
    fft2 "fft.fft2";
    /// The inverse of fft2.
    ///
    /// >>> al.fft.ifft2(al.fft.fft2(al.ones(2, 2))).real
    /// tensor([[1., 1.],
    ///         [1., 1.]])
    ifft2 "fft.ifft2";
    /// The half of fft2 of real numbers that determines the rest: the last dimension is halved.
    ///
    /// >>> al.fft.rfft2(al.ones(4, 4)).shape
    /// (4, 3)
    rfft2 "fft.rfft2";
    /// The inverse of rfft2; s[-1] has the length of the last dimension, if it is odd.
    ///
    /// >>> x = al.arange(6.0).reshape(2, 3)
    /// >>> al.fft.irfft2(al.fft.rfft2(x), s=(2, 3))
    /// tensor([[0., 1., 2.],
    ///         [3., 4., 5.]])
    irfft2 "fft.irfft2";
    /// The real transform along two dimensions of a Hermitian signal, half of which is given.
    ///
    /// >>> al.fft.hfft2(al.ones(2, 2))
    /// tensor([[4., 0.],
    ///         [0., 0.]])
    hfft2 "fft.hfft2";
    /// The inverse of hfft2.
    ///
    /// >>> al.fft.ihfft2(al.ones(2, 2)).real
    /// tensor([[1., 0.],
    ///         [0., 0.]])
    ihfft2 "fft.ihfft2";
    /// The Fourier transform along dimensions, all if dim is not said; s has their lengths, -1 for
    /// a dimension as long as it is.
    ///
    /// >>> al.fft.fftn(al.ones(2, 2, 2)).real.sum()
    /// tensor(8.)
    fftn "fft.fftn";
    /// The inverse of fftn.
    ///
    /// >>> al.fft.ifftn(al.fft.fftn(al.ones(2, 2))).real
    /// tensor([[1., 1.],
    ///         [1., 1.]])
    ifftn "fft.ifftn";
    /// The half of fftn of real numbers that determines the rest: the last of the dimensions is
    /// halved.
    ///
    /// >>> al.fft.rfftn(al.ones(2, 4, 4)).shape
    /// (2, 4, 3)
    rfftn "fft.rfftn";
    /// The inverse of rfftn; s[-1] has the length of the last dimension, if it is odd.
    ///
    /// >>> al.fft.irfftn(al.fft.rfftn(al.ones(2, 4, 4))).shape
    /// (2, 4, 4)
    irfftn "fft.irfftn";
    /// The real transform along dimensions of a Hermitian signal, half of which is given.
    ///
    /// >>> al.fft.hfftn(al.ones(2, 2))
    /// tensor([[4., 0.],
    ///         [0., 0.]])
    hfftn "fft.hfftn";
    /// The inverse of hfftn.
    ///
    /// >>> al.fft.ihfftn(al.ones(2, 2)).real
    /// tensor([[1., 0.],
    ///         [0., 0.]])
    ihfftn "fft.ihfftn";
}

/// The frequencies of a transform of n samples d apart: 0, 1, …, -2, -1 over n d.
///
/// >>> al.fft.fftfreq(4)
/// tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
#[pyfunction]
#[pyo3(signature = (n, d=1.0, *, dtype=None, device=None, requires_grad=false))]
fn fftfreq(
    n: Int,
    d: f64,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let (n, options) = made_for("fft.fftfreq", n, dtype, device)?;
    let made = fourier::fftfreq_on(options.device, n, d, Some(options.dtype));
    let made = placed("fft.fftfreq", made, options)?;
    as_leaf(Ok(made.into()), requires_grad)
}

/// The frequencies of a transform of n real samples d apart: 0, 1, …, n / 2 over n d.
///
/// >>> al.fft.rfftfreq(4)
/// tensor([0.0000, 0.2500, 0.5000])
#[pyfunction]
#[pyo3(signature = (n, d=1.0, *, dtype=None, device=None, requires_grad=false))]
fn rfftfreq(
    n: Int,
    d: f64,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let (n, options) = made_for("fft.rfftfreq", n, dtype, device)?;
    let made = fourier::rfftfreq_on(options.device, n, d, Some(options.dtype));
    let made = placed("fft.rfftfreq", made, options)?;
    as_leaf(Ok(made.into()), requires_grad)
}

/// How many samples frequencies are asked for, and in which dtype.
fn made_for(
    op: &'static str,
    n: Int,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
) -> PyResult<(usize, Options)> {
    let options = resolve(op, dtype, device, || Ok(None))?;
    Ok((size(op, n.0)?, options))
}

/// The elements moved by half of each dimension, so that frequency zero is in the middle.
///
/// >>> al.fft.fftshift(al.tensor([0, 1, 2, -2, -1]))
/// tensor([-2, -1,  0,  1,  2])
#[pyfunction]
#[pyo3(signature = (input, dim=None, *, axes=None))]
fn fftshift(
    py: Python<'_>,
    input: Operand,
    dim: Option<Dims>,
    axes: Option<Dims>,
) -> PyResult<PyTensor> {
    let op = "fft.fftshift";
    let x = operand(op, input)?;
    let dims = several(op, either(op, dim, axes)?)?;
    run(py, x.count(), || fourier::fftshift(&x, dims.as_deref()))
}

/// The inverse of fftshift.
///
/// >>> al.fft.ifftshift(al.tensor([-2, -1, 0, 1, 2]))
/// tensor([ 0,  1,  2, -2, -1])
#[pyfunction]
#[pyo3(signature = (input, dim=None, *, axes=None))]
fn ifftshift(
    py: Python<'_>,
    input: Operand,
    dim: Option<Dims>,
    axes: Option<Dims>,
) -> PyResult<PyTensor> {
    let op = "fft.ifftshift";
    let x = operand(op, input)?;
    let dims = several(op, either(op, dim, axes)?)?;
    run(py, x.count(), || fourier::ifftshift(&x, dims.as_deref()))
}

/// Adds them all.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add_single(module)?;
    add_several(module)?;
    add!(module, fftfreq rfftfreq fftshift ifftshift);
    Ok(())
}
