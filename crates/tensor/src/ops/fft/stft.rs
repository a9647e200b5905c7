//! Transforms of short windows that slide along a signal, and the signal of such transforms.

use allotrope_dtype::{DType, Error, Problem, Set, promotion};
use allotrope_op::structured::fft::{ISTFT, STFT};
use allotrope_op::task::values::Refusal;

use super::{Norm, fft, ifft, irfft, rfft};
use crate::Tensor;
use crate::call::Call;
use crate::ops::im2col::Blocks;
use crate::ops::operands::{out_of_range, refuse, signed, wrong_shape};
use crate::ops::pad::PadMode;
use crate::transfer::gathered;

/// The windows of [`stft`] and [`istft`].
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    /// How many elements are transformed.
    pub n_fft: usize,
    /// How far windows are apart; a quarter of `n_fft` if that is not said.
    pub hop_length: Option<usize>,
    /// The length of the window; `n_fft` if that is not said.
    pub win_length: Option<usize>,
    /// What elements are multiplied by, in the middle of zeros if it is shorter; ones if there is
    /// none.
    pub window: Option<&'a Tensor>,
    /// Whether the first window has the first element in its middle.
    pub center: bool,
    /// Whether transforms are divided by the root of `n_fft`.
    pub normalized: bool,
    /// Whether only the half of a transform is there that determines the rest.
    pub onesided: bool,
}

impl Frames<'_> {
    fn hop(&self, op: &'static str) -> Result<usize, Error> {
        let hop = self.hop_length.unwrap_or(self.n_fft / 4);
        match hop {
            0 => Err(out_of_range(op, "hop_length", hop, "1 and above")),
            _ => Ok(hop),
        }
    }

    /// The window in the middle of `n_fft` elements; none if it is all ones.
    fn window(&self, op: &'static str, x: &Tensor) -> Result<Option<Tensor>, Error> {
        let length = self.win_length.unwrap_or(self.n_fft);
        if length == 0 || length > self.n_fft {
            return Err(out_of_range(op, "win_length", length, "1 to n_fft"));
        }
        let window = match self.window {
            Some(window) if window.shape()[..] == [length] => window.clone(),
            Some(window) => return Err(wrong_shape(op, "window", window, format!("[{length}]"))),
            None if length == self.n_fft => return Ok(None),
            None => x.new_ones(&[length], allotrope_dtype::default_dtype())?,
        };
        let before = (self.n_fft - length) / 2;
        let after = self.n_fft - length - before;
        let zero = PadMode::Constant(false.into());
        window
            .pad(&[before as isize, after as isize], zero)
            .map(Some)
    }

    fn norm(&self) -> Norm {
        if self.normalized {
            Norm::Ortho
        } else {
            Norm::Backward
        }
    }
}

/// The transforms of windows that slide along the last dimension of a signal `[length]` or `[batch,
/// length]`, as `[…, frequencies, windows]`. With `center` the signal is padded by half of `n_fft`
/// at both ends first.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{PadMode, Tensor, fft};
/// let frames = fft::Frames {
///     n_fft: 4, hop_length: None, win_length: None, window: None,
///     center: false, normalized: false, onesided: true,
/// };
/// let x = Tensor::ones(&[8], DType::F32)?;
/// let spectra = fft::stft(&x, &frames, PadMode::Reflect)?;
/// assert_eq!(spectra.shape().to_string(), "[3, 5]");
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error for half the transform of complex numbers, a value error for lengths that do not
/// fit, a memory error.
pub fn stft(x: &Tensor, frames: &Frames<'_>, padding: PadMode) -> Result<Tensor, Error> {
    if let Some((x, window)) = gathered((x, frames.window))? {
        let window = window.as_ref();
        let frames = &Frames { window, ..*frames };
        return stft(&x, frames, padding);
    }
    let op = STFT.name;
    if x.rank() == 1 {
        return stft(&x.unsqueeze(0)?, frames, padding)?.squeeze(Some(&[0]));
    }
    let result = Call::begin(&STFT, &[x])?.result;
    if x.rank() != 2 {
        return Err(wrong_shape(op, "input", x, "[length] or [batch, length]"));
    }
    let (hop, window) = (frames.hop(op)?, frames.window(op, x)?);
    let is_complex = [Some(x), window.as_ref()]
        .into_iter()
        .flatten()
        .any(|x| x.dtype().is_complex());
    if frames.onesided && is_complex {
        let (set, hint) = (Set::Real, Some("onesided=False"));
        return Err(Error::not_in_set(op, DType::C64, set, hint));
    }
    // What is transformed is rounded once: products of halves, and those of integers, are formed in
    // the float that the transform computes in.
    let common = match &window {
        Some(window) => promotion().promote_types(op, x.dtype(), window.dtype())?,
        None => x.dtype(),
    };
    let spectrum = STFT.outcome.of(common);
    let in_working = |operand: &Tensor| {
        let read = if operand.dtype().is_complex() || common.is_complex() {
            spectrum
        } else {
            spectrum.to_real()
        };
        operand.to(common)?.to(read)
    };
    let mut signal = match window {
        Some(_) => in_working(x)?,
        None => x.clone(),
    };
    let window = window.map(|window| in_working(&window)).transpose()?;
    if frames.center {
        let half = (frames.n_fft / 2) as isize;
        let padded = signal.unsqueeze(1)?.pad(&[half, half], padding);
        signal = padded
            .map_err(|error| error.in_op(op))?
            .squeeze(Some(&[1]))?;
    }
    let length = signal.shape()[1];
    if frames.n_fft == 0 || frames.n_fft > length {
        let accepted = "1 to the length of the signal";
        return Err(out_of_range(op, "n_fft", frames.n_fft, accepted));
    }
    let mut pieces = signal.unfold(1, frames.n_fft, hop)?;
    if let Some(window) = &window {
        pieces = pieces.mul(window).map_err(|error| error.in_op(op))?;
    }
    let norm = frames.norm();
    let spectra = if frames.onesided {
        rfft(&pieces, None, -1, norm)
    } else {
        fft(&pieces, None, -1, norm)
    };
    let spectra = spectra.map_err(|error| error.in_op(op))?.transpose(1, 2)?;
    if spectra.dtype() == result || window.is_some() {
        Ok(spectra)
    } else {
        spectra.to(result)
    }
}

