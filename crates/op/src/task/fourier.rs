//! Fourier transforms of lines: the last dimension of an input, cut or padded with zeros to the length
//! of the transform.

/// Transforms of all lines.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Fourier {
    /// Reads complex numbers; writes `length` of the same dtype for each line.
    Complex(Transform),
    /// Reads real numbers; writes `length` complex numbers of their width for each line, or the first
    /// `length / 2 + 1`, which determine the others.
    FromReal {
        /// The transform.
        transform: Transform,
        /// Whether only the first half is written.
        is_onesided: bool,
    },
    /// Reads the first half of Hermitian lines, `length / 2 + 1` complex numbers; writes `length`
    /// real numbers of their width for each. Imaginary parts that there is no place for are left out.
    ToReal(Transform),
}

/// `Σ x[j] exp(±2πi jk / length)`, times a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// The sign of the exponent.
    pub direction: Direction,
    /// The length.
    pub length: usize,
    /// What results are multiplied by.
    pub scale: f64,
}

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `exp(-2πi jk / n)`.
    Forward,
    /// `exp(2πi jk / n)`.
    Inverse,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Inverse,
            Self::Inverse => Self::Forward,
        }
    }
}
