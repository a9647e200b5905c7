//! Windows over signals: `hann_window` and its kin, computed in float64 and rounded once.

use std::f64::consts::PI;

use allotrope_dtype::{DType, Error, Problem, Set};
use allotrope_op::Backend;

use super::range::tabulate;
use crate::{Options, Tensor};

/// The shape of a window: those of `torch.signal.windows`, in counts of points where it has a width.
///
/// ```
/// use allotrope_tensor::{DType, SignalWindow, Tensor};
/// let x = Tensor::signal_window(SignalWindow::Gaussian { std: 2.0 }, 5, false, DType::F64)?;
/// assert_eq!(x.i(2)?.to_scalar::<f64>()?, 1.0);
/// let hamming = SignalWindow::general_hamming(0.54);
/// assert_eq!(Tensor::signal_window(hamming, 8, true, DType::F16)?.shape(), [8]);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalWindow<'a> {
    /// A triangle.
    Bartlett,
    /// Three cosines that nearly end at zero.
    Blackman,
    /// Half a wave of a sine, which begins half a point before the first.
    Cosine,
    /// An exponential that falls to both sides.
    Exponential {
        /// Where it is 1; the middle if nothing is said. Only a periodic window has another.
        center: Option<f64>,
        /// In how many points it falls by a factor of e.
        tau: f64,
    },
    /// A bell.
    Gaussian {
        /// Its standard deviation in points.
        std: f64,
    },
    /// A sum of cosines with these weights, of alternating sign.
    GeneralCosine(&'a [f64]),
    /// `alpha - beta cos`.
    Hamming {
        /// What the cosine is taken from.
        alpha: f64,
        /// What the cosine is multiplied by.
        beta: f64,
    },
    /// The square of a sine.
    Hann,
    /// Bessel functions of a root.
    Kaiser {
        /// How narrow it is.
        beta: f64,
    },
    /// Four cosines with a continuous first derivative.
    Nuttall,
}

impl SignalWindow<'_> {
    /// `alpha - (1 - alpha) cos`, of which Hamming's window is the one with 0.54, Hann's that with 0.5.
    #[must_use]
    pub fn general_hamming(alpha: f64) -> Self {
        let beta = 1.0 - alpha;
        Self::Hamming { alpha, beta }
    }

    /// The name of the function in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bartlett => "bartlett_window",
            Self::Blackman => "blackman_window",
            Self::Cosine => "cosine",
            Self::Exponential { .. } => "exponential",
            Self::Gaussian { .. } => "gaussian",
            Self::GeneralCosine(_) => "general_cosine",
            Self::Hamming { .. } => "hamming_window",
            Self::Hann => "hann_window",
            Self::Kaiser { .. } => "kaiser_window",
            Self::Nuttall => "nuttall",
        }
    }

    /// Refuses widths without a meaning, and the centers that symmetric windows do not have.
    fn check(self, periodic: bool) -> Result<(), Error> {
        let refuse = |what, value: String, accepted| {
            let index = None;
            let problem = Problem::OutOfRange {
                what,
                index,
                value,
                accepted,
            };
            Err(Error::new(self.name(), problem))
        };
        match self {
            Self::Gaussian { std } if std.is_nan() || std <= 0.0 => {
                refuse("std", std.to_string(), "numbers above 0")
            }
            Self::Exponential { tau, .. } if tau.is_nan() || tau <= 0.0 => {
                refuse("tau", tau.to_string(), "numbers above 0")
            }
            Self::Exponential {
                center: Some(center),
                ..
            } if !periodic => refuse("center", center.to_string(), "centers of periodic windows"),
            _ => Ok(()),
        }
    }

    /// The value at a point of those from 0 to the last.
    fn at(self, point: f64, last: f64) -> f64 {
        let part = point / last;
        let turn = 2.0 * PI * part;
        match self {
            Self::Bartlett => 1.0 - (2.0 * part - 1.0).abs(),
            Self::Blackman => 0.42 - 0.5 * turn.cos() + 0.08 * (2.0 * turn).cos(),
            Self::Cosine => (PI * (point + 0.5) / (last + 1.0)).sin(),
            Self::Exponential { center, tau } => {
                (-(point - center.unwrap_or(last / 2.0)).abs() / tau).exp()
            }
            Self::Gaussian { std } => (-((point - last / 2.0) / std).powi(2) / 2.0).exp(),
            Self::GeneralCosine(weights) => {
                let terms = weights.iter().enumerate().map(|(k, weight)| {
                    let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                    sign * weight * (k as f64 * turn).cos()
                });
                terms.sum()
            }
            Self::Hamming { alpha, beta } => alpha - beta * turn.cos(),
            Self::Hann => (PI * part).sin().powi(2),
            Self::Kaiser { beta } => {
                let away = 2.0 * part - 1.0;
                let root = (1.0 - away * away).max(0.0).sqrt();
                bessel(beta * root) / bessel(beta)
            }
            Self::Nuttall => {
                let weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411];
                SignalWindow::GeneralCosine(&weights).at(point, last)
            }
        }
    }
}

/// The modified Bessel function of order zero by its series, whose terms are all positive.
fn bessel(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > sum * f64::EPSILON / 4.0 && k < 4096.0 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

impl Tensor {
    /// A window of so many elements: from one end to the other, or with `periodic` to one before it,
    /// so that windows one after the other go on.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{SignalWindow, Tensor};
    /// let x = Tensor::signal_window(SignalWindow::Bartlett, 5, false, DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.5, 1.0, 0.5, 0.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the dtype is a float, a value error for a width that is not above 0 or a
    /// center of a symmetric window, a memory error.
    pub fn signal_window(
        window: SignalWindow<'_>,
        length: usize,
        periodic: bool,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        options.into().make(window.name(), |backend, dtype| {
            signal_window_on(backend, window, length, periodic, dtype)
        })
    }
}

/// [`Tensor::signal_window`] on a device.
pub(crate) fn signal_window_on(
    backend: &'static dyn Backend,
    window: SignalWindow<'_>,
    length: usize,
    periodic: bool,
    dtype: DType,
) -> Result<Tensor, Error> {
    if !dtype.is_floating_point() {
        return Err(Error::not_in_set(window.name(), dtype, Set::Float, None));
    }
    window.check(periodic)?;
    let last = if periodic {
        length as f64
    } else {
        length.saturating_sub(1) as f64
    };
    let at = |i: usize| match (length, window) {
        // A single point stands in the middle.
        (1, SignalWindow::Exponential { center: None, .. }) => 1.0,
        (1, SignalWindow::Exponential { .. }) | (2.., _) => window.at(i as f64, last),
        _ => 1.0,
    };
    tabulate(backend, window.name(), length, dtype, at)
}
