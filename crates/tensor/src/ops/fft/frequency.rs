//! The order of the frequencies of a transform.

use allotrope_dtype::Error;
use allotrope_op::normalize_axes;
use allotrope_op::structured::Structured;
use allotrope_op::structured::fft::{FFTSHIFT, IFFTSHIFT};

use crate::Tensor;
use crate::call::Call;

/// The elements of dimensions moved by half their length, so that frequency zero is in the middle.
///
/// ```
/// use allotrope_tensor::{Tensor, fft};
/// let x = Tensor::new([0.0, 1.0, -1.0])?;
/// assert_eq!(fft::fftshift(&x, None)?, Tensor::new([-1.0, 0.0, 1.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// An index error for a dimension out of range, a value error for one named twice, a memory error.
pub fn fftshift(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor, Error> {
    shift(&FFTSHIFT, x, dims, |size| size / 2)
}

/// The inverse of [`fftshift`].
///
/// ```
/// use allotrope_tensor::{Tensor, fft};
/// let x = Tensor::new([-1.0, 0.0, 1.0])?;
/// assert_eq!(fft::ifftshift(&x, None)?, Tensor::new([0.0, 1.0, -1.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fftshift`].
pub fn ifftshift(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor, Error> {
    shift(&IFFTSHIFT, x, dims, |size| size.div_ceil(2))
}

fn shift(
    row: &Structured,
    x: &Tensor,
    dims: Option<&[isize]>,
    by: impl Fn(usize) -> usize,
) -> Result<Tensor, Error> {
    Call::begin(row, &[x])?;
    let every: Vec<isize> = (0..x.rank() as isize).collect();
    let places = normalize_axes(row.name, dims.unwrap_or(&every), x.rank())?;
    let dims: Vec<isize> = places.iter().map(|dim| *dim as isize).collect();
    let shifts: Vec<isize> = places
        .iter()
        .map(|dim| by(x.shape()[*dim]) as isize)
        .collect();
    x.roll(&shifts, &dims)
        .map_err(|error| error.in_op(row.name))
}
