//! Muon: steps by the orthogonal matrix next to the momentum.

use allotrope_tensor::{DType, Error, Problem, Tensor};
use smallvec::{SmallVec, smallvec};

use super::adafactor::real_only;
use super::algorithm::{Algorithm, Numbers, Slot, TensorUpdate, TensorsUpdated};
use super::options::{OptionKind, OptionValue, ensure, not_negative, options};

/// How the learning rate of a matrix goes by its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdjustLr {
    /// By the root of rows over columns, at least one.
    Original,
    /// By 0.2 times the root of the larger size, so that steps are as large as AdamW's.
    MatchRmsAdamw,
    /// By the root of rows over columns.
    SpectralUnclamped,
}

impl AdjustLr {
    const NAMES: [(&'static str, Self); 3] = [
        ("original", Self::Original),
        ("match_rms_adamw", Self::MatchRmsAdamw),
        ("spectral_unclamped", Self::SpectralUnclamped),
    ];
}

impl OptionKind for AdjustLr {
    const ACCEPTED: &'static str = "None, 'original', 'match_rms_adamw' and 'spectral_unclamped'";
    fn to_value(&self) -> OptionValue {
        let name = Self::NAMES.iter().find(|(_, adjust)| adjust == self);
        name.map_or(OptionValue::None, |(name, _)| {
            OptionValue::Text((*name).to_owned())
        })
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        let OptionValue::Text(text) = value else {
            return None;
        };
        let found = Self::NAMES.iter().find(|(name, _)| name == text);
        found.map(|(_, adjust)| *adjust)
    }
}

options! {
    /// How Muon goes.
    MuonOptions {
        /// The learning rate.
        lr: f64 = 1e-3,
        /// By how much of themselves, times the learning rate, weights shrink.
        weight_decay: f64 = 0.1,
        /// How much of the momentum is kept in a step.
        momentum: f64 = 0.95,
        /// Whether the gradient is looked at after the momentum.
        nesterov: bool = true,
        /// The coefficients of the iteration.
        ns_coefficients: (f64, f64, f64) = (3.4445, -4.775, 2.0315),
        /// The least norm that is divided by.
        eps: f64 = 1e-7,
        /// How many times it is iterated.
        ns_steps: usize = 5,
        /// How the learning rate goes by the sizes of a matrix.
        adjust_lr_fn: Option<AdjustLr> = None,
    }
}

impl MuonOptions {
    /// The nearly orthogonal matrix next to one, by iterations of Newton and Schulz in bfloat16.
    fn orthogonal(&self, matrix: &Tensor) -> Result<Tensor, Error> {
        let (a, b, c) = self.ns_coefficients;
        let is_tall = matrix.shape()[0] > matrix.shape()[1];
        let turned = |x: Tensor| match is_tall {
            true => x.transpose(0, 1),
            false => Ok(x),
        };
        let mut x = turned(matrix.to(DType::BF16)?)?;
        let norm = x.norm(2.0, None, false)?;
        x = x.div(&norm.maximum(self.eps)?)?;
        for _ in 0..self.ns_steps {
            let gram = x.matmul(&x.transpose(0, 1)?)?;
            let update = gram.addmm(&gram, &gram, b, c)?;
            x = x.addmm(&update, &x, a, 1.0)?;
        }
        turned(x)
    }
}

impl Algorithm for MuonOptions {
    fn name(&self) -> &'static str {
        "Muon"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Muon", "lr", self.lr)?;
        not_negative("Muon", "momentum", self.momentum)?;
        not_negative("Muon", "weight_decay", self.weight_decay)?;
        let steps = self.ns_steps;
        ensure(
            "Muon",
            steps < 100,
            "ns_steps",
            steps as f64,
            "numbers below 100",
        )
    }

    fn check_parameter(&self, parameter: &Tensor) -> Result<(), Error> {
        if parameter.dtype().is_complex() {
            return Err(real_only("Muon", parameter));
        }
        if parameter.rank() != 2 {
            let problem = Problem::WrongShape {
                what: "a parameter",
                given: parameter.shape().to_vec(),
                accepted: "that of a matrix".to_owned(),
            };
            return Err(Error::new("Muon", problem).hint("another optimizer for other shapes"));
        }
        Ok(())
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("momentum_buffer")]
    }

    fn number_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn first_numbers(&self) -> Numbers {
        Numbers::new()
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update_tensors(&self, at: &TensorUpdate<'_>) -> Result<TensorsUpdated, Error> {
        let lerp = |from: &Tensor, to: &Tensor, share: f64| from.add(&to.sub(from)?.mul(share)?);
        let gradient = at.gradient;
        let buffer = match at.state.first() {
            Some(buffer) => lerp(buffer, gradient, 1.0 - self.momentum)?,
            None => gradient.clone(),
        };
        let update = match self.nesterov {
            true => lerp(gradient, &buffer, self.momentum)?,
            false => buffer.clone(),
        };
        let update = match update.count() {
            0 => update,
            _ => self.orthogonal(&update)?,
        };
        let (rows, columns) = (
            at.parameter.shape()[0] as f64,
            at.parameter.shape()[1] as f64,
        );
        let ratio = match self.adjust_lr_fn {
            None | Some(AdjustLr::Original) => (rows / columns).max(1.0).sqrt(),
            Some(AdjustLr::MatchRmsAdamw) => 0.2 * rows.max(columns).sqrt(),
            Some(AdjustLr::SpectralUnclamped) => (rows / columns).sqrt(),
        };
        let parameter = at.parameter.mul(1.0 - self.lr * self.weight_decay)?;
        let update = update.to(parameter.dtype())?.mul(self.lr * ratio)?;
        Ok(TensorsUpdated {
            parameter: parameter.sub(&update)?,
            state: vec![buffer],
        })
    }
}
