//! Windows over signals: `hann_window` and its kin, computed in float64 and rounded once.

use std::f64::consts::PI;

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::Backend;

use super::range::tabulate;
use crate::{Options, Tensor};

/// The shape of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalWindow {
    /// A triangle.
    Bartlett,
    /// Three cosines that nearly end at zero.
    Blackman,
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
}

impl SignalWindow {
    /// The name of the function in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bartlett => "bartlett_window",
            Self::Blackman => "blackman_window",
            Self::Hamming { .. } => "hamming_window",
            Self::Hann => "hann_window",
            Self::Kaiser { .. } => "kaiser_window",
        }
    }

    /// The value at a part of the way from one end to the other.
    fn at(self, part: f64) -> f64 {
        let turn = 2.0 * PI * part;
        match self {
            Self::Bartlett => 1.0 - (2.0 * part - 1.0).abs(),
            Self::Blackman => 0.42 - 0.5 * turn.cos() + 0.08 * (2.0 * turn).cos(),
            Self::Hamming { alpha, beta } => alpha - beta * turn.cos(),
            Self::Hann => (PI * part).sin().powi(2),
            Self::Kaiser { beta } => {
                let away = 2.0 * part - 1.0;
                let root = (1.0 - away * away).max(0.0).sqrt();
                bessel(beta * root) / bessel(beta)
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
    /// A dtype error unless the dtype is a float, a memory error.
    pub fn signal_window(
        window: SignalWindow,
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
    window: SignalWindow,
    length: usize,
    periodic: bool,
    dtype: DType,
) -> Result<Tensor, Error> {
    if !dtype.is_floating_point() {
        return Err(Error::not_in_set(window.name(), dtype, Set::Float, None));
    }
    let steps = if periodic {
        length as f64
    } else {
        length.saturating_sub(1) as f64
    };
    let at = |i: usize| match length {
        1 => 1.0,
        _ => window.at(i as f64 / steps),
    };
    tabulate(backend, window.name(), length, dtype, at)
}
