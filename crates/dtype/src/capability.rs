//! What a device does with each dtype: native, emulated, or demoted. There is no fourth answer.

use crate::{DType, Kind};

/// A device's answer for one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Stored exactly and computed in that very dtype.
    Native,
    /// Stored exactly, computed in a wider dtype.
    Emulated,
    /// Stored as a narrower dtype of the same kind. The logical dtype is kept.
    Demoted(DType),
}

impl Capability {
    /// The answer in one word, as `al.supports` gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Emulated => "emulated",
            Self::Demoted(_) => "demoted",
        }
    }
}

/// A device's answers for all dtypes, as data that the device fills in from what it probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    answers: [Capability; DType::COUNT],
}

impl Capabilities {
    /// The CPU: everything is stored exactly; floats of 8 and 16 bits are computed in `float32`.
    pub const CPU: Self = {
        let mut answers = [Capability::Native; DType::COUNT];
        let mut index = 0;
        while index < DType::COUNT {
            let dtype = DType::ALL[index];
            if dtype as u8 != dtype.compute() as u8 {
                answers[index] = Capability::Emulated;
            }
            index += 1;
        }
        Self { answers }
    };

    /// The answers of a device that computes in the dtypes for which `computes` is true.
    ///
    /// A dtype that the device does not compute in is emulated if it fits a wider native dtype of
    /// its kind (a complex dtype needs the native float of its components), and demoted to the
    /// widest native or emulated dtype of its kind otherwise. Every device must compute in
    /// `float32`, `int32` and `uint32`.
    ///
    /// ```
    /// use allotrope_dtype::{Capabilities, Capability, DType};
    /// let portable_gpu = Capabilities::probed(|d| matches!(d, DType::F32 | DType::I32 | DType::U32));
    /// assert_eq!(portable_gpu.of(DType::F64), Capability::Demoted(DType::F32));
    /// assert_eq!(portable_gpu.of(DType::BF16), Capability::Emulated);
    /// assert_eq!(portable_gpu.of(DType::C128), Capability::Demoted(DType::C64));
    /// assert_eq!(portable_gpu.of(DType::I64), Capability::Demoted(DType::I32));
    /// ```
    #[must_use]
    pub fn probed(computes: impl Fn(DType) -> bool) -> Self {
        let computes =
            |dtype| matches!(dtype, DType::F32 | DType::I32 | DType::U32) || computes(dtype);
        let exact = |dtype: DType| match dtype.kind() {
            Kind::Bool => true,
            Kind::Complex => computes(dtype.to_real()),
            kind => DType::ALL
                .into_iter()
                .any(|wide| wide.kind() == kind && computes(wide) && dtype.fits_in(wide)),
        };
        let mut answers = [Capability::Native; DType::COUNT];
        for (answer, dtype) in answers.iter_mut().zip(DType::ALL) {
            *answer = if computes(dtype) {
                Capability::Native
            } else if exact(dtype) {
                Capability::Emulated
            } else {
                let narrower = DType::ALL
                    .into_iter()
                    .filter(|d| d.kind() == dtype.kind() && exact(*d) && d.bits() < dtype.bits())
                    .max_by_key(|d| d.bits());
                Capability::Demoted(narrower.unwrap_or(DType::F32))
            };
        }
        Self { answers }
    }

    /// These answers with another one for a dtype: what a device emulates that has nothing wider.
    #[must_use]
    pub const fn with(mut self, dtype: DType, answer: Capability) -> Self {
        self.answers[dtype as usize] = answer;
        self
    }

    /// The answer for one dtype.
    #[must_use]
    pub const fn of(&self, dtype: DType) -> Capability {
        self.answers[dtype as usize]
    }

    /// The dtype that the device stores: the dtype itself, or what it is demoted to.
    #[must_use]
    pub const fn storage(&self, dtype: DType) -> DType {
        match self.of(dtype) {
            Capability::Demoted(narrower) => narrower,
            Capability::Native | Capability::Emulated => dtype,
        }
    }
}
