//! The frequencies of Fourier transforms.

use allotrope_dtype::{DType, Error, Problem, Set, default_dtype};

use crate::{Device, Tensor};

/// The frequencies of a transform of `n` samples `d` apart: `0, 1, …, -2, -1` over `n d`.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::fft;
/// let frequencies = fft::fftfreq(4, 0.5, Some(DType::F64))?;
/// assert_eq!(frequencies.to_vec::<f64>()?, [0.0, 0.5, -1.0, -0.5]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error for a distance of zero, a dtype error unless the dtype is a float or
/// complex, a memory error.
pub fn fftfreq(n: usize, d: f64, dtype: Option<DType>) -> Result<Tensor, Error> {
    fftfreq_on(Device::cpu(), n, d, dtype)
}

/// [`fftfreq`] on a device.
///
/// # Errors
/// As [`fftfreq`]; a device error.
pub fn fftfreq_on(device: Device, n: usize, d: f64, dtype: Option<DType>) -> Result<Tensor, Error> {
    let op = "fft.fftfreq";
    let steps = steps(op, n, d)?;
    let numbers = Tensor::arange(0, steps, 1, (DType::I64, device))?;
    let is_negative = numbers.ge(steps - steps / 2)?;
    let numbers = numbers.sub(&is_negative.to(DType::I64)?.mul(steps)?)?;
    spaced(op, &numbers, n, d, dtype)
}

/// The frequencies of a transform of `n` real samples `d` apart: `0, 1, …, n / 2` over `n d`.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// assert_eq!(fft::rfftfreq(4, 1.0, Some(DType::F64))?, Tensor::new([0.0, 0.25, 0.5])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fftfreq`].
pub fn rfftfreq(n: usize, d: f64, dtype: Option<DType>) -> Result<Tensor, Error> {
    rfftfreq_on(Device::cpu(), n, d, dtype)
}

/// [`rfftfreq`] on a device.
///
/// # Errors
/// As [`fftfreq_on`].
pub fn rfftfreq_on(
    device: Device,
    n: usize,
    d: f64,
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let op = "fft.rfftfreq";
    let steps = steps(op, n, d)?;
    let numbers = Tensor::arange(0, steps / 2 + 1, 1, (DType::I64, device))?;
    spaced(op, &numbers, n, d, dtype)
}

fn steps(op: &'static str, n: usize, d: f64) -> Result<i64, Error> {
    let refuse = |what, value, accepted| {
        let index = None;
        let problem = Problem::OutOfRange {
            what,
            index,
            value,
            accepted,
        };
        Error::new(op, problem)
    };
    if d == 0.0 {
        return Err(refuse("distance", d.to_string(), "distances but zero"));
    }
    i64::try_from(n).map_err(|_| refuse("length", n.to_string(), "lengths below 2^63"))
}

/// Numbers over `n d`, each rounded once.
fn spaced(
    op: &'static str,
    numbers: &Tensor,
    n: usize,
    d: f64,
    dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let dtype = dtype.unwrap_or_else(default_dtype);
    if !Set::Inexact.contains(dtype) {
        return Err(Error::not_in_set(op, dtype, Set::Inexact, None));
    }
    let frequencies = numbers.to(DType::F64)?.div(n as f64 * d)?;
    frequencies.to(dtype)
}
