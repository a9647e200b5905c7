//! Signals: transforms of short windows, and the windows.

use allotrope_tensor::fft::{self, Frames};
use allotrope_tensor::{PadMode, SignalWindow, Tensor};
use pyo3::prelude::*;

use super::neural::optional;
use crate::arguments::{DTypeOrFamily, Int, Operand, size};
use crate::create::{as_leaf, placed, resolve};
use crate::error::raise;
use crate::operand::run;
use crate::tensor::PyTensor;

/// A length that may be left out.
fn length(op: &'static str, given: Option<Int>) -> PyResult<Option<usize>> {
    given.map(|Int(given)| size(op, given)).transpose()
}

forms! {
    /// The transforms of windows that slide along the last dimension of a signal [length] or [batch,
    /// length], as [..., frequencies, windows]. Windows are hop_length apart, n_fft / 4 if that is
    /// not said. With center the signal is padded by n_fft / 2 at both ends first; normalized divides
    /// by the root of n_fft; onesided, the default for real numbers, leaves out the frequencies that
    /// are the conjugates of others. return_complex=False gives the parts in a last dimension.
    ///
    /// >>> al.stft(al.ones(16), 8, window=al.hann_window(8)).shape
    /// (5, 9)
    stft[n_fft, hop_length=None, win_length=None, window=None, center=true, pad_mode="reflect", normalized=false, onesided=None, return_complex=true](
        n_fft: Int, hop_length: Option<Int>, win_length: Option<Int>, window: Option<Operand>,
        center: bool, pad_mode: &str, normalized: bool, onesided: Option<bool>, return_complex: bool
    ) -> PyTensor |py, op, x| {
        let window = optional(op, window)?;
        let is_complex = [Some(x), window.as_ref()].into_iter().flatten().any(|x| x.dtype().is_complex());
        let frames = Frames {
            n_fft: size(op, n_fft.0)?,
            hop_length: length(op, hop_length)?,
            win_length: length(op, win_length)?,
            window: window.as_ref(),
            center,
            normalized,
            onesided: onesided.unwrap_or(!is_complex),
        };
        let padding = match pad_mode {
            "constant" => PadMode::Constant(false.into()),
            "reflect" => PadMode::Reflect,
            "replicate" => PadMode::Replicate,
            "circular" => PadMode::Circular,
            _ => {
                let accepted = ["constant", "reflect", "replicate", "circular"];
                let error = allotrope_dtype::Error::unknown_option(op, "pad_mode", pad_mode, &accepted);
                return Err(raise(error));
            }
        };
        run(py, x.count(), || {
            let spectra = fft::stft(x, &frames, padding)?;
            if return_complex { Ok(spectra) } else { spectra.view_as_real() }
        })
    };

    /// The signal whose stft is given, [..., frequencies, windows]: of several windows over an
    /// element the mean by the squares of the window. length cuts the signal, or adds zeros.
    ///
    /// >>> x, window = al.arange(12.0), al.hann_window(8)
    /// >>> al.istft(al.stft(x, 8, window=window), 8, window=window).allclose(x, atol=1e-5)
    /// True
    istft[n_fft, hop_length=None, win_length=None, window=None, center=true, normalized=false, onesided=None, length=None, return_complex=false](
        n_fft: Int, hop_length: Option<Int>, win_length: Option<Int>, window: Option<Operand>,
        center: bool, normalized: bool, onesided: Option<bool>, length: Option<Int>, return_complex: bool
    ) -> PyTensor |py, op, x| {
        let window = optional(op, window)?;
        let n_fft = size(op, n_fft.0)?;
        let frequencies = x.rank().checked_sub(2).map(|dim| x.shape()[dim]);
        let frames = Frames {
            n_fft,
            hop_length: self::length(op, hop_length)?,
            win_length: self::length(op, win_length)?,
            window: window.as_ref(),
            center,
            normalized,
            onesided: onesided.unwrap_or(frequencies != Some(n_fft)),
        };
        let length = self::length(op, length)?;
        run(py, x.count(), || fft::istft(x, &frames, length, return_complex))
    };
}

/// The dtype of a window, and the window.
fn make(
    window: SignalWindow,
    window_length: Int,
    periodic: bool,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let op = window.name();
    let options = resolve(op, dtype, device, || Ok(None))?;
    let length = size(op, window_length.0)?;
    let made = Tensor::signal_window(window, length, periodic, options);
    as_leaf(Ok(placed(op, made, options)?.into()), requires_grad)
}

macro_rules! windows {
    ($($(#[doc = $doc:literal])* $name:ident [$($option:ident = $default:tt),*] $window:expr;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[allow(clippy::too_many_arguments, reason = "torch's signature")]
            #[pyo3(signature = (window_length, periodic=true $(, $option=$default)*, *, dtype=None, device=None, requires_grad=false))]
            fn $name(
                window_length: Int,
                periodic: bool,
                $($option: f64,)*
                dtype: Option<DTypeOrFamily>,
                device: Option<&str>,
                requires_grad: bool,
            ) -> PyResult<PyTensor> {
                make($window, window_length, periodic, dtype, device, requires_grad)
            }
        )*

        fn register_windows(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}
windows! {
    /// A triangle from 0 up to 1 and down again, as a window over a signal. A periodic one goes on
    /// where the next begins; with periodic=False it ends where it began.
    ///
    /// >>> al.bartlett_window(5, periodic=False)
    /// tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    bartlett_window [] SignalWindow::Bartlett;
    /// Blackman's window over a signal, of three cosines.
    ///
    /// >>> al.blackman_window(4, periodic=False)[1]
    /// tensor(0.6300)
    blackman_window [] SignalWindow::Blackman;
    /// Hamming's window over a signal, `alpha - beta cos`.
    ///
    /// >>> al.hamming_window(4, periodic=False)
    /// tensor([0.0800, 0.7700, 0.7700, 0.0800])
    hamming_window [alpha = 0.54, beta = 0.46] SignalWindow::Hamming { alpha, beta };
    /// Hann's window over a signal, the square of a sine.
    ///
    /// >>> al.hann_window(4)
    /// tensor([0.0000, 0.5000, 1.0000, 0.5000])
    hann_window [] SignalWindow::Hann;
    /// Kaiser's window over a signal, narrower for a greater beta.
    ///
    /// >>> al.kaiser_window(3, periodic=False, beta=0.0)
    /// tensor([1., 1., 1.])
    kaiser_window [beta = 12.0] SignalWindow::Kaiser { beta };
}

/// Adds them all.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    register_windows(module)
}
