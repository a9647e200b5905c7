//! Fourier transforms along one dimension, and what all of them share.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | transforms along one dimension |
//! | `fftn` | transforms along several |
//! | `layout` | a transform's lines laid out for the task |
//! | `stft` | transforms of short windows along a signal |
//! | `frequency` | the order of frequencies |
//!
//! All give complex numbers of the width of their input, complex64 for floats of 8 and 16 bits,
//! which compute in float32; transforms to real numbers give floats of the width of theirs. Integers
//! count as the default float. Any length is accepted, and takes a time of `n log n`.

mod fftn;
mod frequency;
mod layout;
mod stft;

use allotrope_dtype::Error;
use allotrope_op::structured::Structured;
use allotrope_op::structured::fft::{FFT, HFFT, IFFT, IHFFT, IRFFT, RFFT};
use allotrope_op::task::fourier::Direction;
pub use fftn::{
    fft2, fftn, hfft2, hfftn, ifft2, ifftn, ihfft2, ihfftn, irfft2, irfftn, rfft2, rfftn,
};
pub use frequency::{fftshift, ifftshift};
use layout::Lines;
pub use stft::{Frames, istft, stft};

use crate::Tensor;
use crate::call::Call;
pub use crate::create::{fftfreq, fftfreq_on, rfftfreq, rfftfreq_on};

/// Which of a transform and its inverse is divided by the number of elements.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// let x = Tensor::ones(4, DType::F64)?;
/// let y = fft::rfft(&x, None, -1, fft::Norm::Ortho)?;
/// assert_eq!(y.real()?, Tensor::new([2.0, 0.0, 0.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// The inverse.
    #[default]
    Backward,
    /// The transform itself.
    Forward,
    /// Both, by the square root.
    Ortho,
}

impl Norm {
    /// The norm of a name.
    ///
    /// # Errors
    /// A value error for an unknown name.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "backward" => Ok(Self::Backward),
            "forward" => Ok(Self::Forward),
            "ortho" => Ok(Self::Ortho),
            _ => {
                let accepted = ["backward", "forward", "ortho"];
                Err(Error::unknown_option(op, "norm", name, &accepted))
            }
        }
    }

    /// What a transform of `count` elements in all is multiplied by.
    fn scale(self, direction: Direction, count: f64) -> f64 {
        match (self, direction) {
            (Self::Ortho, _) => 1.0 / count.sqrt(),
            (Self::Forward, Direction::Forward) | (Self::Backward, Direction::Inverse) => {
                1.0 / count
            }
            _ => 1.0,
        }
    }
}

/// The discrete Fourier transform along a dimension: `Σ x[j] exp(-2πi jk / n)`, of the first `n`
/// elements or of all of them, zeros added where there are fewer.
///
/// ```
/// use allotrope_dtype::{DType, c64};
/// use allotrope_tensor::{Tensor, fft};
/// let x = Tensor::from_slice(&[1.0_f32, 0.0, 0.0, 0.0], &[4])?;
/// let spectrum = fft::fft(&x, None, -1, fft::Norm::Backward)?;
/// assert_eq!(spectrum.to_vec::<c64>()?, [c64::new(1.0, 0.0); 4]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// An index error for a dimension out of range, a value error for a length of zero, a memory error.
pub fn fft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    complex_transform(&FFT, Direction::Forward, x, n, dim, norm)
}

/// The inverse of [`fft`]: `Σ x[k] exp(2πi jk / n) / n`.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// let x = Tensor::new([4.0, 0.0, 0.0, 0.0])?;
/// assert_eq!(fft::ifft(&x, None, -1, fft::Norm::Backward)?.real()?, Tensor::ones(4, DType::F64)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn ifft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    complex_transform(&IFFT, Direction::Inverse, x, n, dim, norm)
}

fn complex_transform(
    row: &Structured,
    direction: Direction,
    x: &Tensor,
    n: Option<usize>,
    dim: isize,
    norm: Norm,
) -> Result<Tensor, Error> {
    let result = Call::begin(row, &[x])?.result;
    let lines = Lines::new(row.name, x, dim, n)?;
    let scale = norm.scale(direction, lines.length as f64);
    if x.dtype().is_complex() {
        lines.complex(direction, result, scale)
    } else {
        lines.real(direction, result, true, scale)
    }
}

/// The first half of the transform of real numbers, `n / 2 + 1` of them: the others are their
/// conjugates.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, fft};
/// let x = Tensor::ones(&[3, 10], DType::F16)?;
/// let spectrum = fft::rfft(&x, None, -1, fft::Norm::Backward)?;
/// assert_eq!(spectrum.shape().to_string(), "[3, 6]");
/// assert_eq!(spectrum.dtype(), DType::C64);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// As [`fft`]; a dtype error for complex numbers.
pub fn rfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    let result = Call::begin(&RFFT, &[x])?.result;
    let lines = Lines::new(RFFT.name, x, dim, n)?;
    let scale = norm.scale(Direction::Forward, lines.length as f64);
    lines.real(Direction::Forward, result, false, scale)
}

/// The real numbers whose [`rfft`] is given: `n` of them, `2 (m - 1)` for `m` numbers unless it is
/// said. Imaginary parts that such a transform cannot have are left out.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// let x = Tensor::new([4.0, 0.0, 0.0])?;
/// assert_eq!(fft::irfft(&x, None, -1, fft::Norm::Backward)?, Tensor::ones(4, DType::F64)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn irfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    let result = Call::begin(&IRFFT, &[x])?.result;
    let lines = Lines::of_half(IRFFT.name, x, dim, n)?;
    let scale = norm.scale(Direction::Inverse, lines.length as f64);
    lines.to_real(Direction::Inverse, result, scale)
}

/// The real transform of a Hermitian signal whose first half is given: `n` numbers, `2 (m - 1)` for
/// `m` numbers unless it is said.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// let x = Tensor::ones(3, DType::F64)?;
/// assert_eq!(fft::hfft(&x, None, -1, fft::Norm::Backward)?, Tensor::new([4.0, 0.0, 0.0, 0.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fft`].
pub fn hfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    let result = Call::begin(&HFFT, &[x])?.result;
    let lines = Lines::of_half(HFFT.name, x, dim, n)?;
    let scale = norm.scale(Direction::Forward, lines.length as f64);
    lines.to_real(Direction::Forward, result, scale)
}

/// The first half of the Hermitian signal whose [`hfft`] is given.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, fft};
/// let x = Tensor::ones(4, DType::F64)?;
/// assert_eq!(fft::ihfft(&x, None, -1, fft::Norm::Backward)?.real()?, Tensor::new([1.0, 0.0, 0.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`fft`]; a dtype error for complex numbers.
pub fn ihfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor, Error> {
    let result = Call::begin(&IHFFT, &[x])?.result;
    let lines = Lines::new(IHFFT.name, x, dim, n)?;
    let scale = norm.scale(Direction::Inverse, lines.length as f64);
    lines.real(Direction::Inverse, result, false, scale)
}
