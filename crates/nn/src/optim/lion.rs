//! Lion: steps by the sign of the momentum.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Numbers, Slot, Update, Updated, lerp, penalised};
use super::options::{below_one, not_negative, options};

options! {
    /// How Lion goes.
    LionOptions {
        /// The learning rate.
        lr: f64 = 1e-4,
        /// How much of the momentum decides, and how much of it is kept.
        betas: (f64, f64) = (0.9, 0.99),
        /// By how much of themselves, times the learning rate, weights shrink.
        weight_decay: f64 = 0.0,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for LionOptions {
    fn name(&self) -> &'static str {
        "Lion"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Lion", "lr", self.lr)?;
        below_one("Lion", "betas[0]", self.betas.0)?;
        below_one("Lion", "betas[1]", self.betas.1)?;
        not_negative("Lion", "weight_decay", self.weight_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("exp_avg")]
    }

    fn number_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn first_numbers(&self) -> Numbers {
        Numbers::new()
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, 0.0);
        let mut parameter = at.parameter;
        if self.weight_decay != 0.0 {
            parameter = parameter * (1.0 - self.lr * self.weight_decay);
        }
        let step = lerp(at.state[0], gradient, 1.0 - self.betas.0).sign();
        let mean = lerp(at.state[0], gradient, 1.0 - self.betas.1);
        Updated {
            parameter: parameter - step * self.lr,
            state: smallvec![mean],
        }
    }
}
