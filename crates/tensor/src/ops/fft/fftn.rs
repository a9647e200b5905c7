//! Transforms along several dimensions, one after the other.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::fft::{
    FFT2, FFTN, HFFT2, HFFTN, IFFT2, IFFTN, IHFFT2, IHFFTN, IRFFT2, IRFFTN, RFFT2, RFFTN,
};
use allotrope_op::task::fourier::Direction;
use allotrope_op::{Dims, normalize_axes, normalize_axis};

use super::Norm;
use super::layout::Lines;
use crate::Tensor;
use crate::call::Call;

/// What the last of the dimensions is transformed from and to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Complex,
    FromReal,
    ToReal,
}

macro_rules! transforms {
    ($($(#[doc = $doc:literal])* $name:ident $row:ident $kind:ident $direction:ident $default:expr;)*) => {$(
        $(#[doc = $doc])*
        ///
        /// `s` gives the lengths, -1 for a dimension as long as it is; without dims they are those
        /// of the last dimensions.
        ///
        #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, fft};\nlet x = Tensor::ones((2, 3, 4), DType::F32)?;\nassert_eq!(fft::", stringify!($name), "(&x, None, None, fft::Norm::Backward)?.rank(), 3);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
        ///
        /// # Errors
        /// An index error for a dimension out of range, a value error for one named twice, for
        /// another number of lengths than of dims and for a length of zero; a dtype error where real
        /// numbers are needed; a memory error.
        pub fn $name(
            x: &Tensor,
            s: Option<&[isize]>,
            dims: Option<&[isize]>,
            norm: Norm,
        ) -> Result<Tensor, Error> {
            let dims = dims.or($default);
            transform(&$row, Kind::$kind, Direction::$direction, x, s, dims, norm)
        }
    )*};
}

/// The last two dimensions.
const LAST_TWO: Option<&[isize]> = Some(&[-2, -1]);

transforms! {
    /// The Fourier transform along two dimensions, the last two if not said otherwise.
    fft2 FFT2 Complex Forward LAST_TWO;
    /// The inverse of [`fft2`].
    ifft2 IFFT2 Complex Inverse LAST_TWO;
    /// The half of [`fft2`] of real numbers that determines the rest: the last dimension is halved.
    rfft2 RFFT2 FromReal Forward LAST_TWO;
    /// The inverse of [`rfft2`].
    irfft2 IRFFT2 ToReal Inverse LAST_TWO;
    /// The real transform along two dimensions of a Hermitian signal, half of which is given.
    hfft2 HFFT2 ToReal Forward LAST_TWO;
    /// The inverse of [`hfft2`].
    ihfft2 IHFFT2 FromReal Inverse LAST_TWO;
    /// The Fourier transform along dimensions, all of them if not said otherwise.
    ///
    /// ```
    /// use allotrope_dtype::{DType, c128};
    /// use allotrope_tensor::{Tensor, fft};
    /// let x = Tensor::ones(&[2, 3], DType::F64)?;
    /// let spectrum = fft::fftn(&x, None, None, fft::Norm::Backward)?;
    /// assert_eq!(spectrum.to_vec::<c128>()?[0], c128::new(6.0, 0.0));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    fftn FFTN Complex Forward None;
    /// The inverse of [`fftn`].
    ifftn IFFTN Complex Inverse None;
    /// The half of [`fftn`] of real numbers that determines the rest: the last of the dimensions is
    /// halved.
    rfftn RFFTN FromReal Forward None;
    /// The inverse of [`rfftn`].
    irfftn IRFFTN ToReal Inverse None;
    /// The real transform along dimensions of a Hermitian signal, half of which is given.
    hfftn HFFTN ToReal Forward None;
    /// The inverse of [`hfftn`].
    ihfftn IHFFTN FromReal Inverse None;
}

fn transform(
    row: &Structured,
    kind: Kind,
    direction: Direction,
    x: &Tensor,
    s: Option<&[isize]>,
    dims: Option<&[isize]>,
    norm: Norm,
) -> Result<Tensor, Error> {
    let op = row.name;
    let result = Call::begin(row, &[x])?.result;
    let complex = result.to_complex();
    let places = resolve(op, x, s, dims)?;
    let Some(((last, last_length), others)) = places.split_last() else {
        return match kind {
            Kind::Complex => x.to(complex),
            _ => {
                let (given, rank) = (0, 1);
                Err(Error::new(op, Problem::WrongAxisCount { given, rank }))
            }
        };
    };
    let lines = |x| match kind {
        Kind::ToReal => Lines::of_half(op, x, *last as isize, *last_length),
        _ => Lines::new(op, x, *last as isize, *last_length),
    };
    // All lengths are known and checked before anything is computed.
    let mut count = lines(x)?.length as f64;
    for (dim, length) in others {
        count *= Lines::new(op, x, *dim as isize, *length)?.length as f64;
    }
    let scale = norm.scale(direction, count);
    let along = |x: &Tensor, dim: usize, length: Option<usize>, scale: f64| {
        Lines::new(op, x, dim as isize, length)?.complex(direction, complex, scale)
    };
    let along_others = |mut x: Tensor| {
        for (dim, length) in others.iter().rev() {
            x = along(&x, *dim, *length, 1.0)?;
        }
        Ok::<Tensor, Error>(x)
    };
    match kind {
        Kind::ToReal => lines(&along_others(x.clone())?)?.to_real(direction, result, scale),
        Kind::Complex if x.dtype().is_complex() => {
            along_others(along(x, *last, *last_length, scale)?)
        }
        Kind::Complex | Kind::FromReal => {
            let whole = kind == Kind::Complex;
            along_others(lines(x)?.real(direction, complex, whole, scale)?)
        }
    }
}

/// The dimensions with their lengths, where these are given.
fn resolve(
    op: &'static str,
    x: &Tensor,
    s: Option<&[isize]>,
    dims: Option<&[isize]>,
) -> Result<Vec<(usize, Option<usize>)>, Error> {
    let dims: Dims<usize> = match (dims, s) {
        (Some(dims), _) => normalize_axes(op, dims, x.rank())?,
        (None, None) => (0..x.rank()).collect(),
        (None, Some(s)) => {
            let dims = (0..s.len() as isize).map(|place| place - s.len() as isize);
            dims.map(|dim| normalize_axis(op, dim, x.rank()))
                .collect::<Result<_, _>>()?
        }
    };
    let Some(s) = s else {
        return Ok(dims.into_iter().map(|dim| (dim, None)).collect());
    };
    if s.len() != dims.len() {
        let (given, rank) = (dims.len(), s.len());
        return Err(Error::new(op, Problem::WrongAxisCount { given, rank }));
    }
    let length = |length: isize| match length {
        -1 => Ok(None),
        _ => usize::try_from(length).map(Some).map_err(|_| {
            let problem = Problem::OutOfRange {
                what: "length of the transform",
                index: None,
                value: length.to_string(),
                accepted: "lengths from 1 on, and -1",
            };
            Error::new(op, problem)
        }),
    };
    let lengths = s.iter().map(|given| length(*given));
    dims.into_iter()
        .zip(lengths)
        .map(|(dim, length)| Ok((dim, length?)))
        .collect()
}