/// The signal whose [`stft`] is given: of several windows over an element the mean by the squares of
/// the window. `length` cuts the signal, or adds zeros to it.
///
/// # Errors
/// A dtype error for a complex window unless complex numbers are to come out, a value error for sizes
/// that do not fit or windows that leave an element out, a memory error.
pub fn istft(
    x: &Tensor,
    frames: &Frames<'_>,
    length: Option<usize>,
    return_complex: bool,
) -> Result<Tensor, Error> {
    if let Some((x, window)) = gathered((x, frames.window))? {
        let window = window.as_ref();
        let frames = &Frames { window, ..*frames };
        return istft(&x, frames, length, return_complex);
    }
    let op = ISTFT.name;
    if x.rank() == 2 {
        return istft(&x.unsqueeze(0)?, frames, length, return_complex)?.squeeze(Some(&[0]));
    }
    Call::begin(&ISTFT, &[x])?;
    if x.rank() != 3 {
        let accepted = "[frequencies, windows] or [batch, frequencies, windows]";
        return Err(wrong_shape(op, "input", x, accepted));
    }
    let (n, hop) = (frames.n_fft, frames.hop(op)?);
    let window = frames.window(op, x)?;
    let is_complex = return_complex && !frames.onesided;
    if let Some(window) = window
        .as_ref()
        .filter(|w| w.dtype().is_complex() && !is_complex)
    {
        let (set, hint) = (Set::Real, Some("onesided=False, return_complex=True"));
        return Err(Error::not_in_set(op, window.dtype(), set, hint));
    }
    let count = x.shape()[2];
    let frequencies = if frames.onesided { n / 2 + 1 } else { n };
    if n == 0 || x.shape()[1] != frequencies || count == 0 {
        let accepted = format!("{frequencies} frequencies of one or more windows");
        return Err(wrong_shape(op, "input", x, accepted));
    }
    let spectra = x.transpose(1, 2)?;
    let norm = frames.norm();
    let pieces = if is_complex {
        ifft(&spectra, None, -1, norm)
    } else if frames.onesided {
        irfft(&spectra, Some(n), -1, norm)
    } else {
        ifft(&spectra, None, -1, norm).and_then(|pieces| pieces.real())
    };
    let mut pieces = pieces.map_err(|error| error.in_op(op))?;
    let squares = match &window {
        Some(window) => {
            // The square of a complex window is complex: what was multiplied by the window twice is
            // divided by it twice.
            let wide = if window.dtype().is_complex() {
                pieces.dtype()
            } else {
                pieces.dtype().to_real()
            };
            pieces = pieces.mul(window).map_err(|error| error.in_op(op))?;
            window.to(wide)?.square()?
        }
        None => x.new_ones(&[n], pieces.dtype().to_real())?,
    };
    let total = (count - 1)
        .checked_mul(hop)
        .and_then(|last| last.checked_add(n));
    let Some(total) = total else {
        let shape = vec![count, hop];
        return Err(Error::new(op, Problem::TooManyElements { shape }));
    };
    let blocks = Blocks {
        kernel: [1, n],
        dilation: [1, 1],
        padding: [0, 0],
        stride: [1, hop],
    };
    let add_up = |pieces: &Tensor| {
        let sums = pieces.transpose(1, 2)?.fold_windows([1, total], blocks)?;
        sums.reshape(&signed(&[pieces.shape()[0], total]))
    };
    let sums = add_up(&pieces)?;
    let weights = add_up(&squares.expand(&[1, count, n])?)?;
    let start = if frames.center { n / 2 } else { 0 };
    let end = match length {
        Some(length) => start.saturating_add(length).min(total),
        None if frames.center => total - n / 2,
        None => total,
    };
    let kept = end.saturating_sub(start);
    let (start, axis) = (start.min(total) as isize, 1);
    let weights = weights.narrow(axis, start, kept)?;
    let refusal = Refusal {
        what: "window",
        value: Some("zero over an element"),
        first: None,
        accepted: "windows that cover every element",
    };
    let is_zero = weights.detach().abs()?.lt(1e-11)?.any(None, false)?;
    refuse(op, refusal, &is_zero, None)?;
    let signal = sums.narrow(axis, start, kept)?.div(&weights)?;
    match length {
        Some(length) if length > kept => {
            let zero = PadMode::Constant(false.into());
            signal.pad(&[0, (length - kept) as isize], zero)
        }
        _ => Ok(signal),
    }
}
